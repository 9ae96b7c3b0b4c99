//! The errors of the Integrations API: one table of codes, and one exhaustive mapping to it.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use domain::attribute::{DefinitionRefused, DefinitionUnfit};
use domain::lead::capture::Lack;
use domain::refused::{MediaFault, Origin};
use domain::webhook::pace::CapTooLow;
use domain::webhook::{ChangeRefused, RotationRefused};
use domain::{
    AttributeDefinition, AttributeType, BrandId, Capture, ContactId, KeyId, Refused, Team, TemplateId,
};
use runtime::metrics::Denial;
use serde::Serialize;
use serde_json::{Value, json};
use store::StoreError;

use crate::failure::FieldFailure;
use crate::json::NotJson;

/// One row of the table of codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ErrorCode {
    /// HTTP status.
    pub status: u16,
    /// `SERVICE_<DOMAIN>_<NNNN>`.
    pub code: &'static str,
    /// A short summary for people.
    pub title: &'static str,
}

const fn code(status: u16, code: &'static str, title: &'static str) -> ErrorCode {
    ErrorCode { status, code, title }
}

const MALFORMED: ErrorCode = code(400, "SERVICE_CORE_0400", "Bad Request");
const FORBIDDEN: ErrorCode = code(403, "SERVICE_CORE_0301", "Forbidden");
const NO_ROUTE: ErrorCode = code(404, "SERVICE_CORE_0404", "Not Found");
const NO_CONVERSATION: ErrorCode = code(404, "SERVICE_CONVERSATION_0404", "Conversation Not Found");
const NO_CONTACT: ErrorCode = code(404, "SERVICE_CONTACT_0404", "Contact Not Found");
const NO_ERASURE: ErrorCode = code(404, "SERVICE_ERASURE_0404", "Erasure Not Found");
const NO_USER: ErrorCode = code(404, "SERVICE_USER_0404", "User Not Found");
const NO_MESSAGE: ErrorCode = code(404, "SERVICE_MESSAGE_0404", "Message Not Found");
const NO_FILE: ErrorCode = code(404, "SERVICE_FILE_0404", "File Not Found");
const NO_TEMPLATE: ErrorCode = code(404, "SERVICE_TEMPLATE_0404", "Template Not Found");
const NO_KEY: ErrorCode = code(404, "SERVICE_KEY_0404", "API Key Not Found");
const NO_SETTING: ErrorCode = code(404, "SERVICE_SETTING_0404", "Setting Not Found");
const NO_WEBHOOK: ErrorCode = code(404, "SERVICE_WEBHOOK_0404", "Webhook Resource Not Found");
const NO_LEAD: ErrorCode = code(404, "SERVICE_LEAD_0404", "Lead Not Found");
const USER_TAKEN: ErrorCode = code(409, "SERVICE_USER_0409", "User Conflict");
const SETTING_TAKEN: ErrorCode = code(409, "SERVICE_SETTING_0409", "Setting Conflict");
const CONTACT_TAKEN: ErrorCode = code(409, "SERVICE_CONTACT_0409", "Contact Conflict");
const BLOCKED: ErrorCode = code(409, "SERVICE_CONVERSATION_0409", "Conversation Blocked");
const WEBHOOK_STATE: ErrorCode = code(409, "SERVICE_WEBHOOK_0409", "Webhook State Conflict");
const LEAD_STATE: ErrorCode = code(409, "SERVICE_LEAD_0409", "Lead Not Retried");
const STALE: ErrorCode = code(412, "SERVICE_CORE_0412", "Precondition Failed");
const TOO_LARGE: ErrorCode = code(413, "SERVICE_CORE_0413", "Payload Too Large");
const NOT_JSON_TYPE: ErrorCode = code(415, "SERVICE_CORE_0415", "Unsupported Media Type");
const INVALID: ErrorCode = code(422, "SERVICE_CORE_0422", "Unprocessable Entity");
const SCOPES_NOT_HELD: ErrorCode = code(422, "SERVICE_KEY_1101", "Scopes Not Held");
const LIMIT_REACHED: ErrorCode = code(422, "SERVICE_SETTING_1201", "Limit Reached");
const IN_USE: ErrorCode = code(422, "SERVICE_SETTING_1202", "Setting In Use");
const CAPTURE_LACKS: ErrorCode = code(422, "SERVICE_SETTING_1203", "Lead Capture Incomplete");
const UNKNOWN_ATTRIBUTE: ErrorCode = code(422, "SERVICE_CONTACT_0701", "Unknown Or Archived Attribute");
const CONTENT_UNFIT: ErrorCode = code(422, "SERVICE_CONTACT_0702", "Content Does Not Fit The Attribute");
const UNKNOWN_VALUE: ErrorCode = code(422, "SERVICE_CONTACT_0703", "Unknown Attribute Value");
const UNKNOWN_OWNER: ErrorCode = code(422, "SERVICE_CONTACT_0704", "Unknown Or Disabled Owner");
const NOT_MERGED: ErrorCode = code(422, "SERVICE_CONTACT_0705", "Contacts Cannot Be Merged");
const KEY_REUSED: ErrorCode = code(422, "SERVICE_CORE_0423", "Idempotency Key Reused");
const UNKNOWN_TEMPLATE: ErrorCode = code(422, "SERVICE_CONVERSATION_0601", "Unknown Template");
pub(crate) const NOT_APPROVED: ErrorCode = code(422, "SERVICE_CONVERSATION_0602", "Template Not Approved");
pub(crate) const MISSING_PARAMETERS: ErrorCode =
    code(422, "SERVICE_CONVERSATION_0603", "Template Parameters Missing");
