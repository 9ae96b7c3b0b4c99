//! Jobs that operators ask for.

use std::collections::BTreeSet;
use std::time::Duration;

use domain::webhook::Subscribers;
use domain::webhook::job::{Job, JobState};
use domain::{AttemptError, DeliveryState, EndpointUrl, JobKind, TrustedReceivers};
use harness::{Death, TestClock};
use store::NewEvent;

use crate::reactions::{Posted, Reaction};
use crate::world::{BODY, DAY, World, event, new_event, secs, slot};

fn numbers(range: std::ops::Range<u64>) -> Vec<u64> {
    range.collect()
}

impl World {
    /// Makes deliveries: the first third is delivered, the second is exhausted, and the third waits for a retry.
    async fn with_three_kinds(each: u64) -> Self {
        let world = Self::empty().await;
        world.notify(&numbers(0..each)).await;
        world.visit().await;
        world.receivers.always_answer(500);
        world.notify(&numbers(each..2 * each)).await;
        world.to_rest().await;
        world.notify(&numbers(2 * each..3 * each)).await;
        world.visit().await;
        world.sqs.take();
        world
    }

    async fn job_of(&self, id: domain::JobId) -> Job {
        self.job(id).await.job
    }
}

#[tokio::test]
async fn an_enabled_endpoint_gets_all_waiting_deliveries_at_once_with_a_new_schedule() {
    let world = World::empty().await;
    world.receivers.always_answer(500);
    world.notify(&numbers(0..30)).await;
    world.until(TestClock::START.plus(secs(3_600))).await;
    let before = world.seen(0).await.0;
    assert!(before.failures >= 3);
    world.disable().await;
    world.notify(&numbers(30..40)).await;
    // Some of them are due by now, and others are not.
    world.pass(secs(1_800));
    world.receivers.always_answer(200);
    world.receivers.answer(500);
    let posts = world.receivers.count();
    let id = world.enable().await;
    world.visit().await;
    assert_eq!(world.receivers.count(), posts + 40);
    let states = world.states(0..40).await;
    let pending: Vec<u64> =
        (0..40).filter(|number| states[*number as usize].0 == DeliveryState::Pending).collect();
    assert_eq!(pending.len(), 1, "{states:?}");
    let failed = world.seen(pending[0]).await.0;
    assert_eq!(failed.failures, 1);
    assert!(failed.next_at.unwrap().since(world.now()) <= secs(6), "the first wait of the schedule");
    world.to_rest().await;
    assert_eq!(world.job_of(id).await.state, JobState::Done);
}

#[tokio::test]
async fn a_delivery_that_waited_longer_than_two_weeks_stays_parked() {
    let world = World::empty().await;
    world.receivers.always_answer(500);
    world.notify(&numbers(0..5)).await;
    world.visit().await;
    world.disable().await;
    world.notify(&numbers(5..10)).await;
    world.pass(DAY * 14 + Duration::from_millis(1));
    world.receivers.always_answer(200);
    world.enable().await;
    let posts = world.receivers.count();
    let late = crate::world::event_at(10, world.now());
    world.tell_events(std::slice::from_ref(&late), BODY).await;
    world.to_rest().await;
    assert_eq!(world.receivers.count(), posts + 1);
    for number in 0..10 {
        assert_eq!(world.state(number).await, DeliveryState::Parked, "{number}");
    }
    // They are not lost: an operator can still ask for them.
    let id = world.ask(JobKind::Recover { since: TestClock::START }).await;
    world.to_rest().await;
    assert_eq!(world.receivers.count(), posts + 11);
    let job = world.job_of(id).await;
    assert_eq!((job.attempted, job.delivered, job.passed, job.state), (10, 10, 1, JobState::Done));
}

