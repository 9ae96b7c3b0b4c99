//! The function's table of routes is that of the template and of openapi.yaml, and each route needs its scope.

use std::time::Duration;

use domain::{Scopes, SelfService, TeamId, UserId};
use harness::{Answer, assert_described, assert_routed};
use users::ROUTES;

use crate::{Users, code};

const FILES: [&str; 9] =
    ["list", "create", "get", "update", "teams", "team-create", "team-get", "team-update", "team-delete"];

#[test]
fn openapi_describes_these_routes_with_their_scopes() {
    assert_described(&local::reference::as_json(), &ROUTES);
}

#[test]
fn the_template_routes_these_paths_to_the_function() {
    assert_routed(include_str!("../../../../template.yaml"), "Users", &ROUTES);
}

#[tokio::test]
async fn the_event_files_are_answered_and_other_methods_have_no_route() {
    let f = Users::start().await;
    for file in FILES {
        let event = f.world.event(&format!("users-{file}.json"));
        let expected = match file {
            "list" | "teams" => 200,
            "create" | "team-create" => 201,
            _ => 404,
        };
        let answer = f.send(event.clone()).await;
        assert_eq!(answer.status, expected, "{file} {}", answer.text);
        assert_eq!(code(&f.send(event.method("PUT")).await), (404, "SERVICE_CORE_0404"), "{file}");
    }
}

#[tokio::test]
async fn each_route_needs_its_scope_and_changes_need_self_service() {
    let f = Users::start().await;
    let mut keys = vec![];
    for scope in ["users:read", "users:write", "settings:write", "*"] {
        keys.push((scope, f.world.key_with(f.world.workspace, &[scope], |_| ()).await));
    }
    for (file, (_, _, needed)) in FILES.iter().zip(ROUTES) {
        for (scope, key) in &keys {
            let event = f.world.event(&format!("users-{file}.json")).header("x-api-key", key);
            let may = Scopes::parse([*scope]).unwrap().allow(needed);
            assert_eq!(f.send(event).await.status == 403, !may, "{file} {scope}");
        }
    }
    f.world.change_workspace(|workspace| workspace.with_self_service(SelfService::Off)).await;
    f.world.db.clock().advance(Duration::from_secs(30));
    for (file, (_, _, needed)) in FILES.iter().zip(ROUTES) {
        let answer = f.send(f.world.event(&format!("users-{file}.json"))).await;
        assert_eq!(answer.status == 403, needed.manages(), "{file}");
    }
}

#[tokio::test]
async fn foreign_and_unknown_users_and_teams_get_the_same_answers_byte_for_byte() {
    let f = Users::start().await;
    let user = f.world.user("agent@example.com", |_| ()).await;
    let team = f.world.team(&[]).await;
    let (other, token) = f.world.second_workspace().await;
    let from_there = async |file: &str, name: &str, id: String| -> Answer {
        f.world.db.clock().advance(Duration::from_secs(1));
        let event = f.world.event(&format!("users-{file}.json")).request_id("r").path(name, id);
        f.send(event.path("workspaceId", other).header("x-api-key", &token)).await
    };
    let ids = f.world.db.store().ids();
    let (unknown_user, unknown_team) = (UserId::generate(ids).to_string(), TeamId::generate(ids).to_string());
    let unknown = from_there("update", "userId", unknown_user).await;
    assert_eq!(from_there("update", "userId", user.id.to_string()).await, unknown);
    assert_eq!(unknown.text, r#"{"title":"User Not Found","status":404,"code":"SERVICE_USER_0404"}"#);
    for file in ["team-get", "team-update", "team-delete"] {
        let unknown = from_there(file, "teamId", unknown_team.clone()).await;
        assert_eq!(from_there(file, "teamId", team.id.to_string()).await, unknown, "{file}");
        let text = r#"{"title":"Setting Not Found","status":404,"code":"SERVICE_SETTING_0404"}"#;
        assert_eq!(unknown.text, text, "{file}");
    }
    let store = f.world.db.store();
    assert_eq!(store.user(f.world.workspace, user.id).await.unwrap().unwrap().version, 1);
    assert_eq!(store.team(f.world.workspace, team.id).await.unwrap(), Some(team));
}
