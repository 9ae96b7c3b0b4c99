//! The rate limiter: one row a key, shared by all processes.
//!
//! DynamoDB has no maximum of two numbers, so that a write must guess whether the bucket is idle (full) or hot
//! (drawn from). A wrong guess is refused with the row as it is, which names the right form or an empty
//! bucket; the guess is made by what the row said last.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use domain::api_key::RateLimit;
use domain::rate::{Gcra, Verdict};
use domain::{KeyId, WorkspaceId};

use crate::dynamodb::item::{Item, key, n};
use crate::dynamodb::write::{Write, Wrote};
use crate::memory::Memory;
use crate::{Store, StoreError, Table, keys};

/// How long a bucket that nobody draws from is kept: far longer than any takes to fill.
const KEPT: Duration = Duration::from_secs(86_400);
/// How many guesses a request may take. Two suffice unless the row goes or comes in between.
const GUESSES: usize = 4;
/// For how long more a process leaves a bucket alone which it found empty twice in a row, though it should
/// have held a request again: other processes draw from it too, and each of their refusals is a write.
const CONTENDED: Duration = Duration::from_millis(100);

/// What the limiter says to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// The request may go on.
    Admitted,
    /// The key is over its limit.
    Refused {
        /// When it is worth trying again.
        retry_after: Duration,
    },
}

/// The limiter of one process, with what it remembers of each key's bucket.
pub struct Limiter {
    store: Store,
    buckets: Memory<KeyId, Bucket>,
    /// Guards the step from reading a memory to keeping its successor.
    turn: Mutex<()>,
}

/// What a process knows of a bucket: the row may be ahead of it, never behind.
#[derive(Clone, Copy, Debug, Default)]
struct Bucket {
    /// The theoretical arrival time last seen, in microseconds.
    tat: i64,
    /// How often in a row the row itself, not this memory, said that it was empty.
    refusals: u32,
    /// Until then, in microseconds, the row is not asked.
    left_alone_until: i64,
}

impl Limiter {
    /// A limiter that remembers nothing yet.
    pub fn new(store: Store) -> Self {
        Self { store, buckets: Memory::new(KEPT), turn: Mutex::default() }
    }

    /// Counts a request of a key, unless it is over its limit. Over all processes a key is never admitted more
    /// than `per_second` times the time plus `burst`.
    ///
    /// No trip while the key is known to be over its limit; else one, two after a wrong guess.
    pub async fn admit(
        &self,
        workspace: WorkspaceId,
        key_id: KeyId,
        limit: RateLimit,
    ) -> Result<Admission, StoreError> {
        let gcra = Gcra::of(limit);
        let now = Gcra::micros(self.store.now());
        let bucket = self.bucket(key_id);
        if let Some(retry_after) = bucket.refuses(gcra, now) {
            return Ok(Admission::Refused { retry_after });
        }
        let mut verdict = gcra.verdict(bucket.tat, now);
        for _ in 0..GUESSES {
            let write = self.draw(workspace, key_id, gcra, now, verdict == Verdict::Idle);
            match self.store.write(write).await? {
                Wrote::Done(row) => {
                    self.keep(key_id, |_| Bucket { tat: tat(&row), ..Bucket::default() });
                    return Ok(Admission::Admitted);
                }
                Wrote::Refused(row) => {
                    let tat = row.as_ref().map_or(0, tat);
                    verdict = gcra.verdict(tat, now);
                    if let Verdict::Empty { .. } = verdict {
                        let kept = self.keep(key_id, |bucket| bucket.found_empty(gcra, now, tat));
                        let retry_after = kept.refuses(gcra, now).unwrap_or_default();
                        return Ok(Admission::Refused { retry_after });
                    }
                }
            }
        }
        Err(StoreError::Busy("the limiter's row changed with each look at it".into()))
    }

    /// One request's worth, in the form for an idle or for a hot bucket.
    fn draw(&self, workspace: WorkspaceId, key_id: KeyId, gcra: Gcra, now: i64, idle: bool) -> Write {
        let (pk, sk) = keys::limit(workspace, key_id);
        let expires = self.store.now().plus(KEPT).as_seconds();
        let (set, condition) = if idle {
            ("SET tat = :next, expiresAt = :expires", "attribute_not_exists(tat) OR tat < :now")
        } else {
            ("SET tat = tat + :interval, expiresAt = :expires", "tat >= :now AND tat <= :last")
        };
        let write = Write::update(Table::Limits, key(pk, sk), set)
            .when(condition)
            .bind(":now", n(now))
            .bind(":expires", n(expires))
            .returning_new();
        if idle {
            write.bind(":next", n(now + gcra.interval()))
        } else {
            write.bind(":interval", n(gcra.interval())).bind(":last", n(now + gcra.tolerance()))
        }
    }

    fn bucket(&self, key_id: KeyId) -> Bucket {
        self.buckets.get(&key_id, self.store.now()).unwrap_or_default()
    }

    /// Keeps what was learnt of a bucket. Of two requests at the same time the one that saw it later wins.
    fn keep(&self, key_id: KeyId, learn: impl FnOnce(Bucket) -> Bucket) -> Bucket {
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let before = self.bucket(key_id);
        let mut bucket = learn(before);
        bucket.tat = bucket.tat.max(before.tat);
        self.buckets.keep(key_id, bucket, self.store.now());
        bucket
    }
}

impl Bucket {
    /// For how long the bucket is known to hold nothing for this process.
    fn refuses(self, gcra: Gcra, now: i64) -> Option<Duration> {
        let until = self.left_alone_until.max(self.tat - gcra.tolerance());
        let wait = u64::try_from(until - now).unwrap_or(0);
        (wait > 0).then(|| Duration::from_micros(wait))
    }

    /// After the row said that it is empty. Never left alone for longer than it takes to fill by half, so that
    /// a key's rate in the long run is not lessened.
    fn found_empty(self, gcra: Gcra, now: i64, tat: i64) -> Self {
        let pause = i64::try_from(CONTENDED.as_micros()).unwrap_or(0).min(gcra.tolerance() / 2);
        let left_alone_until = if self.refusals > 0 { now + pause } else { 0 };
        Self { tat, refusals: self.refusals + 1, left_alone_until }
    }
}

/// The theoretical arrival time that a row holds.
fn tat(row: &Item) -> i64 {
    row.get("tat").and_then(|tat| tat.as_n().ok()).and_then(|tat| tat.parse().ok()).unwrap_or(0)
}
