//! The rate limit of a key: the generic cell rate algorithm (a token bucket stored as one number).
//!
//! The number is the *theoretical arrival time*: the time at which the bucket is full again. Each admitted
//! request moves it forward by one interval. A request is refused if this time is further ahead of the
//! present than the tolerance, which follows from the burst. All numbers are whole microseconds since 1970.

use std::time::Duration;

use crate::access::api_key::RateLimit;
use crate::time::Timestamp;

/// The interval and the tolerance of one [`RateLimit`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gcra {
    interval: i64,
    tolerance: i64,
}

/// The decision about a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RateVerdict {
    /// The request is admitted. The bucket is full: the theoretical arrival time is in the past and restarts
    /// from the present.
    Idle,
    /// The request is admitted. The bucket is partly used: the theoretical arrival time moves on from its
    /// present value.
    Hot,
    /// The request is refused. The bucket is empty.
    Empty {
        /// The time until the bucket holds one request again, if no other request takes it.
        retry_after: Duration,
    },
}

impl Gcra {
    /// The algorithm for this limit. The interval is rounded up, so the limiter never admits more than
    /// `per_second` times the time plus `burst`.
    pub fn of(limit: RateLimit) -> Self {
        let interval = i64::from(1_000_000_u32.div_ceil(limit.per_second.max(1)));
        Self { interval, tolerance: i64::from(limit.burst.max(1) - 1) * interval }
    }

    /// The present in microseconds since 1970.
    pub fn micros(now: Timestamp) -> i64 {
        now.as_millis() * 1_000
    }

    /// The microseconds by which an admitted request moves the theoretical arrival time.
    pub fn interval(self) -> i64 {
        self.interval
    }

    /// The greatest number of microseconds by which the theoretical arrival time may be ahead of the present
    /// for a request to be admitted.
    pub fn tolerance(self) -> i64 {
        self.tolerance
    }

    /// The decision about a request at `now` if the bucket's theoretical arrival time is `tat`.
    pub fn verdict(self, tat: i64, now: i64) -> RateVerdict {
        if tat < now {
            RateVerdict::Idle
        } else if tat <= now + self.tolerance {
            RateVerdict::Hot
        } else {
            let wait = u64::try_from(tat - self.tolerance - now).unwrap_or(0);
            RateVerdict::Empty { retry_after: Duration::from_micros(wait) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gcra(per_second: u32, burst: u32) -> Gcra {
        Gcra::of(RateLimit { per_second, burst })
    }

    /// The number of requests at these times that the algorithm admits.
    fn admitted(gcra: Gcra, moments: impl IntoIterator<Item = i64>) -> u32 {
        let (mut tat, mut admitted) = (i64::MIN, 0);
        for now in moments {
            match gcra.verdict(tat, now) {
                RateVerdict::Idle => tat = now + gcra.interval(),
                RateVerdict::Hot => tat += gcra.interval(),
                RateVerdict::Empty { .. } => continue,
            }
            admitted += 1;
        }
        admitted
    }

    #[test]
    fn a_full_bucket_admits_its_burst_at_once_and_then_its_rate() {
        assert_eq!(admitted(gcra(50, 100), [0; 500]), 100);
        assert_eq!(admitted(gcra(10, 1), [0; 5]), 1);
        // Ten seconds with one request each millisecond.
        let flood = || (0..10_000).map(|millis| millis * 1_000);
        assert_eq!(admitted(gcra(50, 100), flood()), 100 + 499);
        assert_eq!(admitted(gcra(10, 1), flood()), 100);
    }

    #[test]
    fn a_rate_that_does_not_divide_a_second_is_never_exceeded() {
        for per_second in 1..=500 {
            let gcra = gcra(per_second, 1);
            assert!(gcra.interval() * i64::from(per_second) >= 1_000_000, "{per_second}");
            assert!((gcra.interval() - 1) * i64::from(per_second) < 1_000_000, "{per_second}");
        }
    }

    #[test]
    fn an_empty_bucket_returns_the_time_until_it_holds_one_request() {
        let gcra = gcra(10, 3);
        let tat = 3 * gcra.interval();
        let RateVerdict::Empty { retry_after } = gcra.verdict(tat, 0) else { panic!("three are gone") };
        assert_eq!(retry_after, Duration::from_millis(100));
        assert_eq!(gcra.verdict(tat, 99_999), RateVerdict::Empty { retry_after: Duration::from_micros(1) });
        assert_eq!(gcra.verdict(tat, 100_000), RateVerdict::Hot);
        assert_eq!(gcra.verdict(tat, tat), RateVerdict::Hot);
        assert_eq!(gcra.verdict(tat, tat + 1), RateVerdict::Idle);
    }
}
