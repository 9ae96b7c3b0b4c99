//! POST /settings/attributes, GET and PATCH of one, and its values.

use std::time::Duration;

use domain::{AttributeDefinition, AttributeId, AttributeType, ClosedValueId};
use futures::future::{join, join_all};
use harness::{Answer, Death, GatewayEvent};
use serde_json::{Value, json};

use crate::{Attributes, code};

impl Attributes {
    async fn create(&self, body: &Value) -> Answer {
        let event = self.world.event("attributes-create.json").without_header("Idempotency-Key");
        self.send(event.request_id("r").body(body)).await
    }

    /// The event of a file, for this attribute.
    fn of(&self, file: &str, id: AttributeId) -> GatewayEvent {
        self.world.event(&format!("attributes-{file}.json")).request_id("r").path("attributeId", id)
    }

    async fn show(&self, id: AttributeId) -> Answer {
        self.send(self.of("get", id)).await
    }

    async fn update(&self, id: AttributeId, body: &Value) -> Answer {
        self.send(self.of("update", id).body(body)).await
    }

    async fn add(&self, id: AttributeId, value: &str) -> Answer {
        self.send(self.of("add-value", id).body(&json!({"value": value}))).await
    }

    fn rename(&self, id: AttributeId, value: ClosedValueId, to: &str) -> GatewayEvent {
        self.of("rename-value", id).path("valueId", value).body(&json!({"value": to}))
    }

    pub(crate) async fn definition(&self, id: AttributeId) -> AttributeDefinition {
        let all = self.world.db.store().definitions(self.world.workspace).await.unwrap();
        all.iter().find(|definition| definition.id == id).unwrap().clone()
    }

    async fn named(&self, key_name: &str) -> AttributeId {
        id(&self.create(&json!({"keyName": key_name, "category": "OPEN"})).await)
    }
}

fn id(answer: &Answer) -> AttributeId {
    AttributeId::parse(answer.json["id"].as_str().unwrap()).unwrap()
}

#[tokio::test]
async fn a_new_attribute_is_answered_listed_and_shown_with_every_field() {
    let f = Attributes::start().await;
    let body = json!({
        "keyName": "seats", "category": "CLOSED", "type": "NUMBER", "isRequired": true, "values": ["1", "20"],
    });
    let made = f.create(&body).await;
    assert_eq!(made.status, 201, "{}", made.text);
    let mut shown = made.json.clone();
    shown["id"].take();
    let mut values = shown["closedAttributesValues"].take();
    for value in values.as_array_mut().unwrap() {
        assert!(ClosedValueId::parse(value["id"].take().as_str().unwrap()).is_ok());
    }
    assert_eq!(values, json!([{"id": null, "value": "1"}, {"id": null, "value": "20"}]));
    let expected = json!({
        "id": null, "category": "CLOSED", "isRequired": true, "keyName": "seats", "type": "NUMBER",
        "closedAttributesValues": null, "deletedAt": null,
    });
    assert_eq!(shown, expected);
    let read = f.show(id(&made)).await;
    assert_eq!((&read.json, &read.headers["etag"]), (&made.json, &made.headers["etag"]));
    assert!(f.names(&[("category", "CLOSED")]).await.contains(&"seats".to_owned()));
    assert_eq!(f.audit().await, [("attribute.create".to_owned(), id(&made).to_string(), vec![])]);
    let least =
        json!({"keyName": "note", "category": "OPEN", "type": null, "isRequired": null, "values": null});
    let made = f.create(&least).await;
    assert_eq!(
        (made.status, &made.json["type"], &made.json["isRequired"]),
        (201, &"TEXT".into(), &false.into())
    );
}

#[tokio::test]
async fn a_key_name_belongs_to_one_active_attribute_also_of_two_that_come_together() {
    let f = Attributes::start().await;
    let tier = f.named("level").await;
    let body = json!({"keyName": " LEVEL", "category": "OPEN"});
    let text = format!(
        r#"{{"title":"Setting Conflict","status":409,"code":"SERVICE_SETTING_0409","extra":{{"field":"keyName","id":"{tier}"}}}}"#
    );
    assert_eq!(f.create(&body).await.text, text);
    // An archived attribute frees its name, and cannot come back while another has it.
    assert_eq!(f.update(tier, &json!({"archived": true})).await.status, 200);
    let other = f.create(&body).await;
    assert_eq!(other.status, 201);
    let back = f.update(tier, &json!({"archived": false})).await;
    assert_eq!((code(&back), &back.json["extra"]["id"]), ((409, "SERVICE_SETTING_0409"), &other.json["id"]));
    let both = json!({"keyName": "same", "category": "OPEN"});
    let (one, two) = join(f.create(&both), f.create(&both)).await;
    assert_eq!(Answer::statuses(&[one, two]), [201, 409]);
    let body = json!({"keyName": "taken", "archived": false});
    let (one, two) = join(f.update(tier, &body), f.update(id(&other), &body)).await;
    assert_eq!((Answer::statuses(&[one, two]), f.audit().await.len()), (vec![200, 409], 5));
}

