//! `console delivery ...`

use std::time::Duration;

use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand};
use domain::delivery::KEPT;
use domain::event::replay_of;
use domain::{
    Attempt, AttemptOutcome, Delivery, DeliveryId, DeliveryState, EndpointId, EndpointState, Timestamp,
    WebhookEndpoint, WorkspaceId,
};
use serde::Serialize;
use store::{Again, Span};

use crate::again::{Counts, FIRST_DUE, span, wake};
use crate::arguments::{InWorkspace, moment};
use crate::output::{Output, Shown, or_dash, stacked};
use crate::{Console, Refusal};

#[derive(Subcommand)]
pub(crate) enum Verb {
    /// List deliveries, newest first.
    List(List),
    /// Show a delivery and its attempts.
    Show {
        #[command(flatten)]
        one: OneDelivery,
        /// Also what is delivered: the body as it is sent.
        #[arg(long)]
        body: bool,
    },
    /// Have a delivery attempted now, whatever it has come to, with the whole schedule before it.
    ///
    /// Its receiver tells the repeat by the event's id. Run twice, it is still one attempt at a time.
    Retry(OneDelivery),
    /// Have everything delivered once more that was delivered, or was to be, within a span of time.
    ///
    /// Each delivery that was made for the endpoint in that time is attempted again, DELIVERED ones too; receivers tell
    /// repeats by the event's id. The same command with the same moments is the same replay: run again after an
    /// interruption, or twice at a time, it sends nothing a second time that it sent again already. (For a second replay
    /// on purpose, name another moment: a second more or less.)
    Replay(Replay),
}

#[derive(Args)]
pub(crate) struct OneDelivery {
    #[command(flatten)]
    within: InWorkspace,
    /// The delivery's id.
    #[arg(long, value_name = "ID", value_parser = DeliveryId::parse)]
    delivery: DeliveryId,
}

#[derive(Args)]
pub(crate) struct Replay {
    #[command(flatten)]
    within: InWorkspace,
    /// The endpoint's id. It is to be enabled.
    #[arg(long, value_name = "ID", value_parser = EndpointId::parse)]
    endpoint: EndpointId,
    /// From this moment on, at most 14 days back.
    #[arg(long, value_name = "MOMENT", value_parser = moment)]
    since: Timestamp,
    /// Before this moment; until now when not given.
    #[arg(long, value_name = "MOMENT", value_parser = moment)]
    until: Option<Timestamp>,
}

#[derive(Args)]
pub(crate) struct List {
    #[command(flatten)]
    within: InWorkspace,
    /// Only those of this endpoint, which may be a deleted one.
    #[arg(long, value_name = "ID", value_parser = EndpointId::parse)]
    endpoint: Option<EndpointId>,
    /// Only those in this state.
    #[arg(long, value_parser = PossibleValuesParser::new(DeliveryState::NAMES))]
    state: Option<String>,
    /// Only those made from this moment on: a day (2027-01-31) or a date-time (2027-01-31T12:00:00Z).
    #[arg(long, value_name = "MOMENT", value_parser = moment)]
    since: Option<Timestamp>,
    /// Only those made before this moment.
    #[arg(long, value_name = "MOMENT", value_parser = moment)]
    until: Option<Timestamp>,
    /// At most so many, the newest; all when not given.
    #[arg(long)]
    limit: Option<usize>,
}

impl Verb {
    pub(crate) async fn run(self, console: &Console, output: &mut Output<'_>) -> Result<(), Refusal> {
        match self {
            Self::List(wanted) => {
                let deliveries = wanted.find(console).await?;
                output.list(&deliveries.iter().map(DeliveryView::from).collect::<Vec<_>>())
            }
            Self::Show { one, body } => show(console, &one, body, output).await,
            Self::Retry(one) => retry(console, &one, output).await,
            Self::Replay(wanted) => wanted.run(console, output).await,
        }
    }
}

impl List {
    async fn find(&self, console: &Console) -> Result<Vec<Delivery>, Refusal> {
        let workspace = console.workspace(self.within.workspace).await?.id;
        let state = self
            .state
            .as_deref()
            .map(DeliveryState::parse)
            .transpose()
            .map_err(|reason| Refusal::Unfit { what: "The state does not fit", reason })?;
        let endpoints = match self.endpoint {
            Some(endpoint) => vec![endpoint],
            None => endpoints_with_deliveries(console, workspace).await?,
        };
        let mut deliveries = vec![];
        for endpoint in endpoints {
            deliveries.extend(self.of_endpoint(console, workspace, endpoint, state).await?);
        }
        deliveries.sort_by_key(|delivery| std::cmp::Reverse((delivery.created_at, delivery.id)));
        deliveries.truncate(self.limit());
        Ok(deliveries)
    }

