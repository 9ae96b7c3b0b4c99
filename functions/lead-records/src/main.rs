//! The `lead-records` function: reads settings and makes clients once, then handles requests.

use domain::LaneKind;
use edge::Api;
use lambda_http::Error;
use lead_records::LeadRecords;
use queue::Queues;
use runtime::metrics::ApiFunction;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let process = runtime::Process::start().await?;
    let url = process.settings.required("LEAD_QUEUE_URL")?;
    let function = &LeadRecords {
        api: Api::new(process.store()?, process.metrics(), ApiFunction::LeadRecords),
        queues: Queues::default().with(LaneKind::Lead, process.sqs(), url),
        rescue: process.first_due()?,
    };
    edge::serve(|request| async move { function.handle(&request).await }).await
}
