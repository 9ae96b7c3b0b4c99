//! Lanes: leases, releases and due times, the same for webhook slots, conversations and leads.
//!
//! A lane is a row. A visitor takes its lease by a conditional write that leaves its place in the due index
//! unchanged, works through the lane's own rows, and releases the lane. These rules ensure that no work is
//! stranded:
//! - `mark` grows by one with all new work, **after** the work was written;
//! - a visitor reads the mark with the lease, then reads the work, and removes the due time (`dueAt`) only
//!   if the mark is unchanged. Otherwise it processes the work that was added since;
//! - a lease always ends, later than the function that holds it.
//!
//! The model in `tests/model` checks these rules.

pub(crate) mod counts;
pub(crate) mod lead;
mod merge;
pub(crate) mod person;
pub(crate) mod progress_field;
pub(crate) mod row;

use std::time::Duration;

use domain::lane::DuePlan;
use domain::{LaneId, LaneKind, Lead, PersonJob, Rest, Timestamp, Track};
use uuid::Uuid;

use crate::dynamodb::item::{Item, PK, SCHEMA, SK, check_schema, key, n, number, read, s, text, unreadable};
use crate::dynamodb::read::Query;
use crate::dynamodb::update::RowUpdate;
use crate::dynamodb::write::Wrote;
use crate::lanes::counts::Counts;
use crate::lanes::lead::lead;
use crate::lanes::person::job;
use crate::webhooks::WebhookLane;
use crate::{Store, StoreError, keys};

/// The result of a request for a lease.
#[derive(Clone, Debug, PartialEq)]
pub enum Lease {
    /// The caller holds the lane until the lease ends.
    Taken(Box<Leased>),
    /// Another visitor holds the lane. It processes new work before it releases the lane.
    Held,
    /// The lane has no work left, for good.
    Finished,
    /// There is no such lane.
    Unknown,
}

/// A lane under a lease.
#[derive(Clone, Debug, PartialEq)]
pub struct Leased {
    /// Which lane is leased.
    pub lane: LaneId,
    /// The id of the lease. It is random, so it also serves as a source of randomness.
    pub lease: Uuid,
    /// The number of previous visitors that died without releasing the lane.
    pub deaths: u64,
    /// The attributes of the lane's kind.
    pub state: LaneState,
    /// The mark when the lane was last read.
    mark: u64,
}

/// The attributes of a lane's row that belong to its kind.
#[derive(Clone, Debug, PartialEq)]
pub enum LaneState {
    /// The lane of a slot of a webhook endpoint. A release writes it.
    Webhook(Box<WebhookLane>),
    /// The lane of a conversation. A release writes its counts.
    Conversation(Counts),
    /// The lane of a lead: the lead itself.
    Lead(Box<Lead>),
    /// The lane of a job about a person: the job itself.
    Person(PersonJob),
}

/// The result of a release.
#[derive(Clone, Debug, PartialEq)]
pub enum Released {
    /// The lane is released.
    Done,
    /// The caller still holds the lane, because work was added since it was read. The value is the lane as it
    /// is now.
    HasNewWork(Box<Leased>),
    /// Another visitor holds the lane.
    Lost,
}

/// A lane in a due index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DueLane {
    /// Which lane is due.
    pub lane: LaneId,
    at: Timestamp,
}

/// A page of due lanes.
#[derive(Clone, Debug, PartialEq)]
pub struct DuePage {
    /// The due lanes, the longest overdue first.
    pub lanes: Vec<DueLane>,
    /// Where the next page begins; `None` on the last page.
    pub next: Option<DueFrom>,
}

/// A position in a partition of a due index.
#[derive(Clone, Debug, PartialEq)]
pub struct DueFrom(Item);

/// A lane that a sweeper claimed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Claim {
    /// Whether the lane was due as planned. If not, its queue message was lost or its visitor died.
    pub is_planned: bool,
    /// The queue for the message of a webhook lane.
    pub track: Track,
}

/// Whether the lease of a lane is free: `:now` is the current time.
const FREE: &str = "(attribute_not_exists(#leaseUntil) OR #leaseUntil < :now)";

/// Whether this release can read the row. Rows of later releases are left to those.
const READABLE: &str = "(attribute_not_exists(#sv) OR #sv <= :schema)";

/// Whether a lead has work left: it is not judged yet.
const LEAD_IS_OPEN: &str = "#stage = :queued";

/// Whether a row counts. DynamoDB deletes expired rows late.
const LIVE: &str = "(attribute_not_exists(#expiresAt) OR #expiresAt >= :seconds)";

impl Store {
    /// The number of partitions of the due index of a kind.
    pub fn due_shards(kind: LaneKind) -> u8 {
        keys::due_shards(kind)
    }

