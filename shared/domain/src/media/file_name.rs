//! The name of an uploaded file.

use std::fmt;

use crate::text::{Unfit, within};

/// A file's original name: 1 to 255 characters without path separators. Its debug output is redacted.
#[derive(Clone, PartialEq, Eq)]
pub struct FileName(String);

impl FileName {
    /// The greatest number of characters in a name.
    pub const MAX: usize = 255;

    /// Parses a name.
    pub fn parse(text: &str) -> Result<Self, Unfit> {
        within(text, 1, Self::MAX)?;
        if text.contains(['/', '\\']) {
            return Err(Unfit::Value { reason: "a file name cannot contain path separators" });
        }
        Ok(Self(text.to_owned()))
    }

    /// The name as given.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The text from the last dot, with unchanged case. `None` if there is no dot or only one at the
    /// beginning.
    pub fn extension(&self) -> Option<&str> {
        let dot = self.0.rfind('.').filter(|dot| *dot > 0)?;
        Some(&self.0[dot..])
    }
}

impl fmt::Debug for FileName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[FileName]")
    }
}
