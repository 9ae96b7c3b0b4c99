//! Refusals: their codes and details. A refused request writes nothing.

use domain::{BusinessAccountId, ContactId, Override, TeamId, TemplateId, UserId, UserStatus};
use harness::Answer;
use serde_json::{Value, json};

use crate::create::{entry, needing};
use crate::{Conversations, email, named, phone, with};

/// Posts a conversation that must be refused. Checks that every row of every table is unchanged.
async fn refused(f: &Conversations, body: &Value) -> Answer {
    let before = f.world.db.everything();
    f.world.db.forget_calls();
    let answer = f.post(body).await;
    assert_eq!(answer.status, 422, "{body}: {}", answer.text);
    assert_eq!(f.world.db.everything(), before, "{body}");
    let writes = f.world.db.sorted_operations();
    let writes: Vec<&String> =
        writes.iter().filter(|call| !call.contains("Get") && !call.contains("Query")).collect();
    assert!(writes.is_empty() || writes == ["UpdateItem limits"], "{body}: {writes:?}");
    answer
}

/// The error code and its details.
async fn code(f: &Conversations, body: &Value) -> (String, Value) {
    let answer = refused(f, body).await;
    let title = answer.json["title"].as_str().unwrap();
    let code = answer.json["code"].as_str().unwrap();
    let extra = &answer.json["extra"];
    assert_eq!(answer.json, json!({"title": title, "status": 422, "code": code, "extra": extra}));
    (code.replace("SERVICE_CONVERSATION_", ""), extra.clone())
}

fn expected(code: &str, extra: Value) -> (String, Value) {
    (code.to_owned(), extra)
}

/// A request with a new contact, a team and templates, so an early write would be detected at every refusal.
fn full(team: impl ToString, templates: Value) -> Value {
    with("+34600111222", json!({"teamId": team.to_string(), "onboardingTemplates": templates}))
}

#[tokio::test]
async fn each_template_error_has_its_refusal() {
    let f = Conversations::start().await;
    let agent = f.world.user("agent@example.com", |_| ()).await;
    let team = f.world.team(&[agent.id]).await.id;
    let (other, _) = f.world.second_workspace().await;
    let foreign = domain::TemplateScope::Workspace(other);
    let foreign = f.world.template_of(foreign, |_| ()).await.id;
    let unknown = TemplateId::generate(f.world.db.store().ids());
    let plain = f.world.template(|_| ()).await.id;
    let needs = f.world.platform_template(needing(&["order", "at"])).await.id;
    let unapproved = f.world.template(|template| template.states.clear()).await.id;
    let rows = [
        (json!([entry(unknown, json!({}))]), expected("0601", json!({"templateId": unknown.to_string()}))),
        (json!([entry(foreign, json!({}))]), expected("0601", json!({"templateId": foreign.to_string()}))),
        (
            json!([entry(unapproved, json!({}))]),
            expected(
                "0602",
                json!({"templateId": unapproved.to_string(), "providerChannelId": crate::LINE, "status": null}),
            ),
        ),
        (
            json!([entry(needs, json!({"at": "noon"}))]),
            expected("0603", json!({"templateId": needs.to_string(), "parameters": ["order"]})),
        ),
        (
            json!([{"templateId": needs.to_string()}]),
            expected("0603", json!({"templateId": needs.to_string(), "parameters": ["order", "at"]})),
        ),
        (
            json!([entry(needs, json!({"order": "7", "at": "noon", "who": "Ann", "by": "x"}))]),
            expected("0604", json!({"templateId": needs.to_string(), "parameters": ["by", "who"]})),
        ),
        (
            json!([entry(needs, json!({"order": "\n ", "at": "x".repeat(1_025)}))]),
            expected(
                "0610",
                json!({"templateId": needs.to_string(), "parameters": [
                    {"name": "order", "reason": "is blank"},
                    {"name": "at", "reason": "should have at most 1024 characters"},
                ]}),
            ),
        ),
        // The first invalid template of several.
        (
            json!([entry(plain, json!({})), entry(unapproved, json!({})), entry(unknown, json!({}))]),
            expected(
                "0602",
                json!({"templateId": unapproved.to_string(), "providerChannelId": crate::LINE, "status": null}),
            ),
        ),
    ];
    for (templates, wanted) in rows {
        assert_eq!(code(&f, &full(team, templates.clone())).await, wanted, "{templates}");
    }
}

