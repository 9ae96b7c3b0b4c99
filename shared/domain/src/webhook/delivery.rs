//! The delivery of one event to one endpoint, and its state after each attempt.
//!
//! ```text
//! PENDING --attempt--2xx--------------------> DELIVERED
//!    ^          |----failed, waits left-----> PENDING (a later attempt)
//!    |          |----failed, none left------> EXHAUSTED
//!    |          '----410--------------------> PENDING, and the endpoint is disabled
//!    '--job of an operator-- any state
//! ```
//!
//! An attempt counts if a post was begun and its outcome was recorded. A PENDING delivery is shown as PARKED
//! while its endpoint is disabled, and as CANCELLED after its endpoint was deleted ([`Delivery::shown`]). Its
//! row does not change. An event that happens while the endpoint is disabled has a delivery that is PARKED in its row: only
//! a job attempts it.

use std::fmt;
use std::time::Duration;

use crate::ids::{EndpointId, EventId, JobId};
use crate::lane::Slot;
use crate::retry::{Jitter, RetrySchedule};
use crate::text::Unfit;
use crate::time::{Timestamp, days};
use crate::webhook::attempt::{Attempt, AttemptError, AttemptOutcome};
use crate::webhook::endpoint::{EndpointState, WebhookEndpoint};
use crate::webhook::event::EventType;
use crate::words::words;

/// The id of a delivery: `<event id>.<endpoint id>`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DeliveryId {
    /// The event.
    pub event: EventId,
    /// The endpoint that receives the event.
    pub endpoint: EndpointId,
}

impl DeliveryId {
    /// Parses the form that [`fmt::Display`] prints.
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

/// A delivery as its row stores it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// The endpoint's slot that contains the delivery.
    pub slot: Slot,
    /// The event.
    pub event: EventId,
    /// The event's type, for lists.
    pub event_type: EventType,
    /// When the event happened. Determines the position among the deliveries of the endpoint.
    pub created_at: Timestamp,
    /// The stored state.
    pub state: DeliveryState,
    /// The number of attempts whose outcome was recorded.
    pub attempts: u32,
    /// The number of failed attempts since the schedule began: the position in the retry schedule.
    pub failures: u32,
    /// The earliest time of the next attempt. Absent before the first one.
    pub next_at: Option<Timestamp>,
    /// When a post was begun whose outcome is not recorded. It is set only if a worker died before.
    pub begun_at: Option<Timestamp>,
    /// The first attempt. Later attempts have their own rows.
    pub first: Option<Attempt>,
    /// The start time and the outcome of the last attempt.
    pub last: Option<(Timestamp, AttemptOutcome)>,
    /// The mark of the last job that requested an attempt ([`crate::Job::mark`]).
    pub job: Option<JobId>,
    /// When the event was recorded.
    pub recorded_at: Timestamp,
    /// When the row expires.
    pub expires_at: Timestamp,
}

