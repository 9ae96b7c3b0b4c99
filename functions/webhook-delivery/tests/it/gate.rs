//! Slow, silent and dead receivers: what becomes of their deliveries, and that nobody else's wait for them.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use domain::gate::{Gate, Lane};
use domain::webhook::DisabledReason;
use domain::{
    AttemptError, DeliveryState, EndpointId, EndpointState, EndpointUrl, TrustedReceivers, WebhookEndpoint,
    Workspace,
};
use futures::future::join_all;
use harness::{Fault, TestClock, TestDb, TestQueue, queue_fixture};
use lambda_runtime::{Context, LambdaEvent};
use queue::{DeliveryQueue, DeliveryQueues, DeliveryTask, Task};
use runtime::metrics::Metrics;
use store::Place;
use tokio::sync::Notify;
use uuid::Uuid;
use webhook_delivery::{Answer, Engine, Post, Rules, Transport, Unanswered};

use crate::deliver::{
    BODY, RESCUE, Reaction, TIMEOUT, World, endpoint, event, message, secrets, webhook, workspace,
};

impl World {
    /// Takes a place at the endpoint's gate and keeps it.
    async fn occupy(&self, lane: Lane) -> Place {
        match self
            .db
            .store()
            .enter_gate(workspace(), endpoint(), lane, self.engine.rules.lease)
            .await
            .unwrap()
        {
            store::GateEntry::Entered(place) => place,
            other => panic!("{other:?}"),
        }
    }

    /// Fails so many deliveries at once, without an answer.
    async fn fall_silent(&self, attempts: u64) {
        let mut messages = vec![];
        for version in 100..100 + attempts {
            self.record(version).await;
            messages.push(message(version));
            self.receivers.then(Reaction::Fails(AttemptError::ConnectFailed));
        }
        assert!(self.run(&messages).await.is_empty());
        self.sqs.take();
    }

    fn told(&self, metric: &str) -> u64 {
        self.counted.told().get(metric).map_or(0, |values| values.iter().sum())
    }
}

#[tokio::test]
async fn what_finds_no_slot_on_the_fast_lane_takes_the_slow_one_and_there_waits_for_one() {
    let world = World::start().await;
    for _ in 0..4 {
        world.occupy(Lane::Fast).await;
    }
    world.run_once().await;
    let (delivery, attempts) = world.seen().await;
    assert_eq!((delivery.state, delivery.attempts, attempts.len()), (DeliveryState::Pending, 0, 0));
    let queued = world.sqs.take();
    assert_eq!((queued[0].body.as_str(), queued[0].delay), (message(2).as_str(), 0));
    assert_eq!(delivery.due_at, Some(delivery.next_at.plus(RESCUE)));

    let mut slow = vec![];
    for _ in 0..4 {
        slow.push(world.occupy(Lane::Slow).await);
    }
    world.run_on(Lane::Slow, &[message(2)]).await;
    let (delivery, _) = world.seen().await;
    let wait = delivery.next_at.since(TestClock::START);
    assert!(wait.as_secs_f64() >= 5.0 && wait.as_secs_f64() <= 6.0, "{wait:?}");
    assert_eq!(delivery.due_at, Some(delivery.next_at.plus(RESCUE)));
    assert!((5..=6).contains(&world.sqs.take()[0].delay));
    assert_eq!((world.receivers.posts().len(), world.told("DeliveriesPutBack slow")), (0, 1));

    let schedule = &world.engine.rules.schedule;
    world.db.store().leave_gate(&slow[0], domain::gate::Seen::default(), schedule).await.unwrap();
    world.db.clock().set(delivery.next_at);
    world.run_on(Lane::Slow, &[message(2)]).await;
    let (delivery, _) = world.seen().await;
    assert_eq!((delivery.state, delivery.attempts), (DeliveryState::Delivered, 1));
}

#[tokio::test]
async fn a_place_is_given_back_and_one_whose_holder_died_is_free_when_its_time_is_over() {
    let world = World::start().await;
    for version in 10..30 {
        world.record(version).await;
        assert!(world.run(&[message(version)]).await.is_empty());
    }
    assert_eq!(world.receivers.posts().len(), 20, "each found a place");
    for _ in 0..4 {
        world.occupy(Lane::Fast).await;
    }
    world.db.clock().advance(world.engine.rules.lease);
    world.run_once().await;
    assert_eq!(world.state().await, DeliveryState::Delivered);
}