pub(crate) const FOREIGN_PARAMETERS: ErrorCode =
    code(422, "SERVICE_CONVERSATION_0604", "Template Parameters Unknown");
pub(crate) const UNFIT_PARAMETERS: ErrorCode =
    code(422, "SERVICE_CONVERSATION_0610", "Template Parameters Do Not Fit");
const UNKNOWN_LINE: ErrorCode = code(422, "SERVICE_CONVERSATION_0605", "Line Or Brand Not Resolved");
const UNKNOWN_PARTICIPANT: ErrorCode = code(422, "SERVICE_CONVERSATION_0606", "Participant Not Resolved");
const TEAM_UNFIT: ErrorCode = code(422, "SERVICE_CONVERSATION_0607", "Team Not Usable");
const NEEDS_CALLER: ErrorCode =
    code(422, "SERVICE_CONVERSATION_0608", "Onboarding Template Needs Caller Values");
const NO_EXTERNAL: ErrorCode = code(422, "SERVICE_CONVERSATION_0609", "No External Participant Left");
const FILE_UNFIT: ErrorCode = code(422, "SERVICE_FILE_0901", "File Type Mismatch");
const UNKNOWN_MEDIA: ErrorCode = code(422, "SERVICE_FILE_0902", "Media Not Available");
const MEDIA_UNFIT: ErrorCode = code(422, "SERVICE_FILE_0903", "Media Not As Declared");
const UNKNOWN_REPLY: ErrorCode = code(422, "SERVICE_MESSAGE_1001", "Replied Message Not In Conversation");
const UNKNOWN_CONVERSATION: ErrorCode = code(422, "SERVICE_MESSAGE_1002", "Unknown Conversation");
const RATE_LIMITED: ErrorCode = code(429, "SERVICE_RATE_LIMIT_0001", "Too Many Requests");
const UNEXPECTED: ErrorCode = code(500, "SERVICE_CORE_0500", "Internal Server Error");
const BUSY: ErrorCode = code(503, "SERVICE_CORE_0503", "Service Unavailable");

