//! The reads and writes of a visit of a webhook lane.

use std::collections::HashMap;
use std::time::Duration;

use domain::{
    Attempt, Delivery, DeliveryState, EndpointSecrets, EventId, HomeKey, LaneId, Pointer, Slot, Timestamp,
    WebhookEndpoint, WorkspaceState,
};

use super::events::{RecordedEvent, recorded};
use super::lane::SortKey;
use super::rows::{attempt_item, delivery, home_item, pointer_item};
use crate::dynamodb::batch::without_repeats;
use crate::dynamodb::item::{Item, PK, SK, text};
use crate::dynamodb::read::{Place, Query};
use crate::settings::workspaces::state_of;
use crate::{Store, StoreError, Table, keys};

/// The data for a page of work, from one strongly consistent read.
#[derive(Clone, Debug, Default)]
pub struct VisitBatch {
    /// The state of the workspace; `None` if the workspace does not exist.
    pub workspace: Option<WorkspaceState>,
    /// The endpoint; `None` if it was deleted.
    pub endpoint: Option<WebhookEndpoint>,
    /// The endpoint's secrets.
    pub secrets: Option<EndpointSecrets>,
    /// The events, without those that are not recorded yet.
    pub events: HashMap<EventId, RecordedEvent>,
    /// The deliveries at the places that pointers name.
    pub homes: HashMap<HomeKey, Delivery>,
}

/// What to record about a delivery.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// The delivery as it is now.
    pub delivery: Delivery,
    /// The attempt, if one was made.
    pub attempt: Option<Attempt>,
    /// The pointer, if the delivery waits for a later attempt.
    pub pointer: Option<Pointer>,
}

impl Store {
    /// The next home rows of a slot from a place on, in order (strongly consistent read), and the place from which there
    /// may be more. One round trip.
    pub async fn fresh_deliveries(
        &self,
        slot: Slot,
        from: Option<HomeKey>,
        limit: usize,
    ) -> Result<(Vec<Delivery>, Option<HomeKey>), StoreError> {
        let from = from.map_or_else(|| HomeKey::PREFIX.to_owned(), HomeKey::sort_key);
        let rows = Query::of(Table::Webhooks, keys::slot(&slot)).between(from, "D#~").limit(limit);
        let page = self.query(rows).await?;
        let rows = page.items.into_iter();
        let deliveries = rows.map(|item| delivery(slot, item)).collect::<Result<_, _>>()?;
        Ok((deliveries, page.next.and_then(|last| HomeKey::read(text(&last, SK))).map(HomeKey::next)))
    }

    /// The next pointers of a slot after one, in order (strongly consistent read), and the last one that was read if there
    /// may be more after it. One round trip.
    pub async fn waiting_deliveries(
        &self,
        slot: Slot,
        behind: Option<Pointer>,
        limit: usize,
    ) -> Result<(Vec<Pointer>, Option<Pointer>), StoreError> {
        let from = behind.map_or_else(|| Pointer::PREFIX.to_owned(), |behind| behind.sort_key() + "~");
        let rows = Query::of(Table::Webhooks, keys::slot(&slot)).between(from, "R#~").limit(limit);
        let page = self.query(rows).await?;
        let pointer = |item: &Item| Pointer::read(text(item, SK));
        Ok((page.items.iter().filter_map(pointer).collect(), page.next.as_ref().and_then(pointer)))
    }

    /// The highest pointer of a slot, also if it has expired (strongly consistent read). One round trip.
    pub async fn last_pointer(&self, slot: Slot) -> Result<Option<Pointer>, StoreError> {
        let pointers = Query::of(Table::Webhooks, keys::slot(&slot)).begins_with(Pointer::PREFIX);
        let page = self.query(pointers.backward().limit(1)).await?;
        // An expired row is absent, and still ends the range.
        Ok(page.items.first().or(page.next.as_ref()).and_then(|last| Pointer::read(text(last, SK))))
    }

