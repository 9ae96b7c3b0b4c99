//! The queues: sends messages that name lanes, ten a call.

use std::time::Duration;

use aws_sdk_sqs::Client;
use aws_sdk_sqs::types::SendMessageBatchRequestEntry;
use domain::{LaneId, LaneKind, Rest, Track, error_chain};
use futures::StreamExt;
use futures::future::join_all;
use tokio::time::{Instant, timeout_at};

use crate::task::{Wake, body, queue_name};

/// The longest delay of a message: 15 minutes, SQS's limit.
pub const LONGEST_DELAY: Duration = Rest::LONGEST_DELAY;

impl Wake {
    /// The delay in whole seconds, rounded up: a message that arrives too early would find no work.
    fn seconds(&self) -> i32 {
        let seconds = self.after.min(LONGEST_DELAY).as_millis().div_ceil(1_000);
        i32::try_from(seconds).unwrap_or(i32::MAX)
    }
}

/// Messages that a queue did not accept. No work is lost, because their lanes are in a due index.
#[derive(Debug, thiserror::Error)]
#[error("the queue did not take {} of the messages: {reason}", lanes.len())]
pub struct NotQueued {
    /// The lanes that the messages named.
    pub lanes: Vec<LaneId>,
    /// The reason, for the last of them.
    pub reason: String,
}

/// A stack's queue cannot be found.
#[derive(Debug, thiserror::Error)]
#[error("the queue {name} cannot be found: {reason}")]
pub struct NoQueue {
    /// The queue's name.
    pub name: String,
    /// The error of SQS.
    pub reason: String,
}

/// The queues of a process. Each serves one kind of lanes; webhook lanes have two queues.
#[derive(Clone, Debug, Default)]
pub struct Queues(Vec<(LaneKind, Track, Queue)>);

#[derive(Clone, Debug)]
struct Queue {
    sqs: Client,
    url: String,
}

/// The number of calls to a queue at the same time.
const AT_ONCE: usize = 16;
/// The time limit of [`Queues::enqueue`] in all.
pub const TIME_LIMIT: Duration = Duration::from_secs(5);
/// The number of messages in one call: SQS's limit.
const BATCH: usize = 10;

impl Queues {
    /// Adds the queue with this URL for lanes of a kind.
    pub fn with(self, kind: LaneKind, sqs: Client, url: impl Into<String>) -> Self {
        self.with_track(kind, Track::Fast, sqs, url)
    }

    /// Adds both queues of webhook lanes.
    pub fn with_webhooks(self, sqs: Client, fast: impl Into<String>, slow: impl Into<String>) -> Self {
        self.with_track(LaneKind::Webhook, Track::Fast, sqs.clone(), fast).with_track(
            LaneKind::Webhook,
            Track::Slow,
            sqs,
            slow,
        )
    }

    fn with_track(mut self, kind: LaneKind, track: Track, sqs: Client, url: impl Into<String>) -> Self {
        self.0.push((kind, track, Queue { sqs, url: url.into() }));
        self
    }

    /// The queues of webhook lanes of the stack with this name. It is for tools; functions get URLs.
    pub async fn webhooks_of_stack(sqs: Client, stack: &str) -> Result<Self, NoQueue> {
        let url = async |track| {
            let name = format!("{stack}-{}", queue_name(LaneKind::Webhook, track));
            match sqs.get_queue_url().queue_name(&name).send().await {
                Ok(answer) => Ok(answer.queue_url.unwrap_or_default()),
                Err(error) => Err(NoQueue { name, reason: error_chain(&error) }),
            }
        };
        let (fast, slow) = futures::future::try_join(url(Track::Fast), url(Track::Slow)).await?;
        Ok(Self::default().with_webhooks(sqs, fast, slow))
    }

