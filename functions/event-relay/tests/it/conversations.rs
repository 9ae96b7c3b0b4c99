//! The stream records of conversations.

use domain::{ConversationId, EventType, WorkspaceId};
use harness::{World, fixture, trips};
use serde_json::json;

use crate::{ENDPOINT, Scene, record, stream_event};

const CREATED: &str = "event-relay-conversation-created.json";
const RELEASED: &str = "event-relay-conversation-released.json";

#[tokio::test]
async fn rows_that_expire_make_no_events_and_a_ttl_makes_no_difference_to_the_others() {
    let scene = Scene::with_endpoint().await;
    for name in [CREATED, "event-relay-message-created.json", "event-relay-lead-accepted.json"] {
        let mut expired = fixture(name);
        let record = &mut expired["Records"][0];
        record["eventName"] = json!("REMOVE");
        record["userIdentity"] = json!({"type": "Service", "principalId": "dynamodb.amazonaws.com"});
        let change = record["dynamodb"].as_object_mut().unwrap();
        let image = change.remove("NewImage").unwrap();
        change.insert("OldImage".to_owned(), image);
        assert!(scene.relayed(&expired).await, "{name}");
    }
    assert!(scene.deliveries(ENDPOINT).await.is_empty());

    let mut created = fixture(CREATED);
    created["Records"][0]["dynamodb"]["NewImage"]["expiresAt"] = json!({"N": "1800000000"});
    assert!(scene.relayed(&created).await);
    assert_eq!(scene.deliveries(ENDPOINT).await.len(), 1);
}

#[tokio::test]
async fn a_new_conversation_becomes_an_event_that_shows_it_as_the_api_does() {
    let scene = Scene::with_endpoint().await;
    assert!(scene.relayed(&fixture(CREATED)).await);
    let deliveries = scene.deliveries(ENDPOINT).await;
    assert_eq!(deliveries.len(), 1);
    assert_eq!(
        scene.body(&deliveries[0]).await,
        concat!(
            r#"{"eventId":"a6709d69-d58c-5000-96c0-58517a50d203","eventType":"conversation.created","#,
            r#""entity":"conversation_creations","workspaceId":"3f1b8a52-6d0e-4c7a-9b1f-2a5d8e4c7b90","#,
            r#""timestamp":"2026-10-20T09:20:00Z","#,
            r#""payload":{"id":"9b1d3f5a-7c9e-4b2d-8f4a-6c8e0a2b4d6f","#,
            r#""workspaceId":"3f1b8a52-6d0e-4c7a-9b1f-2a5d8e4c7b90","participants":{"externals":["#,
            r#"{"identifier":"+34600111222","identifierType":"PHONE","role":"EXTERNAL","#,
            r#""joinedAt":"2026-10-20T09:20:00.000Z","lastSeenAt":null}],"internals":["#,
            r#"{"identifier":"grace@example.com","identifierType":"EMAIL","role":"INTERNAL","#,
            r#""joinedAt":"2026-10-20T09:20:00.000Z","lastSeenAt":null}]},"#,
            r#""createdAt":"2026-10-20T09:20:00.000Z","updatedAt":"2026-10-20T09:20:00.000Z","#,
            r#""name":"Order 4711","status":"ACTIVE"}}"#,
        )
    );
    assert!(scene.sends.take().is_empty());
}

