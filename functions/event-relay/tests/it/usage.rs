//! What the relay counts.

use std::collections::BTreeMap;

use domain::usage::{Span, Step};
use domain::{Timestamp, WorkspaceId};
use harness::{Fault, World, fixture};

use crate::lanes::many;
use crate::{ENDPOINT, Scene, stream_event};

/// The day of the records in `events/`.
fn day() -> Span {
    let at = |text| Timestamp::parse(text).unwrap();
    Span { from: at("2026-10-20T00:00:00Z"), to: at("2026-10-21T00:00:00Z"), step: Step::Day }
}

impl Scene {
    async fn usage_of(&self, workspace: WorkspaceId) -> BTreeMap<String, u64> {
        self.world.db.store().usage(workspace, day()).await.unwrap().remove(0).counts
    }

    async fn usage(&self) -> BTreeMap<String, u64> {
        self.usage_of(self.world.workspace).await
    }
}

fn counts(of: &[(&str, u64)]) -> BTreeMap<String, u64> {
    of.iter().map(|(name, number)| ((*name).to_owned(), *number)).collect()
}

#[tokio::test]
async fn changes_count_under_their_type_and_direction_whether_an_endpoint_wants_them_or_not() {
    let scene = Scene::start().await;
    scene.endpoint(ENDPOINT, &["contact.created"]).await;
    for file in ["message-created", "message-updated", "contact-updated", "conversation-released"] {
        assert!(scene.relayed(&fixture(&format!("event-relay-{file}.json"))).await, "{file}");
    }
    let expected = counts(&[
        ("contact.updated", 1),
        ("conversation.updated", 1),
        ("conversation_summary.created", 1),
        ("message.created.outbound", 1),
        ("message.updated.outbound", 1),
    ]);
    assert_eq!(scene.usage().await, expected);
    assert_eq!(scene.deliveries(ENDPOINT).await.len(), 0);
    assert!(scene.relayed(&many(0..40)).await);
    assert_eq!(scene.deliveries(ENDPOINT).await.len(), 40);
    assert_eq!(scene.usage().await["contact.created"], 40);
}

#[tokio::test]
async fn a_change_counts_in_its_own_workspace_and_hour() {
    let scene = Scene::start().await;
    let other = scene.world.second_workspace().await.0;
    let mut foreign = fixture("event-relay-contact-updated.json").to_string();
    foreign = foreign.replace(World::WORKSPACE, &other.to_string());
    let mut records = many(0..1)["Records"].as_array().unwrap().clone();
    let foreign: serde_json::Value = serde_json::from_str(&foreign).unwrap();
    records.push(foreign["Records"][0].clone());
    assert!(scene.relayed(&stream_event(&records)).await);
    assert_eq!(scene.usage().await, counts(&[("contact.created", 1)]));
    assert_eq!(scene.usage_of(other).await, counts(&[("contact.updated", 1)]));
}

#[tokio::test]
async fn a_change_that_fails_counts_when_it_is_relayed() {
    let scene = Scene::with_endpoint().await;
    for lookup in ["BatchGetItem", "GetItem"] {
        scene.world.db.fail(lookup, Fault::Throttled, 3);
    }
    assert!(!scene.relayed(&many(0..3)).await);
    scene.world.db.heal();
    assert_eq!(scene.usage().await, counts(&[]));
    assert!(scene.relayed(&many(0..3)).await);
    assert_eq!(scene.usage().await, counts(&[("contact.created", 3)]));
}

#[tokio::test]
async fn usage_that_cannot_be_written_fails_no_record() {
    let scene = Scene::start().await;
    scene.world.db.fail("UpdateItem", Fault::Throttled, 3);
    assert!(scene.relayed(&many(0..3)).await);
    scene.world.db.heal();
    assert_eq!(scene.usage().await, counts(&[]));
}
