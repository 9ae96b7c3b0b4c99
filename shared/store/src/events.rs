//! Events: what is delivered, written once together with its deliveries.

use std::time::Duration;

use domain::delivery::KEPT;
use domain::{EndpointId, Event, EventId, EventType, Timestamp, WorkspaceId};
use serde::{Deserialize, Serialize};

use crate::deliveries::first_row;
use crate::item::n;
use crate::transact::{Transacted, Write};
use crate::{Store, StoreError, Table, fields, item, keys};

/// What became of recording an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recorded {
    /// It stands now, with its deliveries.
    New,
    /// It stood already: the change was seen before. Body and deliveries are those of the first time.
    AlreadyThere,
}

/// What a delivery sends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedEvent {
    /// The event's id.
    pub id: EventId,
    /// Its type.
    pub event_type: EventType,
    /// The exact bytes of the body, the same for each delivery and each attempt.
    pub body: Vec<u8>,
    /// The API request that made the change, if one did.
    pub request: Option<String>,
}

impl Store {
    /// Records an event with a delivery to each of these endpoints (1 to 10), in one transaction, and the API request
    /// that made the change, if one did. A first attempt may be made at once; the sweeper looks after it when
    /// `first_due` has passed. One trip.
    pub async fn record_event(
        &self,
        event: &Event,
        request: Option<&str>,
        body: Vec<u8>,
        endpoints: &[EndpointId],
        first_due: Duration,
    ) -> Result<Recorded, StoreError> {
        let now = self.now();
        let row = EventRow {
            event_id: event.id,
            workspace_id: event.workspace_id,
            event_type: event.event_type,
            body,
            request: request.map(str::to_owned),
            created_at: now,
            expires_at: now.plus(KEPT).as_seconds(),
        };
        let (pk, sk) = keys::event(event.workspace_id, event.id);
        // DynamoDB deletes expired rows late; a record that is driven again after a month is recorded anew.
        let put = |row| {
            Write::put(Table::Deliveries, row)
                .when("attribute_not_exists(pk) OR expiresAt < :seconds")
                .bind(":seconds", n(now.as_seconds()))
        };
        let mut writes = vec![put(item::row(pk, sk, "event", &row)?)];
        for endpoint in endpoints {
            writes.push(put(first_row(event, *endpoint, now, first_due)?));
        }
        match self.transact(writes).await? {
            Transacted::Done => Ok(Recorded::New),
            Transacted::Refused(_) => Ok(Recorded::AlreadyThere),
        }
    }

    /// What an event's deliveries send. One trip.
    pub async fn recorded_event(
        &self,
        workspace: WorkspaceId,
        event: EventId,
    ) -> Result<Option<RecordedEvent>, StoreError> {
        let row: Option<EventRow> =
            self.get_together(Table::Deliveries, keys::event(workspace, event)).await?;
        Ok(row.map(EventRow::into_recorded))
    }
}

/// `W#V#<event id>` / `V`. Never changed once written.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct EventRow {
    #[serde(with = "fields::text")]
    event_id: EventId,
    #[serde(with = "fields::text")]
    workspace_id: WorkspaceId,
    #[serde(with = "fields::text")]
    event_type: EventType,
    #[serde(with = "fields::bytes")]
    body: Vec<u8>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    request: Option<String>,
    #[serde(with = "fields::millis")]
    created_at: Timestamp,
    /// Epoch seconds, for the table's TTL.
    expires_at: i64,
}

impl EventRow {
    fn into_recorded(self) -> RecordedEvent {
        let Self { event_id: id, event_type, body, request, .. } = self;
        RecordedEvent { id, event_type, body, request }
    }
}
