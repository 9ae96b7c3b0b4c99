//! The `deliveries` function: reads settings and makes clients once, then handles requests.

use deliveries::Deliveries;
use edge::Api;
use lambda_http::Error;
use queue::Queues;
use runtime::metrics::ApiFunction;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let process = runtime::Process::start().await?;
    let settings = &process.settings;
    let (fast, slow) =
        (settings.required("DELIVERY_QUEUE_URL")?, settings.required("SLOW_DELIVERY_QUEUE_URL")?);
    let function = &Deliveries {
        api: Api::new(process.store()?, process.metrics(), ApiFunction::Deliveries),
        queues: Queues::default().with_webhooks(process.sqs(), fast, slow),
        rescue: process.first_due()?,
    };
    edge::serve(|request| async move { function.handle(&request).await }).await
}
