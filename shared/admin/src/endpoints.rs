//! Webhook endpoints: create, change, enable, disable and delete them, and rotate their secrets.
//!
//! Each change is tried again while others change the same rows at the same time.

use domain::webhook::{
    DisabledReason, EndpointChange, ReceiverKey, RotationRefused, SigningSecret, SigningSecrets,
};
use domain::{
    AuditAction, EndpointCaps, EndpointId, EndpointSecrets, EndpointState, EndpointUrl, EventFilter, Job,
    Pace, Timestamp, WebhookEndpoint, WorkspaceId,
};
use futures::future::{try_join, try_join_all};
use store::{
    EndpointCreated, EndpointStep, FoundEndpoint, IdempotencyKey, NewEndpoint, Store, StoreError, Table,
};

use crate::admin::{Admin, Check, Created};
use crate::jobs::{JobRequest, RequestedJob};
use crate::refused::Refused;

/// The settings of a new endpoint.
#[derive(Clone, Debug)]
pub struct EndpointDraft {
    /// The URL.
    pub url: EndpointUrl,
    /// What people call the endpoint.
    pub description: Option<String>,
    /// The types of events.
    pub filter: EventFilter,
    /// The caps.
    pub caps: EndpointCaps,
    /// The number of slots.
    pub slots: u8,
}

/// A change of an endpoint.
#[derive(Clone, Debug)]
pub struct EndpointUpdate {
    /// The new settings.
    pub settings: EndpointChange,
    /// The customer's new API key.
    pub receiver_key: Option<ReceiverKey>,
}

/// An endpoint after a change, and the job that attempts its waiting deliveries.
#[derive(Clone, Debug)]
pub struct ChangedEndpoint {
    /// The endpoint.
    pub endpoint: WebhookEndpoint,
    /// The job, if the change requests one.
    pub job: Option<RequestedJob>,
}

/// The second phase of a rotation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Activated {
    /// Whether the next secret was activated now. It may have been active before.
    pub is_new: bool,
    /// Until when the previous secret also signs.
    pub previous_signs_until: Option<Timestamp>,
}

/// An endpoint with the state of its rotation and of its slots.
#[derive(Clone, Debug)]
pub struct EndpointDetails {
    /// The endpoint.
    pub endpoint: WebhookEndpoint,
    /// Whether a next secret also signs, which is not activated yet.
    pub next_secret_signs: bool,
    /// Until when the previous secret also signs.
    pub previous_signs_until: Option<Timestamp>,
    /// How the endpoint responds.
    pub health: Health,
}

/// How an endpoint responds, over its slots: the worst value of each, and the sum of their widths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Health {
    /// How many requests may be in flight.
    pub width: u32,
    /// Until when the circuit is open: no requests are made.
    pub open_until: Option<Timestamp>,
    /// Until when the endpoint counts as slow.
    pub slow_until: Option<Timestamp>,
    /// Since when every attempt fails.
    pub failing_since: Option<Timestamp>,
}

impl Health {
    fn of(paces: &[Pace], now: Timestamp) -> Self {
        let latest = |until: fn(&Pace) -> Option<Timestamp>| {
            paces.iter().filter_map(until).filter(|until| now < *until).max()
        };
        let failing = paces.iter().filter_map(|pace| pace.failing.as_ref()).map(|failing| failing.since);
        Self {
            width: paces.iter().map(|pace| u32::from(pace.width)).sum(),
            open_until: latest(|pace| pace.open_until),
            slow_until: latest(|pace| pace.slow_until),
            failing_since: failing.min(),
        }
    }
}

/// An endpoint. One round trip.
pub async fn endpoint<E>(store: &Store, workspace: WorkspaceId, id: EndpointId) -> Result<WebhookEndpoint, E>
where
    E: From<Refused> + From<StoreError>,
{
    let found = store.endpoint(workspace, id).await?;
    Ok(found.ok_or(Refused::UnknownEndpoint(id))?)
}

