//! The attributes of a webhook lane besides lease and due time: the watermarks and the endpoint's pace.

use domain::webhook::pace::Failing;
use domain::{Delivery, EventId, Pace, Timestamp};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::StoreError;
use crate::dynamodb::fields::stored;
use crate::dynamodb::item::{Item, n, read, s};
use crate::dynamodb::update::Change;

/// The place of a home row: the moment of its event, then the event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HomeKey {
    /// When the event happened.
    pub at: Timestamp,
    /// The event's id, which orders rows of the same moment.
    pub event: EventId,
}

impl HomeKey {
    /// The first place after this one.
    pub fn next(self) -> Self {
        let id = self.event.as_uuid().as_u128().saturating_add(1);
        Self { event: EventId::from_uuid(Uuid::from_u128(id)), ..self }
    }

    /// The place of a delivery's home row.
    pub fn of(delivery: &Delivery) -> Self {
        Self { at: delivery.created_at, event: delivery.event }
    }

    /// The first place of a moment.
    pub fn of_moment(at: Timestamp) -> Self {
        Self { at, event: EventId::from_uuid(Uuid::nil()) }
    }

    /// The sort key. It sorts like the place, because the moment has a fixed number of digits.
    pub(crate) fn sort_key(self) -> String {
        format!("{}{:013}#{}", Self::PREFIX, self.at.as_millis().min(Self::LAST_MILLIS), self.event)
    }

    pub(crate) fn read(sort_key: &str) -> Option<Self> {
        Self::read_place(sort_key.strip_prefix(Self::PREFIX)?)
    }

    fn read_place(place: &str) -> Option<Self> {
        let (millis, event) = place.split_once('#')?;
        let at = Timestamp::from_millis(millis.parse().ok()?);
        Some(Self { at, event: EventId::parse(event).ok()? })
    }

    pub(crate) const PREFIX: &str = "D#";
    const LAST_MILLIS: i64 = 9_999_999_999_999;
}

/// The pointer to a delivery that waits for a later attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pointer {
    /// No attempt is made before this moment.
    pub not_before: Timestamp,
    /// The place of the delivery's home row.
    pub home: HomeKey,
}

impl Pointer {
    pub(crate) fn sort_key(self) -> String {
        let place = self.home.sort_key();
        let not_before = self.not_before.as_millis().min(HomeKey::LAST_MILLIS);
        format!("{}{not_before:013}#{}", Self::PREFIX, &place[HomeKey::PREFIX.len()..])
    }

    pub(crate) fn read(sort_key: &str) -> Option<Self> {
        let (millis, place) = sort_key.strip_prefix(Self::PREFIX)?.split_once('#')?;
        let not_before = Timestamp::from_millis(millis.parse().ok()?);
        Some(Self { not_before, home: HomeKey::read_place(place)? })
    }

    pub(crate) const PREFIX: &str = "R#";
}

/// The state of a webhook lane for its visitor. A release writes it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WebhookLane {
    /// Every home row before this place was processed: attempted, or given a pointer.
    pub base: Option<HomeKey>,
    /// Every pointer up to this one was processed.
    pub waited: Option<Pointer>,
    /// The highest pointer that was ever written: nothing waits after it.
    pub last_wait: Option<Pointer>,
    /// The highest pointer that this visit read. It is not stored.
    pub looked_to: Option<Pointer>,
    /// Whether operators requested jobs.
    pub has_jobs: bool,
    /// The moment before which no post is made because of the operator's cap on posts per second.
    pub ready_at: Option<Timestamp>,
    /// The endpoint's pace: how many posts at a time it can handle, and its circuit.
    pub pace: Pace,
    /// The lowest place that the lane was notified of since it was leased.
    low: Option<HomeKey>,
}

impl WebhookLane {
    /// Whether a delivery waits for a later attempt.
    pub fn is_waiting(&self) -> bool {
        self.last_wait > self.waited
    }

