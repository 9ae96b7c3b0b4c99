//! A visit of a webhook lane reads deliveries page by page, posts as many at the same time as the endpoint's pace
//! allows, and records each outcome.
//!
//! The visit reads, posts and records concurrently, and no delivery waits for the answer to another. For each range
//! of the lane, the visit tracks the deliveries that are not handled yet, so the watermarks that it saves never pass
//! unfinished work.

use std::collections::{BTreeSet, HashSet, VecDeque};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use domain::retry::Jitter;
use domain::webhook::DisabledReason;
use domain::webhook::delivery::Next;
use domain::webhook::job::Job;
use domain::webhook::pace::Allowance;
use domain::{
    Attempt, AttemptOutcome, Delivery, DeliveryState, EndpointCaps, EventId, JobId, JobKind, JobState,
    LaneId, Rest, Slot, Timestamp, WebhookEndpoint, Workspace, WorkspaceState, error_chain,
};
use futures::StreamExt;
use futures::stream::FuturesUnordered;
use store::{HomeKey, JobPage, LaneJob, Leased, Pointer, Record, StoreError, WebhookLane};
use tokio::time::{Instant, sleep_until};
use uuid::Uuid;
use worker::VisitEnd;

use crate::attempt::{Ended, Work, attempt, log_end, without_event};
use crate::feed::{MOST, Needed, Page, Read, Source, read_page};
use crate::invocation::Invocation;
use crate::transport::Transport;

/// When a lane is visited again if nothing left the deployment's own network.
const OUTAGE: Duration = Duration::from_secs(30);
/// The number of ended posts that triggers a write.
const RECORD_AT: usize = 25;
/// How long an ended post waits for a write at most. If this process dies, a post that is not recorded is sent again.
const RECORD_AFTER: Duration = Duration::from_millis(100);
/// After this many visits in a row that died, the next one is careful: it posts one delivery at a time.
const CAREFUL_AFTER: u64 = 2;

/// Visits a lane, and saves in the lane what the visit learned.
pub(crate) async fn visit<T: Transport>(
    invocation: &Invocation<'_, T>,
    leased: &mut Leased,
) -> Result<VisitEnd, StoreError> {
    let (lane, lease, deaths) = (leased.lane, leased.lease, leased.deaths);
    let (LaneId::Webhook(slot), Some(state)) = (lane, leased.webhook()) else { return Ok(VisitEnd::Lost) };
    let mut visit = Visit::new(invocation, slot, lease, deaths, state.clone());
    let ended = Box::pin(visit.through()).await;
    *state = visit.leave();
    ended.map(VisitEnd::Rest)
}

type Posting<'a> = Pin<Box<dyn Future<Output = (Work, Timestamp, Ended)> + 'a>>;
type Reading<'a> = Pin<Box<dyn Future<Output = Result<Page, StoreError>> + 'a>>;
type Recording<'a> = Pin<Box<dyn Future<Output = (Vec<Handled>, Result<(), StoreError>)> + 'a>>;

struct Visit<'a, T> {
    invocation: &'a Invocation<'a, T>,
    slot: Slot,
    lease: Uuid,
    deaths: u64,
    is_careful: bool,
    lane: WebhookLane,
    caps: EndpointCaps,
    fresh: Range<HomeKey>,
    waiting: Range<Pointer>,
    /// The pointers that were read.
    looked_at: BTreeSet<Pointer>,
    /// When the first pointer is due that is not due yet.
    next_wait: Option<Timestamp>,
    jobs: VecDeque<LaneJob>,
    job: Option<JobRun>,
    /// The deliveries to post next.
    ready: VecDeque<Work>,
    /// The events that are ready or being posted. No delivery is posted twice at the same time.
    busy: HashSet<EventId>,
    /// The events that were recorded while a page was being read. The page may show their old state.
    unsure: HashSet<EventId>,
    /// The pointers that this visit wrote.
    put: BTreeSet<Pointer>,
    /// The mark of the unfinished job of an endpoint that was enabled. While it is set, the retry schedule of each
    /// waiting delivery starts again.
    enabling: Option<JobId>,
    /// The handled deliveries that are not recorded yet, and since when the first one waits.
    ended: Vec<(Record, Handled)>,
    ended_since: Option<Instant>,
    stop: Option<Stop>,
    trouble: Option<StoreError>,
}

