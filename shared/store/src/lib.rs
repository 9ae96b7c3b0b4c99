//! The DynamoDB tables and S3 buckets: all keys, attribute names and expressions are in this crate.
//!
//! Every partition key begins with a workspace id; [`keys`] lists the exceptions. No call scans. Each public
//! call is one step of a use case, and its documentation states the number of consecutive round trips. Rows
//! are private structs beside the calls that use them; arguments and results are domain types.

mod access;
mod contacts;
mod conversations;
mod cursor_key;
mod dynamodb;
mod error;
mod failures;
mod idempotency;
pub mod keys;
mod lanes;
mod leads;
mod media;
mod memory;
mod messages;
mod objects;
mod people;
mod quarantine;
mod remembered;
mod sending;
mod settings;
mod shards;
mod store;
mod stream;
mod tables;
mod usage;
mod webhooks;

pub use access::api_keys::{JudgedKey, KeyCreated, ListedKey, Revoked};
pub use access::audit::audit_position;
pub use access::limiter::{Admission, Limiter};
pub use access::sessions::SessionStart;
pub use contacts::choices::ChoicesSeen;
pub use contacts::moves::Moved;
pub use contacts::page::ContactQuery;
pub use contacts::reached::Remembered;
pub use contacts::{ContactRead, Created, Replaced};
pub use conversations::named::{Named, Naming};
pub use conversations::page::ConversationQuery;
pub use conversations::seen::LastSeen;
pub use conversations::{Changed, Opened};
pub use cursor_key::{CursorKey, CursorKeys};
pub use dynamodb::paging::Page;
pub use dynamodb::retry::RetryTime;
pub use error::StoreError;
pub use failures::{Failure, FailureBucket, bucket_of_stack};
pub use idempotency::{IdempotencyKey, StoredAnswer};
pub use lanes::counts::Counts;
pub use lanes::{Claim, DueFrom, DueLane, DuePage, LaneState, Lease, Leased, Released};
pub use leads::captures::CaptureRead;
pub use leads::page::{LeadFilter, LeadPage};
pub use leads::sending::{LeadOpening, LeadRecorded, LeasedLead};
pub use leads::traces::{LeadDuplicates, LeadTraits, UsedToken};
pub use leads::{CountedLead, LeadAccepted};
pub use media::MediaCreated;
pub use media::bucket::Bucket;
pub use memory::Memory;
pub use messages::lane::{Begun, ConversationLane, Entry, Open, Outbound, SendingState};
pub use messages::page::MessageQuery;
pub use messages::receive::{InboundIds, InboundPlace, InboundStored, NewInbound};
pub use messages::template_read::TemplateRead;
pub use messages::{DraftRead, MessageStored, NewMessage, TemplateDraftRead};
pub use people::{
    AskedMerge, ErasedMessages, Found, Joined, LeasedJob, PersonConversation, Target, TargetKind,
};
pub use quarantine::Quarantined;
pub use settings::created::{ANSWERS_OF_SETTINGS, SettingCreated};
pub use settings::lines::LineCreated;
pub use settings::templates::{TemplateCreated, TemplateOwner};
pub use settings::users::UserCreated;
pub use store::Store;
pub use stream::Image;
pub use stream::feed::{ChangeFeed, Changes, RowChange, Streams};
pub use tables::{Table, Tables};
pub use webhooks::{
    DeliveryFilter, DeliveryPage, EndpointCreated, EndpointStep, EventAbout, FoundEndpoint, JobPage, LaneJob,
    NewEndpoint, NewEvent, NotifyResult, Record, RecordedEvent, VisitBatch, WebhookLane,
};
