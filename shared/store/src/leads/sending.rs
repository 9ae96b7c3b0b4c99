//! Leads under a lease, and leads that follow their messages.
//!
//! Everything that a lead creates is written in the transaction that ends its judgement. So there is no
//! conversation of a lead that is still queued, and no lead is SENDING without a message.

use std::time::Duration;

use domain::message::summary::Tally;
use domain::{Contact, Conversation, LaneId, Lead, Message};
use tokio::time::Instant;
use uuid::Uuid;

use crate::contacts::plan::{create_writes_without_hints, replace_writes, search_hints};
use crate::conversations::plan::first_writes;
use crate::dynamodb::item::{key, key_of, n, s};
use crate::dynamodb::retry::{RetryTime, retry_while_busy};
use crate::dynamodb::update::RowUpdate;
use crate::dynamodb::write::{LAST_REQUEST, Refusal, Transaction, Write, Wrote};
use crate::lanes::lead::{is_indexed, lead_item};
use crate::lanes::{LaneState, Leased, release_change};
use crate::messages::row::{entry_item, message_item};
use crate::messages::take_number;
use crate::{Store, StoreError, Table, keys};

/// A lead under a lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeasedLead {
    /// The lead, as it was last read.
    pub lead: Lead,
    /// The id of the lease.
    pub lease: Uuid,
}

/// What a judged lead creates. An absent item stays as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LeadOpening {
    /// The contact with the number as it was read, if there was one, and as it is stored afterwards.
    pub contact: Option<(Option<Contact>, Contact)>,
    /// The new conversation.
    pub conversation: Option<Conversation>,
    /// The message. Without a new conversation, its number is one more than [`Store::last_seq`].
    pub message: Option<Message>,
}

/// The result of a record of a lead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeadRecorded {
    /// The record is written, and the lease is over.
    Done,
    /// Nothing is written, because the contact, its number or the conversation changed since they were read. Read again and
    /// repeat.
    Stale,
    /// Nothing is written, because another visitor holds the lead.
    Lost,
}

impl LeasedLead {
    /// The lead from a lease; `None` if the lease is of another kind.
    pub fn of(leased: &Leased) -> Option<Self> {
        match &leased.state {
            LaneState::Lead(lead) => Some(Self { lead: (**lead).clone(), lease: leased.lease }),
            _ => None,
        }
    }
}

impl Store {
    /// Records what became of a lead, with everything that it creates, and ends the lease: all or nothing. A new contact's
    /// search rows are written first: a search reads the contact itself before it shows it, so they need no transaction,
    /// which would double their cost. If no visitor has come to the conversation's lane by then, the sweeper queues it
    /// after `first_due`. Retries for at most `retry_for`. Two round trips for a new contact, otherwise one; more while
    /// other writers hold the rows, and if the workspace's shards are not in memory.
    pub async fn open_lead(
        &self,
        leased: &LeasedLead,
        next: &Lead,
        opening: &LeadOpening,
        first_due: Duration,
        retry_for: Duration,
    ) -> Result<LeadRecorded, StoreError> {
        let (request, since) = (self.ids.next().to_string(), Instant::now());
        let mut writes = Transaction::new().with(Role::Lead, lead_write(leased, next, &request)?);
        let mut hints = vec![];
        match &opening.contact {
            Some((None, contact)) => {
                let shards = self.shards(next.workspace_id).await?.write;
                writes.add_all(|_| Role::Others, create_writes_without_hints(contact, shards, &request)?);
                hints = search_hints(contact)?;
            }
            Some((Some(found), contact)) if found != contact => {
                writes.add_all(|_| Role::Others, replace_writes(found, contact, &request)?);
            }
            Some(_) | None => {}
        }
        self.add_conversation(&mut writes, opening, first_due, &request)?;
        let put = self.put_all(Table::Contacts, &hints, retry_for).await;
        put.into_iter().collect::<Result<(), _>>()?;
        let once = async || match writes.clone().single() {
            Ok(only) => self.write(only).await.map(|wrote| match wrote {
                Wrote::Done(_) => Ok(()),
                Wrote::Refused(found) => Err(vec![Refusal { role: Role::Lead, found }]),
            }),
            Err(writes) => self.transact(writes).await,
        };
        let retries = RetryTime::limited_to(self, retry_for.saturating_sub(since.elapsed()));
        let Err(refusals) = retry_while_busy(retries, once).await? else { return Ok(LeadRecorded::Done) };
        match refusals.first() {
            Some(refusal) if refusal.role == Role::Lead && refusal.is_of(&request) => Ok(LeadRecorded::Done),
            Some(Refusal { role: Role::Lead, .. }) => Ok(LeadRecorded::Lost),
            _ => {
                // Another request took the number. Perhaps there will never be a contact with this id.
                for hint in hints {
                    self.write(Write::delete(Table::Contacts, key_of(&hint))).await?;
                }
                Ok(LeadRecorded::Stale)
            }
        }
    }