    /// Leases a lane for the time `lasting`. One round trip; two if events were recorded before the place up
    /// to which the lane was processed.
    pub async fn lease_lane(&self, lane: LaneId, lasting: Duration) -> Result<Lease, StoreError> {
        let (now, lease) = (self.now(), self.ids.next());
        let mut is_late = false;
        loop {
            let change = RowUpdate::default()
                .set("lease", s(lease.to_string()))
                .set("leaseUntil", n(now.plus(lasting).as_millis()))
                .add("begun", n(1))
                .when("attribute_exists(pk)")
                .when(READABLE)
                .name("sv")
                .bind(":schema", n(SCHEMA))
                .when(FREE)
                .bind(":now", n(now.as_millis()));
            let change = match lane.kind() {
                LaneKind::Webhook => WebhookLane::add_to_lease(change, is_late),
                LaneKind::Conversation | LaneKind::Person => change,
                LaneKind::Lead => change
                    .when(LEAD_IS_OPEN)
                    .when(LIVE)
                    .name("stage")
                    .name("expiresAt")
                    .bind(":seconds", n(now.as_seconds()))
                    .bind(":queued", s("QUEUED")),
            };
            let (table, pk, sk) = keys::lane(&lane);
            let found = match self.write(change.of(table, key((pk, sk))).returning_new()).await? {
                // `begun` counts the visits since the last release. A release removes it, so after a visit that died
                // the next lease finds how many died in a row.
                Wrote::Done(item) => return Ok(Lease::Taken(Box::new(leased(lane, lease, item)?))),
                Wrote::Refused(None) => return Ok(Lease::Unknown),
                Wrote::Refused(Some(found)) => found,
            };
            if text(&found, "lease") == lease.to_string() {
                // The SDK repeated the write because its answer was lost. Others may have added work since the first
                // write; the row that was found includes it.
                return Ok(Lease::Taken(Box::new(leased(lane, lease, found)?)));
            }
            // The conditions are checked together, so the row shows which one refused. A lease in force comes first:
            // the lane's kind does not matter then.
            let until = found.get("leaseUntil").map(number);
            if until.is_some_and(|until| until >= now.as_millis()) {
                return Ok(Lease::Held);
            }
            match leased(lane, lease, found)?.state {
                LaneState::Lead(_) => return Ok(Lease::Finished),
                // The refusal shows which form fits. Another caller may have notified the lane of work between
                // the two writes.
                LaneState::Webhook(_) if !is_late => is_late = true,
                // Another visit took the lane between the two writes and released it. It read the late work.
                LaneState::Webhook(_) | LaneState::Conversation(_) | LaneState::Person(_) => {
                    return Ok(Lease::Held);
                }
            }
        }
    }

    /// Releases a lane. `rescue` is the time after the lane's queue message at which the sweeper queues the
    /// lane again. One round trip.
    pub async fn release_lane(
        &self,
        leased: &Leased,
        rest: Rest,
        rescue: Duration,
    ) -> Result<Released, StoreError> {
        let mut change = release_change(rest.plan(rescue, self.now()), &leased.lane)
            .when("#lease = :mine")
            .bind(":mine", s(leased.lease.to_string()));
        if !rest.ignores_new_work() {
            // Work is written before `mark` grows. So if the mark is the one that was read before the work, no work
            // was missed, and the due time may be removed or moved to later.
            // A lane has no mark if no work was added since it was created (a lead), or since an earlier
            // release.
            let condition = match leased.mark {
                0 => "(attribute_not_exists(#mark) OR #mark = :seen)",
                _ => "#mark = :seen",
            };
            change = change.when(condition).name("mark").bind(":seen", n(leased.mark));
        }
        change = match &leased.state {
            LaneState::Webhook(state) => state.add_to_release(change, !rest.ignores_new_work()),
            // The counts are exact only if no work was added since they were read, which the mark shows.
            LaneState::Conversation(counts) if !rest.ignores_new_work() => counts.add_to_release(change),
            LaneState::Conversation(_) | LaneState::Lead(_) | LaneState::Person(_) => change,
        };
        let (table, pk, sk) = keys::lane(&leased.lane);
        let found = match self.write(change.of(table, key((pk, sk)))).await? {
            // A row that was deleted meanwhile, with its endpoint or its person, has nothing to release.
            Wrote::Done(_) | Wrote::Refused(None) => return Ok(Released::Done),
            Wrote::Refused(Some(found)) => found,
        };
        match text(&found, "lease") {
            // The SDK repeats a write whose answer was lost: the first write released the lane.
            "" => Ok(Released::Done),
            lease if lease == leased.lease.to_string() => {
                Ok(Released::HasNewWork(Box::new(leased.merged_with(found)?)))
            }
            _ => Ok(Released::Lost),
        }
    }

