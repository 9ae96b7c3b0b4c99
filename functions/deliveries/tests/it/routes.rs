//! The function's table of routes is that of the template and of openapi.yaml, and each route needs its scope.

use std::time::Duration;

use deliveries::ROUTES;
use domain::{DeliveryId, EndpointId, EventId, EventType, JobId, Scopes, SelfService};
use harness::{GatewayEvent, assert_described, assert_routed};

use crate::{Log, code, delivery_of, unknown_endpoint};

const FILES: [&str; 10] =
    ["list", "get", "retry", "jobs", "request-job", "job", "cancel-job", "test", "events", "event"];

/// Where the requests of the files go.
const WHERE: [(&str, &str); 10] = [
    ("GET", "/deliveries"),
    ("GET", "/deliveries/{deliveryId}"),
    ("POST", "/deliveries/{deliveryId}/retry"),
    ("GET", "/webhook-endpoints/{endpointId}/jobs"),
    ("POST", "/webhook-endpoints/{endpointId}/jobs"),
    ("GET", "/webhook-endpoints/{endpointId}/jobs/{jobId}"),
    ("POST", "/webhook-endpoints/{endpointId}/jobs/{jobId}/cancel"),
    ("POST", "/webhook-endpoints/{endpointId}/test"),
    ("GET", "/events"),
    ("GET", "/events/{eventId}"),
];

impl Log {
    /// A request about these.
    fn about(&self, file: &str, endpoint: EndpointId, event: EventId, job: JobId) -> GatewayEvent {
        let delivery = DeliveryId { event, endpoint };
        let sent = self.event(file);
        let sent = if matches!(file, "list" | "events") { sent.query(&[]) } else { sent };
        match file {
            "list" | "events" => sent,
            "get" | "retry" => sent.path("deliveryId", delivery),
            "event" => sent.path("eventId", event),
            "job" | "cancel-job" => sent.path("endpointId", endpoint).path("jobId", job),
            "request-job" => {
                let body = serde_json::json!({"what": "RECOVER", "since": self.now().minus(Duration::from_secs(60)).to_string()});
                sent.path("endpointId", endpoint).body(&body)
            }
            _ => sent.path("endpointId", endpoint),
        }
    }

    fn about_nothing(&self, file: &str) -> GatewayEvent {
        let ids = self.world.db.store().ids();
        self.about(file, unknown_endpoint(self), EventId::from_uuid(ids.next()), JobId::from_uuid(ids.next()))
    }
}

#[test]
fn openapi_describes_these_routes_with_their_scopes() {
    assert_described(&local::reference::as_json(), &ROUTES);
}

#[test]
fn the_template_routes_these_paths_to_the_function() {
    assert_routed(include_str!("../../../../template.yaml"), "Deliveries", &ROUTES);
}

#[tokio::test]
async fn the_event_files_are_answered_and_other_methods_have_no_route() {
    let f = Log::start().await;
    for file in FILES {
        let event = f.event(file);
        let expected = if matches!(file, "list" | "events") { 200 } else { 404 };
        let answer = f.send(event.clone()).await;
        assert_eq!(answer.status, expected, "{file} {}", answer.text);
        assert_eq!(code(&f.send(event.method("PUT")).await), (404, "SERVICE_CORE_0404"), "{file}");
    }
}

#[tokio::test]
async fn each_route_needs_its_scope_and_self_service() {
    let f = Log::start().await;
    let mut keys = vec![];
    for scope in ["deliveries:read", "deliveries:write", "events:read", "webhooks:write", "*"] {
        keys.push((scope, f.world.key_with(f.world.workspace, &[scope], |_| ()).await));
    }
    for (file, needed) in FILES.iter().zip(WHERE) {
        let scope = ROUTES.iter().find(|(method, path, _)| (*method, *path) == needed).unwrap().2;
        for (name, key) in &keys {
            let event = f.about_nothing(file).header("x-api-key", key);
            let may = Scopes::parse([*name]).unwrap().allow(scope);
            assert_eq!(f.send(event).await.status == 403, !may, "{file} {name}");
        }
    }
    f.world.change_workspace(|workspace| workspace.with_self_service(SelfService::Off)).await;
    f.world.db.clock().advance(Duration::from_secs(30));
    for file in FILES {
        assert_eq!(code(&f.send(f.about_nothing(file)).await), (403, "SERVICE_CORE_0301"), "{file}");
    }
}

#[tokio::test]
async fn a_foreign_and_an_unknown_id_get_the_same_answer_byte_for_byte() {
    let f = Log::start().await;
    let mine = f.endpoint().await;
    let event = f.record(EventType::LeadSent, &[&mine]).await;
    let sent = f.send(f.event("retry").path("deliveryId", delivery_of(event, &mine))).await;
    let job = JobId::parse(sent.json["id"].as_str().unwrap()).unwrap();
    let (other, token) = f.world.second_workspace().await;
    let from_there = async |event: GatewayEvent| {
        f.pass(1);
        f.send(event.path("workspaceId", other).header("x-api-key", &token)).await
    };
    for file in FILES {
        let unknown = from_there(f.about_nothing(file)).await;
        assert_eq!(from_there(f.about(file, mine.id, event, job)).await, unknown, "{file}");
        let text = match file {
            "list" => r#"{"deliveries":[],"cursor":null}"#,
            "events" => r#"{"events":[],"cursor":null}"#,
            _ => r#"{"title":"Webhook Resource Not Found","status":404,"code":"SERVICE_WEBHOOK_0404"}"#,
        };
        assert_eq!(unknown.text, text, "{file}");
    }
    let id = mine.id.to_string();
    let filtered = from_there(f.event("list").query(&[("endpointId", &id)])).await;
    assert_eq!(filtered.text, r#"{"deliveries":[],"cursor":null}"#);
}

#[tokio::test]
async fn an_invalid_id_and_a_query_are_refused_together() {
    let f = Log::start().await;
    for file in FILES.iter().filter(|file| !matches!(**file, "list" | "events")) {
        let mut event = f.event(file).query(&[("fields", "id")]);
        let names = ["deliveryId", "endpointId", "jobId", "eventId"];
        let named: Vec<_> =
            names.into_iter().filter(|name| event.json()["pathParameters"].get(name).is_some()).collect();
        for name in &named {
            event = event.path(name, "mine");
        }
        let failed: Vec<String> =
            f.send(event).await.failures().into_iter().map(|(place, _)| place).collect();
        assert_eq!(failed.len(), 1 + named.len(), "{file} {failed:?}");
    }
}
