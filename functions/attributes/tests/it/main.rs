//! In-process tests of the attributes function: the real handler, a real SDK client and an embedded DynamoDB.

#![allow(clippy::unwrap_used)] // also in the test helpers

mod capture;
mod changes;
mod keywords;
mod lines;

use std::sync::atomic::{AtomicU8, Ordering};

use attributes::Capturing;
use domain::secret::Randomness;
use domain::{AttributeDefinition, AttributeType};
use edge::{Api, ApiRequest};
use harness::{Answer, GatewayEvent, World, trips};
use runtime::metrics::ApiFunction;
use serde_json::{Value, json};

mod onboarding;
mod routes;
mod usage;

struct Attributes {
    world: World,
    api: Api,
    random: Counted,
}

/// Bytes that count up.
#[derive(Default)]
struct Counted(AtomicU8);

impl Randomness for Counted {
    fn fill(&self, bytes: &mut [u8]) {
        for byte in bytes {
            *byte = self.0.fetch_add(1, Ordering::SeqCst);
        }
    }
}

impl Attributes {
    /// A function with a workspace that has one attribute of each kind, one of them archived.
    async fn start() -> Self {
        let world = World::start().await;
        let now = world.db.store().now();
        world.open_attribute("tier", AttributeType::Text, |_| ()).await;
        world.open_attribute("age", AttributeType::Number, |definition| definition.is_required = true).await;
        world.closed_attribute("plan", &["free", "paid"], |definition| definition.is_required = true).await;
        world.closed_attribute("gone", &["x"], |definition| definition.deleted_at = Some(now)).await;
        Self { api: world.api(ApiFunction::Attributes), random: Counted::default(), world }
    }

    async fn send(&self, event: GatewayEvent) -> Answer {
        let capturing = Capturing { url: "https://capture.example.com", random: &self.random };
        attributes::handle(&self.api, &capturing, &ApiRequest::new(event.request())).await.into()
    }

    /// The entries of the audit log by keys, oldest first: action, subject and fields.
    async fn audit(&self) -> Vec<(String, String, Vec<String>)> {
        let mut entries = self.world.audited().await;
        entries.reverse();
        entries
    }

    async fn list(&self, query: &[(&str, &str)]) -> Answer {
        self.send(self.world.event("attributes-list.json").query(query).request_id("r")).await
    }

    async fn names(&self, query: &[(&str, &str)]) -> Vec<String> {
        let answer = self.list(query).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        let list = answer.json["customAttributes"].as_array().unwrap();
        list.iter().map(|attribute| attribute["keyName"].as_str().unwrap().to_owned()).collect()
    }
}

#[tokio::test]
async fn definitions_are_answered_with_every_documented_field() {
    let f = Attributes::start().await;
    let definitions = f.world.db.store().definitions(f.world.workspace).await.unwrap();
    let plan: &AttributeDefinition =
        definitions.iter().find(|definition| definition.key_name == "plan").unwrap();
    let gone = definitions.iter().find(|definition| definition.key_name == "gone").unwrap();
    let answer = f.list(&[("category", "CLOSED"), ("includeArchived", "true")]).await;
    let shown = |definition: &AttributeDefinition, deleted: Value| {
        let values: Vec<Value> = definition
            .closed_values
            .iter()
            .map(|value| json!({"id": value.id.to_string(), "value": value.value}))
            .collect();
        json!({
            "id": definition.id.to_string(),
            "category": "CLOSED",
            "isRequired": definition.is_required,
            "keyName": definition.key_name,
            "type": "TEXT",
            "closedAttributesValues": values,
            "deletedAt": deleted,
        })
    };
    let expected = [shown(plan, Value::Null), shown(gone, json!("2026-01-02T03:04:05.678Z"))];
    assert_eq!(answer.json, json!({"customAttributes": expected}));
    assert_eq!(answer.headers["x-request-id"], "r");
}

