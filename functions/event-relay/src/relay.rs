//! A batch, step by step.

use std::collections::BTreeMap;
use std::time::Duration;

use aws_lambda_events::dynamodb::EventRecord;
use domain::{
    Contact, Conversation, Definitions, EndpointId, Event, MediaId, Summary, Timestamp, WebhookEndpoint,
    WorkspaceId, causes,
};
use edge::view;
use futures::StreamExt;
use futures::future::{join, join_all, try_join};
use queue::{DeliveryTask, LeadTask, SendTask, Wake};
use runtime::metrics::Relayed;
use store::{Recorded, StoreError};

use crate::Relay;
use crate::change::{About, Asked, Change};

/// Some records of a batch could not be relayed. Each was logged.
#[derive(Debug, thiserror::Error)]
#[error("{records} of the records could not be relayed")]
pub struct NotRelayed {
    /// How many.
    pub records: usize,
}

/// How many events are recorded, and how many files deleted, at the same time.
const AT_ONCE: usize = 16;

pub(crate) async fn relay(relay: &Relay, records: &[EventRecord]) -> Result<(), NotRelayed> {
    let mut failed = 0;
    let mut asked = Asked::default();
    for record in records {
        if let Err(error) = asked.add(record) {
            failed += 1;
            let sequence = record.change.sequence_number.as_deref().unwrap_or_default();
            tracing::error!(sequence, cause = causes(&error), "stream record cannot be read");
        }
    }

    let counted = Relayed::default();
    let (unrecorded, kept) =
        join(record_all(relay, &asked.changes, &counted), forget_all(relay, &asked.forgotten)).await;
    join(wake_conversations(relay, &asked.sends), wake_leads(relay, &asked.leads)).await;
    failed += unrecorded + kept;
    counted.records_not_relayed.add(failed);
    // Most records are of helper rows, which nobody waits for.
    if failed > 0 || !asked.changes.is_empty() {
        counted.relay_lag.took(lag(relay, records));
    }
    relay.metrics.put((), &counted);
    if failed == 0 { Ok(()) } else { Err(NotRelayed { records: failed }) }
}

/// How long ago the oldest change of a batch was made.
fn lag(relay: &Relay, records: &[EventRecord]) -> Duration {
    let made = records.iter().map(|record| record.change.approximate_creation_date_time.timestamp_millis());
    let now = relay.store.now();
    made.min().map_or(Duration::ZERO, |oldest| now.since(Timestamp::from_millis(oldest)))
}

/// Records the events of changes and queues their deliveries; how many could not be recorded.
async fn record_all(relay: &Relay, changes: &[Change], counted: &Relayed) -> usize {
    let settings = settings_of(relay, changes).await;
    let read = changes.iter().filter_map(|change| Some((change, settings.get(&change.event.workspace_id)?)));
    let mut failed = changes.len() - read.clone().count();

    let mut wakes = vec![];
    let recordings =
        read.map(async |(change, settings)| (change, record(relay, change, settings, counted).await));
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
    if let Err(error) = relay.deliveries.enqueue(&wakes).await {
        tracing::warn!(cause = causes(&error), "deliveries not queued, left to the sweeper");
    }
    failed
}

/// Wakes the conversations in which something is to be sent. Those too stand in a due index.
async fn wake_conversations(relay: &Relay, sends: &[SendTask]) {
    let wakes: Vec<Wake<SendTask>> = sends.iter().map(|task| task.wake(Duration::ZERO)).collect();
    if let Err(error) = relay.sends.enqueue(&wakes).await {
        tracing::warn!(cause = causes(&error), "conversations not queued, left to the sweeper");
    }
}

/// Queues the leads that are to be written to. Those too stand in a due index.
async fn wake_leads(relay: &Relay, leads: &[LeadTask]) {
    let wakes: Vec<Wake<LeadTask>> = leads.iter().map(|task| task.wake(Duration::ZERO)).collect();
    if let Err(error) = relay.leads.enqueue(&wakes).await {
        tracing::warn!(cause = causes(&error), "leads not queued, left to the sweeper");
    }
}

