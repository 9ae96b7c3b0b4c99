//! The three kinds of rows that are due.

use std::fmt::Debug;
use std::time::Duration;

use domain::gate::Lane;
use domain::{ConversationId, Delivery, DeliveryId, DeliveryState, LeadId, Timestamp};
use futures::future::join;
use queue::{DeliveryTask, LeadTask, NotQueued, SendTask, Task};
use runtime::metrics::What;
use store::{Claim, DueRow, StoreError};

use crate::Sweeper;

/// Rows of one table that may be due.
pub(crate) trait Work {
    /// What a row is found by.
    type Id;
    /// What is known of a claimed row.
    type Row;
    /// What is queued for it.
    type Task: Task + Debug + 'static;
    /// Its name in logs and metrics.
    const WHAT: What;

    /// Rows of one part of the index that are due, the longest overdue first.
    async fn due(&self, shard: u8, limit: u16) -> Result<Vec<DueRow<Self::Id>>, StoreError>;

    /// Claims a row, unless another sweeper did or it was worked on since; what is known of it then, and why it was due.
    async fn claim(
        &self,
        due: &DueRow<Self::Id>,
        until: Timestamp,
    ) -> Result<Option<(Self::Row, Claim)>, StoreError>;

    /// Queues what was claimed.
    async fn enqueue(&self, claimed: &[Self::Row]) -> Result<(), NotQueued<Self::Task>>;
}

/// Deliveries of webhooks.
pub(crate) struct Deliveries<'a>(pub(crate) &'a Sweeper);

impl Work for Deliveries<'_> {
    type Id = DeliveryId;
    type Row = Delivery;
    type Task = DeliveryTask;
    const WHAT: What = What::Deliveries;

    async fn due(&self, shard: u8, limit: u16) -> Result<Vec<DueRow<DeliveryId>>, StoreError> {
        self.0.store.due_deliveries(shard, limit).await
    }

    async fn claim(
        &self,
        due: &DueRow<DeliveryId>,
        until: Timestamp,
    ) -> Result<Option<(Delivery, Claim)>, StoreError> {
        let claimed = self.0.store.claim_due(due, until).await?;
        // A parked one is only looked at.
        let why = |delivery: &Delivery| match delivery.state {
            DeliveryState::Parked => Claim::Planned,
            _ => due.planned_for(Some(delivery.next_at)),
        };
        Ok(claimed.map(|delivery| {
            let why = why(&delivery);
            (delivery, why)
        }))
    }

    /// Each on its lane: what failed before does not stand before what never did.
    async fn enqueue(&self, claimed: &[Delivery]) -> Result<(), NotQueued<DeliveryTask>> {
        let on = async |lane| {
            let of_lane = claimed.iter().filter(|delivery| Lane::of_failures(delivery.failures) == lane);
            let wakes: Vec<_> = of_lane.map(|delivery| DeliveryTask::of(delivery, Duration::ZERO)).collect();
            self.0.deliveries.enqueue(lane, &wakes).await
        };
        match join(on(Lane::Fast), on(Lane::Slow)).await {
            (Err(mut fast), Err(slow)) => {
                fast.tasks.extend(slow.tasks);
                Err(fast)
            }
            (fast, slow) => fast.and(slow),
        }
    }
}

/// Conversations in which something is to be sent.
pub(crate) struct Conversations<'a>(pub(crate) &'a Sweeper);

impl Work for Conversations<'_> {
    type Id = ConversationId;
    type Row = SendTask;
    type Task = SendTask;
    const WHAT: What = What::Conversations;

    async fn due(&self, shard: u8, limit: u16) -> Result<Vec<DueRow<ConversationId>>, StoreError> {
        self.0.store.due_lanes(shard, limit).await
    }

    async fn claim(
        &self,
        due: &DueRow<ConversationId>,
        until: Timestamp,
    ) -> Result<Option<(SendTask, Claim)>, StoreError> {
        let task = SendTask { workspace_id: due.workspace(), conversation_id: due.id() };
        Ok(self.0.store.claim_lane(due, until).await?.map(|claim| (task, claim)))
    }

    async fn enqueue(&self, claimed: &[SendTask]) -> Result<(), NotQueued<SendTask>> {
        let wakes: Vec<_> = claimed.iter().map(|task| task.wake(Duration::ZERO)).collect();
        self.0.sends.enqueue(&wakes).await
    }
}

/// Leads that are to be written to.
pub(crate) struct Leads<'a>(pub(crate) &'a Sweeper);

impl Work for Leads<'_> {
    type Id = LeadId;
    type Row = LeadTask;
    type Task = LeadTask;
    const WHAT: What = What::Leads;

    async fn due(&self, shard: u8, limit: u16) -> Result<Vec<DueRow<LeadId>>, StoreError> {
        self.0.store.due_leads(shard, limit).await
    }

    async fn claim(
        &self,
        due: &DueRow<LeadId>,
        until: Timestamp,
    ) -> Result<Option<(LeadTask, Claim)>, StoreError> {
        let task = LeadTask { workspace_id: due.workspace(), lead_id: due.id() };
        Ok(self.0.store.claim_lead(due, until).await?.map(|claim| (task, claim)))
    }

    async fn enqueue(&self, claimed: &[LeadTask]) -> Result<(), NotQueued<LeadTask>> {
        let wakes: Vec<_> = claimed.iter().map(|task| task.wake(Duration::ZERO)).collect();
        self.0.leads.enqueue(&wakes).await
    }
}
