//! The lane of a conversation. It sends the conversation's messages in the order of their numbers.
//!
//! A message takes the conversation's next number in the transaction that stores it, and has an entry under
//! that number while it is to be sent. The lane's visitor processes the entries. Each step of a message is
//! one conditional write of its row as it was last read. If two senders both assume that they hold the lane,
//! the write of one fails before it makes a call. A report of the provider about an earlier part may change the
//! row at any time. It is no sender's write, so the step is repeated with the row as it was found.

use std::time::Duration;

use domain::sending::Progress;
use domain::{ConversationId, LaneId, Message, MessageId, OnboardingPlan, Timestamp, WorkspaceId};
use uuid::Uuid;

use crate::contacts::choices::ChoicesSeen;
use crate::dynamodb::item::{Item, SK, key, n, read, s, text};
use crate::dynamodb::read::Query;
use crate::dynamodb::retry::{RetryTime, retry_while_busy};
use crate::dynamodb::write::{LAST_REQUEST, Refusal, Transaction, TwoRoles, Write, Wrote};
use crate::lanes::counts::Counts;
use crate::lanes::row::{LaneRow, plan};
use crate::lanes::{LaneState, Leased};
use crate::messages::row::{EntryRow, entry_item, message, message_item};
use crate::{Store, StoreError, Table, keys};

/// A conversation's lane under a lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConversationLane {
    /// The workspace of the conversation.
    pub workspace_id: WorkspaceId,
    /// The conversation whose messages the lane sends.
    pub conversation: ConversationId,
    /// The id of the lease. It is random, so it also serves as a source of randomness.
    pub lease: Uuid,
    /// The lane's counts when it was last read.
    counts: Counts,
}

/// The waiting work of a lane, as far as it was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Open {
    /// The onboarding plan, if it has steps left.
    pub plan: Option<OnboardingPlan>,
    /// The messages that are not finished, by number.
    pub entries: Vec<Entry>,
    /// Whether there may be more entries after these.
    pub more: bool,
}

/// The state of a conversation's lane, for operators.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SendingState {
    /// The last number that was taken.
    pub seq: u64,
    /// The lease of the current visitor and its end, if the lane is leased.
    pub lease: Option<(Uuid, Timestamp)>,
    /// When the lane is due, if it has work.
    pub due_at: Option<Timestamp>,
    /// The waiting work.
    pub open: Open,
}

/// A message that is to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The message's number.
    pub seq: u64,
    /// The message's id.
    pub message: MessageId,
}

/// A message that is being sent, as its row was last read or written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outbound {
    /// The message with its parts and its progress.
    pub message: Message,
    /// The id of the sender's write that last changed the row.
    request: String,
}

impl Store {
    /// The maximum number of rows that [`Store::open_in`] reads.
    const OPEN_PAGE: usize = 50;

    /// The waiting work of a lane, in order, up to the last number that the lane had when it was read: of
    /// messages that took numbers later, a query may return the second and not the first. One round trip.
    pub async fn open_in(&self, lane: &ConversationLane) -> Result<Open, StoreError> {
        self.open_up_to(lane.workspace_id, lane.conversation, lane.counts.seq).await
    }

