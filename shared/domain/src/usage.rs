//! What happened in a workspace, counted by the hour.
//!
//! The counts are for people, not for invoices: work that is repeated counts again, and a visit that is killed counts
//! nothing.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::ids::WorkspaceId;
use crate::message::summary::Direction;
use crate::text::Unfit;
use crate::time::{Timestamp, days};
use crate::webhook::event::EventType;
use crate::words::words;

/// Deliveries that a receiver acknowledged.
pub const DELIVERED: &str = "delivery.delivered";
/// Attempts that failed, also those that are tried again.
pub const FAILED: &str = "delivery.failed";
/// Deliveries whose last attempt failed.
pub const EXHAUSTED: &str = "delivery.exhausted";

/// How long counts are kept: 400 days.
pub const KEPT: Duration = days(400);
/// The longest time of one request.
pub const LONGEST: Duration = days(31);

const HOUR: Duration = Duration::from_hours(1);

/// The name under which a change counts: the type of its event, for messages with their direction.
pub const fn name_of(event_type: EventType, direction: Option<Direction>) -> &'static str {
    use Direction::{Inbound, Internal, Outbound};
    match (event_type, direction) {
        (EventType::MessageCreated, Some(Inbound)) => "message.created.inbound",
        (EventType::MessageCreated, Some(Outbound)) => "message.created.outbound",
        (EventType::MessageCreated, Some(Internal)) => "message.created.internal",
        (EventType::MessageUpdated, Some(Inbound)) => "message.updated.inbound",
        (EventType::MessageUpdated, Some(Outbound)) => "message.updated.outbound",
        (EventType::MessageUpdated, Some(Internal)) => "message.updated.internal",
        (other, _) => other.as_str(),
    }
}

/// Counts by their names.
pub type Counts = BTreeMap<String, u64>;

/// What one invocation counted: by workspace and hour, then by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// The counts of each workspace and hour.
    pub hours: BTreeMap<(WorkspaceId, Timestamp), BTreeMap<&'static str, u64>>,
}

impl Tally {
    /// Counts something that happened at that time.
    pub fn add(&mut self, workspace: WorkspaceId, at: Timestamp, name: &'static str) {
        *self.hours.entry((workspace, at.to_hour())).or_default().entry(name).or_default() += 1;
    }
}

/// How long each step of an answer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// An hour.
    Hour,
    /// A day of UTC.
    Day,
}

words!(
    /// The names of the steps.
    Step { Hour: "HOUR", Day: "DAY" }
);

impl Step {
    /// The length of the step.
    pub const fn length(self) -> Duration {
        match self {
            Self::Hour => HOUR,
            Self::Day => days(1),
        }
    }

    /// The number of steps if a request names no beginning.
    const fn usual(self) -> u32 {
        match self {
            Self::Hour => 24,
            Self::Day => 30,
        }
    }

    /// The beginning of the step that contains this time.
    fn begin(self, at: Timestamp) -> Timestamp {
        match self {
            Self::Hour => at.to_hour(),
            Self::Day => at.to_day(),
        }
    }
}

/// The time that a request asks for, in whole steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The beginning of the first step.
    pub from: Timestamp,
    /// The end, which is not included.
    pub to: Timestamp,
    /// The length of the steps.
    pub step: Step,
}

/// The counts of one step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counted {
    /// The beginning of the step.
    pub at: Timestamp,
    /// What happened in it.
    pub counts: Counts,
}

impl Span {
    /// The span from the beginning of the step that contains `from`, until `to`. Its last step may be incomplete. Without `from`: the last 24 hours or 30
    /// days before `to`, the present one included; `to` is the present unless it is earlier.
    pub fn of(
        from: Option<Timestamp>,
        to: Option<Timestamp>,
        step: Step,
        now: Timestamp,
    ) -> Result<Self, Unfit> {
        let to = to.map_or(now, |to| to.min(now));
        let last = step.begin(to.minus(Duration::from_millis(1)));
        let from = from.unwrap_or_else(|| last.minus(step.length() * (step.usual() - 1)));
        if from >= to {
            return Err(Unfit::Value { reason: "must be before the end and not in the future" });
        }
        if to.since(from) > LONGEST {
            return Err(Unfit::Value { reason: "must be at most 31 days before the end" });
        }
        let from = step.begin(from);
        Ok(Self { from, to, step })
    }

    /// The steps in the order of time, also those in which nothing happened. `hours` are the counts of hours, in any order; the
    /// same hour may come more than once.
    pub fn steps(self, hours: impl IntoIterator<Item = (Timestamp, Counts)>) -> Vec<Counted> {
        let mut steps = BTreeMap::new();
        let mut at = self.from;
        while at < self.to {
            steps.insert(at, Counts::new());
            at = at.plus(self.step.length());
        }
        for (hour, counts) in hours.into_iter().filter(|(hour, _)| *hour < self.to) {
            let Some(step) = steps.get_mut(&self.step.begin(hour)) else { continue };
            for (name, number) in counts {
                *step.entry(name).or_default() += number;
            }
        }
        steps.into_iter().map(|(at, counts)| Counted { at, counts }).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        Timestamp::parse(text).unwrap()
    }

    #[test]
    fn a_message_counts_with_its_direction_and_every_other_change_by_its_type() {
        let directions = [Direction::Inbound, Direction::Outbound, Direction::Internal];
        for event_type in EventType::ALL {
            for direction in directions {
                let (name, of_type) = (name_of(event_type, Some(direction)), event_type.as_str());
                let word = direction.as_str().to_lowercase();
                match event_type {
                    EventType::MessageCreated | EventType::MessageUpdated => {
                        assert_eq!(name, format!("{of_type}.{word}"));
                    }
                    _ => assert_eq!(name, of_type),
                }
            }
        }
    }

