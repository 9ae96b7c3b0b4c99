//! Waiting for what others hold, for a while.

use std::time::Duration;

use tokio::time::Instant;

use crate::{Store, StoreError};

/// How long conflicts with other transactions are retried before the call is given up as busy.
const PATIENCE: Duration = Duration::from_secs(2);
/// The wait before each retry, drawn anew.
const LEAST_WAIT_MS: u128 = 3;
const MOST_WAIT_MS: u128 = 60;

/// Waits between the retries of what others hold up, until it is time to give up.
pub struct Patience<'a> {
    store: &'a Store,
    until: Instant,
    /// The longest of the next wait, in milliseconds.
    longest: u128,
    /// What it grows to, doubling with each wait.
    widest: u128,
}

impl<'a> Patience<'a> {
    /// Waits of 3 to 60 ms for what other transactions hold, for 2 s at most.
    pub fn new(store: &'a Store) -> Self {
        Self { store, until: Instant::now() + PATIENCE, longest: MOST_WAIT_MS, widest: MOST_WAIT_MS }
    }

    /// For a whole read and write that others keep coming before: waits that grow to half a second, as only one of
    /// all who try wins each time, for 6 s at most.
    pub fn for_merges(store: &'a Store) -> Self {
        Self { until: Instant::now() + 3 * PATIENCE, widest: 8 * MOST_WAIT_MS, ..Self::new(store) }
    }

    /// Waits that grow to half a second, for so long at most.
    pub fn lasting(store: &'a Store, most: Duration) -> Self {
        Self { until: Instant::now() + most, ..Self::for_merges(store) }
    }

    /// Waits a little; an error when there has been enough waiting.
    pub async fn wait(&mut self) -> Result<(), StoreError> {
        if Instant::now() >= self.until {
            return Err(StoreError::Busy("others held the rows for too long".into()));
        }
        let drawn = self.store.ids.next().as_u128() % (self.longest - LEAST_WAIT_MS + 1);
        let wait = u64::try_from(LEAST_WAIT_MS + drawn).unwrap_or_default();
        self.longest = self.widest.min(2 * self.longest);
        tokio::time::sleep(Duration::from_millis(wait)).await;
        Ok(())
    }
}

/// Carries a write out, again while the table is busy and patience lasts.
pub(crate) async fn while_busy<T>(
    mut patience: Patience<'_>,
    write: impl AsyncFn() -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    loop {
        match write().await {
            Err(error @ StoreError::Busy(_)) if patience.wait().await.is_err() => return Err(error),
            Err(StoreError::Busy(_)) => {}
            done => return done,
        }
    }
}
