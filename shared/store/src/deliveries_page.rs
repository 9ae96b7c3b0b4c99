//! Lists of an endpoint's deliveries, and what is done to all of a state.

use std::collections::HashMap;

use domain::delivery::Next;
use domain::{Delivery, DeliveryId, DeliveryState, EndpointId, Timestamp, WorkspaceId};
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
pub struct DeliveryPosition(String);

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
        let limit = limit.clamp(1, 100);
        let (mut page, mut next) = (vec![], from.map(|position| position.0));
        for _ in 0..ROUNDS {
            let positions = match state {
                Some(state) if state.is_held() => self.held(workspace, endpoint, state, limit, next).await?,
                _ => self.newest(workspace, endpoint, limit, next).await?,
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

    /// Positions of the newest deliveries of an endpoint, merged from the index's parts.
    async fn newest(
        &self,
        workspace: WorkspaceId,
        endpoint: EndpointId,
        limit: usize,
        before: Option<String>,
    ) -> Result<Vec<String>, StoreError> {
        // "~" stands behind every position.
        let before = before.unwrap_or_else(|| "~".to_owned());
        let shards = (0..keys::ENDPOINT_SHARDS).map(async |shard| {
            let query = self
                .db
                .query()
                .table_name(self.tables.name(Table::Deliveries))
                .index_name("byEndpoint")
                .key_condition_expression("endpointPk = :pk AND endpointSk < :before")
                .expression_attribute_values(":pk", s(keys::deliveries_to(workspace, endpoint, shard)))
                .expression_attribute_values(":before", s(&before))
                .scan_index_forward(false)
                .limit(i32::try_from(limit).unwrap_or(i32::MAX));
            let items = query.send().await?.items.unwrap_or_default();
            Ok::<_, StoreError>(
                items.iter().map(|item| text(item, "endpointSk").to_owned()).collect::<Vec<_>>(),
            )
        });
        let mut positions = try_join_all(shards).await?.concat();
        positions.sort_unstable_by(|a, b| b.cmp(a));
        positions.truncate(limit);
        Ok(positions)
    }

    /// Positions of an endpoint's newest deliveries of one held state.
    async fn held(
        &self,
        workspace: WorkspaceId,
        endpoint: EndpointId,
        state: DeliveryState,
        limit: usize,
        before: Option<String>,
    ) -> Result<Vec<String>, StoreError> {
        let held = keys::held(workspace, endpoint, state);
        let start = before.and_then(|position| {
            let (millis, id) = position.split_once('#')?;
            let (pk, sk) = keys::delivery(workspace, DeliveryId::parse(id).ok()?);
            let mut start = key(pk, sk);
            start.insert("heldPk".to_owned(), s(&held));
            start.insert("createdAt".to_owned(), n(millis.parse::<i64>().ok()?));
            Some(start)
        });
        let query = self
            .db
            .query()
            .table_name(self.tables.name(Table::Deliveries))
            .index_name("held")
            .key_condition_expression("heldPk = :pk")
            .expression_attribute_values(":pk", s(&held))
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
        let id = |position: &str| DeliveryId::parse(position.split_once('#')?.1).ok();
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

/// How many pages of an index one call looks through for deliveries of a state.
const ROUNDS: usize = 10;
