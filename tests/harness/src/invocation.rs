//! Invocations of functions that a queue wakes.

use std::time::Duration;

use aws_lambda_events::sqs::{SqsBatchResponse, SqsEvent};
use domain::Timestamp;
use lambda_runtime::{Context, LambdaEvent};

use crate::queue_fixture;

/// An invocation that may run for so long from now on.
pub fn context(now: Timestamp, timeout: Duration) -> Context {
    let mut context = Context::default();
    context.deadline = u64::try_from(now.plus(timeout).as_millis()).expect("a moment after 1970");
    context
}

/// The event of a file of `events/` with these messages in place of its own, numbered from 0.
pub fn queue_event(name: &str, bodies: &[String], context: Context) -> LambdaEvent<SqsEvent> {
    let event = serde_json::from_value(queue_fixture(name, bodies)).expect("an event of a queue");
    LambdaEvent::new(event, context)
}

/// The numbers of the messages that are to come again.
pub fn failed_messages(response: SqsBatchResponse) -> Vec<String> {
    response.batch_item_failures.into_iter().map(|failure| failure.item_identifier).collect()
}
