//! Retry schedules and jitter.

use std::str::FromStr;
use std::time::Duration;

use uuid::Uuid;

use crate::text::Unfit;
use crate::time::Timestamp;

/// The waits after the first, second, ... failure. Parameters of the deployment's template can replace them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RetrySchedule(Vec<Duration>);

impl RetrySchedule {
    /// 5 s, 5 m, 30 m, 2 h, 5 h, 10 h, 14 h, 20 h, 24 h.
    const DEFAULT_SECONDS: [u64; 9] = [5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400];
    const MAX_WAITS: usize = 30;
    const MAX_SECONDS: u64 = 7 * 86_400;
    /// The limit of a receiver's `Retry-After`: 12 hours. After a longer wait, nobody would look
    /// for the delivery any more.
    const MAX_RETRY_AFTER: Duration = Duration::from_hours(12);

    /// A schedule with these waits, for schedules that no deployment parameter sets.
    pub fn of(waits: &[Duration]) -> Self {
        Self(waits.to_vec())
    }

    /// The time of the next attempt after the `failures`-th failure (1 is the first). `None` if the schedule
    /// is used up. `asked` is the wait that the receiver requested ([`parse_retry_after`]). It can lengthen
    /// the wait, up to 12 hours, but never shortens it.
    pub fn next_attempt(
        &self,
        failures: u32,
        asked: Option<Duration>,
        jitter: Jitter,
        now: Timestamp,
    ) -> Option<Timestamp> {
        let position = usize::try_from(failures).ok()?.checked_sub(1)?;
        let wait = jitter.lengthen(*self.0.get(position)?);
        let asked = asked.unwrap_or_default().min(Self::MAX_RETRY_AFTER);
        Some(now.plus(wait.max(asked)))
    }

    /// The time of the next attempt after the `times`-th time (1 is the first). The last wait repeats.
    pub fn repeating(&self, times: u32, jitter: Jitter, now: Timestamp) -> Timestamp {
        let position = usize::try_from(times).unwrap_or(usize::MAX).saturating_sub(1);
        let wait = self.0.get(position).or(self.0.last()).copied().unwrap_or_default();
        now.plus(jitter.lengthen(wait))
    }
}

impl Default for RetrySchedule {
    fn default() -> Self {
        Self(Self::DEFAULT_SECONDS.map(Duration::from_secs).to_vec())
    }
}

impl FromStr for RetrySchedule {
    type Err = Unfit;

    /// Parses whole seconds, separated by commas.
    fn from_str(text: &str) -> Result<Self, Unfit> {
        const WRONG: Unfit = Unfit::Value {
            reason: "a retry schedule is 1 to 30 waits in whole seconds, at most a week each, separated by commas",
        };
        let wait = |part: &str| match part.trim().parse::<u64>() {
            Ok(seconds) if seconds <= Self::MAX_SECONDS => Ok(Duration::from_secs(seconds)),
            _ => Err(WRONG),
        };
        let waits = text.split(',').map(wait).collect::<Result<Vec<_>, _>>()?;
        if waits.len() > Self::MAX_WAITS { Err(WRONG) } else { Ok(Self(waits)) }
    }
}

/// A random addition of 0 to 20 % to a wait. It spreads the retries of deliveries that failed together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Jitter(u32);

impl Jitter {
    /// No addition.
    pub const NONE: Self = Self(0);
    /// The addition is wait / 5 x n / (2^32 - 1).
    const SHARE: u32 = 5;

    /// Takes the randomness from a random id, such as an attempt's lease. (The first 32 bits of a version 4
    /// UUID are random.)
    pub fn of(id: &Uuid) -> Self {
        Self((id.as_u128() >> 96) as u32)
    }

    /// The wait plus its random addition.
    pub fn lengthen(self, wait: Duration) -> Duration {
        wait + self.part_of(self.share_of(wait))
    }

    /// The greatest addition to a wait.
    pub fn share_of(self, wait: Duration) -> Duration {
        wait / Self::SHARE
    }

    /// A random part of a duration, from zero to the whole duration.
    pub fn part_of(self, time: Duration) -> Duration {
        time.mul_f64(f64::from(self.0) / f64::from(u32::MAX))
    }
}

