//! The environment of the tests: an embedded DynamoDB, queues that keep their messages, and test receivers.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use aws_lambda_events::sqs::SqsEvent;
use domain::lane::LaneKind;
use domain::webhook::DisabledReason;
use domain::{
    Attempt, Delivery, DeliveryId, DeliveryState, EndpointId, Event, EventId, EventType, HomeKey, Job, JobId,
    JobKind, LaneId, RetrySchedule, Slot, Timestamp, Track, TrustedReceivers, WebhookEndpoint, Workspace,
    WorkspaceId,
};
use harness::{Call, Death, TestClock, TestDb, TestQueue, context, failed_messages, queue_event};
use lambda_runtime::LambdaEvent;
use queue::Queues;
use runtime::metrics::{Kept, Metrics};
use store::{EndpointCreated, LaneJob, NewEndpoint, NewEvent, NotifyResult, Store};
use tokio::sync::{Barrier, Notify};
use uuid::Uuid;
use webhook_delivery::{Engine, Rules};

use crate::reactions::{Reaction, Receivers};

pub(crate) const BODY: &[u8] = b"{\"eventId\":\"e\", \"payload\": {}}";
pub(crate) const LEASE: Duration = Duration::from_secs(90);
pub(crate) const TIMEOUT: Duration = Duration::from_secs(45);
pub(crate) const RESCUE: Duration = Duration::from_secs(120);
/// How long the sweeper claims a lane.
pub(crate) const CLAIM: Duration = Duration::from_secs(300);
pub(crate) const DAY: Duration = Duration::from_secs(86_400);

const FOREVER: Timestamp = Timestamp::from_millis(i64::MAX / 2);

pub(crate) fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

pub(crate) struct World {
    pub(crate) db: TestDb,
    /// Both queues; their names are `deliveries` and `deliveries-slow`.
    pub(crate) sqs: TestQueue,
    pub(crate) receivers: Receivers,
    pub(crate) engine: Engine<Receivers>,
    pub(crate) counted: Kept,
    /// The read and write units of visits and claims in the simulated time.
    spent: Mutex<(f64, f64)>,
}

impl World {
    /// A world with an endpoint and one delivery to it, of event 1.
    pub(crate) async fn start() -> Self {
        let world = Self::empty().await;
        world.notify(&[1]).await;
        world
    }

    /// A world with the endpoint of `events/webhook-delivery.json`.
    pub(crate) async fn empty() -> Self {
        let db = TestDb::start().await;
        let (sqs, receivers) = (TestQueue::default(), Receivers::default());
        let (metrics, counted) = Metrics::kept(db.clock().clone());
        let workspace = Workspace::new(workspace(), "Acme", TestClock::START).unwrap();
        assert!(db.store().create_workspace(&workspace).await.unwrap());
        let secrets = harness::World::endpoint_secrets();
        let (webhook, by) = (webhook(), harness::operator());
        let new = NewEndpoint { endpoint: &webhook, secrets: &secrets, by, kept: None };
        assert_eq!(db.store().create_endpoint(&workspace, &new).await.unwrap(), EndpointCreated::Done);
        let engine = Engine {
            store: db.store_of("webhook-delivery"),
            queues: queues(&sqs),
            transport: receivers.clone(),
            rules: rules(),
            metrics,
        };
        Self { db, sqs, receivers, engine, counted, spent: Mutex::default() }
    }

    pub(crate) fn store(&self) -> &Store {
        self.db.store()
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.store().now()
    }

    pub(crate) fn pass(&self, time: Duration) {
        self.db.clock().advance(time);
    }

    /// Records these events and adds them to their lane, as the relay does.
    pub(crate) async fn notify(&self, numbers: &[u64]) -> NotifyResult {
        let events: Vec<Event> = numbers.iter().map(|number| event(*number)).collect();
        self.tell_events(&events, BODY).await
    }

    pub(crate) async fn tell_events(&self, events: &[Event], body: &[u8]) -> NotifyResult {
        self.record(events, body).await;
        self.store().notify_webhook_lane(slot(), least(events), RESCUE).await.unwrap()
    }

