//! Leads as they are sent: each under a lease that always ends, by one sender at a time.
//!
//! A call of the provider is recorded before it is made and after: a lead on which a call was recorded and no end, and
//! whose lease is over, has an unknown outcome. All that a lead opens is written in the transaction that records its
//! first call, so that there is neither a conversation without its lead on the way nor a call without its conversation.

use std::time::Duration;

use domain::lead::LeadOpening;
use domain::{Contact, Lead, LeadId, Message, Timestamp, WorkspaceId};
use uuid::Uuid;

use crate::contacts_plan::Plan;
use crate::conversations_plan::first_writes;
use crate::due::{Claim, DueLead};
use crate::item::{Item, key, n, s, text};
use crate::leads_row::{lead, lead_item};
use crate::messages_row::message_item;
use crate::rows::replacing;
use crate::transact::{LAST_REQUEST, Patience, Refusal, Transacted, Write, Wrote, is_by, while_busy};
use crate::{Store, StoreError, Table, keys};

/// What became of asking for a lead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LeadLease {
    /// It is the caller's until the lease ends.
    Taken(Box<LeasedLead>),
    /// Another sender has it.
    Held,
    /// Nothing is to be done about it any more.
    Finished,
    /// There is no such lead.
    Unknown,
}

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
    /// It is given back, and due again then.
    Waits(Timestamp),
    /// It is given back for good.
    Ends,
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

impl Store {
    /// Takes a lead, for so long. One trip.
    pub async fn lease_lead(
        &self,
        workspace: WorkspaceId,
        id: LeadId,
        lasting: Duration,
    ) -> Result<LeadLease, StoreError> {
        let (now, lease) = (self.now(), self.ids.next());
        let (pk, sk) = keys::lead(workspace, id);
        let write = Write::update(
            Table::Leads,
            key(pk, sk),
            "SET lease = :lease, leaseUntil = :until, dueAt = :until, dueShard = :shard",
        )
        .when("#state IN (:queued, :sending) AND (attribute_not_exists(leaseUntil) OR leaseUntil < :now)")
        .name("#state", "state")
        .bind(":queued", s("QUEUED"))
        .bind(":sending", s("SENDING"))
        .bind(":lease", s(lease.to_string()))
        .bind(":until", n(now.plus(lasting).as_millis()))
        .bind(":shard", s(keys::due_of_lead(id)))
        .bind(":now", n(now.as_millis()))
        .returning_new();
        let found = match self.write(write).await? {
            Wrote::Done(item) => {
                return Ok(LeadLease::Taken(Box::new(LeasedLead { lead: lead(item)?, lease })));
            }
            Wrote::Refused(None) => return Ok(LeadLease::Unknown),
            Wrote::Refused(Some(found)) => found,
        };
        let mine = text(&found, "lease") == lease.to_string();
        let lead = lead(found)?;
        Ok(match lead {
            lead if mine => LeadLease::Taken(Box::new(LeasedLead { lead, lease })),
            lead if lead.state.is_final() => LeadLease::Finished,
            _ => LeadLease::Held,
        })
    }

