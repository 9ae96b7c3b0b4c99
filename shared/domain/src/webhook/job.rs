//! Jobs: an operator's requests about an endpoint's deliveries. The visits of its lanes execute them, page by
//! page and at the endpoint's pace. A job continues after the death of a worker.

use uuid::Uuid;

use crate::ids::{EventId, JobId};
use crate::lane::Slot;
use crate::time::Timestamp;
use crate::webhook::delivery::{Delivery, DeliveryState};
use crate::words::words;

/// A job on one slot of an endpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    /// The job's id. The jobs of one request have the same id in all slots of the endpoint.
    pub id: JobId,
    /// The slot.
    pub slot: Slot,
    /// The request.
    pub kind: JobKind,
    /// When the operator requested the job.
    pub created_at: Timestamp,
    /// The progress of the job.
    pub state: JobState,
    /// The number of deliveries that were attempted for the job.
    pub attempted: u64,
    /// The number of these deliveries that were acknowledged.
    pub delivered: u64,
    /// The number of skipped deliveries: they need no attempt, or had one for this job already.
    pub passed: u64,
    /// When the job last progressed.
    pub updated_at: Timestamp,
}

/// The deliveries that a job attempts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobKind {
    /// All deliveries that wait for a later attempt, because the endpoint was enabled.
    Enable,
    /// One delivery.
    Retry {
        /// The delivery's event.
        event: EventId,
        /// When the event happened.
        at: Timestamp,
    },
    /// Every delivery of a period that was attempted before, with any outcome.
    Replay {
        /// The start of the period (inclusive).
        since: Timestamp,
        /// The end of the period (exclusive).
        until: Timestamp,
    },
    /// Every EXHAUSTED or PARKED delivery since a time.
    Recover {
        /// The start of the period (inclusive).
        since: Timestamp,
    },
}

impl JobKind {
    /// The names, in the order of the kinds.
    pub const NAMES: &'static [&'static str] = &["ENABLE", "RETRY", "REPLAY", "RECOVER"];

    /// The name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Enable => "ENABLE",
            Self::Retry { .. } => "RETRY",
            Self::Replay { .. } => "REPLAY",
            Self::Recover { .. } => "RECOVER",
        }
    }
}

/// The state of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobState {
    /// Visits execute the job.
    Active,
    /// The job is complete.
    Done,
    /// An operator cancelled the job.
    Cancelled,
}

words!(
    /// The names in rows and lists.
    JobState { Active: "ACTIVE", Done: "DONE", Cancelled: "CANCELLED" }
);

impl Job {
    /// A new job without progress.
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

    /// The mark that the rows of attempted deliveries store. A job that is requested again has another mark.
    pub fn mark(&self) -> JobId {
        let asked_at = u128::from(self.created_at.as_millis().unsigned_abs());
        JobId::from_uuid(Uuid::from_u128(self.id.as_uuid().as_u128() ^ asked_at))
    }

    /// Whether the job requests an attempt of this delivery. A delivery that was already attempted for the
    /// job needs none, so a page that is processed again repeats no recorded attempt. (The delivery's row
    /// contains the mark, so no clocks are compared.)
    pub fn asks_for(&self, delivery: &Delivery) -> bool {
        let is_wanted = match self.kind {
            JobKind::Enable => delivery.state == DeliveryState::Pending,
            // A delivery without an attempt gets its attempt without this job.
            JobKind::Replay { .. } => delivery.attempts > 0 || delivery.state != DeliveryState::Pending,
            // The visit reads fresh deliveries itself, also while it executes the job.
            JobKind::Retry { .. } => !delivery.is_fresh(),
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
    use crate::retention::Retention;
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
    fn a_job_requests_its_deliveries_and_none_of_them_twice() {
        let event = EventId::from_uuid(Uuid::from_u128(3));
        let fresh = Delivery::new(slot(), event, EventType::ContactUpdated, NOW, NOW, Retention::EVENTS);
        let last = Some((NOW, AttemptOutcome::Answered { status: 500, retry_after: None }));
        let tried = |state| Delivery { state, attempts: 1, last, ..fresh.clone() };
        let rows = [
            fresh.clone(),
            tried(DeliveryState::Pending).waiting(NOW),
            tried(DeliveryState::Delivered),
            tried(DeliveryState::Exhausted),
            fresh.ended(DeliveryState::Parked),
        ];
        let later = NOW.plus(Duration::from_secs(60));
        for (kind, wanted) in [
            (JobKind::Enable, [true, true, false, false, false]),
            (JobKind::Retry { event, at: NOW }, [false, true, true, true, true]),
            (JobKind::Replay { since: NOW, until: later }, [false, true, true, true, true]),
            (JobKind::Recover { since: NOW }, [false, false, false, true, true]),
        ] {
            for id in [Uuid::nil(), Uuid::max()] {
                let job = Job::new(JobId::from_uuid(id), slot(), kind, NOW);
                assert_eq!(rows.clone().map(|row| job.asks_for(&row)), wanted, "{kind:?}");
                let attempted_for_it = rows.clone().map(|row| Delivery { job: Some(job.mark()), ..row });
                let asked_again = Job { created_at: later, ..job.clone() };
                assert_eq!(
                    attempted_for_it.clone().map(|row| asked_again.asks_for(&row)),
                    wanted,
                    "{kind:?}"
                );
                assert!(attempted_for_it.iter().all(|row| !job.asks_for(row)), "{kind:?}");
            }
        }
    }

    #[test]
    fn every_name_parses_to_its_value() {
        for state in JobState::ALL {
            assert_eq!(JobState::parse(state.as_str()), Ok(state));
        }
        assert!(JobState::parse("PAUSED").is_err());
        let event = EventId::from_uuid(Uuid::nil());
        let kinds = [
            JobKind::Enable,
            JobKind::Retry { event, at: NOW },
            JobKind::Replay { since: NOW, until: NOW },
            JobKind::Recover { since: NOW },
        ];
        assert_eq!(kinds.map(JobKind::as_str), JobKind::NAMES);
        assert_eq!(JobKind::NAMES, ["ENABLE", "RETRY", "REPLAY", "RECOVER"]);
    }
}
