//! PATCH /api-keys/{keyId}.

use domain::{AuditFilter, KeyId};
use harness::{Answer, trips};
use serde_json::{Value, json};
use store::Table;

use crate::Access;

impl Access {
    async fn update(&self, id: KeyId, body: &Value) -> Answer {
        self.send(self.of_key("access-update.json", id).body(body)).await
    }
}

#[tokio::test]
async fn a_key_gets_another_name_and_an_earlier_expiry_with_an_entry_that_names_the_fields() {
    let f = Access::start().await;
    let id = f.another_key("crm").await;
    let changes = [
        (json!({"name": "office"}), json!(["name"])),
        (json!({"expiresAt": "2027-01-31T00:00:00Z"}), json!(["expiresAt"])),
        (json!({"name": "crm", "expiresAt": "2026-12-31T00:00:00Z"}), json!(["name", "expiresAt"])),
    ];
    for (body, fields) in changes {
        f.world.db.clock().advance(std::time::Duration::from_secs(1));
        let answer = f.update(id, &body).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        let shown = f.send(f.of_key("access-get.json", id)).await;
        assert_eq!((&answer.json, &answer.headers["etag"]), (&shown.json, &shown.headers["etag"]));
        if let Some(name) = body.get("name") {
            assert_eq!(&shown.json["name"], name);
        }
        let only = AuditFilter::default();
        let log = f.world.db.store().audit_log(f.world.workspace, &only, 1, None).await.unwrap();
        assert_eq!((log.items[0].action.as_str(), json!(log.items[0].fields)), ("api_key.update", fields));
    }
    let [key, copy] = ["apiKey", "apiKeyCopy"].map(|kind| {
        let rows = f.world.db.rows_of(Table::ApiKeys, kind);
        rows.into_iter().find(|row| row["keyId"]["S"] == id.to_string()).unwrap()
    });
    assert_eq!(
        (&key["goodUntil"]["S"], &key["expiresAt"]),
        (&json!("2026-12-31T00:00:00.000Z"), &copy["expiresAt"])
    );
}

#[tokio::test]
async fn a_key_never_gains_anything() {
    let f = Access::start().await;
    let id = f.another_key("crm").await;
    let set = |at: &str| json!({"expiresAt": at});
    assert_eq!(f.update(id, &set("2026-12-31T00:00:00Z")).await.status, 200);
    let rows = || f.world.db.rows(Table::ApiKeys);
    let before = rows();
    for (body, reason) in [
        (set("2027-01-01T00:00:00Z"), "an expiry can only become earlier"),
        (json!({"expiresAt": null}), "an expiry can only become earlier"),
        (set("2026-01-02T03:04:05.678Z"), "the expiry is in the past"),
    ] {
        let answer = f.update(id, &body).await;
        let failure = &answer.json["detail"][0];
        assert_eq!((answer.status, &failure["loc"]), (422, &json!(["body", "expiresAt"])), "{body}");
        assert_eq!(failure["ctx"]["error"], reason);
    }
    for field in ["scopes", "rate", "burst", "revokedAt", "expires"] {
        let answer = f.update(id, &json!({field: null, "name": "other"})).await;
        assert_eq!(answer.json["detail"][0]["loc"], json!(["body", field]));
        assert_eq!(answer.json["detail"][0]["type"], "extra_forbidden");
    }
    for body in [json!({"name": null}), json!({"name": ""}), json!({"name": 1}), json!([])] {
        assert_eq!(f.update(id, &body).await.status, 422, "{body}");
    }
    assert_eq!(rows(), before);
}

#[tokio::test]
async fn a_change_without_an_effect_writes_nothing() {
    let f = Access::start().await;
    let id = f.another_key("crm").await;
    let rows = || [Table::ApiKeys, Table::Audit].map(|table| f.world.db.rows(table));
    let before = rows();
    for body in [json!({}), json!({"name": "crm"}), json!({"expiresAt": null})] {
        let answer = f.update(id, &body).await;
        assert_eq!((answer.status, &answer.json["name"]), (200, &json!("crm")), "{body}");
    }
    assert_eq!(rows(), before);
}

#[tokio::test]
async fn if_match_names_the_state_that_is_changed_and_of_two_writers_both_are_judged() {
    let f = Access::start().await;
    let id = f.another_key("crm").await;
    let tag = f.send(f.of_key("access-get.json", id)).await.headers["etag"].clone();
    let name = |name: &str| json!({"name": name});
    let with_tag =
        |body: Value| f.send(f.of_key("access-update.json", id).header("if-match", &tag).body(&body));
    assert_eq!(with_tag(name("one")).await.status, 200);
    assert_eq!(with_tag(name("two")).await.status, 412);
    // Another writer comes between the read and the write.
    let held = f.world.db.hold("TransactWriteItems");
    let meanwhile = async {
        f.world.db.begun("TransactWriteItems", 1).await;
        let by = domain::Author { actor: domain::Actor::Operator("test".to_owned()), request_id: None };
        let store = f.world.db.store();
        let listed = store.listed_key(f.world.workspace, id).await.unwrap().unwrap();
        let next = domain::ApiKey { name: "between".to_owned(), ..listed.key.clone() };
        let action = domain::AuditAction::ApiKeyUpdate;
        assert!(store.replace_listed_key(&listed, &next, action, &by).await.unwrap());
        drop(held);
    };
    let body = json!({"expiresAt": "2027-01-31T00:00:00Z"});
    let (answer, ()) = tokio::join!(f.update(id, &body), meanwhile);
    assert_eq!((answer.status, &answer.json["name"]), (200, &json!("between")), "{}", answer.text);
}

#[tokio::test]
async fn a_change_takes_two_round_trips() {
    let f = Access::start().await;
    let id = f.another_key("crm").await;
    f.send(f.world.event("access-list.json")).await;
    f.world.db.forget_calls();
    f.update(id, &json!({"name": "office"})).await;
    assert_eq!(trips(&f.world.db.calls()), 2);
}
