//! The numbers of a conversation's messages, its due time, and the cost of a message.

use std::time::Duration;

use domain::access::api_key::RateLimit;
use domain::conversation::ConversationChange;
use domain::settings::template::Requested;
use domain::{Conversation, ConversationStatus, TemplateId};
use futures::future::join_all;
use harness::trips;
use serde_json::{Value, json};
use store::Changed;

use crate::{FIRST_DUE, Function, text};

impl Function {
    /// Changes a conversation like a concurrent writer.
    pub(crate) async fn change(&self, old: &Conversation, conversation: Conversation) {
        let change = ConversationChange { conversation, new_contacts: vec![] };
        let changed = self.world.db.store().change_conversation(old, &change, "another request").await;
        assert_eq!(changed.unwrap(), Changed::Done);
    }
}

fn note(conversation: &Conversation) -> Value {
    let mut note = text(conversation, "Note");
    note["enableExternalBroadcast"] = json!(false);
    note
}

#[tokio::test]
async fn messages_and_notes_get_consecutive_numbers_of_their_conversation() {
    let f = Function::start().await;
    let (one, other) = (f.world.conversation(|_| ()).await, f.world.conversation(|_| ()).await);
    let mut seqs = vec![];
    for body in [text(&one, "A"), note(&one), text(&other, "B"), text(&one, "C")] {
        seqs.push(f.take(&body).await.seq);
    }
    assert_eq!(seqs, [1, 2, 1, 3]);
    let open: Vec<Value> = f.rows_of(&one, "Q#").into_iter().map(|row| row["sk"]["S"].clone()).collect();
    assert_eq!(open, ["Q#000000000001", "Q#000000000003"]);
}

#[tokio::test]
async fn fifty_concurrent_messages_get_fifty_consecutive_numbers() {
    let f = Function::start().await;
    let fast = RateLimit::new(500, 500).unwrap();
    let key = f.world.key_with(f.world.workspace, &["*"], |key| key.rate = fast).await;
    let conversation = f.world.conversation(|_| ()).await;
    let bodies: Vec<Value> = (0..50).map(|n| text(&conversation, &format!("message {n}"))).collect();
    let answers = join_all(bodies.iter().map(|body| f.send(f.event(body).header("x-api-key", &key)))).await;
    let mut seqs = vec![];
    for answer in &answers {
        assert_eq!(answer.status, 201, "{}", answer.text);
        seqs.push(f.stored(conversation.id, answer).await.seq);
    }
    seqs.sort_unstable();
    assert_eq!(seqs, (1..=50).collect::<Vec<u64>>());
    assert_eq!(f.rows_of(&conversation, "Q#").len(), 50);
    assert_eq!(f.lane(&conversation)["seq"]["N"], "50");
}

#[tokio::test]
async fn a_message_whose_number_is_taken_gets_the_next_without_another_read() {
    let f = Function::start().await;
    let conversation = f.world.conversation(|_| ()).await;
    let other = async {
        f.take(&text(&conversation, "the other")).await;
        f.world.db.forget_calls();
    };
    let answer = f.meanwhile("TransactWriteItems", f.post(&text(&conversation, "Hello")), other).await;
    assert_eq!(f.stored(conversation.id, &answer).await.seq, 2);
    assert_eq!(f.world.db.sorted_operations(), ["GetItem messages", "TransactWriteItems messages"]);
    let open = f.rows_of(&conversation, "Q#");
    assert_eq!(open.len(), 2);
    assert_eq!(open[1]["messageId"]["S"], answer.json["messageId"]);
}

#[tokio::test]
async fn a_later_message_follows_the_onboarding() {
    let f = Function::start().await;
    let template = TemplateId::generate(f.world.db.store().ids());
    let steps = vec![Requested { template, parameters: Default::default() }; 3];
    let conversation = f.world.onboarded_conversation(steps, |_| ()).await;
    let due = f.lane(&conversation)["dueAt"].clone();
    assert_eq!(f.take(&text(&conversation, "Hello")).await.seq, 4);
    assert_eq!(f.lane(&conversation)["dueAt"], due);
}

