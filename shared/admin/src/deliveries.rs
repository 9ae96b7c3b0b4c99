//! The deliveries and the events of a workspace, newest first, merged from the slots of its endpoints; and one of each with its
//! details.
//!
//! There is no list of events. Each recorded event has a delivery, and all deliveries of an event have its time.

use std::cmp::Reverse;
use std::fmt;

use domain::{
    Attempt, Delivery, DeliveryId, DeliveryState, EndpointId, EventId, EventType, HomeKey, Retention, Slot,
    Timestamp, WebhookEndpoint, WorkspaceId,
};
use futures::future::{ready, try_join};
use futures::{FutureExt, StreamExt, TryStreamExt};
use store::{DeliveryFilter, Page, RecordedEvent, Store, StoreError};

use crate::refused::Refused;

/// Which deliveries to find.
#[derive(Clone, Debug, Default)]
pub struct DeliverySearch {
    /// Only deliveries to this endpoint; it may be deleted.
    pub endpoint: Option<EndpointId>,
    /// Only deliveries that are shown in this state.
    pub state: Option<DeliveryState>,
    /// Only deliveries of events of this type.
    pub event_type: Option<EventType>,
    /// Only deliveries of events from this time on.
    pub since: Option<Timestamp>,
    /// Only deliveries of events before this time.
    pub until: Option<Timestamp>,
    /// Only deliveries after this place in the list.
    pub after: Option<After>,
    /// Whether deliveries to deleted endpoints are found without naming one.
    pub with_deleted: bool,
    /// The maximum number of reads of each slot if the list filters by state or type; without a maximum if absent. A page can
    /// then be short and still have a next one.
    pub reads: Option<usize>,
}

/// What a list continues after.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum After {
    /// The delivery of this event to this endpoint.
    Delivery(HomeKey, EndpointId),
    /// All deliveries of this event.
    Event(HomeKey),
}

/// A delivery, and its endpoint unless it was deleted.
pub type FoundDelivery = (Delivery, Option<WebhookEndpoint>);

/// A slot whose deliveries are listed, and its current endpoint (`None`: it was deleted).
type Listed = (Slot, Option<WebhookEndpoint>);

/// The deliveries that were found, newest first, and the place up to which all are among them; `None`: there are no others.
type Merged = (Vec<FoundDelivery>, Option<HomeKey>);

impl DeliverySearch {
    /// The maximum number of rows in one read of a slot.
    const PAGE: usize = 100;
    /// The same if the list filters by state or type.
    const SEARCHED: usize = 1_000;
    /// The number of slots that are read at the same time.
    const AT_ONCE: usize = 16;

    /// A page of at most `size` deliveries, newest first. Deliveries of one event follow each other. The position of the next
    /// page is that of an [`After`]. Two round trips for 16 slots.
    pub async fn deliveries(
        &self,
        store: &Store,
        workspace: WorkspaceId,
        size: usize,
    ) -> Result<Page<FoundDelivery>, StoreError> {
        let (mut items, read_to) = self.merged(store, workspace, size.saturating_add(1)).await?;
        let mut next = read_to.map(After::Event);
        if items.len() > size {
            items.truncate(size);
            next = items.last().map(|(last, _)| After::Delivery(HomeKey::of(last), last.slot.endpoint));
        }
        Ok(Page { items, next: next.map(|after| after.to_string()) })
    }

    /// A page of at most `size` events, newest first, each by its deliveries. Two round trips for 16 slots.
    pub async fn events(
        &self,
        store: &Store,
        workspace: WorkspaceId,
        size: usize,
    ) -> Result<Page<Vec<FoundDelivery>>, StoreError> {
        // A slot has one delivery of an event. So the newest events have their deliveries among the newest of each slot.
        let (found, read_to) = self.merged(store, workspace, size.saturating_add(1)).await?;
        let mut items: Vec<Vec<FoundDelivery>> = vec![];
        for found in found {
            match items.last_mut().filter(|event| event[0].0.event == found.0.event) {
                Some(event) => event.push(found),
                None => items.push(vec![found]),
            }
        }
        let mut next = read_to;
        if items.len() > size {
            items.truncate(size);
            next = items.last().map(|event| HomeKey::of(&event[0].0));
        }
        Ok(Page { items, next: next.map(|place| After::Event(place).to_string()) })
    }

    /// The newest deliveries, at least `enough` if there are as many.
    async fn merged(
        &self,
        store: &Store,
        workspace: WorkspaceId,
        enough: usize,
    ) -> Result<Merged, StoreError> {
        let slots = self.slots(store, workspace).await?;
        let of_slots = slots.into_iter().map(|listed| self.in_slot(store, listed, enough));
        let of_slots: Vec<Merged> =
            futures::stream::iter(of_slots).buffered(Self::AT_ONCE).try_collect().await?;
        // In some slots there may be others before this place.
        let read_to = of_slots.iter().filter_map(|(_, read_to)| *read_to).max();
        let mut found: Vec<FoundDelivery> = of_slots.into_iter().flat_map(|(found, _)| found).collect();
        found.retain(|(delivery, _)| read_to.is_none_or(|read_to| HomeKey::of(delivery) >= read_to));
        found.sort_by_key(|(delivery, _)| {
            Reverse((delivery.created_at, delivery.event, delivery.slot.endpoint))
        });
        Ok((found, read_to))
    }

