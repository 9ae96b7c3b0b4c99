//! What is due is queued, by one sweeper, over an embedded DynamoDB.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::collections::BTreeSet;
use std::time::Duration;

use aws_lambda_events::cloudwatch_events::CloudWatchEvent;
use aws_sdk_dynamodb::types::AttributeValue;
use domain::delivery::Next;
use domain::{
    Attempt, AttemptOutcome, ConversationId, DeliveryId, EndpointId, Event, EventType, LeadId, Timestamp,
    WorkspaceId,
};
use harness::{Fault, TestClock, TestDb, TestQueue, fixture};
use queue::{DeliveryQueue, DeliveryQueues, DeliveryTask, LeadQueue, LeadTask, SendQueue, SendTask};
use runtime::Metrics;
use runtime::metrics::Kept;
use store::{Lease, Leased, Table};
use sweeper::{Sweeper, Swept};
use uuid::Uuid;

const FIRST_DUE: Duration = Duration::from_secs(120);
const LEASE: Duration = Duration::from_secs(90);
const MOMENT: Duration = Duration::from_millis(1);

struct Scene {
    db: TestDb,
    /// Deliveries of both lanes.
    sqs: TestQueue,
    /// Conversations.
    sends: TestQueue,
    leads: TestQueue,
    sweeper: Sweeper,
    counted: Kept,
}

impl Scene {
    async fn start() -> Self {
        let (db, sqs, sends, leads) =
            (TestDb::start().await, TestQueue::default(), TestQueue::default(), TestQueue::default());
        let mut sweeper = sweeper(&db, &sqs, &sends, &leads);
        let (metrics, counted) = Metrics::kept(db.clock().clone());
        sweeper.metrics = metrics;
        Self { db, sqs, sends, leads, sweeper, counted }
    }

    /// Records an event with one delivery.
    async fn record(&self, version: u64) -> DeliveryId {
        let event = event(version);
        self.db.store().record_event(&event, None, b"{}".to_vec(), &[endpoint()], FIRST_DUE).await.unwrap();
        event.delivery_to(endpoint())
    }

    /// Records so many whose deliveries stand in one part of the index; a page holds 50.
    async fn record_in_one_part(&self, count: usize) -> Vec<DeliveryId> {
        let in_part =
            |version: &u64| event(*version).delivery_to(endpoint()).as_uuid().as_bytes()[0] % 16 == 5;
        let mut recorded = vec![];
        for version in (0..).filter(in_part).take(count) {
            recorded.push(self.record(version).await);
        }
        recorded
    }

    async fn lease(&self, delivery: DeliveryId) -> Leased {
        match self.db.store().lease_delivery(workspace(), delivery, LEASE).await.unwrap() {
            Lease::Taken(leased) => leased,
            other => panic!("{other:?}"),
        }
    }

    /// Puts the lane of a conversation that is due then.
    async fn lane(&self, n: u128, due_at: Timestamp) -> SendTask {
        let task = SendTask {
            workspace_id: workspace(),
            conversation_id: ConversationId::from_uuid(Uuid::from_u128(n)),
        };
        let text = |text: String| AttributeValue::S(text);
        let number = |number: i64| AttributeValue::N(number.to_string());
        let put = self.db.client().put_item().table_name(self.db.table(Table::Messages));
        let put = put
            .item("pk", text(format!("{}#C#{}", task.workspace_id, task.conversation_id)))
            .item("sk", text("L".to_owned()))
            .item("kind", text("lane".to_owned()))
            .item("sv", number(1))
            .item("seq", number(1))
            .item("dueShard", text("due#00".to_owned()))
            .item("dueAt", number(due_at.as_millis()));
        put.send().await.unwrap();
        task
    }