    /// The state of a conversation's lane, regardless of who holds its lease. Two round trips.
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
        let open = Query::of(Table::Messages, keys::messages(workspace, conversation))
            .between(keys::PLAN, keys::open_entry(seq))
            .limit(Self::OPEN_PAGE);
        let page = self.query(open).await?;
        let mut open = Open { more: page.next.is_some(), ..Open::default() };
        for item in page.items {
            match keys::read_open_entry(text(&item, SK)) {
                Some(seq) => open.entries.push(Entry { seq, message: read::<EntryRow>(item)?.message_id }),
                None => open.plan = Some(plan(item, workspace, conversation)?),
            }
        }
        Ok(open)
    }

    /// A message of the lane for sending (strongly consistent read). One round trip.
    pub async fn outbound(
        &self,
        lane: &ConversationLane,
        id: MessageId,
    ) -> Result<Option<Outbound>, StoreError> {
        let key = keys::message(lane.workspace_id, lane.conversation, id);
        self.get_item(Table::Messages, key).await?.map(Outbound::read).transpose()
    }

    /// Makes the next step of a plan a message of the lane. Returns `None` if another visitor did. One round
    /// trip.
    pub async fn make_step(
        &self,
        lane: &mut ConversationLane,
        message: &Message,
        plan: &OnboardingPlan,
    ) -> Result<Option<Outbound>, StoreError> {
        let (request, kept) = (self.ids.next().to_string(), self.retention.messages);
        let (pk, sk) = keys::plan(plan.workspace_id, plan.conversation);
        let step = match plan.steps_left().next() {
            Some(_) => {
                Write::update(Table::Messages, key((pk, sk)), "SET done = :done, lastRequest = :request")
                    .bind(":done", n(plan.done))
                    .bind(":request", s(&request))
            }
            None => Write::delete(Table::Messages, key((pk, sk))),
        };
        let put = Write::put(Table::Messages, message_item(message, kept, &request)?).when_absent();
        let writes = Transaction::new()
            .with(TwoRoles::Main, put)
            .with(TwoRoles::Other, Write::put(Table::Messages, entry_item(message, kept, &request)?))
            .with(TwoRoles::Other, step.when("done = :seen").bind(":seen", n(plan.done - 1)));
        let made = Outbound { message: message.clone(), request };
        let is_stored = match self.transact(writes).await? {
            Ok(()) => true,
            // An earlier attempt stored the message.
            Err(refusals) => refusals.iter().any(|of| of.role == TwoRoles::Main && of.is_of(&made.request)),
        };
        if is_stored {
            lane.counts = lane.counts.with_step(message);
        }
        Ok(is_stored.then_some(made))
    }

    /// Records a step of a message that is being sent; the record of its last part also deletes its entry.
    /// Returns `None` if another sender has the message or it was erased; then nothing is recorded. Retries for at most
    /// `retry_for`. One round trip; more while other writes change the row.
    pub async fn record(
        &self,
        seen: &Outbound,
        retry_for: Duration,
        step: impl Fn(&Message) -> Message,
    ) -> Result<Option<Outbound>, StoreError> {
        match self.record_while(seen, |_| false, None, retry_for, step).await? {
            Begun::Done(recorded) => Ok(Some(*recorded)),
            Begun::ChoicesChanged | Begun::Lost => Ok(None),
        }
    }

    /// Records that the call for a part begins. For a template, `choices` are those of the id that is dialled: they must
    /// still be as they were read, so no call begins after a choice against it was recorded. Retries for at most
    /// `retry_for`. One round trip; more while other writes change the row.
    pub async fn begin(
        &self,
        seen: &Outbound,
        choices: Option<&ChoicesSeen>,
        retry_for: Duration,
        step: impl Fn(&Message) -> Message,
    ) -> Result<Begun, StoreError> {
        self.record_while(seen, |_| false, choices, retry_for, step).await
    }

    /// The same. `is_mine` decides by the progress of the current part whether a write of another call is this
    /// sender's own.
    pub(crate) async fn record_while(
        &self,
        seen: &Outbound,
        is_mine: impl Fn(&Progress) -> bool,
        choices: Option<&ChoicesSeen>,
        retry_for: Duration,
        step: impl Fn(&Message) -> Message,
    ) -> Result<Begun, StoreError> {
        let request = self.ids.next().to_string();
        let mut seen = seen.clone();
        loop {
            let next = Outbound { message: step(&seen.message), request: request.clone() };
            let once = async || self.record_once(&seen, &next, choices).await;
            let found = match retry_while_busy(RetryTime::limited_to(self, retry_for), once).await? {
                Recorded::Done => return Ok(Begun::Done(Box::new(next))),
                Recorded::Found(found) => Outbound::read(found)?,
                Recorded::ChoicesChanged => return Ok(Begun::ChoicesChanged),
                Recorded::Erased => return Ok(Begun::Lost),
            };
            if found.request == request {
                return Ok(Begun::Done(Box::new(found)));
            }
            // Reports of the provider leave the request as it is.
            let is_reported = found.request == seen.request;
            if !is_reported && !is_mine(&found.message.progress) {
                return Ok(Begun::Lost);
            }
            seen = found;
        }
    }

    /// One attempt.
    async fn record_once(
        &self,
        seen: &Outbound,
        next: &Outbound,
        choices: Option<&ChoicesSeen>,
    ) -> Result<Recorded, StoreError> {
        let mut writes = Transaction::new().with(TwoRoles::Main, next.write(seen)?);
        if let Some(choices) = choices {
            writes.add(TwoRoles::Other, choices.check(self.now()));
        }
        if next.message.part_at_hand().is_none() {
            let Message { workspace_id, conversation, seq, .. } = next.message;
            let entry = key((keys::messages(workspace_id, conversation), keys::open_entry(seq)));
            writes.add(TwoRoles::Other, Write::delete(Table::Messages, entry));
        }
        let refused = |found: Option<Item>| found.map_or(Recorded::Erased, Recorded::Found);
        let writes = match writes.single() {
            Ok(only) => {
                return Ok(match self.write(only).await? {
                    Wrote::Done(_) => Recorded::Done,
                    Wrote::Refused(found) => refused(found),
                });
            }
            Err(writes) => writes,
        };
        // The write of the message comes first, and its refusal decides: an earlier attempt may have written it.
        Ok(match self.transact(writes).await?.map_err(|refusals| refusals.into_iter().next()) {
            Ok(()) => Recorded::Done,
            Err(Some(Refusal { role: TwoRoles::Main, found })) => refused(found),
            // Only a check of the choices can be refused: the deletion of an entry has no condition.
            Err(_) => Recorded::ChoicesChanged,
        })
    }

    /// Deletes the entry of a message that has nothing left to send. One round trip.
    pub async fn close_entry(&self, lane: &ConversationLane, entry: Entry) -> Result<(), StoreError> {
        let pk = keys::messages(lane.workspace_id, lane.conversation);
        self.write(Write::delete(Table::Messages, key((pk, keys::open_entry(entry.seq))))).await?;
        Ok(())
    }
}