    /// A new pointer for a delivery that is not attempted before `not_before`. It is never before the place
    /// up to which pointers were read, so a clock difference between visitors cannot hide it.
    pub fn pointer(&mut self, home: HomeKey, not_before: Timestamp) -> Pointer {
        let least = self
            .looked_to
            .max(self.waited)
            .map(|waited| Timestamp::from_millis(waited.not_before.as_millis() + 1));
        let pointer = Pointer { not_before: least.map_or(not_before, |least| not_before.max(least)), home };
        self.last_wait = self.last_wait.max(Some(pointer));
        pointer
    }

    /// Adds to the change that leases the lane. If events were recorded before the place up to which the lane
    /// was processed (`is_late`), the watermark goes back to them.
    pub(crate) fn add_to_lease(change: Change, is_late: bool) -> Change {
        let change = change.remove("low").name("low").name("base");
        if is_late {
            change.copy("base", "low").when("#low < #base")
        } else {
            change.when("(attribute_not_exists(#low) OR attribute_not_exists(#base) OR #low >= #base)")
        }
    }

    /// Adds to the change that releases the lane. If `is_marked`, the release requires that all work the lane
    /// was notified of was read.
    pub(crate) fn add_to_release(&self, change: Change, is_marked: bool) -> Change {
        let Pace {
            width,
            quick,
            silences,
            openings,
            opened_at,
            open_until,
            slow_until,
            failing,
            halved_at: _,
        } = &self.pace;
        let millis = |at: &Option<Timestamp>| at.map(|at| n(at.as_millis()));
        let change = change
            .set_or_remove("base", self.base.map(|base| s(base.sort_key())))
            .set_or_remove("waited", self.waited.map(|waited| s(waited.sort_key())))
            .set_or_remove("lastWait", self.last_wait.map(|last| s(last.sort_key())))
            .set_or_remove("readyAt", millis(&self.ready_at))
            .set("width", n(width))
            .set("quick", n(quick))
            .set_or_remove("silences", (*silences > 0).then(|| n(silences)))
            .set_or_remove("openings", (*openings > 0).then(|| n(openings)))
            .set_or_remove("openedAt", millis(opened_at))
            .set_or_remove("openUntil", millis(open_until))
            .set_or_remove("slowUntil", millis(slow_until))
            .set_or_remove("failingSince", failing.as_ref().map(|failing| n(failing.since.as_millis())))
            .set_or_remove("failures", failing.as_ref().map(hours));
        match (is_marked, self.has_jobs) {
            (true, false) => change.remove("low").remove("hasJobs"),
            (true, true) => change.remove("low"),
            (false, _) => change,
        }
    }

    /// The state after other callers notified the lane of work: the watermark goes back to the lowest new place.
    pub(crate) fn merged_with(&self, found: &Self) -> Self {
        let base = back_to(self.base, found.low);
        Self { base, has_jobs: self.has_jobs || found.has_jobs, ..self.clone() }
    }

    /// Reads the state from the lane's row. If the lane was notified of earlier places since its lease, as the repeat of a
    /// lease may find, the watermark is at the lowest of them.
    pub(crate) fn read(item: Item) -> Result<Self, StoreError> {
        let row: LaneRow = read(item)?;
        let failing = row.failing_since.map(|since| Failing {
            since: Timestamp::from_millis(since),
            hours: row.failures.chunks_exact(2).map(hour).collect(),
        });
        let pace = Pace {
            width: row.width.unwrap_or(Pace::FIRST_WIDTH),
            quick: row.quick,
            silences: row.silences,
            openings: row.openings,
            opened_at: row.opened_at.map(Timestamp::from_millis),
            open_until: row.open_until.map(Timestamp::from_millis),
            slow_until: row.slow_until.map(Timestamp::from_millis),
            failing,
            halved_at: None,
        };
        let low = row.low.as_deref().and_then(HomeKey::read);
        Ok(Self {
            base: back_to(row.base.as_deref().and_then(HomeKey::read), low),
            waited: row.waited.as_deref().and_then(Pointer::read),
            last_wait: row.last_wait.as_deref().and_then(Pointer::read),
            looked_to: None,
            has_jobs: row.has_jobs,
            ready_at: row.ready_at.map(Timestamp::from_millis),
            pace,
            low,
        })
    }
}

