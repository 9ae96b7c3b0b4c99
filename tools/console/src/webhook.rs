//! `console webhook ...`

mod endpoint;
mod listen;
mod update;

use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand};
use domain::webhook::{DisabledReason, RotationRefused, SigningSecret, SigningSecrets};
use domain::{
    Delivery, DeliveryId, DeliveryState, EndpointCaps, EndpointId, EndpointSecrets, EndpointState,
    EndpointUrl, Event, EventType, HomeKey, JobId, Pace, Slot, Timestamp, WebhookEndpoint, WorkspaceId,
};
use edge::view;
use futures::future::try_join_all;
use store::NewEvent;

use crate::arguments::{InWorkspace, secret_text};
use crate::changed::{Decision, changed};
use crate::jobs::{FIRST_DUE, JobRequest, JobView, Waiting, cancel, wake};
use crate::moment::{Moment, to_repeat};
use crate::output::{Output, Report};
use crate::refusal::Named;
use crate::view::View;
use crate::{Console, Refusal, Result};

use endpoint::{OneEndpoint, bearable, cap, enabled_view, endpoint_view, filter, receiver_key, slots};
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
    /// Disable an endpoint: it gets no new events, and its pending deliveries are parked for 14 days.
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
    /// retry schedule starts again. Events from a time when the endpoint was disabled are not included, because no
    /// deliveries are recorded for a disabled endpoint. While the job is active, the same command shows its progress. When
    /// the job is done, the same command starts it again.
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
                let now = console.store.now();
                let disable = |endpoint: &WebhookEndpoint| endpoint.disabled(DisabledReason::Operator, now);
                endpoint_view(&one.change(console, disable).await?).into()
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
            Self::Cancel { one, job } => cancel(console, &one.read(console).await?, job).await?.into(),
        })
    }
}

async fn create(console: &Console, wanted: &Create, output: &mut Output<'_>) -> Result<Report> {
    let store = &console.store;
    let url = EndpointUrl::parse(&wanted.url, &console.trusted)?;
    let ApiKey { api_key, api_key_file } = &wanted.api_key;
    // One of the two is required.
    let api_key = secret_text(api_key.as_deref(), api_key_file.as_deref(), output)?;
    let api_key = receiver_key(&api_key.unwrap_or_default())?;
    let filter = filter(&wanted.events)?;
    let caps = EndpointCaps { concurrency: wanted.max_concurrency, per_second: wanted.max_per_second };
    bearable(caps, wanted.slots)?;
    let workspace_id = console.workspace(&wanted.within).await?.id;

    let secret = fresh_secret(console);
    let secrets = EndpointSecrets { api_key, signing: SigningSecrets::only(secret.clone()) };
    let endpoint = WebhookEndpoint {
        id: EndpointId::generate(store.ids()),
        workspace_id,
        url,
        state: EndpointState::Enabled,
        filter,
        caps,
        slots: wanted.slots,
        forgets_before: None,
        failing_since: None,
        created_at: store.now(),
        version: 1,
    };
    add(console, &endpoint, &secrets).await?;
    let view = View::new()
        .text("endpointId", "endpoint", endpoint.id)
        .text("secret", "secret", secret.expose())
        .text("url", "URL", endpoint.url.as_str());
    Ok(Report::from(view).remark("Save the signing secret now: it is not shown again."))
}

fn fresh_secret(console: &Console) -> SigningSecret {
    SigningSecret::from_entropy(console.entropy())
}

async fn add(console: &Console, endpoint: &WebhookEndpoint, secrets: &EndpointSecrets) -> Result {
    changed(
        async || {
            // Read the workspace first: an addition after this read changes its version, and the write fails.
            let workspace = console.workspace_of(endpoint.workspace_id).await?;
            let present = console.store.endpoints(workspace.id).await?.len();
            Ok((workspace, present))
        },
        |(_, present)| match *present < WebhookEndpoint::MAX_PER_WORKSPACE {
            true => Ok(Decision::Changed(())),
            false => Err(Refusal::TooManyEndpoints),
        },
        async |(workspace, _), ()| console.store.create_endpoint(workspace, endpoint, secrets).await,
    )
    .await
}

