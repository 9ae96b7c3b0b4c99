//! One post to a receiver, and what comes of it.

use std::future::Future;

use domain::{AttemptError, EndpointUrl, Secret};

/// One POST. The body is sent as it is, byte for byte.
pub struct Post<'a> {
    /// Where to.
    pub url: &'a EndpointUrl,
    /// What proves where it comes from.
    pub headers: [(&'static str, Secret); 6],
    /// The event.
    pub body: &'a [u8],
}

/// What came back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The HTTP status.
    pub status: u16,
    /// `Retry-After` as sent, if it was text.
    pub retry_after: Option<String>,
    /// The beginning of the body, at most [`Attempt::MAX_ANSWER`] bytes.
    pub body: Vec<u8>,
}

/// Why there is no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unanswered {
    /// The attempt failed.
    Failed(AttemptError),
    /// There was none: our own network let nothing out, which is not the receiver's failure.
    NotSent,
}

impl From<AttemptError> for Unanswered {
    fn from(error: AttemptError) -> Self {
        Self::Failed(error)
    }
}

/// Posts to receivers. The one place where this function leaves our own network, so tests stand in for it.
pub trait Transport {
    /// Posts once: no retries, no redirects.
    fn post(&self, post: Post<'_>) -> impl Future<Output = Result<Answer, Unanswered>>;
}