    fn limit(&self) -> usize {
        self.limit.unwrap_or(usize::MAX)
    }

    fn span(&self) -> Span {
        let Span { since, until } = Span::EVER;
        Span { since: self.since.unwrap_or(since), until: self.until.unwrap_or(until) }
    }

    async fn of_endpoint(
        &self,
        console: &Console,
        workspace: WorkspaceId,
        endpoint: EndpointId,
        state: Option<DeliveryState>,
    ) -> Result<Vec<Delivery>, Refusal> {
        let (mut deliveries, mut from) = (vec![], None);
        while deliveries.len() < self.limit() {
            let page =
                console.store.deliveries_within(workspace, endpoint, state, self.span(), 100, from).await?;
            deliveries.extend(page.deliveries);
            from = page.next;
            if from.is_none() {
                break;
            }
        }
        Ok(deliveries)
    }
}

/// Those that exist, and those deleted since the oldest delivery that is kept.
async fn endpoints_with_deliveries(
    console: &Console,
    workspace: WorkspaceId,
) -> Result<Vec<EndpointId>, Refusal> {
    let since = console.store.now().minus(KEPT);
    let present = console.store.endpoints(workspace).await?;
    let mut endpoints: Vec<EndpointId> =
        present.iter().map(|endpoint: &WebhookEndpoint| endpoint.id).collect();
    endpoints.extend(console.store.endpoints_deleted_since(workspace, since).await?);
    Ok(endpoints)
}

async fn show(
    console: &Console,
    one: &OneDelivery,
    with_body: bool,
    output: &mut Output<'_>,
) -> Result<(), Refusal> {
    let workspace = console.workspace(one.within.workspace).await?.id;
    let found = console.store.delivery_with_attempts(workspace, one.delivery).await?;
    let (delivery, attempts) = found.ok_or(Refusal::UnknownDelivery(one.delivery))?;
    let body = match with_body {
        true => console.store.recorded_event(workspace, delivery.event_id).await?.map(|event| event.body),
        false => None,
    };
    output.one(&DeliveryDetails {
        delivery: DeliveryView::from(&delivery),
        because: because(console, &delivery, &attempts).await?,
        failures: delivery.failures,
        created_at: delivery.created_at.to_string(),
        attempt_log: attempts.iter().map(AttemptView::from).collect(),
        body: body.map(|body| String::from_utf8_lossy(&body).into_owned()),
    })
}

/// Why nothing more is attempted, while nothing is: a stable word.
async fn because(
    console: &Console,
    delivery: &Delivery,
    attempts: &[Attempt],
) -> Result<Option<&'static str>, Refusal> {
    Ok(match delivery.state {
        DeliveryState::Pending | DeliveryState::Delivered => None,
        DeliveryState::Exhausted => attempts.last().and_then(|attempt| attempt.outcome.error_code()),
        DeliveryState::Cancelled => Some("ENDPOINT_DELETED"),
        DeliveryState::Parked => {
            match console.store.endpoint(delivery.workspace_id, delivery.endpoint_id).await? {
                None => Some("ENDPOINT_DELETED"),
                Some(WebhookEndpoint { state: EndpointState::Disabled { reason, .. }, .. }) => {
                    Some(reason.as_str())
                }
                // It was enabled a moment ago: the sweeper lets the delivery go.
                Some(_) => None,
            }
        }
    })
}

async fn retry(console: &Console, one: &OneDelivery, output: &mut Output<'_>) -> Result<(), Refusal> {
    let (store, id) = (&console.store, one.delivery);
    let workspace = console.workspace(one.within.workspace).await?.id;
    let unknown = Refusal::UnknownDelivery(id);
    let Some(delivery) = store.delivery(workspace, id).await? else { return Err(unknown) };
    let endpoint = console.endpoint_to_call(workspace, delivery.endpoint_id).await?;
    match store.retry_delivery(&delivery, FIRST_DUE).await? {
        Again::Due | Again::Already => {}
        Again::Attempted => return Err(Refusal::BeingAttempted(id)),
        Again::Gone => return Err(unknown),
    }
    if wake(console, &endpoint, &[id]).await > 0 {
        output.remark("The queue did not take it: the delivery is made within three minutes.")?;
    }
    let Some(delivery) = store.delivery(workspace, id).await? else { return Err(unknown) };
    output.one(&DeliveryView::from(&delivery))
}

