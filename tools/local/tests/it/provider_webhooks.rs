//! The provider's way back: statuses, what customers do, and files.

use std::convert::Infallible;
use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use local::simulator::{Posted, Provider, SimulatedApp, WebhookState};
use reqwest::Client;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tokio::io::AsyncReadExt;
use tokio::net::TcpListener;
use tokio::sync::Barrier;
use tokio::time::timeout;

const SECRET: &str = "0123456789abcdef0123456789abcdef";
const LINE: &str = "106540352242922";
const PATH: &str = "/api/v1/whatsapp/1234567890";

/// The app's server: it checks each signature, and answers 500 a number of times before it answers 200.
struct App {
    url: String,
    bodies: Arc<Mutex<Vec<Bytes>>>,
}

impl App {
    async fn start(failures: usize) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let url = format!("http://{}{PATH}", listener.local_addr().unwrap());
        let bodies = Arc::new(Mutex::new(vec![]));
        let seen = Arc::clone(&bodies);
        tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let seen = Arc::clone(&seen);
                let service = service_fn(move |request| receive(request, Arc::clone(&seen), failures));
                tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
            }
        });
        Self { url, bodies }
    }

    fn simulated(&self) -> SimulatedApp {
        let (app_id, app_secret) = ("1234567890".to_owned(), SECRET.to_owned());
        SimulatedApp { app_id, app_secret, webhook_url: self.url.clone() }
    }

    /// The bodies of all attempts so far.
    fn bodies(&self) -> Vec<Bytes> {
        self.bodies.lock().unwrap().clone()
    }
}

async fn receive(
    request: Request<Incoming>,
    seen: Arc<Mutex<Vec<Bytes>>>,
    failures: usize,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let (head, body) = request.into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    let given = head.headers["x-hub-signature-256"].to_str().unwrap().strip_prefix("sha256=").unwrap();
    let digest: Vec<u8> =
        (0..64).step_by(2).map(|at| u8::from_str_radix(&given[at..at + 2], 16).unwrap()).collect();
    let mut mac = Hmac::<Sha256>::new_from_slice(SECRET.as_bytes()).unwrap();
    mac.update(&body);
    let is_signed = given.len() == 64 && mac.verify_slice(&digest).is_ok();
    let is_right = head.method == "POST"
        && head.uri == PATH
        && head.headers["content-type"] == "application/json"
        && head.headers.contains_key("host");
    let mut seen = seen.lock().unwrap();
    seen.push(body);
    let status = match (is_signed, is_right, seen.len() <= failures) {
        (false, ..) => StatusCode::FORBIDDEN,
        (_, false, _) => StatusCode::NOT_FOUND,
        (_, _, true) => StatusCode::INTERNAL_SERVER_ERROR,
        _ => StatusCode::OK,
    };
    let mut answer = Response::new(Full::new(Bytes::new()));
    *answer.status_mut() = status;
    Ok(answer)
}

/// A provider whose webhooks go to an app that fails at first.
async fn provider_and_app(failures: usize) -> (Provider, App) {
    let (provider, app) = (Provider::start(0).await.unwrap(), App::start(failures).await);
    provider.set_app(app.simulated());
    (provider, app)
}

fn client() -> Client {
    // The call fails if another test of this process made it first. The provider is then installed too.
    let _ = rustls::crypto::ring::default_provider().install_default();
    Client::builder().no_proxy().build().unwrap()
}

async fn json_of(answer: reqwest::Response) -> (u16, Value) {
    let status = answer.status().as_u16();
    (status, serde_json::from_slice(&answer.bytes().await.unwrap()).unwrap_or_default())
}

async fn inbound(provider: &Provider, request: &Value) -> (u16, Value) {
    let url = format!("{}/inbound", provider.url());
    json_of(client().post(url).body(request.to_string()).send().await.unwrap()).await
}

async fn get(url: &str, token: Option<&str>) -> reqwest::Response {
    let request = client().get(url);
    let request = match token {
        Some(token) => request.header("authorization", format!("Bearer {token}")),
        None => request,
    };
    request.send().await.unwrap()
}

