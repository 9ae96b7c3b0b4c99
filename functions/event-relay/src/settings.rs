//! What a workspace's events depend on.

use std::collections::BTreeMap;

use domain::{Definitions, Event, Slot, WebhookEndpoint, WorkspaceId, causes};
use futures::future::{join_all, try_join};
use store::Store;

use crate::change::{About, Change};

/// What a workspace's events depend on, read anew for each batch.
pub(crate) struct WorkspaceSettings {
    endpoints: Vec<WebhookEndpoint>,
    /// What contacts are shown by; none where the batch is not about contacts.
    pub(crate) definitions: Definitions,
}

impl WorkspaceSettings {
    /// The slots of those that want an event; none where nobody does.
    pub(crate) fn slots_of(&self, event: &Event) -> Vec<Slot> {
        let wanting = self.endpoints.iter().filter(|endpoint| endpoint.wants(event.event_type));
        wanting.map(|endpoint| endpoint.slot_of(event.id)).collect()
    }

    /// Whether an event may stand already. Its endpoints may have been disabled after it was recorded and before their
    /// lanes were told: once they are enabled, somebody must have told these.
    pub(crate) fn may_have(&self, event: &Event) -> bool {
        self.endpoints.iter().any(|endpoint| endpoint.filter.takes(event.event_type))
    }
}

/// The settings of each workspace in the batch, all read at the same time: one trip. A workspace whose settings
/// cannot be read is logged and left out.
pub(crate) async fn settings_of(
    store: &Store,
    changes: &[Change],
) -> BTreeMap<WorkspaceId, WorkspaceSettings> {
    let mut with_contacts: BTreeMap<WorkspaceId, bool> = BTreeMap::new();
    for Change { event, about, .. } in changes {
        *with_contacts.entry(event.workspace_id).or_default() |= matches!(about, About::Contact(_));
    }
    let reads = with_contacts.into_iter().map(async |(workspace, with_contacts)| {
        let definitions = async {
            if with_contacts { store.definitions(workspace).await } else { Ok(Definitions::default()) }
        };
        match try_join(store.endpoints(workspace), definitions).await {
            Ok((endpoints, definitions)) => Some((workspace, WorkspaceSettings { endpoints, definitions })),
            Err(error) => {
                tracing::error!(workspace = %workspace, cause = causes(&error), "settings cannot be read");
                None
            }
        }
    });
    join_all(reads).await.into_iter().flatten().collect()
}
