//! The `sweeper` function: settings and clients once, then a run a minute until the environment ends.

use aws_lambda_events::cloudwatch_events::CloudWatchEvent;
use lambda_runtime::{Error, LambdaEvent, service_fn};
use queue::{DeliveryQueue, DeliveryQueues, LeadQueue, SendQueue};
use store::{Store, Tables};
use sweeper::Sweeper;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let process = runtime::Process::start().await?;
    let sweeper = Sweeper {
        store: Store::new(
            process.dynamodb(),
            Tables::of_stack(&process.stack),
            process.clock(),
            process.ids(),
        ),
        deliveries: DeliveryQueues {
            fast: DeliveryQueue::new(process.sqs(), process.settings.required("DELIVERY_QUEUE_URL")?),
            slow: DeliveryQueue::new(process.sqs(), process.settings.required("SLOW_DELIVERY_QUEUE_URL")?),
        },
        sends: SendQueue::new(process.sqs(), process.settings.required("SEND_QUEUE_URL")?),
        leads: LeadQueue::new(process.sqs(), process.settings.required("LEAD_QUEUE_URL")?),
        budget: Sweeper::BUDGET,
        metrics: process.metrics(),
    };
    lambda_runtime::run(service_fn(async |_: LambdaEvent<CloudWatchEvent>| {
        sweeper.run().await.map(drop).map_err(Error::from)
    }))
    .await
}