#[tokio::test]
async fn an_error_in_the_configured_sequence_names_the_workspace() {
    let f = Conversations::start().await;
    let agent = f.world.user("agent@example.com", |_| ()).await;
    let team = f.world.team(&[agent.id]).await.id;
    let plain = f.world.template(|_| ()).await.id;
    let needs = f.world.template(needing(&["order"])).await.id;
    let unapproved = f.world.template(|template| template.states.clear()).await.id;
    let gone = TemplateId::generate(f.world.db.store().ids());
    let of = |template: TemplateId| json!({"templateId": template.to_string(), "origin": "WORKSPACE_CONFIGURATION"});
    let on_line = |template: TemplateId| {
        let mut extra = of(template);
        extra["providerChannelId"] = json!(crate::LINE);
        extra["status"] = Value::Null;
        extra
    };
    let own = json!([entry(plain, json!({}))]);
    let rows = [
        (Override::Entire, vec![plain, needs], None, expected("0608", of(needs))),
        (Override::FirstOnly, vec![plain, needs], Some(own.clone()), expected("0608", of(needs))),
        (Override::FirstOnly, vec![plain, needs], Some(json!([])), expected("0608", of(needs))),
        (Override::Entire, vec![plain, unapproved], None, expected("0602", on_line(unapproved))),
        (Override::FirstOnly, vec![plain, unapproved], Some(own), expected("0602", on_line(unapproved))),
        (Override::Entire, vec![plain, gone], None, expected("0601", of(gone))),
    ];
    for (overriding, sequence, templates, wanted) in rows {
        f.world.onboarding(overriding, &sequence).await;
        let mut body = with("+34600111222", json!({"teamId": team.to_string()}));
        if let Some(templates) = &templates {
            body["onboardingTemplates"] = templates.clone();
        }
        assert_eq!(code(&f, &body).await, wanted, "{overriding:?} {sequence:?} {templates:?}");
    }
    // The caller can change the request if its templates replace the invalid one.
    f.world.onboarding(Override::FirstOnly, &[needs, plain]).await;
    f.made(&full(team, json!([entry(needs, json!({"order": "7"}))]))).await;
}

#[tokio::test]
async fn an_unknown_line_or_brand_is_refused() {
    let f = Conversations::without_lines().await;
    let agent = f.world.user("agent@example.com", |_| ()).await;
    let team = f.world.team(&[agent.id]).await.id.to_string();
    let post = async |how: Value| {
        let mut external = phone("+34600111222");
        external.as_object_mut().unwrap().extend(how.as_object().unwrap().clone());
        code(&f, &json!({"participants": {"externals": [external]}, "teamId": team})).await
    };
    let about = |channel: Value, brand: Value| {
        expected("0605", json!({"providerChannelId": channel, "brandId": brand}))
    };
    assert_eq!(post(json!({})).await, about(json!(null), json!(null)), "no line at all");
    f.world.line(crate::LINE, |_| ()).await;
    f.world.line("line-b", |line| line.brand = domain::BrandId::parse("beta").unwrap()).await;
    let (other, _) = f.world.second_workspace().await;
    f.world.line_of(other, "foreign", |line| line.brand = domain::BrandId::parse("theirs").unwrap()).await;
    for (channel, brand) in [
        (json!("nowhere"), json!(null)),
        (json!("foreign"), json!(null)),
        (json!(null), json!("nobody")),
        (json!(null), json!("theirs")),
        (json!(crate::LINE), json!("nobody")),
        (json!(crate::LINE), json!("beta")),
    ] {
        let how = json!({"providerChannelId": channel, "brandId": brand});
        assert_eq!(post(how).await, about(channel, brand));
    }
}

#[tokio::test]
async fn an_unknown_participant_is_refused() {
    let f = Conversations::start().await;
    let (other, _) = f.world.second_workspace().await;
    let foreign_contact = f.world.contact_of(other, |_| ()).await.id;
    let foreign_user = f.world.user_of(other, "theirs@example.com", |_| ()).await.id;
    let disabled = f.world.user("off@example.com", |user| user.status = UserStatus::Disabled).await.id;
    let ids = f.world.db.store().ids();
    let (nobody, no_user) = (ContactId::generate(ids), UserId::generate(ids));
    let about = |identifier: &dyn ToString, identifier_type: &str| {
        expected("0606", named(identifier.to_string(), identifier_type))
    };
    for contact in [nobody, foreign_contact] {
        let externals = [phone("+34600111222"), named(contact.to_string().to_uppercase(), "ID")];
        let body = json!({"participants": {"externals": externals}});
        assert_eq!(code(&f, &body).await, about(&contact, "ID"));
    }
    let internals = [
        (named(no_user, "ID"), about(&no_user, "ID")),
        (named(foreign_user, "ID"), about(&foreign_user, "ID")),
        (named(disabled, "ID"), about(&disabled, "ID")),
        (email("Nobody@example.com"), about(&"nobody@example.com", "EMAIL")),
        (email("theirs@example.com"), about(&"theirs@example.com", "EMAIL")),
        (email("off@example.com"), about(&"off@example.com", "EMAIL")),
    ];
    for (internal, wanted) in internals {
        let body = json!({"participants": {"externals": [phone("+34600111222")], "internals": [internal]}});
        assert_eq!(code(&f, &body).await, wanted);
    }
}

