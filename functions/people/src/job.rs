//! A job under a lease, as a visit sees and changes it.

use domain::{Erasure, Person, Timestamp};
use store::{Leased, LeasedErasure, Store};

use crate::engine::Invocation;
use crate::stop::{Result, Stop};

/// A job under a lease.
pub(crate) struct Job<'a> {
    pub(crate) invocation: &'a Invocation<'a>,
    leased: LeasedErasure,
    pub(crate) erasure: Erasure,
}

impl<'a> Job<'a> {
    /// The job of a leased lane; `None` for a lane of another kind.
    pub(crate) fn of(invocation: &'a Invocation<'a>, lane: &Leased) -> Option<Self> {
        let (leased, erasure) = LeasedErasure::of(lane)?;
        Some(Self { invocation, leased, erasure })
    }
}

impl Job<'_> {
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

    /// Stores the next version of the job, and what is known of the person if that is new.
    pub(crate) async fn keep(&mut self, next: Erasure, person: Option<&Person>) -> Result {
        match self.store().keep_erasure(&self.leased, &self.erasure, next, person).await? {
            Some(kept) => {
                self.erasure = kept;
                Ok(())
            }
            None => Err(Stop::Lost),
        }
    }

    /// Stores the receipt of an erasure that is done, and deletes the job.
    pub(crate) async fn finish(&self) -> Result {
        Ok(self.store().finish_erasure(&self.leased, &self.erasure).await?)
    }

    /// Deletes the job of a preview that was kept long enough.
    pub(crate) async fn drop(&self) -> Result {
        Ok(self.store().drop_job(&self.leased, &self.erasure).await?)
    }
}
