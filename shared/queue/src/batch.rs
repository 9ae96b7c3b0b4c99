//! Processes a batch of queue messages: all at the same time, each with its own outcome.

use domain::error_chain;
use std::error::Error;
use std::panic::AssertUnwindSafe;

use aws_lambda_events::sqs::{SqsBatchResponse, SqsEvent, SqsMessage};
use futures::FutureExt;
use futures::future::join_all;

use crate::Unreadable;

/// The outcome of a message.
#[derive(Debug)]
pub enum Outcome {
    /// The work is done, or was done before.
    Done,
    /// The work can never be done, for this reason. The message is deleted from the queue.
    Dropped(&'static str),
    /// The work cannot be done now. SQS delivers the message again, and after several failures moves it to
    /// the dead-letter queue.
    Retry(Box<dyn Error + Send + Sync>),
}

/// Processes all messages of a batch at the same time and returns those that SQS must deliver again. A
/// message that cannot be read, or whose work panics, does not affect the others.
pub async fn process_batch<T>(
    event: SqsEvent,
    read: impl Fn(&str) -> Result<T, Unreadable>,
    work: impl AsyncFn(T) -> Outcome,
) -> SqsBatchResponse {
    process_counted(event, read, async |task, _| work(task).await).await
}

/// The same for work that depends on how often the queue has delivered the message, this time included.
pub async fn process_counted<T>(
    event: SqsEvent,
    read: impl Fn(&str) -> Result<T, Unreadable>,
    work: impl AsyncFn(T, u32) -> Outcome,
) -> SqsBatchResponse {
    let (read, work) = (&read, &work);
    let outcomes = join_all(event.records.iter().map(async |message| {
        match read(message.body.as_deref().unwrap_or_default()) {
            // The sender made a mistake: the message stays in the queue and ends in the dead-letter queue.
            Err(unreadable) => Outcome::Retry(unreadable.into()),
            Ok(task) => caught(work(task, receives(message))).await,
        }
    }))
    .await;
    let mut response = SqsBatchResponse::default();
    for (message, outcome) in event.records.iter().zip(outcomes) {
        if log_and_must_retry(message, outcome) {
            response.add_failure(message.message_id.clone().unwrap_or_default());
        }
    }
    response
}

/// The outcome of work. A panic is a failure like another one.
pub async fn caught(work: impl Future<Output = Outcome>) -> Outcome {
    let outcome = AssertUnwindSafe(work).catch_unwind().await;
    outcome.unwrap_or_else(|_| Outcome::Retry("the work panicked".into()))
}

/// How often the queue has delivered the message. A message without the count counts as delivered for the first time.
fn receives(message: &SqsMessage) -> u32 {
    let count = message.attributes.get("ApproximateReceiveCount").and_then(|count| count.parse().ok());
    count.unwrap_or(1)
}

/// Logs a message's failure once. Returns whether SQS must deliver the message again.
fn log_and_must_retry(message: &SqsMessage, outcome: Outcome) -> bool {
    let id = message.message_id.as_deref().unwrap_or_default();
    match outcome {
        Outcome::Done => false,
        Outcome::Dropped(reason) => {
            tracing::warn!(queueMessage = id, reason, "message dropped");
            false
        }
        Outcome::Retry(cause) => {
            tracing::error!(queueMessage = id, cause = error_chain(&*cause), "message will be retried");
            true
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(bodies: &[&str]) -> SqsEvent {
        let records = bodies.iter().enumerate().map(|(number, body)| {
            let mut message = SqsMessage::default();
            message.message_id = Some(number.to_string());
            message.body = Some((*body).to_owned());
            message
        });
        let mut event = SqsEvent::default();
        event.records = records.collect();
        event
    }

    fn read(body: &str) -> Result<String, Unreadable> {
        if body == "poison" { Err(Unreadable) } else { Ok(body.to_owned()) }
    }

    async fn work(task: String) -> Outcome {
        match task.as_str() {
            "panic" => panic!("as asked"),
            "later" => Outcome::Retry("not now".into()),
            "never" => Outcome::Dropped("asks for nothing"),
            _ => Outcome::Done,
        }
    }

    #[tokio::test]
    async fn only_messages_that_fail_or_cannot_be_read_are_delivered_again() {
        let bodies = ["done", "poison", "later", "never", "panic", "done"];
        let response = process_batch(event(&bodies), read, work).await;
        let failed: Vec<&str> =
            response.batch_item_failures.iter().map(|failure| failure.item_identifier.as_str()).collect();
        assert_eq!(failed, ["1", "2", "4"]);
        assert!(process_batch(event(&[]), read, work).await.batch_item_failures.is_empty());
    }

    #[tokio::test]
    async fn messages_are_processed_at_the_same_time() {
        let meeting = tokio::sync::Barrier::new(3);
        let meet = async |_| {
            meeting.wait().await;
            Outcome::Done
        };
        assert!(process_batch(event(&["a", "b", "c"]), read, meet).await.batch_item_failures.is_empty());
    }
}
