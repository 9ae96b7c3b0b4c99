//! The loop, with a scripted visitor and the real store.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::collections::{HashMap, VecDeque};
use std::sync::Mutex;
use std::time::Duration;

use aws_lambda_events::sqs::{SqsEvent, SqsMessage};
use domain::{
    AttemptError, AttemptOutcome, ConversationId, EndpointId, EventId, HomeKey, LaneId, LaneKind, Rest,
    RetrySchedule, Slot, Timestamp, WorkspaceId,
};
use harness::{Fault, TestDb, TestQueue, context};
use queue::{BudgetError, Queues, body};
use store::{Lease, Leased, Released, Store, StoreError, Table};
use tokio::sync::Barrier;
use uuid::Uuid;
use worker::{Rules, VisitEnd, VisitLoop, Visitor};

const LEASE: Duration = Duration::from_secs(90);
const RESCUE: Duration = Duration::from_secs(120);
const MOMENT: Duration = Duration::from_millis(1);
const RULES: Rules = Rules { lease: LEASE, longest: Duration::from_secs(30), rescue: RESCUE };

/// What a visit does.
enum Step {
    Leaves(VisitEnd),
    /// New work is added to the lane during the visit.
    IsTold(Rest),
    /// It finds that the endpoint does not answer, and ends.
    FindsSilence(Rest),
    Fails,
    /// It fails, and every later write of the lane fails as well.
    FailsForGood,
    Panics,
    /// It waits until three visits run at the same time.
    Meets,
}

/// A visitor that executes the next step of each lane, and returns [`Rest::Done`] if no step is left.
struct Fake<'a> {
    db: &'a TestDb,
    steps: Mutex<HashMap<LaneId, VecDeque<Step>>>,
    visits: Mutex<Vec<LaneId>>,
    meeting: Barrier,
}

impl Visitor for Fake<'_> {
    const KIND: LaneKind = LaneKind::Webhook;

    async fn visit(&self, lane: &mut Leased) -> Result<VisitEnd, StoreError> {
        self.visits.lock().unwrap().push(lane.lane);
        let step = self.steps.lock().unwrap().get_mut(&lane.lane).and_then(VecDeque::pop_front);
        match step {
            None => Ok(VisitEnd::Rest(Rest::Done)),
            Some(Step::Leaves(left)) => Ok(left),
            Some(Step::IsTold(rest)) => {
                notify(self.db.store(), lane.lane).await;
                Ok(VisitEnd::Rest(rest))
            }
            Some(Step::FindsSilence(rest)) => {
                let (now, schedule) = (self.db.store().now(), RetrySchedule::default());
                let pace = &mut lane.webhook().unwrap().pace;
                for _ in 0..5 {
                    pace.record(
                        AttemptOutcome::Failed(AttemptError::Timeout),
                        now,
                        LEASE,
                        LEASE,
                        &schedule,
                        now,
                    );
                }
                Ok(VisitEnd::Rest(rest))
            }
            Some(Step::Fails) => Err(StoreError::Busy("the table is busy".into())),
            Some(Step::FailsForGood) => {
                self.db.fail("UpdateItem", Fault::Unreachable, 3);
                Err(StoreError::Busy("the table is busy".into()))
            }
            Some(Step::Panics) => panic!("as asked"),
            Some(Step::Meets) => {
                self.meeting.wait().await;
                Ok(VisitEnd::Rest(Rest::Done))
            }
        }
    }
}

async fn notify(store: &Store, lane: LaneId) {
    let LaneId::Webhook(slot) = lane else { panic!("{lane}") };
    let least = HomeKey { at: store.now(), event: EventId::from_uuid(Uuid::from_u128(9)) };
    store.notify_webhook_lane(slot, least, RESCUE).await.unwrap();
}

struct Scene {
    db: TestDb,
    sqs: TestQueue,
}

/// The result of a batch.
struct Worked {
    /// The numbers of the messages that SQS delivers again.
    failed: Vec<usize>,
    visits: Vec<LaneId>,
}

impl Scene {
    /// Creates this many lanes, each with work.
    async fn start(lanes: u128) -> Self {
        let scene = Self { db: TestDb::start().await, sqs: TestQueue::default() };
        for n in 1..=lanes {
            notify(scene.store(), lane(n)).await;
        }
        scene
    }

    fn store(&self) -> &Store {
        self.db.store()
    }