#[tokio::test]
async fn a_due_lane_keeps_its_due_time() {
    let f = Function::start().await;
    let conversation = f.world.conversation(|_| ()).await;
    let due = |f: &Function| f.lane(&conversation)["dueAt"]["N"].clone();
    f.take(&text(&conversation, "A")).await;
    let first = json!(f.world.db.store().now().plus(FIRST_DUE).as_millis().to_string());
    assert_eq!(due(&f), first);
    for body in [text(&conversation, "B"), note(&conversation)] {
        f.world.db.clock().advance(Duration::from_secs(60));
        f.take(&body).await;
        assert_eq!(due(&f), first);
    }
}

#[tokio::test]
async fn a_message_does_not_overwrite_a_concurrent_change_of_its_ghost() {
    let f = Function::start().await;
    for (status, expected) in [(ConversationStatus::Blocked, 409), (ConversationStatus::Released, 201)] {
        let ghost =
            f.world.conversation(|conversation| conversation.status = ConversationStatus::Ghost).await;
        let changed = Conversation { status, version: 2, ..ghost.clone() };
        let body = text(&ghost, "Hello");
        let change = f.change(&ghost, changed.clone());
        let answer = f.meanwhile("TransactWriteItems", f.post(&body), change).await;
        assert_eq!(answer.status, expected, "{}", answer.text);
        assert_eq!(f.rows_of(&ghost, "M#").len(), usize::from(expected == 201));
        let found = f.world.db.store().conversation(ghost.workspace_id, ghost.id).await;
        assert_eq!(found.unwrap(), Some(changed), "the concurrent change stays");
    }
}

#[tokio::test]
async fn a_request_over_the_rate_limit_writes_nothing() {
    let f = Function::start().await;
    let slow = RateLimit::new(1, 1).unwrap();
    let key = f.world.key_with(f.world.workspace, &["*"], |key| key.rate = slow).await;
    let conversation = f.world.conversation(|_| ()).await;
    let post = || f.send(f.event(&text(&conversation, "Hello")).header("x-api-key", &key));
    assert_eq!(post().await.status, 201);
    let before = f.world.db.everything();
    let answer = post().await;
    assert_eq!((answer.status, &answer.json["code"]), (429, &json!("SERVICE_RATE_LIMIT_0001")));
    assert_eq!(f.world.db.everything(), before);
}

#[tokio::test]
async fn a_warm_message_takes_two_round_trips() {
    let f = Function::start().await;
    let conversation = f.world.conversation(|_| ()).await;
    let first = f.take(&text(&conversation, "warm")).await;
    let mut reply = text(&conversation, "Hello");
    reply["replyToMessageId"] = json!(first.id.to_string());
    let idle = f.world.conversation(|_| ()).await;
    let ghost = f.world.conversation(|conversation| conversation.status = ConversationStatus::Ghost).await;
    let rows = [
        // Read: the conversation and its lane. Written: two units for each row, which are the message, its entry and the
        // lane. One for the message's place in the list. An answer that is looked up and absent is a unit read.
        ("a text", f.event(&text(&conversation, "Hello")), 2.0, 7.0),
        ("a note", f.event(&note(&conversation)), 2.0, 5.0),
        ("a reply", f.event(&reply), 3.0, 7.0),
        ("a reply under a key", f.event(&reply).header("idempotency-key", "k"), 4.0, 9.0),
        // One more for the index entry of the lane, which was idle.
        ("the first text", f.event(&text(&idle, "Hello")), 2.0, 8.0),
        // The conversation's own row and its rows in two lists, with their old and new index entries by status.
        ("a ghost's first", f.event(&text(&ghost, "Hello")), 2.0, 18.0),
    ];
    for (what, event, read_units, units) in rows {
        f.world.db.forget_calls();
        assert_eq!(f.send(event).await.status, 201, "{what}");
        let calls = f.world.db.calls();
        assert_eq!(trips(&calls), 2, "{what}");
        let reads: Vec<_> = calls.iter().filter(|call| call.operation == "BatchGetItem").collect();
        assert_eq!((reads.len(), reads[0].table.as_str()), (1, "test-conversations+test-messages"), "{what}");
        assert_eq!(reads[0].read_units, read_units, "{what}");
        let writes: f64 =
            calls.iter().filter(|call| call.table != "test-limits").map(|call| call.write_units).sum();
        assert_eq!(writes, units, "{what}");
    }
}
