//! Jobs: requests about an endpoint's deliveries, which the visits of its lanes execute.
//!
//! The id of a job depends only on what it is for, so a repetition of a request finds the same job. A job that comes with a change
//! of its endpoint is written in the transaction of the change. A request for another job is repeatable: its first slot is
//! written last, so a repetition continues an interrupted request.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::time::Duration;

use domain::webhook::event::replay_of;
use domain::{
    AuditAction, Delivery, DeliveryId, EndpointId, Job, JobId, JobKind, JobState, LaneId, Slot, Timestamp,
    Track, WebhookEndpoint,
};
use futures::future::try_join_all;
use queue::Wake;
use store::{LaneJob, Store, StoreError};
use uuid::Uuid;

use crate::admin::{Admin, Check, Gate};
use crate::refused::Refused;

/// The maximum age of deliveries that are attempted again.
const FURTHEST: Duration = Duration::from_secs(14 * 86_400);

/// The namespace of job ids, except for replays, whose ids the domain derives.
const JOBS: Uuid = Uuid::from_u128(0x2b0e_7c64_d1a9_4f38_9c57_3e81_f60a_b2d4);

const BEGINNING: Timestamp = Timestamp::from_millis(0);

/// The earliest time from which deliveries can be attempted again.
pub fn furthest(now: Timestamp) -> Timestamp {
    now.minus(FURTHEST)
}

/// Checks a range of time.
fn span(
    since: Timestamp,
    until: Option<Timestamp>,
    now: Timestamp,
) -> Result<(Timestamp, Timestamp), Refused> {
    let until = until.unwrap_or(now).min(now);
    if since < furthest(now) {
        Err(Refused::Range("it may begin at most 14 days ago"))
    } else if until <= since {
        Err(Refused::Range("it ends before it begins"))
    } else {
        Ok((since, until))
    }
}

/// A job to request.
#[derive(Clone, Debug)]
pub struct JobRequest {
    id: JobId,
    kind: JobKind,
    /// The slots of the job, at least one.
    slots: Vec<Slot>,
    /// The earliest time that the request may have.
    not_before: Timestamp,
}

/// A requested job.
#[derive(Clone, Debug)]
pub struct RequestedJob {
    /// The slots of the job.
    pub slots: Vec<Slot>,
    /// The job as it is now.
    pub progress: JobProgress,
    /// Whether this request made it. Another one may have.
    pub is_new: bool,
    /// The number of messages that the queue did not accept. The sweeper visits those lanes later.
    pub unqueued: usize,
}

/// A job over all its slots, with the sums of their counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobProgress {
    /// The job.
    pub id: JobId,
    /// Its endpoint.
    pub endpoint: EndpointId,
    /// What it attempts.
    pub kind: JobKind,
    /// Whether a slot still executes it.
    pub state: JobState,
    /// The number of deliveries that were attempted.
    pub attempted: u64,
    /// The number of these that were acknowledged.
    pub delivered: u64,
    /// The number of skipped deliveries.
    pub passed_over: u64,
    /// When it was requested.
    pub asked_at: Timestamp,
    /// When it last progressed.
    pub moved_at: Timestamp,
}

impl JobRequest {
    /// A job that attempts all waiting deliveries of an endpoint after it was enabled.
    pub fn enable(endpoint: &WebhookEndpoint) -> Self {
        let id = named(&format!("enable|{}|{}", endpoint.id, endpoint.version));
        Self::of(endpoint, id, JobKind::Enable)
    }

    /// A job that attempts one delivery.
    pub fn retry(delivery: &Delivery) -> Self {
        let id = named(&format!("retry|{}", delivery.id()));
        let kind = JobKind::Retry { event: delivery.event, at: delivery.created_at };
        // A worker skips deliveries that were attempted since the request. The clock of this process may be slow, so the
        // request is later than the last attempt.
        let not_before = delivery.last.map_or(BEGINNING, |(last, _)| behind(last));
        Self { id, kind, slots: vec![delivery.slot], not_before }
    }

    /// A job that attempts every delivery of a time range. `until` is the value as given.
    pub fn replay(
        endpoint: &WebhookEndpoint,
        since: Timestamp,
        until: Option<Timestamp>,
        now: Timestamp,
    ) -> Result<Self, Refused> {
        let id = JobId::from_uuid(replay_of(endpoint.id, since, until));
        let (since, until) = span(since, until, now)?;
        Ok(Self::of(endpoint, id, JobKind::Replay { since, until }))
    }

    /// A job that attempts every delivery that was given up since then. `since` is the value as given.
    pub fn recover(
        endpoint: &WebhookEndpoint,
        since: Option<Timestamp>,
        now: Timestamp,
    ) -> Result<Self, Refused> {
        let given = since.map(|since| since.as_millis().to_string()).unwrap_or_default();
        let id = named(&format!("recover|{}|{given}", endpoint.id));
        let (since, _) = span(since.unwrap_or(furthest(now)), None, now)?;
        Ok(Self::of(endpoint, id, JobKind::Recover { since }))
    }

