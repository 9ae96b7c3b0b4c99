//! The requests to the workers: job rows, lanes that are told, queue messages. Other tests cover the execution of
//! jobs.

use std::time::Duration;

use domain::webhook::delivery::Next;
use domain::{JobKind, JobState, Timestamp};
use futures::future::join;
use harness::{Death, Fault};
use insta::{assert_json_snapshot, assert_snapshot};
use serde_json::{Value, json};

use crate::hooks::Hooks;

/// The four commands that request a job of this endpoint and delivery.
fn commands<'a>(endpoint: &'a str, delivery: &'a str) -> [Vec<&'a str>; 4] {
    [
        vec!["delivery", "retry", "--delivery", delivery],
        vec!["delivery", "replay", "--endpoint", endpoint, "--since", "2026-01-01"],
        vec!["webhook", "recover", "--endpoint", endpoint],
        vec!["webhook", "enable", "--endpoint", endpoint],
    ]
}

/// The job in the output of a command.
fn job_in(shown: &Value) -> Value {
    if shown["job"].is_object() { shown["job"].clone() } else { shown.clone() }
}

fn id_in(shown: &Value) -> String {
    job_in(shown)["jobId"].as_str().unwrap().to_owned()
}

fn fast(slots: &[u64]) -> Vec<(String, u64)> {
    slots.iter().map(|slot| ("fast".to_owned(), *slot)).collect()
}

async fn exhausted(hooks: &Hooks, endpoint: &str) -> String {
    let delivery = hooks.test(endpoint).await;
    hooks.attempted(&delivery, 500, Next::Exhausted).await;
    hooks.queued();
    delivery
}

