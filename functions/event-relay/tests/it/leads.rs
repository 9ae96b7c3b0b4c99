//! The stream records of leads.

use harness::{World, fixture};
use serde_json::{Value, json};

use crate::{ENDPOINT, Scene, record, stream_event};

const ACCEPTED: &str = "event-relay-lead-accepted.json";
const SENT: &str = "event-relay-lead-sent.json";
const LEAD: &str = "c7e9f1a3-5b7d-4e9f-8a1c-3e5d7f9b1a2c";

/// The record of a sent lead, changed to another state.
fn ended(state: &str) -> Value {
    let mut record = record(SENT);
    record["dynamodb"]["NewImage"]["stage"] = json!({ "S": state });
    record
}

fn visit() -> String {
    format!(r#"{{"lane":"lead","workspaceId":"{}","leadId":"{LEAD}"}}"#, World::WORKSPACE)
}

#[tokio::test]
async fn a_new_lead_becomes_an_event_and_is_queued() {
    let scene = Scene::with_endpoint().await;
    assert!(scene.relayed(&fixture(ACCEPTED)).await);
    let bodies = scene.bodies(ENDPOINT).await;
    assert_eq!(bodies.len(), 1);
    assert_eq!(
        (&bodies[0]["eventType"], &bodies[0]["entity"]),
        (&json!("lead.accepted"), &json!("lead_acceptances"))
    );
    assert_eq!(
        bodies[0]["payload"],
        json!({
            "requestId": LEAD,
            "state": "QUEUED",
            "contactId": null,
            "conversationId": null,
            "brandId": "brand",
            "landingUri": "https://www.example.com/engines?utm_source=newsletter",
            "utm": {"campaign": "autumn", "source": "newsletter"},
        })
    );
    let queued = scene.leads.take();
    assert_eq!(queued.len(), 1);
    assert_eq!((queued[0].body.clone(), queued[0].delay), (visit(), 0));
    assert_eq!(queued[0].group, World::WORKSPACE);
    assert!(scene.sends.take().is_empty(), "no conversation is queued for it");
}

#[tokio::test]
async fn a_lead_without_a_subscriber_is_queued_once_for_each_batch() {
    let scene = Scene::start().await;
    assert!(scene.relayed(&stream_event(&[record(ACCEPTED), record(ACCEPTED)])).await);
    assert_eq!(scene.leads.take().len(), 1);
}

#[tokio::test]
async fn only_a_final_state_of_a_lead_is_an_event() {
    let rows = [
        ("SENT", Some(("lead.sent", "lead_sends"))),
        ("FAILED", Some(("lead.failed", "lead_failures"))),
        ("UNKNOWN", Some(("lead.failed", "lead_failures"))),
        ("SUPPRESSED", Some(("lead.failed", "lead_failures"))),
        ("SENDING", None),
    ];
    for (state, expected) in rows {
        let scene = Scene::with_endpoint().await;
        assert!(scene.relayed(&stream_event(&[ended(state)])).await);
        let bodies = scene.bodies(ENDPOINT).await;
        let told: Vec<Value> = bodies.iter().map(|body| json!([body["eventType"], body["entity"]])).collect();
        let expected: Vec<Value> =
            expected.iter().map(|(event_type, entity)| json!([event_type, entity])).collect();
        assert_eq!(told, expected, "{state}");
        for body in bodies {
            assert_eq!(body["payload"]["state"], state);
            assert!(body["payload"]["contactId"].is_string(), "{body}");
            assert!(body["payload"]["conversationId"].is_string(), "{body}");
        }
        assert!(scene.leads.take().is_empty(), "{state}: the lead is not queued");
    }
}

#[tokio::test]
async fn a_lead_retried_by_an_operator_is_queued_and_is_no_event() {
    let scene = Scene::with_endpoint().await;
    assert!(scene.relayed(&stream_event(&[ended("QUEUED")])).await);
    assert_eq!(scene.leads.take()[0].body, visit());
    assert!(scene.nothing_happened().await);
}

#[tokio::test]
async fn leases_waits_and_claims_of_a_lead_are_ignored() {
    let scene = Scene::with_endpoint().await;
    for state in ["QUEUED", "SENDING", "SENT"] {
        let mut same = ended(state);
        let (new, old) = (same["dynamodb"]["NewImage"].clone(), &mut same["dynamodb"]["OldImage"]);
        *old = new;
        same["dynamodb"]["NewImage"]["lease"] = json!({ "S": "0d4c3f2e-1b0a-4f9e-8d7c-6b5a4f3e2d1c" });
        assert!(scene.relayed(&stream_event(&[same])).await);
        assert!(scene.leads.take().is_empty(), "{state}");
        assert!(scene.nothing_happened().await, "{state}");
    }
}

#[tokio::test]
async fn the_sweeper_queues_a_lead_that_the_relay_could_not_queue() {
    let scene = Scene::with_endpoint().await;
    scene.leads.close(true);
    assert!(scene.relayed(&fixture(ACCEPTED)).await, "its event is still recorded");
    assert_eq!(scene.bodies(ENDPOINT).await.len(), 1);
}