impl Delivery {
    /// A new delivery without attempts, recorded at `now` and kept for `kept`.
    pub fn new(
        slot: Slot,
        event: EventId,
        event_type: EventType,
        created_at: Timestamp,
        now: Timestamp,
        kept: Duration,
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
            recorded_at: now,
            expires_at: now.plus(kept),
        }
    }

    /// The delivery's id.
    pub fn id(&self) -> DeliveryId {
        DeliveryId { event: self.event, endpoint: self.slot.endpoint }
    }

    /// Whether nobody has attempted the delivery or put it off. To a delivery with a next attempt, a pointer leads.
    pub fn is_fresh(&self) -> bool {
        self.state == DeliveryState::Pending && self.next_at.is_none()
    }

    /// The state that operators see. `endpoint` is the endpoint at present; `None` if it was deleted.
    pub fn shown(&self, endpoint: Option<&WebhookEndpoint>) -> DeliveryState {
        match (self.state, endpoint) {
            (DeliveryState::Pending, None) => DeliveryState::Cancelled,
            (DeliveryState::Pending, Some(endpoint)) if !endpoint.is_enabled() => DeliveryState::Parked,
            (state, _) => state,
        }
    }

    /// The reason, as a stable word, if no attempt is planned. `endpoint` is the endpoint at present; `None` if it was deleted.
    pub fn because(&self, endpoint: Option<&WebhookEndpoint>) -> Option<&'static str> {
        match (self.state, endpoint) {
            (DeliveryState::Delivered, _) => None,
            (DeliveryState::Exhausted, _) => self.last.and_then(|(_, outcome)| outcome.error_code()),
            (DeliveryState::Parked, _) => Some("ENDPOINT_DISABLED"),
            (DeliveryState::Cancelled, _) => Some("EVENT_LOST"),
            (DeliveryState::Pending, None) => Some("ENDPOINT_DELETED"),
            (DeliveryState::Pending, Some(endpoint)) => match endpoint.state {
                EndpointState::Disabled { reason, .. } => Some(reason.as_str()),
                EndpointState::Enabled => None,
            },
        }
    }

    /// When the next attempt is due, if one is planned.
    pub fn due_at(&self, endpoint: Option<&WebhookEndpoint>) -> Option<Timestamp> {
        let is_planned = self.shown(endpoint) == DeliveryState::Pending;
        is_planned.then(|| self.next_at.unwrap_or(self.created_at))
    }

    /// The delivery after an attempt.
    pub fn attempted(&self, attempt: &Attempt, next: Next, now: Timestamp) -> Self {
        let mut after = Self { attempts: attempt.number, begun_at: None, ..self.clone() };
        after.last = Some((attempt.at, attempt.outcome));
        if attempt.number == 1 {
            after.first = Some(attempt.clone());
        }
        match next {
            Next::Delivered => after.state = DeliveryState::Delivered,
            Next::Exhausted => {
                after.state = DeliveryState::Exhausted;
                after.failures += 1;
            }
            Next::Again { at } => after = Self { failures: after.failures + 1, ..after.waiting(at) },
            // This attempt is not a failure in the schedule. The delivery continues when the endpoint is
            // enabled.
            Next::Gone => after = after.waiting(now),
        }
        if after.state != DeliveryState::Pending {
            after.next_at = None;
        }
        after
    }

    /// The delivery after a decision to wait until this time, without an attempt.
    pub fn waiting(&self, until: Timestamp) -> Self {
        Self { state: DeliveryState::Pending, next_at: Some(until), begun_at: None, ..self.clone() }
    }

    /// The delivery in a final state, without an attempt.
    pub fn ended(&self, state: DeliveryState) -> Self {
        Self { state, next_at: None, begun_at: None, ..self.clone() }
    }

    /// The delivery after a job requested another attempt: the schedule starts again, and the row is kept
    /// long enough for it.
    pub fn restarted(&self, job: JobId, now: Timestamp) -> Self {
        let expires_at = self.expires_at.max(now.plus(KEPT_AFTER_RESTART));
        Self { state: DeliveryState::Pending, failures: 0, job: Some(job), expires_at, ..self.clone() }
    }

    /// The attempt that a worker began and did not finish, as a failure; `None` if there is none.
    pub fn died(&self) -> Option<Attempt> {
        let at = self.begun_at?;
        let outcome = AttemptOutcome::Failed(AttemptError::WorkerDied);
        Some(Attempt { number: self.attempts + 1, at, took: Duration::ZERO, outcome, answer: vec![] })
    }
}

/// The state of a delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DeliveryState {
    /// An attempt is due or in progress.
    Pending,
    /// The receiver acknowledged the delivery with a 2xx status.
    Delivered,
    /// All attempts of the schedule failed.
    Exhausted,
    /// The delivery waits for its endpoint to be enabled, or waited too long; or the endpoint was disabled when the event
    /// happened. Only a job attempts it.
    Parked,
    /// The endpoint was deleted, or the event is lost.
    Cancelled,
}

words!(
    /// The names, in the order of the states.
    DeliveryState {
        Pending: "PENDING",
        Delivered: "DELIVERED",
        Exhausted: "EXHAUSTED",
        Parked: "PARKED",
        Cancelled: "CANCELLED",
    }
);

/// The consequence of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// The delivery is complete.
    Delivered,
    /// The delivery stays PENDING until the next attempt.
    Again {
        /// The earliest time of the next attempt.
        at: Timestamp,
    },
    /// The schedule is used up.
    Exhausted,
    /// The endpoint responded with 410. The service disables it.
    Gone,
}

