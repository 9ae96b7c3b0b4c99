//! The states of a delivery from its first attempt to its end.

use std::sync::Arc;
use std::time::Duration;

use domain::webhook::DisabledReason;
use domain::{AttemptError, DeliveryState, EndpointState, LaneId, Slot, Timestamp};
use harness::{TestClock, context, fixture, trips};
use lambda_runtime::LambdaEvent;
use store::NewEvent;
use tokio::sync::{Barrier, Notify};

use crate::reactions::Reaction;
use crate::world::{
    BODY, LEASE, RESCUE, TIMEOUT, World, endpoint, event, message, new_event, place, secs, slot, workspace,
};

#[tokio::test]
async fn an_acknowledged_delivery_takes_one_attempt_and_six_round_trips() {
    let world = World::start().await;
    world.receivers.answer(204);
    let sent = LambdaEvent::new(
        serde_json::from_value(fixture("webhook-delivery.json")).unwrap(),
        context(world.now(), TIMEOUT),
    );
    world.db.forget_calls();
    assert!(world.engine.handle(sent).await.unwrap().batch_item_failures.is_empty());
    let calls = world.db.calls();
    assert_eq!(
        (calls.len(), trips(&calls)),
        (6, 6),
        "lease, lane, data for the posts, record, release; usage"
    );
    assert_eq!(world.units(), (5.0, 5.0));

    let (delivery, attempts) = world.seen(1).await;
    assert_eq!((delivery.state, delivery.attempts), (DeliveryState::Delivered, 1));
    assert_eq!((attempts.len(), attempts[0].number, attempts[0].at), (1, 1, TestClock::START));
    assert_eq!(attempts[0].outcome.error_code(), None);
    assert_eq!((world.sqs.take(), world.due().await), (vec![], None));

    let posts = world.receivers.posts();
    assert_eq!(posts.len(), 1);
    assert_eq!((posts[0].url.as_str(), &posts[0].body[..]), ("https://hooks.example.com/in", BODY));
    assert_eq!(posts[0].header("x-service-api-key"), "customer-key");
    assert_eq!(posts[0].header("webhook-id"), event(1).id.to_string());
    assert_eq!(posts[0].header("x-service-timestamp"), "1767323045");
}

#[tokio::test]
async fn a_duplicate_message_posts_nothing_at_the_same_time_or_later() {
    let world = World::start().await;
    let three = [message(), message(), message()];
    let (one, other) = tokio::join!(world.run(&three), world.run(&three));
    assert!(one.is_empty() && other.is_empty());
    world.visit().await;
    assert_eq!(world.receivers.count(), 1);
    assert_eq!((world.state(1).await, world.due().await), (DeliveryState::Delivered, None));
}

#[tokio::test]
async fn a_delivery_that_always_fails_is_exhausted_after_the_whole_schedule() {
    let world = World::start().await;
    world.receivers.always_answer(500);
    for wait in [5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400_u64] {
        let before = world.now();
        world.visit().await;
        let (delivery, _) = world.seen(1).await;
        assert_eq!(delivery.state, DeliveryState::Pending);
        let next_at = delivery.next_at.unwrap();
        let waited = next_at.since(before);
        assert!(waited.as_secs() >= wait && waited.as_secs_f64() <= wait as f64 * 1.2, "{waited:?} {wait}");
        let queued = world.sqs.take();
        if waited <= secs(900) {
            let held_back = secs(queued[0].delay);
            assert!(held_back >= waited && held_back < waited + secs(1), "{held_back:?}");
            assert_eq!((&queued[0].body, &queued[0].group), (&message(), &endpoint().to_string()));
            assert_eq!(queued[0].queue, "deliveries");
            assert_eq!(world.due().await, Some(next_at.plus(RESCUE)));
        } else {
            assert_eq!((queued, world.due().await), (vec![], Some(next_at)));
        }
        // It is too early, so nothing is posted.
        world.visit().await;
        world.sqs.take();
        world.db.clock().set(next_at);
    }
    world.visit().await;
    let (delivery, attempts) = world.seen(1).await;
    assert_eq!((delivery.state, delivery.next_at), (DeliveryState::Exhausted, None));
    let numbers: Vec<u32> = attempts.iter().map(|attempt| attempt.number).collect();
    assert_eq!(numbers, (1..=10).collect::<Vec<_>>());
    assert_eq!((world.receivers.count(), world.sqs.take().len(), world.due().await), (10, 0, None));
    assert_eq!(world.told("DeliveriesExhausted fast"), 1);
}

