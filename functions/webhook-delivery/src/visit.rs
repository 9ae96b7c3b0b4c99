//! A visit of a webhook lane reads deliveries page by page, posts as many at the same time as the endpoint's pace
//! allows, and records each outcome.
//!
//! The visit reads, posts and records concurrently. A delivery waits only for the answer to one of the same subject that
//! was read before it ([`ReadyQueue`]):
//!
//! ```text
//! take_page -> process -> ready -> post -> posted -> handled -> to_record -> record -> recorded
//!                 '----- without a post: parked, died, no event -----^
//! ```
//!
//! [`LaneProgress`] knows which deliveries are between the first step and the last one. While posts are in flight or a job
//! has work, the visit reads again what was added ([`LOOK_AGAIN_AFTER`]), so neither delays the other deliveries.

use std::collections::{HashMap, VecDeque};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use domain::retry::Jitter;
use domain::webhook::delivery::Next;
use domain::webhook::pace::Allowance;
use domain::webhook::{DisabledReason, ReadyQueue};
use domain::{
    Attempt, AttemptOutcome, Delivery, DeliveryState, EndpointCaps, EventId, HomeKey, JobId, JobKind,
    JobState, LaneId, LaneProgress, Rest, Slot, Timestamp, WebhookEndpoint, Workspace, WorkspaceState,
    error_chain, usage,
};
use futures::StreamExt;
use futures::stream::FuturesUnordered;
use runtime::metrics::Count;
use store::{JobPage, LaneJob, Leased, Record, RecordedEvent, StoreError, VisitBatch, WebhookLane};
use tokio::time::{Instant, sleep_until};
use uuid::Uuid;
use worker::VisitEnd;

use crate::attempt::{Ended, Receiver, Work, attempt, log_failure, without_event};
use crate::feed::{MOST, Page, Read, Rows, read_page};
use crate::invocation::Invocation;
use crate::transport::Transport;

/// When a lane is visited again if nothing left the deployment's own network.
const OUTAGE: Duration = Duration::from_secs(30);
/// The number of handled deliveries that triggers a write.
const RECORD_AT: usize = 25;
/// How long a handled delivery waits for a write at most. If this process dies, a post that is not recorded is sent
/// again.
const RECORD_AFTER: Duration = Duration::from_millis(100);
/// How long after its last read a visit with posts in flight or a job reads again. A read that finds nothing costs one
/// read unit.
const LOOK_AGAIN_AFTER: Duration = Duration::from_secs(1);
/// After this many visits in a row that died, the next one is careful: it posts one delivery at a time.
const CAREFUL_AFTER: u64 = 2;

/// Visits a lane, and saves in the lane what the visit learned.
pub(crate) async fn visit<T: Transport>(
    invocation: &Invocation<'_, T>,
    leased: &mut Leased,
) -> Result<VisitEnd, StoreError> {
    let (lane, lease, deaths) = (leased.lane, leased.lease, leased.deaths);
    let (LaneId::Webhook(slot), Some(state)) = (lane, leased.webhook()) else { return Ok(VisitEnd::Lost) };
    if deaths > 0 {
        // The visit that died may have written pointers that the lane does not know.
        let last = invocation.store.last_pointer(slot).await?;
        state.watermarks.last_wait = state.watermarks.last_wait.max(last);
    }
    let mut visit = Visit {
        invocation,
        slot,
        lease,
        is_careful: deaths >= CAREFUL_AFTER,
        lane: state.clone(),
        caps: EndpointCaps::default(),
        progress: LaneProgress::new(state.watermarks),
        jobs: VecDeque::new(),
        job: None,
        enabling: None,
        ready: ReadyQueue::default(),
        read_at: Instant::now(),
        looks_again: false,
        to_record: vec![],
        to_record_since: None,
        has_reported: false,
        stop: None,
    };
    let rest = Box::pin(visit.work()).await;
    *state = visit.lane;
    state.watermarks = visit.progress.watermarks();
    rest.map(VisitEnd::Rest)
}

