//! Events: what is delivered, recorded with its deliveries, and the lanes that are told of them.

use std::collections::HashMap;
use std::time::Duration;

use domain::delivery::KEPT;
use domain::{Delivery, Event, EventId, EventType, Slot, Timestamp, Track, WorkspaceId};
use serde::{Deserialize, Serialize};

use super::lane::{FreshKey, WebhookLane};
use super::rows::home_item;
use crate::dynamodb::batch::without_repeats;
use crate::dynamodb::fields;
use crate::dynamodb::item::{Item, key, n, number, read, row, s};
use crate::dynamodb::retry::Patience;
use crate::dynamodb::update::Change;
use crate::dynamodb::write::Wrote;
use crate::{Store, StoreError, Table, keys};

/// An event that is to be recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewEvent {
    /// What happened.
    pub event: Event,
    /// The API request that made the change, if one did.
    pub request: Option<String>,
    /// The body, at most [`Event::MAX_BODY`] bytes.
    pub body: Vec<u8>,
    /// The slots of those that want it: 1 to 10.
    pub slots: Vec<Slot>,
}

/// What a delivery sends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedEvent {
    /// The event's id.
    pub id: EventId,
    /// Its type.
    pub event_type: EventType,
    /// When it happened.
    pub at: Timestamp,
    /// The exact bytes of the body, the same for each delivery and each attempt.
    pub body: Vec<u8>,
    /// The API request that made the change, if one did.
    pub request: Option<String>,
    /// The slots that it was recorded for.
    pub slots: Vec<Slot>,
}

/// What became of telling a lane of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Told {
    /// The queue that its message goes to; none where a message would find nothing to do: somebody is at the lane and
    /// looks again, or its endpoint is not called for a while.
    pub wake: Option<Track>,
}

/// How long it is tried to record events. The stream brings again what could not be.
const PATIENCE: Duration = Duration::from_secs(2);

impl Store {
    /// Which of these events stand, with the slots that they were recorded for. An event stands once all its deliveries
    /// do. One trip.
    pub async fn standing_events(
        &self,
        events: &[(WorkspaceId, EventId)],
    ) -> Result<HashMap<EventId, Vec<Slot>>, StoreError> {
        let now = self.now().as_seconds();
        let mut keys: Vec<(String, &str)> =
            events.iter().map(|(of, event)| keys::event(*of, *event)).collect();
        keys.sort_unstable();
        keys.dedup();
        let wanted = keys.into_iter().map(|(pk, sk)| key(pk, sk)).collect();
        let mut standing = HashMap::new();
        for item in self.batch_items(Table::Webhooks, wanted).await? {
            // DynamoDB deletes expired rows late.
            if item.get("expiresAt").is_some_and(|at| number(at) >= now) {
                let event = recorded(item)?;
                standing.insert(event.id, event.slots);
            }
        }
        Ok(standing)
    }

    /// Records events that do not stand, with a delivery to each of their slots; what became of each. The deliveries
    /// come first and the event last: whoever finds the event finds all of its deliveries. Repeating it changes nothing,
    /// as no delivery is attempted without its event. Two trips for each 25 rows, some of them at the same time.
    pub async fn record_events(&self, events: &[NewEvent]) -> Vec<Result<(), StoreError>> {
        let now = self.now();
        let mut ends: Vec<Result<(), StoreError>> = vec![];
        let mut rows = vec![];
        for (at, new) in events.iter().enumerate() {
            let homes = homes(new, now);
            ends.push(homes.map(|homes| rows.extend(homes.into_iter().map(|home| (at, home)))));
        }
        let (of, rows): (Vec<usize>, Vec<Item>) = rows.into_iter().unzip();
        for (of, put) in of.into_iter().zip(self.put_all(Table::Webhooks, &rows, PATIENCE).await) {
            if ends[of].is_ok() {
                ends[of] = put;
            }
        }
        let mut rows = vec![];
        for (at, new) in events.iter().enumerate() {
            if ends[at].is_ok() {
                ends[at] = event_item(new, now).map(|row| rows.push((at, row)));
            }
        }
        let (of, rows): (Vec<usize>, Vec<Item>) = rows.into_iter().unzip();
        for (of, put) in of.into_iter().zip(self.put_all(Table::Webhooks, &rows, PATIENCE).await) {
            ends[of] = put;
        }
        ends
    }

