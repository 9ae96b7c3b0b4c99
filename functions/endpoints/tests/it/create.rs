//! POST /webhook-endpoints.

use domain::{EventFilter, SelfService, TrustedReceivers, WebhookEndpoint};
use futures::future::join_all;
use harness::{Answer, Death, trips};
use serde_json::{Value, json};
use store::Table;

use crate::{Endpoints, code};

impl Endpoints {
    async fn create(&self, body: &Value) -> Answer {
        self.send(self.creation().body(body)).await
    }

    async fn all(&self) -> Vec<WebhookEndpoint> {
        self.world.db.store().endpoints(self.world.workspace).await.unwrap()
    }
}

fn wanted() -> Value {
    json!({"url": "https://hooks.example.com/in", "receiverKey": "customer-key"})
}

#[tokio::test]
async fn a_new_endpoint_is_shown_once_with_its_secret_and_gets_all_events() {
    let f = Endpoints::start().await;
    let answer = f.create(&wanted()).await;
    assert_eq!(answer.status, 201, "{}", answer.text);
    let secret = answer.json["signingSecret"].as_str().unwrap();
    let [endpoint] = &f.all().await[..] else { panic!("one endpoint is expected") };
    let secrets = f.world.db.store().endpoint_secrets(f.world.workspace, endpoint.id).await.unwrap().unwrap();
    assert_eq!((secrets.signing.active.expose(), secrets.api_key.expose()), (secret, "customer-key"));
    assert_eq!((&endpoint.filter, endpoint.slots, endpoint.version), (&EventFilter::All, 1, 1));
    assert_eq!(answer.json["events"], json!(["*"]));
    let id = endpoint.id.to_string();
    assert_eq!(f.audit().await, [("webhook_endpoint.create".to_owned(), id, vec![])]);
    let kept = f.world.db.rows(Table::Webhooks).into_iter().chain(f.world.db.rows(Table::Audit));
    assert!(kept.into_iter().all(|row| !row.to_string().contains(secret)));
}

#[tokio::test]
async fn all_settings_of_a_new_endpoint_can_be_given() {
    let f = Endpoints::start().await;
    let body = json!({
        "url": "https://Hooks.example.com:8443/a?b=c", "receiverKey": "k", "description": "orders",
        "events": ["message.created", "lead.sent"], "maxConcurrency": 5, "maxPerSecond": 1_000,
    });
    let made = f.create(&body).await.json;
    let shown = ["url", "description", "events", "maxConcurrency", "maxPerSecond", "state"];
    assert_eq!(
        shown.map(|field| made[field].clone()),
        [
            json!("https://hooks.example.com:8443/a?b=c"),
            json!("orders"),
            json!(["message.created", "lead.sent"]),
            json!(5),
            json!(1_000),
            json!("ENABLED")
        ]
    );
    let nothing = json!({"description": null, "events": null, "maxConcurrency": null, "maxPerSecond": null});
    let (Value::Object(mut body), Value::Object(nothing)) = (wanted(), nothing) else { panic!() };
    body.extend(nothing);
    assert_eq!(f.create(&Value::Object(body)).await.status, 201);
}

#[tokio::test]
async fn unfit_fields_are_refused_together_and_an_unknown_one_too() {
    let f = Endpoints::start().await;
    let body = json!({
        "url": "http://hooks.example.com", "receiverKey": "a b", "description": " ", "events": ["lead.lost", "*"],
        "maxConcurrency": 0, "maxPerSecond": 1_001, "slots": 2,
    });
    let failed = [
        ("slots", "extra_forbidden"),
        ("url", "value_error"),
        ("receiverKey", "string_pattern_mismatch"),
        ("description", "value_error"),
        ("events.0", "enum"),
        ("maxConcurrency", "greater_than_equal"),
        ("maxPerSecond", "less_than_equal"),
    ];
    let failed = failed.map(|(place, kind)| (format!("body.{place}"), kind.to_owned()));
    assert_eq!(f.create(&body).await.failures(), failed);
    let missing = f.create(&json!({})).await.failures();
    assert_eq!(missing, ["url", "receiverKey"].map(|name| (format!("body.{name}"), "missing".to_owned())));
    for (field, value, kind) in [
        ("events", json!([]), "too_short"),
        ("events", json!("lead.sent"), "list_type"),
        ("url", json!(null), "string_type"),
        ("description", json!("x".repeat(201)), "string_too_long"),
    ] {
        let mut body = wanted();
        body[field] = value;
        assert_eq!(f.create(&body).await.failures(), [(format!("body.{field}"), kind.to_owned())]);
    }
    assert_eq!((f.all().await.len(), f.audit().await.len()), (0, 0));
}

