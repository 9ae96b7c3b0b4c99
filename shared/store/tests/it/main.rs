//! The store with an embedded DynamoDB.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod audit;
mod bucket;
mod contacts;
mod conversation_lists;
mod conversations;
mod counts;
mod cursor_keys;
mod definitions;
mod erasures;
mod inbound_lines;
mod lane;
mod lanes;
mod leads_accepting;
mod leads_sending;
mod limiter;
mod lists;
mod media;
mod messages;
mod person_key;
mod reached;
mod reads;
mod retention;
mod search;
mod settings;
mod settings_in_use;
mod support;
mod throttles;
mod webhooks;
