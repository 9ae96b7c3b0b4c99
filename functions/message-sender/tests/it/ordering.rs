//! The order of messages, and which messages wait for which.

use std::sync::Arc;
use std::time::Duration;

use domain::settings::template::{Parameters, Requested};
use domain::{Contact, ConversationId, MessageStatus};
use tokio::sync::{Barrier, Notify};
use uuid::Uuid;

use crate::{CONVERSATION, Sender, failed, sent, task};
use harness::{ACCEPTED, Reaction, answered};

/// This number of customers.
async fn customers(sender: &Sender, count: usize) -> Vec<Contact> {
    let mut customers = vec![];
    for number in 0..count {
        customers.push(sender.customer(&format!("+1202555{number:04}")).await);
    }
    customers
}

#[tokio::test]
async fn messages_are_sent_in_the_order_of_their_numbers_and_recipients() {
    let sender = Sender::start().await;
    let customers = customers(&sender, 3).await;
    let conversation = sender.conversation(&customers.iter().collect::<Vec<_>>()).await;
    for text in ["one", "two", "three"] {
        sender.say(&conversation, text).await;
    }
    sender.wake().await;
    let expected: Vec<(String, String)> = ["one", "two", "three"]
        .iter()
        .flat_map(|text| (0..3).map(move |number| (format!("+1202555{number:04}"), (*text).to_owned())))
        .collect();
    assert_eq!(sender.provider.short(), expected);
    sender.assert_idle(3);
}

#[tokio::test]
async fn templates_of_the_plan_are_sent_before_callers_messages() {
    let sender = Sender::start().await;
    let mut steps = vec![];
    for name in ["first", "second", "third"] {
        let template = sender.world.template(|template| template.name = name.to_owned()).await;
        steps.push(Requested { template: template.id, parameters: Parameters::new() });
    }
    let customer = sender.customer("+12025550101").await;
    let id = ConversationId::parse(CONVERSATION).unwrap();
    let conversation = sender.conversation_with(id, &[&customer], &steps).await;
    assert_eq!(sender.due().await, Vec::<String>::new());
    sender.say(&conversation, "hello").await;
    sender.wake().await;
    assert_eq!(sender.provider.said(), ["first", "second", "third", "hello"]);
    assert_eq!(sender.rows("M#"), 4);
    sender.assert_idle(4);
    // A summary reads only the lane, so the lane counts the callers' messages and the plan's.
    let store = sender.world.db.store();
    sender.world.db.forget_calls();
    let tally = store.tally(conversation.workspace_id, conversation.id, store.now()).await.unwrap();
    assert_eq!((tally.outbound, sender.world.db.calls().len()), (4, 1));
}

#[tokio::test]
async fn a_waiting_step_becomes_one_message_and_delays_the_next() {
    let sender = Sender::start().await;
    let mut steps = vec![];
    for name in ["first", "second"] {
        let template = sender.world.template(|template| template.name = name.to_owned()).await;
        steps.push(Requested { template: template.id, parameters: Parameters::new() });
    }
    let customer = sender.customer("+12025550101").await;
    let id = ConversationId::parse(CONVERSATION).unwrap();
    let conversation = sender.conversation_with(id, &[&customer], &steps).await;
    sender.say(&conversation, "hello").await;
    let throttled = answered(429, 130_429);
    for _ in 0..2 {
        sender.provider.ends(throttled);
        sender.wake().await;
        assert_eq!(
            (sender.rows("M#"), sender.rows("P"), sender.rows("Q#")),
            (2, 1, 2),
            "one step, and hello"
        );
        sender.world.db.clock().advance(Duration::from_secs(300));
    }
    sender.provider.ends(ACCEPTED).ends(throttled);
    sender.wake().await;
    assert_eq!(
        (sender.rows("M#"), sender.rows("P"), sender.rows("Q#")),
        (3, 0, 2),
        "the plan has no steps left"
    );
    sender.world.db.clock().advance(Duration::from_secs(300));
    sender.sqs.take();
    sender.wake().await;
    assert_eq!(sender.provider.said(), ["first", "first", "first", "second", "second", "hello"]);
    sender.assert_idle(3);
}

#[tokio::test]
async fn more_than_a_page_of_messages_is_sent_in_one_visit_in_order() {
    let sender = Sender::start().await;
    let customer = sender.customer("+12025550101").await;
    let conversation = sender.conversation(&[&customer]).await;
    let texts: Vec<String> = (0..120).map(|number| format!("message {number}")).collect();
    for text in &texts {
        sender.say(&conversation, text).await;
    }
    sender.wake().await;
    assert_eq!(sender.provider.said(), texts);
    sender.assert_idle(120);
}