/// Sends a text with these members and returns the answer.
async fn send(provider: &Provider, members: Value) -> Value {
    let mut message = json!({ "messaging_product": "whatsapp", "type": "text", "text": { "body": "Hello" } });
    for (name, value) in members.as_object().unwrap() {
        message[name.as_str()] = value.clone();
    }
    let url = format!("{}/v25.0/{LINE}/messages", provider.url());
    let request = client().post(url).header("authorization", "Bearer t").body(message.to_string());
    let (status, answer) = json_of(request.send().await.unwrap()).await;
    assert_eq!(status, 200, "{answer}");
    answer
}

fn change(webhook: &Posted) -> &Value {
    &webhook.body["entry"][0]["changes"][0]["value"]
}

/// The webhooks, when this number of them is delivered.
async fn delivered(provider: &Provider, count: usize) -> Vec<Posted> {
    let is_delivered = |webhook: &Posted| webhook.state == WebhookState::Delivered;
    let all =
        provider.webhooks().until(|all| all.iter().filter(|one| is_delivered(one)).count() == count).await;
    assert_eq!(all.len(), count);
    all
}

#[tokio::test]
async fn a_webhook_is_signed_and_repeated_with_the_same_bytes_until_the_app_answers_200() {
    let (provider, app) = provider_and_app(2).await;
    let request = json!({ "phoneNumberId": LINE, "from": "+34600111222", "name": "Ana", "text": "¡Hola!" });
    let (status, answer) = inbound(&provider, &request).await;
    let id = answer["messages"][0]["id"].as_str().unwrap();
    assert!(id.starts_with("wamid."), "{answer}");
    let expected = json!({
        "messages": [{ "id": id }], "webhook": 1, "state": "DELIVERED", "answers": [500, 500, 200],
    });
    assert_eq!((status, &answer), (200, &expected));

    let bodies = app.bodies();
    assert_eq!(bodies.len(), 3);
    assert!(bodies.iter().all(|body| *body == bodies[0]));
    let body: Value = serde_json::from_slice(&bodies[0]).unwrap();
    let timestamp = &body["entry"][0]["changes"][0]["value"]["messages"][0]["timestamp"];
    assert!(timestamp.as_str().unwrap().parse::<u64>().unwrap() > 1_700_000_000);
    let value = json!({
        "messaging_product": "whatsapp",
        "metadata": { "display_phone_number": "15552242922", "phone_number_id": LINE },
        "contacts": [{ "profile": { "name": "Ana" }, "wa_id": "34600111222", "user_id": "ES.100034600111222" }],
        "messages": [{
            "from": "34600111222", "from_user_id": "ES.100034600111222", "id": id, "timestamp": timestamp,
            "type": "text", "text": { "body": "¡Hola!" },
        }],
    });
    let entry = json!({ "id": "1000000000000000", "changes": [{ "field": "messages", "value": value }] });
    assert_eq!(body, json!({ "object": "whatsapp_business_account", "entry": [entry] }));

    let (_, shown) = json_of(get(&format!("{}/webhooks", provider.url()), None).await).await;
    assert_eq!(shown, json!(provider.webhooks().entries()));
    let webhook = &shown[0];
    assert_eq!(
        (&webhook["number"], &webhook["state"], &webhook["attempts"]),
        (&json!(1), &json!("DELIVERED"), &json!(3))
    );
    assert_eq!((&webhook["answers"], &webhook["body"]), (&json!([500, 500, 200]), &body));
    assert_eq!(provider.ledger().entries(), [], "requests to the simulator itself are not in the ledger");
}

