//! The log line of each request, and its metrics.

use domain::KeyId;
use domain::access::api_key::RateLimit;
use edge::{Api, ApiRequest};
use harness::{Answer, Fault, World};
use runtime::Metrics;
use runtime::metrics::{ApiFunction, Kept};
use serde_json::{Value, json};
use store::Table;

struct Heard {
    world: World,
    api: Api,
    counted: Kept,
}

impl Heard {
    async fn start() -> Self {
        let world = World::start().await;
        let (metrics, counted) = Metrics::kept(world.db.clock().clone());
        let api = Api::new(world.db.store_of("contacts"), metrics, ApiFunction::Contacts);
        Self { world, api, counted }
    }

    /// Sends a request. Returns the answer and its one log line.
    async fn send(&self, event: harness::GatewayEvent) -> (Answer, Value) {
        let answer = contacts::handle(&self.api, &ApiRequest::new(event.request())).await.into();
        let lines = self.counted.lines();
        assert_eq!(lines.len(), 1, "{lines:?}");
        (answer, serde_json::from_str(&lines[0]).unwrap())
    }
}

#[tokio::test]
async fn each_request_logs_one_line_with_its_ids_and_metrics() {
    let f = Heard::start().await;
    let contact = f.world.contact(|_| ()).await;
    let get = || f.world.event("contacts-get.json").path("contactId", contact.id).request_id("r-1");
    let (_, line) = f.send(get()).await;
    assert_eq!(
        [&line["level"], &line["message"], &line["requestId"], &line["workspace"], &line["status"]],
        [&json!("INFO"), &json!("answered"), &json!("r-1"), &json!(World::WORKSPACE), &json!(200)]
    );
    assert_eq!(line["route"], "GET /service/api/v1/workspaces/{workspaceId}/contacts/{contactId}");
    assert_eq!((&line["Function"], line["RequestTime"].is_u64()), (&json!("contacts"), true));
    assert!(line.get("Refused4xx").is_none() && line.get("Failed5xx").is_none(), "{line}");

    let (_, line) = f.send(get().header("x-api-key", "msk_nobody")).await;
    assert_eq!(
        [&line["message"], &line["code"], &line["Refused4xx"]],
        [&json!("refused"), &json!("SERVICE_CORE_0301"), &json!(1)]
    );
    assert!(line.get("RateLimited").is_none(), "{line}");

    f.world.db.fail("BatchGetItem", Fault::Unreachable, 6);
    let (answer, line) = f.send(get()).await;
    assert_eq!(
        (&line["level"], &line["message"], &line["status"], &line["Failed5xx"]),
        (&json!("ERROR"), &json!("failed"), &json!(answer.status), &json!(1))
    );
    assert!(answer.status >= 500 && line["cause"].is_string(), "{line}");
}

