//! The interface for a post to a receiver, and its results.

use std::future::Future;

use domain::{AttemptError, EndpointUrl, Secret};

/// One POST. The body is sent unchanged, byte for byte.
pub struct Post<'a> {
    /// The URL of the endpoint.
    pub url: &'a EndpointUrl,
    /// The headers that identify and sign the event.
    pub headers: [(&'static str, Secret); 6],
    /// The event's body.
    pub body: &'a [u8],
}

/// The receiver's answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The HTTP status.
    pub status: u16,
    /// The value of `Retry-After`, if it was sent as text.
    pub retry_after: Option<String>,
    /// The beginning of the body, at most [`Attempt::MAX_ANSWER`] bytes.
    pub body: Vec<u8>,
}

/// Why there is no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unanswered {
    /// The attempt failed.
    Failed(AttemptError),
    /// The deployment's own network let nothing out. This is not a failure of the receiver.
    NotSent,
}

impl From<AttemptError> for Unanswered {
    fn from(error: AttemptError) -> Self {
        Self::Failed(error)
    }
}

/// Posts to receivers. All requests that leave the deployment's network go through it, so tests replace it.
pub trait Transport {
    /// Posts once, without retries or redirects.
    fn post(&self, post: Post<'_>) -> impl Future<Output = Result<Answer, Unanswered>>;
}
