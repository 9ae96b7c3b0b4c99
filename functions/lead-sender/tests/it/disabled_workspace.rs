//! Leads of a disabled workspace.

use domain::{LeadState, Workspace};
use harness::TestClock;
use provider::CallOutcome;

use crate::{FIRST_DUE, SENT, Sender, secs};

#[tokio::test]
async fn leads_of_a_disabled_workspace_wait_without_a_retry_and_are_sent_when_it_is_enabled() {
    let sender = Sender::start().await;
    let (fresh, failed) = (sender.lead().await, sender.lead_of("+12025550102").await);
    sender.provider.ends(CallOutcome::Answered { status: 500, code: Some(131_000) });
    sender.wake(failed).await;
    let before = [sender.stored(fresh).await, sender.stored(failed).await];
    assert_eq!((before[0].state, before[1].progress.failures), (LeadState::Queued, 1));
    sender.world.change_workspace(|workspace| workspace.disabled(TestClock::START)).await;
    sender.sqs.take();
    for _ in 0..3 {
        sender.world.db.clock().advance(secs(900));
        sender.wake(fresh).await;
        sender.wake(failed).await;
        let delays: Vec<u64> = sender.sqs.take().iter().map(|message| message.delay).collect();
        assert_eq!(delays, [900, 900], "the next look is queued");
    }
    assert_eq!([sender.stored(fresh).await, sender.stored(failed).await], before, "the leads do not change");
    // The sweeper finds the leads if the queue messages are lost.
    sender.world.db.clock().advance(secs(900) + FIRST_DUE);
    assert_eq!(sender.due().await.len(), 2);

    sender.world.change_workspace(Workspace::enabled).await;
    sender.wake(fresh).await;
    sender.wake(failed).await;
    assert_eq!([sender.state(fresh).await, sender.state(failed).await], [SENT, SENT]);
    sender.assert_idle(fresh);
    sender.assert_idle(failed);
}
