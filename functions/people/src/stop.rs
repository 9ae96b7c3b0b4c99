//! Why a job does not go on now.

use store::StoreError;

use crate::failures::Unreadable;

/// Why a job does not go on now.
pub(crate) enum Stop {
    /// The tables or a bucket failed.
    Store(StoreError),
    /// The invocation has no time left.
    TimeUp,
    /// Another visitor holds the lane.
    Lost,
    /// The object of the failure bucket with this key cannot be read.
    Unreadable(String),
}

impl From<StoreError> for Stop {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<Unreadable> for Stop {
    fn from(unreadable: Unreadable) -> Self {
        match unreadable {
            Unreadable::Store(error) => Self::Store(error),
            Unreadable::Object { key, .. } => Self::Unreadable(key),
        }
    }
}

/// A step of a job.
pub(crate) type Result<T = ()> = std::result::Result<T, Stop>;
