//! The gate before an endpoint: who may post to it now, so that a slow or dead receiver never holds up the others.
//!
//! Two lanes of workers make attempts, each with a concurrency of its own. Whoever begins to post to an endpoint takes
//! one of a few **slots** that the endpoint has in its lane, and gives it back; a receiver that keeps its callers
//! waiting so holds no more than these, however much is due to it.
//!
//! ```text
//! fast lane --no slot free, or known to be slow--> slow lane --no slot free--> put off for a while
//! five attempts without an answer: the circuit opens --cool-down--> one probe --no answer--> opens again
//!                                                                      '--any answer--> as ever
//! ```
//!
//! What is put off spends no attempt. The gate also keeps the record by which an endpoint that does nothing but fail
//! is disabled.

use std::time::Duration;

use uuid::Uuid;

use crate::delivery::AttemptOutcome;
use crate::retry::{Jitter, RetrySchedule};
use crate::time::Timestamp;

/// A way on which deliveries come, with workers of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Lane {
    /// Deliveries that never failed, to receivers that answer quickly.
    Fast,
    /// All others.
    Slow,
}

impl Lane {
    /// The lane of a delivery of which so many attempts failed.
    pub fn of_failures(failures: u32) -> Self {
        if failures == 0 { Self::Fast } else { Self::Slow }
    }

    /// `fast` or `slow`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Fast => "fast",
            Self::Slow => "slow",
        }
    }

    /// How many invocations of the lane may post to an endpoint at the same time.
    fn slots(self) -> u8 {
        match self {
            Self::Fast | Self::Slow => 4,
        }
    }
}

/// A place at a gate, for one invocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Slot {
    /// One of a lane's.
    Of(Lane, u8),
    /// The only one while it is tried whether the endpoint answers again.
    Probe,
}

impl Slot {
    /// All there are.
    pub fn all() -> impl Iterator<Item = Self> {
        let of = |lane: Lane| (0..lane.slots()).map(move |number| Self::Of(lane, number));
        of(Lane::Fast).chain(of(Lane::Slow)).chain([Self::Probe])
    }

    /// The one to try first, drawn by a random id so that invocations seldom meet.
    pub fn drawn(lane: Lane, id: &Uuid) -> Self {
        Self::Of(lane, (id.as_u128() % u128::from(lane.slots())) as u8)
    }

    /// Its name: `f0`, `s1`, `probe`.
    pub fn name(self) -> String {
        match self {
            Self::Of(Lane::Fast, number) => format!("f{number}"),
            Self::Of(Lane::Slow, number) => format!("s{number}"),
            Self::Probe => "probe".to_owned(),
        }
    }
}

/// What is known of an endpoint's answers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Health {
    /// Until then its deliveries take the slow lane.
    pub slow_until: Option<Timestamp>,
    /// Attempts in a row that had no answer at all.
    pub silences: u32,
    /// How often in a row the circuit opened.
    pub openings: u32,
    /// Until then nothing is posted.
    pub open_until: Option<Timestamp>,
    /// Since when there was nothing but failures, and how many of late.
    pub failing: Option<Failing>,
}

/// Nothing but failures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failing {
    /// The first one behind the last success.
    pub since: Timestamp,
    /// Those of the last day: by hour, the first one and how many. Oldest first.
    pub hours: Vec<(Timestamp, u32)>,
}

/// The gate as it stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Gate {
    /// What is known of the endpoint.
    pub health: Health,
    /// The slots that were taken, and until when each is held at most.
    pub taken: Vec<(Slot, Timestamp)>,
    /// Grows with each change of what is known.
    pub version: u64,
}

/// What a worker who asks for a place is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// This slot is free.
    Free(Slot),
    /// The slow lane is to see to it.
    Aside,
    /// All slots are taken.
    Busy,
    /// Nobody posts before that.
    PutOff(Timestamp),
}

/// What a worker has seen of an endpoint when it gives its place back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// Attempts that were acknowledged.
    pub acknowledged: u32,
    /// Attempts that were answered otherwise.
    pub refused: u32,
    /// Attempts without an answer.
    pub silent: u32,
    /// Whether an answer took its time.
    pub slow: bool,
}

