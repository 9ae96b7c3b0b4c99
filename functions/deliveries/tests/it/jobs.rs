//! The routes of /webhook-endpoints/{endpointId}/jobs.

use std::time::Duration;

use domain::webhook::DisabledReason;
use domain::{EndpointId, EventType, JobId, JobState, WebhookEndpoint};
use harness::{Answer, trips};
use serde_json::{Value, json};

use crate::{Log, code, delivery_of, each};

impl Log {
    async fn request(&self, id: EndpointId, body: &Value) -> Answer {
        self.send(self.event("request-job").path("endpointId", id).body(body)).await
    }

    async fn jobs(&self, id: EndpointId) -> Answer {
        self.send(self.event("jobs").path("endpointId", id)).await
    }

    async fn job(&self, verb: &str, id: EndpointId, job: &Value) -> Answer {
        let event = self.event(verb).path("endpointId", id);
        self.send(event.path("jobId", job.as_str().unwrap())).await
    }

    fn replay(&self) -> Value {
        let since = self.now().as_millis() - 3_600_000;
        json!({"what": "REPLAY", "since": domain::Timestamp::from_millis(since).to_string()})
    }

    /// Ends a job in each of its slots.
    async fn end(&self, endpoint: &WebhookEndpoint, job: &Value) {
        let (store, id) = (self.world.db.store(), JobId::parse(job.as_str().unwrap()).unwrap());
        for slot in endpoint.all_slots() {
            let found = store.job(slot, id).await.unwrap().unwrap();
            let page = store.job_page(&found, &store::WebhookLane::default(), 100).await.unwrap();
            let ended = store.advance_job(&found, &page, &found.job.clone()).await.unwrap().unwrap();
            assert_eq!(ended.job.state, JobState::Done);
        }
    }
}

#[tokio::test]
async fn a_replay_is_requested_in_each_slot_and_a_repeat_finds_it() {
    let f = Log::start().await;
    let endpoint = f.world.endpoint_of(f.world.workspace, |endpoint| endpoint.slots = 3).await;
    f.pass(2 * 3_600);
    let body = json!({"what": "REPLAY", "since": "2026-01-02T03:04:05Z", "until": "2026-01-02T04:04:05Z"});
    let made = f.request(endpoint.id, &body).await;
    assert_eq!(made.status, 201, "{}", made.text);
    let expected = json!({
        "id": made.json["id"], "what": "REPLAY", "deliveryId": null,
        "since": "2026-01-02T03:04:05.000Z", "until": "2026-01-02T04:04:05.000Z",
        "state": "ACTIVE", "attempted": 0, "delivered": 0, "passedOver": 0,
        "askedAt": "2026-01-02T05:04:05.678Z", "movedAt": "2026-01-02T05:04:05.678Z",
    });
    assert_eq!((&made.json, f.queued().len()), (&expected, 3));
    let again = f.request(endpoint.id, &body).await;
    assert_eq!((again.status, &again.json), (200, &expected));
    let entry = ("webhook_endpoint.replay".to_owned(), endpoint.id.to_string());
    assert_eq!(f.audit().await, [entry]);
    assert_eq!(f.job("job", endpoint.id, &made.json["id"]).await.json, expected);
    assert_eq!(f.jobs(endpoint.id).await.json, json!({"jobs": [expected]}));
}

#[tokio::test]
async fn a_recovery_that_ended_starts_again() {
    let f = Log::start().await;
    let endpoint = f.endpoint().await;
    let body = json!({"what": "RECOVER", "since": f.now().to_string()});
    f.pass(60);
    let made = f.request(endpoint.id, &body).await;
    assert_eq!(
        (made.status, &made.json["what"], &made.json["until"]),
        (201, &json!("RECOVER"), &json!(null))
    );
    assert_eq!(f.request(endpoint.id, &body).await.status, 200);
    f.end(&endpoint, &made.json["id"]).await;
    f.pass(60);
    let again = f.request(endpoint.id, &body).await;
    assert_eq!((again.status, &again.json["id"]), (201, &made.json["id"]));
    assert_eq!((f.audit().await.len(), &again.json["state"]), (2, &json!("ACTIVE")));
}

#[tokio::test]
async fn a_range_and_a_body_that_do_not_fit_are_refused() {
    let f = Log::start().await;
    let id = f.endpoint().await.id;
    let now = f.now();
    let ago = |days: u64| now.minus(Duration::from_secs(days * 86_400)).to_string();
    for (body, failed) in [
        (json!({}), vec![("what", "missing"), ("since", "missing")]),
        (
            json!({"what": "ENABLE", "since": "now", "until": 5, "slots": 1}),
            vec![
                ("slots", "extra_forbidden"),
                ("what", "enum"),
                ("since", "value_error"),
                ("until", "string_type"),
            ],
        ),
        (json!({"what": "RECOVER", "since": ago(1), "until": ago(0)}), vec![("until", "value_error")]),
        (json!({"what": "REPLAY", "since": ago(15)}), vec![("since", "value_error")]),
        (json!({"what": "RECOVER", "since": ago(15)}), vec![("since", "value_error")]),
        (json!({"what": "REPLAY", "since": ago(1), "until": ago(2)}), vec![("since", "value_error")]),
    ] {
        let failed: Vec<_> =
            failed.into_iter().map(|(name, kind)| (format!("body.{name}"), kind.to_owned())).collect();
        assert_eq!(f.request(id, &body).await.failures(), failed, "{body}");
        f.pass(1);
    }
    let null = json!({"what": "REPLAY", "since": ago(1), "until": null});
    assert_eq!(f.request(id, &null).await.status, 201);
    assert_eq!(f.audit().await.len(), 1);
}

