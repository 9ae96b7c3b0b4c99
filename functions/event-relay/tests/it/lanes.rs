//! The relay adds deliveries to their lanes, and queues each lane once.

use std::collections::BTreeSet;
use std::time::Duration;

use aws_lambda_events::dynamodb::Event as StreamEvent;
use domain::webhook::DisabledReason;
use domain::{Contact, ContactId, DeliveryState, Erasure, LaneId, LaneKind, Rest, Timestamp};
use harness::{Death, World, fixture};
use serde_json::{Value, json};
use store::{Lease, Released, Table};

use crate::{ENDPOINT, OTHER, RESCUE, Scene, record, record_of, stream_event, visit};

const UPDATED: &str = "event-relay-contact-updated.json";

impl Scene {
    /// Relays a batch, and dies at a call of the database after this number of calls.
    async fn killed(&self, batch: &Value, calls: usize, death: Death) {
        let event: StreamEvent = serde_json::from_value(batch.clone()).unwrap();
        let mut dead = self.world.db.die_after(calls, death);
        tokio::select! {
            _ = self.relay.handle(event) => panic!("the relay did not die at call {calls}"),
            _ = &mut dead => {}
        }
        self.world.db.revive();
    }

    /// How many database calls the relay makes for a batch, and how many before the first one of an operation.
    async fn calls_of(&self, batch: &Value, operation: &str) -> (usize, usize) {
        self.world.db.forget_calls();
        assert!(self.relayed(batch).await);
        let calls = self.world.db.calls();
        (calls.len(), calls.iter().position(|call| call.operation == operation).unwrap())
    }

    /// Visits the lane of an endpoint's first slot to its end, as if all its deliveries had been made.
    async fn visited(&self) {
        let lane = LaneId::Webhook(self.slot(ENDPOINT, 0));
        let store = self.world.db.store();
        let Lease::Taken(leased) = store.lease_lane(lane, Duration::from_secs(90)).await.unwrap() else {
            panic!("another process has the lease")
        };
        let released = store.release_lane(&leased, Rest::Done, RESCUE).await.unwrap();
        assert_eq!(released, Released::Done);
    }

    /// Changes the row of the lane of an endpoint's first slot.
    fn set_in_lane(&self, name: &str, at: Timestamp) {
        let pk = format!("{}#E#{ENDPOINT}#0", World::WORKSPACE);
        let at = json!({ "N": at.as_millis().to_string() });
        self.world.db.change_row(Table::Webhooks, &pk, "L", |row| row[name] = at);
    }

    /// Checks that each recorded event has all its deliveries, and that each lane has only deliveries with recorded
    /// events.
    fn assert_in_order(&self, at: &str) {
        let rows = self.world.db.rows(Table::Webhooks);
        let is_there =
            |pk: &str, sk: &str| rows.iter().any(|row| row["pk"]["S"] == pk && row["sk"]["S"] == sk);
        for event in self.world.db.rows_of(Table::Webhooks, "event") {
            let (id, moment) = (event["eventId"]["S"].as_str().unwrap(), event["at"]["N"].as_str().unwrap());
            for slot in event["slots"]["L"].as_array().unwrap() {
                let pk = format!("{}#E#{}", World::WORKSPACE, slot["S"].as_str().unwrap());
                assert!(
                    is_there(&pk, &format!("D#{moment:0>13}#{id}")),
                    "{at}: {event} without its delivery"
                );
            }
        }
        for lane in self.world.db.rows_of(Table::Webhooks, "lane") {
            for delivery in self
                .world
                .db
                .rows_of(Table::Webhooks, "delivery")
                .iter()
                .filter(|delivery| delivery["pk"] == lane["pk"])
            {
                let event = delivery["sk"]["S"].as_str().unwrap().rsplit('#').next().unwrap();
                assert!(
                    is_there(&format!("{}#V#{event}", World::WORKSPACE), "V"),
                    "{at}: the event of {delivery} is missing"
                );
            }
        }
    }
}

pub(crate) fn many(contacts: impl IntoIterator<Item = u16>) -> Value {
    stream_event(&contacts.into_iter().map(record_of).collect::<Vec<_>>())
}

