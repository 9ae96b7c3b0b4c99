//! Deliveries that arrive late or during a visit, and events that are not written yet.

use domain::{DeliveryState, Event};
use harness::TestClock;
use store::NewEvent;

use crate::reactions::Reaction;
use crate::world::{BODY, DAY, RESCUE, World, event, event_at, least, message, new_event, place, secs, slot};

#[tokio::test]
async fn an_event_older_than_the_handled_ones_is_delivered() {
    let world = World::empty().await;
    world.notify(&[10, 11]).await;
    world.visit().await;
    let early = [event_at(1, TestClock::START.minus(secs(3_600))), event(5)];
    for event in &early {
        world.tell_events(std::slice::from_ref(event), BODY).await;
    }
    world.notify(&[12]).await;
    world.visit().await;
    assert_eq!(world.receivers.count(), 5);
    for event in early {
        assert_eq!(world.delivery(event.id).await.unwrap().state, DeliveryState::Delivered);
    }
    // The relay adds a recorded event to the lane again, and no post is repeated.
    world.store().notify_webhook_lane(slot(), place(&event(11)), RESCUE).await.unwrap();
    world.visit().await;
    assert_eq!((world.receivers.count(), world.due().await), (5, None));
}

#[tokio::test]
async fn a_late_event_does_not_make_waiting_deliveries_early() {
    let world = World::empty().await;
    world.receivers.always_answer(500);
    world.notify(&[10, 11, 12]).await;
    world.visit().await;
    let waiting = world.states(10..13).await;
    world.receivers.always_answer(200);
    world.notify(&[5]).await;
    world.visit().await;
    assert_eq!((world.receivers.count(), world.states(10..13).await), (4, waiting));
    world.pass(secs(6));
    world.visit().await;
    assert_eq!((world.receivers.count(), world.due().await), (7, None));
    assert_eq!(world.states(10..13).await, vec![(DeliveryState::Delivered, 2); 3]);
}

#[tokio::test]
async fn a_delivery_added_during_a_visit_is_made_by_the_same_visit() {
    for (number, at) in [(20, 20), (20, -3_600_000)] {
        let world = World::start().await;
        let at = domain::Timestamp::from_millis(TestClock::START.as_millis() + at);
        let notified = event_at(number, at);
        let notifies = async {
            assert_eq!(world.tell_events(std::slice::from_ref(&notified), BODY).await.wake, None);
            assert!(world.run(&[message()]).await.is_empty(), "its message finds the lane leased");
        };
        assert!(world.visit_meanwhile(200, notifies).await.is_empty());
        assert_eq!(world.receivers.count(), 2);
        assert_eq!(world.delivery(notified.id).await.unwrap().state, DeliveryState::Delivered);
        assert_eq!((world.sqs.take(), world.due().await), (vec![], None));
    }
}

#[tokio::test]
async fn a_missing_event_delays_its_delivery_without_an_attempt() {
    let world = World::empty().await;
    world.record_without_event(&event(1)).await;
    world.visit().await;
    assert_eq!((world.receivers.count(), world.sqs.take()[0].delay), (0, 60));
    world.pass(secs(60));
    world.visit().await;
    // The relay repeats its work, so the event is recorded now.
    world.notify(&[1]).await;
    world.visit().await;
    assert_eq!((world.states([1]).await, world.receivers.count()), (vec![(DeliveryState::Delivered, 1)], 1));
    world.to_rest().await;
    assert_eq!(world.receivers.count(), 1);
}

#[tokio::test]
async fn a_delivery_whose_event_is_recorded_a_moment_later_is_made_by_the_next_visit() {
    let world = World::empty().await;
    world.record_without_event(&event(1)).await;
    world.visit().await;
    world.put_event(&event(1)).await;
    world.to_rest().await;
    assert_eq!((world.states([1]).await, world.receivers.count()), (vec![(DeliveryState::Delivered, 1)], 1));
    assert!(world.now().since(TestClock::START) <= secs(120));
}

#[tokio::test]
async fn a_delivery_whose_event_never_comes_is_cancelled_after_two_days() {
    let world = World::empty().await;
    world.record_without_event(&event(1)).await;
    for hour in [0, 24, 47] {
        world.db.clock().set(TestClock::START.plus(secs(hour * 3_600)));
        world.visit().await;
        assert!(world.due().await.is_some(), "hour {hour}");
    }
    world.pass(DAY);
    world.visit().await;
    assert_eq!((world.due().await, world.receivers.count()), (None, 0));
    world.put_event(&event(1)).await;
    assert_eq!(world.states([1]).await, [(DeliveryState::Cancelled, 0)]);
}

