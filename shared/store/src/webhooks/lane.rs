//! The attributes of a webhook lane besides lease and due time: the watermarks and the endpoint's pace.

use domain::webhook::pace::Failing;
use domain::{EventId, HomeKey, Pace, Pointer, Timestamp, Watermarks};
use serde::{Deserialize, Serialize};

use crate::StoreError;
use crate::dynamodb::fields::stored;
use crate::dynamodb::item::{Item, n, read, s};
use crate::dynamodb::update::RowUpdate;

/// The form of a key in its row. It sorts like the key, because a moment has a fixed number of digits.
pub(crate) trait SortKey: Sized {
    const PREFIX: &str;

    fn sort_key(self) -> String;

    fn read(sort_key: &str) -> Option<Self>;
}

impl SortKey for HomeKey {
    const PREFIX: &str = "D#";

    fn sort_key(self) -> String {
        format!("{}{}#{}", Self::PREFIX, digits(self.at), self.event)
    }

    fn read(sort_key: &str) -> Option<Self> {
        let (at, event) = sort_key.strip_prefix(Self::PREFIX)?.split_once('#')?;
        Some(Self { at: moment(at)?, event: EventId::parse(event).ok()? })
    }
}

impl SortKey for Pointer {
    const PREFIX: &str = "R#";

    fn sort_key(self) -> String {
        let HomeKey { at, event } = self.home;
        format!("{}{}#{}#{event}", Self::PREFIX, digits(self.not_before), digits(at))
    }

    fn read(sort_key: &str) -> Option<Self> {
        let (not_before, place) = sort_key.strip_prefix(Self::PREFIX)?.split_once('#')?;
        let (at, event) = place.split_once('#')?;
        let home = HomeKey { at: moment(at)?, event: EventId::parse(event).ok()? };
        Some(Self { not_before: moment(not_before)?, home })
    }
}

fn digits(at: Timestamp) -> String {
    const LAST_MILLIS: i64 = 9_999_999_999_999;
    format!("{:013}", at.as_millis().min(LAST_MILLIS))
}

fn moment(digits: &str) -> Option<Timestamp> {
    Some(Timestamp::from_millis(digits.parse().ok()?))
}

/// The state of a webhook lane for its visitor. A release writes it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WebhookLane {
    /// Up to where the lane is processed.
    pub watermarks: Watermarks,
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
    /// Adds to the change that leases the lane. If events were recorded before the place up to which the lane
    /// was processed (`is_late`), the watermark goes back to them.
    pub(crate) fn add_to_lease(change: RowUpdate, is_late: bool) -> RowUpdate {
        let change = change.remove("low").name("low").name("base");
        if is_late {
            change.copy("base", "low").when("#low < #base")
        } else {
            change.when("(attribute_not_exists(#low) OR attribute_not_exists(#base) OR #low >= #base)")
        }
    }

    /// Adds to the change that releases the lane. If `is_marked`, the release requires that all work the lane
    /// was notified of was read.
    pub(crate) fn add_to_release(&self, change: RowUpdate, is_marked: bool) -> RowUpdate {
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
        let Watermarks { base, waited, last_wait } = self.watermarks;
        let millis = |at: &Option<Timestamp>| at.map(|at| n(at.as_millis()));
        let change = change
            .set_or_remove("base", base.map(|base| s(base.sort_key())))
            .set_or_remove("waited", waited.map(|waited| s(waited.sort_key())))
            .set_or_remove("lastWait", last_wait.map(|last| s(last.sort_key())))
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
        let base = back_to(self.watermarks.base, found.low);
        let watermarks = Watermarks { base, ..self.watermarks };
        Self { watermarks, has_jobs: self.has_jobs || found.has_jobs, ..self.clone() }
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
            watermarks: Watermarks {
                base: back_to(row.base.as_deref().and_then(HomeKey::read), low),
                waited: row.waited.as_deref().and_then(Pointer::read),
                last_wait: row.last_wait.as_deref().and_then(Pointer::read),
            },
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
    use uuid::Uuid;

    use super::*;

    fn key(at: i64, event: u128) -> HomeKey {
        HomeKey { at: Timestamp::from_millis(at), event: EventId::from_uuid(Uuid::from_u128(event)) }
    }

    #[test]
    fn a_lane_told_of_an_earlier_row_goes_back_to_it() {
        let watermarks = Watermarks { base: Some(key(5, 0)), ..Watermarks::default() };
        let mine = WebhookLane { watermarks, ..WebhookLane::default() };
        let notified = |at| WebhookLane { low: Some(key(at, 0)), ..WebhookLane::default() };
        assert_eq!(mine.merged_with(&notified(3)).watermarks.base, Some(key(3, 0)));
        assert_eq!(mine.merged_with(&notified(7)).watermarks.base, Some(key(5, 0)));
        assert_eq!(mine.merged_with(&WebhookLane::default()).watermarks.base, Some(key(5, 0)));
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
        }
    }
}
