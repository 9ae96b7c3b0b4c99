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

/// The id of a row. The id of a contact is only in its key.
pub(crate) fn id_of(row: &Value) -> Option<&str> {
    text(&row["id"]).or_else(|| of_key(row))
}

/// Whether a row has this text anywhere.
pub(crate) fn contains(row: &Value, said: &str) -> bool {
    row.to_string().contains(&format!("\"{said}\""))
}
