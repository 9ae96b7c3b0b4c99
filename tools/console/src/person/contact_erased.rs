//! The event `contact.erased`.

use domain::{ContactId, Erasure, Event, EventType, HomeKey};
use edge::view;
use store::NewEvent;

use crate::jobs::{FIRST_DUE, wake};
use crate::{Console, Refusal, Result};

/// Records the event of an erased contact with its deliveries, and wakes their lanes. A repeat only wakes them again.
/// A message that a queue does not accept is left to the sweeper.
pub(crate) async fn record(console: &Console, of: &Erasure, contact: ContactId) -> Result {
    let (store, workspace) = (&console.store, of.workspace_id);
    let event = Event::of_change(EventType::ContactErased, workspace, contact.as_uuid(), 1, of.asked_at);
    let slots = match store.recorded_event(workspace, event.id).await? {
        Some(recorded) => recorded.slots,
        None => {
            let endpoints = store.endpoints(workspace).await?;
            let wanting = endpoints.iter().filter(|endpoint| endpoint.wants(event.event_type));
            let slots: Vec<_> = wanting.map(|endpoint| endpoint.slot_of(contact.as_uuid())).collect();
            if slots.is_empty() {
                return Ok(());
            }
            let payload = view::erased(contact, workspace, of.asked_at);
            let body = view::event_body(&event, &payload).map_err(|error| Refusal::Output(error.into()))?;
            let new =
                NewEvent { event: event.clone(), about: None, request: None, body, slots: slots.clone() };
            store.record_events(&[new]).await.into_iter().collect::<Result<(), _>>()?;
            slots
        }
    };
    let mut notified = vec![];
    for slot in slots {
        let place = HomeKey { at: event.at, event: event.id };
        notified.push((slot, store.notify_webhook_lane(slot, place, FIRST_DUE).await?));
    }
    wake(console, &notified).await;
    Ok(())
}
