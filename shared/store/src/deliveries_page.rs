//! Lists of an endpoint's deliveries, and what is done to all of a state.

use std::collections::HashMap;

use domain::delivery::Next;
use domain::{Delivery, DeliveryState, EndpointId, Timestamp, WorkspaceId};
use futures::future::try_join_all;

use crate::deliveries::delivery;
use crate::due::{millis, unreadable};
use crate::item::{Item, PK, key, n, s, text};
use crate::{Store, StoreError, Table, keys};

/// A page of an endpoint's deliveries, newest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeliveryPage {
    /// The page.
    pub deliveries: Vec<Delivery>,
    /// Where the next one begins; absent on the last.
    pub next: Option<DeliveryPosition>,
}

/// A place among an endpoint's deliveries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeliveryPosition(pub(crate) String);

/// Moments between which deliveries were made: from the first on, before the second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The first moment that belongs to it.
    pub since: Timestamp,
    /// The first one behind it.
    pub until: Timestamp,
}

impl Span {
    /// All time.
    pub const EVER: Self = Self { since: Timestamp::from_millis(0), until: Timestamp::from_millis(i64::MAX) };

    /// The least and the greatest position of a delivery in it.
    fn positions(self) -> (String, String) {
        // A position goes on behind the moment: the bare moment stands before all of its own.
        (keys::delivery_position_from(self.since), keys::delivery_position_from(self.until))
    }
}

impl Store {
    /// A page of an endpoint's deliveries, newest first, of one state if one is named; at most `limit` (up to
    /// 100). The index lags a moment behind. Exhausted, parked and cancelled ones have an index of their own;
    /// looking for others, a page may come short. Two trips, at most [`ROUNDS`] times that.
    pub async fn deliveries_of(
        &self,
        workspace: WorkspaceId,
        endpoint: EndpointId,
        state: Option<DeliveryState>,
        limit: usize,
        from: Option<DeliveryPosition>,
    ) -> Result<DeliveryPage, StoreError> {
        self.deliveries_within(workspace, endpoint, state, Span::EVER, limit, from).await
    }

    /// The same of those that were made within a span of time: nothing else is read.
    pub async fn deliveries_within(
        &self,
        workspace: WorkspaceId,
        endpoint: EndpointId,
        state: Option<DeliveryState>,
        span: Span,
        limit: usize,
        from: Option<DeliveryPosition>,
    ) -> Result<DeliveryPage, StoreError> {
        let limit = limit.clamp(1, 100);
        let (mut page, mut next) = (vec![], from.map(|position| position.0));
        for _ in 0..ROUNDS {
            let positions = match state {
                Some(state) if state.is_held() => {
                    self.held(workspace, endpoint, state, span, limit, next).await?
                }
                _ => self.positions(workspace, endpoint, span, Order::NewestFirst, limit, next).await?,
            };
            let wanted = limit - page.len();
            let mut found = self.deliveries_at(workspace, &positions).await?;
            found.retain(|(_, delivery)| state.is_none_or(|state| delivery.state == state));
            let ended = positions.len() < limit && found.len() <= wanted;
            next = if found.len() > wanted {
                found.truncate(wanted);
                found.last().map(|(position, _)| position.clone())
            } else {
                positions.last().cloned()
            };
            page.extend(found.into_iter().map(|(_, delivery)| delivery));
            if ended {
                next = None;
            }
            if next.is_none() || page.len() == limit {
                break;
            }
        }
        Ok(DeliveryPage { deliveries: page, next: next.map(DeliveryPosition) })
    }

    /// Cancels what is still to be delivered to an endpoint that is no more, parked deliveries too. Returns how
    /// many. (What the index does not show yet is cancelled when it is next due.)
    ///
    /// To find the pending ones, all of an endpoint's deliveries are looked at, a month of them: an index of those alone
    /// would cost two writes more for every delivery that is ever made, so that this rare call could read less.
    pub async fn cancel_deliveries(
        &self,
        workspace: WorkspaceId,
        endpoint: EndpointId,
    ) -> Result<usize, StoreError> {
        let pending = self.turn_all(workspace, endpoint, DeliveryState::Pending, Next::Cancelled).await?;
        let parked = self.turn_all(workspace, endpoint, DeliveryState::Parked, Next::Cancelled).await?;
        Ok(pending + parked)
    }

    /// Lets the parked deliveries of an endpoint that was enabled again be attempted, each with the whole
    /// schedule before it. The sweeper queues them. Returns how many.
    pub async fn unpark_deliveries(
        &self,
        workspace: WorkspaceId,
        endpoint: EndpointId,
    ) -> Result<usize, StoreError> {
        let at = self.now();
        self.turn_all(workspace, endpoint, DeliveryState::Parked, Next::Again { at }).await
    }

