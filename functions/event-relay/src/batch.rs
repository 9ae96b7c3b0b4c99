//! Processes a batch step by step.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::time::Duration;

use aws_lambda_events::dynamodb::EventRecord;
use aws_lambda_events::streams::{DynamoDbBatchItemFailure, DynamoDbEventResponse};
use domain::usage::Tally;
use domain::{LaneId, Timestamp, Track, error_chain};
use futures::StreamExt;
use futures::future::{join, join3};
use queue::Wake;
use runtime::metrics::Relayed;
use store::StoreError;
use tokio::time::{Instant, sleep};

use crate::change::{BatchWork, EventChange, Followed, Forgotten};
use crate::events::{RelayResult, relay_events};
use crate::platform::of_platform;
use crate::relay::{AT_ONCE, Relay};

/// Some records of a batch could not be relayed, and the answer does not name them. The causes are logged.
#[derive(Debug, thiserror::Error)]
#[error("{records} of the records could not be relayed")]
pub struct NotRelayed {
    /// The number of failed records.
    pub records: usize,
}

/// The pause before the first new try of failed records; each later one is twice as long.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// The longest pause.
const LONGEST_PAUSE: Duration = Duration::from_secs(8);

/// The positions of the failed records in the batch.
type Failed = BTreeSet<usize>;

pub(crate) async fn relay(
    relay: &Relay,
    records: &[EventRecord],
) -> Result<DynamoDbEventResponse, NotRelayed> {
    let counted = Relayed::default();
    let (work, mut failed) = read(records);
    // Most records are of helper rows, for which no lag is measured.
    let is_measured = !failed.is_empty() || !work.changes.is_empty() || !work.of_platform.is_empty();
    // The function does these at the same time, so that queuing a message does not wait for webhooks.
    let ((unrelayed, usage), ()) = join(try_all(relay, &work, &counted), wake_all(relay, &work.lanes)).await;
    failed.extend(unrelayed);
    relay.store.count_usage(&usage).await;

    counted.records_not_relayed.add(failed.len());
    if is_measured || !failed.is_empty() {
        counted.relay_lag.took(lag(relay, records));
    }
    relay.metrics.put((), &counted);
    answer(relay, records, &failed)
}

/// Relays changes, lets leads follow their messages and deletes files, and tries those that fail again, with growing pauses.
/// Returns the records that failed to the end. A record that cannot be read is not among them: waiting does not help it, and
/// it must use up its tries soon, because it blocks the records behind it. Also returns the usage that the relayed changes are.
async fn try_all(relay: &Relay, work: &BatchWork, counted: &Relayed) -> (Failed, Tally) {
    let until = Instant::now() + relay.waits;
    let mut usage = Tally::default();
    let (mut failed, mut pause) = (try_once(relay, work, counted, &mut usage).await, FIRST_PAUSE);
    while !failed.is_empty() {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            break;
        }
        sleep(pause.min(left)).await;
        pause = LONGEST_PAUSE.min(pause * 2);
        failed = try_once(relay, &work.of_records(&failed), counted, &mut usage).await;
    }
    (failed, usage)
}

async fn try_once(relay: &Relay, work: &BatchWork, counted: &Relayed, usage: &mut Tally) -> Failed {
    let BatchWork { forgotten, followed, .. } = work;
    let events = relay_all(relay, work, counted, usage);
    let (mut failed, kept, behind) =
        join3(events, forget_all(relay, forgotten), follow_all(relay, followed)).await;
    failed.extend(kept);
    failed.extend(behind);
    failed
}

/// Reads the work that the records ask for, and which records cannot be read.
fn read(records: &[EventRecord]) -> (BatchWork, Failed) {
    let (mut work, mut failed) = (BatchWork::default(), Failed::new());
    for (place, record) in records.iter().enumerate() {
        if let Err(error) = work.add(place, record) {
            failed.insert(place);
            let sequence = sequence_number(record).unwrap_or_default();
            tracing::error!(sequence, cause = error_chain(&error), "stream record cannot be read");
        }
    }
    (work, failed)
}

