//! `webhook update`: the secret and the deliveries stay, and a new URL starts without a record.

use domain::webhook::delivery::Next;
use domain::{EndpointId, EndpointSecrets, EventFilter};
use harness::Fault;
use insta::{assert_json_snapshot, assert_snapshot};
use serde_json::{Value, json};

use crate::hooks::Hooks;

impl Hooks {
    async fn update(&self, endpoint: &str, more: &[&str]) -> Value {
        self.json(&[&["webhook", "update", "--endpoint", endpoint], more].concat()).await
    }

    async fn secrets_of(&self, endpoint: &str) -> EndpointSecrets {
        let id = EndpointId::parse(endpoint).unwrap();
        self.store().endpoint_secrets(self.id(), id).await.unwrap().unwrap()
    }
}

#[tokio::test]
async fn an_api_key_is_read_from_a_file_that_hides_it_from_other_users() {
    let mut hooks = Hooks::new().await;
    hooks.desk.input = "from-input\r\n".to_owned();
    let url = ["--url", "https://hooks.example.com/in"];
    let create = [&["webhook", "create", "--api-key-file", "-"][..], &url].concat();
    let endpoint = hooks.json(&create).await["endpointId"].as_str().unwrap().to_owned();
    let key = async || hooks.secrets_of(&endpoint).await.api_key.expose().to_owned();
    assert_eq!(key().await, "from-input");
    let file = std::env::temp_dir().join(format!("api-key-{}", std::process::id()));
    std::fs::write(&file, "from-file\n").unwrap();
    let path = file.to_str().unwrap();
    hooks.update(&endpoint, &["--api-key-file", path]).await;
    assert_eq!(key().await, "from-file");
    std::fs::remove_file(&file).unwrap();
    let both = [&create[..], &["--api-key", "k"]].concat();
    assert_eq!(hooks.desk.run(&hooks.within(&both)).await.status, 2);
    let none = [&["webhook", "create"][..], &url].concat();
    assert_eq!(hooks.desk.run(&hooks.within(&none)).await.status, 2);
    hooks.desk.input = "a b".to_owned();
    assert_snapshot!(hooks.refused(&create).await, @"The customer's API key is invalid: should be 1 to 256 visible ASCII characters, without spaces.");
}