#[tokio::test]
async fn filters_limit_the_list_and_archived_attributes_are_shown_on_request() {
    let f = Attributes::start().await;
    assert_eq!(f.names(&[]).await, ["tier", "age", "plan"]);
    assert_eq!(f.names(&[("includeArchived", "false")]).await, ["tier", "age", "plan"]);
    assert_eq!(f.names(&[("includeArchived", "true")]).await, ["tier", "age", "plan", "gone"]);
    assert_eq!(f.names(&[("category", "OPEN")]).await, ["tier", "age"]);
    assert_eq!(f.names(&[("category", "CLOSED")]).await, ["plan"]);
    assert_eq!(f.names(&[("isRequired", "true")]).await, ["age", "plan"]);
    assert_eq!(f.names(&[("isRequired", "false")]).await, ["tier"]);
    assert_eq!(
        f.names(&[("isRequired", "false"), ("includeArchived", "true"), ("category", "CLOSED")]).await,
        ["gone"]
    );
}

#[tokio::test]
async fn an_attribute_to_be_archived_in_the_future_is_active_until_then() {
    let f = Attributes::start().await;
    let soon = f.world.db.store().now().plus(std::time::Duration::from_secs(60));
    f.world
        .open_attribute("soon", AttributeType::Date, |definition| definition.deleted_at = Some(soon))
        .await;
    assert!(f.names(&[]).await.contains(&"soon".to_owned()));
    f.world.db.clock().set(soon);
    assert!(!f.names(&[]).await.contains(&"soon".to_owned()));
}

#[tokio::test]
async fn all_invalid_parameters_are_reported_together() {
    let f = Attributes::start().await;
    let answer =
        f.list(&[("category", "open"), ("includeArchived", "1"), ("isRequired", ""), ("type", "TEXT")]).await;
    assert_eq!(answer.status, 422);
    let failures = [
        ("query.type", "extra_forbidden"),
        ("query.category", "enum"),
        ("query.includeArchived", "bool_parsing"),
        ("query.isRequired", "bool_parsing"),
    ];
    assert_eq!(answer.failures(), failures.map(|(place, kind)| (place.to_owned(), kind.to_owned())));
    assert_eq!(
        answer.json["detail"][0]["ctx"],
        json!({"allowed": ["category", "includeArchived", "isRequired"]})
    );
}

#[tokio::test]
async fn a_workspace_without_definitions_has_an_empty_list() {
    let f = Attributes::start().await;
    let (other, key) = f.world.second_workspace().await;
    let event =
        f.world.event("attributes-list.json").query(&[]).path("workspaceId", other).header("x-api-key", &key);
    let answer = f.send(event).await;
    assert_eq!((answer.status, answer.json), (200, json!({"customAttributes": []})));
}

#[tokio::test]
async fn the_scope_is_settings_read() {
    let f = Attributes::start().await;
    for (scope, status) in [("settings:read", 200), ("contacts:read", 403)] {
        let key = f.world.key_with(f.world.workspace, &[scope], |_| ()).await;
        let event = f.world.event("attributes-list.json").query(&[]).header("x-api-key", &key);
        assert_eq!(f.send(event).await.status, status, "{scope}");
    }
}

#[tokio::test]
async fn a_warm_list_is_one_round_trip() {
    let f = Attributes::start().await;
    for n in 0..100 {
        f.world.open_attribute(&format!("key{n}"), AttributeType::Text, |_| ()).await;
    }
    f.world.db.clock().advance(std::time::Duration::from_secs(30));
    f.list(&[]).await;
    f.world.db.forget_calls();
    assert_eq!(f.list(&[]).await.json["customAttributes"].as_array().unwrap().len(), 103);
    let calls = f.world.db.calls();
    assert_eq!((calls.len(), trips(&calls)), (2, 1), "the version and the limiter at the same time");
    let read: f64 = calls.iter().map(|call| call.read_units).sum();
    assert_eq!(read, 1.0, "a hundred definitions that stay cost nothing");
}

#[tokio::test]
async fn the_event_file_is_a_request_that_succeeds_and_other_methods_are_not_found() {
    let f = Attributes::start().await;
    let event = f.world.event("attributes-list.json");
    assert_eq!(f.send(event.clone()).await.status, 200);
    let answer = f.send(event.method("DELETE")).await;
    assert_eq!((answer.status, answer.json["code"].as_str()), (404, Some("SERVICE_CORE_0404")));
}

fn code(answer: &Answer) -> (u16, &str) {
    (answer.status, answer.json["code"].as_str().unwrap_or_default())
}