    /// Puts a lead's row that is due then; its name holds nothing that the sweeper reads.
    async fn lead(&self, n: u128, due_at: Timestamp) -> LeadTask {
        let task = LeadTask { workspace_id: workspace(), lead_id: LeadId::from_uuid(Uuid::from_u128(n)) };
        let put = self.db.client().put_item().table_name(self.db.table(Table::Leads));
        let put = put
            .item("pk", AttributeValue::S(format!("{}#L#{}", task.workspace_id, task.lead_id)))
            .item("sk", AttributeValue::S("L".to_owned()))
            .item("dueShard", AttributeValue::S("due#00".to_owned()))
            .item("dueAt", AttributeValue::N(due_at.as_millis().to_string()));
        put.send().await.unwrap();
        task
    }

    /// Sweeps; the leads that were queued.
    async fn leads_queued(&self) -> Vec<LeadTask> {
        self.sweeper.run().await.unwrap();
        let messages = self.leads.take();
        assert!(messages.iter().all(|it| it.group == workspace().to_string() && it.delay == 0));
        messages.iter().map(|it| LeadTask::read(&it.body).unwrap()).collect()
    }

    /// Sweeps; the conversations that were queued.
    async fn woken(&self) -> Vec<SendTask> {
        self.sweeper.run().await.unwrap();
        let messages = self.sends.take();
        assert!(messages.iter().all(|it| it.group == workspace().to_string() && it.delay == 0));
        messages.iter().map(|it| SendTask::read(&it.body).unwrap()).collect()
    }

    /// Sweeps; the deliveries that were queued.
    async fn sweep(&self) -> Vec<DeliveryId> {
        let swept = self.sweeper.run().await.unwrap();
        let queued = self.queued();
        assert_eq!((swept.queued, swept.not_queued), (queued.len(), 0));
        queued
    }

    fn queued(&self) -> Vec<DeliveryId> {
        let messages = self.sqs.take();
        assert!(messages.iter().all(|it| it.group == endpoint().to_string() && it.delay == 0));
        messages.iter().map(|it| DeliveryTask::read(&it.body).unwrap().delivery_id).collect()
    }
}

fn sweeper(db: &TestDb, sqs: &TestQueue, sends: &TestQueue, leads: &TestQueue) -> Sweeper {
    let queue = |url: &str| DeliveryQueue::new(sqs.client(), url);
    let deliveries = DeliveryQueues {
        fast: queue("http://queue.invalid/1/deliveries"),
        slow: queue("http://queue.invalid/1/deliveries-slow"),
    };
    let leads = LeadQueue::new(leads.client(), "http://queue.invalid/1/leads");
    let sends = SendQueue::new(sends.client(), "http://queue.invalid/1/sends");
    Sweeper {
        store: db.store_of("sweeper"),
        deliveries,
        sends,
        leads,
        budget: Sweeper::BUDGET,
        metrics: Metrics::kept(db.clock().clone()).0,
    }
}

fn event(version: u64) -> Event {
    let contact = Uuid::from_u128(2);
    Event::of_change(EventType::ContactUpdated, workspace(), &contact, version, TestClock::START)
}

fn workspace() -> WorkspaceId {
    WorkspaceId::from_uuid(Uuid::from_u128(1))
}

fn endpoint() -> EndpointId {
    EndpointId::from_uuid(Uuid::from_u128(3))
}

#[test]
fn the_schedules_event_is_one_this_function_takes() {
    let event: CloudWatchEvent = serde_json::from_value(fixture("sweeper.json")).unwrap();
    assert_eq!(event.source.as_deref(), Some("aws.events"));
}

#[tokio::test]
async fn a_delivery_whose_message_was_lost_is_queued_once_it_is_due_and_again_five_minutes_later() {
    let scene = Scene::start().await;
    let delivery = scene.record(1).await;
    scene.db.clock().advance(FIRST_DUE - MOMENT);
    assert_eq!(scene.sweep().await, []);
    scene.db.clock().advance(MOMENT);
    assert_eq!(scene.sweep().await, [delivery]);
    assert_eq!(scene.sweep().await, [], "a backlog is not queued anew each minute");
    scene.db.clock().advance(Sweeper::CLAIM);
    assert_eq!(scene.sweep().await, [delivery]);
}

