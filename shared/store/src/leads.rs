//! Leads: accepted once, with what keeps each from being accepted again.

pub(crate) mod captures;
pub(crate) mod opt_outs;
pub(crate) mod page;
pub(crate) mod row;
pub(crate) mod sending;

use std::time::Duration;

use domain::capture::Caps;
use domain::{BrandId, Cellphone, LaneId, Lead, LeadId, LeadState, Timestamp, WorkspaceId, causes};
use serde::{Deserialize, Serialize};

use crate::dynamodb::fields;
use crate::dynamodb::item::{PK, key, n, read, row, s, text};
use crate::dynamodb::write::{Transacted, Write, Wrote, is_by};
use crate::leads::row::{lead, lead_item, state};
use crate::{Store, StoreError, Table, keys};

/// For how long a captcha token is known to be used: its provider does not let it be older than two minutes.
const TOKEN_KEPT: Duration = Duration::from_secs(24 * 3_600);
/// For how long a day's count is kept.
const COUNT_KEPT: Duration = Duration::from_secs(2 * 24 * 3_600);

/// What there is already of a lead that is about to be accepted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LeadTraces {
    /// The lead of the same number and brand, of the last 24 hours.
    pub repeated: Option<LeadId>,
    /// What the captcha token was accepted for.
    pub token: Option<UsedToken>,
}

/// What a captcha token was accepted for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UsedToken {
    /// The lead that was answered.
    pub lead: LeadId,
    cellphone: Cellphone,
    brand: BrandId,
}

impl UsedToken {
    /// Whether it was accepted for a lead of this number and brand.
    pub fn is_of(&self, cellphone: &Cellphone, brand: &BrandId) -> bool {
        self.cellphone == *cellphone && self.brand == *brand
    }
}

/// Where a lead was counted, should that have to be taken back.
#[derive(Clone, PartialEq, Eq)]
pub struct CountedLead {
    rows: Vec<(String, &'static str)>,
}

/// What became of a lead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LeadAccepted {
    /// It is stored.
    Done,
    /// It is not: another of the same number and brand was, within 24 hours.
    Repeats(LeadId),
    /// It is not: its captcha token was accepted before.
    TokenUsed(UsedToken),
}

impl Store {
    /// The lead of that id, read strongly. One trip.
    pub async fn lead(&self, workspace: WorkspaceId, id: LeadId) -> Result<Option<Lead>, StoreError> {
        self.get_item(Table::Leads, keys::lead(workspace, id)).await?.map(lead).transpose()
    }

    /// How far the lead of that id has come, read strongly; nothing else of it is read. One trip.
    pub async fn lead_state(
        &self,
        workspace: WorkspaceId,
        id: LeadId,
    ) -> Result<Option<LeadState>, StoreError> {
        let (pk, sk) = keys::lead(workspace, id);
        let answer = self
            .db
            .get_item()
            .table_name(self.tables.name(Table::Leads))
            .set_key(Some(key(pk, sk)))
            .projection_expression("pk, sk, sv, #stage, #state")
            .expression_attribute_names("#stage", "stage")
            .expression_attribute_names("#state", "state")
            .consistent_read(true)
            .send()
            .await?;
        answer.item.map(state).transpose()
    }

    /// What there is already of a lead of this number and brand, that comes with this captcha token (the SHA-256 of
    /// it, in hexadecimal digits), read strongly. One trip.
    pub async fn lead_traces(
        &self,
        workspace: WorkspaceId,
        cellphone: &Cellphone,
        brand: &BrandId,
        token_sha256_hex: &str,
    ) -> Result<LeadTraces, StoreError> {
        let (repeat, token) = (
            keys::lead_repeat(workspace, cellphone, brand),
            keys::captcha_token(workspace, token_sha256_hex),
        );
        let wanted = [&repeat, &token].map(|(pk, sk)| key(pk, *sk)).to_vec();
        let rows = self.batch_items(Table::Leads, wanted).await?;
        // DynamoDB deletes expired rows late.
        let now = self.now().as_seconds();
        let mut traces = LeadTraces::default();
        for item in rows {
            let of_token = text(&item, PK) == token.0;
            let row: TraceRow = read(item)?;
            match row {
                row if row.expires_at < now => {}
                row if of_token => traces.token = Some(row.into()),
                row => traces.repeated = Some(row.lead_id),
            }
        }
        Ok(traces)
    }

