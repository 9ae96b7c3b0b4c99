//! Access control: API keys and sessions, what they allow, who makes a change, and rate limits.

pub mod actor;
pub mod api_key;
pub mod kind;
pub mod rate;
pub mod role;
pub mod scope;
pub mod session;