    /// Records that the first call for a lead begins, and writes what it opens; `found` is the contact as it was read,
    /// if there was one. Tried again for as long as `patience` lasts. One trip; more while others hold the rows, and
    /// when the workspace's shards are not in memory.
    pub async fn open_lead(
        &self,
        leased: &LeasedLead,
        begun: &Lead,
        opening: &LeadOpening,
        found: Option<&Contact>,
        patience: Duration,
    ) -> Result<LeadRecorded, StoreError> {
        let request = self.ids.next().to_string();
        let mut writes = vec![lead_write(leased, begun, LeadStep::Goes, &request)?];
        match found {
            None => {
                let shards = self.shards(begun.workspace_id).await?.write;
                writes.extend(Plan::create(&opening.contact, shards, &request)?.writes);
            }
            Some(found) if *found != opening.contact => {
                writes.extend(Plan::replace(found, &opening.contact, &request)?.writes);
            }
            Some(_) => {}
        }
        let of_contact = 1..writes.len();
        writes.extend(first_writes(&opening.conversation, opening.message.seq, None, &request)?);
        writes.push(Write::put(Table::Messages, message_item(&opening.message, &request)?).when_absent());
        let once = async || self.transact(writes.clone()).await;
        let Transacted::Refused(refusals) = while_busy(Patience::lasting(self, patience), once).await? else {
            return Ok(LeadRecorded::Done);
        };
        match refusals.first() {
            Some(Refusal { at: 0, found: Some(row) }) if is_by(row, &request) => Ok(LeadRecorded::Done),
            Some(Refusal { at: 0, .. }) => Ok(LeadRecorded::Lost),
            Some(refusal) if of_contact.contains(&refusal.at) => Ok(LeadRecorded::Stale),
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

    /// Leads of one part of the due index that are due, the longest overdue first, at most `limit`. The index lags a
    /// moment behind. One trip.
    pub async fn due_leads(&self, shard: u8, limit: u16) -> Result<Vec<DueLead>, StoreError> {
        self.due_rows(Table::Leads, shard, limit, keys::read_lead).await
    }

    /// Claims a due lead for queueing: it is not due again before `until`. Of several sweepers one gets it; nobody
    /// gets one that was worked on since it was listed. One trip.
    pub async fn claim_lead(&self, due: &DueLead, until: Timestamp) -> Result<Option<Claim>, StoreError> {
        let key = keys::lead(due.workspace(), due.id());
        let claimed = self.claim_row(Table::Leads, key, due, until).await?;
        let planned = |item: &Item| {
            let progress = item.get("progress")?.as_m().ok()?;
            Timestamp::parse(text(progress, "nextAt"))
        };
        Ok(claimed.map(|item| due.planned_for(planned(&item))))
    }
}

/// The change of a lead's row, while it is the caller's.
fn lead_write(leased: &LeasedLead, next: &Lead, step: LeadStep, request: &str) -> Result<Write, StoreError> {
    let (pk, sk) = keys::lead(next.workspace_id, next.id);
    let mut item = lead_item(next, request)?;
    let changing = ["contactId", "opened", "state", "progress", "version", "updatedAt", LAST_REQUEST];
    let set = changing.map(|name| format!("#{name} = :{name}")).join(", ");
    let (mut set, mut remove) = (format!("SET {set}"), vec![]);
    match next.error {
        Some(_) => set.push_str(", #error = :error"),
        None => remove.push("#error"),
    }
    match step {
        LeadStep::Goes => {}
        LeadStep::Waits(_) => {
            set.push_str(", dueAt = :due, dueShard = :shard");
            remove.extend(["lease", "leaseUntil"]);
        }
        LeadStep::Ends => remove.extend(["lease", "leaseUntil", "dueAt", "dueShard"]),
    }
    if !remove.is_empty() {
        set = format!("{set} REMOVE {}", remove.join(", "));
    }
    // A call begins once under a lease: whoever repeats that, as the answer was lost, finds what they wrote.
    let condition = match step {
        LeadStep::Goes => "lease = :mine AND attribute_not_exists(#progress.#calling)",
        LeadStep::Waits(_) | LeadStep::Ends => "lease = :mine",
    };
    let mut write = Write::update(Table::Leads, key(pk, sk), set)
        .when(condition)
        .bind(":mine", s(leased.lease.to_string()))
        .name("#error", "error");
    if step == LeadStep::Goes {
        write = write.name("#calling", "calling");
    }
    if let LeadStep::Waits(at) = step {
        write = write.bind(":due", n(at.as_millis())).bind(":shard", s(keys::due_of_lead(next.id)));
    }
    let error = next.error.as_ref().map(|_| "error");
    for name in changing.into_iter().chain(error) {
        if let Some(value) = item.remove(name) {
            write = write.name(format!("#{name}"), name).bind(format!(":{name}"), value);
        }
    }
    Ok(write)
}
