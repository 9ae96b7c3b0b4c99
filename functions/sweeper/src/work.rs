//! The three kinds of rows that are due.

use std::fmt::Debug;
use std::time::Duration;

use domain::{ConversationId, DeliveryId, LeadId, Timestamp};
use queue::{DeliveryTask, LeadTask, Queue, SendTask, Task, Wake};
use store::{DueRow, StoreError};

use crate::Sweeper;

/// Rows of one table that may be due.
pub(crate) trait Work {
    /// What a row is found by.
    type Id;
    /// What is queued for it.
    type Task: Task + Debug + 'static;
    /// Its name in logs.
    const WHAT: &'static str;

    /// Rows of one part of the index that are due, the longest overdue first.
    async fn due(&self, shard: u8, limit: u16) -> Result<Vec<DueRow<Self::Id>>, StoreError>;

    /// Claims a row, unless another sweeper did or it was worked on since; what to queue for it.
    async fn claim(
        &self,
        due: &DueRow<Self::Id>,
        until: Timestamp,
    ) -> Result<Option<Wake<Self::Task>>, StoreError>;

    /// Where it is queued.
    fn queue(&self) -> &Queue<Self::Task>;
}

/// Deliveries of webhooks.
pub(crate) struct Deliveries<'a>(pub(crate) &'a Sweeper);

impl Work for Deliveries<'_> {
    type Id = DeliveryId;
    type Task = DeliveryTask;
    const WHAT: &'static str = "deliveries";

    async fn due(&self, shard: u8, limit: u16) -> Result<Vec<DueRow<DeliveryId>>, StoreError> {
        self.0.store.due_deliveries(shard, limit).await
    }

    async fn claim(
        &self,
        due: &DueRow<DeliveryId>,
        until: Timestamp,
    ) -> Result<Option<Wake<DeliveryTask>>, StoreError> {
        let claimed = self.0.store.claim_due(due, until).await?;
        Ok(claimed.map(|delivery| DeliveryTask::of(&delivery, Duration::ZERO)))
    }

    fn queue(&self) -> &Queue<DeliveryTask> {
        &self.0.deliveries
    }
}

/// Conversations in which something is to be sent.
pub(crate) struct Conversations<'a>(pub(crate) &'a Sweeper);

impl Work for Conversations<'_> {
    type Id = ConversationId;
    type Task = SendTask;
    const WHAT: &'static str = "conversations";

    async fn due(&self, shard: u8, limit: u16) -> Result<Vec<DueRow<ConversationId>>, StoreError> {
        self.0.store.due_lanes(shard, limit).await
    }

    async fn claim(
        &self,
        due: &DueRow<ConversationId>,
        until: Timestamp,
    ) -> Result<Option<Wake<SendTask>>, StoreError> {
        let task = SendTask { workspace_id: due.workspace(), conversation_id: due.id() };
        Ok(self.0.store.claim_lane(due, until).await?.then(|| task.wake(Duration::ZERO)))
    }

    fn queue(&self) -> &Queue<SendTask> {
        &self.0.sends
    }
}

/// Leads that are to be written to.
pub(crate) struct Leads<'a>(pub(crate) &'a Sweeper);

impl Work for Leads<'_> {
    type Id = LeadId;
    type Task = LeadTask;
    const WHAT: &'static str = "leads";

    async fn due(&self, shard: u8, limit: u16) -> Result<Vec<DueRow<LeadId>>, StoreError> {
        self.0.store.due_leads(shard, limit).await
    }

    async fn claim(
        &self,
        due: &DueRow<LeadId>,
        until: Timestamp,
    ) -> Result<Option<Wake<LeadTask>>, StoreError> {
        let task = LeadTask { workspace_id: due.workspace(), lead_id: due.id() };
        Ok(self.0.store.claim_lead(due, until).await?.then(|| task.wake(Duration::ZERO)))
    }

    fn queue(&self) -> &Queue<LeadTask> {
        &self.0.leads
    }
}
