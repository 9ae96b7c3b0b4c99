//! The part of a lane's row that all kinds have: lease, mark and duty. Each function is one conditional write.

use crate::rules::{Rule, Rules};

/// A moment, in ticks. The sweeper's patience (`rescue`, the five minutes of a claim) is no tick at all: it only comes
/// when no message is on its way.
pub type Time = u8;

/// How the lease stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Lease {
    /// There is none, or it is over.
    #[default]
    Free,
    /// It runs.
    Running,
    /// It runs, and its holder is dead.
    Orphaned,
}

/// What a lane's row says.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Lane {
    /// The lease.
    pub lease: Lease,
    /// Visits begun and not released, up to 3.
    pub begun: u8,
    /// How often work was told of. Only the difference to what a visitor saw counts.
    pub mark: u8,
    /// When somebody must look.
    pub due: Option<Time>,
    /// Whether the last release closed the lane until then.
    pub closed: bool,
}

/// How a visitor gives a lane back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Release {
    /// Nothing is left.
    Done,
    /// The next work is not before then.
    Waits(Time),
    /// No work is done before then, whatever comes.
    Closed(Time),
    /// Work is left, and no time.
    TimeUp,
}

/// What became of a release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Released {
    /// The lane is free.
    Yes,
    /// The lane is the visitor's still: work was told of.
    MarkMoved,
    /// The lane is somebody else's by now.
    NotMine,
}

impl Lane {
    /// Whether a lease can be taken.
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

    /// Tells of work.
    pub fn tell(&mut self, rules: Rules, now: Time) {
        self.mark += 1;
        if rules.has(Rule::TellSetsDue) {
            self.due = self.due.or(Some(now));
        }
    }

    /// Gives the lane back: `mine`, if the lease is still the visitor's, which saw the mark `seen`.
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
