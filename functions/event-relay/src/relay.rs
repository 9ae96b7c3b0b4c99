//! A batch, step by step.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use aws_lambda_events::dynamodb::EventRecord;
use domain::{Definitions, EndpointId, Event, WebhookEndpoint, WorkspaceId, causes};
use edge::view;
use futures::StreamExt;
use futures::future::{join_all, try_join};
use queue::{DeliveryTask, Wake};

use crate::Relay;
use crate::change::{self, ContactChange};

/// Some records of a batch could not be relayed. Each was logged.
#[derive(Debug, thiserror::Error)]
#[error("{records} of the records could not be relayed")]
pub struct NotRelayed {
    /// How many.
    pub records: usize,
}

/// How many events are recorded at the same time.
const AT_ONCE: usize = 16;

pub(crate) async fn relay(relay: &Relay, records: &[EventRecord]) -> Result<(), NotRelayed> {
    let mut failed = 0;
    let mut changes = vec![];
    for record in records {
        match change::read(record) {
            Ok(change) => changes.extend(change),
            Err(error) => {
                failed += 1;
                let sequence = record.change.sequence_number.as_deref().unwrap_or_default();
                tracing::error!(sequence, cause = causes(&error), "stream record cannot be read");
            }
        }
    }
    let settings = settings_of(relay, &changes).await;
    let read = changes.iter().filter_map(|change| Some((change, settings.get(&change.event.workspace_id)?)));
    failed += changes.len() - read.clone().count();
    let mut wakes = vec![];
    let recordings = read.map(async |(change, settings)| (change, record(relay, change, settings).await));
    let mut recordings = futures::stream::iter(recordings).buffered(AT_ONCE);
    while let Some((change, recorded)) = recordings.next().await {
        match recorded {
            Ok(some) => wakes.extend(some),
            Err(error) => {
                failed += 1;
                let Event { id, workspace_id, .. } = &change.event;
                let cause = causes(&*error);
                tracing::error!(event = %id, workspace = %workspace_id, cause, "event not recorded");
            }
        }
    }
    // What the queue does not take stands in the due index: the sweeper brings it.
    if let Err(error) = relay.queue.enqueue(&wakes).await {
        tracing::warn!(cause = causes(&error), "deliveries not queued, left to the sweeper");
    }
    if failed == 0 { Ok(()) } else { Err(NotRelayed { records: failed }) }
}

/// What a workspace's events depend on, read anew for each batch.
struct WorkspaceSettings {
    endpoints: Vec<WebhookEndpoint>,
    definitions: Definitions,
}

/// The settings of each workspace in the batch, all read at the same time: one trip. A workspace whose settings
/// cannot be read is logged and left out.
async fn settings_of(relay: &Relay, changes: &[ContactChange]) -> BTreeMap<WorkspaceId, WorkspaceSettings> {
    let workspaces: BTreeSet<WorkspaceId> = changes.iter().map(|change| change.event.workspace_id).collect();
    let reads = workspaces.into_iter().map(async |workspace| {
        let reads = try_join(relay.store.endpoints(workspace), relay.store.definitions(workspace));
        match reads.await {
            Ok((endpoints, definitions)) => Some((workspace, WorkspaceSettings { endpoints, definitions })),
            Err(error) => {
                tracing::error!(workspace = %workspace, cause = causes(&error), "settings cannot be read");
                None
            }
        }
    });
    join_all(reads).await.into_iter().flatten().collect()
}

/// Records a change's event with its deliveries; what is to be queued. Nothing is written for nobody.
async fn record(
    relay: &Relay,
    change: &ContactChange,
    settings: &WorkspaceSettings,
) -> Result<Vec<Wake<DeliveryTask>>, Box<dyn std::error::Error + Send + Sync>> {
    let ContactChange { event, .. } = change;
    let wanting = settings.endpoints.iter().filter(|endpoint| endpoint.wants(event.event_type));
    let wanting: Vec<EndpointId> = wanting.map(|endpoint| endpoint.id).collect();
    if wanting.is_empty() {
        return Ok(vec![]);
    }
    let body = body(relay, change, &settings.definitions)?;
    // Seen before: it stands as it was recorded then. Its messages may be lost, so they are queued again.
    relay.store.record_event(event, body, &wanting, relay.first_due).await?;
    Ok(wanting.into_iter().map(|endpoint| wake(event, endpoint)).collect())
}

fn body(
    relay: &Relay,
    change: &ContactChange,
    definitions: &Definitions,
) -> Result<Vec<u8>, serde_json::Error> {
    let payload = || view::contact(&change.contact, definitions, relay.store.now());
    let body = view::event_body(&change.event, &payload())?;
    if body.len() <= Event::MAX_BODY {
        return Ok(body);
    }
    view::event_body(&change.event, &payload().without_attributes())
}

fn wake(event: &Event, endpoint_id: EndpointId) -> Wake<DeliveryTask> {
    let delivery_id = event.delivery_to(endpoint_id);
    let task = DeliveryTask { workspace_id: event.workspace_id, delivery_id };
    Wake { task, group: *endpoint_id.as_uuid(), after: Duration::ZERO }
}
