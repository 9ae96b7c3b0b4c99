use std::time::Duration;

use domain::{
    ContactId, Conversation, ConversationId, ConversationStatus, Email, External, Retention, UserId,
    UserStatus,
};
use edge::Api;
use harness::{Answer, TestClock, trips};
use runtime::Metrics;
use runtime::metrics::ApiFunction;
use serde_json::{Value, json};
use store::{ConversationQuery, Table};

use crate::{Conversations, email, named, phone, with};

fn externals(add: Value, remove: Value) -> Value {
    json!({"participants": {"externals": {"add": add, "remove": remove}}})
}

fn internals(add: Value, remove: Value) -> Value {
    json!({"participants": {"internals": {"add": add, "remove": remove}}})
}

fn shown<'a>(of: &'a Value, side: &str) -> Vec<&'a str> {
    let all = of["participants"][side].as_array().unwrap().iter();
    all.map(|one| one["identifier"].as_str().unwrap()).collect()
}

fn stream_records(f: &Conversations) -> usize {
    f.world.db.stream(Table::Conversations)["Records"].as_array().unwrap().len()
}

/// A PATCH that must be refused. Checks that every row is unchanged.
async fn refused(f: &Conversations, id: impl ToString, body: &Value) -> Answer {
    let before = f.world.db.everything();
    let answer = f.patch(id, body).await;
    assert_eq!(answer.status, 422, "{body}: {}", answer.text);
    assert_eq!(f.world.db.everything(), before, "{body}");
    answer
}

#[tokio::test]
async fn a_release_starts_the_retention_of_the_conversation_and_of_its_lane() {
    let mut f = Conversations::start().await;
    let day = Duration::from_secs(86_400);
    let retention = Retention { conversations: Some(7 * day), ..Retention::default() };
    f.api = Api::new(
        f.world.db.store_of("conversations").with_retention(retention),
        Metrics::kept(f.world.db.clock().clone()).0,
        ApiFunction::Conversations,
    );
    let made = f.made(&with("+34600111222", json!({}))).await;
    let expiries = |f: &Conversations| -> Vec<Value> {
        let rows = f.world.db.rows_of(Table::Conversations, "conversation");
        let rows = rows.into_iter().chain(f.world.db.rows_of(Table::Conversations, "listedConversation"));
        rows.chain(f.world.db.rows_of(Table::Messages, "lane")).map(|row| row["expiresAt"].clone()).collect()
    };
    f.world.db.forget_calls();
    let answer = f.patch(made["id"].as_str().unwrap(), &json!({"status": "RELEASED"})).await;
    assert_eq!((answer.status, trips(&f.world.db.calls())), (200, 2));
    let released = f.stored(&made["id"]).await;
    let ttl = json!({"N": released.updated_at.plus(7 * day).as_seconds().to_string()});
    assert_eq!(expiries(&f), vec![ttl; 4]);
    f.patch(made["id"].as_str().unwrap(), &json!({"name": "Order 8"})).await;
    assert_eq!(f.stored(&made["id"]).await.expires_at, released.expires_at, "it counts from the release");
    f.patch(made["id"].as_str().unwrap(), &json!({"status": "ACTIVE"})).await;
    assert_eq!(expiries(&f), vec![Value::Null; 4]);

    f.patch(made["id"].as_str().unwrap(), &json!({"status": "RELEASED"})).await;
    f.world.db.clock().advance(8 * day);
    assert_eq!(f.get(made["id"].as_str().unwrap()).await.status, 404, "DynamoDB deletes it late");
    assert_eq!(f.patch(made["id"].as_str().unwrap(), &json!({"status": "ACTIVE"})).await.status, 404);
}