    /// The state of a slot's workspace, the endpoint with its secrets, these events, and the deliveries at these
    /// places. One round trip; more only while the tables leave some of the keys unprocessed.
    pub async fn visit_batch(
        &self,
        slot: Slot,
        events: &[EventId],
        homes: &[HomeKey],
    ) -> Result<VisitBatch, StoreError> {
        let Slot { workspace, endpoint, .. } = slot;
        let of_workspace = Place::of(Table::Workspaces, keys::workspace(workspace));
        let of_endpoint = Place::of(Table::Workspaces, keys::endpoint(workspace, endpoint));
        let of_secrets = Place::of(Table::Secrets, keys::endpoint_secrets(workspace, endpoint));
        let event = |event: &EventId| Place::of(Table::Webhooks, keys::event(workspace, *event));
        let of_events: Vec<Place> = events.iter().map(event).collect();
        let pk = keys::slot(&slot);
        let home = |home: &HomeKey| Place::of(Table::Webhooks, (pk.clone(), home.sort_key()));
        let of_homes: Vec<Place> = homes.iter().map(home).collect();
        let places = [&of_workspace, &of_endpoint, &of_secrets].into_iter();
        let mut rows = self.rows_at(places.chain(&of_events).chain(&of_homes)).await?;
        let mut batch = VisitBatch {
            workspace: rows.take(&of_workspace).map(state_of).transpose()?,
            endpoint: rows.read(&of_endpoint)?,
            secrets: rows.read(&of_secrets)?,
            ..VisitBatch::default()
        };
        for item in rows.into_items() {
            if text(&item, PK) == pk {
                let home = delivery(slot, item)?;
                batch.homes.insert(HomeKey::of(&home), home);
            } else {
                let event = recorded(item)?;
                batch.events.insert(event.id, event);
            }
        }
        Ok(batch)
    }

    /// Records the outcomes of deliveries, with retries for at most `retry_for`. The lane's lease is the
    /// fence: no other process writes these rows. A repeat changes nothing. Home rows are written last, so a
    /// waiting delivery that is read has its pointer and every attempt that it counts. One round trip for
    /// each 25 rows, some at the same time; one more if deliveries wait, or were attempted before.
    pub async fn record_deliveries(
        &self,
        slot: Slot,
        records: &[Record],
        retry_for: Duration,
    ) -> Result<(), StoreError> {
        let (mut before, mut rows) = (vec![], vec![]);
        for Record { delivery, attempt, pointer } in records {
            debug_assert!(
                delivery.next_at.is_none() || delivery.state == DeliveryState::Pending,
                "only a pending delivery waits: {delivery:?}"
            );
            debug_assert!(
                pointer.is_none_or(|pointer| {
                    pointer.home == HomeKey::of(delivery) && Some(pointer.not_before) == delivery.next_at
                }),
                "a pointer leads to another delivery or moment: {pointer:?}, {delivery:?}"
            );
            debug_assert!(
                attempt.as_ref().is_none_or(|attempt| attempt.number == delivery.attempts),
                "an attempt is not the delivery's last one: {attempt:?}, {delivery:?}"
            );
            rows.push(home_item(delivery)?);
            before.extend(pointer.map(|pointer| pointer_item(&slot, pointer, delivery.expires_at)));
            // The first attempt is in the home row.
            if let Some(attempt) = attempt.as_ref().filter(|attempt| attempt.number > 1) {
                before.push(attempt_item(delivery, attempt)?);
            }
        }
        for rows in [before, rows].map(without_repeats) {
            self.put_all(Table::Webhooks, &rows, retry_for).await.into_iter().collect::<Result<(), _>>()?;
        }
        Ok(())
    }

    /// The due time of a webhook lane, if it is due at all: for tests and operators. One round trip.
    pub async fn webhook_lane_due(&self, slot: Slot) -> Result<Option<Timestamp>, StoreError> {
        let (table, pk, sk) = keys::lane(&LaneId::Webhook(slot));
        let item = self.get_item(table, (pk, sk)).await?;
        Ok(item
            .and_then(|item| item.get("dueAt").map(crate::dynamodb::item::number))
            .map(Timestamp::from_millis))
    }
}
