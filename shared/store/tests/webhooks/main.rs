//! Webhooks with an embedded DynamoDB: events and telling lanes of them, the reads and writes of visits,
//! jobs, lists.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod events;
mod jobs;
mod lists;
mod visits;

#[path = "../support/hooks.rs"]
mod hooks;
