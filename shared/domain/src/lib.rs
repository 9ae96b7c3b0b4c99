//! The rules of the service: types, decisions, tables as data, names.
//!
//! Pure by construction: no I/O, no JSON, no clock, no randomness, no environment. Time comes in as a
//! [`Timestamp`], ids as values made by an [`Ids`] the caller owns. Whatever decides, names or refuses
//! something lives here, so that it can be tested row by row without a server.

pub mod address;
pub mod api_key;
pub mod attribute;
pub mod captcha;
pub mod capture;
mod causes;
pub mod contact;
pub mod conversation;
pub mod delivery;
pub mod encoding;
pub mod event;
pub mod ids;
pub mod job;
pub mod lane;
pub mod lead;
pub mod line;
pub mod media;
pub mod message;
pub mod onboarding;
pub mod pace;
pub mod patch;
pub mod phone;
pub mod rate;
pub mod refused;
pub mod retry;
pub mod search;
pub mod secret;
pub mod sending;
pub mod signature;
pub mod summary;
pub mod template;
pub mod text;
pub mod throttle;
pub mod time;
pub mod user;
pub mod webhook;
pub mod workspace;

pub use api_key::{ApiKey, ApiKeyToken, Scope, Scopes};
pub use attribute::{AttributeCategory, AttributeDefinition, AttributeType, ClosedValue, Definitions};
pub use capture::{Capture, CaptureKey, SentOrigin, WebOrigin};
pub use causes::causes;
pub use contact::{Contact, ContactType, ContactUpdate};
pub use conversation::{ContactRef, Conversation, ConversationName, ConversationStatus, External, Internal};
pub use delivery::{Attempt, AttemptError, AttemptOutcome, Delivery, DeliveryId, DeliveryState};
pub use event::{Event, EventType};
pub use ids::{
    AttributeId, ClosedValueId, ContactId, ConversationId, EndpointId, EventId, Ids, JobId, KeyId, LeadId,
    MediaId, MessageId, TeamId, TemplateId, UserId, WorkspaceId,
};
pub use job::{Job, JobKind, JobState};
pub use lane::{LaneId, LaneKind, Rest, Slot, Track};
pub use lead::{Consent, Lead, LeadRequest, LeadState};
pub use line::{Brand, BrandId, BusinessAccountId, ChannelId, Line, Lines, Provider};
pub use media::{FileType, Media, MediaDigest};
pub use message::{Message, MessageBody, MessageStatus, Part, Recipient};
pub use onboarding::{Onboarding, OnboardingPlan, Override};
pub use pace::{Caps, Pace};
pub use patch::Patch;
pub use refused::Refused;
pub use retry::RetrySchedule;
pub use search::SearchQuery;
pub use secret::Secret;
pub use summary::Summary;
pub use template::{Template, TemplateScope};
pub use text::{Cellphone, Email, Language, PersonName, Unfit};
pub use throttle::LineThrottle;
pub use time::{Clock, Timestamp};
pub use user::{User, UserRef, UserStatus};
pub use webhook::{
    EndpointSecrets, EndpointState, EndpointUrl, EventFilter, TrustedReceivers, WebhookEndpoint,
};
pub use workspace::{Team, Workspace};

/// The platform's name, as the specification's placeholder spells it: the first part of every
/// Integrations API error code and the value of `messagingProduct`.
pub const PLATFORM: &str = "SERVICE";
