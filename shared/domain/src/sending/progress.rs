//! The progress of a send, and the consequences of call outcomes.

use uuid::Uuid;

use crate::retry::Jitter;
use crate::sending::end::End;
use crate::sending::error::PartError;
use crate::sending::schedule::SendSchedule;
use crate::time::Timestamp;

/// The progress of the current part. Each part starts with a new progress.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Calls that the provider certainly did not accept.
    pub failures: u32,
    /// Calls that the provider rejected because of a rate limit.
    pub throttled: u32,
    /// Whether the provider paused the template: its last answer said so.
    pub is_paused: bool,
    /// When the first call was begun.
    pub since: Option<Timestamp>,
    /// The earliest time of the next call.
    pub next_at: Option<Timestamp>,
    /// The lease of a call that is being made. If the lease is over, the outcome of the call is unknown.
    pub calling: Option<Uuid>,
}

/// Whether a call may be made now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// A call was begun and its outcome was not recorded. The sender that made it is dead, because only one
    /// sends at a time.
    Interrupted,
    /// A call may be made at this time.
    NotBefore(Timestamp),
    /// A call may be made.
    Due,
}

/// The consequence of a call's outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SendOutcome {
    /// The provider accepted the part under this id.
    Sent(String),
    /// The provider accepted the part under this id, and holds it.
    Held(String),
    /// The part is not sent and not retried.
    Failed(PartError),
    /// The outcome is unknown. The service does not retry by itself.
    Unknown(PartError),
    /// The part is retried.
    Waits(Progress),
}

/// The provider's word for the status of a template that it paused.
const PAUSED: &str = "PAUSED";

impl Progress {
    /// Whether a call may be made now.
    pub fn standing(&self, now: Timestamp) -> Standing {
        match self {
            Self { calling: Some(_), .. } => Standing::Interrupted,
            Self { next_at: Some(next_at), .. } if *next_at > now => Standing::NotBefore(*next_at),
            _ => Standing::Due,
        }
    }

    /// The progress after a call was begun under this lease.
    pub fn begun(&self, lease: Uuid, now: Timestamp) -> Self {
        let since = self.since.or(Some(now));
        Self { since, next_at: None, calling: Some(lease), is_paused: false, ..self.clone() }
    }

    /// The consequence of an outcome, with or without a begun call.
    pub fn after(&self, end: End, schedule: &SendSchedule, jitter: Jitter, now: Timestamp) -> SendOutcome {
        let not_calling = || Self { calling: None, ..self.clone() };
        match end {
            End::Sent(id) => SendOutcome::Sent(id),
            End::Held(id) => SendOutcome::Held(id),
            End::Failed(error) => SendOutcome::Failed(error),
            End::Unknown(error) => SendOutcome::Unknown(error),
            End::NotCalled => SendOutcome::Waits(not_calling()),
            End::NotTaken => {
                let failures = self.failures + 1;
                let next = schedule.retries.repeating(failures, Jitter::NONE, now);
                Self { failures, ..not_calling() }.waiting(next, schedule, now)
            }
            End::TemplatePaused => Self { is_paused: true, ..not_calling() }.waiting(
                now.plus(schedule.template_look),
                schedule,
                now,
            ),
            // A rate limit usually affects many sends. Jitter spreads their retries.
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

    /// Schedules a retry, but not after the end of the retry period. If the period is over, the part fails
    /// with `GIVEN_UP`, or with `NOT_APPROVED` if its template is paused.
    fn waiting(self, next: Timestamp, schedule: &SendSchedule, now: Timestamp) -> SendOutcome {
        let since = self.since.unwrap_or(now);
        let last = since.plus(schedule.give_up);
        if now >= last {
            return SendOutcome::Failed(match self.is_paused {
                true => PartError::of(PartError::NOT_APPROVED).because(PAUSED),
                false => PartError::of(PartError::GIVEN_UP),
            });
        }
        SendOutcome::Waits(Self { since: Some(since), next_at: Some(next.min(last)), ..self })
    }
}