#[tokio::test]
async fn the_last_digits_of_the_recipient_select_the_statuses_and_their_order() {
    let rows: [(&str, &[&str]); 7] = [
        ("0101", &["sent"]),
        ("0007", &["sent", "delivered"]),
        ("0008", &["sent", "delivered", "read"]),
        ("0009", &["sent", "failed"]),
        ("0010", &["read", "sent", "delivered", "read", "delivered", "sent"]),
        ("0011", &["sent", "delivered"]),
        ("9014", &["failed"]),
    ];
    for (digits, expected) in rows {
        let (provider, app) = provider_and_app(1).await;
        let members = json!({ "to": format!("+1202555{digits}"), "biz_opaque_callback_data": "c.m.0" });
        let answer = send(&provider, members).await;
        let webhooks = delivered(&provider, expected.len()).await;
        let statuses: Vec<&Value> = webhooks.iter().map(|webhook| &change(webhook)["statuses"][0]).collect();
        let words: Vec<&Value> = statuses.iter().map(|status| &status["status"]).collect();
        assert_eq!(json!(words), json!(expected), "{digits}");

        let posted: Vec<Value> =
            app.bodies().iter().map(|body| serde_json::from_slice(body).unwrap()).collect();
        let bodies: Vec<Value> = webhooks.iter().map(|webhook| webhook.body.clone()).collect();
        assert_eq!(posted[1..], bodies, "the first attempt failed, and the order stays");

        let (wa_id, user_id) = (format!("1202555{digits}"), format!("US.10001202555{digits}"));
        for (webhook, status) in webhooks.iter().zip(statuses) {
            let metadata = json!({ "display_phone_number": "15552242922", "phone_number_id": LINE });
            assert_eq!(change(webhook)["metadata"], metadata);
            assert_eq!(status["id"], answer["messages"][0]["id"]);
            assert_eq!(status["biz_opaque_callback_data"], "c.m.0");
            assert_eq!(status["recipient_id"], json!(wa_id));
            assert!(status["timestamp"].as_str().unwrap().parse::<u64>().is_ok(), "{status}");
            let is_failed = status["status"] == "failed";
            let contacts = json!([{ "wa_id": wa_id, "user_id": user_id }]);
            let named = (change(webhook).get("contacts"), status.get("recipient_user_id"));
            let expected = (!is_failed).then(|| (contacts, json!(user_id)));
            assert_eq!(named, (expected.as_ref().map(|all| &all.0), expected.as_ref().map(|all| &all.1)));
            let code = if digits == "9014" { 132_015 } else { 131_026 };
            assert_eq!(status["errors"][0]["code"].as_u64(), is_failed.then_some(code), "{status}");
            let category = (!is_failed).then_some("service");
            assert_eq!(status["pricing"]["category"].as_str(), category, "{status}");
        }
    }
}

#[tokio::test]
async fn a_message_to_0013_and_to_0014_is_accepted_and_held() {
    let (provider, _app) = provider_and_app(0).await;
    for (digits, word) in [
        ("0101", "accepted"),
        ("9013", "held_for_quality_assessment"),
        ("9014", "held_for_quality_assessment"),
    ] {
        let answer = send(&provider, json!({ "to": format!("+1202555{digits}") })).await;
        assert_eq!(answer["messages"][0]["message_status"], word, "{digits}");
    }
}

#[tokio::test]
async fn the_statuses_of_0011_are_delivered_before_the_call_is_answered() {
    let (provider, app) = provider_and_app(0).await;
    send(&provider, json!({ "to": "+12025550011" })).await;
    assert_eq!(app.bodies().len(), 2);
    let webhooks = provider.webhooks().entries();
    assert!(webhooks.iter().all(|webhook| webhook.state == WebhookState::Delivered), "{webhooks:?}");
    assert_eq!(change(&webhooks[0])["statuses"][0].get("biz_opaque_callback_data"), None);
}

#[tokio::test]
async fn a_send_by_user_id_is_answered_and_followed_by_that_id_alone() {
    let (provider, _app) = provider_and_app(0).await;
    for (id, last) in [("ES.7000008", "read"), ("ES.7000009", "failed")] {
        provider.webhooks().clear();
        let answer = send(&provider, json!({ "recipient": id })).await;
        assert_eq!(answer["contacts"], json!([{ "input": id, "user_id": id }]));
        let all = provider.webhooks().until(|all| {
            all.last().is_some_and(|webhook| webhook.state == WebhookState::Delivered)
                && change(&all[all.len() - 1])["statuses"][0]["status"] == last
        });
        for webhook in all.await {
            let status = &change(&webhook)["statuses"][0];
            assert_eq!((status.get("recipient_id"), &status["recipient_user_id"]), (None, &json!(id)));
        }
    }
    let answer = send(&provider, json!({ "to": "+34600111222", "recipient": "ES.7000008" })).await;
    assert_eq!(answer["contacts"], json!([{ "input": "+34600111222", "wa_id": "34600111222" }]));
}

