//! Lines that the provider throttles.

use domain::sending::End;
use domain::{BrandId, ChannelId, LeadState, LineThrottle, Timestamp};
use harness::{TestClock, answered};
use provider::CallOutcome;
use store::Table;

use crate::{FIRST_DUE, LINE, PHONE, SENT, Sender, secs};

const THROTTLED: CallOutcome = CallOutcome::Answered { status: 429, code: Some(130_429) };

fn after(seconds: u64) -> Timestamp {
    TestClock::START.plus(secs(seconds))
}

impl Sender {
    async fn line(&self) -> LineThrottle {
        self.store().line_throttle(self.world.workspace, &ChannelId::parse(LINE).unwrap()).await
    }

    /// Writes the row of a throttled line. Leads and messages share this row.
    async fn throttled(&self, seconds: u64, times: u32) {
        let (line, before) = (ChannelId::parse(LINE).unwrap(), LineThrottle::default());
        let end = End::LineThrottled(LineThrottle { until: Some(after(seconds)), times });
        self.store().remember_line(self.world.workspace, &line, &before, &end).await;
    }
}

#[tokio::test]
async fn a_lead_of_a_throttled_line_waits_unchanged_and_without_a_call() {
    let sender = Sender::start().await;
    let id = sender.lead().await;
    let before = sender.stored(id).await;
    sender.throttled(60, 1).await;
    sender.wake(id).await;
    assert_eq!(sender.provider.calls(), []);
    assert_eq!(
        (sender.stored(id).await, sender.world.db.rows_of(Table::Contacts, "contact").len()),
        (before, 0)
    );
    let row = sender.row(id);
    assert!(row.get("lease").is_none(), "{row}");
    // The sweeper finds the lead if the queue message is lost.
    let due_at = Timestamp::from_millis(row["dueAt"]["N"].as_str().unwrap().parse().unwrap());
    let due_at = due_at.minus(FIRST_DUE);
    assert!(due_at >= after(60) && due_at <= after(72), "{due_at}");
    let queued = sender.sqs.take();
    let waits = due_at.since(sender.store().now()).as_millis().div_ceil(1_000);
    assert_eq!((queued.len(), u128::from(queued[0].delay)), (1, waits));
    assert_eq!(sender.counted.values().len(), 0, "it counts as no try");

    sender.world.db.clock().set(due_at);
    assert_eq!(sender.rescued().await, [id]);
    sender.wake(id).await;
    assert_eq!((sender.state(id).await, sender.provider.calls().len()), (SENT, 1));
    sender.assert_idle(id);
    assert_eq!(sender.line().await.times, 0, "the line's schedule starts again");
}

#[tokio::test]
async fn a_throttled_lead_delays_its_line_for_the_others() {
    let sender = Sender::start().await;
    let other_brand = BrandId::parse("other").unwrap();
    sender.world.line("2", |line| line.brand = other_brand.clone()).await;
    let (first, second) = (sender.lead().await, sender.lead_of("+12025550102").await);
    let elsewhere = sender.world.lead("+12025550103", |lead| lead.brand = other_brand).await.id;
    sender.provider.ends(THROTTLED);
    sender.wake(first).await;
    let next_at = sender.stored(first).await.progress.next_at;
    assert_eq!(sender.line().await, LineThrottle { until: next_at, times: 1 });
    sender.wake(second).await;
    assert_eq!((sender.stored(second).await.state, sender.provider.calls().len()), (LeadState::Queued, 1));
    sender.wake(elsewhere).await;
    assert_eq!(sender.state(elsewhere).await, SENT, "another line is not affected");

    sender.world.db.clock().set(after(12));
    for id in [second, first] {
        sender.wake(id).await;
        assert_eq!(sender.state(id).await, SENT);
    }
    assert_eq!(sender.provider.numbers(), [PHONE, "+12025550103", "+12025550102", PHONE]);
}

#[tokio::test]
async fn the_waits_of_a_line_grow_with_every_throttling() {
    let sender = Sender::start().await;
    sender.throttled(0, 3).await;
    let id = sender.lead().await;
    sender.provider.ends(THROTTLED);
    sender.wake(id).await;
    let progress = sender.stored(id).await.progress;
    let wait = progress.next_at.unwrap().since(TestClock::START);
    assert!(wait >= secs(60) && wait <= secs(72), "the fourth in a row: {wait:?}");
    assert_eq!((progress.throttled, sender.line().await.times), (1, 4));
}

#[tokio::test]
async fn throttling_of_one_number_delays_no_other() {
    let sender = Sender::start().await;
    let (first, second) = (sender.lead().await, sender.lead_of("+12025550102").await);
    sender.provider.ends(answered(400, 131_056));
    sender.wake(first).await;
    assert_eq!(sender.line().await, LineThrottle::default());
    sender.wake(second).await;
    assert_eq!(sender.state(second).await, SENT);
}

#[tokio::test]
async fn a_prohibited_lead_ends_although_its_line_is_throttled() {
    let sender = Sender::start().await;
    let id = sender.lead().await;
    sender.throttled(60, 1).await;
    sender.change_capture(|capture| capture.enabled = false).await;
    sender.wake(id).await;
    assert_eq!(sender.state(id).await, crate::suppressed("CAPTURE_DISABLED"));
}
