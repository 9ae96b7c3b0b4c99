//! Lanes: one a conversation, in which its messages are sent in the order of their numbers, by one sender at a time.
//!
//! A message takes its conversation's next number in the transaction that stores it, and leaves an entry under that
//! number for as long as it is to be sent. Whoever sends takes the lane under a lease that always ends, does what the
//! entries say, and gives it back if no number was taken meanwhile. Each step of a message is one conditional write of
//! its row as it was last seen: of two senders that both think the lane theirs one fails before it calls anybody.

use std::time::Duration;

use domain::{ConversationId, Message, MessageId, OnboardingPlan, Timestamp, WorkspaceId};
use uuid::Uuid;

use crate::due::{Claim, DueLane, millis};
use crate::item::{Item, SK, key, n, read, s, text};
use crate::lanes_row::{LaneRow, PlanRow};
use crate::messages_row::{EntryRow, entry_item, message, message_item};
use crate::transact::{LAST_REQUEST, Patience, Refusal, Transacted, Write, Wrote, is_by, while_busy};
use crate::{Store, StoreError, Table, keys};

/// What became of asking for a lane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LaneLease {
    /// It is the caller's until the lease ends.
    Taken(Lane),
    /// Another sender has it, and will see what there is to be sent before giving it back.
    Held,
    /// There is no such conversation.
    Unknown,
}

/// A lane under a lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lane {
    /// The workspace.
    pub workspace_id: WorkspaceId,
    /// The conversation.
    pub conversation: ConversationId,
    /// Whose lease it is; random, so it serves as randomness too.
    pub lease: Uuid,
    /// The last number that was taken when the lane was last looked at.
    seq: u64,
}

/// What is to be sent in a lane, as far as it was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Open {
    /// The onboarding plan, if steps of it are left.
    pub plan: Option<OnboardingPlan>,
    /// The messages that are not finished, by their numbers.
    pub entries: Vec<Entry>,
    /// Whether there may be more behind them.
    pub more: bool,
}

/// How a lane stands, for whoever looks after the deployment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaneState {
    /// The last number that was taken.
    pub seq: u64,
    /// Under which lease it is sent into, and until when that lasts.
    pub lease: Option<(Uuid, Timestamp)>,
    /// From when on it is looked after, if something is to be sent.
    pub due_at: Option<Timestamp>,
    /// What is to be sent.
    pub open: Open,
}

/// A message that is to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its number.
    pub seq: u64,
    /// The message.
    pub message: MessageId,
}

/// A message that is being sent, as its row was last read or written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outbound {
    /// The message.
    pub message: Message,
    /// The request that wrote the row.
    request: String,
}

impl Store {
    /// The greatest number of rows that [`Store::open_in`] reads.
    const OPEN_PAGE: i32 = 50;

    /// Takes a conversation's lane, for so long. One trip.
    pub async fn lease_lane(
        &self,
        workspace: WorkspaceId,
        conversation: ConversationId,
        lasting: Duration,
    ) -> Result<LaneLease, StoreError> {
        let (now, lease) = (self.now(), self.ids.next());
        let (pk, sk) = keys::lane(workspace, conversation);
        let write = Write::update(
            Table::Messages,
            key(pk, sk),
            "SET lease = :lease, leaseUntil = :until, dueAt = :until, dueShard = :shard",
        )
        .when("attribute_exists(pk) AND (attribute_not_exists(leaseUntil) OR leaseUntil < :now)")
        .bind(":lease", s(lease.to_string()))
        .bind(":until", n(now.plus(lasting).as_millis()))
        .bind(":shard", s(keys::due_of_lane(conversation)))
        .bind(":now", n(now.as_millis()))
        .returning_new();
        let lane = |row: LaneRow| Lane { workspace_id: workspace, conversation, lease, seq: row.seq };
        match self.write(write).await? {
            Wrote::Done(item) => Ok(LaneLease::Taken(lane(read(item)?))),
            Wrote::Refused(None) => Ok(LaneLease::Unknown),
            Wrote::Refused(Some(found)) => match read::<LaneRow>(found)? {
                row if row.lease == Some(lease) => Ok(LaneLease::Taken(lane(row))),
                _ => Ok(LaneLease::Held),
            },
        }
    }

    /// What is to be sent in a lane, in its order, up to the last number that the lane knows of: of what was taken
    /// later a query may show the second and not the first. One trip.
    pub async fn open_in(&self, lane: &Lane) -> Result<Open, StoreError> {
        self.open_up_to(lane.workspace_id, lane.conversation, lane.seq).await
    }

