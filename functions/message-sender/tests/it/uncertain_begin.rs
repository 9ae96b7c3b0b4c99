//! Begins of calls of which the sender does not know whether they were recorded.

use std::time::Duration;

use domain::{Message, MessageId, MessageStatus};
use futures::future::join_all;
use harness::{Death, Fault};

use crate::{CONVERSATION, FIRST_DUE, INTERRUPTED, LEASE, Sender, sent, task, unknown};

/// Longer than the time limit to record a begin.
const BEGIN: Duration = Duration::from_secs(3);

struct Scene {
    sender: Sender,
    id: MessageId,
}

impl Scene {
    async fn start() -> Self {
        let sender = Sender::start().await;
        let customer = sender.customer("+12025550101").await;
        let conversation = sender.conversation(&[&customer]).await;
        let id = sender.say(&conversation, "hello").await;
        sender.world.db.forget_calls();
        Self { sender, id }
    }

    async fn stored(&self) -> Message {
        self.sender.message(self.id).await
    }

    /// Runs the function while every begin fails with this fault. `first` runs after one was tried, and `then` after
    /// the time limit to record it.
    async fn run(&self, fault: Fault, first: impl FnOnce(), then: impl FnOnce()) -> Vec<String> {
        let db = &self.sender.world.db;
        let trouble = async {
            // The first update is the lane's lease. The second is the begin of the call.
            self.sender.world.db.begun("GetItem", 1).await;
            db.fail("UpdateItem", fault, 100_000);
            self.sender.world.db.begun("UpdateItem", 2).await;
            first();
            tokio::time::sleep(BEGIN).await;
            then();
        };
        let tasks = [task(CONVERSATION)];
        tokio::join!(self.sender.run(&tasks), trouble).0
    }
}

/// The states after an uncertain begin, for each fault.
const FAULTS: [(Fault, MessageStatus); 4] = [
    (Fault::AnswerLost, MessageStatus::Sending),
    (Fault::Throttled, MessageStatus::Queued),
    (Fault::Unreachable, MessageStatus::Queued),
    (Fault::Conflict, MessageStatus::Queued),
];

#[tokio::test]
async fn an_uncertain_begin_is_reverted_and_the_call_is_made_once() {
    join_all(FAULTS.map(async |(fault, _)| {
        let scene = Scene::start().await;
        let sender = &scene.sender;
        let again = scene.run(fault, || (), || sender.world.db.heal()).await;
        assert_eq!(again, Vec::<String>::new(), "{fault:?}");
        assert_eq!((sender.parts(scene.id).await, sender.provider.calls().len()), (sent(1), 1), "{fault:?}");
        sender.assert_idle(1);
    }))
    .await;
}

#[tokio::test]
async fn another_visit_makes_a_call_for_which_no_time_is_left() {
    join_all(FAULTS.map(async |(fault, status)| {
        let scene = Scene::start().await;
        let (sender, db) = (&scene.sender, &scene.sender.world.db);
        let healed = || {
            db.clock().advance(Duration::from_secs(40));
            db.heal();
        };
        assert_eq!(scene.run(fault, || (), healed).await, Vec::<String>::new(), "{fault:?}");
        assert_eq!(sender.provider.calls(), [], "{fault:?}");
        let message = scene.stored().await;
        assert_eq!((message.status(), message.progress.calling), (status, None), "{fault:?}");
        assert_eq!(
            (message.progress.failures, message.progress.next_at),
            (0, None),
            "the attempt does not count as a try"
        );
        let queued = sender.sqs.take();
        assert_eq!((queued.len(), queued[0].delay, sender.rescued().await.len()), (1, 0, 1), "{fault:?}");
        sender.wake().await;
        assert_eq!((sender.parts(scene.id).await, sender.provider.calls().len()), (sent(1), 1), "{fault:?}");
        sender.assert_idle(1);
    }))
    .await;
}

#[tokio::test]
async fn a_begin_that_cannot_be_reverted_is_decided_when_the_lease_ends() {
    join_all(FAULTS.map(async |(fault, _)| {
        let scene = Scene::start().await;
        let (sender, db) = (&scene.sender, &scene.sender.world.db);
        // The begin takes the function's remaining time, so only a short time is left for writes.
        let over = || db.clock().advance(Duration::from_secs(59));
        assert_eq!(scene.run(fault, over, || ()).await, ["0"], "{fault:?}");
        db.heal();
        let stands = scene.stored().await.progress.calling.is_some();
        assert_eq!(stands, fault == Fault::AnswerLost, "{fault:?}");

        db.clock().advance(LEASE + FIRST_DUE);
        sender.wake().await;
        let expected = if stands { (vec![unknown(INTERRUPTED)], 0) } else { (sent(1), 1) };
        assert_eq!((sender.parts(scene.id).await, sender.provider.calls().len()), expected, "{fault:?}");
        sender.assert_idle(1);
    }))
    .await;
}

#[tokio::test]
async fn a_crash_during_the_revert_is_decided_when_the_lease_ends() {
    join_all([Death::Before, Death::After].map(async |death| {
        let scene = Scene::start().await;
        let (sender, db) = (&scene.sender, &scene.sender.world.db);
        let trouble = async {
            sender.world.db.begun("GetItem", 1).await;
            db.fail("UpdateItem", Fault::AnswerLost, 100_000);
            tokio::time::sleep(BEGIN).await;
            db.heal();
            // The next call reads that the begin was recorded. The call after it reverts the begin.
            let _ = db.die_after(1, death).await;
        };
        let tasks = [task(CONVERSATION)];
        tokio::select! {
            _ = sender.run(&tasks) => panic!("the sender did not die"),
            () = trouble => {}
        }
        db.revive();
        db.clock().advance(LEASE + FIRST_DUE);
        sender.wake().await;
        let expected = match death {
            Death::Before => (vec![unknown(INTERRUPTED)], 0),
            Death::After => (sent(1), 1),
        };
        assert_eq!((sender.parts(scene.id).await, sender.provider.calls().len()), expected, "{death:?}");
        sender.assert_idle(1);
    }))
    .await;
}
