//! Queues the lanes that are due: lanes whose wait is longer than a queue can delay a message, lanes whose message
//! was lost, and lanes whose visit died.

use std::time::Duration;

use domain::{LaneKind, Timestamp, error_chain};
use futures::StreamExt;
use futures::future::join_all;
use queue::{Queues, Wake};
use runtime::Metrics;
use runtime::metrics::{self, Dimension, What};
use store::{Claim, DueLane, Store, StoreError};
use tokio::time::Instant;

/// The dependencies of this function.
pub struct Sweeper {
    /// The tables.
    pub store: Store,
    /// Where lanes are queued.
    pub queues: Queues,
    /// How long a run works, so that it ends before the run of the next minute.
    pub budget: Duration,
    /// Counts the due lanes.
    pub metrics: Metrics,
}

/// The result of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Swept {
    /// How many lanes were claimed and queued.
    pub queued: usize,
    /// How many of the claimed lanes no visit had processed when they were due.
    pub rescued: usize,
    /// How many claimed lanes the queue refused. They are due again after [`Sweeper::CLAIM`].
    pub not_queued: usize,
    /// How many calls failed: a part of an index could not be read, or a lane could not be claimed.
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

/// A run could not process all lanes. The run of the next minute tries again.
#[derive(Debug, thiserror::Error)]
#[error("{failed} parts of the due indexes or lanes in them could not be swept")]
pub struct NotSwept {
    /// The number of failed calls.
    pub failed: usize,
}

impl Sweeper {
    /// How long a claimed lane is not due again. The time is long enough for its message to be processed behind a
    /// backlog, and short enough for a lost message.
    pub const CLAIM: Duration = Duration::from_secs(300);
    /// The time limit of a run. The next run processes the rest.
    pub const BUDGET: Duration = Duration::from_secs(40);
    /// How many lanes of a part are read before the next check of the clock.
    const PAGE: u16 = 50;
    /// How many of them are claimed at the same time. Each claim has its own connection, and all parts of all indexes
    /// are swept concurrently.
    const CLAIMS: usize = 4;
    /// How many claimed lanes are queued together, so that a claimed lane does not wait for the rest of its page.
    const CHUNK: usize = 10;

    /// Sweeps all parts of all indexes at the same time. Several sweepers may run concurrently: only one of them
    /// claims a lane.
    pub async fn run(&self) -> Result<Swept, NotSwept> {
        let until = Instant::now() + self.budget;
        let kinds = join_all(LaneKind::ALL.map(|kind| self.sweep(kind, until))).await;
        let swept = kinds.into_iter().fold(Swept::default(), Swept::and);
        if swept.failed == 0 { Ok(swept) } else { Err(NotSwept { failed: swept.failed }) }
    }

    /// Sweeps the index of one kind of lanes.
    async fn sweep(&self, kind: LaneKind, until: Instant) -> Swept {
        let parts = (0..Store::due_shards(kind)).map(|shard| self.part(kind, shard, until));
        let swept = join_all(parts).await.into_iter().fold(Swept::default(), Swept::and);
        let Swept { queued, rescued, not_queued, failed } = swept;
        let what = what(kind);
        if queued + not_queued > 0 {
            tracing::info!(what = what.value(), queued, rescued, notQueued = not_queued, "due lanes queued");
        }
        let counted = metrics::Swept::default();
        counted.due_swept.add((queued + not_queued).saturating_sub(rescued));
        counted.rescued.add(rescued);
        counted.not_swept.add(failed);
        self.metrics.put(what, &counted);
        swept
    }

    /// Sweeps one part, page by page, until no more lanes are due or the time is up. A lane that cannot be claimed
    /// (its lease runs, or another sweeper has it) does not stop the lanes after it.
    async fn part(&self, kind: LaneKind, shard: u8, until: Instant) -> Swept {
        let (mut swept, mut from) = (Swept::default(), None);
        while Instant::now() < until {
            let due = match self.store.due_lanes(kind, shard, from, Self::PAGE).await {
                Ok(due) => due,
                Err(error) => {
                    let cause = error_chain(&error);
                    tracing::error!(what = kind.as_str(), shard, cause, "due index not read");
                    swept.failed += 1;
                    return swept;
                }
            };
            swept = swept.and(self.page(&due.lanes).await);
            from = due.next;
            if from.is_none() {
                return swept;
            }
        }
        tracing::warn!(what = kind.as_str(), shard, "time is up, the rest is left to the next run");
        swept
    }

    /// Claims lanes, and queues them in chunks as they are claimed. A failed claim does not stop the others.
    async fn page(&self, due: &[DueLane]) -> Swept {
        let until = self.store.now().plus(Self::CLAIM);
        let claims = due.iter().map(async |due| (due, self.claim(due, until).await));
        let mut claims = futures::stream::iter(claims).buffer_unordered(Self::CLAIMS);
        let (mut swept, mut wakes) = (Swept::default(), vec![]);
        while let Some((due, claimed)) = claims.next().await {
            match claimed {
                Ok(Some(Claim { is_planned, track })) => {
                    swept.rescued += usize::from(!is_planned);
                    wakes.push(Wake::now(due.lane, track));
                }
                Ok(None) => {}
                Err(()) => swept.failed += 1,
            }
            if wakes.len() == Self::CHUNK {
                swept = swept.and(self.enqueue(&std::mem::take(&mut wakes)).await);
            }
        }
        swept.and(self.enqueue(&wakes).await)
    }

    /// A lane whose row cannot be read is also claimed, and then skipped. Otherwise it would be read again before
    /// others each minute.
    async fn claim(&self, due: &DueLane, until: Timestamp) -> Result<Option<Claim>, ()> {
        match self.store.claim_lane(due, until).await {
            Ok(claimed) => Ok(claimed),
            Err(error @ StoreError::Unreadable { .. }) => {
                tracing::error!(lane = %due.lane, cause = error_chain(&error), "due lane skipped");
                Ok(None)
            }
            Err(error) => {
                tracing::error!(lane = %due.lane, cause = error_chain(&error), "due lane not claimed");
                Err(())
            }
        }
    }

    async fn enqueue(&self, wakes: &[Wake]) -> Swept {
        if wakes.is_empty() {
            return Swept::default();
        }
        let not_queued = match self.queues.enqueue(wakes).await {
            Ok(()) => 0,
            Err(error) => {
                tracing::warn!(cause = error_chain(&error), "due lanes are not queued");
                error.lanes.len()
            }
        };
        Swept { queued: wakes.len() - not_queued, not_queued, ..Swept::default() }
    }
}

fn what(kind: LaneKind) -> What {
    match kind {
        LaneKind::Webhook => What::Webhooks,
        LaneKind::Conversation => What::Conversations,
        LaneKind::Lead => What::Leads,
        LaneKind::Person => What::Persons,
    }
}
