//! POST /teams, and PATCH and DELETE of one.

use domain::{Team, TeamId, UserId};
use futures::future::{join, join_all};
use harness::{Answer, Death, GatewayEvent, trips};
use serde_json::{Value, json};

use crate::{Users, code};

impl Users {
    async fn make(&self, body: &Value) -> Answer {
        let event = self.world.event("users-team-create.json").without_header("Idempotency-Key");
        self.send(event.request_id("r").body(body)).await
    }

    /// The event of a file, for this team.
    fn of(&self, file: &str, id: TeamId) -> GatewayEvent {
        self.world.event(&format!("users-team-{file}.json")).request_id("r").path("teamId", id)
    }

    async fn change(&self, id: TeamId, body: &Value) -> Answer {
        self.send(self.of("update", id).body(body)).await
    }

    async fn teams(&self) -> Vec<Team> {
        self.world.db.store().teams(self.world.workspace).await.unwrap()
    }

    async fn named(&self, name: &str) -> TeamId {
        let answer = self.make(&json!({"name": name})).await;
        TeamId::parse(answer.json["id"].as_str().unwrap()).unwrap()
    }
}

fn by_id(id: UserId) -> Value {
    json!({"identifier": id.to_string(), "identifierType": "ID"})
}

fn by_email(email: &str) -> Value {
    json!({"identifier": email, "identifierType": "EMAIL"})
}

#[tokio::test]
async fn a_new_team_is_answered_and_shown_with_its_members() {
    let f = Users::start().await;
    let ana = f.world.user("ana@example.com", |_| ()).await.id;
    let jo = f.world.user("jo@example.com", |_| ()).await.id;
    let body = json!({"name": "Sales", "members": [by_email("JO@example.com"), by_id(ana), by_id(jo)]});
    let made = f.make(&body).await;
    assert_eq!(made.status, 201, "{}", made.text);
    let member = |id: UserId, email| json!({"id": id.to_string(), "email": email});
    let members = json!([member(jo, "jo@example.com"), member(ana, "ana@example.com")]);
    assert_eq!((&made.json["name"], &made.json["members"]), (&json!("Sales"), &members));
    let [team] = &f.teams().await[..] else { panic!("one team is expected") };
    assert_eq!((team.version, &team.members), (1, &vec![jo, ana]));
    let shown = f.send(f.of("get", team.id)).await;
    assert_eq!((&shown.json, &shown.headers["etag"]), (&made.json, &made.headers["etag"]));
    assert_eq!(f.audit().await, [("team.create".to_owned(), team.id.to_string(), vec![])]);
    assert_eq!(f.make(&json!({"name": "Desk", "members": null})).await.status, 201);
}

#[tokio::test]
async fn a_name_belongs_to_one_team_also_of_two_that_come_together() {
    let f = Users::start().await;
    let sales = f.named("Sales").await;
    let taken = f.make(&json!({"name": " sales "})).await;
    let text = format!(
        r#"{{"title":"Setting Conflict","status":409,"code":"SERVICE_SETTING_0409","extra":{{"field":"name","id":"{sales}"}}}}"#
    );
    assert_eq!(taken.text, text);
    let body = json!({"name": "Desk"});
    let (one, other) = join(f.make(&body), f.make(&body)).await;
    assert_eq!(Answer::statuses([&one, &other]), [201, 409]);
    let desk = f.teams().await.into_iter().find(|team| team.name == "Desk").unwrap().id;
    assert_eq!(code(&f.change(desk, &json!({"name": "SALES"})).await), (409, "SERVICE_SETTING_0409"));
    // Two teams that take one name together.
    let body = json!({"name": "Night"});
    let (one, other) = join(f.change(desk, &body), f.change(sales, &body)).await;
    let found = Answer::statuses([&one, &other]);
    assert_eq!((found, f.audit().await.len()), (vec![200, 409], 3));
}

