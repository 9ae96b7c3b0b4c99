//! What the rules refuse, said as values. The edge gives each its status, code and title in one closed table.

use crate::attribute::AttributeType;
use crate::ids::{
    AttributeId, BrandId, ChannelId, ClosedValueId, ContactId, MediaId, MessageId, TeamId, TemplateId,
};

/// A request that was read without fault and may still not be carried out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// The workspace has no active attribute of that id.
    #[error("no active attribute {attribute}")]
    UnknownAttribute {
        /// The id given.
        attribute: AttributeId,
    },
    /// The content is not of the attribute's type, or the attribute is not OPEN.
    #[error("the content does not fit attribute {attribute}")]
    ContentUnfit {
        /// The attribute.
        attribute: AttributeId,
        /// The type its content must have; absent where the attribute takes values, not content.
        expected: Option<AttributeType>,
    },
    /// The value is not one of the attribute's, or the attribute is not CLOSED.
    #[error("attribute {attribute} has no value {value}")]
    UnknownClosedValue {
        /// The attribute.
        attribute: AttributeId,
        /// The id given.
        value: ClosedValueId,
    },
    /// The owner named is no active internal user of the workspace.
    #[error("the owner is not an active internal user")]
    UnknownOwner,
    /// The e-mail address or phone number belongs to another contact of the workspace.
    #[error("{} belongs to contact {contact}", field.as_str())]
    IdentityTaken {
        /// Which of the two.
        field: IdentityField,
        /// The contact that has it.
        contact: ContactId,
    },
    /// With the update the contact would be larger than a row and its event may be.
    #[error("the contact would be larger than {max_bytes} bytes")]
    ContactTooLarge {
        /// The limit in bytes of UTF-8.
        max_bytes: usize,
    },
    /// The conversation takes no messages.
    #[error("the conversation is blocked")]
    ConversationBlocked,
    /// No template of that id is to be had in the workspace.
    #[error("no template {template}")]
    UnknownTemplate {
        /// The id given.
        template: TemplateId,
        /// Who asked for it.
        origin: Origin,
    },
    /// The provider has not approved the template for the account behind a participant's line.
    #[error("template {template} is not approved for the account behind line {channel:?}")]
    TemplateNotApproved {
        /// The template.
        template: TemplateId,
        /// The line.
        channel: ChannelId,
        /// Who asked for it.
        origin: Origin,
    },
    /// The template has variables that the caller did not fill.
    #[error("template {template} lacks parameters")]
    MissingParameters {
        /// The template.
        template: TemplateId,
        /// The variables' names, in the order of the body.
        parameters: Vec<String>,
    },
    /// The template takes no such parameters from a caller.
    #[error("template {template} does not take these parameters")]
    ForeignParameters {
        /// The template.
        template: TemplateId,
        /// The names given, in alphabetical order.
        parameters: Vec<String>,
    },
    /// Line or brand cannot be resolved.
    #[error("the line or brand cannot be resolved")]
    UnknownLine {
        /// The line named.
        channel: Option<ChannelId>,
        /// The brand named.
        brand: Option<BrandId>,
    },
    /// A participant cannot be resolved.
    #[error("a participant cannot be resolved")]
    UnknownParticipant {
        /// As the caller named them.
        identifier: String,
        /// `ID` or `EMAIL`.
        identifier_type: &'static str,
    },
    /// A team together with internal participants.
    #[error("a team cannot be combined with internal participants")]
    TeamWithInternals {
        /// The team.
        team: TeamId,
    },
    /// The workspace has no such team.
    #[error("no team {team}")]
    UnknownTeam {
        /// The id given.
        team: TeamId,
    },
    /// A configured template would need values that only the caller can give.
    #[error("configured template {template} needs the caller's values")]
    ConfiguredTemplateNeedsCaller {
        /// The template.
        template: TemplateId,
    },
    /// Nobody external would be left in the conversation.
    #[error("a conversation needs an external participant")]
    NoExternalLeft,
    /// More participants than a conversation takes.
    #[error("too many participants")]
    TooManyParticipants {
        /// `externals` or `internals`.
        side: &'static str,
        /// The greatest number.
        max: usize,
    },
    /// More customers who are no contacts yet than one update can make besides all else it changes.
    #[error("too many new contacts in one update")]
    TooManyStrangers {
        /// How many it can make.
        max: usize,
    },
    /// The media is unknown, another workspace's, expired, or was not uploaded.
    #[error("no uploaded media {media}")]
    UnknownMedia {
        /// The id given.
        media: MediaId,
    },
    /// What was uploaded is over its limit or has another digest than declared.
    #[error("media {media} is not as declared")]
    MediaUnfit {
        /// The media.
        media: MediaId,
        /// What is wrong with it.
        reason: MediaFault,
    },
    /// The message replied to is not of the conversation.
    #[error("no message {message} in the conversation")]
    UnknownReply {
        /// The id given.
        message: MessageId,
    },
    /// The workspace has no such conversation to write into.
    #[error("no such conversation")]
    UnknownConversation,
}

/// Who asked for a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The caller.
    Request,
    /// The workspace's onboarding sequence.
    WorkspaceConfiguration,
}

/// What is wrong with an uploaded file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MediaFault {
    /// It is larger than its type allows, in bytes; it was deleted.
    TooLarge {
        /// The limit in bytes.
        max_bytes: u64,
    },
    /// Its bytes have another SHA-256 than declared.
    OtherDigest,
}

/// The fields by which a contact is unique within its workspace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdentityField {
    /// The e-mail address, compared without case.
    Email,
    /// The phone number.
    Cellphone,
}

impl IdentityField {
    /// The API's field name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Email => "email",
            Self::Cellphone => "cellphone",
        }
    }
}