#[tokio::test]
async fn a_team_with_internals_and_an_unknown_team_are_refused() {
    let f = Conversations::start().await;
    let agent = f.world.user("agent@example.com", |_| ()).await;
    let team = f.world.team(&[agent.id]).await.id;
    let (other, _) = f.world.second_workspace().await;
    let foreign = f.world.team_of(other, &[]).await.id;
    let unknown = TeamId::generate(f.world.db.store().ids());
    let both = json!({
        "participants": {"externals": [phone("+34600111222")], "internals": [named(agent.id, "ID")]},
        "teamId": team.to_string(),
    });
    assert_eq!(code(&f, &both).await, expected("0607", json!({"teamId": team.to_string()})));
    for team in [unknown, foreign] {
        let body = with("+34600111222", json!({"teamId": team.to_string()}));
        assert_eq!(code(&f, &body).await, expected("0607", json!({"teamId": team.to_string()})));
    }
    let empty = json!({
        "participants": {"externals": [phone("+34600111222")], "internals": []},
        "teamId": team.to_string(),
    });
    assert_eq!(f.made(&empty).await["participants"]["internals"][0]["identifier"], "agent@example.com");
}

#[tokio::test]
async fn refusals_have_a_fixed_order() {
    let f = Conversations::start().await;
    let ids = f.world.db.store().ids();
    let (nobody, no_user) = (ContactId::generate(ids).to_string(), UserId::generate(ids).to_string());
    let (no_team, no_template) = (TeamId::generate(ids), TemplateId::generate(ids));
    let mut nowhere = phone("+34600111222");
    nowhere["providerChannelId"] = json!("nowhere");
    let mut body = json!({
        "participants": {
            "externals": [nowhere, named(nobody, "ID")],
            "internals": [named(no_user, "ID")],
        },
        "teamId": no_team.to_string(),
        "onboardingTemplates": [entry(no_template, json!({}))],
    });
    let mut found = vec![];
    let mut next = async |mend: fn(&mut Value)| {
        found.push(code(&f, &body).await.0);
        mend(&mut body);
    };
    next(|body| body["teamId"] = Value::Null).await;
    next(|body| body["participants"]["externals"][0]["providerChannelId"] = Value::Null).await;
    next(|body| body["participants"]["externals"][1] = phone("+34600111333")).await;
    next(|body| body["participants"]["internals"] = json!([])).await;
    next(|_| ()).await;
    assert_eq!(found, ["0607", "0605", "0606", "0606", "0601"]);
}

#[tokio::test]
async fn foreign_and_unknown_ids_get_the_same_answer_byte_for_byte() {
    let f = Conversations::start().await;
    let (other, _) = f.world.second_workspace().await;
    let scope = domain::TemplateScope::Workspace(other);
    let foreign = [
        f.world.contact_of(other, |_| ()).await.id.to_string(),
        f.world.user_of(other, "theirs@example.com", |_| ()).await.id.to_string(),
        f.world.team_of(other, &[]).await.id.to_string(),
        f.world.template_of(scope, |_| ()).await.id.to_string(),
    ];
    let unknown = UserId::generate(f.world.db.store().ids()).to_string();
    let bodies: [fn(&str) -> Value; 4] = [
        |id| json!({"participants": {"externals": [named(id, "ID")]}}),
        |id| json!({"participants": {"externals": [phone("+34600111222")], "internals": [named(id, "ID")]}}),
        |id| with("+34600111222", json!({"teamId": id})),
        |id| with("+34600111222", json!({"onboardingTemplates": [{"templateId": id}]})),
    ];
    for (foreign, body) in foreign.iter().zip(bodies) {
        let (theirs, nobodys) = (refused(&f, &body(foreign)).await, refused(&f, &body(&unknown)).await);
        assert_eq!(theirs.text.replace(foreign, &unknown), nobodys.text);
    }
}

