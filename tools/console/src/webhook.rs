//! `console webhook ...`

mod endpoint;
mod listen;
mod update;

use std::path::PathBuf;

use admin::{Activated, EndpointDetails, EndpointDraft, JobProgress, JobRequest};
use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand};
use domain::webhook::{DisabledReason, SigningSecret, SigningSecrets};
use domain::{
    DeliveryState, EndpointCaps, EndpointSecrets, EndpointState, EndpointUrl, Event, EventType, JobId, Slot,
    Timestamp, WebhookEndpoint,
};
use edge::view;
use futures::future::try_join_all;

use crate::arguments::{InWorkspace, secret_text};
use crate::jobs::{Waiting, job_line, job_view};
use crate::moment::{Moment, to_repeat};
use crate::output::{Output, Report};
use crate::view::View;
use crate::{Console, Refusal, Result};

use endpoint::{OneEndpoint, cap, description, enabled_view, endpoint_view, filter, receiver_key, slots};
use listen::Listen;
use update::Update;

#[derive(Subcommand)]
pub(crate) enum Verb {
    /// Create an endpoint. Its signing secret is shown only once.
    Create(Create),
    /// List the endpoints, oldest first.
    List(InWorkspace),
    /// Show an endpoint: how it responds, and the progress of its jobs.
    Show(OneEndpoint),
    /// Change the URL, the API key, the events, the caps or the slots of an endpoint. Its secret and its deliveries stay.
    ///
    /// What is not given stays unchanged. Pending deliveries go to the new URL, with the same event ids, signed with the
    /// same secret. A new URL starts without a record: the circuit closes, the number of concurrent requests starts at 16
    /// again, and the five days after which an endpoint is disabled start again. For an enabled endpoint, --url requests
    /// the same job as `webhook enable`: all waiting deliveries are attempted, and their retry schedule starts again. A
    /// disabled endpoint stays disabled. New events follow the new --event list; deliveries that already exist stay.
    Update(Update),
    /// Disable an endpoint: its pending deliveries are parked for 14 days.
    ///
    /// New events are recorded for it as PARKED. `webhook recover` sends them.
    Disable(OneEndpoint),
    /// Enable an endpoint and attempt all its waiting deliveries.
    ///
    /// The command requests a job and returns. The retry schedule of each delivery starts again.
    Enable {
        #[command(flatten)]
        one: OneEndpoint,
        #[command(flatten)]
        waiting: Waiting,
    },
    /// Delete an endpoint and its secrets, and cancel its pending deliveries.
    Delete(OneEndpoint),
    /// Send a test event, `webhook.test`, to an endpoint.
    Test(OneEndpoint),
    /// Forward events to your own server as they happen, signed with a temporary secret, until Ctrl-C.
    ///
    /// The command only reads: it needs no endpoint, and it creates none. It makes the events from the changes of the
    /// workspace's rows, from now on, and posts them one by one with the headers of real deliveries. It prints a line for
    /// each, follows no redirect, waits up to 30 seconds for an answer and repeats nothing. With --json it prints one value
    /// per line; the first has the secret.
    Listen(Listen),
    /// Create the endpoint's next signing secret. The secret is shown only once.
    ///
    /// From now on, both secrets sign each request (webhook-signature). When the customer verifies with the new secret, end
    /// the rotation with `webhook activate`. Until then, X-Service-Signature is made with the active secret only.
    Rotate {
        #[command(flatten)]
        one: OneEndpoint,
        /// Replace a next secret that is not activated yet: the replaced secret no longer signs.
        #[arg(long)]
        replace: bool,
    },
    /// Make the next signing secret the active one. The previous secret also signs (webhook-signature) for 24 more hours.
    Activate(OneEndpoint),
    /// Attempt all deliveries that the endpoint did not get: the EXHAUSTED ones and those that are still PARKED.
    ///
    /// The command requests a job and returns. The job attempts each of these deliveries at the endpoint's pace, and their
    /// retry schedule starts again. Events from a time when the endpoint was disabled are included: they are recorded for it
    /// as PARKED. While the job is active, the same command shows its progress. When the job is done, the same command starts
    /// it again.
    Recover {
        #[command(flatten)]
        one: OneEndpoint,
        /// Only deliveries of events from this time on, at most 14 days ago; 2h means two hours ago [default: 14 days ago].
        #[arg(long, value_name = "MOMENT", value_parser = Moment::parse)]
        since: Option<Moment>,
        #[command(flatten)]
        waiting: Waiting,
    },
    /// Cancel a job: deliveries that it has not attempted yet stay as they are.
    Cancel {
        #[command(flatten)]
        one: OneEndpoint,
        /// The job's id, as printed by `webhook show` and by the command that requested the job.
        #[arg(long, value_name = "ID", value_parser = JobId::parse)]
        job: JobId,
    },
}

