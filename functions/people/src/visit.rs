//! A visit to the lane of a job.

use std::time::Duration;

use domain::{PersonJob, PersonJobId, Rest, Timestamp};
use store::{Leased, LeasedJob, StoreError};
use worker::VisitEnd;

use crate::engine::Invocation;
use crate::job::Job;
use crate::stop::Stop;

/// An erasure is late if it is still visited so long after it was asked for.
const LATE_ERASURE: Duration = Duration::from_mins(60);
/// The same of a merge.
const LATE_MERGE: Duration = Duration::from_mins(30);
/// How long a job waits until an object of the failure bucket can be read.
const UNREADABLE: Duration = Duration::from_mins(15);

/// Works on the job of a lane as long as the invocation has time.
pub(crate) async fn visit(invocation: &Invocation<'_>, lane: &Leased) -> Result<VisitEnd, StoreError> {
    let Some((leased, job)) = LeasedJob::of(lane) else { return Ok(VisitEnd::Lost) };
    let stopped = match job {
        PersonJob::Erasure(of) => {
            if !of.is_over() {
                count_late(invocation, of.id.into(), of.asked_at.plus(LATE_ERASURE));
            }
            let mut job = Job { invocation, leased, of: *of };
            match job.work().await {
                Err(Stop::Unreadable(key)) => {
                    let erasure = job.of.id;
                    tracing::error!(%erasure, key, "an object of the failure bucket cannot be read");
                    let waits = job.of.waiting_for(Some(key));
                    job.keep(waits, None).await.map(|()| Rest::Closed(job.now().plus(UNREADABLE)))
                }
                other => other,
            }
        }
        PersonJob::Merge(of) => {
            count_late(invocation, of.id, of.asked_at.plus(LATE_MERGE));
            Job { invocation, leased, of }.work().await
        }
    };
    match stopped {
        Ok(rest) => Ok(VisitEnd::Rest(rest)),
        Err(Stop::TimeUp) => Ok(VisitEnd::Rest(Rest::TimeUp)),
        Err(Stop::Lost | Stop::Unreadable(_)) => Ok(VisitEnd::Lost),
        Err(Stop::Store(error)) => Err(error),
    }
}

/// Counts a job that is late.
fn count_late(invocation: &Invocation<'_>, job: PersonJobId, late_from: Timestamp) {
    if invocation.engine.store.now() > late_from {
        invocation.counted.person_jobs_late.add(1);
        tracing::warn!(%job, "a job of a person is late");
    }
}
