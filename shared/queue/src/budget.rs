//! The invocation budget: the time that an invocation has for calls to others, each of which may take long.

use std::time::Duration;

use domain::Timestamp;

/// The budget of an invocation whose calls have a time limit each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvocationBudget {
    begin_by: Timestamp,
    deadline: Timestamp,
    longest: Duration,
}

/// The time limits of a deployment do not fit together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BudgetError {
    /// No call fits into the time of the invocation.
    #[error("the time-out of a call is too long for the time-out of the function")]
    CallTooLong,
    /// The lease is shorter than the invocation may run, so two invocations could hold the same lane.
    #[error("the lease is shorter than the time-out of the function")]
    LeaseTooShort,
}

impl InvocationBudget {
    /// The time kept for the response of the invocation.
    const RESPONSE_TIME: Duration = Duration::from_secs(1);

    /// The budget from `now` to `deadline`. A call takes at most `longest`; half of the time that is left
    /// beside a call is kept for recording the outcome of the last one.
    pub fn until(
        deadline: Timestamp,
        now: Timestamp,
        longest: Duration,
        lease: Duration,
    ) -> Result<Self, BudgetError> {
        let left = deadline.since(now);
        let spare = left.saturating_sub(longest);
        if spare <= Self::RESPONSE_TIME {
            return Err(BudgetError::CallTooLong);
        }
        if left > lease {
            return Err(BudgetError::LeaseTooShort);
        }
        Ok(Self { begin_by: now.plus((spare / 2).min(spare - Self::RESPONSE_TIME)), deadline, longest })
    }

    /// The budget if `kept` is enough time to record the outcome of the last call: more of the time is left to begin calls.
    /// It is at least a second, which is kept for the response.
    pub fn keeping(self, kept: Duration) -> Self {
        let begin_by = self.deadline.minus(self.longest + kept.max(Self::RESPONSE_TIME));
        Self { begin_by: self.begin_by.max(begin_by), ..self }
    }

    /// Whether work that ends in a call may start.
    pub fn may_begin(self, now: Timestamp) -> bool {
        now <= self.begin_by
    }

    /// Whether a call that starts now ends before the deadline, even if it takes its whole time limit.
    pub fn fits(self, now: Timestamp) -> bool {
        now.plus(self.longest + Self::RESPONSE_TIME) <= self.deadline
    }

    /// How long the outcome of a call may be retried to be recorded.
    pub fn left(self, now: Timestamp) -> Duration {
        self.deadline.since(now).saturating_sub(Self::RESPONSE_TIME)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_767_323_045_678);

    fn secs(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn time(left: u64, longest: u64, lease: u64) -> Result<InvocationBudget, BudgetError> {
        InvocationBudget::until(NOW.plus(secs(left)), NOW, secs(longest), secs(lease))
    }

    #[test]
    fn half_of_the_time_beside_a_call_is_kept_for_recording_its_outcome() {
        let time = time(60, 10, 90).unwrap();
        assert!(
            time.may_begin(NOW.plus(secs(25))) && !time.may_begin(NOW.plus(Duration::from_millis(25_001)))
        );
        assert!(time.fits(NOW.plus(secs(49))) && !time.fits(NOW.plus(Duration::from_millis(49_001))));
        assert_eq!(time.left(NOW.plus(secs(50))), secs(9));
        assert_eq!(time.left(NOW.plus(secs(70))), secs(0));
    }

    #[test]
    fn a_call_may_begin_later_if_its_outcome_needs_less_time() {
        let last = |kept| time(60, 30, 90).unwrap().keeping(secs(kept)).begin_by.since(NOW);
        assert_eq!([0, 1, 5, 15, 20].map(last), [29, 29, 25, 15, 15].map(secs));
        assert!(time(60, 30, 90).unwrap().keeping(secs(0)).fits(NOW.plus(secs(29))));
    }

    #[test]
    fn a_call_that_may_begin_fits() {
        for left in 1..100 {
            for longest in 0..100 {
                let Ok(time) = time(left, longest, 100) else { continue };
                assert!(time.may_begin(NOW), "{left} {longest}");
                let fits = |at| !time.may_begin(at) || time.fits(at);
                assert!((0..400).all(|quarter| fits(NOW.plus(secs(1) / 4 * quarter))), "{left} {longest}");
            }
        }
    }

    #[test]
    fn a_time_limit_without_room_for_a_call_or_beyond_the_lease_is_refused() {
        assert_eq!(time(11, 10, 90), Err(BudgetError::CallTooLong));
        assert_eq!(time(0, 10, 90), Err(BudgetError::CallTooLong));
        assert!(time(12, 10, 12).is_ok());
        assert_eq!(time(13, 10, 12), Err(BudgetError::LeaseTooShort));
    }
}
