//! Tests the limits on what webhooks cost.

use std::ops::Range;

use domain::{Event, JobKind};
use harness::trips;
use serde_json::Value;
use store::Table;

use crate::world::{World, event, place, secs, slot};

/// A body of one kibibyte. With its other attributes, its row takes two.
const KIBIBYTE: [u8; 1_024] = [b'x'; 1_024];

fn events(range: Range<u64>) -> Vec<Event> {
    range.map(event).collect()
}

impl World {
    /// Records these events, adds them to the lane and visits it. Returns the write units of each event.
    async fn write_units_of(&self, range: Range<u64>, body: &[u8]) -> f64 {
        let events = events(range);
        self.db.forget_calls();
        self.tell_events(&events, body).await;
        self.visit().await;
        self.units().1 / events.len() as f64
    }
}

#[tokio::test]
async fn a_single_webhook_in_a_visit_costs_ten_units_or_nine_with_a_small_body() {
    let world = World::empty().await;
    // The first write creates the lane.
    world.write_units_of(0..1, b"{}").await;
    assert_eq!(world.write_units_of(1..2, &KIBIBYTE).await, 10.0);
    assert_eq!(world.write_units_of(2..3, b"{}").await, 9.0);
    assert_eq!(world.receivers.count(), 3);
}

#[tokio::test]
async fn webhooks_added_together_cost_less_than_five_units_each() {
    let world = World::empty().await;
    assert_eq!(world.write_units_of(0..10, &KIBIBYTE).await, 4.6);
    assert_eq!(world.write_units_of(10..20, b"{}").await, 3.6);
    assert_eq!(world.write_units_of(20..120, &KIBIBYTE).await, 4.06);
    assert_eq!(world.receivers.count(), 120);
}

#[tokio::test]
async fn a_failed_attempt_costs_less_than_four_units() {
    let world = World::empty().await;
    world.receivers.always_answer(500);
    world.tell_events(&events(0..10), &KIBIBYTE).await;
    for (of, wait) in [5, 300, 1_800, 7_200].into_iter().enumerate() {
        world.db.forget_calls();
        world.visit().await;
        assert_eq!(world.receivers.count(), 10 * (of + 1));
        let each = world.units().1 / 10.0;
        assert!(each <= [2.5, 3.5][of.min(1)], "attempt {}: {each}", of + 1);
        world.pass(secs(wait) + secs(wait) / 5);
    }
}

#[tokio::test]
async fn a_page_is_read_and_recorded_with_few_calls() {
    let world = World::empty().await;
    world.notify(&(0..10).collect::<Vec<_>>()).await;
    world.db.forget_calls();
    world.visit().await;
    assert_eq!((world.db.calls().len(), trips(&world.db.calls())), (6, 6));
}

/// The cost of an hour of a lane with many waiting deliveries, whose endpoint never answers.
struct Hour {
    world: World,
    first: (f64, f64),
    later: (f64, f64),
}

async fn dead(waiting: u64) -> Hour {
    let world = World::empty().await;
    world.receivers.always_silent();
    world.notify(&[0, 1, 2, 3, 4]).await;
    world.visit().await;
    world.record(&[event(10)], b"{}").await;
    world.import_like(&event(10), 11..10 + waiting);
    world.store().notify_webhook_lane(slot(), place(&event(10)), secs(120)).await.unwrap();
    let first = world.hour().await;
    world.hour().await;
    let later = world.hour().await;
    Hour { world, first, later }
}

impl World {
    /// Writes events directly to the tables, because they are too many for the store. The rows copy those of a
    /// recorded event that was not attempted yet.
    fn import_like(&self, recorded: &Event, range: Range<u64>) {
        let names = |event: &Event| [event.id.to_string(), event.at.as_millis().to_string()];
        let [id, at] = names(recorded);
        let rows: Vec<String> = self.db.rows(Table::Webhooks).iter().map(Value::to_string).collect();
        let rows: Vec<&String> = rows.iter().filter(|row| row.contains(&id)).collect();
        assert_eq!(rows.len(), 2, "the event and its delivery");
        for from in range.clone().step_by(1_000) {
            let mut copies: Vec<Value> = vec![];
            for number in from..range.end.min(from + 1_000) {
                let [new_id, new_at] = names(&event(number));
                let copy = |row: &&String| row.replace(&id, &new_id).replace(&at, &new_at);
                copies.extend(rows.iter().map(|row| serde_json::from_str::<Value>(&copy(row)).unwrap()));
            }
            self.db.import(Table::Webhooks, &copies);
        }
    }

    /// Simulates an hour. Returns the units that the lane took.
    async fn hour(&self) -> (f64, f64) {
        self.take_spent();
        self.until(self.now().plus(secs(3_600))).await;
        self.take_spent()
    }
}

#[tokio::test]
async fn an_hour_of_a_dead_endpoint_costs_the_same_for_any_number_of_waiting_deliveries() {
    // `WAITING=1000000` tests a million, which takes some minutes.
    let most = std::env::var("WAITING").map_or(50_000, |waiting| waiting.parse().unwrap());
    let few = dead(10).await;
    for waiting in [1_000, most] {
        let many = dead(waiting).await;
        for (of, (few, many)) in [("first", (few.first, many.first)), ("later", (few.later, many.later))] {
            println!("the {of} hour: {few:?} RRU and WRU with 10 waiting, {many:?} with {waiting}");
            assert!(many.1 <= few.1 + 1.0 && many.1 <= 60.0, "{of}, {waiting}: {few:?} {many:?}");
            assert!(many.0 <= few.0 + 30.0 && many.0 <= 200.0, "{of}, {waiting}: {few:?} {many:?}");
        }
        assert_eq!(few.world.receivers.count(), many.world.receivers.count());
    }
}

#[tokio::test]
async fn an_hour_of_a_disabled_endpoint_costs_nothing_for_any_number_of_parked_deliveries() {
    for waiting in [10, 1_000] {
        let world = World::empty().await;
        world.receivers.always_answer(500);
        for from in (0..waiting).step_by(25) {
            world.record(&events(from..(from + 25).min(waiting)), b"{}").await;
        }
        world.store().notify_webhook_lane(slot(), place(&event(0)), secs(120)).await.unwrap();
        world.until(world.now().plus(secs(60))).await;
        world.disable().await;
        // The planned retry finds the endpoint disabled, and no further visit follows.
        let first = world.hour().await;
        assert!(first.1 <= 10.0 && first.0 <= 200.0, "{first:?}");
        assert_eq!(world.hour().await, (0.0, 0.0));
        // The job asks for a delivery although the endpoint is disabled, so it waits with the others.
        world.ask(JobKind::Recover { since: event(0).at }).await;
        let asked = world.hour().await;
        assert!(asked.1 <= 10.0 && asked.0 <= 200.0, "{asked:?}");
        assert_eq!(world.hour().await, (0.0, 0.0));
    }
}