#[tokio::test]
async fn an_update_changes_the_sent_fields_and_returns_the_conversation() {
    let f = Conversations::start().await;
    let agent = f.world.user("Agent@example.com", |_| ()).await;
    let made = f.made(&with("+34600111222", json!({"name": "Order 7"}))).await;
    let id = made["id"].as_str().unwrap();
    f.world.db.clock().advance(Duration::from_secs(60));
    let answer = f
        .patch(
            id,
            &json!({
                "name": "Order 8",
                "status": "NOT_ASSIGNED_TO_HUMAN",
                "participants": {
                    "externals": {"add": [email("Ann@X.io")]},
                    "internals": {"add": [named(agent.id.to_string().to_uppercase(), "ID")]},
                },
                "somethingNew": {"ignored": true},
            }),
        )
        .await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    let participant = |identifier: &str, identifier_type: &str, role: &str, joined: &str| {
        json!({
            "identifier": identifier,
            "identifierType": identifier_type,
            "role": role,
            "joinedAt": joined,
            "lastSeenAt": null,
        })
    };
    let (then, now) = ("2026-01-02T03:04:05.678Z", "2026-01-02T03:05:05.678Z");
    assert_eq!(
        answer.json,
        json!({
            "id": id,
            "workspaceId": f.world.workspace.to_string(),
            "participants": {
                "externals": [
                    participant("+34600111222", "PHONE", "EXTERNAL", then),
                    participant("ann@x.io", "EMAIL", "EXTERNAL", now),
                ],
                "internals": [participant(&agent.id.to_string(), "ID", "INTERNAL", now)],
            },
            "createdAt": then,
            "updatedAt": now,
            "name": "Order 8",
            "status": "NOT_ASSIGNED_TO_HUMAN",
        })
    );
    let read = f.get(id).await;
    assert_eq!((&read.text, &read.headers["etag"]), (&answer.text, &answer.headers["etag"]));
    let cleared = f.patch(id, &json!({"name": null})).await;
    assert_eq!((cleared.status, &cleared.json["name"]), (200, &Value::Null));
    assert_eq!(cleared.json["status"], "NOT_ASSIGNED_TO_HUMAN", "an absent field stays unchanged");
}

#[tokio::test]
async fn the_event_file_is_a_request_that_succeeds_as_it_is() {
    let f = Conversations::start().await;
    f.world.user("agent@example.com", |_| ()).await;
    let event = harness::fixture("conversations-update.json");
    let id = ConversationId::parse(event["pathParameters"]["conversationId"].as_str().unwrap()).unwrap();
    f.world.conversation(|blank| blank.id = id).await;
    let body: Value = serde_json::from_str(event["body"].as_str().unwrap()).unwrap();
    let answer = f.send(f.world.event("conversations-update.json")).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    assert_eq!((&answer.json["name"], &answer.json["status"]), (&body["name"], &body["status"]));
    assert_eq!(shown(&answer.json, "externals")[1], "ada@example.com");
}

#[tokio::test]
async fn any_status_may_follow_any_other() {
    let f = Conversations::start().await;
    let conversation = f.world.conversation(|_| ()).await;
    let all = ["ACTIVE", "GHOST", "RELEASED", "NOT_ASSIGNED_TO_HUMAN", "BLOCKED"];
    for from in all {
        for to in all {
            f.patch(conversation.id, &json!({"status": from})).await;
            let answer = f.patch(conversation.id, &json!({"status": to})).await;
            assert_eq!((answer.status, answer.json["status"].as_str()), (200, Some(to)));
        }
    }
}

#[tokio::test]
async fn participants_are_added_and_removed_under_any_identifier() {
    let f = Conversations::start().await;
    let agent = f.world.user("agent@example.com", |_| ()).await;
    let team = f.world.team(&[agent.id]).await;
    let ann = f.world.contact(|blank| blank.email = Email::parse("Ann@x.io").ok()).await;
    let made = f.made(&with("+34600111222", json!({"teamId": team.id.to_string()}))).await;
    let id = made["id"].as_str().unwrap();
    let first = f.stored(&made["id"]).await.externals[0].contact;
    assert_eq!(shown(&made, "internals"), ["agent@example.com"]);
    let rows = [
        (
            externals(json!([email("ANN@x.io"), named(ann.id, "ID")]), json!([])),
            vec!["+34600111222", "ann@x.io"],
        ),
        (externals(json!([]), json!([named(first, "ID")])), vec!["ann@x.io"]),
        (externals(json!([phone("+34600111222")]), json!([email("aNN@X.io")])), vec!["+34600111222"]),
        // A user assigned by turn is shown by e-mail and can be removed by id.
        (internals(json!([]), json!([named(agent.id, "ID")])), vec!["+34600111222"]),
    ];
    for (update, expected) in rows {
        let answer = f.patch(id, &update).await;
        assert_eq!((answer.status, shown(&answer.json, "externals")), (200, expected), "{update}");
    }
    assert_eq!(f.stored(&made["id"]).await.internals, []);
    assert_eq!(f.stored(&made["id"]).await.externals[0].contact, first, "the same contact again");
}

