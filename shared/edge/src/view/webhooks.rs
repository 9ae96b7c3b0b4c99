//! Webhook endpoints and their jobs.

use admin::{Activated, EndpointDetails, JobProgress};
use domain::{EndpointState, Timestamp, WebhookEndpoint};
use serde::Serialize;

/// A webhook endpoint, without its secrets.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WebhookEndpointView<'a> {
    id: String,
    #[serde(rename = "type")]
    kind: &'static str,
    url: &'a str,
    description: Option<&'a str>,
    state: &'static str,
    disabled_at: Option<String>,
    disabled_reason: Option<&'static str>,
    events: Vec<&'static str>,
    max_concurrency: Option<u16>,
    max_per_second: Option<u16>,
    slots: u8,
    created_at: String,
}

/// A webhook endpoint, without its secrets.
pub fn webhook_endpoint(endpoint: &WebhookEndpoint) -> WebhookEndpointView<'_> {
    let (disabled_at, disabled_reason) = match endpoint.state {
        EndpointState::Enabled => (None, None),
        EndpointState::Disabled { since, reason } => (Some(since.to_string()), Some(reason.as_str())),
    };
    WebhookEndpointView {
        id: endpoint.id.to_string(),
        kind: "HTTP",
        url: endpoint.url.as_str(),
        description: endpoint.description.as_deref(),
        state: endpoint.state.as_str(),
        disabled_at,
        disabled_reason,
        events: endpoint.filter.names(),
        max_concurrency: endpoint.caps.concurrency,
        max_per_second: endpoint.caps.per_second,
        slots: endpoint.slots,
        created_at: endpoint.created_at.to_string(),
    }
}

/// All webhook endpoints of a workspace.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WebhookEndpointsView<'a> {
    /// The endpoints.
    pub webhook_endpoints: Vec<WebhookEndpointView<'a>>,
}

/// How an endpoint responds.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HealthView {
    width: u32,
    open_until: Option<String>,
    slow_until: Option<String>,
    failing_since: Option<String>,
}

/// The state of a rotation.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RotationView {
    next_secret_signs: bool,
    previous_signs_until: Option<String>,
}

/// A webhook endpoint, how it responds, and the state of its rotation.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct EndpointDetailsView<'a> {
    #[serde(flatten)]
    endpoint: WebhookEndpointView<'a>,
    health: HealthView,
    rotation: RotationView,
}

/// A webhook endpoint, how it responds, and the state of its rotation.
pub fn endpoint_details(details: &EndpointDetails) -> EndpointDetailsView<'_> {
    let health = details.health;
    EndpointDetailsView {
        endpoint: webhook_endpoint(&details.endpoint),
        health: HealthView {
            width: health.width,
            open_until: text(health.open_until),
            slow_until: text(health.slow_until),
            failing_since: text(health.failing_since),
        },
        rotation: RotationView {
            next_secret_signs: details.next_secret_signs,
            previous_signs_until: text(details.previous_signs_until),
        },
    }
}

/// A new webhook endpoint.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CreatedEndpointView<'a> {
    #[serde(flatten)]
    endpoint: WebhookEndpointView<'a>,
    signing_secret: Option<&'a str>,
}

/// A new webhook endpoint with its signing secret, which only the first answer has.
pub fn created_endpoint<'a>(
    endpoint: &'a WebhookEndpoint,
    secret: Option<&'a str>,
) -> CreatedEndpointView<'a> {
    CreatedEndpointView { endpoint: webhook_endpoint(endpoint), signing_secret: secret }
}

/// A changed webhook endpoint.
#[derive(Debug, Serialize)]
pub struct ChangedEndpointView<'a> {
    #[serde(flatten)]
    endpoint: WebhookEndpointView<'a>,
    job: Option<JobView>,
}

/// A changed webhook endpoint, and the job that attempts its waiting deliveries.
pub fn changed_endpoint<'a>(
    endpoint: &'a WebhookEndpoint,
    requested: Option<&JobProgress>,
) -> ChangedEndpointView<'a> {
    ChangedEndpointView { endpoint: webhook_endpoint(endpoint), job: requested.map(job) }
}

/// A new signing secret.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NewSecretView<'a> {
    signing_secret: &'a str,
    signatures: usize,
}

/// A new signing secret, and how many secrets sign each request now.
pub fn new_secret(secret: &str, signatures: usize) -> NewSecretView<'_> {
    NewSecretView { signing_secret: secret, signatures }
}

/// The end of a rotation.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ActivatedView {
    activated: bool,
    previous_signs_until: Option<String>,
}

/// The end of a rotation.
pub fn activated_secret(activated: Activated) -> ActivatedView {
    ActivatedView { activated: activated.is_new, previous_signs_until: text(activated.previous_signs_until) }
}

/// A job over all slots of its endpoint.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct JobView {
    id: String,
    what: &'static str,
    delivery_id: Option<String>,
    since: Option<String>,
    until: Option<String>,
    state: &'static str,
    attempted: u64,
    delivered: u64,
    passed_over: u64,
    asked_at: String,
    moved_at: String,
}

/// A job over all slots of its endpoint.
pub fn job(job: &JobProgress) -> JobView {
    let (since, until) = job.range();
    JobView {
        id: job.id.to_string(),
        what: job.kind.as_str(),
        delivery_id: job.delivery().map(|delivery| delivery.to_string()),
        since: text(since),
        until: text(until),
        state: job.state.as_str(),
        attempted: job.attempted,
        delivered: job.delivered,
        passed_over: job.passed_over,
        asked_at: job.asked_at.to_string(),
        moved_at: job.moved_at.to_string(),
    }
}

fn text(at: Option<Timestamp>) -> Option<String> {
    at.map(|at| at.to_string())
}
