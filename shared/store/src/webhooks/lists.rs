//! Lists of an endpoint's deliveries, for operators.

use domain::{
    Attempt, Delivery, DeliveryId, DeliveryState, EventId, EventType, HomeKey, Pace, Slot, Timestamp,
    WorkspaceId,
};
use futures::future::try_join;

use super::events::RecordedEvent;
use super::lane::{SortKey, WebhookLane};
use super::rows::{attempt, delivery};
use crate::dynamodb::item::{Item, s};
use crate::dynamodb::read::{Attributes, Place, Query};
use crate::{Store, StoreError, Table, keys};

/// Which deliveries to list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeliveryFilter<'a> {
    /// Only deliveries of events at or after this moment.
    pub since: Timestamp,
    /// Only deliveries of events before this moment.
    pub until: Timestamp,
    /// Only deliveries whose row has one of these states; all if empty.
    pub states: &'a [DeliveryState],
    /// Only deliveries of events of this type.
    pub event_type: Option<EventType>,
}

/// A page of a slot's deliveries, newest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeliveryPage {
    /// The deliveries of the page.
    pub deliveries: Vec<Delivery>,
    /// The next page has the deliveries before this place; `None` on the last page.
    pub next: Option<HomeKey>,
}

/// Enough to count rows.
static NOTHING: Attributes = Attributes { expression: "sk", names: &[] };

impl Store {
    /// A page of a slot's deliveries before a place, newest first, at most `limit`. If states or a type are given or deliveries
    /// have expired, a page may have fewer. One round trip.
    pub async fn deliveries(
        &self,
        slot: Slot,
        filter: DeliveryFilter<'_>,
        limit: usize,
        before: Option<HomeKey>,
    ) -> Result<DeliveryPage, StoreError> {
        self.deliveries_by(slot, filter, limit, before, |query| query).await
    }

    /// The same by another query of the same rows.
    pub(crate) async fn deliveries_by(
        &self,
        slot: Slot,
        filter: DeliveryFilter<'_>,
        limit: usize,
        before: Option<HomeKey>,
        query: fn(Query) -> Query,
    ) -> Result<DeliveryPage, StoreError> {
        let behind = before
            .map_or(HomeKey::of_moment(filter.until), |before| before.min(HomeKey::of_moment(filter.until)));
        let since = HomeKey::of_moment(filter.since);
        // DynamoDB refuses a range that ends before it begins.
        if behind <= since {
            return Ok(DeliveryPage { deliveries: vec![], next: None });
        }
        // One more, because the range includes the place at its end.
        let all = Query::of(Table::Webhooks, keys::slot(&slot))
            .between(since.sort_key(), behind.sort_key())
            .backward()
            .limit(limit.saturating_add(1));
        let page = self.query(query(filtered(all, filter))).await?;
        let last = page.next.as_ref().and_then(place);
        let found = page.items.into_iter();
        let mut deliveries = found.map(|item| delivery(slot, item)).collect::<Result<Vec<_>, _>>()?;
        deliveries.retain(|delivery| HomeKey::of(delivery) < behind);
        let mut next = last;
        if deliveries.len() > limit {
            deliveries.truncate(limit);
            next = deliveries.last().map(HomeKey::of);
        }
        Ok(DeliveryPage { deliveries, next })
    }

    /// The number of a slot's deliveries in a state. One round trip for each megabyte of the slot's
    /// deliveries.
    pub async fn count_deliveries(&self, slot: Slot, state: DeliveryState) -> Result<usize, StoreError> {
        let query = Query::of(Table::Webhooks, keys::slot(&slot))
            .begins_with(HomeKey::PREFIX)
            .filter("#state = :state")
            .name("#state", "state")
            .bind(":state", s(state.as_str()))
            .only(Some(&NOTHING));
        Ok(self.query_all(query).await?.len())
    }

    /// A delivery. Two round trips, because its event names its slot.
    pub async fn delivery(
        &self,
        workspace: WorkspaceId,
        id: DeliveryId,
    ) -> Result<Option<Delivery>, StoreError> {
        let Some(event) = self.recorded_event(workspace, id.event).await? else { return Ok(None) };
        let slot = event.slots.into_iter().find(|slot| slot.endpoint == id.endpoint);
        let Some(slot) = slot else { return Ok(None) };
        let place = HomeKey { at: event.at, event: id.event };
        let home = (keys::slot(&slot), place.sort_key());
        self.get_item(Table::Webhooks, home).await?.map(|item| delivery(slot, item)).transpose()
    }

