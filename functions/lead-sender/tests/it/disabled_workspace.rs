//! Leads of a disabled workspace.

use domain::{LeadState, Workspace};
use harness::TestClock;

use crate::{FIRST_DUE, OPENED, Sender, secs};

#[tokio::test]
async fn leads_of_a_disabled_workspace_wait_unchanged_and_are_opened_when_it_is_enabled() {
    let sender = Sender::start().await;
    let id = sender.lead().await;
    let before = sender.stored(id).await;
    assert_eq!(before.state, LeadState::Queued);
    sender.world.change_workspace(|workspace| workspace.disabled(TestClock::START)).await;
    for _ in 0..3 {
        sender.world.db.clock().advance(secs(900));
        sender.wake(id).await;
        let delays: Vec<u64> = sender.sqs.take().iter().map(|message| message.delay).collect();
        assert_eq!(delays, [900], "the next look is queued");
    }
    assert_eq!(sender.stored(id).await, before, "the lead does not change");
    // The sweeper finds the lead if the queue message is lost.
    sender.world.db.clock().advance(secs(900) + FIRST_DUE);
    assert_eq!(sender.due().await, [id]);

    sender.world.change_workspace(Workspace::enabled).await;
    sender.wake(id).await;
    assert_eq!(sender.state(id).await, OPENED);
    sender.assert_idle(id);
}
