//! Deliveries that are made again because an operator wants it: one, a range, or whatever did not arrive.
//!
//! Each is one conditional write, in which everything is decided: whoever runs a command a second time, or at the same
//! time, finds done what is done. An attempt is made under a lease as ever, so that two wishes never make two side by
//! side.

use std::time::Duration;

use aws_sdk_dynamodb::types::AttributeValue;
use domain::delivery::KEPT;
use domain::{Delivery, DeliveryId, DeliveryState, EndpointId, Timestamp, WorkspaceId};
use futures::StreamExt;
use uuid::Uuid;

use crate::deliveries::delivery;
use crate::deliveries_page::{DeliveryPosition, Order, Span};
use crate::due::millis;
use crate::item::{Item, key, n, s, text};
use crate::transact::{Write, Wrote, is_by};
use crate::{Store, StoreError, Table, keys};

/// What became of asking for a delivery to be made again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Again {
    /// It is to be attempted at once, with the whole schedule before it.
    Due,
    /// That was done before by the same replay, or it is no longer so that it needs it.
    Already,
    /// A worker is at it.
    Attempted,
    /// It is no more, or about to be forgotten.
    Gone,
}

/// Some of an endpoint's deliveries, and what became of asking for each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgainPage {
    /// The page.
    pub deliveries: Vec<(DeliveryId, Again)>,
    /// Where the next one begins; absent on the last.
    pub next: Option<DeliveryPosition>,
}

/// Which deliveries are to be made again.
#[derive(Clone, Copy)]
enum Which {
    /// Whatever it has come to.
    Any,
    /// Those that this replay has not had yet.
    NotOf(Uuid),
    /// Those in this state.
    In(DeliveryState),
}

impl Store {
    /// A delivery. One trip.
    pub async fn delivery(
        &self,
        workspace: WorkspaceId,
        id: DeliveryId,
    ) -> Result<Option<Delivery>, StoreError> {
        self.get_item(Table::Deliveries, keys::delivery(workspace, id)).await?.map(delivery).transpose()
    }

    /// Has a delivery made again, whatever it has come to. The sweeper looks after it when `first_due` has passed. One
    /// trip.
    pub async fn retry_delivery(
        &self,
        delivery: &Delivery,
        first_due: Duration,
    ) -> Result<Again, StoreError> {
        let position = (delivery.created_at, delivery.id);
        self.make_again(delivery.workspace_id, position, Which::Any, first_due).await
    }

    /// Has the next of the deliveries that were made within a span made again, the oldest first, whatever they have come
    /// to: each once for each `replay`. Two trips, the second for all at once.
    pub async fn replay_deliveries(
        &self,
        workspace: WorkspaceId,
        endpoint: EndpointId,
        replay: Uuid,
        span: Span,
        first_due: Duration,
        from: Option<DeliveryPosition>,
    ) -> Result<AgainPage, StoreError> {
        let behind = from.map(|position| position.0);
        let found = self.positions(workspace, endpoint, span, Order::OldestFirst, PAGE, behind).await?;
        self.make_all_again(workspace, found, Which::NotOf(replay), first_due).await
    }

    /// Has the next of the deliveries that were made within a span and are in that held state made again, the newest
    /// first. Two trips, the second for all at once.
    pub async fn recover_deliveries(
        &self,
        workspace: WorkspaceId,
        endpoint: EndpointId,
        state: DeliveryState,
        span: Span,
        first_due: Duration,
        from: Option<DeliveryPosition>,
    ) -> Result<AgainPage, StoreError> {
        let before = from.map(|position| position.0);
        let found = self.held(workspace, endpoint, state, span, PAGE, before).await?;
        self.make_all_again(workspace, found, Which::In(state), first_due).await
    }

    async fn make_all_again(
        &self,
        workspace: WorkspaceId,
        positions: Vec<String>,
        which: Which,
        first_due: Duration,
    ) -> Result<AgainPage, StoreError> {
        let next = (positions.len() == PAGE).then(|| positions.last().cloned().map(DeliveryPosition));
        let asked = positions.iter().filter_map(|position| keys::read_delivery_position(position));
        let asked = asked.map(async |position| {
            let again = self.make_again(workspace, position, which, first_due).await?;
            Ok::<_, StoreError>((position.1, again))
        });
        let mut asked = futures::stream::iter(asked).buffered(AT_ONCE);
        let mut deliveries = vec![];
        while let Some(again) = asked.next().await {
            deliveries.push(again?);
        }
        Ok(AgainPage { deliveries, next: next.flatten() })
    }

    /// One delivery: due now, with the whole schedule before it, unless a worker is at it.
    async fn make_again(
        &self,
        workspace: WorkspaceId,
        (created_at, id): (Timestamp, DeliveryId),
        which: Which,
        first_due: Duration,
    ) -> Result<Again, StoreError> {
        let (now, request) = (self.now(), self.ids.next().to_string());
        let (pk, sk) = keys::delivery(workspace, id);
        let mut expression =
            "SET #state = :pending, nextAt = :now, dueAt = :due, dueShard = :shard, failures = :zero, \
                              expiresAt = :expires, lastRequest = :request REMOVE lease, leaseUntil, heldPk"
                .to_owned();
        let mut condition =
            "expiresAt > :seconds AND (attribute_not_exists(leaseUntil) OR leaseUntil < :now)".to_owned();
        let write = |expression: String, condition: String| {
            Write::update(Table::Deliveries, key(pk.clone(), sk), expression).when(condition)
        };
        let write = match which {
            Which::Any => write(expression, condition),
            Which::NotOf(replay) => {
                expression += " ADD replays :replays";
                condition += " AND NOT contains(replays, :replay)";
                write(expression, condition)
                    .bind(":replays", AttributeValue::Ss(vec![replay.to_string()]))
                    .bind(":replay", s(replay.to_string()))
            }
            Which::In(state) => {
                condition += " AND #state = :seen";
                write(expression, condition).bind(":seen", s(state.as_str()))
            }
        };
        let write = write
            .name("#state", "state")
            .bind(":pending", s(DeliveryState::Pending.as_str()))
            .bind(":now", n(now.as_millis()))
            .bind(":seconds", n(now.as_seconds()))
            .bind(":due", n(now.plus(first_due).as_millis()))
            .bind(":shard", s(keys::due_of(id)))
            .bind(":zero", n(0))
            .bind(":expires", n(created_at.plus(KEPT).as_seconds()))
            .bind(":request", s(&request));
        Ok(match self.write(write).await? {
            Wrote::Done(_) => Again::Due,
            Wrote::Refused(Some(found)) if is_by(&found, &request) => Again::Due,
            Wrote::Refused(Some(found)) => why_not(&found, which, now),
            Wrote::Refused(None) => Again::Gone,
        })
    }
}

/// Which part of the condition did not hold.
fn why_not(found: &Item, which: Which, now: Timestamp) -> Again {
    let number = |name| found.get(name).map_or(0, millis);
    let is_already = match which {
        Which::Any => false,
        Which::NotOf(replay) => {
            let replays = found.get("replays").and_then(|replays| replays.as_ss().ok());
            replays.is_some_and(|replays| replays.contains(&replay.to_string()))
        }
        Which::In(state) => text(found, "state") != state.as_str(),
    };
    if number("expiresAt") <= now.as_seconds() {
        Again::Gone
    } else if is_already {
        Again::Already
    } else {
        Again::Attempted
    }
}

/// How many deliveries a call comes to, and how many of them at the same time.
const PAGE: usize = 100;
const AT_ONCE: usize = 20;
