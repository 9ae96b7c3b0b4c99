//! A batch, step by step.

use std::collections::BTreeSet;
use std::time::Duration;

use aws_lambda_events::dynamodb::EventRecord;
use aws_lambda_events::streams::{DynamoDbBatchItemFailure, DynamoDbEventResponse};
use domain::{LaneId, Timestamp, Track, causes};
use futures::StreamExt;
use futures::future::join3;
use queue::Wake;
use runtime::metrics::Relayed;

use crate::change::{Asked, Change, Forgotten};
use crate::events::{Told, relay_events};
use crate::relay::{AT_ONCE, Relay};

/// Some records of a batch could not be relayed, and the answer does not name them. Why was logged.
#[derive(Debug, thiserror::Error)]
#[error("{records} of the records could not be relayed")]
pub struct NotRelayed {
    /// How many.
    pub records: usize,
}

/// The places in the batch of records that failed.
type Failed = BTreeSet<usize>;

pub(crate) async fn relay(
    relay: &Relay,
    records: &[EventRecord],
) -> Result<DynamoDbEventResponse, NotRelayed> {
    let counted = Relayed::default();
    let (asked, mut failed) = read(records);
    // A message to be sent does not wait for webhooks.
    let (unrelayed, kept, ()) = join3(
        relay_all(relay, &asked.changes, &counted),
        forget_all(relay, &asked.forgotten),
        wake_all(relay, &asked.lanes),
    )
    .await;
    failed.extend(unrelayed);
    failed.extend(kept);

    counted.records_not_relayed.add(failed.len());
    // Most records are of helper rows, which nobody waits for.
    if !failed.is_empty() || !asked.changes.is_empty() {
        counted.relay_lag.took(lag(relay, records));
    }
    relay.metrics.put((), &counted);
    answer(relay, records, &failed)
}

/// What the records ask for, and which of them cannot be read.
fn read(records: &[EventRecord]) -> (Asked, Failed) {
    let (mut asked, mut failed) = (Asked::default(), Failed::new());
    for (place, record) in records.iter().enumerate() {
        if let Err(error) = asked.add(place, record) {
            failed.insert(place);
            let sequence = sequence_number(record).unwrap_or_default();
            tracing::error!(sequence, cause = causes(&error), "stream record cannot be read");
        }
    }
    (asked, failed)
}

/// Relays the events of changes and queues the lanes of their deliveries; the records whose events failed.
async fn relay_all(relay: &Relay, changes: &[Change], counted: &Relayed) -> Failed {
    let Told { wakes, failed } = relay_events(relay, changes, counted).await;
    enqueue(relay, &wakes).await;
    let has_failed = |change: &&Change| failed.contains(&change.event.id);
    changes.iter().filter(has_failed).map(|change| change.record).collect()
}

/// Queues the lanes of conversations in which something is to be sent, and of leads that are to be written to.
async fn wake_all(relay: &Relay, lanes: &[LaneId]) {
    let wakes: Vec<Wake> = lanes.iter().map(|lane| Wake::now(*lane, Track::Fast)).collect();
    enqueue(relay, &wakes).await;
}

/// Queues lanes. What a queue does not take stands in a due index: the sweeper brings it.
async fn enqueue(relay: &Relay, wakes: &[Wake]) {
    if let Err(error) = relay.queues.enqueue(wakes).await {
        let (lanes, cause) = (error.lanes.len(), causes(&error));
        tracing::warn!(lanes, cause, "lanes not queued, left to the sweeper");
    }
}

/// Deletes the bytes of files that no message referred to in time; the records of those that could not be deleted.
async fn forget_all(relay: &Relay, forgotten: &[Forgotten]) -> Failed {
    let deletions = forgotten.iter().map(async |Forgotten { record, workspace, media }| {
        let deleted = relay.bucket.delete(*workspace, *media).await;
        let failed = deleted.inspect_err(|error| {
            tracing::error!(media = %media, workspace = %workspace, cause = causes(error), "file not deleted");
        });
        failed.is_err().then_some(*record)
    });
    let deletions: Vec<_> = futures::stream::iter(deletions).buffered(AT_ONCE).collect().await;
    deletions.into_iter().flatten().collect()
}

/// How long ago the oldest change of a batch was made.
fn lag(relay: &Relay, records: &[EventRecord]) -> Duration {
    let made = records.iter().map(|record| record.change.approximate_creation_date_time.timestamp_millis());
    let now = relay.store.now();
    made.min().map_or(Duration::ZERO, |oldest| now.since(Timestamp::from_millis(oldest)))
}

/// Names the records that failed: Lambda goes on from the first of them, and repeats none before it. A record without a
/// number cannot be named; then, as without partial answers, an error brings the whole batch again.
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
