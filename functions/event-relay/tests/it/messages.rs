//! The stream records of messages and files.

use domain::{EventType, MediaId};
use harness::{Fault, World, fixture};
use serde_json::{Value, json};

use crate::{ENDPOINT, Scene, record, stream_event};

const CREATED: &str = "event-relay-message-created.json";
const UPDATED: &str = "event-relay-message-updated.json";
const FORGOTTEN: &str = "event-relay-media-forgotten.json";

fn created_by(sent_by: &str, broadcast: bool) -> Value {
    let mut created = record(CREATED);
    created["dynamodb"]["NewImage"]["sentBy"] = json!({ "S": sent_by });
    created["dynamodb"]["NewImage"]["content"]["M"]["written"]["M"]["broadcast"] =
        json!({ "BOOL": broadcast });
    created
}

#[tokio::test]
async fn a_new_message_becomes_an_event_and_queues_its_conversation() {
    let scene = Scene::with_endpoint().await;
    assert!(scene.relayed(&fixture(CREATED)).await);
    let bodies = scene.bodies(ENDPOINT).await;
    assert_eq!(bodies.len(), 1);
    assert_eq!(
        (&bodies[0]["eventType"], &bodies[0]["entity"]),
        (&json!("message.created"), &json!("message_creations"))
    );
    assert_eq!(
        bodies[0]["payload"],
        json!({
            "id": "ad3f5b7c-9e1a-4c3d-8f5b-7d9f1b3c5e7f",
            "conversationId": "9b1d3f5a-7c9e-4b2d-8f4a-6c8e0a2b4d6f",
            "workspaceId": World::WORKSPACE,
            "sequence": 1,
            "direction": "OUTBOUND",
            "sender": {"type": "API", "contactId": null},
            "type": "MEDIA",
            "messageBody": "Here it is",
            "content": null,
            "referral": null,
            "referredProduct": null,
            "forwarded": null,
            "providerErrors": [],
            "raw": null,
            "rawTruncated": false,
            "mediaIds": ["be4a6c8d-0f2b-4d4e-9a6c-8e0a2c4d6f8a"],
            "replyToMessageId": null,
            "enableExternalBroadcast": true,
            "status": "QUEUED",
            "parts": [{
                "recipient": "8c2d4e6f-1a3b-4c5d-8e7f-9a0b1c2d3e4f",
                "index": 0,
                "status": "QUEUED",
                "providerMessageId": null,
                "error": null,
                "errorInWords": null,
                "errorDetail": null,
                "text": null,
                "held": false,
                "pricing": null,
                "deliveredAt": null,
                "readAt": null,
            }],
            "createdAt": "2026-10-20T09:21:00.000Z",
            "updatedAt": "2026-10-20T09:21:00.000Z",
            "editedAt": null,
            "revokedAt": null,
            "deliveredAt": null,
            "readAt": null,
        })
    );
    let queued = scene.sends.take();
    assert_eq!(queued.len(), 1);
    assert_eq!(json!(queued[0].body), fixture("message-sender.json")["Records"][0]["body"]);
}

#[tokio::test]
async fn an_onboarding_message_a_customers_and_a_note_queue_no_conversation() {
    let scene = Scene::with_endpoint().await;
    // The sender makes the onboarding messages while it sends, and a note is not sent.
    for (sent_by, broadcast) in [("ONBOARDING", true), ("CUSTOMER", true), ("API", false)] {
        assert!(scene.relayed(&stream_event(&[created_by(sent_by, broadcast)])).await);
        assert!(scene.sends.take().is_empty(), "{sent_by}");
    }
    assert_eq!(scene.bodies(ENDPOINT).await.len(), 1, "one message, one event");
}

#[tokio::test]
async fn a_customers_message_becomes_an_event_and_queues_nothing() {
    let scene = Scene::with_endpoint().await;
    let contact = "8c2d4e6f-1a3b-4c5d-8e7f-9a0b1c2d3e4f";
    let mut received = created_by("CUSTOMER", false);
    let image = &mut received["dynamodb"]["NewImage"];
    image["content"] = json!({ "M": { "received": { "M": {
        "contactId": { "S": contact },
        "channelId": { "S": "1045551234567" },
        "providerMessageId": { "S": "wamid.1" },
        "what": { "M": { "said": { "M": { "buttonReply": { "M": {
            "text": { "S": "Yes" }, "payload": { "S": "p" },
        } } } } } },
    } } } });
    (image["recipients"], image["parts"]) = (json!({ "L": [] }), json!({ "L": [] }));
    assert!(scene.relayed(&stream_event(&[received])).await);
    assert!(scene.sends.take().is_empty());
    let bodies = scene.bodies(ENDPOINT).await;
    assert_eq!(bodies.len(), 1);
    let payload = &bodies[0]["payload"];
    assert_eq!(bodies[0]["eventType"], "message.created");
    assert_eq!((&payload["direction"], &payload["type"]), (&json!("INBOUND"), &json!("BUTTON_REPLY")));
    assert_eq!(payload["sender"], json!({ "type": "CUSTOMER", "contactId": contact }));
    assert_eq!((&payload["messageBody"], &payload["status"]), (&json!("Yes"), &json!("RECEIVED")));
    assert_eq!(payload["content"], json!({ "text": "Yes", "payload": "p" }));
    assert_eq!((&payload["mediaIds"], &payload["parts"]), (&json!([]), &json!([])));
}

