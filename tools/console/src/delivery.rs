//! `console delivery ...`

use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand};
use domain::delivery::KEPT;
use domain::{
    Attempt, AttemptOutcome, Delivery, DeliveryId, DeliveryState, EndpointId, Timestamp, WebhookEndpoint,
    WorkspaceId,
};
use serde::Serialize;

use crate::arguments::InWorkspace;
use crate::output::{Output, Shown, or_dash, stacked};
use crate::{Console, Refusal};

#[derive(Subcommand)]
pub(crate) enum Verb {
    /// List deliveries, newest first.
    List(List),
    /// Show a delivery and its attempts.
    Show {
        #[command(flatten)]
        within: InWorkspace,
        /// The delivery's id.
        #[arg(long, value_name = "ID", value_parser = DeliveryId::parse)]
        delivery: DeliveryId,
    },
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
            Self::Show { within, delivery } => show(console, &within, delivery, output).await,
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

    async fn of_endpoint(
        &self,
        console: &Console,
        workspace: WorkspaceId,
        endpoint: EndpointId,
        state: Option<DeliveryState>,
    ) -> Result<Vec<Delivery>, Refusal> {
        let (mut deliveries, mut from) = (vec![], None);
        while deliveries.len() < self.limit() {
            let page = console.store.deliveries_of(workspace, endpoint, state, 100, from).await?;
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
    let kept = i64::try_from(KEPT.as_millis()).unwrap_or(i64::MAX);
    let since = Timestamp::from_millis(console.store.now().as_millis() - kept);
    let present = console.store.endpoints(workspace).await?;
    let mut endpoints: Vec<EndpointId> =
        present.iter().map(|endpoint: &WebhookEndpoint| endpoint.id).collect();
    endpoints.extend(console.store.endpoints_deleted_since(workspace, since).await?);
    Ok(endpoints)
}

async fn show(
    console: &Console,
    within: &InWorkspace,
    id: DeliveryId,
    output: &mut Output<'_>,
) -> Result<(), Refusal> {
    let workspace = console.workspace(within.workspace).await?;
    let found = console.store.delivery_with_attempts(workspace.id, id).await?;
    let (delivery, attempts) = found.ok_or(Refusal::UnknownDelivery(id))?;
    output.one(&DeliveryDetails {
        delivery: DeliveryView::from(&delivery),
        failures: delivery.failures,
        created_at: delivery.created_at.to_string(),
        attempt_log: attempts.iter().map(AttemptView::from).collect(),
    })
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
    failures: u32,
    created_at: String,
    attempt_log: Vec<AttemptView>,
}

impl Shown for DeliveryDetails {
    const HEADINGS: &'static [&'static str] =
        &["delivery", "event", "type", "endpoint", "state", "attempts", "due", "created", "log"];

    fn cells(&self) -> Vec<String> {
        let mut cells = self.delivery.cells();
        cells.push(self.created_at.clone());
        cells.push(stacked(self.attempt_log.iter().map(AttemptView::line)));
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
    answer: String,
}

impl From<&Attempt> for AttemptView {
    fn from(attempt: &Attempt) -> Self {
        let status = match attempt.outcome {
            AttemptOutcome::Answered { status, .. } => Some(status),
            AttemptOutcome::Failed(_) => None,
        };
        Self {
            number: attempt.number,
            at: attempt.at.to_string(),
            took_ms: u64::try_from(attempt.took.as_millis()).unwrap_or(u64::MAX),
            status,
            error: attempt.outcome.error_code(),
            answer: String::from_utf8_lossy(&attempt.answer).into_owned(),
        }
    }
}

impl AttemptView {
    fn line(&self) -> String {
        let status = self.status.map_or("no answer".to_owned(), |status| status.to_string());
        let error = self.error.unwrap_or("acknowledged");
        format!("{}. {} {status} {error}, {} ms", self.number, self.at, self.took_ms)
    }
}