#[tokio::test]
async fn a_batch_repeated_after_a_crash_at_any_call_is_recorded_once_and_every_lane_is_queued() {
    const CONTACTS: usize = 30;
    let start = async || {
        let scene = Scene::start().await;
        scene.endpoint_with_slots(ENDPOINT, &[], 4).await;
        scene.endpoint(OTHER, &[]).await;
        scene
    };
    let mut batch: Vec<Value> = (1..).take(CONTACTS).map(record_of).collect();
    batch.push(record("event-relay-conversation-released.json"));
    let (batch, events) = (stream_event(&batch), CONTACTS + 2);
    let (calls, _) = start().await.calls_of(&batch, "UpdateItem").await;
    assert!(calls >= 14, "{calls}");

    for (dies_at, death) in (0..calls).flat_map(|at| [Death::Before, Death::After].map(|death| (at, death))) {
        let (scene, at) = (start().await, format!("killed at {dies_at}, {death:?}"));
        scene.killed(&batch, dies_at, death).await;
        scene.assert_in_order(&at);
        scene.sqs.take();
        assert!(scene.relayed(&batch).await, "{at}");

        scene.assert_in_order(&at);
        assert_eq!(scene.world.db.rows_of(Table::Webhooks, "event").len(), events, "{at}");
        assert_eq!(scene.world.db.rows_of(Table::Webhooks, "delivery").len(), 2 * events, "{at}");
        assert_eq!(scene.deliveries(OTHER).await.len(), events, "{at}");
        let due_at = (scene.world.db.store().now().plus(RESCUE)).as_millis().to_string();
        let lanes = scene.world.db.rows_of(Table::Webhooks, "lane");
        assert!(lanes.len() == 5 && lanes.iter().all(|lane| lane["dueAt"]["N"] == due_at), "{at}: {lanes:?}");
        let mut queued: Vec<String> = scene.sqs.take().into_iter().map(|message| message.body).collect();
        queued.sort();
        let mut expected: Vec<String> = (0..4).map(|slot| visit(ENDPOINT, slot)).collect();
        expected.push(visit(OTHER, 0));
        assert_eq!(queued, expected, "{at}");
    }
}

#[tokio::test]
async fn deliveries_are_written_before_their_event_and_lanes_after_it() {
    let scene = Scene::with_endpoint().await;
    let (_, before) = scene.calls_of(&many([9]), "BatchWriteItem").await;
    scene.visited().await;
    let mark = scene.lane(scene.slot(ENDPOINT, 0))["mark"].clone();
    scene.sqs.take();
    for (dies_at, death) in [(before, Death::After), (before + 1, Death::Before)] {
        scene.killed(&many([1, 2]), dies_at, death).await;
        assert_eq!(
            (
                scene.world.db.rows_of(Table::Webhooks, "delivery").len(),
                scene.world.db.rows_of(Table::Webhooks, "event").len()
            ),
            (3, 1),
            "{death:?}"
        );
        assert_eq!(scene.lane(scene.slot(ENDPOINT, 0))["mark"], mark);
    }
    assert!(scene.sqs.take().is_empty());
    assert!(scene.relayed(&many([1, 2])).await);
    assert_eq!(
        (
            scene.world.db.rows_of(Table::Webhooks, "delivery").len(),
            scene.world.db.rows_of(Table::Webhooks, "event").len()
        ),
        (3, 3)
    );
    assert_eq!(scene.sqs.take().len(), 1);
}

