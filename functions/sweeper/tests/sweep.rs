//! Tests that exactly one sweeper queues each due lane, with an embedded DynamoDB.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::collections::BTreeSet;
use std::time::Duration;

use aws_lambda_events::cloudwatch_events::CloudWatchEvent;
use aws_sdk_dynamodb::types::AttributeValue;
use domain::{
    AttemptError, AttemptOutcome, ConversationId, EndpointId, EventId, HomeKey, LaneId, LaneKind, LeadId,
    Rest, RetrySchedule, Slot, Timestamp, WorkspaceId,
};
use harness::{Death, Fault, TestClock, TestDb, TestQueue, fixture};
use queue::Queues;
use runtime::Metrics;
use runtime::metrics::Kept;
use store::{Lease, Leased, Released, Store, Table};
use sweeper::{Sweeper, Swept};
use uuid::Uuid;

const RESCUE: Duration = Duration::from_secs(120);
const LEASE: Duration = Duration::from_secs(90);
const MOMENT: Duration = Duration::from_millis(1);

struct Scene {
    db: TestDb,
    sqs: TestQueue,
    sweeper: Sweeper,
    counted: Kept,
}

impl Scene {
    async fn start() -> Self {
        let (db, sqs) = (TestDb::start().await, TestQueue::default());
        let mut sweeper = sweeper(&db, &sqs);
        let (metrics, counted) = Metrics::kept(db.clock().clone());
        sweeper.metrics = metrics;
        Self { db, sqs, sweeper, counted }
    }

    fn store(&self) -> &Store {
        self.db.store()
    }

    fn now(&self) -> Timestamp {
        self.store().now()
    }

    /// A lane that is due in two minutes. The store adds work to a webhook lane; the row of another kind is written
    /// directly.
    async fn lane(&self, lane: LaneId) -> LaneId {
        let due_at = self.now().plus(RESCUE);
        match lane {
            LaneId::Webhook(slot) => {
                let least = HomeKey { at: self.now(), event: EventId::from_uuid(Uuid::from_u128(9)) };
                self.store().notify_webhook_lane(slot, least, RESCUE).await.unwrap();
            }
            LaneId::Conversation(_, id) => {
                let pk = format!("{}#C#{id}", workspace());
                self.put(Table::Messages, &pk, due_at, &[("seq", n(1)), ("mark", n(1))]).await;
            }
            LaneId::Person(_, id) => panic!("no test makes {id} this way"),
            LaneId::Lead(_, id) => {
                let pk = format!("{}#L#{id}", workspace());
                self.put(Table::Leads, &pk, due_at, &[("state", s("QUEUED"))]).await;
            }
        }
        lane
    }

    async fn put(&self, table: Table, pk: &str, due_at: Timestamp, more: &[(&str, AttributeValue)]) {
        let put = self.db.client().put_item().table_name(self.db.table(table));
        let put = put.item("pk", s(pk)).item("sk", s("L")).item("kind", s("lane")).item("sv", n(1));
        let put = put.item("dueShard", s("due#00")).item("dueAt", n(due_at.as_millis()));
        more.iter().fold(put, |put, (name, value)| put.item(*name, value.clone())).send().await.unwrap();
    }

    /// This number of endpoint lanes in one part of the index. A page has 50.
    async fn in_one_part(&self, count: u128) -> Vec<LaneId> {
        let mut lanes = vec![];
        for number in 0..count {
            lanes.push(self.lane(webhook(number + 1)).await);
        }
        lanes
    }

    async fn lease(&self, lane: LaneId) -> Leased {
        match self.store().lease_lane(lane, LEASE).await.unwrap() {
            Lease::Taken(leased) => *leased,
            other => panic!("{other:?}"),
        }
    }

    async fn release(&self, leased: &Leased, rest: Rest) {
        assert_eq!(self.store().release_lane(leased, rest, RESCUE).await.unwrap(), Released::Done);
    }

    /// Changes an attribute of a lane's row directly in the database.
    async fn change(&self, lane: LaneId, name: &str, value: AttributeValue) {
        let LaneId::Webhook(Slot { workspace, endpoint, number }) = lane else { panic!("{lane}") };
        let update = self.db.client().update_item().table_name(self.db.table(Table::Webhooks));
        let update = update.key("pk", s(&format!("{workspace}#E#{endpoint}#{number}"))).key("sk", s("L"));
        let update = update.update_expression("SET #name = :value").expression_attribute_names("#name", name);
        update.expression_attribute_values(":value", value).send().await.unwrap();
    }

