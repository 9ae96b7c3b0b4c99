//! The row of a lead.

use std::collections::BTreeMap;

use domain::captcha::Score;
use domain::lead::{ConsentStatus, LandingUri, LeadName, Utm};
use domain::message::PartError;
use domain::{
    BrandId, Cellphone, Consent, ContactId, ConversationId, Lead, LeadId, LeadState, MessageId, Timestamp,
    Unfit, WorkspaceId,
};
use serde::{Deserialize, Serialize};

use crate::item::{Item, check_schema, read, row, s};
use crate::messages_row::ProgressField;
use crate::transact::LAST_REQUEST;
use crate::{StoreError, fields, keys};

/// A lead's row as `request_id` writes it, without its place in the due index.
pub(crate) fn lead_item(lead: &Lead, request_id: &str) -> Result<Item, StoreError> {
    let (pk, sk) = keys::lead(lead.workspace_id, lead.id);
    let mut item = row(pk, sk, "lead", &LeadRow::from(lead))?;
    item.insert("timePk".to_owned(), s(keys::leads_by_time(lead.workspace_id)));
    item.insert("timeSk".to_owned(), s(keys::newest_first(lead.created_at, lead.id)));
    item.insert(LAST_REQUEST.to_owned(), s(request_id));
    Ok(item)
}

/// The lead of a row.
pub(crate) fn lead(item: Item) -> Result<Lead, StoreError> {
    let key = item.get("id").and_then(|id| id.as_s().ok()).cloned().unwrap_or_default();
    check_schema(&item, &key)?;
    let unreadable = |reason: String| StoreError::Unreadable { key: format!("the lead {key}"), reason };
    let row: LeadRow = serde_dynamo::from_item(item).map_err(|error| unreadable(error.to_string()))?;
    let utm = Utm::of(row.utm).map_err(|unfit| unreadable(unfit.to_string()))?;
    let consent = Consent::try_from(row.consent).map_err(|unfit| unreadable(unfit.to_string()))?;
    Ok(Lead {
        id: row.id,
        workspace_id: row.workspace_id,
        cellphone: row.cellphone,
        name: row.name,
        brand: row.brand_id,
        landing_uri: row.landing_uri,
        utm,
        consent,
        contact: row.contact_id,
        conversation: row.conversation_id,
        message: row.message_id,
        opened: row.opened,
        state: row.state,
        error: row.error.map(PartError::of),
        progress: row.progress.into(),
        created_at: row.created_at,
        updated_at: row.updated_at,
        version: row.version,
    })
}

/// How far the lead has come whose row was read for nothing else.
pub(crate) fn state(item: Item) -> Result<LeadState, StoreError> {
    Ok(read::<StateField>(item)?.state)
}

#[derive(Deserialize)]
struct StateField {
    #[serde(with = "fields::text")]
    state: LeadState,
}

/// `W#L#<lead id>` / `L`.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct LeadRow {
    #[serde(with = "fields::text")]
    id: LeadId,
    #[serde(with = "fields::text")]
    workspace_id: WorkspaceId,
    #[serde(with = "fields::text")]
    cellphone: Cellphone,
    #[serde(with = "fields::optional", default, skip_serializing_if = "Option::is_none")]
    name: Option<LeadName>,
    #[serde(with = "fields::text")]
    brand_id: BrandId,
    #[serde(with = "fields::text")]
    landing_uri: LandingUri,
    utm: BTreeMap<String, String>,
    consent: ConsentField,
    #[serde(with = "fields::text")]
    contact_id: ContactId,
    #[serde(with = "fields::text")]
    conversation_id: ConversationId,
    #[serde(with = "fields::text")]
    message_id: MessageId,
    opened: bool,
    #[serde(with = "fields::text")]
    state: LeadState,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    progress: ProgressField,
    #[serde(with = "fields::text")]
    created_at: Timestamp,
    #[serde(with = "fields::text")]
    updated_at: Timestamp,
    version: u64,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ConsentField {
    #[serde(with = "fields::text")]
    status: ConsentStatus,
    #[serde(with = "fields::optional", default, skip_serializing_if = "Option::is_none")]
    captured_at: Option<Timestamp>,
    #[serde(with = "fields::text")]
    received_at: Timestamp,
    #[serde(with = "fields::text")]
    landing_uri: LandingUri,
    address_hash: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    user_agent: Option<String>,
    /// In hundredths.
    score: u8,
}

impl From<&Lead> for LeadRow {
    fn from(lead: &Lead) -> Self {
        Self {
            id: lead.id,
            workspace_id: lead.workspace_id,
            cellphone: lead.cellphone.clone(),
            name: lead.name.clone(),
            brand_id: lead.brand.clone(),
            landing_uri: lead.landing_uri.clone(),
            utm: lead.utm.values().clone(),
            consent: ConsentField::from(&lead.consent),
            contact_id: lead.contact,
            conversation_id: lead.conversation,
            message_id: lead.message,
            opened: lead.opened,
            state: lead.state,
            error: lead.error.as_ref().map(|error| error.as_str().to_owned()),
            progress: ProgressField::from(&lead.progress),
            created_at: lead.created_at,
            updated_at: lead.updated_at,
            version: lead.version,
        }
    }
}

impl From<&Consent> for ConsentField {
    fn from(consent: &Consent) -> Self {
        Self {
            status: consent.status,
            captured_at: consent.captured_at,
            received_at: consent.received_at,
            landing_uri: consent.landing_uri.clone(),
            address_hash: consent.address_hash.clone(),
            user_agent: consent.user_agent.clone(),
            score: consent.score.hundredths(),
        }
    }
}

impl TryFrom<ConsentField> for Consent {
    type Error = Unfit;

    fn try_from(field: ConsentField) -> Result<Self, Unfit> {
        Ok(Self {
            status: field.status,
            captured_at: field.captured_at,
            received_at: field.received_at,
            landing_uri: field.landing_uri,
            address_hash: field.address_hash,
            user_agent: field.user_agent,
            score: Score::from_hundredths(field.score).ok_or(Unfit::Value { reason: "no score" })?,
        })
    }
}
