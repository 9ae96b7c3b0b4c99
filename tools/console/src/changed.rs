//! Changes of what several operators and functions may change at the same time.

use crate::{Refusal, Result};

/// What a command makes of the state that it read.
pub(crate) enum Decision<T> {
    /// The next state, which must be written.
    Changed(T),
    /// The current state: the command has no effect. It succeeds, so you can repeat it.
    Unchanged(T),
}

impl<T: Clone> Decision<T> {
    /// The decision of a rule that returns the next state only if something changes.
    pub(crate) fn of(current: &T, next: Option<T>) -> Self {
        next.map_or_else(|| Self::Unchanged(current.clone()), Self::Changed)
    }
}

/// The number of tries of a change if others change the same item at the same time.
const TRIES: usize = 20;

/// Reads, decides and writes, until no change of others comes between the read and the write. `write` is conditional: it
/// returns `false` if what was read has changed since. Returns the state after the change.
pub(crate) async fn changed<R, T, E>(
    read: impl AsyncFn() -> Result<R>,
    decide: impl Fn(&R) -> Result<Decision<T>>,
    write: impl AsyncFn(&R, &T) -> Result<bool, E>,
) -> Result<T>
where
    Refusal: From<E>,
{
    for _ in 0..TRIES {
        let seen = read().await?;
        match decide(&seen)? {
            Decision::Unchanged(current) => return Ok(current),
            Decision::Changed(next) if write(&seen, &next).await? => return Ok(next),
            Decision::Changed(_) => {}
        }
    }
    Err(Refusal::Contended)
}
