//! POST /users and PATCH /users/{userId}.

use domain::{User, UserId, UserRef, UserStatus};
use futures::future::{join, join_all};
use harness::{Answer, Death, GatewayEvent};
use serde_json::{Value, json};

use crate::{Users, code};

impl Users {
    async fn create(&self, body: &Value) -> Answer {
        let event = self.world.event("users-create.json").without_header("Idempotency-Key");
        self.send(event.request_id("r").body(body)).await
    }

    fn patch(&self, id: UserId, body: &Value) -> GatewayEvent {
        self.world.event("users-update.json").request_id("r").path("userId", id).body(body)
    }

    async fn update(&self, id: UserId, body: &Value) -> Answer {
        self.send(self.patch(id, body)).await
    }

    async fn all(&self) -> Vec<User> {
        self.world.db.store().users(self.world.workspace).await.unwrap()
    }

    /// A user by the row of its id, which must be the same as that of its e-mail address.
    async fn stored(&self, id: UserId) -> User {
        let store = self.world.db.store();
        let user = store.user(self.world.workspace, id).await.unwrap().unwrap();
        let named = UserRef::Email(user.email.clone());
        assert_eq!(store.user_by_ref(self.world.workspace, &named).await.unwrap().as_ref(), Some(&user));
        user
    }
}

#[tokio::test]
async fn a_new_user_is_answered_and_shown_with_every_field() {
    let f = Users::start().await;
    let body = json!({
        "email": "Jo@example.com", "firstName": "Jo", "lastName": "Vega", "cellphone": "+34600111222",
        "languageCode": "ES",
    });
    let made = f.create(&body).await;
    assert_eq!(made.status, 201, "{}", made.text);
    let id = made.json["id"].as_str().unwrap();
    let mut shown = made.json.clone();
    shown["id"].take();
    assert_eq!(
        shown,
        json!({
            "id": null, "status": "active", "createdAt": "2026-01-02T03:04:05.678Z",
            "updatedAt": "2026-01-02T03:04:05.678Z", "firstName": "Jo", "lastName": "Vega",
            "email": "Jo@example.com", "cellphone": "+34600111222", "languageCode": "ES",
        })
    );
    let read = f.get(id).await;
    assert_eq!((&read.json, &read.headers["etag"]), (&made.json, &made.headers["etag"]));
    assert_eq!(f.stored(UserId::parse(id).unwrap()).await.version, 1);
    assert_eq!(f.audit().await, [("user.create".to_owned(), id.to_owned(), vec![])]);
    let nothing = json!({
        "email": "ana@example.com", "firstName": null, "lastName": null, "cellphone": null, "languageCode": null,
    });
    assert_eq!(f.create(&nothing).await.status, 201);
}

#[tokio::test]
async fn an_address_belongs_to_one_user_also_of_two_that_come_together() {
    let f = Users::start().await;
    let jo = f.world.user("jo@example.com", |user| user.status = UserStatus::Disabled).await;
    let taken = f.create(&json!({"email": "JO@example.com"})).await;
    let text = format!(
        r#"{{"title":"User Conflict","status":409,"code":"SERVICE_USER_0409","extra":{{"field":"email","id":"{}"}}}}"#,
        jo.id
    );
    assert_eq!(taken.text, text);
    let body = json!({"email": "ana@example.com"});
    let (one, other) = join(f.create(&body), f.create(&body)).await;
    let found = Answer::statuses([&one, &other]);
    assert_eq!((found, f.all().await.len(), f.audit().await.len()), (vec![201, 409], 2, 1));
}

#[tokio::test]
async fn unfit_fields_are_refused_together_and_unknown_ones_too() {
    let f = Users::start().await;
    let body = json!({
        "email": "jo", "firstName": "", "lastName": 7, "cellphone": "600", "languageCode": "FR", "status": "active",
    });
    let failed = [
        ("status", "extra_forbidden"),
        ("email", "string_pattern_mismatch"),
        ("firstName", "string_too_short"),
        ("lastName", "string_type"),
        ("cellphone", "string_pattern_mismatch"),
        ("languageCode", "enum"),
    ];
    let failed = failed.map(|(place, kind)| (format!("body.{place}"), kind.to_owned()));
    assert_eq!(f.create(&body).await.failures(), failed);
    assert_eq!(f.create(&json!({})).await.failures(), [("body.email".to_owned(), "missing".to_owned())]);
    let id = f.world.user("jo@example.com", |_| ()).await.id;
    for (body, place, kind) in [
        (json!({"email": "ana@example.com"}), "email", "extra_forbidden"),
        (json!({"status": "gone"}), "status", "enum"),
        (json!({"status": null}), "status", "string_type"),
        (json!({"cellphone": "600"}), "cellphone", "string_pattern_mismatch"),
    ] {
        assert_eq!(
            f.update(id, &body).await.failures(),
            [(format!("body.{place}"), kind.to_owned())],
            "{body}"
        );
    }
    assert_eq!((f.all().await.len(), f.audit().await.len()), (1, 0));
}

