//! Call outcomes and their effects.

use std::sync::Arc;
use std::time::Duration;

use domain::sending::Progress;
use domain::{MessageStatus, Timestamp};
use harness::{Fault, TestClock};
use provider::CallOutcome;

use crate::{CONVERSATION, FIRST_DUE, LEASE, Sender, failed, sent, task, unknown};
use harness::{ACCEPTED, NO_ANSWER, Reaction, answered};

const THROTTLED: CallOutcome = CallOutcome::Answered { status: 429, code: Some(130_429) };
const NOT_TAKEN: CallOutcome = CallOutcome::NeverConnected;

fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn after(seconds: u64) -> Timestamp {
    TestClock::START.plus(secs(seconds))
}

#[tokio::test]
async fn each_call_outcome_sets_the_state_of_the_part_and_the_next_one_is_sent() {
    for (outcome, expected) in [
        (ACCEPTED, sent(1).remove(0)),
        (answered(400, 131_026), failed("131026")),
        (answered(404, 132_001), failed("132001")),
        (CallOutcome::Answered { status: 401, code: None }, failed("HTTP_401")),
        (CallOutcome::Answered { status: 302, code: None }, failed("HTTP_302")),
        (NO_ANSWER, unknown("NO_ANSWER")),
        (answered(500, 99), unknown("NO_ANSWER")),
        (CallOutcome::Answered { status: 502, code: None }, unknown("NO_ANSWER")),
    ] {
        let (sender, status) = (Sender::start().await, expected.0);
        let (one, other) = (sender.customer("+12025550101").await, sender.customer("+12025550102").await);
        let conversation = sender.conversation(&[&one, &other]).await;
        let id = sender.say(&conversation, "hello").await;
        let next = sender.say(&conversation, "next").await;
        sender.provider.ends(outcome);
        sender.wake().await;
        assert_eq!(sender.parts(id).await, [expected, sent(1).remove(0)], "{outcome:?}");
        assert_eq!(sender.parts(next).await, sent(2), "{outcome:?}");
        let told = sender.counted.values();
        let of = |name: &str| told.get(name).map_or(0, |counts| counts.iter().sum());
        let first_of_four = match status {
            MessageStatus::Sent => (4, 0, 0),
            MessageStatus::Failed => (3, 1, 0),
            _ => (3, 0, 1),
        };
        let counts: (u64, u64, u64) = (of("SendsAccepted"), of("SendsFailed"), of("SendsUnknown"));
        assert_eq!((counts, of("SendsRetried")), (first_of_four, 0), "{outcome:?}");
        assert_eq!(sender.provider.calls().len(), 4, "{outcome:?}");
        sender.assert_idle(2);
    }
}

#[tokio::test]
async fn an_acceptance_without_a_message_id_is_unknown() {
    let sender = Sender::start().await;
    let customer = sender.customer("+12025550101").await;
    let conversation = sender.conversation(&[&customer]).await;
    let id = sender.say(&conversation, "hello").await;
    sender.provider.then(Reaction::AcceptsNamelessly);
    sender.wake().await;
    assert_eq!(sender.parts(id).await, [unknown("NO_ANSWER")]);
}

#[tokio::test]
async fn a_refused_part_waits_delays_the_following_parts_and_is_then_sent() {
    for outcome in [NOT_TAKEN, answered(500, 1), answered(503, 131_016)] {
        let sender = Sender::start().await;
        let customer = sender.customer("+12025550101").await;
        let conversation = sender.conversation(&[&customer]).await;
        let first = sender.say(&conversation, "first").await;
        let second = sender.say(&conversation, "second").await;
        sender.provider.ends(outcome);
        sender.wake().await;
        let waiting = sender.message(first).await;
        assert_eq!((waiting.parts[0].status, waiting.version), (MessageStatus::Sending, 2));
        let expected = Progress {
            failures: 1,
            since: Some(TestClock::START),
            next_at: Some(after(30)),
            ..Progress::default()
        };
        assert_eq!(waiting.progress, expected);
        assert_eq!(sender.parts(second).await, [(MessageStatus::Queued, None)]);
        let queued = sender.sqs.take();
        assert_eq!((queued.len(), queued[0].delay, &queued[0].body), (1, 30, &task(CONVERSATION)));
        assert_eq!(sender.lane()["dueAt"]["N"], after(150).as_millis().to_string());
        assert!(sender.lane().get("lease").is_none());

        // A visit that is too early makes no call and queues the next visit for the remaining time.
        sender.world.db.clock().set(after(20));
        sender.wake().await;
        assert_eq!((sender.provider.calls().len(), sender.sqs.take()[0].delay), (1, 10));

        sender.world.db.clock().set(after(30));
        sender.wake().await;
        assert_eq!((sender.parts(first).await, sender.parts(second).await), (sent(1), sent(1)));
        assert_eq!(sender.provider.said(), ["first", "first", "second"]);
        assert_eq!(sender.message(first).await.version, 3);
        sender.assert_idle(2);
    }
}

