//! Begins of calls of which the sender does not know whether they were recorded.

use std::time::Duration;

use domain::sending::Progress;
use domain::{LeadId, LeadState};
use futures::future::join_all;
use harness::{Death, Fault, World};
use provider::CallOutcome;
use store::Table;

use crate::{FIRST_DUE, INTERRUPTED, LEASE, SENT, Sender, said, secs, task, unknown};

/// Longer than the time limit to record a begin.
const BEGIN: Duration = Duration::from_secs(5);

const FAULTS: [Fault; 5] =
    [Fault::AnswerLost, Fault::Throttled, Fault::Unreachable, Fault::Conflict, Fault::ItemThrottled];

/// The operation that records a begin.
const BEGINS: &str = "TransactWriteItems";

/// A lead before its first call or a later one.
async fn scene(first: bool) -> (Sender, LeadId) {
    let sender = Sender::start().await;
    let id = sender.lead().await;
    if first {
        sender.world.db.forget_calls();
        return (sender, id);
    }
    sender.provider.ends(CallOutcome::NeverConnected);
    sender.wake(id).await;
    sender.world.db.clock().advance(secs(30));
    sender.sqs.take();
    sender.world.db.forget_calls();
    (sender, id)
}

/// Runs the function while every begin fails with this fault. `first` runs after one was tried, and `then` after the
/// time limit to record it.
async fn run(
    (sender, id): &(Sender, LeadId),
    fault: Fault,
    first: impl FnOnce(),
    then: impl FnOnce(),
) -> Vec<String> {
    let trouble = async {
        sender.world.db.begun("GetItem", 1).await;
        sender.world.db.fail(BEGINS, fault, 100_000);
        sender.world.db.begun(BEGINS, 1).await;
        first();
        tokio::time::sleep(BEGIN).await;
        then();
    };
    let tasks = [task(*id)];
    tokio::join!(sender.run(&tasks), trouble).0
}

#[tokio::test]
async fn an_uncertain_first_begin_is_reverted_and_the_call_is_made_once() {
    join_all(FAULTS.map(async |fault| {
        let scene = scene(true).await;
        let (sender, id) = &scene;
        assert_eq!(run(&scene, fault, || (), || ()).await, Vec::<String>::new(), "{fault:?}");
        sender.world.db.heal();
        assert_eq!(sender.provider.calls(), [], "{fault:?}");
        let lead = sender.stored(*id).await;
        let begun = fault == Fault::AnswerLost;
        let state = if begun { LeadState::Sending } else { LeadState::Queued };
        assert_eq!((lead.state, lead.opened, lead.progress.calling), (state, begun, None), "{fault:?}");
        assert_eq!((lead.progress.failures, lead.progress.next_at), (0, None), "it counts as no try");
        let queued = sender.sqs.take();
        assert_eq!((queued.len(), queued[0].delay, sender.rescued().await), (1, 0, vec![*id]), "{fault:?}");
        assert_eq!(
            sender.world.db.rows_of(Table::Contacts, "contact").len(),
            usize::from(begun),
            "all rows or none"
        );

        sender.wake(*id).await;
        assert_eq!((sender.state(*id).await, sender.provider.calls().len()), (SENT, 1), "{fault:?}");
        assert_eq!(sender.part(*id).await, said(SENT), "{fault:?}");
        sender.assert_idle(*id);
    }))
    .await;
}

#[tokio::test]
async fn an_uncertain_later_begin_is_reverted_and_the_call_is_made_once() {
    join_all(FAULTS.iter().map(async |fault| {
        let scene = scene(false).await;
        let (sender, id) = &scene;
        let before = sender.stored(*id).await;
        let healed = || sender.world.db.heal();
        assert_eq!(run(&scene, *fault, || (), healed).await, Vec::<String>::new(), "{fault:?}");
        assert_eq!(sender.provider.calls().len(), 1, "only the earlier call");
        let progress = sender.stored(*id).await.progress;
        // The begin clears the time before which the lead must not be tried.
        let next_at = before.progress.next_at.filter(|_| *fault != Fault::AnswerLost);
        assert_eq!(progress, Progress { next_at, ..before.progress }, "{fault:?}");
        assert_eq!((sender.sqs.take().len(), sender.rescued().await), (1, vec![*id]), "{fault:?}");

        sender.wake(*id).await;
        assert_eq!((sender.state(*id).await, sender.provider.calls().len()), (SENT, 2), "{fault:?}");
        sender.assert_idle(*id);
    }))
    .await;
}

#[tokio::test]
async fn a_begin_that_cannot_be_reverted_is_decided_when_the_lease_ends() {
    for first in [true, false] {
        join_all([Fault::AnswerLost, Fault::Throttled, Fault::Unreachable].map(async |fault| {
            let scene = scene(first).await;
            let (sender, id) = &scene;
            let (db, called) = (&sender.world.db, sender.provider.calls().len());
            // The begin takes the function's remaining time, so only a short time is left for writes.
            let over = || {
                db.clock().advance(secs(59));
                // No part of the revert succeeds.
                db.fail("UpdateItem", Fault::Unreachable, 100_000);
            };
            assert_eq!(run(&scene, fault, over, || ()).await, ["0"], "{fault:?}");
            db.heal();
            let stands = sender.stored(*id).await.progress.calling.is_some();
            assert_eq!(stands, fault == Fault::AnswerLost, "{fault:?}");
            db.clock().advance(LEASE + FIRST_DUE);
            sender.wake(*id).await;
            let expected = if stands { (unknown(INTERRUPTED), 0) } else { (SENT, 1) };
            let calls = sender.provider.calls().len() - called;
            assert_eq!((sender.state(*id).await, calls), expected, "{fault:?}");
            sender.assert_idle(*id);
        }))
        .await;
    }
}

#[tokio::test]
async fn a_crash_during_the_revert_is_decided_when_the_lease_ends() {
    join_all([Death::Before, Death::After].map(async |death| {
        let (sender, id) = scene(true).await;
        let db = &sender.world.db;
        let trouble = async {
            sender.world.db.begun("GetItem", 1).await;
            db.fail(BEGINS, Fault::AnswerLost, 100_000);
            db.fail("UpdateItem", Fault::Unreachable, 100_000);
            tokio::time::sleep(BEGIN).await;
            db.heal();
            let _ = db.die_after(0, death).await;
        };
        let tasks = [task(id)];
        tokio::select! {
            _ = sender.run(&tasks) => panic!("the sender did not die"),
            () = trouble => {}
        }
        db.revive();
        db.clock().advance(LEASE + FIRST_DUE);
        sender.wake(id).await;
        let expected = match death {
            Death::Before => (unknown(INTERRUPTED), 0),
            Death::After => (SENT, 1),
        };
        assert_eq!((sender.state(id).await, sender.provider.calls().len()), expected, "{death:?}");
        sender.assert_idle(id);
    }))
    .await;
}

#[tokio::test]
async fn a_begin_that_is_always_refused_is_reverted_and_its_message_is_repeated() {
    let (sender, id) = scene(true).await;
    let lead = sender.stored(id).await;
    let external = World::external(lead.contact, crate::LINE);
    sender
        .world
        .conversation(|conversation| {
            conversation.id = lead.conversation;
            conversation.externals = vec![external];
        })
        .await;
    assert_eq!(sender.run(&[task(id)]).await, ["0"]);
    assert!(sender.row(id).get("lease").is_none());
    assert_eq!((sender.stored(id).await, sender.rescued().await), (lead, vec![id]));
    assert_eq!((sender.sqs.take(), sender.provider.calls()), (vec![], vec![]));
}