    fn of(endpoint: &WebhookEndpoint, id: JobId, kind: JobKind) -> Self {
        let slots = endpoint.all_slots().collect();
        Self { id, kind, slots, not_before: BEGINNING }
    }

    /// The rows of this job if it is requested at this time for the first time.
    pub(crate) fn new_jobs(&self, now: Timestamp) -> Vec<Job> {
        self.slots.iter().map(|slot| Job::new(self.id, *slot, self.kind, now)).collect()
    }

    /// The job, if it was requested before.
    pub(crate) async fn find(&self, store: &Store) -> Result<Option<RequestedJob>, StoreError> {
        let found = jobs_of(store, self.id, &self.slots).await?;
        let slots = self.slots.clone();
        let of = |progress| RequestedJob { slots, progress, is_new: false, unqueued: 0 };
        Ok(JobProgress::of(&found).map(of))
    }

    /// Requests the job in all its slots and wakes their lanes.
    pub async fn submit<G: Gate>(&self, admin: &Admin<'_, G>) -> Result<RequestedJob, G::Refusal> {
        let store = admin.store;
        let found = jobs_of(store, self.id, &self.slots).await?;
        let (kind, at) = match found.iter().max_by_key(|job| job.created_at) {
            Some(job) if self.continues(&found, job) => (job.kind, job.created_at),
            before => {
                let least = before.map_or(BEGINNING, |job| behind(job.created_at));
                (self.kind, store.now().max(self.not_before).max(least))
            }
        };
        let jobs: Vec<Job> = self.slots.iter().map(|slot| Job::new(self.id, *slot, kind, at)).collect();
        let mut notified = vec![];
        let mut is_new = false;
        if let Some((first, others)) = jobs.split_first() {
            let asked = try_join_all(others.iter().map(|job| store.request_job(job, admin.rescue, None)));
            notified.extend(asked.await?.into_iter().map(|(_, notified)| notified));
            // The entry of the audit log is written with the row that makes the request whole.
            let subject = self.subject();
            let entry = (self.action(), subject.as_str(), &admin.by);
            let (new, of_first) = store.request_job(first, admin.rescue, Some(entry)).await?;
            notified.insert(0, of_first);
            is_new = new && !found.iter().any(|job| job.created_at == at);
        }
        let tracks = self.slots.iter().zip(notified).filter_map(|(slot, of)| Some((*slot, of.wake?)));
        let unqueued = admin.wake(tracks.collect()).await;
        let progress = JobProgress::read::<G::Refusal>(store, self.id, &self.slots).await?;
        Ok(RequestedJob { slots: self.slots.clone(), progress, is_new, unqueued })
    }

    /// Whether the last request of this job continues: it has not ended, is missing in a slot, or never starts again.
    fn continues(&self, found: &[Job], last: &Job) -> bool {
        let is_active = found.iter().any(|job| job.state == JobState::Active);
        let is_whole = found
            .iter()
            .any(|job| Some(&job.slot) == self.slots.first() && job.created_at == last.created_at);
        is_active || !is_whole || matches!(self.kind, JobKind::Enable | JobKind::Replay { .. })
    }

    fn action(&self) -> AuditAction {
        match self.kind {
            JobKind::Enable => AuditAction::WebhookEndpointEnable,
            JobKind::Retry { .. } => AuditAction::DeliveryRetry,
            JobKind::Replay { .. } => AuditAction::WebhookEndpointReplay,
            JobKind::Recover { .. } => AuditAction::WebhookEndpointRecover,
        }
    }

    /// The id of what the request changes.
    fn subject(&self) -> String {
        let endpoint = self.slots.first().map(|slot| slot.endpoint);
        match (self.kind, endpoint) {
            (JobKind::Retry { event, .. }, Some(endpoint)) => DeliveryId { event, endpoint }.to_string(),
            (_, Some(endpoint)) => endpoint.to_string(),
            (_, None) => self.id.to_string(),
        }
    }
}

fn behind(moment: Timestamp) -> Timestamp {
    moment.plus(Duration::from_millis(1))
}

fn named(name: &str) -> JobId {
    JobId::from_uuid(Uuid::new_v5(&JOBS, name.as_bytes()))
}

/// The rows of a job in these slots.
async fn jobs_of(store: &Store, id: JobId, slots: &[Slot]) -> Result<Vec<Job>, StoreError> {
    let rows = try_join_all(slots.iter().map(|slot| store.job(*slot, id))).await?;
    Ok(rows.into_iter().flatten().map(|of| of.job).collect())
}

