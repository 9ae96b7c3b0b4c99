//! A value that several change at the same time, and what it may be afterwards.

use tokio::time::Instant;

/// The changes of a value.
#[derive(Clone, Debug, Default)]
pub struct Register(Vec<Change>);

/// A change was made between its beginning and its end, if it was made.
#[derive(Clone, Debug)]
struct Change {
    value: String,
    begun: Instant,
    ended: Instant,
    /// Whether it was certainly made.
    is_accepted: bool,
}

impl Register {
    /// Adds a change that ends now. `is_accepted` is `false` if its outcome is unknown.
    pub fn changed(&mut self, value: &str, begun: Instant, is_accepted: bool) {
        self.0.push(Change { value: value.to_owned(), begun, ended: Instant::now(), is_accepted });
    }

    /// Whether this may be the value now: no change that was accepted began after the end of the one that made it.
    /// `None` is the value before all changes.
    pub fn may_be(&self, value: Option<&str>) -> bool {
        let is_last = |ended: Option<Instant>| {
            let mut accepted = self.0.iter().filter(|change| change.is_accepted);
            !accepted.any(|change| ended.is_none_or(|ended| change.begun >= ended))
        };
        match value {
            None => is_last(None),
            Some(value) => {
                let mut made = self.0.iter().filter(|change| change.value == value);
                made.any(|change| is_last(Some(change.ended)))
            }
        }
    }
}
