//! The pace of a webhook lane: the number of concurrent posts that the endpoint can process, and the circuit
//! breaker.
//!
//! ```text
//! width: 16 --a width of quick answers--> +8, up to 128
//!           --silence, 429, 503, slow---> half, once per round trip
//! five attempts in a row without an answer: the circuit opens --cool-down--> one probe --no answer--> opens again
//!                                                                                '--any answer--> closes
//! ```
//!
//! Only the lane's worker writes the pace. A delivery behind an open circuit uses no attempt. The pace also
//! contains the record of failures that decides when the service disables an endpoint.

use std::time::Duration;

use crate::lane::Track;
use crate::retry::{Jitter, RetrySchedule};
use crate::time::{Timestamp, days};
use crate::webhook::attempt::AttemptOutcome;

/// The measurements of an endpoint's responses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pace {
    /// The greatest number of concurrent posts.
    pub width: u16,
    /// The number of quick responses since the width last changed.
    pub quick: u16,
    /// The number of consecutive attempts without any response.
    pub silences: u32,
    /// The number of consecutive openings of the circuit.
    pub openings: u32,
    /// When the circuit last opened.
    pub opened_at: Option<Timestamp>,
    /// The time until which the circuit is open and nothing is posted.
    pub open_until: Option<Timestamp>,
    /// The time until which the lane's messages go to the queue of slow lanes.
    pub slow_until: Option<Timestamp>,
    /// The failures since the last success.
    pub failing: Option<Failing>,
    /// When the width was last halved. Posts that began before do not halve it again. It is kept only within
    /// a visit.
    pub halved_at: Option<Timestamp>,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            width: Self::FIRST_WIDTH,
            quick: 0,
            silences: 0,
            openings: 0,
            opened_at: None,
            open_until: None,
            slow_until: None,
            failing: None,
            halved_at: None,
        }
    }
}

/// Failures without a success in between.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failing {
    /// The first failure after the last success.
    pub since: Timestamp,
    /// The failures of the last day: for each hour, the time of the first one and their number. Oldest first.
    pub hours: Vec<(Timestamp, u32)>,
}

/// A cap is lower than the number of slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CapTooLow {
    /// The field of the cap, as the API and the console name it.
    pub field: &'static str,
    /// The cap.
    pub cap: u16,
    /// The number of slots that share the cap.
    pub slots: u8,
}

/// The limits for the requests to an endpoint. `None` means no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EndpointCaps {
    /// Concurrent posts, 1 to [`EndpointCaps::MOST`].
    pub concurrency: Option<u16>,
    /// Posts begun per second, 1 to [`EndpointCaps::MOST`].
    pub per_second: Option<u16>,
}

impl EndpointCaps {
    /// The greatest useful limit: a lane never has more concurrent posts.
    pub const MOST: u16 = 1_000;

    /// Checks that this number of slots can keep these caps: each slot makes at least one post.
    pub fn check_slots(self, slots: u8) -> Result<(), CapTooLow> {
        let named = [("maxConcurrency", self.concurrency), ("maxPerSecond", self.per_second)];
        let low =
            named.into_iter().find_map(|(field, cap)| Some((field, cap.filter(|cap| *cap < slots.into())?)));
        low.map_or(Ok(()), |(field, cap)| Err(CapTooLow { field, cap, slots }))
    }

    /// The share of one slot. The limits apply to an endpoint, and its slots do not coordinate.
    pub fn of_slot(self, slots: u8) -> Self {
        let share = |cap: u16| (cap / u16::from(slots.max(1))).max(1);
        Self { concurrency: self.concurrency.map(share), per_second: self.per_second.map(share) }
    }
}

/// The number of posts that a worker may have in progress now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Allowance {
    /// No post before this time: the circuit is open.
    Closed(Timestamp),
    /// One post, which checks whether the endpoint responds again.
    Probe,
    /// This number of posts.
    Posts(u16),
}