#[tokio::test]
async fn a_part_that_is_never_accepted_fails_after_the_whole_schedule_of_a_day() {
    let sender = Sender::start().await;
    let customer = sender.customer("+12025550101").await;
    let conversation = sender.conversation(&[&customer]).await;
    let first = sender.say(&conversation, "first").await;
    let second = sender.say(&conversation, "second").await;
    let mut at = 0;
    for wait in [30, 120, 600, 3_600, 14_400, 14_400, 14_400, 14_400, 14_400, 10_050_u64] {
        sender.provider.ends(NOT_TAKEN);
        sender.wake().await;
        at += wait;
        let message = sender.message(first).await;
        assert_eq!(message.progress.next_at, Some(after(at)), "after {at} s");
        let queued: Vec<u64> = sender.sqs.take().iter().map(|queued| queued.delay).collect();
        assert_eq!(queued, if wait <= 900 { vec![wait] } else { vec![] }, "the sweeper starts later visits");
        // The sweeper finds the lane later than the queue would deliver its message, in case the message is lost.
        let due_at = if wait <= 900 { after(at).plus(FIRST_DUE) } else { after(at) };
        sender.world.db.clock().set(Timestamp::from_millis(due_at.as_millis() - 1));
        assert_eq!(sender.due().await, Vec::<String>::new());
        sender.world.db.clock().set(due_at);
        assert_eq!(sender.due().await, [CONVERSATION]);
        sender.world.db.clock().set(after(at));
    }
    assert_eq!(at, 86_400);
    sender.provider.ends(NOT_TAKEN);
    sender.wake().await;
    assert_eq!(sender.parts(first).await, [failed("GIVEN_UP")]);
    assert_eq!(sender.parts(second).await, sent(1), "the next part is sent");
    assert_eq!(sender.provider.calls().len(), 12);
    sender.assert_idle(2);
}

#[tokio::test]
async fn throttling_counts_no_failure_and_its_waits_grow_up_to_the_last() {
    let sender = Sender::start().await;
    let customer = sender.customer("+12025550101").await;
    let conversation = sender.conversation(&[&customer]).await;
    let id = sender.say(&conversation, "hello").await;
    let mut at = 0;
    for wait in [5, 10, 30, 60, 300, 300_u64] {
        sender.provider.ends(THROTTLED);
        sender.wake().await;
        at += wait;
        let progress = sender.message(id).await.progress;
        assert_eq!((progress.next_at, progress.failures), (Some(after(at)), 0));
        assert_eq!(sender.sqs.take()[0].delay, wait);
        sender.world.db.clock().set(after(at));
    }
    sender.provider.ends(NOT_TAKEN);
    sender.wake().await;
    assert_eq!(sender.message(id).await.progress.next_at, Some(after(at + 30)), "the first failure");
    sender.world.db.clock().set(after(at + 30));
    sender.sqs.take();
    sender.wake().await;
    assert_eq!(sender.parts(id).await, sent(1));
    sender.assert_idle(1);
}

#[tokio::test]
async fn each_part_has_its_own_retry_schedule() {
    let sender = Sender::start().await;
    let (one, other) = (sender.customer("+12025550101").await, sender.customer("+12025550102").await);
    let conversation = sender.conversation(&[&one, &other]).await;
    let id = sender.say(&conversation, "hello").await;
    sender.provider.ends(NOT_TAKEN);
    sender.wake().await;
    sender.world.db.clock().set(after(30));
    sender.provider.ends(ACCEPTED).ends(NOT_TAKEN);
    sender.wake().await;
    let message = sender.message(id).await;
    assert_eq!(
        (message.parts[0].status, message.parts[1].status),
        (MessageStatus::Sent, MessageStatus::Sending)
    );
    assert_eq!((message.progress.failures, message.progress.next_at), (1, Some(after(60))));
}