#[tokio::test]
async fn an_update_that_changes_nothing_gets_200_and_writes_nothing() {
    let f = Conversations::start().await;
    let agent = f.world.user("agent@example.com", |_| ()).await;
    let disabled = f.world.user("off@example.com", |_| ()).await;
    let participants = json!({
        "externals": [phone("+34600111222")],
        "internals": [email("agent@example.com"), email("off@example.com")],
    });
    let made = f.made(&json!({"participants": participants, "name": "Order 7"})).await;
    let id = made["id"].as_str().unwrap();
    let gone = disabled.disabled(f.world.db.store().now()).unwrap();
    assert!(f.world.db.store().replace_user(&gone, &["status"], harness::operator()).await.unwrap());
    let contact = f.stored(&made["id"]).await.externals[0].contact;
    let ids = f.world.db.store().ids();
    let (nobody, no_user) = (ContactId::generate(ids), UserId::generate(ids));
    let mut elsewhere = named(contact, "ID");
    elsewhere["providerChannelId"] = json!("a line that no longer exists");
    let updates = [
        json!({}),
        json!({"participants": {}}),
        json!({"participants": {"externals": {}, "internals": {}}}),
        json!({"name": "Order 7", "status": "ACTIVE"}),
        externals(json!([]), json!([])),
        externals(json!([phone("+34600111222"), elsewhere]), json!([])),
        externals(json!([]), json!([named(nobody, "ID"), email("nobody@x.io"), phone("+34600111333")])),
        internals(json!([named(agent.id, "ID"), email("off@example.com")]), json!([])),
        internals(json!([]), json!([named(no_user, "ID"), email("nobody@x.io")])),
        externals(json!([phone("+34600111222")]), json!([named(contact, "ID")])),
    ];
    f.world.db.clock().advance(Duration::from_secs(60));
    let (before, records) = (f.world.db.everything(), stream_records(&f));
    for update in updates {
        let answer = f.patch(id, &update).await;
        assert_eq!((answer.status, &answer.json), (200, &made), "{update}");
    }
    assert_eq!((f.world.db.everything(), stream_records(&f)), (before, records));
}

#[tokio::test]
async fn a_repeated_update_changes_nothing() {
    let f = Conversations::start().await;
    let agent = f.world.user("agent@example.com", |_| ()).await;
    let made = f.made(&with("+34600111222", json!({}))).await;
    let update = json!({
        "name": "Order 8",
        "status": "RELEASED",
        "participants": {
            "externals": {"add": [email("new@x.io")], "remove": [phone("+34600111222")]},
            "internals": {"add": [named(agent.id, "ID")], "remove": [email("nobody@x.io")]},
        },
    });
    let first = f.patch(made["id"].as_str().unwrap(), &update).await;
    assert_eq!(shown(&first.json, "externals"), ["new@x.io"]);
    f.world.db.clock().advance(Duration::from_secs(60));
    let before = f.world.db.everything();
    let again = f.patch(made["id"].as_str().unwrap(), &update).await;
    assert_eq!((again.status, &again.text), (200, &first.text));
    assert_eq!(f.world.db.everything(), before);
}

#[tokio::test]
async fn at_least_one_external_participant_must_remain() {
    let f = Conversations::start().await;
    let made = f.made(&with("+34600111222", json!({}))).await;
    let id = made["id"].as_str().unwrap();
    let answer = refused(&f, id, &externals(json!([]), json!([phone("+34600111222")]))).await;
    assert_eq!(
        answer.json,
        json!({
            "title": "No External Participant Left",
            "status": 422,
            "code": "SERVICE_CONVERSATION_0609",
        })
    );
    let swap = externals(json!([phone("+34600111333")]), json!([phone("+34600111222")]));
    assert_eq!(shown(&f.patch(id, &swap).await.json, "externals"), ["+34600111333"]);
}