    pub(crate) async fn record(&self, events: &[Event], body: &[u8]) {
        let new: Vec<NewEvent> = events.iter().map(|event| new_event(event, body)).collect();
        for recorded in self.store().record_events(&new).await {
            recorded.unwrap();
        }
    }

    /// Runs the function with these messages. Returns the numbers of the failed ones.
    pub(crate) async fn run(&self, bodies: &[String]) -> Vec<String> {
        self.run_on(Track::Fast, bodies).await
    }

    /// Runs the function with messages of the queue of this track.
    pub(crate) async fn run_on(&self, track: Track, bodies: &[String]) -> Vec<String> {
        let mut messages = self.messages(bodies);
        if track == Track::Slow {
            for message in &mut messages.payload.records {
                message.event_source_arn = message.event_source_arn.take().map(|arn| arn + "-slow");
            }
        }
        failed_messages(self.engine.handle(messages).await.unwrap())
    }

    /// Visits the lane. The message must not fail.
    pub(crate) async fn visit(&self) {
        assert_eq!(self.run(&[message()]).await, Vec::<String>::new());
    }

    pub(crate) fn messages(&self, bodies: &[String]) -> LambdaEvent<SqsEvent> {
        queue_event("webhook-delivery.json", bodies, context(self.now(), TIMEOUT))
    }

    /// Visits the lane, and runs `meanwhile` while the receiver has the request. Returns the failed messages.
    pub(crate) async fn visit_meanwhile(
        &self,
        status: u16,
        meanwhile: impl Future<Output = ()>,
    ) -> Vec<String> {
        let barrier = Arc::new(Barrier::new(2));
        self.receivers.then(Reaction::Meets(barrier.clone(), status));
        let posted = self.receivers.count();
        let message = [message()];
        let meets = async {
            while self.receivers.count() == posted {
                tokio::task::yield_now().await;
            }
            meanwhile.await;
            barrier.wait().await;
        };
        tokio::join!(self.run(&message), meets).0
    }

    /// Visits the lane and dies at a call of the database. Returns whether the visit ended before.
    pub(crate) async fn die(&self, calls: usize, death: Death) -> bool {
        let mut dead = self.db.die_after(calls, death);
        let is_through = tokio::select! {
            visited = self.engine.handle(self.messages(&[message()])) => visited.is_ok(),
            _ = &mut dead => false,
        };
        self.db.revive();
        is_through
    }

    /// Visits the lane and dies during the next post whose reaction hangs.
    pub(crate) async fn die_with_a_post(&self, got: &Notify) {
        tokio::select! {
            _ = self.engine.handle(self.messages(&[message()])) => panic!("the post did not hang"),
            () = got.notified() => {}
        }
    }

    /// Simulates the sweeper's run of a minute. Returns the lane's track if the lane was due and claimed.
    pub(crate) async fn sweep(&self) -> Option<Track> {
        let mut claimed = None;
        for shard in 0..Store::due_shards(LaneKind::Webhook) {
            for due in self.store().due_lanes(LaneKind::Webhook, shard, None, 100).await.unwrap().lanes {
                self.db.forget_calls();
                let claim = self.store().claim_lane(&due, self.now().plus(CLAIM)).await.unwrap();
                self.spend();
                claimed = claim.map(|claim| claim.track).or(claimed);
            }
        }
        claimed
    }

    /// Advances the time with queue messages and the sweeper until the lane has no work left.
    pub(crate) async fn to_rest(&self) {
        self.until(FOREVER).await;
        assert_eq!(self.due().await, None);
    }

    /// Like [`World::to_rest`], for posts that kill their process.
    pub(crate) async fn to_rest_dying(&self, got: &Notify) {
        for _ in 0..1_000 {
            tokio::select! {
                () = self.to_rest() => return,
                () = got.notified() => {}
            }
        }
        panic!("the lane still has work");
    }