#[tokio::test]
async fn unfit_fields_are_refused_together() {
    let f = Attributes::start().await;
    let plan = f.world.closed_attribute("grade", &["a"], |_| ()).await.id;
    let long = "x".repeat(101);
    let of_new: [(Value, &[(&str, &str)]); 7] = [
        (json!({}), &[("keyName", "missing"), ("category", "missing")]),
        (
            json!({"id": "x", "keyName": " ", "category": "HALF", "type": 1, "isRequired": "no", "values": ["", 7]}),
            &[
                ("id", "extra_forbidden"),
                ("keyName", "value_error"),
                ("category", "enum"),
                ("type", "string_type"),
                ("isRequired", "bool_parsing"),
                ("values.0", "string_too_short"),
                ("values.1", "string_type"),
            ],
        ),
        (json!({"keyName": long, "category": "OPEN"}), &[("keyName", "string_too_long")]),
        (json!({"keyName": "k", "category": "OPEN", "values": ["a"]}), &[("values", "value_error")]),
        (json!({"keyName": "k", "category": "CLOSED"}), &[("values", "value_error")]),
        (json!({"keyName": "k", "category": "CLOSED", "values": ["a", "A "]}), &[("values", "value_error")]),
        (
            json!({"keyName": "k", "category": "CLOSED", "type": "DATE", "values": ["a"]}),
            &[("values", "value_error")],
        ),
    ];
    let named = |failed: &[(&str, &str)]| -> Vec<(String, String)> {
        failed.iter().map(|(place, kind)| (format!("body.{place}"), (*kind).to_owned())).collect()
    };
    for (body, failed) in of_new {
        assert_eq!(f.create(&body).await.failures(), named(failed), "{body}");
    }
    for (body, place, kind) in [
        (json!({"keyName": null}), "keyName", "string_type"),
        (json!({"isRequired": null}), "isRequired", "bool_parsing"),
        (json!({"archived": 1}), "archived", "bool_parsing"),
        (json!({"category": "OPEN"}), "category", "extra_forbidden"),
    ] {
        assert_eq!(f.update(plan, &body).await.failures(), named(&[(place, kind)]), "{body}");
    }
    for (body, kind) in [(json!({}), "missing"), (json!({"value": ""}), "string_too_short")] {
        let answer = f.send(f.of("add-value", plan).body(&body)).await;
        assert_eq!(answer.failures(), named(&[("value", kind)]), "{body}");
    }
    assert_eq!((f.definition(plan).await.version, f.audit().await.len()), (1, 0));
}

#[tokio::test]
async fn a_change_keeps_what_it_does_not_name_and_one_without_an_effect_writes_nothing() {
    let f = Attributes::start().await;
    let plan = f.world.closed_attribute("grade", &["a"], |_| ()).await;
    let before = f.show(plan.id).await;
    for body in [json!({}), json!({"keyName": "grade", "isRequired": false, "archived": false})] {
        let answer = f.update(plan.id, &body).await;
        assert_eq!((answer.status, &answer.json), (200, &before.json), "{body}");
    }
    let archived = f.update(plan.id, &json!({"keyName": "level", "archived": true})).await;
    assert_eq!(archived.json["deletedAt"], "2026-01-02T03:04:05.678Z");
    assert_eq!(archived.json["closedAttributesValues"], before.json["closedAttributesValues"]);
    f.world.db.clock().advance(Duration::from_secs(1));
    let again = f.update(plan.id, &json!({"archived": true})).await;
    assert_eq!(again.json, archived.json);
    let required = f.update(plan.id, &json!({"archived": false, "isRequired": true})).await;
    assert_eq!((&required.json["deletedAt"], &required.json["isRequired"]), (&Value::Null, &true.into()));
    assert_eq!(f.definition(plan.id).await.version, 3);
    let fields: Vec<String> = f.audit().await.into_iter().map(|(_, _, fields)| fields.join(" ")).collect();
    assert_eq!(fields, ["keyName archived", "isRequired archived"]);
}

