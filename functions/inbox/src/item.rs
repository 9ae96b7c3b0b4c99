//! One item of a piece: where it belongs, and what became of it.

use std::time::Duration;

use domain::{ChannelId, Timestamp, WorkspaceId};
use queue::Inbound;

/// Where an item belongs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Origin<'a> {
    /// The workspace of the line.
    pub(crate) workspace: WorkspaceId,
    /// The line.
    pub(crate) line: &'a ChannelId,
    /// The piece that holds the item.
    pub(crate) inbound: &'a Inbound,
}

/// What became of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Processed {
    /// It changed what it is about, or had changed it before.
    Done,
    /// It changes nothing, for this reason.
    Dropped(&'static str),
    /// It cannot be processed yet.
    Later(Wait),
}

/// How an item that is queued again waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wait {
    /// The delay of its piece.
    pub(crate) delay: Duration,
    /// Since when its file has been asked for, if it has.
    pub(crate) file_since: Option<Timestamp>,
}

/// The shortest delay of an item that came before what it is about.
const SHORTEST_WAIT: Duration = Duration::from_secs(5);
/// How long an item waits for what it is about. By then, a sender has recorded the outcome of a send, or the next visitor of the
/// conversation has made the part UNKNOWN.
const LONGEST_WAIT: Duration = Duration::from_mins(15);
/// The delay after which an item of a customer whose contacts are being merged is processed again.
const MERGE_AGAIN: Duration = Duration::from_secs(5);
/// How long after its receipt an item waits for a merge.
const MERGES: Duration = Duration::from_mins(15);

impl Wait {
    /// The item waits until two contacts are one. `None` if it has waited for too long.
    pub(crate) fn for_merge(now: Timestamp, origin: Origin<'_>) -> Option<Self> {
        (now.since(origin.inbound.received_at) < MERGES).then_some(Self::of(MERGE_AGAIN))
    }

    /// The item waits for what it is about. The waits grow, so that fourteen messages cover the longest wait, and an item is
    /// processed at most half as late again as what it waits for. `None` if it has waited for too long.
    pub(crate) fn for_a_record(now: Timestamp, inbound: &Inbound) -> Option<Self> {
        let waited = now.since(inbound.received_at);
        let delay = SHORTEST_WAIT.max(waited / 2).min(LONGEST_WAIT.saturating_sub(waited));
        (waited < LONGEST_WAIT).then(|| Self::of(delay.max(Duration::from_secs(1))))
    }

    /// The item waits for time only.
    pub(crate) fn of(delay: Duration) -> Self {
        Self { delay, file_since: None }
    }
}
