//! The messages that the function sends to its own queue: as many as the work needs.

use std::time::Duration;

use harness::{ACCEPTED, Reaction, TestClock};
use provider::CallOutcome;

use crate::{CONVERSATION, Sender, task};

const DAY: Duration = Duration::from_secs(86_400);

impl Sender {
    /// The delays of a chain of a day that the message of the conversation starts.
    async fn chain(&self) -> Vec<u64> {
        let invoke = async |body: String| assert_eq!(self.run(&[body]).await, Vec::<String>::new());
        let until = self.store().now().plus(DAY);
        self.sqs.chain(self.world.db.clock(), until, task(CONVERSATION), invoke).await
    }
}

#[tokio::test]
async fn a_long_drain_takes_no_more_invocations_than_its_time_fills() {
    let sender = Sender::start().await;
    let conversation = sender.conversation(&[&sender.customer("+12025550101").await]).await;
    for number in 0..120 {
        sender.say(&conversation, &number.to_string()).await;
        let clock = sender.world.db.clock().clone();
        sender.provider.then(Reaction::Takes(clock, Duration::from_secs(5), ACCEPTED));
    }
    let chain = sender.chain().await;
    // An invocation begins calls for 25 seconds: half of what its time-out of 60 leaves beside a call of 10.
    assert!(chain.len() > 16 && chain.len() <= 120 / 5, "{}", chain.len());
    assert!(chain.iter().all(|delay| *delay == 0), "{chain:?}");
    assert_eq!(sender.provider.calls().len(), 120);
    sender.assert_idle(120);
}

#[tokio::test]
async fn a_message_that_always_fails_has_one_message_for_each_retry_of_the_next_minutes() {
    let sender = Sender::start().await;
    let conversation = sender.conversation(&[&sender.customer("+12025550101").await]).await;
    sender.say(&conversation, "one").await;
    for _ in 0..20 {
        sender.provider.ends(CallOutcome::Answered { status: 500, code: Some(131_000) });
    }
    assert_eq!(
        sender.chain().await,
        [30, 120, 600],
        "the sweeper finds the conversation for the later retries"
    );
}

#[tokio::test]
async fn a_disabled_workspace_has_one_message_in_a_quarter_of_an_hour() {
    let sender = Sender::start().await;
    let conversation = sender.conversation(&[&sender.customer("+12025550101").await]).await;
    sender.say(&conversation, "one").await;
    sender.world.change_workspace(|workspace| workspace.disabled(TestClock::START)).await;
    assert_eq!(sender.chain().await, vec![900; 96]);
}