    /// The slots of the existing endpoints, and of those deleted since the time of the oldest delivery that a deployment may
    /// keep. One round trip.
    async fn slots(&self, store: &Store, workspace: WorkspaceId) -> Result<Vec<Listed>, StoreError> {
        let deleted = match self.with_deleted || self.endpoint.is_some() {
            true => {
                let since = store.now().minus(Retention::LONGEST_EVENTS);
                store.endpoints_deleted_since(workspace, since).left_future()
            }
            false => ready(Ok(vec![])).right_future(),
        };
        let (present, deleted) = try_join(store.endpoints(workspace), deleted).await?;
        let mut slots: Vec<Listed> = vec![];
        for endpoint in present {
            slots.extend(endpoint.all_slots().map(|slot| (slot, Some(endpoint.clone()))));
        }
        slots.extend(deleted.into_iter().map(|slot| (slot, None)));
        slots.retain(|(slot, _)| self.endpoint.is_none_or(|endpoint| slot.endpoint == endpoint));
        Ok(slots)
    }

    async fn in_slot(
        &self,
        store: &Store,
        (slot, endpoint): Listed,
        enough: usize,
    ) -> Result<Merged, StoreError> {
        let states = match self.state {
            None => vec![],
            Some(state) => match states_shown_as(state, slot, endpoint.as_ref()) {
                none if none.is_empty() => return Ok((vec![], None)),
                some => some,
            },
        };
        let filter = DeliveryFilter {
            since: self.since.unwrap_or(Timestamp::from_millis(0)),
            until: self.until.unwrap_or(Timestamp::from_millis(i64::MAX)),
            states: &states,
            event_type: self.event_type,
        };
        let searches = !states.is_empty() || self.event_type.is_some();
        let mut reads = self.reads.filter(|_| searches).unwrap_or(usize::MAX);
        let mut before = self.after.map(|after| after.place_in(slot));
        let mut found = vec![];
        while found.len() < enough && reads > 0 {
            reads -= 1;
            // Rows that the filter excludes are read too, and count towards the maximum.
            let most = if searches { Self::SEARCHED } else { Self::PAGE.min(enough - found.len()) };
            let page = store.deliveries(slot, filter, most, before).await?;
            found.extend(page.deliveries.into_iter().map(|delivery| (delivery, endpoint.clone())));
            before = page.next;
            if before.is_none() {
                return Ok((found, None));
            }
        }
        Ok((found, before))
    }
}

impl After {
    /// Parses the form that [`fmt::Display`] prints.
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('.');
        let at = Timestamp::from_millis(parts.next()?.parse().ok()?);
        let place = HomeKey { at, event: EventId::parse(parts.next()?).ok()? };
        match parts.next() {
            None => Some(Self::Event(place)),
            Some(endpoint) => Some(Self::Delivery(place, EndpointId::parse(endpoint).ok()?)),
        }
    }

    /// The place before which a slot is read.
    fn place_in(self, slot: Slot) -> HomeKey {
        match self {
            // Of the deliveries of one event, the one to the endpoint with the greatest id is listed first.
            Self::Delivery(place, last) if slot.endpoint < last => place.next(),
            Self::Delivery(place, _) | Self::Event(place) => place,
        }
    }
}

impl fmt::Display for After {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Delivery(place, _) | Self::Event(place)) = self;
        write!(f, "{}.{}", place.at.as_millis(), place.event)?;
        match self {
            Self::Delivery(_, endpoint) => write!(f, ".{endpoint}"),
            Self::Event(_) => Ok(()),
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

/// A delivery with its attempts.
#[derive(Clone, Debug)]
pub struct DeliveryDetails {
    /// The delivery and its endpoint.
    pub found: FoundDelivery,
    /// The attempts, in order.
    pub attempts: Vec<Attempt>,
}

/// A delivery with its attempts. Two round trips.
pub async fn delivery_details<E>(
    store: &Store,
    workspace: WorkspaceId,
    id: DeliveryId,
) -> Result<DeliveryDetails, E>
where
    E: From<Refused> + From<StoreError>,
{
    let found = store.delivery_with_attempts(workspace, id);
    let (found, endpoint) = try_join(found, store.endpoint(workspace, id.endpoint)).await?;
    let (delivery, attempts) = found.ok_or(Refused::UnknownDelivery(id))?;
    Ok(DeliveryDetails { found: (delivery, endpoint), attempts })
}

/// A recorded event with its deliveries.
#[derive(Clone, Debug)]
pub struct EventDetails {
    /// The event.
    pub event: RecordedEvent,
    /// Its deliveries.
    pub deliveries: Vec<FoundDelivery>,
}

/// A recorded event with its deliveries. Two round trips.
pub async fn event_details<E>(store: &Store, workspace: WorkspaceId, id: EventId) -> Result<EventDetails, E>
where
    E: From<Refused> + From<StoreError>,
{
    let (event, endpoints) =
        try_join(store.recorded_event(workspace, id), store.endpoints(workspace)).await?;
    let event = event.ok_or(Refused::UnknownEvent(id))?;
    let with_endpoint = |delivery: Delivery| {
        let endpoint = endpoints.iter().find(|endpoint| endpoint.id == delivery.slot.endpoint);
        (delivery, endpoint.cloned())
    };
    let deliveries = store.deliveries_of(&event).await?.into_iter().map(with_endpoint).collect();
    Ok(EventDetails { event, deliveries })
}
