//! The real clock and real randomness.

use std::pin::Pin;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use domain::secret::Randomness;
use domain::{Clock, Ids, Timestamp};
use uuid::Uuid;

/// The operating system's clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp::from_millis(i64::try_from(since_1970.as_millis()).unwrap_or(i64::MAX))
    }

    fn sleep(&self, time: Duration) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(tokio::time::sleep(time))
    }
}

/// UUIDs of version 4 from the operating system's random numbers.
#[derive(Clone, Copy, Debug, Default)]
pub struct RandomIds;

impl Ids for RandomIds {
    fn next(&self) -> Uuid {
        Uuid::new_v4()
    }
}

/// The operating system's random numbers, for keys and secrets.
#[derive(Clone, Copy, Debug, Default)]
pub struct OsRandomness;

impl Randomness for OsRandomness {
    fn fill(&self, bytes: &mut [u8]) {
        // No secret may be made without randomness, and there is no fallback.
        getrandom::fill(bytes).expect("the operating system has random numbers");
    }
}