/// The complete table. `docs/errors.md` contains it; a test compares the two.
pub const CODES: &[ErrorCode] = &[
    MALFORMED,
    FORBIDDEN,
    NO_ROUTE,
    NO_CONVERSATION,
    NO_CONTACT,
    NO_ERASURE,
    NO_USER,
    NO_MESSAGE,
    NO_FILE,
    NO_TEMPLATE,
    NO_KEY,
    NO_SETTING,
    NO_WEBHOOK,
    NO_LEAD,
    CONTACT_TAKEN,
    BLOCKED,
    WEBHOOK_STATE,
    LEAD_STATE,
    USER_TAKEN,
    SETTING_TAKEN,
    STALE,
    TOO_LARGE,
    NOT_JSON_TYPE,
    INVALID,
    KEY_REUSED,
    UNKNOWN_TEMPLATE,
    NOT_APPROVED,
    MISSING_PARAMETERS,
    FOREIGN_PARAMETERS,
    UNKNOWN_LINE,
    UNKNOWN_PARTICIPANT,
    TEAM_UNFIT,
    NEEDS_CALLER,
    NO_EXTERNAL,
    UNFIT_PARAMETERS,
    UNKNOWN_ATTRIBUTE,
    CONTENT_UNFIT,
    UNKNOWN_VALUE,
    UNKNOWN_OWNER,
    NOT_MERGED,
    FILE_UNFIT,
    UNKNOWN_MEDIA,
    MEDIA_UNFIT,
    UNKNOWN_REPLY,
    UNKNOWN_CONVERSATION,
    SCOPES_NOT_HELD,
    LIMIT_REACHED,
    IN_USE,
    CAPTURE_LACKS,
    RATE_LIMITED,
    UNEXPECTED,
    BUSY,
];

/// A type of resource in a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resource {
    /// A conversation.
    Conversation,
    /// A contact.
    Contact,
    /// The erasure of a contact, or a preview of it.
    Erasure,
    /// An internal user.
    User,
    /// A message.
    Message,
    /// A file.
    File,
    /// A template.
    Template,
    /// An API key.
    ApiKey,
    /// A team.
    Setting,
}

/// Why a caller gets 403, and with which key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Denied {
    /// The reason.
    pub reason: Denial,
    /// The key, if it exists.
    pub key: Option<KeyId>,
}

impl From<Denial> for ApiError {
    fn from(reason: Denial) -> Self {
        Self::Forbidden(Denied { reason, key: None })
    }
}

/// Why a request of the Integrations API fails.
#[derive(Clone, Debug, thiserror::Error)]
pub enum ApiError {
    /// The body is not JSON.
    #[error("the body is not JSON: {}", .0.reason)]
    Malformed(NotJson),
    /// The key gives no access to this workspace, or lacks the scope. The reason is for the log. The response has none.
    #[error("forbidden")]
    Forbidden(Denied),
    /// The route or method does not exist.
    #[error("no such route")]
    NoRoute,
    /// The caller's workspace does not have the resource.
    #[error("no such {0:?}")]
    NotFound(Resource),
    /// The contact became part of this one.
    #[error("the contact was merged into {0}")]
    Merged(ContactId),
    /// `If-Match` does not match the present state of the resource.
    #[error("stale")]
    Stale,
    /// The body exceeds the limit, in bytes.
    #[error("the body is larger than {0} bytes")]
    TooLarge(usize),
    /// The content type of the body is not `application/json`.
    #[error("the body is not application/json")]
    NotJsonType,
    /// The request does not have the form that the endpoint requires. The value lists all failures.
    #[error("{} validation failures", .0.len())]
    Invalid(Vec<FieldFailure>),
    /// The items of a files request are well-formed, but the name, content type and file type of some do not
    /// match. The value lists all of them.
    #[error("{} files whose type does not fit", .0.len())]
    FilesUnfit(Vec<FieldFailure>),
    /// The `Idempotency-Key` was used for another body within the last 24 hours.
    #[error("the idempotency key was used for another body")]
    KeyReused,
    /// A rule of the domain refuses the request.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// A change of the workspace's settings is refused.
    #[error(transparent)]
    Managed(admin::Refused),
    /// The rate limit of the key is exceeded. The value is the time to wait.
    #[error("over the rate limit")]
    RateLimited(Duration),
    /// A dependency is throttled or does not respond.
    #[error("a dependency is busy")]
    Busy(#[source] Arc<StoreError>),
    /// An internal error.
    #[error("unexpected")]
    Unexpected(#[source] Arc<dyn Error + Send + Sync>),
}

/// The body of an error, in the field order of the specification. `extra` and `detail` are present if the
/// code has them.
#[derive(Debug, Serialize)]
pub(crate) struct ErrorBody {
    title: &'static str,
    status: u16,
    code: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    extra: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<Value>,
}

impl ApiError {
    /// An internal error without an error value of its own.
    pub fn unexpected(reason: &'static str) -> Self {
        Self::Unexpected(Arc::from(Box::<dyn Error + Send + Sync>::from(reason)))
    }

    /// The workspace of the caller's key does not exist.
    pub fn no_workspace() -> Self {
        Denial::NoWorkspace.into()
    }

    /// The error's row in the table.
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Malformed(_) => MALFORMED,
            Self::Forbidden(_) => FORBIDDEN,
            Self::NoRoute => NO_ROUTE,
            Self::NotFound(Resource::Conversation) => NO_CONVERSATION,
            Self::NotFound(Resource::Contact) | Self::Merged(_) => NO_CONTACT,
            Self::NotFound(Resource::Erasure) => NO_ERASURE,
            Self::NotFound(Resource::User) => NO_USER,
            Self::NotFound(Resource::Message) => NO_MESSAGE,
            Self::NotFound(Resource::File) => NO_FILE,
            Self::NotFound(Resource::Template) => NO_TEMPLATE,
            Self::NotFound(Resource::ApiKey) => NO_KEY,
            Self::NotFound(Resource::Setting) => NO_SETTING,
            Self::Stale => STALE,
            Self::TooLarge(_) => TOO_LARGE,
            Self::NotJsonType => NOT_JSON_TYPE,
            Self::Invalid(_) => INVALID,
            Self::FilesUnfit(_) => FILE_UNFIT,
            Self::KeyReused => KEY_REUSED,
            Self::Refused(refused) => code_of(refused),
            Self::Managed(refused) => code_of_managed(refused),
            Self::RateLimited(_) => RATE_LIMITED,
            Self::Busy(_) => BUSY,
            Self::Unexpected(_) => UNEXPECTED,
        }
    }