    /// Tells a webhook lane of home rows that were put, the least of them here. The sweeper looks after the lane when
    /// `rescue` has passed. One trip; one more where the lane was told of something before it since its last visit, and
    /// where it was to be looked after only later.
    pub async fn tell_webhook_lane(
        &self,
        slot: Slot,
        least: FreshKey,
        rescue: Duration,
    ) -> Result<Told, StoreError> {
        let (pk, sk) = keys::webhook_lane(&slot);
        let due_at = self.now().plus(rescue);
        // Two forms, of which one fits: a lane that was told of something later since its last visit, or of nothing, is
        // told of this as the least; otherwise only that there is more. Which one fits may change in between.
        let forms = [("(attribute_not_exists(#low) OR #low > :least)", true), ("#low <= :least", false)];
        let mut patience = Patience::new(self);
        loop {
            for (condition, is_least) in forms {
                let mut change = lane_change(slot, due_at).when(condition).name("low");
                change = change.bind(":least", s(least.sort_key()));
                if is_least {
                    change = change.set("low", s(least.sort_key()));
                }
                let write = change.of(Table::Webhooks, key(&pk, sk)).returning_new();
                if let Wrote::Done(item) = self.write(write).await? {
                    return self.told(slot, item, due_at).await;
                }
            }
            patience.wait().await?;
        }
    }

    /// What a queue message would find in a lane that was just told, and is looked after at `due_at` at the latest: where
    /// that lay further ahead, something waits there for a later attempt, and what is new does not. A lane whose circuit is
    /// open waits.
    pub(crate) async fn told(&self, slot: Slot, item: Item, due_at: Timestamp) -> Result<Told, StoreError> {
        let (now, millis) = (self.now(), |name: &str| item.get(name).map(number));
        let is_leased = millis("leaseUntil").is_some_and(|until| until >= now.as_millis());
        let seen = millis("dueAt").unwrap_or(0);
        let lane = WebhookLane::read(item)?;
        if lane.pace.open_until.is_some_and(|until| now < until) && !lane.has_jobs {
            return Ok(Told { wake: None });
        }
        if seen > due_at.as_millis() {
            let sooner = Change::default()
                .set("dueAt", n(due_at.as_millis()))
                .remove("planned")
                .when("#dueAt = :seen")
                .bind(":seen", n(seen));
            let (pk, sk) = keys::webhook_lane(&slot);
            // Refused where somebody else decided meanwhile when to look.
            self.write(sooner.of(Table::Webhooks, key(pk, sk))).await?;
        }
        Ok(Told { wake: (!is_leased).then(|| lane.pace.track(now)) })
    }

    /// What an event's deliveries send. One trip.
    pub async fn recorded_event(
        &self,
        workspace: WorkspaceId,
        event: EventId,
    ) -> Result<Option<RecordedEvent>, StoreError> {
        self.get_item(Table::Webhooks, keys::event(workspace, event)).await?.map(recorded).transpose()
    }
}

/// What telling a webhook lane changes: a lane is made by being told for the first time.
pub(crate) fn lane_change(slot: Slot, due_at: Timestamp) -> Change {
    let shard = keys::due_shard(&domain::LaneId::Webhook(slot));
    Change::default()
        .set_if_absent("kind", s("lane"))
        .set_if_absent("sv", n(crate::dynamodb::item::SCHEMA))
        .set_if_absent("dueAt", n(due_at.as_millis()))
        .set_if_absent("dueShard", s(shard))
        .add("mark", n(1))
}

fn homes(new: &NewEvent, now: Timestamp) -> Result<Vec<Item>, StoreError> {
    let Event { id, event_type, at, .. } = new.event;
    let home = |slot: &Slot| home_item(&Delivery::new(*slot, id, event_type, at, now));
    new.slots.iter().map(home).collect::<Result<Vec<_>, _>>().map(without_repeats)
}

fn event_item(new: &NewEvent, now: Timestamp) -> Result<Item, StoreError> {
    let Event { id, workspace_id, event_type, at } = new.event;
    let body = EventRow {
        event_id: id,
        workspace_id,
        event_type,
        at,
        body: new.body.clone(),
        request: new.request.clone(),
        slots: new.slots.iter().map(|slot| format!("{}#{}", slot.endpoint, slot.number)).collect(),
        expires_at: now.plus(KEPT).as_seconds(),
    };
    let (pk, sk) = keys::event(workspace_id, id);
    row(pk, sk, "event", &body)
}

/// The event of a row.
pub(crate) fn recorded(item: Item) -> Result<RecordedEvent, StoreError> {
    let row: EventRow = read(item)?;
    let workspace = row.workspace_id;
    Ok(RecordedEvent {
        id: row.event_id,
        event_type: row.event_type,
        at: row.at,
        body: row.body,
        request: row.request,
        slots: row.slots.iter().filter_map(|slot| keys::read_slot(workspace, slot)).collect(),
    })
}

/// `W#V#<event>` / `V`. Never changed once written.
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
    #[serde(with = "fields::bytes")]
    body: Vec<u8>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    request: Option<String>,
    /// `<endpoint>#<slot>` of each delivery.
    slots: Vec<String>,
    /// Epoch seconds, for the table's TTL.
    expires_at: i64,
}
