//! What a validation failure tells its client.

use serde_json::{Map, Value};

/// One entry of a validation failure's `detail`, in Pydantic v2's vocabulary.
#[derive(Clone, Debug, PartialEq)]
pub struct FieldFailure {
    /// Where: `body`, `query` or `path`, then field names and indexes.
    pub loc: Vec<String>,
    /// For people.
    pub msg: String,
    /// For programs.
    pub kind: &'static str,
    /// The offending value, cut at 256 characters; null where nothing was sent.
    pub input: Value,
    /// The limit or the expected set.
    pub ctx: Map<String, Value>,
}
