//! Leaves of items that are kept nowhere: of statuses, preferences, moves and deletions. What the service does not know of them is
//! counted by its path, so a new field of the provider is noticed.

use std::collections::BTreeMap;

use serde_json::Value;

use super::message::is_move;
use super::values::list;

/// The leaves of items of a kind that are mapped, or ignored.
type Known = &'static [&'static str];

/// Of a status. The first error counts, and its title is a fixed text for its code. What the provider says of a conversation it
/// says of each of its messages, and leaves out since its version 24.
const STATUS: Known = &[
    "id",
    "status",
    "timestamp",
    "recipient_id",
    "recipient_user_id",
    "recipient_type",
    "biz_opaque_callback_data",
    "errors.0.code",
    "errors.0.title",
    "errors.0.message",
    "errors.0.error_data.details",
    "errors.0.href",
    "pricing.billable",
    "pricing.category",
    "pricing.type",
    "pricing.pricing_model",
    "conversation.id",
    "conversation.expiration_timestamp",
    "conversation.origin.type",
];
/// Of a preference. Its detail is the value in words.
const PREFERENCE: Known = &["wa_id", "user_id", "value", "category", "timestamp", "detail"];
/// Of a move. Its body is the move in words, with the customer's name, and the customer is also the sender.
const MOVE: Known = &[
    "id",
    "from",
    "from_user_id",
    "type",
    "timestamp",
    "system.type",
    "system.wa_id",
    "system.user_id",
    "system.previous_user_id",
    "system.body",
    "system.customer",
];
/// Of a deletion.
const REVOKE: Known =
    &["id", "from", "from_user_id", "to", "to_user_id", "type", "timestamp", "revoke.original_message_id"];

/// The number of leaves of a change that the service does not know, by path. Messages and edits are left out, because they keep what
/// is not known of them.
pub fn unmapped(value: &Value) -> BTreeMap<String, usize> {
    let mut found = BTreeMap::new();
    let mut note = |kind: &str, known: Known, item: &Value| {
        let mut path = String::new();
        walk(item, &mut path, &mut |path| {
            if !known.contains(&path) {
                *found.entry(format!("{kind}.{path}")).or_default() += 1;
            }
        });
    };
    for item in list(&value["statuses"]) {
        note("status", STATUS, item);
    }
    for item in list(&value["user_preferences"]) {
        note("preference", PREFERENCE, item);
    }
    for item in list(&value["messages"]).iter().chain(list(&value["message_echoes"])) {
        match item["type"].as_str() {
            Some("system") if is_move(item) => note("move", MOVE, item),
            Some("revoke") => note("revoke", REVOKE, item),
            _ => {}
        }
    }
    found
}

/// The paths of all values that say something.
fn walk(value: &Value, path: &mut String, leaf: &mut impl FnMut(&str)) {
    let mut below = |step: &str, value: &Value| {
        let length = path.len();
        if length > 0 {
            path.push('.');
        }
        path.push_str(step);
        walk(value, path, leaf);
        path.truncate(length);
    };
    match value {
        Value::Null => {}
        Value::Object(fields) => fields.iter().for_each(|(name, value)| below(name, value)),
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(at, item)| below(&at.to_string(), item));
        }
        Value::String(text) if text.is_empty() => {}
        Value::String(_) | Value::Bool(_) | Value::Number(_) => leaf(path),
    }
}
