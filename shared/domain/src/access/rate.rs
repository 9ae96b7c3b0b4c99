//! The rate limit of a key: the generic cell rate algorithm (a token bucket held in one number).
//!
//! The number is the *theoretical arrival time*: when the bucket will be full again. Each admitted request
//! moves it by one interval; a request is refused when it lies further ahead than the burst reaches. All in
//! whole microseconds since 1970.

use std::time::Duration;

use crate::access::api_key::RateLimit;
use crate::time::Timestamp;

/// The arithmetic of one [`RateLimit`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gcra {
    interval: i64,
    tolerance: i64,
}

/// What a bucket says to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RateVerdict {
    /// The bucket is full: the theoretical arrival time lies behind and starts anew from the present.
    Idle,
    /// The bucket has been drawn from and holds more: the theoretical arrival time moves on from where it is.
    Hot,
    /// The bucket is empty.
    Empty {
        /// When it will hold one request again, if nobody else takes it.
        retry_after: Duration,
    },
}

impl Gcra {
    /// The arithmetic of that limit. The interval is rounded up, so that never more is admitted than
    /// `per_second` times the time plus `burst`.
    pub fn of(limit: RateLimit) -> Self {
        let interval = i64::from(1_000_000_u32.div_ceil(limit.per_second.max(1)));
        Self { interval, tolerance: i64::from(limit.burst.max(1) - 1) * interval }
    }

    /// The present as this arithmetic counts it.
    pub fn micros(now: Timestamp) -> i64 {
        now.as_millis() * 1_000
    }

    /// By how much one admitted request moves the theoretical arrival time.
    pub fn interval(self) -> i64 {
        self.interval
    }

    /// How far ahead of the present the theoretical arrival time may lie for a request to be admitted.
    pub fn tolerance(self) -> i64 {
        self.tolerance
    }

    /// What a bucket whose theoretical arrival time is `tat` says to a request at `now`.
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

    /// How many of the requests at these moments are admitted, by the arithmetic alone.
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
    fn a_rested_bucket_gives_its_burst_at_once_and_then_its_rate() {
        assert_eq!(admitted(gcra(50, 100), [0; 500]), 100);
        assert_eq!(admitted(gcra(10, 1), [0; 5]), 1);
        // Ten seconds of a request each millisecond.
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
    fn an_empty_bucket_says_when_it_holds_one_again() {
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
