//! One delivery, one attempt.

use std::time::{Duration, Instant};

use domain::causes;
use domain::delivery::Next;
use domain::gate::{Gate, Lane, Seen};
use domain::retry::{Jitter, parse_retry_after};
use domain::webhook::DisabledReason;
use domain::{
    Attempt, AttemptOutcome, Delivery, DeliveryState, EndpointId, EndpointSecrets, Timestamp,
    WebhookEndpoint, WorkspaceId, signature,
};
use futures::future::join;
use queue::{DeliveryTask, LONGEST_DELAY, Outcome};
use store::{GateEntry, Lease, Leased, RecordedEvent, Settled, StoreError};

use crate::visit::Visit;
use crate::{Answer, Batch, Post, Transport, Unanswered};

/// Looks after a delivery: makes its attempt if one is due.
pub(crate) async fn look_after<T: Transport>(batch: &Batch<'_, T>, task: DeliveryTask) -> Outcome {
    if !batch.begin(task.delivery_id) {
        // A second message about the same: whatever becomes of the first, the row is still there.
        return Outcome::Done;
    }
    let leased = match Box::pin(take(batch, task)).await {
        Ok(Some(leased)) => leased,
        Ok(None) => return Outcome::Done,
        Err(Unleased::Unknown) => return Outcome::Dropped("no such delivery"),
        Err(Unleased::Store(error)) => return Outcome::Retry(error.into()),
    };
    match Box::pin(deliver(batch, &leased)).await {
        Ok(()) => Outcome::Done,
        Err(error) => Outcome::Retry(error.into()),
    }
}

enum Unleased {
    Unknown,
    Store(StoreError),
}

/// The delivery, if an attempt is due and nobody else makes it.
async fn take<T>(batch: &Batch<'_, T>, task: DeliveryTask) -> Result<Option<Leased>, Unleased> {
    let (store, rules) = (&batch.engine.store, &batch.engine.rules);
    let ask = async || {
        let DeliveryTask { workspace_id, delivery_id } = task;
        store.lease_delivery(workspace_id, delivery_id, rules.lease).await.map_err(Unleased::Store)
    };
    let mut lease = ask().await?;
    if let Lease::Abandoned(dead, until) = &lease {
        bury(batch, dead, *until).await.map_err(Unleased::Store)?;
        lease = ask().await?;
    }
    if let Lease::NotYet(at) = lease {
        let early = at.since(store.now());
        if early <= EARLY {
            tokio::time::sleep(early).await;
            lease = ask().await?;
        }
    }
    match lease {
        Lease::Taken(leased) => Ok(Some(leased)),
        Lease::Settled(parked) if parked.state == DeliveryState::Parked => {
            let next = fate_of_parked(batch, &parked).await.map_err(Unleased::Store)?;
            store.turn(&parked, next).await.map_err(Unleased::Store)?;
            Ok(None)
        }
        // What is not due yet stands in the due index, what somebody else holds or has done needs nothing.
        Lease::NotYet(_) | Lease::Held | Lease::Abandoned(..) | Lease::Settled(_) => Ok(None),
        Lease::Unknown => Err(Unleased::Unknown),
    }
}

/// A message that comes this little before its time waits for it: its delay was counted by another clock.
const EARLY: Duration = Duration::from_secs(2);

/// An attempt whose process died counts as one that failed when it began: a delivery that kills whoever makes it
/// ends like others.
async fn bury<T>(batch: &Batch<'_, T>, dead: &Leased, until: Timestamp) -> Result<(), StoreError> {
    let (Leased { delivery, token }, rules) = (dead, &batch.engine.rules);
    let lease = i64::try_from(rules.lease.as_millis()).unwrap_or_default();
    let began = Timestamp::from_millis(until.as_millis() - lease);
    let jitter = Jitter::of(token);
    let next = Next::after_failure(None, delivery.failures, &rules.schedule, jitter, began);
    tracing::warn!(delivery = %delivery.id, attempt = delivery.attempts, state = next.state().as_str(), "attempt died");
    batch.engine.store.bury_attempt(dead, next).await.map(drop)
}

/// What is to be written down of a delivery.
enum End {
    /// An attempt was made.
    Attempted(Attempt, Next),
    /// None was, and none is to be for now.
    Left(Next),
    /// None was; one is to be, not before that, on that lane.
    Again { at: Timestamp, on: Lane },
}