#[tokio::test]
async fn a_repeat_after_a_crash_updates_the_lanes_of_the_recorded_deliveries() {
    let scene = Scene::start().await;
    let endpoint = scene.endpoint(ENDPOINT, &[]).await;
    let (_, before) = scene.calls_of(&many([9]), "UpdateItem").await;
    scene.visited().await;
    scene.sqs.take();
    scene.killed(&many([1, 2, 3]), before, Death::Before).await;
    assert_eq!(
        (scene.world.db.rows_of(Table::Webhooks, "event").len(), scene.due_at(ENDPOINT)),
        (4, None),
        "the event is recorded, and no lane is updated"
    );

    // The endpoint gets more slots, and another endpoint is created.
    scene.replace(&endpoint, |endpoint| endpoint.slots = 16).await;
    scene.endpoint(OTHER, &[]).await;
    let rows = scene.world.db.rows(Table::Webhooks).len();
    assert!(scene.relayed(&many([1, 2, 3])).await);
    assert_eq!(scene.due_at(ENDPOINT), Some(scene.world.db.store().now().plus(RESCUE)));
    let queued: Vec<String> = scene.sqs.take().into_iter().map(|message| message.body).collect();
    assert_eq!(queued, [visit(ENDPOINT, 0)]);
    assert_eq!(scene.world.db.rows(Table::Webhooks).len(), rows, "nothing else is written");
}

#[tokio::test]
async fn a_repeat_updates_the_lane_of_an_endpoint_that_was_disabled_in_between() {
    let scene = Scene::start().await;
    let endpoint = scene.endpoint(ENDPOINT, &[]).await;
    let (_, before) = scene.calls_of(&many([9]), "UpdateItem").await;
    scene.visited().await;
    scene.killed(&many([1]), before, Death::Before).await;
    let now = scene.world.db.store().now();
    scene.replace(&endpoint, |next| *next = endpoint.disabled(DisabledReason::Operator, now).unwrap()).await;
    assert!(scene.relayed(&many([1, 2])).await);
    assert_eq!(scene.due_at(ENDPOINT), Some(now.plus(RESCUE)));
    let states = scene.deliveries(ENDPOINT).await.into_iter().map(|delivery| delivery.state);
    let (pending, parked) = (DeliveryState::Pending, DeliveryState::Parked);
    assert_eq!(states.collect::<BTreeSet<_>>(), BTreeSet::from([pending, parked]));
}

#[tokio::test]
async fn a_lane_keeps_the_lowest_position_of_new_and_repeated_events() {
    let scene = Scene::with_endpoint().await;
    // Events of the same millisecond are in the order of their ids, which are not known beforehand.
    assert!(scene.relayed(&many(1..=10)).await);
    let mut places: Vec<Value> = scene
        .world
        .db
        .rows_of(Table::Webhooks, "delivery")
        .iter()
        .map(|row| row["sk"]["S"].clone())
        .collect();
    places.sort_by_key(Value::to_string);
    assert_eq!(scene.lane(scene.slot(ENDPOINT, 0))["low"]["S"], places[0]);

    scene.visited().await;
    assert!(scene.lane(scene.slot(ENDPOINT, 0)).get("low").is_none());
    scene.world.db.clock().advance(Duration::from_secs(60));
    assert!(scene.relayed(&many(1..=40)).await);
    let mut all: Vec<Value> = scene
        .world
        .db
        .rows_of(Table::Webhooks, "delivery")
        .iter()
        .map(|row| row["sk"]["S"].clone())
        .collect();
    all.sort_by_key(Value::to_string);
    assert_eq!(all.len(), 40);
    let lane = scene.lane(scene.slot(ENDPOINT, 0));
    assert_eq!((&lane["low"]["S"], &lane["mark"]["N"]), (&all[0], &json!("2")), "one update for each batch");
    assert_eq!(scene.due_at(ENDPOINT), Some(scene.world.db.store().now().plus(RESCUE)));
}

#[tokio::test]
async fn a_burst_of_a_thousand_changes_makes_few_messages() {
    let scene = Scene::with_endpoint().await;
    let (mut calls, mut units) = (0, 0.0);
    for first in (0..1_000).step_by(100) {
        scene.world.db.forget_calls();
        assert!(scene.relayed(&many(first..first + 100)).await);
        calls += scene.world.db.calls().len();
        units += scene.world.db.calls().iter().map(|call| call.write_units).sum::<f64>();
    }
    let queued = scene.sqs.take();
    assert!(queued.len() <= 10, "{} messages", queued.len());
    assert!(queued.iter().all(|message| message.body == visit(ENDPOINT, 0)));
    assert_eq!(scene.deliveries(ENDPOINT).await.len(), 1_000);
    // Calls: settings 3 (the definitions are not remembered yet), recorded events 1, erased subjects 1, deliveries 4, events 4, the lane 1 or 2, usage 1.
    assert!(calls <= 10 * 16, "{calls} calls");
    assert!(units <= 1_000.0 * 2.0 + 10.0 * 4.0, "{units} units");
}