impl Pace {
    /// The initial width.
    pub const FIRST_WIDTH: u16 = 16;
    /// The greatest width.
    pub const MOST_WIDTH: u16 = 128;
    /// The increase of the width after a width of quick responses.
    const GROWTH: u16 = 8;
    /// The number of consecutive attempts without a response that opens the circuit.
    pub const SILENCES: u32 = 5;
    /// How long an endpoint counts as slow after a late response or none.
    pub const SLOW_FOR: Duration = Duration::from_mins(5);
    /// The workspace is told after half the time at which the endpoint may be disabled.
    pub const REPORTED_AFTER: Duration = Duration::from_hours(60);
    /// The endpoint is disabled after five days without a success, ...
    pub const DAYS: Duration = days(5);
    /// ... with at least this number of failures in the last day, ...
    const IN_THE_LAST_DAY: u32 = 10;
    /// ... which extend over at least this time.
    const SPREAD: Duration = Duration::from_hours(12);
    const DAY: Duration = days(1);
    const HOUR: Duration = Duration::from_hours(1);

    /// The number of posts that may be in progress now.
    pub fn allowance(&self, caps: EndpointCaps, now: Timestamp) -> Allowance {
        match self.open_until {
            Some(until) if now < until => Allowance::Closed(until),
            _ if self.silences >= Self::SILENCES => Allowance::Probe,
            _ => Allowance::Posts(self.width.min(caps.concurrency.unwrap_or(u16::MAX)).max(1)),
        }
    }

    /// The queue for the lane's messages.
    pub fn track(&self, now: Timestamp) -> Track {
        let is_slow = self.slow_until.is_some_and(|until| now < until) || self.silences >= Self::SILENCES;
        if is_slow { Track::Slow } else { Track::Fast }
    }

    /// Records the outcome of a post that began at `begun_at` and took `took`. A response is slow if it took
    /// at least `patience`.
    pub fn record(
        &mut self,
        outcome: AttemptOutcome,
        begun_at: Timestamp,
        took: Duration,
        patience: Duration,
        schedule: &RetrySchedule,
        now: Timestamp,
    ) {
        let is_silent = matches!(outcome, AttemptOutcome::Failed(_));
        let is_slow = took >= patience;
        let is_busy = matches!(outcome, AttemptOutcome::Answered { status: 429 | 503, .. });
        if is_slow {
            self.slow_until = Some(now.plus(Self::SLOW_FOR));
        }
        if is_silent || is_slow || is_busy {
            self.halve(begun_at, now);
        } else {
            self.grow();
        }
        if is_silent {
            self.record_silence(schedule, now);
        } else {
            (self.silences, self.openings, self.open_until) = (0, 0, None);
        }
        self.failing = match outcome.is_acknowledged() {
            true => None,
            false => Some(Failing::and(self.failing.take(), now)),
        };
    }

    /// Allows one post as a probe if an operator requested something at or after the time the circuit opened.
    pub fn probe_for(&mut self, asked_at: Timestamp) {
        if self.opened_at.is_some_and(|opened_at| opened_at <= asked_at) {
            self.open_until = None;
        }
    }

    fn grow(&mut self) {
        self.quick = self.quick.saturating_add(1);
        if self.quick >= self.width {
            self.width = (self.width + Self::GROWTH).min(Self::MOST_WIDTH);
            self.quick = 0;
        }
    }

    fn halve(&mut self, begun_at: Timestamp, now: Timestamp) {
        if self.halved_at.is_none_or(|halved_at| halved_at < begun_at) {
            (self.width, self.quick, self.halved_at) = ((self.width / 2).max(1), 0, Some(now));
        }
    }

    /// Counts an attempt without a response, and opens the circuit after enough of them. Posts that were in progress
    /// when the circuit opened do not open it again.
    fn record_silence(&mut self, schedule: &RetrySchedule, now: Timestamp) {
        self.silences = self.silences.saturating_add(1);
        let is_open = self.open_until.is_some_and(|until| now < until);
        if self.silences >= Self::SILENCES && !is_open {
            self.openings = self.openings.saturating_add(1);
            let cool_down = Self::cool_down(self.openings);
            self.opened_at = Some(now);
            self.open_until = Some(schedule.repeating(cool_down, Jitter::NONE, now));
        }
    }

