//! Lists and shows recorded events.

use std::collections::BTreeMap;

use admin::{After, DeliverySearch, FoundDelivery};
use clap::Args;
use domain::{EventId, HomeKey, WorkspaceId};
use store::RecordedEvent;

use crate::arguments::{InWorkspace, one};
use crate::delivery::{self, progress};
use crate::moment::Moment;
use crate::output::Report;
use crate::paging::{Limit, Listed};
use crate::refusal::Named;
use crate::view::View;
use crate::{Console, Refusal, Result};

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

one!(OneEvent {
    /// The event's id, as receivers get it.
    event: EventId = "ID", EventId::parse
});

impl List {
    pub(crate) async fn report(self, console: &Console) -> Result<Report> {
        let listed = self.find(console).await?;
        Ok(listed.report(|deliveries| row(deliveries), |deliveries| deliveries[0].0.event))
    }

    /// The deliveries of each event. The store has no list of events: each recorded event has a delivery, and all
    /// deliveries of an event have its time.
    async fn find(&self, console: &Console) -> Result<Listed<Vec<FoundDelivery>>> {
        let workspace = console.workspace(&self.within).await?.id;
        let after = match self.after {
            None => None,
            Some(id) => {
                let last = recorded(console, workspace, id).await?;
                Some(After::Event(HomeKey { at: last.at, event: last.id }))
            }
        };
        let now = console.store.now();
        let (since, until) = (self.since.map(|since| since.ago(now)), self.until.map(|until| until.ago(now)));
        let wanted = DeliverySearch {
            since,
            until,
            after,
            with_deleted: true,
            reads: None,
            ..DeliverySearch::default()
        };
        let found = wanted.events(&console.store, workspace, self.limit.rows() + 1).await?;
        Ok(Listed::of(found.items, &self.limit))
    }
}

async fn recorded(console: &Console, workspace: WorkspaceId, id: EventId) -> Result<RecordedEvent> {
    let event = console.store.recorded_event(workspace, id).await?;
    Named::Event.found(event, id)
}

impl OneEvent {
    pub(crate) async fn show(self, console: &Console) -> Result<View> {
        let (store, workspace) = (&console.store, console.workspace(&self.within).await?.id);
        let found = admin::event_details::<Refusal>(store, workspace, self.event).await?;
        Ok(details(&found.event, &found.deliveries))
    }
}

/// An event in a list, by its deliveries.
fn row(deliveries: &[FoundDelivery]) -> View {
    let (first, _) = &deliveries[0];
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for delivery in deliveries {
        *counts.entry(progress(delivery)).or_default() += 1;
    }
    let counts: Vec<String> = counts.iter().map(|(state, count)| format!("{count} {state}")).collect();
    View::new()
        .text("eventId", "event", first.event)
        .text("eventType", "type", first.event_type.as_str())
        .text("at", "time", first.created_at)
        .json("deliveries", deliveries.iter().map(delivery::view).collect::<Vec<_>>())
        .cell("deliveries", counts.join(", "))
}

/// An event with its body, byte for byte.
fn details(event: &RecordedEvent, deliveries: &[FoundDelivery]) -> View {
    let line = |of: &FoundDelivery| format!("{} {}", of.0.slot.endpoint, progress(of));
    View::new()
        .text("eventId", "event", event.id)
        .text("eventType", "type", event.event_type.as_str())
        .text("at", "time", event.at)
        .optional("requestId", "request", event.request.as_ref())
        .json("deliveries", deliveries.iter().map(delivery::view).collect::<Vec<_>>())
        .lines("deliveries", deliveries.iter().map(line))
        .text("body", "body", String::from_utf8_lossy(&event.body))
}
