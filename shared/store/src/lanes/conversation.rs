//! The lane of a conversation, in which its messages are sent in the order of their numbers.
//!
//! A message takes its conversation's next number in the transaction that stores it, and leaves an entry under that
//! number for as long as it is to be sent. The lane's visitor does what the entries say. Each step of a message is one
//! conditional write of its row as it was last seen: of two senders that both think the lane theirs one fails before it
//! calls anybody.

use std::time::Duration;

use domain::message::Progress;
use domain::{ConversationId, LaneId, Message, MessageId, OnboardingPlan, Timestamp, WorkspaceId};
use uuid::Uuid;

use crate::dynamodb::item::{Item, SK, key, n, read, s, text};
use crate::dynamodb::retry::{Patience, while_busy};
use crate::dynamodb::write::{LAST_REQUEST, Refusal, Transacted, Write, Wrote, is_by};
use crate::lanes::counts::Counts;
use crate::lanes::row::{LaneRow, PlanRow};
use crate::lanes::{LaneState, Leased};
use crate::messages::row::{EntryRow, entry_item, message, message_item};
use crate::{Store, StoreError, Table, keys};

/// A conversation's lane under a lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConversationLane {
    /// The workspace.
    pub workspace_id: WorkspaceId,
    /// The conversation.
    pub conversation: ConversationId,
    /// Whose lease it is; random, so it serves as randomness too.
    pub lease: Uuid,
    /// What the lane counted when it was last looked at.
    counts: Counts,
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

/// How a conversation's lane stands, for whoever looks after the deployment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SendingState {
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

    /// What is to be sent in a lane, in its order, up to the last number that the lane knows of: of what was taken
    /// later a query may show the second and not the first. One trip.
    pub async fn open_in(&self, lane: &ConversationLane) -> Result<Open, StoreError> {
        self.open_up_to(lane.workspace_id, lane.conversation, lane.counts.seq).await
    }

    /// How a conversation's lane stands, under whosever lease. Two trips.
    pub async fn lane_state(
        &self,
        workspace: WorkspaceId,
        conversation: ConversationId,
    ) -> Result<Option<SendingState>, StoreError> {
        let row: Option<LaneRow> =
            self.get_row(Table::Messages, keys::conversation_lane(workspace, conversation)).await?;
        let Some(row) = row else { return Ok(None) };
        Ok(Some(SendingState {
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
    pub async fn outbound(
        &self,
        lane: &ConversationLane,
        id: MessageId,
    ) -> Result<Option<Outbound>, StoreError> {
        let key = keys::message(lane.workspace_id, lane.conversation, id);
        self.get_item(Table::Messages, key).await?.map(Outbound::read).transpose()
    }

    /// Makes the next step of a plan a message of the lane; `None` if somebody else has. One trip.
    pub async fn make_step(
        &self,
        lane: &mut ConversationLane,
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
        let stands = match self.transact(writes).await? {
            Transacted::Done => true,
            Transacted::Refused(refusals) => refusals.first().is_some_and(|refusal| made.stands_in(refusal)),
        };
        if stands {
            lane.counts = lane.counts.with_step(message);
        }
        Ok(stands.then_some(made))
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
        // Another part's status may move while this one is sent; how the one at hand stands may not.
        self.record_while(seen, |progress| *progress == seen.message.progress, patience, step).await
    }

    /// The same for as long as the part at hand stands so that it is the caller's.
    pub(crate) async fn record_while(
        &self,
        seen: &Outbound,
        is_mine: impl Fn(&Progress) -> bool,
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
            // Of a beginning the lease tells as much, should another part's status have moved since.
            let begun = next.message.progress.calling.is_some();
            if found.request == request || begun && found.message.progress == next.message.progress {
                return Ok(Some(found));
            }
            if !is_mine(&found.message.progress) {
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
    pub async fn close_entry(&self, lane: &ConversationLane, entry: Entry) -> Result<(), StoreError> {
        let pk = keys::messages(lane.workspace_id, lane.conversation);
        self.write(Write::delete(Table::Messages, key(pk, keys::open_entry(entry.seq)))).await?;
        Ok(())
    }
}

impl ConversationLane {
    /// The lane of a conversation that was taken; `None` if another kind was.
    pub fn of(leased: &Leased) -> Option<Self> {
        match (leased.lane, &leased.state) {
            (LaneId::Conversation(workspace_id, conversation), LaneState::Conversation(counts)) => {
                Some(Self { workspace_id, conversation, lease: leased.lease, counts: *counts })
            }
            _ => None,
        }
    }

    /// What the release of the lane writes.
    pub fn state(&self) -> LaneState {
        LaneState::Conversation(self.counts)
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