/// The progress in one range of the lane.
struct Range<K> {
    /// The keys that were read and are not handled yet.
    open: BTreeSet<K>,
    /// Where the next page begins.
    next: Option<K>,
    /// Whether the range was read to its end.
    is_read: bool,
}

impl<K: Ord + Copy> Range<K> {
    fn from(next: Option<K>, is_read: bool) -> Self {
        Self { open: BTreeSet::new(), next, is_read }
    }

    fn is_done(&self) -> bool {
        self.is_read && self.open.is_empty()
    }
}

/// A running job.
struct JobRun {
    job: LaneJob,
    page: JobPage,
    progress: Job,
    /// How many deliveries of the page are not handled yet.
    open: usize,
}

/// A handled delivery that is only to be recorded.
struct Handled {
    place: HomeKey,
    source: Source,
}

/// Why the visit begins nothing more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stop {
    /// The endpoint was disabled or deleted, so it receives nothing.
    Disabled,
    /// The workspace is disabled, so its deliveries wait.
    Paused,
    /// Nothing leaves the deployment's own network.
    NotSent,
    /// The service's own tables failed.
    Trouble,
}

impl<'a, T: Transport> Visit<'a, T> {
    fn new(
        invocation: &'a Invocation<'a, T>,
        slot: Slot,
        lease: Uuid,
        deaths: u64,
        lane: WebhookLane,
    ) -> Self {
        let (base, waited, is_waiting) = (lane.base, lane.waited, lane.is_waiting());
        Self {
            invocation,
            slot,
            lease,
            deaths,
            is_careful: deaths >= CAREFUL_AFTER,
            lane,
            caps: EndpointCaps::default(),
            fresh: Range::from(base, false),
            waiting: Range::from(waited, !is_waiting),
            looked_at: BTreeSet::new(),
            next_wait: None,
            jobs: VecDeque::new(),
            job: None,
            ready: VecDeque::new(),
            busy: HashSet::new(),
            unsure: HashSet::new(),
            put: BTreeSet::new(),
            enabling: None,
            ended: vec![],
            ended_since: None,
            stop: None,
            trouble: None,
        }
    }

    /// Works until no work is left, all remaining work waits, or the time is up.
    async fn through(&mut self) -> Result<Rest, StoreError> {
        if self.deaths > 0 {
            // The visit that died may have written pointers that the lane does not know.
            let last = self.invocation.store.last_pointer(self.slot).await?;
            self.lane.last_wait = self.lane.last_wait.max(last);
            self.waiting.is_read = !self.lane.is_waiting();
        }
        if self.lane.has_jobs {
            self.take_jobs().await?;
        }
        let mut posts: FuturesUnordered<Posting<'a>> = FuturesUnordered::new();
        let (mut reading, mut recording): (Option<Reading<'a>>, Option<Recording<'a>>) = (None, None);
        loop {
            let wait_for = self.begin_posts(&mut posts);
            if reading.is_none() {
                reading = self.next_read(posts.len(), recording.is_some());
            }
            if recording.is_none() && self.is_to_be_recorded(posts.is_empty() && reading.is_none()) {
                recording = Some(self.record());
            }
            let record_at =
                self.ended_since.filter(|_| recording.is_none()).map(|since| since + RECORD_AFTER);
            if posts.is_empty() && reading.is_none() && recording.is_none() && wait_for.is_none() {
                break;
            }
            tokio::select! {
                biased;
                Some((work, at, ended)) = posts.next(), if !posts.is_empty() => {
                    self.posted(work, at, ended).await;
                }
                page = maybe(&mut reading) => {
                    reading = None;
                    self.take_page(page).await;
                }
                (handled, recorded) = maybe(&mut recording) => {
                    recording = None;
                    self.recorded(handled, recorded).await;
                }
                () = until(record_at) => {}
                () = until(wait_for) => {}
            }
        }
        match self.trouble.take() {
            Some(trouble) => Err(trouble),
            None => Ok(self.rest()),
        }
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
        while posts.len() < self.room() && self.may_begin() && !self.ready.is_empty() {
            let now = self.invocation.store.now();
            if let Some(ready_at) = self.lane.ready_at.filter(|ready_at| *ready_at > now) {
                return self
                    .invocation
                    .budget
                    .may_begin(ready_at)
                    .then(|| Instant::now() + ready_at.since(now));
            }
            if let Some(per_second) = self.caps.per_second {
                let from = self.lane.ready_at.map_or(now, |ready_at| ready_at.max(now));
                self.lane.ready_at = Some(from.plus(Duration::from_secs(1) / u32::from(per_second)));
            }
            let Some(mut work) = self.ready.pop_front() else { break };
            if self.is_careful && work.source == Source::Job {
                self.lead_back(&mut work);
            }
            let (invocation, is_careful) = (self.invocation, self.is_careful);
            posts.push(Box::pin(async move {
                let (at, ended) = attempt(invocation, &work, is_careful).await;
                (work, at, ended)
            }));
        }
        None
    }

