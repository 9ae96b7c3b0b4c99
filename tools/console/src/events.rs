//! `console events ...`

mod list;

use std::sync::Arc;

use aws_lambda_events::dynamodb::Event as StreamEvent;
use clap::{Args, Subcommand};
use event_relay::Relay;
use runtime::{Metrics, SystemClock};
use serde::Deserialize;
use serde_json::Value;
use store::{Failure, FailureBucket};

use crate::beside::Buckets;
use crate::jobs::FIRST_DUE;
use crate::output::Output;
use crate::view::View;
use crate::{Console, Refusal, Result};
use list::{List, OneEvent};

#[derive(Subcommand)]
pub(crate) enum Verb {
    /// List the events of a workspace, newest first, with their deliveries.
    ///
    /// An event is recorded if an enabled endpoint subscribes to it, and kept for 30 days, unless the deployment sets
    /// EventRetentionDays.
    List(List),
    /// Show an event: its deliveries and its body, as the receivers get it.
    Show(OneEvent),
    /// Relay the stream records that the relay could not process: Lambda gave them up and left them in the failure bucket.
    ///
    /// The command covers all workspaces, oldest records first, and uses the relay's own code. It deletes an object when
    /// all its records are relayed. It recognizes a record that was relayed before, so you can interrupt and repeat it.
    Redrive(Redrive),
}

#[derive(Args)]
pub(crate) struct Redrive {
    #[command(flatten)]
    which: Which,
    /// Only list the objects.
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    buckets: Buckets,
}

#[derive(Args)]
#[group(required = true, multiple = false)]
struct Which {
    /// Only objects whose keys begin with this: aws/lambda/<event source mapping>/<shard>/<year>/<month>/<day>/
    #[arg(long)]
    prefix: Option<String>,
    /// Everything in the bucket.
    #[arg(long)]
    all: bool,
}

impl Verb {
    pub(crate) async fn run(self, console: &Console, output: &mut Output<'_>) -> Result {
        match self {
            Self::List(wanted) => wanted.run(console, output).await,
            Self::Show(one) => one.show(console, output).await,
            Self::Redrive(wanted) => wanted.run(console, output).await,
        }
    }
}

impl Redrive {
    async fn run(self, console: &Console, output: &mut Output<'_>) -> Result {
        let beside = console.beside.known(self.buckets).await?;
        let bucket = &beside.failures;
        let mut failures = bucket.list(self.which.prefix.as_deref().unwrap_or_default()).await?;
        failures.sort_by(|a, b| (a.at, &a.key).cmp(&(b.at, &b.key)));
        let relay = Relay {
            store: console.store.clone(),
            queues: beside.queues.clone(),
            bucket: beside.media.clone(),
            rescue: FIRST_DUE,
            partial: false,
            // Standard output is only for the command's result, and alarms are only for the deployed functions. The
            // metrics of this relay are therefore not written.
            metrics: Metrics::kept(Arc::new(SystemClock)).0,
        };
        let relay = (!self.dry_run).then_some(&relay);
        let mut done = vec![];
        for failure in failures {
            done.push(redrive(relay, bucket, failure).await?);
        }
        let failed = done.iter().filter(|object| object.reason.is_some()).count();
        output.list(done.iter().map(view))?;
        if failed == 0 { Ok(()) } else { Err(Refusal::NotRelayed { failed, of: done.len() }) }
    }
}

/// Processes one object: reads it, relays its records, then deletes it. Without a relay it only reads it.
async fn redrive(relay: Option<&Relay>, bucket: &FailureBucket, object: Failure) -> Result<Redriven> {
    let (mut records, mut relayed) = (0, false);
    let reason = match bucket.read(&object.key).await?.map(|bytes| batch_in(&bytes)) {
        None => Some("the object no longer exists: another command is relaying the same objects".to_owned()),
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

/// An object of the failure bucket, and what became of it.
struct Redriven {
    object: Failure,
    records: usize,
    /// Whether all its records were relayed and the object was deleted.
    relayed: bool,
    /// Why the object stays in the bucket.
    reason: Option<String>,
}

fn view(of: &Redriven) -> View {
    View::new()
        .text("at", "written", of.object.at)
        .value("records", "records", of.records)
        .value("relayed", "relayed", of.relayed)
        .value("reason", "reason", of.reason.clone())
        .text("object", "object", &of.object.key)
}
