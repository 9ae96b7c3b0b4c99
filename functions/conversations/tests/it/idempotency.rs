//! A request that is repeated with one `Idempotency-Key` is processed once and gets the same answer.

use std::time::Duration;

use domain::Override;
use harness::{Answer, GatewayEvent, World};
use runtime::metrics::ApiFunction;
use serde_json::{Value, json};
use store::Table;

use crate::{Conversations, with};

fn keyed(f: &Conversations, key: &str, body: &Value) -> GatewayEvent {
    f.posted(body).header("idempotency-key", key)
}

fn is_replay(answer: &Answer) -> bool {
    answer.headers.get("idempotent-replayed").is_some_and(|replayed| replayed == "true")
}

fn conversations(f: &Conversations) -> usize {
    f.world.db.rows_of(Table::Conversations, "conversation").len()
}

#[tokio::test]
async fn a_repeated_request_gets_the_first_answer_and_is_processed_once() {
    let f = Conversations::start().await;
    let body = with("+34600111222", json!({"name": "Order 7"}));
    let first = f.send(keyed(&f, "k", &body)).await;
    let id = first.json["id"].as_str().unwrap();
    assert_eq!(f.patch(id, &json!({"name": "Order 8", "status": "BLOCKED"})).await.status, 200);
    f.world.db.clock().advance(Duration::from_secs(60));
    let before = f.world.db.everything();
    let again = f.send(keyed(&f, "k", &body)).await;
    assert_eq!((again.status, &again.text), (201, &first.text), "the first answer, not the current state");
    assert_eq!(again.headers["etag"], first.headers["etag"]);
    assert!(is_replay(&again) && !is_replay(&first));
    assert_eq!(f.world.db.everything(), before);
}

#[tokio::test]
async fn another_body_with_the_same_key_is_refused_even_with_the_same_meaning() {
    let f = Conversations::start().await;
    let body = with("+34600111222", json!({}));
    assert_eq!(f.send(keyed(&f, "k", &body)).await.status, 201);
    let before = f.world.db.everything();
    for other in [format!("{body} "), with("+34600111333", json!({})).to_string()] {
        let answer = f.send(keyed(&f, "k", &body).raw_body(&other)).await;
        assert_eq!((answer.status, answer.json["code"].as_str()), (422, Some("SERVICE_CORE_0423")));
    }
    assert_eq!(f.world.db.everything(), before);
    assert_eq!(f.send(keyed(&f, "other", &body)).await.status, 201);
    assert_eq!(conversations(&f), 2);
}

#[tokio::test]
async fn a_key_belongs_to_one_workspace() {
    let f = Conversations::start().await;
    let (other, key) = f.world.second_workspace().await;
    f.world.line_of(other, "theirs", |_| ()).await;
    let body = with("+34600111222", json!({}));
    assert_eq!(f.send(keyed(&f, "k", &body)).await.status, 201);
    let theirs = keyed(&f, "k", &body).path("workspaceId", other).header("x-api-key", &key);
    let answer = f.send(theirs).await;
    assert_eq!((answer.status, is_replay(&answer)), (201, false), "{}", answer.text);
}

#[tokio::test]
async fn an_answer_is_valid_for_a_day_even_if_its_row_is_deleted_later() {
    let f = Conversations::start().await;
    let body = with("+34600111222", json!({}));
    let first = f.send(keyed(&f, "k", &body)).await;
    f.world.db.clock().advance(Duration::from_secs(24 * 60 * 60));
    assert!(is_replay(&f.send(keyed(&f, "k", &body)).await));
    f.world.db.clock().advance(Duration::from_secs(1));
    let other = with("+34600111222", json!({"name": "another body"}));
    let later = f.send(keyed(&f, "k", &other)).await;
    assert_eq!((later.status, is_replay(&later)), (201, false));
    assert_ne!(later.json["id"], first.json["id"]);
    assert!(is_replay(&f.send(keyed(&f, "k", &other)).await), "the new answer is stored");
}

