//! Generated webhooks, valid and mutated: none of them stops the function, and none of them reaches the rows of a
//! workspace that does not have the line.
//!
//! `SOAK_WEBHOOKS` sets the number of webhooks (`make soak`: 100,000).

use std::env;

use domain::{Cellphone, MessageId, WorkspaceId};
use harness::World;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use provider::webhook::{Division, Piece, Subject, divide, read};
use queue::Inbound;
use serde_json::{Value, json};
use store::Table;

use crate::{LINE, Site};

/// The webhooks that are divided and read, and those that are also processed, unless `SOAK_WEBHOOKS` says another number.
const READ: usize = 20_000;
const PROCESSED: usize = 1_000;

fn webhooks(usual: usize) -> usize {
    env::var("SOAK_WEBHOOKS").ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}

/// What a webhook can name. The generator takes all ids from here, so that many webhooks hit rows that exist.
#[derive(Clone, Debug)]
struct Names {
    line: String,
    people: Vec<String>,
    user_ids: Vec<String>,
    messages: Vec<String>,
    parts: Vec<String>,
}

fn some_of(list: &[String]) -> BoxedStrategy<Value> {
    prop::sample::select(list.to_vec()).prop_map(|text| json!(text)).boxed()
}

fn content() -> BoxedStrategy<Value> {
    let text = prop_oneof![Just("STOP".to_owned()), Just("baja".to_owned()), ".{1,40}".prop_map(|text| text)];
    let file = json!({ "id": "77", "mime_type": "image/jpeg", "sha256": "x", "caption": "c" });
    prop_oneof![
        text.prop_map(|body| json!({ "type": "text", "text": { "body": body } })),
        Just(json!({ "type": "image", "image": file })),
        Just(json!({ "type": "location", "location": { "latitude": 40.5, "longitude": -3 } })),
        Just(json!({ "type": "contacts", "contacts": [{ "name": { "formatted_name": "Eva" } }] })),
        Just(json!({ "type": "button", "button": { "text": "Yes", "payload": "p" } })),
        Just(json!({ "type": "interactive", "interactive": { "type": "list_reply", "list_reply": { "id": "1", "title": "One" } } })),
        Just(json!({ "type": "order", "order": {} })),
    ]
    .boxed()
}

fn message(names: &Names) -> BoxedStrategy<Value> {
    let (people, users, ids) = (some_of(&names.people), some_of(&names.user_ids), some_of(&names.messages));
    let special = {
        let (ids, people, users) = (ids.clone(), people.clone(), users.clone());
        prop_oneof![
            ids.prop_map(|to| json!({ "type": "reaction", "reaction": { "message_id": to, "emoji": "👍" } })),
            (people, users).prop_map(|(number, user)| json!({
                "type": "system",
                "system": { "type": "user_changed_number", "wa_id": number, "user_id": user },
            })),
        ]
    };
    let what = prop_oneof![6 => content(), 1 => special.boxed()];
    (
        people,
        prop::option::of(users),
        0_u32..500,
        prop::option::of(ids),
        1_700_000_000_u64..1_800_000_000,
        what,
    )
        .prop_map(|(from, user, id, context, at, mut message)| {
            message["from"] = from;
            message["id"] = json!(format!("wamid.in{id}"));
            message["timestamp"] = json!(at.to_string());
            if let Some(user) = user {
                message["from_user_id"] = user;
            }
            if let Some(context) = context {
                message["context"] = json!({ "id": context });
            }
            message
        })
        .boxed()
}

fn status(names: &Names) -> BoxedStrategy<Value> {
    let words = prop::sample::select(vec!["sent", "delivered", "read", "failed", "played", "deleted"]);
    let part = prop::option::of(some_of(&names.parts));
    (some_of(&names.messages), some_of(&names.people), words, part, 1_700_000_000_u64..1_800_000_000)
        .prop_map(|(id, to, word, part, at)| {
            json!({
                "id": id, "status": word, "timestamp": at.to_string(), "recipient_id": to,
                "biz_opaque_callback_data": part, "errors": [{ "code": 131_026 }],
            })
        })
        .boxed()
}

