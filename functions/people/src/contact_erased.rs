//! The event `contact.erased`.

use domain::webhook::Subscribers;
use domain::{ContactId, Erasure, Event, EventType, HomeKey, LaneId, error_chain};
use edge::view;
use queue::{Queues, Wake};
use store::{NewEvent, Store, StoreError};

/// How long after this the sweeper queues a lane whose message was lost.
const FIRST_DUE: std::time::Duration = std::time::Duration::from_secs(120);

/// Records the event of an erased contact with its deliveries, and wakes their lanes. A repeat only wakes them again.
/// A message that a queue does not accept is left to the sweeper.
pub(crate) async fn record(
    store: &Store,
    queues: &Queues,
    of: &Erasure,
    contact: ContactId,
) -> Result<(), StoreError> {
    let workspace = of.workspace_id;
    let event = Event::of_change(EventType::ContactErased, workspace, contact.as_uuid(), 1, of.asked_at);
    let slots = match store.recorded_event(workspace, event.id).await? {
        Some(recorded) => recorded.slots,
        None => {
            let endpoints = store.endpoints(workspace).await?;
            let slots = Subscribers::among(&endpoints, event.event_type, contact.as_uuid());
            if slots.is_empty() {
                return Ok(());
            }
            let payload = view::erased(contact, workspace, of.asked_at);
            let body =
                view::event_body(&event, &payload).map_err(|error| StoreError::Failed(error.into()))?;
            let new =
                NewEvent { event: event.clone(), about: None, request: None, body, slots: slots.clone() };
            store.record_events(&[new]).await.into_iter().collect::<Result<(), _>>()?;
            slots.enabled
        }
    };
    let mut wakes = vec![];
    for slot in slots {
        let place = HomeKey { at: event.at, event: event.id };
        let notified = store.notify_webhook_lane(slot, place, FIRST_DUE).await?;
        wakes.extend(notified.wake.map(|track| Wake::now(LaneId::Webhook(slot), track)));
    }
    if let Err(error) = queues.enqueue(&wakes).await {
        tracing::warn!(cause = error_chain(&error), "lanes not queued, left to the sweeper");
    }
    Ok(())
}
