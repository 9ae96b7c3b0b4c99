//! Deliveries: leases, ends of attempts, the due index.
//!
//! A delivery is worked on under a lease that always ends. Whoever finalises must still hold it, so two workers
//! never record one delivery's end twice; that both posted cannot be ruled out, and the receiver tells repeats by
//! the event's id.

use std::time::Duration;

use domain::delivery::{KEPT, Next, PARKED_FOR, PARKED_LOOK, PARKED_LOOKS};
use domain::{
    Attempt, AttemptError, AttemptOutcome, Delivery, DeliveryId, DeliveryState, EndpointId, Event, EventId,
    EventType, Timestamp, WorkspaceId, causes,
};
use futures::future::join;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::due::{Due, millis};
use crate::item::{Item, SK, n, read, row, s, text};
use crate::statements::{Changes, Condition};
use crate::transact::{LAST_REQUEST, Patience, Wrote, is_by};
use crate::{Store, StoreError, Table, fields, keys};

/// What became of asking for a delivery.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lease {
    /// It is the caller's until the lease ends.
    Taken(Leased),
    /// Its next attempt is not to be made before this moment.
    NotYet(Timestamp),
    /// Another worker is at it.
    Held,
    /// A worker was at it whose lease ran out then, before it recorded an end: for the caller to record
    /// ([`Store::bury_attempt`]), whereupon the delivery may be asked for again.
    Abandoned(Leased, Timestamp),
    /// Nothing is to be done: it is finished, parked or cancelled.
    Settled(Delivery),
    /// There is no such delivery, or none any more.
    Unknown,
}

/// A delivery under a lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leased {
    /// The delivery; its `attempts` counts this one.
    pub delivery: Delivery,
    /// Whose lease it is; random, so it serves as the attempt's randomness too.
    pub token: Uuid,
}

/// What became of recording the end of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settled {
    /// It is recorded.
    Recorded,
    /// The lease had gone to somebody else, or the delivery was cancelled meanwhile. The attempt is logged.
    Lost,
}

impl Store {
    /// Takes a delivery for an attempt, for so long. One trip.
    pub async fn lease_delivery(
        &self,
        workspace: WorkspaceId,
        id: DeliveryId,
        lasting: Duration,
    ) -> Result<Lease, StoreError> {
        let (now, token) = (self.now(), self.ids.next());
        let until = n(now.plus(lasting).as_millis());
        let changes = Changes::default()
            .set("lease", s(token.to_string()))
            .set(LAST_REQUEST, s(token.to_string()))
            .set("leaseUntil", until.clone())
            .set("dueAt", until)
            .add("attempts", n(1));
        let condition = Condition::default()
            .is("state", "=", s(DeliveryState::Pending.as_str()))
            .is("nextAt", "<=", n(now.as_millis()))
            .is("expiresAt", ">", n(now.as_seconds()))
            .lacks("leaseUntil");
        let (pk, sk) = keys::delivery(workspace, id);
        let found =
            match self.change(Patience::new(self), Table::Deliveries, (&pk, sk), changes, condition).await? {
                Wrote::Done(item) => return Ok(Lease::Taken(Leased { delivery: delivery(item)?, token })),
                Wrote::Refused(None) => return Ok(Lease::Unknown),
                Wrote::Refused(Some(item)) => item,
            };
        if is_by(&found, &token.to_string()) {
            return Ok(Lease::Taken(Leased { delivery: delivery(found)?, token }));
        }
        let until = found.get("leaseUntil").map(|until| Timestamp::from_millis(millis(until)));
        let token = Uuid::try_parse(text(&found, "lease")).unwrap_or_default();
        let found = delivery(found)?;
        Ok(match (found.state, until) {
            (DeliveryState::Pending, Some(until)) if until >= now => Lease::Held,
            (DeliveryState::Pending, Some(until)) => {
                Lease::Abandoned(Leased { delivery: found, token }, until)
            }
            (DeliveryState::Pending, None) if found.next_at > now => Lease::NotYet(found.next_at),
            (DeliveryState::Pending, None) => Lease::Unknown,
            _ => Lease::Settled(found),
        })
    }

