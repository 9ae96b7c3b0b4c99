//! Queues the lanes that are due: those whose wait is longer than a queue holds a message back, and those whose message
//! was lost or whose visitor died.

use std::time::Duration;

use domain::{LaneKind, Timestamp, causes};
use futures::StreamExt;
use futures::future::join_all;
use queue::{Queues, Wake};
use runtime::Metrics;
use runtime::metrics::{self, Dimension, What};
use store::{Claim, DueLane, Store, StoreError};
use tokio::time::Instant;

/// Everything this function works with.
pub struct Sweeper {
    /// The tables.
    pub store: Store,
    /// Where lanes are queued.
    pub queues: Queues,
    /// When to stop for this time, so that the next minute's run does not meet this one.
    pub budget: Duration,
    /// What was due is counted here.
    pub metrics: Metrics,
}

/// What a run did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Swept {
    /// Lanes claimed and queued.
    pub queued: usize,
    /// Of those claimed, lanes that nobody visited when their time came.
    pub rescued: usize,
    /// Lanes claimed that the queue did not take: due again after [`Sweeper::CLAIM`].
    pub not_queued: usize,
    /// Calls that failed: parts of an index that could not be read, lanes that could not be claimed.
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
#[error("{failed} parts of the due indexes or lanes in them could not be swept")]
pub struct NotSwept {
    /// How many.
    pub failed: usize,
}

impl Sweeper {
    /// For how long a claimed lane is not due again: long enough for its message to be worked on even behind a backlog,
    /// short enough should the message be lost as well.
    pub const CLAIM: Duration = Duration::from_secs(300);
    /// How long a run works before it leaves the rest to the next one.
    pub const BUDGET: Duration = Duration::from_secs(40);
    /// How many lanes of a part are looked at before the next look at the clock.
    const PAGE: u16 = 50;
    /// How many of them are claimed at the same time: each claim has a connection of its own, and all parts of all
    /// indexes are swept at once.
    const CLAIMS: usize = 4;
    /// How many claimed lanes are queued together: what was claimed does not wait for the rest of its page.
    const CHUNK: usize = 10;

    /// Sweeps the indexes whole, all their parts at the same time. Several sweepers may run: a lane is claimed by one.
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

    /// Sweeps one part, page by page, until nothing more is due or time is up. What cannot be claimed (its lease runs,
    /// another sweeper has it) keeps nothing behind it from being claimed.
    async fn part(&self, kind: LaneKind, shard: u8, until: Instant) -> Swept {
        let (mut swept, mut from) = (Swept::default(), None);
        while Instant::now() < until {
            let due = match self.store.due_lanes(kind, shard, from, Self::PAGE).await {
                Ok(due) => due,
                Err(error) => {
                    let cause = causes(&error);
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

    /// Claims lanes and queues them in chunks as they are claimed. A claim that fails stops no other.
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

    /// A lane whose row cannot be read is claimed as well, so that it does not come up before others each minute, and
    /// passed over.
    async fn claim(&self, due: &DueLane, until: Timestamp) -> Result<Option<Claim>, ()> {
        match self.store.claim_lane(due, until).await {
            Ok(claimed) => Ok(claimed),
            Err(error @ StoreError::Unreadable { .. }) => {
                tracing::error!(lane = %due.lane, cause = causes(&error), "due lane skipped");
                Ok(None)
            }
            Err(error) => {
                tracing::error!(lane = %due.lane, cause = causes(&error), "due lane not claimed");
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
                tracing::warn!(cause = causes(&error), "due lanes are not queued");
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
    }
}