#[tokio::test]
async fn a_message_added_during_a_visit_is_sent_by_that_visit() {
    let sender = Sender::start().await;
    let customer = sender.customer("+12025550101").await;
    let conversation = sender.conversation(&[&customer]).await;
    sender.say(&conversation, "first").await;
    let barrier = Arc::new(Barrier::new(2));
    sender.provider.then(Reaction::Meets(barrier.clone(), ACCEPTED));
    let meanwhile = async {
        barrier.wait().await;
        sender.say(&conversation, "second").await;
        sender.say(&conversation, "third").await;
        let calls = sender.provider.calls().len();
        sender.wake().await;
        assert_eq!(sender.provider.calls().len(), calls, "the lane is leased");
        barrier.wait().await;
    };
    tokio::join!(sender.wake(), meanwhile);
    assert_eq!(sender.provider.said(), ["first", "second", "third"]);
    sender.assert_idle(3);
}

#[tokio::test]
async fn a_message_added_between_the_last_read_and_the_release_is_sent() {
    let sender = Sender::start().await;
    let customer = sender.customer("+12025550101").await;
    let conversation = sender.conversation(&[&customer]).await;
    sender.say(&conversation, "first").await;
    let lease = sender.world.db.hold("UpdateItem");
    let meanwhile = async {
        sender.world.db.begun("UpdateItem", 1).await;
        let beginning = sender.world.db.hold("UpdateItem");
        drop(lease);
        sender.world.db.begun("UpdateItem", 2).await;
        let giving_back = sender.world.db.hold("UpdateItem");
        drop(beginning);
        sender.world.db.begun("UpdateItem", 3).await;
        sender.say(&conversation, "second").await;
        drop(giving_back);
    };
    sender.world.db.forget_calls();
    tokio::join!(sender.wake(), meanwhile);
    assert_eq!(sender.provider.said(), ["first", "second"]);
    sender.assert_idle(2);
}

#[tokio::test]
async fn two_concurrent_senders_make_one_call() {
    let sender = Sender::start().await;
    let customer = sender.customer("+12025550101").await;
    let conversation = sender.conversation(&[&customer]).await;
    let id = sender.say(&conversation, "hello").await;
    let many = vec![task(CONVERSATION); 10];
    let (one, other) = tokio::join!(sender.run(&many), sender.run(&many));
    assert_eq!((one, other), (vec![], vec![]));
    assert_eq!((sender.parts(id).await, sender.provider.calls().len()), (sent(1), 1));
    sender.assert_idle(1);
}

/// Another conversation with its own customer, and a message in it.
async fn another(sender: &Sender, number: u128) -> (ConversationId, domain::MessageId) {
    let customer = sender.customer(&format!("+1202666{number:04}")).await;
    let id = ConversationId::from_uuid(Uuid::from_u128(number));
    let conversation = sender.conversation_with(id, &[&customer], &[]).await;
    (id, sender.say(&conversation, &format!("in {number}")).await)
}

#[tokio::test]
async fn a_slow_waiting_or_failing_conversation_delays_no_other() {
    let sender = Sender::start().await;
    let customer = sender.customer("+12025550101").await;
    let conversation = sender.conversation(&[&customer]).await;
    let id = sender.say(&conversation, "slow").await;
    let (panics, _) = another(&sender, 1).await;
    let (throttled, waiting) = another(&sender, 2).await;
    let (refused, bad) = another(&sender, 3).await;
    let (fine, good) = another(&sender, 4).await;
    let slow = Arc::new(Barrier::new(2));
    // The lanes make their calls in lockstep, in the order of the batch.
    sender
        .provider
        .then(Reaction::Meets(slow.clone(), ACCEPTED))
        .then(Reaction::Panics)
        .ends(answered(429, 130_429))
        .ends(answered(400, 131_026));
    let bodies = [
        task(CONVERSATION),
        task(&panics.to_string()),
        task(&throttled.to_string()),
        task(&refused.to_string()),
        task(&fine.to_string()),
        "poison".to_owned(),
        task("8e7f6a5b-4c3d-4e2f-9a1b-0c9d8e7f6a5b"),
    ];
    let others_done = async {
        slow.wait().await;
        while sender.message_in(fine, good).await.status() != MessageStatus::Sent {
            tokio::task::yield_now().await;
        }
        assert_eq!(sender.parts(id).await, [(MessageStatus::Sending, None)], "still being sent");
        slow.wait().await;
    };
    let (again, ()) = tokio::join!(sender.run(&bodies), others_done);
    assert_eq!(
        again,
        ["1", "5"],
        "only the failed conversation and the message without a conversation are repeated"
    );
    assert_eq!(sender.parts(id).await, sent(1));
    assert_eq!(sender.message_in(throttled, waiting).await.status(), MessageStatus::Sending);
    let bad = sender.message_in(refused, bad).await;
    assert_eq!(bad.parts[0].error.as_ref().map(|error| error.as_str()), Some("131026"));
    assert_eq!(sender.sqs.take().len(), 1);
}

