//! The `lead-sender` function: reads settings and makes clients once, then processes batches.

use std::time::Duration;

use domain::LaneKind;
use lambda_runtime::{Error, service_fn};
use lead_sender::Engine;
use queue::Queues;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let process = runtime::Process::start().await?;
    let settings = &process.settings;
    let engine = Engine {
        store: process.store()?,
        queues: Queues::default().with(LaneKind::Lead, process.sqs(), settings.required("LEAD_QUEUE_URL")?),
        lease: Duration::from_secs(settings.parsed("SEND_LEASE_SECONDS", 65)?),
        rescue: Duration::from_secs(settings.parsed("FIRST_DUE_SECONDS", 120)?),
        metrics: process.metrics(),
    };
    lambda_runtime::run(service_fn(async |event| engine.handle(event).await)).await
}