    /// A delivery with its attempts, in order. Two round trips, because its event names its slot.
    pub async fn delivery_with_attempts(
        &self,
        workspace: WorkspaceId,
        id: DeliveryId,
    ) -> Result<Option<(Delivery, Vec<Attempt>)>, StoreError> {
        let Some(event) = self.recorded_event(workspace, id.event).await? else { return Ok(None) };
        let slot = event.slots.into_iter().find(|slot| slot.endpoint == id.endpoint);
        let Some(slot) = slot else { return Ok(None) };
        let place = HomeKey { at: event.at, event: id.event };
        let home = self.get_item(Table::Webhooks, (keys::slot(&slot), place.sort_key()));
        let (home, later) = try_join(home, self.later_attempts(slot, id.event)).await?;
        let Some(delivery) = home.map(|item| delivery(slot, item)).transpose()? else { return Ok(None) };
        let attempts = delivery.first.iter().cloned().chain(later).collect();
        Ok(Some((delivery, attempts)))
    }

    /// The deliveries of an event, in the order of its slots. One round trip.
    pub async fn deliveries_of(&self, event: &RecordedEvent) -> Result<Vec<Delivery>, StoreError> {
        let home = HomeKey { at: event.at, event: event.id }.sort_key();
        let place = |slot: &Slot| Place::of(Table::Webhooks, (keys::slot(slot), home.clone()));
        let places: Vec<(Slot, Place)> = event.slots.iter().map(|slot| (*slot, place(slot))).collect();
        let mut rows = self.rows_at(places.iter().map(|(_, place)| place)).await?;
        let found = places.iter().filter_map(|(slot, place)| Some((*slot, rows.take(place)?)));
        found.map(|(slot, item)| delivery(slot, item)).collect()
    }

    /// The attempts of a delivery, in order. One round trip.
    pub async fn attempts(&self, of: &Delivery) -> Result<Vec<Attempt>, StoreError> {
        let later = self.later_attempts(of.slot, of.event).await?;
        Ok(of.first.iter().cloned().chain(later).collect())
    }

    /// The attempts of a delivery after the first one, in order.
    async fn later_attempts(&self, slot: Slot, event: EventId) -> Result<Vec<Attempt>, StoreError> {
        let later = Query::of(Table::Webhooks, keys::slot(&slot)).begins_with(keys::attempts(event));
        self.query_all(later).await?.into_iter().map(attempt).collect()
    }

    /// The pace of a slot's endpoint. One round trip.
    pub async fn endpoint_pace(&self, slot: Slot) -> Result<Pace, StoreError> {
        let lane: Option<Item> = self.get_item(Table::Webhooks, keys::webhook_lane(&slot)).await?;
        Ok(lane.map(WebhookLane::read).transpose()?.unwrap_or_default().pace)
    }
}

fn place(key: &Item) -> Option<HomeKey> {
    HomeKey::read(crate::dynamodb::item::text(key, crate::dynamodb::item::SK))
}

/// The query of the deliveries that fit the filter.
fn filtered(query: Query, filter: DeliveryFilter<'_>) -> Query {
    let (mut conditions, mut query) = (vec![], query);
    if let Some((condition, states)) = state_filter(filter.states) {
        conditions.push(condition);
        query = query.name("#state", "state");
        query = states.into_iter().fold(query, |query, (name, state)| query.bind(name, s(state.as_str())));
    }
    if let Some(event_type) = filter.event_type {
        conditions.push("#type = :type".to_owned());
        query = query.name("#type", "eventType").bind(":type", s(event_type.as_str()));
    }
    if conditions.is_empty() { query } else { query.filter(conditions.join(" AND ")) }
}

/// The filter expression for these states; `None` for all states.
fn state_filter(states: &[DeliveryState]) -> Option<(String, Vec<(String, DeliveryState)>)> {
    let named = states.iter().enumerate().map(|(at, state)| (format!(":state{at}"), *state));
    let named: Vec<(String, DeliveryState)> = named.collect();
    let names: Vec<&str> = named.iter().map(|(name, _)| name.as_str()).collect();
    (!names.is_empty()).then(|| (format!("#state IN ({})", names.join(", ")), named.clone()))
}
