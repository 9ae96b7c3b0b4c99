//! What whole-stack tests and the people at `make run` may rely on in the simulators.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on ends by a panic")]

use std::time::{Duration, Instant};

use local::simulator::{Captcha, Entry, Provider, Receiver};
use reqwest::{Certificate, Client, redirect};
use serde_json::{Value, json};

async fn receiver() -> Receiver {
    Receiver::start(0, 0).await.unwrap()
}

/// A client that trusts this receiver's authority and nothing else, and follows no redirect.
fn client_of(receiver: &Receiver) -> Client {
    let ca = Certificate::from_pem(receiver.ca_pem().as_bytes()).unwrap();
    builder().tls_certs_only([ca]).build().unwrap()
}

fn plain_client() -> Client {
    builder().build().unwrap()
}

fn builder() -> reqwest::ClientBuilder {
    // Fails when another test of this process was first, which is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
    Client::builder().redirect(redirect::Policy::none()).no_proxy()
}

async fn status_of(client: &Client, url: String) -> u16 {
    client.post(url).body("{}").send().await.unwrap().status().as_u16()
}

async fn read_ledger(url: &str) -> Vec<Entry> {
    let shown = plain_client().get(url).send().await.unwrap().bytes().await.unwrap();
    serde_json::from_slice(&shown).unwrap()
}

#[tokio::test]
async fn the_receiver_is_only_trusted_under_its_own_authority() {
    let receiver = receiver().await;
    let another = Receiver::start(0, 0).await.unwrap();
    let error = client_of(&another).get(receiver.url()).send().await.unwrap_err();
    assert!(error.is_connect(), "{error:?}");
    assert!(receiver.ledger().entries().is_empty());
}

#[tokio::test]
async fn the_certificate_holds_for_localhost_too() {
    let receiver = receiver().await;
    let url = receiver.url().replace("127.0.0.1", "localhost");
    assert_eq!(status_of(&client_of(&receiver), format!("{url}/ok")).await, 200);
}

#[tokio::test]
async fn an_entry_holds_the_request_as_it_came() {
    let receiver = receiver().await;
    let body = b"{\"caf\xc3\xa9\": 1}\n\x00";
    client_of(&receiver)
        .post(format!("{}/ok/customer?x=1", receiver.url()))
        .header("X-Service-Signature", "sha256=00")
        .header("X-Twice", "a")
        .header("X-Twice", "b")
        .body(body.to_vec())
        .send()
        .await
        .unwrap();

    let entries = read_ledger(&format!("{}/ledger", receiver.ledger_url())).await;
    assert_eq!(entries.len(), 1);
    let entry = &entries[0];
    assert_eq!((entry.method.as_str(), entry.path.as_str()), ("POST", "/ok/customer?x=1"));
    assert_eq!(entry.headers["x-service-signature"], "sha256=00");
    assert_eq!(entry.headers["x-twice"], "a, b");
    assert_eq!(entry.body_bytes().unwrap(), body);
    assert!(domain::Timestamp::parse(&entry.at).is_some(), "{}", entry.at);
}

#[tokio::test]
async fn the_ledger_is_oldest_first_and_delete_empties_it() {
    let receiver = receiver().await;
    let client = client_of(&receiver);
    for path in ["/ok/1", "/status/500/2", "/ok/3"] {
        status_of(&client, format!("{}{path}", receiver.url())).await;
    }
    // Both the origin and `/ledger` on it answer.
    let entries = read_ledger(&receiver.ledger_url()).await;
    let paths: Vec<&str> = entries.iter().map(|entry| entry.path.as_str()).collect();
    assert_eq!(paths, ["/ok/1", "/status/500/2", "/ok/3"]);
    assert_eq!(entries, receiver.ledger().entries());

    let emptied = plain_client().delete(format!("{}/ledger", receiver.ledger_url())).send().await.unwrap();
    assert_eq!(emptied.status(), 204);
    assert_eq!(read_ledger(&receiver.ledger_url()).await, []);
}

#[tokio::test]
async fn a_path_chooses_the_status() {
    let receiver = receiver().await;
    let client = client_of(&receiver);
    for (path, status) in [
        ("/", 200),
        ("/anything/else", 200),
        ("/ok/a/b", 200),
        ("/status/204", 204),
        ("/status/410/customer", 410),
        ("/status/503", 503),
        ("/status/100", 404),
        ("/status/none", 404),
        ("/slow/never", 404),
        ("/fail-first/some", 404),
    ] {
        assert_eq!(status_of(&client, format!("{}{path}", receiver.url())).await, status, "{path}");
    }
}

#[tokio::test]
async fn a_redirect_points_back_to_the_receiver() {
    let receiver = receiver().await;
    let answer = client_of(&receiver).post(format!("{}/redirect/x", receiver.url())).send().await.unwrap();
    assert_eq!(answer.status(), 302);
    assert_eq!(answer.headers()["location"], "/ok/redirected");
}

