//! Refusals of valid requests. The edge maps each one to its status, code and title in one table.

use crate::attribute::AttributeType;
use crate::ids::{
    AttributeId, BrandId, ChannelId, ClosedValueId, ContactId, MediaId, MessageId, TeamId, TemplateId,
};
use crate::words::words;

/// Why the service cannot execute a request that is well-formed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// The workspace has no active attribute with this id.
    #[error("no active attribute {attribute}")]
    UnknownAttribute {
        /// The id in the request.
        attribute: AttributeId,
    },
    /// The content does not have the attribute's type, or the attribute is not OPEN.
    #[error("the content does not fit attribute {attribute}")]
    ContentUnfit {
        /// The attribute.
        attribute: AttributeId,
        /// The required type; `None` if the attribute takes values instead of content.
        expected: Option<AttributeType>,
    },
    /// The attribute does not allow this value, or the attribute is not CLOSED.
    #[error("attribute {attribute} has no value {value}")]
    UnknownClosedValue {
        /// The attribute.
        attribute: AttributeId,
        /// The id in the request.
        value: ClosedValueId,
    },
    /// The owner in the request is not an active internal user of the workspace.
    #[error("the owner is not an active internal user")]
    UnknownOwner,
    /// The e-mail address, phone number or external id belongs to another contact of the workspace.
    #[error("{} belongs to contact {contact}", field.as_str())]
    IdentityTaken {
        /// The field that is taken.
        field: IdentityField,
        /// The contact that has the value.
        contact: ContactId,
    },
    /// After the update, the contact would exceed a size limit of rows or events.
    #[error("the contact would be larger than {max_bytes} bytes")]
    ContactTooLarge {
        /// The limit in bytes of UTF-8.
        max_bytes: usize,
    },
    /// Two contacts cannot become one.
    #[error("the contacts cannot be merged: {}", reason.as_str())]
    NotMerged {
        /// The reason.
        reason: MergeRefusal,
    },
    /// A new key would have scopes that its maker's key does not have.
    #[error("the caller does not hold the scopes {scopes:?}")]
    ScopesNotHeld {
        /// The scopes.
        scopes: Vec<&'static str>,
    },
    /// The keys of the workspace would exceed a limit.
    #[error("the limit {} is {of}", limit.as_str())]
    KeyLimitReached {
        /// The limit.
        limit: KeyLimit,
        /// How much it allows.
        of: u32,
    },
    /// The conversation accepts no messages.
    #[error("the conversation is blocked")]
    ConversationBlocked,
    /// Neither the workspace nor the platform has a template with this id.
    #[error("no template {template}")]
    UnknownTemplate {
        /// The id in the request or the configuration.
        template: TemplateId,
        /// Where the template comes from.
        origin: Origin,
    },
    /// The template cannot be sent for the account of a participant's line.
    #[error("template {template} is {} for the account behind line {channel:?}", in_words(*.status))]
    TemplateNotApproved {
        /// The template.
        template: TemplateId,
        /// The line.
        channel: ChannelId,
        /// The status of the template for the account; `None` if none is known.
        status: Option<&'static str>,
        /// Where the template comes from.
        origin: Origin,
    },
    /// Values do not fit their places in the template.
    #[error("values of template {template} do not fit: {}", listed(.parameters))]
    UnfitParameters {
        /// The template.
        template: TemplateId,
        /// The names of the values with the reasons, in the order of the components.
        parameters: Vec<(String, String)>,
        /// Where the template comes from.
        origin: Origin,
    },
    /// The request does not give all parameters of the template.
    #[error("template {template} lacks parameters")]
    MissingParameters {
        /// The template.
        template: TemplateId,
        /// The names of the missing variables, in the order of the body.
        parameters: Vec<String>,
    },
    /// The request gives parameters that the template does not take from a caller.
    #[error("template {template} does not take these parameters")]
    ForeignParameters {
        /// The template.
        template: TemplateId,
        /// The names of these parameters, in alphabetical order.
        parameters: Vec<String>,
    },
    /// The line or brand cannot be resolved.
    #[error("the line or brand cannot be resolved")]
    UnknownLine {
        /// The line in the request.
        channel: Option<ChannelId>,
        /// The brand in the request.
        brand: Option<BrandId>,
    },
    /// A participant cannot be resolved.
    #[error("a participant cannot be resolved")]
    UnknownParticipant {
        /// The participant's identifier in the request.
        identifier: String,
        /// The type of the identifier: `ID`, `EMAIL` or `PHONE`.
        identifier_type: &'static str,
    },
    /// The request contains a team and internal participants.
    #[error("a team cannot be combined with internal participants")]
    TeamWithInternals {
        /// The team.
        team: TeamId,
    },
    /// The workspace has no team with this id.
    #[error("no team {team}")]
    UnknownTeam {
        /// The id in the request.
        team: TeamId,
    },
    /// A configured template has variables that only a caller can fill.
    #[error("configured template {template} needs the caller's values")]
    ConfiguredTemplateNeedsCaller {
        /// The template.
        template: TemplateId,
    },
    /// The update would remove the last external participant.
    #[error("a conversation needs an external participant")]
    NoExternalLeft,
    /// The conversation would have too many participants.
    #[error("too many participants")]
    TooManyParticipants {
        /// `externals` or `internals`.
        side: &'static str,
        /// The greatest number.
        max: usize,
    },
    /// The update would create more contacts than fit into one transaction with its other changes.
    #[error("too many new contacts in one update")]
    TooManyNewContacts {
        /// The number of contacts that fit.
        max: usize,
    },
    /// The media is unknown, belongs to another workspace, has expired, or was not uploaded.
    #[error("no uploaded media {media}")]
    UnknownMedia {
        /// The id in the request.
        media: MediaId,
    },
    /// The uploaded file exceeds its size limit, or its digest is not the declared one.
    #[error("media {media} is not as declared")]
    MediaUnfit {
        /// The media.
        media: MediaId,
        /// The fault.
        reason: MediaFault,
    },
    /// The answered message is not in the conversation.
    #[error("no message {message} in the conversation")]
    UnknownReply {
        /// The id in the request.
        message: MessageId,
    },
    /// The workspace has no conversation with this id.
    #[error("no such conversation")]
    UnknownConversation,
}