#[tokio::test]
async fn values_are_added_and_renamed_and_keep_their_ids() {
    let f = Attributes::start().await;
    let plan = f.world.closed_attribute("grade", &["a"], |_| ()).await;
    let two = f.add(plan.id, "b").await;
    assert_eq!(
        (two.status, &two.json["closedAttributesValues"][1]["value"]),
        (200, &"b".into()),
        "{}",
        two.text
    );
    assert_eq!(f.add(plan.id, "b").await.json, two.json, "a repeat changes nothing");
    let [first, second] = [0, 1].map(|at| two.json["closedAttributesValues"][at]["id"].clone());
    let second_id = ClosedValueId::parse(second.as_str().unwrap()).unwrap();
    for answer in [f.add(plan.id, "A ").await, f.send(f.rename(plan.id, second_id, "A")).await] {
        assert_eq!(code(&answer), (409, "SERVICE_SETTING_0409"));
        assert_eq!(answer.json["extra"], json!({"field": "value", "id": first}));
    }
    let renamed = f.send(f.rename(plan.id, second_id, "c")).await;
    assert_eq!(renamed.json["closedAttributesValues"][1], json!({"id": second, "value": "c"}));
    assert_eq!(f.send(f.rename(plan.id, second_id, "c")).await.json, renamed.json);
    let unknown = ClosedValueId::generate(f.world.db.store().ids());
    assert_eq!(code(&f.send(f.rename(plan.id, unknown, "d")).await), (404, "SERVICE_SETTING_0404"));
    let open = f.world.open_attribute("note", AttributeType::Text, |_| ()).await.id;
    let answer = f.add(open, "a").await;
    assert_eq!(answer.failures(), [("body.value".to_owned(), "value_error".to_owned())]);
    let number =
        f.world.closed_attribute("n", &["1"], |made| made.attribute_type = AttributeType::Number).await;
    let answer = f.add(number.id, "x").await;
    assert_eq!(answer.failures(), [("body.value".to_owned(), "value_error".to_owned())]);
    assert_eq!(answer.json["detail"][0]["input"], "x");
    let entry = ("attribute.update".to_owned(), plan.id.to_string(), vec!["values".to_owned()]);
    assert_eq!(f.audit().await, [entry.clone(), entry]);
}

#[tokio::test]
async fn a_workspace_has_a_hundred_active_attributes_and_an_attribute_fifty_values() {
    let f = Attributes::start().await;
    for n in 3..99 {
        f.world.open_attribute(&format!("key{n}"), AttributeType::Text, |_| ()).await;
    }
    let names = ["a", "b", "c"].map(|name| json!({"keyName": name, "category": "OPEN"}));
    let answers = join_all(names.iter().map(|body| f.create(body))).await;
    assert_eq!(Answer::statuses(&answers), [201, 422, 422], "one place is left");
    let text = r#"{"title":"Limit Reached","status":422,"code":"SERVICE_SETTING_1201","extra":{"limit":"attributes","of":100}}"#;
    assert_eq!(f.create(&names[0].clone()).await.status, if answers[0].status == 201 { 409 } else { 422 });
    let last = f.create(&json!({"keyName": "d", "category": "OPEN"})).await;
    assert_eq!(last.text, text);
    let values: Vec<String> = (0..50).map(|n| n.to_string()).collect();
    let values: Vec<&str> = values.iter().map(String::as_str).collect();
    let full =
        f.world.closed_attribute("full", &values, |made| made.deleted_at = Some(made.created_at)).await;
    let text = r#"{"title":"Limit Reached","status":422,"code":"SERVICE_SETTING_1201","extra":{"limit":"attributeValues","of":50}}"#;
    assert_eq!(f.add(full.id, "50").await.text, text);
    assert_eq!(f.update(full.id, &json!({"archived": false})).await.json["extra"]["limit"], "attributes");
}

