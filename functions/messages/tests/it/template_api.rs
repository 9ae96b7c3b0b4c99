//! The templates of a workspace: the list, one of them, and what a message of it would say.

use std::time::Duration;

use domain::settings::template::{AccountState, SaidBy, TemplateStatus};
use domain::{
    BusinessAccountId, FileType, PersonName, Template, TemplateCategory, TemplateId, TemplateScope, Timestamp,
};
use harness::{Answer, GatewayEvent, World, trips};
use serde_json::{Value, json};

use crate::Function;
use crate::templates::{Desk, LINE};

const NOBODY: &str = "00000000-0000-4000-8000-0000000fffff";

impl Function {
    async fn templates(&self, query: &[(&str, &str)]) -> Answer {
        self.send(self.world.event("messages-template-list.json").query(query)).await
    }

    fn get_template(&self, id: &str) -> GatewayEvent {
        self.world.event("messages-template-get.json").path("templateId", id).request_id("r")
    }

    async fn preview(&self, id: &str, body: &Value) -> Answer {
        self.send(self.world.event("messages-template-preview.json").path("templateId", id).body(body)).await
    }
}

fn names(answer: &Answer) -> Vec<String> {
    assert_eq!(answer.status, 200, "{}", answer.text);
    let shown = answer.json["templates"].as_array().unwrap().iter();
    shown
        .map(|one| [&one["scope"], &one["name"], &one["language"]].map(|it| it.as_str().unwrap()).join(" "))
        .collect()
}

fn named(name: &str, language: &str) -> impl FnOnce(&mut Template) {
    move |template| (template.name, template.language) = (name.to_owned(), language.to_owned())
}

fn other_account() -> BusinessAccountId {
    BusinessAccountId::parse("777").unwrap()
}

#[tokio::test]
async fn templates_are_listed_by_name_and_language_and_a_page_may_end_between_two_of_one_name() {
    let f = Function::start().await;
    for (name, language) in [("b", "es"), ("a_b", "es"), ("a", "es"), ("a", "en_US")] {
        f.world.template(named(name, language)).await;
    }
    for (name, language) in [("a", "es"), ("c", "es"), ("a", "ca")] {
        f.world.platform_template(named(name, language)).await;
    }
    let (workspace, _) = f.world.second_workspace().await;
    f.world.template_of(TemplateScope::Workspace(workspace), named("foreign", "es")).await;
    let all = [
        "PLATFORM a ca",
        "WORKSPACE a en_US",
        "PLATFORM a es",
        "WORKSPACE a es",
        "WORKSPACE a_b es",
        "WORKSPACE b es",
        "PLATFORM c es",
    ];
    assert_eq!(names(&f.templates(&[]).await), all);
    for page_size in ["1", "2", "3", "6", "7"] {
        let (mut listed, mut cursor) = (vec![], None);
        loop {
            let mut query = vec![("pageSize", page_size)];
            query.extend(cursor.as_deref().map(|cursor| ("cursor", cursor)));
            let page = f.templates(&query).await;
            listed.extend(names(&page));
            cursor = page.json["cursor"].as_str().map(str::to_owned);
            if cursor.is_none() {
                break;
            }
            assert_eq!(names(&page).len().to_string(), page_size);
        }
        assert_eq!(listed, all, "{page_size}");
    }
}