    /// The duration of an opening, as a position in the retry schedule of deliveries: 5 seconds first, then 5
    /// minutes each time, and 30 minutes after the circuit has been open for about 30 minutes.
    fn cool_down(openings: u32) -> u32 {
        match openings {
            0..=1 => 1,
            2..=7 => 2,
            _ => 3,
        }
    }

    /// Since when every attempt fails, if that is long enough to tell the workspace: [`Pace::REPORTED_AFTER`].
    pub fn must_be_reported(&self, now: Timestamp) -> Option<Timestamp> {
        let since = self.failing.as_ref()?.since;
        (now.since(since) >= Self::REPORTED_AFTER).then_some(since)
    }

    /// Whether the service must disable the endpoint: five days without a success, with at least ten failures
    /// in the last day that extend over twelve hours. A few events to a dead endpoint, or one bad hour of an
    /// endpoint with little traffic, are not enough.
    pub fn must_be_disabled(&self, now: Timestamp) -> bool {
        let Some(failing) = &self.failing else { return false };
        let late: Vec<_> = failing.hours.iter().filter(|(at, _)| now.since(*at) < Self::DAY).collect();
        let first = late.first().map_or(now, |(at, _)| *at);
        now.since(failing.since) >= Self::DAYS
            && late.iter().map(|(_, failures)| failures).sum::<u32>() >= Self::IN_THE_LAST_DAY
            && now.since(first) >= Self::SPREAD
    }
}

