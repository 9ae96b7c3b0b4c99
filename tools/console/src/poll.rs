//! How a command waits for what the service does: it reads again and again, until a time limit.

use std::time::Duration;

use tokio::time::{Instant, sleep};

/// The first and the longest pause between two reads. Each pause is twice as long as the one before.
const PAUSES: [Duration; 2] = [Duration::from_millis(250), Duration::from_secs(4)];

/// The pauses between two reads.
pub(crate) struct Poll {
    until: Instant,
    pause: Duration,
}

impl Poll {
    /// Pauses for this time in all.
    pub(crate) fn within(seconds: u64) -> Self {
        let [pause, _] = PAUSES;
        Self { until: Instant::now() + Duration::from_secs(seconds), pause }
    }

    /// Pauses before the next read. Returns `false` at once if the time is over.
    pub(crate) async fn pause(&mut self) -> bool {
        let left = self.until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return false;
        }
        sleep(self.pause.min(left)).await;
        let [_, longest] = PAUSES;
        self.pause = longest.min(2 * self.pause);
        true
    }
}
