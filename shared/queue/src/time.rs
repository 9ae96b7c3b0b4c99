//! The time that an invocation has for calls to others, of which each may take long.

use std::time::Duration;

use domain::Timestamp;

/// The time of an invocation whose calls each take so long at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Time {
    begin_by: Timestamp,
    deadline: Timestamp,
    longest: Duration,
}

/// An invocation that cannot work as its deployment wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WrongTime {
    /// In a time shorter than a call none can be made.
    #[error("the time-out of a call is too long for the time-out of the function")]
    CallTooLong,
    /// A lease shorter than the function may run would let two do the same at once.
    #[error("the lease is shorter than the time-out of the function")]
    LeaseTooShort,
}

impl Time {
    /// What is kept for the answer of a last try.
    const REST: Duration = Duration::from_secs(1);

    /// The time from now to the deadline. Of what a call leaves of it half is kept to record the last call's end.
    pub fn until(
        deadline: Timestamp,
        now: Timestamp,
        longest: Duration,
        lease: Duration,
    ) -> Result<Self, WrongTime> {
        let left = deadline.since(now);
        let spare = left.saturating_sub(longest);
        if spare <= Self::REST {
            return Err(WrongTime::CallTooLong);
        }
        if left > lease {
            return Err(WrongTime::LeaseTooShort);
        }
        Ok(Self { begin_by: now.plus((spare / 2).min(spare - Self::REST)), deadline, longest })
    }

    /// Whether something may be begun that ends in a call.
    pub fn may_begin(self, now: Timestamp) -> bool {
        now <= self.begin_by
    }

    /// Whether a call that is made now ends in time, however long it takes.
    pub fn fits(self, now: Timestamp) -> bool {
        now.plus(self.longest + Self::REST) <= self.deadline
    }

    /// For how long what happened may be tried to be recorded.
    pub fn left(self, now: Timestamp) -> Duration {
        self.deadline.since(now).saturating_sub(Self::REST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_767_323_045_678);

    fn secs(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn time(left: u64, longest: u64, lease: u64) -> Result<Time, WrongTime> {
        Time::until(NOW.plus(secs(left)), NOW, secs(longest), secs(lease))
    }

    #[test]
    fn half_of_what_a_call_leaves_is_kept_to_record_its_end() {
        let time = time(60, 10, 90).unwrap();
        assert!(
            time.may_begin(NOW.plus(secs(25))) && !time.may_begin(NOW.plus(Duration::from_millis(25_001)))
        );
        assert!(time.fits(NOW.plus(secs(49))) && !time.fits(NOW.plus(Duration::from_millis(49_001))));
        assert_eq!(time.left(NOW.plus(secs(50))), secs(9));
        assert_eq!(time.left(NOW.plus(secs(70))), secs(0));
    }

    #[test]
    fn what_may_be_begun_fits() {
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
    fn a_time_in_which_nothing_can_be_done_or_two_could_do_the_same_is_refused() {
        assert_eq!(time(11, 10, 90), Err(WrongTime::CallTooLong));
        assert_eq!(time(0, 10, 90), Err(WrongTime::CallTooLong));
        assert!(time(12, 10, 12).is_ok());
        assert_eq!(time(13, 10, 12), Err(WrongTime::LeaseTooShort));
    }
}