#[tokio::test]
async fn a_lost_message_is_replaced_within_minutes_although_another_delivery_waits_for_a_day() {
    let world = World::start().await;
    world.receivers.then(Reaction::Answers(429, "43200"));
    world.visit().await;
    assert_eq!(world.due().await, Some(TestClock::START.plus(secs(43_200))));
    world.notify(&[2]).await;
    world.sqs.take();
    assert!(world.due().await.unwrap() <= TestClock::START.plus(RESCUE));
    world.until(TestClock::START.plus(secs(300))).await;
    assert_eq!(world.state(2).await, DeliveryState::Delivered);
    world.to_rest().await;
    assert_eq!(world.states([1, 2]).await, [(DeliveryState::Delivered, 2), (DeliveryState::Delivered, 1)]);
}

#[tokio::test]
async fn a_worker_with_a_slow_clock_hides_no_delivery() {
    let world = World::empty().await;
    world.receivers.always_answer(500);
    world.notify(&[1, 2]).await;
    world.visit().await;
    world.pass(secs(6));
    world.visit().await;
    // Both deliveries wait for five minutes. Then a worker comes whose clock is an hour behind.
    world.pass(secs(361));
    world.notify(&[3]).await;
    world.receivers.answer(500).answer(500);
    world.visit().await;
    world.db.clock().set(TestClock::START.minus(secs(3_600)));
    world.notify(&[4, 5]).await;
    world.visit().await;
    world.receivers.always_answer(200);
    world.db.clock().set(TestClock::START.plus(secs(400)));
    world.to_rest().await;
    for number in 1..=5 {
        assert_eq!(world.state(number).await, DeliveryState::Delivered, "{number}");
    }
}

/// Rows stay for days after their time is over, because DynamoDB deletes them late.
#[tokio::test]
async fn an_event_past_its_time_is_not_posted() {
    for first_answer in [None, Some(500)] {
        let world = World::empty().await;
        world.notify(&[1, 2]).await;
        if let Some(status) = first_answer {
            world.receivers.always_answer(status);
            world.visit().await;
            world.receivers.always_answer(200);
        }
        let posted = world.receivers.count();
        world.pass(world.store().retention().events + secs(1));
        world.notify(&[3]).await;
        world.to_rest().await;
        assert_eq!(world.receivers.count(), posted + 1, "{first_answer:?}");
        assert_eq!((world.state(3).await, world.due().await), (DeliveryState::Delivered, None));
        assert!(world.delivery(event(1).id).await.is_none());
    }
}

/// The row of the event may end before those of its deliveries: they were recorded again.
#[tokio::test]
async fn a_delivery_whose_event_is_past_its_time_is_cancelled() {
    let world = World::empty().await;
    world.notify(&[1]).await;
    let mut rows = world.db.rows_from(store::Table::Webhooks, "V");
    let over = world.now().plus(3 * DAY).as_seconds();
    rows[0]["expiresAt"] = serde_json::json!({ "N": over.to_string() });
    world.db.import(store::Table::Webhooks, &rows);
    world.pass(3 * DAY + secs(1));
    world.visit().await;
    assert_eq!((world.receivers.count(), world.due().await), (0, None));
    let home = &world.store().fresh_deliveries(slot(), None, 1).await.unwrap().0[0];
    assert_eq!(home.state, DeliveryState::Cancelled);
}

impl World {
    /// The state after a relay died between the deliveries and the event: the event expired before the relay began.
    pub(crate) async fn record_without_event(&self, event: &Event) {
        let row = self.event_row(event).await;
        let table = self.db.table(store::Table::Webhooks);
        let delete = self.db.client().delete_item().table_name(table);
        let delete = delete.key("pk", row["pk"].clone()).key("sk", row["sk"].clone());
        delete.send().await.unwrap();
        self.store().notify_webhook_lane(slot(), least(std::slice::from_ref(event)), RESCUE).await.unwrap();
    }

    async fn event_row(
        &self,
        event: &Event,
    ) -> std::collections::HashMap<String, aws_sdk_dynamodb::types::AttributeValue> {
        let new: NewEvent = new_event(event, BODY);
        self.store().record_events(&[new]).await.remove(0).unwrap();
        let text = |text: String| aws_sdk_dynamodb::types::AttributeValue::S(text);
        let get = self.db.client().get_item().table_name(self.db.table(store::Table::Webhooks));
        let get = get.key("pk", text(format!("{}#V#{}", slot().workspace, event.id)));
        get.key("sk", text("V".to_owned())).send().await.unwrap().item.unwrap()
    }

    /// Writes only the event's row.
    async fn put_event(&self, event: &Event) {
        let other = Self::empty().await;
        let row = other.event_row(event).await;
        let put = self.db.client().put_item().table_name(self.db.table(store::Table::Webhooks));
        put.set_item(Some(row)).send().await.unwrap();
    }
}
