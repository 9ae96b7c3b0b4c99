//! GET /deliveries/{deliveryId}.

use std::time::Duration;

use domain::webhook::delivery::Next;
use domain::{AttemptError, AttemptOutcome, EventType};
use harness::trips;
use serde_json::json;

use crate::{Log, delivery_of, null};

#[tokio::test]
async fn a_delivery_is_shown_with_its_attempts_and_without_its_secrets() {
    let f = Log::start().await;
    let endpoint = f.endpoint().await;
    let id = delivery_of(f.record(EventType::LeadSent, &[&endpoint]).await, &endpoint);
    let again = f.now().plus(Duration::from_secs(60));
    let slow = AttemptOutcome::Answered { status: 503, retry_after: Some(Duration::from_secs(60)) };
    f.attempted(id, slow, Next::Again { at: again }).await;
    f.pass(5);
    f.attempted(id, AttemptOutcome::Failed(AttemptError::Timeout), Next::Again { at: again }).await;
    let answer = f.send(f.event("get").path("deliveryId", id)).await;
    let hidden = |name: &str| json!({"name": name, "value": null});
    let expected = json!({
        "id": id.to_string(),
        "eventId": id.event.to_string(),
        "eventType": "lead.sent",
        "endpointId": endpoint.id.to_string(),
        "state": "PENDING",
        "because": null,
        "attempts": 2,
        "lastStatus": null,
        "lastError": "TIMEOUT",
        "dueAt": "2026-01-02T03:05:05.678Z",
        "createdAt": "2026-01-02T03:04:05.678Z",
        "url": "https://hooks.example.com/in",
        "headers": [
            {"name": "content-type", "value": "application/json"},
            hidden("x-service-api-key"),
            hidden("x-service-signature"),
            hidden("x-service-timestamp"),
            {"name": "webhook-id", "value": id.event.to_string()},
            hidden("webhook-timestamp"),
            hidden("webhook-signature"),
        ],
        "attemptLog": [
            {
                "number": 1, "at": "2026-01-02T03:04:05.678Z", "tookMs": 31, "status": 503, "error": "HTTP_STATUS",
                "retryAfterMs": 60_000, "answer": "come back\nlater",
            },
            {
                "number": 2, "at": "2026-01-02T03:04:10.678Z", "tookMs": 31, "status": null, "error": "TIMEOUT",
                "retryAfterMs": null, "answer": "come back\nlater",
            },
        ],
    });
    assert_eq!(answer.json, expected);
    assert!(!answer.text.contains("customer-key") && !answer.text.contains("whsec_"));
    assert!(!answer.text.contains(r#"{\"n\""#), "no body of the event");
}

#[tokio::test]
async fn a_delivery_to_a_deleted_endpoint_has_no_url() {
    let f = Log::start().await;
    let endpoint = f.endpoint().await;
    let id = delivery_of(f.record(EventType::LeadSent, &[&endpoint]).await, &endpoint);
    assert!(f.world.db.store().delete_endpoint(&endpoint, harness::operator()).await.unwrap());
    let shown = f.send(f.event("get").path("deliveryId", id)).await.json;
    assert_eq!(
        (&shown["url"], &shown["because"], &shown["attemptLog"]),
        (&null(), &json!("ENDPOINT_DELETED"), &json!([]))
    );
}

#[tokio::test]
async fn a_delivery_takes_two_round_trips() {
    let f = Log::start().await;
    let endpoint = f.endpoint().await;
    let id = delivery_of(f.record(EventType::LeadSent, &[&endpoint]).await, &endpoint);
    f.send(f.event("get").path("deliveryId", id)).await;
    f.world.db.forget_calls();
    f.send(f.event("get").path("deliveryId", id)).await;
    let made = f.world.db.calls();
    assert_eq!((made.len(), trips(&made)), (5, 2), "with the limiter");
}
