//! The messages that the function sends to its own queue: as many as the work needs.

use std::time::Duration;

use domain::DeliveryState;

use crate::reactions::Reaction;
use crate::world::{DAY, World, message, secs};

impl World {
    /// The delays of a chain that the message of the lane starts.
    async fn chain(&self, time: Duration) -> Vec<u64> {
        let invoke = async |body: String| assert_eq!(self.run(&[body]).await, Vec::<String>::new());
        self.sqs.chain(self.db.clock(), self.now().plus(time), message(), invoke).await
    }
}

#[tokio::test]
async fn a_long_drain_takes_no_more_invocations_than_its_time_fills() {
    let world = World::empty().await;
    world.change_endpoint(|endpoint| endpoint.caps.concurrency = Some(1)).await;
    let events: Vec<u64> = (1..=300).collect();
    for some in events.chunks(25) {
        world.notify(some).await;
    }
    let clock = world.db.clock().clone();
    world.receivers.always(move |_| {
        clock.advance(secs(1));
        Reaction::Answers(200, "")
    });
    let chain = world.chain(DAY).await;
    // An invocation begins posts for seven seconds: its time-out of 45, less an attempt of 30 and the records.
    assert!(chain.len() > 16 && chain.len() <= 300 / 7, "{}", chain.len());
    assert!(chain.iter().all(|delay| *delay == 0), "{chain:?}");
    assert_eq!((world.receivers.count(), world.due().await), (300, None));
}

#[tokio::test]
async fn an_endpoint_that_always_fails_has_one_message_for_each_retry_of_the_next_minutes() {
    let world = World::empty().await;
    world.receivers.always_answer(500);
    let events: Vec<u64> = (1..=20).collect();
    world.notify(&events).await;
    // Each delivery has its own jitter, so the retries have moments of their own. An invocation that posts nothing would be
    // a message without need. The sweeper finds the lane for the retries after a quarter of an hour.
    let invoke = async |body: String| {
        let posted = world.receivers.count();
        assert_eq!(world.run(&[body]).await, Vec::<String>::new());
        assert!(world.receivers.count() > posted, "an invocation without a post");
    };
    let chain = world.sqs.chain(world.db.clock(), world.now().plus(DAY), message(), invoke).await;
    assert!(chain.len() > 2 && chain.iter().sum::<u64>() < 900, "{chain:?}");
    assert_eq!(world.states(events).await, vec![(DeliveryState::Pending, 3); 20]);
}

#[tokio::test]
async fn a_disabled_workspace_has_one_message_in_a_quarter_of_an_hour() {
    let world = World::start().await;
    world.disable_workspace().await;
    let chain = world.chain(DAY).await;
    assert_eq!(chain, vec![900; 96]);
}
