//! `console events ...`

mod list;

use std::sync::Arc;
use std::time::Duration;

use clap::{Args, Subcommand};
use event_relay::{Redriven, Relay, oldest_first, redrive};
use runtime::{Metrics, SystemClock};
use store::FailureBucket;

use crate::beside::Buckets;
use crate::console::FIRST_DUE;
use crate::output::{Output, Report};
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
    /// The deployed relay does the same once an hour. Use the command if an object must not wait, or to see why one stays.
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
    /// All records in the bucket.
    #[arg(long)]
    all: bool,
}

impl Verb {
    pub(crate) async fn run(self, console: &Console, _: &mut Output<'_>) -> Result<Report> {
        Ok(match self {
            Self::List(wanted) => wanted.report(console).await?,
            Self::Show(one) => one.show(console).await?.into(),
            Self::Redrive(wanted) => wanted.report(console).await?,
        })
    }
}

impl Redrive {
    async fn report(self, console: &Console) -> Result<Report> {
        let beside = console.beside.known(self.buckets).await?;
        let bucket = &beside.failures;
        let failures =
            oldest_first(bucket, self.which.prefix.as_deref().unwrap_or(FailureBucket::RECORDS)).await?;
        let relay = Relay {
            store: console.store.clone(),
            queues: beside.queues.clone(),
            bucket: beside.media.clone(),
            rescue: FIRST_DUE,
            partial: false,
            waits: Duration::ZERO,
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
        let failure = (failed > 0).then_some(Refusal::NotRelayed { failed, of: done.len() });
        Ok(done.iter().map(view).collect::<Report>().failed(failure))
    }
}

fn view(of: &Redriven) -> View {
    View::new()
        .text("at", "written", of.object.at)
        .value("records", "records", of.records)
        .value("relayed", "relayed", of.relayed)
        .value("reason", "reason", of.reason.clone())
        .text("object", "object", &of.object.key)
}