/// An endpoint that gets deliveries. One round trip.
pub async fn endpoint_to_call<E>(
    store: &Store,
    workspace: WorkspaceId,
    id: EndpointId,
) -> Result<WebhookEndpoint, E>
where
    E: From<Refused> + From<StoreError>,
{
    let endpoint = endpoint::<E>(store, workspace, id).await?;
    if endpoint.is_enabled() { Ok(endpoint) } else { Err(Refused::EndpointDisabled(id).into()) }
}

/// An endpoint with the state of its rotation and of its slots. Two round trips.
pub async fn endpoint_details<E>(
    store: &Store,
    workspace: WorkspaceId,
    id: EndpointId,
) -> Result<EndpointDetails, E>
where
    E: From<Refused> + From<StoreError>,
{
    let (endpoint, secrets) = endpoint_and_secrets::<E>(store, workspace, id).await?;
    let now = store.now();
    let paces = try_join_all(endpoint.all_slots().map(|slot| store.endpoint_pace(slot))).await?;
    let signing = secrets.signing;
    Ok(EndpointDetails {
        next_secret_signs: signing.next.is_some(),
        previous_signs_until: signing.overlapping(now).map(|(_, until)| *until),
        health: Health::of(&paces, now),
        endpoint,
    })
}

async fn endpoint_and_secrets<E>(
    store: &Store,
    workspace: WorkspaceId,
    id: EndpointId,
) -> Result<(WebhookEndpoint, EndpointSecrets), E>
where
    E: From<Refused> + From<StoreError>,
{
    let found = try_join(store.endpoint(workspace, id), store.endpoint_secrets(workspace, id)).await?;
    let (Some(endpoint), Some(secrets)) = found else { return Err(Refused::UnknownEndpoint(id).into()) };
    Ok((endpoint, secrets))
}