    /// Advances the time until then. Due queue messages start visits, and the sweeper runs each minute.
    pub(crate) async fn until(&self, end: Timestamp) {
        let mut held_back: Vec<(Timestamp, String)> = vec![];
        for _ in 0..10_000 {
            let queued = self.sqs.take().into_iter();
            held_back.extend(queued.map(|it| (self.now().plus(secs(it.delay)), it.body)));
            held_back.sort();
            let next_minute = |at: Timestamp| {
                let passed = at.max(self.now()).since(TestClock::START).as_millis();
                TestClock::START
                    .plus(Duration::from_millis(u64::try_from(passed.div_ceil(60_000) * 60_000).unwrap()))
            };
            let swept = self.due().await.map(next_minute);
            let queued = held_back.first().map(|(at, _)| *at);
            let Some(next) = [swept, queued].into_iter().flatten().min().filter(|next| *next <= end) else {
                if end < FOREVER {
                    self.db.clock().set(end.max(self.now()));
                }
                return;
            };
            self.db.clock().set(next.max(self.now()));
            if queued == Some(next) {
                let (_, body) = held_back.remove(0);
                self.db.forget_calls();
                self.run(&[body]).await;
                self.spend();
            } else if self.sweep().await.is_some() {
                self.db.forget_calls();
                self.run(&[message()]).await;
                self.spend();
            } else {
                // Another process has the lane, so the lease must end.
                self.pass(secs(60));
            }
        }
        panic!("the lane still has work");
    }

    /// Disables the endpoint.
    pub(crate) async fn disable(&self) -> WebhookEndpoint {
        let found = self.endpoint().await;
        let disabled = found.disabled(DisabledReason::Operator, self.now()).unwrap();
        assert!(self.store().replace_endpoint(&disabled).await.unwrap());
        disabled
    }

    /// Disables the workspace.
    pub(crate) async fn disable_workspace(&self) {
        let found = self.store().workspace(workspace()).await.unwrap().unwrap();
        assert!(self.store().replace_workspace(&found.disabled(self.now()).unwrap()).await.unwrap());
    }

    /// Enables the workspace.
    pub(crate) async fn enable_workspace(&self) {
        let found = self.store().workspace(workspace()).await.unwrap().unwrap();
        assert!(self.store().replace_workspace(&found.enabled().unwrap()).await.unwrap());
    }

    /// Enables the endpoint, with its job.
    pub(crate) async fn enable(&self) -> JobId {
        let enabled = self.endpoint().await.enabled(self.now()).unwrap();
        assert!(self.store().replace_endpoint(&enabled).await.unwrap());
        self.ask(JobKind::Enable).await
    }

    /// Asks for a job.
    pub(crate) async fn ask(&self, kind: JobKind) -> JobId {
        let id = JobId::from_uuid(domain::Ids::next(&**self.db.ids()));
        let job = Job::new(id, slot(), kind, self.now());
        assert!(self.store().request_job(&job, RESCUE, None).await.unwrap().0);
        id
    }

    pub(crate) async fn job(&self, id: JobId) -> LaneJob {
        self.store().job(slot(), id).await.unwrap().unwrap()
    }

    pub(crate) async fn endpoint(&self) -> WebhookEndpoint {
        self.store().endpoint(workspace(), endpoint()).await.unwrap().unwrap()
    }

    pub(crate) async fn change_endpoint(&self, change: impl FnOnce(&mut WebhookEndpoint)) {
        let mut next = self.endpoint().await;
        next.version += 1;
        change(&mut next);
        assert!(self.store().replace_endpoint(&next).await.unwrap());
    }

    /// Waits until this many calls of an operation have begun.
    pub(crate) async fn calls(&self, operation: &str, count: usize) {
        while self.db.calls().iter().filter(|call| call.operation == operation).count() < count {
            tokio::task::yield_now().await;
        }
    }

    /// The delivery of that event.
    pub(crate) async fn seen(&self, number: u64) -> (Delivery, Vec<Attempt>) {
        let delivery = self.delivery(event(number).id).await.unwrap();
        let attempts = self.store().attempts(&delivery).await.unwrap();
        (delivery, attempts)
    }

