//! The `event-relay` function: reads settings and makes clients once, then processes batches.

use domain::LaneKind;
use event_relay::Relay;
use lambda_runtime::{Error, LambdaEvent, service_fn};
use queue::Queues;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let process = runtime::Process::start().await?;
    let settings = &process.settings;
    let (fast, slow) =
        (settings.required("DELIVERY_QUEUE_URL")?, settings.required("SLOW_DELIVERY_QUEUE_URL")?);
    let relay = Relay {
        store: process.store()?,
        queues: Queues::default()
            .with_webhooks(process.sqs(), fast, slow)
            .with(LaneKind::Conversation, process.sqs(), settings.required("SEND_QUEUE_URL")?)
            .with(LaneKind::Lead, process.sqs(), settings.required("LEAD_QUEUE_URL")?),
        bucket: process.bucket()?,
        rescue: process.first_due()?,
        partial: settings.parsed("PARTIAL_BATCHES", true)?,
        metrics: process.metrics(),
    };
    lambda_runtime::run(service_fn(async |event: LambdaEvent<_>| {
        relay.handle(event.payload).await.map_err(Error::from)
    }))
    .await
}
