//! In-process tests of the contacts function: real handlers, a real SDK client and an embedded DynamoDB.

#![allow(clippy::unwrap_used)] // also in the test helpers

mod auth;
mod erase;
mod get;
mod list;
mod logging;
mod merge;
mod opt_outs;
mod routes;
mod update;

use edge::{Api, ApiRequest};
use harness::{Answer, GatewayEvent, World};
use runtime::metrics::ApiFunction;

/// A world and the function.
struct Contacts {
    world: World,
    api: Api,
}

impl Contacts {
    async fn start() -> Self {
        let world = World::start().await;
        Self { api: world.api(ApiFunction::Contacts), world }
    }

    /// A new function on the same tables, with empty caches.
    fn cold(&self) -> Api {
        self.world.api(ApiFunction::Contacts)
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
