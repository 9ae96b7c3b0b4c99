//! One delivery, one attempt.

use std::time::{Duration, Instant};

use domain::causes;
use domain::delivery::Next;
use domain::retry::{Jitter, parse_retry_after};
use domain::webhook::DisabledReason;
use domain::{
    Attempt, AttemptOutcome, Delivery, DeliveryState, EndpointSecrets, Timestamp, WebhookEndpoint, signature,
};
use queue::{DeliveryTask, LONGEST_DELAY, Outcome, Time};
use store::{Lease, Leased, RecordedEvent, Settled, StoreError};

use crate::{Answer, Engine, Post, Transport};

/// Looks after a delivery: makes its attempt if one is due.
pub(crate) async fn look_after<T: Transport>(engine: &Engine<T>, task: DeliveryTask, time: Time) -> Outcome {
    let leased = match take(engine, task).await {
        Ok(Some(leased)) => leased,
        Ok(None) => return Outcome::Done,
        Err(Unleased::Unknown) => return Outcome::Dropped("no such delivery"),
        Err(Unleased::Store(error)) => return Outcome::Retry(error.into()),
    };
    match deliver(engine, &leased, time).await {
        Ok(()) => Outcome::Done,
        Err(error) => Outcome::Retry(error.into()),
    }
}

enum Unleased {
    Unknown,
    Store(StoreError),
}

