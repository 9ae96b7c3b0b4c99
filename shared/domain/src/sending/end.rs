//! How a call of the provider ended.

use crate::sending::error::PartError;
use crate::sending::throttle::LineThrottle;

/// What became of the part at hand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// The provider accepted it, under this id.
    Sent(String),
    /// It was refused for good, or cannot be sent.
    Failed(PartError),
    /// It may have been taken.
    Unknown(PartError),
    /// It was surely not taken.
    NotTaken,
    /// The provider asked us to slow down towards this recipient.
    Throttled,
    /// It asked us to slow down with all that is sent from the line, which then stands so.
    LineThrottled(LineThrottle),
    /// A call was begun and then, for want of time, not made.
    NotCalled,
}

impl LineThrottle {
    /// What is to be remembered of the line, where the end of a call says something new: `self` is what was known when
    /// the call was made.
    pub fn after(&self, end: &End) -> Option<Self> {
        match end {
            End::LineThrottled(slower) => Some(*slower),
            End::Sent(_) if self.times > 0 => Some(Self { times: 0, ..*self }),
            _ => None,
        }
    }
}