impl RequestedJob {
    /// The job that was written with a change of its endpoint: wakes its lanes. `None` if the change requested none.
    pub(crate) async fn written<G: Gate>(
        admin: &Admin<'_, G>,
        jobs: &[Job],
    ) -> Result<Option<Self>, StoreError> {
        let Some(progress) = JobProgress::of(jobs) else { return Ok(None) };
        let slots: Vec<Slot> = jobs.iter().map(|job| job.slot).collect();
        let paces = try_join_all(slots.iter().map(|slot| admin.store.endpoint_pace(*slot))).await?;
        let tracks = paces.iter().map(|pace| pace.track(admin.store.now()));
        let unqueued = admin.wake(slots.iter().copied().zip(tracks).collect()).await;
        Ok(Some(Self { slots, progress, is_new: true, unqueued }))
    }
}

impl JobProgress {
    /// Combines a job's rows. `None` if there are none.
    pub fn of(rows: &[Job]) -> Option<Self> {
        let first = rows.first()?;
        let sum = |count: fn(&Job) -> u64| rows.iter().map(count).sum();
        let is_any = |state| rows.iter().any(|job| job.state == state);
        let state = [JobState::Active, JobState::Cancelled].into_iter().find(|state| is_any(*state));
        let newest = |moment: fn(&Job) -> Timestamp| rows.iter().map(moment).max().unwrap_or(BEGINNING);
        Some(Self {
            id: first.id,
            endpoint: first.slot.endpoint,
            kind: first.kind,
            state: state.unwrap_or(JobState::Done),
            attempted: sum(|job| job.attempted),
            delivered: sum(|job| job.delivered),
            passed_over: sum(|job| job.passed),
            asked_at: newest(|job| job.created_at),
            moved_at: newest(|job| job.updated_at),
        })
    }

    /// Reads a job. An unknown one is refused. One round trip.
    pub async fn read<E>(store: &Store, id: JobId, slots: &[Slot]) -> Result<Self, E>
    where
        E: From<Refused> + From<StoreError>,
    {
        let found = Self::of(&jobs_of(store, id, slots).await?);
        Ok(found.ok_or(Refused::UnknownJob(id))?)
    }

    /// The jobs of an endpoint: all active ones and the 20 last requested ended ones, newest first. One round trip.
    pub async fn all_of(store: &Store, endpoint: &WebhookEndpoint) -> Result<Vec<Self>, StoreError> {
        const ENDED: usize = 20;
        let of_slots = try_join_all(endpoint.all_slots().map(|slot| store.jobs(slot))).await?;
        let mut by_id: BTreeMap<JobId, Vec<Job>> = BTreeMap::new();
        for of in of_slots.into_iter().flatten() {
            by_id.entry(of.job.id).or_default().push(of.job);
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

    /// The delivery that the job concerns, if it concerns one only.
    pub fn delivery(&self) -> Option<DeliveryId> {
        match self.kind {
            JobKind::Retry { event, .. } => Some(DeliveryId { event, endpoint: self.endpoint }),
            JobKind::Enable | JobKind::Replay { .. } | JobKind::Recover { .. } => None,
        }
    }

    /// The beginning and the end of the time that the job concerns.
    pub fn range(&self) -> (Option<Timestamp>, Option<Timestamp>) {
        match self.kind {
            JobKind::Enable | JobKind::Retry { .. } => (None, None),
            JobKind::Replay { since, until } => (Some(since), Some(until)),
            JobKind::Recover { since } => (Some(since), None),
        }
    }
}

impl<G: Check<WebhookEndpoint>> Admin<'_, G> {
    /// Cancels a job in all slots of its endpoint. Returns how far it was executed. A repeat changes nothing. Three round trips.
    pub async fn cancel_job(&self, endpoint: &WebhookEndpoint, id: JobId) -> Result<JobProgress, G::Refusal> {
        self.ready(endpoint).await?;
        let slots: Vec<Slot> = endpoint.all_slots().collect();
        self.until_written(|| self.try_cancel(&slots, id)).await?;
        let job = JobProgress::read::<G::Refusal>(self.store, id, &slots).await?;
        if job.state == JobState::Done { Err(Refused::JobDone(id).into()) } else { Ok(job) }
    }

    async fn try_cancel(&self, slots: &[Slot], id: JobId) -> Result<Option<()>, G::Refusal> {
        let rows = try_join_all(slots.iter().map(|slot| self.store.job(*slot, id))).await?;
        let active: Vec<&LaneJob> =
            rows.iter().flatten().filter(|of| of.job.state == JobState::Active).collect();
        Ok(self.store.cancel_job(&active, &self.by).await?.then_some(()))
    }
}

impl<G: Gate> Admin<'_, G> {
    /// Queues lanes. Returns the number of messages that the queue did not accept.
    pub(crate) async fn wake(&self, lanes: Vec<(Slot, Track)>) -> usize {
        let wake = |(slot, track)| Wake::now(LaneId::Webhook(slot), track);
        let wakes: Vec<Wake> = lanes.into_iter().map(wake).collect();
        match &self.queues {
            _ if wakes.is_empty() => 0,
            None => wakes.len(),
            Some(queues) => queues.enqueue(&wakes).await.err().map_or(0, |left| left.lanes.len()),
        }
    }
}
