//! Leads, and the rows that prevent a lead from being accepted twice.

pub(crate) mod captures;
pub(crate) mod page;
pub(crate) mod sending;
pub(crate) mod traces;

use std::time::Duration;

use domain::lead::capture::LeadCaps;
use domain::{BrandId, Cellphone, LaneId, Lead, LeadId, MessageId, Timestamp, WorkspaceId, error_chain};

use crate::dynamodb::item::{expiring, key, n, read, s};
use crate::dynamodb::retry::RetryTime;
use crate::dynamodb::write::{Refusal, Transaction, Write, Wrote, is_written_by};
use crate::lanes::lead::{lead, lead_item};
use crate::leads::page::queue_again;
use crate::leads::traces::{RepeatRow, TOKEN_KIND, TokenRow, UsedToken, put_unless_kept};
use crate::{Store, StoreError, Table, keys};

/// How long a day's count is kept.
const COUNT_KEPT: Duration = Duration::from_secs(2 * 24 * 3_600);

/// The rows in which a lead was counted, for taking the count back.
#[derive(Clone, PartialEq, Eq)]
pub struct CountedLead {
    rows: Vec<(String, &'static str)>,
}

/// The result of accepting a lead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LeadAccepted {
    /// The lead is stored.
    Done,
    /// The lead is not stored: another lead of the same number and brand was, within 24 hours.
    Repeats(LeadId),
    /// The lead is not stored: its captcha token was accepted before.
    TokenUsed(UsedToken),
}

impl Store {
    /// The lead with this id (strongly consistent read). One round trip.
    pub async fn lead(&self, workspace: WorkspaceId, id: LeadId) -> Result<Option<Lead>, StoreError> {
        self.get_item(Table::Leads, keys::lead(workspace, id)).await?.map(lead).transpose()
    }

    /// Accepts a lead: stores it with its consent, its captcha token and the row that makes later leads of
    /// the same number and brand repeats, all or nothing. If no visitor has come to the lane by then, the
    /// sweeper queues it after `first_due`. One round trip.
    pub async fn accept_lead(
        &self,
        lead: &Lead,
        token_sha256_hex: &str,
        first_due: Duration,
    ) -> Result<LeadAccepted, StoreError> {
        let request = self.ids.next().to_string();
        let now = lead.created_at;
        let mut item = expiring(lead_item(lead, &request)?, now, self.retention.leads);
        item.insert("dueShard".to_owned(), s(keys::due_shard(&LaneId::Lead(lead.workspace_id, lead.id))));
        item.insert("dueAt".to_owned(), n(now.plus(first_due).as_millis()));
        let used = TokenRow::of(lead.id, &lead.cellphone, &lead.brand, now);
        let repeats = RepeatRow { lead_id: lead.id, expires_at: now.plus(Lead::REPEATS).as_seconds() };
        let token = keys::captcha_token(lead.workspace_id, token_sha256_hex);
        let repeat = keys::lead_repeat(lead.workspace_id, &lead.cellphone.key(), &lead.brand);
        let writes = Transaction::new()
            .with(Role::Lead, Write::put(Table::Leads, item).when_absent())
            .with(Role::Token, put_unless_kept(token, TOKEN_KIND, &used, now)?)
            .with(Role::Repeat, put_unless_kept(repeat, "leadRepeat", &repeats, now)?);
        let Err(refusals) = self.transact(writes).await? else { return Ok(LeadAccepted::Done) };
        // The writes are in the order in which their refusals decide.
        let found = refusals.into_iter().next().and_then(|refusal| Some((refusal.role, refusal.found?)));
        match found {
            Some((Role::Lead, row)) if is_written_by(&row, &request) => Ok(LeadAccepted::Done),
            Some((Role::Token, row)) => Ok(LeadAccepted::TokenUsed(read::<TokenRow>(row)?.into())),
            Some((Role::Repeat, row)) => Ok(LeadAccepted::Repeats(read::<RepeatRow>(row)?.lead_id)),
            _ => Err(StoreError::Failed(format!("there is a lead {} already", lead.id).into())),
        }
    }

