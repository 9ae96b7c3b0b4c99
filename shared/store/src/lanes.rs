//! Lanes: leases, releases and duty, the same for webhook slots, conversations and leads.
//!
//! A lane is a row. Whoever visits it takes its lease by a conditional write that leaves its place in the due index as it
//! is, works through the lane's own rows, and gives it back. What keeps work from being stranded:
//! - `mark` grows by one with whatever is put in, **after** it was written;
//! - a visitor reads the mark with the lease, then looks, and ends the lane's duty (`dueAt`) only if the mark is still
//!   the same: what was put in since is looked at first;
//! - a lease always ends, later than the function that holds it.
//!
//! The model in `tests/model` checks these rules.

pub(crate) mod conversation;
pub(crate) mod counts;
pub(crate) mod row;
pub(crate) mod summary;

use std::time::Duration;

use domain::lane::Plan;
use domain::{LaneId, LaneKind, Lead, Rest, Timestamp, Track};
use uuid::Uuid;

use crate::dynamodb::item::{Item, PK, SCHEMA, SK, check_schema, key, n, number, read, s, text, unreadable};
use crate::dynamodb::update::Change;
use crate::dynamodb::write::Wrote;
use crate::lanes::counts::Counts;
use crate::leads::row::lead;
use crate::webhooks::WebhookLane;
use crate::{Store, StoreError, keys};

/// What became of asking for a lane.
#[derive(Clone, Debug, PartialEq)]
pub enum Lease {
    /// It is the caller's until the lease ends.
    Taken(Box<Leased>),
    /// Another visitor has it, and looks at what was put in before it leaves.
    Held,
    /// Nothing is to be done in it any more.
    Finished,
    /// There is no such lane.
    Unknown,
}

/// A lane under a lease.
#[derive(Clone, Debug, PartialEq)]
pub struct Leased {
    /// The lane.
    pub lane: LaneId,
    /// Whose lease it is; random, so it serves as randomness too.
    pub lease: Uuid,
    /// How many visitors before died without giving it back.
    pub deaths: u64,
    /// What its kind needs.
    pub state: LaneState,
    /// The mark when the lane was last read.
    mark: u64,
}

/// What a lane's row holds besides, by its kind.
#[derive(Clone, Debug, PartialEq)]
pub enum LaneState {
    /// Of a slot of a webhook endpoint. A release writes it.
    Webhook(Box<WebhookLane>),
    /// Of a conversation. A release writes what it counts.
    Conversation(Counts),
    /// Of a lead: the lead.
    Lead(Box<Lead>),
}

/// What became of giving a lane back.
#[derive(Clone, Debug, PartialEq)]
pub enum Released {
    /// It is given back.
    Done,
    /// It is still the caller's: work was put in meanwhile. The lane as it is now.
    Moved(Box<Leased>),
    /// It is somebody else's by now.
    Lost,
}

/// A lane in a due index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DueLane {
    /// The lane.
    pub lane: LaneId,
    at: Timestamp,
}

/// A page of what is due.
#[derive(Clone, Debug, PartialEq)]
pub struct DuePage {
    /// The lanes.
    pub lanes: Vec<DueLane>,
    /// Where the next page begins; absent on the last.
    pub next: Option<DueFrom>,
}

/// A place in a part of a due index.
#[derive(Clone, Debug, PartialEq)]
pub struct DueFrom(Item);

/// A lane that a sweeper claimed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Claim {
    /// Whether it was due as planned; otherwise its queue message was lost, or its visitor died.
    pub is_planned: bool,
    /// Which queue a webhook lane's message goes to.
    pub track: Track,
}

/// Whether the lease of a lane is free: `:now` is the present moment.
const FREE: &str = "(attribute_not_exists(#leaseUntil) OR #leaseUntil < :now)";

/// Whether this release reads the row: one of a later release is left to that.
const READABLE: &str = "(attribute_not_exists(#sv) OR #sv <= :schema)";

/// Whether something is still to be done for a lead. Rows of releases before `stage` hold `state` alone.
const LEAD_IS_OPEN: &str =
    "(#stage IN (:queued, :sending) OR (attribute_not_exists(#stage) AND #state IN (:queued, :sending)))";

impl Store {
    /// How many parts the due index of a kind has.
    pub fn due_shards(kind: LaneKind) -> u8 {
        keys::due_shards(kind)
    }