    /// How a conversation's lane stands, under whosever lease. Two trips.
    pub async fn lane_state(
        &self,
        workspace: WorkspaceId,
        conversation: ConversationId,
    ) -> Result<Option<LaneState>, StoreError> {
        let row: Option<LaneRow> = self.get_row(Table::Messages, keys::lane(workspace, conversation)).await?;
        let Some(row) = row else { return Ok(None) };
        Ok(Some(LaneState {
            seq: row.seq,
            lease: row.lease.zip(row.lease_until.map(Timestamp::from_millis)),
            due_at: row.due_at.map(Timestamp::from_millis),
            open: self.open_up_to(workspace, conversation, row.seq).await?,
        }))
    }

    async fn open_up_to(
        &self,
        workspace: WorkspaceId,
        conversation: ConversationId,
        seq: u64,
    ) -> Result<Open, StoreError> {
        let answer = self
            .db
            .query()
            .table_name(self.tables.name(Table::Messages))
            .key_condition_expression("pk = :pk AND sk BETWEEN :plan AND :last")
            .expression_attribute_values(":pk", s(keys::messages(workspace, conversation)))
            .expression_attribute_values(":plan", s(keys::PLAN))
            .expression_attribute_values(":last", s(keys::open_entry(seq)))
            .consistent_read(true)
            .limit(Self::OPEN_PAGE)
            .send()
            .await?;
        let mut open = Open { more: answer.last_evaluated_key.is_some(), ..Open::default() };
        for item in answer.items.unwrap_or_default() {
            match keys::read_open_entry(text(&item, SK)) {
                Some(seq) => open.entries.push(Entry { seq, message: read::<EntryRow>(item)?.message_id }),
                None => open.plan = Some(read::<PlanRow>(item)?.plan(workspace, conversation)),
            }
        }
        Ok(open)
    }

    /// A message of the lane, to be sent, read strongly. One trip.
    pub async fn outbound(&self, lane: &Lane, id: MessageId) -> Result<Option<Outbound>, StoreError> {
        let key = keys::message(lane.workspace_id, lane.conversation, id);
        self.get_item(Table::Messages, key).await?.map(Outbound::read).transpose()
    }

    /// Makes the next step of a plan a message of the lane; `None` if somebody else has. One trip.
    pub async fn make_step(
        &self,
        message: &Message,
        plan: &OnboardingPlan,
    ) -> Result<Option<Outbound>, StoreError> {
        let request = self.ids.next().to_string();
        let (pk, sk) = keys::plan(plan.workspace_id, plan.conversation);
        let step = match plan.steps_left().next() {
            Some(_) => {
                Write::update(Table::Messages, key(pk, sk), "SET done = :done, lastRequest = :request")
                    .bind(":done", n(plan.done))
                    .bind(":request", s(&request))
            }
            None => Write::delete(Table::Messages, key(pk, sk)),
        };
        let writes = vec![
            Write::put(Table::Messages, message_item(message, &request)?).when_absent(),
            Write::put(Table::Messages, entry_item(message, &request)?),
            step.when("done = :seen").bind(":seen", n(plan.done - 1)),
        ];
        let made = Outbound { message: message.clone(), request };
        Ok(match self.transact(writes).await? {
            Transacted::Done => Some(made),
            Transacted::Refused(refusals) => {
                refusals.first().filter(|refusal| made.stands_in(refusal)).map(|_| made)
            }
        })
    }

    /// Records a step of a message that is being sent, and with its last part's end removes its entry. `None` if
    /// somebody else sends it: then nothing was recorded. Tried again for as long as `patience` lasts. One trip; more
    /// while the row changes otherwise.
    pub async fn record(
        &self,
        seen: &Outbound,
        patience: Duration,
        step: impl Fn(&Message) -> Message,
    ) -> Result<Option<Outbound>, StoreError> {
        let request = self.ids.next().to_string();
        let mut seen = seen.clone();
        loop {
            let next = Outbound { message: step(&seen.message), request: request.clone() };
            let once = async || self.record_once(&seen, &next).await;
            let found = match while_busy(Patience::lasting(self, patience), once).await? {
                None => return Ok(Some(next)),
                Some(found) => Outbound::read(found)?,
            };
            if found.request == request {
                return Ok(Some(found));
            }
            // Another part's status may move while this one is sent; how the one at hand stands may not.
            if found.message.progress != seen.message.progress {
                return Ok(None);
            }
            seen = found;
        }
    }

    /// One attempt; the row that stood in the way.
    async fn record_once(&self, seen: &Outbound, next: &Outbound) -> Result<Option<Item>, StoreError> {
        let write = next.write(&seen.request)?;
        let gone = || StoreError::Unreadable {
            key: format!("the message {}", next.message.id),
            reason: "it is no more".to_owned(),
        };
        if next.message.part_at_hand().is_some() {
            return match self.write(write).await? {
                Wrote::Done(_) => Ok(None),
                Wrote::Refused(found) => found.ok_or_else(gone).map(Some),
            };
        }
        let Message { workspace_id, conversation, seq, .. } = next.message;
        let entry = key(keys::messages(workspace_id, conversation), keys::open_entry(seq));
        match self.transact(vec![write, Write::delete(Table::Messages, entry)]).await? {
            Transacted::Done => Ok(None),
            Transacted::Refused(refusals) => {
                let found = refusals.into_iter().next().and_then(|refusal| refusal.found);
                found.ok_or_else(gone).map(Some)
            }
        }
    }