#[tokio::test]
async fn what_happened_while_an_endpoint_was_disabled_is_posted_by_a_recovery_and_not_before() {
    let world = World::empty().await;
    world.disable().await;
    for number in 1..=3 {
        let slots = Subscribers { enabled: vec![], disabled: vec![slot()] };
        let new = NewEvent { slots, ..new_event(&event(number), BODY) };
        world.store().record_events(&[new]).await.into_iter().collect::<Result<(), _>>().unwrap();
    }
    world.enable().await;
    world.to_rest().await;
    assert_eq!(world.receivers.count(), 0);
    let delivery = world.seen(1).await.0;
    assert_eq!((delivery.state, delivery.because(None)), (DeliveryState::Parked, Some("ENDPOINT_DISABLED")));

    let id = world.ask(JobKind::Recover { since: TestClock::START }).await;
    world.to_rest().await;
    let job = world.job_of(id).await;
    assert_eq!((job.attempted, job.delivered, job.passed, job.state), (3, 3, 0, JobState::Done));
    assert!(world.states(1..4).await.iter().all(|(state, _)| *state == DeliveryState::Delivered));
}

#[tokio::test]
async fn an_enabled_endpoint_that_is_still_dead_gets_no_more_posts_than_a_dead_one() {
    let world = World::empty().await;
    world.receivers.always_silent();
    world.notify(&numbers(0..200)).await;
    world.until(TestClock::START.plus(secs(3_600))).await;
    world.disable().await;
    world.pass(DAY);
    let posts = world.receivers.count();
    world.enable().await;
    world.until(world.now().plus(secs(3_600))).await;
    let posts = world.receivers.count() - posts;
    assert!((10..=40).contains(&posts), "a width of posts, then probes: {posts}");
    world.receivers.always_answer(200);
    world.to_rest().await;
    assert!(world.states(0..200).await.iter().all(|(state, _)| *state == DeliveryState::Delivered));
}

#[tokio::test]
async fn a_repeated_retry_never_makes_two_concurrent_attempts() {
    let world = World::start().await;
    world.receivers.answer(500);
    world.visit().await;
    world.pass(Duration::from_millis(1));
    let first = event(1);
    let retry = JobKind::Retry { event: first.id, at: first.at };
    let ids = [world.ask(retry).await, world.ask(retry).await];
    let again = async {
        world.visit().await;
        world.ask(retry).await;
        world.visit().await;
    };
    assert!(world.visit_meanwhile(500, again).await.is_empty());
    world.to_rest().await;
    assert_eq!(world.receivers.most_at_once(), 1);
    assert_eq!(world.state(1).await, DeliveryState::Delivered);
    let (delivery, attempts) = world.seen(1).await;
    assert_eq!((delivery.attempts as usize, attempts.len()), (world.receivers.count(), attempts.len()));
    for id in ids {
        let job = world.job_of(id).await;
        assert_eq!((job.state, job.attempted + job.passed), (JobState::Done, 1));
    }
}

#[tokio::test]
async fn a_retry_does_not_repeat_an_attempt_that_is_made_anyway() {
    let world = World::empty().await;
    world.receivers.always_answer(500);
    world.notify(&[1]).await;
    world.visit().await;
    world.notify(&[2]).await;
    // One waits and is due. The other was never attempted.
    world.pass(secs(60));
    let posts = world.receivers.count();
    let mut ids = vec![];
    for number in [1, 2] {
        let of = event(number);
        ids.push(world.ask(JobKind::Retry { event: of.id, at: of.at }).await);
    }
    world.visit().await;
    assert_eq!(world.receivers.count(), posts + 2);
    assert_eq!(world.states([1, 2]).await, [(DeliveryState::Pending, 2), (DeliveryState::Pending, 1)]);
    assert_eq!(world.seen(1).await.0.failures, 1, "the retry schedule starts again");
    for id in ids {
        let job = world.job_of(id).await;
        assert_eq!((job.state, job.attempted, job.passed), (JobState::Done, 0, 1));
    }
}

#[tokio::test]
async fn a_retry_is_made_at_once_in_every_state_of_its_delivery() {
    let world = World::with_three_kinds(1).await;
    world.receivers.always_answer(200);
    for number in 0..3 {
        let of = event(number);
        let posts = world.receivers.count();
        let id = world.ask(JobKind::Retry { event: of.id, at: of.at }).await;
        world.visit().await;
        assert_eq!(
            (world.receivers.count(), world.state(number).await),
            (posts + 1, DeliveryState::Delivered)
        );
        let job = world.job_of(id).await;
        assert_eq!((job.attempted, job.delivered, job.state), (1, 1, JobState::Done));
    }
    let posts = world.receivers.count();
    world.to_rest().await;
    assert_eq!(world.receivers.count(), posts);
    let unknown = event(99);
    let id = world.ask(JobKind::Retry { event: unknown.id, at: unknown.at }).await;
    world.to_rest().await;
    assert_eq!((world.receivers.count(), world.job_of(id).await.state), (posts, JobState::Done));
}

