//! The sending of leads: each under a lease that always ends, by one sender at a time.
//!
//! A call to the provider is recorded before and after it is made. A lead with a recorded call, no recorded
//! outcome and an expired lease has an unknown outcome. Everything that a lead creates is written in the
//! transaction that records its first call. So there is no conversation whose lead is not being sent, and no
//! call without its conversation.

use std::time::Duration;

use domain::lane::DuePlan;
use domain::lead::LeadOpening;
use domain::message::summary::Tally;
use domain::{Contact, LaneId, Lead, Message};
use tokio::time::Instant;
use uuid::Uuid;

use crate::contacts::choices::ChoicesSeen;
use crate::contacts::plan::{create_writes_without_hints, replace_writes, search_hints};
use crate::conversations::plan::first_writes;
use crate::dynamodb::item::{PK, SK, key, s, text};
use crate::dynamodb::retry::{RetryTime, retry_while_busy};
use crate::dynamodb::update::RowUpdate;
use crate::dynamodb::versions::replace_write;
use crate::dynamodb::write::{LAST_REQUEST, Refusal, Transaction, Write, Wrote, is_written_by};
use crate::lanes::lead::lead_item;
use crate::lanes::{LaneState, Leased, release_change};
use crate::messages::row::message_item;
use crate::{Store, StoreError, Table, keys};

/// A lead under a lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeasedLead {
    /// The lead, as it was last read or written.
    pub lead: Lead,
    /// The id of the lease. It is random, so it also serves as a source of randomness.
    pub lease: Uuid,
}

/// What a record does with the lead's lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeaseAfter {
    /// The lease stays: a call is being made.
    Kept,
    /// The lease ends, and the next visit is as planned; `None` if there is no next visit.
    Released(Option<DuePlan>),
}

