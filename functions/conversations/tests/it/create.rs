use std::collections::BTreeSet;

use domain::settings::template::{Source, Variable};
use domain::{
    BrandId, BusinessAccountId, Cellphone, Contact, ContactRef, ContactType, Conversation, Email, Override,
    PersonName, Template, TemplateId,
};
use harness::{World, trips};
use runtime::metrics::ApiFunction;
use serde_json::{Value, json};
use store::{ConversationQuery, Table};

use crate::{Conversations, LINE, email, named, phone, with};

/// Makes a template need these values from the caller.
pub(crate) fn needing(names: &[&str]) -> impl FnOnce(&mut Template) {
    let variables = names.iter().map(|name| Variable::new(name, Source::Caller).unwrap()).collect();
    |template| template.set_variables(variables)
}

pub(crate) fn entry(template: TemplateId, parameters: Value) -> Value {
    json!({"templateId": template.to_string(), "parameters": parameters})
}

/// The templates of the only plan, in order, each with the caller's values; empty without a plan.
fn planned(f: &Conversations) -> Vec<(String, Value)> {
    let plans = f.world.db.rows_of(Table::Messages, "plan");
    assert!(plans.len() <= 1, "{plans:?}");
    let steps = plans.iter().flat_map(|plan| plan["steps"]["L"].as_array().unwrap());
    let values = |step: &Value| {
        let parameters = step["M"]["parameters"]["M"].as_object().unwrap();
        parameters.iter().map(|(name, value)| (name.clone(), value["S"].clone())).collect()
    };
    steps
        .map(|step| (step["M"]["templateId"]["S"].as_str().unwrap().to_owned(), Value::Object(values(step))))
        .collect()
}

#[tokio::test]
async fn a_conversation_is_created_and_returned_with_every_documented_field() {
    let f = Conversations::start().await;
    f.world.user("Agent@example.com", |_| ()).await;
    let second = f.world.user("second@example.com", |_| ()).await;
    let ann = f.world.contact(|blank| blank.email = Email::parse("Ann@X.io").ok()).await;
    let ben = f.world.contact(|_| ()).await;
    let answer = f
        .post(&json!({
            "participants": {
                "externals": [
                    {
                        "identifier": "+34600111222",
                        "identifierType": "PHONE",
                        "messageProviderType": "WHATSAPP",
                        "providerChannelId": LINE,
                        "brandId": World::BRAND,
                    },
                    email("ANN@x.io"),
                    named(ben.id.to_string().to_uppercase(), "ID"),
                ],
                "internals": [
                    named("AGENT@example.com", "EMAIL"),
                    named(second.id.to_string().to_uppercase(), "ID"),
                ],
            },
            "name": " Order 7 ",
            "status": "GHOST",
            "somethingNew": {"ignored": true},
        }))
        .await;
    assert_eq!(answer.status, 201, "{}", answer.text);
    let participant = |identifier: &str, identifier_type: &str, role: &str| {
        json!({
            "identifier": identifier,
            "identifierType": identifier_type,
            "role": role,
            "joinedAt": "2026-01-02T03:04:05.678Z",
            "lastSeenAt": null,
        })
    };
    assert_eq!(
        answer.json,
        json!({
            "id": answer.json["id"],
            "workspaceId": f.world.workspace.to_string(),
            "participants": {
                "externals": [
                    participant("+34600111222", "PHONE", "EXTERNAL"),
                    participant("ann@x.io", "EMAIL", "EXTERNAL"),
                    participant(&ben.id.to_string(), "ID", "EXTERNAL"),
                ],
                "internals": [
                    participant("agent@example.com", "EMAIL", "INTERNAL"),
                    participant(&second.id.to_string(), "ID", "INTERNAL"),
                ],
            },
            "createdAt": "2026-01-02T03:04:05.678Z",
            "updatedAt": "2026-01-02T03:04:05.678Z",
            "name": " Order 7 ",
            "status": "GHOST",
        })
    );
    assert_eq!(answer.headers["content-type"], "application/json");
    assert_eq!(answer.headers["etag"].len(), 34);
    assert!(!answer.headers.contains_key("idempotent-replayed"));

    let stored = f.stored(&answer.json["id"]).await;
    let contacts: Vec<_> = stored.externals.iter().map(|external| external.contact).collect();
    assert_eq!(contacts[1..], [ann.id, ben.id]);
    assert_eq!(stored.version, 1);
}