fn webhook(names: &Names) -> BoxedStrategy<Value> {
    let line = names.line.clone();
    let preference = (some_of(&names.people), prop::sample::select(vec!["stop", "resume"]))
        .prop_map(|(person, value)| json!({ "wa_id": person, "value": value, "timestamp": 1_792_487_728 }));
    let change = prop_oneof![
        4 => prop::collection::vec(message(names), 1..4).prop_map(|all| ("messages", "messages", all)),
        4 => prop::collection::vec(status(names), 1..4).prop_map(|all| ("messages", "statuses", all)),
        1 => prop::collection::vec(preference, 1..3).prop_map(|all| ("user_preferences", "user_preferences", all)),
    ]
    .prop_map(move |(field, list, items)| {
        json!({ "field": field, "value": { "metadata": { "phone_number_id": line }, list: items } })
    });
    let template = prop::sample::select(vec!["APPROVED", "REJECTED", "PAUSED", "DISABLED", "FLAGGED"])
        .prop_map(|event| {
            let value = json!({
                "event": event, "message_template_name": "welcome", "message_template_language": "es",
            });
            json!({ "field": "message_template_status_update", "value": value })
        });
    prop::collection::vec(prop_oneof![9 => change, 1 => template], 1..3)
        .prop_map(|changes| {
            json!({
                "object": "whatsapp_business_account",
                "entry": [{ "id": "2099000001", "time": 1_792_487_728, "changes": changes }],
            })
        })
        .boxed()
}

/// A change of one value, at any depth: the value is removed, or replaced by one of another kind.
#[derive(Clone, Debug)]
struct Mutation {
    at: prop::sample::Index,
    by: Option<Value>,
}

fn mutation() -> impl Strategy<Value = Mutation> {
    let leaf = prop_oneof![
        Just(json!(null)),
        Just(json!(true)),
        any::<i64>().prop_map(|number| json!(number)),
        any::<f64>().prop_map(|number| json!(number)),
        ".{0,6}".prop_map(|text| json!(text)),
        Just(json!("x".repeat(70_000))),
        Just(json!("\u{0}")),
        Just(json!([])),
        Just(json!({})),
        Just(json!([[[{}]]])),
    ];
    (any::<prop::sample::Index>(), prop::option::of(leaf)).prop_map(|(at, by)| Mutation { at, by })
}

impl Mutation {
    /// The webhook with the change. The line and the object stay: other values of them are dropped before any row is
    /// looked at.
    fn apply(&self, webhook: &mut Value) {
        let mut paths = vec![];
        collect(webhook, String::new(), &mut paths);
        paths.retain(|path| !path.is_empty() && path != "/object" && !path.ends_with("/phone_number_id"));
        if paths.is_empty() {
            return;
        }
        let path = &paths[self.at.index(paths.len())];
        match &self.by {
            Some(value) => *webhook.pointer_mut(path).unwrap() = value.clone(),
            None => {
                let (parent, name) = path.rsplit_once('/').unwrap();
                match webhook.pointer_mut(parent).unwrap() {
                    Value::Object(members) => drop(members.remove(name)),
                    Value::Array(items) => drop(items.remove(name.parse().unwrap())),
                    _ => {}
                }
            }
        }
    }
}

fn collect(value: &Value, path: String, paths: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            members.iter().for_each(|(name, inner)| collect(inner, format!("{path}/{name}"), paths));
        }
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(at, inner)| collect(inner, format!("{path}/{at}"), paths));
        }
        _ => {}
    }
    paths.push(path);
}

fn body(names: &Names) -> impl Strategy<Value = Vec<u8>> {
    let mutations = prop::collection::vec(mutation(), 0..4);
    let cut = prop::option::weighted(0.05, any::<prop::sample::Index>());
    (webhook(names), mutations, cut).prop_map(|(mut webhook, mutations, cut)| {
        mutations.iter().for_each(|mutation| mutation.apply(&mut webhook));
        let mut bytes = webhook.to_string().into_bytes();
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        bytes
    })
}

/// The ids of this workspace's rows, as a webhook would name them.
struct Theirs {
    workspace: WorkspaceId,
    part: String,
}

