use std::time::Duration;

use domain::{
    AttributeDefinition, AttributeId, AttributeType, Cellphone, ClosedValueId, Contact, ContactId, Email,
    ExternalId, Language, PersonName, UserId, UserStatus,
};
use harness::{Answer, Fault, World, trips};
use serde_json::{Value, json};
use store::Table;

use crate::Contacts;

async fn someone(f: &Contacts) -> Contact {
    f.world
        .contact(|contact| {
            contact.first_name = PersonName::parse("Ana").ok();
            contact.last_name = PersonName::parse("Ruiz").ok();
            contact.email = Email::parse("ana@example.com").ok();
            contact.cellphone = Cellphone::parse("+12025550123").ok();
            contact.external_id = ExternalId::parse("crm-1").ok();
            contact.language = Some(Language::Es);
        })
        .await
}

impl Contacts {
    async fn patch(&self, contact: &Contact, body: &Value) -> Answer {
        self.send(self.world.event("contacts-update.json").path("contactId", contact.id).body(body)).await
    }

    async fn stored(&self, contact: &Contact) -> Contact {
        self.world.db.store().contact(self.world.workspace, contact.id).await.unwrap().unwrap()
    }

    fn stream_records(&self) -> usize {
        self.world.db.stream(Table::Contacts)["Records"].as_array().unwrap().len()
    }
}

#[tokio::test]
async fn an_update_changes_the_sent_fields_and_returns_the_contact() {
    let f = Contacts::start().await;
    let owner = f.world.user("Agent@example.com", |_| ()).await;
    let tier = f.world.open_attribute("tier", AttributeType::Text, |_| ()).await;
    let plan = f.world.closed_attribute("plan", &["free", "paid"], |_| ()).await;
    let contact = someone(&f).await;
    f.world.db.clock().advance(Duration::from_secs(60));
    let answer = f
        .patch(
            &contact,
            &json!({
                "firstName": "Anna",
                "languageCode": null,
                "ownerIdentifier": {"identifier": "agent@EXAMPLE.com", "identifierType": "EMAIL"},
                "customAttributes": {
                    "openAttributes": [{"customAttributeId": tier.id.to_string(), "content": "gold"}],
                    "closedAttributes": [{
                        "customAttributeId": plan.id.to_string().to_uppercase(),
                        "closedCustomAttributeIds": [plan.closed_values[1].id.to_string(), plan.closed_values[1].id.to_string()],
                    }],
                },
                "somethingNew": {"ignored": true},
            }),
        )
        .await;
    assert_eq!(answer.status, 200);
    assert_eq!(
        answer.json,
        json!({
            "id": contact.id.to_string(),
            "workspaceId": f.world.workspace.to_string(),
            "type": "NORMAL",
            "createdAt": "2026-01-02T03:04:05.678Z",
            "updatedAt": "2026-01-02T03:05:05.678Z",
            "firstName": "Anna",
            "lastName": "Ruiz",
            "email": "ana@example.com",
            "cellphone": "+12025550123",
            "languageCode": null,
            "ownerId": owner.id.to_string(),
            "customAttributes": [{"key": "tier", "values": ["gold"]}, {"key": "plan", "values": ["paid"]}],
            "externalId": "crm-1",
            "providerUserIds": [],
        })
    );
    let read = f.send(f.world.event("contacts-get.json").path("contactId", contact.id)).await;
    assert_eq!((read.json, &read.headers["etag"]), (answer.json, &answer.headers["etag"]));
}