    /// Records the end of an attempt: its row, and what becomes of the delivery. A next attempt is looked after
    /// by the sweeper from `due_at` on. What becomes of the delivery is tried again for as long as `patience`
    /// lasts; an attempt's row that cannot be written holds nothing up. One trip.
    pub async fn finish_attempt(
        &self,
        leased: &Leased,
        attempt: &Attempt,
        next: Next,
        due_at: Timestamp,
        patience: Duration,
    ) -> Result<Settled, StoreError> {
        let failures = i64::from(matches!(next, Next::Again { .. } | Next::Exhausted));
        let end = End { next, due_at, attempts: 0, failures, afresh: false };
        let patience = Patience::lasting(self, patience);
        let (logged, settled) =
            join(self.log_attempt(leased, attempt), self.settle(patience, leased, "end", &end)).await;
        if let Err(error) = logged {
            let (delivery, outcome) = (leased.delivery.id, attempt.outcome);
            let (number, at, cause) = (attempt.number, attempt.at, causes(&error));
            tracing::error!(%delivery, number, %at, took = ?attempt.took, ?outcome, cause, "attempt not logged");
        }
        settled
    }

    /// Records that an attempt failed by the death of its worker. One trip.
    pub async fn bury_attempt(&self, dead: &Leased, next: Next) -> Result<Settled, StoreError> {
        let due_at = if let Next::Again { at } = next { at } else { self.now() };
        let end = End { next, due_at, attempts: 0, failures: 1, afresh: false };
        self.settle(Patience::new(self), dead, "dead", &end).await
    }

    /// Records what becomes of a delivery for which no attempt was made after all: it is not counted. A next attempt is
    /// looked after by the sweeper from `due_at` on. One trip.
    pub async fn give_back(
        &self,
        leased: &Leased,
        next: Next,
        due_at: Timestamp,
    ) -> Result<Settled, StoreError> {
        let end = End { next, due_at, attempts: -1, failures: 0, afresh: false };
        self.settle(Patience::new(self), leased, "end", &end).await
    }

    /// Records an end under its lease; `by` tells a worker's own word from what others say of it.
    async fn settle(
        &self,
        patience: Patience<'_>,
        leased: &Leased,
        by: &str,
        end: &End,
    ) -> Result<Settled, StoreError> {
        let Leased { delivery, token } = leased;
        let request = format!("{token}#{by}");
        let condition = Condition::default().is("lease", "=", s(token.to_string())).is(
            "state",
            "=",
            s(DeliveryState::Pending.as_str()),
        );
        Ok(match self.end(patience, delivery, &request, end, condition).await? {
            Wrote::Done(_) => Settled::Recorded,
            Wrote::Refused(Some(found)) if is_by(&found, &request) => Settled::Recorded,
            Wrote::Refused(_) => Settled::Lost,
        })
    }

    async fn end(
        &self,
        patience: Patience<'_>,
        delivery: &Delivery,
        request: &str,
        end: &End,
        condition: Condition,
    ) -> Result<Wrote, StoreError> {
        let (pk, sk) = keys::delivery(delivery.workspace_id, delivery.id);
        let changes = end.changes(delivery, self.now()).set(LAST_REQUEST, s(request));
        self.change(patience, Table::Deliveries, (&pk, sk), changes, condition).await
    }

    async fn log_attempt(&self, leased: &Leased, attempt: &Attempt) -> Result<(), StoreError> {
        let (pk, _) = keys::delivery(leased.delivery.workspace_id, leased.delivery.id);
        let sk = keys::attempt(attempt.number, &leased.token);
        let expires_at = self.now().plus(KEPT).as_seconds();
        let item = row(pk, sk, "attempt", &AttemptRow::of(attempt, expires_at))?;
        self.insert(Table::Deliveries, item).await
    }

    /// Deliveries of one part of the due index that are due, the longest overdue first, at most `limit`. The index
    /// lags a moment behind. An entry that is no delivery's is logged and passed over. One trip.
    pub async fn due_deliveries(&self, shard: u8, limit: u16) -> Result<Vec<Due>, StoreError> {
        self.due_rows(Table::Deliveries, shard, limit, keys::read_delivery).await
    }