    /// The number of whole seconds to wait before a retry, if it is known.
    pub(crate) fn retry_after(&self) -> Option<u64> {
        match self {
            Self::RateLimited(wait) => Some(whole_seconds(*wait)),
            Self::Busy(_) => Some(1),
            _ => None,
        }
    }

    /// The response body.
    pub(crate) fn body(&self) -> ErrorBody {
        let ErrorCode { status, code, title } = self.code();
        ErrorBody { title, status, code, extra: self.extra(), detail: self.detail() }
    }

    fn extra(&self) -> Option<Value> {
        let extra = match self {
            Self::Malformed(at) => json!({"line": at.line, "column": at.column, "reason": at.reason}),
            Self::TooLarge(max) => json!({"maxBytes": max}),
            Self::NotJsonType => json!({"expected": "application/json"}),
            Self::Merged(into) => json!({"mergedInto": into.to_string()}),
            Self::Refused(refused) => return extra_of(refused),
            Self::Managed(refused) => return extra_of_managed(refused),
            _ => return None,
        };
        Some(extra)
    }

    fn detail(&self) -> Option<Value> {
        match self {
            Self::Invalid(failures) | Self::FilesUnfit(failures) => {
                Some(failures.iter().map(entry).collect())
            }
            Self::Managed(refused) => detail_of_managed(refused),
            Self::Refused(Refused::ContactTooLarge { max_bytes }) => Some(json!([{
                "loc": ["body", "customAttributes"],
                "msg": format!("The contact should have at most {max_bytes} bytes"),
                "type": "too_long",
                "input": null,
                "ctx": {"max_length": max_bytes},
            }])),
            Self::Refused(Refused::TooManyParticipants { side, max }) => {
                Some(too_many_added(side, &format!("leave at most {max} participants"), *max))
            }
            Self::Refused(Refused::TooManyNewContacts { max }) => Some(too_many_added(
                "externals",
                &format!("name at most {max} participants who are not contacts yet"),
                *max,
            )),
            _ => None,
        }
    }
}

