//! Lists and shows recorded events.

use std::collections::BTreeMap;

use clap::Args;
use domain::{Delivery, DeliveryId, EventId, WebhookEndpoint, WorkspaceId};
use futures::future::try_join_all;
use serde::Serialize;
use store::{HomeKey, RecordedEvent};

use crate::arguments::InWorkspace;
use crate::deliveries::{After, Deliveries};
use crate::delivery::DeliveryView;
use crate::moment::Moment;
use crate::output::{Output, Shown, or_dash, printable, stacked};
use crate::paging::{Limit, Listed};
use crate::refusal::Named;
use crate::{Console, Refusal};

#[derive(Args)]
pub(crate) struct List {
    #[command(flatten)]
    within: InWorkspace,
    /// Only events from this time on: a day (2027-01-31), a date-time (2027-01-31T12:00:00Z) or a time ago (2h).
    #[arg(long, value_name = "MOMENT", value_parser = Moment::parse)]
    since: Option<Moment>,
    /// Only events before this time.
    #[arg(long, value_name = "MOMENT", value_parser = Moment::parse)]
    until: Option<Moment>,
    #[command(flatten)]
    limit: Limit,
    /// Only events that follow this one in the list: the last one of the previous list.
    #[arg(long, value_name = "ID", value_parser = EventId::parse)]
    after: Option<EventId>,
}

#[derive(Args)]
pub(crate) struct OneEvent {
    #[command(flatten)]
    within: InWorkspace,
    /// The event's id, as receivers get it.
    #[arg(long, value_name = "ID", value_parser = EventId::parse)]
    event: EventId,
}

impl List {
    pub(crate) async fn run(self, console: &Console, output: &mut Output<'_>) -> Result<(), Refusal> {
        let listed = self.find(console).await?;
        listed.show(output, |deliveries| EventRow::of(deliveries), |deliveries| deliveries[0].0.event)
    }

    /// The deliveries of each event. The store has no list of events: each recorded event has a delivery, and all
    /// deliveries of an event have its time.
    async fn find(&self, console: &Console) -> Result<Listed<Vec<Delivered>>, Refusal> {
        let workspace = console.workspace(self.within.workspace).await?.id;
        let after = match self.after {
            None => None,
            Some(id) => {
                let last = recorded(console, workspace, id).await?;
                Some(After::Event(HomeKey { at: last.at, event: last.id }))
            }
        };
        // A slot has one delivery of an event. So the newest events have their deliveries among the newest of each slot.
        let of_slot = self.limit.rows() + 1;
        let now = console.store.now();
        let (since, until) = (self.since.map(|since| since.ago(now)), self.until.map(|until| until.ago(now)));
        let wanted = Deliveries { endpoint: None, state: None, since, until, after, of_slot };
        let mut events: Vec<Vec<Delivered>> = vec![];
        for found in wanted.find(&console.store, workspace).await? {
            match events.last_mut().filter(|event| event[0].0.event == found.0.event) {
                Some(event) => event.push(found),
                None => events.push(vec![found]),
            }
        }
        Ok(Listed::of(events, &self.limit))
    }
}

/// A delivery, and its endpoint unless it was deleted.
type Delivered = (Delivery, Option<WebhookEndpoint>);

async fn recorded(console: &Console, workspace: WorkspaceId, id: EventId) -> Result<RecordedEvent, Refusal> {
    let event = console.store.recorded_event(workspace, id).await?;
    Named::Event.found(event, id)
}

impl OneEvent {
    pub(crate) async fn show(self, console: &Console, output: &mut Output<'_>) -> Result<(), Refusal> {
        let (store, workspace) = (&console.store, console.workspace(self.within.workspace).await?.id);
        let event = recorded(console, workspace, self.event).await?;
        let endpoints = store.endpoints(workspace).await?;
        let id = |endpoint| DeliveryId { event: event.id, endpoint };
        let deliveries = event.slots.iter().map(|slot| store.delivery(workspace, id(slot.endpoint)));
        let deliveries = try_join_all(deliveries).await?;
        let deliveries = deliveries.iter().flatten().map(|delivery| {
            let endpoint = endpoints.iter().find(|endpoint| endpoint.id == delivery.slot.endpoint);
            DeliveryView::of(delivery, endpoint)
        });
        output.one(&EventView::of(&event, deliveries.collect()))
    }
}

/// An event in a list.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct EventRow {
    event_id: String,
    event_type: &'static str,
    at: String,
    deliveries: Vec<DeliveryView>,
}

impl EventRow {
    fn of(deliveries: &[Delivered]) -> Self {
        let (first, _) = &deliveries[0];
        let view = |(delivery, endpoint): &Delivered| DeliveryView::of(delivery, endpoint.as_ref());
        Self {
            event_id: first.event.to_string(),
            event_type: first.event_type.as_str(),
            at: first.created_at.to_string(),
            deliveries: deliveries.iter().map(view).collect(),
        }
    }
}

impl Shown for EventRow {
    const HEADINGS: &'static [&'static str] = &["event", "type", "time", "deliveries"];

    fn cells(&self) -> Vec<String> {
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        for delivery in &self.deliveries {
            *counts.entry(delivery.progress()).or_default() += 1;
        }
        let counts: Vec<String> = counts.iter().map(|(state, count)| format!("{count} {state}")).collect();
        vec![self.event_id.clone(), self.event_type.to_owned(), self.at.clone(), counts.join(", ")]
    }
}

/// An event with its body.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct EventView {
    event_id: String,
    event_type: &'static str,
    at: String,
    /// The API request that made the change, if one did.
    request_id: Option<String>,
    deliveries: Vec<DeliveryView>,
    /// The text of the body, byte for byte.
    body: String,
}

impl EventView {
    fn of(event: &RecordedEvent, deliveries: Vec<DeliveryView>) -> Self {
        Self {
            event_id: event.id.to_string(),
            event_type: event.event_type.as_str(),
            at: event.at.to_string(),
            request_id: event.request.clone(),
            deliveries,
            body: String::from_utf8_lossy(&event.body).into_owned(),
        }
    }
}

impl Shown for EventView {
    const HEADINGS: &'static [&'static str] = &["event", "type", "time", "request", "deliveries", "body"];

    fn cells(&self) -> Vec<String> {
        let delivery = |of: &DeliveryView| format!("{} {}", of.endpoint_id(), of.progress());
        vec![
            self.event_id.clone(),
            self.event_type.to_owned(),
            self.at.clone(),
            or_dash(&self.request_id),
            stacked(self.deliveries.iter().map(delivery)),
            printable(&self.body),
        ]
    }
}
