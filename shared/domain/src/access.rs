//! Access control: API keys, who makes a change, and rate limits.

pub mod actor;
pub mod api_key;
pub mod rate;