    /// Stores a repeat of a lead that was accepted before: uses the captcha token up, and queues the lead again
    /// if it ended without a message ([`Lead::queued_by_repeat`]), all or nothing. Returns the earlier use if the
    /// token is used up already. The calls are the same in every state of the lead, and without its row, so
    /// their time does not tell the state. Two round trips; more while others change the lead.
    pub async fn repeat_lead(
        &self,
        workspace: WorkspaceId,
        token_sha256_hex: &str,
        lead: LeadId,
        cellphone: &Cellphone,
        brand: &BrandId,
    ) -> Result<Option<UsedToken>, StoreError> {
        let (request, mut retries) = (self.ids.next().to_string(), RetryTime::new(self));
        loop {
            let (seen, now) = (self.lead(workspace, lead).await?, self.now());
            let used = TokenRow::of(lead, cellphone, brand, now);
            let token = keys::captcha_token(workspace, token_sha256_hex);
            let mut writes =
                Transaction::new().with(Role::Token, put_unless_kept(token, TOKEN_KIND, &used, now)?);
            if let Some((seen, next)) = seen
                .as_ref()
                .and_then(|seen| Some((seen, seen.queued_by_repeat(MessageId::generate(&*self.ids), now)?)))
            {
                writes.add(Role::Lead, queue_again(seen, &next, now, &request)?);
            }
            let Err(refusals) = self.transact(writes).await? else { return Ok(None) };
            match refusals.into_iter().next() {
                Some(Refusal { role: Role::Token, found: Some(row) }) => {
                    return Ok(Some(read::<TokenRow>(row)?.into()));
                }
                _ => retries.wait().await?,
            }
        }
    }

    /// Counts a lead of today. Returns `None`, and counts nothing, if a cap of `caps` is reached. One round
    /// trip for each cap, the number's cap first; one more if the day's cap is reached. None if a cap is 0.
    ///
    /// The count is written before the lead is accepted, one write for each cap: in a transaction, many leads
    /// at the same time would conflict with each other.
    pub async fn count_lead(
        &self,
        workspace: WorkspaceId,
        cellphone: &Cellphone,
        caps: LeadCaps,
    ) -> Result<Option<CountedLead>, StoreError> {
        if [caps.daily, caps.per_phone].contains(&Some(0)) {
            return Ok(None);
        }
        let now = self.now();
        let day = now.to_day_string();
        let of_phone =
            caps.per_phone.map(|cap| (keys::leads_of_phone(workspace, &cellphone.key(), &day), cap));
        let of_day = caps.daily.map(|cap| (keys::leads_of_day(workspace, &day), cap));
        let mut counted = CountedLead { rows: vec![] };
        for (key, cap) in of_phone.into_iter().chain(of_day) {
            if matches!(self.write(count_write(&key, cap, now)).await?, Wrote::Refused(_)) {
                self.uncount_lead(&counted).await;
                return Ok(None);
            }
            counted.rows.push(key);
        }
        Ok(Some(counted))
    }

    /// Takes back the count of a lead that was not accepted. If that fails, the lead stays counted, and this
    /// is logged. One round trip for each cap.
    pub async fn uncount_lead(&self, counted: &CountedLead) {
        for (pk, sk) in &counted.rows {
            let write = Write::update(Table::Leads, key((pk, *sk)), "ADD leads :less").bind(":less", n(-1));
            if let Err(error) = self.write(write).await {
                tracing::warn!(cause = error_chain(&error), "a lead that was not accepted is still counted");
            }
        }
    }
}

/// The roles of the writes of [`Store::accept_lead`] and [`Store::repeat_lead`].
#[derive(Clone, Copy)]
enum Role {
    /// Writes the lead.
    Lead,
    /// Uses the captcha token up.
    Token,
    /// Writes the row that makes later leads repeats.
    Repeat,
}

fn count_write((pk, sk): &(String, &'static str), cap: u32, now: Timestamp) -> Write {
    Write::update(Table::Leads, key((pk, *sk)), "SET expiresAt = :expires ADD leads :one")
        .when("attribute_not_exists(leads) OR leads < :cap")
        .bind(":one", n(1))
        .bind(":cap", n(cap))
        .bind(":expires", n(now.plus(COUNT_KEPT).as_seconds()))
}
