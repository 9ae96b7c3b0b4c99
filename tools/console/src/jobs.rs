//! The jobs that commands request: whether a command waits for a job, and what it shows of one.

use admin::{JobProgress, RequestedJob};
use clap::Args;
use domain::{JobId, JobKind, JobState, Slot};

use crate::output::Report;
use crate::poll::Poll;
use crate::view::View;
use crate::{Console, Refusal, Result};

/// Whether to wait for the end of a job.
#[derive(Args)]
pub(crate) struct Waiting {
    /// Wait until the job is done, but at most this many seconds [default without a number: 600].
    #[arg(
        long,
        value_name = "SECONDS",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "600",
        value_parser = clap::value_parser!(u64).range(1..=86_400)
    )]
    wait: Option<u64>,
}

impl Waiting {
    /// The current state of a requested job, or its final state if the command waits for it.
    pub(crate) async fn end_of(
        &self,
        console: &Console,
        requested: RequestedJob,
    ) -> Result<RequestedJobView> {
        let RequestedJob { slots, progress: mut job, is_new, unqueued } = requested;
        if let Some(seconds) = self.wait {
            let mut poll = Poll::within(seconds);
            while job.state == JobState::Active {
                if !poll.pause().await {
                    return Err(Refusal::NotDone { job: job.id, seconds });
                }
                job = read(console, job.id, &slots).await?;
            }
        }
        let (asked_before, is_unqueued) = (!is_new, unqueued > 0);
        Ok(RequestedJobView { job, asked_before, is_unqueued, waited: self.wait.is_some() })
    }

    /// Shows a requested job.
    pub(crate) async fn report(&self, console: &Console, requested: RequestedJob) -> Result<Report> {
        let job = self.end_of(console, requested).await?;
        Ok(job.report(job.view()))
    }
}

async fn read(console: &Console, id: JobId, slots: &[Slot]) -> Result<JobProgress> {
    JobProgress::read(&console.store, id, slots).await
}

/// A requested job, over all its slots.
pub(crate) struct RequestedJobView {
    pub(crate) job: JobProgress,
    /// Whether an earlier command requested it.
    pub(crate) asked_before: bool,
    pub(crate) waited: bool,
    is_unqueued: bool,
}

impl RequestedJobView {
    pub(crate) fn view(&self) -> View {
        job_view(&self.job).value("askedBefore", "requested before", self.asked_before)
    }

    /// What the command that requested the job shows: this view, what delays the job, and a failure if the command waited for
    /// a job that was cancelled.
    pub(crate) fn report(&self, view: View) -> Report {
        let is_delayed = self.is_unqueued && self.job.state == JobState::Active;
        let delay = "The queue did not accept the message: the job begins within three minutes.";
        let is_cancelled = self.waited && self.job.state == JobState::Cancelled;
        let cancelled = is_cancelled.then(|| Refusal::JobCancelled(self.job.id.to_string()));
        Report::from(view).remarks(is_delayed.then_some(delay)).failed(cancelled)
    }
}

/// A job over all its slots.
pub(crate) fn job_view(job: &JobProgress) -> View {
    let (since, until) = job.range();
    View::new()
        .text("jobId", "job", job.id)
        .text("endpointId", "endpoint", job.endpoint)
        .text("what", "what", job.kind.as_str())
        .json("deliveryId", job.delivery().map(|delivery| delivery.to_string()))
        .json("since", since.map(|since| since.to_string()))
        .json("until", until.map(|until| until.to_string()))
        .cell("of", of_what(job))
        .text("state", "state", job.state.as_str())
        .value("attempted", "attempted", job.attempted)
        .value("delivered", "delivered", job.delivered)
        .value("passedOver", "passed over", job.passed_over)
        .text("askedAt", "requested", job.asked_at)
        .text("movedAt", "last progress", job.moved_at)
}

/// The deliveries that a job concerns.
fn of_what(job: &JobProgress) -> String {
    match (job.kind, job.delivery()) {
        (_, Some(delivery)) => format!("delivery {delivery}"),
        (JobKind::Replay { since, until }, _) => format!("{since} to {until}"),
        (JobKind::Recover { since }, _) => format!("{since} and later"),
        (JobKind::Enable | JobKind::Retry { .. }, _) => "all waiting deliveries".to_owned(),
    }
}

/// A job in one line.
pub(crate) fn job_line(job: &JobProgress) -> String {
    let JobProgress { id, kind, state, attempted, delivered, passed_over, asked_at, moved_at, .. } = job;
    format!(
        "{id} {} ({}), {}: {attempted} attempted, {delivered} delivered, {passed_over} passed over; \
        requested {asked_at}, last progress {moved_at}",
        kind.as_str(),
        of_what(job),
        state.as_str()
    )
}
