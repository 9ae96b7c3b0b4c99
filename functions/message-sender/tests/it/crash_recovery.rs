//! Crash recovery at every database call: no recipient gets a message twice, and no message is lost silently.

use std::collections::BTreeMap;
use std::time::Duration;

use domain::settings::template::{Parameters, Requested};
use domain::{ConversationId, MessageStatus};
use harness::Death;
use serde_json::Value;
use store::Table;

use crate::{CONVERSATION, INTERRUPTED, LEASE, Sender};

/// Lets a sender die at each of its calls in turn, and checks how later visits recover.
async fn at_each_call(parts: usize, prepare: impl AsyncFn(&Sender)) {
    for death in [Death::Before, Death::After] {
        let mut survived = false;
        let mut unknown = 0;
        for calls in 0.. {
            let sender = Sender::start().await;
            prepare(&sender).await;
            let mut dead = sender.world.db.die_after(calls, death);
            tokio::select! {
                () = sender.wake() => survived = true,
                _ = &mut dead => {}
            }
            sender.world.db.revive();
            recover(&sender).await;
            unknown += check(&sender, parts, death, survived, &format!("{death:?} call {calls}"));
            if survived {
                break;
            }
        }
        // Each part has an unknown outcome once: either before its call with the begin recorded, or after it with the
        // outcome not recorded. The outcome and the row of the provider's id are written at the same time, so a
        // death at the second write may stop the first.
        assert!((parts..=2 * parts).contains(&unknown), "{death:?}: {unknown}");
    }
}

/// The lease ends, and the sweeper queues the conversation until nothing is due.
async fn recover(sender: &Sender) {
    for _ in 0..3 {
        sender.world.db.clock().advance(LEASE + crate::FIRST_DUE);
        if sender.due().await.is_empty() {
            return;
        }
        sender.wake().await;
    }
    panic!("the lane stays due: {}", sender.lane());
}

/// Counts the parts that are UNKNOWN.
fn check(sender: &Sender, parts: usize, death: Death, survived: bool, at: &str) -> usize {
    assert_eq!((sender.rows("Q#"), sender.rows("P")), (0, 0), "{at}");
    assert!(sender.lane().get("dueAt").is_none(), "{at}: {}", sender.lane());
    let mut calls = BTreeMap::<(String, String), usize>::new();
    for call in sender.provider.short() {
        *calls.entry(call).or_default() += 1;
    }
    assert!(calls.values().all(|count| *count == 1), "{at}: {calls:?}");

    let rows = sender.world.db.rows(Table::Messages);
    let messages = rows.iter().filter(|row| row["sk"]["S"].as_str().unwrap().starts_with("M#"));
    let ends: Vec<&Value> = messages.flat_map(|row| row["parts"]["L"].as_array().unwrap()).collect();
    assert_eq!(ends.len(), parts, "{at}: every step became one message");
    let (mut sent, mut unknown) = (0, 0);
    for end in ends {
        match MessageStatus::parse(end["M"]["status"]["S"].as_str().unwrap()).unwrap() {
            MessageStatus::Sent => sent += 1,
            MessageStatus::Unknown => {
                assert_eq!(end["M"]["error"]["S"], INTERRUPTED, "{at}");
                unknown += 1;
            }
            other => panic!("{at}: {other:?}"),
        }
    }
    assert!(unknown <= usize::from(!survived), "{at}: at most one call was in flight");
    let least = match death {
        Death::Before => sent + unknown,
        Death::After => sent,
    };
    assert!((least..=sent + unknown).contains(&calls.len()), "{at}: {calls:?}");
    unknown
}

#[tokio::test]
async fn with_one_text() {
    at_each_call(1, async |sender| {
        let customer = sender.customer("+12025550101").await;
        let conversation = sender.conversation(&[&customer]).await;
        sender.say(&conversation, "hello").await;
    })
    .await;
}

#[tokio::test]
async fn with_two_messages_to_two_customers() {
    at_each_call(4, async |sender| {
        let one = sender.customer("+12025550101").await;
        let other = sender.customer("+12025550102").await;
        let conversation = sender.conversation(&[&one, &other]).await;
        sender.say(&conversation, "one").await;
        sender.say(&conversation, "two").await;
    })
    .await;
}

#[tokio::test]
async fn in_the_middle_of_an_onboarding_plan() {
    at_each_call(3, async |sender| {
        let mut steps = vec![];
        for name in ["first", "second"] {
            let template = sender.world.template(|template| template.name = name.to_owned()).await;
            steps.push(Requested { template: template.id, parameters: Parameters::new() });
        }
        let customer = sender.customer("+12025550101").await;
        let id = ConversationId::parse(CONVERSATION).unwrap();
        let conversation = sender.conversation_with(id, &[&customer], &steps).await;
        sender.say(&conversation, "hello").await;
        // The queue message is lost, so the first visit that dies is one that the sweeper queued.
        sender.world.db.clock().advance(Duration::from_secs(1));
    })
    .await;
}