/// The end is written down while the gate is left: neither waits for the other.
async fn deliver<T: Transport>(batch: &Batch<'_, T>, leased: &Leased) -> Result<(), StoreError> {
    let Delivery { workspace_id, endpoint_id, .. } = leased.delivery;
    let visit = batch.visits.join(workspace_id, endpoint_id);
    let end = visited(batch, leased, &visit).await;
    let record = async {
        match end {
            Ok(end) => record(batch, leased, end).await,
            Err(error) => {
                // Trouble of our own is no attempt. The message comes again by itself, in the end to the dead letters, so none
                // is queued. Should this not be written down either, the lease ends by itself.
                let store = &batch.engine.store;
                let at = store.now().plus(OUTAGE);
                let due_at = at.plus(batch.engine.rules.rescue);
                store.give_back(leased, Next::Again { at }, due_at).await.and(Err(error))
            }
        }
    };
    let leave = batch.visits.leave(&visit, &batch.engine.store, &batch.engine.rules);
    let (recorded, hopeless) = join(record, leave).await;
    if hopeless {
        give_up(batch, workspace_id, endpoint_id).await;
    }
    recorded
}

async fn visited<T: Transport>(
    batch: &Batch<'_, T>,
    leased: &Leased,
    visit: &Visit,
) -> Result<End, StoreError> {
    let (store, rules) = (&batch.engine.store, &batch.engine.rules);
    let (workspace, endpoint) = (leased.delivery.workspace_id, leased.delivery.endpoint_id);
    let reads = async {
        tokio::try_join!(
            store.endpoint(workspace, endpoint),
            store.endpoint_secrets(workspace, endpoint),
            store.recorded_event(workspace, leased.delivery.event_id),
        )
    };
    let (read, entry) = join(reads, visit.enter(store, batch.lane, rules)).await;
    let (endpoint, secrets, event) = read?;
    // The endpoint was deleted, or the event is older than events are kept.
    let (Some(endpoint), Some(event)) = (endpoint, event) else { return Ok(End::Left(Next::Cancelled)) };
    if !endpoint.is_enabled() {
        return Ok(End::Left(Next::Parked { endpoint_gone: false }));
    }
    let Some(secrets) = secrets else { return without_secrets(batch, leased).await };
    let now = store.now();
    match entry {
        GateEntry::Aside => return Ok(End::Again { at: now, on: Lane::Slow }),
        GateEntry::Busy => return Ok(put_off(leased, Gate::busy(leased.delivery.created_at, now), now)),
        GateEntry::PutOff(until) => return Ok(put_off(leased, until.since(now), now)),
        GateEntry::Entered(_) if !visit.may_post() => {
            return Ok(put_off(leased, Gate::busy(leased.delivery.created_at, now), now));
        }
        GateEntry::Entered(_) => {}
    }
    if !batch.time.may_begin(now) {
        return Ok(End::Again { at: now, on: batch.lane });
    }
    attempt(batch, leased, visit, &endpoint, &secrets, &event).await
}

/// What waits for the same to be over does not come back all at once.
fn put_off(leased: &Leased, wait: Duration, now: Timestamp) -> End {
    End::Again { at: now.plus(Jitter::of(&leased.token).lengthen(wait)), on: Lane::Slow }
}

/// An endpoint and its secrets come and go together: it was deleted between the two reads, or its secrets are lost,
/// and that can be mended.
async fn without_secrets<T>(batch: &Batch<'_, T>, leased: &Leased) -> Result<End, StoreError> {
    let Delivery { workspace_id, endpoint_id, .. } = leased.delivery;
    match batch.engine.store.endpoint(workspace_id, endpoint_id).await? {
        None => Ok(End::Left(Next::Cancelled)),
        Some(_) => {
            let key = format!("the secrets of {workspace_id} / {endpoint_id}");
            Err(StoreError::Unreadable { key, reason: "there are none".to_owned() })
        }
    }
}

