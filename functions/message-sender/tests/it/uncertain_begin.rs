//! Beginnings of calls of which the sender does not know whether they were recorded.

use std::time::Duration;

use domain::{Message, MessageId, MessageStatus};
use futures::future::join_all;
use harness::{Death, Fault};

use crate::{CONVERSATION, FIRST_DUE, INTERRUPTED, LEASE, Sender, sent, task, unknown};

/// Longer than it is tried to record that a call begins.
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

    /// Runs the function while every beginning fails so; `first` comes when one was tried, `then` when it is given
    /// up to record it.
    async fn run(&self, fault: Fault, first: impl FnOnce(), then: impl FnOnce()) -> Vec<String> {
        let db = &self.sender.world.db;
        let trouble = async {
            // The lane's lease is the first update; the beginning of the call is the next.
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

/// What a beginning that is not known to be recorded leaves, by how it fails.
const FAULTS: [(Fault, MessageStatus); 4] = [
    (Fault::AnswerLost, MessageStatus::Sending),
    (Fault::Throttled, MessageStatus::Queued),
    (Fault::Unreachable, MessageStatus::Queued),
    (Fault::Conflict, MessageStatus::Queued),
];

#[tokio::test]
async fn a_beginning_that_is_not_known_to_be_recorded_is_taken_back_and_the_call_made_once() {
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
async fn where_no_time_is_left_for_a_call_somebody_else_makes_it() {
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
        assert_eq!((message.progress.failures, message.progress.next_at), (0, None), "it counts as no try");
        let queued = sender.sqs.take();
        assert_eq!((queued.len(), queued[0].delay, sender.rescued().await.len()), (1, 0, 1), "{fault:?}");
        sender.wake().await;
        assert_eq!((sender.parts(scene.id).await, sender.provider.calls().len()), (sent(1), 1), "{fault:?}");
        sender.assert_idle(1);
    }))
    .await;
}

#[tokio::test]
async fn a_beginning_that_cannot_be_taken_back_either_is_decided_by_the_leases_end() {
    join_all(FAULTS.map(async |(fault, _)| {
        let scene = Scene::start().await;
        let (sender, db) = (&scene.sender, &scene.sender.world.db);
        // While it is begun the function's time comes to its end: nothing more is tried for long.
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
async fn whoever_dies_while_a_beginning_is_taken_back_leaves_it_to_the_leases_end() {
    join_all([Death::Before, Death::After].map(async |death| {
        let scene = Scene::start().await;
        let (sender, db) = (&scene.sender, &scene.sender.world.db);
        let trouble = async {
            sender.world.db.begun("GetItem", 1).await;
            db.fail("UpdateItem", Fault::AnswerLost, 100_000);
            tokio::time::sleep(BEGIN).await;
            db.heal();
            // The next call learns that the beginning stands; the one behind it takes that back.
            let _ = db.die_after(1, death).await;
        };
        let tasks = [task(CONVERSATION)];
        tokio::select! {
            _ = sender.run(&tasks) => panic!("it lives"),
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
