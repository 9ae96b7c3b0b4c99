//! One attempt of a delivery, and how it ended.

use std::time::Duration;

use crate::time::Timestamp;
use crate::words::words;

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
    /// The worker died after it began the post.
    WorkerDied,
}

words!(
    /// The words of the attempt log.
    AttemptError {
        Timeout: "TIMEOUT",
        ConnectFailed: "CONNECT_FAILED",
        TlsFailed: "TLS_FAILED",
        DnsFailed: "DNS_FAILED",
        AddressRefused: "ADDRESS_REFUSED",
        AnswerBroken: "ANSWER_BROKEN",
        WorkerDied: "WORKER_DIED",
    }
);

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
    pub(super) fn asked_wait(self) -> Option<Duration> {
        match self {
            Self::Answered { status: 429 | 503, retry_after } => retry_after,
            _ => None,
        }
    }
}
