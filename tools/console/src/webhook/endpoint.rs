//! What several verbs of `console webhook` share: the endpoint that they name, its values and its view.

use admin::Admin;
use domain::webhook::ReceiverKey;
use domain::{EndpointCaps, EndpointId, EventFilter, WebhookEndpoint};

use crate::arguments::one;
use crate::console::ByOperator;
use crate::jobs::{RequestedJobView, job_line};
use crate::refusal::unfit;
use crate::view::View;
use crate::{Console, Result};

one!(OneEndpoint {
    /// The endpoint's id.
    endpoint: EndpointId = "ID", EndpointId::parse
});

impl OneEndpoint {
    /// What changes the endpoint's workspace. It knows no queues.
    pub(super) async fn admin<'a>(&self, console: &'a Console) -> Result<Admin<'a, ByOperator>> {
        console.admin(console.workspace(&self.within).await?.id).await
    }

    /// The same for changes that wake lanes.
    pub(super) async fn admin_with_queues<'a>(&self, console: &'a Console) -> Result<Admin<'a, ByOperator>> {
        console.admin_with_queues(console.workspace(&self.within).await?.id).await
    }
}

pub(super) fn receiver_key(text: &str) -> Result<ReceiverKey> {
    ReceiverKey::parse(text).map_err(unfit("The customer's API key is invalid"))
}

pub(super) fn filter(events: &[String]) -> Result<EventFilter> {
    EventFilter::parse(events.iter().map(String::as_str)).map_err(unfit("The event is invalid"))
}

pub(super) fn description(text: &str) -> Result<String> {
    WebhookEndpoint::parse_description(text).map_err(unfit("The description is invalid"))
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
        .optional("description", "description", endpoint.description.as_ref())
}

/// An enabled endpoint, and the job that attempts its waiting deliveries.
pub(super) fn enabled_view(endpoint: &WebhookEndpoint, job: &RequestedJobView) -> View {
    endpoint_view(endpoint)
        .json("job", job.view())
        .cell("job", job_line(&job.job))
        .cell("requested before", if job.asked_before { "yes" } else { "no" })
}