#[tokio::test]
async fn an_attempt_whose_lease_ran_out_is_taken_up() {
    let scene = Scene::start().await;
    let delivery = scene.record(1).await;
    scene.lease(delivery).await;
    scene.db.clock().advance(LEASE - MOMENT);
    assert_eq!(scene.sweep().await, []);
    scene.db.clock().advance(2 * MOMENT);
    assert_eq!(scene.sweep().await, [delivery]);
    let lease = scene.db.store().lease_delivery(workspace(), delivery, LEASE).await.unwrap();
    assert!(matches!(lease, Lease::Abandoned(..)), "{lease:?}");
}

#[tokio::test]
async fn a_retry_of_later_is_queued_at_its_time_and_a_finished_delivery_never() {
    let scene = Scene::start().await;
    let (later, done) = (scene.record(1).await, scene.record(2).await);
    let at = scene.db.store().now().plus(Duration::from_secs(7_200));
    for (delivery, next) in [(later, Next::Again { at }), (done, Next::Delivered)] {
        let leased = scene.lease(delivery).await;
        let outcome = AttemptOutcome::Answered { status: 500, retry_after: None };
        let attempt =
            Attempt { number: 1, at: scene.db.store().now(), took: MOMENT, outcome, answer: vec![] };
        scene.db.store().finish_attempt(&leased, &attempt, next, at, LEASE).await.unwrap();
    }
    scene.db.clock().set(at);
    scene.db.clock().advance(Duration::ZERO);
    assert_eq!(scene.sweep().await, [later]);
    assert_eq!(scene.lease(later).await.delivery.failures, 1);
}

#[tokio::test]
async fn a_parked_delivery_is_queued_to_be_looked_at() {
    let scene = Scene::start().await;
    let delivery = scene.record(1).await;
    let leased = scene.lease(delivery).await;
    scene
        .db
        .store()
        .give_back(&leased, Next::Parked { endpoint_gone: false }, scene.db.store().now())
        .await
        .unwrap();
    scene.db.clock().advance(Duration::from_secs(600));
    assert_eq!(scene.sweep().await, [delivery]);
}

#[tokio::test]
async fn a_claim_whose_answer_was_lost_is_the_claimers_all_the_same() {
    let scene = Scene::start().await;
    let delivery = scene.record(1).await;
    scene.db.clock().advance(FIRST_DUE);
    scene.db.fail("UpdateItem", Fault::AnswerLost, 1);
    assert_eq!(scene.sweep().await, [delivery]);
}

#[tokio::test]
async fn a_row_that_cannot_be_read_keeps_none_behind_it_from_being_swept() {
    let scene = Scene::start().await;
    let mut recorded = scene.record_in_one_part(60).await;
    scene.db.clock().advance(FIRST_DUE);
    // The first of the first page, from a later release; and an index entry that is no delivery's at all.
    let (later, table) = (recorded.remove(0), scene.db.table(Table::Deliveries));
    let update = scene.db.client().update_item().table_name(&table).update_expression("SET sv = :later");
    let update = update.key("pk", s(&format!("{}#D#{later}", workspace()))).key("sk", s("D"));
    update.expression_attribute_values(":later", n(99)).send().await.unwrap();
    let put = scene.db.client().put_item().table_name(&table).item("pk", s("other")).item("sk", s("D"));
    put.item("dueShard", s("due#05")).item("dueAt", n(0)).send().await.unwrap();

    let queued: BTreeSet<DeliveryId> = scene.sweep().await.into_iter().collect();
    assert_eq!(queued, recorded.into_iter().collect());
}

fn s(text: &str) -> AttributeValue {
    AttributeValue::S(text.to_owned())
}

fn n(number: i64) -> AttributeValue {
    AttributeValue::N(number.to_string())
}

