//! Slow, silent and dead receivers, and the caps of operators.

use std::time::Duration;

use domain::webhook::DisabledReason;
use domain::{AttemptError, DeliveryState, EndpointState, JobKind, Pace, Track};
use harness::{Fault, TestClock};

use crate::reactions::Reaction;
use crate::world::{RESCUE, World, message, secs, slot};

impl World {
    async fn pace(&self) -> Pace {
        self.store().endpoint_pace(slot()).await.unwrap()
    }

    /// Adds these deliveries and lets them fail without an answer.
    async fn fall_silent(&self, numbers: &[u64]) {
        for _ in numbers {
            self.receivers.then(Reaction::Fails(AttemptError::ConnectFailed));
        }
        self.notify(numbers).await;
        self.visit().await;
    }
}

fn numbers(range: std::ops::Range<u64>) -> Vec<u64> {
    range.collect()
}

#[tokio::test]
async fn quick_answers_increase_the_number_of_concurrent_posts() {
    let world = World::empty().await;
    world.notify(&numbers(0..200)).await;
    world.visit().await;
    assert_eq!(world.receivers.count(), 200);
    assert_eq!(world.pace().await.width, 56, "16 + 24 + 32 + 40 + 48 answers");
    let most = world.receivers.most_at_once();
    assert!((25..=56).contains(&most), "{most}");
    assert_eq!(world.states(0..200).await, vec![(DeliveryState::Delivered, 1); 200]);
}

#[tokio::test]
async fn a_429_halves_the_number_of_concurrent_posts() {
    let world = World::empty().await;
    world.receivers.always_answer(429);
    world.notify(&numbers(0..40)).await;
    world.visit().await;
    assert_eq!((world.receivers.most_at_once(), world.pace().await.width), (16, 8), "once per round trip");
    world.pass(secs(10));
    world.visit().await;
    assert_eq!((world.receivers.most_at_once(), world.pace().await.width), (8, 4));
}

#[tokio::test]
async fn an_open_circuit_delays_deliveries_without_an_attempt_and_one_probe_closes_it() {
    let world = World::empty().await;
    world.fall_silent(&[1, 2, 3, 4, 5]).await;
    assert_eq!(world.receivers.count(), 5);
    let queued = world.sqs.take();
    assert_eq!((queued.len(), queued[0].queue.as_str(), queued[0].delay), (1, "deliveries-slow", 5));
    assert_eq!(world.due().await, Some(world.now().plus(secs(5) + RESCUE)));

    // While the circuit is open, a new delivery queues no visit, and a visit posts nothing.
    world.pass(secs(2));
    assert_eq!(world.notify(&numbers(6..30)).await.wake, None);
    world.visit().await;
    assert_eq!(world.receivers.count(), 5);
    assert_eq!(world.states(6..30).await, vec![(DeliveryState::Pending, 0); 24]);
    world.sqs.take();

    // The cool-down is over. One probe is posted and fails, so the circuit opens for five minutes.
    world.pass(secs(5));
    world.receivers.then(Reaction::Fails(AttemptError::Timeout));
    assert!(world.run_on(Track::Slow, &[message()]).await.is_empty());
    assert_eq!(world.receivers.count(), 6);
    world.pass(secs(297));
    assert!(world.run_on(Track::Slow, &[message()]).await.is_empty());
    assert_eq!(world.receivers.count(), 6, "open");

    // A probe is answered. The same visit posts all waiting deliveries at once, except the one that failed last: it
    // is due a little later.
    world.pass(secs(3));
    assert!(world.run_on(Track::Slow, &[message()]).await.is_empty());
    assert_eq!(world.receivers.count(), 6 + 28);
    world.pass(secs(60));
    world.visit().await;
    assert_eq!(world.receivers.count(), 6 + 29);
    let states = world.states(1..30).await;
    assert!(states.iter().all(|(state, _)| *state == DeliveryState::Delivered), "{states:?}");
    assert_eq!(states.iter().map(|(_, attempts)| *attempts as usize).sum::<usize>(), world.receivers.count());
    assert_eq!(world.due().await, None);
}

