//! How far a send has come, and what follows from the end of a call.

use uuid::Uuid;

use crate::retry::Jitter;
use crate::sending::end::End;
use crate::sending::error::PartError;
use crate::sending::schedule::SendSchedule;
use crate::time::Timestamp;

/// How the part at hand stands. All of it begins anew with each part.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Calls that were surely not taken.
    pub failures: u32,
    /// Calls the provider put off.
    pub throttled: u32,
    /// When the first call was made.
    pub since: Option<Timestamp>,
    /// Not to be called before.
    pub next_at: Option<Timestamp>,
    /// A call is being made, under this lease. If that lease is over, nobody knows what became of it.
    pub calling: Option<Uuid>,
}

/// Whether a send may be made now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// A call was begun of which nobody said how it ended. Whoever made it is gone, as one sends at a time.
    Interrupted,
    /// Not before then.
    NotBefore(Timestamp),
    /// It may.
    Due,
}

/// What follows from the end of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SendOutcome {
    /// The provider accepted it, under this id.
    Sent(String),
    /// It is not sent, and not tried any more.
    Failed(PartError),
    /// Nobody knows; it is not tried again by itself.
    Unknown(PartError),
    /// It is tried again.
    Waits(Progress),
}

impl Progress {
    /// Whether a call may be made now.
    pub fn standing(&self, now: Timestamp) -> Standing {
        match self {
            Self { calling: Some(_), .. } => Standing::Interrupted,
            Self { next_at: Some(next_at), .. } if *next_at > now => Standing::NotBefore(*next_at),
            _ => Standing::Due,
        }
    }

    /// With a call begun under this lease.
    pub fn begun(&self, lease: Uuid, now: Timestamp) -> Self {
        Self { since: self.since.or(Some(now)), next_at: None, calling: Some(lease), ..self.clone() }
    }

    /// What follows from the end of a call, whether one was begun or not.
    pub fn after(&self, end: End, schedule: &SendSchedule, jitter: Jitter, now: Timestamp) -> SendOutcome {
        let not_calling = || Self { calling: None, ..self.clone() };
        match end {
            End::Sent(id) => SendOutcome::Sent(id),
            End::Failed(error) => SendOutcome::Failed(error),
            End::Unknown(error) => SendOutcome::Unknown(error),
            End::NotCalled => SendOutcome::Waits(not_calling()),
            End::NotTaken => {
                let failures = self.failures + 1;
                let next = schedule.retries.repeating(failures, Jitter::NONE, now);
                Self { failures, ..not_calling() }.waiting(next, schedule, now)
            }
            // What throttles throttles many: they come back at different times.
            End::Throttled => {
                let throttled = self.throttled + 1;
                let next = schedule.throttled.repeating(throttled, jitter, now);
                Self { throttled, ..not_calling() }.waiting(next, schedule, now)
            }
            End::LineThrottled(line) => {
                let throttled = self.throttled + 1;
                Self { throttled, ..not_calling() }.waiting(line.until.unwrap_or(now), schedule, now)
            }
        }
    }

    /// What is tried again then, but one last time when it has been tried for long enough, and is then given up.
    fn waiting(self, next: Timestamp, schedule: &SendSchedule, now: Timestamp) -> SendOutcome {
        let since = self.since.unwrap_or(now);
        let last = since.plus(schedule.give_up);
        if now >= last {
            return SendOutcome::Failed(PartError::of(PartError::GIVEN_UP));
        }
        SendOutcome::Waits(Self { since: Some(since), next_at: Some(next.min(last)), ..self })
    }
}
