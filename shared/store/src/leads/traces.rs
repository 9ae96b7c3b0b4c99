//! The traces of an accepted lead: the rows of its captcha token, and of its number and brand. They prevent a lead from being
//! accepted twice.

use std::time::Duration;

use domain::encoding::sha256_hex;
use domain::{BrandId, Cellphone, LeadId, Timestamp, WorkspaceId};
use serde::{Deserialize, Serialize};

use crate::dynamodb::fields::{self, Stored, stored};
use crate::dynamodb::item::{n, row};
use crate::dynamodb::read::{Place, Rows};
use crate::dynamodb::write::Write;
use crate::{Store, StoreError, Table, keys};

/// How long a captcha token counts as used. Its provider accepts tokens for two minutes only.
const TOKEN_KEPT: Duration = Duration::from_secs(24 * 3_600);
/// The kind of the rows of captcha tokens.
pub(crate) const TOKEN_KIND: &str = "captchaToken";

/// The rows that already exist for a lead that is about to be accepted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LeadDuplicates {
    /// The lead of the same number and brand of the last 24 hours.
    pub repeated: Option<LeadId>,
    /// The earlier use of the captcha token.
    pub token: Option<UsedToken>,
}

/// The lead for which a captcha token was accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UsedToken {
    /// The lead that was accepted with the token.
    pub lead: LeadId,
    /// The hash of the lead's number and brand.
    of: String,
}

impl UsedToken {
    /// Whether the token was accepted for a lead of this number and brand.
    pub fn is_of(&self, cellphone: &Cellphone, brand: &BrandId) -> bool {
        self.of == hash_of(self.lead, cellphone, brand)
    }
}

/// What the traces of a lead are found by.
#[derive(Clone, Copy, Debug)]
pub struct LeadTraits<'a> {
    /// The visitor's number.
    pub cellphone: &'a Cellphone,
    /// The brand; `None` if it is not known yet, and then only the token is looked for.
    pub brand: Option<&'a BrandId>,
    /// The SHA-256 of the captcha token in hexadecimal digits.
    pub token_sha256_hex: &'a str,
}

/// Where the traces of a lead are.
pub(crate) struct TracePlaces {
    repeat: Option<Place>,
    token: Place,
}

impl TracePlaces {
    pub(crate) fn of(workspace: WorkspaceId, lead: LeadTraits<'_>) -> Self {
        let LeadTraits { cellphone, brand, token_sha256_hex } = lead;
        let repeat = brand.map(|brand| keys::lead_repeat(workspace, &cellphone.key(), brand));
        Self {
            repeat: repeat.map(|key| Place::of(Table::Leads, key)),
            token: Place::of(Table::Leads, keys::captcha_token(workspace, token_sha256_hex)),
        }
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = &Place> {
        [&self.token].into_iter().chain(&self.repeat)
    }

    pub(crate) fn take(&self, rows: &mut Rows) -> Result<LeadDuplicates, StoreError> {
        let repeat = self.repeat.as_ref().map(|place| rows.read::<RepeatRow>(place)).transpose()?.flatten();
        Ok(LeadDuplicates {
            repeated: repeat.map(|row| row.lead_id),
            token: rows.read::<TokenRow>(&self.token)?.map(UsedToken::from),
        })
    }
}

impl Store {
    /// The traces of a lead (strongly consistent read). One round trip.
    pub async fn lead_duplicates(
        &self,
        workspace: WorkspaceId,
        lead: LeadTraits<'_>,
    ) -> Result<LeadDuplicates, StoreError> {
        let traces = TracePlaces::of(workspace, lead);
        traces.take(&mut self.rows_at(traces.all()).await?)
    }
}

/// There is no row, or an expired one: DynamoDB deletes those late.
const IS_FREE: &str = "attribute_not_exists(pk) OR expiresAt < :seconds";

/// The write of a row, unless there is one that has not expired.
pub(crate) fn put_unless_kept<T: Stored>(
    key: (String, &'static str),
    kind: &'static str,
    body: &T,
    now: Timestamp,
) -> Result<Write, StoreError> {
    let write = Write::put(Table::Leads, row(key, kind, body)?);
    Ok(write.when(IS_FREE).bind(":seconds", n(now.as_seconds())))
}

/// `W#D#<phone key>#<brand>` / `D`.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RepeatRow {
    #[serde(with = "fields::text")]
    pub(crate) lead_id: LeadId,
    pub(crate) expires_at: i64,
}

/// `W#K#<SHA-256 of the token>` / `K`. An erasure cannot find the row, so it has a hash in place of the number.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TokenRow {
    #[serde(with = "fields::text")]
    lead_id: LeadId,
    /// The hash of the lead's number and brand.
    of: String,
    expires_at: i64,
}

stored! { RepeatRow, TokenRow }

impl TokenRow {
    pub(crate) fn of(lead: LeadId, cellphone: &Cellphone, brand: &BrandId, now: Timestamp) -> Self {
        let expires_at = now.plus(TOKEN_KEPT).as_seconds();
        Self { lead_id: lead, of: hash_of(lead, cellphone, brand), expires_at }
    }
}

impl From<TokenRow> for UsedToken {
    fn from(row: TokenRow) -> Self {
        Self { lead: row.lead_id, of: row.of }
    }
}

fn hash_of(lead: LeadId, cellphone: &Cellphone, brand: &BrandId) -> String {
    sha256_hex(format!("{lead}|{}|{}", cellphone.key().as_str(), brand.as_str()).as_bytes())
}
