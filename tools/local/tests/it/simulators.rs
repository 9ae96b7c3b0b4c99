//! The behaviour of the simulators on which whole-stack tests and users of `make run` rely.

use std::time::{Duration, Instant};

use local::simulator::{Captcha, Entry, Provider, Receiver};
use reqwest::{Certificate, Client, redirect};
use serde_json::{Value, json};

async fn receiver() -> Receiver {
    Receiver::start(0, 0).await.unwrap()
}

/// A client that trusts only this receiver's authority and follows no redirects.
fn client_of(receiver: &Receiver) -> Client {
    let ca = Certificate::from_pem(receiver.ca_pem().as_bytes()).unwrap();
    builder().tls_certs_only([ca]).build().unwrap()
}

fn plain_client() -> Client {
    builder().build().unwrap()
}

fn builder() -> reqwest::ClientBuilder {
    // The call fails if another test of this process made it first. The provider is then installed too.
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
async fn the_receiver_is_trusted_only_under_its_own_authority() {
    let receiver = receiver().await;
    let another = Receiver::start(0, 0).await.unwrap();
    let error = client_of(&another).get(receiver.url()).send().await.unwrap_err();
    assert!(error.is_connect(), "{error:?}");
    assert!(receiver.ledger().entries().is_empty());
}

#[tokio::test]
async fn the_certificate_is_also_valid_for_localhost() {
    let receiver = receiver().await;
    let url = receiver.url().replace("127.0.0.1", "localhost");
    assert_eq!(status_of(&client_of(&receiver), format!("{url}/ok")).await, 200);
}

#[tokio::test]
async fn an_entry_holds_the_request_unchanged() {
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
async fn the_ledger_lists_the_oldest_entry_first_and_delete_empties_it() {
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
async fn the_path_selects_the_status() {
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
async fn fail_first_counts_the_requests_of_each_full_path() {
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
async fn a_request_is_recorded_before_its_slow_answer() {
    let receiver = receiver().await;
    let client = client_of(&receiver);
    let asked = client.get(format!("{}/slow/600", receiver.url())).timeout(Duration::from_secs(30)).send();
    let recorded = receiver.ledger().reaches(1);
    tokio::select! {
        answer = asked => panic!("answered immediately: {answer:?}"),
        entries = recorded => assert_eq!(entries[0].path, "/slow/600"),
    }
}

#[tokio::test]
async fn a_slow_answer_waits_for_the_requested_time() {
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
    // The listener closes when the runtime next polls the aborted task.
    while Receiver::start(port, 0).await.is_err() {
        tokio::task::yield_now().await;
    }
}

/// Sends this form to siteverify and returns the status and the body of the answer.
async fn siteverify(captcha: &Captcha, form: &str) -> (u16, String) {
    let answer = plain_client()
        .post(format!("{}/recaptcha/api/siteverify", captcha.url()))
        .header("content-type", "application/x-www-form-urlencoded")
        .body(form.to_owned())
        .send()
        .await
        .unwrap();
    let status = answer.status().as_u16();
    (status, String::from_utf8(answer.bytes().await.unwrap().to_vec()).unwrap())
}

/// The answer to this form without `challenge_ts`, which must be the current time.
async fn captchas_verdict(captcha: &Captcha, form: &str) -> Value {
    let (status, body) = siteverify(captcha, form).await;
    assert_eq!(status, 200);
    let mut verdict: Value = serde_json::from_str(&body).unwrap();
    if let Some(at) = verdict.as_object_mut().unwrap().remove("challenge_ts") {
        let at = domain::Timestamp::parse(at.as_str().unwrap()).unwrap().as_seconds();
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
        assert!((0..=60).contains(&(i64::try_from(since.as_secs()).unwrap() - at)), "{verdict}");
    }
    verdict
}

fn solved(score: f64, action: &str, hostname: &str) -> Value {
    json!({ "success": true, "score": score, "action": action, "hostname": hostname })
}

fn unsolved(codes: &[&str]) -> Value {
    json!({ "success": false, "error-codes": codes })
}

#[tokio::test]
async fn the_token_selects_the_answer_of_captcha() {
    let captcha = Captcha::start(0).await.unwrap();
    let uuid = "0c8f6dd2-93a1-4a3b-9d5a-2f6a1f0f7c11";
    for (token, expected) in [
        ("pass-1".to_owned(), solved(0.9, "campaign_lead", "localhost")),
        (format!("pass-{uuid}"), solved(0.9, "campaign_lead", "localhost")),
        (format!("score-0.3-{uuid}"), solved(0.3, "campaign_lead", "localhost")),
        (format!("action-sign-up-{uuid}"), solved(0.9, "sign-up", "localhost")),
        (format!("host-my-shop.example-{uuid}"), solved(0.9, "campaign_lead", "my-shop.example")),
        ("error-timeout-or-duplicate-1".to_owned(), unsolved(&["timeout-or-duplicate"])),
        ("error-invalid-input-secret-1".to_owned(), unsolved(&["invalid-input-secret"])),
        ("error-browser-error-1".to_owned(), unsolved(&["browser-error"])),
        ("token".to_owned(), unsolved(&["invalid-input-response"])),
    ] {
        let form = format!("secret=s&response={token}&remoteip=192.0.2.1");
        assert_eq!(captchas_verdict(&captcha, &form).await, expected, "{token}");
    }
}

#[tokio::test]
async fn the_secret_selects_the_hostname_that_captcha_answers() {
    let captcha = Captcha::start(0).await.unwrap();
    for (secret, expected) in [
        ("secret-for-www.example.com", solved(0.9, "campaign_lead", "www.example.com")),
        ("anything", solved(0.9, "campaign_lead", "localhost")),
        ("wrong-secret", unsolved(&["invalid-input-secret"])),
        ("", unsolved(&["missing-input-secret"])),
    ] {
        let form = format!("secret={secret}&response=pass-{secret}");
        assert_eq!(captchas_verdict(&captcha, &form).await, expected, "{secret}");
    }
    for (form, codes) in [
        ("", &["missing-input-secret", "missing-input-response"][..]),
        ("secret=&remoteip=1", &["missing-input-secret", "missing-input-response"]),
        ("secret=s&response=", &["missing-input-response"]),
        ("secret=wrong&response=", &["invalid-input-secret", "missing-input-response"]),
    ] {
        assert_eq!(captchas_verdict(&captcha, form).await, unsolved(codes), "{form}");
    }
}

#[tokio::test]
async fn captcha_solves_a_token_only_once() {
    let captcha = Captcha::start(0).await.unwrap();
    let twice = unsolved(&["timeout-or-duplicate"]);
    for token in ["pass-1", "score-0.1-1", "action-x-1", "host-x-1"] {
        let refused = captchas_verdict(&captcha, &format!("secret=wrong&response={token}")).await;
        assert_eq!(refused, unsolved(&["invalid-input-secret"]), "a wrong secret must not use up the token");
        let form = format!("secret=s&response={token}");
        assert_eq!(captchas_verdict(&captcha, &form).await["success"], true, "{token}");
        assert_eq!(captchas_verdict(&captcha, &form).await, twice, "{token}");
        assert_eq!(captchas_verdict(&captcha, &form.replace("=s&", "=other&")).await, twice, "{token}");
    }
    assert_eq!(captchas_verdict(&captcha, "secret=s&response=pass-2").await["success"], true);
    for _ in 0..2 {
        let refused = captchas_verdict(&captcha, "secret=s&response=error-bad-request-1").await;
        assert_eq!(refused, unsolved(&["bad-request"]));
    }
}

#[tokio::test]
async fn a_token_selects_the_failure_of_captcha() {
    let captcha = Captcha::start(0).await.unwrap();
    for _ in 0..2 {
        for (token, status) in
            [("status-503-1", 503), ("status-429-1", 429), ("status-302-1", 302), ("garbage-1", 200)]
        {
            let (answered, body) = siteverify(&captcha, &format!("secret=s&response={token}")).await;
            assert_eq!(answered, status, "{token}");
            assert!(!body.is_empty() && serde_json::from_str::<Value>(&body).is_err(), "{body}");
        }
    }
    captcha.ledger().clear();
    let patience = Duration::from_millis(300);
    let hanging = tokio::time::timeout(patience, siteverify(&captcha, "secret=s&response=hang-1")).await;
    assert!(hanging.is_err(), "answered: {hanging:?}");
    assert_eq!(captcha.ledger().entries()[0].body_bytes().unwrap(), b"secret=s&response=hang-1");
}

#[tokio::test]
async fn the_ledger_of_captcha_shows_the_requests() {
    let captcha = Captcha::start(0).await.unwrap();
    for form in ["secret=s&response=pass-1", "secret=&remoteip=1"] {
        siteverify(&captcha, form).await;
    }
    let url = captcha.url();
    assert_eq!(
        plain_client().get(format!("{url}/recaptcha/api/siteverify")).send().await.unwrap().status(),
        404
    );
    assert_eq!(plain_client().post(format!("{url}/recaptcha/api")).send().await.unwrap().status(), 404);
    let ledger = read_ledger(&format!("{url}/ledger")).await;
    assert_eq!(ledger.len(), 2);
    assert_eq!(ledger[0].body_bytes().unwrap(), b"secret=s&response=pass-1");
    assert_eq!(ledger[0].path, "/recaptcha/api/siteverify");
}

/// Sends a message. Returns the status and the answer, or `None` if the connection was closed.
async fn send(provider: &Provider, token: Option<&str>, message: &Value) -> Option<(u16, Value)> {
    let mut request = plain_client()
        .post(format!("{}/v25.0/106540352242922/messages", provider.url()))
        .header("content-type", "application/json")
        .body(message.to_string());
    if let Some(token) = token {
        request = request.header("authorization", format!("Bearer {token}"));
    }
    let answer = request.send().await.ok()?;
    let status = answer.status().as_u16();
    Some((status, serde_json::from_slice(&answer.bytes().await.unwrap()).unwrap()))
}

/// A text message to the recipient whose number ends with these digits.
fn text_to(digits: &str, text: &str) -> Value {
    json!({
        "messaging_product": "whatsapp", "recipient_type": "individual", "to": format!("+1202555{digits}"),
        "type": "text", "text": { "body": text, "preview_url": false },
    })
}

/// Sends a message several times and returns the status and the error code of each try. Code 0 means accepted.
async fn codes(provider: &Provider, tries: usize, message: &Value) -> Vec<(u16, u64)> {
    let mut codes = vec![];
    for _ in 0..tries {
        let (status, answer) = send(provider, Some("t"), message).await.unwrap();
        codes.push((status, answer["error"]["code"].as_u64().unwrap_or_default()));
    }
    codes
}

#[tokio::test]
async fn provider_accepts_each_message_with_a_new_id() {
    let provider = Provider::start(0).await.unwrap();
    let message = text_to("0101", "hello");
    let (status, accepted) = send(&provider, Some("t"), &message).await.unwrap();
    assert_eq!(status, 200);
    assert_eq!(accepted["messaging_product"], "whatsapp");
    assert_eq!(accepted["contacts"], json!([{ "input": "+12025550101", "wa_id": "12025550101" }]));
    let id = accepted["messages"][0]["id"].as_str().unwrap();
    assert!(id.starts_with("wamid."), "{id}");
    let (_, again) = send(&provider, Some("t"), &message).await.unwrap();
    assert_ne!(again["messages"], accepted["messages"]);

    let (status, refused) = send(&provider, None, &message).await.unwrap();
    assert_eq!((status, &refused["error"]["code"]), (401, &json!(190)));
    let (status, refused) =
        send(&provider, Some("t"), &json!({ "messaging_product": "whatsapp" })).await.unwrap();
    assert_eq!((status, &refused["error"]["code"]), (400, &json!(131_008)));
    assert_eq!(refused["error"]["message"], "(#131008) Required parameter is missing");
    assert_eq!(refused["error"]["error_data"]["details"], "Parameter 'to' is required.");
}

#[tokio::test]
async fn the_ledger_of_provider_shows_requests_and_answers() {
    let provider = Provider::start(0).await.unwrap();
    let message = text_to("0101", "hello");
    let (_, accepted) = send(&provider, Some("t"), &message).await.unwrap();
    assert_eq!(send(&provider, Some("t"), &text_to("0005", "hello")).await, None);
    let url = format!("{}/v25.0/1/message_templates?limit=1", provider.url());
    assert_eq!(plain_client().post(url).body("no JSON").send().await.unwrap().status(), 400);

    let shown = plain_client().get(format!("{}/ledger", provider.url())).send().await.unwrap();
    let shown: Value = serde_json::from_slice(&shown.bytes().await.unwrap()).unwrap();
    let entry = &shown[0];
    assert!(domain::Timestamp::parse(entry["at"].as_str().unwrap()).is_some(), "{entry}");
    assert_eq!(
        (&entry["method"], &entry["path"]),
        (&json!("POST"), &json!("/v25.0/106540352242922/messages"))
    );
    assert_eq!(entry["headers"]["authorization"], "Bearer t");
    assert_eq!(entry["body"], message);
    assert_eq!(entry["answer"], json!({ "status": 200, "body": accepted }));
    assert_eq!((&shown[1]["body"]["to"], &shown[1]["answer"]), (&json!("+12025550005"), &Value::Null));
    assert_eq!(shown[2]["path"], "/v25.0/1/message_templates?limit=1");
    assert_eq!((&shown[2]["body"], &shown[2]["answer"]["status"]), (&Value::Null, &json!(400)));
    assert_eq!(shown.as_array().unwrap().len(), 3, "reading the ledger must add no entry");

    let emptied = plain_client().delete(format!("{}/ledger", provider.url())).send().await.unwrap();
    assert_eq!(emptied.status(), 204);
    assert_eq!(provider.ledger().entries(), []);
}

#[tokio::test]
async fn the_last_digits_of_the_recipient_select_the_behaviour_of_provider() {
    let provider = Provider::start(0).await.unwrap();
    let rows: [(&str, &[(u16, u64)]); 5] = [
        ("0001", &[(400, 131_026), (400, 131_026)]),
        ("0002", &[(429, 130_429), (429, 130_429), (200, 0), (429, 130_429)]),
        ("0004", &[(500, 1), (200, 0), (500, 1), (200, 0)]),
        ("0006", &[(404, 132_001), (404, 132_001)]),
        ("0007", &[(200, 0), (200, 0)]),
    ];
    for (digits, expected) in rows {
        assert_eq!(codes(&provider, expected.len(), &text_to(digits, "hello")).await, expected, "{digits}");
    }
    assert_eq!(send(&provider, Some("t"), &text_to("0005", "hello")).await, None);
    assert_eq!(
        send(&provider, None, &text_to("0005", "hello")).await.unwrap().0,
        401,
        "an invalid call must be refused"
    );
}

#[tokio::test]
async fn provider_counts_the_tries_of_each_message_separately() {
    let provider = Provider::start(0).await.unwrap();
    let (one, other) = (text_to("0002", "one"), text_to("0002", "other"));
    assert_eq!(codes(&provider, 2, &one).await, [(429, 130_429); 2]);
    assert_eq!(codes(&provider, 1, &other).await, [(429, 130_429)]);
    assert_eq!(codes(&provider, 1, &one).await, [(200, 0)]);
    assert_eq!(codes(&provider, 2, &other).await, [(429, 130_429), (200, 0)]);

    let image = |signed: &str| {
        let mut message = text_to("0004", "");
        message["type"] = json!("image");
        message["image"] = json!({ "link": format!("https://files.example/x?signed={signed}") });
        message.as_object_mut().unwrap().remove("text");
        message
    };
    assert_eq!(codes(&provider, 1, &image("1")).await, [(500, 1)]);
    assert_eq!(
        codes(&provider, 1, &image("2")).await,
        [(200, 0)],
        "a link with a new signature is the same message"
    );
}

#[tokio::test]
async fn provider_records_a_request_that_it_never_answers() {
    let provider = Provider::start(0).await.unwrap();
    let message = text_to("0003", "hello");
    tokio::select! {
        answer = send(&provider, Some("t"), &message) => panic!("answered: {answer:?}"),
        calls = provider.ledger().reaches(1) => {
            assert_eq!((&calls[0].body, &calls[0].answer), (&message, &None));
        }
    }
}