#[tokio::test]
async fn a_repeated_replay_delivers_a_range_only_once_more() {
    let world = World::with_three_kinds(20).await;
    world.receivers.always_answer(200);
    let posts = world.receivers.count();
    let kind = JobKind::Replay { since: event(5).at, until: event(45).at };
    let id = world.ask(kind).await;
    let job = world.job_of(id).await;
    world.visit().await;
    assert_eq!(world.receivers.count(), posts + 40);
    let done = world.job_of(id).await;
    assert_eq!((done.attempted, done.delivered, done.passed, done.state), (40, 40, 0, JobState::Done));
    // Waiting deliveries outside the range keep their own times.
    world.to_rest().await;
    assert_eq!(world.receivers.count(), posts + 55);

    // The operator repeats the command, and no post is repeated.
    let posts = world.receivers.count();
    assert!(!world.store().request_job(&job, secs(120), None).await.unwrap().0);
    world.to_rest().await;
    assert_eq!(world.receivers.count(), posts);
    for number in 0..45 {
        assert_eq!(world.states([number]).await[0].0, DeliveryState::Delivered);
    }
}

#[tokio::test]
async fn a_recovery_delivers_only_undelivered_events() {
    let world = World::with_three_kinds(20).await;
    world.receivers.always_answer(200);
    let posts = world.receivers.count();
    let id = world.ask(JobKind::Recover { since: event(25).at }).await;
    world.visit().await;
    assert_eq!(world.receivers.count(), posts + 15);
    for number in 0..60 {
        let expected = match number {
            0..20 | 25..40 => DeliveryState::Delivered,
            20..25 => DeliveryState::Exhausted,
            _ => DeliveryState::Pending,
        };
        assert_eq!(world.state(number).await, expected, "{number}");
    }
    let job = world.job_of(id).await;
    assert_eq!((job.attempted, job.delivered, job.passed, job.state), (15, 15, 20, JobState::Done));
}

#[tokio::test]
async fn a_failed_attempt_of_a_job_follows_the_retry_schedule() {
    let world = World::with_three_kinds(3).await;
    let exhausted = [3, 4, 5].map(|number| event(number).id);
    world.receivers.always(move |posted| match exhausted.contains(&posted.event()) {
        true => Reaction::Answers(500, ""),
        false => Reaction::Answers(200, ""),
    });
    let id = world.ask(JobKind::Recover { since: TestClock::START }).await;
    world.visit().await;
    for number in 3..6 {
        let (delivery, attempts) = world.seen(number).await;
        assert_eq!((delivery.state, delivery.failures, attempts.len()), (DeliveryState::Pending, 1, 11));
    }
    world.to_rest().await;
    for number in 3..6 {
        let (delivery, attempts) = world.seen(number).await;
        assert_eq!((delivery.state, attempts.len()), (DeliveryState::Exhausted, 20));
    }
    let job = world.job_of(id).await;
    assert_eq!((job.attempted, job.delivered, job.state), (3, 0, JobState::Done));
}

#[tokio::test]
async fn a_job_that_is_cancelled_stops() {
    let world = World::empty().await;
    world.notify(&numbers(0..300)).await;
    world.visit().await;
    let posts = world.receivers.count();
    world.pass(secs(1));
    let id = world.ask(JobKind::Replay { since: event(0).at, until: event(300).at }).await;
    let cancels = async {
        assert!(world.store().cancel_job(&[&world.job(id).await], harness::operator()).await.unwrap());
    };
    assert!(world.visit_meanwhile(200, cancels).await.is_empty());
    world.to_rest().await;
    let posts = world.receivers.count() - posts;
    assert!((1..=50).contains(&posts), "posts of the begun page: {posts}");
    assert_eq!(world.job_of(id).await.state, JobState::Cancelled);
    // The cancelled job does not block the next one.
    world.ask(JobKind::Recover { since: event(0).at }).await;
    world.to_rest().await;
}

