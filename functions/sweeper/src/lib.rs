//! Queues what is due: deliveries whose retry is later than a quarter of an hour, conversations in which a message is
//! to be tried again, leads that are, and of all three those whose message was lost or whose worker died under its
//! lease. All look alike here: a row that is due.

mod work;

use std::time::Duration;

use domain::{Timestamp, causes};
use futures::StreamExt;
use futures::future::{join_all, join3};
use queue::{DeliveryQueues, LeadQueue, SendQueue};
use runtime::Metrics;
use runtime::metrics::{self, Dimension};
use store::{Claim, DueRow, Store, StoreError};
use tokio::time::Instant;

use crate::work::{Conversations, Deliveries, Leads, Work};

/// Everything this function works with.
pub struct Sweeper {
    /// The tables.
    pub store: Store,
    /// Where deliveries are queued, by lane.
    pub deliveries: DeliveryQueues,
    /// Where conversations are queued in which something is to be sent.
    pub sends: SendQueue,
    /// Where leads are queued that are to be written to.
    pub leads: LeadQueue,
    /// When to stop for this time, so that the next minute's run does not meet this one.
    pub budget: Duration,
    /// What was due is counted here.
    pub metrics: Metrics,
}

/// What a run did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Swept {
    /// Rows claimed and queued.
    pub queued: usize,
    /// Of those claimed, rows whose work nobody did when its time came.
    pub rescued: usize,
    /// Rows claimed that the queue did not take: due again after [`Sweeper::CLAIM`].
    pub not_queued: usize,
    /// Parts of the indexes that could not be read or claimed from to the end.
    pub failed: usize,
}

impl Swept {
    fn and(self, other: Self) -> Self {
        Self {
            queued: self.queued + other.queued,
            rescued: self.rescued + other.rescued,
            not_queued: self.not_queued + other.not_queued,
            failed: self.failed + other.failed,
        }
    }
}

/// A run that could not look at everything. The next minute's does.
#[derive(Debug, thiserror::Error)]
#[error("{failed} parts of the due indexes could not be swept")]
pub struct NotSwept {
    /// How many parts.
    pub failed: usize,
}

impl Sweeper {
    /// For how long a claimed row is not due again: long enough for its message to be worked on even behind a backlog,
    /// short enough should the message be lost as well.
    pub const CLAIM: Duration = Duration::from_secs(300);
    /// How long a run works before it leaves the rest to the next one.
    pub const BUDGET: Duration = Duration::from_secs(40);
    /// How many rows of a part are looked at before the next look at the clock, and claimed at the same time.
    const PAGE: u16 = 50;

    /// Sweeps the indexes whole, all their parts at the same time. Several sweepers may run: a row is claimed by one.
    pub async fn run(&self) -> Result<Swept, NotSwept> {
        let until = Instant::now() + self.budget;
        let (deliveries, conversations, leads) = join3(
            self.sweep(&Deliveries(self), until),
            self.sweep(&Conversations(self), until),
            self.sweep(&Leads(self), until),
        )
        .await;
        let swept = deliveries.and(conversations).and(leads);
        if swept.failed == 0 { Ok(swept) } else { Err(NotSwept { failed: swept.failed }) }
    }

    /// Sweeps one index.
    async fn sweep<W: Work>(&self, work: &W, until: Instant) -> Swept {
        let parts = join_all((0..Store::DUE_SHARDS).map(|shard| self.part(work, shard, until))).await;
        let swept = parts.into_iter().fold(Swept::default(), Swept::and);
        let Swept { queued, rescued, not_queued, failed } = swept;
        if queued + not_queued > 0 {
            let what = W::WHAT.value();
            tracing::info!(what, queued, rescued, notQueued = not_queued, "what was due is queued");
        }
        let counted = metrics::Swept::default();
        counted.due_swept.add(queued + not_queued - rescued);
        counted.rescued.add(rescued);
        counted.not_swept.add(failed);
        self.metrics.put(W::WHAT, &counted);
        swept
    }

    /// Sweeps one part, page by page, until nothing more is due or time is up.
    async fn part<W: Work>(&self, work: &W, shard: u8, until: Instant) -> Swept {
        let mut swept = Swept::default();
        while Instant::now() < until {
            match self.page(work, shard, &mut swept).await {
                Ok(true) => {}
                Ok(false) => return swept,
                Err(error) => {
                    tracing::error!(
                        what = W::WHAT.value(),
                        shard,
                        cause = causes(&error),
                        "due index not swept"
                    );
                    swept.failed = 1;
                    return swept;
                }
            }
        }
        tracing::warn!(what = W::WHAT.value(), shard, "time is up, the rest is left to the next run");
        swept
    }

    /// Claims and queues one page; whether there may be more. Claimed rows are due later and do not come up again;
    /// the index may still show some for a moment, so a page of which nothing could be claimed is the last.
    async fn page<W: Work>(&self, work: &W, shard: u8, swept: &mut Swept) -> Result<bool, StoreError> {
        let due = work.due(shard, Self::PAGE).await?;
        let until = self.store.now().plus(Self::CLAIM);
        let (claimed, failed) = claim(work, &due, until).await;
        let (claimed, why): (Vec<W::Row>, Vec<Claim>) = claimed.into_iter().unzip();
        swept.rescued += why.iter().filter(|why| **why == Claim::Rescued).count();
        if let Err(error) = work.enqueue(&claimed).await {
            swept.not_queued += error.tasks.len();
            tracing::warn!(
                what = W::WHAT.value(),
                shard,
                cause = causes(&error),
                "what is due is not queued"
            );
            swept.queued += claimed.len() - error.tasks.len();
        } else {
            swept.queued += claimed.len();
        }
        match failed {
            Some(error) => Err(error),
            None => Ok(!claimed.is_empty()),
        }
    }
}

/// How many rows of one part are claimed at the same time: each has a connection of its own, and all parts of all indexes
/// are swept at once.
const CLAIMS: usize = 4;

/// Claims these, some at the same time. What was claimed is queued even if other claims failed. A row that cannot be
/// read is claimed as well, so that it does not come up before others each minute, and passed over.
async fn claim<W: Work>(
    work: &W,
    due: &[DueRow<W::Id>],
    until: Timestamp,
) -> (Vec<(W::Row, Claim)>, Option<StoreError>) {
    let (mut claimed, mut failed) = (vec![], None);
    let mut claims = futures::stream::iter(due.iter().map(|due| work.claim(due, until))).buffered(CLAIMS);
    while let Some(claim) = claims.next().await {
        match claim {
            Ok(row) => claimed.extend(row),
            Err(error @ StoreError::Unreadable { .. }) => {
                tracing::error!(what = W::WHAT.value(), cause = causes(&error), "due row passed over");
            }
            Err(error) => failed = Some(error),
        }
    }
    (claimed, failed)
}