impl Replay {
    async fn run(&self, console: &Console, output: &mut Output<'_>) -> Result<(), Refusal> {
        let store = &console.store;
        let workspace = console.workspace(self.within.workspace).await?.id;
        let span = span(self.since, self.until, store.now())?;
        let endpoint = console.endpoint_to_call(workspace, self.endpoint).await?;
        let replay = replay_of(self.endpoint, self.since, self.until);
        let (mut counts, mut from) = (Counts::default(), None);
        loop {
            let page = store.replay_deliveries(workspace, endpoint.id, replay, span, FIRST_DUE, from).await?;
            counts.add(console, &endpoint, &page).await;
            from = page.next;
            if from.is_none() {
                break;
            }
        }
        counts.remark(output)?;
        output.one(&ReplayView {
            endpoint_id: endpoint.id.to_string(),
            since: span.since.to_string(),
            until: span.until.to_string(),
            replayed: counts.due,
            already_replayed: counts.already,
            being_attempted: counts.attempted,
            forgotten: counts.gone,
        })
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ReplayView {
    endpoint_id: String,
    since: String,
    until: String,
    replayed: usize,
    /// By this replay, before.
    already_replayed: usize,
    /// Passed over: an attempt of them is being made right now.
    being_attempted: usize,
    /// Passed over: they are older than 30 days.
    forgotten: usize,
}

impl Shown for ReplayView {
    const HEADINGS: &'static [&'static str] =
        &["endpoint", "since", "until", "replayed", "replayed before", "being attempted", "forgotten"];

    fn cells(&self) -> Vec<String> {
        let counts = [self.replayed, self.already_replayed, self.being_attempted, self.forgotten];
        let mut cells = vec![self.endpoint_id.clone(), self.since.clone(), self.until.clone()];
        cells.extend(counts.map(|count| count.to_string()));
        cells
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct DeliveryView {
    delivery_id: String,
    event_id: String,
    event_type: &'static str,
    endpoint_id: String,
    state: &'static str,
    attempts: u32,
    /// When the next attempt may be made, while one is to be made.
    due_at: Option<String>,
}

impl From<&Delivery> for DeliveryView {
    fn from(delivery: &Delivery) -> Self {
        Self {
            delivery_id: delivery.id.to_string(),
            event_id: delivery.event_id.to_string(),
            event_type: delivery.event_type.as_str(),
            endpoint_id: delivery.endpoint_id.to_string(),
            state: delivery.state.as_str(),
            attempts: delivery.attempts,
            due_at: (delivery.state == DeliveryState::Pending).then(|| delivery.next_at.to_string()),
        }
    }
}

impl Shown for DeliveryView {
    const HEADINGS: &'static [&'static str] =
        &["delivery", "event", "type", "endpoint", "state", "attempts", "due"];

    fn cells(&self) -> Vec<String> {
        vec![
            self.delivery_id.clone(),
            self.event_id.clone(),
            self.event_type.to_owned(),
            self.endpoint_id.clone(),
            self.state.to_owned(),
            self.attempts.to_string(),
            or_dash(&self.due_at),
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
    created_at: String,
    attempt_log: Vec<AttemptView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    body: Option<String>,
}

impl Shown for DeliveryDetails {
    const HEADINGS: &'static [&'static str] = &[
        "delivery", "event", "type", "endpoint", "state", "attempts", "due", "because", "created", "log",
        "body",
    ];

    fn cells(&self) -> Vec<String> {
        let mut cells = self.delivery.cells();
        cells.push(self.because.unwrap_or("-").to_owned());
        cells.push(self.created_at.clone());
        cells.push(stacked(self.attempt_log.iter().flat_map(AttemptView::lines)));
        // Asked for with --body alone: without it there is no line.
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
    /// What the receiver asked to wait.
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
    /// How much of an answer people are shown.
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

/// Text of a stranger's as a terminal may print it: what would steer it is spelled out.
fn printable(text: &str) -> String {
    text.chars().flat_map(|c| if c.is_control() { c.escape_default().collect() } else { vec![c] }).collect()
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