/// Relays the events of changes, queues the lanes of their deliveries and counts the changes. Returns the records whose events
/// failed.
async fn relay_all(relay: &Relay, work: &BatchWork, counted: &Relayed, usage: &mut Tally) -> Failed {
    let (told, unread) = of_platform(&relay.store, &work.of_platform).await;
    let changes: Cow<'_, [EventChange]> =
        if told.is_empty() { (&work.changes).into() } else { [work.changes.clone(), told].concat().into() };
    let RelayResult { wakes, failed } = relay_events(relay, &changes, counted).await;
    enqueue(relay, &wakes).await;
    let (lost, relayed): (Vec<_>, Vec<_>) =
        changes.iter().partition(|change| failed.contains(&change.event.id));
    for change in relayed {
        usage.add(change.event.workspace_id, change.event.at, change.usage());
    }
    lost.into_iter().map(|change| change.record).chain(unread).collect()
}

/// Queues the lanes of conversations and leads that have a message to send.
async fn wake_all(relay: &Relay, lanes: &[LaneId]) {
    let wakes: Vec<Wake> = lanes.iter().map(|lane| Wake::now(*lane, Track::Fast)).collect();
    enqueue(relay, &wakes).await;
}

/// Queues lanes. If a queue refuses a lane, the lane is still in a due index, and the sweeper queues it.
async fn enqueue(relay: &Relay, wakes: &[Wake]) {
    if let Err(error) = relay.queues.enqueue(wakes).await {
        let (lanes, cause) = (error.lanes.len(), error_chain(&error));
        tracing::warn!(lanes, cause, "lanes not queued, left to the sweeper");
    }
}

/// Deletes the bytes of files that no message referred to in time. A customer's file that came again has a row again,
/// and keeps its bytes. Returns the records of files that could not be deleted.
async fn forget_all(relay: &Relay, forgotten: &[Forgotten]) -> Failed {
    let deletions = forgotten.iter().map(async |Forgotten { record, workspace, media }| {
        let deleted = async {
            match relay.store.media_of(*workspace, *media).await? {
                Some(_) => Ok(()),
                None => relay.bucket.delete(*workspace, *media).await,
            }
        };
        let deleted: Result<(), StoreError> = deleted.await;
        let failed = deleted.inspect_err(|error| {
            tracing::error!(media = %media, workspace = %workspace, cause = error_chain(error), "file not deleted");
        });
        failed.is_err().then_some(*record)
    });
    failed_of(deletions).await
}

/// Lets the leads of these messages follow them. Returns the records whose leads could not be written.
async fn follow_all(relay: &Relay, followed: &[Followed]) -> Failed {
    let writes = followed.iter().map(async |Followed { record, message }| {
        let failed = relay.store.follow_message(message).await.inspect_err(|error| {
            let (workspace, id) = (message.workspace_id, message.id);
            let cause = error_chain(error);
            tracing::error!(workspace = %workspace, messageId = %id, cause, "lead does not follow its message");
        });
        failed.is_err().then_some(*record)
    });
    failed_of(writes).await
}

/// Does this work, some of it at the same time. Each piece returns its record if it failed.
async fn failed_of(work: impl Iterator<Item = impl Future<Output = Option<usize>>>) -> Failed {
    let done: Vec<_> = futures::stream::iter(work).buffered(AT_ONCE).collect().await;
    done.into_iter().flatten().collect()
}

/// The age of the oldest change of a batch.
fn lag(relay: &Relay, records: &[EventRecord]) -> Duration {
    let made = records.iter().map(|record| record.change.approximate_creation_date_time.timestamp_millis());
    let now = relay.store.now();
    made.min().map_or(Duration::ZERO, |oldest| now.since(Timestamp::from_millis(oldest)))
}

/// Names the records that failed: Lambda continues from the first of them and repeats no record before it. A record
/// without a sequence number cannot be named. In that case, or without partial answers, the function returns an
/// error, and Lambda repeats the whole batch.
fn answer(
    relay: &Relay,
    records: &[EventRecord],
    failed: &Failed,
) -> Result<DynamoDbEventResponse, NotRelayed> {
    let mut answer = DynamoDbEventResponse::default();
    for record in failed.iter().filter_map(|place| records.get(*place)) {
        let number = sequence_number(record).filter(|_| relay.partial);
        let number = number.ok_or(NotRelayed { records: failed.len() })?;
        let mut failure = DynamoDbBatchItemFailure::default();
        failure.item_identifier = Some(number.to_owned());
        answer.batch_item_failures.push(failure);
    }
    Ok(answer)
}

fn sequence_number(record: &EventRecord) -> Option<&str> {
    record.change.sequence_number.as_deref().filter(|number| !number.is_empty())
}
