//! Endpoints that never answer do not delay the deliveries to the others.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex};

use domain::{
    EndpointId, EndpointUrl, Event, LaneId, Slot, Track, TrustedReceivers, WebhookEndpoint, Workspace,
};
use futures::future::join_all;
use harness::{TestClock, TestDb, TestQueue, World, context, queue_fixture};
use lambda_runtime::LambdaEvent;
use runtime::metrics::Metrics;
use store::{EndpointCreated, NewEndpoint, NewEvent};
use uuid::Uuid;
use webhook_delivery::{Answer, Engine, Post, Transport, Unanswered};

use crate::world::{BODY, RESCUE, TIMEOUT, event, least, queues, rules, webhook, workspace};

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

/// Simulates the queue service and Lambda: two queues, each with this many workers.
struct Fleet {
    engine: Engine<Town>,
    sqs: TestQueue,
    queued: [Mutex<VecDeque<String>>; 2],
}

impl Fleet {
    const WORKERS: [usize; 2] = [10, 6];

    async fn work(&self, track: Track) {
        loop {
            let bodies = self.receive(track);
            if bodies.is_empty() {
                tokio::task::yield_now().await;
                continue;
            }
            let mut event = queue_fixture("webhook-delivery.json", &bodies);
            for record in event["Records"].as_array_mut().unwrap() {
                record["eventSourceARN"] =
                    format!("arn:aws:sqs:x:1:d{}", ["", "-slow"][track as usize]).into();
            }
            let context = context(self.engine.store.now(), TIMEOUT);
            let event = LambdaEvent::new(serde_json::from_value(event).unwrap(), context);
            assert!(self.engine.handle(event).await.unwrap().batch_item_failures.is_empty());
        }
    }

    /// Receives ten messages. Delayed messages do not arrive, because the clock stands still.
    fn receive(&self, track: Track) -> Vec<String> {
        for message in self.sqs.take().into_iter().filter(|it| it.delay == 0) {
            let of = usize::from(message.queue.ends_with("-slow"));
            self.queued[of].lock().unwrap().push_back(message.body);
        }
        let mut waiting = self.queued[track as usize].lock().unwrap();
        let count = waiting.len().min(10);
        waiting.drain(..count).collect()
    }
}

#[tokio::test]
async fn five_hundred_deliveries_to_a_black_hole_delay_none_of_a_thousand_others() {
    const HEALTHY: u128 = 20;
    let db = TestDb::start().await;
    let acme = Workspace::new(workspace(), "Acme", TestClock::START).unwrap();
    assert!(db.store().create_workspace(&acme).await.unwrap());
    let named = |n: u128| {
        let url = format!("https://{}{n}.example.com/", if n == 0 { "dead" } else { "well" });
        WebhookEndpoint {
            id: EndpointId::from_uuid(Uuid::from_u128(n + 1)),
            url: EndpointUrl::parse(&url, &TrustedReceivers::none()).unwrap(),
            ..webhook()
        }
    };
    for n in 0..=HEALTHY {
        let workspace = db.store().workspace(workspace()).await.unwrap().unwrap();
        let (endpoint, secrets) = (named(n), World::endpoint_secrets());
        let by = harness::operator();
        let new = NewEndpoint { endpoint: &endpoint, secrets: &secrets, by, kept: None };
        assert_eq!(db.store().create_endpoint(&workspace, &new).await.unwrap(), EndpointCreated::Done);
    }
    let (metrics, _) = Metrics::kept(db.clock().clone());
    let sqs = TestQueue::default();
    let engine = Engine {
        store: db.store_of("webhook-delivery"),
        queues: queues(&sqs),
        transport: Town::default(),
        rules: rules(),
        metrics,
    };
    // Of three deliveries, two are for one of the healthy endpoints and the third is for the black hole. They are
    // added in batches, as the relay does.
    let mut bodies = VecDeque::new();
    let numbers: Vec<u64> = (0..1_500).collect();
    for numbers in numbers.chunks(25) {
        let to = |n: u64| if n.is_multiple_of(3) { named(0) } else { named(1 + u128::from(n) % HEALTHY) };
        let slot_of = |event: &Event, n: u64| to(n).slot_of(event.id.as_uuid());
        let events: Vec<(Event, Slot)> =
            numbers.iter().map(|n| (event(*n), slot_of(&event(*n), *n))).collect();
        let new: Vec<NewEvent> = events
            .iter()
            .map(|(event, slot)| NewEvent {
                event: event.clone(),
                about: None,
                request: None,
                body: BODY.to_vec(),
                slots: vec![*slot].into(),
            })
            .collect();
        for recorded in db.store().record_events(&new).await {
            recorded.unwrap();
        }
        let slots: BTreeSet<Slot> = events.iter().map(|(_, slot)| *slot).collect();
        for slot in slots {
            let of: Vec<Event> =
                events.iter().filter(|(_, to)| *to == slot).map(|(event, _)| event.clone()).collect();
            assert!(db.store().notify_webhook_lane(slot, least(&of), RESCUE).await.unwrap().wake.is_some());
            bodies.push_back(queue::body(&LaneId::Webhook(slot)));
        }
    }
    let fleet = Fleet { engine, sqs, queued: [Mutex::new(bodies), Mutex::default()] };
    let town = fleet.engine.transport.clone();
    let posts = |of: &str| -> u32 {
        town.0.lock().unwrap().iter().filter(|(host, _)| host.starts_with(of)).map(|(_, count)| count).sum()
    };
    let tracks = [Track::Fast, Track::Slow];
    let [fast, slow] =
        tracks.map(|track| join_all((0..Fleet::WORKERS[track as usize]).map(|_| fleet.work(track))));
    let done = async {
        // The black hole never answers and no time passes, so a delivery that waits for it would wait for ever.
        while posts("well") < 1_000 {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        _ = fast => {}
        _ = slow => {}
        () = done => {}
    }
    assert!((1..=16).contains(&posts("dead")), "the width of one lane: {}", posts("dead"));
    assert_eq!(fleet.engine.store.now(), TestClock::START);
}
