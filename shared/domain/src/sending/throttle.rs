//! Lines that the provider asks to slow down: remembered once, for all that is sent from them.
//!
//! The wait is the line's, not that of the send that met it: whatever else would be sent from the line waits too, and the
//! waits grow for as long as nothing is accepted in between.

use std::time::Duration;

use crate::retry::Jitter;
use crate::sending::schedule::SendSchedule;
use crate::time::Timestamp;

/// How a line stands with its provider.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LineThrottle {
    /// Nothing is sent from it before.
    pub until: Option<Timestamp>,
    /// How often in a row the provider asked to slow down.
    pub times: u32,
}

impl LineThrottle {
    /// For so long behind its end a throttling counts as one of several in a row, should nothing be sent meanwhile.
    pub const REMEMBERED: Duration = Duration::from_secs(15 * 60);
    /// Those who wait come back within this time, if the wait is short.
    const SPREAD: Duration = Duration::from_secs(5);

    /// When whoever would call now looks again; `None` if they may call. Each of many who wait comes back at a moment of
    /// their own, a fifth of the wait behind its end at most.
    pub fn put_off(&self, jitter: Jitter, now: Timestamp) -> Option<Timestamp> {
        let until = self.until.filter(|until| *until > now)?;
        Some(until.plus(jitter.part_of(jitter.share_of(until.since(now)).max(Self::SPREAD))))
    }

    /// The line when the provider asks once more to slow down.
    pub fn slower(&self, schedule: &SendSchedule, jitter: Jitter, now: Timestamp) -> Self {
        let times = self.times.saturating_add(1);
        Self { until: Some(schedule.throttled.repeating(times, jitter, now)), times }
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::sending::end::End;
    use crate::sending::error::PartError;

    const NOW: Timestamp = Timestamp::from_millis(1_767_323_045_678);

    fn after(seconds: u64) -> Timestamp {
        NOW.plus(Duration::from_secs(seconds))
    }

    fn until(seconds: u64) -> LineThrottle {
        LineThrottle { until: Some(after(seconds)), times: 1 }
    }

    #[test]
    fn a_line_is_left_alone_until_its_time_has_come() {
        assert_eq!(LineThrottle::default().put_off(Jitter::NONE, NOW), None);
        assert_eq!(until(5).put_off(Jitter::NONE, NOW), Some(after(5)));
        assert_eq!(until(5).put_off(Jitter::NONE, after(5)), None, "from that moment on");
    }

    #[test]
    fn those_who_wait_come_back_one_after_another() {
        let latest = Jitter::of(&Uuid::from_u128(u128::MAX));
        for (wait, comes_back) in [(1, 6), (25, 30), (100, 120)] {
            assert_eq!(until(wait).put_off(latest, NOW), Some(after(comes_back)), "{wait}");
        }
        let some = until(5).put_off(Jitter::of(&Uuid::from_u128(u128::MAX / 2)), NOW).unwrap();
        assert!(some > after(7) && some < after(8), "{some}");
    }

    #[test]
    fn waits_grow_by_the_schedule_and_the_last_repeats() {
        let mut line = LineThrottle::default();
        for (times, wait) in [(1, 5), (2, 10), (3, 30), (4, 60), (5, 300), (6, 300)] {
            line = line.slower(&SendSchedule::decided(), Jitter::NONE, NOW);
            assert_eq!(line, LineThrottle { until: Some(after(wait)), times });
        }
        let most = LineThrottle { times: u32::MAX, ..line };
        assert_eq!(most.slower(&SendSchedule::decided(), Jitter::NONE, NOW), most);
    }

    #[test]
    fn what_throttles_is_remembered_and_the_next_that_is_accepted_begins_the_schedule_anew() {
        let (calm, slow) = (LineThrottle::default(), until(5));
        let sent = End::Sent("wamid".to_owned());
        assert_eq!(calm.after(&End::LineThrottled(slow)), Some(slow));
        assert_eq!(calm.after(&sent), None, "nothing new");
        let eased = LineThrottle { times: 0, ..slow };
        assert_eq!((slow.after(&sent), eased.after(&sent)), (Some(eased), None));
        let error = || PartError::of("131026");
        for end in
            [End::Throttled, End::NotTaken, End::NotCalled, End::Failed(error()), End::Unknown(error())]
        {
            assert_eq!((calm.after(&end), slow.after(&end)), (None, None), "{end:?}");
        }
    }
}
