//! Times in UTC with millisecond precision.

use std::fmt;
use std::pin::Pin;
use std::time::Duration;

use jiff::fmt::StdFmtWrite;
use jiff::fmt::temporal::DateTimePrinter;
use jiff::tz::TimeZone;

/// Prints times with milliseconds. It is several times faster than a format that is parsed for each time, and a list has
/// many of them.
static PRINTER: DateTimePrinter = DateTimePrinter::new().precision(Some(3));

/// A source of the present time. Production uses the operating system's clock; tests set the time.
pub trait Clock: Send + Sync {
    /// The present time.
    fn now(&self) -> Timestamp;

    /// Returns when this much time has passed by this clock.
    fn sleep(&self, time: Duration) -> Pin<Box<dyn Future<Output = ()> + Send>>;
}

/// A time in UTC with millisecond precision, printed as `2026-01-02T03:04:05.678Z`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

impl Timestamp {
    /// The last time that has a four-digit year in every time zone: 9999-12-30T22:00:00.000Z.
    const LAST: i64 = 253_402_207_200_000;

    /// Makes a time from milliseconds since 1970. Values outside the years 1970 to 9999 become the nearest
    /// bound.
    pub const fn from_millis(millis: i64) -> Self {
        Self(match millis {
            ..0 => 0,
            0..=Self::LAST => millis,
            _ => Self::LAST,
        })
    }

    /// Parses an RFC 3339 date-time with an offset or `Z`. Digits beyond the millisecond are cut off.
    pub fn parse(text: &str) -> Option<Self> {
        let moment: jiff::Timestamp = text.parse().ok()?;
        Some(Self::from_millis(moment.as_millisecond()))
    }

    /// Milliseconds since 1970.
    pub const fn as_millis(self) -> i64 {
        self.0
    }

    /// Whole seconds since 1970, rounded down.
    pub const fn as_seconds(self) -> i64 {
        self.0 / 1000
    }

    /// This time plus a duration.
    pub fn plus(self, later: Duration) -> Self {
        Self::from_millis(self.0.saturating_add(i64::try_from(later.as_millis()).unwrap_or(i64::MAX)))
    }

    /// The time of a change that is made `now`, after one of this time: each change is later than the one before, also in the
    /// same millisecond or by an earlier clock.
    pub fn next_change(self, now: Self) -> Self {
        now.max(self.plus(Duration::from_millis(1)))
    }

    /// This time minus a duration, 1970 at the earliest.
    pub fn minus(self, earlier: Duration) -> Self {
        Self::from_millis(self.0.saturating_sub(i64::try_from(earlier.as_millis()).unwrap_or(i64::MAX)))
    }

    /// The duration from `earlier` to this time; zero if `earlier` is later.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(u64::try_from(self.0 - earlier.0).unwrap_or(0))
    }

    /// The beginning of the minute.
    pub fn to_minute(self) -> Self {
        Self::from_millis(self.as_millis() - self.as_millis().rem_euclid(60_000))
    }

    /// The beginning of the hour.
    pub fn to_hour(self) -> Self {
        Self::from_millis(self.as_millis() - self.as_millis().rem_euclid(3_600_000))
    }

    /// The beginning of the day of UTC.
    pub fn to_day(self) -> Self {
        Self::from_millis(self.as_millis() - self.as_millis().rem_euclid(86_400_000))
    }

    /// The time without milliseconds, as webhook bodies contain it: `2026-01-02T03:04:05Z`.
    pub fn to_seconds_string(self) -> String {
        self.print("%Y-%m-%dT%H:%M:%SZ")
    }

    /// The day of this time: `2026-01-02`.
    pub fn to_day_string(self) -> String {
        self.print("%Y-%m-%d")
    }

    fn print(self, format: &str) -> String {
        self.moment().to_zoned(TimeZone::UTC).strftime(format).to_string()
    }

    fn moment(self) -> jiff::Timestamp {
        jiff::Timestamp::from_millisecond(self.0).unwrap_or_default()
    }
}

/// This number of days.
pub const fn days(number: u64) -> Duration {
    Duration::from_secs(number * 86_400)
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        PRINTER.print_timestamp(&self.moment(), StdFmtWrite(f)).map_err(|_| fmt::Error)
    }
}

impl fmt::Debug for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timestamp_always_prints_three_digits_of_milliseconds() {
        assert_eq!(Timestamp::from_millis(0).to_string(), "1970-01-01T00:00:00.000Z");
        assert_eq!(Timestamp::from_millis(1_767_323_045_070).to_string(), "2026-01-02T03:04:05.070Z");
        assert_eq!(Timestamp::from_millis(1_767_323_045_678).to_seconds_string(), "2026-01-02T03:04:05Z");
        assert_eq!(Timestamp::from_millis(1_767_323_045_678).to_day_string(), "2026-01-02");
    }

    #[test]
    fn a_printed_timestamp_parses_to_the_same_time() {
        let moment = Timestamp::from_millis(1_767_323_045_678);
        assert_eq!(Timestamp::parse(&moment.to_string()), Some(moment));
        assert_eq!(Timestamp::parse("2026-01-02T04:04:05.678+01:00"), Some(moment));
        assert_eq!(Timestamp::parse("2026-01-02"), None);
    }

    #[test]
    fn a_day_has_24_hours() {
        assert_eq!([0, 1, 30].map(days), [0, 24, 720].map(Duration::from_hours));
    }

    #[test]
    fn times_out_of_range_become_the_nearest_bound() {
        assert_eq!(Timestamp::from_millis(-5).as_millis(), 0);
        assert_eq!(Timestamp::from_millis(i64::MAX).to_string(), "9999-12-30T22:00:00.000Z");
        assert_eq!(
            Timestamp::from_millis(i64::MAX).plus(Duration::MAX).to_string(),
            "9999-12-30T22:00:00.000Z"
        );
    }
}
