//! Webhook endpoints. Relay and delivery read them strongly each time, never from memory.

use domain::webhook::DisabledReason;
use domain::{EndpointId, EndpointState, EndpointUrl, EventFilter, Timestamp, WebhookEndpoint, WorkspaceId};
use serde::{Deserialize, Serialize};

use crate::{Store, StoreError, Table, fields, keys};

impl Store {
    /// All endpoints of the workspace, disabled ones included, oldest first. One trip.
    pub async fn endpoints(&self, workspace: WorkspaceId) -> Result<Vec<WebhookEndpoint>, StoreError> {
        let rows: Vec<EndpointRow> = self.partition(Table::Workspaces, keys::endpoints(workspace)).await?;
        let mut endpoints: Vec<WebhookEndpoint> = rows.into_iter().map(WebhookEndpoint::from).collect();
        endpoints.sort_by_key(|endpoint| (endpoint.created_at, endpoint.id));
        Ok(endpoints)
    }

    /// The endpoint of that id. One trip.
    pub async fn endpoint(
        &self,
        workspace: WorkspaceId,
        id: EndpointId,
    ) -> Result<Option<WebhookEndpoint>, StoreError> {
        let row: Option<EndpointRow> = self.get_row(Table::Workspaces, keys::endpoint(workspace, id)).await?;
        Ok(row.map(WebhookEndpoint::from))
    }
}

/// `W#H` / endpoint id. Its secrets stand in the table `secrets`.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct EndpointRow {
    #[serde(with = "fields::text")]
    id: EndpointId,
    #[serde(with = "fields::text")]
    workspace_id: WorkspaceId,
    #[serde(with = "fields::text")]
    url: EndpointUrl,
    /// `ENABLED` or `DISABLED`, for whoever looks at the row; what is read is `disabled`.
    state: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    disabled: Option<DisabledField>,
    #[serde(with = "event_names")]
    events: EventFilter,
    #[serde(with = "fields::text")]
    created_at: Timestamp,
    version: u64,
}

#[derive(Serialize, Deserialize)]
struct DisabledField {
    #[serde(with = "fields::text")]
    since: Timestamp,
    #[serde(with = "fields::text")]
    reason: DisabledReason,
}

impl From<EndpointRow> for WebhookEndpoint {
    fn from(row: EndpointRow) -> Self {
        let state = match row.disabled {
            Some(DisabledField { since, reason }) => EndpointState::Disabled { since, reason },
            None => EndpointState::Enabled,
        };
        Self {
            id: row.id,
            workspace_id: row.workspace_id,
            url: row.url,
            state,
            filter: row.events,
            created_at: row.created_at,
            version: row.version,
        }
    }
}

impl From<&WebhookEndpoint> for EndpointRow {
    fn from(endpoint: &WebhookEndpoint) -> Self {
        let disabled = match endpoint.state {
            EndpointState::Enabled => None,
            EndpointState::Disabled { since, reason } => Some(DisabledField { since, reason }),
        };
        Self {
            id: endpoint.id,
            workspace_id: endpoint.workspace_id,
            url: endpoint.url.clone(),
            state: endpoint.state.as_str().to_owned(),
            disabled,
            events: endpoint.filter.clone(),
            created_at: endpoint.created_at,
            version: endpoint.version,
        }
    }
}

mod event_names {
    use domain::EventFilter;
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(filter: &EventFilter, to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(filter.names())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<EventFilter, D::Error> {
        let names = Vec::<String>::deserialize(from)?;
        EventFilter::parse(names.iter().map(String::as_str)).map_err(D::Error::custom)
    }
}
