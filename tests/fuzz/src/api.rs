//! The Integrations API: a whole request through a function, over rows that never change.

use std::time::Duration;

use domain::{AttributeType, Contact, Email, LaneKind, PersonName, TemplateId};
use edge::{Api, ApiRequest, CODES};
use harness::{GatewayEvent, TestBucket, World, fixture};
use lambda_http::{Body, Response};
use messages::Messages;
use runtime::Metrics;
use runtime::metrics::ApiFunction;
use serde_json::Value;
use tokio::runtime::{Builder, Runtime};

use crate::imports::Zeros;
use crate::request::Parts;

/// The routes: a letter begins the first line of an input, and selects the event that the request changes.
const ROUTES: [(&str, &str); 17] = [
    ("attributes-list.json", "workspaceId"),
    ("contacts-get.json", "contactId"),
    ("contacts-list.json", "workspaceId"),
    ("contacts-update.json", "contactId"),
    ("conversations-create.json", "workspaceId"),
    ("conversations-get.json", "conversationId"),
    ("conversations-list.json", "workspaceId"),
    ("conversations-update.json", "conversationId"),
    ("files-create.json", "workspaceId"),
    ("files-get.json", "mediaId"),
    ("messages-create.json", "workspaceId"),
    ("messages-get.json", "messageId"),
    ("messages-list.json", "conversationId"),
    ("users-get.json", "userId"),
    ("messages-template-list.json", "workspaceId"),
    ("messages-template-get.json", "templateId"),
    ("messages-template-preview.json", "templateId"),
];

struct Bench {
    runtime: Runtime,
    world: World,
    bucket: TestBucket,
    messages: Messages,
    events: Vec<GatewayEvent>,
}

thread_local! {
    static BENCH: Bench = Bench::new();
}

/// The input is a request (`request.rs`).
pub fn run(input: &[u8]) {
    let parts = Parts::of(input);
    let letter = parts.first.bytes().next().unwrap_or(b'a');
    let route = usize::from(letter.wrapping_sub(b'a')) % ROUTES.len();
    BENCH.with(|bench| bench.check(route, &parts));
}

impl Bench {
    fn new() -> Self {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        let world = runtime.block_on(seeded());
        let events = ROUTES.map(|(file, _)| world.event(file)).to_vec();
        let bucket = TestBucket::beside(&world.db);
        let api = Api::new(
            world.db.frozen_store(),
            Metrics::discarded(world.db.clock().clone()),
            ApiFunction::Messages,
        );
        let messages = Messages { api, bucket: bucket.bucket(), first_due: Duration::from_secs(120) };
        Self { runtime, world, bucket, messages, events }
    }

    fn check(&self, route: usize, parts: &Parts) {
        let (file, last) = ROUTES[route];
        let Some(request) = changed(&self.events[route], &[last], parts) else { return };
        let response = self.runtime.block_on(Box::pin(self.answered(file, &request)));
        self.world.db.forget_calls();
        judge(&request, &response);
    }

    async fn answered(&self, file: &str, request: &ApiRequest) -> Response<Body> {
        let api = &self.messages.api;
        match file.split('-').next().unwrap() {
            "attributes" => {
                let capturing = attributes::Capturing { url: "https://capture.example.com", random: &Zeros };
                attributes::handle(api, &capturing, request).await
            }
            "contacts" => contacts::handle(api, request).await,
            "conversations" => conversations::handle(api, Duration::from_secs(120), request).await,
            "files" => files::handle(api, &self.bucket.bucket(), request).await,
            "messages" => messages::handle(&self.messages, request).await,
            _ => users::handle(api, request).await,
        }
    }
}

/// The event with what an input changes: the parameters of the path with these names, the query, headers and the body. `None` if the
/// gateway would not pass it: it passes no header and no method that HTTP does not know.
pub(crate) fn changed(event: &GatewayEvent, names: &[&str], parts: &Parts) -> Option<ApiRequest> {
    let mut event = event.clone();
    for (name, value) in names.iter().zip(&parts.path) {
        event = event.path(name, value);
    }
    let query: Vec<(&str, &str)> =
        parts.query.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    event = event.query(&query);
    for (name, value) in &parts.headers {
        event = event.header(name, value);
    }
    if !parts.body.is_empty() {
        event = event.raw_body(&parts.body);
    }
    lambda_http::request::from_str(&event.json().to_string()).ok().map(ApiRequest::new)
}

/// The response is one of the documented ones. A refusal names the field and the reason.
pub(crate) fn judge(request: &ApiRequest, response: &Response<Body>) {
    let status = response.status().as_u16();
    assert_eq!(response.headers()["x-request-id"], request.id());
    let Body::Text(text) = response.body() else { panic!("a response is text") };
    if status == 204 {
        assert_eq!(text, "");
        return;
    }
    assert!(status < 500, "{} {text}", request.method());
    let body: Value = serde_json::from_str(text).unwrap();
    if status < 400 {
        assert!(matches!(status, 200 | 201), "{status}");
        return;
    }
    let code = CODES.iter().find(|code| code.code == body["code"]).unwrap_or_else(|| panic!("{text}"));
    assert_eq!((code.status, body["title"].as_str()), (status, Some(code.title)));
    if body["code"] == "SERVICE_CORE_0422" {
        let failures = body["detail"].as_array().unwrap_or_else(|| panic!("{text}"));
        assert!(!failures.is_empty(), "{text}");
        for failure in failures {
            let place = failure["loc"].as_array().unwrap_or_else(|| panic!("{text}"));
            let part = place[0].as_str().unwrap();
            assert!(["body", "query", "path", "header"].contains(&part), "{text}");
            assert!(!failure["msg"].as_str().unwrap().is_empty() && failure["type"].is_string(), "{text}");
        }
    }
}

/// A workspace with something of every kind.
async fn seeded() -> World {
    let world = World::start().await;
    world.user("agent@example.com", |_| ()).await;
    world.open_attribute("note", AttributeType::Text, |_| ()).await;
    world.open_attribute("born", AttributeType::Date, |_| ()).await;
    world.closed_attribute("plan", &["gold", "silver"], |_| ()).await;
    world.line("1045551234567", |_| ()).await;
    let of_events = fixture("messages-template-get.json")["pathParameters"]["templateId"].clone();
    let id = TemplateId::parse(of_events.as_str().unwrap()).unwrap();
    world.template(|template| template.id = id).await;
    world.media(|_| ()).await;
    for email in ["ada@example.com", "grace@example.com"] {
        let named = |contact: &mut Contact| {
            contact.email = Email::parse(email).ok();
            contact.first_name = PersonName::parse("Ada").ok();
        };
        world.contact(named).await;
    }
    world.conversation(|_| ()).await;
    assert_eq!(world.db.due(LaneKind::Conversation).await, []);
    world
}
