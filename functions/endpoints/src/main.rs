//! The `endpoints` function: reads settings and makes clients once, then handles requests.

use domain::TrustedReceivers;
use edge::Api;
use endpoints::WebhookEndpoints;
use lambda_http::Error;
use queue::Queues;
use runtime::OsRandomness;
use runtime::metrics::ApiFunction;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let process = runtime::Process::start().await?;
    let settings = &process.settings;
    let (fast, slow) =
        (settings.required("DELIVERY_QUEUE_URL")?, settings.required("SLOW_DELIVERY_QUEUE_URL")?);
    let function = &WebhookEndpoints {
        api: Api::new(process.store()?, process.metrics(), ApiFunction::Endpoints),
        queues: Queues::default().with_webhooks(process.sqs(), fast, slow),
        rescue: process.first_due()?,
        trusted: settings.read_with("TRUSTED_RECEIVERS", TrustedReceivers::parse)?,
        random: Box::new(OsRandomness),
    };
    edge::serve(|request| async move { function.handle(&request).await }).await
}
