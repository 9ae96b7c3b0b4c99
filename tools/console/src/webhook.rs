//! `console webhook ...`

use std::time::Duration;

use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand};
use domain::webhook::{DisabledReason, ReceiverKey, SigningSecret, SigningSecrets};
use domain::{
    DeliveryId, EndpointId, EndpointSecrets, EndpointState, EndpointUrl, Event, EventFilter, EventType,
    Timestamp, WebhookEndpoint, WorkspaceId,
};
use edge::view;
use queue::{DeliveryTask, Wake};
use serde::Serialize;

use crate::arguments::InWorkspace;
use crate::output::{Output, Shown, or_dash};
use crate::{Console, Refusal, TRIES};

#[derive(Subcommand)]
pub(crate) enum Verb {
    /// Make an endpoint and show its signing secret, this once.
    Create(Create),
    /// List the endpoints, oldest first.
    List(InWorkspace),
    /// Show an endpoint.
    Show(OneEndpoint),
    /// Disable an endpoint: new events pass it by, deliveries under way are parked.
    Disable(OneEndpoint),
    /// Enable an endpoint: parked deliveries are attempted again.
    Enable(OneEndpoint),
    /// Delete an endpoint and its secrets; its pending deliveries are cancelled.
    Delete(OneEndpoint),
    /// Send an endpoint a trial event, `webhook.test`.
    Test(OneEndpoint),
}

#[derive(Args)]
pub(crate) struct Create {
    #[command(flatten)]
    within: InWorkspace,
    /// An https URL on port 443 or 8443 of a public host.
    #[arg(long)]
    url: String,
    /// The customer's own API key, sent as X-Service-API-Key.
    #[arg(long, value_name = "KEY")]
    api_key: String,
    /// An event it gets; repeat for several. Without this it gets all.
    #[arg(long = "event", value_name = "TYPE", value_parser = PossibleValuesParser::new(EventType::NAMES))]
    events: Vec<String>,
}

#[derive(Args)]
pub(crate) struct OneEndpoint {
    #[command(flatten)]
    within: InWorkspace,
    /// The endpoint's id.
    #[arg(long, value_name = "ID", value_parser = EndpointId::parse)]
    endpoint: EndpointId,
}

impl Verb {
    pub(crate) async fn run(self, console: &Console, output: &mut Output<'_>) -> Result<(), Refusal> {
        match self {
            Self::Create(wanted) => create(console, &wanted, output).await,
            Self::List(within) => {
                let workspace = console.workspace(within.workspace).await?;
                let endpoints = console.store.endpoints(workspace.id).await?;
                output.list(&endpoints.iter().map(EndpointView::from).collect::<Vec<_>>())
            }
            Self::Show(one) => {
                let endpoint = one.read(console).await?;
                output.one(&EndpointDetails::from(&endpoint))
            }
            Self::Disable(one) => {
                let now = console.store.now();
                let disable = |endpoint: &WebhookEndpoint| endpoint.disabled(DisabledReason::Operator, now);
                output.one(&EndpointView::from(&one.change(console, disable).await?))
            }
            Self::Enable(one) => {
                let enabled = one.change(console, WebhookEndpoint::enabled).await?;
                console.store.unpark_deliveries(enabled.workspace_id, enabled.id).await?;
                output.one(&EndpointView::from(&enabled))
            }
            Self::Delete(one) => delete(console, &one, output).await,
            Self::Test(one) => test(console, &one, output).await,
        }
    }
}

async fn create(console: &Console, wanted: &Create, output: &mut Output<'_>) -> Result<(), Refusal> {
    let store = &console.store;
    let url = EndpointUrl::parse(&wanted.url, &console.trusted)?;
    let api_key = ReceiverKey::parse(&wanted.api_key)
        .map_err(|reason| Refusal::Unfit { what: "The customer's API key does not fit", reason })?;
    let filter = EventFilter::parse(wanted.events.iter().map(String::as_str))
        .map_err(|reason| Refusal::Unfit { what: "The event does not fit", reason })?;
    let workspace_id = console.workspace(wanted.within.workspace).await?.id;

    let mut entropy = [0; 32];
    console.random.fill(&mut entropy);
    let secret = SigningSecret::from_entropy(entropy);
    let secrets = EndpointSecrets { api_key, signing: SigningSecrets::only(secret.clone()) };
    let endpoint = WebhookEndpoint {
        id: EndpointId::generate(store.ids()),
        workspace_id,
        url,
        state: EndpointState::Enabled,
        filter,
        created_at: store.now(),
        version: 1,
    };
    add(console, &endpoint, &secrets).await?;
    output.one(&NewEndpointView::of(&endpoint, &secret))?;
    output.remark("Keep the signing secret now: it is not shown again.")
}

