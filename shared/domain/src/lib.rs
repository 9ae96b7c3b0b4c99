//! The business rules of the service: types, decisions and tables.
//!
//! The crate is pure: it has no I/O, JSON, clock, randomness or environment. The caller passes the time as a
//! [`Timestamp`] and an [`Ids`] that makes ids. All decisions, names and refusals are here, so tests can
//! check them row by row without a server.

pub mod access;
pub mod attribute;
pub mod audit;
pub mod choices;
mod chunks;
pub mod contact;
pub mod conversation;
pub mod encoding;
mod error_chain;
pub mod ids;
pub mod inbound;
pub mod invisible;
pub mod lane;
pub mod lead;
pub mod media;
pub mod message;
pub mod patch;
pub mod person;
pub mod person_key;
pub mod phone;
pub mod raw;
pub mod refused;
pub mod retention;
pub mod retry;
pub mod secret;
pub mod sending;
pub mod settings;
pub mod text;
pub mod time;
pub mod usage;
pub mod used_by;
pub mod webhook;
mod words;

pub use access::actor::{Actor, Author};
pub use access::api_key::{ApiKey, ApiKeyToken};
pub use access::kind::KeyKind;
pub use access::role::Role;
pub use access::scope::{Permission, Scope, Scopes};
pub use attribute::{AttributeCategory, AttributeDefinition, AttributeType, ClosedValue, Definitions};
pub use audit::{AuditAction, AuditEntry, AuditFilter};
pub use choices::{ChoiceScope, Choices};
pub use chunks::chunks_within;
pub use contact::address::{Address, ProviderUserId, Reached, UserIds, WaId};
pub use contact::search::SearchQuery;
pub use contact::{Contact, ContactType, ContactUpdate};
pub use conversation::{
    ContactRef, Conversation, ConversationName, ConversationStatus, External, Internal, OnboardingPlan,
    Recipient,
};
pub use error_chain::error_chain;
pub use ids::{
    AttributeId, AuditEntryId, BrandId, BusinessAccountId, ChannelId, ClosedValueId, ContactId,
    ConversationId, EndpointId, ErasureId, EventId, Ids, JobId, KeyId, LeadId, MediaId, MessageId,
    PersonJobId, TeamId, TemplateId, UserId, WorkspaceId,
};
pub use inbound::app::{ProviderApp, ProviderAppId};
pub use inbound::keywords::Keywords;
pub use lane::{LaneId, LaneKind, Rest, Slot, Track};
pub use lead::capture::{Capture, CaptureKey};
pub use lead::{Consent, Lead, LeadRequest, LeadState, SentOrigin, WebOrigin};
pub use media::{FileType, Media, MediaDigest};
pub use message::summary::Summary;
pub use message::{Message, MessageBody, MessageStatus, Part, PartId};
pub use patch::Patch;
pub use person::Person;
pub use person::erasure::{Erasure, ErasureState};
pub use person::job::PersonJob;
pub use person::merge::{Merge, MergeState};
pub use person::times::{HeldNumber, Tenure};
pub use person_key::{MacKind, PersonKey};
pub use phone::PhoneKey;
pub use refused::{MergeRefusal, Refused};
pub use retention::Retention;
pub use retry::RetrySchedule;
pub use secret::Secret;
pub use sending::LineThrottle;
pub use settings::line::{Brand, Line, Lines, Provider};
pub use settings::onboarding::{Onboarding, Override};
pub use settings::template::{Template, TemplateCategory, TemplateScope, TemplateStatus};
pub use settings::user::{User, UserRef, UserStatus};
pub use settings::workspace::{SelfService, Team, Workspace, WorkspaceAccess, WorkspaceState};
pub use text::{Cellphone, Email, EmailKey, ExternalId, Language, PersonName, Unfit};
pub use time::{Clock, Timestamp};
pub use webhook::delivery::{Delivery, DeliveryId, DeliveryState};
pub use webhook::event::{Event, EventType};
pub use webhook::job::{Job, JobKind, JobState};
pub use webhook::pace::{EndpointCaps, Pace};
pub use webhook::{
    Attempt, AttemptError, AttemptOutcome, EndpointSecrets, EndpointState, EndpointUrl, EventFilter, HomeKey,
    LaneProgress, Pointer, TrustedReceivers, Watermarks, WebhookEndpoint,
};

/// The platform's name, in the spelling of the specification's placeholder: the first part of every
/// Integrations API error code, and the value of `messagingProduct`.
pub const PLATFORM: &str = "SERVICE";