#[tokio::test]
async fn a_repeat_under_an_idempotency_key_gets_the_same_answer() {
    let f = Users::start().await;
    let event = f.world.event("users-create.json").request_id("r");
    let first = f.send(event.clone()).await;
    let again = f.send(event.clone()).await;
    assert_eq!((again.status, &again.text), (201, &first.text));
    assert_eq!(again.headers["idempotent-replayed"], "true");
    assert_eq!(again.headers["etag"], first.headers["etag"]);
    let other = f.send(event.body(&json!({"email": "ana@example.com"}))).await;
    assert_eq!(code(&other), (422, "SERVICE_CORE_0423"));
    let both = join_all([(); 2].map(|()| {
        let event = f.world.event("users-create.json").request_id("r").header("Idempotency-Key", "another");
        f.send(event.body(&json!({"email": "bo@example.com"})))
    }))
    .await;
    assert_eq!((both[0].status, &both[0].text), (201, &both[1].text));
    assert_eq!((f.all().await.len(), f.audit().await.len()), (2, 2));
}

#[tokio::test]
async fn a_change_keeps_what_it_does_not_name_and_null_removes_a_field() {
    let f = Users::start().await;
    let id = f.world.user("jo@example.com", |_| ()).await.id;
    f.world.db.clock().advance(std::time::Duration::from_secs(1));
    let first = f.update(id, &json!({"firstName": "Jo", "languageCode": "EN", "status": "disabled"})).await;
    assert_eq!(first.status, 200, "{}", first.text);
    assert_eq!((&first.json["status"], &first.json["firstName"]), (&json!("disabled"), &json!("Jo")));
    assert_eq!(first.json["updatedAt"], "2026-01-02T03:04:06.678Z");
    f.world.db.clock().advance(std::time::Duration::from_secs(1));
    let second = f.update(id, &json!({"firstName": null, "status": "active"})).await;
    assert_eq!((&second.json["firstName"], &second.json["languageCode"]), (&Value::Null, &json!("EN")));
    assert_eq!((f.stored(id).await.version, f.get(&id.to_string()).await.json), (3, second.json));
    let fields: Vec<String> = f.audit().await.into_iter().map(|(_, _, fields)| fields.join(" ")).collect();
    assert_eq!(fields, ["status firstName languageCode", "status firstName"]);
}

#[tokio::test]
async fn a_change_without_an_effect_writes_nothing() {
    let f = Users::start().await;
    let id = f.world.user("jo@example.com", |_| ()).await.id;
    for body in [json!({}), json!({"status": "active", "firstName": null})] {
        assert_eq!(f.update(id, &body).await.status, 200, "{body}");
    }
    assert_eq!((f.stored(id).await.version, f.audit().await.len()), (1, 0));
}

#[tokio::test]
async fn changes_that_come_together_are_both_made_and_with_if_match_one_is() {
    let f = Users::start().await;
    let id = f.world.user("jo@example.com", |_| ()).await.id;
    let (first, last) = (json!({"firstName": "Jo"}), json!({"lastName": "Vega"}));
    let (one, other) = join(f.update(id, &first), f.update(id, &last)).await;
    assert_eq!((one.status, other.status), (200, 200));
    let user = f.stored(id).await;
    assert_eq!((user.version, user.first_name.is_some(), user.last_name.is_some()), (3, true, true));
    let tag = f.get(&id.to_string()).await.headers["etag"].clone();
    let (first, last) = (json!({"firstName": null}), json!({"lastName": null}));
    let matched = |body| f.send(f.patch(id, body).header("If-Match", &tag));
    let (one, other) = join(matched(&first), matched(&last)).await;
    let found = Answer::statuses([&one, &other]);
    assert_eq!((found, f.audit().await.len()), (vec![200, 412], 3));
}

#[tokio::test]
async fn a_user_its_copy_and_its_entry_are_written_together() {
    for calls in 0..6 {
        for death in [Death::Before, Death::After] {
            let f = Users::start().await;
            let id = f.world.user("jo@example.com", |_| ()).await.id;
            let dead = f.world.db.die_after(calls, death);
            let (body, change) = (json!({"email": "ana@example.com"}), json!({"firstName": "Jo"}));
            tokio::select! {
                _ = async { (f.create(&body).await, f.update(id, &change).await) } => {}
                _ = dead => {}
            }
            f.world.db.revive();
            let mut made = 0;
            for user in f.all().await {
                made += usize::from(user.id != id) + usize::from(f.stored(user.id).await.version == 2);
            }
            assert_eq!(f.audit().await.len(), made, "{calls} {death:?}");
        }
    }
}

#[tokio::test]
async fn round_trips_and_write_units_of_changes() {
    let f = Users::start().await;
    let id = f.world.user("jo@example.com", |_| ()).await.id;
    f.get(&id.to_string()).await;
    let measured = || f.world.db.spent();
    measured();
    f.create(&json!({"email": "ana@example.com"})).await;
    assert_eq!(measured(), (2, 7.0), "the limiter, then both rows and the entry");
    f.update(id, &json!({"firstName": "Jo"})).await;
    assert_eq!(measured(), (2, 7.0), "beside the limiter the user, then both rows and the entry");
}
