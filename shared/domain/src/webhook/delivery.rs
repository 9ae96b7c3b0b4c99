//! The delivery of one event to one endpoint, and what becomes of it after each attempt.
//!
//! ```text
//! PENDING --attempt--2xx--------------------> DELIVERED
//!    ^          |----failed, waits left-----> PENDING (a later attempt)
//!    |          |----failed, none left------> EXHAUSTED
//!    |          '----410--------------------> PENDING, and the endpoint is disabled
//!    '--job of an operator-- any state
//! ```
//!
//! An attempt counts if a post was begun and its end was recorded. While its endpoint is disabled a PENDING delivery is
//! shown as PARKED, and once the endpoint is deleted as CANCELLED ([`Delivery::shown`]): its row does not change.

use std::fmt;
use std::time::Duration;

use crate::ids::{EndpointId, EventId, JobId};
use crate::lane::Slot;
use crate::retry::{Jitter, RetrySchedule};
use crate::text::Unfit;
use crate::time::Timestamp;
use crate::webhook::attempt::{Attempt, AttemptError, AttemptOutcome};
use crate::webhook::endpoint::WebhookEndpoint;
use crate::webhook::event::EventType;
use crate::words::words;

/// The delivery of an event to an endpoint: `<event id>.<endpoint id>`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DeliveryId {
    /// What is delivered.
    pub event: EventId,
    /// To whom.
    pub endpoint: EndpointId,
}

impl DeliveryId {
    /// Reads what [`fmt::Display`] prints.
    pub fn parse(text: &str) -> Result<Self, Unfit> {
        const FORM: Unfit = Unfit::Value { reason: "a delivery is <event id>.<endpoint id>" };
        let (event, endpoint) = text.split_once('.').ok_or(FORM)?;
        let event = EventId::parse(event).map_err(|_| FORM)?;
        Ok(Self { event, endpoint: EndpointId::parse(endpoint).map_err(|_| FORM)? })
    }
}

impl fmt::Display for DeliveryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.event, self.endpoint)
    }
}

impl fmt::Debug for DeliveryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A delivery as its row holds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// Where it stands: its endpoint, and which of its slots.
    pub slot: Slot,
    /// What is delivered.
    pub event: EventId,
    /// Its type, for lists.
    pub event_type: EventType,
    /// When the event happened: its place among the deliveries of its endpoint.
    pub created_at: Timestamp,
    /// What has become of it.
    pub state: DeliveryState,
    /// Attempts whose end was recorded.
    pub attempts: u32,
    /// Failed attempts since the schedule began: the position in the retry schedule.
    pub failures: u32,
    /// Before this moment no attempt is made; absent until the first one.
    pub next_at: Option<Timestamp>,
    /// When a post was begun of which no end is recorded; kept only where workers died before.
    pub begun_at: Option<Timestamp>,
    /// The first attempt. Later ones have rows of their own.
    pub first: Option<Attempt>,
    /// When the last attempt began and how it ended.
    pub last: Option<(Timestamp, AttemptOutcome)>,
    /// The mark of the last job that asked for an attempt ([`crate::Job::mark`]).
    pub job: Option<JobId>,
    /// When the row goes.
    pub expires_at: Timestamp,
}

impl Delivery {
    /// A delivery that was not attempted yet, recorded now.
    pub fn new(
        slot: Slot,
        event: EventId,
        event_type: EventType,
        created_at: Timestamp,
        now: Timestamp,
    ) -> Self {
        Self {
            slot,
            event,
            event_type,
            created_at,
            state: DeliveryState::Pending,
            attempts: 0,
            failures: 0,
            next_at: None,
            begun_at: None,
            first: None,
            last: None,
            job: None,
            expires_at: now.plus(KEPT),
        }
    }

    /// Its id.
    pub fn id(&self) -> DeliveryId {
        DeliveryId { event: self.event, endpoint: self.slot.endpoint }
    }

    /// When its event was recorded; of a delivered one, no earlier than that.
    pub fn recorded_at(&self) -> Timestamp {
        self.expires_at.minus(KEPT)
    }

