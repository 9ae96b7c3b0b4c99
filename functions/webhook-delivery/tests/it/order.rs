//! The events of one subject are posted in their order, and no other event waits for a slow answer.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use domain::webhook::job::JobState;
use domain::{DeliveryState, Event, EventId, JobKind};
use store::NewEvent;
use uuid::Uuid;

use crate::reactions::Reaction;
use crate::world::{BODY, RESCUE, World, event, least, new_event, secs, slot};

impl World {
    /// Records these events, each with its subject, and adds them to the lane.
    async fn notify_about(&self, events: &[(u64, u128)]) {
        let new = events.iter().map(|(number, about)| NewEvent {
            about: Some(Uuid::from_u128(*about)),
            ..new_event(&event(*number), BODY)
        });
        for recorded in self.store().record_events(&new.collect::<Vec<_>>()).await {
            recorded.unwrap();
        }
        let events: Vec<Event> = events.iter().map(|(number, _)| event(*number)).collect();
        self.store().notify_webhook_lane(slot(), least(&events), RESCUE).await.unwrap();
    }

    /// Waits until this many posts have begun.
    async fn begun(&self, posts: usize) {
        while self.receivers.count() < posts {
            tokio::task::yield_now().await;
        }
    }

    /// The numbers of the posted events, in the order in which their posts began.
    fn posted(&self) -> Vec<u64> {
        let number = |id: EventId| (0..100).find(|number| event(*number).id == id).unwrap();
        self.receivers.posts().iter().map(|posted| number(posted.event())).collect()
    }

    fn queries(&self) -> usize {
        self.db.calls().iter().filter(|call| call.operation == "Query").count()
    }
}

#[tokio::test]
async fn an_event_waits_for_the_answer_to_the_one_before_it_of_its_subject_and_for_no_other() {
    for status in [200, 500] {
        let world = World::empty().await;
        world.notify_about(&[(1, 7), (2, 7), (3, 8), (4, 7), (5, 9)]).await;
        let failed = world.visit_meanwhile(status, world.begun(3)).await;
        assert_eq!(failed, Vec::<String>::new());
        // A failed event holds the others back no longer than its post lasts.
        assert_eq!(world.posted(), [1, 3, 5, 2, 4], "{status}");
    }
}

#[tokio::test]
async fn a_slow_answer_delays_no_event_that_is_added_meanwhile_and_costs_one_read_a_second() {
    let world = World::start().await;
    world.db.forget_calls();
    let begun = Instant::now();
    let added = async {
        world.notify(&[2, 3]).await;
        world.begun(3).await;
    };
    assert_eq!(world.visit_meanwhile(200, added).await, Vec::<String>::new());
    assert_eq!(world.posted(), [1, 2, 3]);
    // One read begins the visit, and one ends it, because work was added.
    let most = 2 + usize::try_from(begun.elapsed().as_secs()).unwrap();
    assert!((3..=most.max(3)).contains(&world.queries()), "{} reads, at most {most}", world.queries());
    assert_eq!(world.due().await, None);
}

#[tokio::test]
async fn a_slow_answer_to_a_post_of_a_job_delays_no_event_that_is_added_meanwhile() {
    let world = World::empty().await;
    world.notify_about(&[(1, 7)]).await;
    world.visit().await;
    world.pass(secs(1));
    let id = world.ask(JobKind::Replay { since: event(1).at, until: event(2).at }).await;
    let added = async {
        // The third event has the subject of the one that is replayed.
        world.notify_about(&[(2, 8), (3, 7), (4, 9)]).await;
        world.begun(4).await;
        // All are recorded while the post of the job is in flight.
        while world.states([2, 4]).await != [(DeliveryState::Delivered, 1); 2] {
            tokio::task::yield_now().await;
        }
        assert_eq!(world.job(id).await.job.state, JobState::Active);
    };
    assert_eq!(world.visit_meanwhile(200, added).await, Vec::<String>::new());
    assert_eq!(world.posted(), [1, 1, 2, 4, 3]);
    let job = world.job(id).await.job;
    assert_eq!((job.state, job.attempted, job.delivered, job.passed), (JobState::Done, 1, 1, 0));
    assert_eq!(world.due().await, None);
}