impl Next {
    /// The state of the delivery afterwards.
    pub fn state(self) -> DeliveryState {
        match self {
            Self::Delivered => DeliveryState::Delivered,
            Self::Again { .. } | Self::Gone => DeliveryState::Pending,
            Self::Exhausted => DeliveryState::Exhausted,
        }
    }

    /// The consequence of an attempt's outcome after `failures` earlier failures.
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

    /// The consequence of any failure. `asked` is the wait that the receiver requested.
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

/// How long a delivery is kept at least after a job requested another attempt: 7 days.
pub const KEPT_AFTER_RESTART: Duration = days(7);
/// How long a delivery waits for its event. The recorder writes the deliveries first and the event last.
pub const EVENT_MISSING: Duration = Duration::from_secs(60);
/// How long the service waits before it gives up a delivery without an event: 2 days. The stream no longer
/// has the record by then.
pub const EVENT_LOST: Duration = days(2);

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::retention::Retention;
    use crate::webhook::endpoint::{DisabledReason, EndpointState, EventFilter};
    use crate::webhook::endpoint_url::EndpointUrl;
    use crate::webhook::pace::EndpointCaps;

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
    fn a_delivery_without_a_planned_attempt_says_why() {
        let enabled = endpoint(EndpointState::Enabled);
        let gone = endpoint(EndpointState::Disabled { since: NOW, reason: DisabledReason::Gone });
        let later = NOW.plus(Duration::from_secs(5));
        for (state, last, next_at, of, because, due_at) in [
            (DeliveryState::Pending, None, None, Some(&enabled), None, Some(delivery().created_at)),
            (DeliveryState::Pending, Some(answered(500)), Some(later), Some(&enabled), None, Some(later)),
            (DeliveryState::Pending, None, Some(later), Some(&gone), Some("GONE"), None),
            (DeliveryState::Pending, None, Some(later), None, Some("ENDPOINT_DELETED"), None),
            (DeliveryState::Delivered, Some(answered(200)), None, None, None, None),
            (DeliveryState::Exhausted, Some(answered(302)), None, Some(&gone), Some("REDIRECT"), None),
            (DeliveryState::Parked, None, None, Some(&enabled), Some("ENDPOINT_DISABLED"), None),
            (DeliveryState::Cancelled, None, None, Some(&enabled), Some("EVENT_LOST"), None),
        ] {
            let last = last.map(|outcome| (NOW, outcome));
            let delivery = Delivery { state, last, next_at, ..delivery() };
            assert_eq!((delivery.because(of), delivery.due_at(of)), (because, due_at), "{delivery:?}");
        }
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
            (0..100).take_while(|failures| after(answered(500), *failures) != Next::Exhausted).count() + 1;
        assert_eq!(attempts, 10);
    }

    #[test]
    fn every_name_parses_to_its_value() {
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
        Delivery::new(
            slot,
            EventId::from_uuid(Uuid::from_u128(3)),
            EventType::ContactUpdated,
            NOW,
            NOW,
            Retention::EVENTS,
        )
    }

    fn attempt(number: u32, status: u16) -> Attempt {
        let at = NOW.plus(Duration::from_secs(u64::from(number)));
        Attempt { number, at, took: Duration::ZERO, outcome: answered(status), answer: vec![] }
    }

