//! Idempotency keys, and requests with lost calls or answers.

use std::time::Duration;

use domain::{Conversation, ConversationStatus};
use futures::future::join_all;
use harness::{Answer, Fault, GatewayEvent, trips};
use serde_json::{Value, json};

use crate::{Function, text};

impl Function {
    fn keyed(&self, key: &str, body: &Value) -> GatewayEvent {
        self.event(body).header("idempotency-key", key)
    }

    async fn post_once(&self, key: &str, body: &Value) -> Answer {
        self.send(self.keyed(key, body)).await
    }

    /// How many messages and open entries a conversation has, and its last number.
    fn counts(&self, conversation: &Conversation) -> (usize, usize, String) {
        let seq = self.lane(conversation)["seq"]["N"].as_str().unwrap().to_owned();
        (self.rows_of(conversation, "M#").len(), self.rows_of(conversation, "Q#").len(), seq)
    }
}

fn is_replay(answer: &Answer) -> bool {
    answer.headers.get("idempotent-replayed").is_some_and(|replayed| replayed == "true")
}

/// One message, one entry, the first number.
fn one() -> (usize, usize, String) {
    (1, 1, "1".to_owned())
}

#[tokio::test]
async fn a_repeated_request_gets_the_first_answer_and_writes_nothing() {
    let f = Function::start().await;
    let conversation = f.world.conversation(|_| ()).await;
    let body = text(&conversation, "Hello");
    let first = f.post_once("a key", &body).await;
    assert_eq!((first.status, is_replay(&first)), (201, false));
    f.world.db.clock().advance(Duration::from_secs(24 * 60 * 60));
    let before = f.world.db.everything();
    for _ in 0..2 {
        f.world.db.forget_calls();
        let again = f.post_once("a key", &body).await;
        assert_eq!((again.status, is_replay(&again), &again.text), (201, true, &first.text));
    }
    assert_eq!(f.world.db.everything(), before);
    assert_eq!(f.world.db.sorted_operations(), ["BatchGetItem conversations+messages", "UpdateItem limits"]);
    assert_eq!(trips(&f.world.db.calls()), 1);
    assert_eq!(f.counts(&conversation), one());
}

#[tokio::test]
async fn a_replay_does_not_depend_on_the_current_state() {
    let f = Function::start().await;
    let conversation = f.world.conversation(|_| ()).await;
    let media = f.world.media(|_| ()).await;
    f.bucket.upload(&media, 1_000);
    let mut body = text(&conversation, "Hello");
    body["mediaIds"] = json!([media.id.to_string()]);
    let first = f.post_once("a key", &body).await;
    let blocked = Conversation {
        status: ConversationStatus::Blocked,
        version: conversation.version + 1,
        ..conversation.clone()
    };
    f.change(&conversation, blocked).await;
    let again = f.post_once("a key", &body).await;
    assert_eq!((again.status, again.text), (201, first.text));
    assert_eq!(f.post_once("another key", &body).await.status, 409);
}

#[tokio::test]
async fn a_key_is_valid_for_one_body() {
    let f = Function::start().await;
    let conversation = f.world.conversation(|_| ()).await;
    f.post_once("a key", &text(&conversation, "Hello")).await;
    let before = f.world.db.everything();
    let answer = f.post_once("a key", &text(&conversation, "Goodbye")).await;
    assert_eq!((answer.status, &answer.json["code"]), (422, &json!("SERVICE_CORE_0423")));
    assert_eq!(f.world.db.everything(), before);
}

#[tokio::test]
async fn a_key_is_free_again_after_a_day() {
    let f = Function::start().await;
    let conversation = f.world.conversation(|_| ()).await;
    let first = f.post_once("a key", &text(&conversation, "Hello")).await;
    f.world.db.clock().advance(Duration::from_secs(24 * 60 * 60 + 1));
    let second = f.post_once("a key", &text(&conversation, "Goodbye")).await;
    assert_eq!((second.status, is_replay(&second)), (201, false));
    assert_ne!(first.text, second.text);
    assert!(is_replay(&f.post_once("a key", &text(&conversation, "Goodbye")).await));
}

#[tokio::test]
async fn a_refused_request_leaves_its_key_free() {
    let f = Function::start().await;
    let conversation = f.world.conversation(|_| ()).await;
    let media = f.world.media(|_| ()).await;
    let mut body = text(&conversation, "Hello");
    body["mediaIds"] = json!([media.id.to_string()]);
    assert_eq!(f.post_once("a key", &body).await.status, 422);
    f.bucket.upload(&media, 1_000);
    let answer = f.post_once("a key", &body).await;
    assert_eq!((answer.status, is_replay(&answer)), (201, false));
}