#[tokio::test]
async fn a_list_has_the_templates_that_match_all_filters() {
    let f = Function::start().await;
    f.world.line(LINE, |_| ()).await;
    f.world.line("line-b", |line| line.business_account = other_account()).await;
    let with = |category, statuses: Vec<(BusinessAccountId, TemplateStatus)>| {
        move |template: &mut Template| {
            template.category = category;
            let state = |status| AccountState::of(status, Timestamp::from_millis(1), SaidBy::Provider);
            template.states =
                statuses.into_iter().map(|(account, status)| (account, state(status))).collect();
        }
    };
    use TemplateStatus::{Approved, Paused};
    let (here, there) = (World::account(), other_account());
    let utility =
        with(Some(TemplateCategory::Utility), vec![(here.clone(), Paused), (there.clone(), Approved)]);
    let marketing = with(Some(TemplateCategory::Marketing), vec![(here.clone(), Approved)]);
    f.world.template(|template| (named("a", "es")(template), utility(template)).1).await;
    f.world.template(|template| (named("b", "en_US")(template), marketing(template)).1).await;
    // Its account is of no line of the workspace.
    let foreign = vec![(BusinessAccountId::parse("9").unwrap(), Approved)];
    f.world.platform_template(|template| (named("c", "es")(template), with(None, foreign)(template)).1).await;
    type Pairs<'a> = &'a [(&'a str, &'a str)];
    let rows: &[(Pairs<'_>, &[&str])] = &[
        (&[], &["a", "b", "c"]),
        (&[("status", "APPROVED")], &["a", "b"]),
        (&[("status", "PAUSED")], &["a"]),
        (&[("status", "REJECTED")], &[]),
        (&[("status", "APPROVED"), ("providerChannelId", LINE)], &["b"]),
        (&[("status", "APPROVED"), ("providerChannelId", "line-b")], &["a"]),
        (&[("providerChannelId", "line-b")], &["a"]),
        (&[("providerChannelId", "line-z")], &[]),
        (&[("category", "UTILITY")], &["a"]),
        (&[("category", "AUTHENTICATION")], &[]),
        (&[("language", "es")], &["a", "c"]),
        (&[("language", "es"), ("category", "MARKETING")], &[]),
    ];
    for (query, expected) in rows {
        let found = f.templates(query).await;
        let found: Vec<String> =
            names(&found).iter().map(|name| name.split(' ').nth(1).unwrap().to_owned()).collect();
        assert_eq!(found, *expected, "{query:?}");
    }
    let page = f.templates(&[("status", "PAUSED"), ("pageSize", "1")]).await;
    let cursor = page.json["cursor"].as_str().unwrap();
    let rest = f.templates(&[("status", "PAUSED"), ("pageSize", "1"), ("cursor", cursor)]).await;
    assert_eq!(names(&rest), [""; 0], "a page may be empty, and not be the last");
    assert!(rest.json["cursor"].is_string());
    let other = f.templates(&[("status", "APPROVED"), ("cursor", cursor)]).await;
    assert_eq!(other.failures(), [("query.cursor".to_owned(), "value_error".to_owned())]);
}

#[tokio::test]
async fn an_unknown_filter_and_a_malformed_one_are_refused() {
    let f = Function::start().await;
    for (name, value, kind) in [
        ("status", "approved", "enum"),
        ("category", "NEWS", "enum"),
        ("language", "en-US", "string_pattern_mismatch"),
        ("providerChannelId", "", "string_too_short"),
        ("pageSize", "101", "less_than_equal"),
        ("name", "a", "extra_forbidden"),
    ] {
        let answer = f.templates(&[(name, value)]).await;
        assert_eq!((answer.status, answer.json["code"].as_str()), (422, Some("SERVICE_CORE_0422")));
        assert_eq!(answer.failures(), [(format!("query.{name}"), kind.to_owned())]);
    }
}

#[tokio::test]
async fn a_template_shows_its_components_its_places_and_the_status_for_the_lines_of_the_workspace() {
    let desk = Desk::start().await;
    let f = &desk.f;
    f.world.line("line-b", |line| line.business_account = other_account()).await;
    let mut paused = AccountState::of(TemplateStatus::Paused, Timestamp::from_millis(5), SaidBy::Provider);
    (paused.quality, paused.reason) = (Some("RED".to_owned()), Some("Too many blocks".to_owned()));
    let next = desk.template.decided(&World::account(), paused.clone()).unwrap().unwrap();
    let next = next.decided(&BusinessAccountId::parse("9").unwrap(), paused).unwrap().unwrap();
    assert_eq!(next.version, 3);
    for next in [Template { version: 2, ..next.clone() }, next] {
        assert!(f.world.db.store().replace_template(&next).await.unwrap());
    }
    let id = desk.template.id.to_string();
    let answer = f.send(f.get_template(&id)).await;
    let place = |name: &str, kind: &str, required: bool, source: &str, most: usize| {
        json!({
            "name": name, "kind": kind, "required": required, "source": source, "fallback": null, "maxLength": most,
        })
    };
    let expected = json!({
        "id": id,
        "scope": "WORKSPACE",
        "name": "trip_ready",
        "language": "es",
        "category": null,
        "parameterFormat": "NAMED",
        "header": { "kind": "IMAGE", "text": null },
        "body": "Hi {{name}}, your trip to {{city}} is ready.",
        "footer": "Aster",
        "offer": null,
        "buttons": [{ "kind": "URL", "text": "See", "url": "https://aster.example/{{1}}", "phoneNumber": null }],
        "cards": [],
        "parameters": [
            place("header.image", "IMAGE", true, "CALLER", 2_048),
            place("name", "TEXT", false, "CONTACT.firstName", 1_024),
            place("city", "TEXT", true, "CALLER", 1_024),
            place("button.0.url", "URL_SUFFIX", true, "CALLER", 2_048),
        ],
        "statuses": [
            {
                "businessAccountId": World::ACCOUNT, "status": "PAUSED", "sendable": false, "quality": "RED",
                "category": null, "reason": "Too many blocks", "updatedAt": "1970-01-01T00:00:00.005Z",
            },
            {
                "businessAccountId": "777", "status": null, "sendable": false, "quality": null, "category": null,
                "reason": null, "updatedAt": null,
            },
        ],
        "createdAt": desk.template.created_at.to_string(),
    });
    let mut expected = expected;
    let statuses = expected["statuses"].as_array_mut().unwrap();
    statuses.sort_by_key(|status| status["businessAccountId"].as_str().unwrap().to_owned());
    assert_eq!((answer.status, &answer.json), (200, &expected));
    assert_eq!(f.send(f.get_template(&id)).await.headers["etag"], answer.headers["etag"]);
    assert_eq!(f.templates(&[]).await.json["templates"], json!([expected]));
}

#[tokio::test]
async fn an_unknown_template_and_a_foreign_one_get_the_same_404() {
    let f = Function::start().await;
    let (workspace, _) = f.world.second_workspace().await;
    let foreign = f.world.template_of(TemplateScope::Workspace(workspace), |_| ()).await.id.to_string();
    let ask = async |id: &str| {
        // Each answer says that the same number of requests is left.
        f.world.db.clock().advance(Duration::from_secs(1));
        f.send(f.get_template(id)).await
    };
    let unknown = ask(NOBODY).await;
    assert_eq!((unknown.status, unknown.json["code"].as_str()), (404, Some("SERVICE_TEMPLATE_0404")));
    assert_eq!(ask(&foreign).await, unknown);
    let preview = f.preview(&foreign, &json!({})).await;
    assert_eq!((preview.status, &preview.json), (404, &unknown.json));
    let malformed = f.send(f.get_template("7")).await;
    assert_eq!(malformed.failures(), [("path.templateId".to_owned(), "uuid_parsing".to_owned())]);
}

#[tokio::test]
async fn a_preview_shows_what_the_message_would_say_and_stores_nothing() {
    let desk = Desk::start().await;
    let picture = desk.picture(1_000).await.id.to_string();
    let named = |contact: &mut domain::Contact| contact.first_name = PersonName::parse("Ana").ok();
    let ana = desk.f.world.contact(named).await.id.to_string();
    let before = desk.f.world.db.rows(store::Table::Messages);
    let id = desk.template.id.to_string();
    let parameters = json!({ "city": "Rome ", "header.image": picture, "button.0.url": "t/7?x" });
    let body = json!({ "parameters": parameters, "contactId": ana, "providerChannelId": LINE });
    let answer = desk.f.preview(&id, &body).await;
    let mut expected = json!({
        "sendable": true,
        "header": { "kind": "IMAGE", "text": null },
        "body": "Hi Ana, your trip to Rome is ready.",
        "footer": "Aster",
        "offer": null,
        "buttons": [{ "kind": "URL", "text": "See", "url": "https://aster.example/t/7?x", "phoneNumber": null }],
        "cards": [],
        "values": { "name": "Ana", "city": "Rome", "header.image": picture, "button.0.url": "t/7?x" },
        "text": "Hi Ana, your trip to Rome is ready.\n\nAster",
        "problems": [],
    });
    assert_eq!((answer.status, &answer.json), (200, &expected));
    assert_eq!(answer.headers.get("etag"), None);

    let unknown = desk.f.preview(&id, &json!({ "parameters": parameters })).await;
    expected["body"] = json!("Hi {{firstName}}, your trip to Rome is ready.");
    expected["text"] = json!("Hi {{firstName}}, your trip to Rome is ready.\n\nAster");
    expected["values"].as_object_mut().unwrap().remove("name");
    assert_eq!(unknown.json, expected, "the contact is not known yet");
    assert_eq!(desk.f.world.db.rows(store::Table::Messages), before);
}

#[tokio::test]
async fn a_preview_finds_all_problems_at_once() {
    let desk = Desk::start().await;
    let nameless = desk.f.world.contact(|_| ()).await.id.to_string();
    let id = desk.template.id.to_string();
    let problems = async |body: Value| {
        let answer = desk.f.preview(&id, &body).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        let problems = answer.json["problems"].as_array().unwrap().clone();
        assert_eq!(answer.json["sendable"], problems.is_empty());
        let text = |problem: &Value| {
            let [code, parameter, reason] = ["code", "parameter", "reason"].map(|field| &problem[field]);
            let code = code.as_str().unwrap().trim_start_matches("SERVICE_").to_owned();
            format!("{code}: {} {}", parameter.as_str().unwrap_or("-"), reason.as_str().unwrap())
        };
        problems.iter().map(text).collect::<Vec<_>>()
    };
    let missing = [
        "CONVERSATION_0604: zoo is not taken from a caller",
        "CONVERSATION_0603: header.image is missing",
        "CONVERSATION_0610: city is blank",
        "CONVERSATION_0603: button.0.url is missing",
        "MISSING_VALUE: name is the contact's firstName, which is empty",
    ];
    let body = json!({ "parameters": { "zoo": "x", "city": " " }, "contactId": nameless });
    assert_eq!(problems(body).await, missing);

    // Files are looked at as for a message.
    let with_file =
        |file: &str| json!({ "parameters": { "city": "Rome", "header.image": file, "button.0.url": "x" } });
    let [large, declared] = [desk.picture(5 * 1_048_576 + 1).await, desk.f.world.media(|_| ()).await];
    let sound = desk.f.world.media(|media| {
        (media.file_type, media.content_type) = (FileType::Audio, "audio/ogg".to_owned());
    });
    let sound = sound.await;
    desk.f.bucket.upload(&sound, 9);
    for (file, problem) in [
        ("http://x", "CONVERSATION_0610: header.image should be an https URL"),
        (NOBODY, "FILE_0902: header.image is no uploaded file"),
        (&declared.id.to_string(), "FILE_0902: header.image is no uploaded file"),
        (&large.id.to_string(), "CONVERSATION_0610: header.image the file should have at most 5242880 bytes"),
        (&sound.id.to_string(), "CONVERSATION_0610: header.image the file should be image/jpeg or image/png"),
    ] {
        assert_eq!(problems(with_file(file)).await, [problem], "{file}");
    }

    let paused = AccountState::of(TemplateStatus::Paused, Timestamp::from_millis(1), SaidBy::Provider);
    let next = desk.template.decided(&World::account(), paused).unwrap().unwrap();
    assert!(desk.f.world.db.store().replace_template(&next).await.unwrap());
    let link = with_file("https://files.example/a.png");
    let of_status = "CONVERSATION_0602: - is PAUSED for the business account of the line";
    assert_eq!(problems(link.clone()).await, [of_status]);
    let approved = AccountState::of(TemplateStatus::Approved, Timestamp::from_millis(2), SaidBy::Provider);
    let next = next.decided(&other_account(), approved).unwrap().unwrap();
    assert!(desk.f.world.db.store().replace_template(&next).await.unwrap());
    desk.f.world.line("line-b", |line| line.business_account = other_account()).await;
    assert_eq!(problems(link.clone()).await, [""; 0], "one line is enough");
    let mut of_line = link;
    of_line["providerChannelId"] = json!(LINE);
    assert_eq!(problems(of_line).await, [of_status]);
}

#[tokio::test]
async fn a_preview_refuses_a_contact_and_a_line_that_do_not_exist_and_wrong_types() {
    let desk = Desk::start().await;
    let id = desk.template.id.to_string();
    for (body, code, extra) in [
        (
            json!({ "contactId": NOBODY }),
            "SERVICE_CONVERSATION_0606",
            json!({ "identifier": NOBODY, "identifierType": "ID" }),
        ),
        (
            json!({ "providerChannelId": "line-z" }),
            "SERVICE_CONVERSATION_0605",
            json!({ "providerChannelId": "line-z", "brandId": null }),
        ),
    ] {
        let answer = desk.f.preview(&id, &body).await;
        assert_eq!((answer.status, &answer.json["code"]), (422, &json!(code)));
        assert_eq!(answer.json["extra"], extra);
    }
    let wrong = json!({ "parameters": { "a": 1 }, "contactId": "7", "providerChannelId": "" });
    let failures = [
        ("body.parameters.a", "string_type"),
        ("body.contactId", "uuid_parsing"),
        ("body.providerChannelId", "string_too_short"),
    ];
    let failures = failures.map(|(at, kind)| (at.to_owned(), kind.to_owned()));
    assert_eq!(desk.f.preview(&id, &wrong).await.failures(), failures);
}

#[tokio::test]
async fn the_event_files_are_requests_that_succeed() {
    let f = Function::start().await;
    f.world.line(LINE, |_| ()).await;
    let id = harness::fixture("messages-template-get.json")["pathParameters"]["templateId"].clone();
    let id = TemplateId::parse(id.as_str().unwrap()).unwrap();
    f.world.template(|template| template.id = id).await;
    assert_eq!(names(&f.send(f.world.event("messages-template-list.json")).await).len(), 1);
    for file in ["messages-template-get.json", "messages-template-preview.json"] {
        assert_eq!(f.send(f.world.event(file)).await.status, 200, "{file}");
    }
}

#[tokio::test]
async fn a_key_needs_the_scope_of_templates() {
    let f = Function::start().await;
    let id = f.world.template(|_| ()).await.id.to_string();
    for (scope, status) in [("templates:read", 200), ("messages:read", 403), ("messages:write", 403)] {
        let key = f.world.key_with(f.world.workspace, &[scope], |_| ()).await;
        let list = f.world.event("messages-template-list.json");
        let preview = f.world.event("messages-template-preview.json").path("templateId", &id);
        for event in [list, f.get_template(&id), preview] {
            assert_eq!(f.send(event.header("x-api-key", &key)).await.status, status, "{scope}");
        }
    }
}

#[tokio::test]
async fn a_list_takes_two_round_trips_a_template_and_a_preview_one() {
    let desk = Desk::start().await;
    let (f, id) = (&desk.f, desk.template.id.to_string());
    let picture = desk.picture(1_000).await.id.to_string();
    let ana = f.world.contact(|_| ()).await.id.to_string();
    let cost = || {
        let (trips, mut operations) = (trips(&f.world.db.calls()), f.world.db.sorted_operations());
        operations.retain(|operation| !operation.ends_with("limits"));
        f.world.db.forget_calls();
        (trips, operations)
    };
    let named = |operations: &[&str]| operations.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>();
    // A process remembers the lines if they did not change of late.
    f.world.db.clock().advance(Duration::from_secs(60));
    assert_eq!(f.templates(&[]).await.status, 200);
    f.world.db.forget_calls();
    assert_eq!(f.templates(&[]).await.status, 200);
    assert_eq!(cost(), (2, named(&["BatchGetItem workspaces", "Query workspaces", "Query workspaces"])));
    for _ in 0..21 {
        f.world.template(|_| ()).await;
    }
    f.world.db.forget_calls();
    assert_eq!(names(&f.templates(&[]).await).len(), 20);
    let units: f64 = f.world.db.calls().iter().map(|call| call.read_units).sum();
    assert_eq!(units, 24.0, "a unit a template, and four");
    f.world.db.clock().advance(Duration::from_secs(60));
    assert_eq!(f.send(f.get_template(&id)).await.status, 200);
    f.world.db.forget_calls();
    assert_eq!(f.send(f.get_template(&id)).await.status, 200);
    assert_eq!(cost(), (1, named(&["BatchGetItem workspaces"])));
    let link = json!({ "parameters": { "header.image": "https://files.example/a.png" }, "contactId": ana });
    assert_eq!(f.preview(&id, &link).await.status, 200);
    assert_eq!(cost(), (1, named(&["BatchGetItem contacts+workspaces"])));
    let with_file = json!({ "parameters": { "header.image": picture }, "contactId": ana });
    assert_eq!(f.preview(&id, &with_file).await.status, 200);
    let looked = named(&["BatchGetItem contacts+media+workspaces", "HeadObject media-bucket"]);
    assert_eq!(cost(), (2, looked), "no message referred to the file yet");
}
