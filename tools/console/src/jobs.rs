//! Jobs, which `webhook enable`, `webhook recover`, `delivery retry` and `delivery replay` request. The workers
//! execute them. The console requests them, wakes the lanes, and shows the progress.
//!
//! A job has a row in each of its slots, all under one id, which is derived from the request:
//! - The same `replay` (endpoint, and `--since` and `--until` as given) is always one job.
//! - The same `enable` (endpoint and its version) is always one job.
//! - The same `retry` (delivery) or `recover` (endpoint and `--since`) is one job until it ends. After that, the same
//!   request starts it again, with the same id and a later `askedAt`.
//!
//! The row of the first slot is written last. If it is missing, or older than another slot's row, the command was
//! interrupted, and its repetition continues the first request.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::time::Duration;

use clap::Args;
use domain::webhook::event::replay_of;
use domain::{
    Delivery, DeliveryId, EndpointId, Job, JobId, JobKind, JobState, LaneId, Slot, Timestamp, WebhookEndpoint,
};
use futures::future::try_join_all;
use queue::Wake;
use store::{LaneJob, NotifyResult};
use uuid::Uuid;

use crate::output::Report;
use crate::poll::Poll;
use crate::refusal::Named;
use crate::view::View;
use crate::{Console, Refusal, Result};

/// The delay after which the sweeper processes a lane whose queue message was lost.
pub(crate) const FIRST_DUE: Duration = Duration::from_secs(120);

/// The maximum age of deliveries that are attempted again.
const FURTHEST: Duration = Duration::from_secs(14 * 86_400);

/// The namespace of job ids, except for replays, whose ids the domain derives.
const JOBS: Uuid = Uuid::from_u128(0x2b0e_7c64_d1a9_4f38_9c57_3e81_f60a_b2d4);

const BEGINNING: Timestamp = Timestamp::from_millis(0);

/// The earliest time from which deliveries can be attempted again.
pub(crate) fn furthest(now: Timestamp) -> Timestamp {
    now.minus(FURTHEST)
}

/// Validates the time range of a command.
pub(crate) fn span(
    since: Timestamp,
    until: Option<Timestamp>,
    now: Timestamp,
) -> Result<(Timestamp, Timestamp)> {
    let until = until.unwrap_or(now).min(now);
    if since < furthest(now) {
        Err(Refusal::Range("it may begin at most 14 days ago"))
    } else if until <= since {
        Err(Refusal::Range("it ends before it begins"))
    } else {
        Ok((since, until))
    }
}

/// A job that a command requests.
pub(crate) struct JobRequest {
    id: JobId,
    kind: JobKind,
    /// The slots of the job, at least one.
    slots: Vec<Slot>,
    /// The earliest time that the request may have.
    not_before: Timestamp,
}

impl JobRequest {
    /// A job that attempts all waiting deliveries of an endpoint after it was enabled.
    pub(crate) fn enable(endpoint: &WebhookEndpoint) -> Self {
        let id = named(&format!("enable|{}|{}", endpoint.id, endpoint.version));
        Self::of(endpoint, id, JobKind::Enable)
    }

    /// A job that attempts one delivery.
    pub(crate) fn retry(delivery: &Delivery) -> Self {
        let id = named(&format!("retry|{}", delivery.id()));
        let kind = JobKind::Retry { event: delivery.event, at: delivery.created_at };
        // A worker skips deliveries that were attempted since the request. The console's clock may be slow, so the
        // request is later than the last attempt.
        let not_before = delivery.last.map_or(BEGINNING, |(last, _)| behind(last));
        Self { id, kind, slots: vec![delivery.slot], not_before }
    }

    /// A job that attempts every delivery of a time range. `until` is the value as given.
    pub(crate) fn replay(
        endpoint: &WebhookEndpoint,
        since: Timestamp,
        until: Option<Timestamp>,
        now: Timestamp,
    ) -> Result<Self> {
        let id = JobId::from_uuid(replay_of(endpoint.id, since, until));
        let (since, until) = span(since, until, now)?;
        Ok(Self::of(endpoint, id, JobKind::Replay { since, until }))
    }

    /// A job that attempts every delivery that was given up since then. `since` is the value as given.
    pub(crate) fn recover(
        endpoint: &WebhookEndpoint,
        since: Option<Timestamp>,
        now: Timestamp,
    ) -> Result<Self> {
        let given = since.map(|since| since.as_millis().to_string()).unwrap_or_default();
        let id = named(&format!("recover|{}|{given}", endpoint.id));
        let (since, _) = span(since.unwrap_or(furthest(now)), None, now)?;
        Ok(Self::of(endpoint, id, JobKind::Recover { since }))
    }

    fn of(endpoint: &WebhookEndpoint, id: JobId, kind: JobKind) -> Self {
        let slots = endpoint.all_slots().collect();
        Self { id, kind, slots, not_before: BEGINNING }
    }

