//! The jobs about persons. Each is a lane.

use crate::person::erasure::Erasure;
use crate::person::merge::Merge;

/// A job about a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PersonJob {
    /// An erasure, or the preview of one.
    Erasure(Box<Erasure>),
    /// A merge of two contacts.
    Merge(Merge),
}

impl PersonJob {
    /// The erasure or the preview, if it is one.
    pub fn erasure(self) -> Option<Erasure> {
        match self {
            Self::Erasure(erasure) => Some(*erasure),
            Self::Merge(_) => None,
        }
    }
}
