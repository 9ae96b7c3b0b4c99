//! Crash recovery: processes that die at any step.

use std::sync::Arc;

use domain::{AttemptError, DeliveryState, EventId, JobKind};
use harness::Death;
use tokio::sync::Notify;

use crate::reactions::Reaction;
use crate::world::{LEASE, RESCUE, World, event, message, secs};

#[tokio::test]
async fn a_delivery_survives_a_crash_at_any_step() {
    for death in [Death::Before, Death::After] {
        for calls in 0.. {
            let world = World::start().await;
            let is_through = world.die(calls, death).await;
            world.pass(LEASE + RESCUE);
            let is_pending = world.state(1).await == DeliveryState::Pending;
            let is_due = world.due().await.is_some();
            assert!(is_due || !is_pending, "{death:?} {calls}");
            world.to_rest().await;
            assert_eq!(world.states([1]).await, [(DeliveryState::Delivered, 1)], "{death:?} {calls}");
            assert!((1..=2).contains(&world.receivers.count()), "{death:?} {calls}");
            if is_through {
                assert_eq!(calls, 6, "lease, lane, what posts need, record, release; usage");
                break;
            }
        }
    }
}

#[tokio::test]
async fn a_retry_that_a_dead_visit_recorded_is_found_after_a_visit_that_failed() {
    let world = World::start().await;
    world.receivers.answer(500);
    // It records the attempt with its next time, and dies before the release, which would write that time into the lane.
    assert!(!world.die(5, Death::Before).await);
    assert_eq!(world.states([1]).await, [(DeliveryState::Pending, 1)]);
    world.pass(LEASE + secs(1));
    world.db.fail("Query", harness::Fault::Throttled, 3);
    assert_eq!(world.run(&[message()]).await, ["0"]);
    world.receivers.always_answer(200);
    world.to_rest().await;
    assert_eq!(world.states([1]).await, [(DeliveryState::Delivered, 2)]);
}

/// A lane with due deliveries, fresh and late. Some of their posts fail, some without an answer.
async fn busy() -> World {
    let world = World::empty().await;
    world.receivers.always_answer(500);
    world.notify(&(10..20).collect::<Vec<_>>()).await;
    world.visit().await;
    world.pass(secs(6));
    world.notify(&[1, 2, 3]).await;
    world.notify(&(20..50).collect::<Vec<_>>()).await;
    world.sqs.take();
    let bad: Vec<EventId> = [1, 12, 13, 25, 26, 27].map(|number| event(number).id).to_vec();
    world.receivers.always(move |posted| match bad.iter().position(|bad| *bad == posted.event()) {
        Some(2 | 3) => Reaction::Fails(AttemptError::Timeout),
        Some(_) => Reaction::Answers(503, ""),
        None => Reaction::Answers(200, ""),
    });
    world
}

#[tokio::test]
async fn a_crash_at_any_call_loses_none_of_many_deliveries() {
    for death in [Death::Before, Death::After] {
        for calls in 0.. {
            let world = busy().await;
            let is_through = world.die(calls, death).await;
            // Some queue messages are lost as well.
            if calls % 2 == 0 {
                world.sqs.take();
            }
            world.pass(secs(30));
            let again = world.die(calls / 2, death).await;
            world.receivers.always_answer(200);
            world.to_rest().await;
            for number in (1..4).chain(10..50) {
                let (delivery, attempts) = world.seen(number).await;
                assert_eq!(delivery.state, DeliveryState::Delivered, "{death:?} {calls} {number}");
                assert_eq!(delivery.attempts as usize, attempts.len(), "{death:?} {calls} {number}");
                let numbers: Vec<u32> = attempts.iter().map(|attempt| attempt.number).collect();
                assert_eq!(
                    numbers,
                    (1..=delivery.attempts).collect::<Vec<_>>(),
                    "{death:?} {calls} {number}"
                );
                let posts = world.receivers.count_of(event(number).id);
                assert!((attempts.len()..=attempts.len() + 2).contains(&posts), "{death:?} {calls} {number}");
            }
            if is_through && again {
                assert!(calls > 8, "{calls}");
                break;
            }
        }
    }
}