#[tokio::test]
async fn the_event_file_is_a_request_that_succeeds_as_it_is() {
    let f = Contacts::start().await;
    let body: Value =
        serde_json::from_str(harness::fixture("contacts-update.json")["body"].as_str().unwrap()).unwrap();
    let id = |value: &Value| value.as_str().unwrap().to_owned();
    let contact = ContactId::parse("8c2d4e6f-1a3b-4c5d-8e7f-9a0b1c2d3e4f").unwrap();
    f.world.contact(|blank| blank.id = contact).await;
    let owner = UserId::parse(&id(&body["ownerIdentifier"]["identifier"])).unwrap();
    f.world.user("agent@example.com", |user| user.id = owner).await;
    let open = &body["customAttributes"]["openAttributes"][0];
    let closed = &body["customAttributes"]["closedAttributes"][0];
    let of = |entry: &Value| AttributeId::parse(&id(&entry["customAttributeId"])).unwrap();
    f.world.open_attribute("open", AttributeType::Text, |definition| definition.id = of(open)).await;
    let values = closed["closedCustomAttributeIds"].as_array().unwrap();
    let names: Vec<String> = (0..values.len()).map(|n| format!("value {n}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let with_ids = |definition: &mut AttributeDefinition| {
        definition.id = of(closed);
        for (value, wanted) in definition.closed_values.iter_mut().zip(values) {
            value.id = ClosedValueId::parse(wanted.as_str().unwrap()).unwrap();
        }
    };
    f.world.closed_attribute("closed", &names, with_ids).await;
    let answer = f.send(f.world.event("contacts-update.json")).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    for field in ["firstName", "lastName", "email", "cellphone", "languageCode"] {
        assert_eq!(answer.json[field], body[field], "{field}");
    }
    assert_eq!(answer.json["customAttributes"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn null_clears_and_empty_content_clears_an_attribute() {
    let f = Contacts::start().await;
    let tier = f.world.open_attribute("tier", AttributeType::Text, |_| ()).await;
    let plan = f.world.closed_attribute("plan", &["free"], |_| ()).await;
    let contact = someone(&f).await;
    let open = |content: Value| json!({"customAttributeId": tier.id.to_string(), "content": content});
    let closed =
        |ids: Value| json!({"customAttributeId": plan.id.to_string(), "closedCustomAttributeIds": ids});
    let set = json!({"customAttributes": {
        "openAttributes": [open(json!("x"))],
        "closedAttributes": [closed(json!([plan.closed_values[0].id.to_string()]))],
    }});
    for (open_clear, closed_clear) in [(json!(""), json!([])), (json!(null), json!(null))] {
        f.patch(&contact, &set).await;
        let clear = json!({"customAttributes": {"openAttributes": [open(open_clear)], "closedAttributes": [closed(closed_clear)]}});
        assert_eq!(f.patch(&contact, &clear).await.json["customAttributes"], json!([]));
    }
    let cleared = f
        .patch(&contact, &json!({"firstName": null, "lastName": null, "email": null, "cellphone": null, "externalId": null, "languageCode": null, "ownerIdentifier": null}))
        .await;
    assert_eq!(cleared.status, 200);
    for field in ["firstName", "lastName", "email", "cellphone", "externalId", "languageCode", "ownerId"] {
        assert_eq!(cleared.json[field], Value::Null, "{field}");
    }
    assert_eq!(cleared.json["type"], "PARTIAL");
}

#[tokio::test]
async fn an_update_that_changes_nothing_writes_nothing() {
    let f = Contacts::start().await;
    let contact = someone(&f).await;
    let before = f.stream_records();
    for body in
        [json!({}), json!({"firstName": "Ana", "email": "ana@example.com"}), json!({"customAttributes": {}})]
    {
        let answer = f.patch(&contact, &body).await;
        assert_eq!(
            (answer.status, &answer.json["updatedAt"]),
            (200, &json!("2026-01-02T03:04:05.678Z")),
            "{body}"
        );
    }
    assert_eq!(f.stored(&contact).await, contact);
    assert_eq!(f.stream_records(), before);
}

#[tokio::test]
async fn all_failures_of_a_request_are_reported_together() {
    let f = Contacts::start().await;
    let contact = someone(&f).await;
    let event =
        f.world.event("contacts-update.json").path("contactId", "nope").query(&[("notify", "no")]).body(
            &json!({
                "firstName": "",
                "lastName": "x".repeat(101),
                "email": "not an address",
                "cellphone": 5551234,
                "externalId": 4711,
                "languageCode": "FR",
                "ownerIdentifier": {"identifierType": "PHONE"},
                "customAttributes": {
                    "openAttributes": [
                        {"customAttributeId": "x", "content": 5},
                        {"customAttributeId": contact.id.to_string()},
                        7,
                    ],
                    "closedAttributes": {},
                },
            }),
        );
    let answer = f.send(event).await;
    assert_eq!(answer.status, 422);
    let expected = [
        ("query.notify", "extra_forbidden"),
        ("path.contactId", "uuid_parsing"),
        ("body.firstName", "string_too_short"),
        ("body.lastName", "string_too_long"),
        ("body.email", "string_pattern_mismatch"),
        ("body.cellphone", "string_type"),
        ("body.externalId", "string_type"),
        ("body.languageCode", "enum"),
        ("body.ownerIdentifier.identifierType", "enum"),
        ("body.ownerIdentifier.identifier", "missing"),
        ("body.customAttributes.openAttributes.0.customAttributeId", "uuid_parsing"),
        ("body.customAttributes.openAttributes.0.content", "string_type"),
        ("body.customAttributes.openAttributes.1.content", "missing"),
        ("body.customAttributes.openAttributes.2", "dict_type"),
        ("body.customAttributes.closedAttributes", "list_type"),
    ];
    assert_eq!(answer.failures(), expected.map(|(place, kind)| (place.to_owned(), kind.to_owned())));
    assert_eq!(answer.json["detail"][7]["ctx"], json!({"expected": ["ES", "EN"]}));
    assert_eq!(answer.json["detail"][7]["input"], "FR");
    assert_eq!(f.stored(&contact).await, contact);
}

#[tokio::test]
async fn each_validation_failure_alone() {
    let f = Contacts::start().await;
    let contact = someone(&f).await;
    let id = contact.id.to_string();
    let entry = json!({"customAttributeId": id, "content": "x"});
    let closed = json!({"customAttributeId": id, "closedCustomAttributeIds": []});
    let owner = |identifier: Value, kind: &str| json!({"ownerIdentifier": {"identifier": identifier, "identifierType": kind}});
    let rows = [
        (json!([]), "body", "dict_type"),
        (json!("x"), "body", "dict_type"),
        (json!(null), "body", "dict_type"),
        (json!({"firstName": "a\u{0}b"}), "body.firstName", "value_error"),
        (json!({"lastName": " "}), "body.lastName", "value_error"),
        (json!({"email": "a".repeat(255)}), "body.email", "string_too_long"),
        (json!({"cellphone": "0612345678"}), "body.cellphone", "string_pattern_mismatch"),
        (json!({"externalId": ""}), "body.externalId", "string_too_short"),
        (json!({"externalId": "x".repeat(129)}), "body.externalId", "string_too_long"),
        (json!({"externalId": "\u{200b} "}), "body.externalId", "value_error"),
        (json!({"externalId": "a\nb"}), "body.externalId", "value_error"),
        (json!({"languageCode": "en"}), "body.languageCode", "enum"),
        (json!({"ownerIdentifier": "x"}), "body.ownerIdentifier", "dict_type"),
        (json!({"ownerIdentifier": {"identifier": "x"}}), "body.ownerIdentifier.identifierType", "missing"),
        (owner(json!("x"), "ID"), "body.ownerIdentifier.identifier", "uuid_parsing"),
        (owner(json!("x"), "EMAIL"), "body.ownerIdentifier.identifier", "string_pattern_mismatch"),
        (owner(json!(5), "EMAIL"), "body.ownerIdentifier.identifier", "string_type"),
        (json!({"customAttributes": null}), "body.customAttributes", "dict_type"),
        (
            json!({"customAttributes": {"openAttributes": null}}),
            "body.customAttributes.openAttributes",
            "list_type",
        ),
        (
            json!({"customAttributes": {"openAttributes": [entry, entry]}}),
            "body.customAttributes.openAttributes.1.customAttributeId",
            "value_error",
        ),
        (
            json!({"customAttributes": {"openAttributes": [entry], "closedAttributes": [closed]}}),
            "body.customAttributes.closedAttributes.0.customAttributeId",
            "value_error",
        ),
        (
            json!({"customAttributes": {"openAttributes": [{"customAttributeId": id, "content": "x"}, entry]}}),
            "body.customAttributes.openAttributes.1.customAttributeId",
            "value_error",
        ),
        (
            json!({"customAttributes": {"openAttributes": vec![entry.clone(); 101]}}),
            "body.customAttributes.openAttributes",
            "too_long",
        ),
        (
            json!({"customAttributes": {"openAttributes": [{"customAttributeId": id, "content": "é".repeat(1_025)}]}}),
            "body.customAttributes.openAttributes.0.content",
            "string_too_long",
        ),
        (
            json!({"customAttributes": {"closedAttributes": [{"customAttributeId": id, "closedCustomAttributeIds": vec![id.clone(); 51]}]}}),
            "body.customAttributes.closedAttributes.0.closedCustomAttributeIds",
            "too_long",
        ),
    ];
    for (body, loc, kind) in rows {
        let answer = f.patch(&contact, &body).await;
        let detail = &answer.json["detail"];
        let at: Vec<&str> =
            detail[0]["loc"].as_array().unwrap().iter().map(|part| part.as_str().unwrap()).collect();
        assert_eq!(answer.status, 422, "{body}");
        assert_eq!((at.join(".").as_str(), detail[0]["type"].as_str().unwrap()), (loc, kind), "{body}");
        assert_eq!(detail.as_array().unwrap().len(), 1, "{body}: {detail}");
    }
    assert_eq!(f.stored(&contact).await, contact);
}

#[tokio::test]
async fn refusals_name_their_cause_and_change_nothing() {
    let f = Contacts::start().await;
    let now = f.world.db.store().now();
    let day = f.world.open_attribute("day", AttributeType::Date, |_| ()).await;
    let plan = f.world.closed_attribute("plan", &["free"], |_| ()).await;
    let gone = f
        .world
        .open_attribute("gone", AttributeType::Text, |definition| definition.deleted_at = Some(now))
        .await;
    let disabled = f.world.user("left@example.com", |user| user.status = UserStatus::Disabled).await;
    let contact = someone(&f).await;
    let value = plan.closed_values[0].id.to_string();
    let open = |id: &AttributeId, content: &str| json!({"firstName": "Changed", "customAttributes": {"openAttributes": [{"customAttributeId": id.to_string(), "content": content}]}});
    let closed = |id: &AttributeId, values: &[&str]| json!({"firstName": "Changed", "customAttributes": {"closedAttributes": [{"customAttributeId": id.to_string(), "closedCustomAttributeIds": values}]}});
    let owner = |identifier: &str, kind: &str| json!({"firstName": "Changed", "ownerIdentifier": {"identifier": identifier, "identifierType": kind}});
    let unknown = contact.id.to_string();
    let unknown_attribute = AttributeId::parse(&unknown).unwrap();
    let about = |id: String| json!({"customAttributeId": id});
    let unfit = |id: &AttributeId, of: Value, expected: &str| json!({"customAttributeId": id.to_string(), "type": of, "expected": expected});
    let rows = [
        (open(&unknown_attribute, "x"), "0701", about(unknown.clone())),
        (open(&gone.id, "x"), "0701", about(gone.id.to_string())),
        (closed(&unknown_attribute, &[]), "0701", about(unknown.clone())),
        (
            open(&day.id, "tomorrow"),
            "0702",
            unfit(&day.id, json!("DATE"), "a calendar day, such as 2026-01-31"),
        ),
        (
            open(&plan.id, "free"),
            "0702",
            unfit(&plan.id, Value::Null, "ids of its values, in closedAttributes"),
        ),
        (closed(&day.id, &[]), "0702", unfit(&day.id, json!("DATE"), "a calendar day, such as 2026-01-31")),
        (
            closed(&plan.id, &[&value, &unknown]),
            "0703",
            json!({"customAttributeId": plan.id.to_string(), "closedCustomAttributeId": unknown}),
        ),
        (owner("nobody@example.com", "EMAIL"), "0704", Value::Null),
        (owner(&unknown, "ID"), "0704", Value::Null),
        (owner("left@example.com", "EMAIL"), "0704", Value::Null),
        (owner(&disabled.id.to_string(), "ID"), "0704", Value::Null),
    ];
    let records = f.stream_records();
    for (body, code, extra) in rows {
        let answer = f.patch(&contact, &body).await;
        assert_eq!(answer.status, 422, "{body}");
        assert_eq!(answer.json["code"], format!("SERVICE_CONTACT_{code}"), "{body}");
        assert_eq!(answer.json["extra"], extra, "{body}");
    }
    assert_eq!(f.stored(&contact).await, contact);
    assert_eq!(f.stream_records(), records);
}

#[tokio::test]
async fn a_value_of_another_contact_is_a_conflict_that_names_it() {
    let f = Contacts::start().await;
    let holder = someone(&f).await;
    let contact = f.world.contact(|contact| contact.first_name = PersonName::parse("Bo").ok()).await;
    for (body, field) in [
        (json!({"email": "ANA@example.com", "firstName": "Changed"}), "email"),
        (json!({"cellphone": "+12025550123", "firstName": "Changed"}), "cellphone"),
        (json!({"externalId": "crm-1", "firstName": "Changed"}), "externalId"),
    ] {
        let answer = f.patch(&contact, &body).await;
        assert_eq!((answer.status, answer.json["code"].as_str()), (409, Some("SERVICE_CONTACT_0409")));
        assert_eq!(answer.json["extra"], json!({"contactId": holder.id.to_string(), "field": field}));
    }
    assert_eq!(f.stored(&contact).await, contact);

    for (field, value) in [("email", "ana@example.com"), ("externalId", "crm-1")] {
        assert_eq!(f.patch(&holder, &json!({field: null})).await.status, 200);
        let answer = f.patch(&contact, &json!({field: value})).await;
        assert_eq!((answer.status, &answer.json[field]), (200, &json!(value)), "it is free again");
    }
}

#[tokio::test]
async fn a_contact_may_change_the_case_of_its_own_address() {
    let f = Contacts::start().await;
    let contact = someone(&f).await;
    let answer = f.patch(&contact, &json!({"email": "ANA@Example.com"})).await;
    assert_eq!((answer.status, &answer.json["email"]), (200, &json!("ANA@Example.com")));
}

#[tokio::test]
async fn a_stale_if_match_is_refused_and_a_current_one_is_accepted() {
    let f = Contacts::start().await;
    let contact = someone(&f).await;
    let first =
        f.send(f.world.event("contacts-get.json").path("contactId", contact.id)).await.headers["etag"]
            .clone();
    let patch = |tag: &str, name: &str| {
        let event = f.world.event("contacts-update.json").path("contactId", contact.id);
        f.send(event.header("if-match", tag).body(&json!({ "firstName": name })))
    };
    let second = patch(&first, "B").await;
    assert_eq!(second.status, 200);
    let stale = patch(&first, "C").await;
    assert_eq!((stale.status, stale.json["code"].as_str()), (412, Some("SERVICE_CORE_0412")));
    assert_eq!(patch("*", "D").await.status, 200);
    assert_eq!(patch(&format!("\"x\", {first}"), "E").await.status, 412);
    assert_eq!(f.stored(&contact).await.first_name.unwrap().as_str(), "D");
    f.world.open_attribute("tier", AttributeType::Text, |_| ()).await;
    assert_eq!(patch(&second.headers["etag"], "F").await.status, 412, "the definitions changed");
}

#[tokio::test]
async fn bodies_that_are_not_json_are_refused_before_their_fields() {
    let f = Contacts::start().await;
    let contact = someone(&f).await;
    let event = || f.world.event("contacts-update.json").path("contactId", contact.id);
    let rows = [
        (
            event().raw_body("{\"firstName\": }"),
            400,
            json!({"line": 1, "column": 15, "reason": "expected value"}),
        ),
        (event().raw_body(""), 400, json!({"line": 1, "column": 0, "reason": "EOF while parsing a value"})),
        (
            event().raw_body(r#"{"firstName": "A", "firstName": "B"}"#),
            400,
            json!({"line": 1, "column": 30, "reason": "an object contains the same key twice"}),
        ),
        (
            event().header("content-type", "text/plain").raw_body("{}"),
            415,
            json!({"expected": "application/json"}),
        ),
        (event().without_header("content-type").raw_body("{}"), 415, json!({"expected": "application/json"})),
        (event().raw_body(&format!("\"{}\"", "x".repeat(256 * 1024 - 1))), 413, json!({"maxBytes": 262_144})),
    ];
    for (event, status, extra) in rows {
        let answer = f.send(event).await;
        assert_eq!((answer.status, &answer.json["extra"]), (status, &extra), "{}", answer.text);
        assert_eq!(answer.json["code"], format!("SERVICE_CORE_0{status}"));
    }
    let just = format!("{{\"x\": \"{}\"}}", "x".repeat(256 * 1024 - 9));
    assert_eq!(f.send(event().raw_body(&just)).await.status, 200, "256 KiB are allowed");
}

#[tokio::test]
async fn a_contact_that_would_be_too_large_is_refused() {
    let f = Contacts::start().await;
    let contact = someone(&f).await;
    let mut entries = vec![];
    for n in 0..50 {
        let definition = f.world.open_attribute(&format!("a{n}"), AttributeType::Text, |_| ()).await;
        entries.push(json!({"customAttributeId": definition.id.to_string(), "content": "€".repeat(1_024)}));
    }
    let answer = f.patch(&contact, &json!({"customAttributes": {"openAttributes": entries}})).await;
    assert_eq!((answer.status, answer.json["code"].as_str()), (422, Some("SERVICE_CORE_0422")));
    assert_eq!(answer.json["detail"][0]["ctx"], json!({"max_length": 131_072}));
    assert_eq!(f.stored(&contact).await, contact);
}

#[tokio::test]
async fn a_foreign_contact_and_an_unknown_one_get_the_same_answer_byte_for_byte() {
    let f = Contacts::start().await;
    let (other, _) = f.world.second_workspace().await;
    let foreign = f.world.contact_of(other, |_| ()).await;
    let patch = |id: ContactId| {
        // Each answer says that the same number of requests is left.
        f.world.db.clock().advance(Duration::from_secs(1));
        let event = f.world.event("contacts-update.json").path("contactId", id).request_id("r");
        f.send(event.body(&json!({"firstName": "X"})))
    };
    let unknown = patch(ContactId::generate(f.world.db.store().ids())).await;
    assert_eq!(patch(foreign.id).await, unknown);
    assert_eq!((unknown.status, unknown.json["code"].as_str()), (404, Some("SERVICE_CONTACT_0404")));
    assert_eq!(f.world.db.store().contact(other, foreign.id).await.unwrap(), Some(foreign));
}

#[tokio::test]
async fn concurrent_updates_of_one_contact_lose_nothing() {
    let f = Contacts::start().await;
    let contact = someone(&f).await;
    let mut ids = vec![];
    for n in 0..12 {
        ids.push(f.world.open_attribute(&format!("a{n}"), AttributeType::Text, |_| ()).await.id.to_string());
    }
    let updates = ids.iter().map(|id| {
        let entry = json!({"customAttributeId": id, "content": id});
        let (f, contact) = (&f, &contact);
        async move { f.patch(contact, &json!({"customAttributes": {"openAttributes": [entry]}})).await }
    });
    for answer in futures::future::join_all(updates).await {
        assert_eq!(answer.status, 200, "{}", answer.text);
    }
    let merged = f.stored(&contact).await;
    assert_eq!((merged.attributes.len(), merged.version), (12, 13));
}

#[tokio::test]
async fn a_replayed_event_with_the_same_request_id_does_not_allow_a_stale_write() {
    let f = Contacts::start().await;
    let contact = someone(&f).await;
    let patch = |body: Value| {
        let event =
            f.world.event("contacts-update.json").path("contactId", contact.id).request_id("the same");
        f.send(event.body(&body))
    };
    let (one, other) =
        futures::future::join(patch(json!({"languageCode": "EN"})), patch(json!({"firstName": "Beth"})))
            .await;
    assert_eq!((one.status, other.status), (200, 200));
    let merged = f.stored(&contact).await;
    assert_eq!((merged.language, merged.first_name.unwrap().as_str()), (Some(Language::En), "Beth"));
}

#[tokio::test]
async fn a_change_whose_fields_are_all_unknown_says_so() {
    let f = Contacts::start().await;
    let contact = f.world.contact(|_| ()).await;
    let long = "x".repeat(100);
    let rows = [
        (json!({}), None),
        (json!({"firstname": "Ana", "phone": 7}), Some(r#""firstname", "phone""#.to_owned())),
        (json!({"firstname": "Ana", "lastName": "Ruiz"}), None),
        (json!({"a\"\r\nb\\é": 1}), Some(r#""a???b??""#.to_owned())),
        (json!({long: 1}), Some(format!("\"{}\"", "x".repeat(64)))),
    ];
    for (body, expected) in rows {
        let event = f.world.event("contacts-update.json").path("contactId", contact.id).body(&body);
        let answer = f.send(event).await;
        let named = answer.headers.get("x-service-ignored-fields");
        assert_eq!((answer.status, named), (200, expected.as_ref()), "{body}");
    }
}

#[tokio::test]
async fn an_update_with_a_lost_answer_is_recognised_and_not_repeated() {
    let f = Contacts::start().await;
    let contact = someone(&f).await;
    f.world.db.fail("UpdateItem", Fault::AnswerLost, 1);
    let answer = f.patch(&contact, &json!({"languageCode": "EN"})).await;
    assert_eq!((answer.status, &answer.json["languageCode"]), (200, &json!("EN")));
    assert_eq!(f.stored(&contact).await.version, 2);
    f.world.db.fail("TransactWriteItems", Fault::AnswerLost, 1);
    let answer = f.patch(&contact, &json!({"firstName": "Beth"})).await;
    assert_eq!((answer.status, &answer.json["firstName"]), (200, &json!("Beth")));
    assert_eq!(f.stored(&contact).await.version, 3);
}

#[tokio::test]
async fn a_transaction_conflict_is_retried() {
    let f = Contacts::start().await;
    let contact = someone(&f).await;
    f.world.db.fail("TransactWriteItems", Fault::Conflict, 2);
    assert_eq!(f.patch(&contact, &json!({"firstName": "Beth"})).await.status, 200);
}

#[tokio::test]
async fn a_change_is_searchable_as_soon_as_it_is_answered() {
    let f = Contacts::start().await;
    let contact = someone(&f).await;
    f.patch(&contact, &json!({"firstName": "Wilhelmina"})).await;
    let search = |text: &'static str| f.send(f.world.event("contacts-list.json").query(&[("search", text)]));
    assert_eq!(search("wilhel").await.json["contacts"][0]["id"], contact.id.to_string());
    assert_eq!(search("ana@").await.json["contacts"][0]["id"], contact.id.to_string());
    f.patch(&contact, &json!({"firstName": "Ana"})).await;
    assert_eq!(search("wilhel").await.json["contacts"], json!([]));
}

#[tokio::test]
async fn a_warm_update_takes_two_round_trips() {
    let f = Contacts::start().await;
    let owner = f.world.user("agent@example.com", |_| ()).await;
    let contact = someone(&f).await;
    f.settle(f.world.event("contacts-get.json").path("contactId", contact.id)).await;
    assert_eq!(f.patch(&contact, &json!({"languageCode": "EN"})).await.status, 200);
    assert_eq!(
        f.world.db.sorted_operations(),
        ["BatchGetItem contacts+workspaces", "UpdateItem contacts", "UpdateItem limits"]
    );
    assert_eq!(trips(&f.world.db.calls()), 2);
    let written = |table: &str| -> f64 {
        f.world.db.calls().iter().filter(|call| call.table == table).map(|call| call.write_units).sum()
    };
    assert_eq!(written("test-contacts"), 1.0, "no identity field changed");

    for (name, identifier, kind) in
        [("B", owner.id.to_string(), "ID"), ("C", "agent@example.com".to_owned(), "EMAIL")]
    {
        f.world.db.forget_calls();
        let owner = json!({"identifier": identifier, "identifierType": kind});
        assert_eq!(
            f.patch(&contact, &json!({"firstName": name, "ownerIdentifier": owner})).await.status,
            200
        );
        assert_eq!(trips(&f.world.db.calls()), 2, "with the owner by {kind}");
        let reads = f.world.db.calls().into_iter().filter(|call| call.read_units > 0.0);
        assert_eq!(reads.map(|call| call.operation).collect::<Vec<_>>(), ["BatchGetItem"], "{kind}");
    }
}

#[tokio::test]
async fn another_number_costs_its_rows_and_the_times_of_both_numbers() {
    let f = Contacts::start().await;
    f.world.db.store().ensure_person_key([9; 32]).await.unwrap();
    let fill = |contact: &mut Contact, number: &str, user: &str| {
        contact.cellphone = Cellphone::parse(number).ok();
        contact.user_ids = World::user_ids(user);
    };
    // The first of these reads the person key, which a process remembers.
    let first = f.world.contact(|contact| fill(contact, "", "ES.1")).await;
    assert_eq!(f.patch(&first, &json!({ "cellphone": "+34600111666" })).await.status, 200);
    let mut seen = vec![];
    for (before, user, after) in [
        // Another written form of the number, another number, a first number, and one for a contact with a user id.
        ("+525512345678", "", "+5215512345678"),
        ("+34600111222", "", "+34600111333"),
        ("", "", "+34600111444"),
        ("", "ES.7", "+34600111555"),
    ] {
        let contact = f.world.contact(|contact| fill(contact, before, user)).await;
        f.settle(f.world.event("contacts-get.json").path("contactId", contact.id)).await;
        assert_eq!(f.patch(&contact, &json!({ "cellphone": after })).await.status, 200);
        let calls = f.world.db.calls();
        let of_tables = calls.iter().filter(|call| !call.table.contains("limits"));
        seen.push((trips(&calls), of_tables.map(|call| call.write_units).sum::<f64>()));
    }
    // The contact is 2, each row of a search that changes 2, each identity 2, each row of when it had a number 2, and each
    // choice of a further id 2.
    assert_eq!(seen, [(2, 12.0), (2, 22.0), (2, 10.0), (3, 14.0)]);
}
