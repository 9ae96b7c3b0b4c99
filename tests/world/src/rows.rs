//! What rows say, as the checks read them.

use serde_json::Value;

/// The text of a field.
pub(crate) fn text(value: &Value) -> Option<&str> {
    value["S"].as_str()
}

/// The conversation in the key of a message.
pub(crate) fn of_key(row: &Value) -> Option<&str> {
    text(&row["pk"])?.rsplit('#').next()
}

/// Whether a row has this text anywhere.
pub(crate) fn contains(row: &Value, said: &str) -> bool {
    row.to_string().contains(&format!("\"{said}\""))
}