    fn now(&self) -> Timestamp {
        self.store().now()
    }

    async fn work(&self, bodies: &[String], steps: Vec<(u128, Vec<Step>)>) -> Worked {
        let steps = steps.into_iter().map(|(n, steps)| (lane(n), steps.into())).collect();
        let visitor = Fake {
            db: &self.db,
            steps: Mutex::new(steps),
            visits: Mutex::default(),
            meeting: Barrier::new(3),
        };
        let url = |name| format!("http://queue.invalid/1/{name}");
        let queues = Queues::default().with_webhooks(self.sqs.client(), url("fast"), url("slow"));
        let context = context(self.now(), Duration::from_secs(60));
        let shift = VisitLoop::begin(self.store(), &queues, RULES, &context).unwrap();
        let records = bodies.iter().enumerate().map(|(number, body)| {
            let mut message = SqsMessage::default();
            message.message_id = Some(number.to_string());
            message.body = Some(body.clone());
            message
        });
        let mut event = SqsEvent::default();
        event.records = records.collect();
        let response = shift.work(&visitor, event).await;
        let failed = response.batch_item_failures.iter();
        Worked {
            failed: failed.map(|failure| failure.item_identifier.parse().unwrap()).collect(),
            visits: visitor.visits.into_inner().unwrap(),
        }
    }

    /// Processes a message for one lane. Returns the number of visits, and whether SQS delivers the message
    /// again.
    async fn visit(&self, steps: Vec<Step>) -> (usize, bool) {
        let worked = self.work(&[body(&lane(1))], vec![(1, steps)]).await;
        (worked.visits.len(), !worked.failed.is_empty())
    }

    /// The queue and delay of each queued message.
    fn queued(&self) -> Vec<(String, u64)> {
        let queued = self.sqs.take();
        assert!(queued.iter().all(|it| it.body == body(&lane(1))));
        queued.into_iter().map(|it| (it.queue, it.delay)).collect()
    }

    /// When the sweeper queues the lane, and whether it is leased.
    fn due_and_leased(&self) -> (Option<Timestamp>, bool) {
        let LaneId::Webhook(Slot { workspace, endpoint, number }) = lane(1) else { panic!("another lane") };
        let pk = format!("{workspace}#E#{endpoint}#{number}");
        let rows = self.db.rows(Table::Webhooks);
        let row = rows.into_iter().find(|row| row["pk"]["S"] == pk && row["sk"]["S"] == "L").unwrap();
        let due = row["dueAt"]["N"].as_str().map(|at| Timestamp::from_millis(at.parse().unwrap()));
        (due, row.get("lease").is_some())
    }
}

fn lane(n: u128) -> LaneId {
    let endpoint = EndpointId::from_uuid(Uuid::from_u128(n));
    LaneId::Webhook(Slot { workspace: WorkspaceId::from_uuid(Uuid::from_u128(1)), endpoint, number: 0 })
}

fn leaves(rest: Rest) -> Step {
    Step::Leaves(VisitEnd::Rest(rest))
}

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn fast(delay: u64) -> Vec<(String, u64)> {
    vec![("fast".to_owned(), delay)]
}

#[tokio::test]
async fn lanes_of_a_batch_are_visited_at_the_same_time() {
    let scene = Scene::start(3).await;
    let steps = (1..=3).map(|n| (n, vec![Step::Meets])).collect();
    let worked = scene.work(&[1, 2, 3].map(|n| body(&lane(n))), steps).await;
    assert_eq!((worked.failed, worked.visits.len()), (vec![], 3));
    assert_eq!((scene.due_and_leased(), scene.queued()), ((None, false), vec![]));
}

#[tokio::test]
async fn a_lane_that_is_named_twice_is_visited_once() {
    let scene = Scene::start(2).await;
    let worked = scene.work(&[1, 1, 2, 1].map(|n| body(&lane(n))), vec![]).await;
    assert_eq!((worked.failed, worked.visits.len()), (vec![], 2));
}

#[tokio::test]
async fn a_failed_visit_postpones_its_lane_by_half_a_minute_and_its_message_is_delivered_again() {
    let scene = Scene::start(2).await;
    let worked = scene.work(&[1, 2].map(|n| body(&lane(n))), vec![(1, vec![Step::Fails])]).await;
    assert_eq!((worked.failed, worked.visits.len()), (vec![0], 2));
    let off = scene.now().plus(seconds(30)).plus(RESCUE);
    assert_eq!((scene.due_and_leased(), scene.queued()), ((Some(off), false), vec![]));
    assert_eq!(scene.visit(vec![]).await, (1, false));
}

