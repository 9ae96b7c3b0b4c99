//! Test events.

use domain::{Delivery, DeliveryId, EndpointId, Event, EventType, HomeKey, WebhookEndpoint};
use store::NewEvent;

use crate::admin::{Admin, Check};
use crate::endpoints::endpoint_to_call;
use crate::jobs::JobRequest;

/// A test event that was sent to an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trial {
    /// The event's delivery.
    pub delivery: DeliveryId,
    /// The number of messages that the queue did not accept.
    pub unqueued: usize,
}

impl<G: Check<WebhookEndpoint>> Admin<'_, G> {
    /// Sends a test event like the event of any change: writes the delivery and its event, then wakes the lane. `body` makes the
    /// body of the event. Four round trips.
    pub async fn test_endpoint(
        &self,
        id: EndpointId,
        body: impl Fn(&Event) -> Result<Vec<u8>, G::Refusal>,
    ) -> Result<Trial, G::Refusal> {
        let (store, now) = (self.store, self.store.now());
        let endpoint = endpoint_to_call::<G::Refusal>(store, self.workspace, id).await?;
        self.ready(&endpoint).await?;
        let trial = store.ids().next();
        let event = Event::of_change(EventType::WebhookTest, self.workspace, &trial, 1, now);
        let (body, slot) = (body(&event)?, endpoint.slot_of(event.id.as_uuid()));
        let delivery = DeliveryId { event: event.id, endpoint: id };
        let new = NewEvent { event, about: None, request: None, body, slots: vec![slot].into() };
        store.record_trial(&new, id, &self.by).await?;
        let place = HomeKey { at: now, event: delivery.event };
        let notified = store.notify_webhook_lane(slot, place, self.rescue).await?;
        let mut unqueued = self.wake(notified.wake.map(|track| (slot, track)).into_iter().collect()).await;
        if store.endpoint_pace(slot).await?.open_until.is_some_and(|until| now < until) {
            // An endpoint whose circuit is open is called early only if somebody requests it.
            let kept = store.retention().events;
            let fresh = Delivery::new(slot, delivery.event, EventType::WebhookTest, now, now, kept);
            unqueued += JobRequest::retry(&fresh).submit(self).await?.unqueued;
        }
        Ok(Trial { delivery, unqueued })
    }
}
