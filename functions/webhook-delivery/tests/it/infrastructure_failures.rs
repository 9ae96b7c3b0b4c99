//! Failures of the service's own infrastructure: of the tables, of the network, and unreadable messages.

use std::time::Duration;

use aws_sdk_dynamodb::types::AttributeValue;
use domain::{DeliveryState, EndpointId, LaneId, Slot};
use harness::Fault;
use store::Table;
use uuid::Uuid;

use crate::reactions::Reaction;
use crate::world::{TIMEOUT, World, endpoint, event, message, secs, slot, workspace};

const AGAIN: Duration = Duration::from_secs(30);

#[tokio::test]
async fn if_the_outcome_cannot_be_recorded_the_message_and_the_delivery_are_repeated() {
    let world = World::start().await;
    // The remaining time allows only the SDK's three tries.
    let fails = async {
        world.pass(TIMEOUT);
        world.db.fail("BatchWriteItem", Fault::Throttled, 3);
    };
    assert_eq!(world.visit_meanwhile(200, fails).await, ["0"]);
    assert_eq!(
        world.states([1]).await,
        [(DeliveryState::Pending, 0)],
        "an attempt counts once it is recorded"
    );
    world.pass(AGAIN);
    world.visit().await;
    let posts = world.receivers.posts();
    assert_eq!((posts.len(), posts[0].header("webhook-id")), (2, posts[1].header("webhook-id")));
    assert_eq!((world.states([1]).await, world.due().await), (vec![(DeliveryState::Delivered, 1)], None));
}

#[tokio::test]
async fn the_outcome_is_recorded_within_the_remaining_time_and_the_post_is_not_repeated() {
    for fault in [Fault::Throttled, Fault::Unprocessed, Fault::HalfProcessed] {
        let world = World::start().await;
        world.receivers.always_answer(500);
        world.db.fail("BatchWriteItem", Fault::AnswerLost, 0);
        let fails = async { world.db.fail("BatchWriteItem", fault, 7) };
        assert!(world.visit_meanwhile(500, fails).await.is_empty());
        assert_eq!(world.states([1]).await, [(DeliveryState::Pending, 1)]);
        assert_eq!(world.receivers.count(), 1);
        world.receivers.always_answer(200);
        world.to_rest().await;
        assert_eq!(
            (world.states([1]).await, world.receivers.count()),
            (vec![(DeliveryState::Delivered, 2)], 2)
        );
    }
}

#[tokio::test]
async fn a_lost_answer_of_the_tables_changes_nothing() {
    for operation in ["UpdateItem", "Query", "BatchGetItem", "BatchWriteItem"] {
        let world = World::start().await;
        world.receivers.answer(500);
        for _ in 0..2 {
            world.db.fail(operation, Fault::AnswerLost, 1);
            world.visit().await;
            world.db.heal();
            world.pass(secs(6));
        }
        assert_eq!(world.states([1]).await, [(DeliveryState::Delivered, 2)], "{operation}");
        assert_eq!((world.receivers.count(), world.due().await), (2, None), "{operation}");
    }
}

#[tokio::test]
async fn no_post_begins_without_time_for_its_outcome() {
    let world = World::start().await;
    let slow = world.db.hold("BatchGetItem");
    let waits = async {
        world.calls("BatchGetItem", 1).await;
        world.pass(secs(11));
        drop(slow);
    };
    world.db.forget_calls();
    tokio::join!(world.visit(), waits);
    assert_eq!((world.states([1]).await, world.receivers.count()), (vec![(DeliveryState::Pending, 0)], 0));
    assert_eq!(world.sqs.take()[0].delay, 0);
    world.visit().await;
    assert_eq!(world.state(1).await, DeliveryState::Delivered);
}

#[tokio::test]
async fn an_endpoint_without_secrets_waits_for_them() {
    let world = World::start().await;
    let table = world.db.table(Table::Secrets);
    let text = |text: String| AttributeValue::S(text);
    let delete = world.db.client().delete_item().table_name(table).key("sk", text("S".to_owned()));
    let delete = delete.key("pk", text(format!("{}#H#{}", workspace(), endpoint())));
    delete.send().await.unwrap();
    assert_eq!(world.run(&[message()]).await, ["0"]);
    assert_eq!((world.states([1]).await, world.receivers.count()), (vec![(DeliveryState::Pending, 0)], 0));
    assert!(world.due().await.is_some());
}