#[tokio::test]
async fn a_disabled_endpoint_gets_no_job_and_shows_those_that_it_has() {
    let f = Log::start().await;
    let endpoint = f.endpoint().await;
    let made = f.request(endpoint.id, &f.replay()).await;
    let disabled = endpoint.disabled(DisabledReason::Gone, f.now()).unwrap();
    assert!(f.world.db.store().replace_endpoint(&disabled).await.unwrap());
    let refused = f.request(endpoint.id, &f.replay()).await;
    assert_eq!(
        (code(&refused), &refused.json["extra"]),
        ((409, "SERVICE_WEBHOOK_0409"), &json!({"reason": "DISABLED"}))
    );
    assert_eq!(each(&f.jobs(endpoint.id).await, "jobs", "id"), [made.json["id"].as_str().unwrap()]);
}

#[tokio::test]
async fn jobs_are_listed_newest_first_with_the_20_last_ended_ones() {
    let f = Log::start().await;
    let endpoint = f.endpoint().await;
    assert_eq!(f.jobs(endpoint.id).await.text, r#"{"jobs":[]}"#);
    let mut made = vec![];
    for n in 0..23 {
        f.pass(1);
        let job = f.request(endpoint.id, &f.replay()).await.json["id"].clone();
        if n > 0 {
            f.end(&endpoint, &job).await;
        }
        made.push(job);
    }
    let listed = f.jobs(endpoint.id).await.json;
    let ids: Vec<&Value> = listed["jobs"].as_array().unwrap().iter().map(|job| &job["id"]).collect();
    let expected: Vec<&Value> = made.iter().skip(3).rev().chain(made.first()).collect();
    assert_eq!(ids, expected, "the active one stays");
}

#[tokio::test]
async fn a_job_is_cancelled_in_all_slots_once_and_an_ended_one_is_refused() {
    let f = Log::start().await;
    let endpoint = f.world.endpoint_of(f.world.workspace, |endpoint| endpoint.slots = 2).await;
    let job = f.request(endpoint.id, &f.replay()).await.json["id"].clone();
    f.pass(1);
    let cancelled = f.job("cancel-job", endpoint.id, &job).await;
    assert_eq!((cancelled.status, &cancelled.json["state"]), (200, &json!("CANCELLED")));
    assert_eq!(f.job("cancel-job", endpoint.id, &job).await.json, cancelled.json, "a repeat");
    let entry = ("webhook_job.cancel".to_owned(), job.as_str().unwrap().to_owned());
    let entries = f.audit().await;
    assert_eq!((entries.len(), entries.contains(&entry)), (2, true));
    let ended = f.request(endpoint.id, &f.replay()).await.json["id"].clone();
    f.end(&endpoint, &ended).await;
    let refused = f.job("cancel-job", endpoint.id, &ended).await;
    assert_eq!(
        (code(&refused), &refused.json["extra"]),
        ((409, "SERVICE_WEBHOOK_0409"), &json!({"reason": "JOB_ENDED"}))
    );
}

#[tokio::test]
async fn a_job_of_another_endpoint_and_a_foreign_one_are_unknown() {
    let f = Log::start().await;
    let (one, other) = (f.endpoint().await, f.endpoint().await);
    let job = f.request(one.id, &f.replay()).await.json["id"].clone();
    let (workspace, token) = f.world.second_workspace().await;
    for verb in ["job", "cancel-job"] {
        let of_other = f.job(verb, other.id, &job).await;
        assert_eq!(code(&of_other), (404, "SERVICE_WEBHOOK_0404"), "{verb}");
        let event = f.event(verb).path("endpointId", one.id).path("jobId", job.as_str().unwrap());
        let foreign = f.send(event.path("workspaceId", workspace).header("x-api-key", &token)).await;
        assert_eq!(foreign.text, of_other.text, "{verb}");
    }
    assert_eq!(f.job("job", one.id, &job).await.json["state"], "ACTIVE");
}

#[tokio::test]
async fn the_routes_take_as_many_round_trips_as_their_descriptions_say() {
    let f = Log::start().await;
    let endpoint = f.endpoint().await;
    let delivery = delivery_of(f.record(EventType::LeadSent, &[&endpoint]).await, &endpoint);
    let body = f.replay();
    let job = f.request(endpoint.id, &body).await.json["id"].clone();
    let of = |file: &str| f.event(file).path("endpointId", endpoint.id);
    let rows = [
        ("jobs", of("jobs"), 2),
        ("job", of("job").path("jobId", job.as_str().unwrap()), 2),
        ("request", of("request-job").body(&json!({"what": "RECOVER", "since": body["since"]})), 5),
        ("retry", f.event("retry").path("deliveryId", delivery), 6),
        ("cancel", of("cancel-job").path("jobId", job.as_str().unwrap()), 4),
        ("test", of("test"), 4),
    ];
    for (name, event, expected) in rows {
        f.pass(1);
        f.world.db.forget_calls();
        assert!(f.send(event).await.status < 300, "{name}");
        assert_eq!(trips(&f.world.db.calls()), expected, "{name}");
    }
}
