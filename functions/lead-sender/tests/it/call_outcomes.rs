//! Call outcomes and their effects.

use std::sync::Arc;

use domain::sending::Progress;
use domain::{LeadState, MessageStatus, Timestamp};
use harness::{Fault, TestClock};
use provider::CallOutcome;

use crate::{FIRST_DUE, INTERRUPTED, LEASE, SENT, Sender, failed, said, secs, task, unknown};
use harness::{ACCEPTED, NO_ANSWER, Reaction, answered};

const THROTTLED: CallOutcome = CallOutcome::Answered { status: 429, code: Some(130_429) };
const NOT_TAKEN: CallOutcome = CallOutcome::NeverConnected;

fn after(seconds: u64) -> Timestamp {
    TestClock::START.plus(secs(seconds))
}

#[tokio::test]
async fn each_call_outcome_sets_the_state_of_lead_and_message() {
    for (outcome, expected) in [
        (ACCEPTED, SENT),
        (answered(400, 131_026), failed("131026")),
        (answered(404, 132_001), failed("132001")),
        (CallOutcome::Answered { status: 401, code: None }, failed("HTTP_401")),
        (CallOutcome::Answered { status: 302, code: None }, failed("HTTP_302")),
        (NO_ANSWER, unknown("NO_ANSWER")),
        (answered(500, 99), unknown("NO_ANSWER")),
        (CallOutcome::Answered { status: 502, code: None }, unknown("NO_ANSWER")),
    ] {
        let sender = Sender::start().await;
        let id = sender.lead().await;
        sender.provider.ends(outcome);
        sender.wake(id).await;
        assert_eq!(sender.state(id).await, expected, "{outcome:?}");
        assert_eq!(sender.part(id).await, said(expected), "{outcome:?}");
        let name = match sender.stored(id).await.state {
            LeadState::Sent => "SendsAccepted lead-sender",
            LeadState::Failed => "SendsFailed lead-sender",
            _ => "SendsUnknown lead-sender",
        };
        let told: Vec<_> = sender.counted.values().into_iter().collect();
        assert_eq!(told, [(name.to_owned(), vec![1])], "{outcome:?}");
        let lead = sender.stored(id).await;
        assert_eq!((lead.version, sender.message(id).await.unwrap().version), (3, 2), "{outcome:?}");
        sender.assert_idle(id);
        sender.wake(id).await;
        assert_eq!(sender.provider.calls().len(), 1, "{outcome:?}");
    }
}

#[tokio::test]
async fn an_acceptance_without_a_message_id_is_unknown() {
    let sender = Sender::start().await;
    let id = sender.lead().await;
    sender.provider.then(Reaction::AcceptsNamelessly);
    sender.wake(id).await;
    assert_eq!(sender.state(id).await, unknown("NO_ANSWER"));
}

#[tokio::test]
async fn a_refused_call_waits_and_is_retried() {
    for outcome in [NOT_TAKEN, answered(500, 1), answered(503, 131_016)] {
        let sender = Sender::start().await;
        let id = sender.lead().await;
        sender.provider.ends(outcome);
        sender.wake(id).await;
        let waiting = sender.stored(id).await;
        assert_eq!((waiting.state, waiting.opened, waiting.version), (LeadState::Sending, true, 2));
        let since = Some(TestClock::START);
        let expected = Progress { failures: 1, since, next_at: Some(after(30)), ..Progress::default() };
        assert_eq!(waiting.progress, expected);
        assert_eq!(sender.part(id).await, Some((MessageStatus::Sending, None)));
        assert_eq!(sender.message(id).await.unwrap().version, 1);
        let queued = sender.sqs.take();
        assert_eq!((queued.len(), queued[0].delay, &queued[0].body), (1, 30, &task(id)));
        assert_eq!(queued[0].group, harness::World::WORKSPACE);
        assert_eq!(sender.row(id)["dueAt"]["N"], after(150).as_millis().to_string());
        assert!(sender.row(id).get("lease").is_none());

        // A wake that is too early makes no call and queues the next visit for the remaining time.
        sender.world.db.clock().set(after(20));
        sender.wake(id).await;
        assert_eq!((sender.provider.calls().len(), sender.sqs.take()[0].delay), (1, 10));
        assert_eq!(sender.stored(id).await.progress, expected);

        sender.world.db.clock().set(after(30));
        sender.world.db.forget_calls();
        sender.wake(id).await;
        assert_eq!(harness::trips(&sender.world.db.calls()), 6, "its message is also read");
        assert_eq!((sender.state(id).await, sender.provider.calls().len()), (SENT, 2));
        let (lead, message) = (sender.stored(id).await, sender.message(id).await.unwrap());
        assert_eq!((lead.version, message.version), (3, 2));
        assert_eq!(message.parts[0].provider_message_id.as_deref(), Some("wamid.2"));
        let calls = sender.provider.calls();
        assert_eq!(calls[0], calls[1], "the same call");
        sender.assert_idle(id);
    }
}

