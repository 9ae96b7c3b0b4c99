//! What became of one item of a piece.

use std::time::Duration;

/// What became of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Processed {
    /// It changed what it is about, or had changed it before.
    Done,
    /// It changes nothing, for this reason.
    Dropped(&'static str),
    /// It cannot be processed yet. It is queued again with this delay.
    Later(Duration),
}
