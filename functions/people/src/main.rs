//! The `people` function: reads settings and makes clients once, then processes batches.

use std::time::Duration;

use domain::LaneKind;
use lambda_runtime::{Error, service_fn};
use people::{Engine, Rules};
use queue::Queues;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let process = runtime::Process::start().await?;
    let settings = &process.settings;
    let url = |name| settings.required(name);
    let engine = Engine {
        store: process.store()?,
        queues: Queues::default()
            .with(LaneKind::Person, process.sqs(), url("PERSON_QUEUE_URL")?)
            .with_webhooks(process.sqs(), url("DELIVERY_QUEUE_URL")?, url("SLOW_DELIVERY_QUEUE_URL")?),
        media: process.bucket()?,
        failures: process.failure_bucket()?,
        rules: Rules {
            settle: Duration::from_secs(settings.parsed("ERASURE_SETTLE_SECONDS", 900)?),
            lease: Rules::LEASE,
            rescue: process.first_due()?,
        },
        metrics: process.metrics(),
    };
    lambda_runtime::run(service_fn(async |event| engine.handle(event).await)).await
}