async fn show(console: &Console, one: &OneEndpoint) -> Result<View> {
    let endpoint = one.read(console).await?;
    let secrets = one.secrets(console).await?;
    let paces = try_join_all(endpoint.all_slots().map(|slot| console.store.endpoint_pace(slot))).await?;
    let jobs = JobView::all_of(console, &endpoint).await?;
    let now = console.store.now();
    Ok(details(&endpoint, &secrets.signing, &paces, jobs, now))
}

/// Enables the endpoint before it requests the job, so that a worker finds the endpoint enabled. If the command is
/// interrupted between the two steps, repeat it.
async fn enable(console: &Console, one: &OneEndpoint, waiting: &Waiting) -> Result<Report> {
    let now = console.store.now();
    let enabled = one.change(console, |endpoint| endpoint.enabled(now)).await?;
    let job = JobRequest::enable(&enabled).submit(console).await?.job(console, waiting).await?;
    Ok(job.report(enabled_view(&enabled, &job)))
}

async fn delete(console: &Console, one: &OneEndpoint) -> Result<View> {
    let (store, id) = (&console.store, one.endpoint);
    let workspace = console.workspace(&one.within).await?.id;
    remove(console, workspace, id).await?;
    let deleted = store.endpoints_deleted_since(workspace, Timestamp::from_millis(0)).await?;
    let slots: Vec<Slot> = deleted.into_iter().filter(|slot| slot.endpoint == id).collect();
    if slots.is_empty() {
        return Err(Named::Endpoint.unknown(id));
    }
    let pending = slots.into_iter().map(|slot| store.count_deliveries(slot, DeliveryState::Pending));
    let cancelled: usize = try_join_all(pending).await?.into_iter().sum();
    let view = View::new().text("endpointId", "deleted endpoint", id).json("deleted", true);
    Ok(view.value("cancelled", "cancelled deliveries", cancelled))
}

/// Removes an endpoint. If it no longer exists, this is a success, so you can repeat a command that was interrupted
/// after the deletion.
async fn remove(console: &Console, workspace: WorkspaceId, id: EndpointId) -> Result {
    changed(
        async || Ok(console.store.endpoint(workspace, id).await?),
        |_| Ok(Decision::Changed(())),
        async |endpoint, ()| match endpoint {
            Some(endpoint) => console.store.delete_endpoint(endpoint).await,
            None => Ok(true),
        },
    )
    .await
}

/// Sends a test event like the event of any change: writes the delivery and its event, then wakes the lane.
async fn test(console: &Console, one: &OneEndpoint) -> Result<Report> {
    let (store, now) = (&console.store, console.store.now());
    let workspace = console.workspace(&one.within).await?;
    let endpoint = console.endpoint_to_call(workspace.id, one.endpoint).await?;
    let trial = store.ids().next();
    let event = Event::of_change(EventType::WebhookTest, endpoint.workspace_id, &trial, 1, now);
    let body =
        view::event_body(&event, &view::trial(endpoint.id)).map_err(|error| Refusal::Output(error.into()))?;
    let (id, slot) = (event.id, endpoint.slot_of(event.id.as_uuid()));
    let new = NewEvent { event, about: None, request: None, body, slots: vec![slot] };
    store.record_events(&[new]).await.into_iter().collect::<Result<(), _>>()?;
    let notified = store.notify_webhook_lane(slot, HomeKey { at: now, event: id }, FIRST_DUE).await?;
    let mut unqueued = wake(console, &[(slot, notified)]).await;
    if store.endpoint_pace(slot).await?.open_until.is_some_and(|until| now < until) {
        // An endpoint whose circuit is open is called early only if an operator requests it.
        let delivery = Delivery::new(slot, id, EventType::WebhookTest, now, now, store.retention().events);
        unqueued += JobRequest::retry(&delivery).submit(console).await?.unqueued;
    }
    let delay = "The queue did not accept the message: the delivery is attempted within three minutes.";
    let view = View::new().text("endpointId", "endpoint", endpoint.id).text("eventId", "event", id);
    let view = view.text("deliveryId", "delivery", DeliveryId { event: id, endpoint: endpoint.id });
    Ok(Report::from(view).remarks((unqueued > 0).then_some(delay)))
}