    #[test]
    fn an_id_parses_and_other_forms_do_not() {
        let id = delivery().id();
        assert_eq!(DeliveryId::parse(&id.to_string()), Ok(id));
        for wrong in ["", "x", "00000000-0000-0000-0000-000000000003", &format!("{id}.1"), &format!(".{id}")]
        {
            assert!(DeliveryId::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_outcome_of_an_attempt_decides_the_state_of_the_delivery() {
        let at = NOW.plus(Duration::from_secs(5));
        for (next, state, failures, next_at) in [
            (Next::Delivered, DeliveryState::Delivered, 0, None),
            (Next::Again { at }, DeliveryState::Pending, 1, Some(at)),
            (Next::Exhausted, DeliveryState::Exhausted, 1, None),
            (Next::Gone, DeliveryState::Pending, 0, Some(NOW)),
        ] {
            let after = delivery().attempted(&attempt(1, 500), next, NOW);
            assert_eq!((after.state, after.failures, after.next_at), (state, failures, next_at), "{next:?}");
            assert_eq!((after.attempts, after.expires_at), (1, delivery().expires_at), "{next:?}");
            assert_eq!(after.first, Some(attempt(1, 500)));
        }
        let twice = delivery().attempted(&attempt(1, 500), Next::Again { at }, NOW);
        let twice = twice.attempted(&attempt(2, 503), Next::Again { at }, NOW);
        assert_eq!((twice.attempts, twice.first), (2, Some(attempt(1, 500))));
        assert_eq!(twice.last, Some((attempt(2, 503).at, answered(503))));
    }

    #[test]
    fn a_job_restarts_the_schedule_and_is_recorded() {
        let job = JobId::from_uuid(Uuid::from_u128(9));
        let failed = delivery().attempted(&attempt(1, 500), Next::Exhausted, NOW);
        let again = failed.restarted(job, NOW);
        assert_eq!((again.state, again.failures, again.attempts), (DeliveryState::Pending, 0, 1));
        assert_eq!((again.job, failed.job), (Some(job), None));
        let delivered = delivery().attempted(&attempt(1, 200), Next::Delivered, NOW);
        let late = NOW.plus(28 * Duration::from_secs(86_400));
        assert_eq!(delivered.restarted(job, late).expires_at, late.plus(KEPT_AFTER_RESTART));
    }

    #[test]
    fn a_post_whose_worker_died_is_a_failed_attempt_at_the_time_it_began() {
        assert_eq!(delivery().died(), None);
        let begun = Delivery { begun_at: Some(NOW), attempts: 2, ..delivery() };
        let died = begun.died().unwrap();
        assert_eq!((died.number, died.at, died.outcome.error_code()), (3, NOW, Some("WORKER_DIED")));
        assert_eq!(begun.attempted(&died, Next::Exhausted, NOW).begun_at, None);
    }

    fn endpoint(state: EndpointState) -> WebhookEndpoint {
        WebhookEndpoint {
            id: EndpointId::from_uuid(Uuid::from_u128(2)),
            workspace_id: crate::WorkspaceId::from_uuid(Uuid::from_u128(1)),
            url: EndpointUrl::restore("https://example.com/").unwrap(),
            state,
            filter: EventFilter::All,
            caps: EndpointCaps::default(),
            slots: 1,
            description: None,
            forgets_before: None,
            failing_since: None,
            created_at: NOW,
            version: 1,
        }
    }

    #[test]
    fn a_pending_delivery_shows_what_became_of_its_endpoint() {
        use DeliveryState::{Cancelled, Delivered, Exhausted, Parked, Pending};
        let enabled = endpoint(EndpointState::Enabled);
        let disabled = endpoint(EndpointState::Disabled { since: NOW, reason: DisabledReason::Gone });
        for (state, shown) in [
            (Pending, [Pending, Parked, Cancelled]),
            (Delivered, [Delivered; 3]),
            (Exhausted, [Exhausted; 3]),
            (Parked, [Parked; 3]),
            (Cancelled, [Cancelled; 3]),
        ] {
            let delivery = Delivery { state, ..delivery() };
            let at = [Some(&enabled), Some(&disabled), None];
            assert_eq!(at.map(|endpoint| delivery.shown(endpoint)), shown, "{state:?}");
        }
    }

    #[test]
    fn a_delivery_that_waits_or_ends_has_no_begun_attempt() {
        let until = NOW.plus(Duration::from_secs(60));
        let begun = |state| Delivery { state, next_at: Some(NOW), begun_at: Some(NOW), ..delivery() };
        let parked = begun(DeliveryState::Parked).waiting(until);
        assert_eq!(parked, Delivery { next_at: Some(until), ..delivery() });
        let ended = begun(DeliveryState::Pending).ended(DeliveryState::Parked);
        assert_eq!(ended, Delivery { state: DeliveryState::Parked, ..delivery() });
    }
}