#[tokio::test]
async fn the_event_file_is_a_request_that_succeeds_as_it_is() {
    let f = Conversations::start().await;
    f.world.user("agent@example.com", |_| ()).await;
    let body = harness::fixture("conversations-create.json")["body"].clone();
    let body: Value = serde_json::from_str(body.as_str().unwrap()).unwrap();
    let wanted = body["onboardingTemplates"][0]["templateId"].as_str().unwrap();
    let id = TemplateId::parse(wanted).unwrap();
    let needs_order = needing(&["order"]);
    f.world
        .template(|template| {
            needs_order(template);
            template.id = id;
        })
        .await;
    let answer = f.send(f.world.event("conversations-create.json")).await;
    assert_eq!(answer.status, 201, "{}", answer.text);
    assert_eq!((&answer.json["name"], &answer.json["status"]), (&body["name"], &body["status"]));
    assert_eq!(planned(&f), [(wanted.to_owned(), body["onboardingTemplates"][0]["parameters"].clone())]);
    let again = f.send(f.world.event("conversations-create.json")).await;
    assert_eq!((&again.json, again.headers["idempotent-replayed"].as_str()), (&answer.json, "true"));
}

#[tokio::test]
async fn optional_fields_may_be_null_and_have_defaults() {
    let f = Conversations::start().await;
    let external = json!({
        "identifier": "+34600111222",
        "identifierType": "PHONE",
        "messageProviderType": null,
        "providerChannelId": null,
        "brandId": null,
    });
    let template = f.world.template(|_| ()).await;
    f.world.onboarding(Override::Entire, &[template.id]).await;
    let nulls = json!({
        "participants": {"externals": [external], "internals": null},
        "name": null,
        "status": null,
        "teamId": null,
        "onboardingTemplates": null,
    });
    for body in [nulls, with("+34600111222", json!({}))] {
        let made = f.made(&body).await;
        assert_eq!((&made["name"], &made["status"]), (&Value::Null, &json!("ACTIVE")), "{body}");
        assert_eq!(made["participants"]["internals"], json!([]), "unassigned, for any agent");
        let stored = f.stored(&made["id"]).await;
        assert_eq!(stored.externals[0].channel.as_str(), LINE);
        assert_eq!(stored.externals[0].brand.as_str(), World::BRAND);
    }
    assert_eq!(
        f.world.db.rows_of(Table::Messages, "plan").len(),
        2,
        "each conversation has the workspace's sequence"
    );
    let parameters =
        json!({"onboardingTemplates": [{"templateId": template.id.to_string(), "parameters": null}]});
    f.made(&with("+34600111222", parameters)).await;
}

#[tokio::test]
async fn each_status_is_accepted() {
    let f = Conversations::start().await;
    for status in ["ACTIVE", "GHOST", "RELEASED", "NOT_ASSIGNED_TO_HUMAN", "BLOCKED"] {
        assert_eq!(f.made(&with("+34600111222", json!({"status": status}))).await["status"], status);
    }
}

#[tokio::test]
async fn an_existing_contact_found_by_number_or_address_joins_unchanged() {
    let f = Conversations::start().await;
    let ann = f
        .world
        .contact(|blank| {
            blank.first_name = PersonName::parse("Ann").ok();
            blank.email = Email::parse("Ann@X.io").ok();
            blank.cellphone = Cellphone::parse("+34600111222").ok();
        })
        .await;
    let before = f.world.db.rows(Table::Contacts);
    for named in [phone("+34600111222"), email("aNN@x.IO"), named(ann.id, "ID")] {
        let made = f.made(&json!({"participants": {"externals": [named]}})).await;
        assert_eq!(f.stored(&made["id"]).await.externals[0].contact, ann.id, "{named}");
    }
    assert_eq!(f.world.db.rows(Table::Contacts), before);
}

