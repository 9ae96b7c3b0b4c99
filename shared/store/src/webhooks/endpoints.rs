//! Webhook endpoints. Relay and delivery always use strongly consistent reads, never memory.

use domain::webhook::{DisabledReason, ReceiverKey};
use domain::{
    EndpointCaps, EndpointId, EndpointSecrets, EndpointState, EndpointUrl, EventFilter, Slot, Timestamp,
    WebhookEndpoint, Workspace, WorkspaceId,
};
use serde::{Deserialize, Serialize};

use crate::dynamodb::fields::{self, stored};
use crate::dynamodb::item::{Item, key, n, row, s};
use crate::dynamodb::versions::replace_write;
use crate::dynamodb::write::{LAST_REQUEST, Transaction, Write};
use crate::webhooks::secrets::{new_api_key, secrets_row};
use crate::{Store, StoreError, Table, keys};

impl Store {
    /// All endpoints of the workspace, including disabled ones, oldest first. One round trip.
    pub async fn endpoints(&self, workspace: WorkspaceId) -> Result<Vec<WebhookEndpoint>, StoreError> {
        let mut endpoints: Vec<WebhookEndpoint> =
            self.partition(Table::Workspaces, keys::endpoints(workspace)).await?;
        endpoints.sort_by_key(|endpoint| (endpoint.created_at, endpoint.id));
        Ok(endpoints)
    }

    /// The endpoint with this id. One round trip.
    pub async fn endpoint(
        &self,
        workspace: WorkspaceId,
        id: EndpointId,
    ) -> Result<Option<WebhookEndpoint>, StoreError> {
        self.get_row(Table::Workspaces, keys::endpoint(workspace, id)).await
    }

    /// Stores a new endpoint with its secrets. The caller checked the limit
    /// ([`WebhookEndpoint::MAX_PER_WORKSPACE`]) for the workspace as `seen`. Returns `false` if the workspace
    /// has changed since; then the endpoints must be counted again. One round trip.
    pub async fn create_endpoint(
        &self,
        seen: &Workspace,
        endpoint: &WebhookEndpoint,
        secrets: &EndpointSecrets,
    ) -> Result<bool, StoreError> {
        let endpoint_put = Write::put(Table::Workspaces, endpoint_row(endpoint)?).when_absent();
        // The secrets come and go with the endpoint, so its condition covers both rows.
        let secrets_put = Write::put(Table::Secrets, secrets_row(endpoint, secrets)?);
        let writes = [self.bump_version(seen), endpoint_put, secrets_put];
        self.all_or_none(writes).await
    }

    /// Replaces an endpoint by its next version. Returns `false` if the previous version is not the current
    /// one. One round trip.
    pub async fn replace_endpoint(&self, next: &WebhookEndpoint) -> Result<bool, StoreError> {
        self.put_next(Table::Workspaces, endpoint_row(next)?, next.version - 1).await
    }

    /// Replaces an endpoint by its next version, and the customer's API key if there is a new one, both or
    /// neither: no key stays with the URL of another. The signing secrets stay. Returns `false` if the
    /// previous version is not the current one. One round trip.
    pub async fn update_endpoint(
        &self,
        next: &WebhookEndpoint,
        new_key: Option<&ReceiverKey>,
    ) -> Result<bool, StoreError> {
        let Some(new_key) = new_key else { return self.replace_endpoint(next).await };
        let request = self.ids.next().to_string();
        let mut row = endpoint_row(next)?;
        row.insert(LAST_REQUEST.to_owned(), s(&request));
        let endpoint = replace_write(Table::Workspaces, row, next.version - 1);
        let key = new_api_key(next.workspace_id, next.id, new_key);
        let writes = Transaction::new().with((), endpoint).with((), key);
        let Err(refusals) = self.transact(writes).await? else { return Ok(true) };
        Ok(refusals.iter().any(|refusal| refusal.is_of(&request)))
    }

