//! The part of a lane's row that all kinds have: lease, mark and due time. Each function is one conditional write.

use crate::rules::{Rule, Rules};

/// A time, in ticks. The sweeper's waiting times (`rescue`, and the five minutes of a claim) are not modelled as ticks:
/// the sweeper only comes when no message is in flight.
pub type Time = u8;

/// The state of the lease.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Lease {
    /// There is no lease, or it has expired.
    #[default]
    Free,
    /// The lease is in force.
    Running,
    /// The lease is in force, and its holder is dead.
    Orphaned,
}

/// The lane's row.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Lane {
    /// The lease.
    pub lease: Lease,
    /// Visits started since the last release, up to 3.
    pub begun: u8,
    /// The number of notifications. Only the difference from the mark that a visitor read matters.
    pub mark: u8,
    /// When the sweeper must look at the lane.
    pub due: Option<Time>,
    /// Whether the last release closed the lane until `due`.
    pub closed: bool,
}

/// How a visitor releases a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Release {
    /// No work is left.
    Done,
    /// The next known work is due at this time.
    Waits(Time),
    /// No work is done before this time, even if work is added.
    Closed(Time),
    /// Work is left, but no time.
    TimeUp,
}

/// The result of a release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Released {
    /// The lane is free.
    Yes,
    /// The release was refused and the visitor keeps the lane, because work was added.
    MarkMoved,
    /// The release was refused, because another visitor has the lane.
    NotMine,
}

impl Lane {
    /// Whether a visitor can take the lease.
    pub fn may_lease(&self, rules: Rules) -> bool {
        self.lease == Lease::Free || !rules.has(Rule::OneLease)
    }

    /// Takes the lease.
    pub fn lease(&mut self, rules: Rules) {
        self.lease = Lease::Running;
        self.begun = (self.begun + 1).min(3);
        if !rules.has(Rule::LeaseKeepsDue) {
            self.due = None;
        }
    }

    /// Notifies the lane of work.
    pub fn notify(&mut self, rules: Rules, now: Time) {
        self.mark += 1;
        if rules.has(Rule::TellSetsDue) {
            self.due = self.due.or(Some(now));
        }
    }

    /// Releases the lane. `mine` says whether the visitor still holds the lease; `seen` is the mark that it read.
    pub fn release(&mut self, rules: Rules, how: Release, mine: bool, seen: u8, now: Time) -> Released {
        if !mine && rules.has(Rule::ReleaseNeedsLease) {
            return Released::NotMine;
        }
        let asks_mark = match how {
            Release::Done => rules.has(Rule::DoneNeedsMark),
            Release::Waits(_) => rules.has(Rule::WaitsNeedsMark),
            Release::Closed(_) | Release::TimeUp => false,
        };
        if asks_mark && self.mark != seen {
            return Released::MarkMoved;
        }
        self.due = match how {
            Release::Done => None,
            Release::Waits(then) => Some(then),
            Release::Closed(then) => rules.has(Rule::ClosedKeepsDue).then_some(then),
            Release::TimeUp => rules.has(Rule::TimeUpKeepsDue).then_some(now),
        };
        self.lease = Lease::Free;
        self.begun = 0;
        self.closed = matches!(how, Release::Closed(_));
        Released::Yes
    }

    /// Whether the sweeper claims the lane.
    pub fn may_claim(&self, rules: Rules, now: Time) -> bool {
        let leased = self.lease != Lease::Free && rules.has(Rule::ClaimPassesLeased);
        rules.has(Rule::SweeperLooks) && self.due.is_some_and(|due| due <= now) && !leased
    }
}
