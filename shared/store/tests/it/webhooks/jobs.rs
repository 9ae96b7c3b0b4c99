//! Jobs are requested once, executed page by page, and cancelled.

use std::time::Duration;

use domain::webhook::job::Job;
use domain::{HomeKey, JobId, JobKind, JobState, Pointer, Rest, Track};
use harness::Fault;
use store::{LaneJob, NewEvent, NotifyResult, Released, WebhookLane};
use uuid::Uuid;

use crate::support::hooks::{Hooks, MINUTE, MOMENT, RESCUE, event, place, place_of, slot};

fn job(hooks: &Hooks, n: u128, kind: JobKind) -> Job {
    Job::new(JobId::from_uuid(Uuid::from_u128(n)), slot(1), kind, hooks.now())
}

async fn ask(hooks: &Hooks, job: &Job) -> (bool, NotifyResult) {
    hooks.store().request_job(job, RESCUE, None).await.unwrap()
}

async fn asked(hooks: &Hooks, job: &Job) -> LaneJob {
    assert!(ask(hooks, job).await.0);
    hooks.store().job(slot(1), job.id).await.unwrap().unwrap()
}

/// A page of a job, as a visitor of a new lane reads it.
async fn page(hooks: &Hooks, of: &LaneJob, limit: usize) -> store::JobPage {
    hooks.store().job_page(of, &WebhookLane::default(), limit).await.unwrap()
}

/// The places of all deliveries of a job, page by page.
async fn places(hooks: &Hooks, mut of: LaneJob, limit: usize) -> Vec<HomeKey> {
    let mut places = vec![];
    loop {
        let page = page(hooks, &of, limit).await;
        assert!(page.deliveries.len() + page.pointers.len() + page.places.len() <= limit);
        places.extend(page.deliveries.iter().map(place_of));
        places.extend(page.pointers.iter().map(|pointer| pointer.home));
        places.extend(&page.places);
        let progress = Job { passed: places.len() as u64, ..of.job.clone() };
        of = hooks.store().advance_job(&of, &page, &progress).await.unwrap().unwrap();
        let stored = hooks.store().job(slot(1), of.job.id).await.unwrap().unwrap();
        assert_eq!(stored, of, "the next visitor continues from there");
        if page.is_last {
            assert_eq!((of.job.state, of.job.passed), (JobState::Done, places.len() as u64));
            return places;
        }
    }
}

#[tokio::test]
async fn a_job_is_stored_before_its_lane_is_told() {
    let hooks = Hooks::start().await;
    let enable = job(&hooks, 1, JobKind::Enable);
    hooks.db.forget_calls();
    let (is_new, told) = ask(&hooks, &enable).await;
    assert_eq!((is_new, told.wake), (true, Some(Track::Fast)));
    let calls: Vec<String> = hooks.db.calls().into_iter().map(|call| call.operation).collect();
    assert_eq!(calls, ["PutItem", "UpdateItem"]);
    assert_eq!(hooks.store().jobs(slot(1)).await.unwrap()[0].job, enable);
    let mut leased = hooks.leased().await;
    assert!(leased.webhook().unwrap().has_jobs);
    // The visitor reports the jobs that it executed, unless others were requested since.
    ask(&hooks, &job(&hooks, 2, JobKind::Enable)).await;
    leased.webhook().unwrap().has_jobs = false;
    let Released::HasNewWork(mut moved) = hooks.release(&leased, Rest::Done).await else {
        panic!("not moved")
    };
    assert!(moved.webhook().unwrap().has_jobs);
    moved.webhook().unwrap().has_jobs = false;
    assert_eq!(hooks.release(&moved, Rest::Done).await, Released::Done);
    assert!(!hooks.leased().await.webhook().unwrap().has_jobs);
}

#[tokio::test]
async fn a_job_moves_a_late_due_time_of_its_lane_forward() {
    let hooks = Hooks::start().await;
    hooks.relay(&[event(1, 0)]).await;
    let later = hooks.now().plus(30 * MINUTE);
    assert_eq!(hooks.release(&hooks.leased().await, Rest::Closed(later)).await, Released::Done);
    assert_eq!(hooks.number("planned"), Some(later.as_millis()));
    ask(&hooks, &job(&hooks, 1, JobKind::Enable)).await;
    assert_eq!(hooks.number("dueAt"), Some(hooks.now().plus(RESCUE).as_millis()));
    assert_eq!(hooks.number("planned"), None);
}