impl Seen {
    /// Both together.
    pub fn add(&mut self, other: Self) {
        self.acknowledged += other.acknowledged;
        self.refused += other.refused;
        self.silent += other.silent;
        self.slow |= other.slow;
    }

    /// What one attempt shows that took so long, where an answer after `patience` is a slow one.
    pub fn of(outcome: AttemptOutcome, took: Duration, patience: Duration) -> Self {
        let mut seen = Self { slow: took >= patience, ..Self::default() };
        match outcome {
            AttemptOutcome::Failed(_) => seen.silent = 1,
            outcome if outcome.is_acknowledged() => seen.acknowledged = 1,
            AttemptOutcome::Answered { .. } => seen.refused = 1,
        }
        seen
    }
}

impl Gate {
    /// So many attempts in a row without an answer open the circuit.
    pub const SILENCES: u32 = 5;
    /// For how long an endpoint that kept a worker waiting takes the slow lane.
    pub const SLOW_FOR: Duration = Duration::from_secs(300);
    /// When to come again at the earliest to slots that are all taken, ...
    const BUSY: Duration = Duration::from_secs(5);
    /// ... and at the latest.
    const BUSIEST: Duration = Duration::from_secs(300);

    /// When to come again to slots that are all taken: what has waited long can wait longer, so that a backlog is not
    /// looked at again and again.
    pub fn busy(since: Timestamp, now: Timestamp) -> Duration {
        (now.since(since) / 8).clamp(Self::BUSY, Self::BUSIEST)
    }

    /// Whether a worker of that lane may post now.
    pub fn admission(&self, lane: Lane, now: Timestamp) -> Admission {
        let Health { slow_until, silences, open_until, .. } = self.health;
        if let Some(until) = open_until.filter(|until| now < *until) {
            return Admission::PutOff(until);
        }
        if lane == Lane::Fast && (slow_until.is_some_and(|until| now < until) || silences >= Self::SILENCES) {
            return Admission::Aside;
        }
        if silences >= Self::SILENCES {
            return match self.held(Slot::Probe, now) {
                None => Admission::Free(Slot::Probe),
                Some(_) => Admission::Busy,
            };
        }
        let free = (0..lane.slots()).map(|number| Slot::Of(lane, number));
        match (free.into_iter().find(|slot| self.held(*slot, now).is_none()), lane) {
            (Some(slot), _) => Admission::Free(slot),
            (None, Lane::Fast) => Admission::Aside,
            (None, Lane::Slow) => Admission::Busy,
        }
    }

    /// Until when a slot is held, if it is.
    fn held(&self, slot: Slot, now: Timestamp) -> Option<Timestamp> {
        self.taken.iter().find(|(taken, until)| *taken == slot && now < *until).map(|(_, until)| *until)
    }
}

impl Health {
    /// Five days of nothing but failures ...
    const DAYS: Duration = Duration::from_secs(5 * 86_400);
    /// ... at least so many of them in the last day ...
    const IN_THE_LAST_DAY: u32 = 10;
    /// ... spread over so long.
    const SPREAD: Duration = Duration::from_secs(12 * 3_600);
    const DAY: Duration = Duration::from_secs(86_400);
    const HOUR: Duration = Duration::from_secs(3_600);

    /// What is known once a worker has given its place back.
    pub fn after(&self, seen: Seen, schedule: &RetrySchedule, now: Timestamp) -> Self {
        let mut next = self.clone();
        if seen.slow {
            next.slow_until = Some(now.plus(Gate::SLOW_FOR));
        }
        if seen.acknowledged + seen.refused > 0 {
            (next.silences, next.openings, next.open_until) = (0, 0, None);
        } else {
            next.silences = self.silences.saturating_add(seen.silent);
        }
        let is_open = next.open_until.is_some_and(|until| now < until);
        // Of several workers who saw it fall silent at the same time, one opens it.
        if seen.silent > 0 && next.silences >= Gate::SILENCES && !is_open {
            next.openings = self.openings.saturating_add(1);
            next.open_until = Some(schedule.repeating(Self::cool_down(next.openings), Jitter::NONE, now));
        }
        next.failing = match (seen.acknowledged, seen.refused + seen.silent) {
            (1.., _) => None,
            (0, 0) => self.failing.clone(),
            (0, failures) => Some(Failing::and(self.failing.as_ref(), failures, now)),
        };
        next
    }

