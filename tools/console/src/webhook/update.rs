//! `console webhook update`

use std::path::PathBuf;

use admin::EndpointUpdate;
use clap::Args;
use clap::builder::PossibleValuesParser;
use domain::webhook::EndpointChange;
use domain::{EndpointUrl, EventType, Patch};

use super::endpoint::{
    OneEndpoint, cap, description, enabled_view, endpoint_view, filter, receiver_key, slots,
};
use crate::arguments::secret_text;
use crate::jobs::Waiting;
use crate::output::{Output, Report};
use crate::{Console, Result};

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
    /// What people call the endpoint, up to 200 characters; an empty text removes it.
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
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

/// Changes the endpoint. A new URL of an enabled endpoint requests the job in the same transaction.
pub(super) async fn update(console: &Console, wanted: &Update, output: &mut Output<'_>) -> Result<Report> {
    let update = read(&wanted.changes, console, output)?;
    let admin = wanted.one.admin_with_queues(console).await?;
    let changed = admin.update_endpoint(wanted.one.endpoint, &update).await?;
    let Some(job) = changed.job else { return Ok(endpoint_view(&changed.endpoint).into()) };
    let job = wanted.waiting.end_of(console, job).await?;
    Ok(job.report(enabled_view(&changed.endpoint, &job)))
}

/// The changes, whose values are valid by themselves.
fn read(given: &Changes, console: &Console, output: &mut Output<'_>) -> Result<EndpointUpdate> {
    let url = given.url.as_deref().map(|url| EndpointUrl::parse(url, &console.trusted)).transpose()?;
    let api_key = secret_text(given.api_key.as_deref(), given.api_key_file.as_deref(), output)?;
    let has_filter = given.all_events || !given.events.is_empty();
    let cap = |new: Option<NewCap>| match new {
        None => Patch::Keep,
        Some(NewCap(None)) => Patch::Clear,
        Some(NewCap(Some(cap))) => Patch::Set(cap),
    };
    let description = match &given.description {
        None => Patch::Keep,
        Some(text) if text.is_empty() => Patch::Clear,
        Some(text) => Patch::Set(description(text)?),
    };
    let settings = EndpointChange {
        url,
        description,
        filter: has_filter.then(|| filter(&given.events)).transpose()?,
        max_concurrency: cap(given.max_concurrency),
        max_per_second: cap(given.max_per_second),
        slots: given.slots,
    };
    Ok(EndpointUpdate { settings, receiver_key: api_key.as_deref().map(receiver_key).transpose()? })
}