#[tokio::test]
async fn each_attempt_has_a_new_signature_and_the_same_id_and_bytes() {
    let world = World::start().await;
    world.receivers.answer(503);
    world.visit().await;
    world.pass(secs(6));
    world.visit().await;
    let posts = world.receivers.posts();
    assert_eq!((&posts[0].body, &posts[1].body), (&BODY.to_vec(), &BODY.to_vec()));
    assert_eq!(posts[0].header("webhook-id"), posts[1].header("webhook-id"));
    assert_eq!(
        (posts[0].header("x-service-timestamp"), posts[1].header("x-service-timestamp")),
        ("1767323045", "1767323051")
    );
    assert_ne!(posts[0].header("webhook-signature"), posts[1].header("webhook-signature"));
    assert_eq!(world.states([1]).await, [(DeliveryState::Delivered, 2)]);
}

#[tokio::test]
async fn every_kind_of_failure_is_retried_and_logged_with_its_code() {
    for (reaction, code) in [
        (Reaction::Answers(302, ""), "REDIRECT"),
        (Reaction::Answers(404, ""), "HTTP_STATUS"),
        (Reaction::Fails(AttemptError::Timeout), "TIMEOUT"),
        (Reaction::Fails(AttemptError::ConnectFailed), "CONNECT_FAILED"),
        (Reaction::Fails(AttemptError::TlsFailed), "TLS_FAILED"),
        (Reaction::Fails(AttemptError::DnsFailed), "DNS_FAILED"),
        (Reaction::Fails(AttemptError::AddressRefused), "ADDRESS_REFUSED"),
        (Reaction::Fails(AttemptError::AnswerBroken), "ANSWER_BROKEN"),
    ] {
        let world = World::start().await;
        world.receivers.then(reaction);
        world.visit().await;
        let (delivery, attempts) = world.seen(1).await;
        assert_eq!((delivery.state, delivery.failures), (DeliveryState::Pending, 1), "{code}");
        assert_eq!(attempts[0].outcome.error_code(), Some(code));
        assert_eq!(world.sqs.take().len(), 1);
    }
}

#[tokio::test]
async fn retry_after_lengthens_the_wait_only_on_429_and_503() {
    for (status, header, least, most) in [
        (429, "600", 600, 600),
        (503, "Fri, 02 Jan 2026 03:14:05 GMT", 599, 600),
        (503, "1", 5, 6),
        (429, "9999999", 43_200, 43_200),
        (503, "soon", 5, 6),
        (500, "600", 5, 6),
    ] {
        let world = World::start().await;
        world.receivers.then(Reaction::Answers(status, header));
        world.visit().await;
        let wait = world.seen(1).await.0.next_at.unwrap().since(TestClock::START).as_secs();
        assert!((least..=most).contains(&wait), "{status} {header}: {wait}");
    }
}

#[tokio::test]
async fn a_410_disables_the_endpoint_and_parks_the_delivery_until_it_is_enabled() {
    let world = World::start().await;
    world.receivers.answer(410);
    world.visit().await;
    let gone = EndpointState::Disabled { since: TestClock::START, reason: DisabledReason::Gone };
    let webhook = world.endpoint().await;
    assert_eq!(webhook.state, gone);
    let (delivery, attempts) = world.seen(1).await;
    assert_eq!(delivery.shown(Some(&webhook)), DeliveryState::Parked);
    assert_eq!(
        (delivery.failures, attempts.len()),
        (0, 1),
        "an attempt, but no failure in the retry schedule"
    );
    assert_eq!((world.sqs.take(), world.due().await), (vec![], None));
    world.visit().await;
    assert_eq!(world.receivers.count(), 1);

    world.pass(secs(3_600));
    world.enable().await;
    world.visit().await;
    assert_eq!((world.states([1]).await, world.due().await), (vec![(DeliveryState::Delivered, 2)], None));
}

