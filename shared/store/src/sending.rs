//! Code that the senders of messages and of leads share: taking back the start of a call, and throttled
//! lines.

pub(crate) mod begins;
pub(crate) mod throttles;
