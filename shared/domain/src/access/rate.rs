//! The rate limit of a key: the generic cell rate algorithm (a token bucket stored as one number).
//!
//! The number is the *theoretical arrival time*: the time at which the bucket is full again. Each token that
//! is drawn moves it forward by one interval. The time before the move is the *slot* of the token, so two slots
//! are at least one interval apart. A token is good for one request, from the tolerance before its slot until
//! its slot; the tolerance follows from the burst. So in any span of time, the requests have slots in a span
//! that is longer by the tolerance only: they are at most `per_second` times the span plus `burst`, however
//! many processes draw tokens, and however long a process holds some before it uses them.
//!
//! All numbers are whole microseconds since 1970.

mod bucket;

use crate::access::api_key::RateLimit;
use crate::time::Timestamp;

pub use bucket::{Bucket, Left, Step};

/// One second in microseconds.
const SECOND: i64 = 1_000_000;
/// A process draws tokens for this time at most. They last for twice as long.
const HORIZON: i64 = SECOND / 2;

/// The rules of one [`RateLimit`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gcra {
    interval: i64,
    tolerance: i64,
    most: i64,
}

/// The theoretical arrival time of a bucket as it was at a moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Seen {
    tat: i64,
    at: i64,
}

/// A write that draws tokens: one for the request itself, and possibly some for the requests after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Draw {
    /// The form of the write, which must fit the bucket.
    pub form: Form,
    /// The earliest slot of the first token. If the theoretical arrival time is before it, it moves here first.
    pub earliest: i64,
    /// The latest slot of the first token. It is never before the earliest one.
    pub latest: i64,
    /// By how much the tokens move the theoretical arrival time.
    pub taken: i64,
    tokens: i64,
}

/// The state of the bucket that a write assumes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// The theoretical arrival time is before the earliest slot, and becomes that plus what is taken.
    Idle,
    /// The theoretical arrival time is a slot from the earliest to the latest, and moves on by what is taken.
    Hot,
}

impl Gcra {
    /// The algorithm for this limit. The interval is rounded up, so the limiter never admits more than
    /// `per_second` times the time plus `burst`.
    pub fn of(limit: RateLimit) -> Self {
        let per_second = limit.per_second.max(1);
        let interval = i64::from(1_000_000_u32.div_ceil(per_second));
        let most = i64::from(per_second.div_ceil(20));
        Self { interval, tolerance: i64::from(limit.burst.max(1) - 1) * interval, most }
    }

    /// The present in microseconds since 1970.
    pub fn micros(now: Timestamp) -> i64 {
        now.as_millis() * 1_000
    }

    /// The draw of a process that used `pace` tokens in a second of late; `None` if the bucket is empty. It has
    /// at most `most` tokens:
    ///
    /// - as many as the process uses while they last. They last until their slots, so longer in a bucket that
    ///   is partly used. In a fuller one they get a *head start*: the theoretical arrival time moves forward by
    ///   up to a quarter of the tolerance, by what the process needs to use them at half of its pace.
    /// - no more than the bucket held when the process last saw it. In a bucket that is nearly empty, that is
    ///   the token of the request alone.
    fn draw(self, seen: Seen, now: i64, pace: i64, most: i64) -> Option<Draw> {
        if seen.tat > now + self.tolerance {
            return None;
        }
        let longest_start = self.tolerance / 4;
        let lasting = (seen.tat - now).max(longest_start).min(HORIZON);
        let used = (seen.tat - seen.at.min(now)).max(longest_start);
        let held = (self.tolerance - used) / self.interval;
        let spare = (pace * lasting / SECOND).min(held).min(most - 1).max(0);
        let head_start = if spare > 0 { (2 * spare * SECOND / pace).min(longest_start) } else { 0 };
        let earliest = now + head_start;
        Some(Draw {
            form: if seen.tat < earliest { Form::Idle } else { Form::Hot },
            earliest,
            latest: now + self.tolerance - spare * self.interval,
            taken: (spare + 1) * self.interval,
            tokens: spare + 1,
        })
    }
}

#[cfg(test)]
mod tests;