#[tokio::test]
async fn each_line_names_the_key_and_a_403_its_reason_which_the_answer_does_not_show() {
    let f = Heard::start().await;
    let w = &f.world;
    let (now, ids) = (w.db.store().now(), w.db.store().ids());
    let list = || w.event("contacts-list.json").query(&[]).request_id("r");
    let (foreign_workspace, foreign) = w.second_workspace().await;
    let unknown = domain::ApiKeyToken::from_entropy([99; 8]);
    let known: [KeyId; 4] = std::array::from_fn(|_| KeyId::generate(ids));
    let [good, expired, revoked, scopeless] = known;
    let at_good = w.key_with(w.workspace, &["*"], |key| key.id = good).await;
    let at_expired =
        w.key_with(w.workspace, &["*"], |key| (key.id, key.expires_at) = (expired, Some(now))).await;
    let at_revoked =
        w.key_with(w.workspace, &["*"], |key| (key.id, key.revoked_at) = (revoked, Some(now))).await;
    let at_scopeless = w.key_with(w.workspace, &["users:read"], |key| key.id = scopeless).await;

    let (answer, line) = f.send(list().header("x-api-key", &at_good)).await;
    assert_eq!((answer.status, &line["key"]), (200, &json!(good.to_string())));
    assert!(line.get("Reason").is_none() && line.get("Forbidden").is_none(), "{line}");

    let rows = [
        ("NO_KEY", None, list().without_header("x-api-key")),
        ("MALFORMED_KEY", None, list().header("x-api-key", "msk_nobody")),
        ("UNKNOWN_KEY", None, list().header("x-api-key", unknown.expose())),
        ("UNKNOWN_KEY", None, list().header("x-api-key", unknown.expose())),
        ("EXPIRED_KEY", Some(expired), list().header("x-api-key", &at_expired)),
        ("REVOKED_KEY", Some(revoked), list().header("x-api-key", &at_revoked)),
        ("NO_SCOPE", Some(scopeless), list().header("x-api-key", &at_scopeless)),
        ("NO_WORKSPACE", None, list().path("workspaceId", "x")),
    ];
    let first = f.send(rows[0].2.clone()).await.0;
    for (reason, key, event) in rows {
        let (answer, line) = f.send(event).await;
        assert_eq!(answer, first, "{reason}");
        assert_eq!((&line["Reason"], &line["Forbidden"]), (&json!(reason), &json!(1)), "{line}");
        assert_eq!(line.get("key"), key.map(|key| json!(key.to_string())).as_ref(), "{line}");
        let workspace = (reason != "NO_WORKSPACE").then(|| json!(World::WORKSPACE));
        assert_eq!(line.get("workspace"), workspace.as_ref(), "{line}");
    }
    // At first from the table, then from memory.
    for _ in 0..2 {
        let (answer, line) = f.send(list().header("x-api-key", &foreign)).await;
        assert_eq!((answer, &line["Reason"]), (first.clone(), &json!("OTHER_WORKSPACE")), "{line}");
        assert_eq!((&line["workspace"], line["key"].is_string()), (&json!(World::WORKSPACE), true), "{line}");
    }
    assert_ne!(foreign_workspace, w.workspace);
    w.change_workspace(|workspace| workspace.disabled(now)).await;
    w.db.clock().advance(std::time::Duration::from_secs(30));
    let (answer, line) = f.send(list().header("x-api-key", &at_good)).await;
    assert_eq!((answer, &line["Reason"]), (first, &json!("DISABLED_WORKSPACE")), "{line}");
    assert_eq!((&line["key"], &line["workspace"]), (&json!(good.to_string()), &json!(World::WORKSPACE)));
}

#[tokio::test]
async fn a_request_over_the_rate_limit_is_counted() {
    let f = Heard::start().await;
    let rate = RateLimit { per_second: 1, burst: 1 };
    let key = f.world.key_with(f.world.workspace, &["*"], |key| key.rate = rate).await;
    let list = || f.world.event("contacts-list.json").query(&[]).header("x-api-key", &key);
    f.send(list()).await;
    let (answer, line) = f.send(list()).await;
    assert_eq!((answer.status, &line["RateLimited"], &line["Refused4xx"]), (429, &json!(1), &json!(1)));
}

#[tokio::test]
async fn a_row_names_its_request_and_each_write_has_its_own_id() {
    let f = Heard::start().await;
    let contact = f.world.contact(|_| ()).await;
    let mut writes = vec![];
    for name in ["Ana", "Eva"] {
        let event = f.world.event("contacts-update.json").path("contactId", contact.id).request_id("r-7");
        let (answer, _) = f.send(event.body(&json!({ "firstName": name }))).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        let images = f.world.db.stream(Table::Contacts);
        let records = images["Records"].as_array().unwrap();
        let written =
            records.iter().rev().find(|record| record["dynamodb"]["NewImage"]["kind"]["S"] == "contact");
        writes
            .push(written.unwrap()["dynamodb"]["NewImage"]["lastRequest"]["S"].as_str().unwrap().to_owned());
    }
    assert!(writes.iter().all(|write| write.starts_with("r-7/")) && writes[0] != writes[1], "{writes:?}");
}
