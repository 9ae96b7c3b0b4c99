//! `console delivery ...`

use std::time::Duration;

use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand};
use domain::{
    Attempt, AttemptOutcome, Delivery, DeliveryId, DeliveryState, EndpointId, EndpointState, WebhookEndpoint,
    WorkspaceId,
};
use serde::Serialize;
use store::HomeKey;

use crate::arguments::{InWorkspace, delivery_id};
use crate::deliveries::{After, Deliveries};
use crate::jobs::{Waiting, Wanted};
use crate::moment::{Moment, to_repeat};
use crate::output::{Output, Shown, or_dash, printable, stacked};
use crate::refusal::{Named, unfit};
use crate::{Console, Refusal};

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
    /// active, the same command shows its progress. When the job is done, the same command requests another attempt.
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

#[derive(Args)]
pub(crate) struct OneDelivery {
    #[command(flatten)]
    within: InWorkspace,
    /// The delivery's id, as `delivery list` prints it: <event id>.<endpoint id>.
    #[arg(long, value_name = "ID", value_parser = delivery_id)]
    delivery: DeliveryId,
}

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
    #[arg(long, value_parser = PossibleValuesParser::new(DeliveryState::NAMES))]
    state: Option<String>,
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
    pub(crate) async fn run(self, console: &Console, output: &mut Output<'_>) -> Result<(), Refusal> {
        match self {
            Self::List(wanted) => output.list(&wanted.find(console).await?),
            Self::Show { one, body } => show(console, &one, body, output).await,
            Self::Retry { one, waiting } => retry(console, &one, &waiting, output).await,
            Self::Replay(wanted) => wanted.run(console, output).await,
        }
    }
}

impl List {
    async fn find(&self, console: &Console) -> Result<Vec<DeliveryView>, Refusal> {
        let workspace = console.workspace(self.within.workspace).await?.id;
        let state = self
            .state
            .as_deref()
            .map(DeliveryState::parse)
            .transpose()
            .map_err(unfit("The state is invalid"))?;
        let after = match self.after {
            Some(id) => Some(After::Delivery(place_of(console, workspace, id).await?, id.endpoint)),
            None => None,
        };
        let limit = self.limit.unwrap_or(usize::MAX);
        let now = console.store.now();
        let wanted = Deliveries {
            endpoint: self.endpoint,
            state,
            since: self.since.map(|since| since.ago(now)),
            until: self.until.map(|until| until.ago(now)),
            after,
            of_slot: limit,
        };
        let mut found = wanted.find(&console.store, workspace).await?;
        found.truncate(limit);
        Ok(found.iter().map(|(delivery, endpoint)| DeliveryView::of(delivery, endpoint.as_ref())).collect())
    }
}

/// The position of a delivery in its slot.
async fn place_of(console: &Console, workspace: WorkspaceId, id: DeliveryId) -> Result<HomeKey, Refusal> {
    let event = console.store.recorded_event(workspace, id.event).await?;
    let event = event.filter(|event| event.slots.iter().any(|slot| slot.endpoint == id.endpoint));
    event.map(|event| HomeKey { at: event.at, event: event.id }).ok_or_else(|| Named::Delivery.unknown(id))
}

async fn show(
    console: &Console,
    one: &OneDelivery,
    with_body: bool,
    output: &mut Output<'_>,
) -> Result<(), Refusal> {
    let store = &console.store;
    let (delivery, endpoint) = one.read(console).await?;
    let attempts = store.attempts(&delivery).await?;
    let body = match with_body {
        true => store.recorded_event(delivery.slot.workspace, delivery.event).await?.map(|event| event.body),
        false => None,
    };
    output.one(&DeliveryDetails {
        delivery: DeliveryView::of(&delivery, endpoint.as_ref()),
        because: because(&delivery, endpoint.as_ref()),
        failures: delivery.failures,
        attempt_log: attempts.iter().map(AttemptView::from).collect(),
        body: body.map(|body| String::from_utf8_lossy(&body).into_owned()),
    })
}

impl OneDelivery {
    /// The delivery, and its endpoint unless it was deleted.
    async fn read(&self, console: &Console) -> Result<(Delivery, Option<WebhookEndpoint>), Refusal> {
        let workspace = console.workspace(self.within.workspace).await?.id;
        let found = console.store.delivery(workspace, self.delivery).await?;
        let delivery = Named::Delivery.found(found, self.delivery)?;
        let endpoint = console.store.endpoint(workspace, delivery.slot.endpoint).await?;
        Ok((delivery, endpoint))
    }
}

/// The reason, as a stable word, if no attempt is planned.
fn because(delivery: &Delivery, endpoint: Option<&WebhookEndpoint>) -> Option<&'static str> {
    match (delivery.state, endpoint) {
        (DeliveryState::Delivered, _) => None,
        (DeliveryState::Exhausted, _) => delivery.last.and_then(|(_, outcome)| outcome.error_code()),
        (DeliveryState::Parked, _) => Some("DISABLED_TOO_LONG"),
        (DeliveryState::Cancelled, _) => Some("EVENT_LOST"),
        (DeliveryState::Pending, None) => Some("ENDPOINT_DELETED"),
        (DeliveryState::Pending, Some(endpoint)) => match endpoint.state {
            EndpointState::Disabled { reason, .. } => Some(reason.as_str()),
            EndpointState::Enabled => None,
        },
    }
}

async fn retry(
    console: &Console,
    one: &OneDelivery,
    waiting: &Waiting,
    output: &mut Output<'_>,
) -> Result<(), Refusal> {
    let (delivery, _) = one.read(console).await?;
    console.endpoint_to_call(delivery.slot.workspace, delivery.slot.endpoint).await?;
    Wanted::retry(&delivery).ask(console).await?.show(console, waiting, output).await
}

