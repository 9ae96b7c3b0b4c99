//! A queue: tasks in, ten a call.

use std::fmt::Debug;
use std::marker::PhantomData;
use std::time::Duration;

use aws_sdk_sqs::Client;
use aws_sdk_sqs::types::SendMessageBatchRequestEntry;
use domain::causes;
use futures::StreamExt;
use tokio::time::{Instant, timeout_at};
use uuid::Uuid;

/// What a message asks for. It names a row and nothing else: everything is read from there.
pub trait Task: Copy + Debug {
    /// The queue's name behind the stack's.
    const QUEUE: &'static str;

    /// The message's body.
    fn body(&self) -> String;
}

/// A task and when it is to arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wake<T> {
    /// The task.
    pub task: T,
    /// Whose turn it takes: the queue serves groups in turn, so that one with many messages does not keep the
    /// others waiting.
    pub group: Uuid,
    /// How long the message is held back, at most [`LONGEST_DELAY`].
    pub after: Duration,
}

/// SQS holds a message back for 15 minutes at most.
pub const LONGEST_DELAY: Duration = Duration::from_secs(900);

impl<T> Wake<T> {
    /// Whole seconds, rounded up: a message that comes too early would find nothing to do.
    fn seconds(&self) -> i32 {
        let seconds = self.after.min(LONGEST_DELAY).as_millis().div_ceil(1_000);
        i32::try_from(seconds).unwrap_or(i32::MAX)
    }
}

/// Messages that the queue did not take. Nothing is lost: what they are about stands in a due index.
#[derive(Debug, thiserror::Error)]
#[error("the queue did not take {} of the messages: {reason}", tasks.len())]
pub struct NotQueued<T: Debug> {
    /// What they asked for.
    pub tasks: Vec<T>,
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

/// The queue of one kind of task.
#[derive(Clone, Debug)]
pub struct Queue<T> {
    sqs: Client,
    url: String,
    tasks: PhantomData<fn(T)>,
}

/// Calls at the same time.
const AT_ONCE: usize = 16;
/// How long a call of [`Queue::enqueue`] may take in all.
pub const PATIENCE: Duration = Duration::from_secs(5);
/// Messages of one call, by SQS's limit.
const BATCH: usize = 10;

impl<T: Task> Queue<T> {
    /// The queue of that URL.
    pub fn new(sqs: Client, url: impl Into<String>) -> Self {
        Self { sqs, url: url.into(), tasks: PhantomData }
    }

    /// The queue of the stack of that name, for tools: functions are told its URL.
    pub async fn of_stack(sqs: Client, stack: &str) -> Result<Self, NoQueue> {
        let name = format!("{stack}-{}", T::QUEUE);
        match sqs.get_queue_url().queue_name(&name).send().await {
            Ok(answer) => Ok(Self::new(sqs, answer.queue_url.unwrap_or_default())),
            Err(error) => Err(NoQueue { name, reason: causes(&error) }),
        }
    }

    /// Queues tasks, ten a call, some calls at the same time; a call that fails does not keep the next from being
    /// tried. Nobody waits longer than [`PATIENCE`]: what was not taken by then (or was, without our knowing it)
    /// is not queued.
    pub async fn enqueue(&self, wakes: &[Wake<T>]) -> Result<(), NotQueued<T>> {
        let until = Instant::now() + PATIENCE;
        let sends = wakes.chunks(BATCH).map(async |batch| {
            let sent = timeout_at(until, self.send(batch)).await;
            sent.unwrap_or_else(|_| Err(none_of(batch, "no answer in time".to_owned())))
        });
        let mut sends = futures::stream::iter(sends).buffered(AT_ONCE);
        let mut failed = none_of(&[], String::new());
        while let Some(sent) = sends.next().await {
            if let Err(some) = sent {
                failed.tasks.extend(some.tasks);
                failed.reason = some.reason;
            }
        }
        if failed.tasks.is_empty() { Ok(()) } else { Err(failed) }
    }

    async fn send(&self, batch: &[Wake<T>]) -> Result<(), NotQueued<T>> {
        let none = |reason| none_of(batch, reason);
        let entries: Result<Vec<_>, _> = batch.iter().enumerate().map(entry).collect();
        let entries = entries.map_err(|error| none(causes(&error)))?;
        let call = self.sqs.send_message_batch().queue_url(&self.url).set_entries(Some(entries));
        let answer = call.send().await.map_err(|error| none(causes(&error)))?;
        let Some(last) = answer.failed.last() else { return Ok(()) };
        let wake = |id: &str| batch.get(id.parse::<usize>().ok()?);
        Err(NotQueued {
            tasks: answer.failed.iter().filter_map(|failed| Some(wake(&failed.id)?.task)).collect(),
            reason: last.code.clone(),
        })
    }
}

fn none_of<T: Task>(batch: &[Wake<T>], reason: String) -> NotQueued<T> {
    NotQueued { tasks: batch.iter().map(|wake| wake.task).collect(), reason }
}

fn entry<T: Task>(
    (number, wake): (usize, &Wake<T>),
) -> Result<SendMessageBatchRequestEntry, aws_sdk_sqs::error::BuildError> {
    SendMessageBatchRequestEntry::builder()
        .id(number.to_string())
        .message_body(wake.task.body())
        .message_group_id(wake.group.to_string())
        .delay_seconds(wake.seconds())
        .build()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_held_back_at_least_as_long_as_asked_and_at_most_15_minutes() {
        let wake = |after| Wake { task: (), group: Uuid::nil(), after };
        for (millis, seconds) in [(0, 0), (1, 1), (5_000, 5), (5_001, 6), (900_000, 900), (900_001, 900)] {
            assert_eq!(wake(Duration::from_millis(millis)).seconds(), seconds);
        }
    }
}
