//! The clock and the ids for tests.

use std::pin::Pin;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use domain::{Clock, Ids, Timestamp};
use uuid::Uuid;

/// A clock that changes only when a test sets it or somebody sleeps by it. It starts at 2026-01-02T03:04:05.678Z.
#[derive(Debug)]
pub struct TestClock(AtomicI64);

impl TestClock {
    /// The time at which every test starts.
    pub const START: Timestamp = Timestamp::from_millis(1_767_323_045_678);

    /// Sets the clock, forwards or backwards.
    pub fn set(&self, now: Timestamp) {
        self.0.store(now.as_millis(), Ordering::SeqCst);
    }

    /// Moves the clock forwards.
    pub fn advance(&self, by: Duration) {
        let millis = i64::try_from(by.as_millis()).unwrap_or(i64::MAX);
        self.0.fetch_add(millis, Ordering::SeqCst);
    }
}

impl Default for TestClock {
    fn default() -> Self {
        Self(AtomicI64::new(Self::START.as_millis()))
    }
}

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.0.load(Ordering::SeqCst))
    }

    /// Moves the clock forwards: whoever sleeps takes no time of the test.
    fn sleep(&self, time: Duration) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        self.advance(time);
        Box::pin(std::future::ready(()))
    }
}

/// Ids that count from 1, in the shape of a random UUID: `00000000-0000-4000-8000-000000000001`.
#[derive(Debug, Default)]
pub struct TestIds(AtomicU64);

impl Ids for TestIds {
    fn next(&self) -> Uuid {
        let count = self.0.fetch_add(1, Ordering::SeqCst) + 1;
        // The low 62 bits count. The version (4) and the variant (10) are at their positions of RFC 9562.
        Uuid::from_u64_pair(0x4000, 0x8000_0000_0000_0000 | count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_ids_count_in_the_shape_of_random_uuids() {
        let ids = TestIds::default();
        assert_eq!(ids.next().to_string(), "00000000-0000-4000-8000-000000000001");
        let second = ids.next();
        assert_eq!(second.get_version_num(), 4);
        assert_eq!(second.get_variant(), uuid::Variant::RFC4122);
    }

    #[test]
    fn the_test_clock_changes_only_when_a_test_advances_it() {
        let clock = TestClock::default();
        assert_eq!(clock.now(), TestClock::START);
        clock.advance(Duration::from_millis(5));
        assert_eq!(clock.now().since(TestClock::START), Duration::from_millis(5));
    }
}