#[tokio::test]
async fn an_endpoint_that_keeps_a_worker_waiting_takes_the_slow_lane_from_that_moment_on() {
    let mut world = World::start().await;
    world.engine.rules.attempt = Duration::from_millis(20);
    world.record(3).await;
    let got = Arc::new(Notify::new());
    world.receivers.then(Reaction::Hangs(got.clone()));
    let other = async {
        got.notified().await;
        // Until it is told, one write of its own.
        world.calls_to_gate(2).await;
        world.run(&[message(3)]).await;
    };
    tokio::select! {
        _ = world.engine.handle(world.messages(&[message(2)])) => panic!("it hangs"),
        () = other => {}
    }
    assert_eq!((world.receivers.posts().len(), world.sqs.take()[0].body.clone()), (1, message(3)));
    world.run_on(Lane::Slow, &[message(3)]).await;
    assert_eq!(world.receivers.posts().len(), 2, "there it is posted");
    world.record(4).await;
    world.db.clock().advance(Gate::SLOW_FOR);
    world.run(&[message(4)]).await;
    assert_eq!(world.receivers.posts().len(), 3, "after a while it is tried on the fast lane again");
}

impl World {
    /// Waits for so many single writes, as gates are written.
    async fn calls_to_gate(&self, count: usize) {
        self.calls("UpdateItem", count).await;
        // Begun is not done: a read behind it is.
        let _ = self.db.store().endpoint(workspace(), endpoint()).await;
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn an_open_circuit_puts_deliveries_off_without_an_attempt_and_one_probe_closes_it() {
    let world = World::start().await;
    world.fall_silent(5).await;
    assert_eq!(world.receivers.posts().len(), 5);
    for version in 3..7 {
        world.record(version).await;
    }
    let waiting: Vec<String> = (2..7).map(message).collect();
    assert!(world.run(&waiting).await.is_empty());
    let (delivery, attempts) = world.seen().await;
    assert_eq!(
        (delivery.state, delivery.attempts, delivery.failures, attempts.len()),
        (DeliveryState::Pending, 0, 0, 0)
    );
    assert!((5..=6).contains(&delivery.next_at.since(TestClock::START).as_secs()), "{:?}", delivery.next_at);
    assert_eq!((world.sqs.take().len(), world.receivers.posts().len()), (5, 5));

    // The cool-down is over: of five that come together one is posted, in vain; it opens for five minutes.
    world.db.clock().advance(Duration::from_secs(7));
    world.receivers.then(Reaction::Fails(AttemptError::Timeout));
    assert!(world.run_on(Lane::Slow, &waiting).await.is_empty());
    assert_eq!(world.receivers.posts().len(), 6);
    world.db.clock().advance(Duration::from_secs(200));
    assert!(world.run_on(Lane::Slow, &waiting).await.is_empty());
    assert_eq!(world.receivers.posts().len(), 6, "open");

    // A probe is answered: all go on as ever, and none has spent an attempt that it did not make.
    world.db.clock().advance(Duration::from_secs(200));
    assert!(world.run_on(Lane::Slow, &waiting).await.is_empty());
    assert_eq!(world.receivers.posts().len(), 7);
    world.db.clock().advance(Duration::from_secs(60));
    assert!(world.run_on(Lane::Slow, &waiting).await.is_empty());
    assert_eq!(world.receivers.posts().len(), 11);
    let (delivery, attempts) = world.seen().await;
    assert_eq!((delivery.state, delivery.attempts as usize), (DeliveryState::Delivered, attempts.len()));
}

#[tokio::test]
async fn a_receiver_that_answers_badly_opens_no_circuit() {
    let world = World::start().await;
    for version in 100..120 {
        world.record(version).await;
        world.receivers.answer(500);
        world.run(&[message(version)]).await;
    }
    world.run_once().await;
    assert_eq!((world.receivers.posts().len(), world.state().await), (21, DeliveryState::Delivered));
}

#[tokio::test]
async fn what_does_not_leave_our_own_network_is_no_attempt() {
    let world = World::start().await;
    for _ in 0..30 {
        world.receivers.then(Reaction::Stays);
        world.run_once().await;
        let (delivery, attempts) = world.seen().await;
        assert_eq!((delivery.state, delivery.attempts, delivery.failures), (DeliveryState::Pending, 0, 0));
        assert!(attempts.is_empty());
        let (wait, queued) = (delivery.next_at.since(world.db.store().now()), world.sqs.take());
        assert!(wait.as_secs() >= 30 && wait.as_secs() <= 36 && queued.len() == 1, "{wait:?}");
        world.db.clock().set(delivery.next_at);
    }
    assert_eq!(world.told("EgressFailures fast"), 30);
    world.run_once().await;
    assert_eq!(world.state().await, DeliveryState::Delivered, "no circuit opened either");
}

#[tokio::test]
async fn trouble_with_our_own_tables_spends_no_attempt() {
    let world = World::start().await;
    // The gate cannot be asked: nobody is let in for a while.
    world.db.fail("UpdateItem", Fault::Unreachable, 6);
    world.run_once().await;
    let (delivery, attempts) = world.seen().await;
    assert_eq!((delivery.attempts, delivery.failures, attempts.len()), (0, 0, 0));
    assert_eq!((world.receivers.posts().len(), world.sqs.take().len()), (0, 1));
    // The rows cannot be read: the message comes again, and the lease is given back at once.
    world.db.heal();
    world.db.clock().set(delivery.next_at);
    world.db.fail("BatchGetItem", Fault::Unreachable, 3);
    assert_eq!(world.run(&[message(2)]).await, ["0"]);
    let (delivery, _) = world.seen().await;
    assert_eq!((delivery.attempts, delivery.failures), (0, 0));
    assert!(delivery.next_at.since(world.db.store().now()).as_secs() >= 30);
    assert!(
        world.sqs.take().is_empty() && world.fast.take().is_empty(),
        "it has a message, which counts its returns"
    );
    world.db.clock().set(delivery.next_at);
    world.run_once().await;
    let (delivery, attempts) = world.seen().await;
    assert_eq!((delivery.state, delivery.attempts, attempts.len()), (DeliveryState::Delivered, 1, 1));
}

/// Fails one delivery at each of these hours; the endpoint's state then.
async fn failing_at(hours: impl Iterator<Item = f64>, ok_at: Option<f64>) -> EndpointState {
    let world = World::start().await;
    let mut at: Vec<(f64, u16)> = hours.map(|hour| (hour, 500)).collect();
    at.extend(ok_at.map(|hour| (hour, 200)));
    at.sort_by(|one, other| one.0.total_cmp(&other.0));
    for (version, (hour, status)) in (100..).zip(at) {
        world.db.clock().set(TestClock::START.plus(Duration::from_secs_f64(hour * 3_600.0)));
        world.record(version).await;
        world.receivers.answer(status);
        world.run(&[message(version)]).await;
    }
    world.db.store().endpoint(workspace(), endpoint()).await.unwrap().unwrap().state
}

#[tokio::test]
async fn five_days_of_nothing_but_failures_disable_an_endpoint() {
    let often = || (0..=30).map(|n| f64::from(n) * 4.0).chain((0..=10).map(|n| 120.0 + f64::from(n) * 0.1));
    let EndpointState::Disabled { reason, .. } = failing_at(often(), None).await else { panic!("enabled") };
    assert_eq!(reason, DisabledReason::Failing);
    assert_eq!(failing_at(often(), Some(90.0)).await, EndpointState::Enabled, "a success between");
}

#[tokio::test]
async fn sporadic_failures_disable_no_endpoint() {
    assert_eq!(failing_at((0..=15).map(|day| f64::from(day) * 24.0), None).await, EndpointState::Enabled);
}

#[tokio::test]
async fn deliveries_of_an_endpoint_disabled_for_failing_are_parked_and_made_when_it_is_enabled() {
    let world = World::start().await;
    for hour in 0..=126_u64 {
        world.db.clock().set(TestClock::START.plus(Duration::from_secs(hour * 3_600)));
        world.record(100 + hour).await;
        if world.db.store().endpoint(workspace(), endpoint()).await.unwrap().unwrap().is_enabled() {
            world.receivers.answer(503);
        }
        world.run(&[message(100 + hour)]).await;
    }
    let found = world.db.store().endpoint(workspace(), endpoint()).await.unwrap().unwrap();
    assert!(!found.is_enabled());
    let tried = world.receivers.posts().len();
    assert!((121..=122).contains(&tried), "none behind the fifth day: {tried}");
    world.run_once().await;
    assert_eq!(world.state().await, DeliveryState::Parked);
    assert_eq!(world.told("EndpointsDisabled fast"), 1);

    assert!(world.db.store().replace_endpoint(&found.enabled().unwrap()).await.unwrap());
    world.db.store().reset_gate(workspace(), endpoint()).await.unwrap();
    world.db.store().unpark_deliveries(workspace(), endpoint()).await.unwrap();
    world.run_once().await;
    assert_eq!(world.state().await, DeliveryState::Delivered);
    let found = world.db.store().endpoint(workspace(), endpoint()).await.unwrap().unwrap();
    assert!(found.is_enabled());
}

/// Receivers of which some never answer.
#[derive(Clone, Default)]
struct Town(Arc<Mutex<BTreeMap<String, u32>>>);

impl Transport for Town {
    async fn post(&self, post: Post<'_>) -> Result<Answer, Unanswered> {
        let host = post.url.as_url().host_str().unwrap().to_owned();
        let dead = host.starts_with("dead");
        *self.0.lock().unwrap().entry(host).or_default() += 1;
        if dead {
            std::future::pending::<()>().await;
        }
        Ok(Answer { status: 200, retry_after: None, body: vec![] })
    }
}

/// The queue service and Lambda: two lanes, each with so many workers.
struct Fleet {
    engine: Engine<Town>,
    queued: [(TestQueue, Mutex<VecDeque<String>>); 2],
}

impl Fleet {
    const WORKERS: [usize; 2] = [10, 6];

    async fn work(&self, lane: Lane) {
        loop {
            let bodies = self.receive(lane);
            if bodies.is_empty() {
                tokio::task::yield_now().await;
                continue;
            }
            let mut event = queue_fixture("webhook-delivery.json", &bodies);
            for record in event["Records"].as_array_mut().unwrap() {
                record["eventSourceARN"] =
                    format!("arn:aws:sqs:x:1:d{}", ["", "-slow"][lane as usize]).into();
            }
            let mut context = Context::default();
            context.deadline = u64::try_from(self.engine.store.now().plus(TIMEOUT).as_millis()).unwrap();
            let event = LambdaEvent::new(serde_json::from_value(event).unwrap(), context);
            assert!(self.engine.handle(event).await.unwrap().batch_item_failures.is_empty());
        }
    }

    /// Ten messages. What is held back does not come: the clock stands still.
    fn receive(&self, lane: Lane) -> Vec<String> {
        let (queue, waiting) = &self.queued[lane as usize];
        let mut waiting = waiting.lock().unwrap();
        waiting.extend(queue.take().into_iter().filter(|it| it.delay == 0).map(|it| it.body));
        let count = waiting.len().min(10);
        waiting.drain(..count).collect()
    }
}

#[tokio::test]
async fn five_hundred_deliveries_to_a_black_hole_keep_none_of_a_thousand_others_waiting() {
    const HEALTHY: u128 = 20;
    let db = TestDb::start().await;
    let acme = Workspace::new(workspace(), "Acme", TestClock::START).unwrap();
    assert!(db.store().create_workspace(&acme).await.unwrap());
    let named = |n: u128| WebhookEndpoint {
        id: EndpointId::from_uuid(Uuid::from_u128(n)),
        url: EndpointUrl::parse(
            &format!("https://{}{n}.example.com/", if n == 0 { "dead" } else { "well" }),
            &TrustedReceivers::none(),
        )
        .unwrap(),
        ..webhook()
    };
    for n in 0..=HEALTHY {
        let workspace = db.store().workspace(workspace()).await.unwrap().unwrap();
        assert!(db.store().create_endpoint(&workspace, &named(n), &secrets(7)).await.unwrap());
    }
    let (metrics, _) = Metrics::kept(db.clock().clone());
    let queues = [TestQueue::default(), TestQueue::default()];
    let engine = Engine {
        store: db.store_of("webhook-delivery"),
        queues: DeliveryQueues {
            fast: DeliveryQueue::new(queues[0].client(), "http://queue.invalid/1/d"),
            slow: DeliveryQueue::new(queues[1].client(), "http://queue.invalid/1/d-slow"),
        },
        transport: Town::default(),
        rules: Rules { attempt: Duration::from_secs(30), ..World::rules() },
        metrics,
    };
    // Two of three to one of the healthy ones, the third to the black hole.
    let mut bodies = vec![];
    for n in 0..1_500_u64 {
        let to = if n % 3 == 0 { named(0).id } else { named(1 + u128::from(n) % HEALTHY).id };
        let event = event(n);
        db.store().record_event(&event, None, BODY.to_vec(), &[to], RESCUE).await.unwrap();
        bodies.push(DeliveryTask { workspace_id: workspace(), delivery_id: event.delivery_to(to) }.body());
    }
    let [fast, slow] = queues;
    let fleet = Fleet { engine, queued: [(fast, Mutex::new(bodies.into())), (slow, Mutex::default())] };
    let town = fleet.engine.transport.clone();
    let posts = |of: &str| -> u32 {
        town.0.lock().unwrap().iter().filter(|(host, _)| host.starts_with(of)).map(|(_, count)| count).sum()
    };
    let lanes = [Lane::Fast, Lane::Slow];
    let workers = lanes.map(|lane| join_all((0..Fleet::WORKERS[lane as usize]).map(|_| fleet.work(lane))));
    let [fast, slow] = workers;
    let done = async {
        // The black hole never answers, and no time passes: whoever waits for it waits for ever.
        while posts("well") < 1_000 {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        _ = fast => {}
        _ = slow => {}
        () = done => {}
    }
    assert!(
        (1..=60).contains(&posts("dead")),
        "four invocations on one lane, two on the other: {}",
        posts("dead")
    );
    assert_eq!(fleet.engine.store.now(), TestClock::START);
}
