//! The `event-relay` function: reads settings and makes clients once, then processes batches of streams, and once an hour
//! what Lambda gave up.

use std::sync::Arc;

use aws_lambda_events::dynamodb::{Event as StreamEvent, EventRecord};
use domain::LaneKind;
use event_relay::{Redriver, Relay};
use lambda_runtime::{Error, LambdaEvent, service_fn};
use queue::Queues;
use runtime::{Metrics, SystemClock};
use serde::Deserialize;
use serde_json::Value;

/// An event of a stream, or of the schedule, which has no records.
#[derive(Deserialize)]
struct Invoked {
    #[serde(rename = "Records")]
    records: Option<Vec<EventRecord>>,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let process = runtime::Process::start().await?;
    let settings = &process.settings;
    let (fast, slow) =
        (settings.required("DELIVERY_QUEUE_URL")?, settings.required("SLOW_DELIVERY_QUEUE_URL")?);
    let relay = Relay {
        store: process.store()?,
        queues: Queues::default()
            .with_webhooks(process.sqs(), fast, slow)
            .with(LaneKind::Conversation, process.sqs(), settings.required("SEND_QUEUE_URL")?)
            .with(LaneKind::Lead, process.sqs(), settings.required("LEAD_QUEUE_URL")?)
            .with(LaneKind::Person, process.sqs(), settings.required("PERSON_QUEUE_URL")?),
        bucket: process.bucket()?,
        rescue: process.first_due()?,
        partial: settings.parsed("PARTIAL_BATCHES", true)?,
        waits: Relay::WAITS,
        metrics: process.metrics(),
    };
    let redriver = Redriver {
        relay: relay.of_the_bucket(Metrics::discarded(Arc::new(SystemClock))),
        failures: process.failure_bucket()?,
        budget: Redriver::BUDGET,
    };
    lambda_runtime::run(service_fn(async |event: LambdaEvent<Invoked>| {
        let Some(records) = event.payload.records else {
            redriver.run().await?;
            return Ok::<Value, Error>(Value::Null);
        };
        let mut batch = StreamEvent::default();
        batch.records = records;
        Ok(serde_json::to_value(relay.handle(batch).await?)?)
    }))
    .await
}