/// The code of a rule's refusal.
fn code_of(refused: &Refused) -> ErrorCode {
    match refused {
        Refused::UnknownAttribute { .. } => UNKNOWN_ATTRIBUTE,
        Refused::ContentUnfit { .. } => CONTENT_UNFIT,
        Refused::UnknownClosedValue { .. } => UNKNOWN_VALUE,
        Refused::UnknownOwner => UNKNOWN_OWNER,
        Refused::NotMerged { .. } => NOT_MERGED,
        Refused::IdentityTaken { .. } => CONTACT_TAKEN,
        Refused::ContactTooLarge { .. }
        | Refused::TooManyParticipants { .. }
        | Refused::TooManyNewContacts { .. } => INVALID,
        Refused::ConversationBlocked => BLOCKED,
        Refused::UnknownTemplate { .. } => UNKNOWN_TEMPLATE,
        Refused::TemplateNotApproved { .. } => NOT_APPROVED,
        Refused::MissingParameters { .. } => MISSING_PARAMETERS,
        Refused::ForeignParameters { .. } => FOREIGN_PARAMETERS,
        Refused::UnfitParameters { .. } => UNFIT_PARAMETERS,
        Refused::UnknownLine { .. } => UNKNOWN_LINE,
        Refused::UnknownParticipant { .. } => UNKNOWN_PARTICIPANT,
        Refused::TeamWithInternals { .. } | Refused::UnknownTeam { .. } => TEAM_UNFIT,
        Refused::ConfiguredTemplateNeedsCaller { .. } => NEEDS_CALLER,
        Refused::NoExternalLeft => NO_EXTERNAL,
        Refused::UnknownMedia { .. } => UNKNOWN_MEDIA,
        Refused::MediaUnfit { .. } => MEDIA_UNFIT,
        Refused::UnknownReply { .. } => UNKNOWN_REPLY,
        Refused::UnknownConversation => UNKNOWN_CONVERSATION,
        Refused::ScopesNotHeld { .. } => SCOPES_NOT_HELD,
        Refused::KeyLimitReached { .. } => LIMIT_REACHED,
    }
}

/// The code of a refused change of a setting.
fn code_of_managed(refused: &admin::Refused) -> ErrorCode {
    match refused {
        admin::Refused::UnknownWorkspace(_) => FORBIDDEN,
        admin::Refused::UnknownEndpoint(_)
        | admin::Refused::UnknownJob(_)
        | admin::Refused::UnknownDelivery(_)
        | admin::Refused::UnknownEvent(_) => NO_WEBHOOK,
        admin::Refused::UnknownLead(_) => NO_LEAD,
        admin::Refused::LeadNotRetried { .. } => LEAD_STATE,
        admin::Refused::Onboarding(refused) => code_of(refused),
        admin::Refused::UnknownUser(_) => NO_USER,
        admin::Refused::UnknownTeam(_)
        | admin::Refused::UnknownAttribute(_)
        | admin::Refused::UnknownValue(_)
        | admin::Refused::UnknownOptOut(_)
        | admin::Refused::NoCapture => NO_SETTING,
        admin::Refused::EmailTaken(_) => USER_TAKEN,
        admin::Refused::NameTaken(_)
        | admin::Refused::AttributeRefused(DefinitionRefused::KeyNameTaken { .. })
        | admin::Refused::AttributeUnfit(DefinitionUnfit::ValueTaken { .. }) => SETTING_TAKEN,
        admin::Refused::TeamInUse { .. } => IN_USE,
        admin::Refused::CaptureLacks { .. } => CAPTURE_LACKS,
        admin::Refused::TooManyEndpoints { .. }
        | admin::Refused::TeamFull(_)
        | admin::Refused::TooManyOrigins(_)
        | admin::Refused::AttributeRefused(DefinitionRefused::TooMany)
        | admin::Refused::AttributeUnfit(DefinitionUnfit::NumberOfValues) => LIMIT_REACHED,
        admin::Refused::EndpointDisabled(_) | admin::Refused::Rotation(_) | admin::Refused::JobDone(_) => {
            WEBHOOK_STATE
        }
        admin::Refused::Unfit(_)
        | admin::Refused::Range(_)
        | admin::Refused::UnknownMember(_)
        | admin::Refused::CaptureNames { .. }
        | admin::Refused::AttributeUnfit(_) => INVALID,
    }
}

/// The `detail` for an array of participants to add.
fn too_many_added(side: &str, should: &str, max: usize) -> Value {
    json!([{
        "loc": ["body", "participants", side, "add"],
        "msg": format!("The array should {should}"),
        "type": "too_long",
        "input": null,
        "ctx": {"max_length": max},
    }])
}

