//! What of the provider's webhooks is set aside for an operator.

use crate::words::words;

/// Why something is in quarantine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuarantineReason {
    /// It is not of the documented form, or an item has no id by which a repeat could be recognised.
    Unreadable,
    /// The queue refuses its content or its size.
    NotQueued,
    /// It was processed several times, and failed each time.
    Unprocessed,
}

words!(
    /// The names of the reasons.
    QuarantineReason {
        Unreadable: "UNREADABLE",
        NotQueued: "NOT_QUEUED",
        Unprocessed: "UNPROCESSED",
    }
);