#[tokio::test]
async fn a_job_requested_twice_is_one_job_and_the_lane_is_told_again() {
    let hooks = Hooks::start().await;
    let new = event(1, 0);
    for (n, kind) in [
        (1, JobKind::Enable),
        (2, JobKind::Replay { since: hooks.now(), until: hooks.now().plus(MINUTE) }),
        (3, JobKind::Retry { event: new.event.id, at: new.event.at }),
        (4, JobKind::Recover { since: hooks.now() }),
    ] {
        let first = job(&hooks, n, kind);
        assert!(ask(&hooks, &first).await.0);
        let mark = hooks.number("mark");
        hooks.db.clock().advance(MINUTE);
        let again = job(&hooks, n, kind);
        let (is_new, told) = ask(&hooks, &again).await;
        assert_eq!((is_new, told.wake), (false, Some(Track::Fast)), "{kind:?}");
        assert!(hooks.number("mark") > mark, "the first request may have died before the lane was notified");
        let stored = hooks.store().job(slot(1), first.id).await.unwrap().unwrap();
        assert_eq!(stored.job, first);

        // After a job has ended, a job that is repeatable starts again.
        let ended = page(&hooks, &stored, 10).await;
        hooks.store().advance_job(&stored, &ended, &first).await.unwrap().unwrap();
        let is_repeatable = matches!(kind, JobKind::Retry { .. } | JobKind::Recover { .. });
        assert_eq!(ask(&hooks, &again).await.0, is_repeatable, "{kind:?}");
        assert!(!ask(&hooks, &again).await.0, "the same command once more");
        let stored = hooks.store().job(slot(1), first.id).await.unwrap().unwrap();
        let state = if is_repeatable { JobState::Active } else { JobState::Done };
        assert_eq!(stored.job.state, state, "{kind:?}");
    }
    assert_eq!(hooks.store().jobs(slot(1)).await.unwrap().len(), 4);
    assert_eq!(hooks.store().jobs(slot(2)).await.unwrap(), []);
}

#[tokio::test]
async fn a_job_whose_answer_was_lost_is_reported_as_new() {
    for kind in [JobKind::Enable, JobKind::Recover { since: harness::TestClock::START }] {
        let hooks = Hooks::start().await;
        hooks.db.fail("PutItem", Fault::AnswerLost, 1);
        hooks.db.fail("UpdateItem", Fault::AnswerLost, 1);
        assert!(ask(&hooks, &job(&hooks, 1, kind)).await.0);
        assert_eq!(hooks.store().jobs(slot(1)).await.unwrap().len(), 1);
        assert!(hooks.leased().await.webhook().unwrap().has_jobs);
    }
}

#[tokio::test]
async fn an_expired_job_does_not_exist_and_may_be_requested_again() {
    let hooks = Hooks::start().await;
    ask(&hooks, &job(&hooks, 1, JobKind::Enable)).await;
    hooks.db.clock().advance(31 * 24 * 60 * MINUTE);
    assert_eq!(hooks.store().jobs(slot(1)).await.unwrap(), []);
    let again = job(&hooks, 1, JobKind::Enable);
    assert_eq!(hooks.store().job(slot(1), again.id).await.unwrap(), None);
    assert!(ask(&hooks, &again).await.0);
    assert_eq!(hooks.store().jobs(slot(1)).await.unwrap()[0].job, again);
}

#[tokio::test]
async fn the_deliveries_of_a_span_are_read_page_by_page_each_once() {
    for limit in [1, 4, 30, 31] {
        let hooks = Hooks::start().await;
        let mut events: Vec<NewEvent> = (0..30).map(|n| event(n, n as i64 / 3)).collect();
        hooks.relay(&events).await;
        events.sort_by_key(place);
        let moment = |millis: i64| domain::Timestamp::from_millis(hooks.now().as_millis() + millis);
        let replay = JobKind::Replay { since: moment(2), until: moment(7) };
        let wanted = |place: &HomeKey| place.at >= moment(2);
        let recover = asked(&hooks, &job(&hooks, 1, JobKind::Recover { since: moment(2) })).await;
        let expected: Vec<_> = events.iter().map(place).filter(wanted).collect();
        assert_eq!(places(&hooks, recover, limit).await, expected, "{limit}");
        let replay = asked(&hooks, &job(&hooks, 2, replay)).await;
        let expected: Vec<_> = expected.into_iter().filter(|place| place.at < moment(7)).collect();
        assert_eq!(places(&hooks, replay, limit).await, expected, "{limit}");
        let empty = JobKind::Replay { since: moment(7), until: moment(2) };
        let empty = asked(&hooks, &job(&hooks, 3, empty)).await;
        assert_eq!(places(&hooks, empty, limit).await, []);
    }
}

#[tokio::test]
async fn waiting_deliveries_are_read_after_the_processed_ones() {
    let hooks = Hooks::start().await;
    let events: Vec<NewEvent> = (0..12).map(|n| event(n, n as i64)).collect();
    hooks.relay(&events).await;
    let mut lane = WebhookLane::default();
    let mut records = vec![];
    for delivery in hooks.all().await {
        records.push(hooks.failed(&mut lane, &delivery, hooks.now().plus(MINUTE)));
    }
    hooks.put(&records).await.unwrap();
    let pointers: Vec<Pointer> = records.iter().filter_map(|record| record.pointer).collect();
    lane.watermarks.waited = Some(pointers[3]);
    let enable = asked(&hooks, &job(&hooks, 1, JobKind::Enable)).await;
    let first = hooks.store().job_page(&enable, &lane, 5).await.unwrap();
    assert_eq!((first.pointers.as_slice(), first.is_last), (&pointers[4..9], false));
    let next = hooks.store().advance_job(&enable, &first, &enable.job).await.unwrap().unwrap();
    let rest = hooks.store().job_page(&next, &lane, 5).await.unwrap();
    assert_eq!((rest.pointers.as_slice(), rest.is_last), (&pointers[9..], true));
    // A page whose progress was not recorded is read again.
    assert_eq!(hooks.store().job_page(&enable, &lane, 5).await.unwrap(), first);
}