#[tokio::test]
async fn a_lead_that_is_never_accepted_fails_after_the_whole_schedule_of_a_day() {
    let sender = Sender::start().await;
    let id = sender.lead().await;
    let mut at = 0;
    for wait in [30, 120, 600, 3_600, 14_400, 14_400, 14_400, 14_400, 14_400, 10_050_u64] {
        sender.provider.ends(NOT_TAKEN);
        sender.wake(id).await;
        at += wait;
        assert_eq!(sender.stored(id).await.progress.next_at, Some(after(at)), "after {at} s");
        let queued: Vec<u64> = sender.sqs.take().iter().map(|queued| queued.delay).collect();
        assert_eq!(queued, if wait <= 900 { vec![wait] } else { vec![] }, "the sweeper starts later visits");
        // The sweeper finds the lead later than the queue would deliver its message, in case the message is lost.
        let due_at = if wait <= 900 { after(at).plus(FIRST_DUE) } else { after(at) };
        sender.world.db.clock().set(Timestamp::from_millis(due_at.as_millis() - 1));
        assert_eq!(sender.due().await, []);
        sender.world.db.clock().set(due_at);
        assert_eq!(sender.due().await, [id]);
        sender.world.db.clock().set(after(at));
    }
    assert_eq!(at, 86_400);
    assert_eq!(sender.part(id).await, Some((MessageStatus::Sending, None)));
    sender.provider.ends(NOT_TAKEN);
    sender.wake(id).await;
    assert_eq!(sender.state(id).await, failed("GIVEN_UP"));
    assert_eq!(sender.part(id).await, said(failed("GIVEN_UP")));
    assert_eq!(sender.provider.calls().len(), 11);
    sender.assert_idle(id);
}

#[tokio::test]
async fn throttling_counts_no_failure_and_its_waits_grow_up_to_the_last() {
    let sender = Sender::start().await;
    let id = sender.lead().await;
    let mut at = sender.store().now();
    for (wait, outcome) in [
        (5, THROTTLED),
        (10, answered(400, 4)),
        (30, answered(400, 80_007)),
        (60, CallOutcome::Answered { status: 429, code: None }),
        (300, THROTTLED),
        (300_u64, THROTTLED),
    ] {
        sender.provider.ends(outcome);
        sender.wake(id).await;
        let progress = sender.stored(id).await.progress;
        let next_at = progress.next_at.unwrap();
        // The wait is random, so leads that were delayed together are not retried together.
        let waits = next_at.since(at);
        assert!(waits >= secs(wait) && waits <= secs(wait) * 6 / 5, "{waits:?} for {wait}");
        assert_eq!(progress.failures, 0);
        assert_eq!(sender.sqs.take()[0].delay, u64::try_from(waits.as_millis().div_ceil(1_000)).unwrap());
        at = next_at;
        sender.world.db.clock().set(at);
    }
    sender.provider.ends(NOT_TAKEN);
    sender.wake(id).await;
    assert_eq!(sender.stored(id).await.progress.next_at, Some(at.plus(secs(30))), "the first failure");
    sender.world.db.clock().set(at.plus(secs(30)));
    sender.sqs.take();
    sender.wake(id).await;
    assert_eq!(sender.state(id).await, SENT);
    sender.assert_idle(id);
}

