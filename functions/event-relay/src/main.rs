//! The `event-relay` function: settings and clients once, then batches until the environment ends.

use std::time::Duration;

use event_relay::Relay;
use lambda_runtime::{Error, LambdaEvent, service_fn};
use queue::{DeliveryQueue, LeadQueue, SendQueue};
use store::{Bucket, Store, Tables};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let process = runtime::Process::start().await?;
    let relay = Relay {
        store: Store::new(
            process.dynamodb(),
            Tables::of_stack(&process.stack),
            process.clock(),
            process.ids(),
        ),
        deliveries: DeliveryQueue::new(process.sqs(), process.settings.required("DELIVERY_QUEUE_URL")?),
        sends: SendQueue::new(process.sqs(), process.settings.required("SEND_QUEUE_URL")?),
        leads: LeadQueue::new(process.sqs(), process.settings.required("LEAD_QUEUE_URL")?),
        bucket: Bucket::new(process.s3(), process.settings.required("MEDIA_BUCKET")?, process.clock()),
        first_due: Duration::from_secs(process.settings.parsed("FIRST_DUE_SECONDS", 120)?),
        metrics: process.metrics(),
    };
    lambda_runtime::run(service_fn(async |event: LambdaEvent<_>| {
        relay.handle(event.payload).await.map_err(Error::from)
    }))
    .await
}
