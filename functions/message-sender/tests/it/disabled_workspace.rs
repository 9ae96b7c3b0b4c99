//! Messages of a disabled workspace.

use std::time::Duration;

use domain::settings::template::{Parameters, Requested};
use domain::{ConversationId, MessageStatus, Workspace};
use harness::TestClock;
use provider::CallOutcome;

use crate::{CONVERSATION, FIRST_DUE, Sender, sent};

impl Sender {
    async fn disable(&self) {
        self.world.change_workspace(|workspace| workspace.disabled(TestClock::START)).await;
    }

    async fn enable(&self) {
        self.world.change_workspace(Workspace::enabled).await;
    }

    fn pass(&self, seconds: u64) {
        self.world.db.clock().advance(Duration::from_secs(seconds));
    }
}

#[tokio::test]
async fn messages_of_a_disabled_workspace_wait_without_a_retry_and_are_sent_in_order_when_it_is_enabled() {
    let sender = Sender::start().await;
    let conversation = sender.conversation(&[&sender.customer("+12025550101").await]).await;
    let first = sender.say(&conversation, "one").await;
    sender.provider.ends(CallOutcome::Answered { status: 500, code: Some(131_000) });
    sender.wake().await;
    let failed = sender.message(first).await;
    assert_eq!((failed.status(), failed.progress.failures), (MessageStatus::Sending, 1));
    let second = sender.say(&conversation, "two").await;
    sender.disable().await;
    sender.sqs.take();
    for _ in 0..3 {
        sender.pass(900);
        sender.world.db.forget_calls();
        sender.wake().await;
        let calls = sender.world.db.calls();
        let written: f64 = calls.iter().map(|call| call.write_units).sum();
        assert_eq!(written, 4.0, "lease and release of the lane, which is in the due index");
        let queued = sender.sqs.take();
        assert_eq!((queued.len(), queued[0].delay), (1, 900), "the next look is queued");
    }
    assert_eq!(sender.message(first).await, failed, "the message does not change");
    assert_eq!(sender.provider.calls().len(), 1);
    // The sweeper finds the lane if the queue message is lost.
    sender.pass(900 + FIRST_DUE.as_secs());
    assert_eq!(sender.due().await, [CONVERSATION]);

    sender.enable().await;
    sender.wake().await;
    assert_eq!((sender.parts(first).await, sender.parts(second).await), (sent(1), sent(1)));
    sender.assert_idle(2);
}

#[tokio::test]
async fn onboarding_of_a_disabled_workspace_waits_and_is_sent_when_it_is_enabled() {
    let sender = Sender::start().await;
    let template = sender.world.template(|template| template.set_variables(vec![])).await;
    let step = Requested { template: template.id, parameters: Parameters::default() };
    let customer = sender.customer("+12025550101").await;
    let id = ConversationId::parse(CONVERSATION).unwrap();
    sender.conversation_with(id, &[&customer], &[step.clone(), step]).await;
    sender.disable().await;
    for _ in 0..2 {
        sender.wake().await;
        sender.pass(900);
    }
    assert!(sender.provider.calls().is_empty());
    assert_eq!(sender.sqs.take().len(), 2, "the next look is queued");
    sender.enable().await;
    sender.wake().await;
    assert_eq!(sender.provider.calls().len(), 2);
    sender.assert_idle(2);
}
