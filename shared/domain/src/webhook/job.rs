//! Jobs: what an operator asks of an endpoint's deliveries. The visits of its lanes carry them out, page by page and at
//! the endpoint's pace; a job survives whoever works on it.

use uuid::Uuid;

use crate::ids::{EventId, JobId};
use crate::lane::Slot;
use crate::text::Unfit;
use crate::time::Timestamp;
use crate::webhook::delivery::{Delivery, DeliveryState};

/// A job on one slot of an endpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    /// Its id. An endpoint's slots have a job of the same id each.
    pub id: JobId,
    /// Where.
    pub slot: Slot,
    /// What is asked for.
    pub kind: JobKind,
    /// When it was asked for.
    pub created_at: Timestamp,
    /// How far it is.
    pub state: JobState,
    /// Deliveries attempted for it.
    pub attempted: u64,
    /// Of these, acknowledged.
    pub delivered: u64,
    /// Deliveries passed over: they need no attempt, or had one since the job was asked for.
    pub passed: u64,
    /// When it last moved.
    pub updated_at: Timestamp,
}

/// What a job attempts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobKind {
    /// Whatever waits for a later attempt: the endpoint was enabled.
    Enable,
    /// One delivery.
    Retry {
        /// Its event.
        event: EventId,
        /// The moment of the event.
        at: Timestamp,
    },
    /// Every delivery of a span of time that was attempted before, whatever came of it.
    Replay {
        /// The first moment.
        since: Timestamp,
        /// The first moment behind it.
        until: Timestamp,
    },
    /// Every delivery since then that is EXHAUSTED or PARKED.
    Recover {
        /// The first moment.
        since: Timestamp,
    },
}

impl JobKind {
    /// The words, in the order of the kinds.
    pub const NAMES: &'static [&'static str] = &["ENABLE", "RETRY", "REPLAY", "RECOVER"];

    /// The word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Enable => "ENABLE",
            Self::Retry { .. } => "RETRY",
            Self::Replay { .. } => "REPLAY",
            Self::Recover { .. } => "RECOVER",
        }
    }
}

/// How far a job is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobState {
    /// Visits work on it.
    Active,
    /// All of it is done.
    Done,
    /// An operator took it back.
    Cancelled,
}

impl JobState {
    const ALL: [(Self, &'static str); 3] =
        [(Self::Active, "ACTIVE"), (Self::Done, "DONE"), (Self::Cancelled, "CANCELLED")];

    /// The word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Active => "ACTIVE",
            Self::Done => "DONE",
            Self::Cancelled => "CANCELLED",
        }
    }

    /// Reads a word.
    pub fn parse(text: &str) -> Result<Self, Unfit> {
        Self::ALL
            .into_iter()
            .find(|(_, word)| *word == text)
            .map(|(state, _)| state)
            .ok_or(Unfit::NotOneOf { expected: &["ACTIVE", "DONE", "CANCELLED"] })
    }
}

impl Job {
    /// A job that nobody has worked on yet.
    pub fn new(id: JobId, slot: Slot, kind: JobKind, now: Timestamp) -> Self {
        Self {
            id,
            slot,
            kind,
            created_at: now,
            state: JobState::Active,
            attempted: 0,
            delivered: 0,
            passed: 0,
            updated_at: now,
        }
    }

    /// What a delivery's row notes of it: a job that was asked for again is another one.
    pub fn mark(&self) -> JobId {
        let asked_at = u128::from(self.created_at.as_millis().unsigned_abs());
        JobId::from_uuid(Uuid::from_u128(self.id.as_uuid().as_u128() ^ asked_at))
    }

    /// Whether it asks for an attempt of a delivery that it met. What was attempted for it before needs none, so that a
    /// page that is worked on again repeats nothing that was recorded. (The row says so: clocks are not compared.)
    pub fn asks_for(&self, delivery: &Delivery) -> bool {
        let is_wanted = match self.kind {
            JobKind::Enable => delivery.state == DeliveryState::Pending,
            // What was never attempted is attempted without this job.
            JobKind::Replay { .. } => delivery.attempts > 0 || delivery.state != DeliveryState::Pending,
            JobKind::Retry { .. } => true,
            JobKind::Recover { .. } => {
                matches!(delivery.state, DeliveryState::Exhausted | DeliveryState::Parked)
            }
        };
        is_wanted && delivery.job != Some(self.mark())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::ids::{EndpointId, WorkspaceId};
    use crate::webhook::attempt::AttemptOutcome;
    use crate::webhook::event::EventType;

    const NOW: Timestamp = Timestamp::from_millis(1_767_323_045_678);

    fn slot() -> Slot {
        Slot {
            workspace: WorkspaceId::from_uuid(Uuid::from_u128(1)),
            endpoint: EndpointId::from_uuid(Uuid::from_u128(2)),
            number: 0,
        }
    }

    #[test]
    fn a_job_asks_for_what_it_names_and_for_nothing_twice() {
        let event = EventId::from_uuid(Uuid::from_u128(3));
        let fresh = Delivery::new(slot(), event, EventType::ContactUpdated, NOW, NOW);
        let last = Some((NOW, AttemptOutcome::Answered { status: 500, retry_after: None }));
        let tried = |state| Delivery { state, attempts: 1, last, ..fresh.clone() };
        let rows = [
            fresh.clone(),
            tried(DeliveryState::Pending),
            tried(DeliveryState::Delivered),
            tried(DeliveryState::Exhausted),
            fresh.ended(DeliveryState::Parked),
        ];
        let later = NOW.plus(Duration::from_secs(60));
        for (kind, wanted) in [
            (JobKind::Enable, [true, true, false, false, false]),
            (JobKind::Retry { event, at: NOW }, [true; 5]),
            (JobKind::Replay { since: NOW, until: later }, [false, true, true, true, true]),
            (JobKind::Recover { since: NOW }, [false, false, false, true, true]),
        ] {
            let job = Job::new(JobId::from_uuid(Uuid::nil()), slot(), kind, NOW);
            assert_eq!(rows.clone().map(|row| job.asks_for(&row)), wanted, "{kind:?}");
            let attempted_for_it = rows.clone().map(|row| Delivery { job: Some(job.mark()), ..row });
            let asked_again = Job { created_at: later, ..job.clone() };
            assert_eq!(attempted_for_it.clone().map(|row| asked_again.asks_for(&row)), wanted, "{kind:?}");
            assert!(attempted_for_it.iter().all(|row| !job.asks_for(row)), "{kind:?}");
        }
    }

    #[test]
    fn every_word_reads_back() {
        for (state, word) in JobState::ALL {
            assert_eq!((state.as_str(), JobState::parse(word)), (word, Ok(state)));
        }
        assert!(JobState::parse("PAUSED").is_err());
    }
}
