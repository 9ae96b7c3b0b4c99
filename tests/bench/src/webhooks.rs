//! Endpoints of webhooks, and deliveries that wait in their lanes.

use std::time::Duration;

use domain::{EndpointUrl, Event, EventType, HomeKey, Slot, Track, TrustedReceivers, WorkspaceId};
use harness::World;
use serde_json::json;
use store::NewEvent;

use crate::Server;

const FIRST_DUE: Duration = Duration::from_secs(120);
/// The size of a webhook body.
const BODY: usize = 2 * 1024;

/// Creates an endpoint of a workspace that subscribes to all events, and returns its only slot. Its URL leads to the receiver, or to a public host
/// that is never called.
pub async fn endpoint(world: &World, workspace: WorkspaceId, receiver: Option<&Server>) -> Slot {
    let url = match receiver {
        Some(receiver) => {
            let trusted = TrustedReceivers::parse(&origin(receiver)).expect("an origin");
            EndpointUrl::parse(&format!("{}/in", origin(receiver)), &trusted)
        }
        None => EndpointUrl::parse("https://hooks.example.com/in", &TrustedReceivers::none()),
    };
    let url = url.expect("a permitted URL");
    let endpoint = world.endpoint_of(workspace, |endpoint| endpoint.url = url).await;
    Slot { workspace: endpoint.workspace_id, endpoint: endpoint.id, number: 0 }
}

/// The receiver's origin, in the form in which a deployment lists trusted receivers.
pub fn origin(receiver: &Server) -> String {
    format!("https://127.0.0.1:{}", receiver.port)
}

/// The body of a queue message that names the lane of a slot.
pub fn message(slot: Slot) -> String {
    let Slot { workspace, endpoint, number } = slot;
    format!(r#"{{"lane":"webhook","workspaceId":"{workspace}","endpointId":"{endpoint}","slot":{number}}}"#)
}

/// Records `count` events for a slot, and notifies its lane. Returns the events, and the track to which the relay would send
/// a message, if it would send one.
pub async fn record(world: &World, slot: Slot, count: usize) -> (Vec<String>, Option<Track>) {
    let store = world.db.store();
    let new = |_| {
        let id = store.ids().next();
        let event = Event::of_change(EventType::ContactUpdated, slot.workspace, &id, 1, store.now());
        let body = json!({ "eventId": event.id.to_string(), "payload": "x".repeat(BODY - 70) }).to_string();
        NewEvent { event, about: None, request: None, body: body.into_bytes(), slots: vec![slot].into() }
    };
    let new: Vec<NewEvent> = (0..count).map(new).collect();
    // A batch of a stream has at most this many events.
    for new in new.chunks(100) {
        for recorded in store.record_events(new).await {
            recorded.expect("the event is stored");
        }
    }
    let places = new.iter().map(|new| HomeKey { at: new.event.at, event: new.event.id });
    let track = match places.min() {
        Some(least) => {
            store.notify_webhook_lane(slot, least, FIRST_DUE).await.expect("the lane is notified").wake
        }
        None => None,
    };
    (new.iter().map(|new| new.event.id.to_string()).collect(), track)
}