    /// Accepts a lead, with its consent, its captcha token and what makes later ones of the same number and brand its
    /// repeats: all or nothing. It takes the place of `ended`, a lead of the same number and brand that came to nothing;
    /// of several that would take that place one does, and the others repeat it. It is looked after from `first_due` on,
    /// should nobody come to it before. One trip.
    pub async fn accept_lead(
        &self,
        lead: &Lead,
        token_sha256_hex: &str,
        ended: Option<LeadId>,
        first_due: Duration,
    ) -> Result<LeadAccepted, StoreError> {
        let request = self.ids.next().to_string();
        let now = lead.created_at;
        let mut item = lead_item(lead, &request)?;
        item.insert("dueShard".to_owned(), s(keys::due_shard(&LaneId::Lead(lead.workspace_id, lead.id))));
        item.insert("dueAt".to_owned(), n(now.plus(first_due).as_millis()));
        let trace = |kept| TraceRow {
            lead_id: lead.id,
            cellphone: lead.cellphone.clone(),
            brand_id: lead.brand.clone(),
            expires_at: now.plus(kept).as_seconds(),
        };
        let token = keys::captcha_token(lead.workspace_id, token_sha256_hex);
        let repeat = keys::lead_repeat(lead.workspace_id, &lead.cellphone, &lead.brand);
        let writes = vec![
            Write::put(Table::Leads, item).when_absent(),
            first_of(token, OF_TOKEN, &trace(TOKEN_KEPT), now)?,
            first_since(ended, repeat, &trace(Lead::REPEATS), now)?,
        ];
        let Transacted::Refused(refusals) = self.transact(writes).await? else {
            return Ok(LeadAccepted::Done);
        };
        // The writes stand in the order in which they decide.
        let found = refusals.into_iter().next().and_then(|refusal| Some((refusal.at, refusal.found?)));
        match found {
            Some((LEAD, row)) if is_by(&row, &request) => Ok(LeadAccepted::Done),
            Some((TOKEN, row)) => Ok(LeadAccepted::TokenUsed(read::<TraceRow>(row)?.into())),
            Some((REPEAT, row)) => Ok(LeadAccepted::Repeats(read::<TraceRow>(row)?.lead_id)),
            _ => Err(StoreError::Failed(format!("there is a lead {} already", lead.id).into())),
        }
    }

    /// Uses a captcha token up for a lead that was accepted before. `Some` if it is used up already, and for what. One
    /// trip.
    pub async fn use_token(
        &self,
        workspace: WorkspaceId,
        token_sha256_hex: &str,
        lead: LeadId,
        cellphone: &Cellphone,
        brand: &BrandId,
    ) -> Result<Option<UsedToken>, StoreError> {
        let now = self.now();
        let trace = TraceRow {
            lead_id: lead,
            cellphone: cellphone.clone(),
            brand_id: brand.clone(),
            expires_at: now.plus(TOKEN_KEPT).as_seconds(),
        };
        let token = keys::captcha_token(workspace, token_sha256_hex);
        match self.write(first_of(token, OF_TOKEN, &trace, now)?).await? {
            Wrote::Done(_) | Wrote::Refused(None) => Ok(None),
            Wrote::Refused(Some(row)) => Ok(Some(read::<TraceRow>(row)?.into())),
        }
    }

