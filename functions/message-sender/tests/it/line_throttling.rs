//! Lines that the provider throttles.

use std::time::Duration;

use domain::sending::End;
use domain::{
    Cellphone, ChannelId, Conversation, ConversationId, LineThrottle, Message, MessageId, MessageStatus,
    Timestamp,
};
use harness::{Fault, Reaction, TestClock, World, answered};
use provider::CallOutcome;
use serde_json::Value;
use store::Table;
use uuid::Uuid;

use crate::{FIRST_DUE, LINE, Sender, task};

const THROTTLED: CallOutcome = CallOutcome::Answered { status: 429, code: Some(130_429) };

fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn after(seconds: u64) -> Timestamp {
    TestClock::START.plus(secs(seconds))
}

impl Sender {
    /// A conversation on that line with its own customer, and a message in it.
    async fn said(&self, number: u128, line: &str) -> (Conversation, MessageId) {
        let phone = format!("+1202555{number:04}");
        let contact = self.world.contact(|contact| contact.cellphone = Cellphone::parse(&phone).ok()).await;
        let conversation = self
            .world
            .conversation(|conversation| {
                conversation.id = ConversationId::from_uuid(Uuid::from_u128(number));
                conversation.externals = vec![World::external(contact.id, line)];
            })
            .await;
        let id = self.say(&conversation, &format!("to {number}")).await;
        (conversation, id)
    }

    async fn visit(&self, (conversation, _): &(Conversation, MessageId)) {
        assert_eq!(self.run(&[task(&conversation.id.to_string())]).await, Vec::<String>::new());
    }

    async fn of(&self, (conversation, id): &(Conversation, MessageId)) -> Message {
        self.message_in(conversation.id, *id).await
    }

    fn row_of(&self, conversation: &Conversation, sk: &str) -> Value {
        let pk = format!("{}#C#{}", World::WORKSPACE, conversation.id);
        let rows = self.world.db.rows(Table::Messages);
        rows.into_iter().find(|row| row["pk"]["S"] == pk && row["sk"]["S"] == sk).unwrap()
    }

    /// When the lane of a conversation is due.
    fn due_at(&self, (conversation, _): &(Conversation, MessageId)) -> Timestamp {
        let lane = self.row_of(conversation, "L");
        assert!(lane.get("lease").is_none(), "{lane}");
        Timestamp::from_millis(lane["dueAt"]["N"].as_str().unwrap().parse().unwrap())
    }

    async fn line(&self, channel: &str) -> LineThrottle {
        let channel = ChannelId::parse(channel).unwrap();
        self.store().line_throttle(self.world.workspace, &channel).await
    }
}

#[tokio::test]
async fn a_throttled_line_delays_the_calls_of_its_other_conversations() {
    let sender = Sender::start().await;
    sender.world.line("2", |_| ()).await;
    let (first, second) = (sender.said(1, LINE).await, sender.said(2, LINE).await);
    let elsewhere = sender.said(3, "2").await;
    sender.provider.ends(THROTTLED);
    sender.visit(&first).await;
    assert_eq!(sender.line(LINE).await, LineThrottle { until: Some(after(5)), times: 1 });
    let progress = sender.of(&first).await.progress;
    assert_eq!((progress.next_at, progress.throttled, progress.failures), (Some(after(5)), 1, 0));
    assert_eq!(sender.sqs.take().len(), 1);

    let (row, message) = (sender.row_of(&second.0, &format!("M#{}", second.1)), sender.of(&second).await);
    sender.world.db.clock().set(after(1));
    sender.world.db.forget_calls();
    sender.visit(&second).await;
    assert_eq!(sender.provider.calls().len(), 1, "no call is made");
    assert_eq!(
        sender.row_of(&second.0, &format!("M#{}", second.1)),
        row,
        "nothing of the message is recorded"
    );
    assert_eq!(sender.of(&second).await, message);
    let writes: f64 = sender.world.db.calls().iter().map(|call| call.write_units).sum();
    // The sweeper finds the lane if the queue message is lost.
    let due_at = sender.due_at(&second).minus(FIRST_DUE);
    assert!(due_at >= after(5) && due_at <= after(10), "{due_at}");
    let queued = sender.sqs.take();
    let waits = due_at.since(sender.store().now()).as_millis().div_ceil(1_000);
    assert_eq!((queued.len(), u128::from(queued[0].delay)), (1, waits));
    assert_eq!(writes, 4.0, "lease and release of the lane, which is in the due index");

    sender.visit(&elsewhere).await;
    assert_eq!(sender.of(&elsewhere).await.status(), MessageStatus::Sent, "another line is not affected");

    sender.world.db.clock().set(due_at);
    sender.visit(&second).await;
    sender.visit(&first).await;
    let statuses = [sender.of(&first).await.status(), sender.of(&second).await.status()];
    assert_eq!(statuses, [MessageStatus::Sent; 2]);
    let said = ["to 1", "to 3", "to 2", "to 1"];
    assert_eq!(sender.provider.said(), said);
}

