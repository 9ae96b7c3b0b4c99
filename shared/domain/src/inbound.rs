//! What comes in from the messaging provider: the apps whose webhooks the service accepts.

pub mod app;
