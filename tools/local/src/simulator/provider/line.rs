//! The frame of a webhook: the business account, the line, and the change.

use serde_json::{Value, json};

/// The business account of every line, if a request names no other one.
pub(super) const ACCOUNT: &str = "1000000000000000";

/// One change of a webhook.
#[derive(Debug)]
pub struct WebhookChange {
    /// The business account.
    pub account: String,
    /// What changed, such as `message_template_status_update`.
    pub field: String,
    /// The change.
    pub value: Value,
}

/// A webhook with these changes, each in an entry of its own.
pub(super) fn webhook(changes: &[WebhookChange]) -> Value {
    let entry = |change: &WebhookChange| json!({ "id": change.account, "changes": [{ "field": change.field, "value": change.value }] });
    let entries: Vec<Value> = changes.iter().map(entry).collect();
    json!({ "object": "whatsapp_business_account", "entry": entries })
}

/// The value of a change of a line, without its items.
pub(super) fn value(line: &str) -> Value {
    json!({
        "messaging_product": "whatsapp",
        "metadata": { "display_phone_number": display_number(line), "phone_number_id": line },
    })
}

/// The number of a line: 1555 and the last seven digits of its id.
pub(super) fn display_number(line: &str) -> String {
    let last = line.get(line.len().saturating_sub(7)..).unwrap_or(line);
    format!("1555{last:0>7}")
}