#[derive(Args)]
pub(crate) struct Create {
    #[command(flatten)]
    within: InWorkspace,
    /// An https URL on port 443 or 8443 of a public host.
    #[arg(long)]
    url: String,
    #[command(flatten)]
    api_key: ApiKey,
    /// What people call the endpoint, up to 200 characters.
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
    /// An event that the endpoint gets; repeat for several [default: all events].
    #[arg(long = "event", value_name = "TYPE", value_parser = PossibleValuesParser::new(EventType::NAMES))]
    events: Vec<String>,
    /// The maximum number of requests at the same time, 1 to 1000 [default: no cap].
    #[arg(long, value_name = "N", value_parser = cap)]
    max_concurrency: Option<u16>,
    /// The maximum number of requests per second, 1 to 1000 [default: no cap].
    #[arg(long, value_name = "N", value_parser = cap)]
    max_per_second: Option<u16>,
    /// The number of slots over which its deliveries are spread, 1 to 16. One slot handles about 400 deliveries a second.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = slots)]
    slots: u8,
}

/// A file hides the key. Other users of a machine can see the arguments of a process.
#[derive(Args)]
#[group(id = "the_api_key", required = true, multiple = false)]
struct ApiKey {
    /// The customer's own API key, sent as X-Service-API-Key.
    #[arg(long, value_name = "KEY")]
    api_key: Option<String>,
    /// A file that contains only the customer's API key; `-` is standard input.
    #[arg(long, value_name = "FILE")]
    api_key_file: Option<PathBuf>,
}

impl Verb {
    pub(crate) async fn run(self, console: &Console, output: &mut Output<'_>) -> Result<Report> {
        Ok(match self {
            Self::Create(wanted) => create(console, &wanted, output).await?,
            Self::List(within) => {
                let workspace = console.workspace(&within).await?;
                console.store.endpoints(workspace.id).await?.iter().map(endpoint_view).collect()
            }
            Self::Show(one) => show(console, &one).await?.into(),
            Self::Update(wanted) => update::update(console, &wanted, output).await?,
            Self::Disable(one) => {
                let (admin, reason) = (one.admin(console).await?, DisabledReason::Operator);
                let disabled = admin.disable_endpoint(one.endpoint, reason);
                endpoint_view(&disabled.await?).into()
            }
            Self::Enable { one, waiting } => enable(console, &one, &waiting).await?,
            Self::Delete(one) => delete(console, &one).await?.into(),
            Self::Test(one) => test(console, &one).await?,
            Self::Listen(wanted) => {
                wanted.run(console, fresh_secret(console), output).await?;
                Report::written()
            }
            Self::Rotate { one, replace } => rotate(console, &one, replace).await?,
            Self::Activate(one) => activate(console, &one).await?.into(),
            Self::Recover { one, since, waiting } => recover(console, &one, since, &waiting).await?,
            Self::Cancel { one, job } => {
                let admin = one.admin(console).await?;
                let endpoint =
                    admin::endpoint::<Refusal>(&console.store, admin.workspace, one.endpoint).await?;
                job_view(&admin.cancel_job(&endpoint, job).await?).into()
            }
        })
    }
}

async fn create(console: &Console, wanted: &Create, output: &mut Output<'_>) -> Result<Report> {
    let url = EndpointUrl::parse(&wanted.url, &console.trusted)?;
    let ApiKey { api_key, api_key_file } = &wanted.api_key;
    // One of the two is required.
    let api_key = secret_text(api_key.as_deref(), api_key_file.as_deref(), output)?;
    let api_key = receiver_key(&api_key.unwrap_or_default())?;
    let draft = EndpointDraft {
        url,
        description: wanted.description.as_deref().map(description).transpose()?,
        filter: filter(&wanted.events)?,
        caps: EndpointCaps { concurrency: wanted.max_concurrency, per_second: wanted.max_per_second },
        slots: wanted.slots,
    };
    let admin = console.admin(console.workspace(&wanted.within).await?.id).await?;
    let endpoint = admin.drafted(draft)?;
    let secret = fresh_secret(console);
    let secrets = EndpointSecrets { api_key, signing: SigningSecrets::only(secret.clone()) };
    admin.create_endpoint(&endpoint, &secrets, None).await?;
    let view = View::new()
        .text("endpointId", "endpoint", endpoint.id)
        .text("secret", "secret", secret.expose())
        .text("url", "URL", endpoint.url.as_str());
    Ok(Report::from(view).remark("Save the signing secret now: it is not shown again."))
}

fn fresh_secret(console: &Console) -> SigningSecret {
    SigningSecret::from_entropy(console.entropy())
}

async fn show(console: &Console, one: &OneEndpoint) -> Result<View> {
    let (store, workspace) = (&console.store, console.workspace(&one.within).await?.id);
    let details = admin::endpoint_details::<Refusal>(store, workspace, one.endpoint).await?;
    let jobs = JobProgress::all_of(store, &details.endpoint).await?;
    Ok(details_view(&details, &jobs))
}

