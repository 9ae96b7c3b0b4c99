//! The loop of the functions that queue messages wake: lanes in, visits out.
//!
//! ```text
//! message -> lane -> lease -> visit -> release --nothing was put in meanwhile--> queue its next visit
//!                               ^                '--something was-- (visit again, while there is time)
//! ```
//!
//! Nothing depends on the message: whatever is left undone when this process dies, the lane stands in a due index, and
//! its lease ends. What is done in a lane is its kind's alone ([`Visitor`]).

use std::collections::HashSet;
use std::future::Future;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use aws_lambda_events::sqs::{SqsBatchResponse, SqsEvent};
use domain::lane::Plan;
use domain::{LaneId, LaneKind, Rest, Timestamp, Track, causes};
use lambda_runtime::Context;
use queue::{Outcome, Queues, Time, Wake, WrongTime};
use store::{LaneState, Lease, Leased, Released, Store, StoreError};

/// Who works in lanes of one kind.
pub trait Visitor {
    /// The kind.
    const KIND: LaneKind;

    /// Works in a lane until nothing is left, something waits, or time is up.
    fn visit(&self, lane: &mut Leased) -> impl Future<Output = Result<Left, StoreError>>;
}

/// How a visit ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Left {
    /// The lane is still the visitor's, and is to be given back so.
    Rest(Rest),
    /// The visitor gave it back with its last record.
    Given(Option<Plan>),
    /// Somebody else has it: the lease must be over.
    Lost,
}

/// What a deployment decides about visits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// How long a visitor has a lane for itself; longer than the function may run.
    pub lease: Duration,
    /// How long the longest call of a visitor may take.
    pub longest: Duration,
    /// How long after its queue message the sweeper looks after a lane.
    pub rescue: Duration,
}

/// Where a visitor works.
pub struct Shift<'a> {
    /// The tables.
    pub store: &'a Store,
    /// Where the next visits are queued.
    pub queues: &'a Queues,
    /// What the deployment decides.
    pub rules: Rules,
    /// The time of the invocation.
    pub time: Time,
}

/// A message that comes this little before its time waits for it: its delay was counted by another clock.
const EARLY: Duration = Duration::from_secs(2);
/// When a lane is visited again whose visit failed by trouble of our own.
const OUTAGE: Duration = Duration::from_secs(30);

impl<'a> Shift<'a> {
    /// The shift of an invocation; an error if its deadline leaves no room for a call, or is further away than a lease.
    pub fn begin(
        store: &'a Store,
        queues: &'a Queues,
        rules: Rules,
        context: &Context,
    ) -> Result<Self, WrongTime> {
        let deadline = Timestamp::from_millis(i64::try_from(context.deadline).unwrap_or(i64::MAX));
        let time = Time::until(deadline, store.now(), rules.longest, rules.lease)?;
        Ok(Self { store, queues, rules, time })
    }

    /// Visits the lanes of a batch, all at the same time: none waits for another. A lane that cannot be visited is the
    /// only one whose message comes again.
    pub async fn work<V: Visitor>(&self, visitor: &V, event: SqsEvent) -> SqsBatchResponse {
        let begun = Mutex::new(HashSet::new());
        let work = async |lane: LaneId| {
            // A second message about the same lane: its first visitor sees whatever there is.
            match begun.lock().unwrap_or_else(PoisonError::into_inner).insert(lane) {
                true => {}
                false => return Outcome::Done,
            }
            self.visit(visitor, lane).await
        };
        queue::drive(event, |body| queue::read(V::KIND, body), work).await
    }

    async fn visit<V: Visitor>(&self, visitor: &V, lane: LaneId) -> Outcome {
        let lease = match self.store.lease_lane(lane, self.rules.lease).await {
            Ok(lease) => lease,
            Err(error) => return Outcome::Retry(error.into()),
        };
        match lease {
            Lease::Taken(leased) => match Box::pin(self.through(visitor, *leased)).await {
                Ok(()) => Outcome::Done,
                Err(error) => Outcome::Retry(error.into()),
            },
            // Whoever holds it looks again before it is given back.
            Lease::Held | Lease::Finished => Outcome::Done,
            Lease::Unknown => Outcome::Dropped("no such lane"),
        }
    }

    /// Visits a lane until it can be given back.
    async fn through<V: Visitor>(&self, visitor: &V, mut leased: Leased) -> Result<(), StoreError> {
        let mut was_early = false;
        loop {
            let left = match visitor.visit(&mut leased).await {
                Ok(left) => left,
                Err(error) => {
                    self.put_off(&leased).await;
                    return Err(error);
                }
            };
            let rest = match left {
                Left::Rest(rest) => rest,
                Left::Given(plan) => {
                    self.wake(&leased, plan).await;
                    return Ok(());
                }
                Left::Lost => {
                    tracing::warn!(lane = %leased.lane, "lane lost to another worker");
                    return Ok(());
                }
            };
            if let Some(early) = self.early(rest).filter(|_| !was_early) {
                was_early = true;
                tokio::time::sleep(early).await;
                continue;
            }
            match self.store.release_lane(&leased, rest, self.rules.rescue).await? {
                Released::Done => {
                    let plan = rest.plan(self.rules.rescue, self.store.now());
                    self.wake(&leased, plan).await;
                    return Ok(());
                }
                Released::Moved(moved) => leased = *moved,
                Released::Lost => {
                    tracing::warn!(lane = %leased.lane, "lane lost to another worker");
                    return Ok(());
                }
            }
        }
    }

    /// How long to wait for what is due in a moment.
    fn early(&self, rest: Rest) -> Option<Duration> {
        let (Rest::Waits(at) | Rest::Closed(at)) = rest else { return None };
        let early = at.since(self.store.now());
        (early > Duration::ZERO && early <= EARLY && self.time.may_begin(at)).then_some(early)
    }

    /// Gives a lane back whose visit failed, for a while. Should that fail too, its lease ends by itself.
    async fn put_off(&self, leased: &Leased) {
        let rest = Rest::Closed(self.store.now().plus(OUTAGE));
        if let Err(error) = self.store.release_lane(leased, rest, self.rules.rescue).await {
            tracing::warn!(lane = %leased.lane, cause = causes(&error), "lane not released, left to the end of its lease");
        }
    }

    /// Queues the next visit, if one is to come by the queue. What the queue does not take is left to the sweeper.
    async fn wake(&self, leased: &Leased, plan: Option<Plan>) {
        let Some(after) = plan.and_then(|plan| plan.wake_after) else { return };
        let track = match &leased.state {
            LaneState::Webhook(lane) => lane.pace.track(self.store.now()),
            LaneState::Conversation(_) | LaneState::Lead(_) => Track::Fast,
        };
        if let Err(error) = self.queues.enqueue(&[Wake { lane: leased.lane, track, after }]).await {
            let cause = causes(&error);
            tracing::warn!(lane = %leased.lane, cause, "next visit not queued, left to the sweeper");
        }
    }
}
