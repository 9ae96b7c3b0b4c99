//! A value that several change at the same time, and what it may be afterwards.

use tokio::time::Instant;

/// The changes of a value.
#[derive(Clone, Debug, Default)]
pub(crate) struct Register(Vec<Change>);

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
    pub(crate) fn changed(&mut self, value: &str, begun: Instant, is_accepted: bool) {
        self.0.push(Change { value: value.to_owned(), begun, ended: Instant::now(), is_accepted });
    }

    /// Whether this may be the value now: no change that was accepted began after the end of the one that made it.
    /// `None` is the value before all changes.
    pub(crate) fn may_be(&self, value: Option<&str>) -> bool {
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::sleep;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_value_is_that_of_the_last_change_or_of_one_at_the_same_time() {
        let second = || sleep(Duration::from_secs(1));
        let mut register = Register::default();
        assert!(register.may_be(None));
        let begun = Instant::now();
        second().await;
        register.changed("unknown", begun, false);
        assert!(register.may_be(None) && register.may_be(Some("unknown")) && !register.may_be(Some("other")));

        second().await;
        let (first, second_begun) = (Instant::now(), Instant::now());
        second().await;
        register.changed("first", first, true);
        register.changed("beside", second_begun, true);
        assert!(register.may_be(Some("first")) && register.may_be(Some("beside")));
        assert!(!register.may_be(Some("unknown")) && !register.may_be(None));

        second().await;
        let begun = Instant::now();
        second().await;
        register.changed("last", begun, true);
        assert!(register.may_be(Some("last")) && !register.may_be(Some("first")));
    }
}