/// The first phase of a rotation. An interrupted command created a secret that nobody saw: `--replace` creates
/// another.
async fn rotate(console: &Console, one: &OneEndpoint, replace: bool) -> Result<Report> {
    let secret = fresh_secret(console);
    let rotated = |seen: &SigningSecrets| seen.rotated(secret.clone(), replace, console.store.now());
    let secrets = one.change_secrets(console, rotated).await?;
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
    let activated = one.change_secrets(console, |seen| seen.activated(console.store.now())).await;
    let (activated, until) = match activated {
        Ok(secrets) => (true, secrets.previous.map(|(_, until)| until)),
        Err(Refusal::Rotation(RotationRefused::Activated { until })) => (false, Some(until)),
        Err(refusal) => return Err(refusal),
    };
    let view = View::new()
        .text("endpointId", "endpoint", one.endpoint)
        .json("activated", activated)
        .cell("activated", if activated { "now" } else { "already" });
    Ok(view.optional("previousSignsUntil", "previous secret signs until", until))
}

async fn recover(
    console: &Console,
    one: &OneEndpoint,
    since: Option<Moment>,
    waiting: &Waiting,
) -> Result<Report> {
    let workspace = console.workspace(&one.within).await?.id;
    let endpoint = console.endpoint_to_call(workspace, one.endpoint).await?;
    let now = console.store.now();
    let request = JobRequest::recover(&endpoint, since.map(|since| since.ago(now)), now)?;
    let report = request.submit(console).await?.report(console, waiting).await?;
    Ok(report.remarks(to_repeat(&[("--since", since)], now)))
}

/// An endpoint with the state of its slots: the worst value of each, and the sum of their widths.
fn details(
    endpoint: &WebhookEndpoint,
    secrets: &SigningSecrets,
    paces: &[Pace],
    jobs: Vec<JobView>,
    now: Timestamp,
) -> View {
    let latest = |until: fn(&Pace) -> Option<Timestamp>| {
        paces.iter().filter_map(until).filter(|until| now < *until).max()
    };
    let disabled = match endpoint.state {
        EndpointState::Enabled => None,
        EndpointState::Disabled { since, reason } => Some((since, reason)),
    };
    let failing = paces.iter().filter_map(|pace| pace.failing.as_ref()).map(|failing| failing.since);
    let next = secrets.next.as_ref().map_or("", |_| "also signs, not activated yet");
    let previous = secrets.overlapping(now).map(|(_, until)| until);
    endpoint_view(endpoint)
        .text("createdAt", "created", endpoint.created_at)
        .optional("disabledAt", "disabled", disabled.map(|(since, _)| since))
        .optional("disabledReason", "disabled because", disabled.map(|(_, reason)| reason.as_str()))
        .json("nextSecretSigns", secrets.next.is_some())
        .cell("next secret", next)
        .optional("previousSignsUntil", "previous secret signs until", previous)
        .optional("openUntil", "not called until", latest(|pace| pace.open_until))
        .optional("slowUntil", "slow until", latest(|pace| pace.slow_until))
        .optional("failingSince", "failing since", failing.min())
        .value("width", "width", paces.iter().map(|pace| u32::from(pace.width)).sum::<u32>())
        .lines("jobs", jobs.iter().map(JobView::line))
        .json("jobs", jobs.into_iter().map(|job| job.view()).collect::<Vec<_>>())
}
