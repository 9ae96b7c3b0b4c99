//! `console delivery ...`

use std::time::Duration;

use admin::{After, DeliveryDetails, DeliverySearch, FoundDelivery, JobRequest};
use clap::{Args, Subcommand};
use domain::{
    Attempt, AttemptOutcome, Delivery, DeliveryId, DeliveryState, EndpointId, HomeKey, JobState,
    WebhookEndpoint, WorkspaceId,
};
use serde_json::Value;

use crate::arguments::{InWorkspace, delivery_id, one, one_of};
use crate::jobs::Waiting;
use crate::moment::{Moment, to_repeat};
use crate::output::{Output, Report};
use crate::refusal::Named;
use crate::view::{View, beginning};
use crate::{Console, Refusal, Result};

#[derive(Subcommand)]
pub(crate) enum Verb {
    /// List deliveries, newest first.
    List(List),
    /// Show a delivery and its attempts.
    Show {
        #[command(flatten)]
        one: OneDelivery,
        /// Also show the body as it is sent.
        #[arg(long)]
        body: bool,
    },
    /// Attempt a delivery now, whatever its state; its retry schedule starts again.
    ///
    /// The command requests a job and returns. The receiver recognizes a redelivery by the event's id. While the job is
    /// active, the same command shows its progress. When the job is done, the same command requests another attempt. With
    /// --wait, the exit status is 1 if the receiver did not acknowledge the delivery.
    Retry {
        #[command(flatten)]
        one: OneDelivery,
        #[command(flatten)]
        waiting: Waiting,
    },
    /// Deliver the events of a time range again, if their delivery was attempted before.
    ///
    /// The command requests a job and returns. The job attempts each delivery of these events that was attempted before,
    /// including DELIVERED ones, at the endpoint's pace. Receivers recognize redeliveries by the event's id. The same
    /// command with the same times is the same replay: if you repeat it, it shows the progress and sends nothing a second
    /// time. (For an intended second replay, change a time by a second.)
    Replay(Replay),
}

one!(OneDelivery {
    /// The delivery's id, as `delivery list` prints it: <event id>.<endpoint id>.
    delivery: DeliveryId = "ID",
    delivery_id
});

#[derive(Args)]
pub(crate) struct Replay {
    #[command(flatten)]
    within: InWorkspace,
    /// The endpoint's id. It must be enabled.
    #[arg(long, value_name = "ID", value_parser = EndpointId::parse)]
    endpoint: EndpointId,
    /// The start of the range, at most 14 days ago; 2h means two hours ago.
    #[arg(long, value_name = "MOMENT", value_parser = Moment::parse)]
    since: Moment,
    /// The end of the range, exclusive [default: now].
    #[arg(long, value_name = "MOMENT", value_parser = Moment::parse)]
    until: Option<Moment>,
    #[command(flatten)]
    waiting: Waiting,
}

#[derive(Args)]
pub(crate) struct List {
    #[command(flatten)]
    within: InWorkspace,
    /// Only deliveries to this endpoint; it may be deleted.
    #[arg(long, value_name = "ID", value_parser = EndpointId::parse)]
    endpoint: Option<EndpointId>,
    /// Only deliveries in this state.
    #[arg(long, value_parser = one_of(DeliveryState::NAMES, DeliveryState::parse))]
    state: Option<DeliveryState>,
    /// Only deliveries of events from this time on: a day (2027-01-31), a date-time (2027-01-31T12:00:00Z) or a time ago
    /// (30m, 2h, 7d).
    #[arg(long, value_name = "MOMENT", value_parser = Moment::parse)]
    since: Option<Moment>,
    /// Only deliveries of events before this time.
    #[arg(long, value_name = "MOMENT", value_parser = Moment::parse)]
    until: Option<Moment>,
    /// The maximum number of deliveries to list, the newest first [default: all].
    #[arg(long)]
    limit: Option<usize>,
    /// Only deliveries that follow this one in the list: the last one of the previous list.
    #[arg(long, value_name = "ID", value_parser = delivery_id)]
    after: Option<DeliveryId>,
}