    /// Turns every delivery of an endpoint that is in that state.
    async fn turn_all(
        &self,
        workspace: WorkspaceId,
        endpoint: EndpointId,
        state: DeliveryState,
        next: Next,
    ) -> Result<usize, StoreError> {
        let (mut turned, mut position) = (0, None);
        loop {
            // What has turned stays behind the position, in whatever index: none is met twice.
            let page = self.deliveries_of(workspace, endpoint, Some(state), 100, position).await?;
            for some in page.deliveries.chunks(10) {
                let turns = some.iter().map(|delivery| self.turn(delivery, next));
                turned += try_join_all(turns).await?.into_iter().filter(|done| *done).count();
            }
            position = page.next;
            if position.is_none() {
                return Ok(turned);
            }
        }
    }

    /// Positions of an endpoint's deliveries within a span, behind one of them in that order, merged from the index's
    /// parts. One trip.
    pub(crate) async fn positions(
        &self,
        workspace: WorkspaceId,
        endpoint: EndpointId,
        span: Span,
        order: Order,
        limit: usize,
        behind: Option<String>,
    ) -> Result<Vec<String>, StoreError> {
        let (mut low, mut high) = span.positions();
        match order {
            Order::NewestFirst => high = behind.clone().unwrap_or(high),
            Order::OldestFirst => low = behind.clone().unwrap_or(low),
        }
        // DynamoDB refuses a range that ends before it begins.
        if low > high {
            return Ok(vec![]);
        }
        let shards = (0..keys::ENDPOINT_SHARDS).map(async |shard| {
            let query = self
                .db
                .query()
                .table_name(self.tables.name(Table::Deliveries))
                .index_name("byEndpoint")
                .key_condition_expression("endpointPk = :pk AND endpointSk BETWEEN :low AND :high")
                .expression_attribute_values(":pk", s(keys::deliveries_to(workspace, endpoint, shard)))
                .expression_attribute_values(":low", s(&low))
                .expression_attribute_values(":high", s(&high))
                .scan_index_forward(order == Order::OldestFirst)
                // One more: the range takes in the position that it begins behind.
                .limit(i32::try_from(limit + 1).unwrap_or(i32::MAX));
            let items = query.send().await?.items.unwrap_or_default();
            let position = |item: &Item| text(item, "endpointSk").to_owned();
            Ok::<_, StoreError>(items.iter().map(position).collect::<Vec<_>>())
        });
        let mut positions = try_join_all(shards).await?.concat();
        positions.retain(|position| behind.as_ref() != Some(position));
        positions.sort_unstable();
        if order == Order::NewestFirst {
            positions.reverse();
        }
        positions.truncate(limit);
        Ok(positions)
    }

    /// Positions of an endpoint's deliveries of one held state within a span, newest first. One trip.
    pub(crate) async fn held(
        &self,
        workspace: WorkspaceId,
        endpoint: EndpointId,
        state: DeliveryState,
        span: Span,
        limit: usize,
        before: Option<String>,
    ) -> Result<Vec<String>, StoreError> {
        let held = keys::held(workspace, endpoint, state);
        let start = before.and_then(|position| {
            let (at, id) = keys::read_delivery_position(&position)?;
            let (pk, sk) = keys::delivery(workspace, id);
            let mut start = key(pk, sk);
            start.insert("heldPk".to_owned(), s(&held));
            start.insert("createdAt".to_owned(), n(at.as_millis()));
            Some(start)
        });
        let (since, last) = (span.since.as_millis(), span.until.as_millis() - 1);
        if since > last {
            return Ok(vec![]);
        }
        let query = self
            .db
            .query()
            .table_name(self.tables.name(Table::Deliveries))
            .index_name("held")
            .key_condition_expression("heldPk = :pk AND createdAt BETWEEN :since AND :last")
            .expression_attribute_values(":pk", s(&held))
            .expression_attribute_values(":since", n(since))
            .expression_attribute_values(":last", n(last))
            .set_exclusive_start_key(start)
            .scan_index_forward(false)
            .limit(i32::try_from(limit).unwrap_or(i32::MAX));
        let items = query.send().await?.items.unwrap_or_default();
        let position = |item: &Item| {
            let (_, id) = keys::read_delivery(text(item, PK))?;
            Some(keys::delivery_position(Timestamp::from_millis(millis(item.get("createdAt")?)), id))
        };
        items.iter().map(|item| position(item).ok_or_else(|| unreadable(item, "not a delivery"))).collect()
    }

    /// The deliveries at these positions, in their order; those that are no more are left out.
    async fn deliveries_at(
        &self,
        workspace: WorkspaceId,
        positions: &[String],
    ) -> Result<Vec<(String, Delivery)>, StoreError> {
        let id = |position: &str| Some(keys::read_delivery_position(position)?.1);
        let wanted = positions.iter().filter_map(|position| id(position)).map(|id| {
            let (pk, sk) = keys::delivery(workspace, id);
            key(pk, sk)
        });
        let mut found = HashMap::new();
        for item in self.batch_items(Table::Deliveries, wanted.collect()).await? {
            let delivery = delivery(item)?;
            found.insert(delivery.id, delivery);
        }
        let at = |position: &String| Some((position.clone(), found.remove(&id(position)?)?));
        Ok(positions.iter().filter_map(at).collect())
    }
}

/// In which order positions are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    NewestFirst,
    OldestFirst,
}

/// How many pages of an index one call looks through for deliveries of a state.
const ROUNDS: usize = 10;