    /// The state that operators are shown, by its endpoint as it is now (`None`: it was deleted).
    pub fn shown(&self, endpoint: Option<&WebhookEndpoint>) -> DeliveryState {
        match (self.state, endpoint) {
            (DeliveryState::Pending, None) => DeliveryState::Cancelled,
            (DeliveryState::Pending, Some(endpoint)) if !endpoint.is_enabled() => DeliveryState::Parked,
            (state, _) => state,
        }
    }

    /// As it is after an attempt.
    pub fn attempted(&self, attempt: &Attempt, next: Next, now: Timestamp) -> Self {
        let mut after = Self { attempts: attempt.number, begun_at: None, ..self.clone() };
        after.last = Some((attempt.at, attempt.outcome));
        if attempt.number == 1 {
            after.first = Some(attempt.clone());
        }
        match next {
            Next::Delivered => {
                after.state = DeliveryState::Delivered;
                after.expires_at = now.plus(DELIVERED_KEPT);
            }
            Next::Exhausted => {
                after.state = DeliveryState::Exhausted;
                after.failures += 1;
            }
            Next::Again { at } => after = Self { failures: after.failures + 1, ..after.waiting(at) },
            // The attempt is no failure of the schedule: the delivery goes on when the endpoint is enabled.
            Next::Gone => after = after.waiting(now),
        }
        if after.state != DeliveryState::Pending {
            after.next_at = None;
        }
        after
    }

    /// As it is when it waits until then, without an attempt.
    pub fn waiting(&self, until: Timestamp) -> Self {
        Self { state: DeliveryState::Pending, next_at: Some(until), begun_at: None, ..self.clone() }
    }

    /// As it is when nothing more is done about it, without an attempt.
    pub fn ended(&self, state: DeliveryState) -> Self {
        Self { state, next_at: None, begun_at: None, ..self.clone() }
    }

    /// As a job wants it attempted again: with the whole schedule ahead, and kept long enough for that.
    pub fn afresh(&self, job: JobId, now: Timestamp) -> Self {
        let expires_at = self.expires_at.max(now.plus(DELIVERED_KEPT));
        Self { state: DeliveryState::Pending, failures: 0, job: Some(job), expires_at, ..self.clone() }
    }

    /// The attempt that a worker began and never ended, as its failure; `None` if there is none.
    pub fn died(&self) -> Option<Attempt> {
        let at = self.begun_at?;
        let outcome = AttemptOutcome::Failed(AttemptError::WorkerDied);
        Some(Attempt { number: self.attempts + 1, at, took: Duration::ZERO, outcome, answer: vec![] })
    }
}

/// The states of a delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DeliveryState {
    /// An attempt is to be made, or is being made.
    Pending,
    /// Acknowledged with a 2xx.
    Delivered,
    /// Every attempt of the schedule failed.
    Exhausted,
    /// Waits for its endpoint to be enabled again, or waited too long for that.
    Parked,
    /// Its endpoint was deleted, or its event is lost.
    Cancelled,
}

words!(
    /// The words, in the order of the states.
    DeliveryState {
        Pending: "PENDING",
        Delivered: "DELIVERED",
        Exhausted: "EXHAUSTED",
        Parked: "PARKED",
        Cancelled: "CANCELLED",
    }
);

/// What becomes of a delivery after an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// It is done.
    Delivered,
    /// It stays PENDING; the next attempt is made then.
    Again {
        /// Not before this moment.
        at: Timestamp,
    },
    /// The schedule is used up.
    Exhausted,
    /// The endpoint says that it wants nothing any more (410): it is to be disabled.
    Gone,
}

impl Next {
    /// The state that a delivery has then.
    pub fn state(self) -> DeliveryState {
        match self {
            Self::Delivered => DeliveryState::Delivered,
            Self::Again { .. } | Self::Gone => DeliveryState::Pending,
            Self::Exhausted => DeliveryState::Exhausted,
        }
    }

