//! The deliveries of a workspace, newest first, merged from the slots of its endpoints.

use std::cmp::Reverse;

use domain::{
    Delivery, DeliveryState, EndpointId, EventId, EventType, HomeKey, Retention, Slot, Timestamp,
    WebhookEndpoint, WorkspaceId,
};
use futures::{StreamExt, TryStreamExt};
use store::{DeliveryFilter, Store};

use crate::Result;

/// Which deliveries to find.
pub(crate) struct Deliveries {
    /// Only deliveries to this endpoint; it may be deleted.
    pub(crate) endpoint: Option<EndpointId>,
    /// Only deliveries that are shown in this state.
    pub(crate) state: Option<DeliveryState>,
    /// Only deliveries of events from this time on.
    pub(crate) since: Option<Timestamp>,
    /// Only deliveries of events before this time.
    pub(crate) until: Option<Timestamp>,
    /// Only deliveries after this one in the list.
    pub(crate) after: Option<After>,
    /// The maximum number of deliveries of each slot.
    pub(crate) of_slot: usize,
}

/// What a list continues after.
#[derive(Clone, Copy)]
pub(crate) enum After {
    /// The delivery of this event to this endpoint.
    Delivery(HomeKey, EndpointId),
    /// All deliveries of this event.
    Event(HomeKey),
}

/// A slot whose deliveries are listed, and its current endpoint (`None`: it was deleted).
type Listed = (Slot, Option<WebhookEndpoint>);

/// A delivery, and its endpoint unless it was deleted.
pub(crate) type Found = (Delivery, Option<WebhookEndpoint>);

impl Deliveries {
    /// The maximum number of rows in one read of a slot.
    const PAGE: usize = 100;
    /// The same if the list filters by state.
    const SEARCHED: usize = 1_000;
    /// The number of slots that are read at the same time.
    const AT_ONCE: usize = 16;

    /// Finds the deliveries, newest first. Deliveries of one event follow each other.
    pub(crate) async fn find(&self, store: &Store, workspace: WorkspaceId) -> Result<Vec<Found>> {
        let slots = self.slots(store, workspace).await?;
        let of_slots = slots.iter().map(|listed| self.in_slot(store, listed));
        let of_slots: Vec<_> = futures::stream::iter(of_slots).buffered(Self::AT_ONCE).try_collect().await?;
        let mut found: Vec<Found> = of_slots.into_iter().flatten().collect();
        found.sort_by_key(|(delivery, _)| {
            Reverse((delivery.created_at, delivery.event, delivery.slot.endpoint))
        });
        Ok(found)
    }

    /// The slots of the existing endpoints, and of those deleted since the time of the oldest delivery that a deployment may
    /// keep.
    async fn slots(&self, store: &Store, workspace: WorkspaceId) -> Result<Vec<Listed>> {
        let mut slots: Vec<Listed> = vec![];
        for endpoint in store.endpoints(workspace).await? {
            slots.extend(endpoint.all_slots().map(|slot| (slot, Some(endpoint.clone()))));
        }
        let deleted =
            store.endpoints_deleted_since(workspace, store.now().minus(Retention::LONGEST_EVENTS)).await?;
        slots.extend(deleted.into_iter().map(|slot| (slot, None)));
        slots.retain(|(slot, _)| self.endpoint.is_none_or(|endpoint| slot.endpoint == endpoint));
        Ok(slots)
    }

    async fn in_slot(&self, store: &Store, (slot, endpoint): &Listed) -> Result<Vec<Found>> {
        let states = match self.state {
            None => vec![],
            Some(state) => match states_shown_as(state, *slot, endpoint.as_ref()) {
                none if none.is_empty() => return Ok(vec![]),
                some => some,
            },
        };
        let filter = DeliveryFilter {
            since: self.since.unwrap_or(Timestamp::from_millis(0)),
            until: self.until.unwrap_or(Timestamp::from_millis(i64::MAX)),
            states: &states,
        };
        let mut before = self.after.map(|after| after.place_in(*slot));
        let mut found = vec![];
        while found.len() < self.of_slot {
            // Rows in other states are read too, and count towards the maximum.
            let most = match states.is_empty() {
                true => Self::PAGE.min(self.of_slot - found.len()),
                false => Self::SEARCHED,
            };
            let page = store.deliveries(*slot, filter, most, before).await?;
            found.extend(page.deliveries.into_iter().map(|delivery| (delivery, endpoint.clone())));
            before = page.next;
            if before.is_none() {
                break;
            }
        }
        Ok(found)
    }
}

impl After {
    /// The place before which a slot is read.
    fn place_in(self, slot: Slot) -> HomeKey {
        match self {
            // Of the deliveries of one event, the one to the endpoint with the greatest id is listed first.
            Self::Delivery(place, last) if slot.endpoint < last => place.next(),
            Self::Delivery(place, _) | Self::Event(place) => place,
        }
    }
}

/// The stored states that are shown as this state.
fn states_shown_as(
    shown: DeliveryState,
    slot: Slot,
    endpoint: Option<&WebhookEndpoint>,
) -> Vec<DeliveryState> {
    let now = Timestamp::from_millis(0);
    let event = EventId::from_uuid(*slot.endpoint.as_uuid());
    let any = Delivery::new(slot, event, EventType::WebhookTest, now, now, Retention::EVENTS);
    let states = DeliveryState::NAMES.iter().filter_map(|name| DeliveryState::parse(name).ok());
    states.filter(|state| Delivery { state: *state, ..any.clone() }.shown(endpoint) == shown).collect()
}
