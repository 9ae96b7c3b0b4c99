//! Webhook endpoints. Relay and delivery always use strongly consistent reads, never memory.

use std::time::Duration;

use domain::webhook::{DisabledReason, ReceiverKey};
use domain::{
    AuditAction, Author, EndpointCaps, EndpointId, EndpointSecrets, EndpointState, EndpointUrl, EventFilter,
    Job, Slot, Timestamp, WebhookEndpoint, Workspace, WorkspaceId,
};
use serde::{Deserialize, Serialize};

use crate::dynamodb::fields::{self, stored};
use crate::dynamodb::item::{Item, key, n, row};
use crate::dynamodb::read::Place;
use crate::dynamodb::versions::replace_write;
use crate::dynamodb::write::{Transaction, Write};
use crate::idempotency::{IdempotencyKey, StoredAnswer, keep_answer, stored_answer};
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

    /// Stores a new endpoint with its secrets, an entry of the audit log and the answer of an idempotency key. The caller
    /// checked the limit ([`WebhookEndpoint::MAX_PER_WORKSPACE`]) for the workspace as `seen`. One round trip, 8 write units,
    /// 10 with an answer.
    pub async fn create_endpoint(
        &self,
        seen: &Workspace,
        new: &NewEndpoint<'_>,
    ) -> Result<EndpointCreated, StoreError> {
        let NewEndpoint { endpoint, secrets, by, kept } = new;
        let entry = self.audit(by, seen.id, AuditAction::WebhookEndpointCreate, endpoint.id, &[])?;
        let mut writes = Transaction::new()
            .with(Creates::Endpoint, self.bump_version(seen))
            .with(Creates::Endpoint, Write::put(Table::Workspaces, endpoint_row(endpoint)?).when_absent())
            // The secrets come and go with the endpoint, so its condition covers both rows.
            .with(Creates::Endpoint, Write::put(Table::Secrets, secrets_row(endpoint, secrets)?))
            .with(Creates::Endpoint, entry);
        if let Some((once, answer)) = kept {
            writes.add(Creates::Answer, keep_answer(Table::Webhooks, seen.id, once, answer, self.now())?);
        }
        let Err(refusals) = self.transact(writes).await? else { return Ok(EndpointCreated::Done) };
        for refusal in refusals {
            if let (Creates::Answer, Some(found)) = (refusal.role, refusal.found) {
                return Ok(EndpointCreated::Answered(stored_answer(found)?));
            }
        }
        Ok(EndpointCreated::Stale)
    }

    /// Replaces an endpoint by its next version. Returns `false` if the previous version is not the current
    /// one. One round trip.
    pub async fn replace_endpoint(&self, next: &WebhookEndpoint) -> Result<bool, StoreError> {
        self.put_next(Table::Workspaces, endpoint_row(next)?, next.version - 1).await
    }

    /// Changes an endpoint with all that belongs to the change: all or nothing, so no key stays with the URL of another, and no
    /// endpoint is enabled whose deliveries wait without a job. The signing secrets stay. Returns `false` if the endpoint has
    /// changed since it was read. One round trip, 4 write units, 2 with a new key, 4 for each slot of a job.
    pub async fn change_endpoint(&self, step: &EndpointStep<'_>) -> Result<bool, StoreError> {
        let next = step.next;
        let mut writes = vec![
            replace_write(Table::Workspaces, endpoint_row(next)?, next.version - 1),
            self.audit(step.by, next.workspace_id, step.action, next.id, step.fields)?,
        ];
        writes.extend(step.new_key.map(|new_key| new_api_key(next.workspace_id, next.id, new_key)));
        for job in step.jobs {
            writes.extend(self.new_job_writes(job, step.rescue)?);
        }
        self.all_or_none(writes).await
    }

    /// Deletes an endpoint and its secrets. Returns `false` if the endpoint has changed since it was read. A
    /// row with its id and slots stays, because its deliveries stay. One round trip, 8 write units.
    pub async fn delete_endpoint(&self, seen: &WebhookEndpoint, by: &Author) -> Result<bool, StoreError> {
        let (workspace, id) = (seen.workspace_id, seen.id);
        let endpoint = Write::delete(Table::Workspaces, key(keys::endpoint(workspace, id)))
            .when("version = :version")
            .bind(":version", n(seen.version));
        let secrets = Write::delete(Table::Secrets, key(keys::endpoint_secrets(workspace, id)));
        let left = DeletedEndpointRow { id, slots: seen.slots, deleted_at: self.now() };
        let left = row(keys::deleted_endpoint(workspace, id), "deletedEndpoint", &left)?;
        let left = Write::put(Table::Workspaces, left);
        let entry = self.audit(by, workspace, AuditAction::WebhookEndpointDelete, id, &[])?;
        self.all_or_none([endpoint, secrets, left, entry]).await
    }

    /// The endpoint with this id, or that there was one. One round trip.
    pub async fn endpoint_or_deleted(
        &self,
        workspace: WorkspaceId,
        id: EndpointId,
    ) -> Result<FoundEndpoint, StoreError> {
        let present = Place::of(Table::Workspaces, keys::endpoint(workspace, id));
        let deleted = Place::of(Table::Workspaces, keys::deleted_endpoint(workspace, id));
        let mut rows = self.rows_at([&present, &deleted]).await?;
        if let Some(endpoint) = rows.read(&present)? {
            return Ok(FoundEndpoint::Present(Box::new(endpoint)));
        }
        Ok(if rows.take(&deleted).is_some() { FoundEndpoint::Deleted } else { FoundEndpoint::Unknown })
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

/// A new endpoint.
pub struct NewEndpoint<'a> {
    /// The endpoint.
    pub endpoint: &'a WebhookEndpoint,
    /// Its secrets.
    pub secrets: &'a EndpointSecrets,
    /// Who makes it, and in which request.
    pub by: &'a Author,
    /// The idempotency key of the request, and the answer for repeats.
    pub kept: Option<(&'a IdempotencyKey, &'a str)>,
}

/// The result of [`Store::create_endpoint`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EndpointCreated {
    /// The endpoint is stored.
    Done,
    /// The workspace was changed since the endpoints were counted, or the id is taken. Nothing was stored.
    Stale,
    /// The idempotency key has this answer. Nothing was stored.
    Answered(StoredAnswer),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Creates {
    /// Writes the endpoint, its secrets, the entry of the audit log or the version of the workspace.
    Endpoint,
    /// Stores the answer of the idempotency key.
    Answer,
}

/// A change of an endpoint.
pub struct EndpointStep<'a> {
    /// The next version of the endpoint.
    pub next: &'a WebhookEndpoint,
    /// The customer's new API key.
    pub new_key: Option<&'a ReceiverKey>,
    /// What is done.
    pub action: AuditAction,
    /// The names of the changed fields.
    pub fields: &'a [&'a str],
    /// Who does it, and in which request.
    pub by: &'a Author,
    /// The job that the change requests, one for each slot.
    pub jobs: &'a [Job],
    /// The time after which the sweeper looks at the lanes of these jobs.
    pub rescue: Duration,
}

/// What there is under the id of an endpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FoundEndpoint {
    /// The endpoint.
    Present(Box<WebhookEndpoint>),
    /// The endpoint was deleted.
    Deleted,
    /// There never was one.
    Unknown,
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
    #[serde(default, skip_serializing_if = "Option::is_none")]
    description: Option<String>,
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

/// The caps.
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
