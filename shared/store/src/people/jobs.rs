//! What the rows of all jobs about persons have in common: each is a lane, and only the holder of its lease changes it.

use std::time::Duration;

use domain::{LaneId, PersonJob, Timestamp};
use uuid::Uuid;

use crate::dynamodb::item::{Item, key, n, s};
use crate::dynamodb::versions::diff_write;
use crate::dynamodb::write::{Write, Wrote, is_written_by};
use crate::lanes::{LaneState, Leased};
use crate::{Store, StoreError, Table, keys};

/// A job under a lease.
#[derive(Clone, Copy, Debug)]
pub struct LeasedJob {
    lane: LaneId,
    lease: Uuid,
}

impl LeasedJob {
    /// The job of a leased lane; `None` for a lane of another kind.
    pub fn of(leased: &Leased) -> Option<(Self, PersonJob)> {
        match &leased.state {
            LaneState::Person(job) => Some((Self { lane: leased.lane, lease: leased.lease }, job.clone())),
            LaneState::Webhook(_) | LaneState::Conversation(_) | LaneState::Lead(_) => None,
        }
    }

    /// The write of the next version of a job's row.
    pub(crate) fn write(&self, before: &Item, after: &Item, seen: u64) -> Write {
        self.while_held(diff_write(Table::Contacts, before, after, seen))
    }

    /// The write under the condition that the lease is held.
    fn while_held(&self, write: Write) -> Write {
        let write = write.also_when("#lease = :mine").name("#lease", "lease");
        write.bind(":mine", s(self.lease.to_string()))
    }
}

/// How long after it was asked for the sweeper queues a job whose message was lost.
const FIRST_DUE: Duration = Duration::from_secs(120);

/// The row of a new job with its place in the due index.
pub(crate) fn due_job(mut item: Item, lane: LaneId, asked_at: Timestamp) -> Item {
    item.insert("dueShard".to_owned(), s(keys::due_shard(&lane)));
    item.insert("dueAt".to_owned(), n(asked_at.plus(FIRST_DUE).as_millis()));
    item
}

impl Store {
    /// Stores the next version of a job by a write of [`LeasedJob::write`]. Returns `false` if another visitor holds the lane.
    /// One round trip.
    pub(crate) async fn keep_job(&self, write: Write, request: &str) -> Result<bool, StoreError> {
        Ok(match self.write(write).await? {
            Wrote::Done(_) => true,
            Wrote::Refused(found) => found.is_some_and(|found| is_written_by(&found, request)),
        })
    }

    /// Deletes a job, such as a preview that was kept long enough. One round trip.
    pub async fn drop_job(&self, leased: &LeasedJob) -> Result<(), StoreError> {
        let (table, pk, sk) = keys::lane(&leased.lane);
        self.write(leased.while_held(Write::delete(table, key((pk, sk))))).await?;
        Ok(())
    }
}
