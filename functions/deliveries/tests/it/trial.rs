//! POST /webhook-endpoints/{endpointId}/test.

use std::time::Duration;

use domain::webhook::DisabledReason;
use domain::{DeliveryId, EndpointId};
use harness::{Answer, Death};
use serde_json::json;

use crate::{Log, code};

impl Log {
    async fn try_out(&self, id: EndpointId) -> Answer {
        self.send(self.event("test").path("endpointId", id)).await
    }
}

#[tokio::test]
async fn a_test_event_is_recorded_with_its_delivery_and_wakes_the_lane() {
    let f = Log::start().await;
    let endpoint = f.endpoint().await;
    let sent = f.try_out(endpoint.id).await;
    assert_eq!((sent.status, f.queued()), (201, vec!["fast".to_owned()]), "{}", sent.text);
    let id = DeliveryId::parse(sent.json["deliveryId"].as_str().unwrap()).unwrap();
    assert_eq!(sent.json, json!({"eventId": id.event.to_string(), "deliveryId": id.to_string()}));
    let store = f.world.db.store();
    let event = store.recorded_event(f.world.workspace, id.event).await.unwrap().unwrap();
    let body: serde_json::Value = serde_json::from_slice(&event.body).unwrap();
    assert_eq!(body["payload"], json!({"endpointId": endpoint.id.to_string()}));
    let due = store.webhook_lane_due(endpoint.all_slots().next().unwrap()).await.unwrap();
    assert_eq!(due, Some(f.now().plus(Duration::from_secs(120))), "the sweeper comes if the message is lost");
    assert_eq!(f.audit().await, [("webhook_endpoint.test".to_owned(), endpoint.id.to_string())]);
    assert_ne!(
        f.try_out(endpoint.id).await.json["eventId"],
        sent.json["eventId"],
        "a repeat sends another one"
    );
}

#[tokio::test]
async fn a_disabled_endpoint_gets_no_test_event() {
    let f = Log::start().await;
    let now = f.now();
    let disable = |endpoint: &mut domain::WebhookEndpoint| {
        *endpoint = endpoint.disabled(DisabledReason::Gone, now).unwrap();
    };
    let id = f.world.endpoint_of(f.world.workspace, disable).await.id;
    let refused = f.try_out(id).await;
    assert_eq!(
        (code(&refused), &refused.json["extra"]),
        ((409, "SERVICE_WEBHOOK_0409"), &json!({"reason": "DISABLED"}))
    );
    assert_eq!((f.audit().await, f.queued()), (vec![], vec![]));
}

#[tokio::test]
async fn a_test_event_its_delivery_and_its_entry_are_recorded_together() {
    for calls in 0..8 {
        for death in [Death::Before, Death::After] {
            let f = Log::start().await;
            let endpoint = f.endpoint().await;
            let dead = f.world.db.die_after(calls, death);
            tokio::select! {
                _ = f.try_out(endpoint.id) => {}
                _ = dead => {}
            }
            f.world.db.revive();
            let listed = f.list("list", &[]).await.json["deliveries"].as_array().unwrap().len();
            assert_eq!(f.audit().await.len(), listed, "{calls} {death:?}");
        }
    }
}