impl Site {
    /// Another workspace with a line, a customer, and a sent message.
    async fn theirs(&self) -> Theirs {
        let workspace = self.other_workspace("2045551234567").await;
        let number = Cellphone::parse("+34600111222").ok();
        let contact = self.world.contact_of(workspace, |contact| contact.cellphone = number).await;
        let conversation = self
            .world
            .conversation_of(workspace, |conversation| {
                conversation.externals = vec![World::external(contact.id, "2045551234567")];
            })
            .await;
        let message = MessageId::generate(&**self.world.db.ids());
        Theirs { workspace, part: format!("{}.{message}.0", conversation.id) }
    }

    /// All rows of a workspace, and all rows of the platform.
    fn rows_of(&self, workspace: WorkspaceId) -> Vec<Value> {
        let (own, platform) = (workspace.to_string(), WorkspaceId::from_uuid(uuid::Uuid::nil()).to_string());
        let is_theirs = |row: &Value| {
            let pk = row["pk"]["S"].as_str().unwrap_or_default();
            pk.starts_with(&own) || pk.starts_with(&platform)
        };
        Table::ALL.iter().flat_map(|table| self.world.db.rows(*table)).filter(is_theirs).collect()
    }
}

fn inbound(site: &Site, Piece { account, field, value, ranks }: Piece) -> Inbound {
    Inbound { account, field, value, ranks, ..site.change("", "", Value::Null) }
}

#[test]
fn webhooks_are_divided_and_read_without_a_panic() {
    let webhooks = webhooks(READ);
    let names = Names {
        line: LINE.to_owned(),
        people: vec!["34600111222".to_owned()],
        user_ids: vec!["ES.7".to_owned()],
        messages: vec!["wamid.1".to_owned()],
        parts: vec!["x".to_owned()],
    };
    let (mut runner, bodies) = (TestRunner::deterministic(), body(&names));
    let (mut items, mut kept) = (0, 0);
    for _ in 0..webhooks {
        let bytes = bodies.new_tree(&mut runner).unwrap().current();
        let Ok(Division { pieces, odd }) = divide(&bytes) else { continue };
        kept += odd.len();
        for piece in pieces {
            if let Subject::Line(_, read) = read(&piece) {
                items += read.len();
            }
        }
    }
    assert!(items > webhooks && kept > webhooks / 100, "{items} items, {kept} kept");
}

#[tokio::test]
async fn no_webhook_stops_the_function_or_reaches_a_workspace_without_the_line() {
    let site = Site::start().await;
    let theirs = site.theirs().await;
    let before = site.rows_of(theirs.workspace);
    assert!(before.len() > 10, "{before:?}");
    let texts = |all: &[&str]| all.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
    let names = Names {
        line: LINE.to_owned(),
        people: texts(&["34600111222", "34600333444", "12025550101", "1"]),
        user_ids: texts(&["ES.7", "ES.8", "US.1"]),
        messages: (0..40).map(|n| format!("wamid.in{n}")).collect(),
        parts: vec![theirs.part.clone(), "x".to_owned()],
    };
    let webhooks = webhooks(PROCESSED);
    let (mut runner, bodies) = (TestRunner::deterministic(), body(&names));
    for number in 0..webhooks {
        let bytes = bodies.new_tree(&mut runner).unwrap().current();
        let pieces = divide(&bytes).map(|division| division.pieces).unwrap_or_default();
        let pieces: Vec<Inbound> = pieces.into_iter().map(|piece| inbound(&site, piece)).collect();
        for piece in &pieces {
            let failed = site.process(std::slice::from_ref(piece)).await;
            assert_eq!(failed, Vec::<String>::new(), "webhook {number}: {}", String::from_utf8_lossy(&bytes));
        }
        site.queue.take();
    }
    assert_eq!(
        site.rows_of(theirs.workspace),
        before,
        "a row of the other workspace or of the platform changed"
    );
    let messages = site.world.db.rows_from(Table::Messages, "M#").len();
    assert!(messages > 100, "{messages} messages of the line's own workspace");
}