#[tokio::test]
async fn an_endpoint_gets_a_new_url_key_and_events_and_keeps_its_secrets_and_deliveries() {
    let hooks = Hooks::new().await;
    let endpoint = hooks.endpoint_with(&["--event", "contact.updated", "--max-per-second", "9"]).await;
    hooks.json(&["webhook", "rotate", "--endpoint", &endpoint]).await;
    let delivery = hooks.test(&endpoint).await;
    let (secrets, waiting) = (hooks.secrets_of(&endpoint).await, hooks.delivery(&delivery).await);
    hooks.queued();
    let changed = hooks
        .update(
            &endpoint,
            &[
                "--url",
                "https://New.example.com:8443/hook",
                "--api-key",
                "new-key",
                "--event",
                "lead.sent",
                "--event",
                "contact.created",
                "--max-concurrency",
                "3",
            ],
        )
        .await;
    assert_json_snapshot!(changed, @r#"
    {
      "description": null,
      "endpointId": "00000000-0000-4000-8000-000000000004",
      "events": [
        "contact.created",
        "lead.sent"
      ],
      "job": {
        "askedAt": "2026-01-02T03:04:05.679Z",
        "askedBefore": false,
        "attempted": 0,
        "delivered": 0,
        "deliveryId": null,
        "endpointId": "00000000-0000-4000-8000-000000000004",
        "jobId": "56d61690-8e8e-5110-956f-a758d249dcc6",
        "movedAt": "2026-01-02T03:04:05.679Z",
        "passedOver": 0,
        "since": null,
        "state": "ACTIVE",
        "until": null,
        "what": "ENABLE"
      },
      "maxConcurrency": 3,
      "maxPerSecond": 9,
      "slots": 1,
      "state": "ENABLED",
      "url": "https://new.example.com:8443/hook"
    }
    "#);
    let now = hooks.secrets_of(&endpoint).await;
    assert_eq!(now.api_key.expose(), "new-key");
    assert_eq!(now.signing, secrets.signing, "the signing secrets stay, also in a rotation");
    assert_eq!(hooks.delivery(&delivery).await, waiting);
    assert_eq!(hooks.queued(), [("fast".to_owned(), 0)]);
    assert_eq!(hooks.read(&endpoint).await.version, 2);

    let all = hooks.update(&endpoint, &["--all-events"]).await;
    assert_eq!((&all["events"], &all["job"]), (&json!(["*"]), &Value::Null), "no new URL, no job");
    assert_eq!(hooks.read(&endpoint).await.filter, EventFilter::All);
    assert_eq!(hooks.secrets_of(&endpoint).await, now);
}

#[tokio::test]
async fn a_repeated_update_changes_nothing_and_requests_the_job_only_once() {
    let hooks = Hooks::new().await;
    let endpoint = hooks.endpoint().await;
    let update = ["--url", "https://new.example.com/", "--api-key", "new-key"];
    let first = hooks.update(&endpoint, &update).await;
    assert_eq!(first["job"]["askedBefore"], false);
    let (version, secrets) = (hooks.read(&endpoint).await.version, hooks.secrets_of(&endpoint).await);
    hooks.pass(60);
    let again = hooks.update(&endpoint, &update).await;
    assert_eq!(again["job"]["askedBefore"], true);
    assert_eq!(again["job"]["jobId"], first["job"]["jobId"]);
    assert_eq!((hooks.read(&endpoint).await.version, hooks.secrets_of(&endpoint).await), (version, secrets));
}

#[tokio::test]
async fn an_update_whose_answer_is_lost_is_made_once() {
    let hooks = Hooks::new().await;
    let endpoint = hooks.endpoint().await;
    hooks.desk.db.fail("TransactWriteItems", Fault::AnswerLost, 1);
    hooks.update(&endpoint, &["--url", "https://new.example.com/", "--api-key", "new-key"]).await;
    let now = hooks.read(&endpoint).await;
    assert_eq!((now.url.as_str(), now.version), ("https://new.example.com/", 2));
    assert_eq!(hooks.secrets_of(&endpoint).await.api_key.expose(), "new-key");
}

#[tokio::test]
async fn a_new_url_of_a_disabled_endpoint_leaves_it_disabled_with_its_deliveries_parked() {
    let hooks = Hooks::new().await;
    let endpoint = hooks.endpoint().await;
    let delivery = hooks.test(&endpoint).await;
    hooks.attempted(&delivery, 500, Next::Again { at: hooks.store().now() }).await;
    hooks.json(&["webhook", "disable", "--endpoint", &endpoint]).await;
    hooks.queued();
    let changed = hooks.update(&endpoint, &["--url", "https://new.example.com/"]).await;
    assert_eq!(
        (&changed["state"], &changed["url"], &changed["job"]),
        (&json!("DISABLED"), &json!("https://new.example.com/"), &Value::Null)
    );
    assert_eq!(hooks.queued(), []);
    assert_eq!(hooks.listed(&[]).await, [(delivery, "PARKED".to_owned())]);
}

#[tokio::test]
async fn an_update_is_refused_for_the_reasons_of_a_creation_and_changes_nothing_then() {
    let hooks = Hooks::new().await;
    let endpoint = hooks.endpoint().await;
    let before = (hooks.read(&endpoint).await, hooks.secrets_of(&endpoint).await);
    let refused = async |more: &[&str]| {
        hooks.refused(&[&["webhook", "update", "--endpoint", &endpoint], more].concat()).await
    };
    for url in ["http://hooks.example.com/", "https://127.0.0.1/", "https://10.0.0.1/", "https://a.internal/"]
    {
        let create = hooks.refused(&["webhook", "create", "--url", url, "--api-key", "k"]).await;
        assert_eq!(refused(&["--url", url, "--api-key", "new"]).await, create, "{url}");
    }
    assert_snapshot!(refused(&["--url", "https://192.168.0.1/"]).await, @"The URL is refused: a webhook endpoint must have a public address.");
    assert_snapshot!(refused(&["--url", "https://new.example.com/", "--api-key", "a b"]).await, @"The customer's API key is invalid: should be 1 to 256 visible ASCII characters, without spaces.");
    assert_eq!((hooks.read(&endpoint).await, hooks.secrets_of(&endpoint).await), before);
    let both = ["webhook", "update", "--endpoint", &endpoint, "--event", "lead.sent", "--all-events"];
    assert_eq!(hooks.desk.run(&hooks.within(&both)).await.status, 2);
    let unknown = ["webhook", "update", "--endpoint", &endpoint, "--event", "lead.lost"];
    assert_eq!(hooks.desk.run(&hooks.within(&unknown)).await.status, 2);
}