/// The result of the record that a call begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Begun {
    /// The call may be made.
    Done(Box<Outbound>),
    /// Nothing is recorded, because the choices are not those that were read. Read them again.
    ChoicesChanged,
    /// Nothing is recorded, because another sender has the message or it was erased.
    Lost,
}

/// The result of one attempt to record a step of a message.
enum Recorded {
    Done,
    /// Another write changed the row, which is as it was found.
    Found(Item),
    /// The choices are not those that were read.
    ChoicesChanged,
    /// The row is gone: the message was erased.
    Erased,
}

impl ConversationLane {
    /// The lane of a conversation from a lease; `None` if the lease is of another kind.
    pub fn of(leased: &Leased) -> Option<Self> {
        match (leased.lane, &leased.state) {
            (LaneId::Conversation(workspace_id, conversation), LaneState::Conversation(counts)) => {
                Some(Self { workspace_id, conversation, lease: leased.lease, counts: *counts })
            }
            _ => None,
        }
    }

    /// The state that the release of the lane writes.
    pub fn state(&self) -> LaneState {
        LaneState::Conversation(self.counts)
    }
}

impl Outbound {
    fn read(item: Item) -> Result<Self, StoreError> {
        let request = text(&item, LAST_REQUEST).to_owned();
        Ok(Self { message: message(item)?, request })
    }

    /// The change of the row, under the condition that it is as it was `seen`. A sender's write need not raise
    /// the version, and a report of the provider leaves the request as it is.
    fn write(&self, seen: &Self) -> Result<Write, StoreError> {
        // The row keeps its TTL, because `changed` does not contain it.
        let mut item = message_item(&self.message, None, &self.request)?;
        let changed = ["parts", "progress", "version", "updatedAt", LAST_REQUEST];
        let set = changed.map(|name| format!("{name} = :{name}")).join(", ");
        let write = Write::update(
            Table::Messages,
            key(keys::message(self.message.workspace_id, self.message.conversation, self.message.id)),
            format!("SET {set}"),
        )
        .when("lastRequest = :seen AND version = :seenVersion")
        .bind(":seen", s(&seen.request))
        .bind(":seenVersion", n(seen.message.version));
        let values = changed.into_iter().filter_map(|name| Some((name, item.remove(name)?)));
        Ok(values.fold(write, |write, (name, value)| write.bind(format!(":{name}"), value)))
    }
}
