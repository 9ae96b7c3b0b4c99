//! The clients and the reader of webhooks against the simulator, and against servers that fail.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod client;
mod corpus;
mod files;
mod simulated_webhooks;
