//! When a send that was not taken is tried again.

use std::time::Duration;

use crate::retry::RetrySchedule;

/// When a part that was not taken is tried again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SendSchedule {
    /// The waits after each failure, the last one repeating.
    pub retries: RetrySchedule,
    /// The waits each time the provider asked us to slow down, the last one repeating.
    pub throttled: RetrySchedule,
    /// Since its first call a part is tried for so long, one last time when that is over.
    pub give_up: Duration,
}

impl SendSchedule {
    /// As decided, where a deployment says nothing: given up after a day.
    pub fn decided() -> Self {
        let waits = |waits: &[u64]| {
            RetrySchedule::of(&waits.iter().copied().map(Duration::from_secs).collect::<Vec<_>>())
        };
        Self { retries: waits(&RETRIES), throttled: waits(&THROTTLED), give_up: GIVE_UP }
    }
}

/// Seconds before each further try of a send that was surely not taken, the last wait repeating.
const RETRIES: [u64; 5] = [30, 2 * 60, 10 * 60, 3_600, 4 * 3_600];
/// Seconds to wait each time the provider asks us to slow down, the last wait repeating.
const THROTTLED: [u64; 5] = [5, 10, 30, 60, 5 * 60];
/// Since its first call a send is tried for so long.
const GIVE_UP: Duration = Duration::from_secs(24 * 3_600);
