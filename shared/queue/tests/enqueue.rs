//! Queueing with queues that may refuse.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::time::{Duration, Instant};

use domain::{ConversationId, EndpointId, LaneId, LaneKind, LeadId, Slot, Track, WorkspaceId};
use harness::{Queued, TestQueue};
use queue::{Queues, TIME_LIMIT, Wake, body};
use uuid::Uuid;

fn workspace() -> WorkspaceId {
    WorkspaceId::from_uuid(Uuid::from_u128(1))
}

fn webhook(n: u128) -> LaneId {
    let endpoint = EndpointId::from_uuid(Uuid::from_u128(n));
    LaneId::Webhook(Slot { workspace: workspace(), endpoint, number: 0 })
}

fn conversation(n: u128) -> LaneId {
    LaneId::Conversation(workspace(), ConversationId::from_uuid(Uuid::from_u128(n)))
}

fn lead(n: u128) -> LaneId {
    LaneId::Lead(workspace(), LeadId::from_uuid(Uuid::from_u128(n)))
}

fn wake(n: u128) -> Wake {
    Wake { after: Duration::from_secs(5), ..Wake::now(webhook(n), Track::Fast) }
}

fn url(name: &str) -> String {
    format!("http://queue.invalid/1/{name}")
}

fn queues(sqs: &TestQueue) -> Queues {
    Queues::default()
        .with_webhooks(sqs.client(), url("fast"), url("slow"))
        .with(LaneKind::Conversation, sqs.client(), url("sends"))
        .with(LaneKind::Lead, sqs.client(), url("leads"))
}

#[tokio::test]
async fn lanes_are_queued_ten_a_call_each_in_its_message_group() {
    let sqs = TestQueue::default();
    let wakes: Vec<Wake> = (0..23).map(wake).collect();
    queues(&sqs).enqueue(&wakes).await.unwrap();
    let messages = sqs.take();
    assert_eq!(messages.len(), 23);
    assert_eq!(messages[22].body, body(&wakes[22].lane));
    assert_eq!((messages[7].group.as_str(), messages[7].delay), ("00000000-0000-0000-0000-000000000007", 5));
    queues(&sqs).enqueue(&[]).await.unwrap();
    assert_eq!(sqs.take(), []);
}

#[tokio::test]
async fn each_lane_goes_to_the_queue_of_its_kind_and_track() {
    let sqs = TestQueue::default();
    let wakes = [
        (Wake::now(webhook(2), Track::Fast), "fast", 2),
        (Wake::now(webhook(3), Track::Slow), "slow", 3),
        (Wake::now(conversation(4), Track::Fast), "sends", 1),
        (Wake::now(lead(5), Track::Fast), "leads", 1),
    ];
    queues(&sqs).enqueue(&wakes.map(|(wake, ..)| wake)).await.unwrap();
    let mut messages = sqs.take();
    messages.sort_by(|one, other| one.body.cmp(&other.body));
    let expected = wakes.map(|(wake, queue, group)| Queued {
        queue: queue.to_owned(),
        body: body(&wake.lane),
        group: Uuid::from_u128(group).to_string(),
        delay: 0,
    });
    let mut expected = expected.to_vec();
    expected.sort_by(|one, other| one.body.cmp(&other.body));
    assert_eq!(messages, expected);
}

#[tokio::test]
async fn a_lane_without_a_queue_is_reported_and_the_others_are_queued() {
    let sqs = TestQueue::default();
    let queues = Queues::default().with(LaneKind::Lead, sqs.client(), url("leads"));
    let wakes = [lead(1), conversation(2), lead(3)].map(|lane| Wake::now(lane, Track::Fast));
    let failed = queues.enqueue(&wakes).await.unwrap_err();
    assert_eq!(failed.lanes, [conversation(2)]);
    let expected = "the queue did not take 1 of the messages: this process knows no queue for them";
    assert_eq!(failed.to_string(), expected);
    assert_eq!(sqs.take().len(), 2);
}

#[tokio::test]
async fn messages_that_the_queue_refuses_are_reported_and_the_others_are_queued() {
    let sqs = TestQueue::default();
    sqs.refuse_next(2);
    let failed = queues(&sqs).enqueue(&(0..12).map(wake).collect::<Vec<_>>()).await.unwrap_err();
    assert_eq!(failed.lanes, [webhook(0), webhook(1)]);
    assert_eq!(failed.to_string(), "the queue did not take 2 of the messages: InternalError");
    assert_eq!(sqs.take().len(), 10);

    sqs.close(true);
    assert_eq!(queues(&sqs).enqueue(&[wake(0), wake(1)]).await.unwrap_err().lanes.len(), 2);
}

#[tokio::test]
async fn a_queue_that_refuses_does_not_block_the_others() {
    let (sqs, closed) = (TestQueue::default(), TestQueue::default());
    closed.close(true);
    let queues = Queues::default().with_webhooks(closed.client(), url("fast"), url("slow")).with(
        LaneKind::Lead,
        sqs.client(),
        url("leads"),
    );
    let wakes = [webhook(1), lead(2)].map(|lane| Wake::now(lane, Track::Fast));
    assert_eq!(queues.enqueue(&wakes).await.unwrap_err().lanes, [webhook(1)]);
    assert_eq!(sqs.take().len(), 1);
}

#[tokio::test]
async fn a_silent_queue_costs_one_time_limit_for_any_number_of_calls() {
    let sqs = TestQueue::default();
    sqs.stall(true);
    let begun = Instant::now();
    let failed = queues(&sqs).enqueue(&(0..1_000).map(wake).collect::<Vec<_>>()).await.unwrap_err();
    assert_eq!(failed.lanes.len(), 1_000);
    assert!(begun.elapsed() < TIME_LIMIT + Duration::from_secs(3), "{:?}", begun.elapsed());
}