#[tokio::test]
async fn of_two_sweepers_each_delivery_has_one() {
    let scene = Scene::start().await;
    let mut recorded = BTreeSet::new();
    for version in 1..=40 {
        recorded.insert(scene.record(version).await);
    }
    scene.db.clock().advance(FIRST_DUE);
    let other = sweeper(&scene.db, &scene.sqs, &scene.sends, &scene.leads);
    let (one, two) = tokio::join!(scene.sweeper.run(), other.run());
    assert_eq!(one.unwrap().queued + two.unwrap().queued, 40);
    let queued = scene.queued();
    assert_eq!((queued.len(), queued.into_iter().collect::<BTreeSet<_>>()), (40, recorded));
}

#[tokio::test]
async fn more_than_a_page_is_swept_in_one_run() {
    let scene = Scene::start().await;
    scene.record_in_one_part(60).await;
    scene.db.clock().advance(FIRST_DUE);
    assert_eq!(scene.sweep().await.len(), 60);
}

#[tokio::test]
async fn a_run_out_of_time_leaves_the_rest_to_the_next() {
    let mut scene = Scene::start().await;
    scene.record(1).await;
    scene.db.clock().advance(FIRST_DUE);
    scene.sweeper.budget = Duration::ZERO;
    assert_eq!(scene.sweeper.run().await.unwrap(), Swept::default());
    scene.sweeper.budget = Sweeper::BUDGET;
    assert_eq!(scene.sweep().await.len(), 1);
}

#[tokio::test]
async fn what_the_queue_does_not_take_is_due_again() {
    let scene = Scene::start().await;
    let delivery = scene.record(1).await;
    scene.db.clock().advance(FIRST_DUE);
    scene.sqs.close(true);
    assert_eq!(scene.sweeper.run().await.unwrap(), Swept { rescued: 1, not_queued: 1, ..Swept::default() });
    scene.sqs.close(false);
    scene.db.clock().advance(Sweeper::CLAIM);
    assert_eq!(scene.sweep().await, [delivery]);
}

#[tokio::test]
async fn a_part_that_cannot_be_read_does_not_keep_the_others_from_being_swept() {
    let scene = Scene::start().await;
    for version in 1..=40 {
        scene.record(version).await;
    }
    scene.db.clock().advance(FIRST_DUE);
    // Of 144 tries of 48 parts, three each, 105 fail: some parts fail for good, which ones is chance.
    scene.db.fail("Query", Fault::Throttled, 105);
    let failed = scene.sweeper.run().await.unwrap_err().failed;
    assert!((2..48).contains(&failed), "{failed}");
    let first = scene.queued().len();
    let rest = scene.sweep().await.len();
    assert_eq!(first + rest, 40);
}

#[tokio::test]
async fn what_was_claimed_is_queued_although_other_claims_failed() {
    let scene = Scene::start().await;
    for version in 1..=20 {
        scene.record(version).await;
    }
    scene.db.clock().advance(FIRST_DUE);
    // Of 60 tries of 20 claims 45 fail: at least five claims succeed, at least some do not.
    scene.db.fail("UpdateItem", Fault::Throttled, 45);
    let _ = scene.sweeper.run().await;
    let first = scene.queued().len();
    let rest = scene.sweep().await.len();
    assert_eq!(first + rest, 20);
}

#[tokio::test]
async fn a_conversation_whose_wake_was_lost_is_queued_once_it_is_due_and_again_five_minutes_later() {
    let scene = Scene::start().await;
    let task = scene.lane(7, scene.db.store().now().plus(FIRST_DUE)).await;
    scene.db.clock().advance(FIRST_DUE - MOMENT);
    assert_eq!(scene.woken().await, []);
    scene.db.clock().advance(MOMENT);
    assert_eq!(scene.woken().await, [task]);
    assert_eq!(scene.woken().await, [], "a backlog is not queued anew each minute");
    scene.db.clock().advance(Sweeper::CLAIM);
    assert_eq!(scene.woken().await, [task]);
}

