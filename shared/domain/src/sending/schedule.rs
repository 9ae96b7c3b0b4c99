//! The retry schedule of sends.

use std::time::Duration;

use crate::retry::RetrySchedule;

/// When a part that the provider did not accept is retried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SendSchedule {
    /// The wait after each failure. The last one repeats.
    pub retries: RetrySchedule,
    /// The wait after each rate limit rejection. The last one repeats.
    pub throttled: RetrySchedule,
    /// The wait between two looks at a template that cannot be sent for now.
    pub template_look: Duration,
    /// The retry period, from the first call. The last attempt happens when it ends.
    pub give_up: Duration,
}

impl SendSchedule {
    /// The defaults for deployments that set no parameters: retries end after one day.
    pub fn recommended() -> Self {
        let waits = |waits: &[u64]| {
            RetrySchedule::of(&waits.iter().copied().map(Duration::from_secs).collect::<Vec<_>>())
        };
        Self {
            retries: waits(&RETRIES),
            throttled: waits(&THROTTLED),
            template_look: TEMPLATE_LOOK,
            give_up: GIVE_UP,
        }
    }
}

/// Seconds before each retry of a send that the provider certainly did not accept. The last wait repeats.
const RETRIES: [u64; 5] = [30, 120, 600, 3_600, 14_400];
/// Seconds to wait after each rate limit rejection. The last wait repeats.
const THROTTLED: [u64; 5] = [5, 10, 30, 60, 300];
/// The wait between two looks at a template that cannot be sent for now. The provider pauses templates for hours.
const TEMPLATE_LOOK: Duration = Duration::from_mins(15);
/// The retry period, from the first call.
const GIVE_UP: Duration = Duration::from_hours(24);