#[tokio::test]
async fn keys_of_two_workspaces_are_independent() {
    let f = Function::start().await;
    let conversation = f.world.conversation(|_| ()).await;
    let (workspace, key) = f.world.second_workspace().await;
    let theirs = f.world.conversation_of(workspace, |_| ()).await;
    f.post_once("a key", &text(&conversation, "Hello")).await;
    let event = f.keyed("a key", &text(&theirs, "Hello")).header("x-api-key", &key);
    let answer = f.send(event.path("workspaceId", workspace)).await;
    assert_eq!((answer.status, is_replay(&answer)), (201, false));
}

#[tokio::test]
async fn a_hundred_concurrent_requests_with_one_key_make_one_message() {
    let f = Function::start().await;
    let conversation =
        f.world.conversation(|conversation| conversation.status = ConversationStatus::Ghost).await;
    let body = text(&conversation, "Hello");
    let answers = join_all((0..100).map(|_| f.post_once("a key", &body))).await;
    for answer in &answers {
        assert_eq!((answer.status, &answer.text), (201, &answers[0].text));
    }
    assert_eq!(answers.iter().filter(|answer| !is_replay(answer)).count(), 1);
    assert_eq!(f.counts(&conversation), one());
    let awake = f.world.db.store().conversation(conversation.workspace_id, conversation.id).await;
    assert_eq!(awake.unwrap().unwrap().version, 2);
}

#[tokio::test]
async fn a_key_taken_during_the_write_makes_a_replay_or_a_reuse_error() {
    let f = Function::start().await;
    for (first, status) in [("Hello", 201), ("Goodbye", 422)] {
        let conversation = f.world.conversation(|_| ()).await;
        let other = text(&conversation, first);
        let comes_first = async { assert_eq!(f.post_once(first, &other).await.status, 201) };
        let body = text(&conversation, "Hello");
        let answer = f.meanwhile("TransactWriteItems", f.post_once(first, &body), comes_first).await;
        assert_eq!((answer.status, is_replay(&answer)), (status, status == 201), "{}", answer.text);
        assert_eq!(f.counts(&conversation), one());
    }
}

#[tokio::test]
async fn every_fault_leaves_exactly_one_message() {
    let f = Function::start().await;
    for (what, operation, fault, times) in [
        ("its answer is lost", "TransactWriteItems", Fault::AnswerLost, 1),
        ("twice", "TransactWriteItems", Fault::AnswerLost, 2),
        ("others hold a row", "TransactWriteItems", Fault::Conflict, 3),
        ("a row is throttled", "TransactWriteItems", Fault::ItemThrottled, 3),
        ("the table is", "TransactWriteItems", Fault::Throttled, 2),
        ("it is not reached", "TransactWriteItems", Fault::Unreachable, 2),
        ("the read is throttled", "BatchGetItem", Fault::Throttled, 2),
        ("nothing is come to", "BatchGetItem", Fault::Unprocessed, 2),
        ("half of it is come to", "BatchGetItem", Fault::HalfProcessed, 2),
        ("the bucket is busy", "HeadObject", Fault::Throttled, 2),
    ] {
        let conversation =
            f.world.conversation(|conversation| conversation.status = ConversationStatus::Ghost).await;
        let media = f.world.media(|_| ()).await;
        f.bucket.upload(&media, 1_000);
        let mut body = text(&conversation, "Hello");
        body["mediaIds"] = json!([media.id.to_string()]);
        for key in [None, Some(what)] {
            let event = f.event(&body);
            let event = key.map_or(event.clone(), |key| event.header("idempotency-key", key));
            f.world.db.fail(operation, fault, times);
            let answer = f.send(event).await;
            assert_eq!((answer.status, is_replay(&answer)), (201, false), "{what}: {}", answer.text);
            let made = f.rows_of(&conversation, "M#").len();
            assert_eq!(made, 1 + usize::from(key.is_some()), "{what}");
        }
        assert_eq!(f.counts(&conversation), (2, 2, "2".to_owned()), "{what}");
        let awake = f.world.db.store().conversation(conversation.workspace_id, conversation.id).await;
        assert_eq!(awake.unwrap().unwrap().version, 2, "{what}");
    }
}

#[tokio::test]
async fn a_failed_request_can_be_repeated_with_its_key() {
    let f = Function::start().await;
    for (fault, made) in [(Fault::AnswerLost, true), (Fault::Throttled, false), (Fault::Unreachable, false)] {
        let conversation = f.world.conversation(|_| ()).await;
        let body = text(&conversation, "Hello");
        let key = format!("{fault:?}");
        f.world.db.fail("TransactWriteItems", fault, 3);
        let answer = f.post_once(&key, &body).await;
        assert_eq!((answer.status, &answer.json["code"]), (503, &json!("SERVICE_CORE_0503")), "{fault:?}");
        assert_eq!(f.rows_of(&conversation, "M#").len(), usize::from(made), "{fault:?}");
        let again = f.post_once(&key, &body).await;
        assert_eq!((again.status, is_replay(&again)), (201, made), "{fault:?}");
        assert_eq!(f.counts(&conversation), one(), "{fault:?}");
    }
}