    /// Requests the job in all its slots and wakes their lanes.
    pub(crate) async fn submit(&self, console: &Console) -> Result<RequestedJob> {
        let store = &console.store;
        let found = jobs_of(console, self.id, &self.slots).await?;
        let (kind, at) = match found.iter().map(|of| &of.job).max_by_key(|job| job.created_at) {
            Some(job) if self.continues(&found, job) => (job.kind, job.created_at),
            before => {
                let least = before.map_or(BEGINNING, |job| behind(job.created_at));
                (self.kind, store.now().max(self.not_before).max(least))
            }
        };
        let ask = async |slot: Slot| {
            let asked = store.request_job(&Job::new(self.id, slot, kind, at), FIRST_DUE).await?;
            Ok::<_, Refusal>((slot, asked))
        };
        let mut notified = vec![];
        let mut is_new = false;
        if let Some((first, others)) = self.slots.split_first() {
            for (slot, (_, of_slot)) in try_join_all(others.iter().map(|slot| ask(*slot))).await? {
                notified.push((slot, of_slot));
            }
            let (slot, (new, of_slot)) = ask(*first).await?;
            notified.push((slot, of_slot));
            is_new = new && !found.iter().any(|of| of.job.created_at == at);
        }
        let unqueued = wake(console, &notified).await;
        Ok(RequestedJob { id: self.id, slots: self.slots.clone(), is_new, unqueued })
    }

    /// Whether the last request of this job continues: it has not ended, is missing in a slot, or never starts again.
    fn continues(&self, found: &[LaneJob], last: &Job) -> bool {
        let is_active = found.iter().any(|of| of.job.state == JobState::Active);
        let is_whole = found
            .iter()
            .any(|of| Some(&of.job.slot) == self.slots.first() && of.job.created_at == last.created_at);
        is_active || !is_whole || matches!(self.kind, JobKind::Enable | JobKind::Replay { .. })
    }
}

fn behind(moment: Timestamp) -> Timestamp {
    moment.plus(Duration::from_millis(1))
}

fn named(name: &str) -> JobId {
    JobId::from_uuid(Uuid::new_v5(&JOBS, name.as_bytes()))
}

/// Queues the lanes that need a wake-up. Returns the number of messages that the queue did not accept. The sweeper
/// wakes those lanes later.
pub(crate) async fn wake(console: &Console, notified: &[(Slot, NotifyResult)]) -> usize {
    let wakes: Vec<Wake> = notified
        .iter()
        .filter_map(|(slot, notified)| Some(Wake::now(LaneId::Webhook(*slot), notified.wake?)))
        .collect();
    if wakes.is_empty() {
        return 0;
    }
    match console.beside.queues().await {
        Err(_) => wakes.len(),
        Ok(queues) => queues.enqueue(&wakes).await.err().map_or(0, |left| left.lanes.len()),
    }
}

/// The rows of a job in these slots.
pub(crate) async fn jobs_of(console: &Console, id: JobId, slots: &[Slot]) -> Result<Vec<LaneJob>> {
    let rows = try_join_all(slots.iter().map(|slot| console.store.job(*slot, id))).await?;
    Ok(rows.into_iter().flatten().collect())
}

/// A requested job.
pub(crate) struct RequestedJob {
    id: JobId,
    slots: Vec<Slot>,
    is_new: bool,
    /// The number of messages that the queue did not accept.
    pub(crate) unqueued: usize,
}

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

impl RequestedJob {
    /// The current state of the job, or its final state if the command waits for it.
    pub(crate) async fn job(&self, console: &Console, waiting: &Waiting) -> Result<RequestedJobView> {
        let mut poll = waiting.wait.map(|seconds| (seconds, Poll::within(seconds)));
        loop {
            let job = JobView::read(console, self.id, &self.slots).await?;
            match &mut poll {
                Some((seconds, poll)) if job.state == JobState::Active => {
                    if !poll.pause().await {
                        return Err(Refusal::NotDone { job: self.id, seconds: *seconds });
                    }
                }
                _ => {
                    let (asked_before, is_unqueued) = (!self.is_new, self.unqueued > 0);
                    return Ok(RequestedJobView { job, asked_before, is_unqueued, waited: poll.is_some() });
                }
            }
        }
    }

    /// Shows the job.
    pub(crate) async fn report(&self, console: &Console, waiting: &Waiting) -> Result<Report> {
        let job = self.job(console, waiting).await?;
        Ok(job.report(job.view()))
    }
}

/// A requested job, over all its slots.
pub(crate) struct RequestedJobView {
    pub(crate) job: JobView,
    /// Whether an earlier command requested it.
    pub(crate) asked_before: bool,
    pub(crate) waited: bool,
    is_unqueued: bool,
}