#[tokio::test]
async fn a_delivery_is_parked_without_an_attempt_if_its_endpoint_was_disabled() {
    let world = World::start().await;
    world.receivers.answer(500);
    world.visit().await;
    let before = world.seen(1).await;
    world.disable().await;
    world.notify(&[2]).await;
    world.pass(secs(6));
    world.visit().await;
    assert_eq!(world.seen(1).await, before, "its row does not change");
    for number in [1, 2] {
        let shown = world.seen(number).await.0.shown(Some(&world.endpoint().await));
        assert_eq!(shown, DeliveryState::Parked);
    }
    assert_eq!((world.receivers.count(), world.due().await), (1, None));
}

#[tokio::test]
async fn a_delivery_is_cancelled_without_an_attempt_if_its_endpoint_was_deleted() {
    let world = World::start().await;
    world.receivers.answer(500);
    world.visit().await;
    let before = world.seen(1).await;
    assert!(world.store().delete_endpoint(&world.endpoint().await, harness::operator()).await.unwrap());
    world.pass(secs(6));
    world.visit().await;
    let found = world.store().endpoint(workspace(), endpoint()).await.unwrap();
    assert_eq!(before.0.shown(found.as_ref()), DeliveryState::Cancelled);
    assert_eq!(world.seen(1).await, before, "its row does not change");
    assert_eq!((world.receivers.count(), world.due().await), (1, None));
}

#[tokio::test]
async fn deleting_an_endpoint_during_an_attempt_cancels_the_delivery_and_logs_the_attempt() {
    let world = World::start().await;
    let webhook = world.endpoint().await;
    let deletes =
        async { assert!(world.store().delete_endpoint(&webhook, harness::operator()).await.unwrap()) };
    assert!(world.visit_meanwhile(500, deletes).await.is_empty());
    let (delivery, attempts) = world.seen(1).await;
    assert_eq!((delivery.shown(None), attempts.len()), (DeliveryState::Cancelled, 1));
    world.to_rest().await;
    assert_eq!((world.receivers.count(), world.seen(1).await.0), (1, delivery));
}

#[tokio::test]
async fn a_crash_between_post_and_record_repeats_the_delivery_with_the_same_id() {
    let world = World::start().await;
    let got = Arc::new(Notify::new());
    world.receivers.then(Reaction::Hangs(got.clone()));
    world.die_with_a_post(&got).await;
    // The queue repeats the message during the lease, which has no effect. The lane waits in the due index.
    world.visit().await;
    assert_eq!((world.receivers.count(), world.sweep().await), (1, None));
    world.pass(RESCUE.max(LEASE) + Duration::from_millis(1));
    assert!(world.sweep().await.is_some());
    world.visit().await;

    let posts = world.receivers.posts();
    assert_eq!(posts.len(), 2);
    assert_eq!(posts[0].header("webhook-id"), posts[1].header("webhook-id"));
    assert_eq!(posts[0].body, posts[1].body);
    assert_eq!(world.states([1]).await, [(DeliveryState::Delivered, 1)], "one attempt was recorded");
    assert_eq!(world.due().await, None);
}

#[tokio::test]
async fn if_a_410_cannot_disable_the_endpoint_the_next_attempt_does() {
    let world = World::start().await;
    world.receivers.answer(410).answer(410);
    world.db.fail("PutItem", harness::Fault::Throttled, 3);
    world.visit().await;
    let (delivery, attempts) = world.seen(1).await;
    assert_eq!((delivery.state, delivery.failures, attempts.len()), (DeliveryState::Pending, 1, 1));
    world.db.clock().set(delivery.next_at.unwrap());
    world.visit().await;
    let webhook = world.endpoint().await;
    let (delivery, _) = world.seen(1).await;
    assert_eq!((delivery.shown(Some(&webhook)), webhook.is_enabled()), (DeliveryState::Parked, false));
}

