use std::time::Duration;

use domain::WorkspaceId;
use insta::{assert_json_snapshot, assert_snapshot};
use serde_json::{Value, json};

use crate::Desk;

/// A workspace with endpoints, to be sent trial events.
struct Hooks {
    desk: Desk,
    workspace: String,
}

impl Hooks {
    async fn new() -> Self {
        let (desk, workspace) = Desk::with_workspace().await;
        Self { desk, workspace }
    }

    async fn json(&self, arguments: &[&str]) -> Value {
        self.desk.json(&[arguments, &["--workspace", &self.workspace]].concat()).await
    }

    async fn endpoint(&self) -> String {
        let url = "https://hooks.example.com/in";
        let made = self.json(&["webhook", "create", "--url", url, "--api-key", "k"]).await;
        made["endpointId"].as_str().unwrap().to_owned()
    }

    /// Sends a trial event and returns its delivery's id. A moment passes, so that deliveries are in order.
    async fn test(&self, endpoint: &str) -> String {
        self.desk.db.clock().advance(Duration::from_millis(1));
        let sent = self.json(&["webhook", "test", "--endpoint", endpoint]).await;
        sent["deliveryId"].as_str().unwrap().to_owned()
    }

    async fn listed(&self, more: &[&str]) -> Vec<(String, String)> {
        let listed = self.json(&[&["delivery", "list"], more].concat()).await;
        let text = |delivery: &Value, name: &str| delivery[name].as_str().unwrap().to_owned();
        listed
            .as_array()
            .unwrap()
            .iter()
            .map(|delivery| (text(delivery, "deliveryId"), text(delivery, "state")))
            .collect()
    }
}

fn in_state(state: &str, deliveries: &[&String]) -> Vec<(String, String)> {
    deliveries.iter().map(|id| ((*id).clone(), state.to_owned())).collect()
}