#[tokio::test]
async fn an_edit_and_a_deletion_of_a_customer_are_events() {
    let said = |what: Value, extras: Value, version: u64| {
        let mut image = created_by("CUSTOMER", false)["dynamodb"]["NewImage"].clone();
        image["content"] = json!({ "M": { "received": { "M": {
            "contactId": { "S": "8c2d4e6f-1a3b-4c5d-8e7f-9a0b1c2d3e4f" },
            "channelId": { "S": "1045551234567" },
            "providerMessageId": { "S": "wamid.1" },
            "what": { "M": what },
            "extras": { "M": extras },
        } } } });
        (image["recipients"], image["parts"]) = (json!({ "L": [] }), json!({ "L": [] }));
        image["version"] = json!({ "N": version.to_string() });
        image
    };
    let text = |text: &str| json!({ "said": { "M": { "text": { "S": text } } } });
    let no = json!({ "S": "NO" });
    let at = json!({ "S": "2026-10-20T09:22:00.000Z" });
    let edit = json!({ "M": { "at": at, "id": { "S": "wamid.2" } } });
    let images = [
        said(text("Hey"), json!({ "forwarded": no }), 1),
        said(text("Hello"), json!({ "forwarded": no, "edit": edit }), 2),
        said(json!({ "revoked": { "S": "TEXT" } }), json!({ "forwarded": no, "revokedAt": at }), 3),
    ];
    let scene = Scene::with_endpoint().await;
    for pair in images.windows(2) {
        let mut change = record(UPDATED);
        (change["dynamodb"]["OldImage"], change["dynamodb"]["NewImage"]) = (pair[0].clone(), pair[1].clone());
        assert!(scene.relayed(&stream_event(&[change])).await);
    }
    let bodies = scene.bodies(ENDPOINT).await;
    let mut shown: Vec<_> = bodies
        .iter()
        .map(|body| {
            let payload = &body["payload"];
            assert_eq!((&body["eventType"], &payload["type"]), (&json!("message.updated"), &json!("TEXT")));
            [payload["messageBody"].clone(), payload["editedAt"].clone(), payload["revokedAt"].clone()]
        })
        .collect();
    shown.sort_by_key(|fields| fields[1].is_null());
    let at = json!("2026-10-20T09:22:00.000Z");
    assert_eq!(shown, [[json!("Hello"), at.clone(), json!(null)], [json!(null), json!(null), at]]);
}

#[tokio::test]
async fn messages_of_one_conversation_queue_it_once_without_a_subscriber() {
    let scene = Scene::start().await;
    let other = created_by("API", true).to_string().replace("ad3f5b7c", "ad3f5b7d");
    let batch = [created_by("API", true), serde_json::from_str(&other).unwrap()];
    assert!(scene.relayed(&stream_event(&batch)).await);
    assert_eq!(scene.sends.take().len(), 1);
}

#[tokio::test]
async fn a_version_without_a_change_becomes_no_event() {
    let scene = Scene::with_endpoint().await;
    let mut same = record(UPDATED);
    same["dynamodb"]["NewImage"] = same["dynamodb"]["OldImage"].clone();
    same["dynamodb"]["NewImage"]["version"] = json!({ "N": "9" });
    assert!(scene.relayed(&stream_event(&[same])).await);
    assert!(scene.nothing_happened().await);

    assert!(scene.relayed(&fixture(UPDATED)).await);
    let bodies = scene.bodies(ENDPOINT).await;
    assert_eq!(bodies.len(), 1);
    assert_eq!(
        (&bodies[0]["eventType"], &bodies[0]["payload"]["status"]),
        (&json!("message.updated"), &json!("SENT"))
    );
    assert_eq!(
        bodies[0]["payload"]["parts"][0]["providerMessageId"],
        json!("wamid.HBgLMzQ2MDAxMTEyMjIVAgARGBI5")
    );
    assert!(scene.sends.take().is_empty());
}