impl<G: Check<WebhookEndpoint>> Admin<'_, G> {
    /// The endpoint that a draft makes.
    pub fn drafted(&self, draft: EndpointDraft) -> Result<WebhookEndpoint, Refused> {
        let EndpointDraft { url, description, filter, caps, slots } = draft;
        caps.check_slots(slots).map_err(|cap| Refused::Unfit(cap.into()))?;
        Ok(WebhookEndpoint {
            id: EndpointId::generate(self.store.ids()),
            workspace_id: self.workspace,
            url,
            description,
            state: EndpointState::Enabled,
            filter,
            caps,
            slots,
            forgets_before: None,
            failing_since: None,
            created_at: self.store.now(),
            version: 1,
        })
    }

    /// Creates an endpoint, with the answer of an idempotency key. Three round trips.
    pub async fn create_endpoint(
        &self,
        endpoint: &WebhookEndpoint,
        secrets: &EndpointSecrets,
        kept: Option<(&IdempotencyKey, &str)>,
    ) -> Result<Created, G::Refusal> {
        let new = NewEndpoint { endpoint, secrets, by: &self.by, kept };
        self.until_written(|| self.try_create(&new)).await
    }

    async fn try_create(&self, new: &NewEndpoint<'_>) -> Result<Option<Created>, G::Refusal> {
        let (store, id) = (self.store, self.workspace);
        let answered = self.answered(Table::Webhooks, new.kept);
        // The endpoints are read after the workspace: one that is missing among them changes the version of the workspace.
        let present = async {
            let workspace = store.workspace(id).await?;
            Ok((workspace, store.endpoints(id).await?))
        };
        let ((workspace, present), answered) = try_join(present, answered).await?;
        if let Some(answered) = answered {
            return Ok(Some(Created::Answered(answered)));
        }
        let workspace = workspace.ok_or(Refused::UnknownWorkspace(id))?;
        let of = WebhookEndpoint::MAX_PER_WORKSPACE;
        if present.len() >= of {
            return Err(Refused::TooManyEndpoints { of }.into());
        }
        self.gate.admit().await?;
        Ok(match store.create_endpoint(&workspace, new).await? {
            EndpointCreated::Done => Some(Created::Done),
            EndpointCreated::Answered(answered) => Some(Created::Answered(answered)),
            EndpointCreated::Stale => None,
        })
    }

    /// Changes an endpoint. A new URL of an enabled endpoint requests a job that attempts all its waiting deliveries; a repeat
    /// of such a change finds the job. Two round trips, and one more for the job.
    pub async fn update_endpoint(
        &self,
        id: EndpointId,
        update: &EndpointUpdate,
    ) -> Result<ChangedEndpoint, G::Refusal> {
        self.until_written(|| self.try_update(id, update)).await
    }

    async fn try_update(
        &self,
        id: EndpointId,
        update: &EndpointUpdate,
    ) -> Result<Option<ChangedEndpoint>, G::Refusal> {
        let (seen, new_key) = match &update.receiver_key {
            None => (self.endpoint(id).await?, None),
            Some(key) => {
                let (seen, secrets) = self.endpoint_and_secrets(id).await?;
                (seen, (secrets.api_key != *key).then_some(key))
            }
        };
        self.ready(&seen).await?;
        let changed = seen.changed(&update.settings).map_err(Refused::Unfit)?;
        let mut fields = changed.as_ref().map_or(vec![], |next| seen.differences(next));
        fields.extend(new_key.map(|_| "receiverKey"));
        let next = match changed {
            Some(next) => next,
            None if new_key.is_some() => WebhookEndpoint { version: seen.version + 1, ..seen.clone() },
            None => {
                let has_job = update.settings.url.is_some() && seen.is_enabled();
                let job = match has_job {
                    true => JobRequest::enable(&seen).find(self.store).await?,
                    false => None,
                };
                return Ok(Some(ChangedEndpoint { endpoint: seen, job }));
            }
        };
        let has_job = next.url != seen.url && next.is_enabled();
        let request = has_job.then(|| JobRequest::enable(&next));
        self.step(next, new_key, (AuditAction::WebhookEndpointUpdate, &fields), request).await
    }

    /// Enables an endpoint and requests a job that attempts all its waiting deliveries, both or neither. Of an enabled endpoint,
    /// only the job is requested, once. Three round trips.
    pub async fn enable_endpoint(
        &self,
        id: EndpointId,
    ) -> Result<(WebhookEndpoint, RequestedJob), G::Refusal> {
        self.until_written(|| self.try_enable(id)).await
    }

    async fn try_enable(
        &self,
        id: EndpointId,
    ) -> Result<Option<(WebhookEndpoint, RequestedJob)>, G::Refusal> {
        let seen = self.endpoint(id).await?;
        self.ready(&seen).await?;
        let Some(next) = seen.enabled(self.store.now()) else {
            let job = JobRequest::enable(&seen).submit(self).await?;
            return Ok(Some((seen, job)));
        };
        let request = JobRequest::enable(&next);
        let changed = self.step(next, None, (AuditAction::WebhookEndpointEnable, &[]), Some(request)).await?;
        Ok(changed.and_then(|ChangedEndpoint { endpoint, job }| Some((endpoint, job?))))
    }

    /// Disables an endpoint. Two round trips.
    pub async fn disable_endpoint(
        &self,
        id: EndpointId,
        reason: DisabledReason,
    ) -> Result<WebhookEndpoint, G::Refusal> {
        self.until_written(|| self.try_disable(id, reason)).await
    }

    async fn try_disable(
        &self,
        id: EndpointId,
        reason: DisabledReason,
    ) -> Result<Option<WebhookEndpoint>, G::Refusal> {
        let seen = self.endpoint(id).await?;
        self.ready(&seen).await?;
        let Some(next) = seen.disabled(reason, self.store.now()) else { return Ok(Some(seen)) };
        let changed = self.step(next, None, (AuditAction::WebhookEndpointDisable, &[]), None).await?;
        Ok(changed.map(|changed| changed.endpoint))
    }

    /// Deletes an endpoint and its secrets. A repeat changes nothing. Two round trips.
    pub async fn delete_endpoint(&self, id: EndpointId) -> Result<(), G::Refusal> {
        self.until_written(|| self.try_delete(id)).await
    }

    async fn try_delete(&self, id: EndpointId) -> Result<Option<()>, G::Refusal> {
        match self.store.endpoint_or_deleted(self.workspace, id).await? {
            FoundEndpoint::Unknown => Err(Refused::UnknownEndpoint(id).into()),
            FoundEndpoint::Deleted => Ok(Some(())),
            FoundEndpoint::Present(seen) => {
                self.ready(&seen).await?;
                Ok(self.store.delete_endpoint(&seen, &self.by).await?.then_some(()))
            }
        }
    }

    /// The first phase of a rotation: `secret` signs in addition to the active one. Two round trips.
    pub async fn rotate_secret(
        &self,
        id: EndpointId,
        secret: &SigningSecret,
        replace: bool,
    ) -> Result<SigningSecrets, G::Refusal> {
        self.until_written(|| self.try_rotate(id, secret, replace)).await
    }

    async fn try_rotate(
        &self,
        id: EndpointId,
        secret: &SigningSecret,
        replace: bool,
    ) -> Result<Option<SigningSecrets>, G::Refusal> {
        let (endpoint, EndpointSecrets { signing: seen, .. }) = self.endpoint_and_secrets(id).await?;
        self.ready(&endpoint).await?;
        let next = seen.rotated(secret.clone(), replace, self.store.now()).map_err(Refused::Rotation)?;
        let action = AuditAction::WebhookEndpointRotateSecret;
        let of = (self.workspace, id);
        let is_done = self.store.replace_signing_secrets(of, &seen, &next, action, &self.by).await?;
        Ok(is_done.then_some(next))
    }

    /// The second phase: the next secret becomes the active one. A repeat changes nothing. Two round trips.
    pub async fn activate_secret(&self, id: EndpointId) -> Result<Activated, G::Refusal> {
        self.until_written(|| self.try_activate(id)).await
    }

    async fn try_activate(&self, id: EndpointId) -> Result<Option<Activated>, G::Refusal> {
        let (endpoint, EndpointSecrets { signing: seen, .. }) = self.endpoint_and_secrets(id).await?;
        self.ready(&endpoint).await?;
        let next = match seen.activated(self.store.now()) {
            Err(RotationRefused::Activated { until }) => {
                return Ok(Some(Activated { is_new: false, previous_signs_until: Some(until) }));
            }
            judged => judged.map_err(Refused::Rotation)?,
        };
        let action = AuditAction::WebhookEndpointActivateSecret;
        let of = (self.workspace, id);
        let is_done = self.store.replace_signing_secrets(of, &seen, &next, action, &self.by).await?;
        let previous_signs_until = next.previous.map(|(_, until)| until);
        Ok(is_done.then_some(Activated { is_new: true, previous_signs_until }))
    }

    async fn endpoint(&self, id: EndpointId) -> Result<WebhookEndpoint, G::Refusal> {
        endpoint(self.store, self.workspace, id).await
    }

    async fn endpoint_and_secrets(
        &self,
        id: EndpointId,
    ) -> Result<(WebhookEndpoint, EndpointSecrets), G::Refusal> {
        endpoint_and_secrets(self.store, self.workspace, id).await
    }

    /// Writes a change of an endpoint with its job and its entry of the audit log, and wakes the lanes of the job. Returns `None`
    /// if the endpoint has changed since it was read.
    async fn step(
        &self,
        next: WebhookEndpoint,
        new_key: Option<&ReceiverKey>,
        (action, fields): (AuditAction, &[&str]),
        request: Option<JobRequest>,
    ) -> Result<Option<ChangedEndpoint>, G::Refusal> {
        let jobs: Vec<Job> = request.map_or(vec![], |request| request.new_jobs(self.store.now()));
        let step = EndpointStep {
            next: &next,
            new_key,
            action,
            fields,
            by: &self.by,
            jobs: &jobs,
            rescue: self.rescue,
        };
        if !self.store.change_endpoint(&step).await? {
            return Ok(None);
        }
        let job = RequestedJob::written(self, &jobs).await?;
        Ok(Some(ChangedEndpoint { endpoint: next, job }))
    }
}
