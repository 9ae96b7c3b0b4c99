//! "Look after delivery D."

use std::time::Duration;

use aws_sdk_sqs::Client;
use aws_sdk_sqs::types::SendMessageBatchRequestEntry;
use domain::{Delivery, DeliveryId, EndpointId, WorkspaceId, causes};
use futures::StreamExt;
use serde::{Deserialize, Serialize};
use tokio::time::{Instant, timeout_at};

use crate::Unreadable;

/// What a message asks for. Everything else is read from the delivery's row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeliveryTask {
    /// The workspace.
    pub workspace_id: WorkspaceId,
    /// The delivery to look after.
    pub delivery_id: DeliveryId,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct TaskBody {
    workspace_id: String,
    delivery_id: String,
}

impl DeliveryTask {
    /// Reads a message's body; fields of a later release are ignored.
    pub fn read(body: &str) -> Result<Self, Unreadable> {
        let body: TaskBody = serde_json::from_str(body).map_err(|_| Unreadable)?;
        Ok(Self {
            workspace_id: WorkspaceId::parse(&body.workspace_id).map_err(|_| Unreadable)?,
            delivery_id: DeliveryId::parse(&body.delivery_id).map_err(|_| Unreadable)?,
        })
    }

    /// The message's body.
    pub fn body(&self) -> String {
        let Self { workspace_id, delivery_id } = self;
        format!(r#"{{"workspaceId":"{workspace_id}","deliveryId":"{delivery_id}"}}"#)
    }
}

/// A task and when it is to arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wake {
    /// The task.
    pub task: DeliveryTask,
    /// Whose delivery it is: the queue serves endpoints in turn, so that one with many messages does not keep
    /// the others waiting.
    pub endpoint_id: EndpointId,
    /// How long the message is held back, at most [`Wake::LONGEST`].
    pub after: Duration,
}

impl Wake {
    /// SQS holds a message back for 15 minutes at most.
    pub const LONGEST: Duration = Duration::from_secs(900);

    /// To be looked after when so much time has passed.
    pub fn of(delivery: &Delivery, after: Duration) -> Self {
        let task = DeliveryTask { workspace_id: delivery.workspace_id, delivery_id: delivery.id };
        Self { task, endpoint_id: delivery.endpoint_id, after }
    }

    /// Whole seconds, rounded up: a message that comes too early would find nothing to do.
    fn seconds(&self) -> i32 {
        let seconds = self.after.min(Self::LONGEST).as_millis().div_ceil(1_000);
        i32::try_from(seconds).unwrap_or(i32::MAX)
    }
}

/// Messages that the queue did not take. Nothing is lost: the deliveries stand in the due index.
#[derive(Debug, thiserror::Error)]
#[error("the queue did not take {} of the messages: {reason}", deliveries.len())]
pub struct NotQueued {
    /// The deliveries they were about.
    pub deliveries: Vec<DeliveryId>,
    /// Why, for the last of them.
    pub reason: String,
}

/// A stack's queue that cannot be found.
#[derive(Debug, thiserror::Error)]
#[error("the queue {name} cannot be found: {reason}")]
pub struct NoQueue {
    /// The queue's name.
    pub name: String,
    /// Why.
    pub reason: String,
}

/// The queue of deliveries.
#[derive(Clone, Debug)]
pub struct DeliveryQueue {
    sqs: Client,
    url: String,
}

impl DeliveryQueue {
    /// Calls at the same time.
    const AT_ONCE: usize = 16;
    /// How long a call of [`DeliveryQueue::enqueue`] may take in all.
    pub const PATIENCE: Duration = Duration::from_secs(5);
    /// Messages of one call, by SQS's limit.
    const BATCH: usize = 10;

    /// The queue of that URL.
    pub fn new(sqs: Client, url: impl Into<String>) -> Self {
        Self { sqs, url: url.into() }
    }

    /// The queue of the stack of that name, for tools: functions are told its URL.
    pub async fn of_stack(sqs: Client, stack: &str) -> Result<Self, NoQueue> {
        let name = format!("{stack}-webhook-deliveries");
        match sqs.get_queue_url().queue_name(&name).send().await {
            Ok(answer) => Ok(Self::new(sqs, answer.queue_url.unwrap_or_default())),
            Err(error) => Err(NoQueue { name, reason: causes(&error) }),
        }
    }