    /// Runs the sweeper and returns the queued lanes.
    async fn sweep(&self) -> Vec<LaneId> {
        let swept = self.sweeper.run().await.unwrap();
        let queued = self.queued();
        assert_eq!((swept.queued, swept.not_queued), (queued.len(), 0));
        queued
    }

    /// The queued lanes, each from the queue of its kind.
    fn queued(&self) -> Vec<LaneId> {
        let messages = self.sqs.take();
        let lane = |it: &harness::Queued| {
            let kind = match it.queue.as_str() {
                "deliveries" | "deliveries-slow" => LaneKind::Webhook,
                "sends" => LaneKind::Conversation,
                "leads" => LaneKind::Lead,
                queue => {
                    assert_eq!(queue, "persons");
                    LaneKind::Person
                }
            };
            let lane = queue::read(kind, &it.body).unwrap();
            assert_eq!((it.group.clone(), it.delay), (lane.group().to_string(), 0));
            lane
        };
        messages.iter().map(lane).collect()
    }
}

fn sweeper(db: &TestDb, sqs: &TestQueue) -> Sweeper {
    let url = |name| format!("http://queue.invalid/1/{name}");
    Sweeper {
        store: db.store_of("sweeper"),
        queues: Queues::default()
            .with_webhooks(sqs.client(), url("deliveries"), url("deliveries-slow"))
            .with(LaneKind::Conversation, sqs.client(), url("sends"))
            .with(LaneKind::Lead, sqs.client(), url("leads"))
            .with(LaneKind::Person, sqs.client(), url("persons")),
        budget: Sweeper::BUDGET,
        metrics: Metrics::kept(db.clock().clone()).0,
    }
}

fn s(text: &str) -> AttributeValue {
    AttributeValue::S(text.to_owned())
}

fn n(number: i64) -> AttributeValue {
    AttributeValue::N(number.to_string())
}

fn workspace() -> WorkspaceId {
    WorkspaceId::from_uuid(Uuid::from_u128(1))
}

/// A lane of an endpoint whose ids all belong to one part of the index.
fn webhook(id: u128) -> LaneId {
    let endpoint = EndpointId::from_uuid(Uuid::from_u128(id));
    LaneId::Webhook(Slot { workspace: workspace(), endpoint, number: 0 })
}

fn conversation(id: u128) -> LaneId {
    LaneId::Conversation(workspace(), ConversationId::from_uuid(Uuid::from_u128(id)))
}

fn lead(id: u128) -> LaneId {
    LaneId::Lead(workspace(), LeadId::from_uuid(Uuid::from_u128(id)))
}

/// One lane of each kind.
fn one_each() -> [LaneId; 3] {
    [webhook(7), conversation(7), lead(7)]
}

fn set(lanes: &[LaneId]) -> BTreeSet<LaneId> {
    lanes.iter().copied().collect()
}

#[test]
fn the_function_accepts_the_schedules_event() {
    let event: CloudWatchEvent = serde_json::from_value(fixture("sweeper.json")).unwrap();
    assert_eq!(event.source.as_deref(), Some("aws.events"));
}

#[tokio::test]
async fn a_lane_with_a_lost_message_is_queued_when_due_and_again_after_five_minutes() {
    for lane in one_each() {
        let scene = Scene::start().await;
        scene.lane(lane).await;
        scene.db.clock().advance(RESCUE - MOMENT);
        assert_eq!(scene.sweep().await, []);
        scene.db.clock().advance(MOMENT);
        assert_eq!(scene.sweep().await, [lane]);
        assert_eq!(scene.sweep().await, [], "a backlog is not queued again each minute");
        scene.db.clock().advance(Sweeper::CLAIM - MOMENT);
        assert_eq!(scene.sweep().await, []);
        scene.db.clock().advance(MOMENT);
        assert_eq!(scene.sweep().await, [lane]);
    }
}