#[tokio::test]
async fn a_call_that_broke_off_is_not_repeated() {
    let sender = Sender::start().await;
    let (conversation, id) = another(&sender, 1).await;
    sender.provider.then(Reaction::Panics);
    let task = task(&conversation.to_string());
    assert_eq!(sender.run(std::slice::from_ref(&task)).await, ["0"]);
    sender.world.db.clock().advance(crate::LEASE + Duration::from_secs(1));
    assert_eq!(sender.run(&[task]).await, Vec::<String>::new());
    let message = sender.message_in(conversation, id).await;
    assert_eq!(message.parts[0].status, MessageStatus::Unknown);
    assert_eq!(sender.provider.calls().len(), 1);
}

#[tokio::test]
async fn a_conversation_is_due_again_when_the_lease_of_a_dead_sender_ends() {
    let sender = Sender::start().await;
    let customer = sender.customer("+12025550101").await;
    let conversation = sender.conversation(&[&customer]).await;
    let (first, second) =
        (sender.say(&conversation, "first").await, sender.say(&conversation, "second").await);
    let got = Arc::new(Notify::new());
    sender.provider.then(Reaction::Hangs(got.clone()));
    tokio::select! {
        () = sender.wake() => panic!("the call hangs"),
        () = got.notified() => {}
    }
    sender.wake().await;
    assert_eq!(sender.provider.calls().len(), 1, "the lease is still valid");
    sender.world.db.clock().advance(crate::LEASE + Duration::from_millis(1));
    assert_eq!(sender.rescued().await, [CONVERSATION]);
    sender.wake().await;
    assert_eq!(sender.parts(first).await, [crate::unknown(crate::INTERRUPTED)]);
    assert_eq!(sender.parts(second).await, sent(1));
    assert_eq!(sender.provider.said(), ["first", "second"]);
    sender.assert_idle(2);
}

#[tokio::test]
async fn a_lost_queue_message_costs_only_two_minutes() {
    let sender = Sender::start().await;
    let customer = sender.customer("+12025550101").await;
    let conversation = sender.conversation(&[&customer]).await;
    let id = sender.say(&conversation, "hello").await;
    assert_eq!(sender.due().await, Vec::<String>::new());
    sender.world.db.clock().advance(crate::FIRST_DUE);
    assert_eq!(sender.due().await, [CONVERSATION]);
    sender.wake().await;
    assert_eq!(sender.parts(id).await, sent(1));
    assert_eq!(sender.due().await, Vec::<String>::new());
}

#[tokio::test]
async fn a_visit_without_work_makes_no_call_and_leaves_the_lane_unchanged() {
    let sender = Sender::start().await;
    let customer = sender.customer("+12025550101").await;
    sender.conversation(&[&customer]).await;
    sender.wake().await;
    sender.wake().await;
    assert_eq!(sender.provider.calls(), []);
    sender.assert_idle(0);
}

#[tokio::test]
async fn an_entry_of_a_message_with_nothing_to_send_is_removed() {
    let sender = Sender::start().await;
    let customer = sender.customer("+12025550101").await;
    let conversation = sender.conversation(&[&customer]).await;
    let gone = sender.say(&conversation, "gone").await;
    let id = sender.say(&conversation, "hello").await;
    let pk = format!("{}#C#{CONVERSATION}", harness::World::WORKSPACE);
    sender.world.db.remove_row(store::Table::Messages, &pk, &format!("M#{gone}"));
    sender.wake().await;
    assert_eq!((sender.parts(id).await, sender.provider.said()), (sent(1), vec!["hello".to_owned()]));
    sender.assert_idle(2);
}

#[tokio::test]
async fn a_failed_part_does_not_change_the_other_parts_of_its_message() {
    let sender = Sender::start().await;
    let customers = customers(&sender, 3).await;
    let conversation = sender.conversation(&customers.iter().collect::<Vec<_>>()).await;
    let id = sender.say(&conversation, "hello").await;
    sender.provider.ends(ACCEPTED).ends(answered(400, 131_026));
    sender.wake().await;
    assert_eq!(sender.parts(id).await, [sent(1).remove(0), failed("131026"), sent(1).remove(0)]);
    assert_eq!(
        sender.message(id).await.status(),
        MessageStatus::Failed,
        "the status of the least advanced part"
    );
}
