//! The delivery of one event to one endpoint, and what becomes of it after each attempt.
//!
//! ```text
//! PENDING --lease--> attempt --2xx--------------------> DELIVERED
//!    ^                  |------failed, waits left-----> PENDING (a later attempt)
//!    |                  |------failed, none left------> EXHAUSTED
//!    |                  |------410, or disabled-------> PARKED --endpoint enabled--> PENDING
//!    |                  '------endpoint deleted-------> CANCELLED (from PARKED, too)
//!    '--lease ran out: whoever comes next records a failure, and goes on by the schedule
//! ```

use std::time::Duration;

use crate::event::EventType;
use crate::ids::{DeliveryId, EndpointId, EventId, WorkspaceId};
use crate::retry::{Jitter, RetrySchedule};
use crate::text::Unfit;
use crate::time::Timestamp;
use crate::webhook::WebhookEndpoint;

/// A delivery as its row tells it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// Derived from event and endpoint.
    pub id: DeliveryId,
    /// The workspace of both.
    pub workspace_id: WorkspaceId,
    /// What is delivered.
    pub event_id: EventId,
    /// Its type, for lists.
    pub event_type: EventType,
    /// To whom.
    pub endpoint_id: EndpointId,
    /// What has become of it.
    pub state: DeliveryState,
    /// Attempts begun, whether or not their end was recorded.
    pub attempts: u32,
    /// Attempts recorded as failed, or found dead: the position in the retry schedule.
    pub failures: u32,
    /// Before this moment no attempt is made.
    pub next_at: Timestamp,
    /// When the sweeper looks after it; absent once nothing more is to be done.
    pub due_at: Option<Timestamp>,
    /// When the event was relayed.
    pub created_at: Timestamp,
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
    /// Waits for its endpoint to be enabled again.
    Parked,
    /// Its endpoint was deleted.
    Cancelled,
}

impl DeliveryState {
    /// The words, in the order of the states.
    pub const NAMES: &'static [&'static str] = &["PENDING", "DELIVERED", "EXHAUSTED", "PARKED", "CANCELLED"];
    const ALL: [Self; 5] = [Self::Pending, Self::Delivered, Self::Exhausted, Self::Parked, Self::Cancelled];

    /// Reads a word.
    pub fn parse(text: &str) -> Result<Self, Unfit> {
        Self::ALL
            .into_iter()
            .find(|state| state.as_str() == text)
            .ok_or(Unfit::NotOneOf { expected: Self::NAMES })
    }

    /// The word.
    pub fn as_str(self) -> &'static str {
        Self::NAMES[self as usize]
    }

    /// Whether the endpoint's owner may still want something done: these are listed by state.
    pub fn is_held(self) -> bool {
        matches!(self, Self::Exhausted | Self::Parked | Self::Cancelled)
    }
}

/// One attempt, as it is logged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// Which attempt of its delivery, from 1.
    pub number: u32,
    /// When it began.
    pub at: Timestamp,
    /// How long it took.
    pub took: Duration,
    /// How it ended.
    pub outcome: AttemptOutcome,
    /// The beginning of the answer's body, at most [`Attempt::MAX_ANSWER`] bytes.
    pub answer: Vec<u8>,
}

impl Attempt {
    /// How much of an answer is kept, in bytes.
    pub const MAX_ANSWER: usize = 4 * 1024;
}

/// How an attempt ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttemptOutcome {
    /// The receiver answered.
    Answered {
        /// The HTTP status.
        status: u16,
        /// The wait it asked for, from the moment of the answer.
        retry_after: Option<Duration>,
    },
    /// No answer was had.
    Failed(AttemptError),
}

/// Why no answer was had. The words are stable: they stand in the attempt log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttemptError {
    /// No status within the time of an attempt.
    Timeout,
    /// No connection, or not within its time.
    ConnectFailed,
    /// The certificate or the handshake.
    TlsFailed,
    /// The host's name has no address.
    DnsFailed,
    /// The URL or an address of its host is not public.
    AddressRefused,
    /// The connection broke, or what came back was not HTTP.
    AnswerBroken,
}