#[tokio::test]
async fn recording_costs_one_unit_for_the_delivery_one_for_the_event_two_for_a_lane_and_one_for_the_usage() {
    let scene = Scene::with_endpoint().await;
    let mut costs = vec![];
    for (batch, visited) in [(many([1]), true), (many([2]), false), (many([3]), false), (many([1]), false)] {
        scene.world.db.forget_calls();
        assert!(scene.relayed(&batch).await);
        let units = |operation: &str| {
            let calls = scene.world.db.calls().into_iter().filter(|call| call.operation == operation);
            // AWS charges a refused update like a successful one. The embedded database does not.
            calls.map(|call| call.write_units.max(1.0)).collect::<Vec<_>>()
        };
        costs.push((units("BatchWriteItem"), units("UpdateItem").iter().sum::<f64>()));
        if visited {
            scene.visited().await;
        }
    }
    let one_each = vec![1.0, 1.0];
    assert_eq!(costs[0], (one_each.clone(), 3.0));
    assert_eq!(costs[1], (one_each.clone(), 3.0), "the lane had left the due index");
    assert!(
        costs[2].0 == one_each && costs[2].1 <= 3.0,
        "{costs:?}: the lane has new work since its last visit"
    );
    assert!(
        costs[3].0.is_empty() && costs[3].1 <= 3.0,
        "{costs:?}: a repeat only updates the lane and counts"
    );
}

#[tokio::test]
async fn events_of_two_endpoints_use_all_slots_and_each_lane_is_queued_once() {
    let scene = Scene::start().await;
    scene.endpoint_with_slots(ENDPOINT, &[], 4).await;
    scene.endpoint_with_slots(OTHER, &[], 2).await;
    assert!(scene.relayed(&many(1..=100)).await);
    let mut queued: Vec<String> = scene.sqs.take().into_iter().map(|message| message.body).collect();
    queued.sort();
    let mut expected = vec![];
    for (endpoint, slots) in [(ENDPOINT, 4), (OTHER, 2)] {
        let mut all = 0;
        for number in 0..slots {
            let deliveries = scene.deliveries_in(scene.slot(endpoint, number)).await;
            assert!(
                deliveries.len() >= 100 / usize::from(slots) / 2,
                "{endpoint}/{number}: {}",
                deliveries.len()
            );
            all += deliveries.len();
            expected.push(visit(endpoint, number));
            assert!(scene.lane(scene.slot(endpoint, number))["dueAt"]["N"].is_string());
        }
        assert_eq!(all, 100, "{endpoint}");
    }
    assert_eq!(queued, expected);
}

#[tokio::test]
async fn a_lane_with_a_lease_or_an_open_circuit_is_updated_and_not_queued() {
    let scene = Scene::with_endpoint().await;
    assert!(scene.relayed(&many([1])).await);
    scene.sqs.take();
    let later = scene.world.db.store().now().plus(Duration::from_secs(30));
    for (n, name) in [(2, "leaseUntil"), (3, "openUntil")] {
        scene.set_in_lane(name, later);
        assert!(scene.relayed(&many([n])).await);
        assert!(scene.sqs.take().is_empty(), "{name}");
        assert_eq!(scene.lane(scene.slot(ENDPOINT, 0))["mark"]["N"], n.to_string(), "{name}");
        scene.set_in_lane(name, Timestamp::from_millis(0));
    }
    scene.set_in_lane("slowUntil", later);
    assert!(scene.relayed(&many([4])).await);
    assert_eq!(scene.sqs.take()[0].queue, "slow", "a slow endpoint delays no other");
}