    #[test]
    fn a_tally_separates_workspaces_and_hours() {
        let [one, other] = [1, 2].map(|n| WorkspaceId::from_uuid(uuid::Uuid::from_u128(n)));
        let mut tally = Tally::default();
        tally.add(one, at("2026-01-02T03:00:00Z"), DELIVERED);
        tally.add(one, at("2026-01-02T03:59:59.999Z"), DELIVERED);
        tally.add(one, at("2026-01-02T04:00:00Z"), DELIVERED);
        tally.add(one, at("2026-01-02T03:10:00Z"), FAILED);
        tally.add(other, at("2026-01-02T03:00:00Z"), DELIVERED);
        let (three, four) = (at("2026-01-02T03:00:00Z"), at("2026-01-02T04:00:00Z"));
        let expected = BTreeMap::from([
            ((one, three), BTreeMap::from([(DELIVERED, 2), (FAILED, 1)])),
            ((one, four), BTreeMap::from([(DELIVERED, 1)])),
            ((other, three), BTreeMap::from([(DELIVERED, 1)])),
        ]);
        assert_eq!(tally.hours, expected);
    }

    #[test]
    fn a_span_has_whole_steps_and_at_most_31_days() {
        let now = "2026-03-10T12:34:56.789Z";
        let early = Err("must be before the end and not in the future");
        let long = Err("must be at most 31 days before the end");
        let rows = [
            // From, to, step; the first step and the end, or the reason.
            (None, None, Step::Hour, Ok(("2026-03-09T13:00:00Z", now))),
            (None, None, Step::Day, Ok(("2026-02-09T00:00:00Z", now))),
            (
                None,
                Some("2026-03-01T00:00:00Z"),
                Step::Hour,
                Ok(("2026-02-28T00:00:00Z", "2026-03-01T00:00:00Z")),
            ),
            (
                None,
                Some("2026-03-01T00:00:00Z"),
                Step::Day,
                Ok(("2026-01-30T00:00:00Z", "2026-03-01T00:00:00Z")),
            ),
            (Some("2026-03-10T12:34:00Z"), None, Step::Hour, Ok(("2026-03-10T12:00:00Z", now))),
            (Some("2026-03-10T12:34:00Z"), None, Step::Day, Ok(("2026-03-10T00:00:00Z", now))),
            (Some("2026-03-10T01:00:00+02:00"), None, Step::Day, Ok(("2026-03-09T00:00:00Z", now))),
            (
                Some("2026-03-10T00:00:00Z"),
                Some("2030-01-01T00:00:00Z"),
                Step::Day,
                Ok(("2026-03-10T00:00:00Z", now)),
            ),
            (Some("2026-02-07T12:34:56.789Z"), None, Step::Hour, Ok(("2026-02-07T12:00:00Z", now))),
            (Some("2026-02-07T12:34:56.788Z"), None, Step::Hour, long),
            (Some("2026-02-07T12:34:56.789Z"), None, Step::Day, Ok(("2026-02-07T00:00:00Z", now))),
            (Some("2026-02-07T12:34:56.788Z"), None, Step::Day, long),
            (Some("2026-03-10T12:34:56.789Z"), None, Step::Hour, early),
            (Some("2026-03-10T13:00:00Z"), None, Step::Hour, early),
            (Some("2026-03-10T05:00:00Z"), Some("2026-03-10T05:00:00Z"), Step::Hour, early),
            (Some("2026-03-10T05:30:00Z"), Some("2026-03-10T05:00:00Z"), Step::Hour, early),
        ];
        for (from, to, step, expected) in rows {
            let span = Span::of(from.map(at), to.map(at), step, at(now));
            let expected = expected.map(|(from, to)| Span { from: at(from), to: at(to), step });
            assert_eq!(
                span.map_err(|unfit| unfit.to_string()),
                expected.map_err(str::to_owned),
                "{from:?} {to:?}"
            );
        }
    }

    #[test]
    fn steps_have_no_gaps_and_add_up_the_hours() {
        let counts = |name: &str, number| Counts::from([(name.to_owned(), number)]);
        let hours = [
            (at("2026-01-02T23:00:00Z"), counts(DELIVERED, 1)),
            (at("2026-01-02T23:00:00Z"), counts(DELIVERED, 2)),
            (at("2026-01-02T00:00:00Z"), counts(FAILED, 4)),
            (at("2026-01-04T00:00:00Z"), counts(FAILED, 8)),
            // Neither before the first step nor after the end.
            (at("2026-01-01T23:00:00Z"), counts(FAILED, 16)),
            (at("2026-01-04T10:00:00Z"), counts(FAILED, 32)),
            (at("2026-01-05T00:00:00Z"), counts(FAILED, 64)),
        ];
        let span = Span { from: at("2026-01-02T00:00:00Z"), to: at("2026-01-04T10:00:00Z"), step: Step::Day };
        let step = |text: &str, counts: Counts| Counted { at: at(text), counts };
        let both = Counts::from([(DELIVERED.to_owned(), 3), (FAILED.to_owned(), 4)]);
        let expected = vec![
            step("2026-01-02T00:00:00Z", both),
            step("2026-01-03T00:00:00Z", Counts::new()),
            step("2026-01-04T00:00:00Z", counts(FAILED, 8)),
        ];
        assert_eq!(span.steps(hours.clone()), expected);

        let span = Span { step: Step::Hour, ..span };
        let steps = span.steps(hours);
        assert_eq!(steps.len(), 2 * 24 + 10);
        assert_eq!(steps[23], step("2026-01-02T23:00:00Z", counts(DELIVERED, 3)));
        assert_eq!(steps[24], step("2026-01-03T00:00:00Z", Counts::new()));
    }
}
