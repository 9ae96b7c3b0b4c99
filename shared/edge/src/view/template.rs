//! Templates: their components, the places that a message fills, and their status for accounts.

use std::collections::BTreeMap;

use domain::refused::{MediaFault, Refused};
use domain::settings::template::{
    Button, ButtonKind, Card, Change, Fault, FaultKind, Filled, Filling, Form, Header, Sendable, Slot,
    Source, Template,
};
use domain::{BusinessAccountId, TemplateCategory, TemplateScope, TemplateStatus};
use serde::Serialize;

use crate::ApiError;
use crate::error::{FOREIGN_PARAMETERS, MISSING_PARAMETERS, NOT_APPROVED, UNFIT_PARAMETERS};

/// A page of templates. The cursor of the last page is `null`.
#[derive(Debug, Serialize)]
pub struct TemplatesView<'a> {
    /// The templates of the page.
    pub templates: Vec<TemplateView<'a>>,
    /// The cursor of the next page.
    pub cursor: Option<String>,
}

/// A template.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TemplateView<'a> {
    id: String,
    scope: &'static str,
    name: &'a str,
    language: &'a str,
    category: Option<&'static str>,
    parameter_format: &'static str,
    #[serde(flatten)]
    components: ComponentsView,
    parameters: Vec<ParameterView<'a>>,
    statuses: Vec<StatusView<'a>>,
    created_at: String,
}

/// The components of a template, or of a message of it.
#[derive(Debug, Serialize)]
struct ComponentsView {
    header: Option<HeaderView>,
    body: Option<String>,
    footer: Option<String>,
    offer: Option<OfferView>,
    buttons: Vec<ButtonView>,
    cards: Vec<CardView>,
}

#[derive(Debug, Serialize)]
struct HeaderView {
    kind: &'static str,
    text: Option<String>,
}

#[derive(Debug, Serialize)]
struct OfferView {
    text: String,
    expires: bool,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ButtonView {
    kind: &'static str,
    text: String,
    url: Option<String>,
    phone_number: Option<String>,
}

#[derive(Debug, Serialize)]
struct CardView {
    header: HeaderView,
    body: Option<String>,
    buttons: Vec<ButtonView>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ParameterView<'a> {
    name: String,
    kind: &'static str,
    required: bool,
    source: String,
    fallback: Option<&'a str>,
    max_length: usize,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct StatusView<'a> {
    business_account_id: &'a str,
    status: Option<&'static str>,
    sendable: bool,
    quality: Option<&'a str>,
    category: Option<&'static str>,
    reason: Option<&'a str>,
    updated_at: Option<String>,
}

/// The payload of `template.updated`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TemplateUpdatedView<'a> {
    #[serde(flatten)]
    template: TemplateView<'a>,
    business_account_id: Option<&'a str>,
    previous_status: Option<&'static str>,
}

/// What a message of a template would say.
#[derive(Debug, Serialize)]
pub struct TemplatePreviewView {
    sendable: bool,
    #[serde(flatten)]
    components: ComponentsView,
    values: BTreeMap<String, String>,
    text: Option<String>,
    problems: Vec<ProblemView>,
}

/// Why a message of a template would be refused, or would fail.
#[derive(Debug, Serialize)]
pub struct ProblemView {
    code: &'static str,
    parameter: Option<String>,
    reason: String,
}

impl ProblemView {
    /// The template cannot be sent. The reason is a sentence without a subject.
    pub fn not_approved(reason: String) -> Self {
        Self { code: NOT_APPROVED.code, parameter: None, reason }
    }

    /// The request would be refused because of this value.
    pub fn refused(fault: &Fault) -> Self {
        let code = match fault.kind {
            FaultKind::Missing => MISSING_PARAMETERS,
            FaultKind::Foreign => FOREIGN_PARAMETERS,
            FaultKind::Unfit | FaultKind::OfContact => UNFIT_PARAMETERS,
        };
        Self::of(code.code, fault)
    }

    /// The request would be refused because of the file that this value names.
    pub fn file_refused(fault: &Fault, refused: &Refused) -> Self {
        let reason = match refused {
            Refused::MediaUnfit { reason: MediaFault::TooLarge { .. }, .. } => "is a file that is too large",
            Refused::MediaUnfit { reason: MediaFault::Empty, .. } => "is an empty file",
            Refused::MediaUnfit { reason: MediaFault::OtherDigest, .. } => {
                "is a file that is not as declared"
            }
            _ => "is no uploaded file",
        };
        let code = ApiError::from(refused.clone()).code().code;
        Self { reason: reason.to_owned(), ..Self::of(code, fault) }
    }

    /// The part for a contact would fail because of this value.
    pub fn fails(fault: &Fault) -> Self {
        Self::of(fault.kind.part_error(), fault)
    }