    /// Queues tasks, ten a call, some calls at the same time; a call that fails does not keep the next from being
    /// tried. Nobody waits longer than [`DeliveryQueue::PATIENCE`]: what was not taken by then (or was, without
    /// our knowing it) is not queued.
    pub async fn enqueue(&self, wakes: &[Wake]) -> Result<(), NotQueued> {
        let until = Instant::now() + Self::PATIENCE;
        let sends = wakes.chunks(Self::BATCH).map(async |batch| {
            let sent = timeout_at(until, self.send(batch)).await;
            sent.unwrap_or_else(|_| Err(none_of(batch, "no answer in time".to_owned())))
        });
        let mut sends = futures::stream::iter(sends).buffered(Self::AT_ONCE);
        let mut failed = none_of(&[], String::new());
        while let Some(sent) = sends.next().await {
            if let Err(some) = sent {
                failed.deliveries.extend(some.deliveries);
                failed.reason = some.reason;
            }
        }
        if failed.deliveries.is_empty() { Ok(()) } else { Err(failed) }
    }

    async fn send(&self, batch: &[Wake]) -> Result<(), NotQueued> {
        let none = |reason| none_of(batch, reason);
        let entries: Result<Vec<_>, _> = batch.iter().enumerate().map(entry).collect();
        let entries = entries.map_err(|error| none(causes(&error)))?;
        let call = self.sqs.send_message_batch().queue_url(&self.url).set_entries(Some(entries));
        let answer = call.send().await.map_err(|error| none(causes(&error)))?;
        let Some(last) = answer.failed.last() else { return Ok(()) };
        let wake = |id: &str| batch.get(id.parse::<usize>().ok()?);
        Err(NotQueued {
            deliveries: answer
                .failed
                .iter()
                .filter_map(|failed| Some(wake(&failed.id)?.task.delivery_id))
                .collect(),
            reason: last.code.clone(),
        })
    }
}

fn none_of(batch: &[Wake], reason: String) -> NotQueued {
    NotQueued { deliveries: batch.iter().map(|wake| wake.task.delivery_id).collect(), reason }
}

fn entry(
    (number, wake): (usize, &Wake),
) -> Result<SendMessageBatchRequestEntry, aws_sdk_sqs::error::BuildError> {
    SendMessageBatchRequestEntry::builder()
        .id(number.to_string())
        .message_body(wake.task.body())
        .message_group_id(wake.endpoint_id.to_string())
        .delay_seconds(wake.seconds())
        .build()
}

#[cfg(test)]
mod tests {
    use super::*;

    const BODY: &str = r#"{"workspaceId":"3f1b8a52-6d0e-4c7a-9b1f-2a5d8e4c7b90","deliveryId":"1d3f5a7b-9c1e-4d3f-a5b7-c9d1e3f5a7b9"}"#;

    #[test]
    fn a_task_reads_back_and_anything_else_is_refused() {
        assert_eq!(DeliveryTask::read(BODY).unwrap().body(), BODY);
        assert!(DeliveryTask::read(&BODY.replace('}', r#","later":1}"#)).is_ok());
        for wrong in ["", "null", "[]", "{}", "{\"workspaceId\":1}", &BODY.replace("3f1b", "3f1")] {
            assert_eq!(DeliveryTask::read(wrong), Err(Unreadable), "{wrong}");
        }
    }

    #[test]
    fn a_message_is_held_back_at_least_as_long_as_asked_and_at_most_15_minutes() {
        let endpoint_id = EndpointId::parse("1d3f5a7b-9c1e-4d3f-a5b7-c9d1e3f5a7b9").unwrap();
        let wake = |after| Wake { task: DeliveryTask::read(BODY).unwrap(), endpoint_id, after };
        for (millis, seconds) in [(0, 0), (1, 1), (5_000, 5), (5_001, 6), (900_000, 900), (900_001, 900)] {
            assert_eq!(wake(Duration::from_millis(millis)).seconds(), seconds);
        }
    }
}
