//! The loop of the functions that queue messages start: it leases lanes, visits them and releases them.
//!
//! ```text
//! message -> lane -> lease -> visit -> release --no new work was added--> queue the next visit
//!                               ^                '--new work was added-- (visit again, while there is time)
//! ```
//!
//! Nothing depends on the queue message. If this process dies, the lane is still in a due index, and its
//! lease ends. What a visit does is up to the kind of lane ([`Visitor`]).

use std::collections::HashSet;
use std::future::Future;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use aws_lambda_events::sqs::{SqsBatchResponse, SqsEvent};
use domain::lane::DuePlan;
use domain::{LaneId, LaneKind, Rest, Timestamp, Track, error_chain};
use lambda_runtime::Context;
use queue::{BudgetError, InvocationBudget, Outcome, Queues, Wake};
use store::{LaneState, Lease, Leased, Released, Store, StoreError};

/// Executes the visits of lanes of one kind.
pub trait Visitor {
    /// The kind of lanes.
    const KIND: LaneKind;

    /// Works in a lane until no work is left, all remaining work waits, or the time is up.
    fn visit(&self, lane: &mut Leased) -> impl Future<Output = Result<VisitEnd, StoreError>>;
}

/// How a visit ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VisitEnd {
    /// The visitor still has the lease. The loop releases the lane with this rest.
    Rest(Rest),
    /// The visitor's last write also released the lane, which has no work left.
    Released,
    /// Another visitor holds the lane, so the lease must have expired.
    Lost,
}

/// The settings of a deployment for visits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// How long a lease lasts; it must be longer than the function may run.
    pub lease: Duration,
    /// The time limit of the longest call of a visitor.
    pub longest: Duration,
    /// How long after a lane's queue message the sweeper queues the lane again.
    pub rescue: Duration,
}

/// The context of the visits of one invocation.
pub struct VisitLoop<'a> {
    store: &'a Store,
    queues: &'a Queues,
    rules: Rules,
    /// The time budget of the invocation.
    pub budget: InvocationBudget,
}

/// A visitor that is early by at most this time waits. The delay of its message was measured by another
/// clock.
const MAX_SHORT_WAIT: Duration = Duration::from_secs(2);
/// The delay until the next visit after a visit failed for an internal reason.
const DELAY_AFTER_FAILURE: Duration = Duration::from_secs(30);

impl<'a> VisitLoop<'a> {
    /// Starts the visits of an invocation. Returns an error if the deadline leaves no time for a call, or is
    /// further away than the end of a lease.
    pub fn begin(
        store: &'a Store,
        queues: &'a Queues,
        rules: Rules,
        context: &Context,
    ) -> Result<Self, BudgetError> {
        let deadline = Timestamp::from_millis(i64::try_from(context.deadline).unwrap_or(i64::MAX));
        let budget = InvocationBudget::until(deadline, store.now(), rules.longest, rules.lease)?;
        Ok(Self { store, queues, rules, budget })
    }

    /// Visits the lanes of a batch, all at the same time; no lane waits for another. SQS delivers the message
    /// of a lane again only if that lane could not be visited.
    pub async fn work<V: Visitor>(&self, visitor: &V, event: SqsEvent) -> SqsBatchResponse {
        let begun = Mutex::new(HashSet::new());
        let work = async |lane: LaneId| {
            // Another message for the same lane: the first visitor processes all the work of the lane.
            match begun.lock().unwrap_or_else(PoisonError::into_inner).insert(lane) {
                true => {}
                false => return Outcome::Done,
            }
            self.visit(visitor, lane).await
        };
        queue::process_batch(event, |body| queue::read(V::KIND, body), work).await
    }

    async fn visit<V: Visitor>(&self, visitor: &V, lane: LaneId) -> Outcome {
        debug_assert_eq!(lane.kind(), V::KIND, "a queue brings lanes of one kind: {lane}");
        let lease = match self.store.lease_lane(lane, self.rules.lease).await {
            Ok(lease) => lease,
            // Nothing was leased, so the queue delivers the message again.
            Err(error) => return Outcome::Retry(error.into()),
        };
        match lease {
            Lease::Taken(leased) => match Box::pin(self.visit_until_released(visitor, *leased)).await {
                Ok(()) => Outcome::Done,
                Err(error) => Outcome::Retry(error.into()),
            },
            // The holder looks for new work before it releases the lane.
            Lease::Held | Lease::Finished => Outcome::Done,
            Lease::Unknown => Outcome::Dropped("no such lane"),
        }
    }