#[tokio::test]
async fn each_report_about_a_part_becomes_an_event_and_the_sender_s_own_steps_only_with_the_status() {
    // The message has a second part, to which the sender has not come yet: the status stays QUEUED.
    let with = |first: Value, second: &str, version: &str| {
        let mut image = record(UPDATED)["dynamodb"]["NewImage"].clone();
        let mut parts = vec![image["parts"]["L"][0].clone(), image["parts"]["L"][0].clone()];
        for (name, value) in first.as_object().unwrap() {
            parts[0]["M"][name] = json!({ "S": value });
        }
        parts[1]["M"]["status"] = json!({ "S": second });
        image["parts"] = json!({ "L": parts });
        image["version"] = json!({ "N": version });
        image
    };
    let (sent, at) = (json!({ "status": "SENT" }), "2026-10-20T09:22:08.000Z");
    let delivered = json!({ "status": "DELIVERED", "deliveredAt": at });
    let read = json!({ "status": "READ", "deliveredAt": at, "readAt": at });
    let rows = [
        (with(json!({ "status": "SENDING" }), "QUEUED", "4"), with(sent.clone(), "QUEUED", "5"), None),
        (with(sent.clone(), "QUEUED", "5"), with(delivered.clone(), "QUEUED", "6"), Some("QUEUED")),
        (with(delivered.clone(), "QUEUED", "6"), with(delivered, "SENDING", "7"), Some("SENDING")),
        (with(read.clone(), "SENT", "8"), with(read.clone(), "READ", "9"), Some("READ")),
        (with(sent, "READ", "8"), with(json!({ "status": "FAILED" }), "READ", "9"), Some("FAILED")),
        (with(read.clone(), "SENT", "9"), with(read, "SENT", "9"), None),
    ];
    for (old, new, expected) in rows {
        let scene = Scene::with_endpoint().await;
        let mut changed = record(UPDATED);
        (changed["dynamodb"]["OldImage"], changed["dynamodb"]["NewImage"]) = (old, new.clone());
        assert!(scene.relayed(&stream_event(&[changed])).await);
        let bodies = scene.bodies(ENDPOINT).await;
        let statuses: Vec<&str> =
            bodies.iter().map(|body| body["payload"]["status"].as_str().unwrap()).collect();
        assert_eq!(statuses, Vec::from_iter(expected), "{new}");
        for body in bodies {
            let part = &body["payload"]["parts"][0];
            let stored = &new["parts"]["L"][0]["M"];
            assert_eq!(part["deliveredAt"], stored["deliveredAt"]["S"]);
            assert_eq!(part["readAt"], stored["readAt"]["S"]);
        }
    }
}

#[tokio::test]
async fn a_lost_queue_message_of_a_conversation_delays_nothing_else() {
    let scene = Scene::with_endpoint().await;
    scene.sends.close(true);
    assert!(scene.relayed(&fixture(CREATED)).await, "the lane is in the due index");
    assert_eq!(scene.deliveries(ENDPOINT).await[0].event_type, EventType::MessageCreated);
}

#[tokio::test]
async fn the_bytes_of_an_unused_file_are_deleted_and_a_failure_repeats_the_record() {
    let scene = Scene::with_endpoint().await;
    scene.upload("be4a6c8d-0f2b-4d4e-9a6c-8e0a2c4d6f8a");
    scene.world.db.fail("DeleteObject", Fault::Unreachable, 9);
    assert!(!scene.relayed(&fixture(FORGOTTEN)).await);
    assert!(scene.is_uploaded("be4a6c8d-0f2b-4d4e-9a6c-8e0a2c4d6f8a"));
    let mut runs = 0;
    while !scene.relayed(&fixture(FORGOTTEN)).await {
        runs += 1;
        assert!(runs < 10);
    }
    assert!(!scene.is_uploaded("be4a6c8d-0f2b-4d4e-9a6c-8e0a2c4d6f8a"));
    assert!(scene.relayed(&fixture(FORGOTTEN)).await, "deleting an absent file succeeds");
    assert!(scene.nothing_happened().await);
}

#[tokio::test]
async fn a_file_whose_row_is_there_again_keeps_its_bytes() {
    let scene = Scene::with_endpoint().await;
    let id = MediaId::parse("be4a6c8d-0f2b-4d4e-9a6c-8e0a2c4d6f8a").unwrap();
    scene.world.media(|media| media.id = id).await;
    scene.upload(&id.to_string());
    assert!(scene.relayed(&fixture(FORGOTTEN)).await);
    assert!(scene.is_uploaded(&id.to_string()));
}