#[tokio::test]
async fn of_two_sweepers_one_wakes_a_conversation() {
    let scene = Scene::start().await;
    for n in 1..=60 {
        scene.lane(n, scene.db.store().now()).await;
    }
    let other = sweeper(&scene.db, &scene.sqs, &scene.sends, &scene.leads);
    let (one, two) = tokio::join!(scene.sweeper.run(), other.run());
    assert_eq!(one.unwrap().queued + two.unwrap().queued, 60);
    let woken: BTreeSet<String> = scene.sends.take().into_iter().map(|message| message.body).collect();
    assert_eq!(woken.len(), 60);
}

#[tokio::test]
async fn deliveries_that_cannot_be_queued_hold_no_conversation_up() {
    let scene = Scene::start().await;
    scene.record(1).await;
    scene.db.clock().advance(FIRST_DUE);
    let task = scene.lane(7, scene.db.store().now()).await;
    scene.sqs.close(true);
    assert_eq!(scene.sweeper.run().await.unwrap(), Swept { queued: 1, rescued: 2, not_queued: 1, failed: 0 });
    assert_eq!(SendTask::read(&scene.sends.take()[0].body).unwrap(), task);
}

#[tokio::test]
async fn a_lead_whose_task_was_lost_is_queued_once_it_is_due_and_again_five_minutes_later() {
    let scene = Scene::start().await;
    let task = scene.lead(7, scene.db.store().now().plus(FIRST_DUE)).await;
    scene.db.clock().advance(FIRST_DUE - MOMENT);
    assert_eq!(scene.leads_queued().await, []);
    scene.db.clock().advance(MOMENT);
    assert_eq!(scene.leads_queued().await, [task]);
    assert_eq!(scene.leads_queued().await, [], "a backlog is not queued anew each minute");
    scene.db.clock().advance(Sweeper::CLAIM);
    assert_eq!(scene.leads_queued().await, [task]);
}

#[tokio::test]
async fn of_two_sweepers_one_queues_a_lead() {
    let scene = Scene::start().await;
    for n in 1..=60 {
        scene.lead(n, scene.db.store().now()).await;
    }
    let other = sweeper(&scene.db, &scene.sqs, &scene.sends, &scene.leads);
    let (one, two) = tokio::join!(scene.sweeper.run(), other.run());
    assert_eq!(one.unwrap().queued + two.unwrap().queued, 60);
    let queued: BTreeSet<String> = scene.leads.take().into_iter().map(|message| message.body).collect();
    assert_eq!(queued.len(), 60);
}

#[tokio::test]
async fn what_was_lost_is_counted_apart_from_what_was_planned() {
    let scene = Scene::start().await;
    let (lost, died, planned) = (scene.record(1).await, scene.record(2).await, scene.record(3).await);
    scene.lease(died).await;
    let later = TestClock::START.plus(Duration::from_secs(1_800));
    let failed = scene.lease(planned).await;
    scene.db.store().give_back(&failed, Next::Again { at: later }, later).await.unwrap();
    scene.lane(1, TestClock::START.plus(FIRST_DUE)).await;
    scene.lead(1, TestClock::START.plus(FIRST_DUE)).await;

    scene.db.clock().set(later.plus(MOMENT));
    scene.sweeper.run().await.unwrap();
    let queued: BTreeSet<DeliveryId> = scene.queued().into_iter().collect();
    assert_eq!(queued, BTreeSet::from([lost, died, planned]));
    let told: Vec<_> = scene.counted.told().into_iter().collect();
    let expected = [
        ("DueSwept deliveries", vec![1]),
        ("Rescued conversations", vec![1]),
        ("Rescued deliveries", vec![2]),
        ("Rescued leads", vec![1]),
    ];
    assert_eq!(told, expected.map(|(name, counts)| (name.to_owned(), counts)));
}
