//! Retries of calls that fail because other calls hold the rows.

use std::time::Duration;

use tokio::time::Instant;

use crate::{Store, StoreError};

/// How long conflicts with other transactions are retried before the call fails as busy.
const TIME_LIMIT: Duration = Duration::from_secs(2);
/// The shortest and longest random wait before a retry.
const MIN_WAIT_MS: u128 = 3;
const MAX_WAIT_MS: u128 = 60;

/// Random waits between retries, up to a time limit.
pub struct RetryTime<'a> {
    store: &'a Store,
    until: Instant,
    /// The maximum of the next wait, in milliseconds.
    max_wait: u128,
    /// The limit of that maximum, which doubles with each wait.
    max_wait_limit: u128,
}

impl<'a> RetryTime<'a> {
    /// Waits of 3 to 60 ms, for 2 s at most: for rows that other transactions hold.
    pub fn new(store: &'a Store) -> Self {
        Self { store, until: Instant::now() + TIME_LIMIT, max_wait: MAX_WAIT_MS, max_wait_limit: MAX_WAIT_MS }
    }

    /// Waits that grow to half a second, for 6 s at most: for a read and a write that are both repeated,
    /// because only one of all concurrent writers succeeds each time.
    pub fn for_merges(store: &'a Store) -> Self {
        Self { until: Instant::now() + 3 * TIME_LIMIT, max_wait_limit: 8 * MAX_WAIT_MS, ..Self::new(store) }
    }

    /// Waits that grow to half a second, for `most` at most.
    pub fn limited_to(store: &'a Store, most: Duration) -> Self {
        Self { until: Instant::now() + most, ..Self::for_merges(store) }
    }

    /// Waits for a random time. Returns [`StoreError::Busy`] if the time limit is over.
    pub async fn wait(&mut self) -> Result<(), StoreError> {
        if Instant::now() >= self.until {
            return Err(StoreError::Busy("others held the rows for too long".into()));
        }
        let drawn = self.store.ids.next().as_u128() % (self.max_wait - MIN_WAIT_MS + 1);
        let wait = u64::try_from(MIN_WAIT_MS + drawn).unwrap_or_default();
        self.max_wait = self.max_wait_limit.min(2 * self.max_wait);
        tokio::time::sleep(Duration::from_millis(wait)).await;
        Ok(())
    }
}

/// Executes a write, and retries it while the table is busy and the time limit permits.
pub(crate) async fn retry_while_busy<T>(
    mut retries: RetryTime<'_>,
    write: impl AsyncFn() -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    loop {
        match write().await {
            Err(error @ StoreError::Busy(_)) if retries.wait().await.is_err() => return Err(error),
            Err(StoreError::Busy(_)) => {}
            done => return done,
        }
    }
}
