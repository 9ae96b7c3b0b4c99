//! The `provider-events` function: reads settings and makes clients once, then handles requests.

use lambda_runtime::{Error, LambdaEvent, service_fn};
use provider_events::{Apps, LONGEST, ProviderEvents};
use queue::InboundQueue;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let process = runtime::Process::start().await?;
    let function = ProviderEvents {
        store: process.store()?,
        apps: Apps::default(),
        queue: InboundQueue::new(process.sqs(), process.settings.required("INBOX_QUEUE_URL")?),
        failures: process.failure_bucket()?,
        longest: LONGEST,
        metrics: process.metrics(),
    };
    let handle = async |event: LambdaEvent<_>| Ok::<_, Error>(function.handle(&event.payload).await);
    lambda_runtime::run(service_fn(handle)).await
}