type Posting<'a> = Pin<Box<dyn Future<Output = (Work, Timestamp, Ended)> + 'a>>;
type Reading<'a> = Pin<Box<dyn Future<Output = Result<Page, StoreError>> + 'a>>;
type Recording<'a> = Pin<Box<dyn Future<Output = (Vec<HomeKey>, Result<(), StoreError>)> + 'a>>;

struct Visit<'a, T> {
    invocation: &'a Invocation<'a, T>,
    slot: Slot,
    lease: Uuid,
    is_careful: bool,
    lane: WebhookLane,
    caps: EndpointCaps,
    progress: LaneProgress,
    jobs: VecDeque<LaneJob>,
    /// The job whose page is in work.
    job: Option<(LaneJob, JobPage)>,
    /// The mark of the unfinished job of an endpoint that was enabled. While it is set, the retry schedule of each
    /// waiting delivery starts again.
    enabling: Option<JobId>,
    /// The deliveries to post next, by the subjects of their events.
    ready: ReadyQueue<Uuid, Work>,
    /// When the last read of fresh or waiting deliveries began.
    read_at: Instant,
    /// Whether the lane was read to its end once, so that what is read now was added during this visit.
    looks_again: bool,
    /// The handled deliveries, and since when the first one waits.
    to_record: Vec<Record>,
    to_record_since: Option<Instant>,
    /// Whether the visit recorded that the endpoint fails, or that it answers again.
    has_reported: bool,
    stop: Option<Stop>,
}

/// Why the visit begins nothing more.
#[derive(Debug)]
enum Stop {
    /// The endpoint was disabled or deleted, so it receives nothing.
    Disabled,
    /// The workspace is disabled, so its deliveries wait.
    Paused,
    /// Nothing leaves the deployment's own network.
    NotSent,
    /// The service's own tables failed.
    Trouble(StoreError),
}

impl<'a, T: Transport> Visit<'a, T> {
    /// Works until no work is left, all remaining work waits, or the time is up.
    async fn work(&mut self) -> Result<Rest, StoreError> {
        if self.lane.has_jobs {
            self.take_jobs().await?;
        }
        let mut posts: FuturesUnordered<Posting<'a>> = FuturesUnordered::new();
        let (mut reading, mut recording): (Option<Reading<'a>>, Option<Recording<'a>>) = (None, None);
        loop {
            let wait_for = self.begin_posts(&mut posts);
            // How much is read depends on the posts in flight, so these begin first. Records come last: they collect what
            // the other steps finished.
            if reading.is_none() {
                reading = self.next_read(posts.len());
            }
            if recording.is_none() && self.is_to_be_recorded(posts.is_empty() && reading.is_none()) {
                recording = Some(self.record());
            }
            let look_at = self.look_again_at(posts.len()).filter(|_| reading.is_none());
            let record_at =
                self.to_record_since.filter(|_| recording.is_none()).map(|since| since + RECORD_AFTER);
            if posts.is_empty() && reading.is_none() && recording.is_none() && wait_for.is_none() {
                break;
            }
            tokio::select! {
                // In this order, outcomes free places for posts before anything else is done.
                biased;
                Some((work, at, ended)) = posts.next(), if !posts.is_empty() => {
                    self.posted(work, at, ended).await;
                }
                page = maybe(&mut reading) => {
                    reading = None;
                    self.take_page(page).await;
                }
                (homes, recorded) = maybe(&mut recording) => {
                    recording = None;
                    self.recorded(homes, recorded).await;
                }
                () = until(record_at) => {}
                () = until(look_at) => {}
                () = until(wait_for) => {}
            }
        }
        self.rest()
    }