/// The watermark after the lane was notified of `low`: no place from there on counts as processed.
fn back_to(base: Option<HomeKey>, low: Option<HomeKey>) -> Option<HomeKey> {
    base.map(|base| low.map_or(base, |low| base.min(low)))
}

fn hour(pair: &[i64]) -> (Timestamp, u32) {
    (Timestamp::from_millis(pair[0]), u32::try_from(pair[1]).unwrap_or(u32::MAX))
}

fn hours(failing: &Failing) -> aws_sdk_dynamodb::types::AttributeValue {
    let pairs = failing.hours.iter().flat_map(|(at, failures)| [n(at.as_millis()), n(failures)]);
    aws_sdk_dynamodb::types::AttributeValue::L(pairs.collect())
}

/// `W#E#<endpoint>#<slot>` / `L`, without the attributes that every lane has. Moments are milliseconds since
/// 1970.
#[derive(Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct LaneRow {
    base: Option<String>,
    low: Option<String>,
    waited: Option<String>,
    last_wait: Option<String>,
    has_jobs: bool,
    ready_at: Option<i64>,
    width: Option<u16>,
    quick: u16,
    silences: u32,
    openings: u32,
    opened_at: Option<i64>,
    open_until: Option<i64>,
    slow_until: Option<i64>,
    failing_since: Option<i64>,
    /// Pairs for each hour of the last day with failures: the moment of the first failure, and the number of
    /// failures.
    failures: Vec<i64>,
}

stored! { LaneRow }

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn key(at: i64, event: u128) -> HomeKey {
        HomeKey { at: Timestamp::from_millis(at), event: EventId::from_uuid(Uuid::from_u128(event)) }
    }

    #[test]
    fn a_new_pointer_is_never_before_the_pointers_already_read() {
        let mut lane = WebhookLane::default();
        assert!(!lane.is_waiting());
        let first = lane.pointer(key(1, 1), Timestamp::from_millis(50));
        assert_eq!((first.not_before.as_millis(), lane.is_waiting()), (50, true));
        lane.waited = Some(first);
        assert!(!lane.is_waiting());
        // A visitor whose clock is behind.
        let second = lane.pointer(key(0, 1), Timestamp::from_millis(40));
        assert_eq!(second.not_before.as_millis(), 51);
        assert!(second > first && lane.is_waiting());
    }

    #[test]
    fn a_lane_told_of_an_earlier_row_goes_back_to_it() {
        let mine = WebhookLane { base: Some(key(5, 0)), ..WebhookLane::default() };
        let notified = |at| WebhookLane { low: Some(key(at, 0)), ..WebhookLane::default() };
        assert_eq!(mine.merged_with(&notified(3)).base, Some(key(3, 0)));
        assert_eq!(mine.merged_with(&notified(7)).base, Some(key(5, 0)));
        assert_eq!(mine.merged_with(&WebhookLane::default()).base, Some(key(5, 0)));
    }

    proptest! {
        #[test]
        fn places_parse_from_their_text_and_sort_as_text_like_values(
            one in (0_i64..10_000_000_000_000, any::<u128>(), 0_i64..10_000_000_000_000),
            other in (0_i64..10_000_000_000_000, any::<u128>(), 0_i64..10_000_000_000_000),
        ) {
            let [one, other] = [one, other].map(|(at, event, not_before)| {
                Pointer { not_before: Timestamp::from_millis(not_before), home: key(at, event) }
            });
            prop_assert_eq!(HomeKey::read(&one.home.sort_key()), Some(one.home));
            prop_assert_eq!(Pointer::read(&one.sort_key()), Some(one));
            prop_assert_eq!(one.home.sort_key().cmp(&other.home.sort_key()), one.home.cmp(&other.home));
            prop_assert_eq!(one.sort_key().cmp(&other.sort_key()), one.cmp(&other));
            prop_assert!(one.home < one.home.next() || one.home.event.as_uuid().as_u128() == u128::MAX);
        }
    }
}
