use std::time::Duration;

use domain::delivery::Next;
use domain::{Attempt, AttemptOutcome, DeliveryId, WorkspaceId};
use futures::future::join;
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

    /// An attempt of a delivery is answered so, and this becomes of it.
    async fn attempted(&self, delivery: &str, status: u16, next: Next) {
        let (leased, store) = (self.leased(delivery).await, self.desk.db.store());
        let attempt = Attempt {
            number: leased.delivery.attempts,
            at: store.now(),
            took: Duration::from_millis(31),
            outcome: AttemptOutcome::Answered { status, retry_after: Some(Duration::from_secs(60)) },
            answer: b"come \x1b[31mback\nlater".to_vec(),
        };
        store.finish_attempt(&leased, &attempt, next, store.now(), Duration::ZERO).await.unwrap();
    }

    async fn leased(&self, delivery: &str) -> store::Leased {
        let (workspace, id) =
            (WorkspaceId::parse(&self.workspace).unwrap(), DeliveryId::parse(delivery).unwrap());
        let lease =
            self.desk.db.store().lease_delivery(workspace, id, Duration::from_secs(90)).await.unwrap();
        let store::Lease::Taken(leased) = lease else { panic!("{lease:?}") };
        leased
    }

    async fn refused(&self, arguments: &[&str]) -> String {
        self.desk.refused(&[arguments, &["--workspace", &self.workspace]].concat()).await
    }

    /// The deliveries that were queued since this was last asked, each once, in the order of their ids.
    fn queued(&self) -> Vec<String> {
        let queued = self.desk.queue.take();
        let bodies = queued.iter().map(|message| serde_json::from_str::<Value>(&message.body).unwrap());
        let mut queued: Vec<String> =
            bodies.map(|body| body["deliveryId"].as_str().unwrap().to_owned()).collect();
        queued.sort();
        queued
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
    let at = hooks.desk.db.store().now().plus(Duration::from_secs(5));
    hooks.attempted(&delivery, 503, Next::Again { at }).await;
    let show = ["delivery", "show", "--delivery", &delivery];
    assert_json_snapshot!(hooks.json(&show).await, @r#"
    {
      "attemptLog": [
        {
          "answer": "come \u001b[31mback\nlater",
          "at": "2026-01-02T03:04:05.679Z",
          "error": "HTTP_STATUS",
          "number": 1,
          "retryAfterMs": 60000,
          "status": 503,
          "tookMs": 31
        }
      ],
      "attempts": 1,
      "because": null,
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
    let shown = hooks.desk.run(&[&show[..], &["--workspace", &hooks.workspace, "--body"]].concat()).await;
    assert_snapshot!(shown.out, @r#"
    delivery  e1c8df5a-8deb-5248-9668-6ce2d67bfa44
    event     e97ba82e-e5f4-5a7f-abbc-6b56531405d0
    type      webhook.test
    endpoint  00000000-0000-4000-8000-000000000004
    state     PENDING
    attempts  1
    due       2026-01-02T03:04:10.679Z
    because   -
    created   2026-01-02T03:04:05.679Z
    log       1. 2026-01-02T03:04:05.679Z 503 HTTP_STATUS, 31 ms, asked to wait 60000 ms
                 come \u{1b}[31mback\nlater
    body      {"eventId":"e97ba82e-e5f4-5a7f-abbc-6b56531405d0","eventType":"webhook.test","entity":"webhook_tests","workspaceId":"00000000-0000-4000-8000-000000000001","timestamp":"2026-01-02T03:04:05Z","payload":{"endpointId":"00000000-0000-4000-8000-000000000004"}}
    "#);
}

#[tokio::test]
async fn a_delivery_that_is_not_attempted_any_more_says_why() {
    let hooks = Hooks::new().await;
    let endpoint = hooks.endpoint().await;
    let because = async |delivery: &str| {
        hooks.json(&["delivery", "show", "--delivery", delivery]).await["because"].clone()
    };
    let exhausted = hooks.test(&endpoint).await;
    hooks.attempted(&exhausted, 307, Next::Exhausted).await;
    assert_eq!(because(&exhausted).await, "REDIRECT");
    let parked = hooks.test(&endpoint).await;
    assert_eq!(because(&parked).await, Value::Null);
    hooks.attempted(&parked, 410, Next::Parked { endpoint_gone: true }).await;
    assert_eq!(because(&parked).await, Value::Null, "the endpoint was enabled a moment ago");
    hooks.json(&["webhook", "disable", "--endpoint", &endpoint]).await;
    assert_eq!(because(&parked).await, "OPERATOR");
    hooks.json(&["webhook", "delete", "--endpoint", &endpoint]).await;
    assert_eq!(because(&parked).await, "ENDPOINT_DELETED");
}

#[tokio::test]
async fn deliveries_are_listed_by_time_and_nothing_beyond_it_is_read() {
    let hooks = Hooks::new().await;
    let endpoint = hooks.endpoint().await;
    let mut made = vec![];
    for _ in 0..4 {
        made.push(hooks.test(&endpoint).await);
        hooks.desk.db.clock().advance(Duration::from_secs(3_600));
    }
    let [first, second, third, fourth] = made.try_into().unwrap();
    // They are made at 03:04, 04:04, 05:04 and 06:04.
    let (since, until) = ("2026-01-02T04:00:00Z", "2026-01-02T07:00:00+01:00");
    assert_eq!(hooks.listed(&["--since", since]).await, in_state("PENDING", &[&fourth, &third, &second]));
    assert_eq!(hooks.listed(&["--until", until]).await, in_state("PENDING", &[&third, &second, &first]));
    let between = ["--since", since, "--until", until];
    assert_eq!(hooks.listed(&between).await, in_state("PENDING", &[&third, &second]));
    assert_eq!(hooks.listed(&["--since", "2026-01-03"]).await, []);
    assert_eq!(hooks.listed(&["--since", until, "--until", since]).await, []);

    for delivery in [&first, &second, &third] {
        hooks.attempted(delivery, 500, Next::Exhausted).await;
    }
    let exhausted = [&between[..], &["--state", "EXHAUSTED"]].concat();
    assert_eq!(hooks.listed(&exhausted).await, in_state("EXHAUSTED", &[&third, &second]));
}

/// What a delivery has come to, and how far it is in its schedule.
async fn comes_to(hooks: &Hooks, delivery: &str) -> (Value, Value) {
    let shown = hooks.json(&["delivery", "show", "--delivery", delivery]).await;
    (shown["state"].clone(), shown["failures"].clone())
}

#[tokio::test]
async fn a_delivery_is_retried_whatever_it_has_come_to_with_the_whole_schedule_before_it() {
    let hooks = Hooks::new().await;
    let endpoint = hooks.endpoint().await;
    let later = hooks.desk.db.store().now().plus(Duration::from_secs(86_400));
    for next in
        [Next::Delivered, Next::Exhausted, Next::Parked { endpoint_gone: false }, Next::Again { at: later }]
    {
        let delivery = hooks.test(&endpoint).await;
        hooks.attempted(&delivery, 500, next).await;
        hooks.queued();
        let retried = hooks.json(&["delivery", "retry", "--delivery", &delivery]).await;
        assert_eq!((&retried["state"], &retried["attempts"]), (&json!("PENDING"), &json!(1)), "{next:?}");
        assert_eq!(comes_to(&hooks, &delivery).await, (json!("PENDING"), json!(0)), "{next:?}");
        assert_eq!(hooks.queued(), [delivery.as_str()]);
        assert_eq!(hooks.leased(&delivery).await.delivery.attempts, 2, "it can be attempted at once");
    }
    assert_eq!(hooks.listed(&["--state", "EXHAUSTED"]).await, [], "it is held no longer");
    assert_eq!(hooks.listed(&["--state", "PARKED"]).await, []);
}

#[tokio::test]
async fn a_retry_run_twice_never_makes_two_attempts_side_by_side() {
    let hooks = Hooks::new().await;
    let endpoint = hooks.endpoint().await;
    let delivery = hooks.test(&endpoint).await;
    hooks.attempted(&delivery, 500, Next::Exhausted).await;
    let retry = ["delivery", "retry", "--delivery", &delivery];
    let (one, other) = join(hooks.json(&retry), hooks.json(&retry)).await;
    assert_eq!((&one["state"], &other["state"]), (&json!("PENDING"), &json!("PENDING")));

    // Both messages come; one worker gets the lease, and meanwhile nobody makes another attempt possible.
    let leased = hooks.leased(&delivery).await;
    let refused = hooks.refused(&retry).await;
    assert_eq!(
        refused,
        format!("An attempt of the delivery {delivery} is being made right now: look at it in a minute.")
    );
    let store = hooks.desk.db.store();
    let id = leased.delivery.id;
    let second = store.lease_delivery(leased.delivery.workspace_id, id, Duration::from_secs(90)).await;
    assert_eq!(second.unwrap(), store::Lease::Held);

    // A worker that died with its lease is not waited for once it ran out.
    hooks.desk.db.clock().advance(Duration::from_secs(91));
    assert_eq!(hooks.json(&retry).await["state"], "PENDING");
}

#[tokio::test]
async fn what_has_nowhere_to_go_is_not_made_again() {
    let hooks = Hooks::new().await;
    let endpoint = hooks.endpoint().await;
    let delivery = hooks.test(&endpoint).await;
    hooks.attempted(&delivery, 500, Next::Exhausted).await;
    let commands: [&[&str]; 3] = [
        &["delivery", "retry", "--delivery", &delivery],
        &["delivery", "replay", "--endpoint", &endpoint, "--since", "2026-01-01"],
        &["webhook", "recover", "--endpoint", &endpoint],
    ];
    hooks.json(&["webhook", "disable", "--endpoint", &endpoint]).await;
    for command in commands {
        let disabled = format!("The webhook endpoint {endpoint} is disabled: enable it first.");
        assert_eq!(hooks.refused(command).await, disabled);
    }
    hooks.json(&["webhook", "delete", "--endpoint", &endpoint]).await;
    for command in commands {
        let unknown = format!("The workspace has no webhook endpoint {endpoint}.");
        assert_eq!(hooks.refused(command).await, unknown);
    }
    let nothing = "3f1b8a52-6d0e-4c7a-9b1f-2a5d8e4c7b90";
    let unknown = format!("The workspace has no delivery {nothing}; deliveries are kept for 30 days.");
    assert_eq!(hooks.refused(&["delivery", "retry", "--delivery", nothing]).await, unknown);
}

#[tokio::test]
async fn a_range_reaches_14_days_back_and_ends_behind_its_beginning() {
    let hooks = Hooks::new().await;
    let endpoint = hooks.endpoint().await;
    let replay = async |more: &[&str]| {
        hooks.refused(&[&["delivery", "replay", "--endpoint", &endpoint][..], more].concat()).await
    };
    assert_snapshot!(replay(&["--since", "2025-12-19"]).await, @"The range is refused: deliveries are made again at most 14 days back.");
    assert_snapshot!(replay(&["--since", "2026-01-02", "--until", "2026-01-01"]).await, @"The range is refused: it ends before it begins.");
    assert_snapshot!(replay(&["--since", "2026-01-03"]).await, @"The range is refused: it ends before it begins.");
    let recover = ["webhook", "recover", "--endpoint", &endpoint, "--since", "2025-12-19"];
    assert_snapshot!(hooks.refused(&recover).await, @"The range is refused: deliveries are made again at most 14 days back.");
}

#[tokio::test]
async fn a_replay_delivers_a_range_once_more_however_often_it_is_run() {
    let hooks = Hooks::new().await;
    let (endpoint, other) = (hooks.endpoint().await, hooks.endpoint().await);
    let before = hooks.test(&endpoint).await;
    hooks.desk.db.clock().advance(Duration::from_secs(3_600));
    hooks.test(&other).await;
    let mut within = vec![];
    for number in 0..230 {
        let delivery = hooks.test(&endpoint).await;
        if number > 0 && number % 2 == 0 {
            hooks.attempted(&delivery, 200, Next::Delivered).await;
        }
        within.push(delivery);
    }
    // What is made in the very moment of a run is not before it.
    hooks.desk.db.clock().advance(Duration::from_millis(1));
    // An attempt of the first one is being made: it is not doubled.
    hooks.leased(&within[0]).await;
    let held = within.remove(0);
    within.sort();
    hooks.queued();
    let replay = ["delivery", "replay", "--endpoint", &endpoint, "--since", "2026-01-02T04:00:00Z"];
    let (one, two) = join(hooks.json(&replay), hooks.json(&replay)).await;
    let sum = |name: &str| one[name].as_u64().unwrap() + two[name].as_u64().unwrap();
    assert_eq!((sum("replayed"), sum("alreadyReplayed")), (229, 229), "{one} {two}");
    assert_eq!((&one["beingAttempted"], &one["forgotten"]), (&json!(1), &json!(0)));
    assert_eq!(hooks.queued(), within);

    // Once more, when all were delivered again and the one passed over is free.
    for delivery in &within {
        hooks.attempted(delivery, 200, Next::Delivered).await;
    }
    hooks.desk.db.clock().advance(Duration::from_secs(91));
    let again = hooks.json(&replay).await;
    assert_eq!((&again["replayed"], &again["alreadyReplayed"]), (&json!(1), &json!(229)), "{again}");
    assert_eq!(hooks.queued(), [held]);
    // Another replay of some of them, and the first one again: it is remembered still.
    let another = [&replay[..], &["--until", "2026-01-02T05:00:00Z"]].concat();
    assert_eq!(hooks.json(&another).await["replayed"], 230);
    assert_eq!(hooks.json(&replay).await["alreadyReplayed"], 230);
    assert_eq!(comes_to(&hooks, &before).await, (json!("PENDING"), json!(0)));
    assert!(!hooks.queued().contains(&before), "what lies before the range is left alone");
}

#[tokio::test]
async fn a_replay_that_was_killed_goes_on_where_it_was() {
    let hooks = Hooks::new().await;
    let endpoint = hooks.endpoint().await;
    for _ in 0..30 {
        let delivery = hooks.test(&endpoint).await;
        hooks.attempted(&delivery, 200, Next::Delivered).await;
    }
    hooks.desk.db.clock().advance(Duration::from_millis(1));
    let replay = ["delivery", "replay", "--endpoint", &endpoint, "--since", "2026-01-01"];
    // The workspace, the endpoint, four parts of the index, then some of the deliveries.
    let dead = hooks.desk.db.die_after(16, harness::Death::After);
    tokio::select! {
        _ = hooks.json(&replay) => panic!("it was to die"),
        _ = dead => {}
    }
    hooks.desk.db.revive();
    let before = hooks.listed(&["--state", "PENDING"]).await.len();
    assert!((1..30).contains(&before), "{before}");
    let again = hooks.json(&replay).await;
    let counts = (again["replayed"].as_u64().unwrap(), again["alreadyReplayed"].as_u64().unwrap());
    assert_eq!(counts, (30 - before as u64, before as u64));
    assert_eq!(hooks.listed(&["--state", "PENDING"]).await.len(), 30, "none is left, none is lost");
}

#[tokio::test]
async fn what_was_not_delivered_is_recovered_and_nothing_else() {
    let hooks = Hooks::new().await;
    let endpoint = hooks.endpoint().await;
    let mut made = vec![];
    for next in [
        Next::Exhausted,
        Next::Delivered,
        Next::Exhausted,
        Next::Parked { endpoint_gone: false },
        Next::Again { at: hooks.desk.db.store().now() },
    ] {
        hooks.desk.db.clock().advance(Duration::from_secs(3_600));
        let delivery = hooks.test(&endpoint).await;
        hooks.attempted(&delivery, 500, next).await;
        made.push(delivery);
    }
    hooks.queued();
    // The first one lies before the range.
    let recover = ["webhook", "recover", "--endpoint", &endpoint];
    let some = [&recover[..], &["--since", "2026-01-02T04:30:00Z"]].concat();
    assert_json_snapshot!(hooks.json(&some).await, @r#"
    {
      "changed": 0,
      "endpointId": "00000000-0000-4000-8000-000000000004",
      "gone": 0,
      "recovered": 2,
      "since": "2026-01-02T04:30:00.000Z"
    }
    "#);
    let mut lost = vec![made[2].clone(), made[3].clone()];
    lost.sort();
    assert_eq!(hooks.queued(), lost);
    for delivery in &lost {
        assert_eq!(comes_to(&hooks, delivery).await, (json!("PENDING"), json!(0)));
    }
    assert_eq!(comes_to(&hooks, &made[1]).await.0, "DELIVERED");
    assert_eq!(comes_to(&hooks, &made[4]).await, (json!("PENDING"), json!(1)), "its schedule goes on");
    assert_eq!(hooks.json(&some).await["recovered"], 0, "once more is nothing more");
    assert_eq!(hooks.json(&recover).await["recovered"], 1, "of 14 days when no moment is named");
}

#[tokio::test]
async fn what_the_queue_does_not_take_is_left_to_the_sweeper() {
    let hooks = Hooks::new().await;
    let endpoint = hooks.endpoint().await;
    let delivery = hooks.test(&endpoint).await;
    hooks.attempted(&delivery, 500, Next::Exhausted).await;
    hooks.desk.queue.close(true);
    let workspace = ["--workspace", &hooks.workspace];
    let recover = [&["webhook", "recover", "--endpoint", &endpoint][..], &workspace].concat();
    let ran = hooks.desk.run(&recover).await;
    assert_eq!(ran.status, 0);
    assert_snapshot!(ran.err, @"The queue did not take 1 of the deliveries: they are made within three minutes.");
    hooks.desk.db.clock().advance(Duration::from_secs(120));
    let store = hooks.desk.db.store();
    let mut due = 0;
    for shard in 0..store::Store::DUE_SHARDS {
        due += store.due_deliveries(shard, 100).await.unwrap().len();
    }
    assert_eq!(due, 1);
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