/// Parses a `Retry-After` header: seconds, or an HTTP date in one of HTTP's three formats. Some servers send the time itself in
/// seconds or milliseconds since 1970: nobody asks for a wait of decades, so a number of that size is a time. Returns
/// `None` for anything else.
pub fn parse_retry_after(text: &str, now: Timestamp) -> Option<Duration> {
    const HTTP_DATES: [&str; 3] =
        ["%a, %d %b %Y %H:%M:%S GMT", "%A, %d-%b-%y %H:%M:%S GMT", "%a %b %e %H:%M:%S %Y"];
    let text = text.trim();
    if !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()) {
        const THIRTY_YEARS: i64 = 1_000_000_000;
        const IN_MILLIS: i64 = THIRTY_YEARS * 1_000;
        return Some(match text.parse::<i64>().ok() {
            Some(seconds @ 0..THIRTY_YEARS) => Duration::from_secs(seconds.unsigned_abs()),
            Some(time @ THIRTY_YEARS..IN_MILLIS) => Timestamp::from_millis(time * 1_000).since(now),
            Some(time) => Timestamp::from_millis(time).since(now),
            // It is greater than any wait that is used.
            None => Duration::from_secs(u64::from(u32::MAX)),
        });
    }
    let date = HTTP_DATES.iter().find_map(|form| jiff::civil::DateTime::strptime(form, text).ok())?;
    let at = jiff::tz::TimeZone::UTC.to_timestamp(date).ok()?;
    Some(Timestamp::from_millis(at.as_millisecond()).since(now))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_767_323_045_678);
    const NONE: Jitter = Jitter::NONE;

    fn secs(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn wait(failures: u32, asked: Option<Duration>, jitter: Jitter) -> Option<Duration> {
        RetrySchedule::default().next_attempt(failures, asked, jitter, NOW).map(|at| at.since(NOW))
    }

    #[test]
    fn nine_retries_follow_the_decided_waits_and_then_none() {
        let waits: Vec<u64> = (1..=9).map(|failures| wait(failures, None, NONE).unwrap().as_secs()).collect();
        assert_eq!(waits, [5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400]);
        assert_eq!(wait(10, None, NONE), None);
        assert_eq!(wait(0, None, NONE), None);
    }

    #[test]
    fn the_last_wait_of_a_schedule_may_repeat() {
        let schedule = RetrySchedule::of(&[secs(30), secs(120), secs(600)]);
        let waits = [0, 1, 2, 3, 4, u32::MAX].map(|times| schedule.repeating(times, NONE, NOW).since(NOW));
        assert_eq!(waits, [30, 30, 120, 600, 600, 600].map(secs));
        assert_eq!(schedule.repeating(1, Jitter(u32::MAX), NOW).since(NOW), secs(36));
    }

    #[test]
    fn jitter_lengthens_by_up_to_a_fifth() {
        assert_eq!(wait(2, None, Jitter(u32::MAX)), Some(secs(360)));
        assert_eq!(wait(2, None, Jitter(u32::MAX / 2)).unwrap().as_secs(), 329);
        assert_eq!(Jitter::of(&Uuid::from_u128(u128::MAX)), Jitter(u32::MAX));
    }

    #[test]
    fn a_receivers_wait_lengthens_up_to_12_hours_and_never_shortens() {
        assert_eq!(wait(1, Some(secs(60)), NONE), Some(secs(60)));
        assert_eq!(wait(2, Some(secs(60)), NONE), Some(secs(300)));
        assert_eq!(wait(1, Some(secs(1_000_000)), NONE), Some(secs(43_200)));
        assert_eq!(wait(9, Some(secs(1_000_000)), NONE), Some(secs(86_400)));
        assert_eq!(wait(10, Some(secs(60)), NONE), None);
    }

    #[test]
    fn a_retry_after_is_seconds_or_an_http_date() {
        let read = |text| parse_retry_after(text, NOW);
        assert_eq!(read("120"), Some(secs(120)));
        assert_eq!(read(" 0 "), Some(secs(0)));
        assert_eq!(read("999999999"), Some(secs(999_999_999)));
        assert!(read("99999999999999999999999") > Some(secs(1_000_000)));
        assert_eq!(read("1767323105"), Some(Duration::from_millis(59_322)), "seconds since 1970");
        assert_eq!(read("1767323105000"), Some(Duration::from_millis(59_322)), "milliseconds since 1970");
        assert_eq!(read("1000000000"), Some(secs(0)), "a time in the past = at once");
        let minute = Some(Duration::from_millis(59_322));
        assert_eq!(read("Fri, 02 Jan 2026 03:05:05 GMT"), minute);
        assert_eq!(read("Friday, 02-Jan-26 03:05:05 GMT"), minute);
        assert_eq!(read("Fri Jan  2 03:05:05 2026"), minute);
        assert_eq!(read("Thu, 01 Jan 2026 00:00:00 GMT"), Some(secs(0)), "past = at once");
        for unreadable in
            ["", "soon", "-5", "1.5", "+5", "2026-01-02T03:05:05Z", "Fri, 32 Jan 2026 03:05:05 GMT"]
        {
            assert_eq!(read(unreadable), None, "{unreadable}");
        }
    }

    #[test]
    fn a_schedule_parses_from_seconds_with_commas() {
        assert_eq!(
            "5,300,1800,7200,18000,36000,50400,72000,86400".parse::<RetrySchedule>(),
            Ok(RetrySchedule::default())
        );
        assert_eq!("1, 1,0".parse::<RetrySchedule>().unwrap().0, [secs(1), secs(1), secs(0)]);
        assert_eq!("604800".parse::<RetrySchedule>().unwrap().0, [secs(604_800)]);
        assert_eq!(["1"; 30].join(",").parse::<RetrySchedule>().unwrap().0.len(), 30);
        for wrong in ["", "5,", "5;6", "-1", "1.5", "604801", &["1"; 31].join(",")] {
            assert!(wrong.parse::<RetrySchedule>().is_err(), "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn a_retry_is_never_earlier_than_its_wait_and_at_most_a_fifth_later(failures in 1..=9_u32, n: u32) {
            let least = wait(failures, None, NONE).unwrap();
            let wait = wait(failures, None, Jitter(n)).unwrap();
            prop_assert!(wait >= least && wait <= least + least / 5, "{:?}", wait);
        }

        #[test]
        fn the_retry_after_parser_never_panics(text in ".{0,60}") {
            let _ = parse_retry_after(&text, NOW);
        }
    }
}