    /// Takes a lane, for so long. One trip; two where events were recorded behind what was looked at last.
    pub async fn lease_lane(&self, lane: LaneId, lasting: Duration) -> Result<Lease, StoreError> {
        let (now, lease) = (self.now(), self.ids.next());
        let mut is_late = false;
        loop {
            let change = Change::default()
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
                LaneKind::Webhook => WebhookLane::take_up(change, is_late),
                LaneKind::Conversation => change,
                LaneKind::Lead => change
                    .when(LEAD_IS_OPEN)
                    .name("stage")
                    .name("state")
                    .bind(":queued", s("QUEUED"))
                    .bind(":sending", s("SENDING")),
            };
            let (table, pk, sk) = keys::lane(&lane);
            let found = match self.write(change.of(table, key(pk, sk)).returning_new()).await? {
                Wrote::Done(item) => return Ok(Lease::Taken(Box::new(leased(lane, lease, item)?))),
                Wrote::Refused(None) => return Ok(Lease::Unknown),
                Wrote::Refused(Some(found)) => found,
            };
            if text(&found, "lease") == lease.to_string() {
                return Ok(Lease::Taken(Box::new(leased(lane, lease, found)?)));
            }
            let until = found.get("leaseUntil").map(number);
            if until.is_some_and(|until| until >= now.as_millis()) {
                return Ok(Lease::Held);
            }
            match leased(lane, lease, found)?.state {
                LaneState::Lead(_) => return Ok(Lease::Finished),
                // Which form fits shows in the refusal; between the two somebody else may have told of more.
                LaneState::Webhook(_) if !is_late => is_late = true,
                LaneState::Webhook(_) | LaneState::Conversation(_) => return Ok(Lease::Held),
            }
        }
    }

    /// Gives a lane back; `rescue` is how long after its queue message the sweeper looks after it. One trip.
    pub async fn release_lane(
        &self,
        leased: &Leased,
        rest: Rest,
        rescue: Duration,
    ) -> Result<Released, StoreError> {
        let mut change = given_back(rest.plan(rescue, self.now()), &leased.lane)
            .when("#lease = :mine")
            .bind(":mine", s(leased.lease.to_string()));
        if !rest.holds_whatever_comes() {
            // A lane that nothing was put into since it was made (a lead), or since an earlier release, has no mark.
            let condition = match leased.mark {
                0 => "(attribute_not_exists(#mark) OR #mark = :seen)",
                _ => "#mark = :seen",
            };
            change = change.when(condition).name("mark").bind(":seen", n(leased.mark));
        }
        change = match &leased.state {
            LaneState::Webhook(state) => state.put_back(change, !rest.holds_whatever_comes()),
            LaneState::Conversation(counts) if !rest.holds_whatever_comes() => counts.put_back(change),
            LaneState::Conversation(_) | LaneState::Lead(_) => change,
        };
        let (table, pk, sk) = keys::lane(&leased.lane);
        let found = match self.write(change.of(table, key(pk, sk))).await? {
            Wrote::Done(_) | Wrote::Refused(None) => return Ok(Released::Done),
            Wrote::Refused(Some(found)) => found,
        };
        match text(&found, "lease") {
            // The SDK repeats a write whose answer was lost: the first one gave the lane back.
            "" => Ok(Released::Done),
            lease if lease == leased.lease.to_string() => Ok(Released::Moved(Box::new(leased.moved(found)?))),
            _ => Ok(Released::Lost),
        }
    }

    /// A page of the lanes of a kind that are due, of one part of its index, the longest overdue first, at most `limit`;
    /// `from` where another page left off. The index lags a moment behind. What is no lane is logged and passed over.
    /// One trip.
    pub async fn due_lanes(
        &self,
        kind: LaneKind,
        shard: u8,
        from: Option<DueFrom>,
        limit: u16,
    ) -> Result<DuePage, StoreError> {
        let table = keys::table_of_lanes(kind);
        let answer = self
            .db
            .query()
            .table_name(self.tables.name(table))
            .index_name("due")
            .key_condition_expression("dueShard = :shard AND dueAt <= :now")
            .expression_attribute_values(":shard", s(keys::due(shard)))
            .expression_attribute_values(":now", n(self.now().as_millis()))
            .limit(i32::from(limit))
            .set_exclusive_start_key(from.map(|DueFrom(key)| key))
            .send()
            .await?;
        let due = |item: &Item| {
            let lane = keys::read_lane(kind, text(item, PK), text(item, SK))?;
            Some(DueLane { lane, at: Timestamp::from_millis(item.get("dueAt").map(number)?) })
        };
        let items = answer.items.unwrap_or_default();
        let read = |item: &Item| {
            let due = due(item);
            if due.is_none() {
                let (cause, table) = (unreadable(item, "its key is of another kind"), table.suffix());
                tracing::error!(%cause, table, "due index entry skipped");
            }
            due
        };
        let lanes = items.iter().filter_map(read).collect();
        Ok(DuePage { lanes, next: answer.last_evaluated_key.map(DueFrom) })
    }

    /// Claims a due lane for queueing: it is not due again before `until`. One sweeper gets it; nobody gets a lane that
    /// was worked on since it was listed, or is being worked on. One trip.
    pub async fn claim_lane(&self, due: &DueLane, until: Timestamp) -> Result<Option<Claim>, StoreError> {
        let (now, request) = (self.now(), self.ids.next().to_string());
        // The lane's own word for its plan stays: the row that comes back tells why it was due.
        let change = Change::default()
            .set("dueAt", n(until.as_millis()))
            .set("claimedBy", s(&request))
            .when("#dueAt = :seen")
            .when(FREE)
            .name("leaseUntil")
            .bind(":seen", n(due.at.as_millis()))
            .bind(":now", n(now.as_millis()));
        let (table, pk, sk) = keys::lane(&due.lane);
        let item = match self.write(change.of(table, key(pk, sk)).returning_new()).await? {
            Wrote::Done(item) => item,
            Wrote::Refused(Some(found)) if text(&found, "claimedBy") == request => found,
            Wrote::Refused(_) => return Ok(None),
        };
        // One of a later release is claimed all the same: otherwise it would come up each minute.
        check_schema(&item, &due.lane.to_string())?;
        let is_planned = item.get("planned").map(number) == Some(due.at.as_millis());
        let track = match due.lane.kind() {
            LaneKind::Webhook => WebhookLane::read(item)?.pace.track(now),
            LaneKind::Conversation | LaneKind::Lead => Track::Fast,
        };
        Ok(Some(Claim { is_planned, track }))
    }
}

