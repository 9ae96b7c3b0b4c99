//! Webhooks over an embedded DynamoDB: events recorded and told of, what visits read and write, jobs, lists.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod events;
mod jobs;
mod lists;
mod visits;

#[path = "../support/hooks.rs"]
mod hooks;