#[tokio::test]
async fn a_leased_lane_is_skipped_until_its_lease_ends() {
    let scene = Scene::start().await;
    let lanes = [webhook(7), conversation(7)];
    for lane in lanes {
        scene.lane(lane).await;
    }
    scene.db.clock().advance(RESCUE);
    for lane in lanes {
        scene.lease(lane).await;
    }
    scene.db.clock().advance(LEASE);
    assert_eq!(scene.sweep().await, []);
    scene.db.clock().advance(MOMENT);
    assert_eq!(set(&scene.sweep().await), set(&lanes));
    assert_eq!(scene.lease(webhook(7)).await.deaths, 1);
}

#[tokio::test]
async fn a_waiting_lane_is_queued_at_its_time_and_a_finished_one_never() {
    let scene = Scene::start().await;
    let (later, done) = (scene.lane(webhook(1)).await, scene.lane(webhook(2)).await);
    let at = scene.now().plus(Duration::from_secs(7_200));
    for (lane, rest) in [(later, Rest::Waits(at)), (done, Rest::Done)] {
        scene.release(&scene.lease(lane).await, rest).await;
    }
    scene.db.clock().set(at.minus(MOMENT));
    assert_eq!(scene.sweep().await, []);
    scene.db.clock().set(at);
    assert_eq!(scene.sweep().await, [later]);
}

#[tokio::test]
async fn a_lane_of_a_slow_endpoint_uses_the_slow_queue() {
    let scene = Scene::start().await;
    let slow = scene.lane(webhook(1)).await;
    scene.lane(webhook(2)).await;
    let mut leased = scene.lease(slow).await;
    let (now, schedule) = (scene.now(), RetrySchedule::default());
    let pace = &mut leased.webhook().unwrap().pace;
    for _ in 0..5 {
        pace.record(AttemptOutcome::Failed(AttemptError::Timeout), now, LEASE, LEASE, &schedule, now);
    }
    scene.release(&leased, Rest::Closed(now)).await;
    scene.db.clock().advance(RESCUE);
    scene.sweeper.run().await.unwrap();
    let queues: BTreeSet<(String, bool)> = scene
        .sqs
        .take()
        .into_iter()
        .map(|it| (it.queue, queue::read(LaneKind::Webhook, &it.body) == Ok(slow)))
        .collect();
    let expected = [("deliveries".to_owned(), false), ("deliveries-slow".to_owned(), true)];
    assert_eq!(queues, expected.into());
}

#[tokio::test]
async fn a_claim_with_a_lost_answer_still_counts() {
    let scene = Scene::start().await;
    let lane = scene.lane(webhook(1)).await;
    scene.db.clock().advance(RESCUE);
    scene.db.fail("UpdateItem", Fault::AnswerLost, 1);
    assert_eq!(scene.sweep().await, [lane]);
}

#[tokio::test]
async fn each_part_is_read_once_if_nothing_is_due() {
    let scene = Scene::start().await;
    for lane in one_each() {
        scene.lane(lane).await;
    }
    scene.db.forget_calls();
    assert_eq!(scene.sweep().await, []);
    let calls = scene.db.calls();
    assert_eq!(calls.len(), 16);
    assert!(calls.iter().all(|call| call.operation == "Query"));
}

#[tokio::test]
async fn due_lanes_cost_a_call_for_each_page_and_one_for_each_lane() {
    let scene = Scene::start().await;
    scene.in_one_part(120).await;
    scene.db.clock().advance(RESCUE);
    scene.db.forget_calls();
    assert_eq!(scene.sweep().await.len(), 120);
    let calls = scene.db.calls();
    let of = |operation: &str| calls.iter().filter(|call| call.operation == operation).count();
    assert_eq!((of("Query"), of("UpdateItem"), calls.len()), (18, 120, 138));
}

