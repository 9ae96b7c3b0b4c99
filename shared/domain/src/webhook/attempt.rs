//! One attempt of a delivery, and its outcome.

use std::time::Duration;

use crate::time::Timestamp;
use crate::words::words;

/// One attempt, as the attempt log contains it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// The number of the attempt in its delivery, from 1.
    pub number: u32,
    /// When the attempt began.
    pub at: Timestamp,
    /// The duration of the attempt.
    pub took: Duration,
    /// The outcome of the attempt.
    pub outcome: AttemptOutcome,
    /// The beginning of the response body, at most [`Attempt::MAX_ANSWER`] bytes.
    pub answer: Vec<u8>,
}

impl Attempt {
    /// The greatest number of stored bytes of a response body.
    pub const MAX_ANSWER: usize = 4 * 1024;
}

/// The outcome of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttemptOutcome {
    /// The receiver responded.
    Answered {
        /// The HTTP status.
        status: u16,
        /// The wait that the receiver requested, from the time of the response.
        retry_after: Option<Duration>,
    },
    /// There was no response.
    Failed(AttemptError),
}

/// Why there was no response. The names are stable, because the attempt log contains them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttemptError {
    /// The receiver sent no status within the time-out of the attempt.
    Timeout,
    /// The connection failed or took too long.
    ConnectFailed,
    /// The certificate is invalid or the handshake failed.
    TlsFailed,
    /// The host name has no address.
    DnsFailed,
    /// The URL or an address of its host is not public.
    AddressRefused,
    /// The connection broke, or the response was not HTTP.
    AnswerBroken,
    /// The worker died after it began the post.
    WorkerDied,
}

words!(
    /// The names in the attempt log.
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
    /// Whether the receiver acknowledged the delivery: a status of 200 to 299.
    pub fn is_acknowledged(self) -> bool {
        matches!(self, Self::Answered { status: 200..=299, .. })
    }

    /// The stable code of a failure; `None` for an acknowledgement.
    pub fn error_code(self) -> Option<&'static str> {
        match self {
            Self::Answered { status: 200..=299, .. } => None,
            Self::Answered { status: 300..=399, .. } => Some("REDIRECT"),
            Self::Answered { .. } => Some("HTTP_STATUS"),
            Self::Failed(error) => Some(error.as_str()),
        }
    }

    /// The requested wait. `Retry-After` counts only with status 429 and 503.
    pub(super) fn asked_wait(self) -> Option<Duration> {
        match self {
            Self::Answered { status: 429 | 503, retry_after } => retry_after,
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_keeps_4_kilobytes_of_a_response() {
        assert_eq!(Attempt::MAX_ANSWER, 4_096);
    }
}