impl Verb {
    pub(crate) async fn run(self, console: &Console, _: &mut Output<'_>) -> Result<Report> {
        Ok(match self {
            Self::List(wanted) => wanted.find(console).await?.iter().map(view).collect(),
            Self::Show { one, body } => show(console, &one, body).await?.into(),
            Self::Retry { one, waiting } => retry(console, &one, &waiting).await?,
            Self::Replay(wanted) => wanted.report(console).await?,
        })
    }
}

impl List {
    async fn find(&self, console: &Console) -> Result<Vec<FoundDelivery>> {
        let workspace = console.workspace(&self.within).await?.id;
        let after = match self.after {
            Some(id) => Some(After::Delivery(place_of(console, workspace, id).await?, id.endpoint)),
            None => None,
        };
        let now = console.store.now();
        let wanted = DeliverySearch {
            endpoint: self.endpoint,
            state: self.state,
            event_type: None,
            since: self.since.map(|since| since.ago(now)),
            until: self.until.map(|until| until.ago(now)),
            after,
            with_deleted: true,
            reads: None,
        };
        let found = wanted.deliveries(&console.store, workspace, self.limit.unwrap_or(usize::MAX)).await?;
        Ok(found.items)
    }
}

/// The position of a delivery in its slot.
async fn place_of(console: &Console, workspace: WorkspaceId, id: DeliveryId) -> Result<HomeKey> {
    let event = console.store.recorded_event(workspace, id.event).await?;
    let event = event.filter(|event| event.slots.iter().any(|slot| slot.endpoint == id.endpoint));
    event.map(|event| HomeKey { at: event.at, event: event.id }).ok_or_else(|| Named::Delivery.unknown(id))
}

async fn show(console: &Console, one: &OneDelivery, with_body: bool) -> Result<View> {
    let (store, workspace) = (&console.store, console.workspace(&one.within).await?.id);
    let details = admin::delivery_details::<Refusal>(store, workspace, one.delivery).await?;
    let DeliveryDetails { found, attempts } = details;
    let (delivery, endpoint) = &found;
    let body = match with_body {
        true => store.recorded_event(delivery.slot.workspace, delivery.event).await?.map(|event| event.body),
        false => None,
    };
    let because = delivery.because(endpoint.as_ref());
    let details = view(&found)
        .optional("because", "because", because)
        .json("failures", delivery.failures)
        .json("attemptLog", attempts.iter().map(attempt_view).collect::<Vec<_>>())
        .lines("log", attempts.iter().flat_map(attempt_lines));
    // Only `--body` requests the body. Without it, this row is absent.
    Ok(match body {
        Some(body) => details.text("body", "body", String::from_utf8_lossy(&body)),
        None => details,
    })
}

async fn retry(console: &Console, one: &OneDelivery, waiting: &Waiting) -> Result<Report> {
    let workspace = console.workspace(&one.within).await?.id;
    let admin = console.admin_with_queues(workspace).await?;
    let requested = admin.retry_delivery(one.delivery).await?;
    let requested = waiting.end_of(console, requested).await?;
    let report = requested.report(requested.view());
    if !requested.waited || requested.job.delivered > 0 || requested.job.state != JobState::Done {
        return Ok(report);
    }
    // The job passes over a delivery that was attempted since its request.
    let delivery = console.store.delivery(workspace, one.delivery).await?;
    let delivery = Named::Delivery.found(delivery, one.delivery)?;
    let is_delivered = delivery.state == DeliveryState::Delivered;
    let failure = || Refusal::NotDelivered { delivery: delivery.id(), last: last(&delivery) };
    Ok(report.failed((!is_delivered).then(failure)))
}