/// Deletes the bytes of files that no message referred to in time; how many could not be deleted.
async fn forget_all(relay: &Relay, forgotten: &[(WorkspaceId, MediaId)]) -> usize {
    let deletions = forgotten.iter().map(async |(workspace, media)| {
        let deleted = relay.bucket.delete(*workspace, *media).await;
        deleted.inspect_err(|error| {
            tracing::error!(media = %media, workspace = %workspace, cause = causes(error), "file not deleted");
        })
    });
    let mut deletions = futures::stream::iter(deletions).buffered(AT_ONCE);
    let mut failed = 0;
    while let Some(deleted) = deletions.next().await {
        failed += usize::from(deleted.is_err());
    }
    failed
}

/// What a workspace's events depend on, read anew for each batch.
struct WorkspaceSettings {
    endpoints: Vec<WebhookEndpoint>,
    /// What contacts are shown by; none where the batch is not about contacts.
    definitions: Definitions,
}

/// The settings of each workspace in the batch, all read at the same time: one trip. A workspace whose settings
/// cannot be read is logged and left out.
async fn settings_of(relay: &Relay, changes: &[Change]) -> BTreeMap<WorkspaceId, WorkspaceSettings> {
    let mut with_contacts: BTreeMap<WorkspaceId, bool> = BTreeMap::new();
    for Change { event, about, .. } in changes {
        *with_contacts.entry(event.workspace_id).or_default() |= matches!(about, About::Contact(_));
    }
    let reads = with_contacts.into_iter().map(async |(workspace, with_contacts)| {
        let definitions = async {
            if with_contacts { relay.store.definitions(workspace).await } else { Ok(Definitions::default()) }
        };
        let reads = try_join(relay.store.endpoints(workspace), definitions);
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
    change: &Change,
    settings: &WorkspaceSettings,
    counted: &Relayed,
) -> Result<Vec<Wake<DeliveryTask>>, Box<dyn std::error::Error + Send + Sync>> {
    let Change { event, about, request } = change;
    let wanting = settings.endpoints.iter().filter(|endpoint| endpoint.wants(event.event_type));
    let wanting: Vec<EndpointId> = wanting.map(|endpoint| endpoint.id).collect();
    if wanting.is_empty() {
        return Ok(vec![]);
    }
    let body = match about {
        About::Contact(contact) => contact_body(relay, event, contact, &settings.definitions)?,
        About::Conversation(conversation) => view::event_body(event, &view::conversation(conversation))?,
        About::Release(conversation) => {
            view::event_body(event, &view::summary(&summary(relay, conversation).await?))?
        }
        About::Message(message) => view::event_body(event, &view::message(message))?,
        About::Lead(lead) => view::event_body(event, &view::lead(lead))?,
    };
    // Seen before: it stands as it was recorded then. Its messages may be lost, so they are queued again.
    let recorded =
        relay.store.record_event(event, request.as_deref(), body, &wanting, relay.first_due).await?;
    if recorded == Recorded::New {
        counted.events_recorded.add(1);
        told(change, wanting.len());
    }
    Ok(wanting.into_iter().map(|endpoint| wake(event, endpoint)).collect())
}

/// The line by which an event is found from a request, and the request from an event.
fn told(Change { event, request, .. }: &Change, deliveries: usize) {
    let Event { id, workspace_id, event_type, .. } = event;
    let (request, r#type) = (request.as_deref(), event_type.as_str());
    tracing::info!(event = %id, r#type, workspace = %workspace_id, request, deliveries, "event recorded");
}

fn contact_body(
    relay: &Relay,
    event: &Event,
    contact: &Contact,
    definitions: &Definitions,
) -> Result<Vec<u8>, serde_json::Error> {
    let payload = || view::contact(contact, definitions, relay.store.now());
    let body = view::event_body(event, &payload())?;
    if body.len() <= Event::MAX_BODY {
        return Ok(body);
    }
    view::event_body(event, &payload().without_attributes())
}

/// Sums a released conversation up, as of its release.
async fn summary(relay: &Relay, released: &Conversation) -> Result<Summary, StoreError> {
    let Conversation { id, workspace_id, updated_at, .. } = released;
    let tally = relay.store.tally(*workspace_id, *id, *updated_at).await?;
    Ok(Summary { conversation: released.clone(), tally })
}

fn wake(event: &Event, endpoint_id: EndpointId) -> Wake<DeliveryTask> {
    let delivery_id = event.delivery_to(endpoint_id);
    let task = DeliveryTask { workspace_id: event.workspace_id, delivery_id };
    Wake { task, group: *endpoint_id.as_uuid(), after: Duration::ZERO }
}