#[tokio::test]
async fn a_lane_whose_message_was_lost_is_due_after_two_minutes() {
    let scene = Scene::with_endpoint().await;
    scene.sqs.close(true);
    assert!(scene.relayed(&fixture(UPDATED)).await, "the stream has nothing to repeat");
    assert_eq!(scene.due_at(ENDPOINT), Some(scene.world.db.store().now().plus(RESCUE)));
    assert_eq!(scene.deliveries(ENDPOINT).await.len(), 1);
}

#[tokio::test]
async fn an_unavailable_queue_delays_neither_the_stream_nor_the_other_queues() {
    let scene = Scene::with_endpoint().await;
    scene.sqs.stall(true);
    let batch = stream_event(&[record("event-relay-message-created.json"), record_of(1)]);
    let begun = std::time::Instant::now();
    assert!(scene.relayed(&batch).await, "the lanes are in the due index");
    assert!(begun.elapsed() < queue::TIME_LIMIT + Duration::from_secs(5), "{:?}", begun.elapsed());
    assert_eq!((scene.sends.take().len(), scene.deliveries(ENDPOINT).await.len()), (1, 2));
    assert!(scene.due_at(ENDPOINT).is_some());
}

#[tokio::test]
async fn a_crash_between_commit_and_queue_repeats_the_record_and_queues_it() {
    let scene = Scene::with_endpoint().await;
    let event: StreamEvent = serde_json::from_value(fixture(UPDATED)).unwrap();
    scene.sqs.stall(true);
    let told = async {
        while scene.due_at(ENDPOINT).is_none() {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        () = told => {}
        _ = scene.relay.handle(event) => panic!("the stalled queue answered"),
    }
    scene.sqs.stall(false);
    assert_eq!((scene.deliveries(ENDPOINT).await.len(), scene.sqs.take().len()), (1, 0));
    assert!(scene.relayed(&fixture(UPDATED)).await);
    assert_eq!((scene.deliveries(ENDPOINT).await.len(), scene.sqs.take().len()), (1, 1));
}

#[tokio::test]
async fn two_concurrent_relays_of_the_same_records_write_everything_once() {
    let scene = Scene::with_endpoint().await;
    let batch = many(1..=40);
    let (one, other) = tokio::join!(scene.relayed(&batch), scene.relayed(&batch));
    assert!(one && other);
    scene.assert_in_order("both");
    assert_eq!(
        (
            scene.world.db.rows_of(Table::Webhooks, "event").len(),
            scene.world.db.rows_of(Table::Webhooks, "delivery").len()
        ),
        (40, 40)
    );
    assert_eq!(scene.world.db.rows_of(Table::Webhooks, "lane").len(), 1);
}

#[tokio::test]
async fn an_erasure_is_queued_when_it_is_asked_for_and_not_when_it_goes_on() {
    let scene = Scene::start().await;
    let (store, workspace) = (scene.world.db.store(), scene.world.workspace);
    let contacts = [ContactId::generate(store.ids())].into();
    let asked = Erasure::of_contacts(contacts, workspace, false, "operator", store.now());
    store.ask_erasure(&asked, None, None).await.unwrap();
    let lane = LaneId::Person(workspace, asked.id.into());
    let Lease::Taken(leased) = store.lease_lane(lane, Duration::from_secs(330)).await.unwrap() else {
        panic!("the job is new")
    };
    let (held, read) = store::LeasedJob::of(&leased).unwrap();
    assert_eq!(read.erasure(), Some(asked.clone()));
    assert!(store.keep_erasure(&held, &asked, asked.finding(), None).await.unwrap().is_some());
    // Another contact, whose rows are no jobs.
    let other = Contact::blank(ContactId::generate(store.ids()), workspace, store.now());
    store.create_contact(&other, "other").await.unwrap();
    assert!(scene.relayed(&scene.world.db.stream(Table::Contacts)).await);
    let queued: Vec<_> = scene.leads.take().into_iter().map(|it| (it.queue, it.body)).collect();
    assert_eq!(queued, [("persons".to_owned(), queue::body(&lane))]);
    assert_eq!(queue::read(LaneKind::Person, &queued[0].1), Ok(lane));
}