#[tokio::test]
async fn a_410_does_not_disable_an_endpoint_that_was_repaired_in_between() {
    let world = World::start().await;
    let mends = async {
        world.disable().await;
        world.enable().await;
    };
    assert!(world.visit_meanwhile(410, mends).await.is_empty());
    let webhook = world.endpoint().await;
    assert_eq!((webhook.is_enabled(), webhook.version), (true, 3));
    world.to_rest().await;
    assert_eq!(world.states([1]).await, [(DeliveryState::Delivered, 2)]);
}

#[tokio::test]
async fn a_retry_that_cannot_be_queued_is_left_to_the_sweeper() {
    let world = World::start().await;
    world.receivers.answer(500);
    world.sqs.close(true);
    world.visit().await;
    assert_eq!((world.state(1).await, world.sweep().await), (DeliveryState::Pending, None));
    world.pass(secs(6) + RESCUE);
    assert!(world.sweep().await.is_some());
}

#[tokio::test]
async fn the_deliveries_of_a_lane_are_posted_at_the_same_time() {
    let world = World::empty().await;
    world.notify(&[1, 2, 3]).await;
    let barrier = Arc::new(Barrier::new(3));
    for _ in 0..3 {
        world.receivers.then(Reaction::Meets(barrier.clone(), 200));
    }
    world.visit().await;
    assert_eq!(world.receivers.count(), 3);
}

#[tokio::test]
async fn the_lanes_of_a_batch_are_visited_at_the_same_time() {
    let world = World::start().await;
    let other = Slot { number: 1, ..slot() };
    let event = event(2);
    let new = NewEvent { slots: vec![other].into(), ..new_event(&event, BODY) };
    world.store().record_events(&[new]).await.pop().unwrap().unwrap();
    world.store().notify_webhook_lane(other, place(&event), RESCUE).await.unwrap();
    // Each receiver answers when both requests are posted.
    let barrier = Arc::new(Barrier::new(2));
    for _ in 0..2 {
        world.receivers.then(Reaction::Meets(barrier.clone(), 200));
    }
    let bodies = [slot(), other].map(|slot| queue::body(&LaneId::Webhook(slot)));
    assert_eq!(world.run(&bodies).await, Vec::<String>::new());
    assert_eq!((world.receivers.count(), world.due().await), (2, None));
    assert_eq!(world.store().webhook_lane_due(other).await.unwrap(), None);
}

#[tokio::test]
async fn a_slightly_early_message_waits_and_a_very_early_one_does_nothing() {
    let world = World::start().await;
    world.receivers.answer(500);
    world.visit().await;
    let next_at = world.seen(1).await.0.next_at.unwrap();
    world.visit().await;
    assert_eq!(world.receivers.count(), 1, "seconds early");

    world.db.clock().set(Timestamp::from_millis(next_at.as_millis() - 100));
    let ticks = async {
        // The delivery becomes due while the message waits.
        world.calls("Query", 3).await;
        world.pass(Duration::from_millis(100));
    };
    tokio::join!(world.visit(), ticks);
    assert_eq!(world.receivers.count(), 2, "100 ms early");
}

#[tokio::test]
async fn the_same_visit_delivers_to_an_endpoint_enabled_during_the_release() {
    let world = World::start().await;
    world.disable().await;
    // The visit has read the endpoint as disabled and is about to release the lane. Now the operator enables the
    // endpoint.
    world.db.forget_calls();
    let leaves = async {
        world.calls("BatchGetItem", 1).await;
        let leaves = world.db.hold("UpdateItem");
        world.calls("UpdateItem", 2).await;
        world.enable().await;
        drop(leaves);
    };
    tokio::join!(world.visit(), leaves);
    assert_eq!((world.state(1).await, world.due().await), (DeliveryState::Delivered, None));
}

#[tokio::test]
async fn the_function_refuses_to_run_longer_than_its_leases() {
    let world = World::start().await;
    let mut event = world.messages(&[message()]);
    let now = u64::try_from(TestClock::START.as_millis()).unwrap();
    event.context.deadline = now + 90_001;
    assert!(world.engine.handle(event).await.is_err());
    assert_eq!(world.receivers.count(), 0);

    let mut event = world.messages(&[message()]);
    event.context.deadline = now + 90_000;
    assert!(world.engine.handle(event).await.is_ok());
    assert_eq!(world.receivers.count(), 1);
}