#[tokio::test]
async fn a_lane_that_cannot_be_postponed_is_visited_after_its_lease_ends() {
    let scene = Scene::start(1).await;
    let due = scene.due_and_leased().0;
    assert_eq!(scene.visit(vec![Step::FailsForGood]).await, (1, true));
    assert_eq!(scene.due_and_leased(), (due, true), "its due time is unchanged");
    assert_eq!(scene.visit(vec![]).await, (0, false), "held");
    scene.db.clock().advance(LEASE + MOMENT);
    assert_eq!(scene.visit(vec![]).await, (1, false));
}

#[tokio::test]
async fn a_failed_visit_forgets_no_visit_that_died() {
    let scene = Scene::start(1).await;
    let lease = async || match scene.store().lease_lane(lane(1), LEASE).await.unwrap() {
        Lease::Taken(leased) => leased.deaths,
        other => panic!("{other:?}"),
    };
    assert_eq!(lease().await, 0, "this visit dies");
    scene.db.clock().advance(LEASE + MOMENT);
    assert_eq!(scene.visit(vec![Step::Fails]).await, (1, true));
    scene.db.clock().advance(LEASE + MOMENT);
    assert_eq!(lease().await, 2, "the next visit must know that one died, and counts the failed one too");
}

#[tokio::test]
async fn a_visit_that_panics_does_not_affect_the_others() {
    let scene = Scene::start(3).await;
    let steps = vec![(1, vec![Step::Panics])];
    let worked = scene.work(&[1, 2, 3].map(|n| body(&lane(n))), steps).await;
    assert_eq!((worked.failed, worked.visits.len()), (vec![0], 3));
    assert!(scene.due_and_leased().0.is_some() && scene.due_and_leased().1, "its lease ends by itself");
    scene.db.clock().advance(LEASE + MOMENT);
    assert_eq!(scene.visit(vec![]).await, (1, false));
}

#[tokio::test]
async fn a_visitor_waits_once_for_work_that_is_due_within_two_seconds() {
    for rest in [Rest::Waits, Rest::Closed] {
        let scene = Scene::start(1).await;
        let soon = rest(scene.now().plus(Duration::from_millis(150)));
        let begun = scene.now();
        assert_eq!(scene.visit(vec![leaves(soon), leaves(Rest::Done)]).await, (2, false));
        assert_eq!(scene.now().since(begun), Duration::from_millis(150));
        // The second visit is as early as the first.
        notify(scene.store(), lane(1)).await;
        let [soon, sooner, last] =
            [150, 300, 450].map(|after| rest(scene.now().plus(Duration::from_millis(after))));
        assert_eq!(scene.visit(vec![leaves(soon), leaves(sooner), leaves(last)]).await, (2, false));
        assert_eq!(scene.queued(), fast(1));
        let later = rest(scene.now().plus(Duration::from_millis(2_001)));
        assert_eq!(scene.visit(vec![leaves(later)]).await, (1, false));
        assert_eq!(scene.queued(), fast(3));
    }
}

#[tokio::test]
async fn work_added_during_a_visit_is_processed_before_the_lane_is_released() {
    let scene = Scene::start(1).await;
    let later = scene.now().plus(seconds(600));
    let steps = vec![Step::IsTold(Rest::Done), Step::IsTold(Rest::Waits(later)), leaves(Rest::Done)];
    assert_eq!(scene.visit(steps).await, (3, false));
    assert_eq!((scene.due_and_leased(), scene.queued()), ((None, false), vec![]));
    // A closed lane is released even if work was added.
    notify(scene.store(), lane(1)).await;
    assert_eq!(scene.visit(vec![Step::IsTold(Rest::Closed(later))]).await, (1, false));
    assert_eq!((scene.due_and_leased().0, scene.queued()), (Some(later.plus(RESCUE)), fast(600)));
}

#[tokio::test]
async fn a_lane_with_work_left_when_time_is_up_is_queued_at_once() {
    let scene = Scene::start(1).await;
    assert_eq!(scene.visit(vec![leaves(Rest::TimeUp)]).await, (1, false));
    assert_eq!((scene.due_and_leased(), scene.queued()), ((Some(scene.now().plus(RESCUE)), false), fast(0)));
}