#[tokio::test]
async fn members_are_added_and_removed_and_a_change_without_an_effect_writes_nothing() {
    let f = Users::start().await;
    let mut ids = vec![];
    for name in ["ana", "bo", "jo"] {
        ids.push(f.world.user(&format!("{name}@example.com"), |_| ()).await.id);
    }
    let id = f.world.team(&ids[..2]).await.id;
    let body = json!({"name": "Desk", "members": {"add": [by_id(ids[2]), by_id(ids[1])], "remove": [by_email("ana@example.com")]}});
    for _ in 0..2 {
        let answer = f.change(id, &body).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        let emails: Vec<&str> = answer.json["members"]
            .as_array()
            .unwrap()
            .iter()
            .map(|member| member["email"].as_str().unwrap())
            .collect();
        assert_eq!(
            (&answer.json["name"], emails),
            (&json!("Desk"), vec!["bo@example.com", "jo@example.com"])
        );
    }
    for body in [json!({}), json!({"members": null}), json!({"members": {"remove": []}, "name": "Desk"})] {
        assert_eq!(f.change(id, &body).await.status, 200, "{body}");
    }
    let fields = ["name", "members"].map(str::to_owned).to_vec();
    assert_eq!(f.audit().await, [("team.update".to_owned(), id.to_string(), fields)]);
    assert_eq!(f.teams().await[0].version, 2);
}

#[tokio::test]
async fn unfit_fields_are_refused_together_and_an_unknown_user_is_named() {
    let f = Users::start().await;
    let body = json!({
        "name": " ", "members": [{"identifier": "x", "identifierType": "ID"}, {"identifier": "a@b.io"}, 7], "id": "x",
    });
    let failed = [
        ("id", "extra_forbidden"),
        ("name", "value_error"),
        ("members.0.identifier", "uuid_parsing"),
        ("members.1.identifierType", "missing"),
        ("members.2", "dict_type"),
    ];
    let failed = failed.map(|(place, kind)| (format!("body.{place}"), kind.to_owned()));
    assert_eq!(f.make(&body).await.failures(), failed);
    let id = f.named("Sales").await;
    let (other, _) = f.world.second_workspace().await;
    let theirs = f.world.user_of(other, "eve@example.com", |_| ()).await.id;
    let unknown = UserId::generate(f.world.db.store().ids());
    for named in [by_id(theirs), by_id(unknown), by_email("eve@example.com")] {
        let bodies =
            [json!({"members": {"add": [named]}}), json!({"members": {"remove": [named]}, "name": "Desk"})];
        for body in bodies {
            let answer = f.change(id, &body).await;
            assert_eq!(answer.failures(), [("body.members".to_owned(), "value_error".to_owned())], "{body}");
            assert_eq!(answer.json["detail"][0]["input"], named["identifier"]);
        }
        let answer = f.make(&json!({"name": "Desk", "members": [named]})).await;
        assert_eq!(answer.failures(), [("body.members".to_owned(), "value_error".to_owned())]);
    }
    for (body, place, kind) in [
        (json!({"name": null}), "name", "string_type"),
        (json!({"members": []}), "members", "dict_type"),
        (json!({"members": {"set": []}}), "members.set", "extra_forbidden"),
        (json!({"members": {"add": {}}}), "members.add", "list_type"),
    ] {
        assert_eq!(
            f.change(id, &body).await.failures(),
            [(format!("body.{place}"), kind.to_owned())],
            "{body}"
        );
    }
    assert_eq!((f.teams().await.len(), f.audit().await.len()), (1, 1));
}

#[tokio::test]
async fn a_team_has_at_most_two_hundred_members() {
    let f = Users::start().await;
    let ids: Vec<UserId> = (0..200).map(|_| UserId::generate(f.world.db.store().ids())).collect();
    let id = f.world.team(&ids).await.id;
    let one_more = f.world.user("ana@example.com", |_| ()).await.id;
    let answer = f.change(id, &json!({"members": {"add": [by_id(one_more)]}})).await;
    let text = r#"{"title":"Limit Reached","status":422,"code":"SERVICE_SETTING_1201","extra":{"limit":"teamMembers","of":200}}"#;
    assert_eq!(answer.text, text);
}

#[tokio::test]
async fn a_team_is_deleted_only_without_members() {
    let f = Users::start().await;
    let ana = f.world.user("ana@example.com", |_| ()).await.id;
    let id = f.world.team(&[ana]).await.id;
    let used = f.send(f.of("delete", id)).await;
    let text = r#"{"title":"Setting In Use","status":422,"code":"SERVICE_SETTING_1202","extra":{"usedBy":{"members":1}}}"#;
    assert_eq!(used.text, text);
    f.change(id, &json!({"members": {"remove": [by_id(ana)]}})).await;
    f.world.db.clock().advance(std::time::Duration::from_secs(1));
    let deleted = f.send(f.of("delete", id)).await;
    assert_eq!((deleted.status, deleted.text.as_str(), f.teams().await), (204, "", vec![]));
    assert_eq!(code(&f.send(f.of("delete", id)).await), (404, "SERVICE_SETTING_0404"));
    let last = ("team.delete".to_owned(), id.to_string(), vec![]);
    assert_eq!((f.audit().await.len(), f.audit().await.last()), (2, Some(&last)));
}

