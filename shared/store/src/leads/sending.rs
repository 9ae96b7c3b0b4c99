//! Leads as they are sent: each under a lease that always ends, by one sender at a time.
//!
//! A call of the provider is recorded before it is made and after: a lead on which a call was recorded and no end, and
//! whose lease is over, has an unknown outcome. All that a lead opens is written in the transaction that records its
//! first call, so that there is neither a conversation without its lead on the way nor a call without its conversation.

use std::time::Duration;

use domain::lane::Plan;
use domain::lead::LeadOpening;
use domain::summary::Tally;
use domain::{Contact, LaneId, Lead, Message};
use tokio::time::Instant;
use uuid::Uuid;

use crate::contacts::plan::{Plan as ContactPlan, search_hints};
use crate::conversations::plan::first_writes;
use crate::dynamodb::item::{Item, PK, SK, key, s, text};
use crate::dynamodb::retry::{Patience, while_busy};
use crate::dynamodb::update::Change;
use crate::dynamodb::versions::replacing;
use crate::dynamodb::write::{LAST_REQUEST, Refusal, Transacted, Write, Wrote, is_by};
use crate::lanes::{LaneState, Leased, given_back};
use crate::leads::row::lead_item;
use crate::messages::row::message_item;
use crate::{Store, StoreError, Table, keys};

/// A lead under a lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeasedLead {
    /// The lead, as it was last read or written.
    pub lead: Lead,
    /// Whose lease it is; random, so it serves as randomness too.
    pub lease: Uuid,
}

/// What becomes of a lead's lease with a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeadStep {
    /// It stays: a call is being made.
    Goes,
    /// It is given back, and its next visitor comes so; for good where none is to come.
    Left(Option<Plan>),
}

/// What became of a lead's record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeadRecorded {
    /// It stands.
    Done,
    /// What is written with it (the contact or its number, the message) changed meanwhile; nothing was written. Look
    /// again, and repeat.
    Stale,
    /// The lead is somebody else's by now; nothing was written.
    Lost,
}

impl LeasedLead {
    /// The lead that was taken; `None` if a lane of another kind was.
    pub fn of(leased: &Leased) -> Option<Self> {
        match &leased.state {
            LaneState::Lead(lead) => Some(Self { lead: (**lead).clone(), lease: leased.lease }),
            _ => None,
        }
    }
}

impl Store {
    /// Records that the first call for a lead begins, and writes what it opens; `found` is the contact as it was read,
    /// if there was one. A new contact's search rows come first: a search looks at the contact itself before it shows
    /// it, so that they need no transaction, which would double their cost. Tried again for as long as `patience` lasts.
    /// Two trips for a new contact, otherwise one; more while others hold the rows, and when the workspace's shards are
    /// not in memory.
    pub async fn open_lead(
        &self,
        leased: &LeasedLead,
        begun: &Lead,
        opening: &LeadOpening,
        found: Option<&Contact>,
        patience: Duration,
    ) -> Result<LeadRecorded, StoreError> {
        let (request, since) = (self.ids.next().to_string(), Instant::now());
        let mut writes = vec![lead_write(leased, begun, LeadStep::Goes, &request)?];
        let mut hints = vec![];
        match found {
            None => {
                let shards = self.shards(begun.workspace_id).await?.write;
                let plan = ContactPlan::create_without_hints(&opening.contact, shards, &request)?;
                writes.extend(plan.writes);
                hints = search_hints(&opening.contact)?;
            }
            Some(found) if *found != opening.contact => {
                writes.extend(ContactPlan::replace(found, &opening.contact, &request)?.writes);
            }
            Some(_) => {}
        }
        let of_contact = 1..writes.len();
        writes.extend(first_writes(
            &opening.conversation,
            opening.message.seq,
            Tally::of(&opening.message),
            None,
            &request,
        )?);
        writes.push(Write::put(Table::Messages, message_item(&opening.message, &request)?).when_absent());
        let put = self.put_all(Table::Contacts, &hints, patience).await;
        put.into_iter().collect::<Result<(), _>>()?;
        let once = async || self.transact(writes.clone()).await;
        let patience = Patience::lasting(self, patience.saturating_sub(since.elapsed()));
        let Transacted::Refused(refusals) = while_busy(patience, once).await? else {
            return Ok(LeadRecorded::Done);
        };
        match refusals.first() {
            Some(Refusal { at: 0, found: Some(row) }) if is_by(row, &request) => Ok(LeadRecorded::Done),
            Some(Refusal { at: 0, .. }) => Ok(LeadRecorded::Lost),
            Some(refusal) if of_contact.contains(&refusal.at) => {
                // Somebody else took the number: nothing will ever stand under this contact's id.
                for hint in hints {
                    self.write(Write::delete(Table::Contacts, key(text(&hint, PK), text(&hint, SK)))).await?;
                }
                Ok(LeadRecorded::Stale)
            }
            _ => Err(StoreError::Failed(format!("what the lead {} opens is there already", begun.id).into())),
        }
    }

