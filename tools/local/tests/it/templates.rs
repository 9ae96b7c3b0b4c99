//! The provider's registry of templates: lists, one template, what somebody at Meta does with it, and sends that are judged.

use local::simulator::{Posted, Provider};
use reqwest::{Client, Method};
use serde_json::{Value, json};

const ACCOUNT: &str = "205550000000009";
const LINE: &str = "106540352242922";

fn client() -> Client {
    // The call fails if another test of this process made it first. The provider is then installed too.
    let _ = rustls::crypto::ring::default_provider().install_default();
    Client::builder().no_proxy().build().unwrap()
}

/// A request to the simulator with a bearer token. Returns the status and the answer.
async fn ask(provider: &Provider, method: Method, path: &str, body: &Value) -> (u16, Value) {
    let url = if path.starts_with("http") { path.to_owned() } else { format!("{}{path}", provider.url()) };
    let request = client().request(method, url).header("authorization", "Bearer t").body(body.to_string());
    let answer = request.send().await.unwrap();
    let status = answer.status().as_u16();
    (status, serde_json::from_slice(&answer.bytes().await.unwrap()).unwrap_or_default())
}

async fn get(provider: &Provider, path: &str) -> (u16, Value) {
    ask(provider, Method::GET, path, &Value::Null).await
}

async fn put(provider: &Provider, body: &Value) -> (u16, Value) {
    ask(provider, Method::PUT, &format!("/templates/{ACCOUNT}"), body).await
}

async fn command(provider: &Provider, body: Value) -> (u16, Value) {
    ask(provider, Method::POST, &format!("/templates/{ACCOUNT}"), &body).await
}

fn template(name: &str, text: &str) -> Value {
    json!({ "name": name, "language": "en_US", "components": [{ "type": "BODY", "text": text }] })
}

/// A provider whose registry has these templates for the account of the line.
async fn provider_with(templates: &[Value]) -> Provider {
    let provider = Provider::start(0).await.unwrap();
    let (status, set) = put(&provider, &json!({ "phoneNumberIds": [LINE], "data": templates })).await;
    assert_eq!(status, 200, "{set}");
    provider
}

/// Sends a template from a line. Returns the error's code, 0 for a message that is accepted.
async fn sent_from(provider: &Provider, line: &str, name: &str, values: &[&str]) -> u64 {
    let values: Vec<Value> = values.iter().map(|text| json!({ "type": "text", "text": text })).collect();
    let mut template = json!({ "name": name, "language": { "code": "en_US" } });
    if !values.is_empty() {
        template["components"] = json!([{ "type": "body", "parameters": values }]);
    }
    let message = json!({
        "messaging_product": "whatsapp", "to": "+12025550101", "type": "template", "template": template,
    });
    let (_, answer) = ask(provider, Method::POST, &format!("/v25.0/{line}/messages"), &message).await;
    answer["error"]["code"].as_u64().unwrap_or_default()
}

async fn sent(provider: &Provider, name: &str, values: &[&str]) -> u64 {
    sent_from(provider, LINE, name, values).await
}

#[tokio::test]
async fn the_list_of_an_account_has_pages_and_each_template_has_an_id() {
    let templates: Vec<Value> = (0..5).map(|number| template(&format!("t{number}"), "Hi")).collect();
    let provider = provider_with(&templates).await;
    let list = format!("/v25.0/{ACCOUNT}/message_templates?fields=name,status&limit=2");
    let (mut path, mut names, mut pages, mut ids) = (list.clone(), vec![], 0, vec![]);
    loop {
        let (status, page) = get(&provider, &path).await;
        assert_eq!(status, 200);
        pages += 1;
        for one in page["data"].as_array().unwrap() {
            let fields: Vec<&String> = one.as_object().unwrap().keys().collect();
            assert_eq!(fields, ["id", "name", "status"], "only what was asked for, and the id");
            assert_eq!(one["status"], "APPROVED");
            names.push(one["name"].as_str().unwrap().to_owned());
            ids.push(one["id"].as_str().unwrap().to_owned());
        }
        // The cursor and the address say the same.
        let after = page["paging"]["cursors"]["after"].as_str().unwrap();
        let Some(next) = page["paging"]["next"].as_str() else { break };
        path = if pages == 1 { next.to_owned() } else { format!("{list}&after={after}") };
    }
    assert_eq!((names, pages), ((0..5).map(|number| format!("t{number}")).collect(), 3));
    let (status, one) = get(&provider, &format!("/v25.0/{}?fields=name", ids[3])).await;
    assert_eq!((status, &one), (200, &json!({ "id": ids[3], "name": "t3" })));
    // A new list keeps the ids of the names that stay.
    put(&provider, &json!([template("t3", "Bye"), template("new", "Hi")])).await;
    let (_, shown) = get(&provider, &format!("/templates/{ACCOUNT}")).await;
    assert_eq!(shown["data"][0]["id"], *ids[3]);
    assert!(!ids.contains(&shown["data"][1]["id"].as_str().unwrap().to_owned()));
    assert_eq!(get(&provider, &format!("/v25.0/{}", ids[0])).await.1["error"]["code"], 100);
}

