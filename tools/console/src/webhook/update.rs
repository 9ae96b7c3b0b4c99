//! `console webhook update`

use std::path::PathBuf;

use clap::Args;
use clap::builder::PossibleValuesParser;
use domain::webhook::ReceiverKey;
use domain::{EndpointCaps, EndpointUrl, EventFilter, EventType, WebhookEndpoint};

use super::endpoint::{OneEndpoint, bearable, cap, enabled_view, endpoint_view, filter, receiver_key, slots};
use crate::arguments::secret_text;
use crate::changed::{Decision, changed};
use crate::jobs::{JobRequest, Waiting};
use crate::output::{Output, Report};
use crate::{Console, Refusal, Result};

#[derive(Args)]
pub(crate) struct Update {
    #[command(flatten)]
    one: OneEndpoint,
    #[command(flatten)]
    changes: Changes,
    #[command(flatten)]
    waiting: Waiting,
}

#[derive(Args)]
#[group(required = true, multiple = true)]
struct Changes {
    /// The new https URL, on port 443 or 8443 of a public host.
    #[arg(long)]
    url: Option<String>,
    /// The customer's new API key, sent as X-Service-API-Key.
    #[arg(long, value_name = "KEY")]
    api_key: Option<String>,
    /// A file that contains only the customer's new API key; `-` is standard input.
    #[arg(long, value_name = "FILE", conflicts_with = "api_key")]
    api_key_file: Option<PathBuf>,
    /// An event that the endpoint gets from now on; repeat for several. The list replaces the previous one.
    #[arg(long = "event", value_name = "TYPE", value_parser = PossibleValuesParser::new(EventType::NAMES))]
    events: Vec<String>,
    /// The endpoint gets all events from now on, including future types.
    #[arg(long, conflicts_with = "events")]
    all_events: bool,
    /// The maximum number of requests at the same time, 1 to 1000, or `none`.
    #[arg(long, value_name = "N", value_parser = NewCap::parse)]
    max_concurrency: Option<NewCap>,
    /// The maximum number of requests per second, 1 to 1000, or `none`.
    #[arg(long, value_name = "N", value_parser = NewCap::parse)]
    max_per_second: Option<NewCap>,
    /// The number of slots over which its deliveries are spread, up to 16. It can only be increased.
    #[arg(long, value_name = "N", value_parser = slots)]
    slots: Option<u8>,
}

/// The new value of a cap: a number or `none`.
#[derive(Clone, Copy)]
struct NewCap(Option<u16>);

impl NewCap {
    fn parse(text: &str) -> Result<Self, String> {
        match text {
            "none" => Ok(Self(None)),
            _ => cap(text).map(Some).map(Self).map_err(|should| format!("{should}, or none")),
        }
    }
}

/// Changes the endpoint, and then requests the job for a new URL, so that a worker finds the new URL. If the command is
/// interrupted between the two steps, repeat it.
pub(super) async fn update(console: &Console, wanted: &Update, output: &mut Output<'_>) -> Result<Report> {
    let changes = Checked::of(&wanted.changes, console, output)?;
    let endpoint = apply(console, &wanted.one, &changes).await?;
    if changes.url.is_none() || !endpoint.is_enabled() {
        return Ok(endpoint_view(&endpoint).into());
    }
    let job = JobRequest::enable(&endpoint).submit(console).await?.job(console, &wanted.waiting).await?;
    Ok(job.report(enabled_view(&endpoint, &job)))
}

/// The changes whose values are valid by themselves.
struct Checked {
    url: Option<EndpointUrl>,
    api_key: Option<ReceiverKey>,
    filter: Option<EventFilter>,
    max_concurrency: Option<NewCap>,
    max_per_second: Option<NewCap>,
    slots: Option<u8>,
}

impl Checked {
    fn of(given: &Changes, console: &Console, output: &mut Output<'_>) -> Result<Self> {
        let url = given.url.as_deref().map(|url| EndpointUrl::parse(url, &console.trusted)).transpose()?;
        let api_key = secret_text(given.api_key.as_deref(), given.api_key_file.as_deref(), output)?;
        let has_filter = given.all_events || !given.events.is_empty();
        Ok(Self {
            url,
            api_key: api_key.as_deref().map(receiver_key).transpose()?,
            filter: has_filter.then(|| filter(&given.events)).transpose()?,
            max_concurrency: given.max_concurrency,
            max_per_second: given.max_per_second,
            slots: given.slots,
        })
    }

    /// The endpoint with these changes, at the same version.
    fn applied_to(&self, endpoint: &WebhookEndpoint) -> Result<WebhookEndpoint> {
        let EndpointCaps { concurrency, per_second } = endpoint.caps;
        let caps = EndpointCaps {
            concurrency: self.max_concurrency.map_or(concurrency, |NewCap(cap)| cap),
            per_second: self.max_per_second.map_or(per_second, |NewCap(cap)| cap),
        };
        let (has, slots) = (endpoint.slots, self.slots.unwrap_or(endpoint.slots));
        if slots < has {
            return Err(Refusal::FewerSlots { has, wanted: slots });
        }
        bearable(caps, slots)?;
        Ok(WebhookEndpoint {
            url: self.url.clone().unwrap_or_else(|| endpoint.url.clone()),
            filter: self.filter.clone().unwrap_or_else(|| endpoint.filter.clone()),
            caps,
            slots,
            ..endpoint.clone()
        })
    }
}

/// Applies the changes to the endpoint.
async fn apply(console: &Console, one: &OneEndpoint, changes: &Checked) -> Result<WebhookEndpoint> {
    let (endpoint, _) = changed(
        async || {
            let seen = one.read(console).await?;
            let new_key = match &changes.api_key {
                Some(key) => (one.secrets(console).await?.api_key != *key).then_some(key),
                None => None,
            };
            Ok((seen, new_key))
        },
        |(seen, new_key)| {
            let mut next = changes.applied_to(seen)?;
            if next == *seen && new_key.is_none() {
                return Ok(Decision::Unchanged((next, *new_key)));
            }
            next.version += 1;
            Ok(Decision::Changed((next, *new_key)))
        },
        async |_, (next, new_key)| console.store.update_endpoint(next, *new_key).await,
    )
    .await?;
    Ok(endpoint)
}
