//! The `inbox` function: reads settings and makes clients once, then processes batches of pieces, and once a day begins to read the
//! templates and lines of all accounts.

use aws_lambda_events::sqs::{SqsEvent, SqsMessage};
use inbox::{Files, Inbox, TemplateReader};
use lambda_runtime::{Error, LambdaEvent, service_fn};
use provider::{FileClient, FileHosts, TemplateClient};
use queue::InboundQueue;
use serde::Deserialize;
use serde_json::Value;

/// Pieces from the queue, or an event of the schedule, which has no records.
#[derive(Deserialize)]
struct Invoked {
    #[serde(rename = "Records")]
    records: Option<Vec<SqsMessage>>,
}

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
    lambda_runtime::run(service_fn(async |event: LambdaEvent<Invoked>| {
        let Some(records) = event.payload.records else {
            inbox.begin_the_day().await?;
            return Ok::<Value, Error>(Value::Null);
        };
        let mut batch = SqsEvent::default();
        batch.records = records;
        Ok(serde_json::to_value(inbox.handle(batch).await)?)
    }))
    .await
}