#[tokio::test]
async fn a_lane_whose_endpoint_does_not_answer_goes_to_the_slow_queue() {
    let scene = Scene::start(1).await;
    let later = Rest::Closed(scene.now().plus(seconds(60)));
    assert_eq!(scene.visit(vec![Step::FindsSilence(later)]).await, (1, false));
    assert_eq!(scene.queued(), [("slow".to_owned(), 60)]);
}

#[tokio::test]
async fn a_lane_that_waits_longer_than_15_minutes_is_left_to_the_sweeper() {
    let scene = Scene::start(1).await;
    for (wait, message) in [(900, fast(900)), (901, vec![])] {
        let at = scene.now().plus(seconds(wait));
        assert_eq!(scene.visit(vec![leaves(Rest::Waits(at))]).await, (1, false));
        assert_eq!(scene.queued(), message);
        let due = if wait > 900 { at } else { at.plus(RESCUE) };
        assert_eq!(scene.due_and_leased(), (Some(due), false));
    }
}

#[tokio::test]
async fn a_lane_released_with_the_last_record_is_not_queued() {
    let scene = Scene::start(1).await;
    let due = scene.due_and_leased().0;
    assert_eq!(scene.visit(vec![Step::Leaves(VisitEnd::Released)]).await, (1, false));
    assert_eq!(scene.queued(), []);
    assert_eq!(scene.due_and_leased(), (due, true), "nothing is written here");
}

#[tokio::test]
async fn a_lost_lane_is_left_to_its_new_holder() {
    let scene = Scene::start(1).await;
    assert_eq!(scene.visit(vec![Step::Leaves(VisitEnd::Lost)]).await, (1, false));
    assert_eq!(scene.queued(), []);
    assert_eq!(scene.visit(vec![]).await, (0, false), "it is held");
    scene.db.clock().advance(LEASE + MOMENT);
    let Lease::Taken(other) = scene.store().lease_lane(lane(1), LEASE).await.unwrap() else { panic!("held") };
    assert_eq!(scene.visit(vec![]).await, (0, false));
    let released = scene.store().release_lane(&other, Rest::Done, RESCUE).await.unwrap();
    assert_eq!(released, Released::Done);
}

#[tokio::test]
async fn if_the_queue_accepts_no_message_the_sweeper_queues_the_next_visit() {
    let scene = Scene::start(1).await;
    scene.sqs.close(true);
    assert_eq!(scene.visit(vec![leaves(Rest::TimeUp)]).await, (1, false));
    assert_eq!(scene.due_and_leased(), (Some(scene.now().plus(RESCUE)), false));
}

#[tokio::test]
async fn messages_that_name_no_lane_of_the_queue_fail_and_the_others_are_processed() {
    let scene = Scene::start(1).await;
    let id = Uuid::from_u128(1);
    let conversation = LaneId::Conversation(WorkspaceId::from_uuid(id), ConversationId::from_uuid(id));
    let bodies = ["{}".to_owned(), body(&lane(1)), body(&conversation), String::new(), body(&lane(7))];
    let worked = scene.work(&bodies, vec![]).await;
    assert_eq!(
        (worked.failed, worked.visits),
        (vec![0, 2, 3], vec![lane(1)]),
        "the last is no lane: dropped"
    );
}

#[tokio::test]
async fn the_message_of_a_lane_that_cannot_be_leased_is_delivered_again() {
    let scene = Scene::start(1).await;
    scene.db.fail("UpdateItem", Fault::Throttled, 3);
    assert_eq!(scene.visit(vec![]).await, (0, true));
    assert_eq!(scene.visit(vec![]).await, (1, false));
}

#[tokio::test]
async fn the_time_budget_of_an_invocation_ends_at_its_deadline() {
    let (db, queues) = (TestDb::start().await, Queues::default());
    let now = db.store().now();
    let begin = |left| {
        VisitLoop::begin(db.store(), &queues, RULES, &context(now, seconds(left))).map(|shift| shift.budget)
    };
    assert!(begin(60).unwrap().may_begin(now));
    assert_eq!(begin(30).unwrap_err(), BudgetError::CallTooLong);
    assert_eq!(begin(91).unwrap_err(), BudgetError::LeaseTooShort);
}