    /// Reads the active jobs, the oldest first.
    async fn take_jobs(&mut self) -> Result<(), StoreError> {
        let jobs = self.invocation.store.jobs(self.slot).await?;
        self.jobs = jobs.into_iter().filter(|job| job.job.state == JobState::Active).collect();
        self.lane.has_jobs = !self.jobs.is_empty();
        for LaneJob { job, .. } in &self.jobs {
            let is_begun = job.attempted + job.passed > 0;
            let opened_at = self.lane.pace.opened_at;
            match job.kind {
                // The results before the endpoint was disabled say nothing about it now.
                JobKind::Enable if !is_begun && opened_at.is_none_or(|at| at <= job.created_at) => {
                    self.lane.pace = domain::Pace::default();
                }
                // The operator wants an attempt now, so an open circuit gives its next probe at once.
                _ => self.lane.pace.probe_for(job.created_at),
            }
            if job.kind == JobKind::Enable {
                self.enabling = Some(job.mark());
            }
        }
        Ok(())
    }

    /// How many posts may be in flight.
    fn room(&self) -> usize {
        let room = match self.lane.pace.allowance(self.caps, self.invocation.store.now()) {
            Allowance::Closed(_) => 0,
            Allowance::Probe => 1,
            Allowance::Posts(posts) => usize::from(posts),
        };
        if self.is_careful { room.min(1) } else { room }
    }

    /// Whether the visit may begin anything more.
    fn may_begin(&self) -> bool {
        self.stop.is_none() && self.invocation.budget.may_begin(self.invocation.store.now())
    }

    /// Begins as many posts as allowed. If an operator's cap delays the next post, the function returns the time to
    /// try again.
    fn begin_posts(&mut self, posts: &mut FuturesUnordered<Posting<'a>>) -> Option<Instant> {
        while posts.len() < self.room() && self.may_begin() && self.ready.has_next() {
            let (invocation, now) = (self.invocation, self.invocation.store.now());
            if let Some(ready_at) = self.lane.ready_at.filter(|ready_at| *ready_at > now) {
                return invocation.budget.may_begin(ready_at).then(|| Instant::now() + ready_at.since(now));
            }
            if let Some(per_second) = self.caps.per_second {
                let from = self.lane.ready_at.map_or(now, |ready_at| ready_at.max(now));
                self.lane.ready_at = Some(from.plus(Duration::from_secs(1) / u32::from(per_second)));
            }
            let Some(mut work) = self.ready.pop() else { break };
            if self.is_careful && self.progress.is_for_job(HomeKey::of(&work.delivery)) {
                // Only the job leads to a delivery that had already ended. If the post kills this worker, an operator
                // may cancel the job before the next visit. So the delivery is recorded as waiting from now on.
                let pointer = self.progress.lead_back(HomeKey::of(&work.delivery), now);
                work.delivery.next_at = Some(pointer.not_before);
                work.leads_back = Some(pointer);
            }
            let is_careful = self.is_careful;
            posts.push(Box::pin(async move {
                let (at, ended) = attempt(invocation, &work, is_careful).await;
                (work, at, ended)
            }));
        }
        None
    }

    /// Whether the visit may read more, with so many posts in flight.
    fn may_read(&self, posting: usize) -> bool {
        let room = self.room();
        // Enough is read for the next posts. A visit that read more would hold bodies in memory, and would have to read
        // their deliveries again if its time ended. Deliveries that wait for one of their subject need no room now, but
        // they are in memory too.
        let held = self.ready.len() + posting;
        let is_room = held <= room || held <= room + MOST && self.ready.free() + posting <= room;
        room > 0 && self.may_begin() && is_room
    }

    /// When the visit reads again what was added meanwhile: only while posts are in flight or a job has work, because
    /// otherwise the visit ends.
    fn look_again_at(&self, posting: usize) -> Option<Instant> {
        let has_work = posting > 0 || self.job.is_some() || !self.jobs.is_empty();
        (has_work && self.progress.is_read() && self.may_read(posting))
            .then(|| self.read_at + LOOK_AGAIN_AFTER)
    }

