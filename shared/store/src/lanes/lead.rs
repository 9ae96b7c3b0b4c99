//! The row of a lead.

use std::collections::BTreeMap;

use domain::lead::captcha::Score;
use domain::lead::{ConsentStatus, ConsentText, LandingUri, LeadName, Utm};
use domain::sending::PartError;
use domain::{BrandId, Cellphone, Consent, ContactId, ConversationId, Lead, LeadState, MessageId, Timestamp};
use serde::{Deserialize, Serialize};

use crate::dynamodb::fields::{self, stored};
use crate::dynamodb::item::{Item, PK, check_schema, row, s, struct_of, text, unreadable};
use crate::dynamodb::write::LAST_REQUEST;
use crate::lanes::progress_field::ErrorFields;
use crate::{StoreError, keys};

/// A lead's row as `request_id` writes it, without its place in the due index.
pub(crate) fn lead_item(lead: &Lead, request_id: &str) -> Result<Item, StoreError> {
    let mut item = row(keys::lead(lead.workspace_id, lead.id), "lead", &LeadRow::from(lead))?;
    item.insert("timePk".to_owned(), s(keys::leads_by_time(lead.workspace_id)));
    item.insert("phonePk".to_owned(), s(keys::leads_by_phone(lead.workspace_id, &lead.cellphone.key())));
    item.insert("timeSk".to_owned(), s(keys::newest_first(lead.created_at, lead.id)));
    item.insert(LAST_REQUEST.to_owned(), s(request_id));
    Ok(item)
}

/// Reads the lead from its row.
pub(crate) fn lead(item: Item) -> Result<Lead, StoreError> {
    // The key of a row that is no lead may contain personal data.
    let Some((workspace_id, id)) = keys::read_lead(text(&item, PK)) else {
        return Err(unreadable(&item, "its key is of another kind"));
    };
    let name = format!("the lead {id}");
    check_schema(&item, &name)?;
    let unreadable = |reason: String| StoreError::Unreadable { key: name.clone(), reason };
    let row: LeadRow = struct_of(item).map_err(|error| unreadable(error.to_string()))?;
    let utm = Utm::of(row.utm).map_err(|unfit| unreadable(unfit.to_string()))?;
    let score = Score::from_hundredths(row.consent.score).ok_or_else(|| unreadable("no score".to_owned()))?;
    let consent = Consent {
        status: row.consent.status,
        captured_at: row.consent.captured_at,
        text: row.consent.text,
        received_at: row.created_at,
        landing_uri: row.landing_uri.clone(),
        address_hash: row.consent.address_hash,
        user_agent: row.consent.user_agent,
        score,
    };
    Ok(Lead {
        id,
        workspace_id,
        cellphone: row.cellphone,
        name: row.name,
        brand: row.brand_id,
        landing_uri: row.landing_uri,
        utm,
        consent,
        contact: row.contact_id,
        conversation: row.conversation_id,
        message: row.message_id,
        message_version: row.message_version,
        opened: row.opened,
        state: row.state.stage,
        error: row.error,
        created_at: row.created_at,
        updated_at: row.updated_at,
        version: row.version,
    })
}

/// The state of a lead. The index of all leads projects only `state`. So the index is written again only when
/// a lead ends without being sent; operators look for those.
#[derive(Serialize, Deserialize)]
struct StateFields {
    /// The state.
    #[serde(with = "fields::text")]
    stage: LeadState,
    /// The state, if the index shows it.
    #[serde(with = "fields::optional", default, skip_serializing_if = "Option::is_none")]
    state: Option<LeadState>,
}

impl StateFields {
    fn of(state: LeadState) -> Self {
        Self { stage: state, state: is_indexed(state).then_some(state) }
    }
}

/// Whether the index of all leads shows the state.
pub(crate) fn is_indexed(state: LeadState) -> bool {
    match state {
        LeadState::Failed | LeadState::Unknown | LeadState::Suppressed => true,
        LeadState::Queued | LeadState::Sending | LeadState::Sent => false,
    }
}

/// `W#L#<lead id>` / `L`. The row is written three times. It contains no value twice, so
/// it seldom exceeds one kilobyte, the size of a write unit, unless the text of the consent is long.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct LeadRow {
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
    #[serde(default, skip_serializing_if = "Option::is_none")]
    message_version: Option<u64>,
    opened: bool,
    #[serde(flatten)]
    state: StateFields,
    #[serde(flatten, with = "fields::Shaped::<ErrorFields>")]
    error: Option<PartError>,
    #[serde(with = "fields::text")]
    created_at: Timestamp,
    #[serde(with = "fields::text")]
    updated_at: Timestamp,
    version: u64,
}

stored! { LeadRow, StateFields }

/// A consent. It was received when the lead was created, and its page is the lead's `landingUri`.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ConsentField {
    #[serde(with = "fields::text")]
    status: ConsentStatus,
    #[serde(with = "fields::optional", default, skip_serializing_if = "Option::is_none")]
    captured_at: Option<Timestamp>,
    #[serde(with = "fields::optional", default, skip_serializing_if = "Option::is_none")]
    text: Option<ConsentText>,
    address_hash: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    user_agent: Option<String>,
    /// The captcha score in hundredths.
    score: u8,
}

impl From<&Lead> for LeadRow {
    fn from(lead: &Lead) -> Self {
        Self {
            cellphone: lead.cellphone.clone(),
            name: lead.name.clone(),
            brand_id: lead.brand.clone(),
            landing_uri: lead.landing_uri.clone(),
            utm: lead.utm.values().clone(),
            consent: ConsentField::from(&lead.consent),
            contact_id: lead.contact,
            conversation_id: lead.conversation,
            message_id: lead.message,
            message_version: lead.message_version,
            opened: lead.opened,
            state: StateFields::of(lead.state),
            error: lead.error.clone(),
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
            text: consent.text.clone(),
            address_hash: consent.address_hash.clone(),
            user_agent: consent.user_agent.clone(),
            score: consent.score.hundredths(),
        }
    }
}