#[tokio::test]
async fn numbers_of_three_countries_have_another_id_in_answers_statuses_and_messages() {
    let rows = [
        ("+5511987654321", "551187654321"),
        ("+525512345678", "5215512345678"),
        ("+541112345678", "5491112345678"),
    ];
    for (number, wa_id) in rows {
        let (provider, _app) = provider_and_app(0).await;
        let answer = send(&provider, json!({ "to": number })).await;
        assert_eq!(answer["contacts"], json!([{ "input": number, "wa_id": wa_id }]));
        assert_eq!(change(&delivered(&provider, 1).await[0])["statuses"][0]["recipient_id"], json!(wa_id));
        for from in [number, wa_id] {
            let (_, answer) =
                inbound(&provider, &json!({ "phoneNumberId": LINE, "from": from, "text": "Hi" })).await;
            assert_eq!(answer["state"], "DELIVERED");
            let webhooks = provider.webhooks().entries();
            let value = change(&webhooks[webhooks.len() - 1]);
            assert_eq!(
                (&value["messages"][0]["from"], &value["contacts"][0]["wa_id"]),
                (&json!(wa_id), &json!(wa_id))
            );
        }
    }
}

#[tokio::test]
async fn a_list_of_requests_is_one_webhook() {
    let (provider, app) = provider_and_app(0).await;
    let list = json!([
        { "phoneNumberId": LINE, "from": "34600111222", "text": "One" },
        { "phoneNumberId": "5", "fromUserId": "ES.7", "text": "Two", "id": "wamid.two", "timestamp": 1_792_487_728 },
        { "type": "template", "businessAccountId": "7", "templateName": "welcome", "language": "es", "event": "APPROVED" },
    ]);
    let (status, answer) = inbound(&provider, &list).await;
    assert_eq!((status, &answer["messages"][1]), (200, &json!({ "id": "wamid.two" })));
    assert_eq!(answer["messages"].as_array().unwrap().len(), 2);
    let [body] = &app.bodies()[..] else { panic!("one webhook") };
    let body: Value = serde_json::from_slice(body).unwrap();
    assert_eq!(body["entry"].as_array().unwrap().len(), 3);
    let second = &body["entry"][1]["changes"][0]["value"];
    assert_eq!(second["metadata"], json!({ "display_phone_number": "15550000005", "phone_number_id": "5" }));
    assert_eq!(second["contacts"], json!([{ "user_id": "ES.7" }]));
    let message = json!({
        "from_user_id": "ES.7", "id": "wamid.two", "timestamp": "1792487728", "type": "text",
        "text": { "body": "Two" },
    });
    assert_eq!(second["messages"], json!([message]));
    assert_eq!(
        (&body["entry"][2]["id"], &body["entry"][2]["changes"][0]["field"]),
        (&json!("7"), &json!("message_template_status_update"))
    );
}

#[tokio::test]
async fn all_webhooks_can_be_repeated_with_the_same_bytes() {
    let (provider, app) = provider_and_app(0).await;
    send(&provider, json!({ "to": "+12025550008" })).await;
    delivered(&provider, 3).await;
    inbound(&provider, &json!({ "phoneNumberId": LINE, "from": "34600111222", "text": "Hi" })).await;
    let url = format!("{}/webhooks", provider.url());
    let repeat = async || json_of(client().post(&url).send().await.unwrap()).await;
    assert_eq!(repeat().await, (200, json!({ "webhooks": 4 })));
    let webhooks = delivered(&provider, 8).await;
    let bodies: Vec<&Value> = webhooks.iter().map(|webhook| &webhook.body).collect();
    assert_eq!(bodies[4..], [bodies[3], bodies[2], bodies[1], bodies[0]]);
    let mut posted = app.bodies();
    let mut again = posted.split_off(4);
    posted.sort();
    again.sort();
    assert_eq!(posted, again);
}

#[tokio::test]
async fn without_an_app_nothing_is_posted_and_the_answer_says_so() {
    let provider = Provider::start(0).await.unwrap();
    let request = json!({ "phoneNumberId": LINE, "from": "34600111222", "text": "Hi" });
    let why = "nothing is posted, because the simulator has no app: PUT /app sets it";
    assert_eq!(inbound(&provider, &request).await, (409, json!({ "error": why })));
    send(&provider, json!({ "to": "+12025550011" })).await;
    assert_eq!(provider.webhooks().entries(), []);
}