#[tokio::test]
async fn at_most_10_externals_and_20_internals_after_it() {
    let f = Conversations::start().await;
    let made = f.made(&with("+34600111200", json!({}))).await;
    let id = made["id"].as_str().unwrap();
    let numbers = |from: usize, to: usize| -> Value {
        (from..to).map(|n| phone(&format!("+346001112{n:02}"))).collect()
    };
    let mut users = vec![];
    for n in 0..21 {
        users.push(named(f.world.user(&format!("u{n}@x.io"), |_| ()).await.id, "ID"));
    }
    let too_many = |side: &str, max: usize| {
        json!([{
            "loc": ["body", "participants", side, "add"],
            "msg": format!("The array should leave at most {max} participants"),
            "type": "too_long",
            "input": null,
            "ctx": {"max_length": max},
        }])
    };
    let answer = refused(&f, id, &externals(numbers(1, 11), json!([]))).await;
    assert_eq!(answer.json["code"], "SERVICE_CORE_0422");
    assert_eq!(answer.json["detail"], too_many("externals", 10));
    assert_eq!(f.patch(id, &externals(numbers(1, 10), json!([]))).await.status, 200);
    refused(&f, id, &externals(numbers(10, 11), json!([]))).await;
    assert_eq!(f.patch(id, &externals(numbers(9, 11), numbers(0, 1))).await.status, 200);

    assert_eq!(f.patch(id, &internals(json!(users[..20]), json!([]))).await.status, 200);
    let answer = refused(&f, id, &internals(json!(users[20..]), json!([]))).await;
    assert_eq!(answer.json["detail"], too_many("internals", 20));
    assert_eq!(f.patch(id, &internals(json!(users[20..]), json!(users[..1]))).await.status, 200);
}

#[tokio::test]
async fn more_new_people_than_one_transaction_can_create_are_refused() {
    let f = Conversations::start().await;
    let mut users = vec![];
    for n in 0..40 {
        users.push(named(f.world.user(&format!("u{n}@x.io"), |_| ()).await.id, "ID"));
    }
    let numbers: Vec<Value> = (0..10).map(|n| phone(&format!("+3460011120{n}"))).collect();
    let made = f.made(&json!({"participants": {"externals": numbers, "internals": users[..20]}})).await;
    let id = made["id"].as_str().unwrap();
    let addresses: Vec<Value> = (0..10).map(|n| email(&format!("a.b{n}.c.d@x{n}.io"))).collect();
    let swap = |add: &[Value]| {
        json!({"participants": {
            "externals": {"add": add, "remove": numbers},
            "internals": {"add": users[20..], "remove": users[..20]},
        }})
    };
    let answer = refused(&f, id, &swap(&addresses)).await;
    assert_eq!(
        answer.json["detail"],
        json!([{
            "loc": ["body", "participants", "externals", "add"],
            "msg": "The array should name at most 4 participants who are not contacts yet",
            "type": "too_long",
            "input": null,
            "ctx": {"max_length": 4},
        }])
    );
    let answer = f.patch(id, &swap(&addresses[..4])).await;
    assert_eq!((answer.status, shown(&answer.json, "externals").len()), (200, 4), "{}", answer.text);
}

#[tokio::test]
async fn participants_who_cannot_join_are_refused() {
    let f = Conversations::start().await;
    let (other, _) = f.world.second_workspace().await;
    let foreign = f.world.contact_of(other, |_| ()).await.id;
    let disabled = f.world.user("off@example.com", |user| user.status = UserStatus::Disabled).await.id;
    let made = f.made(&with("+34600111222", json!({}))).await;
    let id = made["id"].as_str().unwrap();
    let mut nowhere = email("new@x.io");
    nowhere["brandId"] = json!("nobody");
    let rows = [
        (externals(json!([named(foreign, "ID")]), json!([])), "0606", named(foreign, "ID")),
        (internals(json!([named(disabled, "ID")]), json!([])), "0606", named(disabled, "ID")),
        (internals(json!([email("Nobody@X.io")]), json!([])), "0606", email("nobody@x.io")),
        (
            externals(json!([nowhere]), json!([])),
            "0605",
            json!({"providerChannelId": null, "brandId": "nobody"}),
        ),
    ];
    for (update, code, extra) in rows {
        let answer = refused(&f, id, &update).await;
        assert_eq!(answer.json["code"], format!("SERVICE_CONVERSATION_{code}"), "{update}");
        assert_eq!(answer.json["extra"], extra, "{update}");
    }
}