#[tokio::test]
async fn a_tenant_reaches_no_private_receiver() {
    let f = Endpoints::start().await;
    for url in [
        "https://127.0.0.1/",
        "https://127.0.0.1:8443/",
        "https://[::1]/",
        "https://10.0.0.1/",
        "https://169.254.169.254/latest/meta-data",
        "https://0x7f.1/",
        "https://localhost/",
        "https://a.internal/",
        "https://hooks.example.com:9443/",
        "https://user@hooks.example.com/",
        "https://hooks.example.com/#part",
    ] {
        let mut body = wanted();
        body["url"] = json!(url);
        assert_eq!(
            f.create(&body).await.failures(),
            [("body.url".to_owned(), "value_error".to_owned())],
            "{url}"
        );
    }
}

#[tokio::test]
async fn a_tenant_chooses_exactly_the_receivers_that_the_deployment_allows() {
    let mut f = Endpoints::start().await;
    f.function.trusted = TrustedReceivers::parse("https://127.0.0.1:9443").unwrap();
    let mut body = wanted();
    body["url"] = json!("https://127.0.0.1:9443/in");
    let created = f.create(&body).await;
    assert_eq!((created.status, &created.json["url"]), (201, &body["url"]), "{}", created.json);

    let id = f.all().await[0].id;
    let moved = f.update(id, &json!({"url": "https://127.0.0.1:9443/v2"})).await;
    assert_eq!((moved.status, &moved.json["url"]), (200, &json!("https://127.0.0.1:9443/v2")));
    for url in ["https://127.0.0.1/in", "https://127.0.0.1:9444/in", "https://10.0.0.1:9443/"] {
        let refused = [("body.url".to_owned(), "value_error".to_owned())];
        assert_eq!(f.update(id, &json!({"url": url})).await.failures(), refused, "{url}");
    }
}

#[tokio::test]
async fn concurrent_creations_stop_at_ten_endpoints() {
    let f = Endpoints::start().await;
    for _ in 0..8 {
        f.endpoint().await;
    }
    let body = wanted();
    let answers = join_all((0..4).map(|_| f.create(&body))).await;
    assert_eq!((Answer::statuses(&answers), f.all().await.len()), (vec![201, 201, 422, 422], 10));
    let refused = answers.iter().find(|answer| answer.status == 422).unwrap();
    let text = r#"{"title":"Limit Reached","status":422,"code":"SERVICE_SETTING_1201","extra":{"limit":"webhookEndpoints","of":10}}"#;
    assert_eq!(refused.text, text);
    assert_eq!(f.audit().await.len(), 2);
}

#[tokio::test]
async fn a_repeat_under_an_idempotency_key_gets_the_endpoint_without_its_secret() {
    let f = Endpoints::start().await;
    let event = f.world.event("endpoints-create.json").request_id("r");
    let first = f.send(event.clone()).await;
    let again = f.send(event.clone()).await;
    let mut expected = first.json.clone();
    expected["signingSecret"] = json!(null);
    assert_eq!((again.status, &again.json), (201, &expected));
    assert_eq!(again.headers["idempotent-replayed"], "true");
    let other = f.send(event.clone().body(&wanted())).await;
    assert_eq!(code(&other), (422, "SERVICE_CORE_0423"));
    let both =
        join_all([event.clone(), event].map(|event| f.send(event.header("Idempotency-Key", "another"))))
            .await;
    assert_eq!(both.iter().filter(|answer| !answer.json["signingSecret"].is_null()).count(), 1);
    assert_eq!((f.all().await.len(), f.audit().await.len()), (2, 2));
}

#[tokio::test]
async fn an_endpoint_its_secrets_and_its_entry_are_created_together() {
    for calls in 0..8 {
        for death in [Death::Before, Death::After] {
            let f = Endpoints::start().await;
            let dead = f.world.db.die_after(calls, death);
            let body = wanted();
            tokio::select! {
                _ = f.create(&body) => {}
                _ = dead => {}
            }
            f.world.db.revive();
            let made = f.all().await;
            for endpoint in &made {
                let (store, workspace) = (f.world.db.store(), f.world.workspace);
                assert!(store.endpoint_secrets(workspace, endpoint.id).await.unwrap().is_some());
            }
            assert_eq!(f.audit().await.len(), made.len(), "{calls} {death:?}");
        }
    }
}

#[tokio::test]
async fn a_creation_takes_three_round_trips() {
    let f = Endpoints::start().await;
    f.create(&wanted()).await;
    f.world.db.forget_calls();
    f.create(&wanted()).await;
    assert_eq!(trips(&f.world.db.calls()), 3);
}

#[tokio::test]
async fn without_self_service_nothing_is_created() {
    let f = Endpoints::start().await;
    f.world.change_workspace(|workspace| workspace.with_self_service(SelfService::Off)).await;
    assert_eq!(f.create(&wanted()).await.status, 403);
    assert_eq!(f.all().await, []);
}
