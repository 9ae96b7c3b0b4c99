//! `console webhook ...`

use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand};
use domain::gate::Health;
use domain::webhook::{DisabledReason, ReceiverKey, RotationRefused, SigningSecret, SigningSecrets};
use domain::{
    DeliveryState, EndpointId, EndpointSecrets, EndpointState, EndpointUrl, Event, EventFilter, EventType,
    Timestamp, WebhookEndpoint, WorkspaceId,
};
use edge::view;
use serde::Serialize;
use store::Span;

use crate::again::{Counts, FIRST_DUE, furthest, span, wake};
use crate::arguments::{InWorkspace, moment};
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
    /// Give out the endpoint's next signing secret and show it, this once.
    ///
    /// Both secrets sign from now on (webhook-signature). Once the customer verifies with the new one, `webhook activate`
    /// ends the rotation; until then the active one alone makes X-Service-Signature.
    Rotate {
        #[command(flatten)]
        one: OneEndpoint,
        /// Give up a next secret that was given out and is not activated: it signs no more.
        #[arg(long)]
        replace: bool,
    },
    /// Make the next signing secret the active one. The one before signs beside it (webhook-signature) for 24 hours.
    Activate(OneEndpoint),
    /// Have everything delivered that the endpoint did not get: what is EXHAUSTED, and what is PARKED still.
    ///
    /// Each such delivery is attempted at once, with the whole schedule before it. Events of a time at which the endpoint
    /// was disabled are not among them: nothing is written for an endpoint that gets nothing.
    Recover {
        #[command(flatten)]
        one: OneEndpoint,
        /// Only deliveries that were made since then, at most 14 days back; 14 days when not given.
        #[arg(long, value_name = "MOMENT", value_parser = moment)]
        since: Option<Timestamp>,
    },
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
                let secrets = one.secrets(console).await?;
                let health = console.store.endpoint_health(endpoint.workspace_id, endpoint.id).await?;
                output.one(&EndpointDetails::of(&endpoint, &secrets.signing, &health, console.store.now()))
            }
            Self::Disable(one) => {
                let now = console.store.now();
                let disable = |endpoint: &WebhookEndpoint| endpoint.disabled(DisabledReason::Operator, now);
                output.one(&EndpointView::from(&one.change(console, disable).await?))
            }
            Self::Enable(one) => {
                // What it did before it was disabled says nothing about it now: neither are the parked to wait for that,
                // nor is its next failure to disable it again.
                let before = one.read(console).await?;
                console.store.reset_gate(before.workspace_id, before.id).await?;
                let enabled = one.change(console, WebhookEndpoint::enabled).await?;
                console.store.unpark_deliveries(enabled.workspace_id, enabled.id).await?;
                output.one(&EndpointView::from(&enabled))
            }
            Self::Delete(one) => delete(console, &one, output).await,
            Self::Test(one) => test(console, &one, output).await,
            Self::Rotate { one, replace } => rotate(console, &one, replace, output).await,
            Self::Activate(one) => activate(console, &one, output).await,
            Self::Recover { one, since } => recover(console, &one, since, output).await,
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

    let secret = fresh_secret(console);
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