    /// Removes the entry of a message of which nothing is to be sent. One trip.
    pub async fn close_entry(&self, lane: &Lane, entry: Entry) -> Result<(), StoreError> {
        let pk = keys::messages(lane.workspace_id, lane.conversation);
        self.write(Write::delete(Table::Messages, key(pk, keys::open_entry(entry.seq)))).await?;
        Ok(())
    }

    /// Gives a lane back in which something waits: it is due again at that moment. Nothing happens if it is
    /// somebody else's by now. One trip.
    pub async fn release_lane_until(&self, lane: &Lane, at: Timestamp) -> Result<(), StoreError> {
        let (pk, sk) = keys::lane(lane.workspace_id, lane.conversation);
        let expression = "SET dueAt = :at, plannedAt = :at, dueShard = :shard REMOVE lease, leaseUntil";
        let write = Write::update(Table::Messages, key(pk, sk), expression)
            .when("lease = :mine")
            .bind(":mine", s(lane.lease.to_string()))
            .bind(":at", n(at.as_millis()))
            .bind(":shard", s(keys::due_of_lane(lane.conversation)));
        self.write(write).await?;
        Ok(())
    }

    /// Gives a lane back in which nothing is left to be sent. If a message came meanwhile the lane stays the caller's,
    /// and is returned as it is now: whoever was to wake a sender for that message found the lane held. One trip.
    pub async fn release_lane(&self, lane: &Lane) -> Result<Option<Lane>, StoreError> {
        let (pk, sk) = keys::lane(lane.workspace_id, lane.conversation);
        let expression = "REMOVE lease, leaseUntil, dueAt, plannedAt, dueShard";
        let write = Write::update(Table::Messages, key(pk, sk), expression)
            .when("lease = :mine AND seq = :seen")
            .bind(":mine", s(lane.lease.to_string()))
            .bind(":seen", n(lane.seq));
        let found = match self.write(write).await? {
            Wrote::Done(_) | Wrote::Refused(None) => return Ok(None),
            Wrote::Refused(Some(found)) => read::<LaneRow>(found)?,
        };
        let mine = found.lease == Some(lane.lease);
        Ok(mine.then(|| Lane { seq: found.seq, ..lane.clone() }))
    }

    /// Lanes of one part of the due index that are due, the longest overdue first, at most `limit`. The index lags a
    /// moment behind. An entry that is no lane's is logged and passed over. One trip.
    pub async fn due_lanes(&self, shard: u8, limit: u16) -> Result<Vec<DueLane>, StoreError> {
        self.due_rows(Table::Messages, shard, limit, keys::read_messages).await
    }

    /// Claims a due lane for queueing: it is not due again before `until`. Of several sweepers one gets it; nobody
    /// gets one that was worked on since it was listed. One trip.
    pub async fn claim_lane(&self, due: &DueLane, until: Timestamp) -> Result<Option<Claim>, StoreError> {
        let key = keys::lane(due.workspace(), due.id());
        let claimed = self.claim_row(Table::Messages, key, due, until).await?;
        let planned = |item: &Item| item.get("plannedAt").map(|at| Timestamp::from_millis(millis(at)));
        Ok(claimed.map(|item| due.planned_for(planned(&item))))
    }
}

impl Outbound {
    fn read(item: Item) -> Result<Self, StoreError> {
        let request = text(&item, LAST_REQUEST).to_owned();
        Ok(Self { message: message(item)?, request })
    }

    /// The change of the row, if it is as the request `seen` wrote it.
    fn write(&self, seen: &str) -> Result<Write, StoreError> {
        let (pk, sk) = keys::message(self.message.workspace_id, self.message.conversation, self.message.id);
        let mut item = message_item(&self.message, &self.request)?;
        let changed = ["parts", "progress", "version", "updatedAt", LAST_REQUEST];
        let set = changed.map(|name| format!("{name} = :{name}")).join(", ");
        let write = Write::update(Table::Messages, key(pk, sk), format!("SET {set}"))
            .when("lastRequest = :seen")
            .bind(":seen", s(seen));
        let values = changed.into_iter().filter_map(|name| Some((name, item.remove(name)?)));
        Ok(values.fold(write, |write, (name, value)| write.bind(format!(":{name}"), value)))
    }

    /// Whether what a transaction that made the message was refused for is the message itself, made by it before.
    fn stands_in(&self, refusal: &Refusal) -> bool {
        refusal.at == 0 && refusal.found.as_ref().is_some_and(|found| is_by(found, &self.request))
    }
}