    /// Counts a lead of today; `None`, and nothing is counted, when there were as many as `caps` let in. A trip for
    /// each cap, the number's first; one more when the day's is reached. None where nobody is let in.
    ///
    /// Counted before the lead is accepted, and each cap in a write of its own: in a transaction so many leads at once
    /// would stand in each other's way.
    pub async fn count_lead(
        &self,
        workspace: WorkspaceId,
        cellphone: &Cellphone,
        caps: Caps,
    ) -> Result<Option<CountedLead>, StoreError> {
        if [caps.daily, caps.per_phone].contains(&Some(0)) {
            return Ok(None);
        }
        let now = self.now();
        let day = now.to_day_string();
        let of_phone = caps.per_phone.map(|cap| (keys::leads_of_phone(workspace, cellphone, &day), cap));
        let of_day = caps.daily.map(|cap| (keys::leads_of_day(workspace, &day), cap));
        let mut counted = CountedLead { rows: vec![] };
        for (key, cap) in of_phone.into_iter().chain(of_day) {
            if matches!(self.write(count(&key, cap, now)).await?, Wrote::Refused(_)) {
                self.uncount_lead(&counted).await;
                return Ok(None);
            }
            counted.rows.push(key);
        }
        Ok(Some(counted))
    }

    /// Takes back that a lead was counted which is not accepted. What cannot be taken back stays counted, which is
    /// logged. A trip for each cap.
    pub async fn uncount_lead(&self, counted: &CountedLead) {
        for (pk, sk) in &counted.rows {
            let write = Write::update(Table::Leads, key(pk, *sk), "ADD leads :less").bind(":less", n(-1));
            if let Err(error) = self.write(write).await {
                tracing::warn!(cause = causes(&error), "a lead that was not accepted is still counted");
            }
        }
    }
}

/// The places of the writes of [`Store::accept_lead`].
const LEAD: usize = 0;
const TOKEN: usize = 1;
const REPEAT: usize = 2;
/// The kind of the rows of captcha tokens.
const OF_TOKEN: &str = "captchaToken";

fn count((pk, sk): &(String, &'static str), cap: u32, now: Timestamp) -> Write {
    Write::update(Table::Leads, key(pk, *sk), "SET expiresAt = :expires ADD leads :one")
        .when("attribute_not_exists(leads) OR leads < :cap")
        .bind(":one", n(1))
        .bind(":cap", n(cap))
        .bind(":expires", n(now.plus(COUNT_KEPT).as_seconds()))
}

/// The row of a number and brand, put unless there is one that has not expired and names another lead than `ended`.
fn first_since(
    ended: Option<LeadId>,
    key: (String, &'static str),
    trace: &TraceRow,
    now: Timestamp,
) -> Result<Write, StoreError> {
    let write = first_of(key, "leadRepeat", trace, now)?;
    let Some(ended) = ended else { return Ok(write) };
    Ok(write.when(format!("{FIRST} OR leadId = :ended")).bind(":ended", s(ended.to_string())))
}

/// There is no row, or one that has expired: DynamoDB deletes those late.
const FIRST: &str = "attribute_not_exists(pk) OR expiresAt < :seconds";

/// Put unless there is one that has not expired.
fn first_of(
    (pk, sk): (String, &'static str),
    kind: &'static str,
    trace: &TraceRow,
    now: Timestamp,
) -> Result<Write, StoreError> {
    let write = Write::put(Table::Leads, row(pk, sk, kind, trace)?);
    Ok(write.when(FIRST).bind(":seconds", n(now.as_seconds())))
}

/// `W#D#<phone>#<brand>` / `D` and `W#K#<SHA-256 of the token>` / `K`.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct TraceRow {
    #[serde(with = "fields::text")]
    lead_id: LeadId,
    #[serde(with = "fields::text")]
    cellphone: Cellphone,
    #[serde(with = "fields::text")]
    brand_id: BrandId,
    expires_at: i64,
}

impl From<TraceRow> for UsedToken {
    fn from(row: TraceRow) -> Self {
        Self { lead: row.lead_id, cellphone: row.cellphone, brand: row.brand_id }
    }
}