#[tokio::test]
async fn the_sweeper_queues_a_lead_that_the_queue_refused() {
    let sender = Sender::start().await;
    let id = sender.lead().await;
    sender.sqs.close(true);
    sender.provider.ends(NOT_TAKEN);
    sender.wake(id).await;
    assert_eq!(sender.sqs.take(), []);
    sender.world.db.clock().set(after(30));
    assert_eq!(sender.rescued().await, [id]);
    sender.wake(id).await;
    assert_eq!(sender.state(id).await, SENT);
}

#[tokio::test]
async fn a_delayed_outcome_is_recorded_and_the_call_is_not_repeated() {
    for fault in
        [Fault::Throttled, Fault::AnswerLost, Fault::Unreachable, Fault::Conflict, Fault::ItemThrottled]
    {
        let sender = Sender::start().await;
        let id = sender.lead().await;
        let barrier = Arc::new(tokio::sync::Barrier::new(2));
        sender.provider.then(Reaction::Meets(barrier.clone(), ACCEPTED));
        let trouble = async {
            barrier.wait().await;
            sender.world.db.fail("TransactWriteItems", fault, 5);
            barrier.wait().await;
        };
        tokio::join!(sender.wake(id), trouble);
        assert_eq!((sender.state(id).await, sender.part(id).await), (SENT, said(SENT)), "{fault:?}");
        assert_eq!(sender.provider.calls().len(), 1, "{fault:?}");
        sender.assert_idle(id);
    }
}

#[tokio::test]
async fn a_begin_that_is_delayed_or_loses_its_answer_makes_one_call() {
    for fault in
        [Fault::Throttled, Fault::AnswerLost, Fault::Unreachable, Fault::Conflict, Fault::ItemThrottled]
    {
        let sender = Sender::start().await;
        let id = sender.lead().await;
        sender.world.db.fail("TransactWriteItems", fault, 4);
        sender.wake(id).await;
        assert_eq!((sender.state(id).await, sender.part(id).await), (SENT, said(SENT)), "{fault:?}");
        assert_eq!(sender.provider.calls().len(), 1, "{fault:?}");
        sender.assert_idle(id);
    }
}

#[tokio::test]
async fn a_retry_with_a_delayed_begin_makes_one_call() {
    for fault in [Fault::Throttled, Fault::AnswerLost, Fault::Unreachable, Fault::Conflict] {
        let sender = Sender::start().await;
        let id = sender.lead().await;
        sender.provider.ends(NOT_TAKEN);
        sender.wake(id).await;
        sender.world.db.clock().set(after(30));
        let trouble = async {
            // The first update is the lease. The second is the begin of the call.
            sender.world.db.begun("GetItem", 1).await;
            sender.world.db.fail("UpdateItem", fault, 4);
        };
        sender.sqs.take();
        sender.world.db.forget_calls();
        tokio::join!(sender.wake(id), trouble);
        assert_eq!((sender.state(id).await, sender.provider.calls().len()), (SENT, 2), "{fault:?}");
        sender.assert_idle(id);
    }
}

#[tokio::test]
async fn an_outcome_that_cannot_be_recorded_becomes_unknown_in_the_next_visit() {
    let sender = Sender::start().await;
    let id = sender.lead().await;
    // The call takes almost all of the remaining time, so only a short time is left for writes.
    let (clock, barrier) = (sender.world.db.clock().clone(), Arc::new(tokio::sync::Barrier::new(2)));
    sender.provider.then(Reaction::Meets(barrier.clone(), ACCEPTED));
    let trouble = async {
        barrier.wait().await;
        clock.advance(secs(59));
        sender.world.db.fail("TransactWriteItems", Fault::Throttled, 3);
        barrier.wait().await;
    };
    let tasks = [task(id)];
    let (again, ()) = tokio::join!(sender.run(&tasks), trouble);
    assert_eq!(again, ["0"]);
    assert_eq!(sender.state(id).await, (LeadState::Sending, None));

    assert_eq!(sender.rescued().await, [id], "the lead is still due");
    sender.wake(id).await;
    assert_eq!(sender.state(id).await, unknown(INTERRUPTED));
    assert_eq!(sender.part(id).await, said(unknown(INTERRUPTED)));
    assert_eq!(sender.provider.calls().len(), 1);
    sender.assert_idle(id);
}