    /// Visits a leased lane until it is released.
    async fn visit_until_released<V: Visitor>(
        &self,
        visitor: &V,
        mut leased: Leased,
    ) -> Result<(), StoreError> {
        let mut has_waited = false;
        loop {
            let left = match visitor.visit(&mut leased).await {
                Ok(left) => left,
                Err(error) => {
                    // The cause is likely still there in a moment. Without the release, the lane would also wait for
                    // the end of the lease, and the next visit would count this one as a death. But a release forgets
                    // the visits that died, and this one may not have read yet what they wrote. So after a death, the
                    // lease ends by itself.
                    if leased.deaths == 0 {
                        self.postpone(&leased).await;
                    }
                    return Err(error);
                }
            };
            let rest = match left {
                VisitEnd::Rest(rest) => rest,
                VisitEnd::Released => return Ok(()),
                VisitEnd::Lost => {
                    tracing::warn!(lane = %leased.lane, "lane lost to another worker");
                    return Ok(());
                }
            };
            // Only once: a visitor that finds the lane early a second time must not hold its lease by waiting.
            if let Some(short_wait) = self.short_wait(rest).filter(|_| !has_waited) {
                has_waited = true;
                self.store.sleep(short_wait).await;
                continue;
            }
            match self.store.release_lane(&leased, rest, self.rules.rescue).await? {
                Released::Done => {
                    // The message is queued after the release: a visitor that came before would find the lease in
                    // force and leave. If this process dies in between, the sweeper finds the lane by its due time.
                    let plan = rest.plan(self.rules.rescue, self.store.now());
                    self.queue_next_visit(&leased, plan).await;
                    return Ok(());
                }
                // Whoever added the work saw the lease and queued no message, so this visitor looks again.
                Released::HasNewWork(moved) => leased = *moved,
                Released::Lost => {
                    tracing::warn!(lane = %leased.lane, "lane lost to another worker");
                    return Ok(());
                }
            }
        }
    }

    /// How long to wait for work that is due within [`MAX_SHORT_WAIT`].
    fn short_wait(&self, rest: Rest) -> Option<Duration> {
        let (Rest::Waits(at) | Rest::Closed(at)) = rest else { return None };
        let short_wait = at.since(self.store.now());
        (short_wait > Duration::ZERO && short_wait <= MAX_SHORT_WAIT && self.budget.may_begin(at))
            .then_some(short_wait)
    }

    /// Releases a lane after a failed visit, and postpones its next visit. If the release fails, the lease
    /// ends by itself.
    async fn postpone(&self, leased: &Leased) {
        let rest = Rest::Closed(self.store.now().plus(DELAY_AFTER_FAILURE));
        if let Err(error) = self.store.release_lane(leased, rest, self.rules.rescue).await {
            tracing::warn!(lane = %leased.lane, cause = error_chain(&error), "lane not released, left to the end of its lease");
        }
    }

    /// Queues the next visit, if the plan includes a queue message. If the queue does not accept it, the sweeper
    /// queues the lane.
    async fn queue_next_visit(&self, leased: &Leased, plan: Option<DuePlan>) {
        let Some(after) = plan.and_then(|plan| plan.wake_after) else { return };
        let track = match &leased.state {
            LaneState::Webhook(lane) => lane.pace.track(self.store.now()),
            LaneState::Conversation(_) | LaneState::Lead(_) | LaneState::Person(_) => Track::Fast,
        };
        if let Err(error) = self.queues.enqueue(&[Wake { lane: leased.lane, track, after }]).await {
            let cause = error_chain(&error);
            tracing::warn!(lane = %leased.lane, cause, "next visit not queued, left to the sweeper");
        }
    }
}
