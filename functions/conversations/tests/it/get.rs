use domain::{ConversationId, ConversationStatus, Timestamp};
use harness::{TestClock, trips};
use serde_json::{Value, json};

use crate::{Conversations, email, named, phone};

#[tokio::test]
async fn a_conversation_is_returned_as_it_was_created() {
    let f = Conversations::start().await;
    f.world.user("Agent@example.com", |_| ()).await;
    let made = f
        .post(&json!({
            "participants": {
                "externals": [phone("+34600111222"), email("Ann@X.io")],
                "internals": [email("AGENT@example.com")],
            },
            "name": "Order 7",
            "status": "GHOST",
        }))
        .await;
    let read = f.get(made.json["id"].as_str().unwrap()).await;
    assert_eq!((read.status, &read.text), (200, &made.text));
    assert_eq!(read.headers["etag"], made.headers["etag"]);
    assert_eq!(read.headers["cache-control"], "no-store");
}

#[tokio::test]
async fn every_documented_field_is_present_even_without_a_value() {
    let f = Conversations::start().await;
    let seen = Timestamp::from_millis(TestClock::START.as_millis() + 60_000);
    let conversation = f
        .world
        .conversation(|blank| {
            blank.status = ConversationStatus::Released;
            blank.externals[0].last_seen_at = Some(seen);
        })
        .await;
    let contact = conversation.externals[0].contact;
    assert_eq!(
        f.get(conversation.id).await.json,
        json!({
            "id": conversation.id.to_string(),
            "workspaceId": f.world.workspace.to_string(),
            "participants": {
                "externals": [{
                    "identifier": contact.to_string(),
                    "identifierType": "ID",
                    "role": "EXTERNAL",
                    "joinedAt": "2026-01-02T03:04:05.678Z",
                    "lastSeenAt": "2026-01-02T03:05:05.678Z",
                }],
                "internals": [],
            },
            "createdAt": "2026-01-02T03:04:05.678Z",
            "updatedAt": "2026-01-02T03:04:05.678Z",
            "name": null,
            "status": "RELEASED",
        })
    );
}

#[tokio::test]
async fn the_event_file_is_a_request_that_succeeds_as_it_is() {
    let f = Conversations::start().await;
    let id = harness::fixture("conversations-get.json")["pathParameters"]["conversationId"].clone();
    let id = ConversationId::parse(id.as_str().unwrap()).unwrap();
    f.world.conversation(|blank| blank.id = id).await;
    assert_eq!(f.send(f.world.event("conversations-get.json")).await.status, 200);
}

#[tokio::test]
async fn a_foreign_conversation_and_an_unknown_one_get_the_same_answer_byte_for_byte() {
    let f = Conversations::start().await;
    let (other, _) = f.world.second_workspace().await;
    let foreign = f.world.conversation_of(other, |_| ()).await;
    let get = |id: ConversationId| {
        // Each answer says that the same number of requests is left.
        f.world.db.clock().advance(std::time::Duration::from_secs(1));
        let event = f.world.event("conversations-get.json").path("conversationId", id);
        f.send(event.request_id("r"))
    };
    let unknown = get(ConversationId::generate(f.world.db.store().ids())).await;
    assert_eq!((unknown.status, unknown.json["code"].as_str()), (404, Some("SERVICE_CONVERSATION_0404")));
    assert_eq!(get(foreign.id).await, unknown);
}

#[tokio::test]
async fn an_id_in_upper_case_is_accepted_and_an_invalid_one_is_refused() {
    let f = Conversations::start().await;
    let conversation = f.world.conversation(|_| ()).await;
    let upper = conversation.id.to_string().to_uppercase();
    assert_eq!(f.get(upper).await.json["id"], conversation.id.to_string());
    let event = f.world.event("conversations-get.json").path("conversationId", "7").query(&[("a", "1")]);
    let answer = f.send(event).await;
    assert_eq!(answer.status, 422);
    let expected = [("query.a", "extra_forbidden"), ("path.conversationId", "uuid_parsing")];
    assert_eq!(answer.failures(), expected.map(|(at, kind)| (at.to_owned(), kind.to_owned())));
}

#[tokio::test]
async fn reading_needs_only_the_read_scope() {
    let f = Conversations::start().await;
    let conversation = f.world.conversation(|_| ()).await;
    for (scope, status) in [("conversations:read", 200), ("conversations:write", 403), ("contacts:read", 403)]
    {
        let key = f.world.key_with(f.world.workspace, &[scope], |_| ()).await;
        let event = f.world.event("conversations-get.json").path("conversationId", conversation.id);
        assert_eq!(f.send(event.header("x-api-key", &key)).await.status, status, "{scope}");
    }
}

#[tokio::test]
async fn a_warm_read_takes_one_round_trip() {
    let f = Conversations::start().await;
    let conversation = f.world.conversation(|_| ()).await;
    f.get(conversation.id).await;
    f.world.db.forget_calls();
    assert_eq!(f.get(conversation.id).await.status, 200);
    assert_eq!(f.world.db.sorted_operations(), ["Query conversations", "UpdateItem limits"]);
    assert_eq!(trips(&f.world.db.calls()), 1);
}

#[tokio::test]
async fn it_shows_when_a_customer_was_last_seen_and_the_tag_stays() {
    let f = Conversations::start().await;
    let conversation = f.world.conversation(|_| ()).await;
    let (id, contact) = (conversation.id, conversation.externals[0].contact);
    let before = f.get(id).await;
    assert_eq!(before.json["participants"]["externals"][0]["lastSeenAt"], json!(null));
    let (other, _) = f.world.second_workspace().await;
    let at = TestClock::START.plus(std::time::Duration::from_secs(60));
    let store = f.world.db.store();
    store.saw(f.world.workspace, id, contact, at).await.unwrap();
    store.saw(other, id, contact, at.plus(std::time::Duration::from_secs(600))).await.unwrap();
    let after = f.get(id).await;
    assert_eq!(after.json["participants"]["externals"][0]["lastSeenAt"], "2026-01-02T03:05:05.678Z");
    assert_eq!(after.headers["etag"], before.headers["etag"], "no change of the conversation");
    assert_eq!(after.json["updatedAt"], before.json["updatedAt"]);
}

#[tokio::test]
async fn a_person_named_by_id_is_shown_with_the_id_in_lower_case() {
    let f = Conversations::start().await;
    let contact = f.world.contact(|_| ()).await;
    let upper = contact.id.to_string().to_uppercase();
    let made = f.made(&json!({"participants": {"externals": [named(upper, "ID")]}})).await;
    let shown: &Value = &made["participants"]["externals"][0];
    assert_eq!(
        (&shown["identifier"], &shown["identifierType"]),
        (&json!(contact.id.to_string()), &json!("ID"))
    );
}
