//! The `message-sender` function: reads settings and makes clients once, then processes batches.

use domain::LaneKind;
use lambda_runtime::{Error, service_fn};
use message_sender::Engine;
use provider::Client;
use queue::{InboundQueue, Queues};
use runtime::SendRules;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let process = runtime::Process::start().await?;
    let settings = &process.settings;
    let rules = SendRules::read(settings)?;
    let (graph, version) = (settings.required("GRAPH_URL")?, settings.required("GRAPH_VERSION")?);
    let engine = Engine {
        store: process.store()?,
        bucket: process.bucket()?,
        queues: Queues::default().with(
            LaneKind::Conversation,
            process.sqs(),
            settings.required("SEND_QUEUE_URL")?,
        ),
        inbox: InboundQueue::new(process.sqs(), settings.required("INBOX_QUEUE_URL")?),
        provider: Client::new(&graph, &version, rules.call)?,
        rules,
        metrics: process.metrics(),
    };
    lambda_runtime::run(service_fn(async |event| engine.handle(event).await)).await
}
