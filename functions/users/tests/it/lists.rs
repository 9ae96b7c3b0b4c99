//! The lists of users and of teams.

use domain::{Cellphone, PersonName, TeamId, User, UserStatus};
use harness::{Answer, trips};
use serde_json::json;

use crate::Users;

impl Users {
    async fn list(&self, event: &str, query: &[(&str, &str)]) -> Answer {
        self.send(self.world.event(event).query(query)).await
    }

    /// The ids of the users that a query finds.
    async fn found(&self, query: &[(&str, &str)]) -> Vec<String> {
        let answer = self.list("users-list.json", query).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        ids(&answer, "users")
    }
}

fn ids(answer: &Answer, list: &str) -> Vec<String> {
    let items = answer.json[list].as_array().unwrap();
    items.iter().map(|item| item["id"].as_str().unwrap().to_owned()).collect()
}

fn sorted(users: &[&User]) -> Vec<String> {
    let mut ids: Vec<String> = users.iter().map(|user| user.id.to_string()).collect();
    ids.sort_unstable();
    ids
}

#[tokio::test]
async fn users_are_listed_by_status_and_found_by_name_address_and_number() {
    let f = Users::start().await;
    let zoe = f
        .world
        .user("zoe.vega@example.com", |user| {
            user.first_name = PersonName::parse("Zoë").ok();
            user.cellphone = Cellphone::parse("+34600000000").ok();
        })
        .await;
    let left = f.world.user("left@example.org", |user| user.status = UserStatus::Disabled).await;
    let (other, _) = f.world.second_workspace().await;
    f.world.user_of(other, "zoe.other@example.com", |_| ()).await;

    assert_eq!(f.found(&[]).await, sorted(&[&zoe, &left]), "all of this workspace, disabled ones too");
    assert_eq!(f.found(&[("status", "active")]).await, sorted(&[&zoe]));
    assert_eq!(f.found(&[("status", "disabled")]).await, sorted(&[&left]));
    for search in ["zoe", "vega example", "600 000", "ZOE.VEGA@example.com"] {
        assert_eq!(f.found(&[("search", search)]).await, sorted(&[&zoe]), "{search}");
    }
    assert_eq!(f.found(&[("search", "zoe"), ("status", "disabled")]).await, Vec::<String>::new());
    let one = f.list("users-list.json", &[("search", "left")]).await;
    assert_eq!(one.json["users"][0], f.get(&left.id.to_string()).await.json);
}

#[tokio::test]
async fn pages_of_users_and_teams_have_each_item_once_in_the_order_of_the_ids() {
    let f = Users::start().await;
    let mut users = vec![];
    for n in 0..5 {
        users.push(f.world.user(&format!("agent{n}@example.com"), |_| ()).await);
    }
    let team = f.world.team(&[users[3].id, users[1].id]).await;
    let (mut seen, mut cursor) = (vec![], None::<String>);
    loop {
        let query: Vec<(&str, &str)> = [("pageSize", "2")]
            .into_iter()
            .chain(cursor.as_deref().map(|cursor| ("cursor", cursor)))
            .collect();
        let answer = f.list("users-list.json", &query).await;
        seen.extend(ids(&answer, "users"));
        cursor = answer.json["cursor"].as_str().map(str::to_owned);
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!(seen, sorted(&users.iter().collect::<Vec<_>>()));

    let shown = json!({
        "id": team.id.to_string(),
        "name": "Test",
        "members": [
            { "id": users[3].id.to_string(), "email": "agent3@example.com" },
            { "id": users[1].id.to_string(), "email": "agent1@example.com" },
        ],
        "createdAt": "2026-01-02T03:04:05.678Z",
    });
    let listed = f.list("users-teams.json", &[]).await;
    assert_eq!(listed.json, json!({ "teams": [shown], "cursor": null }));
    let got = f.send(f.world.event("users-team-get.json").path("teamId", team.id)).await;
    assert_eq!((got.status, got.json), (200, shown));
    assert!(got.headers.contains_key("etag"));
}

#[tokio::test]
async fn a_cursor_is_bound_to_its_list_and_its_filters() {
    let f = Users::start().await;
    for n in 0..2 {
        f.world.user(&format!("agent{n}@example.com"), |_| ()).await;
    }
    let first = f.list("users-list.json", &[("pageSize", "1"), ("status", "active")]).await;
    let cursor = first.json["cursor"].as_str().unwrap();
    assert_eq!(f.found(&[("status", "active"), ("cursor", cursor)]).await.len(), 1);
    for (event, query) in
        [("users-list.json", vec![("cursor", cursor)]), ("users-teams.json", vec![("cursor", cursor)])]
    {
        let answer = f.list(event, &query).await;
        assert_eq!((answer.status, &answer.json["detail"][0]["loc"]), (422, &json!(["query", "cursor"])));
    }
}

#[tokio::test]
async fn wrong_filters_are_refused_together() {
    let f = Users::start().await;
    let query = [("status", "gone"), ("search", " "), ("pageSize", "0"), ("team", "x")];
    let answer = f.list("users-list.json", &query).await;
    assert_eq!(answer.status, 422);
    let failures = answer.json["detail"].as_array().unwrap();
    let mut named: Vec<_> = failures.iter().map(|failure| failure["loc"][1].as_str().unwrap()).collect();
    named.sort_unstable();
    assert_eq!(named, ["pageSize", "search", "status", "team"]);
}

#[tokio::test]
async fn a_foreign_team_and_an_unknown_one_get_the_same_answer() {
    let f = Users::start().await;
    let (other, _) = f.world.second_workspace().await;
    let foreign = f.world.team_of(other, &[]).await;
    let get = async |id: TeamId| {
        // Each answer says that the same number of requests is left.
        f.world.db.clock().advance(std::time::Duration::from_secs(1));
        f.send(f.world.event("users-team-get.json").request_id("r").path("teamId", id)).await
    };
    let unknown = get(TeamId::generate(f.world.db.store().ids())).await;
    assert_eq!(get(foreign.id).await, unknown);
    assert_eq!(unknown.text, r#"{"title":"Setting Not Found","status":404,"code":"SERVICE_SETTING_0404"}"#);
}

#[tokio::test]
async fn a_warm_list_of_users_takes_one_round_trip_and_one_of_teams_two() {
    let f = Users::start().await;
    let user = f.world.user("agent@example.com", |_| ()).await;
    f.world.team(&[user.id]).await;
    for (event, expected) in [("users-list.json", 1), ("users-teams.json", 2)] {
        f.list(event, &[]).await;
        f.world.db.forget_calls();
        f.list(event, &[]).await;
        assert_eq!(trips(&f.world.db.calls()), expected, "{event}");
    }
}