#[tokio::test]
async fn an_unreadable_row_does_not_stop_the_lanes_after_it() {
    let scene = Scene::start().await;
    // The first lane of the first page is from a later release, and some index entries belong to no lane.
    let later = scene.lane(webhook(1)).await;
    scene.change(later, "sv", n(99)).await;
    scene.db.clock().advance(MOMENT);
    let mut lanes = vec![];
    for number in 2..=60 {
        lanes.push(scene.lane(webhook(number)).await);
    }
    scene.lane(conversation(1)).await;
    scene.lane(lead(1)).await;
    for table in [Table::Webhooks, Table::Messages, Table::Leads] {
        scene.put(table, "other", Timestamp::from_millis(0), &[]).await;
    }
    scene.db.clock().advance(RESCUE);
    let mut expected = set(&lanes);
    expected.extend([conversation(1), lead(1)]);
    assert_eq!(set(&scene.sweep().await), expected);
    // The lane is not read again each minute.
    scene.db.forget_calls();
    assert_eq!(scene.sweep().await, []);
    assert_eq!(scene.db.calls().len(), 16);
}

#[tokio::test]
async fn pages_of_unclaimable_lanes_do_not_stop_the_lanes_after_them() {
    let scene = Scene::start().await;
    let worked_on = scene.in_one_part(60).await;
    scene.db.clock().advance(RESCUE);
    for lane in worked_on {
        scene.lease(lane).await;
    }
    for number in 0..60 {
        scene.put(Table::Messages, &format!("other{number}"), Timestamp::from_millis(0), &[]).await;
    }
    let behind = [scene.lane(webhook(1_000)).await, scene.lane(conversation(1_000)).await];
    for lane in behind {
        scene.release_at_once(lane).await;
    }
    assert_eq!(set(&scene.sweep().await), set(&behind));
}

impl Scene {
    /// Makes a lane due now.
    async fn release_at_once(&self, lane: LaneId) {
        let rest = Rest::Closed(self.now());
        let leased = self.lease(lane).await;
        let released = self.store().release_lane(&leased, rest, Duration::ZERO).await.unwrap();
        assert_eq!(released, Released::Done);
    }
}

#[tokio::test]
async fn each_lane_is_claimed_by_one_of_several_sweepers() {
    let scene = Scene::start().await;
    let mut lanes = BTreeSet::new();
    for number in 0..40_u128 {
        for lane in [webhook(number << 120), conversation(number), lead(number)] {
            lanes.insert(scene.lane(lane).await);
        }
    }
    scene.db.clock().advance(RESCUE);
    let (second, third) = (sweeper(&scene.db, &scene.sqs), sweeper(&scene.db, &scene.sqs));
    let (one, two, three) = tokio::join!(scene.sweeper.run(), second.run(), third.run());
    let queued: usize = [one, two, three].map(|swept| swept.unwrap().queued).iter().sum();
    assert_eq!(queued, 120);
    let queued = scene.queued();
    assert_eq!((queued.len(), set(&queued)), (120, lanes));
}

#[tokio::test]
async fn claimed_lanes_are_queued_in_chunks_before_a_crash() {
    for calls in [20, 40, 60] {
        for death in [Death::Before, Death::After] {
            let scene = Scene::start().await;
            let lanes = scene.in_one_part(48).await;
            scene.db.clock().advance(RESCUE);
            let mut dead = scene.db.die_after(calls, death);
            tokio::select! {
                swept = scene.sweeper.run() => panic!("the sweeper did not die: {swept:?}"),
                _ = &mut dead => {}
            }
            scene.db.revive();
            let mut queued = set(&scene.queued());
            queued.extend(scene.sweep().await);
            // At most a chunk and the lanes being claimed are not queued: their messages are lost until the claim
            // ends.
            assert!(queued.len() >= 48 - 10 - 4, "{calls}: {}", queued.len());
            scene.db.clock().advance(Sweeper::CLAIM);
            queued.extend(scene.sweep().await);
            assert_eq!(queued, set(&lanes));
        }
    }
}

#[tokio::test]
async fn a_run_out_of_time_leaves_the_rest_to_the_next_run() {
    let mut scene = Scene::start().await;
    scene.lane(webhook(1)).await;
    scene.db.clock().advance(RESCUE);
    scene.sweeper.budget = Duration::ZERO;
    assert_eq!(scene.sweeper.run().await.unwrap(), Swept::default());
    scene.sweeper.budget = Sweeper::BUDGET;
    assert_eq!(scene.sweep().await.len(), 1);
}