#[tokio::test]
async fn the_message_is_repeated_if_the_tables_are_unreachable() {
    for operation in ["UpdateItem", "Query", "BatchGetItem", "BatchWriteItem"] {
        let world = World::start().await;
        world.db.fail(operation, Fault::Unreachable, 5_000);
        assert_eq!(world.run(&[message()]).await, ["0"], "{operation}");
        world.db.heal();
        let posted = usize::from(operation == "BatchWriteItem");
        assert_eq!(world.receivers.count(), posted, "{operation}");
        assert_eq!(world.states([1]).await, [(DeliveryState::Pending, 0)], "{operation}");
        world.to_rest().await;
        assert_eq!(world.states([1]).await, [(DeliveryState::Delivered, 1)], "{operation}");
        assert_eq!(world.receivers.count(), posted + 1, "{operation}");
    }
}

#[tokio::test]
async fn an_invalid_message_and_a_panic_do_not_affect_the_others() {
    let world = World::empty().await;
    let numbers: Vec<u64> = (1..=40).collect();
    world.notify(&numbers).await;
    let bad = event(1).id;
    world.receivers.always(move |posted| match posted.event() == bad {
        true => Reaction::Panics,
        false => Reaction::Answers(200, ""),
    });
    let unknown = Slot { endpoint: EndpointId::from_uuid(Uuid::nil()), ..slot() };
    let bodies = [
        "poison".to_owned(),
        r#"{"lane":"postcard","workspaceId":"w"}"#.to_owned(),
        message().replace("webhook", "lead"),
        queue::body(&LaneId::Webhook(unknown)),
        message(),
    ];
    assert_eq!(
        world.run(&bodies).await,
        ["0", "1", "2"],
        "a message without a lane is kept and ends in the dead-letter queue"
    );
    assert_eq!(world.states(2..=40).await, vec![(DeliveryState::Delivered, 1); 39]);
    world.to_rest().await;
    assert_eq!(world.state(1).await, DeliveryState::Exhausted, "the retry follows the schedule");
    assert_eq!(world.seen(1).await.1[0].outcome.error_code(), Some("WORKER_DIED"));
}

#[tokio::test]
async fn a_lane_of_a_newer_schema_is_skipped_and_the_others_are_visited() {
    let world = World::start().await;
    let newer = Slot { number: 1, ..slot() };
    let of_it = queue::body(&LaneId::Webhook(newer));
    world.store().notify_webhook_lane(newer, crate::world::place(&event(1)), secs(120)).await.unwrap();
    let pk = format!("{}#E#{}#1", workspace(), endpoint());
    let update = world.db.client().update_item().table_name(world.db.table(Table::Webhooks));
    let update = update.key("pk", AttributeValue::S(pk)).key("sk", AttributeValue::S("L".to_owned()));
    let update = update.update_expression("SET sv = :two");
    update.expression_attribute_values(":two", AttributeValue::N("2".to_owned())).send().await.unwrap();
    assert_eq!(world.run(&[of_it, message()]).await, ["0"]);
    assert_eq!(world.state(1).await, DeliveryState::Delivered);
}

#[tokio::test]
async fn a_post_that_does_not_leave_the_network_is_no_attempt() {
    let world = World::start().await;
    world.receivers.always(|_| Reaction::Stays);
    let untouched = world.seen(1).await;
    for _ in 0..30 {
        world.visit().await;
        assert_eq!(world.seen(1).await, untouched, "the post is not recorded");
        let queued = world.sqs.take();
        assert_eq!((queued.len(), queued[0].delay), (1, 30));
        world.pass(AGAIN);
    }
    assert_eq!(world.told("EgressFailures fast"), 30);
    world.receivers.always_answer(200);
    world.visit().await;
    assert_eq!(world.states([1]).await, [(DeliveryState::Delivered, 1)], "no circuit opened");
}

#[tokio::test]
async fn a_failure_of_the_tables_uses_no_attempt() {
    let world = World::start().await;
    for operation in ["UpdateItem", "Query", "BatchGetItem"] {
        world.db.fail(operation, Fault::Unreachable, 3);
        assert_eq!(world.run(&[message()]).await, ["0"], "{operation}");
        assert_eq!(
            (world.states([1]).await, world.receivers.count()),
            (vec![(DeliveryState::Pending, 0)], 0)
        );
        assert_eq!(world.sqs.take(), [], "its queue message counts the retries");
        assert!(world.due().await.is_some());
        world.pass(AGAIN);
    }
    world.visit().await;
    assert_eq!(world.states([1]).await, [(DeliveryState::Delivered, 1)]);
}