#[tokio::test]
async fn all_failures_of_a_request_are_reported_together() {
    let f = Conversations::start().await;
    let event = f.posted(&json!({
        "participants": {
            "externals": [
                {"identifier": "x", "identifierType": "ID", "messageProviderType": "SMS", "providerChannelId": "", "brandId": 5},
                {"identifier": "0600111222", "identifierType": "PHONE"},
                {"identifierType": "NAME"},
                7,
            ],
            "internals": [{"identifier": "+34600111222", "identifierType": "PHONE"}, {"identifier": "x", "identifierType": "EMAIL"}],
        },
        "name": " ",
        "status": "active",
        "teamId": "x",
        "onboardingTemplates": [
            {"parameters": {"a": 1, "c": "x".repeat(16_385)}},
            {"templateId": "x", "parameters": []},
            "x",
        ],
    }));
    let event = event.query(&[("notify", "no")]).header("idempotency-key", "");
    let before = f.world.db.everything();
    let answer = f.send(event).await;
    assert_eq!((answer.status, answer.json["code"].as_str()), (422, Some("SERVICE_CORE_0422")));
    let expected = [
        ("query.notify", "extra_forbidden"),
        ("header.Idempotency-Key", "string_too_short"),
        ("body.participants.externals.0.identifier", "uuid_parsing"),
        ("body.participants.externals.0.messageProviderType", "enum"),
        ("body.participants.externals.0.providerChannelId", "string_too_short"),
        ("body.participants.externals.0.brandId", "string_type"),
        ("body.participants.externals.1.identifier", "string_pattern_mismatch"),
        ("body.participants.externals.2.identifierType", "enum"),
        ("body.participants.externals.2.identifier", "missing"),
        ("body.participants.externals.3", "dict_type"),
        ("body.participants.internals.0.identifierType", "enum"),
        ("body.participants.internals.1.identifier", "string_pattern_mismatch"),
        ("body.name", "value_error"),
        ("body.status", "enum"),
        ("body.teamId", "uuid_parsing"),
        ("body.onboardingTemplates.0.templateId", "missing"),
        ("body.onboardingTemplates.0.parameters.a", "string_type"),
        ("body.onboardingTemplates.0.parameters.c", "string_too_long"),
        ("body.onboardingTemplates.1.templateId", "uuid_parsing"),
        ("body.onboardingTemplates.1.parameters", "dict_type"),
        ("body.onboardingTemplates.2", "dict_type"),
    ];
    assert_eq!(answer.failures(), expected.map(|(at, kind)| (at.to_owned(), kind.to_owned())));
    assert_eq!(f.world.db.everything(), before);
    assert_eq!(answer.json["detail"][13]["ctx"]["expected"], json!(domain::ConversationStatus::NAMES));
}

#[tokio::test]
async fn each_validation_failure_alone() {
    let f = Conversations::start().await;
    let id = TemplateId::generate(f.world.db.store().ids()).to_string();
    let one = || phone("+34600111222");
    let people = |externals: Value, internals: Value| json!({"participants": {"externals": externals, "internals": internals}});
    let templates = |templates: Value| with("+34600111222", json!({"onboardingTemplates": templates}));
    let many = |count: usize| -> Value { (0..count).map(|n| (format!("p{n}"), json!("x"))).collect() };
    let on = |field: &str, value: Value| {
        let mut external = one();
        external[field] = value;
        json!({"participants": {"externals": [external]}})
    };
    let rows = [
        (json!([]), "body", "dict_type"),
        (json!(null), "body", "dict_type"),
        (json!({}), "body.participants", "missing"),
        (json!({"participants": null}), "body.participants", "dict_type"),
        (json!({"participants": []}), "body.participants", "dict_type"),
        (json!({"participants": {}}), "body.participants.externals", "missing"),
        (json!({"participants": {"externals": null}}), "body.participants.externals", "list_type"),
        (people(json!([]), json!([])), "body.participants.externals", "too_short"),
        (people(json!(vec![one(); 11]), json!([])), "body.participants.externals", "too_long"),
        (people(json!([one()]), json!({})), "body.participants.internals", "list_type"),
        (people(json!([one()]), json!(vec![email("a@x.io"); 21])), "body.participants.internals", "too_long"),
        (
            people(json!([{"identifier": 5, "identifierType": "PHONE"}]), json!([])),
            "body.participants.externals.0.identifier",
            "string_type",
        ),
        (
            people(json!([named("+34600111222", "EMAIL")]), json!([])),
            "body.participants.externals.0.identifier",
            "string_pattern_mismatch",
        ),
        (
            on("messageProviderType", json!("whatsapp")),
            "body.participants.externals.0.messageProviderType",
            "enum",
        ),
        (
            on("providerChannelId", json!("x".repeat(129))),
            "body.participants.externals.0.providerChannelId",
            "string_too_long",
        ),
        (on("brandId", json!(" ")), "body.participants.externals.0.brandId", "value_error"),
        (with("+34600111222", json!({"name": ""})), "body.name", "string_too_short"),
        (with("+34600111222", json!({"name": "é".repeat(257)})), "body.name", "string_too_long"),
        (with("+34600111222", json!({"name": "a\u{0}b"})), "body.name", "value_error"),
        (with("+34600111222", json!({"name": 7})), "body.name", "string_type"),
        (with("+34600111222", json!({"status": 7})), "body.status", "string_type"),
        (with("+34600111222", json!({"teamId": 7})), "body.teamId", "string_type"),
        (templates(json!({})), "body.onboardingTemplates", "list_type"),
        (templates(json!(vec![entry_of(&id); 11])), "body.onboardingTemplates", "too_long"),
        (
            templates(json!([{"templateId": id, "parameters": many(61)}])),
            "body.onboardingTemplates.0.parameters",
            "too_long",
        ),
        (
            templates(json!([{"templateId": id, "parameters": {"a\u{1}b": "x"}}])),
            "body.onboardingTemplates.0.parameters.a\u{1}b",
            "value_error",
        ),
    ];
    for (body, loc, kind) in rows {
        let answer = refused(&f, &body).await;
        assert_eq!(answer.failures(), [(loc.to_owned(), kind.to_owned())], "{body}");
    }
    // The maximum number.
    let externals: Vec<Value> = (0..10).map(|n| phone(&format!("+3460011100{n}"))).collect();
    f.made(&json!({"participants": {"externals": externals}, "name": "é".repeat(256)})).await;
    let needs: Vec<String> = (0..20).map(|n| format!("p{n}")).collect();
    let needs: Vec<&str> = needs.iter().map(String::as_str).collect();
    let template = f.world.template(needing(&needs)).await.id;
    let mut values = many(20);
    values["p0"] = json!("é".repeat(1_024));
    f.made(&templates(json!(vec![entry(template, values); 10]))).await;
}