    /// Chooses what to read next: first waiting deliveries, then fresh ones, then those of jobs.
    fn next_read(&mut self, posting: usize) -> Option<Reading<'a>> {
        if !self.may_read(posting) {
            return None;
        }
        if self.look_again_at(posting).is_some_and(|at| at <= Instant::now()) {
            self.looks_again = true;
            self.progress.look_again(self.invocation.store.now());
        }
        let room = self.room();
        let read = match self.progress.begin_read() {
            Some(range) => {
                self.read_at = Instant::now();
                Read::Range(range)
            }
            None if self.job.is_none() => {
                Read::Job(Box::new(self.jobs.pop_front()?), Box::new(self.lane.clone()))
            }
            None => return None,
        };
        let (store, slot, now) = (self.invocation.store, self.slot, self.invocation.store.now());
        Some(Box::pin(read_page(store, slot, read, room.min(MOST), now)))
    }

    /// Takes the deliveries of a page that need work, and processes each.
    async fn take_page(&mut self, page: Result<Page, StoreError>) {
        let Page { rows, needed } = match page {
            Ok(page) => page,
            Err(error) => return self.fail(error),
        };
        // A page from which nothing may be posted is not taken, so the watermarks stay before its deliveries.
        if let Some(stop) = needed.as_ref().and_then(Stop::of) {
            self.stop = Some(stop);
            return;
        }
        let VisitBatch { endpoint, secrets, mut events, .. } = needed.unwrap_or_default();
        if let Some(endpoint) = &endpoint {
            self.caps = endpoint.caps.of_slot(endpoint.slots);
        }
        let taken: Vec<Delivery> = match rows {
            Rows::Fresh { mut rows, mut next } => {
                // Who records an event writes the deliveries before the event, and notifies the lane at the end. A visit
                // that reads in between leaves them for its next look, or for the visit that the notification starts.
                let is_unrecorded = |row: &Delivery| !events.contains_key(&row.event);
                if self.looks_again
                    && let Some(at) = rows.iter().position(is_unrecorded)
                {
                    rows.truncate(at);
                    next = None;
                }
                let taken = self.progress.take_fresh(&rows, next);
                taken.into_iter().map(|delivery| self.marked_if_asked(delivery)).collect()
            }
            Rows::Waiting { due, last, next_due } => {
                let taken = self.progress.take_waiting(&due, last, next_due);
                taken.into_iter().map(|delivery| self.restarted_if_asked(delivery)).collect()
            }
            Rows::Job(job, page, rows) => self.take_job(*job, page, rows, endpoint.as_ref(), &events),
        };
        if let Some(endpoint) = endpoint.filter(|_| !taken.is_empty()) {
            let Some(secrets) = secrets else {
                // Secrets are created and deleted together with their endpoint. Missing secrets are lost, and an
                // operator can repair that.
                let key = format!("the secrets of {} / {}", self.slot.workspace, self.slot.endpoint);
                let reason = "the endpoint has no secrets".to_owned();
                return self.fail(StoreError::Unreadable { key, reason });
            };
            let to = Arc::new(Receiver { endpoint, secrets });
            for delivery in taken {
                let event = events.remove(&delivery.event);
                self.process(delivery, event, &to);
            }
        }
        self.advance_job().await;
    }

    /// The mark of the job that asks for an attempt of this delivery. The visit attempts such a delivery before it
    /// comes to the job. The mark keeps the job from asking for it again.
    fn mark_of(&self, delivery: &Delivery) -> Option<JobId> {
        let asks =
            |of: &&LaneJob| matches!(of.job.kind, JobKind::Retry { event, .. } if event == delivery.event);
        self.enabling.or_else(|| self.jobs.iter().find(asks).map(|of| of.job.mark()))
    }

    /// The delivery, with the mark of a job that asks for it. Its schedule has not begun, so its row is not kept longer.
    fn marked_if_asked(&self, delivery: &Delivery) -> Delivery {
        Delivery { job: self.mark_of(delivery).or(delivery.job), ..delivery.clone() }
    }

    /// The delivery, with a new retry schedule if a job asks for it.
    fn restarted_if_asked(&self, delivery: &Delivery) -> Delivery {
        match self.mark_of(delivery).filter(|mark| delivery.job != Some(*mark)) {
            Some(mark) => delivery.restarted(mark, self.invocation.store.now()),
            None => delivery.clone(),
        }
    }

    /// Takes the deliveries that a job asks for. It passes over the others.
    fn take_job(
        &mut self,
        mut of: LaneJob,
        page: JobPage,
        rows: Vec<Delivery>,
        endpoint: Option<&WebhookEndpoint>,
        events: &HashMap<EventId, RecordedEvent>,
    ) -> Vec<Delivery> {
        let now = self.invocation.store.now();
        let mut taken = vec![];
        for delivery in rows {
            // Only `webhook enable` respects the age of deliveries. The other jobs name what they ask for.
            let is_forgotten = of.job.kind == JobKind::Enable
                && endpoint.is_some_and(|endpoint| !endpoint.remembers(delivery.created_at));
            let is_taken = of.job.asks_for(&delivery)
                && (is_forgotten || events.contains_key(&delivery.event))
                && self.progress.take_for_job(HomeKey::of(&delivery));
            of.job.passed += u64::from(!is_taken || is_forgotten);
            match (is_taken, is_forgotten) {
                (true, true) => self.handled(delivery.ended(DeliveryState::Parked), None),
                (true, false) => taken.push(delivery.restarted(of.job.mark(), now)),
                (false, _) => {}
            }
        }
        self.job = Some((of, page));
        taken
    }

    /// Decides whether a delivery is posted.
    fn process(&mut self, delivery: Delivery, event: Option<RecordedEvent>, to: &Arc<Receiver>) {
        let is_for_job = self.progress.is_for_job(HomeKey::of(&delivery));
        if !is_for_job && !to.endpoint.remembers(delivery.created_at) {
            return self.handled(delivery.ended(DeliveryState::Parked), None);
        }
        if let Some(died) = delivery.died() {
            // Its post killed the worker. That is a failed attempt at the time when it began.
            let at = died.at;
            let next = self.next_after(&delivery, died.outcome, at);
            let state = next.state().as_str();
            tracing::warn!(delivery = %delivery.id(), attempt = died.number, state, "attempt died");
            let request = event.as_ref().and_then(|event| event.request.as_deref());
            return self.attempted(&delivery, request, died, next, at);
        }
        match event {
            Some(event) => {
                self.ready.push(event.about, Work { delivery, event, to: to.clone(), leads_back: None });
            }
            None => {
                let now = self.invocation.store.now();
                self.handled(without_event(&delivery, now), None);
            }
        }
    }

    fn next_after(&self, delivery: &Delivery, outcome: AttemptOutcome, now: Timestamp) -> Next {
        // Each delivery has its own jitter, so deliveries that failed together are not retried together.
        let drawn =
            Uuid::from_u128(self.lease.as_u128() ^ delivery.event.as_uuid().as_u128().rotate_left(32));
        Next::after(outcome, delivery.failures, &self.invocation.rules.schedule, Jitter::of(&drawn), now)
    }

    /// Processes the end of a post.
    async fn posted(&mut self, work: Work, at: Timestamp, ended: Ended) {
        // A failed delivery does not hold the others of its subject: its retry comes later, by its pointer.
        self.ready.ended(work.event.about);
        let attempt = match ended {
            Ended::Posted(attempt) => attempt,
            Ended::NotSent => {
                self.invocation.counted.egress_failures.add(1);
                tracing::warn!(delivery = %work.delivery.id(), "request did not leave the network");
                self.stop.get_or_insert(Stop::NotSent);
                return;
            }
            Ended::Trouble(error) => return self.fail(error),
        };
        let Work { delivery, event, to, .. } = work;
        let (rules, now) = (self.invocation.rules, self.invocation.store.now());
        let pace = &mut self.lane.pace;
        pace.record(attempt.outcome, at, attempt.took, rules.patience(), &rules.schedule, now);
        let must_disable = !attempt.outcome.is_acknowledged() && pace.must_be_disabled(now);
        let mut next = self.next_after(&delivery, attempt.outcome, now);
        // A 410 does not count in the schedule, because the endpoint is disabled. If it could not be disabled, the
        // delivery must follow the schedule, or it would be posted again at once.
        if next == Next::Gone && !self.disable(&to.endpoint, DisabledReason::Gone).await {
            let jitter = Jitter::of(&self.lease);
            next = Next::after_failure(None, delivery.failures, &rules.schedule, jitter, now);
        }
        if must_disable {
            // If this fails, the next failed attempt tries again.
            self.disable(&to.endpoint, DisabledReason::Failing).await;
        } else {
            self.report(&to.endpoint, attempt.outcome.is_acknowledged(), now).await;
        }
        if let Some((of, _)) = &mut self.job
            && self.progress.is_for_job(HomeKey::of(&delivery))
        {
            of.job.attempted += 1;
            of.job.delivered += u64::from(next == Next::Delivered);
        }
        self.attempted(&delivery, event.request.as_deref(), attempt, next, now);
    }

    /// Records that the endpoint has failed for long, so that the workspace is told, or that it answers again. Once a visit: a
    /// write that failed is repeated by a later visit.
    async fn report(&mut self, endpoint: &WebhookEndpoint, is_acknowledged: bool, now: Timestamp) {
        let next = match (is_acknowledged, self.lane.pace.must_be_reported(now)) {
            (true, _) => endpoint.recovered(),
            (false, Some(since)) => endpoint.reported_failing(since),
            (false, None) => None,
        };
        let Some(next) = next.filter(|_| !std::mem::replace(&mut self.has_reported, true)) else { return };
        match self.invocation.store.replace_endpoint(&next).await {
            Ok(_) => {
                let (workspace, is_failing) = (next.workspace_id, next.failing_since.is_some());
                tracing::info!(workspace = %workspace, endpoint = %next.id, is_failing, "endpoint reported");
            }
            Err(error) => {
                tracing::warn!(endpoint = %next.id, cause = error_chain(&error), "endpoint not reported");
            }
        }
    }

    /// Disables the endpoint, unless it changed after it was read. Returns `false` if the write failed.
    async fn disable(&mut self, endpoint: &WebhookEndpoint, reason: DisabledReason) -> bool {
        let store = self.invocation.store;
        let Some(disabled) = endpoint.disabled(reason, store.now()) else { return true };
        match store.replace_endpoint(&disabled).await {
            Ok(is_done) => {
                if is_done {
                    self.invocation.counted.endpoints_disabled.add(1);
                    self.stop.get_or_insert(Stop::Disabled);
                    let WebhookEndpoint { workspace_id, id, .. } = &disabled;
                    tracing::warn!(workspace = %workspace_id, endpoint = %id, reason = reason.as_str(), "endpoint disabled");
                }
                true
            }
            Err(error) => {
                tracing::error!(endpoint = %disabled.id, cause = error_chain(&error), "endpoint not disabled");
                false
            }
        }
    }

    /// Logs and counts an attempt, and handles its delivery.
    fn attempted(
        &mut self,
        delivery: &Delivery,
        request: Option<&str>,
        attempt: Attempt,
        next: Next,
        now: Timestamp,
    ) {
        let after = delivery.attempted(&attempt, next, now);
        log_failure(delivery, request, &attempt, after.state);
        let counted = &self.invocation.counted;
        counted.delivery_attempt_time.took(attempt.took);
        let add = |to: &Count, name| {
            to.add(1);
            self.invocation.count(self.slot.workspace, now, name);
        };
        match attempt.outcome.is_acknowledged() {
            true => add(&counted.deliveries_acknowledged, usage::DELIVERED),
            false => add(&counted.deliveries_failed, usage::FAILED),
        }
        if next == Next::Exhausted {
            add(&counted.deliveries_exhausted, usage::EXHAUSTED);
        }
        self.handled(after, Some(attempt));
    }

    /// Adds the new state of a delivery to the next record.
    fn handled(&mut self, mut delivery: Delivery, attempt: Option<Attempt>) {
        let home = HomeKey::of(&delivery);
        let pointer = delivery.next_at.map(|next_at| self.progress.add_pointer(home, next_at));
        delivery.next_at = pointer.map(|pointer| pointer.not_before);
        self.to_record.push(Record { delivery, attempt, pointer });
        self.to_record_since.get_or_insert_with(Instant::now);
    }

    fn is_to_be_recorded(&self, is_idle: bool) -> bool {
        let has_waited = self.to_record_since.is_some_and(|since| since.elapsed() >= RECORD_AFTER);
        !self.to_record.is_empty() && (is_idle || self.to_record.len() >= RECORD_AT || has_waited)
    }

    fn record(&mut self) -> Recording<'a> {
        let records = std::mem::take(&mut self.to_record);
        self.to_record_since = None;
        let (store, slot, time) = (self.invocation.store, self.slot, self.invocation.budget);
        Box::pin(async move {
            let recorded = store.record_deliveries(slot, &records, time.left(store.now())).await;
            (records.iter().map(|record| HomeKey::of(&record.delivery)).collect(), recorded)
        })
    }

    async fn recorded(&mut self, homes: Vec<HomeKey>, recorded: Result<(), StoreError>) {
        if let Err(error) = recorded {
            return self.fail(error);
        }
        for home in homes {
            self.progress.recorded(home);
        }
        self.advance_job().await;
    }

    /// Saves the progress of the job when its whole page is recorded.
    async fn advance_job(&mut self) {
        let Some((of, page)) = self.job.take_if(|_| self.progress.job_is_recorded()) else { return };
        match self.invocation.store.advance_job(&of, &page, &of.job).await {
            // The job has more pages. It stays first, so that jobs end in the order of their requests.
            Ok(Some(next)) if next.job.state == JobState::Active => self.jobs.push_front(next),
            // The job is done, or an operator cancelled it.
            Ok(_) => self.lane.has_jobs = !self.jobs.is_empty(),
            Err(error) => self.fail(error),
        }
    }

    /// Stops because of a failure of the tables. The first one counts.
    fn fail(&mut self, error: StoreError) {
        if !matches!(self.stop, Some(Stop::Trouble(_))) {
            self.stop = Some(Stop::Trouble(error));
        }
    }

    /// The state in which the visit leaves the lane.
    fn rest(&mut self) -> Result<Rest, StoreError> {
        let now = self.invocation.store.now();
        match self.stop.take() {
            // Whoever enables the endpoint requests a job, and that makes the lane due.
            Some(Stop::Disabled) => return Ok(Rest::Done),
            Some(Stop::Paused) => return Ok(Rest::Closed(now.plus(Workspace::LOOKS_AGAIN_AFTER))),
            Some(Stop::NotSent) => return Ok(Rest::Closed(now.plus(OUTAGE))),
            Some(Stop::Trouble(error)) => return Err(error),
            None => {}
        }
        let is_left = !self.progress.is_done() || self.job.is_some() || !self.jobs.is_empty();
        let next_wait = self.progress.next_wait();
        // An open circuit closes the lane also for new work: nothing is posted until it lets a probe through.
        Ok(match (self.lane.pace.allowance(self.caps, now), next_wait) {
            (Allowance::Closed(until), _) if is_left || next_wait.is_some() => Rest::Closed(until),
            _ if is_left => Rest::TimeUp,
            (_, Some(at)) => Rest::Waits(at),
            (_, None) => Rest::Done,
        })
    }
}

impl Stop {
    /// Why nothing may be posted from a page.
    fn of(needed: &VisitBatch) -> Option<Self> {
        match &needed.endpoint {
            _ if needed.workspace.is_some_and(WorkspaceState::is_disabled) => Some(Self::Paused),
            Some(endpoint) if endpoint.is_enabled() => None,
            _ => Some(Self::Disabled),
        }
    }
}

/// Waits for the future. Without a future, it never returns.
async fn maybe<F: Future + Unpin>(future: &mut Option<F>) -> F::Output {
    match future {
        Some(future) => future.await,
        None => std::future::pending().await,
    }
}

/// Sleeps until the moment. Without a moment, it never returns.
async fn until(moment: Option<Instant>) {
    match moment {
        Some(moment) => sleep_until(moment).await,
        None => std::future::pending().await,
    }
}
