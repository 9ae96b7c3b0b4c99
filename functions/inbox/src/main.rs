//! The `inbox` function: reads settings and makes clients once, then processes batches.

use std::convert::Infallible;

use inbox::{Files, Inbox, TemplateReader};
use lambda_runtime::{Error, LambdaEvent, service_fn};
use provider::{FileClient, FileHosts, TemplateClient};
use queue::InboundQueue;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let process = runtime::Process::start().await?;
    let settings = &process.settings;
    let hosts = settings.read_with("FILE_HOSTS", FileHosts::parse)?;
    let (graph, version) = (settings.required("GRAPH_URL")?, settings.required("GRAPH_VERSION")?);
    let files = FileClient::new(&graph, &version, hosts)?;
    let inbox = Inbox {
        store: process.store()?,
        bucket: process.bucket()?,
        files: Files::new(files, std::env::temp_dir()),
        templates: TemplateReader::new(TemplateClient::new(&graph, &version)?),
        queue: InboundQueue::new(process.sqs(), settings.required("INBOX_QUEUE_URL")?),
        failures: process.failure_bucket()?,
        metrics: process.metrics(),
    };
    lambda_runtime::run(service_fn(async |event: LambdaEvent<_>| {
        Ok::<_, Infallible>(inbox.handle(event.payload).await)
    }))
    .await
}
