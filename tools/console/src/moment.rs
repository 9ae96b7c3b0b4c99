//! Times on the command line.

use std::time::Duration;

use domain::{Timestamp, Unfit};

/// A time as it is given: a time of the calendar, or a distance from the present.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Moment {
    At(Timestamp),
    Distance(Duration),
}

impl Moment {
    /// The units of a distance and their seconds.
    const UNITS: [(char, u64); 5] = [('s', 1), ('m', 60), ('h', 3_600), ('d', 86_400), ('w', 604_800)];

    /// Parses a date-time with its offset, a day, which begins at midnight UTC, or a distance such as `2h`.
    pub(crate) fn parse(text: &str) -> Result<Self, Unfit> {
        let at = Timestamp::parse(text).or_else(|| Timestamp::parse(&format!("{text}T00:00:00Z")));
        at.map(Self::At).or_else(|| distance(text).map(Self::Distance)).ok_or(Unfit::Value {
            reason: "should be a day (2027-01-31), a date-time (2027-01-31T12:00:00Z) or a distance from now (90s, \
                     30m, 2h, 7d)",
        })
    }

    /// The time, if a distance leads into the past.
    pub(crate) fn ago(self, now: Timestamp) -> Timestamp {
        match self {
            Self::At(at) => at,
            Self::Distance(distance) => now.minus(distance),
        }
    }

    /// The time, if a distance leads into the future.
    pub(crate) fn ahead(self, now: Timestamp) -> Timestamp {
        match self {
            Self::At(at) => at,
            Self::Distance(distance) => now.plus(distance),
        }
    }
}

fn distance(text: &str) -> Option<Duration> {
    let (unit, seconds) = Moment::UNITS.into_iter().find(|(unit, _)| text.ends_with(*unit))?;
    let number = text.strip_suffix(unit)?;
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    let number: u64 = number.parse().ok().filter(|_| is_number)?;
    Some(Duration::from_secs(number.checked_mul(seconds)?))
}

/// The remark for a command that is the same command only if its times are the same: the arguments to repeat it with.
/// `None` if no distance was given.
pub(crate) fn to_repeat(given: &[(&'static str, Option<Moment>)], now: Timestamp) -> Option<String> {
    let times = || given.iter().filter_map(|(argument, moment)| Some((*argument, (*moment)?)));
    let is_distance = |moment| matches!(moment, Moment::Distance(_));
    times().any(|(_, moment)| is_distance(moment)).then(|| {
        let fixed: Vec<String> =
            times().map(|(argument, moment)| format!("{argument} {}", moment.ago(now))).collect();
        format!(
            "To repeat exactly this command, give {}: a distance means another time when you repeat it.",
            fixed.join(" ")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_767_323_045_678);

    #[test]
    fn a_distance_leads_back_or_ahead_and_a_time_of_the_calendar_stays() {
        for (text, ago, ahead) in [
            ("90s", "2026-01-02T03:02:35.678Z", "2026-01-02T03:05:35.678Z"),
            ("30m", "2026-01-02T02:34:05.678Z", "2026-01-02T03:34:05.678Z"),
            ("2h", "2026-01-02T01:04:05.678Z", "2026-01-02T05:04:05.678Z"),
            ("7d", "2025-12-26T03:04:05.678Z", "2026-01-09T03:04:05.678Z"),
            ("1w", "2025-12-26T03:04:05.678Z", "2026-01-09T03:04:05.678Z"),
            ("0h", "2026-01-02T03:04:05.678Z", "2026-01-02T03:04:05.678Z"),
            ("2027-01-31", "2027-01-31T00:00:00.000Z", "2027-01-31T00:00:00.000Z"),
            ("2027-01-31T12:00:00+01:00", "2027-01-31T11:00:00.000Z", "2027-01-31T11:00:00.000Z"),
            ("18446744073709551615m", "", ""),
        ] {
            let moment = Moment::parse(text).ok();
            let shown = |at: fn(Moment, Timestamp) -> Timestamp| {
                moment.map(|moment| at(moment, NOW).to_string()).unwrap_or_default()
            };
            assert_eq!((shown(Moment::ago).as_str(), shown(Moment::ahead).as_str()), (ago, ahead), "{text}");
        }
        // A distance may be longer than the calendar.
        let ages = Moment::parse("9999999999w").unwrap();
        assert_eq!(ages.ago(NOW), Timestamp::from_millis(0));
    }

    #[test]
    fn anything_else_is_no_time() {
        for wrong in ["", "h", "2", "2 h", "-2h", "+2h", "2.5h", "2H", "2h30m", "soon", "2027-13-01", "٢h"] {
            assert!(Moment::parse(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn only_a_command_with_a_distance_needs_other_arguments_to_be_repeated() {
        let at = Moment::At(NOW);
        let hour = Moment::Distance(Duration::from_secs(3_600));
        assert_eq!(to_repeat(&[("--since", Some(at)), ("--until", None)], NOW), None);
        let both = to_repeat(&[("--since", Some(hour)), ("--until", Some(at))], NOW).unwrap();
        assert!(
            both.contains("--since 2026-01-02T02:04:05.678Z --until 2026-01-02T03:04:05.678Z:"),
            "{both}"
        );
    }
}