    /// Only the job leads to a delivery that had already ended. If the post kills this worker, an operator may cancel
    /// the job before the next visit. So the delivery is recorded as waiting from now on.
    fn lead_back(&mut self, work: &mut Work) {
        let put = self.lane.pointer(HomeKey::of(&work.delivery), self.invocation.store.now());
        self.put.insert(put);
        work.delivery.next_at = Some(put.not_before);
        work.leads_back = Some(put);
    }

    /// Chooses what to read next: first waiting deliveries, then fresh ones, then those of jobs.
    fn next_read(&mut self, posting: usize, is_recording: bool) -> Option<Reading<'a>> {
        let room = self.room();
        if room == 0 || !self.may_begin() || self.ready.len() + posting > room {
            return None;
        }
        let read = if !self.waiting.is_read {
            Read::Waiting(self.waiting.next)
        } else if !self.fresh.is_read {
            Read::Fresh(self.fresh.next)
        } else if self.job.is_none()
            // A job decides by the rows of deliveries, so it reads them after all of them are written.
            && self.busy.is_empty()
            && self.ended.is_empty()
            && !is_recording
            && let Some(job) = self.jobs.pop_front()
        {
            Read::Job(Box::new(job), Box::new(self.lane.clone()))
        } else {
            return None;
        };
        let (store, slot, now) = (self.invocation.store, self.slot, self.invocation.store.now());
        self.unsure.clear();
        Some(Box::pin(read_page(store, slot, read, room.min(MOST), now)))
    }

    /// Sorts a page: a delivery that needs a post becomes ready, and the others are handled at once.
    async fn take_page(&mut self, page: Result<Page, StoreError>) {
        let page = match page {
            Ok(page) => page,
            Err(error) => return self.fail(error),
        };
        if let Some(needed) = &page.needed {
            if needed.workspace.is_some_and(WorkspaceState::is_disabled) {
                self.stop = Some(Stop::Paused);
                return;
            }
            match &needed.endpoint {
                Some(endpoint) if endpoint.is_enabled() => self.caps = endpoint.caps.of_slot(endpoint.slots),
                _ => {
                    self.stop = Some(Stop::Disabled);
                    return;
                }
            }
        }
        match &page.read {
            Read::Fresh(_) => self.take_fresh(&page),
            Read::Waiting(_) => self.take_waiting(&page),
            Read::Job(job, _) => self.take_job(&page, job).await,
        }
    }

    /// The mark of the job that asks for an attempt of this delivery.
    fn retrying(&self, delivery: &Delivery) -> Option<JobId> {
        let asks = |job: &Job| matches!(job.kind, JobKind::Retry { event, .. } if event == delivery.event);
        self.jobs.iter().find(|of| asks(&of.job)).map(|of| of.job.mark())
    }

    /// Whether a page may show an old state of the delivery.
    fn is_in_hand(&self, event: EventId) -> bool {
        self.busy.contains(&event) || self.unsure.contains(&event)
    }

    fn take_fresh(&mut self, page: &Page) {
        for (delivery, _) in &page.deliveries {
            let place = HomeKey::of(delivery);
            // A delivery with a next attempt was already attempted, and its pointer exists.
            let is_fresh = delivery.next_at.is_none() || delivery.begun_at.is_some();
            if delivery.state == DeliveryState::Pending && is_fresh && !self.is_in_hand(delivery.event) {
                self.fresh.open.insert(place);
                // If the attempt fails, the delivery waits. The mark keeps a later job from asking for it again.
                let job = self.enabling.or_else(|| self.retrying(delivery)).or(delivery.job);
                self.make_ready(Delivery { job, ..delivery.clone() }, Source::Fresh, page);
            }
        }
        let last = page.deliveries.last().map(|(last, _)| HomeKey::of(last).next());
        self.fresh.next = page.fresh_from.or(last).or(self.fresh.next);
        self.fresh.is_read = !page.more;
    }

    fn take_waiting(&mut self, page: &Page) {
        self.looked_at.extend(
            page.deliveries.iter().filter_map(|(_, pointer)| *pointer).chain(page.stale.iter().copied()),
        );
        self.waiting.next = self.looked_at.last().copied().or(self.waiting.next);
        // This must happen before any pointer is written: a pointer must not be written behind the position that was
        // read.
        self.lane.looked_to = self.waiting.next.max(self.lane.looked_to);
        for (delivery, pointer) in &page.deliveries {
            let Some(pointer) = *pointer else { continue };
            if self.is_in_hand(delivery.event) {
                // The record of the delivery shows whether this pointer is still valid, so the next visit checks it.
                self.waiting.open.insert(pointer);
                continue;
            }
            // Only a pending delivery waits, and its pointer must match the time in its row.
            if delivery.state != DeliveryState::Pending || delivery.next_at != Some(pointer.not_before) {
                continue;
            }
            self.waiting.open.insert(pointer);
            let mark = self.enabling.or_else(|| self.retrying(delivery));
            let delivery = match mark.filter(|mark| delivery.job != Some(*mark)) {
                Some(mark) => delivery.restarted(mark, self.invocation.store.now()),
                None => delivery.clone(),
            };
            self.make_ready(delivery, Source::Waited(pointer), page);
        }
        self.waiting.is_read = !page.more;
        self.next_wait = earlier(self.next_wait, page.next_wait);
    }

    async fn take_job(&mut self, page: &Page, job: &LaneJob) {
        let Some(of_job) = page.of_job.clone() else { return };
        let mut run = JobRun { job: job.clone(), page: of_job, progress: job.job.clone(), open: 0 };
        let now = self.invocation.store.now();
        for (delivery, _) in &page.deliveries {
            let has_event =
                page.needed.as_ref().is_some_and(|needed| needed.events.contains_key(&delivery.event));
            let is_asked_for = job.job.asks_for(delivery) && !self.busy.contains(&delivery.event);
            if is_asked_for && job.job.kind == JobKind::Enable && !remembers(page, delivery) {
                run.open += 1;
                run.progress.passed += 1;
                self.handled(delivery.ended(DeliveryState::Parked), None, Source::Job);
            } else if is_asked_for && has_event {
                run.open += 1;
                self.make_ready(delivery.restarted(job.job.mark(), now), Source::Job, page);
            } else {
                run.progress.passed += 1;
            }
        }
        self.job = Some(run);
        self.advance_job().await;
    }

    /// Decides whether a delivery is posted.
    fn make_ready(&mut self, delivery: Delivery, source: Source, page: &Page) {
        let Some(needed) = page.needed.clone() else { return };
        let Needed { endpoint: Some(endpoint), secrets, events, .. } = &*needed else { return };
        let now = self.invocation.store.now();
        if secrets.is_none() {
            // Secrets are created and deleted together with their endpoint. Missing secrets are lost, and an operator
            // can repair that.
            let key = format!("the secrets of {} / {}", self.slot.workspace, self.slot.endpoint);
            return self
                .fail(StoreError::Unreadable { key, reason: "the endpoint has no secrets".to_owned() });
        }
        if source != Source::Job && !endpoint.remembers(delivery.created_at) {
            return self.handled(delivery.ended(DeliveryState::Parked), None, source);
        }
        if let Some(died) = delivery.died() {
            return self.died(&delivery, &died, source, &needed);
        }
        if !events.contains_key(&delivery.event) {
            return self.handled(without_event(&delivery, now), None, source);
        }
        self.busy.insert(delivery.event);
        self.ready.push_back(Work { delivery, source, needed, leads_back: None });
    }

    /// Records a post that killed its worker as a failed attempt at the time when it began.
    fn died(&mut self, delivery: &Delivery, died: &Attempt, source: Source, needed: &Arc<Needed>) {
        let next = self.next_after(delivery, died.outcome, died.at);
        let after = delivery.attempted(died, next, died.at);
        tracing::warn!(delivery = %delivery.id(), attempt = died.number, state = after.state.as_str(), "attempt died");
        let work = Work { delivery: delivery.clone(), source, needed: needed.clone(), leads_back: None };
        log_end(&work, died, after.state);
        self.count(died, next);
        self.handled(after, Some(died.clone()), source);
    }

    fn next_after(&self, delivery: &Delivery, outcome: AttemptOutcome, now: Timestamp) -> Next {
        // Each delivery has its own jitter, so deliveries that failed together are not retried together.
        let drawn =
            Uuid::from_u128(self.lease.as_u128() ^ delivery.event.as_uuid().as_u128().rotate_left(32));
        Next::after(outcome, delivery.failures, &self.invocation.rules.schedule, Jitter::of(&drawn), now)
    }

    /// Processes the end of a post.
    async fn posted(&mut self, work: Work, at: Timestamp, ended: Ended) {
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
        let (rules, now) = (self.invocation.rules, self.invocation.store.now());
        let pace = &mut self.lane.pace;
        pace.saw(attempt.outcome, at, attempt.took, rules.patience(), &rules.schedule, now);
        let must_be_disabled = !attempt.outcome.is_acknowledged() && pace.must_be_disabled(now);
        let mut next = self.next_after(&work.delivery, attempt.outcome, now);
        if next == Next::Gone && !self.disable(&work.needed, DisabledReason::Gone).await {
            let jitter = Jitter::of(&self.lease);
            next = Next::after_failure(None, work.delivery.failures, &rules.schedule, jitter, now);
        }
        if must_be_disabled {
            // If the endpoint cannot be disabled now, the next failure tries again.
            self.disable(&work.needed, DisabledReason::Failing).await;
        }
        let after = work.delivery.attempted(&attempt, next, now);
        log_end(&work, &attempt, after.state);
        self.count(&attempt, next);
        if let (Source::Job, Some(job)) = (work.source, &mut self.job) {
            job.progress.attempted += 1;
            job.progress.delivered += u64::from(next == Next::Delivered);
        }
        self.handled(after, Some(attempt), work.source);
    }

    /// Disables the endpoint, unless it changed after it was read. Returns `false` if the write failed.
    async fn disable(&mut self, needed: &Needed, reason: DisabledReason) -> bool {
        let store = self.invocation.store;
        let disabled = needed.endpoint.as_ref().and_then(|endpoint| endpoint.disabled(reason, store.now()));
        let Some(disabled) = disabled else { return true };
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

    fn count(&self, attempt: &Attempt, next: Next) {
        let counted = &self.invocation.counted;
        counted.delivery_attempt_time.took(attempt.took);
        match attempt.outcome.is_acknowledged() {
            true => counted.deliveries_acknowledged.add(1),
            false => counted.deliveries_failed.add(1),
        }
        counted.deliveries_exhausted.add(usize::from(next == Next::Exhausted));
    }

    /// Adds the new state of a delivery to the next record.
    fn handled(&mut self, mut delivery: Delivery, attempt: Option<Attempt>, source: Source) {
        let (place, mut pointer) = (HomeKey::of(&delivery), None);
        if let Some(next_at) = delivery.next_at {
            let put = self.lane.pointer(place, next_at);
            delivery.next_at = Some(put.not_before);
            self.put.insert(put);
            self.next_wait = earlier(self.next_wait, Some(put.not_before));
            pointer = Some(put);
        }
        self.ended.push((Record { delivery, attempt, pointer }, Handled { place, source }));
        self.ended_since.get_or_insert_with(Instant::now);
    }

    fn is_to_be_recorded(&self, is_idle: bool) -> bool {
        let has_waited = self.ended_since.is_some_and(|since| since.elapsed() >= RECORD_AFTER);
        !self.ended.is_empty() && (is_idle || self.ended.len() >= RECORD_AT || has_waited)
    }

    fn record(&mut self) -> Recording<'a> {
        let (records, handled): (Vec<_>, Vec<_>) = std::mem::take(&mut self.ended).into_iter().unzip();
        self.ended_since = None;
        let (store, slot, time) = (self.invocation.store, self.slot, self.invocation.budget);
        Box::pin(async move {
            let recorded = store.record_deliveries(slot, &records, time.left(store.now())).await;
            (handled, recorded)
        })
    }

    async fn recorded(&mut self, handled: Vec<Handled>, recorded: Result<(), StoreError>) {
        if let Err(error) = recorded {
            return self.fail(error);
        }
        for Handled { place, source } in handled {
            self.busy.remove(&place.event);
            self.unsure.insert(place.event);
            match source {
                Source::Fresh => drop(self.fresh.open.remove(&place)),
                Source::Waited(pointer) => drop(self.waiting.open.remove(&pointer)),
                Source::Job => {
                    if let Some(job) = &mut self.job {
                        job.open = job.open.saturating_sub(1);
                    }
                }
            }
        }
        self.advance_job().await;
    }

    /// Saves the progress of the job when its whole page is recorded.
    async fn advance_job(&mut self) {
        let Some(run) = self.job.take_if(|run| run.open == 0) else { return };
        match self.invocation.store.advance_job(&run.job, &run.page, &run.progress).await {
            Ok(Some(next)) if next.job.state == JobState::Active => self.jobs.push_front(next),
            Ok(_) => self.lane.has_jobs = !self.jobs.is_empty(),
            Err(error) => self.fail(error),
        }
    }

    fn fail(&mut self, error: StoreError) {
        self.stop = Some(Stop::Trouble);
        self.trouble.get_or_insert(error);
    }

    /// The state in which the visit leaves the lane.
    fn rest(&self) -> Rest {
        let now = self.invocation.store.now();
        let is_left =
            !self.fresh.is_done() || !self.waiting.is_done() || self.job.is_some() || !self.jobs.is_empty();
        let closed_until = match self.lane.pace.allowance(self.caps, now) {
            Allowance::Closed(until) => Some(until),
            Allowance::Probe | Allowance::Posts(_) => None,
        };
        match self.stop {
            Some(Stop::Disabled) => return Rest::Done,
            Some(Stop::Paused) => return Rest::Closed(now.plus(Workspace::LOOKS_AGAIN_AFTER)),
            Some(Stop::NotSent | Stop::Trouble) => return Rest::Closed(now.plus(OUTAGE)),
            None => {}
        }
        match (closed_until, self.next_wait) {
            (Some(until), _) if is_left => Rest::Closed(until),
            (None, _) if is_left => Rest::TimeUp,
            (Some(until), Some(_)) => Rest::Closed(until),
            (_, Some(at)) => Rest::Waits(at),
            (_, None) => Rest::Done,
        }
    }

    /// The lane row with the results of the visit.
    fn leave(self) -> WebhookLane {
        let mut lane = self.lane;
        lane.base = self.fresh.open.first().copied().or(self.fresh.next);
        // The next visit must find the pointers that this visit wrote and did not read, even if they are before the
        // position that was read.
        let unread = self.put.difference(&self.looked_at).next();
        let first_left = self.waiting.open.first().into_iter().chain(unread).min();
        let handled = self.looked_at.iter().take_while(|read| first_left.is_none_or(|left| *read < left));
        lane.waited = handled.last().copied().or(lane.waited);
        lane
    }
}

/// Whether the endpoint in the page still accepts a delivery of this age.
fn remembers(page: &Page, delivery: &Delivery) -> bool {
    let endpoint = page.needed.as_ref().and_then(|needed| needed.endpoint.as_ref());
    endpoint.is_none_or(|endpoint| endpoint.remembers(delivery.created_at))
}

fn earlier(one: Option<Timestamp>, other: Option<Timestamp>) -> Option<Timestamp> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
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