impl AttemptError {
    const ALL: &'static [(Self, &'static str)] = &[
        (Self::Timeout, "TIMEOUT"),
        (Self::ConnectFailed, "CONNECT_FAILED"),
        (Self::TlsFailed, "TLS_FAILED"),
        (Self::DnsFailed, "DNS_FAILED"),
        (Self::AddressRefused, "ADDRESS_REFUSED"),
        (Self::AnswerBroken, "ANSWER_BROKEN"),
    ];

    /// The word of the attempt log.
    pub fn as_str(self) -> &'static str {
        Self::ALL[self as usize].1
    }

    /// Reads the word of the attempt log.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, name)| *name == text).map(|(error, _)| *error)
    }
}

impl AttemptOutcome {
    /// A status of 200 to 299 acknowledges a delivery.
    pub fn is_acknowledged(self) -> bool {
        matches!(self, Self::Answered { status: 200..=299, .. })
    }

    /// The stable word for a failure; nothing for an acknowledgement.
    pub fn error_code(self) -> Option<&'static str> {
        match self {
            Self::Answered { status: 200..=299, .. } => None,
            Self::Answered { status: 300..=399, .. } => Some("REDIRECT"),
            Self::Answered { .. } => Some("HTTP_STATUS"),
            Self::Failed(error) => Some(error.as_str()),
        }
    }

    /// `Retry-After` counts on 429 and 503 alone.
    fn asked_wait(self) -> Option<Duration> {
        match self {
            Self::Answered { status: 429 | 503, retry_after } => retry_after,
            _ => None,
        }
    }
}

/// What becomes of a delivery after an attempt, or instead of one.
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
    /// The endpoint gets nothing now. `endpoint_gone`: it says so itself (410) and is to be disabled.
    Parked {
        /// Whether the endpoint is to be disabled.
        endpoint_gone: bool,
    },
    /// The endpoint is no more.
    Cancelled,
}

impl Next {
    /// The state that a delivery has then.
    pub fn state(self) -> DeliveryState {
        match self {
            Self::Delivered => DeliveryState::Delivered,
            Self::Again { .. } => DeliveryState::Pending,
            Self::Exhausted => DeliveryState::Exhausted,
            Self::Parked { .. } => DeliveryState::Parked,
            Self::Cancelled => DeliveryState::Cancelled,
        }
    }

    /// What becomes of a parked delivery whose endpoint is now like this, or is no more.
    pub fn of_parked(endpoint: Option<&WebhookEndpoint>, now: Timestamp) -> Self {
        match endpoint {
            None => Self::Cancelled,
            Some(endpoint) if endpoint.is_enabled() => Self::Again { at: now },
            Some(_) => Self::Parked { endpoint_gone: false },
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
            return Self::Parked { endpoint_gone: true };
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

/// How long rows of deliveries, their events and attempts are kept, from the event on.
pub const KEPT: Duration = Duration::from_secs(30 * 86_400);
/// How long a parked delivery waits for its endpoint.
pub const PARKED_FOR: Duration = Duration::from_secs(14 * 86_400);
/// When a parked delivery is first looked at again. Whoever enables its endpoint lets it go at once, unless it was
/// parked so shortly before that no index showed it yet.
pub const PARKED_LOOK: Duration = Duration::from_secs(600);
/// When it is looked at after that, each time.
pub const PARKED_LOOKS: Duration = Duration::from_secs(3_600);

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Uuid;

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
        let gone = Next::Parked { endpoint_gone: true };
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
        for (at, (error, word)) in AttemptError::ALL.iter().enumerate() {
            assert_eq!(*error as usize, at);
            assert_eq!(AttemptError::parse(word), Some(*error));
        }
        assert!(DeliveryState::parse("LOST").is_err());
        assert!(DeliveryState::Parked.is_held() && !DeliveryState::Delivered.is_held());
    }
}
