//! Rate limits that the provider sets on lines. The state applies to all sends from the line.
//!
//! All sends from the line wait, not only the one that got the rejection. The waits grow until the provider
//! accepts a send.

use std::time::Duration;

use crate::retry::Jitter;
use crate::sending::schedule::SendSchedule;
use crate::time::Timestamp;

/// The throttle state of a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LineThrottle {
    /// The earliest time of the next call.
    pub until: Option<Timestamp>,
    /// The number of consecutive rate limit rejections.
    pub times: u32,
}

impl LineThrottle {
    /// How long after its end a throttle state is stored. A rejection within this time counts as consecutive
    /// if nothing was sent in between.
    pub const REMEMBERED: Duration = Duration::from_mins(15);
    /// The least time over which waiting sends are spread.
    const SPREAD: Duration = Duration::from_secs(5);

    /// When a send must check again; `None` if it may call now. Jitter spreads the waiting sends over a fifth
    /// of the wait, or over 5 seconds if that is more.
    pub fn put_off(&self, jitter: Jitter, now: Timestamp) -> Option<Timestamp> {
        let until = self.until.filter(|until| *until > now)?;
        Some(until.plus(jitter.part_of(jitter.share_of(until.since(now)).max(Self::SPREAD))))
    }

    /// The state after another rate limit rejection.
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
    fn a_throttled_line_sends_nothing_until_its_time() {
        assert_eq!(LineThrottle::default().put_off(Jitter::NONE, NOW), None);
        assert_eq!(until(5).put_off(Jitter::NONE, NOW), Some(after(5)));
        assert_eq!(until(5).put_off(Jitter::NONE, after(5)), None, "from that moment on");
    }

    #[test]
    fn jitter_spreads_waiting_sends() {
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
            line = line.slower(&SendSchedule::recommended(), Jitter::NONE, NOW);
            assert_eq!(line, LineThrottle { until: Some(after(wait)), times });
        }
        let most = LineThrottle { times: u32::MAX, ..line };
        assert_eq!(most.slower(&SendSchedule::recommended(), Jitter::NONE, NOW), most);
    }

    #[test]
    fn a_throttle_is_stored_and_the_next_accepted_send_resets_the_schedule() {
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