#[tokio::test]
async fn error_answers_open_no_circuit() {
    let world = World::empty().await;
    world.receivers.always_answer(500);
    world.notify(&numbers(0..20)).await;
    world.visit().await;
    world.receivers.always_answer(200);
    world.notify(&[20]).await;
    world.visit().await;
    assert_eq!((world.receivers.count(), world.state(20).await), (21, DeliveryState::Delivered));
}

#[tokio::test]
async fn the_operators_cap_limits_concurrent_posts() {
    let world = World::empty().await;
    for (of, (allowed, slots, most)) in (0..).zip([(4, 1, 4), (9, 2, 4), (1, 1, 1), (1, 4, 1)]) {
        world
            .change_endpoint(|endpoint| {
                (endpoint.caps.concurrency, endpoint.slots) = (Some(allowed), slots);
            })
            .await;
        world.notify(&numbers(of * 100..of * 100 + 30)).await;
        world.visit().await;
        assert_eq!(world.receivers.most_at_once(), most, "{allowed} for {slots} slots");
    }
    assert_eq!(world.receivers.count(), 120);
}

#[tokio::test]
async fn the_operators_cap_limits_posts_in_a_second() {
    let world = World::empty().await;
    world.change_endpoint(|endpoint| endpoint.caps.per_second = Some(200)).await;
    world.notify(&numbers(0..30)).await;
    let clock = world.db.clock().clone();
    let ticks = tokio::spawn(async move {
        // Both clocks advance. The test's clock is never ahead of the process's own.
        let mut tick = tokio::time::interval(Duration::from_millis(1));
        loop {
            tick.tick().await;
            clock.advance(Duration::from_millis(1));
        }
    });
    world.visit().await;
    let passed = world.now().since(TestClock::START);
    assert_eq!(world.receivers.count(), 30);
    assert!(passed >= Duration::from_millis(29 * 5), "{passed:?}");
    // The next visit keeps the rate of the last one.
    world.notify(&numbers(30..40)).await;
    world.visit().await;
    ticks.abort();
    let passed = world.now().since(TestClock::START);
    assert!(world.receivers.count() == 40 && passed >= Duration::from_millis(39 * 5), "{passed:?}");
}

#[tokio::test]
async fn an_endpoint_with_slow_answers_uses_the_slow_queue_for_five_minutes() {
    let mut world = World::empty().await;
    world.engine.rules.attempt = Duration::from_millis(40);
    world.receivers.then(Reaction::Takes(Duration::from_millis(5), 500));
    assert_eq!(world.notify(&[1]).await.wake, Some(Track::Fast));
    world.visit().await;
    assert_eq!(world.sqs.take()[0].queue, "deliveries-slow");
    assert_eq!(world.notify(&[2]).await.wake, Some(Track::Slow));
    world.pass(Pace::SLOW_FOR);
    assert_eq!(world.notify(&[3]).await.wake, Some(Track::Fast));
    world.engine.rules.attempt = secs(30);
    world.visit().await;
    assert_eq!(world.receivers.count(), 4);
}

/// Fails one delivery at each of these hours. Returns the state of the endpoint after them.
async fn failing_at(hours: impl Iterator<Item = f64>, ok_at: Option<f64>) -> EndpointState {
    let world = World::empty().await;
    let mut at: Vec<(f64, u16)> = hours.map(|hour| (hour, 500)).collect();
    at.extend(ok_at.map(|hour| (hour, 200)));
    at.sort_by(|one, other| one.0.total_cmp(&other.0));
    for (number, (hour, status)) in (100..).zip(at) {
        world.db.clock().set(TestClock::START.plus(Duration::from_secs_f64(hour * 3_600.0)));
        world.notify(&[number]).await;
        world.receivers.always_answer(status);
        world.visit().await;
    }
    world.endpoint().await.state
}

#[tokio::test]
async fn five_days_with_only_failures_disable_an_endpoint() {
    let often = || (0..=30).map(|n| f64::from(n) * 4.0).chain((0..=10).map(|n| 120.0 + f64::from(n) * 0.1));
    let EndpointState::Disabled { reason, .. } = failing_at(often(), None).await else { panic!("enabled") };
    assert_eq!(reason, DisabledReason::Failing);
    assert_eq!(failing_at(often(), Some(90.0)).await, EndpointState::Enabled, "a success in between");
}

#[tokio::test]
async fn sporadic_failures_do_not_disable_an_endpoint() {
    assert_eq!(failing_at((0..=15).map(|day| f64::from(day) * 24.0), None).await, EndpointState::Enabled);
}