#[tokio::test]
async fn the_sweeper_queues_a_conversation_that_the_queue_refused() {
    let sender = Sender::start().await;
    let customer = sender.customer("+12025550101").await;
    let conversation = sender.conversation(&[&customer]).await;
    let id = sender.say(&conversation, "hello").await;
    sender.sqs.close(true);
    sender.provider.ends(THROTTLED);
    sender.wake().await;
    assert_eq!(sender.sqs.take(), []);
    sender.world.db.clock().set(after(5));
    assert_eq!(sender.rescued().await, [CONVERSATION]);
    sender.wake().await;
    assert_eq!(sender.parts(id).await, sent(1));
}

#[tokio::test]
async fn unreadable_data_counts_as_a_refused_call() {
    let sender = Sender::start().await;
    let customer = sender.customer("+12025550101").await;
    let conversation = sender.conversation(&[&customer]).await;
    let id = sender.say(&conversation, "hello").await;
    // The message itself is read first.
    let held = sender.world.db.hold("GetItem");
    let then_fails = async {
        sender.world.db.begun("GetItem", 1).await;
        sender.world.db.fail("GetItem", Fault::Throttled, 20);
        drop(held);
    };
    sender.world.db.forget_calls();
    tokio::join!(sender.wake(), then_fails);
    sender.world.db.heal();
    let message = sender.message(id).await;
    assert_eq!((message.parts[0].status, message.progress.failures), (MessageStatus::Sending, 1));
    assert_eq!(sender.provider.calls(), []);
    sender.world.db.clock().set(after(30));
    sender.wake().await;
    assert_eq!(sender.parts(id).await, sent(1));
}

#[tokio::test]
async fn a_delayed_outcome_is_recorded_and_the_call_is_not_repeated() {
    for fault in
        [Fault::Throttled, Fault::AnswerLost, Fault::Unreachable, Fault::Conflict, Fault::ItemThrottled]
    {
        let sender = Sender::start().await;
        let customer = sender.customer("+12025550101").await;
        let conversation = sender.conversation(&[&customer]).await;
        let id = sender.say(&conversation, "hello").await;
        sender.world.db.fail("TransactWriteItems", fault, 5);
        sender.wake().await;
        assert_eq!(sender.parts(id).await, sent(1), "{fault:?}");
        assert_eq!(sender.provider.calls().len(), 1, "{fault:?}");
        sender.assert_idle(1);
    }
}

#[tokio::test]
async fn a_begin_with_a_lost_answer_is_recognised_and_called_once() {
    let sender = Sender::start().await;
    let customer = sender.customer("+12025550101").await;
    let conversation = sender.conversation(&[&customer]).await;
    let id = sender.say(&conversation, "hello").await;
    let lose = async {
        // The first update is the lane's lease. The second is the begin of the call.
        sender.world.db.begun("GetItem", 1).await;
        sender.world.db.fail("UpdateItem", Fault::AnswerLost, 4);
    };
    sender.world.db.forget_calls();
    tokio::join!(sender.wake(), lose);
    assert_eq!((sender.parts(id).await, sender.provider.calls().len()), (sent(1), 1));
    sender.assert_idle(1);
}

#[tokio::test]
async fn an_outcome_that_cannot_be_recorded_becomes_unknown_in_the_next_visit() {
    let sender = Sender::start().await;
    let customer = sender.customer("+12025550101").await;
    let conversation = sender.conversation(&[&customer]).await;
    let id = sender.say(&conversation, "hello").await;
    // The call takes almost all of the remaining time, so only a short time is left for writes.
    let clock = sender.world.db.clock().clone();
    sender.provider.then(Reaction::Takes(clock.clone(), secs(59), ACCEPTED));
    sender.world.db.fail("TransactWriteItems", Fault::Throttled, 3);
    assert_eq!(sender.run(&[task(CONVERSATION)]).await, ["0"]);
    assert_eq!(sender.parts(id).await, [(MessageStatus::Sending, None)]);

    assert_eq!(sender.rescued().await, [CONVERSATION], "the conversation is still due");
    sender.wake().await;
    assert_eq!(sender.parts(id).await, [unknown("INTERRUPTED")]);
    assert_eq!(sender.provider.calls().len(), 1);
    sender.assert_idle(1);
}

#[tokio::test]
async fn no_call_begins_that_could_outlast_the_function() {
    let sender = Sender::start().await;
    let customer = sender.customer("+12025550101").await;
    let conversation = sender.conversation(&[&customer]).await;
    let (first, second) =
        (sender.say(&conversation, "first").await, sender.say(&conversation, "second").await);
    let clock = sender.world.db.clock().clone();
    sender.provider.then(Reaction::Takes(clock, secs(26), ACCEPTED));
    sender.wake().await;
    assert_eq!((sender.parts(first).await, sender.provider.calls().len()), (sent(1), 1));
    assert_eq!(sender.parts(second).await, [(MessageStatus::Queued, None)]);
    let queued = sender.sqs.take();
    assert_eq!((queued.len(), queued[0].delay), (1, 0), "another visit continues at once");
    assert_eq!(sender.rescued().await, [CONVERSATION]);
    sender.wake().await;
    assert_eq!(sender.parts(second).await, sent(1));
    sender.assert_idle(2);
}