#[tokio::test]
async fn only_successful_answers_are_stored() {
    let f = Conversations::without_lines().await;
    let body = with("+34600111222", json!({}));
    assert_eq!(f.send(keyed(&f, "k", &body)).await.json["code"], "SERVICE_CONVERSATION_0605");
    f.world.line(crate::LINE, |_| ()).await;
    let answer = f.send(keyed(&f, "k", &body)).await;
    assert_eq!((answer.status, is_replay(&answer)), (201, false));
}

#[tokio::test]
async fn a_replay_takes_no_turn_and_repeats_no_check() {
    let f = Conversations::start().await;
    let agent = f.world.user("agent@example.com", |_| ()).await;
    let team = f.world.team(&[agent.id]).await.id;
    let body = with("+34600111222", json!({"teamId": team.to_string()}));
    let first = f.send(keyed(&f, "k", &body)).await;
    // A sequence that would be refused now.
    let gone = domain::TemplateId::generate(f.world.db.store().ids());
    f.world.onboarding(Override::Entire, &[gone]).await;
    let before = f.world.db.everything();
    let again = f.send(keyed(&f, "k", &body)).await;
    assert_eq!((again.text, f.world.db.everything()), (first.text, before));
}

#[tokio::test]
async fn a_hundred_concurrent_posts_with_one_key_make_one_conversation() {
    let f = Conversations::start().await;
    let template = f.world.template(|_| ()).await;
    f.world.onboarding(Override::Entire, &[template.id]).await;
    let body = with("+34600111222", json!({}));
    let other = f.world.api(ApiFunction::Conversations);
    let posts = (0..100).map(|n| {
        let api = if n % 2 == 0 { &f.api } else { &other };
        f.send_to(api, keyed(&f, "k", &body))
    });
    let answers = futures::future::join_all(posts).await;
    let first = answers.iter().find(|answer| !is_replay(answer)).unwrap();
    for answer in &answers {
        assert_eq!((answer.status, &answer.text), (201, &first.text));
    }
    assert_eq!(answers.iter().filter(|answer| is_replay(answer)).count(), 99);
    assert_eq!(conversations(&f), 1);
    assert_eq!(f.world.db.rows_of(Table::Messages, "plan").len(), 1, "one plan of messages");
    assert_eq!(f.world.db.rows_of(Table::Contacts, "contact").len(), 1);
}

#[tokio::test]
async fn a_key_is_1_to_255_printable_characters() {
    let f = Conversations::start().await;
    let body = with("+34600111222", json!({}));
    let longest = "k".repeat(255);
    for good in ["k", " ~", longest.as_str()] {
        assert_eq!(f.send(keyed(&f, good, &body)).await.status, 201, "{good}");
    }
    let before = f.world.db.everything();
    let too_long = "k".repeat(256);
    for (bad, kind) in
        [("", "string_too_short"), (too_long.as_str(), "string_too_long"), ("é", "string_pattern_mismatch")]
    {
        let answer = f.send(keyed(&f, bad, &body)).await;
        assert_eq!(answer.status, 422, "{bad}");
        assert_eq!(answer.failures(), [("header.Idempotency-Key".to_owned(), kind.to_owned())]);
    }
    assert_eq!(f.world.db.everything(), before);
}

#[tokio::test]
async fn the_complete_answer_of_the_largest_conversation_is_stored() {
    let f = Conversations::start().await;
    let mut internals = vec![];
    for n in 0..20 {
        let address = format!("{}{n:02}@x.io", "é".repeat(240));
        f.world.user(&address, |_| ()).await;
        internals.push(crate::email(&address));
    }
    let externals: Vec<Value> =
        (0..10).map(|n| crate::email(&format!("{}{n}@x.io", "é".repeat(240)))).collect();
    let body = json!({
        "participants": {"externals": externals, "internals": internals},
        "name": "€".repeat(256),
    });
    let first = f.send(keyed(&f, "k", &body)).await;
    assert_eq!(first.status, 201, "{}", first.text);
    let again = f.send(keyed(&f, "k", &body)).await;
    assert_eq!((is_replay(&again), again.text), (true, first.text));
    assert_eq!(World::BRAND, f.stored(&first.json["id"]).await.externals[9].brand.as_str());
}