#[tokio::test]
async fn the_app_is_set_by_a_request_that_is_checked() {
    let (provider, app) = (Provider::start(0).await.unwrap(), App::start(0).await);
    let url = format!("{}/app", provider.url());
    let put =
        async |body: Value| json_of(client().put(&url).body(body.to_string()).send().await.unwrap()).await.0;
    let right = json!({ "appId": "1234567890", "appSecret": SECRET, "webhookUrl": app.url });
    for (name, wrong) in [
        ("appId", json!("")),
        ("appSecret", json!(7)),
        ("webhookUrl", json!("https://h/")),
        ("token", json!("x")),
    ] {
        let mut body = right.clone();
        body[name] = wrong;
        assert_eq!(put(body).await, 400, "{name}");
    }
    assert_eq!(get(&url, None).await.status(), 405);
    assert_eq!(put(right).await, 204);
    let request = json!({ "phoneNumberId": LINE, "from": "34600111222", "text": "Hi" });
    assert_eq!(inbound(&provider, &request).await.1["state"], "DELIVERED");
}

/// A provider, and the listener that its webhooks are posted to.
async fn posts_to_a_listener() -> (TcpListener, Provider) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let provider = Provider::start(0).await.unwrap();
    provider.set_app(SimulatedApp {
        app_id: "1".to_owned(),
        app_secret: SECRET.to_owned(),
        webhook_url: format!("http://{}/", listener.local_addr().unwrap()),
    });
    (listener, provider)
}

#[tokio::test]
async fn pending_webhooks_end_with_the_simulator() {
    let (listener, provider) = posts_to_a_listener().await;
    send(&provider, json!({ "to": "+12025550101" })).await;
    let (mut stream, _) = listener.accept().await.unwrap();
    drop(provider);
    // Nobody answers the attempt. Its connection ends at once, and not after the attempt's time limit of ten seconds.
    let mut request = vec![];
    timeout(Duration::from_secs(5), stream.read_to_end(&mut request)).await.unwrap().unwrap();
}

#[tokio::test]
async fn at_most_eight_webhooks_are_posted_at_the_same_time() {
    let (listener, provider) = posts_to_a_listener().await;
    // Each round answers only when eight attempts wait for their answer, so a ninth would wait beside them.
    let (waiting, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (round, counted) = (Arc::new(Barrier::new(8)), Arc::clone(&most));
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let (waiting, most, round) = (Arc::clone(&waiting), Arc::clone(&counted), Arc::clone(&round));
            let service = service_fn(move |_: Request<Incoming>| {
                let (waiting, most, round) = (Arc::clone(&waiting), Arc::clone(&most), Arc::clone(&round));
                async move {
                    most.fetch_max(waiting.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                    round.wait().await;
                    waiting.fetch_sub(1, Ordering::SeqCst);
                    Ok::<_, Infallible>(Response::new(Full::new(Bytes::new())))
                }
            });
            tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
        }
    });
    for _ in 0..32 {
        send(&provider, json!({ "to": "+12025550101" })).await;
    }
    delivered(&provider, 32).await;
    let url = format!("{}/webhooks", provider.url());
    assert_eq!(client().post(url).send().await.unwrap().status(), 200);
    delivered(&provider, 64).await;
    assert_eq!(most.load(Ordering::SeqCst), 8);
}

/// Posts a file and returns the provider, the app, and the file as the message describes it.
async fn file(more: &Value) -> (Provider, App, Value) {
    let (provider, app) = provider_and_app(0).await;
    let mut request = json!({ "phoneNumberId": LINE, "from": "34600111222", "type": "image", "data": STANDARD.encode(b"bytes") });
    for (name, value) in more.as_object().unwrap() {
        request[name.as_str()] = value.clone();
    }
    let (status, answer) = inbound(&provider, &request).await;
    assert_eq!((status, &answer["state"]), (200, &json!("DELIVERED")), "{answer}");
    let kind = request["type"].as_str().unwrap();
    let described = change(&provider.webhooks().entries()[0])["messages"][0][kind].clone();
    (provider, app, described)
}

fn url_of(provider: &Provider, file: &Value) -> String {
    format!("{}/v25.0/{}?phone_number_id={LINE}", provider.url(), file["id"].as_str().unwrap())
}

