//! Access control: API keys and rate limits.

pub mod api_key;
pub mod rate;
