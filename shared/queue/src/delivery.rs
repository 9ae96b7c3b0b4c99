//! "Look after delivery D."

use std::time::Duration;

use aws_lambda_events::sqs::SqsEvent;
use domain::gate::Lane;
use domain::{Delivery, DeliveryId, WorkspaceId};
use serde::{Deserialize, Serialize};

use crate::Unreadable;
use crate::queue::{NotQueued, Queue, Task, Wake};

/// A queue of deliveries.
pub type DeliveryQueue = Queue<DeliveryTask>;

/// The queues of deliveries: one for each lane, so that deliveries to slow receivers never stand before others.
#[derive(Clone, Debug)]
pub struct DeliveryQueues {
    /// Of the fast lane: where every delivery begins.
    pub fast: DeliveryQueue,
    /// Of the slow lane.
    pub slow: DeliveryQueue,
}

impl DeliveryQueues {
    /// What the name of the slow lane's queue ends with.
    const SLOW: &str = "-slow";

    /// The lane on which a batch came. All messages of a batch come from one queue.
    pub fn lane_of(event: &SqsEvent) -> Lane {
        let from = event.records.first().and_then(|message| message.event_source_arn.as_deref());
        if from.is_some_and(|arn| arn.ends_with(Self::SLOW)) { Lane::Slow } else { Lane::Fast }
    }

    /// Queues tasks on a lane ([`Queue::enqueue`]).
    pub async fn enqueue(
        &self,
        lane: Lane,
        wakes: &[Wake<DeliveryTask>],
    ) -> Result<(), NotQueued<DeliveryTask>> {
        match lane {
            Lane::Fast => self.fast.enqueue(wakes).await,
            Lane::Slow => self.slow.enqueue(wakes).await,
        }
    }
}

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

    /// The delivery's task, to be looked after when so much time has passed, in its endpoint's turn.
    pub fn of(delivery: &Delivery, after: Duration) -> Wake<Self> {
        let task = Self { workspace_id: delivery.workspace_id, delivery_id: delivery.id };
        Wake { task, group: *delivery.endpoint_id.as_uuid(), after }
    }
}

impl Task for DeliveryTask {
    const QUEUE: &'static str = "webhook-deliveries";

    fn body(&self) -> String {
        let Self { workspace_id, delivery_id } = self;
        format!(r#"{{"workspaceId":"{workspace_id}","deliveryId":"{delivery_id}"}}"#)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BODY: &str = r#"{"workspaceId":"3f1b8a52-6d0e-4c7a-9b1f-2a5d8e4c7b90","deliveryId":"1d3f5a7b-9c1e-4d3f-a5b7-c9d1e3f5a7b9"}"#;

    #[test]
    fn the_lane_of_a_batch_is_told_by_its_queue() {
        let of = |arn: &str| {
            let event = serde_json::json!({ "Records": [{ "eventSourceARN": arn }] });
            DeliveryQueues::lane_of(&serde_json::from_value(event).unwrap())
        };
        assert_eq!(of("arn:aws:sqs:eu-west-1:123456789012:messaging-webhook-deliveries"), Lane::Fast);
        assert_eq!(of("arn:aws:sqs:eu-west-1:123456789012:messaging-webhook-deliveries-slow"), Lane::Slow);
        assert_eq!(of("arn:aws:sqs:eu-west-1:123456789012:a-slow-webhook-deliveries"), Lane::Fast);
        assert_eq!(DeliveryQueues::lane_of(&SqsEvent::default()), Lane::Fast);
    }

    #[test]
    fn a_task_reads_back_and_anything_else_is_refused() {
        assert_eq!(DeliveryTask::read(BODY).unwrap().body(), BODY);
        assert!(DeliveryTask::read(&BODY.replace('}', r#","later":1}"#)).is_ok());
        for wrong in ["", "null", "[]", "{}", "{\"workspaceId\":1}", &BODY.replace("3f1b", "3f1")] {
            assert_eq!(DeliveryTask::read(wrong), Err(Unreadable), "{wrong}");
        }
    }
}