/// The `extra` of an error about a template. It contains `origin` only if the template does not come from the
/// request.
fn about_template(template: TemplateId, origin: Origin, more: Value) -> Value {
    let mut extra = json!({"templateId": template.to_string()});
    if let (Some(extra), Value::Object(more)) = (extra.as_object_mut(), more) {
        extra.extend(more);
        if origin == Origin::WorkspaceConfiguration {
            extra.insert("origin".to_owned(), json!("WORKSPACE_CONFIGURATION"));
        }
    }
    extra
}

fn entry(failure: &FieldFailure) -> Value {
    json!({
        "loc": failure.loc,
        "msg": failure.msg,
        "type": failure.kind,
        "input": failure.input,
        "ctx": failure.ctx,
    })
}

impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> Self {
        Self::from(Arc::new(error))
    }
}

impl From<Arc<StoreError>> for ApiError {
    fn from(error: Arc<StoreError>) -> Self {
        match *error {
            StoreError::Busy(_) => Self::Busy(error),
            StoreError::Failed(_) | StoreError::NoPersonKey(_) | StoreError::Unreadable { .. } => {
                Self::Unexpected(error)
            }
        }
    }
}

impl From<admin::Refused> for ApiError {
    fn from(refused: admin::Refused) -> Self {
        match refused {
            admin::Refused::UnknownWorkspace(_) => Self::no_workspace(),
            refused => Self::Managed(refused),
        }
    }
}

/// What the response adds about a refused change of a setting.
fn extra_of_managed(refused: &admin::Refused) -> Option<Value> {
    let extra = match refused {
        admin::Refused::Onboarding(refused) => return extra_of(refused),
        admin::Refused::EmailTaken(id) => json!({"id": id.to_string(), "field": "email"}),
        admin::Refused::NameTaken(taken) => json!({"id": taken.holder(), "field": "name"}),
        admin::Refused::AttributeRefused(DefinitionRefused::KeyNameTaken { by }) => {
            json!({"id": by.to_string(), "field": "keyName"})
        }
        admin::Refused::AttributeUnfit(DefinitionUnfit::ValueTaken { by, .. }) => {
            json!({"id": by.to_string(), "field": "value"})
        }
        admin::Refused::AttributeRefused(DefinitionRefused::TooMany) => {
            json!({"limit": "attributes", "of": AttributeDefinition::MAX_ACTIVE})
        }
        admin::Refused::AttributeUnfit(DefinitionUnfit::NumberOfValues) => {
            json!({"limit": "attributeValues", "of": AttributeDefinition::MAX_VALUES})
        }
        admin::Refused::TeamFull(_) => json!({"limit": "teamMembers", "of": Team::MAX_MEMBERS}),
        admin::Refused::TeamInUse { members } => json!({"usedBy": {"members": members}}),
        admin::Refused::TooManyOrigins(_) => json!({"limit": "origins", "of": Capture::MAX_ORIGINS}),
        admin::Refused::CaptureLacks { lacks, .. } => {
            json!({"lacks": lacks.iter().map(Lack::word).collect::<Vec<_>>()})
        }
        admin::Refused::TooManyEndpoints { of } => json!({"limit": "webhookEndpoints", "of": of}),
        admin::Refused::EndpointDisabled(_) => json!({"reason": "DISABLED"}),
        admin::Refused::JobDone(_) => json!({"reason": "JOB_ENDED"}),
        admin::Refused::Rotation(RotationRefused::NextWaits) => json!({"reason": "NEXT_SECRET_WAITS"}),
        admin::Refused::Rotation(RotationRefused::NoNext) => json!({"reason": "NO_NEXT_SECRET"}),
        admin::Refused::Rotation(
            RotationRefused::Overlapping { until } | RotationRefused::Activated { until },
        ) => json!({"reason": "ROTATION_RUNS", "until": until.to_string()}),
        admin::Refused::LeadNotRetried { state, reason } => {
            json!({"state": state.as_str(), "reason": reason.as_str()})
        }
        admin::Refused::UnknownWorkspace(_)
        | admin::Refused::UnknownLead(_)
        | admin::Refused::UnknownEndpoint(_)
        | admin::Refused::UnknownJob(_)
        | admin::Refused::UnknownDelivery(_)
        | admin::Refused::UnknownEvent(_)
        | admin::Refused::UnknownUser(_)
        | admin::Refused::UnknownTeam(_)
        | admin::Refused::UnknownMember(_)
        | admin::Refused::UnknownAttribute(_)
        | admin::Refused::UnknownValue(_)
        | admin::Refused::UnknownOptOut(_)
        | admin::Refused::NoCapture
        | admin::Refused::CaptureNames { .. }
        | admin::Refused::AttributeUnfit(_)
        | admin::Refused::Unfit(_)
        | admin::Refused::Range(_) => return None,
    };
    Some(extra)
}

