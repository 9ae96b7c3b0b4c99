//! The stream records of webhook endpoints.

use std::time::Duration;

use domain::WebhookEndpoint;
use domain::webhook::DisabledReason;
use serde_json::{Value, json};
use store::Table;

use crate::{ENDPOINT, OTHER, Scene};

/// The types and payloads of the events that an endpoint gets about endpoints, oldest first.
async fn told(scene: &Scene, endpoint: &str) -> Vec<(Value, Value)> {
    let records = scene.world.db.stream(Table::Workspaces);
    assert!(scene.relayed(&records).await && scene.relayed(&records).await);
    let mut bodies = scene.bodies(endpoint).await;
    bodies.reverse();
    bodies.into_iter().map(|body| (body["eventType"].clone(), body["payload"].clone())).collect()
}

async fn write(scene: &Scene, next: Option<WebhookEndpoint>) -> WebhookEndpoint {
    let next = next.unwrap();
    assert!(scene.world.db.store().replace_endpoint(&next).await.unwrap());
    next
}

#[tokio::test]
async fn the_other_endpoints_are_told_that_one_is_disabled_and_it_is_not() {
    for (reason, word) in [
        (DisabledReason::Gone, "GONE"),
        (DisabledReason::Failing, "FAILING"),
        (DisabledReason::Operator, "OPERATOR"),
    ] {
        let scene = Scene::with_endpoint().await;
        let other = scene.endpoint(OTHER, &[]).await;
        let disabled = write(&scene, other.disabled(reason, scene.world.db.store().now())).await;
        let expected = json!({
            "endpointId": OTHER,
            "url": "https://hooks.example.com/in",
            "reason": word,
            "since": "2026-01-02T03:04:05.678Z",
            "parkedUntil": "2026-01-16T03:04:05.678Z",
        });
        assert_eq!(told(&scene, ENDPOINT).await, [(json!("webhook.endpoint_disabled"), expected)]);
        // A change of a disabled endpoint and its enabling are no events.
        let changed = WebhookEndpoint { slots: 2, version: disabled.version + 1, ..disabled };
        let changed = write(&scene, Some(changed)).await;
        write(&scene, changed.enabled(scene.world.db.store().now())).await;
        assert_eq!(told(&scene, ENDPOINT).await.len(), 1);
        assert!(told(&scene, OTHER).await.is_empty());
    }
}

#[tokio::test]
async fn the_other_endpoints_are_told_once_that_one_fails() {
    let scene = Scene::with_endpoint().await;
    let other = scene.endpoint(OTHER, &[]).await;
    let since = scene.world.db.store().now();
    scene.world.db.clock().advance(Duration::from_hours(60));
    let failing = write(&scene, other.reported_failing(since)).await;
    // Another slot succeeds, and the one that fails reports the same failure again.
    let recovered = write(&scene, failing.recovered()).await;
    let failing = write(&scene, recovered.reported_failing(since)).await;
    let expected = json!({
        "endpointId": OTHER,
        "url": "https://hooks.example.com/in",
        "failingSince": "2026-01-02T03:04:05.678Z",
        "disabledAt": "2026-01-07T03:04:05.678Z",
    });
    assert_eq!(told(&scene, ENDPOINT).await, [(json!("webhook.endpoint_failing"), expected)]);
    // The next failure is another event.
    let recovered = write(&scene, failing.recovered()).await;
    write(&scene, recovered.reported_failing(scene.world.db.store().now())).await;
    assert_eq!(told(&scene, ENDPOINT).await.len(), 2);
    assert!(told(&scene, OTHER).await.is_empty());
}