#[tokio::test]
async fn a_retry_is_one_delivery() {
    let hooks = Hooks::start().await;
    let new = event(1, 0);
    hooks.relay(&[new.clone(), event(2, 0)]).await;
    let retry = JobKind::Retry { event: new.event.id, at: new.event.at };
    let retry = asked(&hooks, &job(&hooks, 1, retry)).await;
    assert_eq!(places(&hooks, retry, 5).await, [place(&new)]);
}

#[tokio::test]
async fn progress_whose_answer_was_lost_is_recorded_once() {
    let hooks = Hooks::start().await;
    hooks.relay(&(0..4).map(|n| event(n, n as i64)).collect::<Vec<_>>()).await;
    let mut of = asked(&hooks, &job(&hooks, 1, JobKind::Recover { since: hooks.now() })).await;
    for is_last in [false, true] {
        let page = page(&hooks, &of, if is_last { 10 } else { 2 }).await;
        assert_eq!(page.is_last, is_last);
        hooks.db.fail("UpdateItem", Fault::AnswerLost, 1);
        hooks.db.clock().advance(MOMENT);
        let progress = Job { attempted: of.job.attempted + 2, ..of.job.clone() };
        of = hooks.store().advance_job(&of, &page, &progress).await.unwrap().expect("it is active");
        assert_eq!(hooks.store().job(slot(1), of.job.id).await.unwrap().unwrap(), of);
    }
    assert_eq!((of.job.state, of.job.attempted, of.job.updated_at), (JobState::Done, 4, hooks.now()));
}

#[tokio::test]
async fn a_cancelled_job_makes_no_progress() {
    // The clock may not advance between the two.
    for moment in [MOMENT, Duration::ZERO] {
        for limit in [1, 10] {
            let hooks = Hooks::start().await;
            hooks.relay(&[event(1, 0), event(2, 1)]).await;
            let of = asked(&hooks, &job(&hooks, 1, JobKind::Recover { since: hooks.now() })).await;
            let page = page(&hooks, &of, limit).await;
            assert!(hooks.store().cancel_job(&[&of], harness::operator()).await.unwrap());
            hooks.db.clock().advance(moment);
            assert_eq!(hooks.store().advance_job(&of, &page, &of.job).await.unwrap(), None);
            let stored = hooks.store().job(slot(1), of.job.id).await.unwrap().unwrap();
            assert_eq!(stored.job.state, JobState::Cancelled, "{moment:?} {limit}");
            hooks.db.clock().advance(MOMENT);
            assert!(!hooks.store().cancel_job(&[&of], harness::operator()).await.unwrap(), "it was before");
        }
    }
}

#[tokio::test]
async fn a_cancellation_whose_answer_was_lost_is_recognised() {
    let hooks = Hooks::start().await;
    let of = asked(&hooks, &job(&hooks, 1, JobKind::Enable)).await;
    hooks.db.fail("UpdateItem", Fault::AnswerLost, 1);
    assert!(hooks.store().cancel_job(&[&of], harness::operator()).await.unwrap());
}

#[tokio::test]
async fn a_visitor_of_a_job_that_was_requested_again_does_not_change_the_new_one() {
    let hooks = Hooks::start().await;
    hooks.relay(&[event(1, 0)]).await;
    let kind = JobKind::Recover { since: hooks.now() };
    let old = asked(&hooks, &job(&hooks, 1, kind)).await;
    assert!(hooks.store().cancel_job(&[&old], harness::operator()).await.unwrap());
    hooks.db.clock().advance(MINUTE);
    let new = asked(&hooks, &job(&hooks, 1, kind)).await;
    let page = page(&hooks, &old, 10).await;
    assert_eq!(hooks.store().advance_job(&old, &page, &old.job).await.unwrap(), None);
    assert!(!hooks.store().cancel_job(&[&old], harness::operator()).await.unwrap());
    assert_eq!(hooks.store().job(slot(1), new.job.id).await.unwrap(), Some(new));
}

#[tokio::test]
async fn jobs_are_listed_oldest_first() {
    let hooks = Hooks::start().await;
    let mut expected = vec![];
    for n in [9, 3, 7, 1] {
        let asked = job(&hooks, n, JobKind::Enable);
        ask(&hooks, &asked).await;
        expected.push(asked);
        hooks.db.clock().advance(MOMENT);
    }
    let jobs: Vec<Job> = hooks.store().jobs(slot(1)).await.unwrap().into_iter().map(|of| of.job).collect();
    assert_eq!(jobs, expected);
}