#[tokio::test]
async fn a_release_becomes_two_events_the_change_and_a_summary_of_its_messages() {
    let scene = Scene::with_endpoint().await;
    let message = |n: u32, sent_by: &str, broadcast: bool, at: &str| {
        let mut message = record("event-relay-message-created.json")["dynamodb"]["NewImage"].clone();
        message["sk"] = json!({ "S": format!("M#00000000-0000-4000-8000-00000000000{n}") });
        message["sentBy"] = json!({ "S": sent_by });
        message["content"]["M"]["written"]["M"]["broadcast"] = json!({ "BOOL": broadcast });
        message["createdAt"] = json!({ "S": at });
        message
    };
    for row in [
        message(1, "ONBOARDING", true, "2026-10-20T09:21:00.000Z"),
        message(2, "API", true, "2026-10-20T09:30:00.000Z"),
        message(3, "API", false, "2026-10-20T09:40:00.000Z"),
        message(4, "CUSTOMER", true, "2026-10-20T09:50:00.000Z"),
        // This message is later than the release. A repeated record must not count it.
        message(5, "API", true, "2026-10-20T10:06:00.000Z"),
    ] {
        scene.world.db.put_row(store::Table::Messages, &row);
    }
    scene.world.db.forget_calls();
    assert!(scene.relayed(&fixture(RELEASED)).await);
    assert_eq!(
        trips(&scene.world.db.calls()),
        7,
        "endpoints; events, a lane without counts; messages; deliveries; events; the endpoint's lane; usage"
    );

    let mut bodies = scene.bodies(ENDPOINT).await;
    bodies.sort_by_key(|body| body["eventType"].to_string());
    assert_eq!(bodies.len(), 2);
    assert_eq!(
        (&bodies[0]["eventType"], &bodies[0]["payload"]["status"]),
        (&json!("conversation.updated"), &json!("RELEASED"))
    );
    assert_eq!(
        bodies[1],
        json!({
            "eventId": bodies[1]["eventId"],
            "eventType": "conversation_summary.created",
            "entity": "conversation_summary_creations",
            "workspaceId": World::WORKSPACE,
            "timestamp": "2026-10-20T10:05:30Z",
            "payload": {
                "conversationId": "9b1d3f5a-7c9e-4b2d-8f4a-6c8e0a2b4d6f",
                "messages": {"inbound": 1, "outbound": 2, "internal": 1},
                "firstMessageAt": "2026-10-20T09:21:00.000Z",
                "lastMessageAt": "2026-10-20T09:50:00.000Z",
                "participants": bodies[0]["payload"]["participants"],
                "durationSeconds": 2730,
            },
        })
    );
    assert_ne!(bodies[1]["eventId"], bodies[0]["eventId"]);
}

#[tokio::test]
async fn the_summary_of_a_release_uses_the_counts_of_the_lane_and_reads_no_message() {
    let scene = Scene::with_endpoint().await;
    let at = |text: &str| domain::Timestamp::parse(text).unwrap().as_millis().to_string();
    let mut lane = json!({
        "pk": { "S": format!("{}#C#9b1d3f5a-7c9e-4b2d-8f4a-6c8e0a2b4d6f", World::WORKSPACE) },
        "sk": { "S": "L" },
        "kind": { "S": "lane" },
        "seq": { "N": "9" },
        "mark": { "N": "9" },
        "outbound": { "N": "5" },
        "inbound": { "N": "3" },
        "internal": { "N": "1" },
        "firstAt": { "N": at("2026-10-20T09:21:00.000Z") },
        "lastAt": { "N": at("2026-10-20T10:05:30.250Z") },
    });
    scene.world.db.put_row(store::Table::Messages, &lane);
    scene.world.db.forget_calls();
    assert!(scene.relayed(&fixture(RELEASED)).await);
    let calls = scene.world.db.calls();
    assert_eq!(trips(&calls), 6, "endpoints; events, lane; deliveries; events; the endpoint's lane; usage");
    let of_messages: Vec<(&str, f64)> = calls
        .iter()
        .filter(|call| call.table == "test-messages")
        .map(|call| (call.operation.as_str(), call.read_units))
        .collect();
    assert_eq!(of_messages, [("GetItem", 1.0)]);
    let bodies = scene.bodies(ENDPOINT).await;
    let summary = bodies.iter().find(|body| body["eventType"] == "conversation_summary.created").unwrap();
    assert_eq!(summary["payload"]["messages"], json!({"inbound": 3, "outbound": 5, "internal": 1}));
    assert_eq!(summary["payload"]["lastMessageAt"], "2026-10-20T10:05:30.250Z");

    // A message is later than the release, so the summary counts the messages before it.
    let scene = Scene::with_endpoint().await;
    lane["lastAt"] = json!({ "N": at("2026-10-20T10:05:30.251Z") });
    scene.world.db.put_row(store::Table::Messages, &lane);
    assert!(scene.relayed(&fixture(RELEASED)).await);
    let bodies = scene.bodies(ENDPOINT).await;
    let summary = bodies.iter().find(|body| body["eventType"] == "conversation_summary.created").unwrap();
    assert_eq!(summary["payload"]["messages"], json!({"inbound": 0, "outbound": 0, "internal": 0}));
}

