//! What one process knows about a bucket, and the tokens that it holds.

use std::time::Duration;

use super::{Draw, Form, Gcra, SECOND, Seen};

/// How long a process pauses for a bucket that was empty twice in a row when it should have had a token
/// again. Other processes use the bucket too, and each refusal by the row costs a write.
const CONTENTION_PAUSE: i64 = SECOND / 10;
/// How long a process may use a token that it has drawn.
const LEASE_TIME: i64 = SECOND;

/// A bucket as one process knows it. The row may be ahead of it, never behind.
#[derive(Clone, Copy, Debug, Default)]
pub struct Bucket {
    seen: Seen,
    /// How often in a row a write was refused because the bucket was empty.
    refusals: u32,
    /// The process writes nothing for this bucket before this moment.
    paused_until: i64,
    lease: Option<Lease>,
    /// Until this moment, a request of the process may be drawing a lease. Others draw one token each, so the
    /// process never holds two leases.
    leasing_until: i64,
    uses: Uses,
}

/// The next step for a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The request is admitted.
    Admit,
    /// The request is refused.
    Refuse {
        /// The time until the bucket holds a token again, if no other request takes it.
        retry_after: Duration,
    },
    /// The request depends on this write.
    Write(Draw),
}

/// What a bucket holds at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Left {
    /// The number of requests that the bucket admits at once.
    pub tokens: u32,
    /// The time until the bucket is full, if nobody draws.
    pub full_in: Duration,
}

/// Tokens that are drawn and not used yet.
#[derive(Clone, Copy, Debug)]
struct Lease {
    /// The limit under which the tokens were drawn. They are worth nothing under another one.
    gcra: Gcra,
    /// The slot of the next token.
    slot: i64,
    left: i64,
    until: i64,
}

/// The number of requests that the process admitted: in the present second, and in the one before it.
#[derive(Clone, Copy, Debug, Default)]
struct Uses {
    since: i64,
    present: i64,
    before: i64,
}

impl Bucket {
    /// The step for a request at `now`: a token that the process holds, a refusal if the process knows that the
    /// bucket is empty, or else a write.
    pub fn ask(&mut self, gcra: Gcra, now: i64) -> Step {
        if self.lease.as_mut().is_some_and(|lease| lease.take(gcra, now)) {
            return self.admit(now);
        }
        let is_leasing = now < self.leasing_until;
        let most = if is_leasing { 1 } else { gcra.most };
        match gcra.draw(self.seen, now, self.uses.of_late(now), most) {
            Some(draw) if now >= self.paused_until => {
                if draw.tokens > 1 {
                    self.leasing_until = now + LEASE_TIME;
                }
                Step::Write(draw)
            }
            _ => self.refuse(gcra, now),
        }
    }

    /// The step after the write of a request at `now` was done. The theoretical arrival time is now `tat`.
    pub fn drawn(&mut self, gcra: Gcra, now: i64, draw: Draw, tat: i64) -> Step {
        self.see(tat, now);
        (self.refusals, self.paused_until) = (0, 0);
        let until = now + LEASE_TIME;
        if draw.tokens > 1 && self.lease.is_none_or(|lease| lease.until <= until) {
            let slot = tat - draw.taken + gcra.interval;
            self.lease = Some(Lease { gcra, slot, left: draw.tokens - 1, until });
            self.leasing_until = 0;
        }
        self.admit(now)
    }

    /// The step after the write of a request at `now` was refused. The theoretical arrival time is `tat`. If
    /// others left fewer tokens than it wanted, it draws one.
    pub fn refused(&mut self, gcra: Gcra, now: i64, draw: Draw, tat: i64) -> Step {
        self.see(tat, now);
        let most = if draw.form == Form::Idle { draw.tokens } else { 1 };
        if most == 1 && draw.tokens > 1 {
            // No lease comes of this, so other requests may draw one.
            self.leasing_until = 0;
        }
        if let Some(draw) = gcra.draw(Seen { tat, at: now }, now, self.uses.of_late(now), most) {
            return Step::Write(draw);
        }
        // The pause is at most half of the time in which the bucket fills, so the key's long-term rate is not
        // reduced.
        let pause = CONTENTION_PAUSE.min(gcra.tolerance / 2);
        self.paused_until = if self.refusals > 0 { now + pause } else { 0 };
        self.refusals += 1;
        self.refuse(gcra, now)
    }

    /// What the bucket holds at `now`, as the process saw it last. Other processes may have drawn tokens since, and the
    /// tokens that this process holds do not count.
    pub fn left(&self, gcra: Gcra, now: i64) -> Left {
        let until_full = (self.seen.tat - now).max(0);
        let tokens =
            if until_full > gcra.tolerance { 0 } else { (gcra.tolerance - until_full) / gcra.interval + 1 };
        Left {
            tokens: u32::try_from(tokens).unwrap_or(u32::MAX),
            full_in: Duration::from_micros(until_full.unsigned_abs()),
        }
    }

    fn see(&mut self, tat: i64, now: i64) {
        if tat >= self.seen.tat {
            self.seen = Seen { tat, at: now };
        }
    }

    fn admit(&mut self, now: i64) -> Step {
        self.uses = self.uses.at(now);
        self.uses.present += 1;
        Step::Admit
    }

    fn refuse(&self, gcra: Gcra, now: i64) -> Step {
        let until = self.paused_until.max(self.seen.tat - gcra.tolerance);
        let wait = u64::try_from(until - now).unwrap_or(0);
        Step::Refuse { retry_after: Duration::from_micros(wait) }
    }
}

impl Lease {
    /// Takes the next token, if there is one that is good at `now`.
    fn take(&mut self, gcra: Gcra, now: i64) -> bool {
        while self.left > 0 && self.slot < now {
            self.skip();
        }
        let is_good = self.gcra == gcra && now < self.until && self.slot <= now + gcra.tolerance;
        let takes = is_good && self.left > 0;
        if takes {
            self.skip();
        }
        takes
    }

    fn skip(&mut self) {
        self.slot += self.gcra.interval;
        self.left -= 1;
    }
}

impl Uses {
    /// The number of requests in the second before the present one.
    fn of_late(self, now: i64) -> i64 {
        self.at(now).before
    }

    fn at(self, now: i64) -> Self {
        match (now - self.since) / SECOND {
            ..=0 => self,
            1 => Self { since: self.since + SECOND, present: 0, before: self.present },
            _ => Self { since: now, present: 0, before: 0 },
        }
    }
}