    /// A page of the due lanes of a kind in one partition of its index, the longest overdue first, at most
    /// `limit`. `from` is the end of the previous page. The index is eventually consistent. Entries that are
    /// no lanes are logged and skipped. One round trip.
    pub async fn due_lanes(
        &self,
        kind: LaneKind,
        shard: u8,
        from: Option<DueFrom>,
        limit: u16,
    ) -> Result<DuePage, StoreError> {
        let table = keys::table_of_lanes(kind);
        let query = Query::by(table, Some("due"), "dueShard", keys::due(shard))
            .range("dueAt <= :now")
            .bind(":now", n(self.now().as_millis()))
            .limit(usize::from(limit))
            .after(from.map(|DueFrom(key)| key));
        let page = self.query(query).await?;
        let due = |item: &Item| {
            let lane = keys::read_lane(kind, text(item, PK), text(item, SK))?;
            Some(DueLane { lane, at: Timestamp::from_millis(item.get("dueAt").map(number)?) })
        };
        let read = |item: &Item| {
            let due = due(item);
            if due.is_none() {
                let (cause, table) = (unreadable(item, "its key is of another kind"), table.suffix());
                tracing::error!(%cause, table, "due index entry skipped");
            }
            due
        };
        let lanes = page.items.iter().filter_map(read).collect();
        Ok(DuePage { lanes, next: page.next.map(DueFrom) })
    }

    /// Claims a due lane for queueing: it is not due again before `until`. Only one sweeper gets the claim.
    /// Returns `None` if a visitor worked on the lane since it was listed, or works on it now. One round
    /// trip.
    pub async fn claim_lane(&self, due: &DueLane, until: Timestamp) -> Result<Option<Claim>, StoreError> {
        let (now, request) = (self.now(), self.ids.next().to_string());
        // `planned` stays unchanged, so the returned row shows why the lane was due.
        let change = RowUpdate::default()
            .set("dueAt", n(until.as_millis()))
            .set("claimedBy", s(&request))
            .when("#dueAt = :seen")
            .when(FREE)
            .name("leaseUntil")
            .bind(":seen", n(due.at.as_millis()))
            .bind(":now", n(now.as_millis()));
        let (table, pk, sk) = keys::lane(&due.lane);
        let item = match self.write(change.of(table, key((pk, sk))).returning_new()).await? {
            Wrote::Done(item) => item,
            // The SDK repeated the write because its answer was lost: this sweeper has the claim.
            Wrote::Refused(Some(found)) if text(&found, "claimedBy") == request => found,
            Wrote::Refused(_) => return Ok(None),
        };
        // A row of a later release is claimed as well: otherwise it would be listed every minute.
        check_schema(&item, &due.lane.to_string())?;
        let is_planned = item.get("planned").map(number) == Some(due.at.as_millis());
        let track = match due.lane.kind() {
            LaneKind::Webhook => WebhookLane::read(item)?.pace.track(now),
            LaneKind::Conversation | LaneKind::Lead | LaneKind::Person => Track::Fast,
        };
        Ok(Some(Claim { is_planned, track }))
    }
}

impl Leased {
    /// The state of a webhook lane; `None` for other kinds.
    pub fn webhook(&mut self) -> Option<&mut WebhookLane> {
        match &mut self.state {
            LaneState::Webhook(state) => Some(state),
            LaneState::Conversation(_) | LaneState::Lead(_) | LaneState::Person(_) => None,
        }
    }

    /// The lane after other callers added work, with the changes that this visitor made.
    fn merged_with(&self, found: Item) -> Result<Self, StoreError> {
        let found = leased(self.lane, self.lease, found)?;
        // This visitor's changes are not stored yet, and what others changed is in the row only. So neither state alone
        // is right, except for a lead: only its visitor changes it.
        let state = match (&self.state, found.state) {
            (LaneState::Webhook(mine), LaneState::Webhook(found)) => {
                LaneState::Webhook(Box::new(mine.merged_with(&found)))
            }
            (LaneState::Conversation(mine), LaneState::Conversation(found)) => {
                LaneState::Conversation(mine.merged_with(found))
            }
            (_, found) => found,
        };
        Ok(Self { state, mark: found.mark, ..self.clone() })
    }
}

/// The change of a lane's row that releases the lane and sets its next due time.
pub(crate) fn release_change(plan: Option<DuePlan>, lane: &LaneId) -> RowUpdate {
    let change = RowUpdate::default().remove("lease").remove("leaseUntil").remove("begun");
    match plan {
        None => change.remove("dueAt").remove("dueShard").remove("planned"),
        Some(DuePlan { due_at, is_planned, .. }) => {
            let due_at = n(due_at.as_millis());
            let planned = is_planned.then(|| due_at.clone());
            change
                .set("dueAt", due_at)
                .set("dueShard", s(keys::due_shard(lane)))
                .set_or_remove("planned", planned)
        }
    }
}

/// Reads a leased lane from its row.
fn leased(lane: LaneId, lease: Uuid, item: Item) -> Result<Leased, StoreError> {
    check_schema(&item, &lane.to_string())?;
    let count = |name: &str| item.get(name).map_or(0, |value| u64::try_from(number(value)).unwrap_or(0));
    let (mark, deaths) = (count("mark"), count("begun").saturating_sub(1));
    let state = match lane {
        LaneId::Webhook(_) => LaneState::Webhook(Box::new(WebhookLane::read(item)?)),
        LaneId::Conversation(..) => LaneState::Conversation(Counts::of(&read(item)?)),
        LaneId::Lead(..) => LaneState::Lead(Box::new(lead(item)?)),
        LaneId::Person(..) => LaneState::Person(job(item)?),
    };
    Ok(Leased { lane, lease, deaths, state, mark })
}
