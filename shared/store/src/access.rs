//! Access control: API keys, rate limits, idempotency keys, and the keys that encrypt cursors.

pub(crate) mod api_keys;
pub(crate) mod cursor_keys;
pub(crate) mod idempotency;
pub(crate) mod limiter;
