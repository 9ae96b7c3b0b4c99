//! Values that must not reach a log.

use std::fmt;

/// Draws the bytes of keys and secrets. Production asks the operating system; tests repeat themselves.
pub trait Randomness: Send + Sync {
    /// Fills the bytes so that nobody can foretell them.
    fn fill(&self, bytes: &mut [u8]);
}

/// A text that prints as `[redacted]`: keys, signing secrets, tokens.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Takes the text into custody.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text itself. Named so that each use stands out in review.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}