async fn attempt<T: Transport>(
    batch: &Batch<'_, T>,
    leased: &Leased,
    visit: &Visit,
    endpoint: &WebhookEndpoint,
    secrets: &EndpointSecrets,
    event: &RecordedEvent,
) -> Result<End, StoreError> {
    let (store, rules) = (&batch.engine.store, &batch.engine.rules);
    let (at, begun) = (store.now(), Instant::now());
    let headers = signature::headers(event.id, &event.body, secrets, at);
    let post = Post { url: &endpoint.url, headers, body: &event.body };
    let answered = post_patiently(batch, visit, post).await;
    let (took, now) = (begun.elapsed(), store.now());
    let outcome = match &answered {
        Ok(answer) => answer.outcome(now),
        Err(Unanswered::Failed(error)) => AttemptOutcome::Failed(*error),
        Err(Unanswered::NotSent) => {
            batch.counted.egress_failures.add(1);
            tracing::warn!(delivery = %leased.delivery.id, endpoint = %endpoint.id, "nothing leaves our own network");
            return Ok(put_off(leased, OUTAGE, now));
        }
    };
    visit.saw(Seen::of(outcome, took, rules.patience()));
    let number = leased.delivery.attempts;
    let attempt =
        Attempt { number, at, took, outcome, answer: answered.map(|it| it.body).unwrap_or_default() };
    let (jitter, failures) = (Jitter::of(&leased.token), leased.delivery.failures);
    let mut next = Next::after(outcome, failures, &rules.schedule, jitter, now);
    if next == (Next::Parked { endpoint_gone: true }) && !disable(batch, endpoint, DisabledReason::Gone).await
    {
        next = Next::after_failure(None, failures, &rules.schedule, jitter, now);
    }
    told(leased, event, &attempt, next);
    Ok(End::Attempted(attempt, next))
}

/// When to try again where our own network let nothing out, or our own tables could not be read.
const OUTAGE: Duration = Duration::from_secs(30);

/// Posts; of a receiver that keeps us waiting others are told while it does, so that they wait on the slow lane.
async fn post_patiently<T: Transport>(
    batch: &Batch<'_, T>,
    visit: &Visit,
    post: Post<'_>,
) -> Result<Answer, Unanswered> {
    let mut posting = std::pin::pin!(batch.engine.transport.post(post));
    match tokio::time::timeout(batch.engine.rules.patience(), &mut posting).await {
        Ok(answered) => answered,
        Err(_) if batch.lane == Lane::Slow => posting.await,
        Err(_) => join(posting, visit.tell_slow(&batch.engine.store)).await.0,
    }
}

/// Disables an endpoint, unless it was changed since it was read; `false` if that could not be done, and the next
/// attempt must.
async fn disable<T>(batch: &Batch<'_, T>, endpoint: &WebhookEndpoint, reason: DisabledReason) -> bool {
    let store = &batch.engine.store;
    let Some(disabled) = endpoint.disabled(reason, store.now()) else { return true };
    match store.replace_endpoint(&disabled).await {
        Ok(done) => {
            if done {
                batch.counted.endpoints_disabled.add(1);
                tracing::warn!(
                    workspace = %endpoint.workspace_id, endpoint = %endpoint.id, reason = reason.as_str(),
                    "endpoint disabled"
                );
            }
            true
        }
        Err(error) => {
            tracing::error!(endpoint = %endpoint.id, cause = causes(&error), "endpoint not disabled");
            false
        }
    }
}

/// Disables an endpoint that has done nothing but fail for days. Should it not be possible now, the next failure
/// brings it here again.
async fn give_up<T>(batch: &Batch<'_, T>, workspace: WorkspaceId, endpoint: EndpointId) {
    match batch.engine.store.endpoint(workspace, endpoint).await {
        Ok(Some(found)) => drop(disable(batch, &found, DisabledReason::Failing).await),
        Ok(None) => {}
        Err(error) => tracing::error!(%endpoint, cause = causes(&error), "endpoint not disabled"),
    }
}

/// Writes down how it ended, and sees to it that what follows does.
async fn record<T>(batch: &Batch<'_, T>, leased: &Leased, end: End) -> Result<(), StoreError> {
    let (store, counted) = (&batch.engine.store, &batch.counted);
    match end {
        End::Attempted(attempt, next) => {
            let (wake, due_at) = batch.follow_up(next, Lane::Slow);
            let left = batch.time.left(store.now());
            let settled = store.finish_attempt(leased, &attempt, next, due_at, left).await?;
            batch.count(&attempt, next);
            match settled {
                Settled::Recorded => follow(batch, leased, next, wake).await,
                Settled::Lost => {
                    tracing::info!(delivery = %leased.delivery.id, attempt = attempt.number, "lease lost");
                    Ok(())
                }
            }
        }
        End::Left(next) => {
            store.give_back(leased, next, store.now()).await?;
            counted.deliveries_parked.add(usize::from(next.state() == DeliveryState::Parked));
            follow(batch, leased, next, None).await
        }
        End::Again { at, on } => {
            let next = Next::Again { at };
            let (wake, due_at) = batch.follow_up(next, on);
            store.give_back(leased, next, due_at).await?;
            counted.deliveries_put_back.add(1);
            follow(batch, leased, next, wake).await
        }
    }
}