#[tokio::test]
async fn all_failures_of_a_request_are_reported_together() {
    let f = Conversations::start().await;
    let before = f.world.db.everything();
    let event = f.patched(
        "nope",
        &json!({
            "name": "",
            "status": null,
            "participants": {
                "externals": {"add": [{"identifierType": "ID"}, email("x")], "remove": {}},
                "internals": {"add": null, "remove": [phone("+34600111222"), 7]},
            },
        }),
    );
    let answer = f.send(event.query(&[("notify", "no")])).await;
    let expected = [
        ("query.notify", "extra_forbidden"),
        ("path.conversationId", "uuid_parsing"),
        ("body.name", "string_too_short"),
        ("body.status", "string_type"),
        ("body.participants.externals.add.0.identifier", "missing"),
        ("body.participants.externals.add.1.identifier", "string_pattern_mismatch"),
        ("body.participants.externals.remove", "list_type"),
        ("body.participants.internals.add", "list_type"),
        ("body.participants.internals.remove.0.identifierType", "enum"),
        ("body.participants.internals.remove.1", "dict_type"),
    ];
    assert_eq!(answer.status, 422);
    assert_eq!(answer.failures(), expected.map(|(at, kind)| (at.to_owned(), kind.to_owned())));
    assert_eq!(f.world.db.everything(), before);
}

#[tokio::test]
async fn each_validation_failure_alone() {
    let f = Conversations::start().await;
    let conversation = f.world.conversation(|_| ()).await;
    let people = |people: Value| json!({"participants": people});
    let rows = [
        (json!([]), "body", "dict_type"),
        (json!(null), "body", "dict_type"),
        (json!({"name": "é".repeat(257)}), "body.name", "string_too_long"),
        (json!({"name": "\t"}), "body.name", "value_error"),
        (json!({"status": "closed"}), "body.status", "enum"),
        (people(json!(null)), "body.participants", "dict_type"),
        (people(json!([])), "body.participants", "dict_type"),
        (people(json!({"externals": null})), "body.participants.externals", "dict_type"),
        (people(json!({"externals": []})), "body.participants.externals", "dict_type"),
        (people(json!({"internals": null})), "body.participants.internals", "dict_type"),
        (externals(json!(null), json!([])), "body.participants.externals.add", "list_type"),
        (
            externals(json!(vec![phone("+34600111222"); 11]), json!([])),
            "body.participants.externals.add",
            "too_long",
        ),
        (
            externals(json!([]), json!(vec![phone("+34600111222"); 11])),
            "body.participants.externals.remove",
            "too_long",
        ),
        (
            internals(json!([]), json!(vec![email("a@x.io"); 21])),
            "body.participants.internals.remove",
            "too_long",
        ),
    ];
    for (body, loc, kind) in rows {
        let answer = refused(&f, conversation.id, &body).await;
        assert_eq!(answer.failures(), [(loc.to_owned(), kind.to_owned())], "{body}");
    }
}

