//! The store: one client, the tables of a deployment, and the process's memory of rows that seldom change.

use std::sync::Arc;
use std::time::Duration;

use domain::{Clock, Ids, Retention};

use crate::cursor_key::CursorKeys;
use crate::memory::Memory;
use crate::remembered::{Remembered, bytes_of_definitions, bytes_of_lines};
use crate::shards::Shards;
use crate::tables::Tables;

/// The tables of one deployment. It is cheap to clone; one client serves the whole process.
#[derive(Clone)]
pub struct Store {
    pub(crate) db: aws_sdk_dynamodb::Client,
    pub(crate) tables: Tables,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) ids: Arc<dyn Ids>,
    pub(crate) memories: Arc<Memories>,
    pub(crate) retention: Retention,
}

/// How long a process remembers a captcha secret.
const CAPTCHA_SECRET_MEMORY: Duration = Duration::from_secs(300);
/// How long a process remembers the keys of cursors.
pub(crate) const CURSOR_KEY_MEMORY: Duration = Duration::from_secs(300);
/// How long a process looks for the traces of leads by the brand that was the default. If it is another one by then, they are
/// read again.
const DEFAULT_BRAND_MEMORY: Duration = Duration::from_secs(60 * 60);
/// How long a process remembers a workspace's keywords.
const KEYWORD_MEMORY: Duration = Duration::from_secs(300);
/// How long a process remembers since when a line delivers customers' messages.
const INBOUND_SINCE_MEMORY: Duration = Duration::from_secs(300);
/// How long a process does not note another customer's message of a line.
pub(crate) const NOTED_LINE_MEMORY: Duration = Duration::from_secs(24 * 60 * 60);
/// How long a process remembers which workspace has a line.
const LINE_CLAIM_MEMORY: Duration = Duration::from_secs(30);
/// How long a process remembers a line's token.
const LINE_TOKEN_MEMORY: Duration = Duration::from_secs(300);
/// How long a process remembers a workspace's onboarding.
const ONBOARDING_MEMORY: Duration = Duration::from_secs(60 * 60);
/// How long a process remembers the person key. It never changes, but a restored table may hold another one.
const PERSON_KEY_MEMORY: Duration = Duration::from_secs(300);
/// How long a process remembers the number of shards of a workspace's lists. It is shorter than the minute
/// that an operator waits between raising the number of shards to read and the number to write.
const SHARD_MEMORY: Duration = Duration::from_secs(30);

/// The process's memory of rows that seldom change.
pub(crate) struct Memories {
    pub(crate) captcha_secrets: Memory<domain::WorkspaceId, domain::Secret>,
    pub(crate) cursor_keys: Memory<(), Arc<CursorKeys>>,
    pub(crate) default_brands: Memory<domain::WorkspaceId, domain::BrandId>,
    pub(crate) definitions: Remembered<domain::Definitions>,
    pub(crate) keywords: Memory<domain::WorkspaceId, domain::Keywords>,
    pub(crate) inbound_lines: Memory<(domain::WorkspaceId, domain::ChannelId), ()>,
    pub(crate) inbound_since: Memory<(domain::WorkspaceId, domain::ChannelId), Option<domain::Timestamp>>,
    pub(crate) line_claims: Memory<domain::ChannelId, domain::WorkspaceId>,
    pub(crate) lines: Remembered<domain::Lines>,
    pub(crate) line_tokens: Memory<(domain::WorkspaceId, domain::ChannelId), domain::Secret>,
    pub(crate) onboardings: Memory<domain::WorkspaceId, domain::Onboarding>,
    pub(crate) person_key: Memory<(), Arc<domain::PersonKey>>,
    pub(crate) shards: Memory<domain::WorkspaceId, Shards>,
}

impl Store {
    /// A store for the tables that `tables` names, with the default retention.
    pub fn new(
        db: aws_sdk_dynamodb::Client,
        tables: Tables,
        clock: Arc<dyn Clock>,
        ids: Arc<dyn Ids>,
    ) -> Self {
        let memories = Memories {
            captcha_secrets: Memory::new(CAPTCHA_SECRET_MEMORY),
            cursor_keys: Memory::new(CURSOR_KEY_MEMORY),
            default_brands: Memory::new(DEFAULT_BRAND_MEMORY),
            definitions: Remembered::new(bytes_of_definitions),
            keywords: Memory::new(KEYWORD_MEMORY),
            inbound_lines: Memory::new(NOTED_LINE_MEMORY),
            inbound_since: Memory::new(INBOUND_SINCE_MEMORY),
            line_claims: Memory::new(LINE_CLAIM_MEMORY),
            lines: Remembered::new(bytes_of_lines),
            line_tokens: Memory::new(LINE_TOKEN_MEMORY),
            onboardings: Memory::new(ONBOARDING_MEMORY),
            person_key: Memory::new(PERSON_KEY_MEMORY),
            shards: Memory::new(SHARD_MEMORY),
        };
        Self { db, tables, clock, ids, memories: Arc::new(memories), retention: Retention::default() }
    }

    /// The store with another retention of the rows that it writes.
    pub fn with_retention(self, retention: Retention) -> Self {
        Self { retention, ..self }
    }

    /// The retention of the rows that this store writes.
    pub fn retention(&self) -> Retention {
        self.retention
    }

    /// The current time of the clock that this store was given.
    pub fn now(&self) -> domain::Timestamp {
        self.clock.now()
    }

    /// Returns when this much time has passed by the store's clock.
    pub async fn sleep(&self, time: Duration) {
        self.clock.sleep(time).await;
    }

    /// The source of new ids.
    pub fn ids(&self) -> &dyn Ids {
        &*self.ids
    }
}