impl Replay {
    async fn run(&self, console: &Console, output: &mut Output<'_>) -> Result<(), Refusal> {
        let workspace = console.workspace(self.within.workspace).await?.id;
        let endpoint = console.endpoint_to_call(workspace, self.endpoint).await?;
        let now = console.store.now();
        let until = self.until.map(|until| until.ago(now));
        let wanted = Wanted::replay(&endpoint, self.since.ago(now), until, now)?;
        if let Some(remark) = to_repeat(&[("--since", Some(self.since)), ("--until", self.until)], now) {
            output.remark(&remark)?;
        }
        wanted.ask(console).await?.show(console, &self.waiting, output).await
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DeliveryView {
    delivery_id: String,
    event_id: String,
    event_type: &'static str,
    endpoint_id: String,
    state: &'static str,
    attempts: u32,
    last_status: Option<LastStatus>,
    /// The earliest time of the next attempt, if there will be one.
    due_at: Option<String>,
    /// The time of the event.
    created_at: String,
}

/// The result of the last attempt: the status of the answer, or the error if there was no answer.
#[derive(Serialize)]
#[serde(untagged)]
enum LastStatus {
    Answered(u16),
    Failed(&'static str),
}

impl DeliveryView {
    pub(crate) fn of(delivery: &Delivery, endpoint: Option<&WebhookEndpoint>) -> Self {
        let state = delivery.shown(endpoint);
        let due_at = delivery.next_at.unwrap_or(delivery.created_at);
        Self {
            delivery_id: delivery.id().to_string(),
            event_id: delivery.event.to_string(),
            event_type: delivery.event_type.as_str(),
            endpoint_id: delivery.slot.endpoint.to_string(),
            state: state.as_str(),
            attempts: delivery.attempts,
            last_status: delivery.last.map(|(_, outcome)| match outcome {
                AttemptOutcome::Answered { status, .. } => LastStatus::Answered(status),
                AttemptOutcome::Failed(error) => LastStatus::Failed(error.as_str()),
            }),
            due_at: (state == DeliveryState::Pending).then(|| due_at.to_string()),
            created_at: delivery.created_at.to_string(),
        }
    }

    pub(crate) fn endpoint_id(&self) -> &str {
        &self.endpoint_id
    }

    /// The state, and the last answer or failure of a delivery that the receiver did not acknowledge.
    pub(crate) fn progress(&self) -> String {
        match (&self.last_status, self.state == DeliveryState::Delivered.as_str()) {
            (Some(_), false) => format!("{} ({})", self.state, self.last()),
            _ => self.state.to_owned(),
        }
    }

    fn last(&self) -> String {
        match self.last_status {
            None => "-".to_owned(),
            Some(LastStatus::Answered(status)) => status.to_string(),
            Some(LastStatus::Failed(error)) => error.to_owned(),
        }
    }
}

impl Shown for DeliveryView {
    const HEADINGS: &'static [&'static str] =
        &["delivery", "type", "state", "attempts", "last", "due", "created"];

    fn cells(&self) -> Vec<String> {
        vec![
            self.delivery_id.clone(),
            self.event_type.to_owned(),
            self.state.to_owned(),
            self.attempts.to_string(),
            self.last(),
            or_dash(&self.due_at),
            self.created_at.clone(),
        ]
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct DeliveryDetails {
    #[serde(flatten)]
    delivery: DeliveryView,
    because: Option<&'static str>,
    failures: u32,
    attempt_log: Vec<AttemptView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    body: Option<String>,
}

impl Shown for DeliveryDetails {
    const HEADINGS: &'static [&'static str] =
        &["delivery", "type", "state", "attempts", "last", "due", "created", "because", "log", "body"];

    fn cells(&self) -> Vec<String> {
        let mut cells = self.delivery.cells();
        cells.push(or_dash(&self.because));
        cells.push(stacked(self.attempt_log.iter().flat_map(AttemptView::lines)));
        // Only `--body` requests the body. Without it, this line is absent.
        cells.extend(self.body.as_deref().map(printable));
        cells
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct AttemptView {
    number: u32,
    at: String,
    took_ms: u64,
    status: Option<u16>,
    error: Option<&'static str>,
    /// The delay that the receiver requested.
    retry_after_ms: Option<u64>,
    answer: String,
}

impl From<&Attempt> for AttemptView {
    fn from(attempt: &Attempt) -> Self {
        let (status, retry_after) = match attempt.outcome {
            AttemptOutcome::Answered { status, retry_after } => (Some(status), retry_after),
            AttemptOutcome::Failed(_) => (None, None),
        };
        Self {
            number: attempt.number,
            at: attempt.at.to_string(),
            took_ms: millis(attempt.took),
            status,
            error: attempt.outcome.error_code(),
            retry_after_ms: retry_after.map(millis),
            answer: String::from_utf8_lossy(&attempt.answer).into_owned(),
        }
    }
}

impl AttemptView {
    /// The number of characters of an answer that the table shows.
    const SHOWN: usize = 160;

    fn lines(&self) -> Vec<String> {
        let status = self.status.map_or("no answer".to_owned(), |status| status.to_string());
        let error = self.error.unwrap_or("acknowledged");
        let asked = self.retry_after_ms.map(|wait| format!(", asked to wait {wait} ms")).unwrap_or_default();
        let mut lines =
            vec![format!("{}. {} {status} {error}, {} ms{asked}", self.number, self.at, self.took_ms)];
        if !self.answer.is_empty() {
            let beginning: String = self.answer.chars().take(Self::SHOWN).collect();
            let more = if beginning.len() < self.answer.len() { "..." } else { "" };
            lines.push(format!("   {}{more}", printable(&beginning)));
        }
        lines
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