#[tokio::test]
async fn a_stale_if_match_is_refused_and_a_current_one_is_not() {
    let f = Conversations::start().await;
    let conversation = f.world.conversation(|_| ()).await;
    let tag = f.get(conversation.id).await.headers["etag"].clone();
    let patch = |name: &str, tag: &str| {
        f.send(f.patched(conversation.id, &json!({"name": name})).header("if-match", tag))
    };
    let changed = patch("Order 7", &tag).await;
    assert_eq!((changed.status, changed.headers["etag"] != tag), (200, true));
    let before = f.world.db.everything();
    // This also holds if the update would change nothing or would be refused.
    for name in ["Order 8", "Order 7"] {
        let answer = patch(name, &tag).await;
        assert_eq!((answer.status, answer.json["code"].as_str()), (412, Some("SERVICE_CORE_0412")));
    }
    let all = externals(json!([]), json!([named(conversation.externals[0].contact, "ID")]));
    let answer = f.send(f.patched(conversation.id, &all).header("if-match", &tag)).await;
    assert_eq!(answer.status, 412);
    assert_eq!(f.world.db.everything(), before);
    assert_eq!(patch("Order 8", &changed.headers["etag"]).await.status, 200);
    assert_eq!(patch("Order 9", "*").await.status, 200);
}

#[tokio::test]
async fn one_of_two_updates_with_the_same_if_match_is_refused() {
    let f = Conversations::start().await;
    let conversation = f.world.conversation(|_| ()).await;
    let tag = f.get(conversation.id).await.headers["etag"].clone();
    let patches = ["a", "b", "c", "d"]
        .map(|name| f.send(f.patched(conversation.id, &json!({"name": name})).header("if-match", &tag)));
    assert_eq!(Answer::statuses(&futures::future::join_all(patches).await), [200, 412, 412, 412]);
}

#[tokio::test]
async fn a_foreign_conversation_and_an_unknown_one_get_the_same_answer_byte_for_byte() {
    let f = Conversations::start().await;
    let (other, _) = f.world.second_workspace().await;
    let foreign = f.world.conversation_of(other, |_| ()).await;
    let before = f.world.db.everything();
    let patch = |id: ConversationId, body: Value| {
        // Each answer says that the same number of requests is left.
        f.world.db.clock().advance(Duration::from_secs(1));
        f.send(f.patched(id, &body).request_id("r"))
    };
    let unknown = ConversationId::generate(f.world.db.store().ids());
    for body in [json!({"name": "X"}), json!({}), externals(json!([email("new@x.io")]), json!([]))] {
        let answer = patch(unknown, body.clone()).await;
        assert_eq!((answer.status, answer.json["code"].as_str()), (404, Some("SERVICE_CONVERSATION_0404")));
        assert_eq!(patch(foreign.id, body).await, answer);
    }
    assert_eq!(f.world.db.everything(), before);
}

#[tokio::test]
async fn writing_needs_the_write_scope() {
    let f = Conversations::start().await;
    let conversation = f.world.conversation(|_| ()).await;
    for (scope, status) in [("conversations:write", 200), ("conversations:read", 403)] {
        let key = f.world.key_with(f.world.workspace, &[scope], |_| ()).await;
        let event = f.patched(conversation.id, &json!({"name": "X"})).header("x-api-key", &key);
        assert_eq!(f.send(event).await.status, status, "{scope}");
    }
}

async fn listed(
    f: &Conversations,
    status: Option<ConversationStatus>,
    external: Option<&External>,
) -> Vec<Conversation> {
    let external = external.map(|external| external.shown.clone());
    let wanted = ConversationQuery { status, external, internal: None, page_size: 20, after: None };
    f.world.db.store().conversations_page(f.world.workspace, wanted).await.unwrap().items
}

#[tokio::test]
async fn the_change_is_in_every_matching_list_and_in_no_other() {
    let f = Conversations::start().await;
    let made = f.made(&with("+34600111222", json!({}))).await;
    let before = f.stored(&made["id"]).await;
    let swap = externals(json!([email("new@x.io")]), json!([phone("+34600111222")]));
    f.patch(before.id, &swap).await;
    f.patch(before.id, &json!({"status": "RELEASED"})).await;
    let after = f.stored(&made["id"]).await;
    let alone = std::slice::from_ref(&after);
    assert_eq!(listed(&f, None, None).await, alone);
    assert_eq!(listed(&f, None, Some(&after.externals[0])).await, alone);
    assert_eq!(listed(&f, None, Some(&before.externals[0])).await, []);
    assert_eq!(listed(&f, Some(ConversationStatus::Active), None).await, []);
    assert_eq!(listed(&f, Some(ConversationStatus::Released), None).await, alone);
}

