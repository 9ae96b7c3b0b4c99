//! PATCH /webhook-endpoints/{endpointId}.

use domain::webhook::DisabledReason;
use domain::{EndpointId, EventFilter, JobKind};
use harness::{Answer, Death, trips};
use serde_json::{Value, json};

use crate::{Endpoints, code};

impl Endpoints {
    pub(super) async fn update(&self, id: EndpointId, body: &Value) -> Answer {
        self.send(self.of("update", id).body(body)).await
    }
}

#[tokio::test]
async fn a_new_url_of_an_enabled_endpoint_asks_for_its_waiting_deliveries_again() {
    let f = Endpoints::start().await;
    let endpoint = f.endpoint().await;
    let body = json!({"url": "https://hooks.example.com/v2", "receiverKey": "other"});
    let answer = f.update(endpoint.id, &body).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    let job = &answer.json["job"];
    assert_eq!(
        (&job["what"], &job["state"], &job["attempted"]),
        (&json!("ENABLE"), &json!("ACTIVE"), &json!(0))
    );
    assert_eq!(answer.json["url"], "https://hooks.example.com/v2");
    let store = f.world.db.store();
    let slot = endpoint.all_slots().next().unwrap();
    let jobs = store.jobs(slot).await.unwrap();
    assert_eq!((jobs.len(), jobs[0].job.kind), (1, JobKind::Enable));
    assert_eq!(json!(jobs[0].job.id.to_string()), job["id"]);
    let due = store.webhook_lane_due(slot).await.unwrap().unwrap();
    assert_eq!(due.since(store.now()).as_secs(), 120, "the sweeper comes if the message is lost");
    assert_eq!(f.queued(), ["fast"]);
    let secrets = store.endpoint_secrets(f.world.workspace, endpoint.id).await.unwrap().unwrap();
    assert_eq!(secrets.api_key.expose(), "other");
    let fields = ["url", "receiverKey"].map(str::to_owned).to_vec();
    assert_eq!(f.audit().await, [("webhook_endpoint.update".to_owned(), endpoint.id.to_string(), fields)]);
    // A repeat finds the job, and writes nothing.
    let again = f.update(endpoint.id, &body).await;
    assert_eq!((again.json, f.audit().await.len(), f.queued()), (answer.json, 1, vec![]));
    assert_eq!(f.stored(endpoint.id).await.version, 2);
}

#[tokio::test]
async fn a_field_that_is_not_given_stays_and_null_removes_what_is_optional() {
    let f = Endpoints::start().await;
    let id = f.endpoint().await.id;
    let first =
        json!({"description": "orders", "events": ["lead.sent"], "maxConcurrency": 3, "maxPerSecond": 9});
    let answer = f.update(id, &first).await.json;
    assert_eq!(answer["job"], json!(null), "no new URL, no job");
    let stored = f.stored(id).await;
    assert_eq!(stored.filter, EventFilter::parse(["lead.sent"]).unwrap());
    assert_eq!((stored.caps.concurrency, stored.caps.per_second), (Some(3), Some(9)));
    let second =
        f.update(id, &json!({"description": null, "maxConcurrency": null, "events": ["*"]})).await.json;
    let shown =
        ["description", "maxConcurrency", "maxPerSecond", "events"].map(|field| second[field].clone());
    assert_eq!(shown, [json!(null), json!(null), json!(9), json!(["*"])]);
    // Entries of the same moment have no order.
    let mut fields: Vec<_> = f.audit().await.into_iter().map(|(_, _, fields)| fields.join(" ")).collect();
    fields.sort();
    assert_eq!(
        fields,
        ["description events maxConcurrency", "description events maxConcurrency maxPerSecond"]
    );
    assert_eq!(f.queued(), [""; 0]);
}

#[tokio::test]
async fn a_change_without_an_effect_writes_nothing() {
    let f = Endpoints::start().await;
    let id = f.endpoint().await.id;
    for body in [json!({}), json!({"receiverKey": "customer-key", "url": "https://hooks.example.com/in"})] {
        let answer = f.update(id, &body).await;
        assert_eq!((answer.status, &answer.json["job"]), (200, &json!(null)), "{body}");
    }
    assert_eq!((f.stored(id).await.version, f.audit().await.len()), (1, 0));
}