async fn enable(console: &Console, one: &OneEndpoint, waiting: &Waiting) -> Result<Report> {
    let admin = one.admin_with_queues(console).await?;
    let (enabled, job) = admin.enable_endpoint(one.endpoint).await?;
    let job = waiting.end_of(console, job).await?;
    Ok(job.report(enabled_view(&enabled, &job)))
}

async fn delete(console: &Console, one: &OneEndpoint) -> Result<View> {
    let (store, id, admin) = (&console.store, one.endpoint, one.admin(console).await?);
    admin.delete_endpoint(id).await?;
    let deleted = store.endpoints_deleted_since(admin.workspace, Timestamp::from_millis(0)).await?;
    let slots: Vec<Slot> = deleted.into_iter().filter(|slot| slot.endpoint == id).collect();
    let pending = slots.into_iter().map(|slot| store.count_deliveries(slot, DeliveryState::Pending));
    let cancelled: usize = try_join_all(pending).await?.into_iter().sum();
    let view = View::new().text("endpointId", "deleted endpoint", id).json("deleted", true);
    Ok(view.value("cancelled", "cancelled deliveries", cancelled))
}

async fn test(console: &Console, one: &OneEndpoint) -> Result<Report> {
    let admin = one.admin_with_queues(console).await?;
    let body = |event: &Event| {
        view::event_body(event, &view::trial(one.endpoint)).map_err(|error| Refusal::Output(error.into()))
    };
    let sent = admin.test_endpoint(one.endpoint, body).await?;
    let delay = "The queue did not accept the message: the delivery is attempted within three minutes.";
    let view = View::new().text("endpointId", "endpoint", one.endpoint);
    let view =
        view.text("eventId", "event", sent.delivery.event).text("deliveryId", "delivery", sent.delivery);
    Ok(Report::from(view).remarks((sent.unqueued > 0).then_some(delay)))
}

/// The first phase of a rotation. An interrupted command created a secret that nobody saw: `--replace` creates
/// another.
async fn rotate(console: &Console, one: &OneEndpoint, replace: bool) -> Result<Report> {
    let secret = fresh_secret(console);
    let admin = one.admin(console).await?;
    let secrets = admin.rotate_secret(one.endpoint, &secret, replace).await?;
    let view = View::new()
        .text("endpointId", "endpoint", one.endpoint)
        .text("secret", "next secret", secret.expose())
        .value("signatures", "secrets that sign now", secrets.in_force(console.store.now()).count());
    Ok(Report::from(view).remark(
        "Save the signing secret now: it is not shown again. `webhook activate` makes it the active one.",
    ))
}

/// The second phase of a rotation. A repetition succeeds, because the rotation already has the requested state.
async fn activate(console: &Console, one: &OneEndpoint) -> Result<View> {
    let admin = one.admin(console).await?;
    let Activated { is_new, previous_signs_until } = admin.activate_secret(one.endpoint).await?;
    let view = View::new()
        .text("endpointId", "endpoint", one.endpoint)
        .json("activated", is_new)
        .cell("activated", if is_new { "now" } else { "already" });
    Ok(view.optional("previousSignsUntil", "previous secret signs until", previous_signs_until))
}

async fn recover(
    console: &Console,
    one: &OneEndpoint,
    since: Option<Moment>,
    waiting: &Waiting,
) -> Result<Report> {
    let (admin, now) = (one.admin_with_queues(console).await?, console.store.now());
    let from = since.map(|since| since.ago(now));
    let request = |endpoint: &WebhookEndpoint| JobRequest::recover(endpoint, from, now);
    let report = waiting.report(console, admin.request_job(one.endpoint, request).await?).await?;
    Ok(report.remarks(to_repeat(&[("--since", since)], now)))
}

/// An endpoint with its rotation, how it responds, and its jobs.
fn details_view(details: &EndpointDetails, jobs: &[JobProgress]) -> View {
    let EndpointDetails { endpoint, next_secret_signs, previous_signs_until, health } = details;
    let disabled = match endpoint.state {
        EndpointState::Enabled => None,
        EndpointState::Disabled { since, reason } => Some((since, reason)),
    };
    let next = if *next_secret_signs { "also signs, not activated yet" } else { "" };
    endpoint_view(endpoint)
        .text("createdAt", "created", endpoint.created_at)
        .optional("disabledAt", "disabled", disabled.map(|(since, _)| since))
        .optional("disabledReason", "disabled because", disabled.map(|(_, reason)| reason.as_str()))
        .json("nextSecretSigns", *next_secret_signs)
        .cell("next secret", next)
        .optional("previousSignsUntil", "previous secret signs until", *previous_signs_until)
        .optional("openUntil", "not called until", health.open_until)
        .optional("slowUntil", "slow until", health.slow_until)
        .optional("failingSince", "failing since", health.failing_since)
        .value("width", "width", health.width)
        .lines("jobs", jobs.iter().map(job_line))
        .json("jobs", jobs.iter().map(job_view).collect::<Vec<_>>())
}