#[tokio::test]
async fn a_warm_update_takes_two_round_trips_even_with_lookups_of_people() {
    let f = Conversations::start().await;
    let agent = f.world.user("agent@example.com", |_| ()).await;
    let made = f.made(&with("+34600111222", json!({}))).await;
    let id = made["id"].as_str().unwrap();
    f.world.db.forget_calls();
    assert_eq!(f.patch(id, &json!({"name": "Order 8"})).await.status, 200);
    let expected = ["Query conversations", "TransactWriteItems conversations", "UpdateItem limits"];
    assert_eq!(f.world.db.sorted_operations(), expected);
    assert_eq!(trips(&f.world.db.calls()), 2);
    let update = json!({"participants": {
        "externals": {"add": [email("new@x.io"), phone("+34600111333")], "remove": [phone("+34600111222")]},
        "internals": {"add": [email("agent@example.com")], "remove": [named(agent.id, "ID")]},
    }});
    f.world.db.forget_calls();
    assert_eq!(f.patch(id, &update).await.status, 200);
    assert_eq!(trips(&f.world.db.calls()), 2);
    f.world.db.forget_calls();
    assert_eq!(f.patch(id, &update).await.status, 200);
    assert_eq!(trips(&f.world.db.calls()), 1, "nothing to write");
}

#[tokio::test]
async fn a_replayed_event_with_the_same_request_id_does_not_allow_a_stale_write() {
    let f = Conversations::start().await;
    let conversation = f.world.conversation(|_| ()).await;
    let patch = |body: Value| f.send(f.patched(conversation.id, &body).request_id("the same"));
    let (one, other) =
        futures::future::join(patch(json!({"status": "RELEASED"})), patch(json!({"name": "Order 7"}))).await;
    assert_eq!((one.status, other.status), (200, 200));
    let merged = f.get(conversation.id).await.json;
    assert_eq!((&merged["status"], &merged["name"]), (&json!("RELEASED"), &json!("Order 7")));
}

#[tokio::test]
async fn concurrent_updates_of_one_conversation_lose_nothing() {
    let f = Conversations::start().await;
    let made = f.made(&with("+34600111200", json!({}))).await;
    let id = made["id"].as_str().unwrap();
    let updates: Vec<Value> =
        (1..10).map(|n| externals(json!([phone(&format!("+3460011120{n}"))]), json!([]))).collect();
    for answer in futures::future::join_all(updates.iter().map(|update| f.patch(id, update))).await {
        assert_eq!(answer.status, 200, "{}", answer.text);
    }
    let merged = f.stored(&made["id"]).await;
    assert_eq!((merged.externals.len(), merged.version), (10, 10));
}

#[tokio::test]
async fn a_customer_who_was_seen_makes_no_if_match_fail_and_the_answer_says_when() {
    let f = Conversations::start().await;
    let conversation = f.world.conversation(|_| ()).await;
    let (id, contact) = (conversation.id.to_string(), conversation.externals[0].contact);
    let tag = f.get(&id).await.headers["etag"].clone();
    let at = TestClock::START.plus(Duration::from_secs(60));
    f.world.db.store().saw(f.world.workspace, conversation.id, contact, at).await.unwrap();
    let patch = |tag: String, name: &str| {
        let event = f.world.event("conversations-update.json").path("conversationId", &id);
        f.send(event.header("if-match", &tag).body(&json!({ "name": name })))
    };
    let changed = patch(tag.clone(), "Order 8").await;
    assert_eq!(changed.status, 200, "{}", changed.text);
    let seen = &changed.json["participants"]["externals"][0]["lastSeenAt"];
    assert_eq!(seen, "2026-01-02T03:05:05.678Z");
    assert_eq!(patch(tag, "Order 9").await.status, 412, "the name is a change");
    let unchanged = patch(changed.headers["etag"].clone(), "Order 8").await;
    assert_eq!((unchanged.status, &unchanged.text), (200, &changed.text));
    let stored = f.stored(&json!(id)).await;
    assert_eq!(stored.externals[0].last_seen_at, None, "the conversation's own row stays without it");
}
