//! The rows of deliveries and their attempts.

use std::time::Duration;

use domain::{
    Attempt, AttemptError, AttemptOutcome, Delivery, DeliveryState, EventType, HomeKey, JobId, Pointer, Slot,
    Timestamp,
};
use serde::{Deserialize, Serialize};

use super::lane::SortKey;
use crate::dynamodb::fields::{self, stored};
use crate::dynamodb::item::{Item, SK, n, read, row, s, text, unreadable};
use crate::{StoreError, keys};

/// The home row of a delivery.
pub(crate) fn home_item(delivery: &Delivery) -> Result<Item, StoreError> {
    let body = HomeRow {
        event_type: delivery.event_type,
        state: delivery.state,
        attempts: delivery.attempts,
        failures: delivery.failures,
        next_at: delivery.next_at.map(Timestamp::as_millis),
        begun_at: delivery.begun_at.map(Timestamp::as_millis),
        first: delivery.first.as_ref().map(AttemptField::of),
        last: delivery
            .last
            .filter(|_| delivery.attempts > 1)
            .map(|(at, outcome)| LastField { at, outcome: OutcomeField::of(outcome) }),
        job: delivery.job,
        recorded_at: delivery.recorded_at.as_millis(),
        expires_at: delivery.expires_at.as_seconds(),
    };
    row((keys::slot(&delivery.slot), HomeKey::of(delivery).sort_key()), "delivery", &body)
}

/// Reads the delivery from its home row in this slot.
pub(crate) fn delivery(slot: Slot, item: Item) -> Result<Delivery, StoreError> {
    let place = HomeKey::read(text(&item, SK));
    let place = place.ok_or_else(|| unreadable(&item, "its key is no delivery's"))?;
    let row: HomeRow = read(item)?;
    let first = row.first.map(AttemptField::attempt);
    let last = row.last.map(|last| (last.at, last.outcome.outcome()));
    Ok(Delivery {
        slot,
        event: place.event,
        event_type: row.event_type,
        created_at: place.at,
        state: row.state,
        attempts: row.attempts,
        failures: row.failures,
        next_at: row.next_at.map(Timestamp::from_millis),
        begun_at: row.begun_at.map(Timestamp::from_millis),
        last: last.or(first.as_ref().map(|first| (first.at, first.outcome))),
        first,
        job: row.job,
        recorded_at: Timestamp::from_millis(row.recorded_at),
        expires_at: Timestamp::from_millis(row.expires_at * 1_000),
    })
}

/// The row of a pointer. It expires when the delivery does.
pub(crate) fn pointer_item(slot: &Slot, pointer: Pointer, expires_at: Timestamp) -> Item {
    Item::from([
        ("pk".to_owned(), s(keys::slot(slot))),
        (SK.to_owned(), s(pointer.sort_key())),
        ("kind".to_owned(), s("pointer")),
        ("expiresAt".to_owned(), n(expires_at.as_seconds())),
    ])
}

/// The row of an attempt after the first one.
pub(crate) fn attempt_item(delivery: &Delivery, attempt: &Attempt) -> Result<Item, StoreError> {
    let body = AttemptRow {
        number: attempt.number,
        attempt: AttemptField::of(attempt),
        expires_at: delivery.expires_at.as_seconds(),
    };
    let sk = keys::attempt(delivery.event, attempt.number);
    row((keys::slot(&delivery.slot), sk), "attempt", &body)
}

/// Reads the attempt from its row.
pub(crate) fn attempt(item: Item) -> Result<Attempt, StoreError> {
    let row: AttemptRow = read(item)?;
    Ok(Attempt { number: row.number, ..row.attempt.attempt() })
}

/// `W#E#<endpoint>#<slot>` / `D#<event's moment>#<event>`.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct HomeRow {
    #[serde(with = "fields::text")]
    event_type: EventType,
    #[serde(with = "fields::text")]
    state: DeliveryState,
    #[serde(default, skip_serializing_if = "is_zero")]
    attempts: u32,
    #[serde(default, skip_serializing_if = "is_zero")]
    failures: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    next_at: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    begun_at: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    first: Option<AttemptField>,
    /// The last attempt, if it was not the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    last: Option<LastField>,
    #[serde(with = "fields::optional", default, skip_serializing_if = "Option::is_none")]
    job: Option<JobId>,
    /// When the event was recorded.
    recorded_at: i64,
    /// Epoch seconds, for the table's TTL.
    expires_at: i64,
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// `W#E#<endpoint>#<slot>` / `A#<event>#<number>`.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct AttemptRow {
    number: u32,
    #[serde(flatten)]
    attempt: AttemptField,
    /// Epoch seconds, for the table's TTL.
    expires_at: i64,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct LastField {
    #[serde(with = "fields::millis")]
    at: Timestamp,
    #[serde(flatten)]
    outcome: OutcomeField,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct AttemptField {
    #[serde(with = "fields::millis")]
    at: Timestamp,
    took_ms: u64,
    #[serde(flatten)]
    outcome: OutcomeField,
    /// The start of the answer's body.
    #[serde(with = "fields::bytes", default, skip_serializing_if = "Vec::is_empty")]
    answer: Vec<u8>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct OutcomeField {
    /// The answer's HTTP status; absent if there was no answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    status: Option<u16>,
    /// The wait that the answer requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    retry_after_ms: Option<u64>,
    /// The stable code of the failure; absent if there was an answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

stored! { HomeRow, AttemptRow }

impl OutcomeField {
    fn of(outcome: AttemptOutcome) -> Self {
        match outcome {
            AttemptOutcome::Answered { status, retry_after } => {
                Self { status: Some(status), retry_after_ms: retry_after.map(whole_millis), error: None }
            }
            AttemptOutcome::Failed(error) => {
                Self { status: None, retry_after_ms: None, error: Some(error.as_str().to_owned()) }
            }
        }
    }

    fn outcome(&self) -> AttemptOutcome {
        let error = self.error.as_deref().and_then(|word| AttemptError::parse(word).ok());
        match self.status {
            Some(status) => AttemptOutcome::Answered {
                status,
                retry_after: self.retry_after_ms.map(Duration::from_millis),
            },
            None => AttemptOutcome::Failed(error.unwrap_or(AttemptError::AnswerBroken)),
        }
    }
}

impl AttemptField {
    fn of(attempt: &Attempt) -> Self {
        Self {
            at: attempt.at,
            took_ms: whole_millis(attempt.took),
            outcome: OutcomeField::of(attempt.outcome),
            answer: attempt.answer.iter().take(Attempt::MAX_ANSWER).copied().collect(),
        }
    }

    fn attempt(self) -> Attempt {
        Attempt {
            number: 1,
            at: self.at,
            took: Duration::from_millis(self.took_ms),
            outcome: self.outcome.outcome(),
            answer: self.answer,
        }
    }
}

fn whole_millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
