//! The rate limiter: one row for each API key, and one for each workspace's lead capture, shared by all
//! processes.
//!
//! DynamoDB expressions have no maximum of two numbers. So a write must assume either that the bucket is idle
//! (full) or that it is hot (partly used). If the assumption is wrong, the write is refused and returns the
//! row, which shows the right form or that the bucket is empty. The first assumption comes from the row as it
//! was last seen.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use domain::access::api_key::RateLimit;
use domain::access::rate::{Gcra, RateVerdict};
use domain::{KeyId, WorkspaceId};

use crate::dynamodb::item::{Item, key, n};
use crate::dynamodb::write::{Write, Wrote};
use crate::memory::Memory;
use crate::{Store, StoreError, Table, keys};

/// How long the row of an unused bucket is kept: far longer than any bucket takes to fill.
const KEPT: Duration = Duration::from_secs(86_400);
/// The maximum number of writes for one request. Two suffice unless the row is created or deleted in between.
const MAX_WRITES: usize = 4;
/// How long a process pauses for a bucket that was empty twice in a row when it should have had a token
/// again. Other processes use the bucket too, and each refusal by the row costs a write.
const CONTENTION_PAUSE: Duration = Duration::from_millis(100);

/// The limiter's decision about a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// The request is permitted.
    Admitted,
    /// The key or the workspace is over its limit.
    Refused {
        /// The time until the next attempt can succeed.
        retry_after: Duration,
    },
}

/// The limiter of one process, with the last state of each bucket.
pub struct Limiter {
    store: Store,
    buckets: Memory<Counted, Bucket>,
    /// Held from reading a remembered bucket until its new state is stored.
    update_lock: Mutex<()>,
}

/// The requests that one bucket counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Counted {
    /// Those with an API key of the workspace.
    Key(WorkspaceId, KeyId),
    /// Those to the lead capture of the workspace.
    Capture(WorkspaceId),
}

impl Counted {
    fn row(self) -> (String, &'static str) {
        match self {
            Self::Key(workspace, key) => keys::limit(workspace, key),
            Self::Capture(workspace) => keys::capture_limit(workspace),
        }
    }
}

/// The state of a bucket as this process last saw it. The row may be ahead of it, never behind.
#[derive(Clone, Copy, Debug, Default)]
struct Bucket {
    /// The theoretical arrival time last seen, in microseconds.
    tat: i64,
    /// How often in a row a write was refused because the bucket was empty.
    refusals: u32,
    /// The process writes nothing for this bucket before this moment, in microseconds.
    paused_until: i64,
}

impl Limiter {
    /// A limiter without any remembered state.
    pub fn new(store: Store) -> Self {
        Self { store, buckets: Memory::new(KEPT), update_lock: Mutex::default() }
    }

    /// Counts a request of a key, unless the key is over its limit. Over all processes, a key gets at most
    /// `per_second` times the elapsed time plus `burst` requests.
    ///
    /// No round trip while the process knows that the key is over its limit; otherwise one, or two if the
    /// first assumption about the bucket was wrong.
    pub async fn admit(
        &self,
        workspace: WorkspaceId,
        key_id: KeyId,
        limit: RateLimit,
    ) -> Result<Admission, StoreError> {
        self.count(Counted::Key(workspace, key_id), limit).await
    }

    /// The same for a request to the lead capture of a workspace.
    pub async fn admit_to_capture(
        &self,
        workspace: WorkspaceId,
        limit: RateLimit,
    ) -> Result<Admission, StoreError> {
        self.count(Counted::Capture(workspace), limit).await
    }

    async fn count(&self, counted: Counted, limit: RateLimit) -> Result<Admission, StoreError> {
        let gcra = Gcra::of(limit);
        let now = Gcra::micros(self.store.now());
        let bucket = self.bucket(counted);
        if let Some(retry_after) = bucket.refused_for(gcra, now) {
            return Ok(Admission::Refused { retry_after });
        }
        let mut verdict = gcra.verdict(bucket.tat, now);
        for _ in 0..MAX_WRITES {
            let write = self.take_token(counted, gcra, now, verdict == RateVerdict::Idle);
            match self.store.write(write).await? {
                Wrote::Done(row) => {
                    self.keep(counted, |_| Bucket { tat: tat(&row), ..Bucket::default() });
                    return Ok(Admission::Admitted);
                }
                Wrote::Refused(row) => {
                    let tat = row.as_ref().map_or(0, tat);
                    verdict = gcra.verdict(tat, now);
                    if let RateVerdict::Empty { .. } = verdict {
                        let kept = self.keep(counted, |bucket| bucket.found_empty(gcra, now, tat));
                        let retry_after = kept.refused_for(gcra, now).unwrap_or_default();
                        return Ok(Admission::Refused { retry_after });
                    }
                }
            }
        }
        Err(StoreError::Busy("the limiter's row changed with each look at it".into()))
    }

    /// The write that takes one token, in the form for an idle or a hot bucket.
    fn take_token(&self, counted: Counted, gcra: Gcra, now: i64, idle: bool) -> Write {
        let (pk, sk) = counted.row();
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

    fn bucket(&self, counted: Counted) -> Bucket {
        self.buckets.get(&counted, self.store.now()).unwrap_or_default()
    }

    /// Stores what was learned about a bucket. If two requests do so at the same time, the later state wins.
    fn keep(&self, counted: Counted, learn: impl FnOnce(Bucket) -> Bucket) -> Bucket {
        let _lock = self.update_lock.lock().unwrap_or_else(PoisonError::into_inner);
        let before = self.bucket(counted);
        let mut bucket = learn(before);
        bucket.tat = bucket.tat.max(before.tat);
        self.buckets.keep(counted, bucket, self.store.now());
        bucket
    }
}

impl Bucket {
    /// How long the bucket is known to be empty for this process; `None` if it is not.
    fn refused_for(self, gcra: Gcra, now: i64) -> Option<Duration> {
        let until = self.paused_until.max(self.tat - gcra.tolerance());
        let wait = u64::try_from(until - now).unwrap_or(0);
        (wait > 0).then(|| Duration::from_micros(wait))
    }

    /// The state after a write found the bucket empty. The pause is at most half of the time in which the
    /// bucket fills, so the key's long-term rate is not reduced.
    fn found_empty(self, gcra: Gcra, now: i64, tat: i64) -> Self {
        let pause = i64::try_from(CONTENTION_PAUSE.as_micros()).unwrap_or(0).min(gcra.tolerance() / 2);
        let paused_until = if self.refusals > 0 { now + pause } else { 0 };
        Self { tat, refusals: self.refusals + 1, paused_until }
    }
}

/// The theoretical arrival time in a row; 0 if there is none.
fn tat(row: &Item) -> i64 {
    row.get("tat").and_then(|tat| tat.as_n().ok()).and_then(|tat| tat.parse().ok()).unwrap_or(0)
}
