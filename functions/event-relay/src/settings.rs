//! The settings of a workspace that decide about its events.

use std::collections::BTreeMap;
use std::sync::Arc;

use domain::webhook::Subscribers;
use domain::{Definitions, Event, WebhookEndpoint, WorkspaceId, error_chain};
use futures::future::{join_all, try_join};
use store::Store;

use crate::change::EventChange;

/// The settings of a workspace that decide about its events, read for each batch.
pub(crate) struct WorkspaceSettings {
    endpoints: Vec<WebhookEndpoint>,
    /// The definitions for the payloads of contacts; empty if the batch has no contact.
    pub(crate) definitions: Arc<Definitions>,
}

impl WorkspaceSettings {
    /// The slots of the endpoints that subscribe to an event; empty if none does.
    pub(crate) fn slots_of(&self, change: &EventChange) -> Subscribers {
        let told = self.endpoints.iter().filter(|endpoint| change.may_tell(endpoint));
        Subscribers::among(told, change.event.event_type, &change.subject())
    }

    /// Whether an event may be recorded already. Its endpoints may have been disabled after it was recorded and
    /// before its deliveries were added to their lanes. The function must still add them, for the time when the
    /// endpoints are enabled again.
    pub(crate) fn may_have(&self, event: &Event) -> bool {
        self.endpoints.iter().any(|endpoint| endpoint.filter.takes(event.event_type))
    }
}

/// Reads the settings of each workspace in the batch at the same time: one round trip. If the settings of a workspace
/// cannot be read, the function logs that and omits the workspace.
pub(crate) async fn settings_of(
    store: &Store,
    changes: &[EventChange],
) -> BTreeMap<WorkspaceId, WorkspaceSettings> {
    let mut with_contacts: BTreeMap<WorkspaceId, bool> = BTreeMap::new();
    for EventChange { event, about, .. } in changes {
        *with_contacts.entry(event.workspace_id).or_default() |= about.shows_contacts();
    }
    let reads = with_contacts.into_iter().map(async |(workspace, with_contacts)| {
        let definitions = async {
            if with_contacts { store.current_definitions(workspace).await } else { Ok(Arc::default()) }
        };
        match try_join(store.endpoints(workspace), definitions).await {
            Ok((endpoints, definitions)) => Some((workspace, WorkspaceSettings { endpoints, definitions })),
            Err(error) => {
                tracing::error!(workspace = %workspace, cause = error_chain(&error), "settings cannot be read");
                None
            }
        }
    });
    join_all(reads).await.into_iter().flatten().collect()
}
