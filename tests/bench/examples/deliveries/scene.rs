//! Receivers, and the endpoints and deliveries of a workspace that lead to them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use bench::{Answer, Authority, Server, Traffic};
use domain::webhook::{ReceiverKey, SigningSecret, SigningSecrets};
use domain::{
    EndpointCaps, EndpointId, EndpointSecrets, EndpointState, EndpointUrl, Event, EventFilter, EventType,
    Slot, Timestamp, Track, TrustedReceivers, WebhookEndpoint,
};
use harness::World;
use http::StatusCode;
use serde_json::json;
use store::{HomeKey, NewEvent};

const FIRST_DUE: Duration = Duration::from_secs(120);
/// The size of a webhook body.
const BODY: usize = 2 * 1024;

/// The arrival times of posts, by event id.
#[derive(Clone, Default)]
pub(crate) struct Arrivals(Arc<Mutex<HashMap<String, Instant>>>);

impl Arrivals {
    pub(crate) fn count(&self) -> usize {
        self.0.lock().unwrap().len()
    }

    pub(crate) fn of(&self, event: &str) -> Option<Instant> {
        self.0.lock().unwrap().get(event).copied()
    }
}

/// A receiver that answers 200 after the given time, or never if no time is given.
pub(crate) async fn receiver(
    authority: &Authority,
    after: Option<Duration>,
    traffic: &Traffic,
    arrivals: &Arrivals,
) -> Server {
    let (traffic, arrivals) = (traffic.clone(), arrivals.clone());
    Server::start(Some(authority.server.clone()), move |request| {
        let (under_way, arrivals) = (traffic.post(), arrivals.clone());
        async move {
            assert!(
                ["x-service-signature", "webhook-signature"]
                    .iter()
                    .all(|name| request.headers.contains_key(*name)),
                "both signatures"
            );
            match after {
                Some(Duration::ZERO) => {}
                Some(after) => tokio::time::sleep(after).await,
                None => std::future::pending().await,
            }
            let event = request.headers.get("webhook-id").and_then(|id| id.to_str().ok()).unwrap_or_default();
            arrivals.0.lock().unwrap().insert(event.to_owned(), Instant::now());
            drop(under_way);
            Answer::of(StatusCode::OK, "ok")
        }
    })
    .await
}

/// A lane with waiting deliveries.
#[derive(Clone)]
pub(crate) struct FilledLane {
    /// The events of its deliveries.
    pub(crate) events: Vec<String>,
    /// The body of a queue message that names the lane.
    pub(crate) message: String,
}

/// Creates a workspace whose clock shows the machine's time.
pub(crate) async fn world() -> World {
    let world = World::start().await;
    set_clock(&world);
    world
}

/// Sets the clock of the workspace to the machine's time.
pub(crate) fn set_clock(world: &World) {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis();
    world.db.clock().set(Timestamp::from_millis(i64::try_from(now).unwrap()));
}

/// Creates an endpoint for a receiver.
pub(crate) async fn endpoint(world: &World, receiver: &Server) -> EndpointId {
    let store = world.db.store();
    let url = format!("https://127.0.0.1:{}/in", receiver.port);
    let endpoint = WebhookEndpoint {
        id: EndpointId::generate(store.ids()),
        workspace_id: world.workspace,
        url: EndpointUrl::parse(&url, &TrustedReceivers::parse(&origin(receiver)).unwrap()).unwrap(),
        state: EndpointState::Enabled,
        filter: EventFilter::parse([]).unwrap(),
        caps: EndpointCaps::default(),
        slots: 1,
        forgets_before: None,
        created_at: store.now(),
        version: 1,
    };
    let secrets = EndpointSecrets {
        api_key: ReceiverKey::parse("customer-key").unwrap(),
        signing: SigningSecrets::only(SigningSecret::from_entropy([7; 32])),
    };
    let workspace = store.workspace(world.workspace).await.unwrap().unwrap();
    assert!(store.create_endpoint(&workspace, &endpoint, &secrets).await.unwrap());
    endpoint.id
}

/// The receiver's origin, in the form in which a deployment lists trusted receivers.
pub(crate) fn origin(receiver: &Server) -> String {
    format!("https://127.0.0.1:{}", receiver.port)
}

/// Records `count` events for an endpoint, and tells its lane.
pub(crate) async fn lane(world: &World, endpoint: EndpointId, count: usize) -> FilledLane {
    let (events, _) = add(world, endpoint, count).await;
    FilledLane { events, message: message(world, endpoint) }
}

/// The body of a queue message that names the lane of an endpoint.
pub(crate) fn message(world: &World, endpoint: EndpointId) -> String {
    format!(r#"{{"lane":"webhook","workspaceId":"{}","endpointId":"{endpoint}","slot":0}}"#, world.workspace)
}

/// Records `count` events for an endpoint, and tells its lane. Returns the events, and the track to which the relay
/// would send a message, if it would send one.
pub(crate) async fn add(world: &World, endpoint: EndpointId, count: usize) -> (Vec<String>, Option<Track>) {
    let store = world.db.store();
    let slot = Slot { workspace: world.workspace, endpoint, number: 0 };
    let new = |_| {
        let id = store.ids().next();
        let event = Event::of_change(EventType::ContactUpdated, world.workspace, &id, 1, store.now());
        let body = json!({ "eventId": event.id.to_string(), "payload": "x".repeat(BODY - 70) }).to_string();
        NewEvent { event, about: None, request: None, body: body.into_bytes(), slots: vec![slot] }
    };
    let new: Vec<NewEvent> = (0..count).map(new).collect();
    // A batch of a stream has at most this many events.
    for new in new.chunks(100) {
        for recorded in store.record_events(new).await {
            recorded.unwrap();
        }
    }
    let places = new.iter().map(|new| HomeKey { at: new.event.at, event: new.event.id });
    let track = match places.min() {
        Some(least) => store.tell_webhook_lane(slot, least, FIRST_DUE).await.unwrap().wake,
        None => None,
    };
    (new.iter().map(|new| new.event.id.to_string()).collect(), track)
}