#[tokio::test]
async fn no_call_begins_that_could_outlast_the_function() {
    let sender = Sender::start().await;
    let id = sender.lead().await;
    let lease = sender.world.db.hold("UpdateItem");
    let slow = async {
        sender.world.db.begun("UpdateItem", 1).await;
        sender.world.db.clock().advance(secs(26));
        drop(lease);
    };
    sender.world.db.forget_calls();
    tokio::join!(sender.wake(id), slow);
    assert_eq!(sender.provider.calls(), []);
    let lead = sender.stored(id).await;
    assert_eq!((lead.state, lead.opened, lead.progress), (LeadState::Queued, false, Progress::default()));
    let queued = sender.sqs.take();
    assert_eq!((queued.len(), queued[0].delay), (1, 0), "another visit continues at once");
    assert_eq!(sender.rescued().await, [id]);
    sender.wake(id).await;
    assert_eq!(sender.state(id).await, SENT);
    sender.assert_idle(id);
}

#[tokio::test]
async fn no_call_is_made_if_its_begin_took_the_time_it_needs() {
    let sender = Sender::start().await;
    let id = sender.lead().await;
    let beginning = sender.world.db.hold("TransactWriteItems");
    let slow = async {
        sender.world.db.begun("TransactWriteItems", 1).await;
        sender.world.db.clock().advance(secs(50));
        drop(beginning);
    };
    sender.world.db.forget_calls();
    tokio::join!(sender.wake(id), slow);
    assert_eq!(sender.provider.calls(), []);
    let lead = sender.stored(id).await;
    assert_eq!((lead.state, lead.opened, lead.progress.calling), (LeadState::Sending, true, None));
    assert_eq!(lead.progress.failures, 0);
    let queued = sender.sqs.take();
    assert_eq!((queued.len(), queued[0].delay, sender.rescued().await.len()), (1, 0, 1));
    sender.wake(id).await;
    assert_eq!((sender.state(id).await, sender.provider.calls().len()), (SENT, 1));
    sender.assert_idle(id);
}

#[tokio::test]
async fn a_function_with_conflicting_time_limits_does_nothing() {
    let mut sender = Sender::start().await;
    let id = sender.lead().await;
    for (call, lease, said) in [
        (60, 90, "the time-out of a call is too long for the time-out of the function"),
        (10, 59, "the lease is shorter than the time-out of the function"),
    ] {
        (sender.engine.rules.call, sender.engine.rules.lease) = (secs(call), secs(lease));
        let error = sender.engine.handle(sender.event(&[task(id)])).await.unwrap_err();
        assert_eq!(error.to_string(), said);
    }
    assert_eq!((sender.provider.calls(), sender.provider.beginnings()), (vec![], 0));
}

#[tokio::test]
async fn a_sender_that_paused_beyond_its_lease_neither_repeats_nor_overwrites() {
    let sender = Sender::start().await;
    let id = sender.lead().await;
    let barrier = Arc::new(tokio::sync::Barrier::new(2));
    sender.provider.then(Reaction::Meets(barrier.clone(), ACCEPTED));
    let other = async {
        barrier.wait().await;
        sender.world.db.clock().advance(LEASE + secs(1));
        sender.wake(id).await;
        assert_eq!(sender.state(id).await, unknown(INTERRUPTED));
        barrier.wait().await;
    };
    tokio::join!(sender.wake(id), other);
    assert_eq!(sender.state(id).await, unknown(INTERRUPTED));
    assert_eq!(sender.part(id).await, said(unknown(INTERRUPTED)));
    assert_eq!(sender.provider.calls().len(), 1);
    sender.assert_idle(id);
}

#[tokio::test]
async fn a_sender_whose_lease_expired_before_the_begin_makes_no_call() {
    let sender = Sender::start().await;
    let id = sender.lead().await;
    let beginning = sender.world.db.hold("TransactWriteItems");
    let other = async {
        sender.world.db.begun("TransactWriteItems", 1).await;
        sender.world.db.clock().advance(LEASE + secs(1));
        sender.wake(id).await;
        assert_eq!(sender.state(id).await, SENT);
        drop(beginning);
    };
    sender.world.db.forget_calls();
    tokio::join!(sender.wake(id), other);
    assert_eq!((sender.state(id).await, sender.provider.calls().len()), (SENT, 1));
    sender.assert_idle(id);
}
