use std::time::Duration;

use domain::webhook::delivery::Next;
use domain::{AttemptError, AttemptOutcome, Delivery, DeliveryState, EventId, WebhookEndpoint};
use insta::{assert_json_snapshot, assert_snapshot};
use serde_json::{Value, json};

use crate::hooks::{Hooks, in_state};

#[tokio::test]
async fn a_test_event_is_recorded_with_its_delivery_and_its_lane_is_queued() {
    let hooks = Hooks::new().await;
    let endpoint = hooks.endpoint().await;
    let sent = hooks.json(&["webhook", "test", "--endpoint", &endpoint]).await;
    assert_json_snapshot!(sent, @r#"
    {
      "deliveryId": "516105fd-3981-5944-adca-30c1c144556b.00000000-0000-4000-8000-000000000004",
      "endpointId": "00000000-0000-4000-8000-000000000004",
      "eventId": "516105fd-3981-5944-adca-30c1c144556b"
    }
    "#);
    assert_eq!(hooks.queued(), [("fast".to_owned(), 0)]);

    let event = EventId::parse(sent["eventId"].as_str().unwrap()).unwrap();
    let recorded = hooks.store().recorded_event(hooks.id(), event).await.unwrap().unwrap();
    assert_snapshot!(String::from_utf8(recorded.body).unwrap(), @r#"{"eventId":"516105fd-3981-5944-adca-30c1c144556b","eventType":"webhook.test","entity":"webhook_tests","workspaceId":"00000000-0000-4000-8000-000000000001","timestamp":"2026-01-02T03:04:05Z","payload":{"endpointId":"00000000-0000-4000-8000-000000000004"}}"#);
    let slot = hooks.slots(&endpoint).await[0];
    let due = hooks.store().webhook_lane_due(slot).await.unwrap();
    assert_eq!(
        due,
        Some(hooks.store().now().plus(Duration::from_secs(120))),
        "the sweeper must process the lane if the message is lost"
    );
}

#[tokio::test]
async fn a_test_event_is_recorded_without_the_queue() {
    let hooks = Hooks::new().await;
    let endpoint = hooks.endpoint().await;
    hooks.desk.queue.close(true);
    let delivery = hooks.test(&endpoint).await;
    assert_eq!(hooks.listed(&[]).await, in_state("PENDING", &[&delivery]));
    let ran = hooks.desk.run(&hooks.within(&["webhook", "test", "--endpoint", &endpoint])).await;
    assert_eq!(ran.status, 0);
    assert_snapshot!(ran.err, @"The queue did not accept the message: the delivery is attempted within three minutes.");
}

#[tokio::test]
async fn a_test_event_is_sent_at_once_to_an_endpoint_with_an_open_circuit() {
    let hooks = Hooks::new().await;
    let endpoint = hooks.endpoint().await;
    hooks.test(&endpoint).await;
    let (slot, until) = (hooks.slots(&endpoint).await[0], hooks.store().now().plus(Duration::from_secs(300)));
    hooks
        .visited(slot, |lane| {
            (lane.pace.silences, lane.pace.openings) = (5, 2);
            (lane.pace.opened_at, lane.pace.open_until) = (Some(until), Some(until));
        })
        .await;
    hooks.queued();
    let delivery = hooks.test(&endpoint).await;
    assert_eq!(hooks.queued(), [("slow".to_owned(), 0)]);
    let jobs = hooks.json(&["webhook", "show", "--endpoint", &endpoint]).await["jobs"].clone();
    assert_eq!(
        (&jobs[0]["what"], &jobs[0]["deliveryId"], &jobs[1]),
        (&json!("RETRY"), &json!(delivery), &Value::Null)
    );
}

#[tokio::test]
async fn a_disabled_endpoint_gets_no_test_event() {
    let hooks = Hooks::new().await;
    let endpoint = hooks.endpoint().await;
    hooks.json(&["webhook", "disable", "--endpoint", &endpoint]).await;
    let refused = hooks.refused(&["webhook", "test", "--endpoint", &endpoint]).await;
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
    assert_eq!(hooks.listed(&["--limit", "0"]).await, []);
    assert_eq!(hooks.listed(&["--state", "DELIVERED"]).await, []);
    let listed = hooks.json(&["delivery", "list", "--endpoint", &other]).await;
    assert_json_snapshot!(listed, @r#"
    [
      {
        "attempts": 0,
        "createdAt": "2026-01-02T03:04:05.680Z",
        "deliveryId": "80107896-417a-5f75-9f3d-367a8768042c.00000000-0000-4000-8000-000000000006",
        "dueAt": "2026-01-02T03:04:05.680Z",
        "endpointId": "00000000-0000-4000-8000-000000000006",
        "eventId": "80107896-417a-5f75-9f3d-367a8768042c",
        "eventType": "webhook.test",
        "lastStatus": null,
        "state": "PENDING"
      }
    ]
    "#);
    hooks.attempted(&third, 503, Next::Delivered).await;
    hooks.ended(&first, AttemptOutcome::Failed(AttemptError::DnsFailed), Next::Exhausted).await;
    let listed = hooks.json(&["delivery", "list"]).await;
    let last = |at: usize| listed[at]["lastStatus"].clone();
    assert_eq!([last(0), last(1), last(2)], [json!(503), Value::Null, json!("DNS_FAILED")]);
    assert_snapshot!(hooks.desk.run(&hooks.within(&["delivery", "list"])).await.out, @"
    DELIVERY                                                                   TYPE          STATE      ATTEMPTS  LAST        DUE                       CREATED
    4f2ce92b-874e-54ee-bea7-8cb27a42f20f.00000000-0000-4000-8000-000000000004  webhook.test  DELIVERED  1         503         -                         2026-01-02T03:04:05.681Z
    80107896-417a-5f75-9f3d-367a8768042c.00000000-0000-4000-8000-000000000006  webhook.test  PENDING    0         -           2026-01-02T03:04:05.680Z  2026-01-02T03:04:05.680Z
    8a976c8f-e49a-55e4-bd95-b46d10e44573.00000000-0000-4000-8000-000000000004  webhook.test  EXHAUSTED  1         DNS_FAILED  -                         2026-01-02T03:04:05.679Z
    ");
}

#[tokio::test]
async fn a_delivery_is_shown_with_its_attempts() {
    let hooks = Hooks::new().await;
    let endpoint = hooks.endpoint().await;
    let delivery = hooks.test(&endpoint).await;
    let at = hooks.store().now().plus(Duration::from_secs(5));
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
      "deliveryId": "94b9dc14-260f-51b8-9851-619cee161a90.00000000-0000-4000-8000-000000000004",
      "dueAt": "2026-01-02T03:04:10.679Z",
      "endpointId": "00000000-0000-4000-8000-000000000004",
      "eventId": "94b9dc14-260f-51b8-9851-619cee161a90",
      "eventType": "webhook.test",
      "failures": 1,
      "lastStatus": 503,
      "state": "PENDING"
    }
    "#);
    hooks.pass(5);
    let at = hooks.store().now().plus(Duration::from_secs(300));
    hooks.ended(&delivery, AttemptOutcome::Failed(AttemptError::Timeout), Next::Again { at }).await;
    let shown = hooks.desk.run(&hooks.within(&[&show[..], &["--body"]].concat())).await;
    assert_snapshot!(shown.out, @r#"
    delivery  94b9dc14-260f-51b8-9851-619cee161a90.00000000-0000-4000-8000-000000000004
    type      webhook.test
    state     PENDING
    attempts  2
    last      TIMEOUT
    due       2026-01-02T03:09:10.679Z
    created   2026-01-02T03:04:05.679Z
    because   -
    log       1. 2026-01-02T03:04:05.679Z 503 HTTP_STATUS, 31 ms, asked to wait 60000 ms
                 come \u{1b}[31mback\nlater
              2. 2026-01-02T03:04:10.679Z no answer TIMEOUT, 31 ms
                 come \u{1b}[31mback\nlater
    body      {"eventId":"94b9dc14-260f-51b8-9851-619cee161a90","eventType":"webhook.test","entity":"webhook_tests","workspaceId":"00000000-0000-4000-8000-000000000001","timestamp":"2026-01-02T03:04:05Z","payload":{"endpointId":"00000000-0000-4000-8000-000000000004"}}
    "#);
}

#[tokio::test]
async fn a_delivery_without_further_attempts_shows_the_reason() {
    let hooks = Hooks::new().await;
    let endpoint = hooks.endpoint().await;
    let because = async |delivery: &str| {
        let shown = hooks.json(&["delivery", "show", "--delivery", delivery]).await;
        (shown["state"].clone(), shown["because"].clone())
    };
    let is = |state: &str, because: &str| (json!(state), json!(because));
    let redirected = hooks.test(&endpoint).await;
    hooks.attempted(&redirected, 307, Next::Exhausted).await;
    let died = hooks.test(&endpoint).await;
    hooks.ended(&died, AttemptOutcome::Failed(AttemptError::WorkerDied), Next::Exhausted).await;
    let (parked, lost, waiting) =
        (hooks.test(&endpoint).await, hooks.test(&endpoint).await, hooks.test(&endpoint).await);
    for (delivery, state) in [(&parked, DeliveryState::Parked), (&lost, DeliveryState::Cancelled)] {
        hooks.write(hooks.delivery(delivery).await.ended(state), None).await;
    }
    let delivered = hooks.test(&endpoint).await;
    hooks.attempted(&delivered, 204, Next::Delivered).await;
    for command in
        [None, Some(("disable", "PARKED", "OPERATOR")), Some(("delete", "CANCELLED", "ENDPOINT_DELETED"))]
    {
        let mut shown_waiting = (json!("PENDING"), Value::Null);
        if let Some((verb, state, why)) = command {
            hooks.json(&["webhook", verb, "--endpoint", &endpoint]).await;
            shown_waiting = is(state, why);
        }
        assert_eq!(because(&waiting).await, shown_waiting);
        assert_eq!(because(&redirected).await, is("EXHAUSTED", "REDIRECT"));
        assert_eq!(because(&died).await, is("EXHAUSTED", "WORKER_DIED"));
        assert_eq!(because(&parked).await, is("PARKED", "ENDPOINT_DISABLED"));
        assert_eq!(because(&lost).await, is("CANCELLED", "EVENT_LOST"));
        assert_eq!(because(&delivered).await, (json!("DELIVERED"), Value::Null));
    }
}

#[tokio::test]
async fn deliveries_are_listed_by_time_and_no_other_rows_are_read() {
    let hooks = Hooks::new().await;
    let endpoint = hooks.endpoint().await;
    let mut made = vec![];
    for _ in 0..4 {
        made.push(hooks.test(&endpoint).await);
        hooks.pass(3_600);
    }
    let [first, second, third, fourth] = made.try_into().unwrap();
    // The deliveries are created at 03:04, 04:04, 05:04 and 06:04.
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

#[tokio::test]
async fn a_list_of_many_slots_is_read_in_pages() {
    let hooks = Hooks::new().await;
    let (one, other) = (hooks.endpoint_with(&["--slots", "4"]).await, hooks.endpoint().await);
    let (of_one, of_other) = (hooks.read(&one).await, hooks.read(&other).await);
    let id = |event: EventId, endpoint: &WebhookEndpoint| format!("{event}.{}", endpoint.id);
    let mut expected = vec![];
    for number in 0..450 {
        let both: &[&WebhookEndpoint] = if number % 3 == 0 { &[&of_one, &of_other] } else { &[&of_one] };
        let event = hooks.event(both).await;
        expected
            .extend(both.iter().map(|endpoint| (event.at, event.id, endpoint.id, id(event.id, endpoint))));
        if number % 5 == 0 {
            hooks.attempted(&id(event.id, &of_one), 500, Next::Exhausted).await;
        }
        // Several events at the same time.
        if number % 2 == 0 {
            hooks.desk.db.clock().advance(Duration::from_millis(1));
        }
    }
    expected.sort();
    expected.reverse();
    let expected: Vec<String> = expected.into_iter().map(|(.., id)| id).collect();
    let ids = async |more: &[&str]| {
        let listed = hooks.listed(more).await.into_iter().map(|(id, _)| id);
        listed.collect::<Vec<String>>()
    };
    assert_eq!(ids(&[]).await, expected);
    let exhausted = ids(&["--state", "EXHAUSTED"]).await;
    assert_eq!(exhausted.len(), 90);
    for (all, more, page) in [(&expected, &[][..], 110), (&exhausted, &["--state", "EXHAUSTED"][..], 7)] {
        let limit = page.to_string();
        let first = [more, &["--limit", &limit]].concat();
        let (mut read, mut next) = (vec![], first.clone());
        loop {
            let some = ids(&next).await;
            let is_last = some.len() < page;
            read.extend(some);
            if is_last {
                break;
            }
            let last: &str = &all[read.len() - 1];
            next = [&first[..], &["--after", last]].concat();
        }
        assert_eq!(&read, all);
    }
    assert_eq!(ids(&["--after", &expected[599], "--endpoint", &other]).await, [] as [String; 0]);
    let unknown = format!("{}.{}", of_one.id, of_one.id);
    let refused = hooks.refused(&["delivery", "list", "--after", &unknown]).await;
    assert_eq!(
        refused,
        format!(
            "The workspace has no delivery {unknown}; deliveries are kept for 30 days, unless the deployment sets EventRetentionDays."
        )
    );
}

#[tokio::test]
async fn the_shown_state_and_the_filter_by_state_depend_on_the_endpoint() {
    let hooks = Hooks::new().await;
    let mut endpoints = vec![];
    for _ in 0..3 {
        endpoints.push(hooks.endpoint_with(&["--slots", "2"]).await);
    }
    let states = DeliveryState::NAMES.iter().map(|name| DeliveryState::parse(name).unwrap());
    let states: Vec<DeliveryState> = states.collect();
    for endpoint in &endpoints {
        for state in states.iter().cycle().take(15) {
            let delivery = hooks.test(endpoint).await;
            let delivery = Delivery { state: *state, ..hooks.delivery(&delivery).await };
            hooks.write(delivery, None).await;
        }
    }
    hooks.json(&["webhook", "disable", "--endpoint", &endpoints[1]]).await;
    hooks.json(&["webhook", "delete", "--endpoint", &endpoints[2]]).await;
    let all = hooks.listed(&[]).await;
    let count =
        |of: &str, state: &str| all.iter().filter(|(id, shown)| id.ends_with(of) && shown == state).count();
    for (endpoint, expected) in endpoints.iter().zip([[3, 3, 3, 3, 3], [0, 3, 3, 6, 3], [0, 3, 3, 3, 6]]) {
        let shown: Vec<usize> = DeliveryState::NAMES.iter().map(|state| count(endpoint, state)).collect();
        assert_eq!(shown, expected);
    }
    for state in DeliveryState::NAMES {
        let expected: Vec<_> = all.iter().filter(|(_, shown)| shown == state).cloned().collect();
        assert_eq!(hooks.listed(&["--state", state]).await, expected, "{state}");
        assert_eq!(hooks.listed(&["--state", state, "--limit", "2"]).await, expected[..2], "{state}");
    }
    let due = hooks.json(&["delivery", "list"]).await;
    for delivery in due.as_array().unwrap() {
        assert_eq!(delivery["dueAt"].is_null(), delivery["state"] != "PENDING", "{delivery}");
    }
}

#[tokio::test]
async fn an_unknown_delivery_is_refused_and_an_invalid_id_is_explained() {
    let hooks = Hooks::new().await;
    let nothing = "3f1b8a52-6d0e-4c7a-9b1f-2a5d8e4c7b90";
    let delivery = format!("{nothing}.{nothing}");
    for verb in ["show", "retry"] {
        let refused = hooks.refused(&["delivery", verb, "--delivery", &delivery]).await;
        assert_eq!(
            refused,
            format!(
                "The workspace has no delivery {delivery}; deliveries are kept for 30 days, unless the deployment sets EventRetentionDays."
            )
        );
        let ran = hooks.desk.run(&hooks.within(&["delivery", verb, "--delivery", nothing])).await;
        assert_eq!(ran.status, 2);
        assert_eq!(
            ran.err.lines().next().unwrap(),
            format!(
                "error: invalid value '{nothing}' for '--delivery <ID>': should be <event id>.<endpoint id>, as `delivery \
                list` prints it: d22926c3-d7a2-56b2-b2ff-aab1e43fa2cd.3f1b8a52-6d0e-4c7a-9b1f-2a5d8e4c7b90"
            )
        );
    }
    let endpoint = hooks.endpoint().await;
    let made = hooks.test(&endpoint).await;
    let (event, _) = made.split_once('.').unwrap();
    let of_another = format!("{event}.{nothing}");
    let refused = hooks.refused(&["delivery", "show", "--delivery", &of_another]).await;
    assert!(refused.starts_with("The workspace has no delivery"), "{refused}");
    // A delivery of another workspace is unknown.
    let other = hooks.desk.json(&["workspace", "create", "--name", "Other"]).await;
    let show =
        ["delivery", "show", "--delivery", &made, "--workspace", other["workspaceId"].as_str().unwrap()];
    assert!(hooks.desk.refused(&show).await.starts_with("The workspace has no delivery"));
}

#[tokio::test]
async fn pending_deliveries_of_a_deleted_endpoint_are_cancelled_and_still_listed() {
    let hooks = Hooks::new().await;
    let (one, other) = (hooks.endpoint_with(&["--slots", "4"]).await, hooks.endpoint().await);
    let mut of_one = vec![];
    for _ in 0..12 {
        of_one.insert(0, hooks.test(&one).await);
    }
    let kept = hooks.test(&other).await;
    hooks.attempted(&of_one[0], 200, Next::Delivered).await;
    let rows = hooks.store().delivery(hooks.id(), domain::DeliveryId::parse(&of_one[1]).unwrap());
    let before = rows.await.unwrap().unwrap();
    let delete = ["webhook", "delete", "--endpoint", &one];
    assert_eq!(hooks.json(&delete).await["cancelled"], 11);
    assert_eq!(hooks.json(&delete).await["cancelled"], 11, "the repetition must count the same deliveries");
    let cancelled: Vec<&String> = of_one[1..].iter().collect();
    assert_eq!(hooks.listed(&["--state", "CANCELLED"]).await, in_state("CANCELLED", &cancelled));
    let all = [in_state("DELIVERED", &[&of_one[0]]), in_state("CANCELLED", &cancelled)].concat();
    assert_eq!(hooks.listed(&["--endpoint", &one]).await, all);
    assert_eq!(hooks.listed(&["--state", "PENDING"]).await, in_state("PENDING", &[&kept]));
    assert_eq!(hooks.delivery(&of_one[1]).await, before, "the row must stay unchanged");
    // DynamoDB deletes expired deliveries late.
    hooks.pass(31 * 86_400);
    assert_eq!(hooks.listed(&["--endpoint", &one]).await, []);
}

#[tokio::test]
async fn an_interrupted_deletion_can_be_repeated() {
    for calls in 0..6 {
        for death in [harness::Death::Before, harness::Death::After] {
            let hooks = Hooks::new().await;
            let endpoint = hooks.endpoint_with(&["--slots", "2"]).await;
            hooks.test(&endpoint).await;
            let delete = ["webhook", "delete", "--endpoint", &endpoint];
            let dead = hooks.desk.db.die_after(calls, death);
            tokio::select! {
                done = hooks.json(&delete) => assert!(calls > 4, "{calls} {done}"),
                _ = dead => {}
            }
            hooks.desk.db.revive();
            assert_eq!(hooks.json(&delete).await["cancelled"], 1, "{calls} {death:?}");
        }
    }
}

#[tokio::test]
async fn a_disabled_endpoints_deliveries_stay_unchanged() {
    let hooks = Hooks::new().await;
    let endpoint = hooks.endpoint().await;
    let delivery = hooks.test(&endpoint).await;
    let at = hooks.store().now().plus(Duration::from_secs(300));
    hooks.attempted(&delivery, 500, Next::Again { at }).await;
    let before = hooks.delivery(&delivery).await;
    hooks.json(&["webhook", "disable", "--endpoint", &endpoint]).await;
    assert_eq!(hooks.delivery(&delivery).await, before);
    assert_eq!(hooks.listed(&[]).await, in_state("PARKED", &[&delivery]));
    hooks.json(&["webhook", "enable", "--endpoint", &endpoint]).await;
    assert_eq!(hooks.listed(&[]).await, in_state("PENDING", &[&delivery]));
}
