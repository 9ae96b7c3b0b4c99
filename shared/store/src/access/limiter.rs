//! The rate limiter: one row for each API key, and two for each workspace's lead capture, shared by all
//! processes.
//!
//! A process that is busy with a bucket draws several tokens with one write ([`Bucket`]). While it holds some, it
//! writes nothing.
//!
//! DynamoDB expressions have no maximum of two numbers. So a write must assume either that the bucket is idle
//! (full) or that it is hot (partly used). If the assumption is wrong, the write is refused and returns the
//! row, which shows the right form or that the bucket is empty. The first assumption comes from the row as it
//! was last seen.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use domain::access::api_key::RateLimit;
use domain::access::rate::{Bucket, Draw, Form, Gcra, Left, Step};
use domain::{KeyId, Timestamp, WorkspaceId};

use crate::dynamodb::item::{Item, key, n, s, text};
use crate::dynamodb::read::{Place, Rows};
use crate::dynamodb::write::{Write, Wrote};
use crate::memory::Memory;
use crate::{Store, StoreError, Table, keys};

/// How long the row of an unused capture is kept: far longer than any bucket takes to fill.
const CAPTURE_KEPT: Duration = Duration::from_secs(86_400);
/// How long the row of an unused key is kept, because it shows when the key was last used: 400 days.
const KEY_KEPT: Duration = Duration::from_secs(400 * 86_400);
/// The maximum number of writes for one request. Two suffice unless others change the row in between, and three unless
/// it is deleted.
const MAX_WRITES: usize = 4;

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

/// The limiter of one process, with what it knows about each bucket.
pub struct Limiter {
    store: Store,
    buckets: Memory<Counted, Bucket>,
    /// Held from reading a remembered bucket until its new state is stored, so no token is used twice.
    update_lock: Mutex<()>,
}

/// The requests that one bucket counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Counted {
    /// Those with an API key of the workspace.
    Key(WorkspaceId, KeyId),
    /// Those to the lead capture of the workspace.
    Capture(WorkspaceId),
    /// Those that name it, but without its key or from a foreign origin.
    UnprovenCapture(WorkspaceId),
}

impl Counted {
    fn row(self) -> (String, &'static str) {
        match self {
            Self::Key(workspace, key) => keys::limit(workspace, key),
            Self::Capture(workspace) => keys::capture_limit(workspace),
            Self::UnprovenCapture(workspace) => keys::unproven_capture_limit(workspace),
        }
    }

    fn kept(self) -> Duration {
        match self {
            Self::Key(..) => KEY_KEPT,
            Self::Capture(_) | Self::UnprovenCapture(_) => CAPTURE_KEPT,
        }
    }
}

impl Limiter {
    /// A limiter without any remembered state.
    pub fn new(store: Store) -> Self {
        Self { store, buckets: Memory::new(CAPTURE_KEPT), update_lock: Mutex::default() }
    }

    /// Counts a request of a key, unless the key is over its limit. Over all processes and in any span of time, a
    /// key gets at most `per_second` times the span plus `burst` requests.
    ///
    /// No round trip while the process holds tokens, or knows that the key is over its limit; otherwise one, or two
    /// if the first assumption about the bucket was wrong.
    pub async fn admit(
        &self,
        workspace: WorkspaceId,
        key_id: KeyId,
        limit: RateLimit,
    ) -> Result<Admission, StoreError> {
        self.count(Counted::Key(workspace, key_id), limit).await
    }

    /// What the bucket of a key holds, as far as this process knows. No round trip.
    pub fn left(&self, workspace: WorkspaceId, key_id: KeyId, limit: RateLimit) -> Left {
        let now = self.store.now();
        let bucket = self.buckets.get(&Counted::Key(workspace, key_id), now).unwrap_or_default();
        bucket.left(Gcra::of(limit), Gcra::micros(now))
    }

    /// Counts a request like [`Limiter::admit`], to the lead capture of a workspace.
    pub async fn admit_to_capture(
        &self,
        workspace: WorkspaceId,
        limit: RateLimit,
    ) -> Result<Admission, StoreError> {
        self.count(Counted::Capture(workspace), limit).await
    }