    /// Claims a due delivery for queueing: it is not due again before `until`. Of several sweepers one gets it;
    /// nobody gets one that was worked on since it was listed. One trip.
    pub async fn claim_due(&self, due: &Due, until: Timestamp) -> Result<Option<Delivery>, StoreError> {
        let key = keys::delivery(due.workspace(), due.id());
        self.claim_row(Table::Deliveries, key, due, until).await?.map(delivery).transpose()
    }

    /// A delivery with its attempts, the first one first. One trip.
    pub async fn delivery_with_attempts(
        &self,
        workspace: WorkspaceId,
        id: DeliveryId,
    ) -> Result<Option<(Delivery, Vec<Attempt>)>, StoreError> {
        let (pk, _) = keys::delivery(workspace, id);
        let (mut found, mut attempts) = (None, vec![]);
        for item in self.partition_items(Table::Deliveries, pk).await? {
            if text(&item, SK) == "D" {
                found = Some(delivery(item)?);
            } else {
                attempts.push(read::<AttemptRow>(item)?.into());
            }
        }
        Ok(found.map(|delivery| (delivery, attempts)))
    }

    /// Records what becomes of a delivery without an attempt; `false` if its state changed since it was read, or
    /// its time is up. What was parked has the whole schedule before it. One trip.
    pub async fn turn(&self, delivery: &Delivery, next: Next) -> Result<bool, StoreError> {
        let now = self.now();
        let request = self.ids.next().to_string();
        let afresh = delivery.state == DeliveryState::Parked;
        let due_at = if let Next::Again { at } = next { at } else { now };
        let end = End { next, due_at, attempts: 0, failures: 0, afresh };
        let condition = Condition::default().is("state", "=", s(delivery.state.as_str())).is(
            "expiresAt",
            ">",
            n(now.as_seconds()),
        );
        let wrote = self.end(Patience::new(self), delivery, &request, &end, condition).await?;
        Ok(match wrote {
            Wrote::Done(_) => true,
            Wrote::Refused(found) => found.is_some_and(|found| is_by(&found, &request)),
        })
    }
}

/// The end of an attempt, or of the wait for one.
struct End {
    next: Next,
    /// From when on the sweeper looks after the next attempt.
    due_at: Timestamp,
    /// What the counters change by.
    attempts: i64,
    failures: i64,
    /// Whether the failures before this count no more.
    afresh: bool,
}

impl End {
    /// What becomes of the row's attributes, but for who did it.
    fn changes(&self, delivery: &Delivery, now: Timestamp) -> Changes {
        let state = self.next.state();
        let kept_until = delivery.created_at.plus(KEPT);
        let was_parked = delivery.state == DeliveryState::Parked;
        let changes = Changes::default()
            .set("state", s(state.as_str()))
            .add("attempts", n(self.attempts))
            .remove("lease")
            .remove("leaseUntil");
        let changes = match self.afresh {
            true => changes.set("failures", n(self.failures)),
            false => changes.add("failures", n(self.failures)),
        };
        let due_at = match self.next {
            Next::Again { .. } => Some(self.due_at),
            Next::Parked { .. } => Some(now.plus(if was_parked { PARKED_LOOKS } else { PARKED_LOOK })),
            _ => None,
        };
        let changes = match due_at {
            Some(at) => changes.set("dueAt", n(at.as_millis())).set("dueShard", s(keys::due_of(delivery.id))),
            None => changes.remove("dueAt").remove("dueShard"),
        };
        let changes = match state.is_held() {
            true => changes.set("heldPk", s(keys::held(delivery.workspace_id, delivery.endpoint_id, state))),
            false => changes.remove("heldPk"),
        };
        match self.next {
            Next::Again { at } => {
                changes.set("nextAt", n(at.as_millis())).set("expiresAt", n(kept_until.as_seconds()))
            }
            Next::Parked { .. } if !was_parked => {
                changes.set("expiresAt", n(now.plus(PARKED_FOR).min(kept_until).as_seconds()))
            }
            _ => changes,
        }
    }
}