#[tokio::test]
async fn a_new_url_of_a_disabled_endpoint_leaves_it_disabled() {
    let f = Endpoints::start().await;
    let now = f.world.db.store().now();
    let disable = |endpoint: &mut domain::WebhookEndpoint| {
        *endpoint = endpoint.disabled(DisabledReason::Gone, now).unwrap();
    };
    let id = f.world.endpoint_of(f.world.workspace, disable).await.id;
    let answer = f.update(id, &json!({"url": "https://hooks.example.com/v2"})).await;
    assert_eq!((&answer.json["state"], &answer.json["job"]), (&json!("DISABLED"), &json!(null)));
    assert_eq!(f.queued(), [""; 0]);
}

#[tokio::test]
async fn unfit_changes_are_refused_and_a_cap_counts_the_slots() {
    let f = Endpoints::start().await;
    let id = f.world.endpoint_of(f.world.workspace, |endpoint| endpoint.slots = 4).await.id;
    for (body, place, kind) in [
        (json!({"url": "https://10.0.0.1/"}), "url", "value_error"),
        (json!({"url": null}), "url", "string_type"),
        (json!({"receiverKey": null}), "receiverKey", "string_type"),
        (json!({"events": null}), "events", "list_type"),
        (json!({"slots": 5}), "slots", "extra_forbidden"),
        (json!({"maxPerSecond": 3}), "maxPerSecond", "greater_than_equal"),
    ] {
        let answer = f.update(id, &body).await;
        assert_eq!(answer.failures(), [(format!("body.{place}"), kind.to_owned())], "{body}");
    }
    assert_eq!(f.update(id, &json!({"maxPerSecond": 4})).await.status, 200);
}

#[tokio::test]
async fn if_match_must_name_the_state_that_was_read() {
    let f = Endpoints::start().await;
    let id = f.endpoint().await.id;
    let read = f.send(f.of("get", id)).await;
    let tag = read.headers["etag"].clone();
    let first = f.send(f.of("update", id).header("If-Match", &tag).body(&json!({"description": "a"}))).await;
    assert_eq!(first.status, 200);
    let tagged = first.headers["etag"].clone();
    assert_eq!(f.send(f.of("get", id)).await.headers["etag"], first.headers["etag"]);
    for file in ["update", "delete", "enable", "disable", "rotate-secret", "activate-secret"] {
        let stale = f.send(f.of(file, id).header("If-Match", &tag)).await;
        assert_eq!(code(&stale), (412, "SERVICE_CORE_0412"), "{file}");
    }
    assert_eq!(f.audit().await.len(), 1);
    for file in ["disable", "delete"] {
        let tag = match file {
            "disable" => tagged.clone(),
            _ => f.send(f.of("get", id)).await.headers["etag"].clone(),
        };
        assert!(f.send(f.of(file, id).header("If-Match", &tag)).await.status < 300, "{file}");
    }
}

#[tokio::test]
async fn an_endpoint_with_its_new_url_its_job_and_its_entry_change_together() {
    for calls in 0..10 {
        for death in [Death::Before, Death::After] {
            let f = Endpoints::start().await;
            let id = f.world.endpoint_of(f.world.workspace, |endpoint| endpoint.slots = 3).await.id;
            let dead = f.world.db.die_after(calls, death);
            let body = json!({"url": "https://hooks.example.com/v2", "receiverKey": "other"});
            tokio::select! {
                _ = f.update(id, &body) => {}
                _ = dead => {}
            }
            f.world.db.revive();
            let (store, endpoint) = (f.world.db.store(), f.stored(id).await);
            let is_new = endpoint.version == 2;
            let secrets = store.endpoint_secrets(f.world.workspace, id).await.unwrap().unwrap();
            assert_eq!(secrets.api_key.expose() == "other", is_new, "{calls} {death:?}");
            for slot in endpoint.all_slots() {
                assert_eq!(store.jobs(slot).await.unwrap().len(), usize::from(is_new), "{calls} {death:?}");
                assert_eq!(store.webhook_lane_due(slot).await.unwrap().is_some(), is_new);
            }
            assert_eq!(f.audit().await.len(), usize::from(is_new), "{calls} {death:?}");
        }
    }
}

#[tokio::test]
async fn a_change_takes_two_round_trips() {
    let f = Endpoints::start().await;
    let id = f.endpoint().await.id;
    f.update(id, &json!({"description": "a"})).await;
    f.world.db.forget_calls();
    f.update(id, &json!({"description": "b", "receiverKey": "c"})).await;
    assert_eq!(trips(&f.world.db.calls()), 2);
}