#[tokio::test]
async fn a_file_is_described_looked_up_and_downloaded_with_a_token() {
    let more =
        json!({ "type": "document", "mimeType": "text/plain", "caption": "Look", "fileName": "a.txt" });
    let (provider, _app, described) = file(&more).await;
    let digest: [u8; 32] = Sha256::digest(b"bytes").into();
    let hexadecimal: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    let id = described["id"].as_str().unwrap();
    let expected = json!({
        "id": id, "mime_type": "text/plain", "sha256": STANDARD.encode(digest), "caption": "Look", "filename": "a.txt",
    });
    assert_eq!(described, expected);

    let look_up = url_of(&provider, &described);
    assert_eq!(get(&look_up, None).await.status(), 401);
    let (status, found) = json_of(get(&look_up, Some("t")).await).await;
    let url = found["url"].as_str().unwrap();
    let expected = json!({
        "messaging_product": "whatsapp", "id": id, "mime_type": "text/plain", "sha256": hexadecimal, "file_size": 5, "url": url,
    });
    assert_eq!((status, &found), (200, &expected));

    assert_eq!(get(url, None).await.status(), 401);
    let bytes = get(url, Some("t")).await;
    assert_eq!(bytes.headers()["content-type"], "text/plain");
    assert_eq!(bytes.bytes().await.unwrap().as_ref(), b"bytes");

    let calls = provider.ledger().entries();
    let statuses: Vec<_> = calls.iter().map(|call| call.answer.as_ref().unwrap().status).collect();
    assert_eq!(statuses, [401, 200, 401, 200]);
    assert_eq!(calls[1].answer.as_ref().unwrap().body, found);
}

#[tokio::test]
async fn a_file_can_be_missing_wrong_too_large_or_had_at_the_third_look_up() {
    let fault = async |name: &str, kind: &str| file(&json!({ "mediaFault": name, "type": kind })).await;

    let (provider, _app, missing) = fault("missing", "image").await;
    let (status, answer) = json_of(get(&url_of(&provider, &missing), Some("t")).await).await;
    assert_eq!((status, &answer["error"]["code"]), (400, &json!(100)));
    let url =
        format!("{}/whatsapp_business/attachments/?mid={}", provider.url(), missing["id"].as_str().unwrap());
    assert_eq!(get(&url, Some("t")).await.status(), 404);

    let (provider, _app, wrong) = fault("wrongDigest", "image").await;
    let (_, found) = json_of(get(&url_of(&provider, &wrong), Some("t")).await).await;
    let bytes = get(found["url"].as_str().unwrap(), Some("t")).await.bytes().await.unwrap();
    assert_eq!(bytes.as_ref(), b"bytes");
    assert_ne!(wrong["sha256"], json!(STANDARD.encode(Sha256::digest(b"bytes"))));
    let told = STANDARD.decode(wrong["sha256"].as_str().unwrap()).unwrap();
    let told: String = told.iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(found["sha256"], json!(told), "both digests are of the same other bytes");

    let (provider, _app, large) = fault("tooLarge", "sticker").await;
    let (_, found) = json_of(get(&url_of(&provider, &large), Some("t")).await).await;
    let bytes = get(found["url"].as_str().unwrap(), Some("t")).await.bytes().await.unwrap();
    assert_eq!((bytes.len(), &found["file_size"]), (500 * 1_024 + 1, &json!(500 * 1_024 + 1)));

    let (provider, _app, late) = fault("failsTwice", "audio").await;
    let mut statuses = vec![];
    for _ in 0..3 {
        statuses.push(get(&url_of(&provider, &late), Some("t")).await.status().as_u16());
    }
    assert_eq!(statuses, [500, 500, 200]);
}

#[tokio::test]
async fn a_slow_file_does_not_come_at_once() {
    let (provider, _app, slow) = file(&json!({ "mediaFault": "slow", "type": "video" })).await;
    let (_, found) = json_of(get(&url_of(&provider, &slow), Some("t")).await).await;
    let answer = get(found["url"].as_str().unwrap(), Some("t"));
    assert!(timeout(Duration::from_millis(300), answer).await.is_err());
    assert_eq!(provider.ledger().entries()[1].answer.as_ref().unwrap().status, 200);
}