    fn of(code: &'static str, fault: &Fault) -> Self {
        Self { code, parameter: Some(fault.parameter.clone()), reason: fault.reason.clone() }
    }
}

/// A template, with its status for these accounts.
pub fn template<'a>(template: &'a Template, accounts: &[&'a BusinessAccountId]) -> TemplateView<'a> {
    TemplateView {
        id: template.id.to_string(),
        scope: match template.scope {
            TemplateScope::Workspace(_) => "WORKSPACE",
            TemplateScope::Platform => "PLATFORM",
        },
        name: &template.name,
        language: &template.language,
        category: template.category.map(TemplateCategory::as_str),
        parameter_format: template.form.format.as_str(),
        components: components(template.form.clone()),
        parameters: template.form.slots().into_iter().map(|slot| parameter(template, slot)).collect(),
        statuses: accounts.iter().map(|account| status(template, account)).collect(),
        created_at: template.created_at.to_string(),
    }
}

/// A template that changed, with its status for these accounts. If the status changed for one of them, the view names the first
/// of those, and its status before.
pub fn template_updated<'a>(
    change: &'a Change,
    accounts: &[&'a BusinessAccountId],
) -> TemplateUpdatedView<'a> {
    let differs = |account: &&&BusinessAccountId| change.previous_status(account) != change.status(account);
    let account = accounts.iter().find(differs);
    TemplateUpdatedView {
        template: template(&change.after, accounts),
        business_account_id: account.map(|account| account.as_str()),
        previous_status: account
            .and_then(|account| change.previous_status(account))
            .map(TemplateStatus::as_str),
    }
}

/// A message of the template with these values. It would be sent if there are no problems.
pub fn template_preview(
    template: &Template,
    filling: &Filling,
    problems: Vec<ProblemView>,
) -> TemplatePreviewView {
    let values = filling.values.iter().map(|(slot, value)| {
        let value = match value {
            Filled::Text(text) => text.clone(),
            Filled::File(file) => file.media.to_string(),
        };
        (slot.clone(), value)
    });
    TemplatePreviewView {
        sendable: problems.is_empty(),
        components: components(template.form_with(filling)),
        values: values.collect(),
        text: template.kept_text(filling),
        problems,
    }
}

fn components(form: Form) -> ComponentsView {
    let card = |card: Card| CardView {
        header: header(Header::File(card.header)),
        body: card.body.text,
        buttons: card.buttons.into_iter().map(button).collect(),
    };
    ComponentsView {
        header: form.header.map(header),
        body: form.body.text,
        footer: form.footer,
        offer: form.offer.map(|offer| OfferView { text: offer.text, expires: offer.expires }),
        buttons: form.buttons.into_iter().map(button).collect(),
        cards: form.cards.into_iter().map(card).collect(),
    }
}

fn header(header: Header) -> HeaderView {
    let (kind, text) = match header {
        Header::Text(text) => ("TEXT", text.text),
        Header::File(kind) => (kind.slot().as_str(), None),
        Header::Location => ("LOCATION", None),
    };
    HeaderView { kind, text }
}

fn button(Button { text, kind }: Button) -> ButtonView {
    let (kind, url, phone_number) = match kind {
        ButtonKind::QuickReply => ("QUICK_REPLY", None, None),
        ButtonKind::Url(url) => ("URL", Some(url), None),
        ButtonKind::PhoneNumber(number) => ("PHONE_NUMBER", None, Some(number)),
        ButtonKind::VoiceCall => ("VOICE_CALL", None, None),
        ButtonKind::CopyCode => ("COPY_CODE", None, None),
        ButtonKind::Flow => ("FLOW", None, None),
        ButtonKind::Otp => ("OTP", None, None),
    };
    ButtonView { kind, text, url, phone_number }
}

fn parameter(template: &Template, slot: Slot) -> ParameterView<'_> {
    let source = template.source(&slot.name);
    let (word, fallback) = source.in_words();
    ParameterView {
        kind: slot.kind.as_str(),
        required: *source == Source::Caller && !slot.kind.is_optional(),
        source: word,
        fallback,
        max_length: slot.kind.max_length(),
        name: slot.name,
    }
}

fn status<'a>(template: &'a Template, account: &'a BusinessAccountId) -> StatusView<'a> {
    let state = template.states.get(account);
    StatusView {
        business_account_id: account.as_str(),
        status: template.status(account).map(TemplateStatus::as_str),
        sendable: template.sendable(account) == Sendable::Now,
        quality: state.and_then(|state| state.quality.as_deref()),
        category: state.and_then(|state| state.category).map(TemplateCategory::as_str),
        reason: state.and_then(|state| state.reason.as_deref()),
        updated_at: state.map(|state| state.at.to_string()),
    }
}