#[tokio::test]
async fn a_line_is_called_again_exactly_when_its_wait_ends() {
    let sender = Sender::start().await;
    let (first, second) = (sender.said(1, LINE).await, sender.said(2, LINE).await);
    sender.provider.ends(THROTTLED);
    sender.visit(&first).await;
    // A visitor that is early by at most two seconds waits.
    for (early, calls) in [(2_001, 1), (1, 2)] {
        sender.world.db.clock().set(Timestamp::from_millis(after(5).as_millis() - early));
        sender.visit(&second).await;
        assert_eq!(sender.provider.calls().len(), calls, "{early} ms");
    }
    assert_eq!(sender.store().now(), after(5), "no earlier and no later");
    assert_eq!(sender.of(&second).await.status(), MessageStatus::Sent);
}

#[tokio::test]
async fn the_waits_of_a_line_grow_over_all_conversations_until_a_send_is_accepted() {
    let sender = Sender::start().await;
    let mut at = 0;
    let mut waiting = vec![];
    for (number, wait) in [(1, 5), (2, 10), (3, 30), (4, 60), (5, 300), (6, 300)] {
        let conversation = sender.said(number, LINE).await;
        sender.provider.ends(THROTTLED);
        sender.visit(&conversation).await;
        at += wait;
        assert_eq!(sender.of(&conversation).await.progress.next_at, Some(after(at)), "{number}");
        assert_eq!(sender.line(LINE).await.until, Some(after(at)), "{number}");
        sender.world.db.clock().set(after(at));
        waiting.push(conversation);
    }
    sender.visit(&waiting[0]).await;
    assert_eq!(sender.of(&waiting[0]).await.status(), MessageStatus::Sent);
    assert_eq!(sender.line(LINE).await.times, 0);
    sender.provider.ends(THROTTLED);
    sender.visit(&waiting[1]).await;
    // The conversation was throttled before. The line's schedule starts again, and the conversation waits as long as
    // its line.
    let progress = sender.of(&waiting[1]).await.progress;
    assert_eq!((progress.next_at, progress.throttled), (Some(after(at + 5)), 2));
    assert_eq!(sender.line(LINE).await, LineThrottle { until: Some(after(at + 5)), times: 1 });

    // The throttling of a line without sends is forgotten.
    sender.world.db.clock().advance(secs(5) + LineThrottle::REMEMBERED + secs(1));
    assert_eq!(sender.line(LINE).await, LineThrottle::default());
}

#[tokio::test]
async fn only_the_first_accepted_send_after_a_throttling_writes_the_line() {
    let sender = Sender::start().await;
    let writes = |sender: &Sender| {
        let calls = sender.world.db.calls();
        calls.iter().filter(|call| call.table == "test-limits" && call.operation == "UpdateItem").count()
    };
    let conversation = sender.said(1, LINE).await;
    sender.world.db.forget_calls();
    sender.visit(&conversation).await;
    assert_eq!(writes(&sender), 0);
    sender.provider.ends(THROTTLED);
    sender.visit(&sender.said(2, LINE).await).await;
    sender.world.db.clock().advance(secs(5));
    for (number, expected) in [(3, 1), (4, 0), (5, 0)] {
        let conversation = sender.said(number, LINE).await;
        sender.world.db.forget_calls();
        sender.visit(&conversation).await;
        assert_eq!(
            (sender.of(&conversation).await.status(), writes(&sender)),
            (MessageStatus::Sent, expected)
        );
    }
}

