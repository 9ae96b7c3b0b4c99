//! What the senders of messages and of leads share: beginnings of calls that are taken back, and throttled lines.

pub(crate) mod begins;
pub(crate) mod throttles;