    /// Queues lanes, ten a call, several calls at the same time. If a call fails, the others are still tried.
    /// The time limit is [`TIME_LIMIT`]. A message that was not accepted by then counts as not queued, even if
    /// SQS did accept it.
    pub async fn enqueue(&self, wakes: &[Wake]) -> Result<(), NotQueued> {
        let mut left = NotQueued { lanes: vec![], reason: String::new() };
        let of = |wake: &Wake| (wake.lane.kind(), wake.track);
        let sends = self.0.iter().map(async |(kind, track, queue)| {
            let wakes: Vec<Wake> = wakes.iter().filter(|wake| of(wake) == (*kind, *track)).copied().collect();
            if wakes.is_empty() { Ok(()) } else { queue.enqueue(&wakes).await }
        });
        for sent in join_all(sends).await {
            if let Err(some) = sent {
                left.lanes.extend(some.lanes);
                left.reason = some.reason;
            }
        }
        let has_queue = |wake: &&Wake| self.0.iter().any(|(kind, track, _)| (*kind, *track) == of(wake));
        let without: Vec<LaneId> =
            wakes.iter().filter(|wake| !has_queue(wake)).map(|wake| wake.lane).collect();
        if !without.is_empty() {
            left.lanes.extend(without);
            left.reason = "this process knows no queue for them".to_owned();
        }
        if left.lanes.is_empty() { Ok(()) } else { Err(left) }
    }
}

impl Queue {
    async fn enqueue(&self, wakes: &[Wake]) -> Result<(), NotQueued> {
        let until = Instant::now() + TIME_LIMIT;
        // A vector, because a stream that makes its futures lazily is not `Send` to the compiler.
        let sends: Vec<_> = wakes.chunks(BATCH).map(|batch| self.send_until(until, batch)).collect();
        let mut sends = futures::stream::iter(sends).buffered(AT_ONCE);
        let mut failed = not_queued(&[], String::new());
        while let Some(sent) = sends.next().await {
            if let Err(some) = sent {
                failed.lanes.extend(some.lanes);
                failed.reason = some.reason;
            }
        }
        if failed.lanes.is_empty() { Ok(()) } else { Err(failed) }
    }

    async fn send_until(&self, until: Instant, batch: &[Wake]) -> Result<(), NotQueued> {
        let sent = timeout_at(until, self.send(batch)).await;
        sent.unwrap_or_else(|_| Err(not_queued(batch, "no answer in time".to_owned())))
    }

    async fn send(&self, batch: &[Wake]) -> Result<(), NotQueued> {
        let none = |reason| not_queued(batch, reason);
        let entries: Result<Vec<_>, _> = batch.iter().enumerate().map(entry).collect();
        let entries = entries.map_err(|error| none(error_chain(&error)))?;
        let call = self.sqs.send_message_batch().queue_url(&self.url).set_entries(Some(entries));
        let answer = call.send().await.map_err(|error| none(error_chain(&error)))?;
        let Some(last) = answer.failed.last() else { return Ok(()) };
        let wake = |id: &str| batch.get(id.parse::<usize>().ok()?);
        Err(NotQueued {
            lanes: answer.failed.iter().filter_map(|failed| Some(wake(&failed.id)?.lane)).collect(),
            reason: last.code.clone(),
        })
    }
}

fn not_queued(batch: &[Wake], reason: String) -> NotQueued {
    NotQueued { lanes: batch.iter().map(|wake| wake.lane).collect(), reason }
}

fn entry(
    (number, wake): (usize, &Wake),
) -> Result<SendMessageBatchRequestEntry, aws_sdk_sqs::error::BuildError> {
    SendMessageBatchRequestEntry::builder()
        .id(number.to_string())
        .message_body(body(&wake.lane))
        .message_group_id(wake.lane.group().to_string())
        .delay_seconds(wake.seconds())
        .build()
}

#[cfg(test)]
mod tests {
    use domain::{LeadId, WorkspaceId};
    use uuid::Uuid;

    use super::*;

    #[test]
    fn a_message_is_delayed_at_least_as_long_as_requested_and_at_most_15_minutes() {
        let id = Uuid::nil();
        let lane = LaneId::Lead(WorkspaceId::from_uuid(id), LeadId::from_uuid(id));
        let wake = |after| Wake { after, ..Wake::now(lane, Track::Fast) };
        for (millis, seconds) in [(0, 0), (1, 1), (5_000, 5), (5_001, 6), (900_000, 900), (900_001, 900)] {
            assert_eq!(wake(Duration::from_millis(millis)).seconds(), seconds);
        }
    }
}
