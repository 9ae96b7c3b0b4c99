//! The entries of a validation failure.

use serde_json::{Map, Value};

/// One entry in the `detail` of a validation failure, in the terms of Pydantic v2.
#[derive(Clone, Debug, PartialEq)]
pub struct FieldFailure {
    /// The location: `body`, `query`, `path` or `header`, then field names and indexes.
    pub loc: Vec<String>,
    /// The message for people.
    pub msg: String,
    /// The type for programs.
    pub kind: &'static str,
    /// The invalid value, truncated to 256 characters; `null` if the field is absent.
    pub input: Value,
    /// The limit or the expected values.
    pub ctx: Map<String, Value>,
}