#[tokio::test]
async fn each_release_makes_one_summary() {
    let scene = Scene::with_endpoint().await;
    assert!(scene.relayed(&fixture(RELEASED)).await);
    assert!(scene.relayed(&fixture(RELEASED)).await);
    // The conversation is still released and has another name.
    let mut renamed = record(RELEASED);
    renamed["dynamodb"]["OldImage"] = renamed["dynamodb"]["NewImage"].clone();
    renamed["dynamodb"]["NewImage"]["name"] = json!({ "S": "Order 4712" });
    renamed["dynamodb"]["NewImage"]["version"] = json!({ "N": "3" });
    assert!(scene.relayed(&stream_event(&[renamed.clone()])).await);
    // The conversation is active again and is then released again.
    let mut again = renamed;
    again["dynamodb"]["OldImage"]["status"] = json!({ "S": "ACTIVE" });
    again["dynamodb"]["OldImage"]["version"] = json!({ "N": "4" });
    again["dynamodb"]["NewImage"]["version"] = json!({ "N": "5" });
    assert!(scene.relayed(&stream_event(&[again])).await);
    let types: Vec<EventType> =
        scene.deliveries(ENDPOINT).await.iter().map(|delivery| delivery.event_type).collect();
    let count = |wanted| types.iter().filter(|found| **found == wanted).count();
    assert_eq!(count(EventType::ConversationSummaryCreated), 2);
    assert_eq!(count(EventType::ConversationUpdated), 3);
}

#[tokio::test]
async fn a_conversation_without_messages_also_gets_a_summary() {
    let scene = Scene::start().await;
    scene.endpoint(ENDPOINT, &["conversation_summary.created"]).await;
    assert!(scene.relayed(&fixture(RELEASED)).await);
    let bodies = scene.bodies(ENDPOINT).await;
    assert_eq!(bodies.len(), 1);
    assert_eq!(bodies[0]["payload"]["firstMessageAt"], json!(null));
    assert_eq!(bodies[0]["payload"]["messages"], json!({"inbound": 0, "outbound": 0, "internal": 0}));

    let scene = Scene::start().await;
    scene.endpoint(ENDPOINT, &["contact.created"]).await;
    scene.world.db.forget_calls();
    assert!(scene.relayed(&fixture(RELEASED)).await);
    assert_eq!(
        scene.world.db.operations(),
        ["Query workspaces", "UpdateItem limits"],
        "only the endpoints are read"
    );
}

#[tokio::test]
async fn an_onboarding_plan_queues_its_conversation_and_is_no_event() {
    let scene = Scene::with_endpoint().await;
    scene.world.db.forget_calls();
    assert!(scene.relayed(&fixture("event-relay-onboarding-planned.json")).await);
    assert_eq!(scene.world.db.calls(), []);
    assert!(scene.nothing_happened().await);
    let queued = scene.sends.take();
    assert_eq!(queued.len(), 1);
    let (workspace, conversation) = (
        WorkspaceId::parse(World::WORKSPACE).unwrap(),
        ConversationId::parse("9b1d3f5a-7c9e-4b2d-8f4a-6c8e0a2b4d6f").unwrap(),
    );
    assert_eq!(
        queued[0].body,
        format!(r#"{{"lane":"conversation","workspaceId":"{workspace}","conversationId":"{conversation}"}}"#)
    );
    assert_eq!((queued[0].group.as_str(), queued[0].delay), (World::WORKSPACE, 0));
}
