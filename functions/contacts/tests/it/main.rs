//! In-process tests of the contacts function: real handlers, a real SDK client and an embedded DynamoDB.

#![allow(clippy::unwrap_used)] // also in the test helpers

mod auth;
mod get;
mod list;
mod logging;
mod update;

use edge::{Api, ApiRequest};
use harness::{Answer, GatewayEvent, World};
use runtime::Metrics;
use runtime::metrics::ApiFunction;

/// A world and the function.
struct Contacts {
    world: World,
    api: Api,
}

impl Contacts {
    async fn start() -> Self {
        let world = World::start().await;
        let api = Api::new(
            world.db.store_of("contacts"),
            Metrics::kept(world.db.clock().clone()).0,
            ApiFunction::Contacts,
        );
        Self { world, api }
    }

    /// A new function on the same tables, with empty caches.
    fn cold(&self) -> Api {
        Api::new(
            self.world.db.store_of("contacts"),
            Metrics::kept(self.world.db.clock().clone()).0,
            ApiFunction::Contacts,
        )
    }

    async fn send(&self, event: GatewayEvent) -> Answer {
        contacts::handle(&self.api, &ApiRequest::new(event.request())).await.into()
    }

    /// Sends a request after which the function remembers what it can, and forgets the calls.
    async fn settle(&self, event: GatewayEvent) {
        self.world.db.clock().advance(std::time::Duration::from_secs(30));
        self.warm(event).await;
    }

    /// Sends a request and forgets its calls, so that the calls of the next request can be counted with warm caches.
    async fn warm(&self, event: GatewayEvent) {
        assert_eq!(self.send(event).await.status, 200);
        self.world.db.forget_calls();
    }
}

/// The operations since the last call of this function, as `Operation table`, sorted.
fn operations(world: &World) -> Vec<String> {
    let mut operations: Vec<String> = world
        .db
        .calls()
        .iter()
        .map(|call| format!("{} {}", call.operation, call.table.replace("test-", "")))
        .collect();
    operations.sort();
    operations
}