#[tokio::test]
async fn the_first_requests_to_a_full_path_fail() {
    let receiver = receiver().await;
    let client = client_of(&receiver);
    let mut statuses = Vec::new();
    for path in ["/a", "/a", "/b", "/a", "/b", "/b", "/a"] {
        statuses.push(status_of(&client, format!("{}/fail-first/2{path}", receiver.url())).await);
    }
    assert_eq!(statuses, [500, 500, 500, 200, 500, 200, 200]);
    assert_eq!(receiver.ledger().entries().len(), 7);
}

#[tokio::test]
async fn a_slow_answer_is_on_record_before_it_is_given() {
    let receiver = receiver().await;
    let client = client_of(&receiver);
    let asked = client.get(format!("{}/slow/600", receiver.url())).timeout(Duration::from_secs(30)).send();
    let recorded = receiver.ledger().reaches(1);
    tokio::select! {
        answer = asked => panic!("answered at once: {answer:?}"),
        entries = recorded => assert_eq!(entries[0].path, "/slow/600"),
    }
}

#[tokio::test]
async fn a_slow_answer_comes_after_its_time() {
    let receiver = receiver().await;
    let begun = Instant::now();
    assert_eq!(status_of(&client_of(&receiver), format!("{}/slow/0.2", receiver.url())).await, 200);
    assert!(begun.elapsed() >= Duration::from_millis(200));
}

#[tokio::test]
async fn a_dropped_receiver_frees_its_ports() {
    let receiver = receiver().await;
    let url = receiver.url();
    let port: u16 = url.rsplit(':').next().unwrap().parse().unwrap();
    let client = client_of(&receiver);
    assert_eq!(status_of(&client, url).await, 200);
    drop(receiver);
    // The listener closes when the runtime next looks at the aborted task.
    while Receiver::start(port, 0).await.is_err() {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn captcha_accepts_a_token_and_names_what_is_missing() {
    let captcha = Captcha::start(0).await.unwrap();
    let verify = async |form: &'static str| -> Value {
        let url = format!("{}/recaptcha/api/siteverify", captcha.url());
        let answer = plain_client()
            .post(url)
            .header("content-type", "application/x-www-form-urlencoded")
            .body(form)
            .send()
            .await
            .unwrap();
        assert_eq!(answer.status(), 200);
        serde_json::from_slice(&answer.bytes().await.unwrap()).unwrap()
    };

    let mut accepted = verify("secret=s&response=token").await;
    let challenged = accepted["challenge_ts"].take();
    assert!(challenged.as_str().and_then(domain::Timestamp::parse).is_some(), "{challenged}");
    assert_eq!(
        accepted,
        json!({
            "success": true, "score": 0.9, "action": "submit", "hostname": "localhost", "challenge_ts": null
        })
    );
    assert_eq!(
        verify("secret=&remoteip=1").await,
        json!({ "success": false, "error-codes": ["missing-input-secret", "missing-input-response"] })
    );

    let ledger = read_ledger(&format!("{}/ledger", captcha.url())).await;
    assert_eq!(ledger.len(), 2);
    assert_eq!(ledger[0].body_bytes().unwrap(), b"secret=s&response=token");
}

#[tokio::test]
async fn provider_accepts_messages_under_an_id_of_its_own() {
    let provider = Provider::start(0).await.unwrap();
    let post = async |token: Option<&str>, message: Value| {
        let mut request = plain_client()
            .post(format!("{}/v25.0/106540352242922/messages", provider.url()))
            .header("content-type", "application/json")
            .body(message.to_string());
        if let Some(token) = token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        let answer = request.send().await.unwrap();
        let status = answer.status().as_u16();
        (status, serde_json::from_slice::<Value>(&answer.bytes().await.unwrap()).unwrap())
    };
    let message = json!({ "messaging_product": "whatsapp", "to": "+12025550101", "type": "text" });

    let (status, accepted) = post(Some("t"), message.clone()).await;
    assert_eq!(status, 200);
    assert_eq!(accepted["messaging_product"], "whatsapp");
    assert_eq!(accepted["contacts"], json!([{ "input": "+12025550101", "wa_id": "12025550101" }]));
    let id = accepted["messages"][0]["id"].as_str().unwrap();
    assert!(id.starts_with("wamid."), "{id}");
    let (_, again) = post(Some("t"), message.clone()).await;
    assert_ne!(again["messages"], accepted["messages"]);

    let (status, refused) = post(None, message).await;
    assert_eq!((status, &refused["error"]["code"]), (401, &json!(190)));
    let (status, refused) = post(Some("t"), json!({ "messaging_product": "whatsapp" })).await;
    assert_eq!((status, &refused["error"]["code"]), (400, &json!(100)));

    assert_eq!(read_ledger(&format!("{}/ledger", provider.url())).await.len(), 4);
    let emptied = plain_client().delete(format!("{}/ledger", provider.url())).send().await.unwrap();
    assert_eq!(emptied.status(), 204);
    assert_eq!(provider.ledger().entries(), []);
}