fn in_words(status: Option<&'static str>) -> &'static str {
    status.unwrap_or("not approved")
}

fn listed(parameters: &[(String, String)]) -> String {
    parameters.iter().map(|(name, reason)| format!("{name} {reason}")).collect::<Vec<_>>().join("; ")
}

/// A limit for the keys that the tenants of a workspace make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyLimit {
    /// How many there may be: [`ApiKey::MOST_MADE`](crate::ApiKey::MOST_MADE).
    ApiKeys,
    /// How many requests a second their limits may allow together.
    KeyRate,
}

words!(
    /// The names in refusals.
    KeyLimit { ApiKeys: "apiKeys", KeyRate: "keyRate" }
);

/// Where a template comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The request.
    Request,
    /// The workspace's onboarding sequence.
    WorkspaceConfiguration,
}

/// The fault of an uploaded file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MediaFault {
    /// The file is larger than its type allows. The service deleted it.
    TooLarge {
        /// The limit in bytes.
        max_bytes: u64,
    },
    /// The file has no bytes. The service deleted it.
    Empty,
    /// The SHA-256 of the bytes is not the declared one.
    OtherDigest,
}

/// Why two contacts are not merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MergeRefusal {
    /// Both are the same contact.
    Itself,
    /// One of them does not exist.
    Unknown,
    /// One of them was merged into another contact already.
    AlreadyMerged,
    /// Another merge of one of them runs.
    BeingMerged,
    /// One of them is being erased.
    BeingErased,
    /// The contact would be too large, or would stand for too many merged ones.
    TooLarge,
}

words!(
    /// The values of `extra.reason`.
    MergeRefusal {
        Itself: "ITSELF",
        Unknown: "UNKNOWN",
        AlreadyMerged: "ALREADY_MERGED",
        BeingMerged: "BEING_MERGED",
        BeingErased: "BEING_ERASED",
        TooLarge: "TOO_LARGE",
    }
);

/// The fields that are unique among a workspace's contacts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdentityField {
    /// The e-mail address, compared without case.
    Email,
    /// The phone number.
    Cellphone,
    /// The id in the tenant's own system, compared exactly.
    ExternalId,
    /// The provider's id of the customer. No request sets it.
    UserId,
    /// The number under which the provider knows the customer. No request sets it.
    WaId,
}

words!(
    /// The names of the API fields, and of the contact's fields that clients do not see.
    IdentityField {
        Email: "email",
        Cellphone: "cellphone",
        ExternalId: "externalId",
        UserId: "userId",
        WaId: "waId",
    }
);
