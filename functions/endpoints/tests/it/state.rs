//! POST /webhook-endpoints/{endpointId}/enable and /disable.

use std::time::Duration;

use domain::EndpointId;
use futures::future::join_all;
use harness::{Answer, Death};
use serde_json::json;

use crate::Endpoints;

impl Endpoints {
    async fn verb(&self, verb: &str, id: EndpointId) -> Answer {
        self.send(self.of(verb, id)).await
    }
}

#[tokio::test]
async fn an_endpoint_is_disabled_and_enabled_with_a_job_any_number_of_times() {
    let f = Endpoints::start().await;
    let id = f.world.endpoint_of(f.world.workspace, |endpoint| endpoint.slots = 2).await.id;
    let disabled = f.verb("disable", id).await.json;
    let shown = ["state", "disabledReason", "disabledAt", "job"].map(|field| disabled[field].clone());
    assert_eq!(shown, [json!("DISABLED"), json!("TENANT"), json!("2026-01-02T03:04:05.678Z"), json!(null)]);
    f.world.db.clock().advance(Duration::from_secs(1));
    assert_eq!(f.verb("disable", id).await.json, disabled, "the first time and reason stay");
    let enabled = f.verb("enable", id).await.json;
    assert_eq!((&enabled["state"], &enabled["disabledAt"]), (&json!("ENABLED"), &json!(null)));
    assert_eq!(enabled["job"]["what"], "ENABLE");
    assert_eq!(f.queued(), ["fast", "fast"]);
    let again = f.verb("enable", id).await.json;
    assert_eq!(again["job"]["id"], enabled["job"]["id"], "the second finds the job of that version");
    f.verb("disable", id).await;
    let next = f.verb("enable", id).await.json;
    assert_ne!(next["job"]["id"], enabled["job"]["id"]);
    // Entries of the same moment have no order.
    let mut actions: Vec<_> = f.audit().await.into_iter().map(|(action, _, _)| action).collect();
    actions.sort();
    let [disable, enable] = ["webhook_endpoint.disable", "webhook_endpoint.enable"];
    assert_eq!(actions, [disable, disable, enable, enable]);
}

#[tokio::test]
async fn of_concurrent_enablings_all_answer_with_one_job() {
    let f = Endpoints::start().await;
    let id = f.endpoint().await.id;
    f.verb("disable", id).await;
    let all = join_all((0..4).map(|_| f.verb("enable", id))).await;
    assert!(
        all.iter().all(|answer| answer.status == 200 && answer.json["job"]["id"] == all[0].json["job"]["id"])
    );
    assert_eq!((f.stored(id).await.version, f.audit().await.len()), (3, 2));
}

#[tokio::test]
async fn no_endpoint_is_enabled_whose_deliveries_wait_without_a_job() {
    for calls in 0..10 {
        for death in [Death::Before, Death::After] {
            let f = Endpoints::start().await;
            let id = f.world.endpoint_of(f.world.workspace, |endpoint| endpoint.slots = 3).await.id;
            f.verb("disable", id).await;
            let dead = f.world.db.die_after(calls, death);
            tokio::select! {
                _ = f.verb("enable", id) => {}
                _ = dead => {}
            }
            f.world.db.revive();
            let endpoint = f.stored(id).await;
            let (store, is_enabled) = (f.world.db.store(), endpoint.is_enabled());
            for slot in endpoint.all_slots() {
                assert_eq!(
                    store.jobs(slot).await.unwrap().len(),
                    usize::from(is_enabled),
                    "{calls} {death:?}"
                );
                assert_eq!(store.webhook_lane_due(slot).await.unwrap().is_some(), is_enabled);
            }
            assert_eq!(f.audit().await.len(), 1 + usize::from(is_enabled), "{calls} {death:?}");
            // A repeat succeeds in each case.
            assert_eq!(f.verb("enable", id).await.json["job"]["what"], "ENABLE");
            assert_eq!(f.audit().await.len(), 2);
        }
    }
}

#[tokio::test]
async fn a_message_that_the_queue_refuses_is_left_to_the_sweeper() {
    let f = Endpoints::start().await;
    let endpoint = f.endpoint().await;
    f.verb("disable", endpoint.id).await;
    f.queue.close(true);
    assert_eq!(f.verb("enable", endpoint.id).await.status, 200);
    let slot = endpoint.all_slots().next().unwrap();
    assert!(f.world.db.store().webhook_lane_due(slot).await.unwrap().is_some());
}
