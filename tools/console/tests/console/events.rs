//! The records that Lambda left in the failure bucket, relayed by the relay's own code.

use std::time::Duration;

use domain::{DeliveryState, EndpointId, Slot, Timestamp, WorkspaceId};
use harness::{Death, fixture, fixture_text};
use insta::assert_json_snapshot;
use serde_json::{Value, json};
use store::{DeliveryFilter, Record};

use crate::Desk;

/// The workspace of the events in `events/`.
const WORKSPACE: &str = "3f1b8a52-6d0e-4c7a-9b1f-2a5d8e4c7b90";
const MAPPING: &str = "aws/lambda/14b0e6f2-7c1d-4f5a-9e3b-8d2c6a4f1e07";

/// An object as Lambda writes it for a batch of a DynamoDB stream that it stopped retrying.
pub(crate) fn left_behind(payload: &Value) -> String {
    json!({
        "requestContext": {
            "requestId": "316aa6d0-8154-4b1c-9af7-85d5f4a6bc81",
            "functionArn": "arn:aws:lambda:eu-central-1:123456789012:function:messaging-event-relay",
            "condition": "RetryAttemptsExhausted",
            "approximateInvokeCount": 11,
        },
        "responseContext": { "statusCode": 200, "executedVersion": "$LATEST", "functionError": "Unhandled" },
        "version": "1.0",
        "timestamp": "2026-01-02T03:10:49.717Z",
        "DDBStreamBatchInfo": {
            "shardId": "shardId-00000001573689847184-864758bb",
            "startSequenceNumber": "800000000003126276362",
            "endSequenceNumber": "800000000003126276362",
            "approximateArrivalOfFirstRecord": "2026-01-02T03:04:05Z",
            "approximateArrivalOfLastRecord": "2026-01-02T03:04:05Z",
            "batchSize": 1,
            "streamArn": "arn:aws:dynamodb:eu-central-1:123456789012:table/messaging-contacts/stream/2026-01-01T00:00:00.000",
        },
        "payload": payload,
    })
    .to_string()
}

fn key(shard: &str, second: u32) -> String {
    format!("{MAPPING}/shardId-{shard}/2026/01/02/2026-01-02T03.10.{second:02}-5f0c1d2e")
}

/// A desk with the workspace of the events and an endpoint for all event types. Nothing is relayed yet.
async fn desk() -> (Desk, EndpointId) {
    let desk = Desk::new().await;
    desk.json(&["workspace", "create", "--name", "Aster", "--id", WORKSPACE]).await;
    let url = "https://hooks.example.com/in";
    let create = ["webhook", "create", "--workspace", WORKSPACE, "--url", url, "--api-key", "k"];
    let made = desk.json(&create).await;
    (desk, EndpointId::parse(made["endpointId"].as_str().unwrap()).unwrap())
}

/// The types of the recorded events with deliveries, sorted.
async fn recorded(desk: &Desk) -> Vec<String> {
    let listed = desk.json(&["delivery", "list", "--workspace", WORKSPACE]).await;
    let types =
        listed.as_array().unwrap().iter().map(|delivery| delivery["eventType"].as_str().unwrap().to_owned());
    let mut types: Vec<String> = types.collect();
    types.sort();
    types
}

/// Adds one object for each stream. The payload is a string, as AWS writes it, or JSON.
fn fill(desk: &Desk) {
    for (second, name) in [
        "contact-created",
        "contact-updated",
        "conversation-created",
        "message-created",
        "lead-accepted",
        "media-forgotten",
    ]
    .iter()
    .enumerate()
    {
        let file = format!("event-relay-{name}.json");
        let payload = if second % 2 == 0 { Value::String(fixture_text(&file)) } else { fixture(&file) };
        let at = format!("2026-01-02T03:10:{second:02}.000Z");
        let key = key(if second % 2 == 0 { "b" } else { "a" }, u32::try_from(second).unwrap());
        desk.failures.put(&key, &at, left_behind(&payload));
    }
}

const ALL: [&str; 5] =
    ["contact.created", "contact.updated", "conversation.created", "lead.accepted", "message.created"];