async fn add(
    console: &Console,
    endpoint: &WebhookEndpoint,
    secrets: &EndpointSecrets,
) -> Result<(), Refusal> {
    for _ in 0..TRIES {
        // The workspace first: what is added after this read shows in its version.
        let workspace = console.workspace(endpoint.workspace_id).await?;
        let present = console.store.endpoints(workspace.id).await?.len();
        if present >= WebhookEndpoint::MAX_PER_WORKSPACE {
            return Err(Refusal::TooManyEndpoints);
        }
        if console.store.create_endpoint(&workspace, endpoint, secrets).await? {
            return Ok(());
        }
    }
    Err(Refusal::Contended)
}

impl OneEndpoint {
    async fn read(&self, console: &Console) -> Result<WebhookEndpoint, Refusal> {
        let workspace = console.workspace(self.within.workspace).await?;
        let endpoint = console.store.endpoint(workspace.id, self.endpoint).await?;
        endpoint.ok_or(Refusal::UnknownEndpoint(self.endpoint))
    }

    /// A change that changes nothing is a success: commands can be repeated.
    async fn change(
        &self,
        console: &Console,
        change: impl Fn(&WebhookEndpoint) -> Option<WebhookEndpoint>,
    ) -> Result<WebhookEndpoint, Refusal> {
        for _ in 0..TRIES {
            let endpoint = self.read(console).await?;
            let Some(next) = change(&endpoint) else { return Ok(endpoint) };
            if console.store.replace_endpoint(&next).await? {
                return Ok(next);
            }
        }
        Err(Refusal::Contended)
    }
}

async fn delete(console: &Console, one: &OneEndpoint, output: &mut Output<'_>) -> Result<(), Refusal> {
    let workspace = console.workspace(one.within.workspace).await?;
    // A run that was interrupted behind the deletion is to be repeated: what it left is cancelled by the next.
    let existed = console.store.delete_endpoint(workspace.id, one.endpoint).await?;
    if !existed && !was_deleted(console, workspace.id, one.endpoint).await? {
        return Err(Refusal::UnknownEndpoint(one.endpoint));
    }
    let cancelled = console.store.cancel_deliveries(workspace.id, one.endpoint).await?;
    output.one(&DeletedView { endpoint_id: one.endpoint.to_string(), deleted: true, cancelled })
}

async fn was_deleted(
    console: &Console,
    workspace: WorkspaceId,
    endpoint: EndpointId,
) -> Result<bool, Refusal> {
    let ever = Timestamp::from_millis(0);
    Ok(console.store.endpoints_deleted_since(workspace, ever).await?.contains(&endpoint))
}

/// When the sweeper looks after a trial delivery whose queue message was lost.
const FIRST_DUE: Duration = Duration::from_secs(120);

/// The same way as any change of the workspace: event and delivery in one transaction, then the queue.
async fn test(console: &Console, one: &OneEndpoint, output: &mut Output<'_>) -> Result<(), Refusal> {
    let store = &console.store;
    let endpoint = one.read(console).await?;
    if !endpoint.is_enabled() {
        return Err(Refusal::EndpointDisabled(endpoint.id));
    }
    let trial = store.ids().next();
    let event = Event::of_change(EventType::WebhookTest, endpoint.workspace_id, &trial, 1, store.now());
    let body =
        view::event_body(&event, &view::trial(endpoint.id)).map_err(|error| Refusal::Output(error.into()))?;
    store.record_event(&event, None, body, &[endpoint.id], FIRST_DUE).await?;
    let delivery = event.delivery_to(endpoint.id);
    if wake(console, &endpoint, delivery).await.is_err() {
        output.remark("The queue did not take it: the delivery is made within three minutes.")?;
    }
    output.one(&TrialView {
        endpoint_id: endpoint.id.to_string(),
        event_id: event.id.to_string(),
        delivery_id: delivery.to_string(),
    })
}