    /// For how long it opens, as the position in the schedule of deliveries: 5 s, then 5 minutes each time, half an hour
    /// once it has been dead for an hour.
    fn cool_down(openings: u32) -> u32 {
        match openings {
            0..=1 => 1,
            2..=13 => 2,
            _ => 3,
        }
    }

    /// Whether an endpoint of which this is known is to be disabled: five days of nothing but failures, at least ten of
    /// them in the last day, spread over twelve hours. Sporadic events to a dead endpoint, or a bad hour of one that
    /// is seldom called, are no reason.
    pub fn is_hopeless(&self, now: Timestamp) -> bool {
        let Some(failing) = &self.failing else { return false };
        let late: Vec<_> = failing.hours.iter().filter(|(at, _)| now.since(*at) < Self::DAY).collect();
        let first = late.first().map_or(now, |(at, _)| *at);
        now.since(failing.since) >= Self::DAYS
            && late.iter().map(|(_, failures)| failures).sum::<u32>() >= Self::IN_THE_LAST_DAY
            && now.since(first) >= Self::SPREAD
    }
}

impl Failing {
    fn and(before: Option<&Self>, failures: u32, now: Timestamp) -> Self {
        let mut next = before.cloned().unwrap_or(Self { since: now, hours: vec![] });
        next.hours.retain(|(at, _)| now.since(*at) < Health::DAY);
        match next.hours.last_mut() {
            Some((at, count)) if now.since(*at) < Health::HOUR => *count = count.saturating_add(failures),
            _ => next.hours.push((now, failures)),
        }
        next
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const NOW: Timestamp = Timestamp::from_millis(1_767_323_045_678);
    const OK: Seen = Seen { acknowledged: 1, refused: 0, silent: 0, slow: false };
    const REFUSED: Seen = Seen { acknowledged: 0, refused: 1, silent: 0, slow: false };
    const SILENT: Seen = Seen { acknowledged: 0, refused: 0, silent: 1, slow: false };

    fn later(seconds: u64) -> Timestamp {
        NOW.plus(Duration::from_secs(seconds))
    }

    fn after(seen: &[(Seen, u64)]) -> Health {
        let schedule = RetrySchedule::default();
        seen.iter().fold(Health::default(), |health, (seen, at)| health.after(*seen, &schedule, later(*at)))
    }

    fn gate(health: Health, taken: &[(Slot, u64)]) -> Gate {
        Gate { health, taken: taken.iter().map(|(slot, until)| (*slot, later(*until))).collect(), version: 1 }
    }

    const F: fn(u8) -> Slot = |number| Slot::Of(Lane::Fast, number);
    const S: fn(u8) -> Slot = |number| Slot::Of(Lane::Slow, number);

    #[test]
    fn a_lane_has_its_slots_and_who_finds_none_is_sent_on() {
        let fresh = Health::default;
        let full = [(F(0), 9), (F(1), 9), (F(2), 9), (F(3), 9)];
        let both = [&full[..], &[(S(0), 9), (S(1), 9), (S(2), 9), (S(3), 9)]].concat();
        for (taken, fast, slow) in [
            (&full[..0], Admission::Free(F(0)), Admission::Free(S(0))),
            (&full[..2], Admission::Free(F(2)), Admission::Free(S(0))),
            (&full[1..], Admission::Free(F(0)), Admission::Free(S(0))),
            (&full[..], Admission::Aside, Admission::Free(S(0))),
            (&both[..5], Admission::Aside, Admission::Free(S(1))),
            (&both[..], Admission::Aside, Admission::Busy),
        ] {
            let gate = gate(fresh(), taken);
            assert_eq!(
                (gate.admission(Lane::Fast, NOW), gate.admission(Lane::Slow, NOW)),
                (fast, slow),
                "{taken:?}"
            );
        }
        // Whoever died with a slot keeps it no longer than it said.
        assert_eq!(gate(fresh(), &both).admission(Lane::Fast, later(9)), Admission::Free(F(0)));
    }

    #[test]
    fn an_endpoint_that_kept_somebody_waiting_takes_the_slow_lane_for_a_while() {
        let slow = after(&[(Seen { slow: true, ..OK }, 0)]);
        assert_eq!(gate(slow.clone(), &[]).admission(Lane::Fast, later(299)), Admission::Aside);
        assert_eq!(gate(slow.clone(), &[]).admission(Lane::Slow, NOW), Admission::Free(S(0)));
        assert_eq!(gate(slow, &[]).admission(Lane::Fast, later(300)), Admission::Free(F(0)));
    }

    #[test]
    fn five_attempts_without_an_answer_open_the_circuit_and_one_probe_at_a_time_closes_it() {
        let four = [(SILENT, 0); 4];
        assert_eq!(after(&four).open_until, None);
        let open = after(&[&four[..], &[(SILENT, 1)]].concat());
        assert_eq!(open.open_until, Some(later(6)));
        for lane in [Lane::Fast, Lane::Slow] {
            assert_eq!(gate(open.clone(), &[]).admission(lane, later(5)), Admission::PutOff(later(6)));
        }
        // The cool-down is over: a probe, on the slow lane.
        let half = |taken: &[(Slot, u64)], lane| gate(open.clone(), taken).admission(lane, later(6));
        assert_eq!(half(&[], Lane::Fast), Admission::Aside);
        assert_eq!(half(&[(S(0), 90)], Lane::Slow), Admission::Free(Slot::Probe));
        assert_eq!(half(&[(Slot::Probe, 90)], Lane::Slow), Admission::Busy);
        assert_eq!(half(&[(Slot::Probe, 6)], Lane::Slow), Admission::Free(Slot::Probe));
        // It fails: five minutes, and so on. It answers, though not well: as ever.
        let schedule = RetrySchedule::default();
        let again = open.after(SILENT, &schedule, later(6));
        assert_eq!((again.openings, again.open_until), (2, Some(later(306))));
        assert_eq!(again.after(SILENT, &schedule, later(306)).open_until, Some(later(606)));
        // Others who saw it fall silent at the same time change nothing any more.
        let others = open.after(SILENT, &schedule, later(2));
        assert_eq!((others.openings, others.open_until), (1, open.open_until));
        let dead = (0..13).fold(again.clone(), |health, _| {
            let at = health.open_until.unwrap();
            health.after(SILENT, &schedule, at)
        });
        assert_eq!(dead.open_until.unwrap(), later(306 + 11 * 300 + 2 * 1_800), "half-hourly in the end");
        let answered = again.after(REFUSED, &schedule, later(306));
        assert_eq!((answered.silences, answered.openings, answered.open_until), (0, 0, None));
        assert!(answered.failing.is_some());
        assert_eq!(again.after(OK, &schedule, later(306)), Health::default());
    }

    #[test]
    fn silences_count_in_a_row_only_and_an_answer_beside_them_ends_the_row() {
        assert_eq!(after(&[(SILENT, 0), (SILENT, 1), (OK, 2), (SILENT, 3)]).silences, 1);
        assert_eq!(after(&[(Seen { silent: 40, ..Seen::default() }, 0)]).openings, 1);
        assert_eq!(after(&[(Seen { silent: 40, refused: 1, ..Seen::default() }, 0)]).silences, 0);
        // A worker who did not post in the end has seen nothing.
        let open = after(&[(SILENT, 0); 5]);
        assert_eq!(open.after(Seen::default(), &RetrySchedule::default(), later(9)), open);
    }

    /// Hours from the first failure at which one happens each, and whether the endpoint is then hopeless.
    #[test]
    fn five_days_of_nothing_but_failures_ten_of_them_in_the_last_day_over_twelve_hours() {
        let hopeless = |hours: &[f64], ok_at: Option<f64>| {
            let seconds = |hour: f64| (hour * 3_600.0) as u64;
            let mut seen: Vec<(Seen, u64)> = hours.iter().map(|hour| (REFUSED, seconds(*hour))).collect();
            seen.extend(ok_at.map(|hour| (OK, seconds(hour))));
            seen.sort_by_key(|(_, at)| *at);
            let last = seen.last().map_or(0, |(_, at)| *at);
            after(&seen).is_hopeless(later(last))
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
        let hourly: Vec<f64> = (0..=130).map(f64::from).collect();
        assert!(
            hopeless(&hourly, None) && hopeless(&hourly[..=120], None) && !hopeless(&hourly[..=119], None)
        );
    }

    #[test]
    fn what_has_waited_long_waits_longer_for_a_slot() {
        for (age, wait) in [(0, 5), (40, 5), (80, 10), (2_400, 300), (1_000_000, 300)] {
            assert_eq!(Gate::busy(NOW, later(age)).as_secs(), wait, "{age}");
        }
    }

    #[test]
    fn of_a_day_of_failures_a_few_numbers_are_kept() {
        let minutely: Vec<(Seen, u64)> = (0..10_000).map(|minute| (REFUSED, minute * 60)).collect();
        let failing = after(&minutely).failing.unwrap();
        assert!(failing.hours.len() <= 24, "{}", failing.hours.len());
        assert_eq!(failing.since, NOW);
    }

    #[test]
    fn every_slot_has_a_name_of_its_own() {
        let names: Vec<String> = Slot::all().map(Slot::name).collect();
        assert_eq!(names, ["f0", "f1", "f2", "f3", "s0", "s1", "s2", "s3", "probe"]);
        assert_eq!((Lane::of_failures(0), Lane::of_failures(1)), (Lane::Fast, Lane::Slow));
    }

    proptest! {
        /// However many come, and whatever was seen: never more at the same time than there are slots, and while the
        /// circuit was opened by silence one only.
        #[test]
        fn a_dead_endpoint_holds_few_workers(steps in prop::collection::vec((any::<bool>(), 0_u64..40, 0_u8..4), 1..300)) {
            let schedule = RetrySchedule::default();
            let (mut gate, mut now) = (Gate::default(), NOW);
            for (fast, wait, what) in steps {
                now = now.plus(Duration::from_secs(wait));
                gate.taken.retain(|(_, until)| now < *until);
                let lane = if fast { Lane::Fast } else { Lane::Slow };
                if what == 0 {
                    if let Some((_, _)) = gate.taken.pop() {
                        gate.health = gate.health.after(SILENT, &schedule, now);
                    }
                    continue;
                }
                let probing = gate.health.silences >= Gate::SILENCES;
                match gate.admission(lane, now) {
                    Admission::Free(slot) => {
                        prop_assert!(!gate.taken.iter().any(|(taken, _)| *taken == slot));
                        prop_assert_eq!(probing, slot == Slot::Probe);
                        gate.taken.push((slot, now.plus(Duration::from_secs(90))));
                    }
                    Admission::Aside => prop_assert_eq!(lane, Lane::Fast),
                    Admission::Busy => prop_assert!(!gate.taken.is_empty()),
                    Admission::PutOff(until) => prop_assert!(until > now),
                }
                prop_assert!(gate.taken.len() <= 9);
            }
        }

        #[test]
        fn an_endpoint_with_a_success_in_the_last_five_days_is_never_hopeless(
            failures in prop::collection::vec(0_u64..600_000, 0..200), ok in 100_000_u64..600_000,
        ) {
            let mut seen: Vec<(Seen, u64)> = failures.into_iter().map(|at| (REFUSED, at)).collect();
            seen.push((OK, ok));
            seen.sort_by_key(|(_, at)| *at);
            let last = seen.last().map_or(0, |(_, at)| *at);
            prop_assume!(last - ok < 5 * 86_400);
            prop_assert!(!after(&seen).is_hopeless(later(last)));
        }
    }
}