#[tokio::test]
async fn a_lane_that_the_queue_refused_is_due_again() {
    let scene = Scene::start().await;
    let lane = scene.lane(webhook(1)).await;
    scene.db.clock().advance(RESCUE);
    scene.sqs.close(true);
    assert_eq!(scene.sweeper.run().await.unwrap(), Swept { rescued: 1, not_queued: 1, ..Swept::default() });
    scene.sqs.close(false);
    scene.db.clock().advance(Sweeper::CLAIM);
    assert_eq!(scene.sweep().await, [lane]);
}

#[tokio::test]
async fn refused_messages_delay_no_others() {
    let scene = Scene::start().await;
    let lanes = scene.in_one_part(20).await;
    scene.db.clock().advance(RESCUE);
    scene.sqs.refuse_next(7);
    let swept = scene.sweeper.run().await.unwrap();
    assert_eq!((swept.queued, swept.not_queued, swept.rescued), (13, 7, 20));
    let mut queued = set(&scene.queued());
    assert_eq!(queued.len(), 13);
    scene.db.clock().advance(Sweeper::CLAIM);
    queued.extend(scene.sweep().await);
    assert_eq!(queued, set(&lanes));
}

#[tokio::test]
async fn an_unreadable_part_does_not_stop_the_others() {
    let scene = Scene::start().await;
    for number in 0..40_u128 {
        scene.lane(webhook(number << 120)).await;
    }
    scene.db.clock().advance(RESCUE);
    // Of 48 tries for 16 parts (three each), 40 fail. Some parts fail finally; chance decides which.
    scene.db.fail("Query", Fault::Throttled, 40);
    let failed = scene.sweeper.run().await.unwrap_err().failed;
    assert!((1..16).contains(&failed), "{failed}");
    let first = scene.queued().len();
    assert_eq!(first + scene.sweep().await.len(), 40);
}

#[tokio::test]
async fn claimed_lanes_are_queued_although_other_claims_failed() {
    let scene = Scene::start().await;
    scene.in_one_part(20).await;
    scene.db.clock().advance(RESCUE);
    // Of 60 tries for 20 claims, 45 fail: at least five claims succeed and at least some do not.
    scene.db.fail("UpdateItem", Fault::Throttled, 45);
    let failed = scene.sweeper.run().await.unwrap_err().failed;
    let first = scene.queued().len();
    assert_eq!(first + failed, 20);
    assert_eq!(scene.sweep().await.len(), failed);
}

#[tokio::test]
async fn rescued_lanes_are_counted_separately_from_planned_ones() {
    let scene = Scene::start().await;
    let [lost, died, planned, waited] = [1, 2, 3, 4].map(webhook);
    for lane in [lost, died, planned, waited, conversation(1), lead(1)] {
        scene.lane(lane).await;
    }
    scene.lease(died).await;
    let later = TestClock::START.plus(Duration::from_secs(1_800));
    scene.release(&scene.lease(planned).await, Rest::Waits(later)).await;
    // The queue message for this time was lost.
    let soon = Rest::Waits(later.minus(RESCUE));
    scene.db.clock().set(later.minus(RESCUE).minus(MOMENT));
    scene.release(&scene.lease(waited).await, soon).await;

    scene.db.clock().set(later);
    scene.sweeper.run().await.unwrap();
    assert_eq!(set(&scene.queued()), set(&[lost, died, planned, waited, conversation(1), lead(1)]));
    let told: Vec<_> = scene.counted.values().into_iter().collect();
    let expected = [
        ("DueSwept webhooks", vec![1]),
        ("Rescued conversations", vec![1]),
        ("Rescued leads", vec![1]),
        ("Rescued webhooks", vec![3]),
    ];
    assert_eq!(told, expected.map(|(name, counts)| (name.to_owned(), counts)));
}

#[tokio::test]
async fn a_planned_lane_without_a_visit_is_rescued_the_next_time() {
    let scene = Scene::start().await;
    let lane = scene.lane(webhook(1)).await;
    let later = scene.now().plus(Duration::from_secs(1_800));
    scene.release(&scene.lease(lane).await, Rest::Closed(later)).await;
    scene.db.clock().set(later);
    assert_eq!(scene.sweeper.run().await.unwrap(), Swept { queued: 1, ..Swept::default() });
    scene.db.clock().advance(Sweeper::CLAIM);
    assert_eq!(scene.sweeper.run().await.unwrap(), Swept { queued: 1, rescued: 1, ..Swept::default() });
}
