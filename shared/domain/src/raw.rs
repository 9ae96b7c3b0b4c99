//! What the provider says beyond the fields that the service knows.

use std::fmt;

/// What the service does not map, as the provider's JSON. Its debug output is redacted.
#[derive(Clone, PartialEq, Eq)]
pub struct Raw {
    json: String,
    is_cut: bool,
}

impl Raw {
    /// The greatest size in bytes.
    pub const MAX: usize = 8_192;

    /// The JSON, or its beginning if it is larger than [`Raw::MAX`].
    pub fn of(json: &str) -> Self {
        Self::at_most(Self::MAX, json)
    }

    /// The JSON, or its beginning if it has more bytes than this.
    pub fn at_most(bytes: usize, json: &str) -> Self {
        let end = json.floor_char_boundary(bytes.min(json.len()));
        Self { json: json[..end].to_owned(), is_cut: end < json.len() }
    }

    /// The value that a row stored.
    pub fn restored(json: String, is_cut: bool) -> Self {
        Self { json, is_cut }
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.json
    }

    /// Whether the end is missing, so that the text is no JSON.
    pub fn is_cut(&self) -> bool {
        self.is_cut
    }
}

impl fmt::Debug for Raw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[Raw]")
    }
}