    /// Adds the writes of the conversation and of the message.
    fn add_conversation(
        &self,
        writes: &mut Transaction<Role>,
        opening: &LeadOpening,
        first_due: Duration,
        request: &str,
    ) -> Result<(), StoreError> {
        let due_at = self.now().plus(first_due);
        match (&opening.conversation, &opening.message) {
            (Some(conversation), message) => {
                let tally = message.as_ref().map(Tally::of).unwrap_or_default();
                let seq = message.as_ref().map_or(0, |message| message.seq);
                let due_at = message.as_ref().map(|_| due_at);
                let first = first_writes(conversation, seq, tally, due_at, None, request)?;
                writes.add_all(|_| Role::Others, first);
            }
            (None, Some(message)) => {
                writes.add(Role::Others, take_number(message, None, due_at, request));
            }
            (None, None) => {}
        }
        if let Some(message) = &opening.message {
            let kept = self.retention.messages;
            let put = Write::put(Table::Messages, message_item(message, kept, request)?).when_absent();
            writes.add(Role::Others, put);
            writes.add(Role::Others, Write::put(Table::Messages, entry_item(message, kept, request)?));
        }
        Ok(())
    }

    /// Lets the lead of a message follow it, unless it followed this version or a later one, has another message by now, or was
    /// erased. A repeat changes nothing. One round trip.
    pub async fn follow_message(&self, message: &Message) -> Result<(), StoreError> {
        let Some(lead) = message.lead else { return Ok(()) };
        let (state, error) = Lead::state_of(message);
        let detail = error.as_ref().and_then(|error| error.detail());
        let shown = is_indexed(state).then(|| s(state.as_str()));
        let change = RowUpdate::default()
            .set("stage", s(state.as_str()))
            .set_or_remove("state", shown)
            .set_or_remove("error", error.as_ref().map(|error| s(error.as_str())))
            .set_or_remove("errorDetail", detail.map(s))
            .set("messageVersion", n(message.version))
            .set("updatedAt", s(message.updated_at.to_string()))
            .add("version", n(1))
            .when("#messageId = :message")
            .name("messageId")
            .bind(":message", s(message.id.to_string()))
            .when("(attribute_not_exists(#messageVersion) OR #messageVersion < :messageVersion)");
        self.write(change.of(Table::Leads, key(keys::lead(message.workspace_id, lead)))).await?;
        Ok(())
    }
}

/// The role of a write in the record of a lead.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    /// Changes the lead.
    Lead,
    /// Writes a row of its contact, its conversation or its message.
    Others,
}

/// The change of a lead's row, under the condition that the caller holds the lease, which ends. A judged lead has no next visit.
fn lead_write(leased: &LeasedLead, next: &Lead, request: &str) -> Result<Write, StoreError> {
    let mut item = lead_item(next, request)?;
    let changed = ["contactId", "conversationId", "opened", "stage", "version", "updatedAt", LAST_REQUEST];
    let mut change = release_change(None, &LaneId::Lead(next.workspace_id, next.id))
        .when("#lease = :mine")
        .name("lease")
        .bind(":mine", s(leased.lease.to_string()));
    for name in changed.into_iter().chain(["state", "error", "errorDetail"]) {
        change = change.set_or_remove(name, item.remove(name));
    }
    Ok(change.of(Table::Leads, key(keys::lead(next.workspace_id, next.id))))
}