impl Leased {
    /// The state of a webhook lane.
    pub fn webhook(&mut self) -> Option<&mut WebhookLane> {
        match &mut self.state {
            LaneState::Webhook(state) => Some(state),
            LaneState::Conversation(_) | LaneState::Lead(_) => None,
        }
    }

    /// The lane as somebody who put work in left it. What the visitor knows of it stays.
    fn moved(&self, found: Item) -> Result<Self, StoreError> {
        let found = leased(self.lane, self.lease, found)?;
        let state = match (&self.state, found.state) {
            (LaneState::Webhook(mine), LaneState::Webhook(found)) => {
                LaneState::Webhook(Box::new(mine.moved(&found)))
            }
            (LaneState::Conversation(mine), LaneState::Conversation(found)) => {
                LaneState::Conversation(mine.moved(found))
            }
            (_, found) => found,
        };
        Ok(Self { state, mark: found.mark, ..self.clone() })
    }
}

/// How a row of a lane changes when the lane is given back so.
pub(crate) fn given_back(plan: Option<Plan>, lane: &LaneId) -> Change {
    let change = Change::default().remove("lease").remove("leaseUntil").remove("begun");
    match plan {
        None => change.remove("dueAt").remove("dueShard").remove("planned"),
        Some(Plan { due_at, is_planned, .. }) => {
            let due_at = n(due_at.as_millis());
            let planned = is_planned.then(|| due_at.clone());
            change
                .set("dueAt", due_at)
                .set("dueShard", s(keys::due_shard(lane)))
                .set_or_remove("planned", planned)
        }
    }
}

/// The lane of a row.
fn leased(lane: LaneId, lease: Uuid, item: Item) -> Result<Leased, StoreError> {
    check_schema(&item, &lane.to_string())?;
    let count = |name: &str| item.get(name).map_or(0, |value| u64::try_from(number(value)).unwrap_or(0));
    let (mark, deaths) = (count("mark"), count("begun").saturating_sub(1));
    let state = match lane {
        LaneId::Webhook(_) => LaneState::Webhook(Box::new(WebhookLane::read(item)?)),
        LaneId::Conversation(..) => LaneState::Conversation(Counts::of(&read(item)?)),
        LaneId::Lead(..) => LaneState::Lead(Box::new(lead(item)?)),
    };
    Ok(Leased { lane, lease, deaths, state, mark })
}