/// The field at fault of a refused change of a setting.
fn detail_of_managed(refused: &admin::Refused) -> Option<Value> {
    let at_least = |field: &str, input: u16, least: u8| {
        json!([{
            "loc": ["body", field],
            "msg": format!("Input should be at least {least}, the number of slots of the endpoint"),
            "type": "greater_than_equal",
            "input": input,
            "ctx": {"ge": least},
        }])
    };
    match refused {
        admin::Refused::Unfit(ChangeRefused::CapTooLow(CapTooLow { field, cap, slots })) => {
            Some(at_least(field, *cap, *slots))
        }
        admin::Refused::Unfit(ChangeRefused::FewerSlots { has, wanted }) => {
            Some(at_least("slots", (*wanted).into(), *has))
        }
        admin::Refused::UnknownMember(named) => {
            Some(json!([value_error("members", "the workspace has no such user", named.identifier().into())]))
        }
        admin::Refused::CaptureNames { template, brand } => Some(unknown_names(*template, brand.as_ref())),
        admin::Refused::Range(reason) => Some(json!([value_error("since", reason, Value::Null)])),
        admin::Refused::AttributeUnfit(DefinitionUnfit::OpenWithValues) => {
            Some(json!([value_error("value", "an OPEN attribute has no values", Value::Null)]))
        }
        admin::Refused::AttributeUnfit(DefinitionUnfit::Value { value, reason }) => {
            Some(json!([value_error("value", &reason.to_string(), value.as_str().into())]))
        }
        admin::Refused::AttributeUnfit(DefinitionUnfit::KeyName(reason)) => {
            Some(json!([value_error("keyName", &reason.to_string(), Value::Null)]))
        }
        _ => None,
    }
}

/// The `detail` for settings of lead capture that name what does not exist.
fn unknown_names(template: Option<TemplateId>, brand: Option<&BrandId>) -> Value {
    let template = template.map(|id| {
        let reason = "neither the workspace nor the platform has such a template";
        value_error("leadTemplateId", reason, id.to_string().into())
    });
    let brand = brand.map(|id| value_error("brandId", "the workspace has no such brand", id.as_str().into()));
    template.into_iter().chain(brand).collect()
}

/// An entry of `detail` for a field of the body that is refused for this reason.
fn value_error(field: &str, reason: &str, input: Value) -> Value {
    json!({
        "loc": ["body", field],
        "msg": format!("Value error: {reason}"),
        "type": "value_error",
        "input": input,
        "ctx": {"error": reason},
    })
}

/// The value of `Retry-After` for this wait: rounded up, and at least 1.
pub(crate) fn whole_seconds(wait: Duration) -> u64 {
    u64::try_from(wait.as_millis().div_ceil(1_000)).unwrap_or(1).max(1)
}