    /// Records how a lead stands, together with its message where that changes (as it was read, and as it is now).
    /// Tried again for as long as `patience` lasts. One trip; more while others hold the rows.
    pub async fn record_lead(
        &self,
        leased: &LeasedLead,
        next: &Lead,
        message: Option<(&Message, &Message)>,
        step: LeadStep,
        patience: Duration,
    ) -> Result<LeadRecorded, StoreError> {
        let request = self.ids.next().to_string();
        let once = async || self.record_lead_once(leased, next, message, step, &request).await;
        while_busy(Patience::lasting(self, patience), once).await
    }

    async fn record_lead_once(
        &self,
        leased: &LeasedLead,
        next: &Lead,
        message: Option<(&Message, &Message)>,
        step: LeadStep,
        request: &str,
    ) -> Result<LeadRecorded, StoreError> {
        let write = lead_write(leased, next, step, request)?;
        let is_mine = |found: Option<&Item>| found.is_some_and(|found| is_by(found, request));
        let Some((seen, said)) = message else {
            return Ok(match self.write(write).await? {
                Wrote::Done(_) => LeadRecorded::Done,
                Wrote::Refused(found) if is_mine(found.as_ref()) => LeadRecorded::Done,
                Wrote::Refused(_) => LeadRecorded::Lost,
            });
        };
        let said = replacing(Table::Messages, message_item(said, request)?, seen.version);
        let Transacted::Refused(refusals) = self.transact(vec![write, said]).await? else {
            return Ok(LeadRecorded::Done);
        };
        Ok(match refusals.first() {
            Some(Refusal { at: 0, found }) if is_mine(found.as_ref()) => LeadRecorded::Done,
            Some(Refusal { at: 0, .. }) => LeadRecorded::Lost,
            _ => LeadRecorded::Stale,
        })
    }
}

/// The change of a lead's row, while it is the caller's.
fn lead_write(leased: &LeasedLead, next: &Lead, step: LeadStep, request: &str) -> Result<Write, StoreError> {
    let (pk, sk) = keys::lead(next.workspace_id, next.id);
    let mut item = lead_item(next, request)?;
    let changing = ["contactId", "opened", "stage", "progress", "version", "updatedAt", LAST_REQUEST];
    // A call begins once under a lease: whoever repeats that, as the answer was lost, finds what they wrote.
    let mut change = match step {
        LeadStep::Goes => Change::default()
            .when("attribute_not_exists(#progress.#calling)")
            .name("progress")
            .name("calling"),
        LeadStep::Left(plan) => given_back(plan, &LaneId::Lead(next.workspace_id, next.id)),
    };
    change = change.when("#lease = :mine").name("lease").bind(":mine", s(leased.lease.to_string()));
    for name in changing.into_iter().chain(["state", "error"]) {
        change = change.set_or_remove(name, item.remove(name));
    }
    Ok(change.of(Table::Leads, key(pk, sk)))
}
