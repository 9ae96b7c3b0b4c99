//! The DynamoDB tables: keys, attribute names and expressions live here and nowhere else.
//!
//! Every partition key begins with a workspace id; the exceptions are listed in [`keys`]. No call scans.
//! Each public call is one step of a use case and says in its documentation how many round trips it makes
//! one after another. Rows are private structs beside the calls that use them; what goes in and out are
//! types of the domain.

mod api_keys;
mod attributes;
mod batch;
mod begins;
mod bucket;
mod captures;
mod change;
mod contacts;
mod contacts_page;
mod contacts_plan;
mod contacts_row;
mod conversations;
mod conversations_page;
mod conversations_plan;
mod conversations_row;
mod counts;
mod cursor_keys;
mod endpoints;
mod error;
mod failures;
mod fields;
mod item;
pub mod keys;
mod lane;
mod lanes;
mod lanes_row;
mod leads;
mod leads_page;
mod leads_row;
mod leads_sending;
mod limiter;
mod lines;
mod lists;
mod media;
mod memory;
mod messages;
mod messages_row;
mod once;
mod opt_outs;
mod rows;
mod search;
mod secrets;
mod stream;
mod tables;
mod tally;
mod teams;
mod templates;
mod throttles;
mod transact;
mod users;
mod webhooks;
mod workspaces;

use std::sync::Arc;

use domain::{Clock, Ids};

pub use api_keys::Revoked;
pub use bucket::Bucket;
pub use contacts::{Created, Replaced};
pub use contacts_page::ContactQuery;
pub use conversations::{Changed, Opened};
pub use conversations_page::ConversationQuery;
pub use counts::Counts;
pub use cursor_keys::{CursorKey, CursorKeys};
pub use error::StoreError;
pub use failures::{Failure, FailureBucket, bucket_of_stack};
pub use lane::{Claim, DueFrom, DueLane, DuePage, LaneState, Lease, Leased, Released};
pub use lanes::{Entry, Lane, Open, Outbound, SendingState};
pub use leads::{CountedLead, LeadAccepted, LeadTraces, UsedToken};
pub use leads_page::LeadPage;
pub use leads_sending::{LeadRecorded, LeadStep, LeasedLead};
pub use limiter::{Admission, Limiter};
pub use lists::Page;
pub use media::MediaCreated;
pub use memory::Memory;
pub use messages::{MessageTaken, NewMessage};
pub use once::{Answered, Once};
pub use opt_outs::OptOut;
pub use stream::Image;
pub use tables::{Table, Tables};
pub use transact::Patience;
pub use users::UserCreated;
pub use webhooks::{
    DeliveryFilter, DeliveryPage, FreshKey, JobPage, LaneJob, NewEvent, Pointer, Record, RecordedEvent, Told,
    VisitBatch, WebhookLane,
};

/// The tables of one deployment. Cheap to clone; one client serves the whole process.
#[derive(Clone)]
pub struct Store {
    db: aws_sdk_dynamodb::Client,
    tables: Tables,
    clock: Arc<dyn Clock>,
    ids: Arc<dyn Ids>,
    memories: Arc<Memories>,
}

/// What a process remembers of rows that seldom change.
struct Memories {
    captcha_secrets: Memory<domain::WorkspaceId, domain::Secret>,
    cursor_keys: Memory<(), Arc<CursorKeys>>,
    line_tokens: Memory<(domain::WorkspaceId, domain::ChannelId), domain::Secret>,
    onboardings: Memory<domain::WorkspaceId, domain::Onboarding>,
    shards: Memory<domain::WorkspaceId, contacts::Shards>,
}

impl Store {
    /// A store over the tables of the deployment that `tables` names.
    pub fn new(
        db: aws_sdk_dynamodb::Client,
        tables: Tables,
        clock: Arc<dyn Clock>,
        ids: Arc<dyn Ids>,
    ) -> Self {
        let memories = Memories {
            captcha_secrets: Memory::new(captures::CAPTCHA_SECRET_MEMORY),
            cursor_keys: Memory::new(cursor_keys::CURSOR_KEY_MEMORY),
            line_tokens: Memory::new(lines::LINE_TOKEN_MEMORY),
            onboardings: Memory::new(workspaces::ONBOARDING_MEMORY),
            shards: Memory::new(contacts::SHARD_MEMORY),
        };
        Self { db, tables, clock, ids, memories: Arc::new(memories) }
    }

    /// The present moment, by the clock this store was given.
    pub fn now(&self) -> domain::Timestamp {
        self.clock.now()
    }

    /// Where fresh ids come from.
    pub fn ids(&self) -> &dyn Ids {
        &*self.ids
    }
}
