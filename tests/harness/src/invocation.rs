//! Invocations of functions that process a queue.

use std::time::Duration;

use aws_lambda_events::sqs::{SqsBatchResponse, SqsEvent};
use domain::Timestamp;
use lambda_runtime::{Context, LambdaEvent};

use crate::queue_fixture;

/// The context of an invocation that starts at `now` and has `timeout` left.
pub fn context(now: Timestamp, timeout: Duration) -> Context {
    let mut context = Context::default();
    context.deadline = u64::try_from(now.plus(timeout).as_millis()).expect("a time after 1970");
    context
}

/// The queue event in a file of `events/` with its messages replaced by these bodies. The message ids count from 0.
pub fn sqs_event(name: &str, bodies: &[String]) -> SqsEvent {
    serde_json::from_value(queue_fixture(name, bodies)).expect("an SQS event")
}

/// The same if the queue delivers the messages for this time.
pub fn sqs_event_again(name: &str, bodies: &[String], receives: u32) -> SqsEvent {
    let mut event = sqs_event(name, bodies);
    for message in &mut event.records {
        message.attributes.insert("ApproximateReceiveCount".to_owned(), receives.to_string());
    }
    event
}

/// An event in an invocation.
pub fn queue_event(name: &str, bodies: &[String], context: Context) -> LambdaEvent<SqsEvent> {
    LambdaEvent::new(sqs_event(name, bodies), context)
}

/// The ids of the messages that the response reports as failed, and that SQS delivers again.
pub fn failed_messages(response: SqsBatchResponse) -> Vec<String> {
    response.batch_item_failures.into_iter().map(|failure| failure.item_identifier).collect()
}