#[tokio::test]
async fn an_unknown_number_or_address_becomes_a_partial_contact_in_the_same_transaction() {
    let f = Conversations::start().await;
    f.post(&with("+34600000000", json!({}))).await;
    f.world.db.forget_calls();
    let body = json!({"participants": {"externals": [phone("+34600111222"), email("New@X.io")]}});
    let made = f.made(&body).await;
    let writes: Vec<String> = f
        .world
        .db
        .sorted_operations()
        .into_iter()
        .filter(|call| !call.contains("Get") && !call.contains("Query"))
        .collect();
    assert_eq!(writes, ["TransactWriteItems contacts+conversations+messages", "UpdateItem limits"]);

    let (store, workspace) = (f.world.db.store(), f.world.workspace);
    let stored = f.stored(&made["id"]).await;
    let by_phone = store.contact(workspace, stored.externals[0].contact).await.unwrap().unwrap();
    let by_email = store.contact(workspace, stored.externals[1].contact).await.unwrap().unwrap();
    let now = store.now();
    let blank = |id| Contact::blank(id, workspace, now);
    let number = Cellphone::parse("+34600111222").unwrap();
    let address = Email::parse("New@X.io").unwrap();
    assert_eq!(by_phone, Contact { cellphone: Some(number.clone()), ..blank(by_phone.id) });
    assert_eq!(by_email, Contact { email: Some(address.clone()), ..blank(by_email.id) });
    let definitions = store.definitions(workspace).await.unwrap();
    assert_eq!(by_phone.contact_type(&definitions, now), ContactType::Partial);
    let holders = (
        store.contact_holding_cellphone(workspace, &number).await.unwrap(),
        store.contact_holding_email(workspace, &address).await.unwrap(),
    );
    assert_eq!(holders, (Some(by_phone.id), Some(by_email.id)));

    let again = f.made(&body).await;
    let same = f.stored(&again["id"]).await;
    let contacts =
        |of: &Conversation| -> Vec<_> { of.externals.iter().map(|external| external.contact).collect() };
    assert_eq!(contacts(&same), contacts(&stored), "the next request finds the same contact");
}