    /// What follows from the end of an attempt, when `failures` attempts failed before it.
    pub fn after(
        outcome: AttemptOutcome,
        failures: u32,
        schedule: &RetrySchedule,
        jitter: Jitter,
        now: Timestamp,
    ) -> Self {
        if outcome.is_acknowledged() {
            return Self::Delivered;
        }
        if matches!(outcome, AttemptOutcome::Answered { status: 410, .. }) {
            return Self::Gone;
        }
        Self::after_failure(outcome.asked_wait(), failures, schedule, jitter, now)
    }

    /// What follows from a failure, whatever it was, of which that wait was asked.
    pub fn after_failure(
        asked: Option<Duration>,
        failures: u32,
        schedule: &RetrySchedule,
        jitter: Jitter,
        now: Timestamp,
    ) -> Self {
        match schedule.next_attempt(failures + 1, asked, jitter, now) {
            Some(at) => Self::Again { at },
            None => Self::Exhausted,
        }
    }
}

/// How long events and deliveries are kept, from when the event was recorded.
pub const KEPT: Duration = Duration::from_secs(30 * 86_400);
/// How long a delivered one is kept, from then on.
pub const DELIVERED_KEPT: Duration = Duration::from_secs(7 * 86_400);
/// How long a delivery waits for its event: what records both writes the event last.
pub const EVENT_MISSING: Duration = Duration::from_secs(60);
/// After this time without its event a delivery is given up: the stream's record of it is gone by then.
pub const EVENT_LOST: Duration = Duration::from_secs(2 * 86_400);

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_767_323_045_678);

    fn answered(status: u16) -> AttemptOutcome {
        AttemptOutcome::Answered { status, retry_after: Some(Duration::from_secs(3_600)) }
    }

    fn after(outcome: AttemptOutcome, failures: u32) -> Next {
        Next::after(outcome, failures, &RetrySchedule::default(), Jitter::of(&Uuid::nil()), NOW)
    }

    fn again(seconds: u64) -> Next {
        Next::Again { at: NOW.plus(Duration::from_secs(seconds)) }
    }

    #[test]
    fn each_outcome_has_its_next_state_and_its_stable_code() {
        let failed = AttemptOutcome::Failed;
        for (outcome, first, last, code) in [
            (answered(200), Next::Delivered, Next::Delivered, None),
            (answered(204), Next::Delivered, Next::Delivered, None),
            (answered(299), Next::Delivered, Next::Delivered, None),
            (answered(199), again(5), Next::Exhausted, Some("HTTP_STATUS")),
            (answered(301), again(5), Next::Exhausted, Some("REDIRECT")),
            (answered(307), again(5), Next::Exhausted, Some("REDIRECT")),
            (answered(400), again(5), Next::Exhausted, Some("HTTP_STATUS")),
            (answered(500), again(5), Next::Exhausted, Some("HTTP_STATUS")),
            (answered(429), again(3_600), Next::Exhausted, Some("HTTP_STATUS")),
            (answered(503), again(3_600), Next::Exhausted, Some("HTTP_STATUS")),
            (failed(AttemptError::Timeout), again(5), Next::Exhausted, Some("TIMEOUT")),
            (failed(AttemptError::ConnectFailed), again(5), Next::Exhausted, Some("CONNECT_FAILED")),
            (failed(AttemptError::TlsFailed), again(5), Next::Exhausted, Some("TLS_FAILED")),
            (failed(AttemptError::DnsFailed), again(5), Next::Exhausted, Some("DNS_FAILED")),
            (failed(AttemptError::AddressRefused), again(5), Next::Exhausted, Some("ADDRESS_REFUSED")),
            (failed(AttemptError::AnswerBroken), again(5), Next::Exhausted, Some("ANSWER_BROKEN")),
        ] {
            assert_eq!(after(outcome, 0), first, "{outcome:?}");
            assert_eq!(after(outcome, 9), last, "{outcome:?}");
            assert_eq!(outcome.error_code(), code, "{outcome:?}");
        }
        let gone = Next::Gone;
        assert_eq!((after(answered(410), 0), after(answered(410), 9)), (gone, gone));
    }

    #[test]
    fn a_delivery_that_always_fails_is_attempted_ten_times() {
        let attempts =
            (0..).take_while(|failures| after(answered(500), *failures) != Next::Exhausted).count() + 1;
        assert_eq!(attempts, 10);
    }

    #[test]
    fn every_word_reads_back() {
        for state in DeliveryState::ALL {
            assert_eq!(DeliveryState::parse(state.as_str()), Ok(state));
        }
        for error in AttemptError::ALL {
            assert_eq!(AttemptError::parse(error.as_str()), Ok(error));
        }
        assert!(DeliveryState::parse("LOST").is_err());
    }

    fn delivery() -> Delivery {
        let slot = Slot {
            workspace: crate::WorkspaceId::from_uuid(Uuid::from_u128(1)),
            endpoint: EndpointId::from_uuid(Uuid::from_u128(2)),
            number: 0,
        };
        Delivery::new(slot, EventId::from_uuid(Uuid::from_u128(3)), EventType::ContactUpdated, NOW, NOW)
    }

    fn attempt(number: u32, status: u16) -> Attempt {
        let at = NOW.plus(Duration::from_secs(u64::from(number)));
        Attempt { number, at, took: Duration::ZERO, outcome: answered(status), answer: vec![] }
    }

    #[test]
    fn an_id_reads_back_and_other_forms_are_refused() {
        let id = delivery().id();
        assert_eq!(DeliveryId::parse(&id.to_string()), Ok(id));
        for wrong in ["", "x", "00000000-0000-0000-0000-000000000003", &format!("{id}.1"), &format!(".{id}")]
        {
            assert!(DeliveryId::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn an_attempt_moves_a_delivery_as_its_end_says() {
        let day = Duration::from_secs(86_400);
        let at = NOW.plus(Duration::from_secs(5));
        for (next, state, failures, next_at, kept) in [
            (Next::Delivered, DeliveryState::Delivered, 0, None, 7),
            (Next::Again { at }, DeliveryState::Pending, 1, Some(at), 30),
            (Next::Exhausted, DeliveryState::Exhausted, 1, None, 30),
            (Next::Gone, DeliveryState::Pending, 0, Some(NOW), 30),
        ] {
            let after = delivery().attempted(&attempt(1, 500), next, NOW);
            assert_eq!((after.state, after.failures, after.next_at), (state, failures, next_at), "{next:?}");
            assert_eq!((after.attempts, after.expires_at), (1, NOW.plus(kept * day)), "{next:?}");
            assert_eq!(after.first, Some(attempt(1, 500)));
        }
        let twice = delivery().attempted(&attempt(1, 500), Next::Again { at }, NOW);
        let twice = twice.attempted(&attempt(2, 503), Next::Again { at }, NOW);
        assert_eq!((twice.attempts, twice.first), (2, Some(attempt(1, 500))));
        assert_eq!(twice.last, Some((attempt(2, 503).at, answered(503))));
    }

    #[test]
    fn a_job_gives_the_whole_schedule_back_and_is_noted() {
        let job = JobId::from_uuid(Uuid::from_u128(9));
        let failed = delivery().attempted(&attempt(1, 500), Next::Exhausted, NOW);
        let again = failed.afresh(job, NOW);
        assert_eq!((again.state, again.failures, again.attempts), (DeliveryState::Pending, 0, 1));
        assert_eq!((again.job, failed.job), (Some(job), None));
        let delivered = delivery().attempted(&attempt(1, 200), Next::Delivered, NOW);
        let late = NOW.plus(6 * Duration::from_secs(86_400));
        assert_eq!(delivered.afresh(job, late).expires_at, late.plus(DELIVERED_KEPT));
    }

    #[test]
    fn a_post_whose_worker_died_is_a_failed_attempt_of_the_moment_it_began() {
        assert_eq!(delivery().died(), None);
        let begun = Delivery { begun_at: Some(NOW), attempts: 2, ..delivery() };
        let died = begun.died().unwrap();
        assert_eq!((died.number, died.at, died.outcome.error_code()), (3, NOW, Some("WORKER_DIED")));
        assert_eq!(begun.attempted(&died, Next::Exhausted, NOW).begun_at, None);
    }
}
