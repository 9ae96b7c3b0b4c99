//! Events: recording them with their deliveries, and notifying lanes of them.

use std::collections::HashMap;
use std::time::Duration;

use domain::webhook::Subscribers;
use domain::{
    AuditAction, Author, Delivery, DeliveryState, EndpointId, Event, EventId, EventType, HomeKey, Slot,
    Timestamp, Track, WorkspaceId,
};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::lane::{SortKey, WebhookLane};
use super::rows::home_item;
use crate::dynamodb::batch::without_repeats;
use crate::dynamodb::fields::{self, stored};
use crate::dynamodb::item::{Item, key, n, number, read, row, s};
use crate::dynamodb::read::Place;
use crate::dynamodb::retry::RetryTime;
use crate::dynamodb::update::RowUpdate;
use crate::dynamodb::write::{Write, Wrote};
use crate::{Store, StoreError, Table, keys};

/// An event to record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewEvent {
    /// The event's id, workspace, type and moment.
    pub event: Event,
    /// The contact, conversation or lead that the event is about. An erasure recognises the event by it.
    pub about: Option<Uuid>,
    /// The API request that made the change, if one did.
    pub request: Option<String>,
    /// The body, at most [`Event::MAX_BODY`] bytes.
    pub body: Vec<u8>,
    /// The slots of the endpoints that subscribe to the event: 1 to 10.
    pub slots: Subscribers,
}

/// The event that a delivery sends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedEvent {
    /// The event's id.
    pub id: EventId,
    /// The event's type.
    pub event_type: EventType,
    /// When the event happened.
    pub at: Timestamp,
    /// The contact, conversation or lead that the event is about.
    pub about: Option<Uuid>,
    /// The exact bytes of the body, the same for each delivery and each attempt.
    pub body: Vec<u8>,
    /// The API request that made the change, if one did.
    pub request: Option<String>,
    /// The slots for which the event was recorded.
    pub slots: Vec<Slot>,
}

/// The result of notifying a lane of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotifyResult {
    /// The queue for the lane's message. `None` if a message would find nothing to do: a visitor holds the
    /// lane and will look again, or the endpoint's circuit is open.
    pub wake: Option<Track>,
}

/// An event about a subject.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventAbout {
    /// The event.
    pub event: Event,
    /// Its body as it is delivered.
    pub body: Vec<u8>,
    /// The number of its deliveries.
    pub deliveries: usize,
}

/// How long the recording of events is retried. The stream redelivers records that failed.
const RETRY_FOR: Duration = Duration::from_secs(2);

impl Store {
    /// Which of these events are recorded, with the slots for which they were recorded. An event is recorded
    /// after all its deliveries. One round trip.
    pub async fn recorded_events(
        &self,
        events: &[(WorkspaceId, EventId)],
    ) -> Result<HashMap<EventId, Vec<Slot>>, StoreError> {
        let places: Vec<Place> =
            events.iter().map(|(of, event)| Place::of(Table::Webhooks, keys::event(*of, *event))).collect();
        let mut standing = HashMap::new();
        for item in self.rows_at(&places).await?.into_items() {
            let event = recorded(item)?;
            standing.insert(event.id, event.slots);
        }
        Ok(standing)
    }

    /// Records events that are not recorded yet, with a delivery for each of their slots, which is PARKED if the endpoint is
    /// disabled. Returns the result of each. The deliveries are written first and the event last, so an event that exists has all its
    /// deliveries. A repeat changes nothing, because no delivery is attempted without its event. Two round
    /// trips for each 25 rows, some of them at the same time.
    pub async fn record_events(&self, events: &[NewEvent]) -> Vec<Result<(), StoreError>> {
        let now = self.now();
        let mut ends: Vec<Result<(), StoreError>> = vec![];
        let mut rows = vec![];
        for (at, new) in events.iter().enumerate() {
            let homes = homes(new, now, self.retention.events);
            ends.push(homes.map(|homes| rows.extend(homes.into_iter().map(|home| (at, home)))));
        }
        let (of, rows): (Vec<usize>, Vec<Item>) = rows.into_iter().unzip();
        for (of, put) in of.into_iter().zip(self.put_all(Table::Webhooks, &rows, RETRY_FOR).await) {
            if ends[of].is_ok() {
                ends[of] = put;
            }
        }
        let mut rows = vec![];
        for (at, new) in events.iter().enumerate() {
            if ends[at].is_ok() {
                ends[at] = event_item(new, now, self.retention.events).map(|row| rows.push((at, row)));
            }
        }
        let (of, rows): (Vec<usize>, Vec<Item>) = rows.into_iter().unzip();
        for (of, put) in of.into_iter().zip(self.put_all(Table::Webhooks, &rows, RETRY_FOR).await) {
            ends[of] = put;
        }
        ends
    }