#[tokio::test]
async fn repeated_participants_count_once_under_any_identifier() {
    let f = Conversations::start().await;
    let agent = f.world.user("agent@example.com", |_| ()).await;
    let ann = f
        .world
        .contact(|blank| {
            blank.email = Email::parse("ann@x.io").ok();
            blank.cellphone = Cellphone::parse("+34600111222").ok();
        })
        .await;
    let made = f
        .made(&json!({"participants": {
            "externals": [
                email("ANN@x.io"),
                phone("+34600111222"),
                named(ann.id, "ID"),
                phone("+5511987654321"),
                phone("+551187654321"),
                email("new@b\u{fc}cher.io"),
                email("NEW@xn--bcher-kva.IO"),
            ],
            "internals": [email("Agent@Example.com"), named(agent.id, "ID")],
        }}))
        .await;
    let shown = |side: &str| -> Vec<String> {
        let all = made["participants"][side].as_array().unwrap().iter();
        all.map(|one| one["identifier"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(shown("externals"), ["ann@x.io", "+5511987654321", "new@b\u{fc}cher.io"]);
    assert_eq!(shown("internals"), ["agent@example.com"]);
    assert_eq!(f.world.db.rows_of(Table::Contacts, "contact").len(), 3);
}

#[tokio::test]
async fn the_line_is_the_named_one_or_the_brands_or_the_workspaces_default() {
    let f = Conversations::start().await;
    let of_beta = |line: &mut domain::Line| line.brand = BrandId::parse("beta").unwrap();
    f.world.line("line-b", of_beta).await;
    f.world.line("line-c", of_beta).await;
    f.world.brand("gamma", |_| ()).await;
    let rows = [
        (json!({}), (LINE, World::BRAND)),
        (json!({"providerChannelId": "line-c"}), ("line-c", "beta")),
        (json!({"brandId": "beta"}), ("line-b", "beta")),
        (json!({"brandId": "gamma"}), (LINE, "gamma")),
        (json!({"brandId": "beta", "providerChannelId": "line-c"}), ("line-c", "beta")),
    ];
    for (how, expected) in rows {
        let mut external = phone("+34600111222");
        external.as_object_mut().unwrap().extend(how.as_object().unwrap().clone());
        let made = f.made(&json!({"participants": {"externals": [external]}})).await;
        let stored = f.stored(&made["id"]).await;
        let (line, brand) = (&stored.externals[0].channel, &stored.externals[0].brand);
        assert_eq!((line.as_str(), brand.as_str()), expected, "{how}");
    }
}

#[tokio::test]
async fn a_new_conversation_is_in_every_matching_list() {
    let f = Conversations::start().await;
    let agent = f.world.user("agent@example.com", |_| ()).await;
    let other = f.world.user("other@example.com", |_| ()).await;
    let participants = json!({
        "externals": [phone("+34600111222"), email("ann@x.io")],
        "internals": [named(agent.id, "ID")],
    });
    let made = f.made(&json!({"participants": participants})).await;
    let stored = f.stored(&made["id"]).await;
    let listed = async |external: Option<ContactRef>, internal: Option<domain::UserId>| {
        let internal = internal.map(domain::UserRef::Id);
        let wanted = ConversationQuery { status: None, external, internal, page_size: 20, after: None };
        f.world.db.store().conversations_page(f.world.workspace, wanted).await.unwrap().items
    };
    let ann = ContactRef::Email(Email::parse("ann@x.io").unwrap());
    let alone = std::slice::from_ref(&stored);
    assert_eq!(listed(None, None).await, alone);
    assert_eq!(listed(Some(ann.clone()), None).await, alone);
    assert_eq!(listed(Some(ContactRef::Id(stored.externals[0].contact)), None).await, alone);
    assert_eq!(listed(None, Some(agent.id)).await, alone);
    assert_eq!(listed(Some(ann), Some(agent.id)).await, alone);
    assert_eq!(listed(None, Some(other.id)).await, []);
}

#[tokio::test]
async fn a_conversation_without_templates_has_an_idle_lane_and_no_plan() {
    let f = Conversations::start().await;
    let made = f.made(&with("+34600111222", json!({}))).await;
    let lanes = f.world.db.rows_of(Table::Messages, "lane");
    let pk = format!("{}#C#{}", f.world.workspace, made["id"].as_str().unwrap());
    assert_eq!(lanes.len(), 1);
    assert_eq!((&lanes[0]["pk"]["S"], &lanes[0]["seq"]["N"]), (&json!(pk), &json!("0")));
    assert!(lanes[0]["dueAt"].is_null() && lanes[0]["dueShard"].is_null(), "{}", lanes[0]);
    assert_eq!(f.world.db.rows(Table::Messages).len(), 1);
}

#[tokio::test]
async fn a_plan_is_stored_with_the_conversation_and_becomes_due() {
    let f = Conversations::start().await;
    let needs = needing(&["order", "at"]);
    let template = f.world.template(needs).await;
    let external = phone("+34600111222");
    let made = f
        .made(&json!({
            "participants": {"externals": [external, email("ann@x.io")]},
            "onboardingTemplates": [entry(template.id, json!({"order": "7", "at": "noon"}))],
        }))
        .await;
    assert_eq!(planned(&f), [(template.id.to_string(), json!({"order": "7", "at": "noon"}))]);
    let (plan, lane) =
        (&f.world.db.rows_of(Table::Messages, "plan")[0], &f.world.db.rows_of(Table::Messages, "lane")[0]);
    let stored = f.stored(&made["id"]).await;
    let to = |at: usize| {
        let contact = stored.externals[at].contact.to_string();
        json!({"M": {"contactId": {"S": contact}, "channelId": {"S": LINE}}})
    };
    assert_eq!(plan["recipients"]["L"], json!([to(0), to(1)]));
    assert_eq!((&plan["done"]["N"], &plan["pk"]), (&json!("0"), &lane["pk"]));
    // The only step of the plan has the first number, and later messages follow it.
    assert_eq!(lane["seq"]["N"], "1");
    let due = f.world.db.store().now().plus(crate::FIRST_DUE).as_millis().to_string();
    assert_eq!(lane["dueAt"]["N"], due);
    let shown = made.to_string();
    assert!(!shown.contains(&template.id.to_string()), "the plan is not shown: {shown}");
}

#[tokio::test]
async fn the_callers_templates_replace_the_configured_sequence_or_its_first_template() {
    let f = Conversations::start().await;
    let mut ids = vec![];
    for _ in 0..3 {
        ids.push(f.world.template(|_| ()).await.id);
    }
    let needs = needing(&["order"]);
    let own = f.world.platform_template(needs).await.id;
    let given = || entry(own, json!({"order": "7"}));
    let called = (own.to_string(), json!({"order": "7"}));
    let configured = |at: usize| (ids[at].to_string(), json!({}));
    let two = json!([given(), entry(ids[2], json!({}))]);
    let rows = [
        (Override::Entire, None, vec![configured(0), configured(1), configured(2)]),
        (Override::Entire, Some(json!([given()])), vec![called.clone()]),
        (Override::Entire, Some(two.clone()), vec![called.clone(), configured(2)]),
        (Override::Entire, Some(json!([])), vec![]),
        (Override::FirstOnly, None, vec![configured(0), configured(1), configured(2)]),
        (Override::FirstOnly, Some(json!([given()])), vec![called.clone(), configured(1), configured(2)]),
        (Override::FirstOnly, Some(two), vec![called, configured(2), configured(1), configured(2)]),
        (Override::FirstOnly, Some(json!([])), vec![configured(1), configured(2)]),
    ];
    for (overriding, templates, expected) in rows {
        f.world.onboarding(overriding, &ids).await;
        let body = match &templates {
            Some(templates) => with("+34600111222", json!({"onboardingTemplates": templates})),
            None => with("+34600111222", json!({})),
        };
        let made = f.made(&body).await;
        let pk = format!("{}#C#{}", f.world.workspace, made["id"].as_str().unwrap());
        let plans = f.world.db.rows_of(Table::Messages, "plan");
        let plan = plans.iter().find(|plan| plan["pk"]["S"] == pk);
        let steps = plan.map(|plan| plan["steps"]["L"].as_array().unwrap().clone()).unwrap_or_default();
        let sent: Vec<String> =
            steps.iter().map(|step| step["M"]["templateId"]["S"].as_str().unwrap().to_owned()).collect();
        let expected: Vec<String> = expected.into_iter().map(|(id, _)| id).collect();
        assert_eq!(sent, expected, "{overriding:?} {templates:?}");
    }
}

#[tokio::test]
async fn a_change_of_the_onboarding_applies_to_the_next_conversation() {
    let f = Conversations::start().await;
    let (one, two) = (f.world.template(|_| ()).await.id, f.world.template(|_| ()).await.id);
    f.world.onboarding(Override::Entire, &[one]).await;
    f.made(&with("+34600111222", json!({}))).await;
    // This process has the sequence in memory. The console of another process changes it.
    f.world.onboarding(Override::Entire, &[two]).await;
    f.made(&with("+34600111222", json!({}))).await;
    let steps: BTreeSet<String> = f
        .world
        .db
        .rows_of(Table::Messages, "plan")
        .iter()
        .map(|plan| plan["steps"]["L"][0]["M"]["templateId"]["S"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(steps, [one.to_string(), two.to_string()].into());
}

#[tokio::test]
async fn a_template_must_be_approved_for_the_account_behind_each_line() {
    let f = Conversations::start().await;
    let other = BusinessAccountId::parse("other").unwrap();
    f.world.line("line-b", |line| line.business_account = other.clone()).await;
    let narrow = f.world.template(|_| ()).await.id;
    let wide = f
        .world
        .template(|template| {
            template.states.extend([(other.clone(), template.states[&World::account()].clone())])
        })
        .await
        .id;
    let post = async |template: TemplateId, on_b: bool| {
        let mut second = phone("+34600111333");
        if on_b {
            second["providerChannelId"] = json!("line-b");
        }
        let externals = json!({"externals": [phone("+34600111222"), second]});
        let templates = [entry(template, json!({}))];
        f.post(&json!({"participants": externals, "onboardingTemplates": templates})).await
    };
    assert_eq!(post(narrow, false).await.status, 201);
    assert_eq!(post(wide, true).await.status, 201);
    let refused = post(narrow, true).await;
    assert_eq!((refused.status, &refused.json["code"]), (422, &json!("SERVICE_CONVERSATION_0602")));
    assert_eq!(
        refused.json["extra"],
        json!({"templateId": narrow.to_string(), "providerChannelId": "line-b", "status": null})
    );
}

#[tokio::test]
async fn two_concurrent_creates_for_two_forms_of_a_new_number_make_one_contact() {
    let f = Conversations::start().await;
    // The late request writes last, long after it read that no contact has the number.
    let hold = f.world.db.hold("TransactWriteItems");
    let in_form = |number| json!({"participants": {"externals": [phone(number), email("new@x.io")]}});
    let (body, in_other_form) = (in_form("+541112345678"), in_form("+5491112345678"));
    let late = f.made(&body);
    let early = async {
        let made = f.made(&in_other_form).await;
        drop(hold);
        made
    };
    // The futures are polled in this order, so the first transaction is the held one.
    let (late, early) = futures::future::join(late, early).await;
    assert_ne!(late["id"], early["id"]);
    let (late, early) = (f.stored(&late["id"]).await, f.stored(&early["id"]).await);
    let contacts = |of: &Conversation| -> Vec<_> { of.externals.iter().map(|one| one.contact).collect() };
    assert_eq!(contacts(&late), contacts(&early));
    assert_eq!(f.world.db.rows_of(Table::Contacts, "contact").len(), 2);
}

#[tokio::test]
async fn many_concurrent_creates_for_one_new_number_make_one_contact() {
    let f = Conversations::start().await;
    let body = json!({"participants": {"externals": [phone("+34600111222"), email("new@x.io")]}});
    let made = futures::future::join_all((0..16).map(|_| f.made(&body))).await;
    let ids: BTreeSet<String> = made.iter().map(|made| made["id"].to_string()).collect();
    assert_eq!(ids.len(), 16);
    assert_eq!(f.world.db.rows_of(Table::Contacts, "contact").len(), 2);
    assert_eq!(f.world.db.rows_of(Table::Conversations, "conversation").len(), 16);
}

#[tokio::test]
async fn a_warm_create_takes_at_most_three_round_trips() {
    let f = Conversations::start().await;
    let (one, two) = (f.world.user("1@x.io", |_| ()).await, f.world.user("2@x.io", |_| ()).await);
    let team = f.world.team(&[one.id, two.id]).await;
    let contact = f.world.contact(|_| ()).await;
    let mut ids = vec![];
    for _ in 0..3 {
        ids.push(f.world.template(|_| ()).await.id);
    }
    f.world.onboarding(Override::FirstOnly, &ids).await;
    let externals = json!({"externals": [phone("+34600111222"), email("n@x.io"), named(contact.id, "ID")]});
    let everything = json!({
        "participants": externals,
        "teamId": team.id.to_string(),
        "onboardingTemplates": [entry(ids[0], json!({}))],
    });
    f.world.db.clock().advance(std::time::Duration::from_secs(30));
    f.made(&everything).await;
    f.world.db.forget_calls();
    let event = f.posted(&everything).header("idempotency-key", "k");
    assert_eq!(f.send(event.clone()).await.status, 201);
    assert_eq!(
        f.world.db.sorted_operations(),
        [
            "BatchGetItem contacts+conversations+workspaces",
            "BatchGetItem workspaces",
            "TransactWriteItems conversations+messages",
            "UpdateItem limits",
            "UpdateItem workspaces",
        ]
    );
    assert_eq!(trips(&f.world.db.calls()), 3);

    f.world.db.forget_calls();
    let answer = f.send(event).await;
    assert_eq!(answer.headers["idempotent-replayed"], "true");
    assert_eq!(trips(&f.world.db.calls()), 1, "a replay");

    f.world.db.forget_calls();
    let internals = json!({"externals": [phone("+34600111222")], "internals": [named(one.id, "ID")]});
    f.made(&json!({"participants": internals})).await;
    assert_eq!(trips(&f.world.db.calls()), 2, "without a team");
}

#[tokio::test]
async fn templates_that_are_not_cached_cost_one_more_round_trip_the_first_time() {
    let f = Conversations::start().await;
    let template = f.world.template(|_| ()).await;
    f.world.onboarding(Override::Entire, &[template.id]).await;
    let cold = f.world.api(ApiFunction::Conversations);
    let event = || f.posted(&with("+34600111222", json!({})));
    for (trips_of, what) in [(4, "key, look-up, templates, write"), (2, "look-up, write")] {
        f.world.db.forget_calls();
        assert_eq!(f.send_to(&cold, event()).await.status, 201);
        assert_eq!(trips(&f.world.db.calls()), trips_of, "{what}");
    }
}

#[tokio::test]
async fn creating_a_conversation_needs_the_write_scope() {
    let f = Conversations::start().await;
    for (scope, status) in [("conversations:write", 201), ("conversations:read", 403)] {
        let key = f.world.key_with(f.world.workspace, &[scope], |_| ()).await;
        let event = f.posted(&with("+34600111222", json!({}))).header("x-api-key", &key);
        assert_eq!(f.send(event).await.status, status, "{scope}");
    }
}