/// A message that is to wake a delivery: on which lane, and when.
pub(crate) type Wakes = Option<(Lane, Duration)>;

impl<T> Batch<'_, T> {
    /// What brings the next attempt, and when the sweeper looks after it: one of the next quarter of an hour comes by
    /// the queue, and by the sweeper only if that fails; a later one comes by the sweeper.
    fn follow_up(&self, next: Next, on: Lane) -> (Wakes, Timestamp) {
        let now = self.engine.store.now();
        match next {
            Next::Again { at } if at.since(now) <= LONGEST_DELAY => {
                (Some((on, at.since(now))), at.plus(self.engine.rules.rescue))
            }
            Next::Again { at } => (None, at),
            _ => (None, now),
        }
    }

    fn count(&self, attempt: &Attempt, next: Next) {
        self.counted.delivery_attempt_time.took(attempt.took);
        match attempt.outcome.is_acknowledged() {
            true => self.counted.deliveries_acknowledged.add(1),
            false => self.counted.deliveries_failed.add(1),
        }
        self.counted.deliveries_exhausted.add(usize::from(next == Next::Exhausted));
        self.counted.deliveries_parked.add(usize::from(next.state() == DeliveryState::Parked));
    }
}

async fn follow<T>(batch: &Batch<'_, T>, leased: &Leased, next: Next, wake: Wakes) -> Result<(), StoreError> {
    let delivery = &leased.delivery;
    if let Some((lane, after)) = wake {
        let queued = batch.engine.queues.enqueue(lane, &[DeliveryTask::of(delivery, after)]).await;
        if let Err(error) = queued {
            let (id, cause) = (delivery.id, causes(&error));
            tracing::warn!(delivery = %id, cause, "next attempt not queued, left to the sweeper");
        }
    }
    match next.state() {
        DeliveryState::Parked => parked_just_now(batch, delivery).await,
        _ => Ok(()),
    }
}

/// Whoever enables an endpoint lets go what is parked; what was parked a moment later must let itself go. (What
/// both miss is looked at again when it is due.)
async fn parked_just_now<T>(batch: &Batch<'_, T>, delivery: &Delivery) -> Result<(), StoreError> {
    let next = fate_of_parked(batch, delivery).await?;
    if next.state() != DeliveryState::Parked {
        let parked = Delivery { state: DeliveryState::Parked, ..delivery.clone() };
        batch.engine.store.turn(&parked, next).await?;
    }
    Ok(())
}

async fn fate_of_parked<T>(batch: &Batch<'_, T>, delivery: &Delivery) -> Result<Next, StoreError> {
    let store = &batch.engine.store;
    let endpoint = store.endpoint(delivery.workspace_id, delivery.endpoint_id).await?;
    Ok(Next::of_parked(endpoint.as_ref(), store.now()))
}

impl Answer {
    fn outcome(&self, now: Timestamp) -> AttemptOutcome {
        let retry_after = self.retry_after.as_deref().and_then(|text| parse_retry_after(text, now));
        AttemptOutcome::Answered { status: self.status, retry_after }
    }
}

/// One line for each attempt that was not acknowledged.
fn told(leased: &Leased, event: &RecordedEvent, attempt: &Attempt, next: Next) {
    let Some(error) = attempt.outcome.error_code() else { return };
    let status = match attempt.outcome {
        AttemptOutcome::Answered { status, .. } => Some(status),
        AttemptOutcome::Failed(_) => None,
    };
    let delivery = &leased.delivery;
    tracing::info!(
        workspace = %delivery.workspace_id,
        endpoint = %delivery.endpoint_id,
        delivery = %delivery.id,
        event = %delivery.event_id,
        request = event.request,
        attempt = attempt.number,
        took_ms = u64::try_from(attempt.took.as_millis()).unwrap_or(u64::MAX),
        error,
        status,
        state = next.state().as_str(),
        "attempt failed",
    );
}