#[tokio::test]
async fn fresh_deliveries_do_not_wait_for_a_job() {
    let world = World::empty().await;
    world.notify(&numbers(0..100)).await;
    world.visit().await;
    world.pass(secs(1));
    world.ask(JobKind::Replay { since: event(0).at, until: event(100).at }).await;
    world.notify(&numbers(200..210)).await;
    let posts = world.receivers.count();
    world.visit().await;
    let fresh: Vec<_> = numbers(200..210).into_iter().map(|number| event(number).id).collect();
    let first: Vec<_> =
        world.receivers.posts()[posts..posts + 10].iter().map(|posted| posted.event()).collect();
    assert!(fresh.iter().all(|event| first.contains(event)));
    assert_eq!(world.receivers.count(), posts + 110);
}

#[tokio::test]
async fn a_job_finishes_after_a_crash_at_any_call() {
    for death in [Death::Before, Death::After] {
        for calls in 0.. {
            let world = World::empty().await;
            world.notify(&numbers(0..20)).await;
            world.visit().await;
            world.pass(secs(1));
            // Some deliveries wait for a retry, and some are new.
            for _ in 0..3 {
                world.receivers.then(Reaction::Fails(AttemptError::Timeout));
            }
            let id = world.ask(JobKind::Replay { since: event(0).at, until: event(20).at }).await;
            world.notify(&[30]).await;
            let posts = world.receivers.count();
            let is_through = world.die(calls, death).await;
            world.to_rest().await;
            let job = world.job_of(id).await;
            assert_eq!((job.state, job.attempted + job.passed), (JobState::Done, 20), "{death:?} {calls}");
            for number in 0..20 {
                let of = event(number).id;
                let (delivery, attempts) = world.seen(number).await;
                assert_eq!(delivery.state, DeliveryState::Delivered, "{death:?} {calls} {number}");
                assert_eq!(delivery.attempts as usize, attempts.len());
                assert!((2..=4).contains(&world.receivers.count_of(of)), "{death:?} {calls} {number}");
            }
            assert!(world.receivers.count() >= posts + 21);
            if is_through {
                assert!(calls > 8, "{calls}");
                break;
            }
        }
    }
}

#[tokio::test]
async fn a_job_finishes_although_a_delivery_kills_its_process() {
    let world = World::empty().await;
    world.notify(&numbers(0..3)).await;
    world.visit().await;
    world.pass(secs(1));
    let bad = event(1).id;
    let got = std::sync::Arc::new(tokio::sync::Notify::new());
    let hangs = got.clone();
    world.receivers.always(move |posted| match posted.event() == bad {
        true => Reaction::Hangs(hangs.clone()),
        false => Reaction::Answers(200, ""),
    });
    let id = world.ask(JobKind::Replay { since: event(0).at, until: event(3).at }).await;
    world.to_rest_dying(&got).await;
    assert_eq!(world.job_of(id).await.state, JobState::Done);
    assert_eq!(world.state(1).await, DeliveryState::Exhausted);
    for number in [0, 2] {
        assert_eq!(world.state(number).await, DeliveryState::Delivered);
        assert!(world.receivers.count_of(event(number).id) >= 2);
    }
}

#[tokio::test]
async fn a_new_url_gets_all_waiting_deliveries_at_once_without_the_record_of_the_old_url() {
    let world = World::empty().await;
    world.receivers.always_silent();
    world.notify(&numbers(0..5)).await;
    world.visit().await;
    let dead = world.store().endpoint_pace(slot()).await.unwrap();
    assert!(dead.open_until.is_some() && dead.failing.is_some(), "{dead:?}");
    world.receivers.always_answer(200);
    let url = EndpointUrl::parse("https://new.example.com/", &TrustedReceivers::none()).unwrap();
    world.change_endpoint(|endpoint| endpoint.url = url).await;
    world.ask(JobKind::Enable).await;
    world.visit().await;
    let (old, new) = (&world.receivers.posts()[..5], &world.receivers.posts()[5..]);
    assert!(new.len() == 5 && new.iter().all(|post| post.url == "https://new.example.com/"), "{new:?}");
    let events = |posts: &[Posted]| posts.iter().map(Posted::event).collect::<BTreeSet<_>>();
    assert_eq!(events(old), events(new));
    let pace = world.store().endpoint_pace(slot()).await.unwrap();
    assert_eq!((pace.silences, pace.openings, pace.open_until, pace.failing), (0, 0, None, None));
}
