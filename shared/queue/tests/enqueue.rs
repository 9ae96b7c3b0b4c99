//! Queueing over a queue that may refuse.

use std::time::{Duration, Instant};

use domain::{DeliveryId, WorkspaceId};
use harness::TestQueue;
use queue::{DeliveryQueue, DeliveryTask, PATIENCE, Task, Wake};
use uuid::Uuid;

fn wake(n: u128) -> Wake<DeliveryTask> {
    let task = DeliveryTask {
        workspace_id: WorkspaceId::from_uuid(Uuid::from_u128(1)),
        delivery_id: DeliveryId::from_uuid(Uuid::from_u128(n)),
    };
    Wake { task, group: Uuid::from_u128(7), after: Duration::from_secs(5) }
}

#[tokio::test]
async fn tasks_are_queued_ten_a_call_in_their_endpoints_group() {
    let sqs = TestQueue::default();
    let queue = DeliveryQueue::new(sqs.client(), "http://queue.invalid/1/deliveries");
    let wakes: Vec<Wake<DeliveryTask>> = (0..23).map(wake).collect();
    queue.enqueue(&wakes).await.unwrap();
    let messages = sqs.take();
    assert_eq!(messages.len(), 23);
    assert_eq!(messages[22].body, wakes[22].task.body());
    assert_eq!((messages[0].group.as_str(), messages[0].delay), ("00000000-0000-0000-0000-000000000007", 5));
    queue.enqueue(&[]).await.unwrap();
}

#[tokio::test]
async fn what_the_queue_did_not_take_is_named_and_the_rest_is_queued() {
    let sqs = TestQueue::default();
    let queue = DeliveryQueue::new(sqs.client(), "http://queue.invalid/1/deliveries");
    sqs.refuse_next(2);
    let failed = queue.enqueue(&(0..12).map(wake).collect::<Vec<_>>()).await.unwrap_err();
    assert_eq!(failed.tasks, [wake(0).task, wake(1).task]);
    assert_eq!(failed.to_string(), "the queue did not take 2 of the messages: InternalError");
    assert_eq!(sqs.take().len(), 10);

    sqs.close(true);
    assert_eq!(queue.enqueue(&[wake(0), wake(1)]).await.unwrap_err().tasks.len(), 2);
}

#[tokio::test]
async fn a_queue_that_does_not_answer_is_waited_for_once_however_many_calls_there_are() {
    let sqs = TestQueue::default();
    let queue = DeliveryQueue::new(sqs.client(), "http://queue.invalid/1/deliveries");
    sqs.stall(true);
    let begun = Instant::now();
    let failed = queue.enqueue(&(0..1_000).map(wake).collect::<Vec<_>>()).await.unwrap_err();
    assert_eq!(failed.tasks.len(), 1_000);
    assert!(begun.elapsed() < PATIENCE + Duration::from_secs(3), "{:?}", begun.elapsed());
}