#[tokio::test]
async fn no_call_is_made_if_its_begin_took_the_time_it_needs() {
    let sender = Sender::start().await;
    let customer = sender.customer("+12025550101").await;
    let conversation = sender.conversation(&[&customer]).await;
    let id = sender.say(&conversation, "hello").await;
    let lease = sender.world.db.hold("UpdateItem");
    let slow = async {
        sender.world.db.begun("UpdateItem", 1).await;
        let beginning = sender.world.db.hold("UpdateItem");
        drop(lease);
        sender.world.db.begun("UpdateItem", 2).await;
        sender.world.db.clock().advance(secs(50));
        drop(beginning);
    };
    sender.world.db.forget_calls();
    tokio::join!(sender.wake(), slow);
    assert_eq!(sender.provider.calls(), []);
    let message = sender.message(id).await;
    assert_eq!((message.parts[0].status, message.progress.calling), (MessageStatus::Sending, None));
    assert_eq!((sender.sqs.take().len(), sender.rescued().await.len()), (1, 1));
    sender.wake().await;
    assert_eq!((sender.parts(id).await, sender.provider.calls().len()), (sent(1), 1));
    sender.assert_idle(1);
}

#[tokio::test]
async fn a_function_with_conflicting_time_limits_does_nothing() {
    let mut sender = Sender::start().await;
    let customer = sender.customer("+12025550101").await;
    let conversation = sender.conversation(&[&customer]).await;
    sender.say(&conversation, "hello").await;
    for (call, lease, said) in [
        (60, 90, "the time-out of a call is too long for the time-out of the function"),
        (10, 59, "the lease is shorter than the time-out of the function"),
    ] {
        (sender.engine.rules.call, sender.engine.rules.lease) = (secs(call), secs(lease));
        let error = sender.engine.handle(sender.event(&[task(CONVERSATION)])).await.unwrap_err();
        assert_eq!(error.to_string(), said);
    }
    assert_eq!((sender.provider.calls(), sender.provider.beginnings()), (vec![], 0));
}

#[tokio::test]
async fn a_sender_that_paused_beyond_its_lease_neither_repeats_nor_overwrites() {
    let sender = Sender::start().await;
    let (one, other) = (sender.customer("+12025550101").await, sender.customer("+12025550102").await);
    let conversation = sender.conversation(&[&one, &other]).await;
    let id = sender.say(&conversation, "hello").await;
    let barrier = Arc::new(tokio::sync::Barrier::new(2));
    sender.provider.then(Reaction::Meets(barrier.clone(), ACCEPTED));
    let other = async {
        barrier.wait().await;
        sender.world.db.clock().advance(LEASE + secs(1));
        sender.wake().await;
        assert_eq!(sender.parts(id).await, [unknown("INTERRUPTED"), sent(1).remove(0)]);
        barrier.wait().await;
    };
    tokio::join!(sender.wake(), other);
    assert_eq!(sender.parts(id).await, [unknown("INTERRUPTED"), sent(1).remove(0)]);
    assert_eq!(sender.provider.calls().len(), 2, "one call for each part");
    sender.assert_idle(1);
}

#[tokio::test]
async fn a_part_that_the_provider_holds_is_sent_and_the_next_one_follows() {
    let sender = Sender::start().await;
    let (one, other) = (sender.customer("+12025550101").await, sender.customer("+12025550102").await);
    let conversation = sender.conversation(&[&one, &other]).await;
    let id = sender.say(&conversation, "hello").await;
    sender.provider.then(Reaction::Holds);
    sender.wake().await;
    let parts = sender.message(id).await.parts;
    let seen: Vec<_> = parts.iter().map(|part| (part.status, part.is_held)).collect();
    assert_eq!(seen, [(MessageStatus::Sent, true), (MessageStatus::Sent, false)]);
    let kept = sender.world.db.store().provider_message(sender.world.workspace, "wamid.1").await.unwrap();
    assert_eq!(
        kept.map(|(_, message, part)| (message, part)),
        Some((id, Some(0))),
        "a status without the part's name finds it"
    );
}