#[tokio::test]
async fn a_slow_answer_holds_no_job_and_the_job_repeats_no_post_that_is_in_flight() {
    let world = World::empty().await;
    world.receivers.answer(500);
    world.notify(&[1]).await;
    world.visit().await;
    world.notify(&[2, 3]).await;
    world.visit().await;
    // The first event waits for its retry, which is due.
    world.pass(secs(60));
    let id = world.ask(JobKind::Replay { since: event(1).at, until: event(4).at }).await;
    let replayed = async {
        while world.job(id).await.job.state != JobState::Done {
            tokio::task::yield_now().await;
        }
        assert_eq!(world.posted()[3..], [1, 2, 3]);
    };
    assert_eq!(world.visit_meanwhile(200, replayed).await, Vec::<String>::new());
    let job = world.job(id).await.job;
    assert_eq!((job.attempted, job.delivered, job.passed), (2, 2, 1));
    assert_eq!(world.states(1..4).await, [(DeliveryState::Delivered, 2); 3]);
    world.to_rest().await;
    assert_eq!(world.receivers.count(), 6);
}

#[tokio::test]
async fn a_job_without_posts_is_left_once_a_second_for_new_events() {
    let world = World::empty().await;
    world.notify(&(0..100).collect::<Vec<_>>()).await;
    world.visit().await;
    world.ask(JobKind::Recover { since: event(0).at }).await;
    let added = async {
        // The first page of the job needs no post. Its progress is saved by the visit's second update.
        let held = world.db.hold_nth("UpdateItem", 2).await;
        let begun = Instant::now();
        world.notify(&[200]).await;
        while begun.elapsed() < secs(1) {
            tokio::task::yield_now().await;
        }
        drop(held);
        world.begun(101).await;
        let job = &world.db.rows_from(store::Table::Webhooks, "J#")[0];
        assert_eq!(job["state"]["S"], JobState::Active.as_str());
    };
    tokio::join!(world.visit(), added);
    assert_eq!(world.due().await, None);
}

#[tokio::test]
async fn a_retry_that_becomes_due_during_a_slow_post_is_posted_at_once() {
    let world = World::empty().await;
    let has_failed = AtomicBool::new(false);
    world.receivers.always(move |_| match has_failed.swap(true, Ordering::SeqCst) {
        false => Reaction::Answers(500, ""),
        true => Reaction::Answers(200, ""),
    });
    world.notify(&[1, 2]).await;
    world.db.forget_calls();
    let due = async {
        // The pointer and the home row of the failed delivery.
        world.calls("BatchWriteItem", 2).await;
        world.pass(secs(7));
        world.begun(3).await;
    };
    assert_eq!(world.visit_meanwhile(200, due).await, Vec::<String>::new());
    assert_eq!(world.posted(), [1, 2, 2]);
}

#[tokio::test]
async fn a_visit_that_reads_again_leaves_an_event_that_is_still_being_recorded() {
    let world = World::start().await;
    let added = async {
        // The relay has written two deliveries and only the second event. It writes the first one later, and then notifies
        // the lane.
        world.record_without_event(&event(2)).await;
        world.record(&[event(3)], BODY).await;
        world.db.forget_calls();
        world.calls("Query", 2).await;
        assert_eq!(world.posted(), [1]);
        world.record(&[event(2)], BODY).await;
        world.store().notify_webhook_lane(slot(), least(&[event(2)]), RESCUE).await.unwrap();
        world.begun(3).await;
    };
    assert_eq!(world.visit_meanwhile(200, added).await, Vec::<String>::new());
    assert_eq!(world.posted(), [1, 2, 3]);
}
