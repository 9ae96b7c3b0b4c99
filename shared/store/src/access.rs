//! Access control: API keys, the audit log, rate limits, the keys that encrypt cursors, and the person key.

pub(crate) mod api_keys;
pub(crate) mod audit;
pub(crate) mod cursor_keys;
mod kind_fields;
pub(crate) mod limiter;
pub(crate) mod person_key;
pub(crate) mod sessions;
