//! POST /webhook-endpoints/{endpointId}/rotate-secret and /activate-secret.

use std::time::Duration;

use domain::EndpointId;
use futures::future::join;
use harness::{Answer, Death};
use serde_json::{Value, json};

use crate::Endpoints;

impl Endpoints {
    async fn rotate(&self, id: EndpointId, replace: bool) -> Answer {
        self.send(self.of("rotate-secret", id).body(&json!({ "replace": replace }))).await
    }

    async fn activate(&self, id: EndpointId) -> Answer {
        self.send(self.of("activate-secret", id)).await
    }

    /// The secrets that sign, the active one first.
    async fn in_force(&self, id: EndpointId) -> Vec<Value> {
        let (store, workspace) = (self.world.db.store(), self.world.workspace);
        let signing = store.endpoint_secrets(workspace, id).await.unwrap().unwrap().signing;
        signing.in_force(store.now()).map(|secret| json!(secret.expose())).collect()
    }
}

fn refused(answer: &Answer) -> (u16, &Value, &Value) {
    assert_eq!(answer.json["code"], "SERVICE_WEBHOOK_0409");
    (answer.status, &answer.json["extra"]["reason"], &answer.json["extra"]["until"])
}

#[tokio::test]
async fn a_secret_is_rotated_in_two_phases() {
    let f = Endpoints::start().await;
    let id = f.endpoint().await.id;
    let [first] = f.in_force(id).await.try_into().unwrap();
    let none = f.activate(id).await;
    assert_eq!(refused(&none), (409, &json!("NO_NEXT_SECRET"), &json!(null)));

    let next = f.rotate(id, false).await.json;
    assert_eq!(next["signatures"], 2);
    assert_eq!(f.in_force(id).await, [first.clone(), next["signingSecret"].clone()]);
    let waits = f.rotate(id, false).await;
    assert_eq!(refused(&waits), (409, &json!("NEXT_SECRET_WAITS"), &json!(null)));
    let other = f.rotate(id, true).await.json;
    assert_eq!(f.in_force(id).await, [first.clone(), other["signingSecret"].clone()]);

    let until = "2026-01-03T03:04:05.678Z";
    assert_eq!(f.activate(id).await.json, json!({"activated": true, "previousSignsUntil": until}));
    f.world.db.clock().advance(Duration::from_secs(60));
    assert_eq!(
        f.activate(id).await.json,
        json!({"activated": false, "previousSignsUntil": until}),
        "a repeat"
    );
    assert_eq!(f.in_force(id).await, [other["signingSecret"].clone(), first]);
    f.rotate(id, false).await;
    let runs = f.activate(id).await;
    assert_eq!(refused(&runs), (409, &json!("ROTATION_RUNS"), &json!(until)));
    // Entries of the same moment have no order.
    let mut actions: Vec<_> = f.audit().await.into_iter().map(|(action, _, _)| action).collect();
    actions.sort();
    let [rotate, activate] = ["webhook_endpoint.rotate_secret", "webhook_endpoint.activate_secret"];
    assert_eq!(actions, [activate, rotate, rotate, rotate]);
}

#[tokio::test]
async fn a_rotation_needs_no_body_and_refuses_an_unknown_field() {
    let f = Endpoints::start().await;
    let id = f.endpoint().await.id;
    let bare = f.of("activate-secret", id).json().clone();
    assert_eq!(bare["body"], json!(null));
    let empty = f.of("rotate-secret", id).raw_body("");
    assert_eq!(f.send(empty).await.status, 200);
    for (body, place, kind) in [
        (json!({"replaces": true}), "body.replaces", "extra_forbidden"),
        (json!({"replace": "yes"}), "body.replace", "bool_parsing"),
        (json!([]), "body", "dict_type"),
    ] {
        let answer = f.send(f.of("rotate-secret", id).body(&body)).await;
        assert_eq!(answer.failures(), [(place.to_owned(), kind.to_owned())], "{body}");
    }
}

#[tokio::test]
async fn of_two_concurrent_rotations_one_secret_signs() {
    let f = Endpoints::start().await;
    let id = f.endpoint().await.id;
    let (one, other) = join(f.rotate(id, false), f.rotate(id, false)).await;
    let found = Answer::statuses([&one, &other]);
    assert_eq!((found, f.in_force(id).await.len(), f.audit().await.len()), (vec![200, 409], 2, 1));
}

#[tokio::test]
async fn a_rotation_and_its_entry_are_one() {
    for calls in 0..6 {
        for death in [Death::Before, Death::After] {
            let f = Endpoints::start().await;
            let id = f.endpoint().await.id;
            let dead = f.world.db.die_after(calls, death);
            tokio::select! {
                _ = f.rotate(id, false) => {}
                _ = dead => {}
            }
            f.world.db.revive();
            assert_eq!(f.audit().await.len() + 1, f.in_force(id).await.len(), "{calls} {death:?}");
        }
    }
}