    /// Records a test event with its deliveries and an entry of the audit log, all or nothing. One round trip.
    pub async fn record_trial(
        &self,
        new: &NewEvent,
        endpoint: EndpointId,
        by: &Author,
    ) -> Result<(), StoreError> {
        let (now, kept) = (self.now(), self.retention.events);
        let action = AuditAction::WebhookEndpointTest;
        let entry = self.audit(by, new.event.workspace_id, action, endpoint, &[])?;
        let rows = homes(new, now, kept)?.into_iter().chain([event_item(new, now, kept)?]);
        let puts = rows.map(|row| Write::put(Table::Webhooks, row));
        // No write has a condition.
        self.all_or_none(puts.chain([entry])).await.map(drop)
    }

    /// Notifies a webhook lane of new home rows; `least` is the first of them. The sweeper queues the lane after
    /// `rescue`. One round trip; one more if the lane was notified of an earlier row since its last visit, and
    /// one if it was due only later.
    pub async fn notify_webhook_lane(
        &self,
        slot: Slot,
        least: HomeKey,
        rescue: Duration,
    ) -> Result<NotifyResult, StoreError> {
        let due_at = self.now().plus(rescue);
        // One of two forms fits. If the lane was notified of nothing or only of later rows since its last visit,
        // `least` becomes its lowest key; otherwise only the mark grows. Which form fits may change between
        // the writes.
        let forms = [("(attribute_not_exists(#low) OR #low > :least)", true), ("#low <= :least", false)];
        let mut retries = RetryTime::new(self);
        loop {
            for (condition, is_least) in forms {
                let mut change = lane_change(slot, due_at).when(condition).name("low");
                change = change.bind(":least", s(least.sort_key()));
                if is_least {
                    change = change.set("low", s(least.sort_key()));
                }
                let write = change.of(Table::Webhooks, key(keys::webhook_lane(&slot))).returning_new();
                if let Wrote::Done(item) = self.write(write).await? {
                    return self.after_notify(slot, item, due_at).await;
                }
            }
            retries.wait().await?;
        }
    }

    /// Completes notifying a lane, which must be due at `due_at` at the latest: if it was due later, because a
    /// delivery waits for a later attempt, the due time moves forward. Returns the queue for the lane's
    /// message. A lane with an open circuit stays as it is.
    pub(crate) async fn after_notify(
        &self,
        slot: Slot,
        item: Item,
        due_at: Timestamp,
    ) -> Result<NotifyResult, StoreError> {
        let (now, millis) = (self.now(), |name: &str| item.get(name).map(number));
        let is_leased = millis("leaseUntil").is_some_and(|until| until >= now.as_millis());
        let seen = millis("dueAt").unwrap_or(0);
        let lane = WebhookLane::read(item)?;
        if lane.pace.open_until.is_some_and(|until| now < until) && !lane.has_jobs {
            return Ok(NotifyResult { wake: None });
        }
        if seen > due_at.as_millis() {
            let sooner = RowUpdate::default()
                .set("dueAt", n(due_at.as_millis()))
                .remove("planned")
                .when("#dueAt = :seen")
                .bind(":seen", n(seen));
            // Refused if another writer changed the due time.
            self.write(sooner.of(Table::Webhooks, key(keys::webhook_lane(&slot)))).await?;
        }
        Ok(NotifyResult { wake: (!is_leased).then(|| lane.pace.track(now)) })
    }

    /// These events with their bodies, as far as they are recorded. One round trip.
    pub async fn events_with_bodies(
        &self,
        workspace: WorkspaceId,
        events: &[EventId],
    ) -> Result<HashMap<EventId, RecordedEvent>, StoreError> {
        let place = |event: &EventId| Place::of(Table::Webhooks, keys::event(workspace, *event));
        let places: Vec<Place> = events.iter().map(place).collect();
        let rows = self.rows_at(&places).await?.into_items();
        rows.map(|item| recorded(item).map(|event| (event.id, event))).collect()
    }

