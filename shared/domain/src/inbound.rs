//! What comes in from the messaging provider: the apps whose webhooks the service accepts, customers' files, and
//! their choices about marketing messages.

pub mod app;
pub mod file;
pub mod keywords;
pub mod quarantine;
