//! GET /webhook-endpoints and GET /webhook-endpoints/{endpointId}.

use std::time::Duration;

use domain::{EndpointCaps, EventFilter, LaneId, Rest};
use harness::trips;
use serde_json::json;
use store::Lease;

use crate::Endpoints;

#[tokio::test]
async fn an_endpoint_is_shown_with_every_documented_field_and_without_its_secrets() {
    let f = Endpoints::start().await;
    let endpoint = f
        .world
        .endpoint_of(f.world.workspace, |endpoint| {
            endpoint.description = Some("orders".to_owned());
            endpoint.filter = EventFilter::parse(["lead.sent", "contact.created"]).unwrap();
            endpoint.caps = EndpointCaps { concurrency: None, per_second: Some(20) };
            endpoint.slots = 2;
        })
        .await;
    let mut expected = json!({
        "id": endpoint.id.to_string(),
        "type": "HTTP",
        "url": "https://hooks.example.com/in",
        "description": "orders",
        "state": "ENABLED",
        "disabledAt": null,
        "disabledReason": null,
        "events": ["contact.created", "lead.sent"],
        "maxConcurrency": null,
        "maxPerSecond": 20,
        "slots": 2,
        "createdAt": "2026-01-02T03:04:05.678Z",
    });
    let list = f.send(f.world.event("endpoints-list.json")).await;
    assert_eq!(list.json, json!({"webhookEndpoints": [expected.clone()]}));
    let one = f.send(f.of("get", endpoint.id)).await;
    expected["health"] = json!({"width": 32, "openUntil": null, "slowUntil": null, "failingSince": null});
    expected["rotation"] = json!({"nextSecretSigns": false, "previousSignsUntil": null});
    assert_eq!(one.json, expected);
    for answer in [list, one] {
        assert!(!answer.text.contains("customer-key") && !answer.text.contains("whsec_"));
    }
}

#[tokio::test]
async fn how_an_endpoint_responds_is_shown_and_does_not_change_its_tag() {
    let f = Endpoints::start().await;
    let endpoint = f.endpoint().await;
    let before = f.send(f.of("get", endpoint.id)).await;
    let (store, slot) = (f.world.db.store(), endpoint.all_slots().next().unwrap());
    let until = store.now().plus(Duration::from_secs(60));
    let place = domain::HomeKey::of_moment(store.now());
    store.notify_webhook_lane(slot, place, Duration::ZERO).await.unwrap();
    let taken = store.lease_lane(LaneId::Webhook(slot), Duration::from_secs(90)).await.unwrap();
    let Lease::Taken(mut leased) = taken else { panic!("{taken:?}") };
    let lane = leased.webhook().unwrap();
    (lane.pace.width, lane.pace.open_until) = (3, Some(until));
    store.release_lane(&leased, Rest::Done, Duration::from_secs(120)).await.unwrap();
    f.send(f.of("rotate-secret", endpoint.id)).await;
    let after = f.send(f.of("get", endpoint.id)).await;
    assert_eq!(
        (&after.json["health"]["width"], &after.json["rotation"]["nextSecretSigns"]),
        (&json!(3), &json!(true))
    );
    assert_eq!(after.json["health"]["openUntil"], json!(until.to_string()));
    assert_eq!(after.headers["etag"], before.headers["etag"]);
    f.world.db.clock().advance(Duration::from_secs(60));
    assert_eq!(f.send(f.of("get", endpoint.id)).await.json["health"]["openUntil"], json!(null), "it is over");
}

#[tokio::test]
async fn endpoints_are_listed_oldest_first_and_none_is_an_empty_list() {
    let f = Endpoints::start().await;
    let list = async || f.send(f.world.event("endpoints-list.json")).await;
    assert_eq!(list().await.text, r#"{"webhookEndpoints":[]}"#);
    let mut made = vec![];
    for _ in 0..3 {
        f.world.db.clock().advance(Duration::from_secs(1));
        made.push(json!(f.endpoint().await.id.to_string()));
    }
    let shown = list().await.json;
    let ids: Vec<_> =
        shown["webhookEndpoints"].as_array().unwrap().iter().map(|one| one["id"].clone()).collect();
    assert_eq!(ids, made);
}

#[tokio::test]
async fn a_list_takes_one_round_trip_and_an_endpoint_two() {
    let f = Endpoints::start().await;
    let id = f.endpoint().await.id;
    for (event, calls, expected) in [(f.world.event("endpoints-list.json"), 2, 1), (f.of("get", id), 4, 2)] {
        f.send(event.clone()).await;
        f.world.db.forget_calls();
        f.send(event).await;
        let made = f.world.db.calls();
        assert_eq!((made.len(), trips(&made)), (calls, expected), "with the limiter");
    }
}