#[tokio::test]
async fn lists_that_cannot_be_had_are_errors_of_the_graph_api() {
    let provider = provider_with(&[template("a", "Hi")]).await;
    let list = format!("/v25.0/{ACCOUNT}/message_templates");
    for (path, code) in [
        ("/v25.0/7/message_templates".to_owned(), 100),
        (format!("{list}?limit=0"), 100),
        (format!("{list}?after=x"), 100),
    ] {
        assert_eq!(get(&provider, &path).await.1["error"]["code"], code, "{path}");
    }
    let answer = client().get(format!("{}{list}", provider.url())).send().await.unwrap();
    assert_eq!(answer.status(), 401, "without a token");
    put(&provider, &json!({ "data": [template("a", "Hi")], "refuses": 190 })).await;
    let (status, refused) = get(&provider, &list).await;
    assert_eq!((status, &refused["error"]["code"]), (401, &json!(190)));
}

#[tokio::test]
async fn a_registry_that_is_wrong_is_refused_with_the_reason() {
    let provider = Provider::start(0).await.unwrap();
    let rows = [
        (json!("x"), "the body must be an object or a list of templates"),
        (
            json!({ "templates": [] }),
            "templates is no field of a registry, which has phoneNumberIds, data, refuses",
        ),
        (json!({}), "data must be a list of templates"),
        (json!([{ "name": "a" }]), "each template needs a name and a language"),
        (json!([{ "name": "a", "language": "en" }]), "the template a needs a list of components"),
        (
            json!([{ "name": "a", "language": "en-US", "components": [] }]),
            "the language of a must be written with an underscore, such as en_US",
        ),
        (json!([template("a", "x"), template("a", "y")]), "\"a\" is repeated in \"en_US\""),
        (json!({ "data": [], "phoneNumberIds": [1] }), "phoneNumberIds must be a list of texts"),
        (json!({ "data": [], "refuses": "no" }), "refuses must be a code"),
    ];
    for (body, why) in rows {
        assert_eq!(put(&provider, &body).await, (400, json!({ "error": why })), "{body}");
    }
    assert_eq!(get(&provider, &format!("/templates/{ACCOUNT}")).await.0, 404);
    let pause = json!({ "command": "pause", "name": "a", "language": "en_US" });
    let no_registry = json!({ "error": "the account has no registry: PUT sets one" });
    assert_eq!(command(&provider, pause.clone()).await, (400, no_registry));
    put(&provider, &json!([template("b", "Hi")])).await;
    let rows = [
        (pause, "the account has no such template in this language"),
        (json!({ "command": "pause" }), "name must be a text"),
        (
            json!({ "command": "sing", "name": "b", "language": "en_US" }),
            "command must be one of approve, archive, category, delete, disable, edit, flag, pause, quality, reinstate, \
            reject, review, unarchive",
        ),
        (json!({ "command": "edit", "name": "b", "language": "en_US" }), "components must be a list"),
        (json!({ "command": "quality", "name": "b", "language": "en_US" }), "quality must be a text"),
        (
            json!({ "command": "pause", "name": "b", "language": "en_US", "why": "x" }),
            "why is no field of a command, which has command, name, language, reason, components, parameterFormat, \
            quality, category, webhook",
        ),
    ];
    for (body, why) in rows {
        assert_eq!(command(&provider, body.clone()).await, (400, json!({ "error": why })), "{body}");
    }
}

#[tokio::test]
async fn a_send_is_judged_by_the_registry_of_the_lines_account_only() {
    let provider = provider_with(&[template("hello", "Hi {{1}}")]).await;
    assert_eq!(sent(&provider, "hello", &["Ana"]).await, 0);
    assert_eq!(sent(&provider, "hello", &[]).await, 132_000);
    assert_eq!(sent(&provider, "hello", &["a\nb"]).await, 132_018);
    assert_eq!(sent(&provider, "other", &[]).await, 132_001);
    let pause = json!({ "command": "pause", "name": "hello", "language": "en_US" });
    for (name, code) in [("pause", 132_015), ("disable", 132_016), ("reject", 132_001), ("approve", 0)] {
        let mut next = pause.clone();
        next["command"] = json!(name);
        assert_eq!(command(&provider, next).await.0, 200);
        assert_eq!(sent(&provider, "hello", &["Ana"]).await, code, "{name}");
    }
    // A line of no registry sends any template, as long as it has values for a body only.
    assert_eq!(sent_from(&provider, "1", "other", &["a", "b"]).await, 0);
    assert_eq!(sent_from(&provider, "1", "other", &["a\nb"]).await, 131_009);
    // A line has one account.
    let other = json!({ "phoneNumberIds": [LINE], "data": [] });
    assert_eq!(ask(&provider, Method::PUT, "/templates/8", &other).await.0, 200);
    assert_eq!(sent(&provider, "hello", &["Ana"]).await, 132_001);
    assert_eq!(get(&provider, &format!("/templates/{ACCOUNT}")).await.1["phoneNumberIds"], json!([]));
}

