//! The `webhook-delivery` function: reads settings and makes clients once, then processes batches.

use lambda_runtime::{Error, service_fn};
use queue::Queues;
use webhook_delivery::{Engine, Https, Rules};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let process = runtime::Process::start().await?;
    let rules = Rules::read(&process.settings)?;
    let extra_ca = process.settings.optional("TRUSTED_CA_PEM").unwrap_or_default();
    let (sqs, fast) = (process.sqs(), process.settings.required("DELIVERY_QUEUE_URL")?);
    let control = Rules::control(&process.settings, &fast)?;
    let engine = Engine {
        store: process.store()?,
        queues: Queues::default().with_webhooks(
            sqs,
            &fast,
            process.settings.required("SLOW_DELIVERY_QUEUE_URL")?,
        ),
        transport: Https::new(rules.trusted.clone(), &extra_ca, rules.attempt, &control)?,
        metrics: process.metrics(),
        rules,
    };
    lambda_runtime::run(service_fn(async |event| engine.handle(event).await)).await
}