    /// Deletes an endpoint and its secrets. Returns `false` if the endpoint has changed since it was read. A
    /// row with its id and slots stays, because its deliveries stay. One round trip.
    pub async fn delete_endpoint(&self, seen: &WebhookEndpoint) -> Result<bool, StoreError> {
        let (workspace, id) = (seen.workspace_id, seen.id);
        let endpoint = Write::delete(Table::Workspaces, key(keys::endpoint(workspace, id)))
            .when("version = :version")
            .bind(":version", n(seen.version));
        let secrets = Write::delete(Table::Secrets, key(keys::endpoint_secrets(workspace, id)));
        let left = DeletedEndpointRow { id, slots: seen.slots, deleted_at: self.now() };
        let left = row(keys::deleted_endpoint(workspace, id), "deletedEndpoint", &left)?;
        let left = Write::put(Table::Workspaces, left);
        self.all_or_none([endpoint, secrets, left]).await
    }

    /// The slots of the workspace's endpoints that were deleted at `since` or later. One round trip.
    pub async fn endpoints_deleted_since(
        &self,
        workspace: WorkspaceId,
        since: Timestamp,
    ) -> Result<Vec<Slot>, StoreError> {
        let rows: Vec<DeletedEndpointRow> =
            self.partition(Table::Workspaces, keys::deleted_endpoints(workspace)).await?;
        let slots = |row: &DeletedEndpointRow| {
            let endpoint = row.id;
            (0..row.slots).map(move |number| Slot { workspace, endpoint, number })
        };
        Ok(rows.iter().filter(|row| row.deleted_at >= since).flat_map(slots).collect())
    }
}

/// The kind of an endpoint's row.
pub(crate) const KIND: &str = "endpoint";

fn endpoint_row(endpoint: &WebhookEndpoint) -> Result<Item, StoreError> {
    row(keys::endpoint(endpoint.workspace_id, endpoint.id), KIND, endpoint)
}

/// `W#H` / endpoint id. Its secrets are in the table `secrets`.
#[derive(Serialize, Deserialize)]
#[serde(remote = "WebhookEndpoint", rename_all = "camelCase")]
struct EndpointRow {
    #[serde(with = "fields::text")]
    id: EndpointId,
    #[serde(with = "fields::text")]
    workspace_id: WorkspaceId,
    #[serde(with = "fields::text")]
    url: EndpointUrl,
    #[serde(flatten, with = "fields::Shaped::<StateFields>")]
    state: EndpointState,
    #[serde(rename = "events", with = "event_names")]
    filter: EventFilter,
    #[serde(flatten, with = "CapsFields")]
    caps: EndpointCaps,
    slots: u8,
    #[serde(with = "fields::optional", default, skip_serializing_if = "Option::is_none")]
    forgets_before: Option<Timestamp>,
    #[serde(with = "fields::optional", default, skip_serializing_if = "Option::is_none")]
    failing_since: Option<Timestamp>,
    #[serde(with = "fields::text")]
    created_at: Timestamp,
    version: u64,
}

#[derive(Serialize, Deserialize)]
struct StateFields {
    /// `ENABLED` or `DISABLED`, for people who look at the row; the code reads `disabled`.
    state: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    disabled: Option<DisabledField>,
}

#[derive(Serialize, Deserialize)]
struct DisabledField {
    #[serde(with = "fields::text")]
    since: Timestamp,
    #[serde(with = "fields::text")]
    reason: DisabledReason,
}

/// The operator's caps.
#[derive(Serialize, Deserialize)]
#[serde(remote = "EndpointCaps")]
struct CapsFields {
    #[serde(rename = "maxConcurrency", default, skip_serializing_if = "Option::is_none")]
    concurrency: Option<u16>,
    #[serde(rename = "maxPerSecond", default, skip_serializing_if = "Option::is_none")]
    per_second: Option<u16>,
}

/// `W#HD` / endpoint id.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct DeletedEndpointRow {
    #[serde(with = "fields::text")]
    id: EndpointId,
    slots: u8,
    #[serde(with = "fields::text")]
    deleted_at: Timestamp,
}

stored! { WebhookEndpoint = EndpointRow, DeletedEndpointRow = DeletedEndpointRow }

impl From<&EndpointState> for StateFields {
    fn from(state: &EndpointState) -> Self {
        let disabled = match *state {
            EndpointState::Enabled => None,
            EndpointState::Disabled { since, reason } => Some(DisabledField { since, reason }),
        };
        Self { state: state.as_str().to_owned(), disabled }
    }
}

impl From<StateFields> for EndpointState {
    fn from(fields: StateFields) -> Self {
        let disabled = |DisabledField { since, reason }| Self::Disabled { since, reason };
        fields.disabled.map_or(Self::Enabled, disabled)
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
