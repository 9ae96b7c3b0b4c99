//! The life of a delivery, over an embedded DynamoDB, with a stand-in for the receivers.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use aws_lambda_events::sqs::SqsEvent;
use aws_sdk_dynamodb::types::AttributeValue;
use domain::delivery::Next;
use domain::gate::Lane;
use domain::webhook::{DisabledReason, ReceiverKey, SigningSecret, SigningSecrets};
use domain::{
    Attempt, AttemptError, Delivery, DeliveryState, EndpointId, EndpointSecrets, EndpointState, EndpointUrl,
    Event, EventFilter, EventType, RetrySchedule, Timestamp, TrustedReceivers, WebhookEndpoint, Workspace,
    WorkspaceId,
};
use harness::{Call, Fault, Queued, TestClock, TestDb, TestQueue, fixture, queue_fixture, trips};
use lambda_runtime::{Context, LambdaEvent};
use queue::{DeliveryQueue, DeliveryQueues};
use runtime::metrics::{Kept, Metrics};
use store::{Lease, Table};
use tokio::sync::{Barrier, Notify};
use webhook_delivery::{Answer, Engine, Post, Rules, Transport, Unanswered};

pub(crate) const BODY: &[u8] = b"{\"eventId\":\"e\", \"payload\": {}}";
pub(crate) const LEASE: Duration = Duration::from_secs(90);
pub(crate) const TIMEOUT: Duration = Duration::from_secs(45);
pub(crate) const RESCUE: Duration = Duration::from_secs(120);

/// Receivers that answer what a test lines up, then 200.
#[derive(Clone, Default)]
pub(crate) struct Receivers(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    lined_up: VecDeque<Reaction>,
    posts: Vec<Posted>,
}

