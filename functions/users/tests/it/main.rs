//! In-process tests of the users function: the real handler, a real SDK client and an embedded DynamoDB.

#![allow(clippy::unwrap_used)] // also in the test helpers

use domain::{Cellphone, Language, PersonName, User, UserId, UserStatus};
use edge::{Api, ApiRequest};
use harness::{Answer, GatewayEvent, World, trips};
use runtime::metrics::ApiFunction;
use serde_json::{Value, json};

mod changes;
mod lists;
mod routes;
mod team_changes;

struct Users {
    world: World,
    api: Api,
}

impl Users {
    async fn start() -> Self {
        let world = World::start().await;
        Self { api: world.api(ApiFunction::Users), world }
    }

    async fn send(&self, event: GatewayEvent) -> Answer {
        users::handle(&self.api, &ApiRequest::new(event.request())).await.into()
    }

    /// The entries of the audit log by keys, oldest first: action, subject and fields.
    async fn audit(&self) -> Vec<(String, String, Vec<String>)> {
        let mut entries = self.world.audited().await;
        entries.reverse();
        entries
    }

    async fn get(&self, id: &str) -> Answer {
        self.send(self.world.event("users-get.json").path("userId", id).request_id("r")).await
    }
}

#[tokio::test]
async fn a_user_is_returned_with_every_documented_field() {
    let f = Users::start().await;
    let full = |user: &mut User| {
        user.first_name = PersonName::parse("Inés").ok();
        user.last_name = PersonName::parse("Vega").ok();
        user.cellphone = Cellphone::parse("+34600000000").ok();
        user.language = Some(Language::Es);
    };
    let user = f.world.user("Ines@example.com", full).await;
    let answer = f.get(&user.id.to_string()).await;
    assert_eq!(answer.status, 200);
    assert_eq!(
        answer.json,
        json!({
            "id": user.id.to_string(),
            "status": "active",
            "createdAt": "2026-01-02T03:04:05.678Z",
            "updatedAt": "2026-01-02T03:04:05.678Z",
            "firstName": "Inés",
            "lastName": "Vega",
            "email": "Ines@example.com",
            "cellphone": "+34600000000",
            "languageCode": "ES",
        })
    );
    assert_eq!(answer.headers["x-request-id"], "r");
    assert_eq!(answer.headers["etag"], f.get(&user.id.to_string()).await.headers["etag"]);
}

#[tokio::test]
async fn a_removed_user_is_disabled_and_its_absent_fields_are_null() {
    let f = Users::start().await;
    let user = f.world.user("left@example.com", |user| user.status = UserStatus::Disabled).await;
    let answer = f.get(&user.id.to_string().to_uppercase()).await;
    assert_eq!(answer.json["status"], "disabled");
    for field in ["firstName", "lastName", "cellphone", "languageCode"] {
        assert_eq!(answer.json.as_object().unwrap().get(field), Some(&Value::Null), "{field}");
    }
}

#[tokio::test]
async fn a_foreign_user_and_an_unknown_one_get_the_same_answer_byte_for_byte() {
    let f = Users::start().await;
    let user = f.world.user("agent@example.com", |_| ()).await;
    let (other, key) = f.world.second_workspace().await;
    let from_there = |id: UserId| {
        // Each answer says that the same number of requests is left.
        f.world.db.clock().advance(std::time::Duration::from_secs(1));
        let event = f.world.event("users-get.json").request_id("r").path("workspaceId", other);
        f.send(event.header("x-api-key", &key).path("userId", id))
    };
    let unknown = from_there(UserId::generate(f.world.db.store().ids())).await;
    assert_eq!(from_there(user.id).await, unknown);
    assert_eq!(unknown.text, r#"{"title":"User Not Found","status":404,"code":"SERVICE_USER_0404"}"#);
}

#[tokio::test]
async fn an_invalid_id_and_a_query_are_refused_together() {
    let f = Users::start().await;
    let answer =
        f.send(f.world.event("users-get.json").path("userId", "me").query(&[("fields", "id")])).await;
    assert_eq!(answer.status, 422);
    assert_eq!(answer.json["detail"][0]["loc"], json!(["query", "fields"]));
    assert_eq!(answer.json["detail"][1]["loc"], json!(["path", "userId"]));
}

#[tokio::test]
async fn the_scope_is_users_read() {
    let f = Users::start().await;
    let user = f.world.user("agent@example.com", |_| ()).await;
    for (scope, status) in [("users:read", 200), ("settings:read", 403)] {
        let key = f.world.key_with(f.world.workspace, &[scope], |_| ()).await;
        let event = f.world.event("users-get.json").path("userId", user.id).header("x-api-key", &key);
        assert_eq!(f.send(event).await.status, status, "{scope}");
    }
}

#[tokio::test]
async fn a_warm_get_takes_one_round_trip() {
    let f = Users::start().await;
    let user = f.world.user("agent@example.com", |_| ()).await;
    f.get(&user.id.to_string()).await;
    f.world.db.forget_calls();
    f.get(&user.id.to_string()).await;
    assert_eq!(
        (f.world.db.calls().len(), trips(&f.world.db.calls())),
        (2, 1),
        "the user and the limiter at the same time"
    );
}

#[tokio::test]
async fn the_event_file_names_an_existing_user() {
    let f = Users::start().await;
    let id = UserId::parse("5e7f9a1b-3c5d-4e7f-8a9b-1c2d3e4f5a6b").unwrap();
    f.world.user("agent@example.com", |user| user.id = id).await;
    let event = f.world.event("users-get.json");
    assert_eq!(f.send(event.clone()).await.json["id"], id.to_string());
    let answer = f.send(event.method("PUT")).await;
    assert_eq!((answer.status, answer.json["code"].as_str()), (404, Some("SERVICE_CORE_0404")));
}

fn code(answer: &Answer) -> (u16, &str) {
    (answer.status, answer.json["code"].as_str().unwrap_or_default())
}