fn entry_of(id: &str) -> Value {
    json!({"templateId": id})
}

#[tokio::test]
async fn bodies_with_invalid_json_size_or_type_are_refused() {
    let f = Conversations::start().await;
    let before = f.world.db.everything();
    let event = || f.world.event("conversations-create.json");
    let rows = [
        (event().raw_body("{"), 400),
        (event().raw_body(r#"{"name": "a", "name": "b"}"#), 400),
        (event().header("content-type", "text/plain"), 415),
        (event().raw_body(&format!("\"{}\"", "x".repeat(256 * 1024))), 413),
    ];
    for (event, status) in rows {
        let answer = f.send(event).await;
        assert_eq!(
            (answer.status, answer.json["code"].clone()),
            (status, json!(format!("SERVICE_CORE_0{status}")))
        );
    }
    assert_eq!(f.world.db.everything(), before);
}

#[tokio::test]
async fn a_request_over_the_rate_limit_writes_nothing_and_takes_no_turn() {
    let f = Conversations::start().await;
    let agent = f.world.user("agent@example.com", |_| ()).await;
    let team = f.world.team(&[agent.id]).await.id;
    let one = domain::access::api_key::RateLimit::new(1, 1).unwrap();
    let key = f.world.key_with(f.world.workspace, &["*"], |key| key.rate = one).await;
    let event =
        || f.posted(&with("+34600111222", json!({"teamId": team.to_string()}))).header("x-api-key", &key);
    assert_eq!(f.send(event()).await.status, 201);
    let before = f.world.db.everything();
    let answer = f.send(event()).await;
    assert_eq!((answer.status, answer.json["code"].as_str()), (429, Some("SERVICE_RATE_LIMIT_0001")));
    assert_eq!(f.world.db.everything(), before);
}

#[tokio::test]
async fn approvals_are_looked_up_for_the_lines_of_all_participants() {
    let f = Conversations::start().await;
    let other = BusinessAccountId::parse("other").unwrap();
    f.world.line("line-b", |line| line.business_account = other).await;
    let template = f.world.template(|_| ()).await.id;
    f.world.onboarding(Override::Entire, &[template]).await;
    let mut on_b = phone("+34600111222");
    on_b["providerChannelId"] = json!("line-b");
    let body = json!({"participants": {"externals": [phone("+34600111333"), on_b]}});
    let extra = json!({
        "templateId": template.to_string(),
        "providerChannelId": "line-b",
        "status": null,
        "origin": "WORKSPACE_CONFIGURATION",
    });
    assert_eq!(code(&f, &body).await, expected("0602", extra));
}