#[tokio::test]
async fn a_trial_event_is_recorded_with_its_delivery_and_queued() {
    let hooks = Hooks::new().await;
    let endpoint = hooks.endpoint().await;
    let sent = hooks.json(&["webhook", "test", "--endpoint", &endpoint]).await;
    assert_json_snapshot!(sent, @r#"
    {
      "deliveryId": "00b9aedb-b55f-51df-b193-880af16de123",
      "endpointId": "00000000-0000-4000-8000-000000000004",
      "eventId": "3240c357-81ee-55ea-9a87-0f2e226d1b03"
    }
    "#);
    let queued = hooks.desk.queue.take();
    assert_eq!(queued.len(), 1);
    let body: Value = serde_json::from_str(&queued[0].body).unwrap();
    assert_eq!(body, json!({ "workspaceId": hooks.workspace, "deliveryId": sent["deliveryId"] }));
    assert_eq!(queued[0].group, endpoint);

    let event = domain::EventId::parse(sent["eventId"].as_str().unwrap()).unwrap();
    let workspace = WorkspaceId::parse(&hooks.workspace).unwrap();
    let recorded = hooks.desk.db.store().recorded_event(workspace, event).await.unwrap().unwrap();
    assert_snapshot!(String::from_utf8(recorded.body).unwrap(), @r#"{"eventId":"3240c357-81ee-55ea-9a87-0f2e226d1b03","eventType":"webhook.test","entity":"webhook_tests","workspaceId":"00000000-0000-4000-8000-000000000001","timestamp":"2026-01-02T03:04:05Z","payload":{"endpointId":"00000000-0000-4000-8000-000000000004"}}"#);
}

#[tokio::test]
async fn a_trial_event_is_sent_although_the_queue_is_not_there() {
    let hooks = Hooks::new().await;
    let endpoint = hooks.endpoint().await;
    hooks.desk.queue.close(true);
    let delivery = hooks.test(&endpoint).await;
    assert_eq!(hooks.listed(&[]).await, in_state("PENDING", &[&delivery]));
    let ran =
        hooks.desk.run(&["webhook", "test", "--workspace", &hooks.workspace, "--endpoint", &endpoint]).await;
    assert_eq!(ran.status, 0);
    assert_snapshot!(ran.err, @"The queue did not take it: the delivery is made within three minutes.");
}

#[tokio::test]
async fn a_disabled_endpoint_is_not_tried() {
    let hooks = Hooks::new().await;
    let endpoint = hooks.endpoint().await;
    hooks.json(&["webhook", "disable", "--endpoint", &endpoint]).await;
    let test = ["webhook", "test", "--workspace", &hooks.workspace, "--endpoint", &endpoint];
    let refused = hooks.desk.refused(&test).await;
    assert_eq!(refused, format!("The webhook endpoint {endpoint} is disabled: enable it first."));
}

#[tokio::test]
async fn deliveries_are_listed_newest_first_and_by_endpoint_and_state() {
    let hooks = Hooks::new().await;
    let (one, other) = (hooks.endpoint().await, hooks.endpoint().await);
    let first = hooks.test(&one).await;
    let second = hooks.test(&other).await;
    let third = hooks.test(&one).await;
    assert_eq!(hooks.listed(&[]).await, in_state("PENDING", &[&third, &second, &first]));
    assert_eq!(hooks.listed(&["--endpoint", &one]).await, in_state("PENDING", &[&third, &first]));
    assert_eq!(hooks.listed(&["--limit", "1"]).await, in_state("PENDING", &[&third]));
    assert_eq!(hooks.listed(&["--state", "DELIVERED"]).await, []);
    let listed = hooks.json(&["delivery", "list", "--endpoint", &other]).await;
    assert_json_snapshot!(listed, @r#"
    [
      {
        "attempts": 0,
        "deliveryId": "4779ded5-66b7-5684-9f52-16ea52076613",
        "dueAt": "2026-01-02T03:04:05.680Z",
        "endpointId": "00000000-0000-4000-8000-000000000005",
        "eventId": "73f5f7d1-8f19-57d9-8d57-640c6f1da216",
        "eventType": "webhook.test",
        "state": "PENDING"
      }
    ]
    "#);
}

#[tokio::test]
async fn a_delivery_is_shown_with_its_attempts() {
    let hooks = Hooks::new().await;
    let endpoint = hooks.endpoint().await;
    let delivery = hooks.test(&endpoint).await;
    let (workspace, id) =
        (WorkspaceId::parse(&hooks.workspace).unwrap(), domain::DeliveryId::parse(&delivery).unwrap());
    let store = hooks.desk.db.store();
    let lease = store.lease_delivery(workspace, id, Duration::from_secs(90)).await.unwrap();
    let store::Lease::Taken(leased) = lease else { panic!("{lease:?}") };
    let attempt = domain::Attempt {
        number: 1,
        at: store.now(),
        took: Duration::from_millis(31),
        outcome: domain::AttemptOutcome::Answered { status: 503, retry_after: None },
        answer: b"come back later".to_vec(),
    };
    let at = store.now().plus(Duration::from_secs(5));
    store
        .finish_attempt(&leased, &attempt, domain::delivery::Next::Again { at }, at, Duration::ZERO)
        .await
        .unwrap();

    let show = ["delivery", "show", "--delivery", &delivery];
    assert_json_snapshot!(hooks.json(&show).await, @r#"
    {
      "attemptLog": [
        {
          "answer": "come back later",
          "at": "2026-01-02T03:04:05.679Z",
          "error": "HTTP_STATUS",
          "number": 1,
          "status": 503,
          "tookMs": 31
        }
      ],
      "attempts": 1,
      "createdAt": "2026-01-02T03:04:05.679Z",
      "deliveryId": "e1c8df5a-8deb-5248-9668-6ce2d67bfa44",
      "dueAt": "2026-01-02T03:04:10.679Z",
      "endpointId": "00000000-0000-4000-8000-000000000004",
      "eventId": "e97ba82e-e5f4-5a7f-abbc-6b56531405d0",
      "eventType": "webhook.test",
      "failures": 1,
      "state": "PENDING"
    }
    "#);
    let shown = hooks.desk.run(&[&show[..], &["--workspace", &hooks.workspace]].concat()).await;
    assert_snapshot!(shown.out, @"
    delivery  e1c8df5a-8deb-5248-9668-6ce2d67bfa44
    event     e97ba82e-e5f4-5a7f-abbc-6b56531405d0
    type      webhook.test
    endpoint  00000000-0000-4000-8000-000000000004
    state     PENDING
    attempts  1
    due       2026-01-02T03:04:10.679Z
    created   2026-01-02T03:04:05.679Z
    log       1. 2026-01-02T03:04:05.679Z 503 HTTP_STATUS, 31 ms
    ");
}

#[tokio::test]
async fn an_unknown_delivery_is_refused() {
    let hooks = Hooks::new().await;
    let nothing = "3f1b8a52-6d0e-4c7a-9b1f-2a5d8e4c7b90";
    let show = ["delivery", "show", "--workspace", &hooks.workspace, "--delivery", nothing];
    assert_snapshot!(hooks.desk.refused(&show).await, @"The workspace has no delivery 3f1b8a52-6d0e-4c7a-9b1f-2a5d8e4c7b90; deliveries are kept for 30 days.");
}

#[tokio::test]
async fn pending_deliveries_of_a_deleted_endpoint_are_cancelled_and_still_listed() {
    let hooks = Hooks::new().await;
    let (one, other) = (hooks.endpoint().await, hooks.endpoint().await);
    let first = hooks.test(&one).await;
    let kept = hooks.test(&other).await;
    let second = hooks.test(&one).await;
    let deleted = hooks.json(&["webhook", "delete", "--endpoint", &one]).await;
    assert_eq!(deleted["cancelled"], 2);
    assert_eq!(hooks.listed(&["--endpoint", &one]).await, in_state("CANCELLED", &[&second, &first]));
    assert_eq!(hooks.listed(&["--state", "CANCELLED"]).await, in_state("CANCELLED", &[&second, &first]));
    assert_eq!(hooks.listed(&["--state", "PENDING"]).await, in_state("PENDING", &[&kept]));
}