#[tokio::test]
async fn a_delivery_that_always_kills_its_process_follows_the_schedule_until_it_is_exhausted() {
    let world = World::empty().await;
    let got = Arc::new(Notify::new());
    let (hangs, bad) = (got.clone(), event(3).id);
    world.receivers.always(move |posted| match posted.event() == bad {
        true => Reaction::Hangs(hangs.clone()),
        false => Reaction::Answers(200, ""),
    });
    world.notify(&(0..30).collect::<Vec<_>>()).await;
    world.to_rest_dying(&got).await;
    let (delivery, attempts) = world.seen(3).await;
    assert_eq!((delivery.state, delivery.attempts, delivery.failures), (DeliveryState::Exhausted, 10, 10));
    assert!(attempts.iter().all(|attempt| attempt.outcome.error_code() == Some("WORKER_DIED")));
    for number in (0..30).filter(|number| *number != 3) {
        assert_eq!(world.state(number).await, DeliveryState::Delivered, "{number}");
    }
    // Two visits die before the next one is careful, and one more counts as an attempt.
    assert_eq!(world.receivers.count_of(bad), 30);
}

#[tokio::test]
async fn a_job_cancelled_after_its_post_killed_a_careful_worker_leaves_no_open_delivery() {
    for is_delivered in [true, false] {
        let world = World::empty().await;
        if !is_delivered {
            world.receivers.always_answer(500);
        }
        world.notify(&[1]).await;
        world.to_rest().await;
        let (before, _) = world.seen(1).await;
        let (got, of) = (Arc::new(Notify::new()), event(1));
        world.pass(secs(60));
        world.receivers.always_answer(200);
        let id = world.ask(JobKind::Retry { event: of.id, at: of.at }).await;
        for _ in 0..3 {
            world.receivers.then(Reaction::Hangs(got.clone()));
            world.die_with_a_post(&got).await;
            world.pass(LEASE + secs(1));
        }
        assert!(world.store().cancel_job(&[&world.job(id).await], harness::operator()).await.unwrap());
        world.to_rest().await;
        let (after, attempts) = world.seen(1).await;
        assert_eq!(after.state, DeliveryState::Delivered);
        let ends: Vec<Option<&str>> =
            attempts[before.attempts as usize..].iter().map(|attempt| attempt.outcome.error_code()).collect();
        assert_eq!(
            ends,
            [Some("WORKER_DIED"), None],
            "the begun attempt is counted, and another one follows"
        );
    }
}

#[tokio::test]
async fn a_careful_post_of_a_job_that_does_not_leave_the_network_is_made_later() {
    let world = World::start().await;
    world.to_rest().await;
    let (got, of) = (Arc::new(Notify::new()), event(1));
    world.ask(JobKind::Retry { event: of.id, at: of.at }).await;
    for _ in 0..2 {
        world.receivers.then(Reaction::Hangs(got.clone()));
        world.die_with_a_post(&got).await;
        world.pass(LEASE + secs(1));
    }
    world.receivers.then(Reaction::Stays);
    world.visit().await;
    assert_eq!(world.seen(1).await.0.state, DeliveryState::Pending);
    world.to_rest().await;
    assert_eq!(world.states([1]).await, [(DeliveryState::Delivered, 2)]);
}

#[tokio::test]
async fn a_careful_post_that_does_not_leave_the_network_is_no_attempt() {
    let world = World::start().await;
    let got = Arc::new(Notify::new());
    for _ in 0..2 {
        world.receivers.then(Reaction::Hangs(got.clone()));
        world.die_with_a_post(&got).await;
        world.pass(LEASE + secs(1));
    }
    world.receivers.then(Reaction::Stays);
    world.visit().await;
    assert_eq!(world.states([1]).await, [(DeliveryState::Pending, 0)]);
    assert_eq!(world.seen(1).await.0.begun_at, None);
    world.to_rest().await;
    assert_eq!(world.states([1]).await, [(DeliveryState::Delivered, 1)]);
}
