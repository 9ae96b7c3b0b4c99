//! The stream records of subjects that were erased meanwhile.

use std::time::Duration;

use domain::{ContactId, ConversationId, Timestamp};
use harness::{Fault, fixture, trips};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::{ENDPOINT, Scene};

const CONTACT: &str = "8c2d4e6f-1a3b-4c5d-8e7f-9a0b1c2d3e4f";
const UPDATED: &str = "event-relay-contact-updated.json";
const ALWAYS: Timestamp = Timestamp::from_millis(9_999_999_999_999);

async fn mark(scene: &Scene, subject: &Uuid, before: Timestamp) {
    scene.world.db.store().mark_erased(scene.world.workspace, subject, before).await.unwrap();
}

#[tokio::test]
async fn an_event_of_an_erased_subject_is_recorded_without_its_data() {
    let scene = Scene::with_endpoint().await;
    let contact = ContactId::parse(CONTACT).unwrap();
    mark(&scene, contact.as_uuid(), ALWAYS).await;
    scene.world.db.forget_calls();
    assert!(scene.relayed(&fixture(UPDATED)).await);
    assert_eq!(trips(&scene.world.db.calls()), 6, "the mark is read together with the recorded events");
    let delivery = scene.deliveries(ENDPOINT).await.remove(0);
    let body: Value = serde_json::from_str(&scene.body(&delivery).await).unwrap();
    assert_eq!(
        body,
        json!({
            "eventId": delivery.event.to_string(),
            "eventType": "event.redacted",
            "entity": "event_redactions",
            "workspaceId": scene.world.workspace.to_string(),
            "timestamp": "2026-10-20T09:15:28Z",
            "payload": { "eventType": "contact.updated" },
        })
    );
    assert_eq!(delivery.event_type.as_str(), "contact.updated");
}

#[tokio::test]
async fn a_conversation_that_goes_on_is_silent_only_about_what_was_before() {
    let image = &fixture("event-relay-message-created.json")["Records"][0]["dynamodb"]["NewImage"];
    let conversation = ConversationId::parse(image["conversationId"]["S"].as_str().unwrap()).unwrap();
    let said_at = Timestamp::parse(image["updatedAt"]["S"].as_str().unwrap()).unwrap();
    for (before, expected) in
        [(said_at, "message.created"), (said_at.plus(Duration::from_millis(1)), "event.redacted")]
    {
        let scene = Scene::with_endpoint().await;
        mark(&scene, conversation.as_uuid(), before).await;
        assert!(scene.relayed(&fixture("event-relay-message-created.json")).await);
        assert_eq!(scene.bodies(ENDPOINT).await[0]["eventType"], expected);
    }
}

#[tokio::test]
async fn nothing_is_recorded_while_it_is_unknown_whether_the_subject_was_erased() {
    let scene = Scene::with_endpoint().await;
    scene.world.db.fail("GetItem", Fault::Throttled, 6);
    assert!(!scene.relayed(&fixture(UPDATED)).await);
    assert!(scene.deliveries(ENDPOINT).await.is_empty());
    scene.world.db.heal();
    assert!(scene.relayed(&fixture(UPDATED)).await);
    assert_eq!(scene.deliveries(ENDPOINT).await.len(), 1);
}

#[tokio::test]
async fn an_event_is_found_by_its_subject() {
    let scene = Scene::with_endpoint().await;
    let contact = ContactId::parse(CONTACT).unwrap();
    assert!(scene.relayed(&fixture(UPDATED)).await);
    let subjects = [*contact.as_uuid()].into();
    let found =
        scene.world.db.store().events_about(scene.world.workspace, &subjects, &[].into()).await.unwrap();
    let delivery = scene.deliveries(ENDPOINT).await.remove(0);
    let about = &found[contact.as_uuid()];
    assert_eq!((about.len(), about[0].event.id, about[0].deliveries), (1, delivery.event, 1));
}
