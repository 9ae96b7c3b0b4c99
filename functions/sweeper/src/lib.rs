//! Queues the deliveries that are due: retries of later than a quarter of an hour, deliveries whose message was
//! lost, attempts whose process died under its lease. All three look alike here: a row that is due.

use std::time::Duration;

use domain::Timestamp;
use domain::causes;
use futures::future::join_all;
use queue::{DeliveryQueue, DeliveryTask, Wake};
use store::{Due, Store, StoreError};
use tokio::time::Instant;

/// Everything this function works with.
pub struct Sweeper {
    /// The tables.
    pub store: Store,
    /// Where deliveries are queued.
    pub queue: DeliveryQueue,
    /// When to stop for this time, so that the next minute's run does not meet this one.
    pub budget: Duration,
}

/// What a run did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Swept {
    /// Deliveries claimed and queued.
    pub queued: usize,
    /// Deliveries claimed that the queue did not take: due again after [`Sweeper::CLAIM`].
    pub not_queued: usize,
    /// Parts of the index that could not be read or claimed from to the end.
    pub failed: usize,
}

/// A run that could not look at everything. The next minute's does.
#[derive(Debug, thiserror::Error)]
#[error("{failed} parts of the due index could not be swept")]
pub struct NotSwept {
    /// How many parts.
    pub failed: usize,
}

impl Sweeper {
    /// For how long a claimed delivery is not due again: long enough for its message to be worked on even behind
    /// a backlog, short enough should the message be lost as well.
    pub const CLAIM: Duration = Duration::from_secs(300);
    /// How long a run works before it leaves the rest to the next one.
    pub const BUDGET: Duration = Duration::from_secs(40);
    /// How many rows of a part are looked at before the next look at the clock, and claimed at the same time.
    const PAGE: u16 = 50;

    /// Sweeps the whole index, its parts at the same time. Several sweepers may run: a delivery is claimed by one.
    pub async fn run(&self) -> Result<Swept, NotSwept> {
        let until = Instant::now() + self.budget;
        let parts = join_all((0..Store::DUE_SHARDS).map(|shard| self.part(shard, until))).await;
        let swept = parts.into_iter().fold(Swept::default(), |sum, part| Swept {
            queued: sum.queued + part.queued,
            not_queued: sum.not_queued + part.not_queued,
            failed: sum.failed + part.failed,
        });
        if swept.queued + swept.not_queued > 0 {
            tracing::info!(queued = swept.queued, not_queued = swept.not_queued, "due deliveries queued");
        }
        if swept.failed == 0 { Ok(swept) } else { Err(NotSwept { failed: swept.failed }) }
    }

    /// Sweeps one part, page by page, until nothing more is due or time is up.
    async fn part(&self, shard: u8, until: Instant) -> Swept {
        let mut swept = Swept::default();
        while Instant::now() < until {
            match self.page(shard, &mut swept).await {
                Ok(true) => {}
                Ok(false) => return swept,
                Err(error) => {
                    tracing::error!(shard, cause = causes(&error), "due index not swept");
                    swept.failed = 1;
                    return swept;
                }
            }
        }
        tracing::warn!(shard, "time is up, the rest is left to the next run");
        swept
    }

    /// Claims and queues one page; whether there may be more. Claimed rows are due later and do not come up again;
    /// the index may still show some for a moment, so a page of which nothing could be claimed is the last.
    async fn page(&self, shard: u8, swept: &mut Swept) -> Result<bool, StoreError> {
        let due = self.store.due_deliveries(shard, Self::PAGE).await?;
        let until = self.store.now().plus(Self::CLAIM);
        let (claimed, failed) = self.claim(&due, until).await;
        if let Err(error) = self.queue.enqueue(&claimed).await {
            swept.not_queued += error.tasks.len();
            tracing::warn!(shard, cause = causes(&error), "due deliveries not queued");
            swept.queued += claimed.len() - error.tasks.len();
        } else {
            swept.queued += claimed.len();
        }
        match failed {
            Some(error) => Err(error),
            None => Ok(!claimed.is_empty()),
        }
    }

    /// Claims these, all at the same time. What was claimed is queued even if other claims failed. A row that
    /// cannot be read is claimed as well, so that it does not come up before others each minute, and passed over.
    async fn claim(&self, due: &[Due], until: Timestamp) -> (Vec<Wake<DeliveryTask>>, Option<StoreError>) {
        let (mut claimed, mut failed) = (vec![], None);
        for claim in join_all(due.iter().map(|due| self.store.claim_due(due, until))).await {
            match claim {
                Ok(delivery) => claimed.extend(delivery.map(|it| DeliveryTask::of(&it, Duration::ZERO))),
                Err(error @ StoreError::Unreadable { .. }) => {
                    tracing::error!(cause = causes(&error), "due delivery passed over");
                }
                Err(error) => failed = Some(error),
            }
        }
        (claimed, failed)
    }
}
