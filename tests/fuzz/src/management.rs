//! The management API: a whole request through one of its functions, over rows that never change.

use std::time::Duration;

use deliveries::Deliveries;
use domain::{EndpointId, KeyId, LeadId, TrustedReceivers, WebhookEndpoint};
use edge::{Api, ApiRequest};
use endpoints::WebhookEndpoints;
use harness::{GatewayEvent, World, fixture};
use lambda_http::{Body, Response};
use lead_records::LeadRecords;
use queue::Queues;
use runtime::Metrics;
use runtime::metrics::ApiFunction;
use tokio::runtime::{Builder, Runtime};

use crate::api::{changed, judge};
use crate::imports::Zeros;
use crate::request::Parts;

/// The routes with the parameters of their paths: a letter begins the first line of an input, and selects the event that the
/// request changes.
const ROUTES: [(&str, &[&str]); 35] = [
    ("access-list.json", &["workspaceId"]),
    ("access-create.json", &["workspaceId"]),
    ("access-get.json", &["keyId"]),
    ("access-update.json", &["keyId"]),
    ("access-revoke.json", &["keyId"]),
    ("access-session.json", &["workspaceId"]),
    ("access-end-session.json", &["workspaceId"]),
    ("access-sessions.json", &["workspaceId"]),
    ("access-start-session.json", &["workspaceId"]),
    ("access-revoke-session.json", &["sessionId"]),
    ("access-portal-link.json", &["workspaceId"]),
    ("access-audit-log.json", &["workspaceId"]),
    ("endpoints-list.json", &["workspaceId"]),
    ("endpoints-create.json", &["workspaceId"]),
    ("endpoints-get.json", &["endpointId"]),
    ("endpoints-update.json", &["endpointId"]),
    ("endpoints-delete.json", &["endpointId"]),
    ("endpoints-enable.json", &["endpointId"]),
    ("endpoints-disable.json", &["endpointId"]),
    ("endpoints-rotate-secret.json", &["endpointId"]),
    ("endpoints-activate-secret.json", &["endpointId"]),
    ("deliveries-list.json", &["workspaceId"]),
    ("deliveries-get.json", &["deliveryId"]),
    ("deliveries-retry.json", &["deliveryId"]),
    ("deliveries-jobs.json", &["endpointId"]),
    ("deliveries-request-job.json", &["endpointId"]),
    ("deliveries-job.json", &["endpointId", "jobId"]),
    ("deliveries-cancel-job.json", &["endpointId", "jobId"]),
    ("deliveries-test.json", &["endpointId"]),
    ("deliveries-events.json", &["workspaceId"]),
    ("deliveries-event.json", &["eventId"]),
    ("lead-records-list.json", &["workspaceId"]),
    ("lead-records-get.json", &["requestId"]),
    ("lead-records-retry.json", &["requestId"]),
    ("lead-records-retry-page.json", &["workspaceId"]),
];

const RESCUE: Duration = Duration::from_secs(120);

struct Bench {
    runtime: Runtime,
    world: World,
    access: Api,
    endpoints: WebhookEndpoints,
    deliveries: Deliveries,
    lead_records: LeadRecords,
    events: Vec<GatewayEvent>,
}

thread_local! {
    static BENCH: Bench = Bench::new();
}

/// The input is a request (`request.rs`).
pub fn run(input: &[u8]) {
    let parts = Parts::of(input);
    let route = place(parts.first.bytes().next().unwrap_or(b'a')) % ROUTES.len();
    BENCH.with(|bench| bench.check(route, &parts));
}

/// The place of a letter: the small ones come first.
fn place(letter: u8) -> usize {
    usize::from(if letter.is_ascii_uppercase() { letter - b'A' + 26 } else { letter.wrapping_sub(b'a') })
}

impl Bench {
    fn new() -> Self {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        let world = runtime.block_on(seeded());
        let events = ROUTES.map(|(file, _)| world.event(file)).to_vec();
        let api = |function| {
            Api::new(world.db.frozen_store(), Metrics::discarded(world.db.clock().clone()), function)
        };
        // Without queues, the sweeper finds the lanes.
        let queues = Queues::default;
        Self {
            access: api(ApiFunction::Access),
            endpoints: WebhookEndpoints {
                api: api(ApiFunction::Endpoints),
                queues: queues(),
                rescue: RESCUE,
                trusted: TrustedReceivers::none(),
                random: Box::new(Zeros),
            },
            deliveries: Deliveries { api: api(ApiFunction::Deliveries), queues: queues(), rescue: RESCUE },
            lead_records: LeadRecords {
                api: api(ApiFunction::LeadRecords),
                queues: queues(),
                rescue: RESCUE,
            },
            events,
            runtime,
            world,
        }
    }

    fn check(&self, route: usize, parts: &Parts) {
        let (file, names) = ROUTES[route];
        let Some(request) = changed(&self.events[route], names, parts) else { return };
        let response = self.runtime.block_on(Box::pin(self.answered(file, &request)));
        self.world.db.forget_calls();
        judge(&request, &response);
    }

    async fn answered(&self, file: &str, request: &ApiRequest) -> Response<Body> {
        match file.split('-').next().unwrap() {
            "access" => access::handle(&self.access, &Zeros, request).await,
            "endpoints" => self.endpoints.handle(request).await,
            "deliveries" => self.deliveries.handle(request).await,
            _ => self.lead_records.handle(request).await,
        }
    }
}

/// The id with this name in the path of an event.
fn named(file: &str, name: &str) -> String {
    fixture(file)["pathParameters"][name].as_str().unwrap().to_owned()
}

/// A workspace with what the events name: a key, an endpoint and a lead.
async fn seeded() -> World {
    let world = World::start().await;
    let workspace = world.workspace;
    let key = KeyId::parse(&named("access-get.json", "keyId")).unwrap();
    world.key_with(workspace, &["contacts:read"], |made| made.id = key).await;
    let endpoint = EndpointId::parse(&named("endpoints-get.json", "endpointId")).unwrap();
    world.endpoint_of(workspace, |made: &mut WebhookEndpoint| made.id = endpoint).await;
    let lead = LeadId::parse(&named("lead-records-get.json", "requestId")).unwrap();
    world.lead("+34600111222", |made| made.id = lead).await;
    world
}