#[tokio::test]
async fn a_command_changes_the_template_and_its_webhook_names_the_language_with_a_hyphen() {
    let app = app_that_takes_everything().await;
    let mut first = template("hello", "Hi {{1}}");
    first["quality_score"] = json!({ "score": "GREEN" });
    let provider = provider_with(&[first]).await;
    provider.set_app(local::simulator::SimulatedApp {
        app_id: "1".to_owned(),
        app_secret: "s".to_owned(),
        webhook_url: app,
    });
    let (_, shown) = get(&provider, &format!("/templates/{ACCOUNT}")).await;
    let id: u64 = shown["data"][0]["id"].as_str().unwrap().parse().unwrap();
    let named = json!({ "name": "hello", "language": "en_US" });
    let with = |more: Value| {
        let mut all = named.clone();
        all.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        all
    };
    let status = "message_template_status_update";
    let rows = [
        (
            json!({ "command": "reject", "reason": "SCAM" }),
            status,
            json!({ "event": "REJECTED", "reason": "SCAM" }),
            "REJECTED",
        ),
        (
            json!({ "command": "unarchive" }),
            status,
            json!({ "event": "UNARCHIVED", "reason": "NONE" }),
            "APPROVED",
        ),
        (json!({ "command": "flag" }), status, json!({ "event": "FLAGGED" }), "APPROVED"),
        (
            json!({ "command": "quality", "quality": "RED" }),
            "message_template_quality_update",
            json!({ "previous_quality_score": "GREEN", "new_quality_score": "RED" }),
            "APPROVED",
        ),
        (
            json!({ "command": "category", "category": "MARKETING" }),
            "template_category_update",
            json!({ "previous_category": "UTILITY", "new_category": "MARKETING" }),
            "APPROVED",
        ),
        (
            json!({ "command": "edit", "components": [{ "type": "BODY", "text": "Bye" }] }),
            "message_template_components_update",
            json!({ "message_template_element": "Bye" }),
            "APPROVED",
        ),
        (json!({ "command": "delete" }), status, json!({ "event": "DELETED" }), "APPROVED"),
    ];
    for (more, field, expected, after) in rows {
        let (code, answer) = command(&provider, with(more.clone())).await;
        assert_eq!((code, &answer["state"]), (200, &json!("DELIVERED")), "{more}");
        assert_eq!(answer["template"]["status"], after, "{more}");
        let posted: Posted = provider.webhooks().entries().pop().unwrap();
        let entry = &posted.body["entry"][0];
        assert_eq!((&entry["id"], &entry["changes"][0]["field"]), (&json!(ACCOUNT), &json!(field)));
        let value = &entry["changes"][0]["value"];
        assert_eq!(value["message_template_language"], "en-US", "{more}");
        assert_eq!(
            (&value["message_template_id"], &value["message_template_name"]),
            (&json!(id), &json!("hello"))
        );
        for (name, expected) in expected.as_object().unwrap() {
            assert_eq!(value[name], *expected, "{more}");
        }
    }
    assert_eq!(get(&provider, &format!("/v25.0/{id}")).await.1["error"]["code"], 100, "it was deleted");
    assert_eq!(sent(&provider, "hello", &[]).await, 132_001);
}

#[tokio::test]
async fn a_command_can_be_silent_so_that_a_webhook_seems_lost() {
    let provider = provider_with(&[template("hello", "Hi")]).await;
    let edit = json!({
        "command": "edit", "name": "hello", "language": "en_US", "webhook": false,
        "components": [{ "type": "BODY", "text": "Hi {{1}}" }],
    });
    let (status, answer) = command(&provider, edit).await;
    assert_eq!((status, &answer["webhook"], &answer["state"]), (200, &Value::Null, &Value::Null));
    assert_eq!(sent(&provider, "hello", &[]).await, 132_000);
    assert!(provider.webhooks().entries().is_empty());
}

/// An app that answers every webhook with 200. Returns its URL.
async fn app_that_takes_everything() -> String {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            tokio::spawn(async move {
                let mut read = vec![0; 65_536];
                let _ = stream.read(&mut read).await;
                let _ = stream
                    .write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
                    .await;
            });
        }
    });
    url
}
