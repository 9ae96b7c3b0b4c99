//! Deliveries to webhook endpoints, their events, and jobs.

use std::time::Duration;

use admin::{DeliveryDetails, EventDetails, FoundDelivery};
use domain::webhook::signature;
use domain::{Attempt, AttemptOutcome, DeliveryId};
use serde::Serialize;

use super::webhooks::JobView;

/// A delivery. Its state is the one that people see: that of its endpoint counts.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DeliveryView {
    id: String,
    event_id: String,
    event_type: &'static str,
    endpoint_id: String,
    state: &'static str,
    because: Option<&'static str>,
    attempts: u32,
    last_status: Option<u16>,
    last_error: Option<&'static str>,
    due_at: Option<String>,
    created_at: String,
}

/// A delivery.
pub fn delivery((delivery, endpoint): &FoundDelivery) -> DeliveryView {
    let endpoint = endpoint.as_ref();
    let last = delivery.last.map(|(_, outcome)| outcome);
    DeliveryView {
        id: delivery.id().to_string(),
        event_id: delivery.event.to_string(),
        event_type: delivery.event_type.as_str(),
        endpoint_id: delivery.slot.endpoint.to_string(),
        state: delivery.shown(endpoint).as_str(),
        because: delivery.because(endpoint),
        attempts: delivery.attempts,
        last_status: last.and_then(status),
        last_error: last.and_then(AttemptOutcome::error_code),
        due_at: delivery.due_at(endpoint).map(|at| at.to_string()),
        created_at: delivery.created_at.to_string(),
    }
}

/// A page of deliveries.
#[derive(Debug, Serialize)]
pub struct DeliveriesView {
    /// The deliveries.
    pub deliveries: Vec<DeliveryView>,
    /// The cursor of the next page.
    pub cursor: Option<String>,
}

/// A header of the requests of a delivery.
#[derive(Debug, Serialize)]
pub struct HeaderView {
    name: &'static str,
    value: Option<String>,
}

/// An attempt.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AttemptView {
    number: u32,
    at: String,
    took_ms: u64,
    status: Option<u16>,
    error: Option<&'static str>,
    retry_after_ms: Option<u64>,
    answer: String,
}

/// A delivery with its attempts.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DeliveryDetailsView {
    #[serde(flatten)]
    delivery: DeliveryView,
    url: Option<String>,
    headers: Vec<HeaderView>,
    attempt_log: Vec<AttemptView>,
}

/// A delivery with its attempts. `url` is that of the endpoint at present. A header without a value is a secret, or made anew by
/// each attempt.
pub fn delivery_details(details: &DeliveryDetails) -> DeliveryDetailsView {
    let (of, endpoint) = &details.found;
    let content_type = ("content-type", Some("application/json".to_owned()));
    let headers = [content_type].into_iter().chain(signature::shown(of.event));
    DeliveryDetailsView {
        url: endpoint.as_ref().map(|endpoint| endpoint.url.as_str().to_owned()),
        delivery: delivery(&details.found),
        headers: headers.map(|(name, value)| HeaderView { name, value }).collect(),
        attempt_log: details.attempts.iter().map(attempt).collect(),
    }
}

fn attempt(attempt: &Attempt) -> AttemptView {
    let retry_after = match attempt.outcome {
        AttemptOutcome::Answered { retry_after, .. } => retry_after,
        AttemptOutcome::Failed(_) => None,
    };
    AttemptView {
        number: attempt.number,
        at: attempt.at.to_string(),
        took_ms: millis(attempt.took),
        status: status(attempt.outcome),
        error: attempt.outcome.error_code(),
        retry_after_ms: retry_after.map(millis),
        answer: String::from_utf8_lossy(&attempt.answer).into_owned(),
    }
}

fn status(outcome: AttemptOutcome) -> Option<u16> {
    match outcome {
        AttemptOutcome::Answered { status, .. } => Some(status),
        AttemptOutcome::Failed(_) => None,
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// The jobs of an endpoint.
#[derive(Debug, Serialize)]
pub struct JobsView {
    /// The jobs.
    pub jobs: Vec<JobView>,
}

/// A test event that was sent.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SentTestView {
    event_id: String,
    delivery_id: String,
}

/// A test event that was sent.
pub fn sent_test(delivery: DeliveryId) -> SentTestView {
    SentTestView { event_id: delivery.event.to_string(), delivery_id: delivery.to_string() }
}

/// A recorded event.
#[derive(Debug, Serialize)]
pub struct RecordedEventView<'a> {
    id: String,
    #[serde(rename = "type")]
    event_type: &'static str,
    at: String,
    deliveries: Vec<DeliveryView>,
    body: Option<&'a str>,
}

/// An event by its deliveries, at least one.
pub fn event<'a>(deliveries: &[FoundDelivery], body: Option<&'a str>) -> RecordedEventView<'a> {
    let (first, _) = &deliveries[0];
    RecordedEventView {
        id: first.event.to_string(),
        event_type: first.event_type.as_str(),
        at: first.created_at.to_string(),
        deliveries: deliveries.iter().map(delivery).collect(),
        body,
    }
}

/// A page of events.
#[derive(Debug, Serialize)]
pub struct EventsView<'a> {
    /// The events.
    pub events: Vec<RecordedEventView<'a>>,
    /// The cursor of the next page.
    pub cursor: Option<String>,
}

/// A recorded event with the request that made it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct EventDetailsView<'a> {
    #[serde(flatten)]
    event: RecordedEventView<'a>,
    request_id: Option<&'a str>,
}

/// A recorded event with its body, as it is signed.
pub fn event_details<'a>(details: &'a EventDetails, body: &'a str) -> EventDetailsView<'a> {
    let event = &details.event;
    EventDetailsView {
        event: RecordedEventView {
            id: event.id.to_string(),
            event_type: event.event_type.as_str(),
            at: event.at.to_string(),
            deliveries: details.deliveries.iter().map(delivery).collect(),
            body: Some(body),
        },
        request_id: event.request.as_deref(),
    }
}
