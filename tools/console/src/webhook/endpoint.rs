//! What several verbs of `console webhook` share: the endpoint that they name, its values and its view.

use domain::webhook::{ReceiverKey, RotationRefused, SigningSecrets};
use domain::{EndpointCaps, EndpointId, EndpointSecrets, EventFilter, WebhookEndpoint};

use crate::arguments::one;
use crate::changed::{Decision, changed};
use crate::jobs::RequestedJobView;
use crate::view::View;

use crate::refusal::{Named, unfit};
use crate::{Console, Refusal, Result};

one!(OneEndpoint {
    /// The endpoint's id.
    endpoint: EndpointId = "ID", EndpointId::parse
});

impl OneEndpoint {
    pub(super) async fn read(&self, console: &Console) -> Result<WebhookEndpoint> {
        let workspace = console.workspace(&self.within).await?;
        let endpoint = console.store.endpoint(workspace.id, self.endpoint).await?;
        Named::Endpoint.found(endpoint, self.endpoint)
    }

    pub(super) async fn secrets(&self, console: &Console) -> Result<EndpointSecrets> {
        let workspace = console.workspace(&self.within).await?.id;
        let secrets = console.store.endpoint_secrets(workspace, self.endpoint).await?;
        Named::Endpoint.found(secrets, self.endpoint)
    }

    /// Changes the signing secrets with `change`. After a concurrent change, it reads the secrets and applies
    /// `change` again.
    pub(super) async fn change_secrets(
        &self,
        console: &Console,
        change: impl Fn(&SigningSecrets) -> Result<SigningSecrets, RotationRefused>,
    ) -> Result<SigningSecrets> {
        let (workspace, id) = (console.workspace(&self.within).await?.id, self.endpoint);
        changed(
            async || Ok(self.secrets(console).await?.signing),
            |seen| Ok(Decision::Changed(change(seen)?)),
            async |seen, next| console.store.replace_signing_secrets(workspace, id, seen, next).await,
        )
        .await
    }

    pub(super) async fn change(
        &self,
        console: &Console,
        change: impl Fn(&WebhookEndpoint) -> Option<WebhookEndpoint>,
    ) -> Result<WebhookEndpoint> {
        changed(
            async || self.read(console).await,
            |endpoint| Ok(Decision::of(endpoint, change(endpoint))),
            async |_, next| console.store.replace_endpoint(next).await,
        )
        .await
    }
}

pub(super) fn receiver_key(text: &str) -> Result<ReceiverKey> {
    ReceiverKey::parse(text).map_err(unfit("The customer's API key is invalid"))
}

pub(super) fn filter(events: &[String]) -> Result<EventFilter> {
    EventFilter::parse(events.iter().map(String::as_str)).map_err(unfit("The event is invalid"))
}

/// Checks that this number of slots can keep these caps.
pub(super) fn bearable(caps: EndpointCaps, slots: u8) -> Result {
    let named = [("--max-concurrency", caps.concurrency), ("--max-per-second", caps.per_second)];
    for (argument, cap) in named {
        if let Some(cap) = cap.filter(|cap| *cap < u16::from(slots)) {
            return Err(Refusal::CapTooLow { argument, cap, slots });
        }
    }
    Ok(())
}

pub(super) fn cap(text: &str) -> Result<u16, String> {
    let most = EndpointCaps::MOST;
    text.parse().ok().filter(|cap| (1..=most).contains(cap)).ok_or(format!("should be 1 to {most}"))
}

pub(super) fn slots(text: &str) -> Result<u8, String> {
    let most = WebhookEndpoint::MAX_SLOTS;
    text.parse().ok().filter(|slots| (1..=most).contains(slots)).ok_or(format!("should be 1 to {most}"))
}

pub(super) fn endpoint_view(endpoint: &WebhookEndpoint) -> View {
    View::new()
        .text("endpointId", "endpoint", endpoint.id)
        .text("state", "state", endpoint.state.as_str())
        .json("events", endpoint.filter.names())
        .cell("events", endpoint.filter.names().join(" "))
        .value("maxConcurrency", "max concurrency", endpoint.caps.concurrency)
        .value("maxPerSecond", "max per second", endpoint.caps.per_second)
        .value("slots", "slots", endpoint.slots)
        .text("url", "URL", endpoint.url.as_str())
}

/// An enabled endpoint, and the job that attempts its waiting deliveries.
pub(super) fn enabled_view(endpoint: &WebhookEndpoint, job: &RequestedJobView) -> View {
    endpoint_view(endpoint)
        .json("job", job.view())
        .cell("job", job.job.line())
        .cell("requested before", if job.asked_before { "yes" } else { "no" })
}