fn fresh_secret(console: &Console) -> SigningSecret {
    let mut entropy = [0; 32];
    console.random.fill(&mut entropy);
    SigningSecret::from_entropy(entropy)
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

    async fn secrets(&self, console: &Console) -> Result<EndpointSecrets, Refusal> {
        let secrets = console.store.endpoint_secrets(self.within.workspace, self.endpoint).await?;
        secrets.ok_or(Refusal::UnknownEndpoint(self.endpoint))
    }

    /// Changes the signing secrets by a rule; whoever else changes them at the same time is asked about first.
    async fn change_secrets(
        &self,
        console: &Console,
        change: impl Fn(&SigningSecrets) -> Result<SigningSecrets, RotationRefused>,
    ) -> Result<SigningSecrets, Refusal> {
        let (workspace, id) = (console.workspace(self.within.workspace).await?.id, self.endpoint);
        for _ in 0..TRIES {
            let seen = self.secrets(console).await?.signing;
            let next = change(&seen)?;
            if console.store.replace_signing_secrets(workspace, id, &seen, &next).await? {
                return Ok(next);
            }
        }
        Err(Refusal::Contended)
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

/// The same way as any change of the workspace: event and delivery in one transaction, then the queue.
async fn test(console: &Console, one: &OneEndpoint, output: &mut Output<'_>) -> Result<(), Refusal> {
    let store = &console.store;
    let workspace = console.workspace(one.within.workspace).await?;
    let endpoint = console.endpoint_to_call(workspace.id, one.endpoint).await?;
    let trial = store.ids().next();
    let event = Event::of_change(EventType::WebhookTest, endpoint.workspace_id, &trial, 1, store.now());
    let body =
        view::event_body(&event, &view::trial(endpoint.id)).map_err(|error| Refusal::Output(error.into()))?;
    store.record_event(&event, None, body, &[endpoint.id], FIRST_DUE).await?;
    let delivery = event.delivery_to(endpoint.id);
    if wake(console, &endpoint, &[delivery]).await > 0 {
        output.remark("The queue did not take it: the delivery is made within three minutes.")?;
    }
    output.one(&TrialView {
        endpoint_id: endpoint.id.to_string(),
        event_id: event.id.to_string(),
        delivery_id: delivery.to_string(),
    })
}

/// The first phase. A run that was interrupted gave out a secret that nobody saw: `--replace` gives out another.
async fn rotate(
    console: &Console,
    one: &OneEndpoint,
    replace: bool,
    output: &mut Output<'_>,
) -> Result<(), Refusal> {
    let secret = fresh_secret(console);
    let rotated = |seen: &SigningSecrets| seen.rotated(secret.clone(), replace, console.store.now());
    let secrets = one.change_secrets(console, rotated).await?;
    output.one(&RotatedView {
        endpoint_id: one.endpoint.to_string(),
        secret: secret.expose().to_owned(),
        signatures: secrets.in_force(console.store.now()).count(),
    })?;
    output.remark(
        "Keep the signing secret now: it is not shown again. `webhook activate` makes it the active one.",
    )
}

/// The second phase. Once more is a success: the rotation is where it was asked to be.
async fn activate(console: &Console, one: &OneEndpoint, output: &mut Output<'_>) -> Result<(), Refusal> {
    let activated = one.change_secrets(console, |seen| seen.activated(console.store.now())).await;
    let (activated, until) = match activated {
        Ok(secrets) => (true, secrets.previous.map(|(_, until)| until)),
        Err(Refusal::Rotation(RotationRefused::Activated { until })) => (false, Some(until)),
        Err(refusal) => return Err(refusal),
    };
    output.one(&ActivatedView {
        endpoint_id: one.endpoint.to_string(),
        activated,
        previous_signs_until: until.map(|until| until.to_string()),
    })
}

/// What is on its way again is no longer found among the held: the command can be repeated.
async fn recover(
    console: &Console,
    one: &OneEndpoint,
    since: Option<Timestamp>,
    output: &mut Output<'_>,
) -> Result<(), Refusal> {
    let (store, now) = (&console.store, console.store.now());
    let workspace = console.workspace(one.within.workspace).await?.id;
    let endpoint = console.endpoint_to_call(workspace, one.endpoint).await?;
    // The end is open: what fails for good while this runs is recovered too, or by the next run.
    let span = Span { until: Span::EVER.until, ..span(since.unwrap_or(furthest(now)), None, now)? };
    let mut counts = Counts::default();
    for state in [DeliveryState::Exhausted, DeliveryState::Parked] {
        let mut from = None;
        loop {
            let page = store.recover_deliveries(workspace, endpoint.id, state, span, FIRST_DUE, from).await?;
            counts.add(console, &endpoint, &page).await;
            from = page.next;
            if from.is_none() {
                break;
            }
        }
    }
    counts.remark(output)?;
    output.one(&RecoveredView {
        endpoint_id: endpoint.id.to_string(),
        since: span.since.to_string(),
        recovered: counts.due,
        changed: counts.already + counts.attempted,
        gone: counts.gone,
    })
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct RotatedView {
    endpoint_id: String,
    secret: String,
    /// How many secrets sign now.
    signatures: usize,
}

impl Shown for RotatedView {
    const HEADINGS: &'static [&'static str] = &["endpoint", "next secret", "secrets that sign now"];

    fn cells(&self) -> Vec<String> {
        vec![self.endpoint_id.clone(), self.secret.clone(), self.signatures.to_string()]
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ActivatedView {
    endpoint_id: String,
    /// Whether this command did it: it may have been so before.
    activated: bool,
    previous_signs_until: Option<String>,
}

impl Shown for ActivatedView {
    const HEADINGS: &'static [&'static str] = &["endpoint", "activated", "secret before signs until"];

    fn cells(&self) -> Vec<String> {
        let activated = if self.activated { "now" } else { "already" };
        vec![self.endpoint_id.clone(), activated.to_owned(), or_dash(&self.previous_signs_until)]
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct RecoveredView {
    endpoint_id: String,
    since: String,
    recovered: usize,
    /// Passed over: they were no longer as the index showed them.
    changed: usize,
    /// Passed over: they are forgotten.
    gone: usize,
}

impl Shown for RecoveredView {
    const HEADINGS: &'static [&'static str] =
        &["endpoint", "since", "recovered", "changed meanwhile", "forgotten"];

    fn cells(&self) -> Vec<String> {
        let counts = [self.recovered, self.changed, self.gone].map(|count| count.to_string());
        [vec![self.endpoint_id.clone(), self.since.clone()], counts.to_vec()].concat()
    }
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
    /// Whether a next secret was given out that is not activated yet.
    next_secret_signs: bool,
    /// Until when the secret before the active one signs.
    previous_signs_until: Option<String>,
    /// Until when nothing is posted, as it does not answer.
    open_until: Option<String>,
    /// Until when deliveries take the slow lane, as it keeps us waiting.
    slow_until: Option<String>,
    /// Since when there is nothing but failures.
    failing_since: Option<String>,
}

impl EndpointDetails {
    fn of(endpoint: &WebhookEndpoint, secrets: &SigningSecrets, health: &Health, now: Timestamp) -> Self {
        let ahead =
            |until: Option<Timestamp>| until.filter(|until| now < *until).map(|until| until.to_string());
        let disabled = match endpoint.state {
            EndpointState::Enabled => None,
            EndpointState::Disabled { since, reason } => Some((since, reason)),
        };
        Self {
            endpoint: EndpointView::from(endpoint),
            created_at: endpoint.created_at.to_string(),
            disabled_at: disabled.map(|(since, _)| since.to_string()),
            disabled_reason: disabled.map(|(_, reason)| reason.as_str()),
            next_secret_signs: secrets.next.is_some(),
            previous_signs_until: secrets.overlapping(now).map(|(_, until)| until.to_string()),
            open_until: ahead(health.open_until),
            slow_until: ahead(health.slow_until),
            failing_since: health.failing.as_ref().map(|failing| failing.since.to_string()),
        }
    }
}

impl Shown for EndpointDetails {
    const HEADINGS: &'static [&'static str] = &[
        "endpoint",
        "state",
        "events",
        "URL",
        "created",
        "disabled",
        "because",
        "next secret",
        "secret before signs until",
        "not called until",
        "slow until",
        "failing since",
    ];

    fn cells(&self) -> Vec<String> {
        let next = if self.next_secret_signs { "signs too, not activated yet" } else { "-" };
        let mut cells = self.endpoint.cells();
        cells.extend([
            self.created_at.clone(),
            or_dash(&self.disabled_at),
            self.disabled_reason.unwrap_or("-").to_owned(),
            next.to_owned(),
            or_dash(&self.previous_signs_until),
            or_dash(&self.open_until),
            or_dash(&self.slow_until),
            or_dash(&self.failing_since),
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
