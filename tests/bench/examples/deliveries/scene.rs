//! Receivers, and the endpoints and deliveries of a workspace that lead to them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use bench::{Answer, Authority, Server, Traffic, webhooks};
use domain::{Slot, Timestamp};
use harness::World;
use http::StatusCode;

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

/// Records `count` events for a slot, and notifies its lane.
pub(crate) async fn lane(world: &World, slot: Slot, count: usize) -> FilledLane {
    let (events, _) = webhooks::record(world, slot, count).await;
    FilledLane { events, message: webhooks::message(slot) }
}