impl Failing {
    fn and(before: Option<Self>, now: Timestamp) -> Self {
        let mut next = before.unwrap_or(Self { since: now, hours: vec![] });
        next.hours.retain(|(at, _)| now.since(*at) < Pace::DAY);
        match next.hours.last_mut() {
            Some((at, count)) if now.since(*at) < Pace::HOUR => *count = count.saturating_add(1),
            _ => next.hours.push((now, 1)),
        }
        next
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::webhook::attempt::AttemptError;

    const NOW: Timestamp = Timestamp::from_millis(1_767_323_045_678);
    const OK: AttemptOutcome = AttemptOutcome::Answered { status: 200, retry_after: None };
    const REFUSED: AttemptOutcome = AttemptOutcome::Answered { status: 500, retry_after: None };
    const BUSY: AttemptOutcome = AttemptOutcome::Answered { status: 429, retry_after: None };
    const SILENT: AttemptOutcome = AttemptOutcome::Failed(AttemptError::Timeout);
    const PATIENCE: Duration = Duration::from_secs(3);
    const QUICK: Duration = Duration::from_millis(20);

    fn later(seconds: u64) -> Timestamp {
        NOW.plus(Duration::from_secs(seconds))
    }

    fn see(pace: &mut Pace, outcome: AttemptOutcome, at: u64) {
        pace.record(outcome, later(at), QUICK, PATIENCE, &RetrySchedule::default(), later(at));
    }

    fn after(seen: &[(AttemptOutcome, u64)]) -> Pace {
        let mut pace = Pace::default();
        seen.iter().for_each(|(outcome, at)| see(&mut pace, *outcome, *at));
        pace
    }

    #[test]
    fn the_width_grows_by_eight_with_each_width_of_quick_responses_up_to_its_maximum() {
        let mut pace = Pace::default();
        let mut widths = vec![];
        for _ in 0..2_000 {
            see(&mut pace, OK, 0);
            if widths.last() != Some(&pace.width) {
                widths.push(pace.width);
            }
        }
        assert_eq!(widths, [16, 24, 32, 40, 48, 56, 64, 72, 80, 88, 96, 104, 112, 120, 128]);
        assert_eq!(pace.allowance(EndpointCaps::default(), NOW), Allowance::Posts(128));
    }

    #[test]
    fn the_width_halves_once_per_round_trip_and_never_reaches_zero() {
        let schedule = RetrySchedule::default();
        for (outcome, took) in [(BUSY, QUICK), (SILENT, QUICK), (OK, PATIENCE)] {
            let mut pace = Pace { width: 100, ..Pace::default() };
            for _ in 0..4 {
                pace.record(outcome, NOW, took, PATIENCE, &schedule, later(1));
            }
            assert_eq!(pace.width, 50, "posts of the same round trip");
            for second in 2..20 {
                pace.record(outcome, later(second), took, PATIENCE, &schedule, later(second));
            }
            assert_eq!(pace.width, 1);
        }
        assert_eq!(after(&[(REFUSED, 0)]).width, 16, "a quick 500 says nothing of how much it bears");
    }

    #[test]
    fn an_operators_cap_limits_the_width_and_is_divided_among_the_slots() {
        let pace = Pace { width: 100, ..Pace::default() };
        for (concurrency, slots, posts) in [(10, 1, 10), (200, 1, 100), (10, 4, 2), (1, 4, 1)] {
            let caps = EndpointCaps { concurrency: Some(concurrency), per_second: None };
            assert_eq!(pace.allowance(caps.of_slot(slots), NOW), Allowance::Posts(posts));
        }
        assert_eq!(EndpointCaps { concurrency: None, per_second: Some(9) }.of_slot(2).per_second, Some(4));
    }

    #[test]
    fn an_endpoint_that_responds_late_is_slow_for_five_minutes() {
        let mut pace = Pace::default();
        pace.record(OK, NOW, PATIENCE, PATIENCE, &RetrySchedule::default(), NOW);
        assert_eq!((pace.track(later(299)), pace.track(later(300))), (Track::Slow, Track::Fast));
        assert_eq!(Pace::default().track(NOW), Track::Fast);
    }

    #[test]
    fn five_attempts_without_a_response_open_the_circuit_and_any_response_to_the_probe_closes_it() {
        let none = EndpointCaps::default();
        let four = [(SILENT, 0); 4];
        assert_eq!(after(&four).open_until, None);
        let open = after(&[&four[..], &[(SILENT, 1)]].concat());
        assert_eq!(open.allowance(none, later(5)), Allowance::Closed(later(6)));
        assert_eq!((open.allowance(none, later(6)), open.track(later(6))), (Allowance::Probe, Track::Slow));
        let again = |outcome, at| {
            let mut pace = open.clone();
            see(&mut pace, outcome, at);
            pace
        };
        assert_eq!(again(SILENT, 2).open_until, open.open_until, "it was under way when the circuit opened");
        assert_eq!((again(SILENT, 6).openings, again(SILENT, 6).open_until), (2, Some(later(306))));
        assert_eq!(again(REFUSED, 6).allowance(none, later(6)), Allowance::Posts(4));
        assert!(again(REFUSED, 6).failing.is_some() && again(OK, 6).failing.is_none());
        let asked = |at| {
            let mut pace = open.clone();
            pace.probe_for(later(at));
            pace.allowance(none, later(2))
        };
        assert_eq!((asked(0), asked(1)), (Allowance::Closed(later(6)), Allowance::Probe));
    }

    #[test]
    fn a_dead_endpoint_is_probed_seven_times_in_its_first_hour_and_twice_in_each_later_one() {
        let mut pace = after(&[(SILENT, 0); 5]);
        let mut probes = vec![];
        while let Some(at) = pace.open_until.filter(|at| *at < later(4 * 3_600)) {
            probes.push(at.since(NOW).as_secs() / 3_600);
            pace.record(SILENT, at, QUICK, PATIENCE, &RetrySchedule::default(), at);
        }
        let in_hour = |hour: u64| probes.iter().filter(|probe| **probe == hour).count();
        assert_eq!([0, 1, 2, 3].map(in_hour), [7, 2, 2, 2]);
    }

    #[test]
    fn only_consecutive_silences_count() {
        assert_eq!(after(&[(SILENT, 0), (SILENT, 1), (OK, 2), (SILENT, 3)]).silences, 1);
        assert_eq!(after(&[(SILENT, 0), (SILENT, 1), (SILENT, 1), (SILENT, 1), (REFUSED, 2)]).silences, 0);
    }

    /// Each number is the hour of a failure after the first one. The result is whether the endpoint is then
    /// hopeless.
    #[test]
    fn an_endpoint_must_be_disabled_after_five_days_of_failures_with_ten_in_the_last_day_over_twelve_hours() {
        let hopeless = |hours: &[f64], ok_at: Option<f64>| {
            let seconds = |hour: f64| (hour * 3_600.0) as u64;
            let mut seen: Vec<_> = hours.iter().map(|hour| (REFUSED, seconds(*hour))).collect();
            seen.extend(ok_at.map(|hour| (OK, seconds(hour))));
            seen.sort_by_key(|(_, at)| *at);
            let last = seen.last().map_or(0, |(_, at)| *at);
            after(&seen).must_be_disabled(later(last))
        };
        let daily = |day: f64, count: u32, over: f64| -> Vec<f64> {
            let step = over / f64::from(count - 1);
            [0.0].into_iter().chain((0..count).map(|n| day * 24.0 + f64::from(n) * step)).collect()
        };
        assert!(hopeless(&daily(5.0, 10, 12.0), None));
        assert!(hopeless(&daily(4.5, 10, 12.0), None), "the fifth day ends with the last of them");
        assert!(!hopeless(&daily(4.4, 10, 12.0), None), "not five days");
        assert!(!hopeless(&daily(5.0, 9, 12.0), None), "nine in the last day");
        assert!(!hopeless(&daily(5.0, 40, 11.9), None), "all within twelve hours");
        assert!(!hopeless(&daily(5.0, 10, 12.0), Some(60.0)), "a success between");
        assert!(!hopeless(&daily(5.0, 10, 40.0), None), "spread over more than the last day");
        let day = 86_400;
        let at_once = after(&[&[(REFUSED, 0)][..], &[(REFUSED, 5 * day); 10]].concat());
        let rest = [5 * day + day / 2 - 1, 5 * day + day / 2, 6 * day - 1, 6 * day];
        assert_eq!(
            rest.map(|at| at_once.must_be_disabled(later(at))),
            [false, true, true, false],
            "a quiet day"
        );
        let hourly: Vec<f64> = (0..=130).map(f64::from).collect();
        assert!(
            hopeless(&hourly, None) && hopeless(&hourly[..=120], None) && !hopeless(&hourly[..=119], None)
        );
    }

    #[test]
    fn the_record_of_a_day_of_failures_has_at_most_24_numbers() {
        let mut pace = Pace::default();
        for minute in 0..10_000 {
            see(&mut pace, REFUSED, minute * 60);
            let failing = pace.failing.as_ref().unwrap();
            assert!(failing.hours.len() <= 24, "{} after {minute} minutes", failing.hours.len());
            assert_eq!(failing.since, NOW);
        }
        let failing = after(&[(REFUSED, 0), (REFUSED, 3_599), (REFUSED, 3_600)]).failing.unwrap();
        assert_eq!(failing.hours, [(NOW, 2), (later(3_600), 1)]);
    }

    proptest! {
        #[test]
        fn the_width_always_stays_within_its_bounds(steps in prop::collection::vec((0_u8..4, 0_u64..40), 1..300)) {
            let mut pace = Pace::default();
            let mut at = 0;
            for (what, wait) in steps {
                at += wait;
                see(&mut pace, [OK, REFUSED, BUSY, SILENT][usize::from(what)], at);
                prop_assert!((1..=Pace::MOST_WIDTH).contains(&pace.width));
                prop_assert!(pace.silences < Pace::SILENCES || pace.open_until.is_some());
            }
        }

        #[test]
        fn an_endpoint_with_a_success_in_the_last_five_days_is_never_hopeless(
            failures in prop::collection::vec(0_u64..600_000, 0..200), ok in 100_000_u64..600_000,
        ) {
            let mut seen: Vec<_> = failures.into_iter().map(|at| (REFUSED, at)).collect();
            seen.push((OK, ok));
            seen.sort_by_key(|(_, at)| *at);
            let last = seen.last().map_or(0, |(_, at)| *at);
            prop_assume!(last - ok < 5 * 86_400);
            prop_assert!(!after(&seen).must_be_disabled(later(last)));
        }
    }
}
