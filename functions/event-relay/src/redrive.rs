//! Relays again what Lambda gave up: objects of the failure bucket.

use std::time::Duration;

use aws_lambda_events::dynamodb::Event as StreamEvent;
use domain::error_chain;
use serde::Deserialize;
use serde_json::Value;
use store::{Failure, FailureBucket, StoreError};
use tokio::time::Instant;

use crate::Relay;

/// An object of the failure bucket, and what became of it.
#[derive(Debug)]
pub struct Redriven {
    /// The object.
    pub object: Failure,
    /// The number of its records.
    pub records: usize,
    /// Whether all its records were relayed and the object was deleted.
    pub relayed: bool,
    /// Why the object stays in the bucket.
    pub reason: Option<String>,
}

/// Relays the records of an object, and deletes it if all were relayed. Without a relay, it only reads the object. The relay
/// recognizes a record that was relayed before. It must return an error for a failed batch ([`Relay::partial`]).
pub async fn redrive(
    relay: Option<&Relay>,
    bucket: &FailureBucket,
    object: Failure,
) -> Result<Redriven, StoreError> {
    let (mut records, mut relayed) = (0, false);
    let reason = match bucket.read(&object.key).await?.map(|bytes| batch_in(&bytes)) {
        None => Some("the object no longer exists: another process is relaying the same objects".to_owned()),
        Some(Err(error)) => Some(format!("the object cannot be read: {error}")),
        Some(Ok(batch)) => {
            records = batch.records.len();
            match relay {
                None => None,
                Some(relay) => match relay.handle(batch).await {
                    Err(error) => Some(error.to_string()),
                    Ok(_) => {
                        bucket.delete(&object.key).await?;
                        relayed = true;
                        None
                    }
                },
            }
        }
    };
    Ok(Redriven { object, records, relayed, reason })
}

/// Extracts the batch from the object that Lambda writes: `{requestContext, responseContext, DDBStreamBatchInfo, ...,
/// payload}`. The payload is the relay's event, as JSON or as a string of JSON.
fn batch_in(bytes: &[u8]) -> Result<StreamEvent, serde_json::Error> {
    match serde_json::from_slice(bytes)? {
        Invocation { payload: Value::String(text) } => serde_json::from_str(&text),
        Invocation { payload } => serde_json::from_value(payload),
    }
}

#[derive(Deserialize)]
struct Invocation {
    payload: Value,
}

/// The objects of the bucket, oldest first.
pub async fn oldest_first(bucket: &FailureBucket, prefix: &str) -> Result<Vec<Failure>, StoreError> {
    let mut failures = bucket.list(prefix).await?;
    failures.sort_by(|a, b| (a.at, &a.key).cmp(&(b.at, &b.key)));
    Ok(failures)
}

/// What the schedule of the function relays: all records in the failure bucket, again and again.
pub struct Redriver {
    /// The relay. Its alarms are about the streams, so its metrics are not written.
    pub relay: Relay,
    /// The failure bucket.
    pub failures: FailureBucket,
    /// How long a run begins objects. The next run takes the rest.
    pub budget: Duration,
}

impl Redriver {
    /// How long a run begins objects: the time-out of the function less the longest relay of one.
    pub const BUDGET: Duration = Duration::from_secs(45);

    /// Relays the objects, oldest first. An object that stays does not stop those after it. Returns the number of objects
    /// that were relayed, and of those that stay.
    pub async fn run(&self) -> Result<(usize, usize), StoreError> {
        let until = Instant::now() + self.budget;
        let (mut relayed, mut staying) = (0, 0);
        for object in oldest_first(&self.failures, FailureBucket::RECORDS).await? {
            if Instant::now() > until {
                tracing::warn!("time is up, the rest of the failure bucket is left to the next run");
                break;
            }
            let key = object.key.clone();
            let reason = match redrive(Some(&self.relay), &self.failures, object).await {
                Ok(Redriven { relayed: true, .. }) => {
                    relayed += 1;
                    continue;
                }
                Ok(Redriven { reason, .. }) => reason.unwrap_or_default(),
                Err(error) => error_chain(&error),
            };
            staying += 1;
            tracing::warn!(object = key, reason, "object stays in the failure bucket");
        }
        if relayed > 0 {
            tracing::info!(relayed, staying, "failure bucket redriven");
        }
        Ok((relayed, staying))
    }
}