async fn wake(
    console: &Console,
    endpoint: &WebhookEndpoint,
    delivery_id: DeliveryId,
) -> Result<(), Box<dyn std::error::Error>> {
    let task = DeliveryTask { workspace_id: endpoint.workspace_id, delivery_id };
    let wake = Wake { task, group: *endpoint.id.as_uuid(), after: Duration::ZERO };
    Ok(console.queue.open().await?.enqueue(&[wake]).await?)
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct TrialView {
    endpoint_id: String,
    event_id: String,
    delivery_id: String,
}

impl Shown for TrialView {
    const HEADINGS: &'static [&'static str] = &["endpoint", "event", "delivery"];

    fn cells(&self) -> Vec<String> {
        vec![self.endpoint_id.clone(), self.event_id.clone(), self.delivery_id.clone()]
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct NewEndpointView {
    endpoint_id: String,
    secret: String,
    url: String,
}

impl NewEndpointView {
    fn of(endpoint: &WebhookEndpoint, secret: &SigningSecret) -> Self {
        Self {
            endpoint_id: endpoint.id.to_string(),
            secret: secret.expose().to_owned(),
            url: endpoint.url.as_str().to_owned(),
        }
    }
}

impl Shown for NewEndpointView {
    const HEADINGS: &'static [&'static str] = &["endpoint", "secret", "URL"];

    fn cells(&self) -> Vec<String> {
        vec![self.endpoint_id.clone(), self.secret.clone(), self.url.clone()]
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct EndpointView {
    endpoint_id: String,
    url: String,
    state: &'static str,
    events: Vec<&'static str>,
}

impl From<&WebhookEndpoint> for EndpointView {
    fn from(endpoint: &WebhookEndpoint) -> Self {
        Self {
            endpoint_id: endpoint.id.to_string(),
            url: endpoint.url.as_str().to_owned(),
            state: endpoint.state.as_str(),
            events: endpoint.filter.names(),
        }
    }
}

impl Shown for EndpointView {
    const HEADINGS: &'static [&'static str] = &["endpoint", "state", "events", "URL"];

    fn cells(&self) -> Vec<String> {
        vec![self.endpoint_id.clone(), self.state.to_owned(), self.events.join(" "), self.url.clone()]
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct EndpointDetails {
    #[serde(flatten)]
    endpoint: EndpointView,
    created_at: String,
    disabled_at: Option<String>,
    disabled_reason: Option<&'static str>,
}

impl From<&WebhookEndpoint> for EndpointDetails {
    fn from(endpoint: &WebhookEndpoint) -> Self {
        let disabled = match endpoint.state {
            EndpointState::Enabled => None,
            EndpointState::Disabled { since, reason } => Some((since, reason)),
        };
        Self {
            endpoint: EndpointView::from(endpoint),
            created_at: endpoint.created_at.to_string(),
            disabled_at: disabled.map(|(since, _)| since.to_string()),
            disabled_reason: disabled.map(|(_, reason)| reason.as_str()),
        }
    }
}

impl Shown for EndpointDetails {
    const HEADINGS: &'static [&'static str] =
        &["endpoint", "state", "events", "URL", "created", "disabled", "because"];

    fn cells(&self) -> Vec<String> {
        let mut cells = self.endpoint.cells();
        cells.extend([
            self.created_at.clone(),
            or_dash(&self.disabled_at),
            self.disabled_reason.unwrap_or("-").to_owned(),
        ]);
        cells
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct DeletedView {
    endpoint_id: String,
    deleted: bool,
    /// Deliveries that were pending or parked.
    cancelled: usize,
}

impl Shown for DeletedView {
    const HEADINGS: &'static [&'static str] = &["deleted endpoint", "cancelled deliveries"];

    fn cells(&self) -> Vec<String> {
        vec![self.endpoint_id.clone(), self.cancelled.to_string()]
    }
}