/// What the response adds about a refusal.
fn extra_of(refused: &Refused) -> Option<Value> {
    let extra = match refused {
        Refused::UnknownAttribute { attribute } => {
            json!({"customAttributeId": attribute.to_string()})
        }
        Refused::ContentUnfit { attribute, expected } => json!({
            "customAttributeId": attribute.to_string(),
            "type": expected.map(|expected| expected.as_str()),
            "expected": expected.map_or("ids of its values, in closedAttributes", AttributeType::form),
        }),
        Refused::UnknownClosedValue { attribute, value } => json!({
            "customAttributeId": attribute.to_string(),
            "closedCustomAttributeId": value.to_string(),
        }),
        Refused::IdentityTaken { field, contact } => json!({
            "contactId": contact.to_string(),
            "field": field.as_str(),
        }),
        Refused::UnknownTemplate { template, origin } => about_template(*template, *origin, json!({})),
        Refused::TemplateNotApproved { template, channel, status, origin } => about_template(
            *template,
            *origin,
            json!({"providerChannelId": channel.as_str(), "status": status}),
        ),
        Refused::UnfitParameters { template, parameters, origin } => {
            let parameters: Vec<Value> =
                parameters.iter().map(|(name, reason)| json!({"name": name, "reason": reason})).collect();
            about_template(*template, *origin, json!({"parameters": parameters}))
        }
        Refused::MissingParameters { template, parameters }
        | Refused::ForeignParameters { template, parameters } => {
            about_template(*template, Origin::Request, json!({"parameters": parameters}))
        }
        Refused::ConfiguredTemplateNeedsCaller { template } => {
            about_template(*template, Origin::WorkspaceConfiguration, json!({}))
        }
        Refused::UnknownLine { channel, brand } => json!({
            "providerChannelId": channel.as_ref().map(|channel| channel.as_str()),
            "brandId": brand.as_ref().map(|brand| brand.as_str()),
        }),
        Refused::UnknownParticipant { identifier, identifier_type } => json!({
            "identifier": identifier,
            "identifierType": identifier_type,
        }),
        Refused::TeamWithInternals { team } | Refused::UnknownTeam { team } => {
            json!({"teamId": team.to_string()})
        }
        Refused::UnknownMedia { media } => json!({"mediaId": media.to_string()}),
        Refused::MediaUnfit { media, reason } => match reason {
            MediaFault::TooLarge { max_bytes } => {
                json!({"mediaId": media.to_string(), "maxBytes": max_bytes})
            }
            MediaFault::Empty => json!({"mediaId": media.to_string(), "minBytes": 1}),
            MediaFault::OtherDigest => json!({"mediaId": media.to_string()}),
        },
        Refused::NotMerged { reason } => json!({"reason": reason.as_str()}),
        Refused::ScopesNotHeld { scopes } => json!({"scopes": scopes}),
        Refused::KeyLimitReached { limit, of } => json!({"limit": limit.as_str(), "of": of}),
        Refused::UnknownReply { message } => json!({"replyToMessageId": message.to_string()}),
        Refused::UnknownOwner
        | Refused::ContactTooLarge { .. }
        | Refused::TooManyParticipants { .. }
        | Refused::TooManyNewContacts { .. }
        | Refused::ConversationBlocked
        | Refused::NoExternalLeft
        | Refused::UnknownConversation => return None,
    };
    Some(extra)
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::refused::IdentityField;
    use domain::{AttributeId, ContactId};
    use uuid::Uuid;

    fn body(refused: Refused) -> String {
        serde_json::to_string(&ApiError::from(refused).body()).unwrap()
    }

    #[test]
    fn each_code_appears_once_in_the_table() {
        for (index, row) in CODES.iter().enumerate() {
            assert!(row.code.starts_with(&format!("{}_", domain::PLATFORM)), "{}", row.code);
            assert!(CODES[..index].iter().all(|other| other.code != row.code), "{}", row.code);
        }
    }

    #[test]
    fn the_extra_of_a_refusal_names_its_subject() {
        let id = Uuid::from_u128(7);
        let refused =
            Refused::IdentityTaken { field: IdentityField::Email, contact: ContactId::from_uuid(id) };
        insta::assert_snapshot!(body(refused), @r#"{"title":"Contact Conflict","status":409,"code":"SERVICE_CONTACT_0409","extra":{"contactId":"00000000-0000-0000-0000-000000000007","field":"email"}}"#);
        let refused = Refused::ContentUnfit {
            attribute: AttributeId::from_uuid(id),
            expected: Some(AttributeType::Date),
        };
        insta::assert_snapshot!(body(refused), @r#"{"title":"Content Does Not Fit The Attribute","status":422,"code":"SERVICE_CONTACT_0702","extra":{"customAttributeId":"00000000-0000-0000-0000-000000000007","expected":"a calendar day, such as 2026-01-31","type":"DATE"}}"#);
    }

    #[test]
    fn retry_after_is_whole_seconds_rounded_up() {
        for (millis, seconds) in [(0, 1), (1, 1), (1_000, 1), (1_001, 2)] {
            assert_eq!(ApiError::RateLimited(Duration::from_millis(millis)).retry_after(), Some(seconds));
        }
    }
}
