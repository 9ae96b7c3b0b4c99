//! The `event-relay` function: reads settings and makes clients once, then processes batches.

use std::time::Duration;

use domain::LaneKind;
use event_relay::Relay;
use lambda_runtime::{Error, LambdaEvent, service_fn};
use queue::Queues;
use store::{Bucket, Store, Tables};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let process = runtime::Process::start().await?;
    let settings = &process.settings;
    let (fast, slow) =
        (settings.required("DELIVERY_QUEUE_URL")?, settings.required("SLOW_DELIVERY_QUEUE_URL")?);
    let relay = Relay {
        store: Store::new(
            process.dynamodb(),
            Tables::of_stack(&process.stack),
            process.clock(),
            process.ids(),
        )
        .with_retention(process.retention()?),
        queues: Queues::default()
            .with_webhooks(process.sqs(), fast, slow)
            .with(LaneKind::Conversation, process.sqs(), settings.required("SEND_QUEUE_URL")?)
            .with(LaneKind::Lead, process.sqs(), settings.required("LEAD_QUEUE_URL")?),
        bucket: Bucket::new(process.s3(), settings.required("MEDIA_BUCKET")?, process.clock()),
        rescue: Duration::from_secs(settings.parsed("FIRST_DUE_SECONDS", 120)?),
        partial: settings.parsed("PARTIAL_BATCHES", true)?,
        metrics: process.metrics(),
    };
    lambda_runtime::run(service_fn(async |event: LambdaEvent<_>| {
        relay.handle(event.payload).await.map_err(Error::from)
    }))
    .await
}