    /// The same for a request that names the lead capture of a workspace without its key or from a foreign origin.
    pub async fn admit_unproven(
        &self,
        workspace: WorkspaceId,
        limit: RateLimit,
    ) -> Result<Admission, StoreError> {
        self.count(Counted::UnprovenCapture(workspace), limit).await
    }

    async fn count(&self, counted: Counted, limit: RateLimit) -> Result<Admission, StoreError> {
        let gcra = Gcra::of(limit);
        let now = Gcra::micros(self.store.now());
        let mut step = self.learn(counted, |bucket| bucket.ask(gcra, now));
        for _ in 0..MAX_WRITES {
            let Step::Write(draw) = step else { break };
            step = match self.store.write(self.take(counted, draw)).await? {
                Wrote::Done(row) => self.learn(counted, |bucket| bucket.drawn(gcra, now, draw, tat(&row))),
                Wrote::Refused(row) => {
                    let tat = row.as_ref().map_or(0, tat);
                    self.learn(counted, |bucket| bucket.refused(gcra, now, draw, tat))
                }
            };
        }
        match step {
            Step::Admit => Ok(Admission::Admitted),
            Step::Refuse { retry_after } => Ok(Admission::Refused { retry_after }),
            Step::Write(_) => Err(StoreError::Busy("the limiter's row changed with each look at it".into())),
        }
    }

    /// The write that takes tokens. It also stores the minute, which costs nothing more.
    fn take(&self, counted: Counted, draw: Draw) -> Write {
        let (pk, sk) = counted.row();
        let now = self.store.now();
        let (set, condition) = match draw.form {
            Form::Idle => (
                "SET tat = :next, usedAt = :minute, expiresAt = :expires",
                "attribute_not_exists(tat) OR tat < :earliest",
            ),
            Form::Hot => (
                "SET tat = tat + :taken, usedAt = :minute, expiresAt = :expires",
                "tat >= :earliest AND tat <= :latest",
            ),
        };
        let write = Write::update(Table::Limits, key((pk, sk)), set)
            .when(condition)
            .bind(":earliest", n(draw.earliest))
            .bind(":minute", s(now.to_minute().to_string()))
            .bind(":expires", n(now.plus(counted.kept()).as_seconds()))
            .returning_new();
        match draw.form {
            Form::Idle => write.bind(":next", n(draw.earliest + draw.taken)),
            Form::Hot => write.bind(":taken", n(draw.taken)).bind(":latest", n(draw.latest)),
        }
    }

    /// Changes what this process knows about a bucket. Requests do so one after another.
    fn learn(&self, counted: Counted, change: impl FnOnce(&mut Bucket) -> Step) -> Step {
        let _lock = self.update_lock.lock().unwrap_or_else(PoisonError::into_inner);
        let now = self.store.now();
        let mut bucket = self.buckets.get(&counted, now).unwrap_or_default();
        let step = change(&mut bucket);
        self.buckets.keep(counted, bucket, now);
        step
    }
}

impl Store {
    /// When each of these keys of a workspace was last used, to the minute; `None` if that is never or more than 400
    /// days ago. One round trip for each 100 keys, all at the same time.
    pub async fn last_uses(
        &self,
        workspace: WorkspaceId,
        of: &[KeyId],
    ) -> Result<Vec<Option<Timestamp>>, StoreError> {
        let places: Vec<Place> = of.iter().map(|key| limit_place(workspace, *key)).collect();
        let rows = self.rows_at(&places).await?;
        Ok(places.iter().map(|place| last_use(&rows, place)).collect())
    }
}

/// Where the bucket of a key is.
pub(crate) fn limit_place(workspace: WorkspaceId, key: KeyId) -> Place {
    Place::of(Table::Limits, keys::limit(workspace, key))
}

/// When the key of this bucket was last used.
pub(crate) fn last_use(rows: &Rows, place: &Place) -> Option<Timestamp> {
    Timestamp::parse(text(rows.get(place)?, "usedAt"))
}

/// The theoretical arrival time in a row; 0 if there is none.
fn tat(row: &Item) -> i64 {
    row.get("tat").and_then(|tat| tat.as_n().ok()).and_then(|tat| tat.parse().ok()).unwrap_or(0)
}