#[tokio::test]
async fn throttling_of_one_recipient_delays_no_other() {
    let sender = Sender::start().await;
    let (first, second) = (sender.said(1, LINE).await, sender.said(2, LINE).await);
    sender.provider.ends(answered(400, 131_056));
    sender.visit(&first).await;
    assert_eq!(sender.of(&first).await.progress.next_at, Some(after(5)));
    assert_eq!(sender.line(LINE).await, LineThrottle::default());
    sender.visit(&second).await;
    assert_eq!(sender.of(&second).await.status(), MessageStatus::Sent);
}

#[tokio::test]
async fn the_longest_wait_of_concurrent_throttlings_holds() {
    let sender = Sender::start().await;
    let (line, store) = (ChannelId::parse(LINE).unwrap(), sender.store());
    let throttled = |seconds| End::LineThrottled(LineThrottle { until: Some(after(seconds)), times: 1 });
    for (seconds, holds) in [(6, 6), (5, 6), (7, 7), (1, 7)] {
        let before = LineThrottle::default();
        store.remember_line(sender.world.workspace, &line, &before, &throttled(seconds)).await;
        assert_eq!(sender.line(LINE).await.until, Some(after(holds)));
    }
    // This accepted send read the line's state before that.
    let before = LineThrottle { until: Some(after(6)), times: 1 };
    store.remember_line(sender.world.workspace, &line, &before, &End::Sent("wamid".to_owned())).await;
    assert_eq!(sender.line(LINE).await, LineThrottle { until: Some(after(7)), times: 1 });
}

#[tokio::test]
async fn a_certain_failure_is_recorded_at_once_although_the_line_is_throttled() {
    let sender = Sender::start().await;
    let first = sender.said(1, LINE).await;
    sender.provider.ends(THROTTLED);
    sender.visit(&first).await;
    let conversation = sender.world.conversation(|conversation| {
        let nobody = domain::ContactId::from_uuid(Uuid::from_u128(99));
        conversation.externals = vec![World::external(nobody, LINE)];
    });
    let conversation = conversation.await;
    let id = sender.say(&conversation, "to nobody").await;
    sender.visit(&(conversation.clone(), id)).await;
    assert_eq!(sender.of(&(conversation, id)).await.status(), MessageStatus::Failed);
}

#[tokio::test]
async fn an_unreadable_or_unwritable_line_row_delays_nothing() {
    let sender = Sender::start().await;
    let conversation = sender.said(1, LINE).await;
    let db = &sender.world.db;
    let table = db.table(Table::Limits);
    db.client().delete_table().table_name(&table).send().await.unwrap();
    sender.provider.ends(THROTTLED);
    sender.visit(&conversation).await;
    assert_eq!(sender.of(&conversation).await.progress.next_at, Some(after(5)));
    db.clock().set(after(5));
    sender.visit(&conversation).await;
    assert_eq!(sender.of(&conversation).await.status(), MessageStatus::Sent);
}

#[tokio::test]
async fn an_outcome_is_recorded_although_the_write_of_its_line_is_delayed() {
    let sender = Sender::start().await;
    let conversation = sender.said(1, LINE).await;
    let barrier = std::sync::Arc::new(tokio::sync::Barrier::new(2));
    sender.provider.then(Reaction::Meets(barrier.clone(), THROTTLED));
    let trouble = async {
        barrier.wait().await;
        // Either of the two writes may get some of these faults. The outcome's write is retried for longer.
        sender.world.db.fail("UpdateItem", Fault::Throttled, 6);
        barrier.wait().await;
    };
    tokio::join!(sender.visit(&conversation), trouble);
    assert_eq!(sender.of(&conversation).await.progress.next_at, Some(after(5)));
}