/// The delivery, if an attempt is due and nobody else makes it.
async fn take<T>(engine: &Engine<T>, task: DeliveryTask) -> Result<Option<Leased>, Unleased> {
    let ask = async || {
        let DeliveryTask { workspace_id, delivery_id } = task;
        let lease = engine.store.lease_delivery(workspace_id, delivery_id, engine.rules.lease);
        lease.await.map_err(Unleased::Store)
    };
    let mut lease = ask().await?;
    if let Lease::Abandoned(dead, until) = &lease {
        bury(engine, dead, *until).await.map_err(Unleased::Store)?;
        lease = ask().await?;
    }
    if let Lease::NotYet(at) = lease {
        let early = at.since(engine.store.now());
        if early <= EARLY {
            tokio::time::sleep(early).await;
            lease = ask().await?;
        }
    }
    match lease {
        Lease::Taken(leased) => Ok(Some(leased)),
        Lease::Settled(parked) if parked.state == DeliveryState::Parked => {
            let next = fate_of_parked(engine, &parked).await.map_err(Unleased::Store)?;
            engine.store.turn(&parked, next).await.map_err(Unleased::Store)?;
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
async fn bury<T>(engine: &Engine<T>, dead: &Leased, until: Timestamp) -> Result<(), StoreError> {
    let Leased { delivery, token } = dead;
    let lease = i64::try_from(engine.rules.lease.as_millis()).unwrap_or_default();
    let began = Timestamp::from_millis(until.as_millis() - lease);
    let jitter = Jitter::of(token);
    let next = Next::after_failure(None, delivery.failures, &engine.rules.schedule, jitter, began);
    tracing::warn!(delivery = %delivery.id, attempt = delivery.attempts, state = next.state().as_str(), "attempt died");
    engine.store.bury_attempt(dead, next).await.map(drop)
}

async fn deliver<T: Transport>(engine: &Engine<T>, leased: &Leased, time: Time) -> Result<(), StoreError> {
    let delivery = &leased.delivery;
    let (workspace, endpoint) = (delivery.workspace_id, delivery.endpoint_id);
    let (endpoint, secrets, event) = tokio::try_join!(
        engine.store.endpoint(workspace, endpoint),
        engine.store.endpoint_secrets(workspace, endpoint),
        engine.store.recorded_event(workspace, delivery.event_id),
    )?;
    // The endpoint was deleted, or the event is older than events are kept.
    let (Some(endpoint), Some(event)) = (endpoint, event) else {
        return engine.store.give_back(leased, Next::Cancelled).await.map(drop);
    };
    if !endpoint.is_enabled() {
        engine.store.give_back(leased, Next::Parked { endpoint_gone: false }).await?;
        return parked_just_now(engine, delivery).await;
    }
    let Some(secrets) = secrets else { return without_secrets(engine, leased).await };
    let now = engine.store.now();
    if !time.may_begin(now) {
        engine.store.give_back(leased, Next::Again { at: now }).await?;
        queue(engine, delivery, Duration::ZERO).await;
        return Ok(());
    }
    attempt(engine, leased, &endpoint, &secrets, &event, time).await
}

/// An endpoint and its secrets come and go together: it was deleted between the two reads, or its secrets are lost,
/// and that can be mended.
async fn without_secrets<T>(engine: &Engine<T>, leased: &Leased) -> Result<(), StoreError> {
    let Delivery { workspace_id, endpoint_id, .. } = leased.delivery;
    match engine.store.endpoint(workspace_id, endpoint_id).await? {
        None => engine.store.give_back(leased, Next::Cancelled).await.map(drop),
        Some(_) => {
            let key = format!("the secrets of {workspace_id} / {endpoint_id}");
            Err(StoreError::Unreadable { key, reason: "there are none".to_owned() })
        }
    }
}

async fn attempt<T: Transport>(
    engine: &Engine<T>,
    leased: &Leased,
    endpoint: &WebhookEndpoint,
    secrets: &EndpointSecrets,
    event: &RecordedEvent,
    time: Time,
) -> Result<(), StoreError> {
    let (at, begun) = (engine.store.now(), Instant::now());
    let headers = signature::headers(event.id, &event.body, secrets, at);
    let post = Post { url: &endpoint.url, headers, body: &event.body };
    let answered = engine.transport.post(post).await;
    let now = engine.store.now();
    let attempt = logged(leased, at, begun.elapsed(), answered, now);
    let jitter = Jitter::of(&leased.token);
    let (failures, schedule) = (leased.delivery.failures, &engine.rules.schedule);
    let mut next = Next::after(attempt.outcome, failures, schedule, jitter, now);
    if next == (Next::Parked { endpoint_gone: true }) && !disable(engine, endpoint, now).await {
        next = Next::after_failure(None, failures, schedule, jitter, now);
    }
    record(engine, leased, &attempt, next, time).await
}

/// Disables an endpoint that says it is gone, unless it was changed since it was asked; `false` if that could not be
/// done, and the next attempt must.
async fn disable<T>(engine: &Engine<T>, endpoint: &WebhookEndpoint, now: Timestamp) -> bool {
    let Some(disabled) = endpoint.disabled(DisabledReason::Gone, now) else { return true };
    let replaced = engine.store.replace_endpoint(&disabled).await;
    if let Err(error) = &replaced {
        tracing::error!(endpoint = %endpoint.id, cause = causes(error), "endpoint not disabled");
    }
    replaced.is_ok()
}

fn logged(
    leased: &Leased,
    at: Timestamp,
    took: Duration,
    answered: Result<Answer, domain::AttemptError>,
    now: Timestamp,
) -> Attempt {
    let number = leased.delivery.attempts;
    match answered {
        Ok(Answer { status, retry_after, body }) => {
            let retry_after = retry_after.and_then(|text| parse_retry_after(&text, now));
            let outcome = AttemptOutcome::Answered { status, retry_after };
            Attempt { number, at, took, outcome, answer: body }
        }
        Err(error) => Attempt { number, at, took, outcome: AttemptOutcome::Failed(error), answer: vec![] },
    }
}

/// Writes down how the attempt ended, and sees to it that what follows does.
async fn record<T>(
    engine: &Engine<T>,
    leased: &Leased,
    attempt: &Attempt,
    next: Next,
    time: Time,
) -> Result<(), StoreError> {
    let (delivery, now) = (&leased.delivery, engine.store.now());
    // A retry of the next quarter of an hour comes by the queue, and by the sweeper only if that fails; a later
    // one comes by the sweeper.
    let (queued, due_at) = match next {
        Next::Again { at } if at.since(now) <= LONGEST_DELAY => {
            (Some(at.since(now)), at.plus(engine.rules.rescue))
        }
        Next::Again { at } => (None, at),
        _ => (None, now),
    };
    let settled = engine.store.finish_attempt(leased, attempt, next, due_at, time.left(now)).await?;
    told(delivery, attempt, next, settled);
    match (settled, queued) {
        (Settled::Lost, _) => Ok(()),
        (Settled::Recorded, Some(after)) => {
            queue(engine, delivery, after).await;
            Ok(())
        }
        (Settled::Recorded, None) if next.state() == DeliveryState::Parked => {
            parked_just_now(engine, delivery).await
        }
        (Settled::Recorded, None) => Ok(()),
    }
}

async fn queue<T>(engine: &Engine<T>, delivery: &Delivery, after: Duration) {
    if let Err(error) = engine.queue.enqueue(&[DeliveryTask::of(delivery, after)]).await {
        let (id, cause) = (delivery.id, causes(&error));
        tracing::warn!(delivery = %id, cause, "retry not queued, left to the sweeper");
    }
}

/// Whoever enables an endpoint lets go what is parked; what was parked a moment later must let itself go. (What
/// both miss is looked at again when it is due.)
async fn parked_just_now<T>(engine: &Engine<T>, delivery: &Delivery) -> Result<(), StoreError> {
    let next = fate_of_parked(engine, delivery).await?;
    if next.state() != DeliveryState::Parked {
        let parked = Delivery { state: DeliveryState::Parked, ..delivery.clone() };
        engine.store.turn(&parked, next).await?;
    }
    Ok(())
}

async fn fate_of_parked<T>(engine: &Engine<T>, delivery: &Delivery) -> Result<Next, StoreError> {
    let endpoint = engine.store.endpoint(delivery.workspace_id, delivery.endpoint_id).await?;
    Ok(Next::of_parked(endpoint.as_ref(), engine.store.now()))
}

/// One line for each attempt that was not acknowledged.
fn told(delivery: &Delivery, attempt: &Attempt, next: Next, settled: Settled) {
    let Some(error) = attempt.outcome.error_code() else { return };
    let status = match attempt.outcome {
        AttemptOutcome::Answered { status, .. } => Some(status),
        AttemptOutcome::Failed(_) => None,
    };
    tracing::info!(
        workspace = %delivery.workspace_id,
        endpoint = %delivery.endpoint_id,
        delivery = %delivery.id,
        event = %delivery.event_id,
        attempt = attempt.number,
        took_ms = u64::try_from(attempt.took.as_millis()).unwrap_or(u64::MAX),
        error,
        status,
        state = next.state().as_str(),
        lost = settled == Settled::Lost,
        "attempt failed",
    );
}