/// The row of a delivery as it is when its event is recorded.
pub(crate) fn first_row(
    event: &Event,
    endpoint: EndpointId,
    now: Timestamp,
    first_due: Duration,
) -> Result<Item, StoreError> {
    let id = event.delivery_to(endpoint);
    let body = DeliveryRow {
        delivery_id: id,
        workspace_id: event.workspace_id,
        event_id: event.id,
        event_type: event.event_type,
        endpoint_id: endpoint,
        state: DeliveryState::Pending,
        attempts: 0,
        failures: 0,
        next_at: now,
        due_shard: Some(keys::due_of(id)),
        due_at: Some(now.plus(first_due).as_millis()),
        endpoint_pk: keys::deliveries_to_of(event.workspace_id, endpoint, id),
        endpoint_sk: keys::delivery_position(now, id),
        created_at: now,
        expires_at: now.plus(KEPT).as_seconds(),
    };
    let (pk, sk) = keys::delivery(event.workspace_id, id);
    row(pk, sk, "delivery", &body)
}

/// `W#D#<delivery id>` / `D`. While somebody works on it also `lease` and `leaseUntil`; while it is exhausted,
/// parked or cancelled also `heldPk`.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct DeliveryRow {
    #[serde(with = "fields::text")]
    delivery_id: DeliveryId,
    #[serde(with = "fields::text")]
    workspace_id: WorkspaceId,
    #[serde(with = "fields::text")]
    event_id: EventId,
    #[serde(with = "fields::text")]
    event_type: EventType,
    #[serde(with = "fields::text")]
    endpoint_id: EndpointId,
    #[serde(with = "fields::text")]
    state: DeliveryState,
    attempts: u32,
    failures: u32,
    #[serde(with = "fields::millis")]
    next_at: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    due_shard: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    due_at: Option<i64>,
    endpoint_pk: String,
    endpoint_sk: String,
    #[serde(with = "fields::millis")]
    created_at: Timestamp,
    /// Epoch seconds, for the table's TTL.
    expires_at: i64,
}

pub(crate) fn delivery(item: Item) -> Result<Delivery, StoreError> {
    let row: DeliveryRow = read(item)?;
    Ok(Delivery {
        id: row.delivery_id,
        workspace_id: row.workspace_id,
        event_id: row.event_id,
        event_type: row.event_type,
        endpoint_id: row.endpoint_id,
        state: row.state,
        attempts: row.attempts,
        failures: row.failures,
        next_at: row.next_at,
        due_at: row.due_at.map(Timestamp::from_millis),
        created_at: row.created_at,
    })
}

/// `W#D#<delivery id>` / `A#<number>#<lease>`.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct AttemptRow {
    number: u32,
    #[serde(with = "fields::millis")]
    at: Timestamp,
    took_ms: u64,
    /// The answer's HTTP status; absent where there was no answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<u16>,
    /// What the answer asked to wait.
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_after_ms: Option<u64>,
    /// The stable word for the failure; absent where the delivery was acknowledged.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(with = "fields::bytes")]
    answer: Vec<u8>,
    /// Epoch seconds, for the table's TTL.
    expires_at: i64,
}

impl AttemptRow {
    fn of(attempt: &Attempt, expires_at: i64) -> Self {
        let (status, wait) = match attempt.outcome {
            AttemptOutcome::Answered { status, retry_after } => (Some(status), retry_after),
            AttemptOutcome::Failed(_) => (None, None),
        };
        Self {
            number: attempt.number,
            at: attempt.at,
            took_ms: whole_millis(attempt.took),
            status,
            retry_after_ms: wait.map(whole_millis),
            error: attempt.outcome.error_code().map(str::to_owned),
            answer: attempt.answer.iter().take(Attempt::MAX_ANSWER).copied().collect(),
            expires_at,
        }
    }
}

impl From<AttemptRow> for Attempt {
    fn from(row: AttemptRow) -> Self {
        let error = row.error.as_deref().and_then(AttemptError::parse);
        let outcome = match row.status {
            Some(status) => AttemptOutcome::Answered {
                status,
                retry_after: row.retry_after_ms.map(Duration::from_millis),
            },
            None => AttemptOutcome::Failed(error.unwrap_or(AttemptError::AnswerBroken)),
        };
        Self {
            number: row.number,
            at: row.at,
            took: Duration::from_millis(row.took_ms),
            outcome,
            answer: row.answer,
        }
    }
}

fn whole_millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