    /// The recorded event of a delivery. One round trip.
    pub async fn recorded_event(
        &self,
        workspace: WorkspaceId,
        event: EventId,
    ) -> Result<Option<RecordedEvent>, StoreError> {
        self.get_item(Table::Webhooks, keys::event(workspace, event)).await?.map(recorded).transpose()
    }
}

/// The change that notifies a webhook lane of work. The first notification creates the lane.
pub(crate) fn lane_change(slot: Slot, due_at: Timestamp) -> RowUpdate {
    marked(slot).set_if_absent("dueAt", n(due_at.as_millis()))
}

/// The same for a lane whose row cannot be looked at afterwards: it is due then, whenever it was due before.
pub(crate) fn lane_change_unseen(slot: Slot, due_at: Timestamp) -> RowUpdate {
    marked(slot).set("dueAt", n(due_at.as_millis())).remove("planned")
}

fn marked(slot: Slot) -> RowUpdate {
    let shard = keys::due_shard(&domain::LaneId::Webhook(slot));
    RowUpdate::default()
        .set_if_absent("kind", s("lane"))
        .set_if_absent("sv", n(crate::dynamodb::item::SCHEMA))
        .set_if_absent("dueShard", s(shard))
        .add("mark", n(1))
}

fn homes(new: &NewEvent, now: Timestamp, kept: Duration) -> Result<Vec<Item>, StoreError> {
    let Event { id, event_type, at, .. } = new.event;
    let new_one = |slot: &Slot| Delivery::new(*slot, id, event_type, at, now, kept);
    let pending = new.slots.enabled.iter().map(new_one);
    let parked = new.slots.disabled.iter().map(|slot| new_one(slot).ended(DeliveryState::Parked));
    pending.chain(parked).map(|home| home_item(&home)).collect::<Result<Vec<_>, _>>().map(without_repeats)
}

fn event_item(new: &NewEvent, now: Timestamp, kept: Duration) -> Result<Item, StoreError> {
    let Event { id, workspace_id, event_type, at } = new.event;
    let body = EventRow {
        event_id: id,
        workspace_id,
        event_type,
        at,
        body: new.body.clone(),
        about: new.about,
        request: new.request.clone(),
        slots: new.slots.all().map(|slot| format!("{}#{}", slot.endpoint, slot.number)).collect(),
        expires_at: now.plus(kept).as_seconds(),
    };
    row(keys::event(workspace_id, id), "event", &body)
}

/// Reads the event from its row.
pub(crate) fn recorded(item: Item) -> Result<RecordedEvent, StoreError> {
    let row: EventRow = read(item)?;
    let workspace = row.workspace_id;
    Ok(RecordedEvent {
        id: row.event_id,
        event_type: row.event_type,
        at: row.at,
        about: row.about,
        body: row.body,
        request: row.request,
        slots: row.slots.iter().filter_map(|slot| keys::read_slot(workspace, slot)).collect(),
    })
}

/// The event as an erasure needs it, with its subject; `None` if it has none, or if it was redacted.
pub(crate) fn about(item: Item) -> Result<Option<(Uuid, EventAbout)>, StoreError> {
    let EventRow { event_id: id, event_type, workspace_id, at, about, body, slots, .. } = read(item)?;
    let event = Event { id, event_type, workspace_id, at };
    Ok(about.map(|subject| (subject, EventAbout { event, body, deliveries: slots.len() })))
}

/// `W#V#<event>` / `V`. Only an erasure changes the row: it replaces the body and removes the subject.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct EventRow {
    #[serde(with = "fields::text")]
    event_id: EventId,
    #[serde(with = "fields::text")]
    workspace_id: WorkspaceId,
    #[serde(with = "fields::text")]
    event_type: EventType,
    #[serde(with = "fields::millis")]
    at: Timestamp,
    #[serde(with = "fields::optional", default, skip_serializing_if = "Option::is_none")]
    about: Option<Uuid>,
    #[serde(with = "fields::bytes")]
    body: Vec<u8>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    request: Option<String>,
    /// `<endpoint>#<slot>` of each delivery.
    slots: Vec<String>,
    /// Epoch seconds, for the table's TTL.
    expires_at: i64,
}

stored! { EventRow }
