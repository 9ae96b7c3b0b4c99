//! The outcome of a call of the provider.

use crate::sending::error::PartError;
use crate::sending::throttle::LineThrottle;

/// The result for the current part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// The provider accepted the part under this id.
    Sent(String),
    /// The provider accepted the part under this id, and holds it until it knows the quality of the template.
    Held(String),
    /// The provider rejected the part permanently, or it cannot be sent.
    Failed(PartError),
    /// The provider may have accepted the part.
    Unknown(PartError),
    /// The provider certainly did not accept the part.
    NotTaken,
    /// The provider paused the template, so it certainly did not accept the part.
    TemplatePaused,
    /// The provider limits the rate for this recipient.
    Throttled,
    /// The provider limits the rate of the line. The value is the line's new throttle state.
    LineThrottled(LineThrottle),
    /// A call was recorded as begun but was not made, because no time was left.
    NotCalled,
}

impl End {
    /// The provider's id of the part, if the provider accepted it.
    pub fn accepted_as(&self) -> Option<&String> {
        match self {
            Self::Sent(id) | Self::Held(id) => Some(id),
            Self::Failed(_)
            | Self::Unknown(_)
            | Self::NotTaken
            | Self::TemplatePaused
            | Self::Throttled
            | Self::LineThrottled(_)
            | Self::NotCalled => None,
        }
    }
}

impl LineThrottle {
    /// The new throttle state of the line, if the outcome changes it. `self` is the state when the call was
    /// made.
    pub fn after(&self, end: &End) -> Option<Self> {
        match end {
            End::LineThrottled(slower) => Some(*slower),
            End::Sent(_) | End::Held(_) if self.times > 0 => Some(Self { times: 0, ..*self }),
            _ => None,
        }
    }
}