    pub(crate) async fn delivery(&self, event: EventId) -> Option<Delivery> {
        self.store().delivery(workspace(), DeliveryId { event, endpoint: endpoint() }).await.unwrap()
    }

    pub(crate) async fn state(&self, number: u64) -> DeliveryState {
        self.seen(number).await.0.state
    }

    /// The states of these deliveries, each with its number of attempts.
    pub(crate) async fn states(&self, numbers: impl IntoIterator<Item = u64>) -> Vec<(DeliveryState, u32)> {
        let mut states = vec![];
        for number in numbers {
            let (delivery, attempts) = self.seen(number).await;
            assert_eq!(delivery.attempts as usize, attempts.len(), "{number}");
            states.push((delivery.state, delivery.attempts));
        }
        states
    }

    /// When the lane is due.
    pub(crate) async fn due(&self) -> Option<Timestamp> {
        self.store().webhook_lane_due(slot()).await.unwrap()
    }

    pub(crate) fn told(&self, metric: &str) -> u64 {
        self.counted.values().get(metric).map_or(0, |values| values.iter().sum())
    }

    fn spend(&self) {
        let (read, written) = self.units();
        let mut spent = self.spent.lock().unwrap();
        *spent = (spent.0 + read, spent.1 + written);
    }

    /// The read and write units of visits and claims in the simulated time since the last call of this function.
    pub(crate) fn take_spent(&self) -> (f64, f64) {
        std::mem::take(&mut *self.spent.lock().unwrap())
    }

    /// The read and write units since `forget_calls`.
    pub(crate) fn units(&self) -> (f64, f64) {
        let units = |of: fn(&Call) -> f64| self.db.calls().iter().map(of).sum::<f64>();
        (units(|call| call.read_units), units(|call| call.write_units))
    }
}

pub(crate) fn queues(sqs: &TestQueue) -> Queues {
    let url = "http://queue.invalid/1/deliveries";
    Queues::default().with_webhooks(sqs.client(), url, format!("{url}-slow"))
}

pub(crate) fn rules() -> Rules {
    Rules {
        schedule: RetrySchedule::default(),
        lease: LEASE,
        attempt: secs(30),
        rescue: RESCUE,
        trusted: TrustedReceivers::none(),
    }
}

pub(crate) fn workspace() -> WorkspaceId {
    WorkspaceId::parse("3f1b8a52-6d0e-4c7a-9b1f-2a5d8e4c7b90").unwrap()
}

pub(crate) fn endpoint() -> EndpointId {
    EndpointId::parse("6f8a0b2c-4d6e-4f8a-9b0c-2d4e6f8a0b1c").unwrap()
}

pub(crate) fn slot() -> Slot {
    Slot { workspace: workspace(), endpoint: endpoint(), number: 0 }
}

pub(crate) fn webhook() -> WebhookEndpoint {
    harness::World::endpoint(workspace(), endpoint())
}

/// An event with its own time: this many milliseconds after the test began.
pub(crate) fn event(number: u64) -> Event {
    event_at(number, TestClock::START.plus(Duration::from_millis(number)))
}

pub(crate) fn event_at(number: u64, at: Timestamp) -> Event {
    let contact = Uuid::from_u128(0x8c2d_4e6f_1a3b_4c5d_8e7f_9a0b_1c2d_3e4f);
    Event::of_change(EventType::ContactUpdated, workspace(), &contact, number, at)
}

pub(crate) fn new_event(event: &Event, body: &[u8]) -> NewEvent {
    NewEvent {
        event: event.clone(),
        about: None,
        request: None,
        body: body.to_vec(),
        slots: vec![slot()].into(),
    }
}

pub(crate) fn place(event: &Event) -> HomeKey {
    HomeKey { at: event.at, event: event.id }
}

pub(crate) fn least(events: &[Event]) -> HomeKey {
    events.iter().map(place).min().unwrap()
}

/// The message that names the lane.
pub(crate) fn message() -> String {
    queue::body(&LaneId::Webhook(slot()))
}
