//! The `sweeper` function: reads settings and makes clients once, then sweeps once a minute.

use aws_lambda_events::cloudwatch_events::CloudWatchEvent;
use domain::LaneKind;
use lambda_runtime::{Error, LambdaEvent, service_fn};
use queue::Queues;
use sweeper::Sweeper;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let process = runtime::Process::start().await?;
    let url = |name| process.settings.required(name);
    let sweeper = Sweeper {
        store: process.store()?,
        queues: Queues::default()
            .with_webhooks(process.sqs(), url("DELIVERY_QUEUE_URL")?, url("SLOW_DELIVERY_QUEUE_URL")?)
            .with(LaneKind::Conversation, process.sqs(), url("SEND_QUEUE_URL")?)
            .with(LaneKind::Lead, process.sqs(), url("LEAD_QUEUE_URL")?)
            .with(LaneKind::Person, process.sqs(), url("PERSON_QUEUE_URL")?),
        budget: Sweeper::BUDGET,
        metrics: process.metrics(),
    };
    lambda_runtime::run(service_fn(async |_: LambdaEvent<CloudWatchEvent>| {
        sweeper.run().await.map(drop).map_err(Error::from)
    }))
    .await
}