#[tokio::test]
async fn the_objects_of_all_streams_are_relayed_in_order_and_deleted() {
    let (desk, _) = desk().await;
    fill(&desk);
    let seen = desk.json(&["events", "redrive", "--all", "--dry-run"]).await;
    assert_eq!(seen.as_array().unwrap().len(), 6);
    assert_json_snapshot!(seen[1], @r#"
    {
      "at": "2026-01-02T03:10:01.000Z",
      "object": "aws/lambda/14b0e6f2-7c1d-4f5a-9e3b-8d2c6a4f1e07/shardId-a/2026/01/02/2026-01-02T03.10.01-5f0c1d2e",
      "reason": null,
      "records": 1,
      "relayed": false
    }
    "#);
    assert_eq!(
        (desk.failures.keys().len(), recorded(&desk).await),
        (6, vec![]),
        "the dry run must change nothing"
    );

    let done = desk.json(&["events", "redrive", "--all"]).await;
    let done = done.as_array().unwrap();
    assert!(done.iter().all(|object| object["relayed"] == true), "{done:?}");
    assert!(
        done.is_sorted_by_key(|object| object["at"].as_str().unwrap()),
        "the oldest object must be first"
    );
    assert_eq!((desk.failures.keys(), recorded(&desk).await), (vec![], ALL.map(str::to_owned).to_vec()));
    assert_eq!(desk.queue.take().len(), ALL.len());
    assert_eq!(
        desk.json(&["events", "redrive", "--all"]).await,
        json!([]),
        "the repetition must find no objects"
    );
}

#[tokio::test]
async fn a_prefix_selects_the_objects() {
    let (desk, _) = desk().await;
    fill(&desk);
    let prefix = format!("{MAPPING}/shardId-a/");
    let done = desk.json(&["events", "redrive", "--prefix", &prefix]).await;
    assert_eq!(done.as_array().unwrap().len(), 3);
    assert_eq!(desk.failures.keys().len(), 3);
    assert!(desk.failures.keys().iter().all(|key| key.contains("shardId-b")));
}

#[tokio::test]
async fn unreadable_and_unrelayed_objects_stay_and_do_not_block_the_others() {
    let (desk, _) = desk().await;
    fill(&desk);
    let mut torn = fixture("event-relay-contact-created.json");
    torn["Records"][0]["dynamodb"]["NewImage"]["createdAt"] = json!({ "S": "yesterday" });
    for (second, bytes) in [
        "".to_owned(),
        "not JSON".to_owned(),
        json!({ "requestContext": {}, "version": "1.0" }).to_string(),
        left_behind(&json!("{\"Records\": 1}")),
        left_behind(&torn),
    ]
    .into_iter()
    .enumerate()
    {
        desk.failures.put(&format!("aws/lambda/wrong/{second}"), "2026-01-02T03:10:00.000Z", bytes);
    }
    let ran = desk.run(&["--json", "events", "redrive", "--all"]).await;
    assert_eq!(
        (ran.status, ran.err.trim_end()),
        (1, r#"{"code":"NOT_RELAYED","message":"5 of 11 objects were not relayed and stay in the bucket."}"#)
    );
    let done: Vec<Value> = serde_json::from_str(&ran.out).unwrap();
    let reasons: Vec<&Value> =
        done.iter().map(|object| &object["reason"]).filter(|reason| !reason.is_null()).collect();
    assert_json_snapshot!(reasons, @r#"
    [
      "the object cannot be read: EOF while parsing a value at line 1 column 0",
      "the object cannot be read: expected ident at line 1 column 2",
      "the object cannot be read: missing field `payload` at line 1 column 37",
      "the object cannot be read: invalid type: integer `1`, expected a sequence at line 1 column 13",
      "1 of the records could not be relayed"
    ]
    "#);
    assert!(desk.failures.keys().iter().all(|key| key.starts_with("aws/lambda/wrong/")));
    assert_eq!(recorded(&desk).await, ALL);
}

#[tokio::test]
async fn a_repetition_after_a_crash_loses_nothing_and_duplicates_nothing() {
    for calls in [0, 1, 2, 4, 6, 9, 12] {
        for death in [Death::Before, Death::After] {
            let (desk, endpoint) = desk().await;
            fill(&desk);
            let dead = desk.db.die_after(calls, death);
            tokio::select! {
                done = desk.json(&["events", "redrive", "--all"]) => assert!(calls > 9, "{calls} {done}"),
                _ = dead => {}
            }
            desk.db.revive();
            let workspace = WorkspaceId::parse(WORKSPACE).unwrap();
            // An event that is already recorded may have been delivered in the meantime. The repetition must not
            // deliver it again.
            let store = desk.db.store();
            let slot = Slot { workspace, endpoint, number: 0 };
            let in_states = async |states: &[DeliveryState]| {
                let (since, until) = (Timestamp::from_millis(0), Timestamp::from_millis(i64::MAX));
                let filter = DeliveryFilter { since, until, states, event_type: None };
                store.deliveries(slot, filter, 100, None).await.unwrap().deliveries
            };
            let mut delivered = vec![];
            for delivery in in_states(&[]).await {
                // A delivery whose event does not exist yet is not attempted.
                if store.recorded_event(workspace, delivery.event).await.unwrap().is_some() {
                    let delivery = delivery.ended(DeliveryState::Delivered);
                    delivered.push(Record { delivery, attempt: None, pointer: None });
                }
            }
            store.record_deliveries(slot, &delivered, Duration::ZERO).await.unwrap();
            desk.json(&["events", "redrive", "--all"]).await;
            assert_eq!(
                (desk.failures.keys(), recorded(&desk).await),
                (vec![], ALL.map(str::to_owned).to_vec())
            );
            let still = in_states(&[DeliveryState::Delivered]).await;
            assert_eq!(still.len(), delivered.len(), "{calls} {death:?}");
        }
    }
}

#[tokio::test]
async fn an_object_that_could_not_be_deleted_can_be_relayed_again() {
    let (desk, _) = desk().await;
    fill(&desk);
    desk.failures.keep(true);
    let refused = desk.refused(&["events", "redrive", "--all"]).await;
    assert!(refused.starts_with("The stack refused the call"), "{refused}");
    desk.failures.keep(false);
    desk.json(&["events", "redrive", "--all"]).await;
    assert_eq!((desk.failures.keys(), recorded(&desk).await), (vec![], ALL.map(str::to_owned).to_vec()));
}
