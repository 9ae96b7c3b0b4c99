//! Who may call, how often, and what a repeated call is answered: API keys, rate limits, idempotency keys, the keys of
//! cursors.

pub(crate) mod api_keys;
pub(crate) mod bucket;
pub(crate) mod cursor_keys;
pub(crate) mod idempotency;
pub(crate) mod limiter;