impl RequestedJobView {
    pub(crate) fn view(&self) -> View {
        self.job.view().value("askedBefore", "requested before", self.asked_before)
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

/// A job over all its slots, with the sums of their counts.
pub(crate) struct JobView {
    id: JobId,
    endpoint: EndpointId,
    kind: JobKind,
    pub(crate) state: JobState,
    attempted: u64,
    pub(crate) delivered: u64,
    passed_over: u64,
    asked_at: Timestamp,
    moved_at: Timestamp,
}

impl JobView {
    /// Combines a job's rows. `None` if there are none.
    pub(crate) fn of(rows: &[LaneJob]) -> Option<Self> {
        let first = &rows.first()?.job;
        let sum = |count: fn(&Job) -> u64| rows.iter().map(|of| count(&of.job)).sum();
        let is_any = |state| rows.iter().any(|of| of.job.state == state);
        let state = [JobState::Active, JobState::Cancelled].into_iter().find(|state| is_any(*state));
        Some(Self {
            id: first.id,
            endpoint: first.slot.endpoint,
            kind: first.kind,
            state: state.unwrap_or(JobState::Done),
            attempted: sum(|job| job.attempted),
            delivered: sum(|job| job.delivered),
            passed_over: sum(|job| job.passed),
            asked_at: newest(rows, |job| job.created_at),
            moved_at: newest(rows, |job| job.updated_at),
        })
    }

    /// Reads a job. An unknown one is refused.
    async fn read(console: &Console, id: JobId, slots: &[Slot]) -> Result<Self> {
        Named::Job.found(Self::of(&jobs_of(console, id, slots).await?), id)
    }

    /// The jobs of an endpoint: all active ones and the 20 last requested ended ones, newest first.
    pub(crate) async fn all_of(console: &Console, endpoint: &WebhookEndpoint) -> Result<Vec<Self>> {
        const ENDED: usize = 20;
        let of_slots = try_join_all(endpoint.all_slots().map(|slot| console.store.jobs(slot))).await?;
        let mut by_id: BTreeMap<JobId, Vec<LaneJob>> = BTreeMap::new();
        for of in of_slots.into_iter().flatten() {
            by_id.entry(of.job.id).or_default().push(of);
        }
        let mut jobs: Vec<Self> = by_id.values().filter_map(|rows| Self::of(rows)).collect();
        jobs.sort_by_key(|job| Reverse((job.asked_at, job.id)));
        let mut ended = 0;
        jobs.retain(|job| {
            ended += usize::from(job.state != JobState::Active);
            job.state == JobState::Active || ended <= ENDED
        });
        Ok(jobs)
    }

    pub(crate) fn view(&self) -> View {
        let (delivery, since, until) = match self.kind {
            JobKind::Enable => (None, None, None),
            JobKind::Retry { event, .. } => (Some(DeliveryId { event, endpoint: self.endpoint }), None, None),
            JobKind::Replay { since, until } => (None, Some(since), Some(until)),
            JobKind::Recover { since } => (None, Some(since), None),
        };
        View::new()
            .text("jobId", "job", self.id)
            .text("endpointId", "endpoint", self.endpoint)
            .text("what", "what", self.kind.as_str())
            .json("deliveryId", delivery.map(|delivery| delivery.to_string()))
            .json("since", since.map(|since| since.to_string()))
            .json("until", until.map(|until| until.to_string()))
            .cell("of", self.of_what())
            .text("state", "state", self.state.as_str())
            .value("attempted", "attempted", self.attempted)
            .value("delivered", "delivered", self.delivered)
            .value("passedOver", "passed over", self.passed_over)
            .text("askedAt", "requested", self.asked_at)
            .text("movedAt", "last progress", self.moved_at)
    }

    /// The deliveries that the job concerns.
    fn of_what(&self) -> String {
        match self.kind {
            JobKind::Enable => "all waiting deliveries".to_owned(),
            JobKind::Retry { event, .. } => {
                format!("delivery {}", DeliveryId { event, endpoint: self.endpoint })
            }
            JobKind::Replay { since, until } => format!("{since} to {until}"),
            JobKind::Recover { since } => format!("{since} and later"),
        }
    }

    /// The job in one line.
    pub(crate) fn line(&self) -> String {
        let Self { id, kind, state, attempted, delivered, passed_over, asked_at, moved_at, .. } = self;
        format!(
            "{id} {} ({}), {}: {attempted} attempted, {delivered} delivered, {passed_over} passed over; \
            requested {asked_at}, last progress {moved_at}",
            kind.as_str(),
            self.of_what(),
            state.as_str()
        )
    }
}

fn newest(rows: &[LaneJob], moment: fn(&Job) -> Timestamp) -> Timestamp {
    rows.iter().map(|of| moment(&of.job)).max().unwrap_or(BEGINNING)
}

/// Cancels a job in all slots of its endpoint and shows how far it was executed.
pub(crate) async fn cancel(console: &Console, endpoint: &WebhookEndpoint, id: JobId) -> Result<View> {
    let slots: Vec<Slot> = endpoint.all_slots().collect();
    let rows = jobs_of(console, id, &slots).await?;
    try_join_all(rows.iter().map(|of| console.store.cancel_job(of))).await?;
    let job = JobView::read(console, id, &slots).await?;
    if job.state == JobState::Done { Err(Refusal::JobDone(id)) } else { Ok(job.view()) }
}