/// The status of the last answer, or the error if there was no answer.
fn last(delivery: &Delivery) -> String {
    match delivery.last {
        Some((_, AttemptOutcome::Answered { status, .. })) => status.to_string(),
        Some((_, AttemptOutcome::Failed(error))) => error.as_str().to_owned(),
        None => "no attempt".to_owned(),
    }
}

impl Replay {
    async fn report(&self, console: &Console) -> Result<Report> {
        let workspace = console.workspace(&self.within).await?.id;
        let (admin, now) = (console.admin_with_queues(workspace).await?, console.store.now());
        let (since, until) = (self.since.ago(now), self.until.map(|until| until.ago(now)));
        let request = |endpoint: &WebhookEndpoint| JobRequest::replay(endpoint, since, until, now);
        let requested = admin.request_job(self.endpoint, request).await?;
        let report = self.waiting.report(console, requested).await?;
        Ok(report.remarks(to_repeat(&[("--since", Some(self.since)), ("--until", self.until)], now)))
    }
}

/// A delivery with its state as operators see it: that of its endpoint counts, unless it was deleted.
pub(crate) fn view((delivery, endpoint): &FoundDelivery) -> View {
    let state = delivery.shown(endpoint.as_ref());
    // The status of the answer, or the error if there was no answer.
    let last = delivery.last.map(|(_, outcome)| match outcome {
        AttemptOutcome::Answered { status, .. } => Value::from(status),
        AttemptOutcome::Failed(error) => Value::from(error.as_str()),
    });
    View::new()
        .text("deliveryId", "delivery", delivery.id())
        .json("eventId", delivery.event.to_string())
        .text("eventType", "type", delivery.event_type.as_str())
        .json("endpointId", delivery.slot.endpoint.to_string())
        .text("state", "state", state.as_str())
        .value("attempts", "attempts", delivery.attempts)
        .value("lastStatus", "last", last)
        .optional("dueAt", "due", delivery.due_at(endpoint.as_ref()))
        .text("createdAt", "created", delivery.created_at)
}

/// The state, and the last answer or failure of a delivery that the receiver did not acknowledge.
pub(crate) fn progress((delivery, endpoint): &FoundDelivery) -> String {
    let state = delivery.shown(endpoint.as_ref());
    match delivery.last {
        Some(_) if state != DeliveryState::Delivered => format!("{} ({})", state.as_str(), last(delivery)),
        _ => state.as_str().to_owned(),
    }
}

fn attempt_view(attempt: &Attempt) -> View {
    let (status, retry_after) = status_of(attempt);
    View::new()
        .json("number", attempt.number)
        .json("at", attempt.at.to_string())
        .json("tookMs", millis(attempt.took))
        .json("status", status)
        .json("error", attempt.outcome.error_code())
        .json("retryAfterMs", retry_after.map(millis))
        .json("answer", String::from_utf8_lossy(&attempt.answer))
}

/// The status of the answer, and the delay that the receiver requested.
fn status_of(attempt: &Attempt) -> (Option<u16>, Option<Duration>) {
    match attempt.outcome {
        AttemptOutcome::Answered { status, retry_after } => (Some(status), retry_after),
        AttemptOutcome::Failed(_) => (None, None),
    }
}

/// An attempt in one line, and the beginning of the answer in a second one.
fn attempt_lines(attempt: &Attempt) -> Vec<String> {
    let (status, retry_after) = status_of(attempt);
    let status = status.map_or("no answer".to_owned(), |status| status.to_string());
    let error = attempt.outcome.error_code().unwrap_or("acknowledged");
    let asked = retry_after.map(|wait| format!(", asked to wait {} ms", millis(wait))).unwrap_or_default();
    let (number, at, took) = (attempt.number, attempt.at, millis(attempt.took));
    let mut lines = vec![format!("{number}. {at} {status} {error}, {took} ms{asked}")];
    if !attempt.answer.is_empty() {
        lines.push(format!("   {}", beginning(&String::from_utf8_lossy(&attempt.answer), 160)));
    }
    lines
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