#[tokio::test]
async fn a_request_that_is_wrong_is_refused_with_the_reason() {
    let (provider, app) = provider_and_app(0).await;
    let text = |more: Value| {
        let mut request = json!({ "phoneNumberId": LINE, "from": "34600111222", "text": "Hi" });
        for (name, value) in more.as_object().unwrap() {
            match value {
                Value::Null => drop(request.as_object_mut().unwrap().remove(name)),
                _ => request[name.as_str()] = value.clone(),
            }
        }
        request
    };
    let of = |kind: &str, more: Value| {
        let mut request = text(json!({ "text": null, "type": kind }));
        for (name, value) in more.as_object().unwrap() {
            request[name.as_str()] = value.clone();
        }
        request
    };
    let rows = [
        (json!("x"), "the body must be an object, or a list of 1 to 100 objects"),
        (json!([]), "the body must be an object, or a list of 1 to 100 objects"),
        (json!([text(json!({})), 7]), "item 2: must be an object"),
        (json!([text(json!({})), {}]), "item 2: text is required"),
        (text(json!({ "type": 7 })), "type must be a text"),
        (
            text(json!({ "type": "poem" })),
            "type must be one of text, image, video, audio, document, sticker, location, contacts, button, interactive, reaction, edit, revoke, unsupported, system, preferences, template, change",
        ),
        (
            text(json!({ "caption": "x" })),
            "caption is no field of the type text; beside type, phoneNumberId, businessAccountId, from, fromUserId, name, timestamp, id it has text, contextId",
        ),
        (text(json!({ "text": null })), "text is required"),
        (text(json!({ "text": "" })), "text must be a text that is not empty"),
        (text(json!({ "phoneNumberId": null })), "phoneNumberId is required"),
        (text(json!({ "phoneNumberId": "1".repeat(129) })), "phoneNumberId must be the id of a line"),
        (text(json!({ "from": null })), "from or fromUserId is required"),
        (
            text(json!({ "from": "600" })),
            "from must be a phone number with country code, such as +34600111222",
        ),
        (text(json!({ "fromUserId": "7" })), "fromUserId must be a user id, such as ES.1000"),
        (text(json!({ "id": "7" })), "id must begin with wamid."),
        (text(json!({ "timestamp": "now" })), "timestamp must be a number of seconds since 1970"),
        (of("image", json!({})), "data is required"),
        (of("image", json!({ "data": "?" })), "data must be Base64"),
        (
            of("image", json!({ "data": "eA==", "mediaFault": "lost" })),
            "mediaFault must be one of missing, wrongDigest, tooLarge, slow, failsTwice",
        ),
        (
            of("location", json!({ "latitude": 91, "longitude": 0 })),
            "latitude must be a number from -90 to 90",
        ),
        (of("location", json!({ "latitude": 0 })), "longitude must be a number from -180 to 180"),
        (
            of("contacts", json!({ "contacts": [{}] })),
            "contacts must be a list of {name, phones, emails} with lists of texts",
        ),
        (
            of("contacts", json!({ "contacts": [] })),
            "contacts must be a list of {name, phones, emails} with lists of texts",
        ),
        (of("button", json!({})), "text is required"),
        (of("interactive", json!({ "text": "Yes" })), "choiceId is required"),
        (of("reaction", json!({ "text": "👍" })), "contextId is required"),
        (of("edit", json!({ "text": "Hi" })), "contextId is required"),
        (of("edit", json!({ "contextId": "wamid.0" })), "an edit has either text or caption"),
        (of("revoke", json!({})), "contextId is required"),
        (of("system", json!({})), "newFrom or newUserId is required"),
        (of("system", json!({ "newUserId": "ES.8" })), "from and newFrom must both be given, or neither"),
        (of("preferences", json!({ "preference": "pause" })), "preference must be stop or resume"),
        (
            of("template", json!({ "templateName": "n", "language": "es", "event": "APPROVED" })),
            "businessAccountId is required",
        ),
        (of("template", json!({ "templateName": "n", "language": "es" })), "event is required"),
        (of("change", json!({})), "field is required"),
    ];
    for (request, why) in rows {
        assert_eq!(inbound(&provider, &request).await, (400, json!({ "error": why })), "{request}");
    }
    let url = format!("{}/inbound", provider.url());
    assert_eq!(get(&url, None).await.status(), 405);
    let (status, answer) = json_of(client().post(url).body("{").send().await.unwrap()).await;
    assert_eq!(status, 400);
    assert!(answer["error"].as_str().unwrap().starts_with("the body is not JSON: "), "{answer}");
    assert_eq!(app.bodies(), Vec::<Bytes>::new());
}