#[tokio::test]
async fn if_match_must_name_the_state_that_was_read() {
    let f = Users::start().await;
    let id = f.named("Sales").await;
    let tag = f.send(f.of("get", id)).await.headers["etag"].clone();
    let changed = f.send(f.of("update", id).header("If-Match", &tag).body(&json!({"name": "Desk"}))).await;
    assert_eq!(changed.status, 200);
    for file in ["update", "delete"] {
        let stale = f.send(f.of(file, id).header("If-Match", &tag)).await;
        assert_eq!(code(&stale), (412, "SERVICE_CORE_0412"), "{file}");
    }
    let deleted = f.send(f.of("delete", id).header("If-Match", &changed.headers["etag"])).await;
    assert_eq!(deleted.status, 204);
}

#[tokio::test]
async fn a_repeat_under_an_idempotency_key_gets_the_same_team() {
    let f = Users::start().await;
    let event = f.world.event("users-team-create.json").request_id("r");
    let first = f.send(event.clone()).await;
    let again = f.send(event.clone()).await;
    assert_eq!((again.status, &again.text), (201, &first.text));
    assert_eq!(again.headers["idempotent-replayed"], "true");
    let other = f.send(event.body(&json!({"name": "Desk"}))).await;
    assert_eq!(code(&other), (422, "SERVICE_CORE_0423"));
    let both = join_all([(); 2].map(|()| {
        let event =
            f.world.event("users-team-create.json").request_id("r").header("Idempotency-Key", "another");
        f.send(event.body(&json!({"name": "Night"})))
    }))
    .await;
    assert_eq!((both[0].status, &both[0].text), (201, &both[1].text));
    assert_eq!((f.teams().await.len(), f.audit().await.len()), (2, 2));
}

#[tokio::test]
async fn a_team_and_its_entry_are_written_together() {
    for calls in 0..12 {
        for death in [Death::Before, Death::After] {
            let f = Users::start().await;
            let id = f.world.team(&[]).await.id;
            let dead = f.world.db.die_after(calls, death);
            let (body, change) = (json!({"name": "Sales"}), json!({"name": "Desk"}));
            tokio::select! {
                _ = async {
                    f.make(&body).await;
                    f.change(id, &change).await;
                    f.send(f.of("delete", id)).await;
                } => {}
                _ = dead => {}
            }
            f.world.db.revive();
            let teams = f.teams().await;
            let made = usize::from(teams.iter().any(|team| team.name == "Sales"));
            let changed = match teams.iter().find(|team| team.id == id) {
                Some(team) => usize::from(team.version == 2),
                None => 2,
            };
            assert_eq!(f.audit().await.len(), made + changed, "{calls} {death:?}");
        }
    }
}

#[tokio::test]
async fn round_trips_and_write_units_of_changes() {
    let f = Users::start().await;
    let ana = f.world.user("ana@example.com", |_| ()).await.id;
    let id = f.named("Sales").await;
    let measured = || {
        let calls = f.world.db.calls();
        let written: f64 = calls.iter().map(|call| call.write_units).sum();
        f.world.db.forget_calls();
        (trips(&calls), written)
    };
    measured();
    f.make(&json!({"name": "Desk"})).await;
    assert_eq!(measured(), (3, 7.0));
    f.make(&json!({"name": "Night", "members": [by_id(ana)]})).await;
    assert_eq!(measured(), (4, 7.0));
    f.change(id, &json!({"name": "Day"})).await;
    assert_eq!(measured(), (3, 7.0), "nobody is a member");
    f.change(id, &json!({"members": {"add": [by_id(ana)]}})).await;
    assert_eq!(measured(), (4, 5.0));
    f.change(id, &json!({"members": {"remove": [by_id(ana)]}})).await;
    measured();
    f.send(f.of("delete", id)).await;
    assert_eq!(measured(), (2, 7.0), "the team, its turns, its entry, and the limiter");
}
