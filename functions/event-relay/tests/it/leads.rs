//! The stream records of leads.

use std::time::Duration;

use domain::{LaneId, Lead, LeadState};
use harness::{Fault, World, fixture};
use serde_json::{Value, json};
use store::{Lease, LeasedLead, Table};

use crate::{ENDPOINT, Scene, record, stream_event};

const ACCEPTED: &str = "event-relay-lead-accepted.json";
const SENT: &str = "event-relay-lead-sent.json";
const FIRST_DUE: Duration = Duration::from_secs(120);
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
            "cellphone": "+34600111333",
            "name": "Ada Lovelace",
            "error": null,
            "errorInWords": null,
            "errorDetail": null,
            "contactId": null,
            "conversationId": null,
            "messageId": null,
            "brandId": "brand",
            "landingUri": "https://www.example.com/engines?utm_source=newsletter",
            "utm": {"campaign": "autumn", "source": "newsletter"},
            "consent": {
                "status": "GRANTED",
                "text": null,
                "capturedAt": "2026-10-20T09:15:20.000Z",
                "receivedAt": "2026-10-20T09:15:28.123Z",
            },
            "createdAt": "2026-10-20T09:15:28.123Z",
            "updatedAt": "2026-10-20T09:15:28.123Z",
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

/// The records of a lead's message: new, and after each change of its part.
async fn message_of(scene: &Scene) -> (Lead, Vec<Value>) {
    scene.world.line("1045551234567", |_| ()).await;
    let lead = scene.world.lead("+12025550101", |_| ()).await;
    let (next, opening) = scene.world.opening(&lead, None).await;
    let store = scene.world.db.store();
    let lane = LaneId::Lead(lead.workspace_id, lead.id);
    let Lease::Taken(leased) = store.lease_lane(lane, FIRST_DUE).await.unwrap() else { panic!("it is free") };
    let leased = LeasedLead::of(&leased).unwrap();
    store.open_lead(&leased, &next, &opening, FIRST_DUE, FIRST_DUE).await.unwrap();
    let image = scene.world.db.rows_from(Table::Messages, "M#").remove(0);
    let statuses = [
        ("QUEUED", None),
        ("SENDING", None),
        ("SENT", None),
        ("DELIVERED", None),
        ("FAILED", Some("131026")),
    ];
    let images: Vec<Value> = statuses
        .into_iter()
        .enumerate()
        .map(|(number, (status, error))| {
            let mut image = image.clone();
            image["version"] = json!({ "N": (number + 1).to_string() });
            let part = &mut image["parts"]["L"][0]["M"];
            part["status"] = json!({ "S": status });
            if let Some(error) = error {
                part["error"] = json!({ "S": error });
            }
            image
        })
        .collect();
    let mut records = vec![record("event-relay-message-created.json")];
    records[0]["dynamodb"]["NewImage"] = images[0].clone();
    for pair in images.windows(2) {
        let mut changed = record("event-relay-message-updated.json");
        changed["dynamodb"]["OldImage"] = pair[0].clone();
        changed["dynamodb"]["NewImage"] = pair[1].clone();
        records.push(changed);
    }
    (next, records)
}

impl Scene {
    async fn state_of(&self, lead: &Lead) -> (LeadState, u64) {
        let lead = self.world.db.store().lead(lead.workspace_id, lead.id).await.unwrap().unwrap();
        (lead.state, lead.version)
    }
}

#[tokio::test]
async fn a_lead_follows_its_message_in_one_write_for_each_state() {
    let scene = Scene::start().await;
    let (lead, records) = message_of(&scene).await;
    scene.sends.take();
    let expected = [
        ("new", LeadState::Sending, 2, 0),
        ("begun", LeadState::Sending, 2, 0),
        ("sent", LeadState::Sent, 3, 1),
        ("delivered", LeadState::Sent, 3, 0),
        ("failed after all", LeadState::Failed, 4, 1),
    ];
    for (record, (case, state, version, writes)) in records.iter().zip(expected) {
        scene.world.db.forget_calls();
        assert!(scene.relayed(&stream_event(std::slice::from_ref(record))).await, "{case}");
        assert_eq!(scene.state_of(&lead).await, (state, version), "{case}");
        let calls = scene.world.db.calls();
        let of_leads =
            calls.iter().filter(|call| call.operation == "UpdateItem" && call.table == "test-leads");
        assert_eq!(of_leads.count(), writes, "{case}");
        // The message is sent like every template.
        let queued = scene.sends.take();
        assert_eq!(queued.len(), usize::from(case == "new"), "{case}");
    }
    // The records come again.
    assert!(scene.relayed(&stream_event(&records)).await);
    assert_eq!(scene.state_of(&lead).await, (LeadState::Failed, 4));
}

#[tokio::test]
async fn a_record_whose_lead_cannot_be_written_comes_again() {
    let scene = Scene::start().await;
    let (lead, records) = message_of(&scene).await;
    scene.world.db.fail("UpdateItem", Fault::Throttled, 10_000);
    assert!(!scene.relayed(&stream_event(&records[2..3])).await);
    scene.world.db.heal();
    assert_eq!(scene.state_of(&lead).await, (LeadState::Sending, 2));
    assert!(scene.relayed(&stream_event(&records[2..3])).await);
    assert_eq!(scene.state_of(&lead).await, (LeadState::Sent, 3));
}
