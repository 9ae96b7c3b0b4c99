//! Deliveries of a disabled workspace.

use domain::webhook::job::JobState;
use domain::{DeliveryState, JobKind};

use crate::world::{DAY, World, event, place, secs, slot};

const QUARTER: u64 = 15 * 60;

#[tokio::test]
async fn deliveries_of_a_disabled_workspace_wait_without_an_attempt_and_continue_when_it_is_enabled() {
    let world = World::empty().await;
    world.receivers.always_answer(500);
    world.notify(&[1]).await;
    world.visit().await;
    let (failed, _) = world.seen(1).await;
    world.notify(&[2]).await;
    world.disable_workspace().await;
    world.until(world.now().plus(40 * DAY / 10)).await;
    assert_eq!(world.receivers.count(), 1, "no post while the workspace is disabled");
    assert_eq!(world.seen(1).await.0, failed);
    assert_eq!(world.states([1, 2]).await, [(DeliveryState::Pending, 1), (DeliveryState::Pending, 0)]);

    world.enable_workspace().await;
    world.receivers.always_answer(200);
    world.until(world.now().plus(secs(QUARTER))).await;
    assert_eq!(world.states([1, 2]).await, [(DeliveryState::Delivered, 2), (DeliveryState::Delivered, 1)]);
    world.to_rest().await;
}

#[tokio::test]
async fn a_job_of_a_disabled_workspace_waits_and_is_executed_when_it_is_enabled() {
    let world = World::start().await;
    world.visit().await;
    world.disable_workspace().await;
    let job = world.ask(JobKind::Replay { since: event(0).at, until: event(9).at }).await;
    world.until(world.now().plus(DAY)).await;
    let waiting = world.job(job).await.job;
    assert_eq!((waiting.state, waiting.attempted, waiting.passed), (JobState::Active, 0, 0));
    world.enable_workspace().await;
    world.to_rest().await;
    assert_eq!((world.job(job).await.job.state, world.receivers.count()), (JobState::Done, 2));
}

#[tokio::test]
async fn an_hour_of_a_disabled_workspace_costs_the_same_for_any_number_of_waiting_deliveries() {
    let mut costs = vec![];
    for waiting in [100, 1_000] {
        let world = World::empty().await;
        for from in (0..waiting).step_by(25) {
            let events: Vec<_> = (from..from + 25).map(event).collect();
            world.record(&events, b"{}").await;
        }
        world.disable_workspace().await;
        world.store().notify_webhook_lane(slot(), place(&event(0)), secs(120)).await.unwrap();
        world.until(world.now().plus(secs(3_600))).await;
        world.take_spent();
        world.until(world.now().plus(secs(3_600))).await;
        costs.push(world.take_spent());
        assert_eq!(world.receivers.count(), 0);
    }
    assert_eq!(costs[0], costs[1]);
    let (read, written) = costs[0];
    assert!(read <= 200.0 && written <= 60.0, "{read} RRU, {written} WRU");
}