#[tokio::test]
async fn a_retry_requests_a_job_in_the_deliverys_slot() {
    let hooks = Hooks::new().await;
    let endpoint = hooks.endpoint_with(&["--slots", "4"]).await;
    let delivery = exhausted(&hooks, &endpoint).await;
    let before = hooks.delivery(&delivery).await;
    let retry = ["delivery", "retry", "--delivery", &delivery];
    let asked = hooks.json(&retry).await;
    assert_json_snapshot!(asked, @r#"
    {
      "askedAt": "2026-01-02T03:04:05.680Z",
      "askedBefore": false,
      "attempted": 0,
      "delivered": 0,
      "deliveryId": "94b9dc14-260f-51b8-9851-619cee161a90.00000000-0000-4000-8000-000000000004",
      "endpointId": "00000000-0000-4000-8000-000000000004",
      "jobId": "aecb5f2e-bfe2-5b76-9cc6-0cf1ab4239e6",
      "movedAt": "2026-01-02T03:04:05.680Z",
      "passedOver": 0,
      "since": null,
      "state": "ACTIVE",
      "until": null,
      "what": "RETRY"
    }
    "#);
    let number = u64::from(before.slot.number);
    assert_eq!(hooks.queued(), fast(&[number]));
    assert_eq!(hooks.told(), [(number.to_string(), Duration::from_secs(120))]);
    let slots = hooks.slots(&endpoint).await;
    let rows = hooks.rows_of(&id_in(&asked), &slots).await;
    assert_eq!(rows.len(), 1);
    assert_eq!(rows[0].kind, JobKind::Retry { event: before.event, at: before.created_at });
    assert!(rows[0].asks_for(&before), "the job must be newer than the last attempt");
    assert_eq!(hooks.delivery(&delivery).await, before, "the command must not change the delivery");
    assert_snapshot!(hooks.desk.run(&hooks.within(&retry)).await.out, @"
    job               aecb5f2e-bfe2-5b76-9cc6-0cf1ab4239e6
    endpoint          00000000-0000-4000-8000-000000000004
    what              RETRY
    of                delivery 94b9dc14-260f-51b8-9851-619cee161a90.00000000-0000-4000-8000-000000000004
    state             ACTIVE
    attempted         0
    delivered         0
    passed over       0
    requested         2026-01-02T03:04:05.680Z
    last progress     2026-01-02T03:04:05.680Z
    requested before  yes
    ");
}

#[tokio::test]
async fn a_repeated_retry_is_one_job_until_the_attempt_was_made() {
    let hooks = Hooks::new().await;
    let endpoint = hooks.endpoint().await;
    let delivery = exhausted(&hooks, &endpoint).await;
    let slots = hooks.slots(&endpoint).await;
    let retry = ["delivery", "retry", "--delivery", &delivery];
    let (one, other) = join(hooks.json(&retry), hooks.json(&retry)).await;
    let id = id_in(&one);
    assert_eq!(id, id_in(&other));
    assert_ne!(one["askedBefore"], other["askedBefore"], "{one} {other}");
    let rows = hooks.rows_of(&id, &slots).await;
    // The clock of the machine with the command may be behind that of a worker.
    hooks.pass(3_600);
    hooks.attempted(&delivery, 500, Next::Exhausted).await;
    let made = hooks.delivery(&delivery).await;
    hooks.write(domain::Delivery { job: Some(rows[0].mark()), ..made }, None).await;
    assert!(!rows[0].asks_for(&hooks.delivery(&delivery).await), "the job must not request a second attempt");
    hooks.carried_out(slots[0], &id, [1, 0, 0], true).await;
    let again = hooks.json(&retry).await;
    assert_eq!(
        (id_in(&again), &again["askedBefore"], &again["state"]),
        (id.clone(), &json!(false), &json!("ACTIVE"))
    );
    let anew = hooks.rows_of(&id, &slots).await;
    assert_eq!((anew.len(), anew[0].attempted), (1, 0));
    assert!(anew[0].asks_for(&hooks.delivery(&delivery).await), "{anew:?}");
}

#[tokio::test]
async fn a_late_worker_does_not_end_a_job_that_was_requested_again() {
    let hooks = Hooks::new().await;
    let endpoint = hooks.endpoint().await;
    let delivery = exhausted(&hooks, &endpoint).await;
    let slot = hooks.slots(&endpoint).await[0];
    let retry = ["delivery", "retry", "--delivery", &delivery];
    let id = id_in(&hooks.json(&retry).await);
    let late = hooks.store().job(slot, domain::JobId::parse(&id).unwrap()).await.unwrap().unwrap();
    hooks.carried_out(slot, &id, [1, 1, 0], true).await;
    hooks.json(&retry).await;
    let mut page = store::JobPage::default();
    page.is_last = true;
    assert_eq!(hooks.store().advance_job(&late, &page, &late.job).await.unwrap(), None);
    assert!(!hooks.store().cancel_job(&[&late], harness::operator()).await.unwrap());
    assert_eq!(hooks.rows_of(&id, &[slot]).await[0].state, JobState::Active);
}

#[tokio::test]
async fn a_request_may_lose_the_answer_of_its_write() {
    let hooks = Hooks::new().await;
    let endpoint = hooks.endpoint().await;
    let delivery = exhausted(&hooks, &endpoint).await;
    for command in commands(&endpoint, &delivery) {
        hooks.desk.db.fail("PutItem", Fault::AnswerLost, 1);
        assert_eq!(job_in(&hooks.json(&command).await)["askedBefore"], false, "{command:?}");
    }
}

#[tokio::test]
async fn no_job_is_requested_for_an_endpoint_that_gets_no_deliveries() {
    let hooks = Hooks::new().await;
    let endpoint = hooks.endpoint().await;
    let delivery = exhausted(&hooks, &endpoint).await;
    let commands = commands(&endpoint, &delivery);
    hooks.json(&["webhook", "disable", "--endpoint", &endpoint]).await;
    for command in &commands[..3] {
        let disabled = format!("The webhook endpoint {endpoint} is disabled: enable it first.");
        assert_eq!(hooks.refused(command).await, disabled);
    }
    hooks.json(&["webhook", "delete", "--endpoint", &endpoint]).await;
    for command in commands {
        let unknown = format!("The workspace has no webhook endpoint {endpoint}.");
        assert_eq!(hooks.refused(&command).await, unknown);
    }
    assert_eq!((hooks.queued(), hooks.told()), (vec![], vec![]));
}

#[tokio::test]
async fn a_range_begins_at_most_14_days_ago_and_ends_after_its_beginning() {
    let hooks = Hooks::new().await;
    let endpoint = hooks.endpoint().await;
    let replay = async |more: &[&str]| {
        hooks.refused(&[&["delivery", "replay", "--endpoint", &endpoint][..], more].concat()).await
    };
    assert_snapshot!(replay(&["--since", "2025-12-19"]).await, @"The range is invalid: it may begin at most 14 days ago.");
    assert_snapshot!(replay(&["--since", "2026-01-02", "--until", "2026-01-01"]).await, @"The range is invalid: it ends before it begins.");
    assert_snapshot!(replay(&["--since", "2026-01-03"]).await, @"The range is invalid: it ends before it begins.");
    let recover = ["webhook", "recover", "--endpoint", &endpoint, "--since", "2025-12-19"];
    assert_snapshot!(hooks.refused(&recover).await, @"The range is invalid: it may begin at most 14 days ago.");
}

#[tokio::test]
async fn the_same_replay_is_one_job_for_any_number_of_runs() {
    let hooks = Hooks::new().await;
    let endpoint = hooks.endpoint_with(&["--slots", "4"]).await;
    let slots = hooks.slots(&endpoint).await;
    let replay = ["delivery", "replay", "--endpoint", &endpoint, "--since", "2026-01-01"];
    let first = hooks.json(&replay).await;
    assert_json_snapshot!(first, @r#"
    {
      "askedAt": "2026-01-02T03:04:05.678Z",
      "askedBefore": false,
      "attempted": 0,
      "delivered": 0,
      "deliveryId": null,
      "endpointId": "00000000-0000-4000-8000-000000000004",
      "jobId": "32ef335b-f719-52cd-88d9-fb7beca6d29d",
      "movedAt": "2026-01-02T03:04:05.678Z",
      "passedOver": 0,
      "since": "2026-01-01T00:00:00.000Z",
      "state": "ACTIVE",
      "until": "2026-01-02T03:04:05.678Z",
      "what": "REPLAY"
    }
    "#);
    let id = id_in(&first);
    let now = hooks.store().now();
    let kind = JobKind::Replay { since: Timestamp::parse("2026-01-01T00:00:00Z").unwrap(), until: now };
    let rows = hooks.rows_of(&id, &slots).await;
    assert_eq!(rows.iter().map(|row| (row.kind, row.created_at)).collect::<Vec<_>>(), [(kind, now); 4]);
    assert_eq!(hooks.queued(), fast(&[0, 1, 2, 3]));
    let due = Duration::from_secs(120);
    assert_eq!(hooks.told(), ["0", "1", "2", "3"].map(|slot| (slot.to_owned(), due)));

    // A later repetition shows the progress and tells the lanes again.
    hooks.pass(60);
    hooks.carried_out(slots[0], &id, [10, 8, 2], true).await;
    hooks.carried_out(slots[3], &id, [5, 5, 0], false).await;
    let again = hooks.json(&replay).await;
    assert_json_snapshot!(again, @r#"
    {
      "askedAt": "2026-01-02T03:04:05.678Z",
      "askedBefore": true,
      "attempted": 15,
      "delivered": 13,
      "deliveryId": null,
      "endpointId": "00000000-0000-4000-8000-000000000004",
      "jobId": "32ef335b-f719-52cd-88d9-fb7beca6d29d",
      "movedAt": "2026-01-02T03:05:05.678Z",
      "passedOver": 2,
      "since": "2026-01-01T00:00:00.000Z",
      "state": "ACTIVE",
      "until": "2026-01-02T03:04:05.678Z",
      "what": "REPLAY"
    }
    "#);
    assert_eq!(hooks.queued(), fast(&[0, 1, 2, 3]));
    for slot in &slots[1..] {
        hooks.carried_out(*slot, &id, [1, 1, 0], true).await;
    }
    hooks.pass(60);
    assert_eq!(hooks.json(&replay).await["state"], "DONE");
    assert_eq!(hooks.rows_of(&id, &slots).await.len(), 4);

    // Slots that were added later have no deliveries of this time.
    hooks.json(&["webhook", "update", "--endpoint", &endpoint, "--slots", "5"]).await;
    let grown = hooks.json(&replay).await;
    assert_eq!((&grown["askedBefore"], &grown["until"]), (&json!(true), &again["until"]));
    let rows = hooks.rows_of(&id, &hooks.slots(&endpoint).await).await;
    assert!(rows.iter().all(|row| row.kind == kind && row.created_at == now), "{rows:?}");

    // Another time is another replay.
    let other = [&replay[..], &["--until", "2026-01-02T03:00:00Z"]].concat();
    let other = hooks.json(&other).await;
    assert_ne!(id_in(&other), id);
    assert_eq!((&other["askedBefore"], &other["until"]), (&json!(false), &json!("2026-01-02T03:00:00.000Z")));
}

#[tokio::test]
async fn the_repetition_of_an_interrupted_request_continues_the_same_job() {
    let hooks = Hooks::new().await;
    let endpoint = hooks.endpoint_with(&["--slots", "2"]).await;
    let slots = hooks.slots(&endpoint).await;
    let recover = ["webhook", "recover", "--endpoint", &endpoint];
    // The row of the first slot is written last.
    let mut calls = 0;
    let id = loop {
        let within = hooks.within(&recover);
        let dead = hooks.desk.db.die_after(calls, Death::Before);
        tokio::select! {
            _ = hooks.desk.run(&within) => panic!("the command must not finish its request"),
            _ = dead => {}
        }
        hooks.desk.db.revive();
        let asked = hooks.store().jobs(slots[1]).await.unwrap();
        if let Some(of) = asked.first() {
            break of.job.id.to_string();
        }
        calls += 1;
    };
    assert_eq!(hooks.rows_of(&id, &slots[..1]).await, []);
    hooks.carried_out(slots[1], &id, [3, 3, 0], true).await;
    hooks.pass(60);
    let again = hooks.json(&recover).await;
    assert_eq!(
        (id_in(&again), &again["attempted"], &again["state"]),
        (id.clone(), &json!(3), &json!("ACTIVE"))
    );
    let rows = hooks.rows_of(&id, &slots).await;
    assert_eq!(rows[0].created_at, rows[1].created_at);
    assert_eq!(
        (rows[0].state, rows[1].state),
        (JobState::Active, JobState::Done),
        "the finished slot must stay done"
    );
}

#[tokio::test]
async fn concurrent_requests_for_the_same_job_create_one_job() {
    let hooks = Hooks::new().await;
    let endpoint = hooks.endpoint_with(&["--slots", "3"]).await;
    let slots = hooks.slots(&endpoint).await;
    let delivery = exhausted(&hooks, &endpoint).await;
    for command in &commands(&endpoint, &delivery)[1..] {
        let (one, other) = join(hooks.json(command), hooks.json(command)).await;
        assert_eq!(id_in(&one), id_in(&other), "{command:?}");
        let before = [&one, &other].map(|shown| job_in(shown)["askedBefore"].clone());
        assert!(before.contains(&json!(false)) && before.contains(&json!(true)), "{command:?} {before:?}");
        assert_eq!(hooks.rows_of(&id_in(&one), &slots).await.len(), 3);
    }
    let jobs = hooks.json(&["webhook", "show", "--endpoint", &endpoint]).await["jobs"].clone();
    assert_eq!(jobs.as_array().unwrap().len(), 3);
}

#[tokio::test]
async fn a_repetition_completes_every_interrupted_request() {
    let names = ["retry", "replay", "recover", "enable"];
    for (at, name) in names.iter().enumerate() {
        for calls in 0..18 {
            for death in [Death::Before, Death::After] {
                let hooks = Hooks::new().await;
                let endpoint = hooks.endpoint_with(&["--slots", "3"]).await;
                let delivery = exhausted(&hooks, &endpoint).await;
                if at == 3 {
                    hooks.json(&["webhook", "disable", "--endpoint", &endpoint]).await;
                }
                let command = commands(&endpoint, &delivery)[at].clone();
                let dead = hooks.desk.db.die_after(calls, death);
                tokio::select! {
                    _ = hooks.json(&command) => assert!(calls > 5),
                    _ = dead => {}
                }
                hooks.desk.db.revive();
                let all = hooks.slots(&endpoint).await;
                let jobs = async || {
                    let mut jobs = vec![];
                    for slot in &all {
                        jobs.extend(hooks.store().jobs(*slot).await.unwrap().into_iter().map(|of| of.job));
                    }
                    jobs
                };
                let before = jobs().await;
                hooks.queued();
                hooks.pass(1);
                let asked = job_in(&hooks.json(&command).await);
                let what = format!("{name} {calls} {death:?}");
                assert_eq!(asked["askedBefore"], json!(!before.is_empty()), "{what}");
                let slots = if at == 0 { vec![hooks.delivery(&delivery).await.slot] } else { all.clone() };
                let numbers: Vec<u64> = slots.iter().map(|slot| u64::from(slot.number)).collect();
                assert_eq!(hooks.queued(), fast(&numbers), "{what}");
                assert_eq!(hooks.told().len(), slots.len(), "{what}");
                let after = jobs().await;
                assert_eq!(after.len(), slots.len(), "{what}");
                for job in &after {
                    assert_eq!((job.id, job.kind), (after[0].id, after[0].kind), "{what}");
                    assert_eq!(job.created_at, after[0].created_at, "{what}");
                    assert!(before.is_empty() || job.created_at == before[0].created_at, "{what}");
                }
                assert!(hooks.read(&endpoint).await.is_enabled(), "{what}");
            }
        }
    }
}

#[tokio::test]
async fn a_recovery_can_be_requested_again_after_it_ended() {
    let hooks = Hooks::new().await;
    let endpoint = hooks.endpoint_with(&["--slots", "3"]).await;
    let slots = hooks.slots(&endpoint).await;
    let recover = ["webhook", "recover", "--endpoint", &endpoint];
    let first = hooks.json(&recover).await;
    assert_json_snapshot!(first, @r#"
    {
      "askedAt": "2026-01-02T03:04:05.678Z",
      "askedBefore": false,
      "attempted": 0,
      "delivered": 0,
      "deliveryId": null,
      "endpointId": "00000000-0000-4000-8000-000000000004",
      "jobId": "e93f194a-c690-5bbc-b3a2-bf1a2b724cfd",
      "movedAt": "2026-01-02T03:04:05.678Z",
      "passedOver": 0,
      "since": "2025-12-19T03:04:05.678Z",
      "state": "ACTIVE",
      "until": null,
      "what": "RECOVER"
    }
    "#);
    let id = id_in(&first);
    for slot in &slots {
        assert_eq!(hooks.json(&recover).await["askedBefore"], true);
        hooks.carried_out(*slot, &id, [1, 1, 0], true).await;
    }
    let (before, since) =
        (hooks.rows_of(&id, &slots).await, [&recover[..], &["--since", "2026-01-01"]].concat());
    assert_ne!(id_in(&hooks.json(&since).await), id);

    // The second request is interrupted. One slot has executed its part in the meantime.
    hooks.pass(60);
    let dead = hooks.desk.db.die_after(7, Death::After);
    tokio::select! {
        _ = hooks.json(&recover) => panic!("the command must be interrupted"),
        _ = dead => {}
    }
    hooks.desk.db.revive();
    let anew = hooks.rows_of(&id, &slots).await;
    let is_new: Vec<bool> =
        anew.iter().zip(&before).map(|(new, old)| new.created_at > old.created_at).collect();
    assert!(!is_new[0] && is_new.contains(&true), "{is_new:?}");
    let done = slots[is_new.iter().position(|is_new| *is_new).unwrap()];
    hooks.carried_out(done, &id, [2, 2, 0], true).await;
    hooks.pass(60);
    let again = hooks.json(&recover).await;
    assert_eq!((&again["askedBefore"], &again["attempted"]), (&json!(true), &json!(2)));
    for row in hooks.rows_of(&id, &slots).await {
        let state = if row.slot == done { JobState::Done } else { JobState::Active };
        assert_eq!((row.state, row.created_at), (state, before[0].created_at.plus(Duration::from_secs(60))));
    }
}

#[tokio::test]
async fn each_enabling_requests_its_own_job() {
    let hooks = Hooks::new().await;
    let endpoint = hooks.endpoint().await;
    let slots = hooks.slots(&endpoint).await;
    let verb = async |verb| hooks.json(&["webhook", verb, "--endpoint", &endpoint]).await;
    verb("disable").await;
    let first = verb("enable").await;
    assert_json_snapshot!(first, @r#"
    {
      "description": null,
      "endpointId": "00000000-0000-4000-8000-000000000004",
      "events": [
        "*"
      ],
      "job": {
        "askedAt": "2026-01-02T03:04:05.678Z",
        "askedBefore": false,
        "attempted": 0,
        "delivered": 0,
        "deliveryId": null,
        "endpointId": "00000000-0000-4000-8000-000000000004",
        "jobId": "a4d00cef-10d5-5d56-bafc-6b913eee7b71",
        "movedAt": "2026-01-02T03:04:05.678Z",
        "passedOver": 0,
        "since": null,
        "state": "ACTIVE",
        "until": null,
        "what": "ENABLE"
      },
      "maxConcurrency": null,
      "maxPerSecond": null,
      "slots": 1,
      "state": "ENABLED",
      "url": "https://hooks.example.com/in"
    }
    "#);
    assert_eq!(hooks.queued(), fast(&[0]));
    assert_eq!(hooks.rows_of(&id_in(&first), &slots).await[0].kind, JobKind::Enable);
    hooks.carried_out(slots[0], &id_in(&first), [3, 3, 0], true).await;
    let once_more = verb("enable").await;
    let job = &once_more["job"];
    assert_eq!(
        (&job["askedBefore"], &job["state"], &job["attempted"]),
        (&json!(true), &json!("DONE"), &json!(3))
    );
    verb("disable").await;
    let next = verb("enable").await;
    assert_ne!(id_in(&next), id_in(&first));
    assert_snapshot!(hooks.desk.run(&hooks.within(&["webhook", "enable", "--endpoint", &endpoint])).await.out, @"
    endpoint          00000000-0000-4000-8000-000000000004
    state             ENABLED
    events            *
    max concurrency   -
    max per second    -
    slots             1
    URL               https://hooks.example.com/in
    description       -
    job               42e41922-957c-5e85-9de7-1b231cf86ff6 ENABLE (all waiting deliveries), ACTIVE: 0 attempted, 0 delivered, 0 passed over; requested 2026-01-02T03:04:05.678Z, last progress 2026-01-02T03:04:05.678Z
    requested before  yes
    ");
}

#[tokio::test]
async fn a_job_is_cancelled_in_all_slots_that_are_not_done() {
    let hooks = Hooks::new().await;
    let endpoint = hooks.endpoint_with(&["--slots", "3"]).await;
    let slots = hooks.slots(&endpoint).await;
    let replay = ["delivery", "replay", "--endpoint", &endpoint, "--since", "2026-01-01"];
    let id = id_in(&hooks.json(&replay).await);
    hooks.pass(10);
    hooks.carried_out(slots[0], &id, [7, 6, 1], true).await;
    hooks.carried_out(slots[1], &id, [4, 4, 0], false).await;
    hooks.pass(10);
    let cancel = ["webhook", "cancel", "--endpoint", &endpoint, "--job", &id];
    let cancelled = hooks.json(&cancel).await;
    assert_json_snapshot!(cancelled, @r#"
    {
      "askedAt": "2026-01-02T03:04:05.678Z",
      "attempted": 11,
      "delivered": 10,
      "deliveryId": null,
      "endpointId": "00000000-0000-4000-8000-000000000004",
      "jobId": "32ef335b-f719-52cd-88d9-fb7beca6d29d",
      "movedAt": "2026-01-02T03:04:25.678Z",
      "passedOver": 1,
      "since": "2026-01-01T00:00:00.000Z",
      "state": "CANCELLED",
      "until": "2026-01-02T03:04:05.678Z",
      "what": "REPLAY"
    }
    "#);
    let states: Vec<JobState> = hooks.rows_of(&id, &slots).await.iter().map(|row| row.state).collect();
    assert_eq!(states, [JobState::Done, JobState::Cancelled, JobState::Cancelled]);
    // A cancelled job stays cancelled, and the command can be repeated.
    hooks.pass(10);
    assert_eq!(hooks.json(&cancel).await, cancelled);
    assert_eq!(hooks.json(&replay).await["state"], "CANCELLED");
    let wait = hooks.within(&[&replay[..], &["--wait"]].concat());
    let ran = hooks.desk.run(&wait).await;
    assert_eq!(
        (ran.status, ran.err.trim_end()),
        (1, format!("The job {id} was cancelled before it was done.").as_str())
    );

    let other = [&replay[..], &["--until", "2026-01-02"]].concat();
    let other = id_in(&hooks.json(&other).await);
    for slot in &slots {
        hooks.carried_out(*slot, &other, [0, 0, 0], true).await;
    }
    let late = ["webhook", "cancel", "--endpoint", &endpoint, "--job", &other];
    assert_eq!(
        hooks.refused(&late).await,
        format!("The job {other} is already done and cannot be cancelled.")
    );
    let nobodys = ["webhook", "cancel", "--endpoint", &endpoint, "--job", &endpoint];
    assert_eq!(
        hooks.refused(&nobodys).await,
        format!(
            "The endpoint has no job {endpoint}; jobs are kept for 30 days, and `webhook show` lists them."
        )
    );
}

#[tokio::test]
async fn a_command_that_waits_for_a_job_shows_its_result() {
    let hooks = Hooks::new().await;
    let endpoint = hooks.endpoint_with(&["--slots", "2"]).await;
    let delivery = exhausted(&hooks, &endpoint).await;
    for command in commands(&endpoint, &delivery) {
        let id = id_in(&hooks.json(&command).await);
        let slots = match command[1] {
            "retry" => vec![hooks.delivery(&delivery).await.slot],
            _ => hooks.slots(&endpoint).await,
        };
        let wait = [&command[..], &["--wait"]].concat();
        let carry_out = async {
            tokio::time::sleep(Duration::from_millis(100)).await;
            for slot in &slots {
                hooks.carried_out(*slot, &id, [2, 1, 3], true).await;
            }
        };
        let (shown, ()) = join(hooks.json(&wait), carry_out).await;
        let (shown, of) = (job_in(&shown), slots.len());
        assert_eq!(
            (&shown["state"], &shown["attempted"], &shown["delivered"], &shown["passedOver"]),
            (&json!("DONE"), &json!(2 * of), &json!(of), &json!(3 * of)),
            "{command:?}"
        );
    }
    let retry = ["delivery", "retry", "--delivery", &delivery, "--wait=1"];
    let refused = hooks.refused(&retry).await;
    assert!(
        refused.ends_with(" is not done after 1 seconds and continues: `webhook show` shows its progress."),
        "{refused}"
    );
}

#[tokio::test]
async fn a_retry_that_waits_fails_if_the_attempt_is_not_acknowledged() {
    for (status, next, expected) in [(204, Next::Delivered, 0), (500, Next::Exhausted, 1)] {
        for counts in [[1, u64::from(status == 204), 0], [0, 0, 1]] {
            let hooks = Hooks::new().await;
            let endpoint = hooks.endpoint().await;
            let delivery = exhausted(&hooks, &endpoint).await;
            let retry = hooks.within(&["delivery", "retry", "--delivery", &delivery]);
            let id = id_in(&hooks.desk.json(&retry).await);
            hooks.pass(1);
            hooks.attempted(&delivery, status, next).await;
            hooks.carried_out(hooks.delivery(&delivery).await.slot, &id, counts, true).await;
            assert_eq!(hooks.desk.run(&retry).await.status, 0, "without --wait");
            let id = id_in(&hooks.desk.json(&retry).await);
            let wait = [&retry[..], &["--wait"]].concat();
            let carry_out = async {
                tokio::time::sleep(Duration::from_millis(100)).await;
                hooks.carried_out(hooks.delivery(&delivery).await.slot, &id, counts, true).await;
            };
            let (ran, ()) = join(hooks.desk.run(&wait), carry_out).await;
            let refusal = format!("The delivery {delivery} was attempted and is not acknowledged (500).\n");
            let err = if expected == 1 { refusal.as_str() } else { "" };
            assert_eq!((ran.status, ran.err.as_str()), (expected, err), "{status} {counts:?}");
        }
    }
}

#[tokio::test]
async fn a_message_that_the_queue_refuses_is_left_to_the_sweeper() {
    let hooks = Hooks::new().await;
    let endpoint = hooks.endpoint().await;
    let delivery = exhausted(&hooks, &endpoint).await;
    hooks.visited(hooks.slots(&endpoint).await[0], |_| ()).await;
    hooks.desk.queue.close(true);
    for command in commands(&endpoint, &delivery) {
        let ran = hooks.desk.run(&hooks.within(&command)).await;
        assert_eq!(ran.status, 0);
        assert_eq!(ran.err, "The queue did not accept the message: the job begins within three minutes.\n");
    }
    assert_eq!(hooks.told(), [("0".to_owned(), Duration::from_secs(120))]);
}

#[tokio::test]
async fn an_endpoint_shows_its_active_jobs_and_the_last_20_ended_jobs_newest_first() {
    let hooks = Hooks::new().await;
    let endpoint = hooks.endpoint().await;
    let slot = hooks.slots(&endpoint).await[0];
    let mut ids = vec![];
    for number in 0..24 {
        hooks.pass(1);
        let delivery = hooks.test(&endpoint).await;
        let id = id_in(&hooks.json(&["delivery", "retry", "--delivery", &delivery]).await);
        if number > 1 {
            hooks.carried_out(slot, &id, [1, 1, 0], true).await;
        }
        ids.insert(0, id);
    }
    let shown = hooks.json(&["webhook", "show", "--endpoint", &endpoint]).await["jobs"].clone();
    let shown: Vec<&str> =
        shown.as_array().unwrap().iter().map(|job| job["jobId"].as_str().unwrap()).collect();
    assert_eq!(shown, [&ids[..20], &ids[22..]].concat());
    assert_eq!(hooks.store().jobs(slot).await.unwrap().len(), 24);
    // A month later the jobs are no longer shown, whether their rows exist or not.
    hooks.pass(31 * 86_400);
    assert_eq!(hooks.json(&["webhook", "show", "--endpoint", &endpoint]).await["jobs"], json!([]));
}

#[tokio::test]
async fn all_jobs_of_a_slot_are_read() {
    let hooks = Hooks::new().await;
    let endpoint = hooks.endpoint().await;
    let slot = hooks.slots(&endpoint).await[0];
    let delivery = exhausted(&hooks, &endpoint).await;
    hooks.json(&["delivery", "retry", "--delivery", &delivery]).await;
    let rows = hooks.desk.db.rows(store::Table::Webhooks);
    let row = rows.iter().find(|row| row["kind"]["S"] == "job").unwrap();
    let copies: Vec<Value> = (0..1_100)
        .map(|number| {
            let (mut copy, id) = (row.clone(), format!("00000000-0000-5000-8000-{number:012}"));
            copy["sk"]["S"] = json!(format!("J#{id}"));
            copy["jobId"]["S"] = json!(id);
            copy
        })
        .collect();
    hooks.desk.db.import(store::Table::Webhooks, &copies);
    assert_eq!(hooks.store().jobs(slot).await.unwrap().len(), 1_101);
    let shown = hooks.json(&["webhook", "show", "--endpoint", &endpoint]).await;
    assert_eq!(shown["jobs"].as_array().unwrap().len(), 1_101, "all active jobs must be shown");
}
