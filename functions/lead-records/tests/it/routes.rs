//! The function's table of routes is that of the template and of openapi.yaml, and each route needs its scope.

use domain::{LeadId, Scopes, SelfService};
use harness::{GatewayEvent, assert_described, assert_routed};
use lead_records::ROUTES;
use serde_json::json;

use crate::{Records, code};

/// The files of the routes, in their order.
const FILES: [&str; 4] = ["list", "get", "retry", "retry-page"];

impl Records {
    fn about(&self, file: &str, lead: LeadId) -> GatewayEvent {
        let sent = self.event(file);
        match file {
            "list" => sent.query(&[]),
            "retry-page" => sent.body(&json!({"states": ["FAILED"]})),
            _ => sent.path("requestId", lead),
        }
    }

    fn unknown(&self) -> LeadId {
        LeadId::generate(self.world.db.store().ids())
    }
}

#[test]
fn openapi_describes_these_routes_with_their_scopes() {
    assert_described(&local::reference::as_json(), &ROUTES);
}

#[test]
fn the_template_routes_these_paths_to_the_function() {
    assert_routed(include_str!("../../../../template.yaml"), "LeadRecords", &ROUTES);
}

#[tokio::test]
async fn the_event_files_are_answered_and_other_methods_have_no_route() {
    let f = Records::start().await;
    for (file, expected) in FILES.into_iter().zip([200, 404, 404, 200]) {
        let event = f.event(file);
        let answer = f.send(event.clone()).await;
        assert_eq!(answer.status, expected, "{file} {}", answer.text);
        assert_eq!(code(&f.send(event.method("PUT")).await), (404, "SERVICE_CORE_0404"), "{file}");
    }
}

#[tokio::test]
async fn each_route_needs_its_scope_and_self_service() {
    let f = Records::start().await;
    let mut keys = vec![];
    for scope in ["leads:read", "leads:write", "contacts:read", "*"] {
        keys.push((scope, f.world.key_with(f.world.workspace, &[scope], |_| ()).await));
    }
    for (file, (_, _, scope)) in FILES.into_iter().zip(ROUTES) {
        for (name, key) in &keys {
            let event = f.about(file, f.unknown()).header("x-api-key", key);
            let may = Scopes::parse([*name]).unwrap().allow(scope);
            assert_eq!(f.send(event).await.status == 403, !may, "{file} {name}");
        }
    }
    f.world.change_workspace(|workspace| workspace.with_self_service(SelfService::Off)).await;
    f.pass(30);
    for file in FILES {
        assert_eq!(code(&f.send(f.about(file, f.unknown())).await), (403, "SERVICE_CORE_0301"), "{file}");
    }
}

#[tokio::test]
async fn a_foreign_and_an_unknown_id_get_the_same_answer_byte_for_byte() {
    let f = Records::capturing().await;
    let lead = f.failed().await;
    let (other, token) = f.world.second_workspace().await;
    let from_there = async |event: GatewayEvent| {
        f.pass(1);
        f.send(event.path("workspaceId", other).header("x-api-key", &token)).await
    };
    for file in FILES {
        let unknown = from_there(f.about(file, f.unknown())).await;
        assert_eq!(from_there(f.about(file, lead.id)).await, unknown, "{file}");
        let text = match file {
            "list" => r#"{"leads":[],"cursor":null}"#,
            "retry-page" => r#"{"retried":[],"refused":[],"cursor":null}"#,
            _ => r#"{"title":"Lead Not Found","status":404,"code":"SERVICE_LEAD_0404"}"#,
        };
        assert_eq!(unknown.text, text, "{file}");
    }
    assert_eq!((f.stored(lead.id).await, f.audit().await, f.queued()), (lead, vec![], vec![]));
}

#[tokio::test]
async fn an_invalid_id_and_a_query_are_refused_together() {
    let f = Records::start().await;
    for (file, failed) in [("get", 2), ("retry", 2), ("retry-page", 1)] {
        let event = f.event(file).query(&[("fields", "id")]);
        let event = if file == "retry-page" { event } else { event.path("requestId", "mine") };
        assert_eq!(f.send(event).await.failures().len(), failed, "{file}");
    }
}
