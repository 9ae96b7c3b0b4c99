//! POST /deliveries/{deliveryId}/retry.

use domain::webhook::DisabledReason;
use domain::webhook::delivery::Next;
use domain::{DeliveryId, EventType, JobKind};
use harness::{Answer, Death};
use serde_json::json;

use crate::{Log, answered, code, delivery_of};

impl Log {
    async fn retry(&self, id: DeliveryId) -> Answer {
        self.send(self.event("retry").path("deliveryId", id)).await
    }
}

#[tokio::test]
async fn a_retry_requests_a_job_once_and_wakes_the_lane() {
    let f = Log::start().await;
    let endpoint = f.endpoint().await;
    let id = delivery_of(f.record(EventType::LeadSent, &[&endpoint]).await, &endpoint);
    f.attempted(id, answered(503), Next::Exhausted).await;
    f.pass(1);
    let first = f.retry(id).await;
    assert_eq!(first.status, 201, "{}", first.text);
    let expected = json!({
        "id": first.json["id"], "what": "RETRY", "deliveryId": id.to_string(), "since": null, "until": null,
        "state": "ACTIVE", "attempted": 0, "delivered": 0, "passedOver": 0,
        "askedAt": "2026-01-02T03:04:06.678Z", "movedAt": "2026-01-02T03:04:06.678Z",
    });
    assert_eq!((&first.json, f.queued()), (&expected, vec!["fast".to_owned()]));
    let slot = endpoint.all_slots().next().unwrap();
    let [job] = &f.world.db.store().jobs(slot).await.unwrap()[..] else { panic!("one job is expected") };
    assert_eq!(job.job.kind, JobKind::Retry { event: id.event, at: f.stored(id).await.created_at });
    let again = f.retry(id).await;
    assert_eq!((again.status, &again.json), (200, &first.json), "a repeat finds the job");
    assert_eq!(f.audit().await, [("delivery.retry".to_owned(), id.to_string())]);
}

#[tokio::test]
async fn a_disabled_or_deleted_endpoint_gets_no_retry() {
    let f = Log::start().await;
    let endpoint = f.endpoint().await;
    let id = delivery_of(f.record(EventType::LeadSent, &[&endpoint]).await, &endpoint);
    let (store, now) = (f.world.db.store(), f.now());
    let disabled = endpoint.disabled(DisabledReason::Gone, now).unwrap();
    assert!(store.replace_endpoint(&disabled).await.unwrap());
    let refused = f.retry(id).await;
    assert_eq!(
        (code(&refused), &refused.json["extra"]),
        ((409, "SERVICE_WEBHOOK_0409"), &json!({"reason": "DISABLED"}))
    );
    assert!(store.delete_endpoint(&disabled, harness::operator()).await.unwrap());
    assert_eq!(code(&f.retry(id).await), (404, "SERVICE_WEBHOOK_0404"));
    assert_eq!((f.audit().await, f.queued()), (vec![], vec![]));
}

#[tokio::test]
async fn a_retry_and_its_entry_are_one() {
    for calls in 0..12 {
        for death in [Death::Before, Death::After] {
            let f = Log::start().await;
            let endpoint = f.endpoint().await;
            let id = delivery_of(f.record(EventType::LeadSent, &[&endpoint]).await, &endpoint);
            let slot = endpoint.all_slots().next().unwrap();
            let dead = f.world.db.die_after(calls, death);
            tokio::select! {
                _ = f.retry(id) => {}
                _ = dead => {}
            }
            f.world.db.revive();
            let jobs = f.world.db.store().jobs(slot).await.unwrap().len();
            assert_eq!(f.audit().await.len(), jobs, "{calls} {death:?}");
            // A repeat succeeds in each case.
            assert!(f.retry(id).await.status < 300);
            assert_eq!(f.audit().await.len(), 1);
            assert!(f.world.db.store().webhook_lane_due(slot).await.unwrap().is_some());
        }
    }
}
