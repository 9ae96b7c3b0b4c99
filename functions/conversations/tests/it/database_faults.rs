//! Lost answers, conflicts and throttling of the tables. A successful answer means exactly one write, and a failed
//! request can be repeated.

use harness::Fault;
use serde_json::{Value, json};
use store::Table;

use crate::{Conversations, email, with};

fn counts(f: &Conversations) -> [usize; 4] {
    [
        f.world.db.rows_of(Table::Conversations, "conversation").len(),
        f.world.db.rows_of(Table::Messages, "lane").len(),
        f.world.db.rows_of(Table::Contacts, "contact").len(),
        f.world.db.rows_of(Table::Conversations, "once").len(),
    ]
}

#[tokio::test]
async fn a_create_with_a_lost_answer_is_recognised_and_not_repeated() {
    let f = Conversations::start().await;
    f.world.db.fail("TransactWriteItems", Fault::AnswerLost, 1);
    let body = with("+34600111222", json!({}));
    let answer = f.send(f.posted(&body).header("idempotency-key", "k")).await;
    assert_eq!(answer.status, 201, "{}", answer.text);
    assert!(!answer.headers.contains_key("idempotent-replayed"), "it is the first answer");
    assert_eq!(counts(&f), [1, 1, 1, 1]);
    assert_eq!(f.get(answer.json["id"].as_str().unwrap()).await.json, answer.json);
    f.world.db.fail("TransactWriteItems", Fault::AnswerLost, 1);
    f.made(&body).await;
    assert_eq!(counts(&f), [2, 2, 1, 1]);
}

#[tokio::test]
async fn conflicts_and_throttling_are_retried() {
    let f = Conversations::start().await;
    for fault in [Fault::Conflict, Fault::ItemThrottled, Fault::Throttled, Fault::Unreachable] {
        f.world.db.fail("TransactWriteItems", fault, 2);
        let made = f.made(&with("+34600111222", json!({}))).await;
        f.world.db.fail("TransactWriteItems", fault, 2);
        let answer = f.patch(made["id"].as_str().unwrap(), &json!({"name": "Order 7"})).await;
        assert_eq!((answer.status, &answer.json["name"]), (200, &json!("Order 7")), "{fault:?}");
    }
    f.world.db.fail("BatchGetItem", Fault::Unprocessed, 2);
    f.made(&json!({"participants": {"externals": [email("ann@x.io")]}})).await;
}

#[tokio::test]
async fn a_failed_create_gets_503_and_can_be_repeated_with_its_key() {
    let f = Conversations::start().await;
    let body = with("+34600111222", json!({}));
    let event = || f.posted(&body).header("idempotency-key", "k");
    let before = f.world.db.everything();
    f.world.db.fail("TransactWriteItems", Fault::Throttled, 3);
    let answer = f.send(event()).await;
    assert_eq!((answer.status, answer.json["code"].as_str()), (503, Some("SERVICE_CORE_0503")));
    assert_eq!(f.world.db.everything(), before);
    // This time the write succeeds, but its answer is lost.
    f.world.db.fail("TransactWriteItems", Fault::AnswerLost, 1);
    f.world.db.fail("TransactWriteItems", Fault::Unreachable, 2);
    assert_eq!(f.send(event()).await.status, 503);
    let answer = f.send(event()).await;
    assert_eq!((answer.status, answer.headers["idempotent-replayed"].as_str()), (201, "true"));
    assert_eq!(counts(&f), [1, 1, 1, 1]);
}

#[tokio::test]
async fn failed_reads_get_503_and_change_nothing() {
    let f = Conversations::start().await;
    let agent = f.world.user("agent@example.com", |_| ()).await;
    let team = f.world.team(&[agent.id]).await.id.to_string();
    let made = f.made(&with("+34600111222", json!({}))).await;
    let before = f.world.db.everything();
    for operation in ["BatchGetItem", "Query"] {
        // Three faults for each of its calls of that kind.
        f.world.db.fail(operation, Fault::Throttled, 9);
        let answer = f.post(&with("+34600111333", json!({"teamId": team}))).await;
        assert_eq!(answer.status, 503, "{operation}");
        f.world.db.fail(operation, Fault::Throttled, 9);
        let add = json!({"participants": {"externals": {"add": [email("new@x.io")]}}});
        let answer = f.patch(made["id"].as_str().unwrap(), &add).await;
        assert_eq!(answer.status, 503, "{operation}");
    }
    assert_eq!(f.world.db.everything(), before);
}

#[tokio::test]
async fn an_update_with_a_lost_answer_is_recognised_and_not_repeated() {
    let f = Conversations::start().await;
    let made = f.made(&with("+34600111222", json!({}))).await;
    f.world.db.fail("TransactWriteItems", Fault::AnswerLost, 1);
    let update = json!({"name": "Order 7", "participants": {"externals": {"add": [email("new@x.io")]}}});
    let answer = f.patch(made["id"].as_str().unwrap(), &update).await;
    assert_eq!((answer.status, &answer.json["name"]), (200, &json!("Order 7")));
    let stored = f.stored(&made["id"]).await;
    assert_eq!((stored.version, stored.externals.len()), (2, 2));
    assert_eq!(counts(&f), [1, 1, 2, 0]);
}

#[tokio::test]
async fn an_update_uses_a_contact_that_was_created_concurrently() {
    let f = Conversations::start().await;
    let made = f.made(&with("+34600111222", json!({}))).await;
    let id = made["id"].as_str().unwrap();
    let hold = f.world.db.hold("TransactWriteItems");
    let update = json!({"participants": {"externals": {"add": [email("new@x.io")]}}});
    let late = f.patch(id, &update);
    let early = async {
        let made: Value = f.made(&json!({"participants": {"externals": [email("NEW@x.io")]}})).await;
        drop(hold);
        made
    };
    let (late, early) = futures::future::join(late, early).await;
    assert_eq!(late.status, 200, "{}", late.text);
    let (late, early) = (f.stored(&made["id"]).await, f.stored(&early["id"]).await);
    assert_eq!(late.externals[1].contact, early.externals[0].contact);
    assert_eq!(counts(&f), [2, 2, 2, 0]);
}
