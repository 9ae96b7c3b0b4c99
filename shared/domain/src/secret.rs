//! Secret values and their randomness.

use std::fmt;

/// A source of random bytes for keys and secrets. Production uses the operating system; tests use a
/// repeatable source.
pub trait Randomness: Send + Sync {
    /// Fills the buffer with unpredictable bytes.
    fn fill(&self, bytes: &mut [u8]);
}

/// Random numbers, for keys.
pub fn numbers<const N: usize>(random: &dyn Randomness) -> [u64; N] {
    std::array::from_fn(|_| {
        let mut bytes = [0; 8];
        random.fill(&mut bytes);
        u64::from_le_bytes(bytes)
    })
}

/// A text whose debug output is `[redacted]`: keys, signing secrets, tokens.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Wraps a text.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The plain text. The method's name makes each use visible in a review.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}
