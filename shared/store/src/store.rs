//! The store: one client, the tables of a deployment, and the process's memory of rows that seldom change.

use std::sync::Arc;

use domain::{Clock, Ids};

use crate::access::cursor_keys::{self, CursorKeys};
use crate::contacts;
use crate::leads::captures;
use crate::memory::Memory;
use crate::settings::{lines, workspaces};
use crate::tables::Tables;

/// The tables of one deployment. It is cheap to clone; one client serves the whole process.
#[derive(Clone)]
pub struct Store {
    pub(crate) db: aws_sdk_dynamodb::Client,
    pub(crate) tables: Tables,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) ids: Arc<dyn Ids>,
    pub(crate) memories: Arc<Memories>,
}

/// The process's memory of rows that seldom change.
pub(crate) struct Memories {
    pub(crate) captcha_secrets: Memory<domain::WorkspaceId, domain::Secret>,
    pub(crate) cursor_keys: Memory<(), Arc<CursorKeys>>,
    pub(crate) line_tokens: Memory<(domain::WorkspaceId, domain::ChannelId), domain::Secret>,
    pub(crate) onboardings: Memory<domain::WorkspaceId, domain::Onboarding>,
    pub(crate) shards: Memory<domain::WorkspaceId, contacts::Shards>,
}

impl Store {
    /// A store for the tables that `tables` names.
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

    /// The current time of the clock that this store was given.
    pub fn now(&self) -> domain::Timestamp {
        self.clock.now()
    }

    /// The source of new ids.
    pub fn ids(&self) -> &dyn Ids {
        &*self.ids
    }
}
