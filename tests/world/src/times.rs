//! The clocks of a world, and its time limits.

use std::pin::Pin;
use std::time::Duration;

use domain::{Clock, Timestamp};
use harness::TestClock;
use tokio::time::Instant;

/// The time until the sweeper looks at new work (`FirstDueSeconds`).
pub(crate) const RESCUE: Duration = Duration::from_secs(120);
/// The time limit of a call to WhatsApp.
pub(crate) const CALL: Duration = Duration::from_secs(10);
/// The time limit of a post to a receiver.
pub(crate) const ATTEMPT: Duration = Duration::from_secs(30);

/// A clock that runs with the time of the world, ahead of it or behind.
#[derive(Debug)]
pub(crate) struct SkewedClock {
    pub(crate) begun: Instant,
    /// Milliseconds.
    pub(crate) skew: i64,
}

impl Clock for SkewedClock {
    fn now(&self) -> Timestamp {
        let passed = i64::try_from(self.begun.elapsed().as_millis()).unwrap_or(i64::MAX);
        Timestamp::from_millis(TestClock::START.as_millis() + passed + self.skew)
    }

    fn sleep(&self, time: Duration) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(tokio::time::sleep(time))
    }
}
