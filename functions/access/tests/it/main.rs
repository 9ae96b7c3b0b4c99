//! In-process tests of the access function: the real handler, a real SDK client and an embedded DynamoDB.

#![allow(clippy::unwrap_used)] // also in the test helpers

mod audit_log;
mod create;
mod keys;
mod revoke;
mod routes;
mod self_service;
mod sessions;
mod update;

use std::sync::atomic::{AtomicU64, Ordering};

use domain::KeyId;
use domain::secret::Randomness;
use edge::{Api, ApiRequest};
use harness::{Answer, GatewayEvent, World};
use runtime::metrics::ApiFunction;

struct Access {
    world: World,
    api: Api,
    random: Counted,
}

/// Bytes that count, so that tests know the secret values.
#[derive(Default)]
struct Counted(AtomicU64);

impl Randomness for Counted {
    fn fill(&self, bytes: &mut [u8]) {
        let count = self.0.fetch_add(1, Ordering::SeqCst).to_le_bytes();
        bytes.iter_mut().zip(count.iter().cycle()).for_each(|(byte, of_count)| *byte = *of_count);
    }
}

impl Access {
    async fn start() -> Self {
        let world = World::start().await;
        Self { api: world.api(ApiFunction::Access), world, random: Counted::default() }
    }

    async fn send(&self, event: GatewayEvent) -> Answer {
        access::handle(&self.api, &self.random, &ApiRequest::new(event.request())).await.into()
    }

    /// The event of a file, with another key in its path.
    fn of_key(&self, file: &str, id: KeyId) -> GatewayEvent {
        self.world.event(file).path("keyId", id).request_id("r")
    }

    /// Creates a key that is not the caller's.
    async fn another_key(&self, name: &str) -> KeyId {
        let id = KeyId::generate(self.world.db.store().ids());
        let change = |key: &mut domain::ApiKey| (key.id, key.name) = (id, name.to_owned());
        self.world.key_with(self.world.workspace, &["users:read"], change).await;
        id
    }
}