/// The result of a record of a lead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeadRecorded {
    /// The record is written.
    Done,
    /// Nothing is written, because the contact, its number, the person's choices or the message changed since they were
    /// read. Read again and repeat.
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
    /// Records the start of the first call for a lead, and writes what the lead creates. `found` is the
    /// contact as it was read, if there was one. A new contact's search rows are written first: a search
    /// reads the contact itself before it shows it, so they need no transaction, which would double their
    /// cost. The number's `choices` must still be as they were read. Retries for at most `retry_for`. Two round trips
    /// for a new contact, otherwise one; more while other writers hold the rows, and if the workspace's shards are not in
    /// memory.
    pub async fn open_lead(
        &self,
        leased: &LeasedLead,
        begun: &Lead,
        opening: &LeadOpening,
        found: Option<&Contact>,
        choices: &ChoicesSeen,
        retry_for: Duration,
    ) -> Result<LeadRecorded, StoreError> {
        let (request, since) = (self.ids.next().to_string(), Instant::now());
        let lead = lead_write(leased, begun, LeaseAfter::Kept, &request)?;
        let mut writes =
            Transaction::new().with(Role::Lead, lead).with(Role::Choices, choices.check(self.now()));
        let mut hints = vec![];
        match found {
            None => {
                let shards = self.shards(begun.workspace_id).await?.write;
                let contact = create_writes_without_hints(&opening.contact, shards, &request)?;
                writes.add_all(|_| Role::Contact, contact);
                hints = search_hints(&opening.contact)?;
            }
            Some(found) if *found != opening.contact => {
                writes.add_all(|_| Role::Contact, replace_writes(found, &opening.contact, &request)?);
            }
            Some(_) => {}
        }
        let first = first_writes(
            &opening.conversation,
            opening.message.seq,
            Tally::of(&opening.message),
            None,
            None,
            &request,
        )?;
        writes.add_all(|_| Role::Opened, first);
        let message = message_item(&opening.message, self.retention.messages, &request)?;
        writes.add(Role::Opened, Write::put(Table::Messages, message).when_absent());
        let put = self.put_all(Table::Contacts, &hints, retry_for).await;
        put.into_iter().collect::<Result<(), _>>()?;
        let once = async || self.transact(writes.clone()).await;
        let retries = RetryTime::limited_to(self, retry_for.saturating_sub(since.elapsed()));
        let Err(refusals) = retry_while_busy(retries, once).await? else { return Ok(LeadRecorded::Done) };
        match refusals.first() {
            Some(refusal) if refusal.role == Role::Lead && refusal.is_of(&request) => Ok(LeadRecorded::Done),
            Some(Refusal { role: Role::Lead, .. }) => Ok(LeadRecorded::Lost),
            Some(Refusal { role: Role::Contact | Role::Choices, .. }) => {
                // Another request took the number, or the person chose. Perhaps there will never be a contact with this
                // id.
                for hint in hints {
                    self.write(Write::delete(Table::Contacts, key((text(&hint, PK), text(&hint, SK)))))
                        .await?;
                }
                Ok(LeadRecorded::Stale)
            }
            _ => Err(StoreError::Failed(format!("what the lead {} opens is there already", begun.id).into())),
        }
    }

    /// Records that a further call for a lead begins: what the lead creates is there already. The number's `choices` must
    /// still be as they were read. Retries for at most `retry_for`. One round trip; more while other writers hold the
    /// rows.
    pub async fn begin_lead(
        &self,
        leased: &LeasedLead,
        begun: &Lead,
        choices: &ChoicesSeen,
        retry_for: Duration,
    ) -> Result<LeadRecorded, StoreError> {
        let request = self.ids.next().to_string();
        let once = async || {
            let write = lead_write(leased, begun, LeaseAfter::Kept, &request)?;
            let check = choices.check(self.now());
            self.record_lead_writes(
                Transaction::new().with(Role::Lead, write).with(Role::Choices, check),
                &request,
            )
            .await
        };
        retry_while_busy(RetryTime::limited_to(self, retry_for), once).await
    }

    /// Records the state of a lead, together with its message if that changes (as it was read, and as it is
    /// now). Retries for at most `retry_for`. One round trip; more while other writers hold the rows.
    pub async fn record_lead(
        &self,
        leased: &LeasedLead,
        next: &Lead,
        message: Option<(&Message, &Message)>,
        step: LeaseAfter,
        retry_for: Duration,
    ) -> Result<LeadRecorded, StoreError> {
        let request = self.ids.next().to_string();
        let once = async || self.record_lead_once(leased, next, message, step, &request).await;
        retry_while_busy(RetryTime::limited_to(self, retry_for), once).await
    }

    async fn record_lead_once(
        &self,
        leased: &LeasedLead,
        next: &Lead,
        message: Option<(&Message, &Message)>,
        step: LeaseAfter,
        request: &str,
    ) -> Result<LeadRecorded, StoreError> {
        let write = lead_write(leased, next, step, request)?;
        let Some((seen, said)) = message else {
            return Ok(match self.write(write).await? {
                Wrote::Done(_) => LeadRecorded::Done,
                Wrote::Refused(Some(found)) if is_written_by(&found, request) => LeadRecorded::Done,
                Wrote::Refused(_) => LeadRecorded::Lost,
            });
        };
        let said = replace_write(
            Table::Messages,
            message_item(said, self.retention.messages, request)?,
            seen.version,
        );
        self.record_lead_writes(Transaction::new().with(Role::Lead, write).with(Role::Opened, said), request)
            .await
    }

    /// Executes the writes of a record, that of the lead first.
    async fn record_lead_writes(
        &self,
        writes: Transaction<Role>,
        request: &str,
    ) -> Result<LeadRecorded, StoreError> {
        let Err(refusals) = self.transact(writes).await? else { return Ok(LeadRecorded::Done) };
        Ok(match refusals.first() {
            Some(refusal) if refusal.role == Role::Lead && refusal.is_of(request) => LeadRecorded::Done,
            Some(Refusal { role: Role::Lead, .. }) => LeadRecorded::Lost,
            _ => LeadRecorded::Stale,
        })
    }
}

/// The role of a write in the record of a lead.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    /// Changes the lead.
    Lead,
    /// Checks the choices of its number.
    Choices,
    /// Writes a row of its contact.
    Contact,
    /// Writes its conversation or its message.
    Opened,
}

/// The change of a lead's row, under the condition that the caller holds the lease.
fn lead_write(
    leased: &LeasedLead,
    next: &Lead,
    step: LeaseAfter,
    request: &str,
) -> Result<Write, StoreError> {
    let mut item = lead_item(next, request)?;
    let changed = ["contactId", "opened", "stage", "progress", "version", "updatedAt", LAST_REQUEST];
    // A call starts only once under a lease. A repeat after a lost answer finds its own write.
    let mut change = match step {
        LeaseAfter::Kept => RowUpdate::default()
            .when("attribute_not_exists(#progress.#calling)")
            .name("progress")
            .name("calling"),
        LeaseAfter::Released(plan) => release_change(plan, &LaneId::Lead(next.workspace_id, next.id)),
    };
    change = change.when("#lease = :mine").name("lease").bind(":mine", s(leased.lease.to_string()));
    for name in changed.into_iter().chain(["state", "error"]) {
        change = change.set_or_remove(name, item.remove(name));
    }
    Ok(change.of(Table::Leads, key(keys::lead(next.workspace_id, next.id))))
}
