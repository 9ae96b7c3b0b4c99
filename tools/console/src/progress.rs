//! The progress of a long command: one line on standard error, if that is a terminal.

use std::collections::VecDeque;
use std::io::Write;
use std::time::{Duration, Instant};

/// The line with the progress. It is redrawn four times a second at most.
pub(crate) struct Progress<'t> {
    /// The terminal. `None` if nobody watches.
    terminal: Option<&'t mut dyn Write>,
    begun: Instant,
    drawn: Duration,
    pace: Pace,
}

impl<'t> Progress<'t> {
    const BETWEEN_DRAWS: Duration = Duration::from_millis(250);

    pub(crate) fn new(terminal: Option<&'t mut dyn Write>, of: usize) -> Self {
        Self { terminal, begun: Instant::now(), drawn: Duration::ZERO, pace: Pace::new(of) }
    }

    /// Counts one more.
    pub(crate) fn step(&mut self) {
        self.pace.done += 1;
        let Some(terminal) = &mut self.terminal else { return };
        let now = self.begun.elapsed();
        if now.saturating_sub(self.drawn) >= Self::BETWEEN_DRAWS {
            self.drawn = now;
            draw(*terminal, &self.pace.line(now));
        }
    }
}

/// Removes the line, also if the command fails.
impl Drop for Progress<'_> {
    fn drop(&mut self) {
        if let Some(terminal) = self.terminal.as_mut().filter(|_| !self.drawn.is_zero()) {
            draw(*terminal, "");
        }
    }
}

/// Replaces the terminal's line, in one write. A progress that cannot be shown is no reason to stop.
fn draw(terminal: &mut dyn Write, line: &str) {
    let _ = terminal.write_all(format!("\r{line}\u{1b}[K").as_bytes()).and_then(|()| terminal.flush());
}

/// How many of how many rows are done, and how fast the last ones were.
struct Pace {
    done: usize,
    of: usize,
    /// When how many were done, in the last 30 seconds.
    measured: VecDeque<(Duration, usize)>,
}

impl Pace {
    /// The time over which the pace is measured.
    const WINDOW: Duration = Duration::from_secs(30);
    /// The least time that has to be measured before the time left is known.
    const KNOWN: Duration = Duration::from_secs(3);

    fn new(of: usize) -> Self {
        Self { done: 0, of, measured: VecDeque::from([(Duration::ZERO, 0)]) }
    }

    fn line(&mut self, now: Duration) -> String {
        let left = self.left(now).map(|left| format!(", about {} left", rounded(left))).unwrap_or_default();
        format!("{} of {} rows{left}", self.done, self.of)
    }

    /// The time left at the measured pace. `None` before the pace is known.
    fn left(&mut self, now: Duration) -> Option<Duration> {
        while self.measured.front().is_some_and(|(at, _)| now.saturating_sub(*at) > Self::WINDOW) {
            self.measured.pop_front();
        }
        self.measured.push_back((now, self.done));
        let (since, before) = *self.measured.front()?;
        let (time, rows) = (now.checked_sub(since)?, self.done - before);
        let is_known = time >= Self::KNOWN && rows > 0;
        is_known.then(|| time.mul_f64((self.of - self.done) as f64 / rows as f64))
    }
}

/// A duration as precise as an estimate can be.
fn rounded(left: Duration) -> String {
    match left.as_secs() {
        seconds @ 0..90 => format!("{} s", seconds.next_multiple_of(5).max(5)),
        seconds @ 90..5_400 => format!("{} min", (seconds + 30) / 60),
        seconds => format!("{} h", (seconds + 1_800) / 3_600),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(pace: &mut Pace, milliseconds: u64, done: usize) -> String {
        pace.done = done;
        pace.line(Duration::from_millis(milliseconds))
    }

    #[test]
    fn the_time_left_follows_the_measured_pace_and_is_not_shown_before_it_is_known() {
        let mut pace = Pace::new(10_000);
        assert_eq!(after(&mut pace, 250, 25), "25 of 10000 rows");
        assert_eq!(after(&mut pace, 2_750, 275), "275 of 10000 rows");
        assert_eq!(after(&mut pace, 3_000, 300), "300 of 10000 rows, about 2 min left");
        assert_eq!(after(&mut pace, 20_000, 9_000), "9000 of 10000 rows, about 5 s left");
        // The table becomes busy: only the last 30 seconds count.
        assert_eq!(after(&mut pace, 49_000, 9_029), "9029 of 10000 rows, about 16 min left");
        assert_eq!(after(&mut pace, 90_000, 9_029), "9029 of 10000 rows");
    }

    #[test]
    fn an_estimate_is_rounded() {
        for (seconds, expected) in [
            (0, "5 s"),
            (5, "5 s"),
            (41, "45 s"),
            (89, "90 s"),
            (90, "2 min"),
            (149, "2 min"),
            (5_399, "90 min"),
            (5_400, "2 h"),
            (86_400, "24 h"),
        ] {
            assert_eq!(rounded(Duration::from_secs(seconds)), expected);
        }
    }

    #[test]
    fn nothing_is_drawn_a_row() {
        let mut drawn = vec![];
        let mut progress = Progress::new(Some(&mut drawn), 10_000);
        let begun = Instant::now();
        for _ in 0..10_000 {
            progress.step();
        }
        let longest = begun.elapsed();
        drop(progress);
        let draws = String::from_utf8(drawn).unwrap().matches('\r').count() as u128;
        assert!(draws <= 1 + longest.as_millis() / 250, "{draws} in {longest:?}");
    }

    #[test]
    fn the_line_is_removed_even_if_the_command_fails() {
        let mut drawn = vec![];
        let mut progress = Progress::new(Some(&mut drawn), 2);
        progress.begun -= Duration::from_secs(1);
        progress.step();
        drop(progress);
        assert_eq!(String::from_utf8(drawn).unwrap(), "\r1 of 2 rows\u{1b}[K\r\u{1b}[K");
    }
}
