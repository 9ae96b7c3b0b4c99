//! A job under a lease, as a visit sees and changes it.

use domain::{Erasure, Merge, Person, Timestamp};
use store::{Joined, LeasedJob, Store};

use crate::engine::Invocation;
use crate::stop::{Result, Stop};

/// A job under a lease.
pub(crate) struct Job<'a, T> {
    pub(crate) invocation: &'a Invocation<'a>,
    pub(crate) leased: LeasedJob,
    pub(crate) of: T,
}

impl<T> Job<'_, T> {
    pub(crate) fn store(&self) -> &Store {
        &self.invocation.engine.store
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.store().now()
    }

    /// Fails with [`Stop::TimeUp`] if no further step fits into the invocation.
    pub(crate) fn has_time(&self) -> Result {
        if self.invocation.budget.may_begin(self.now()) { Ok(()) } else { Err(Stop::TimeUp) }
    }

    /// Deletes the job.
    pub(crate) async fn drop(&self) -> Result {
        Ok(self.store().drop_job(&self.leased).await?)
    }
}

impl Job<'_, Erasure> {
    /// Stores the next version of the job, and what is known of the person if that is new.
    pub(crate) async fn keep(&mut self, next: Erasure, person: Option<&Person>) -> Result {
        self.of = self.store().keep_erasure(&self.leased, &self.of, next, person).await?.ok_or(Stop::Lost)?;
        Ok(())
    }

    /// Stores the receipt of an erasure that is done, and deletes the job.
    pub(crate) async fn finish(&self) -> Result {
        Ok(self.store().finish_erasure(&self.leased, &self.of).await?)
    }
}

impl Job<'_, Merge> {
    /// Stores the next version of the job.
    pub(crate) async fn keep(&mut self, next: Merge) -> Result {
        self.of = self.store().keep_merge(&self.leased, &self.of, next).await?.ok_or(Stop::Lost)?;
        Ok(())
    }

    /// Makes one contact of both.
    pub(crate) async fn join(&self) -> Result<Joined> {
        Ok(self.store().join_contacts(&self.leased, &self.of).await?)
    }
}