#[tokio::test]
async fn if_match_must_name_the_state_that_was_read() {
    let f = Attributes::start().await;
    let plan = f.world.closed_attribute("grade", &["a"], |_| ()).await;
    let tag = f.show(plan.id).await.headers["etag"].clone();
    // Of two changes of one state, one is refused.
    let matched = |required: bool| {
        f.send(
            f.of("update", plan.id)
                .header("If-Match", &tag)
                .body(&json!({"keyName": "k", "isRequired": required})),
        )
    };
    let (one, two) = join(matched(true), matched(false)).await;
    assert_eq!((Answer::statuses(&[one, two]), f.audit().await.len()), (vec![200, 412], 1));
    for event in [
        f.of("update", plan.id),
        f.of("add-value", plan.id),
        f.rename(plan.id, plan.closed_values[0].id, "c"),
    ] {
        assert_eq!(code(&f.send(event.header("If-Match", &tag)).await), (412, "SERVICE_CORE_0412"));
    }
    let tag = f.show(plan.id).await.headers["etag"].clone();
    let answer = f.send(f.of("add-value", plan.id).header("If-Match", &tag)).await;
    assert_eq!(answer.status, 200);
}

#[tokio::test]
async fn changes_that_come_together_are_both_made() {
    let f = Attributes::start().await;
    let plan = f.world.closed_attribute("grade", &["a"], |_| ()).await.id;
    let (one, two) = join(f.add(plan, "b"), f.add(plan, "c")).await;
    assert_eq!((one.status, two.status), (200, 200));
    let definition = f.definition(plan).await;
    assert_eq!((definition.closed_values.len(), definition.version, f.audit().await.len()), (3, 3, 2));
}

#[tokio::test]
async fn a_repeat_under_an_idempotency_key_gets_the_same_attribute() {
    let f = Attributes::start().await;
    let event = f.world.event("attributes-create.json").request_id("r");
    let first = f.send(event.clone()).await;
    let again = f.send(event.clone()).await;
    assert_eq!((again.status, &again.text), (201, &first.text));
    assert_eq!(again.headers["idempotent-replayed"], "true");
    assert_eq!(again.headers["etag"], first.headers["etag"]);
    let other = f.send(event.body(&json!({"keyName": "k", "category": "OPEN"}))).await;
    assert_eq!(code(&other), (422, "SERVICE_CORE_0423"));
    let both = join_all([(); 2].map(|()| {
        let event =
            f.world.event("attributes-create.json").request_id("r").header("Idempotency-Key", "another");
        f.send(event.body(&json!({"keyName": "k", "category": "OPEN"})))
    }))
    .await;
    assert_eq!((both[0].status, &both[0].text), (201, &both[1].text));
    assert_eq!(f.audit().await.len(), 2);
}

#[tokio::test]
async fn an_attribute_and_its_entry_are_written_together() {
    for calls in 0..10 {
        for death in [Death::Before, Death::After] {
            let f = Attributes::start().await;
            let plan = f.world.closed_attribute("grade", &["a"], |_| ()).await.id;
            let dead = f.world.db.die_after(calls, death);
            let body = json!({"keyName": "new", "category": "OPEN"});
            tokio::select! {
                _ = async { (f.create(&body).await, f.add(plan, "b").await) } => {}
                _ = dead => {}
            }
            f.world.db.revive();
            let all = f.world.db.store().definitions(f.world.workspace).await.unwrap();
            let made = usize::from(all.iter().any(|definition| definition.key_name == "new"));
            let changed = usize::from(f.definition(plan).await.version == 2);
            assert_eq!(f.audit().await.len(), made + changed, "{calls} {death:?}");
        }
    }
}

#[tokio::test]
async fn round_trips_and_write_units_of_changes() {
    let f = Attributes::start().await;
    let plan = f.world.closed_attribute("grade", &["a"], |_| ()).await;
    f.world.db.clock().advance(Duration::from_secs(30));
    f.show(plan.id).await;
    let measured = || f.world.db.spent();
    measured();
    f.show(plan.id).await;
    assert_eq!(measured(), (1, 1.0), "the limiter beside the version");
    f.create(&json!({"keyName": "new", "category": "OPEN"})).await;
    assert_eq!(
        measured(),
        (3, 7.0),
        "the limiter beside the workspace, then the version, the attribute and its entry"
    );
    f.update(plan.id, &json!({"isRequired": true})).await;
    assert_eq!(measured(), (3, 7.0));
    f.add(plan.id, "b").await;
    assert_eq!(measured(), (3, 7.0));
}