#[tokio::test]
async fn deliveries_of_a_failing_endpoint_are_parked_until_it_is_enabled() {
    let world = World::empty().await;
    world.receivers.always_answer(503);
    for hour in 0..=126_u64 {
        world.db.clock().set(TestClock::START.plus(secs(hour * 3_600)));
        world.notify(&[hour]).await;
        world.visit().await;
        assert_eq!(world.endpoint().await.is_enabled(), hour < 120, "{hour}");
    }
    let tried = world.receivers.count();
    world.pass(secs(3_600));
    world.visit().await;
    assert_eq!((world.receivers.count(), world.due().await), (tried, None));
    assert_eq!(world.told("EndpointsDisabled fast"), 1);
    let webhook = world.endpoint().await;
    let mut parked = vec![];
    for number in 0..=126 {
        let (delivery, _) = world.seen(number).await;
        match delivery.shown(Some(&webhook)) {
            DeliveryState::Parked => parked.push(number),
            state => assert_eq!((state, delivery.attempts), (DeliveryState::Exhausted, 10)),
        }
    }
    assert!(parked.len() > 80 && parked.contains(&126), "{parked:?}");

    world.receivers.always_answer(200);
    world.pass(secs(24 * 3_600));
    world.enable().await;
    world.visit().await;
    assert_eq!(world.receivers.count(), tried + parked.len(), "all at once, by one visit");
    for number in parked {
        assert_eq!(world.state(number).await, DeliveryState::Delivered, "{number}");
    }
    assert!(world.endpoint().await.is_enabled() && world.due().await.is_none());
}

#[tokio::test]
async fn a_job_for_a_silent_endpoint_posts_one_probe() {
    let world = World::empty().await;
    world.fall_silent(&[1, 2, 3, 4, 5]).await;
    world.receivers.always_silent();
    world.until(world.now().plus(secs(4_200))).await;
    let posts = world.receivers.count();
    let open_until = world.pace().await.open_until.unwrap();
    assert!(open_until.since(world.now()) > secs(900), "the circuit is open for long");

    let first = crate::world::event(1);
    world.ask(JobKind::Retry { event: first.id, at: first.at }).await;
    world.pass(secs(1));
    world.visit().await;
    assert_eq!(world.receivers.count(), posts + 1, "one probe");
    world.sqs.take();
    world.visit().await;
    assert_eq!(world.receivers.count(), posts + 1, "no second probe");
    world.receivers.always_answer(200);
    world.to_rest().await;
    assert!(world.states(1..6).await.iter().all(|(state, _)| *state == DeliveryState::Delivered));
}

#[tokio::test]
async fn an_endpoint_that_fails_for_two_and_a_half_days_is_reported_once_until_it_answers() {
    let world = World::empty().await;
    let mut versions = vec![];
    // 500 each 20 hours, at 60 hours for the first time after the limit; then a success, and a failure.
    for (hour, status) in
        [(0, 500), (20, 500), (40, 500), (60, 500), (61, 500), (62, 200), (63, 200), (64, 500)]
    {
        world.db.clock().set(TestClock::START.plus(secs(hour * 3_600)));
        world.notify(&[hour + 100]).await;
        world.receivers.always_answer(status);
        world.visit().await;
        let endpoint = world.endpoint().await;
        versions.push((endpoint.failing_since, endpoint.version));
    }
    let since = Some(TestClock::START);
    let (quiet, told, back) = ((None, 1), (since, 2), (None, 3));
    assert_eq!(versions, [quiet, quiet, quiet, told, told, back, back, back]);
}

#[tokio::test]
async fn a_report_that_cannot_be_written_is_written_by_a_later_visit() {
    let world = World::empty().await;
    world.receivers.always_answer(500);
    world.notify(&[100]).await;
    world.visit().await;
    for (hour, is_lost) in [(60, true), (61, false)] {
        world.db.clock().set(TestClock::START.plus(secs(hour * 3_600)));
        world.notify(&[hour + 100]).await;
        if is_lost {
            world.db.fail("PutItem", Fault::Throttled, 3);
        }
        world.visit().await;
        assert_eq!(world.endpoint().await.failing_since.is_some(), !is_lost);
    }
}