pub(crate) enum Reaction {
    Answers(u16, &'static str),
    Fails(AttemptError),
    /// Our own network lets nothing out.
    Stays,
    Panics,
    /// Got the request; what then happens to the sender is the test's.
    Hangs(Arc<Notify>),
    Meets(Arc<Barrier>, u16),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Posted {
    pub(crate) url: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Posted {
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.iter().find(|(header, _)| header == name).map_or("", |(_, value)| value)
    }
}

impl Receivers {
    pub(crate) fn then(&self, reaction: Reaction) -> &Self {
        self.0.lock().unwrap().lined_up.push_back(reaction);
        self
    }

    pub(crate) fn answer(&self, status: u16) -> &Self {
        self.then(Reaction::Answers(status, ""))
    }

    pub(crate) fn posts(&self) -> Vec<Posted> {
        self.0.lock().unwrap().posts.clone()
    }
}

impl Transport for Receivers {
    async fn post(&self, post: Post<'_>) -> Result<Answer, Unanswered> {
        let headers =
            post.headers.iter().map(|(name, value)| ((*name).to_owned(), value.expose().to_owned()));
        let posted = Posted {
            url: post.url.as_str().to_owned(),
            headers: headers.collect(),
            body: post.body.to_vec(),
        };
        let reaction = {
            let mut state = self.0.lock().unwrap();
            state.posts.push(posted);
            state.lined_up.pop_front()
        };
        let answer = |status, retry_after: &str| {
            let retry_after = (!retry_after.is_empty()).then(|| retry_after.to_owned());
            Ok(Answer { status, retry_after, body: b"answer".to_vec() })
        };
        match reaction {
            None => answer(200, ""),
            Some(Reaction::Answers(status, retry_after)) => answer(status, retry_after),
            Some(Reaction::Fails(error)) => Err(error.into()),
            Some(Reaction::Stays) => Err(Unanswered::NotSent),
            Some(Reaction::Panics) => panic!("as asked"),
            Some(Reaction::Hangs(got)) => {
                got.notify_one();
                std::future::pending().await
            }
            Some(Reaction::Meets(barrier, status)) => {
                barrier.wait().await;
                answer(status, "")
            }
        }
    }
}

pub(crate) struct World {
    pub(crate) db: TestDb,
    /// What is queued on the fast lane.
    pub(crate) fast: TestQueue,
    /// What is queued on the slow one, as retries are.
    pub(crate) sqs: TestQueue,
    pub(crate) receivers: Receivers,
    pub(crate) engine: Engine<Receivers>,
    pub(crate) counted: Kept,
}

impl World {
    /// An endpoint and one delivery to it: those of `events/webhook-delivery.json`.
    pub(crate) async fn start() -> Self {
        let db = TestDb::start().await;
        let (fast, sqs, receivers) = (TestQueue::default(), TestQueue::default(), Receivers::default());
        let (metrics, counted) = Metrics::kept(db.clock().clone());
        let workspace = Workspace::new(workspace(), "Acme", TestClock::START).unwrap();
        assert!(db.store().create_workspace(&workspace).await.unwrap());
        assert!(db.store().create_endpoint(&workspace, &webhook(), &secrets(7)).await.unwrap());
        let engine = Engine {
            store: db.store_of("webhook-delivery"),
            queues: DeliveryQueues {
                fast: DeliveryQueue::new(fast.client(), "http://queue.invalid/1/deliveries"),
                slow: DeliveryQueue::new(sqs.client(), "http://queue.invalid/1/deliveries-slow"),
            },
            transport: receivers.clone(),
            rules: Self::rules(),
            metrics,
        };
        let world = Self { db, fast, sqs, receivers, engine, counted };
        world.record(2).await;
        world
    }

    pub(crate) fn rules() -> Rules {
        Rules {
            schedule: RetrySchedule::default(),
            lease: LEASE,
            attempt: Duration::from_secs(30),
            rescue: RESCUE,
            trusted: TrustedReceivers::none(),
        }
    }

    pub(crate) async fn record(&self, version: u64) {
        let recorded =
            self.db.store().record_event(&event(version), None, BODY.to_vec(), &[endpoint()], RESCUE).await;
        recorded.unwrap();
    }

    /// Runs the function with these messages; the numbers of those that are to come again.
    pub(crate) async fn run(&self, bodies: &[String]) -> Vec<String> {
        self.run_on(Lane::Fast, bodies).await
    }

    /// The same with messages of that lane's queue.
    pub(crate) async fn run_on(&self, lane: Lane, bodies: &[String]) -> Vec<String> {
        let mut messages = self.messages(bodies);
        if lane == Lane::Slow {
            for message in &mut messages.payload.records {
                message.event_source_arn = message.event_source_arn.take().map(|arn| arn + "-slow");
            }
        }
        let response = self.engine.handle(messages).await.unwrap();
        response.batch_item_failures.into_iter().map(|failure| failure.item_identifier).collect()
    }

    pub(crate) fn messages(&self, bodies: &[String]) -> LambdaEvent<SqsEvent> {
        let event = queue_fixture("webhook-delivery.json", bodies);
        LambdaEvent::new(serde_json::from_value(event).unwrap(), self.context())
    }

    /// The function may run for 45 seconds from now on.
    pub(crate) fn context(&self) -> Context {
        let mut context = Context::default();
        context.deadline = u64::try_from(self.db.store().now().plus(TIMEOUT).as_millis()).unwrap();
        context
    }

    /// Runs the function; what is done meanwhile is done while the receiver has the request.
    pub(crate) async fn run_meanwhile(
        &self,
        status: u16,
        meanwhile: impl Future<Output = ()>,
    ) -> Vec<String> {
        let barrier = Arc::new(Barrier::new(2));
        self.receivers.then(Reaction::Meets(barrier.clone(), status));
        let posted = self.receivers.posts().len();
        let message = [message(2)];
        let meets = async {
            while self.receivers.posts().len() == posted {
                tokio::task::yield_now().await;
            }
            meanwhile.await;
            barrier.wait().await;
        };
        tokio::join!(self.run(&message), meets).0
    }

    pub(crate) async fn run_once(&self) {
        assert_eq!(self.run(&[message(2)]).await, Vec::<String>::new());
    }

    /// Disables the endpoint.
    pub(crate) async fn disable(&self) -> WebhookEndpoint {
        let disabled = webhook().disabled(DisabledReason::Operator, TestClock::START).unwrap();
        assert!(self.db.store().replace_endpoint(&disabled).await.unwrap());
        disabled
    }

    /// Waits for so many calls of an operation to be begun.
    pub(crate) async fn calls(&self, operation: &str, count: usize) {
        while self.db.calls().iter().filter(|call| call.operation == operation).count() < count {
            tokio::task::yield_now().await;
        }
    }

    pub(crate) async fn seen(&self) -> (Delivery, Vec<Attempt>) {
        let id = event(2).delivery_to(endpoint());
        self.db.store().delivery_with_attempts(workspace(), id).await.unwrap().unwrap()
    }

    pub(crate) async fn state(&self) -> DeliveryState {
        self.seen().await.0.state
    }

    pub(crate) async fn due(&self) -> usize {
        let mut due = 0;
        for shard in 0..store::Store::DUE_SHARDS {
            due += self.db.store().due_deliveries(shard, 100).await.unwrap().len();
        }
        due
    }
}

pub(crate) fn workspace() -> WorkspaceId {
    WorkspaceId::parse("3f1b8a52-6d0e-4c7a-9b1f-2a5d8e4c7b90").unwrap()
}

pub(crate) fn endpoint() -> EndpointId {
    EndpointId::parse("6f8a0b2c-4d6e-4f8a-9b0c-2d4e6f8a0b1c").unwrap()
}

pub(crate) fn webhook() -> WebhookEndpoint {
    WebhookEndpoint {
        id: endpoint(),
        workspace_id: workspace(),
        url: EndpointUrl::parse("https://hooks.example.com/in", &TrustedReceivers::none()).unwrap(),
        state: EndpointState::Enabled,
        filter: EventFilter::All,
        created_at: TestClock::START,
        version: 1,
    }
}

pub(crate) fn secrets(byte: u8) -> EndpointSecrets {
    EndpointSecrets {
        api_key: ReceiverKey::parse("customer-key").unwrap(),
        signing: SigningSecrets::only(SigningSecret::from_entropy([byte; 32])),
    }
}

pub(crate) fn event(version: u64) -> Event {
    let contact = domain::ContactId::parse("8c2d4e6f-1a3b-4c5d-8e7f-9a0b1c2d3e4f").unwrap();
    let at = Timestamp::parse("2026-10-20T09:15:28.123Z").unwrap();
    Event::of_change(EventType::ContactUpdated, workspace(), contact.as_uuid(), version, at)
}

/// The message about the delivery of that version's event.
pub(crate) fn message(version: u64) -> String {
    let delivery = event(version).delivery_to(endpoint());
    format!(r#"{{"workspaceId":"{}","deliveryId":"{delivery}"}}"#, workspace())
}

#[tokio::test]
async fn an_acknowledged_delivery_is_done_after_one_attempt_in_three_trips() {
    let world = World::start().await;
    world.receivers.answer(204);
    let sent =
        LambdaEvent::new(serde_json::from_value(fixture("webhook-delivery.json")).unwrap(), world.context());
    world.db.forget_calls();
    assert!(world.engine.handle(sent).await.unwrap().batch_item_failures.is_empty());
    assert_eq!(trips(&world.db.calls()), 3, "lease, reads, end");
    let units = |of: fn(&Call) -> f64| world.db.calls().iter().map(of).sum::<f64>();
    assert_eq!((units(|call| call.read_units), units(|call| call.write_units)), (3.0, 8.0));
    assert_eq!(world.db.calls().len(), 5, "with the gate, in and out");

    let (delivery, attempts) = world.seen().await;
    assert_eq!((delivery.state, delivery.attempts), (DeliveryState::Delivered, 1));
    assert_eq!((attempts.len(), attempts[0].number, attempts[0].at), (1, 1, TestClock::START));
    assert_eq!(attempts[0].outcome.error_code(), None);
    assert_eq!((world.sqs.take(), world.due().await), (vec![], 0));

    let posts = world.receivers.posts();
    assert_eq!(posts.len(), 1);
    assert_eq!((posts[0].url.as_str(), &posts[0].body[..]), ("https://hooks.example.com/in", BODY));
    assert_eq!(posts[0].header("x-service-api-key"), "customer-key");
    assert_eq!(posts[0].header("webhook-id"), event(2).id.to_string());
    assert_eq!(posts[0].header("x-service-timestamp"), "1767323045");
}

#[tokio::test]
async fn a_duplicate_message_posts_nothing_whether_at_the_same_time_or_later() {
    let world = World::start().await;
    assert!(world.run(&[message(2), message(2), message(2)]).await.is_empty());
    world.run_once().await;
    assert_eq!(world.receivers.posts().len(), 1);
    assert_eq!(world.state().await, DeliveryState::Delivered);
}

#[tokio::test]
async fn a_delivery_that_always_fails_follows_the_whole_schedule_and_is_then_exhausted() {
    let world = World::start().await;
    for wait in [5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400_u64] {
        world.receivers.answer(500);
        let before = world.db.store().now();
        world.run_once().await;
        let (delivery, _) = world.seen().await;
        assert_eq!(delivery.state, DeliveryState::Pending);
        let waited = delivery.next_at.since(before);
        assert!(waited.as_secs() >= wait && waited.as_secs_f64() <= wait as f64 * 1.2, "{waited:?} {wait}");
        let queued = world.sqs.take();
        if waited <= Duration::from_secs(900) {
            let held_back = Duration::from_secs(queued[0].delay);
            assert!(held_back >= waited && held_back < waited + Duration::from_secs(1), "{held_back:?}");
            assert_eq!((&queued[0].body, &queued[0].group), (&message(2), &endpoint().to_string()));
            assert_eq!(delivery.due_at, Some(delivery.next_at.plus(RESCUE)));
        } else {
            assert_eq!((queued, delivery.due_at), (Vec::<Queued>::new(), Some(delivery.next_at)));
        }
        world.run_once().await;
        world.db.clock().set(delivery.next_at);
    }
    world.receivers.answer(500);
    world.run_once().await;
    let (delivery, attempts) = world.seen().await;
    assert_eq!((delivery.state, delivery.due_at), (DeliveryState::Exhausted, None));
    assert_eq!(
        attempts.iter().map(|attempt| attempt.number).collect::<Vec<_>>(),
        (1..=10).collect::<Vec<_>>()
    );
    assert_eq!((world.receivers.posts().len(), world.sqs.take().len()), (10, 0));
}

#[tokio::test]
async fn each_attempt_is_signed_anew_over_the_same_bytes_under_the_same_id() {
    let world = World::start().await;
    world.receivers.answer(503);
    world.run_once().await;
    world.db.clock().advance(Duration::from_secs(6));
    world.run_once().await;
    let posts = world.receivers.posts();
    assert_eq!((&posts[0].body, &posts[1].body), (&BODY.to_vec(), &BODY.to_vec()));
    assert_eq!(posts[0].header("webhook-id"), posts[1].header("webhook-id"));
    assert_eq!(
        (posts[0].header("x-service-timestamp"), posts[1].header("x-service-timestamp")),
        ("1767323045", "1767323051")
    );
    assert_ne!(posts[0].header("webhook-signature"), posts[1].header("webhook-signature"));
    assert_eq!(world.state().await, DeliveryState::Delivered);
}

#[tokio::test]
async fn every_kind_of_failure_is_tried_again_and_logged_under_its_code() {
    for (reaction, code) in [
        (Reaction::Answers(302, ""), "REDIRECT"),
        (Reaction::Answers(404, ""), "HTTP_STATUS"),
        (Reaction::Fails(AttemptError::Timeout), "TIMEOUT"),
        (Reaction::Fails(AttemptError::ConnectFailed), "CONNECT_FAILED"),
        (Reaction::Fails(AttemptError::TlsFailed), "TLS_FAILED"),
        (Reaction::Fails(AttemptError::DnsFailed), "DNS_FAILED"),
        (Reaction::Fails(AttemptError::AddressRefused), "ADDRESS_REFUSED"),
        (Reaction::Fails(AttemptError::AnswerBroken), "ANSWER_BROKEN"),
    ] {
        let world = World::start().await;
        world.receivers.then(reaction);
        world.run_once().await;
        let (delivery, attempts) = world.seen().await;
        assert_eq!((delivery.state, delivery.failures), (DeliveryState::Pending, 1), "{code}");
        assert_eq!(attempts[0].outcome.error_code(), Some(code));
        assert_eq!(world.sqs.take().len(), 1);
    }
}

#[tokio::test]
async fn a_retry_after_lengthens_the_wait_on_429_and_503_and_nowhere_else() {
    for (status, header, least, most) in [
        (429, "600", 600, 600),
        (503, "Fri, 02 Jan 2026 03:14:05 GMT", 599, 600),
        (503, "1", 5, 6),
        (429, "9999999", 43_200, 43_200),
        (503, "soon", 5, 6),
        (500, "600", 5, 6),
    ] {
        let world = World::start().await;
        world.receivers.then(Reaction::Answers(status, header));
        world.run_once().await;
        let wait = world.seen().await.0.next_at.since(TestClock::START).as_secs();
        assert!((least..=most).contains(&wait), "{status} {header}: {wait}");
    }
}

#[tokio::test]
async fn a_410_disables_the_endpoint_and_parks_the_delivery_until_it_is_enabled() {
    let world = World::start().await;
    world.receivers.answer(410);
    world.run_once().await;
    let webhook = world.db.store().endpoint(workspace(), endpoint()).await.unwrap().unwrap();
    let gone = EndpointState::Disabled { since: TestClock::START, reason: DisabledReason::Gone };
    assert_eq!(webhook.state, gone);
    assert_eq!((world.state().await, world.sqs.take().len()), (DeliveryState::Parked, 0));
    world.run_once().await;
    assert_eq!(world.receivers.posts().len(), 1);

    assert!(world.db.store().replace_endpoint(&webhook.enabled().unwrap()).await.unwrap());
    assert_eq!(world.db.store().unpark_deliveries(workspace(), endpoint()).await.unwrap(), 1);
    world.run_once().await;
    assert_eq!(world.state().await, DeliveryState::Delivered);
}

#[tokio::test]
async fn a_delivery_whose_endpoint_was_disabled_between_attempts_is_parked_without_one() {
    let world = World::start().await;
    world.receivers.answer(500);
    world.run_once().await;
    world.disable().await;
    world.db.clock().advance(Duration::from_secs(6));
    world.run_once().await;
    let (delivery, attempts) = world.seen().await;
    assert_eq!((delivery.state, delivery.attempts, attempts.len()), (DeliveryState::Parked, 1, 1));
    assert_eq!(world.receivers.posts().len(), 1);
}

#[tokio::test]
async fn a_delivery_whose_endpoint_was_deleted_between_attempts_is_cancelled_without_one() {
    let world = World::start().await;
    world.receivers.answer(500);
    world.run_once().await;
    assert!(world.db.store().delete_endpoint(workspace(), endpoint()).await.unwrap());
    world.db.clock().advance(Duration::from_secs(6));
    world.run_once().await;
    assert_eq!(world.state().await, DeliveryState::Cancelled);
    assert_eq!(world.receivers.posts().len(), 1);
}

#[tokio::test]
async fn an_endpoint_deleted_during_an_attempt_has_its_delivery_cancelled_and_the_attempt_logged() {
    let world = World::start().await;
    let cancels = async {
        assert_eq!(world.db.store().cancel_deliveries(workspace(), endpoint()).await.unwrap(), 1);
    };
    assert!(world.run_meanwhile(200, cancels).await.is_empty());
    let (delivery, attempts) = world.seen().await;
    assert_eq!((delivery.state, attempts.len()), (DeliveryState::Cancelled, 1));
}

#[tokio::test]
async fn killed_between_post_and_record_the_delivery_is_made_again_under_the_same_id() {
    let world = World::start().await;
    let got = Arc::new(Notify::new());
    world.receivers.then(Reaction::Hangs(got.clone()));
    tokio::select! {
        _ = world.engine.handle(world.messages(&[message(2)])) => panic!("it hangs"),
        () = got.notified() => {}
    }
    // The message comes again while the lease lasts, and does nothing; the row waits in the due index.
    world.run_once().await;
    assert_eq!((world.receivers.posts().len(), world.due().await), (1, 0));
    world.db.clock().advance(LEASE + Duration::from_millis(1));
    assert_eq!(world.due().await, 1);
    world.run_once().await;

    let posts = world.receivers.posts();
    assert_eq!(posts.len(), 2);
    assert_eq!(posts[0].header("webhook-id"), posts[1].header("webhook-id"));
    assert_eq!(posts[0].body, posts[1].body);
    let (delivery, attempts) = world.seen().await;
    assert_eq!((delivery.state, delivery.attempts, attempts.len()), (DeliveryState::Delivered, 2, 1));
}

#[tokio::test]
async fn killed_at_any_step_a_delivery_is_neither_lost_nor_left_half_done() {
    for steps in 0.. {
        let world = World::start().await;
        world.db.forget_calls();
        let reached = async {
            while world.db.calls().len() < steps {
                tokio::task::yield_now().await;
            }
        };
        let finished = tokio::select! {
            biased;
            () = reached => false,
            response = world.engine.handle(world.messages(&[message(2)])) => response.is_ok(),
        };
        world.db.clock().advance(LEASE + RESCUE);
        assert_eq!(world.due().await, usize::from(world.state().await == DeliveryState::Pending), "{steps}");
        world.run_once().await;
        assert_eq!((world.state().await, world.due().await), (DeliveryState::Delivered, 0), "{steps}");
        assert!((1..=2).contains(&world.receivers.posts().len()), "{steps}");
        if finished {
            assert!(steps > 5, "lease, three reads, attempt, end: {steps}");
            return;
        }
    }
}

#[tokio::test]
async fn an_attempt_that_outlived_its_lease_does_not_undo_what_came_after() {
    let world = World::start().await;
    // While the first worker waits for its receiver, its lease ends and a second one comes.
    let takes_over = async {
        world.db.clock().advance(LEASE + Duration::from_millis(1));
        let id = event(2).delivery_to(endpoint());
        let ask = async || world.db.store().lease_delivery(workspace(), id, LEASE).await.unwrap();
        let Lease::Abandoned(dead, _) = ask().await else { panic!("not abandoned") };
        world.db.store().bury_attempt(&dead, Next::Again { at: world.db.store().now() }).await.unwrap();
        assert!(matches!(ask().await, Lease::Taken(_)));
    };
    assert!(world.run_meanwhile(200, takes_over).await.is_empty());
    let (delivery, attempts) = world.seen().await;
    assert_eq!((delivery.state, delivery.attempts), (DeliveryState::Pending, 2), "the second one's");
    assert_eq!((attempts.len(), attempts[0].number), (1, 1));
}

#[tokio::test]
async fn when_the_end_cannot_be_recorded_the_message_comes_again_and_the_delivery_is_repeated() {
    let world = World::start().await;
    // No time is left for more than the SDK's three tries.
    let fails = async {
        world.db.clock().advance(TIMEOUT);
        world.db.fail("BatchExecuteStatement", Fault::Throttled, 3);
    };
    assert_eq!(world.run_meanwhile(200, fails).await, ["0"]);
    let (delivery, attempts) = world.seen().await;
    assert_eq!((delivery.state, delivery.attempts, attempts.len()), (DeliveryState::Pending, 1, 1));
    world.db.clock().advance(LEASE);
    world.run_once().await;
    let posts = world.receivers.posts();
    assert_eq!((posts.len(), posts[0].header("webhook-id")), (2, posts[1].header("webhook-id")));
    let (delivery, attempts) = world.seen().await;
    assert_eq!((delivery.state, delivery.failures, attempts.len()), (DeliveryState::Delivered, 1, 2));
}

#[tokio::test]
async fn while_there_is_time_the_end_is_recorded_and_the_post_is_not_repeated() {
    let world = World::start().await;
    let fails = async { world.db.fail("BatchExecuteStatement", Fault::Throttled, 7) };
    assert!(world.run_meanwhile(200, fails).await.is_empty());
    assert_eq!((world.state().await, world.receivers.posts().len()), (DeliveryState::Delivered, 1));
}

#[tokio::test]
async fn no_post_is_begun_for_whose_end_there_is_no_time() {
    let world = World::start().await;
    let slow = world.db.hold("BatchGetItem");
    let waits = async {
        world.calls("BatchGetItem", 1).await;
        world.db.clock().advance(Duration::from_secs(8));
        drop(slow);
    };
    tokio::join!(world.run_once(), waits);
    let (delivery, attempts) = world.seen().await;
    assert_eq!((delivery.state, delivery.attempts, delivery.failures), (DeliveryState::Pending, 0, 0));
    assert_eq!((world.receivers.posts().len(), attempts.len()), (0, 0));
    assert_eq!(world.fast.take()[0].delay, 0);
    world.run_once().await;
    assert_eq!(world.state().await, DeliveryState::Delivered);
}

#[tokio::test]
async fn a_retry_is_queued_although_its_attempt_cannot_be_logged() {
    let world = World::start().await;
    world.receivers.answer(500);
    world.db.fail("BatchExecuteStatement", Fault::InsertsThrottled, 5_000);
    world.run_once().await;
    let (delivery, attempts) = world.seen().await;
    assert_eq!((delivery.failures, attempts.len(), world.sqs.take().len()), (1, 0, 1));
}

#[tokio::test]
async fn a_delivery_that_always_kills_its_process_is_exhausted_by_the_schedule() {
    let world = World::start().await;
    for _ in 0..10 {
        let got = Arc::new(Notify::new());
        world.receivers.then(Reaction::Hangs(got.clone()));
        tokio::select! {
            _ = world.engine.handle(world.messages(&[message(2)])) => panic!("it hangs"),
            () = got.notified() => {}
        }
        world.db.clock().advance(Duration::from_secs(104_000));
    }
    world.run_once().await;
    let (delivery, _) = world.seen().await;
    assert_eq!((delivery.state, delivery.attempts, delivery.failures), (DeliveryState::Exhausted, 10, 10));
    assert_eq!(world.receivers.posts().len(), 10);
}

#[tokio::test]
async fn an_endpoint_without_secrets_waits_for_them() {
    let world = World::start().await;
    let table = world.db.table(Table::Secrets);
    let text = |text: String| AttributeValue::S(text);
    let delete = world.db.client().delete_item().table_name(table).key("sk", text("S".to_owned()));
    let delete = delete.key("pk", text(format!("{}#H#{}", workspace(), endpoint())));
    delete.send().await.unwrap();
    assert_eq!(world.run(&[message(2)]).await, ["0"]);
    assert_eq!((world.state().await, world.receivers.posts().len()), (DeliveryState::Pending, 0));
}

#[tokio::test]
async fn a_410_whose_endpoint_cannot_be_disabled_is_logged_and_the_next_attempt_disables_it() {
    let world = World::start().await;
    world.receivers.answer(410).answer(410);
    world.db.fail("PutItem", Fault::Throttled, 3);
    world.run_once().await;
    let (delivery, attempts) = world.seen().await;
    assert_eq!((delivery.state, delivery.failures, attempts.len()), (DeliveryState::Pending, 1, 1));
    world.db.clock().set(delivery.next_at);
    world.run_once().await;
    let webhook = world.db.store().endpoint(workspace(), endpoint()).await.unwrap().unwrap();
    assert_eq!((world.state().await, webhook.is_enabled()), (DeliveryState::Parked, false));
}

#[tokio::test]
async fn a_410_does_not_disable_an_endpoint_that_was_mended_meanwhile() {
    let world = World::start().await;
    let mends = async {
        let disabled = world.disable().await;
        assert!(world.db.store().replace_endpoint(&disabled.enabled().unwrap()).await.unwrap());
    };
    assert!(world.run_meanwhile(410, mends).await.is_empty());
    let webhook = world.db.store().endpoint(workspace(), endpoint()).await.unwrap().unwrap();
    assert_eq!((webhook.is_enabled(), webhook.version), (true, 3));
    assert_eq!(world.state().await, DeliveryState::Pending);
    world.run_once().await;
    assert_eq!(world.state().await, DeliveryState::Delivered);
}

#[tokio::test]
async fn when_the_tables_cannot_be_reached_the_message_comes_again() {
    for operation in ["BatchExecuteStatement", "BatchGetItem"] {
        let world = World::start().await;
        world.db.fail(operation, Fault::Unreachable, 5_000);
        assert_eq!(world.run(&[message(2)]).await, ["0"], "{operation}");
        world.db.heal();
        assert!(world.receivers.posts().is_empty());
        let mut runs = 0;
        while world.state().await == DeliveryState::Pending {
            world.db.clock().advance(LEASE + Duration::from_millis(1));
            world.run(&[message(2)]).await;
            runs += 1;
            assert!(runs < 10, "{operation}");
        }
        assert_eq!((world.state().await, world.receivers.posts().len()), (DeliveryState::Delivered, 1));
    }
}

#[tokio::test]
async fn a_retry_that_cannot_be_queued_is_left_to_the_sweeper() {
    let world = World::start().await;
    world.receivers.answer(500);
    world.sqs.close(true);
    world.run_once().await;
    assert_eq!((world.state().await, world.due().await), (DeliveryState::Pending, 0));
    world.db.clock().advance(Duration::from_secs(6) + RESCUE);
    assert_eq!(world.due().await, 1);
}

#[tokio::test]
async fn a_poison_message_and_a_panic_have_no_part_in_the_others_fate() {
    let world = World::start().await;
    world.record(3).await;
    world.receivers.then(Reaction::Panics);
    let unknown = message(99);
    let failed = world.run(&["poison".to_owned(), message(3), unknown, message(2)]).await;
    assert!(failed == ["1"] || failed == ["3"], "only the one that panicked comes again: {failed:?}");
    let mut states = vec![world.state().await];
    let other = event(3).delivery_to(endpoint());
    let (other, _) = world.db.store().delivery_with_attempts(workspace(), other).await.unwrap().unwrap();
    states.push(other.state);
    assert!(states.contains(&DeliveryState::Delivered) && states.contains(&DeliveryState::Pending));
}

#[tokio::test]
async fn the_deliveries_of_a_batch_are_made_at_the_same_time() {
    let world = World::start().await;
    world.record(3).await;
    world.record(4).await;
    let barrier = Arc::new(Barrier::new(3));
    for _ in 0..3 {
        world.receivers.then(Reaction::Meets(barrier.clone(), 200));
    }
    assert!(world.run(&[message(2), message(3), message(4)]).await.is_empty());
    assert_eq!(world.receivers.posts().len(), 3);
}

#[tokio::test]
async fn a_message_a_moment_early_waits_and_one_long_before_its_time_does_nothing() {
    let world = World::start().await;
    world.receivers.answer(500);
    world.run_once().await;
    let next_at = world.seen().await.0.next_at;
    world.run_once().await;
    assert_eq!(world.receivers.posts().len(), 1, "seconds early");

    world.db.clock().set(Timestamp::from_millis(next_at.as_millis() - 100));
    let clock = world.db.clock().clone();
    let ticks = async {
        tokio::time::sleep(Duration::from_millis(50)).await;
        clock.advance(Duration::from_millis(100));
    };
    tokio::join!(world.run_once(), ticks);
    assert_eq!(world.receivers.posts().len(), 2, "100 ms early");
}

#[tokio::test]
async fn an_endpoint_enabled_while_its_delivery_is_parked_gets_it_all_the_same() {
    let world = World::start().await;
    let disabled = world.disable().await;
    // The worker has read the endpoint as disabled and is about to park when the operator enables the endpoint.
    // Nobody else lets go what is not parked yet.
    world.db.forget_calls();
    let enables = async {
        world.calls("BatchGetItem", 1).await;
        let parks = world.db.hold("BatchExecuteStatement");
        world.calls("BatchExecuteStatement", 2).await;
        assert!(world.db.store().replace_endpoint(&disabled.enabled().unwrap()).await.unwrap());
        drop(parks);
    };
    tokio::join!(world.run_once(), enables);
    assert_eq!(world.state().await, DeliveryState::Pending, "let go by the worker itself");
    world.run_once().await;
    assert_eq!(world.state().await, DeliveryState::Delivered);
}

#[tokio::test]
async fn what_the_operators_list_did_not_show_yet_is_let_go_when_it_is_looked_at_again() {
    let world = World::start().await;
    let disabled = world.disable().await;
    world.run_once().await;
    // Enabled a moment later; the index did not show the delivery.
    assert!(world.db.store().replace_endpoint(&disabled.enabled().unwrap()).await.unwrap());
    assert_eq!((world.state().await, world.due().await), (DeliveryState::Parked, 0));
    world.db.clock().advance(Duration::from_secs(600));
    assert_eq!(world.due().await, 1, "the sweeper queues it");
    world.run_once().await;
    assert_eq!((world.state().await, world.due().await), (DeliveryState::Pending, 1));
    world.run_once().await;
    assert_eq!(world.state().await, DeliveryState::Delivered);
}

#[tokio::test]
async fn a_parked_delivery_that_is_looked_at_again_is_left_hourly_and_spends_nothing() {
    let world = World::start().await;
    world.disable().await;
    world.run_once().await;
    for _ in 0..3 {
        world.db.clock().advance(Duration::from_secs(3_600));
        assert_eq!(world.due().await, 1);
        world.db.forget_calls();
        world.run_once().await;
        assert_eq!((trips(&world.db.calls()), world.due().await), (3, 0));
    }
    let (delivery, attempts) = world.seen().await;
    assert_eq!((delivery.state, delivery.attempts, attempts.len()), (DeliveryState::Parked, 0, 0));
    assert!(world.receivers.posts().is_empty());
}

#[tokio::test]
async fn a_parked_delivery_whose_endpoint_is_gone_is_cancelled_when_it_is_looked_at_again() {
    let world = World::start().await;
    world.disable().await;
    world.run_once().await;
    assert!(world.db.store().delete_endpoint(workspace(), endpoint()).await.unwrap());
    world.db.clock().advance(Duration::from_secs(600));
    world.run_once().await;
    assert_eq!(world.state().await, DeliveryState::Cancelled);
    world.db.clock().advance(Duration::from_secs(86_400));
    assert_eq!(world.due().await, 0);
}

#[tokio::test]
async fn a_function_that_may_run_longer_than_its_leases_refuses_to_work() {
    let world = World::start().await;
    let mut event = world.messages(&[message(2)]);
    let now = u64::try_from(TestClock::START.as_millis()).unwrap();
    event.context.deadline = now + 90_001;
    assert!(world.engine.handle(event).await.is_err());
    assert!(world.receivers.posts().is_empty());

    let mut event = world.messages(&[message(2)]);
    event.context.deadline = now + 90_000;
    assert!(world.engine.handle(event).await.is_ok());
}
