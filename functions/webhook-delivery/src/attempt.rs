//! The attempt of one delivery.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use domain::retry::parse_retry_after;
use domain::webhook::delivery::{EVENT_LOST, EVENT_MISSING};
use domain::webhook::signature;
use domain::{
    Attempt, AttemptError, AttemptOutcome, Delivery, DeliveryState, EndpointSecrets, Pointer, Timestamp,
    WebhookEndpoint,
};
use futures::FutureExt;
use store::{Record, RecordedEvent, StoreError};
use tokio::time::Instant;

use crate::invocation::Invocation;
use crate::transport::{Answer, Post, Transport, Unanswered};

/// A delivery to attempt.
#[derive(Debug)]
pub(crate) struct Work {
    /// The delivery as it was read. If a job asked for it, its retry schedule starts again.
    pub(crate) delivery: Delivery,
    pub(crate) event: RecordedEvent,
    pub(crate) to: Arc<Receiver>,
    /// The pointer that leads back to the delivery if its post kills this worker. A careful visit sets it for a
    /// delivery that only a job asks for.
    pub(crate) leads_back: Option<Pointer>,
}

/// Where the deliveries of a page are posted.
#[derive(Debug)]
pub(crate) struct Receiver {
    pub(crate) endpoint: WebhookEndpoint,
    pub(crate) secrets: EndpointSecrets,
}

/// How an attempt ended.
pub(crate) enum Ended {
    /// The receiver answered, or the post failed.
    Posted(Attempt),
    /// The network of the deployment let nothing out. This does not count as an attempt.
    NotSent,
    /// The tables failed. This does not count as an attempt.
    Trouble(StoreError),
}

/// The next state of a delivery whose event is missing.
pub(crate) fn without_event(delivery: &Delivery, now: Timestamp) -> Delivery {
    // The recorder writes the event last, and the stream repeats a record that failed. After that time nobody writes it.
    if now.since(delivery.recorded_at) > EVENT_LOST {
        delivery.ended(DeliveryState::Cancelled)
    } else {
        delivery.waiting(now.plus(EVENT_MISSING))
    }
}

/// Makes an attempt. If earlier workers died in this lane (`is_careful`), the function first records in the delivery
/// that a post begins. If the post kills this worker, the next one counts it as a failed attempt.
pub(crate) async fn attempt<T: Transport>(
    invocation: &Invocation<'_, T>,
    work: &Work,
    is_careful: bool,
) -> (Timestamp, Ended) {
    let (at, begun) = (invocation.store.now(), Instant::now());
    let ended = AssertUnwindSafe(post(invocation, work, is_careful, at)).catch_unwind().await;
    // The attempt may panic each time. A failed attempt follows the retry schedule, so the retries end and do not
    // delay other deliveries.
    let ended = ended.unwrap_or_else(|_| {
        tracing::error!(delivery = %work.delivery.id(), "the attempt panicked");
        let outcome = AttemptOutcome::Failed(AttemptError::WorkerDied);
        let number = work.delivery.attempts + 1;
        Ended::Posted(Attempt { number, at, took: begun.elapsed(), outcome, answer: vec![] })
    });
    (at, ended)
}

async fn post<T: Transport>(
    invocation: &Invocation<'_, T>,
    work: &Work,
    is_careful: bool,
    at: Timestamp,
) -> Ended {
    let Work { delivery, event, to, .. } = work;
    let note = async |begun_at| {
        let delivery = Delivery { begun_at, ..delivery.clone() };
        let record = Record { delivery, attempt: None, pointer: work.leads_back };
        invocation.store.record_deliveries(work.delivery.slot, &[record], BEGIN).await
    };
    // Without this record nobody would know which of the lane's deliveries killed its workers.
    if is_careful && let Err(error) = note(Some(at)).await {
        return Ended::Trouble(error);
    }
    let begun = Instant::now();
    let headers = signature::headers(event.id, &event.body, &to.secrets, at);
    let answered =
        invocation.transport.post(Post { url: &to.endpoint.url, headers, body: &event.body }).await;
    let (took, now) = (begun.elapsed(), invocation.store.now());
    let outcome = match &answered {
        Ok(answer) => answer.outcome(now),
        Err(Unanswered::Failed(error)) => AttemptOutcome::Failed(*error),
        Err(Unanswered::NotSent) => {
            // The request was never sent, so it cannot kill a worker.
            if is_careful && let Err(error) = note(None).await {
                return Ended::Trouble(error);
            }
            return Ended::NotSent;
        }
    };
    let number = delivery.attempts + 1;
    let answer = answered.map(|answer| answer.body).unwrap_or_default();
    Ended::Posted(Attempt { number, at, took, outcome, answer })
}

/// The time limit to record that a post begins.
const BEGIN: Duration = Duration::from_secs(2);

impl Answer {
    fn outcome(&self, now: Timestamp) -> AttemptOutcome {
        let retry_after = self.retry_after.as_deref().and_then(|text| parse_retry_after(text, now));
        AttemptOutcome::Answered { status: self.status, retry_after }
    }
}

/// Logs a line if the attempt was not acknowledged.
pub(crate) fn log_failure(
    delivery: &Delivery,
    request: Option<&str>,
    attempt: &Attempt,
    state: DeliveryState,
) {
    let Some(error) = attempt.outcome.error_code() else { return };
    let status = match attempt.outcome {
        AttemptOutcome::Answered { status, .. } => Some(status),
        AttemptOutcome::Failed(_) => None,
    };
    tracing::info!(
        workspace = %delivery.slot.workspace,
        endpoint = %delivery.slot.endpoint,
        delivery = %delivery.id(),
        event = %delivery.event,
        request,
        attempt = attempt.number,
        took_ms = u64::try_from(attempt.took.as_millis()).unwrap_or(u64::MAX),
        error,
        status,
        state = state.as_str(),
        "attempt failed",
    );
}
