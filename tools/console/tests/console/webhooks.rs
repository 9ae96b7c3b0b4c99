use std::time::Duration;

use domain::webhook::pace::Failing;
use domain::{EndpointId, WorkspaceId};
use futures::future::join;
use harness::Fault;
use insta::{assert_json_snapshot, assert_snapshot};
use serde_json::{Value, json};

use crate::Desk;
use crate::hooks::Hooks;

async fn endpoint(desk: &Desk, workspace: &str) -> String {
    let url = "https://hooks.example.com/in";
    let made =
        desk.json(&["webhook", "create", "--workspace", workspace, "--url", url, "--api-key", "k"]).await;
    made["endpointId"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn an_endpoint_is_created_with_a_secret_that_is_shown_once() {
    let (desk, workspace) = Desk::with_workspace().await;
    let made = desk
        .json(&[
            "webhook",
            "create",
            "--workspace",
            &workspace,
            "--url",
            "https://Hooks.example.com:8443/in?x=1",
            "--api-key",
            "customer-key",
            "--event",
            "contact.updated",
            "--event",
            "contact.created",
        ])
        .await;
    assert_json_snapshot!(made, @r#"
    {
      "endpointId": "00000000-0000-4000-8000-000000000004",
      "secret": "whsec_QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVpbXF1eX2A=",
      "url": "https://hooks.example.com:8443/in?x=1"
    }
    "#);
    assert_json_snapshot!(desk.json(&["webhook", "list", "--workspace", &workspace]).await, @r#"
    [
      {
        "description": null,
        "endpointId": "00000000-0000-4000-8000-000000000004",
        "events": [
          "contact.created",
          "contact.updated"
        ],
        "maxConcurrency": null,
        "maxPerSecond": null,
        "slots": 1,
        "state": "ENABLED",
        "url": "https://hooks.example.com:8443/in?x=1"
      }
    ]
    "#);
    let id = EndpointId::parse(made["endpointId"].as_str().unwrap()).unwrap();
    let workspace = WorkspaceId::parse(&workspace).unwrap();
    let secrets = desk.db.store().endpoint_secrets(workspace, id).await.unwrap().unwrap();
    assert_eq!(secrets.signing.active.expose(), made["secret"]);
    assert_eq!(secrets.api_key.expose(), "customer-key");
}

#[tokio::test]
async fn an_endpoint_is_created_and_changed_with_caps_and_slots() {
    let hooks = Hooks::new().await;
    let most = ["--max-concurrency", "1000", "--max-per-second", "16", "--slots", "16"];
    hooks.endpoint_with(&most).await;
    let is = |shown: &Value, expected: Value| {
        assert_eq!(json!([shown["maxConcurrency"], shown["maxPerSecond"], shown["slots"]]), expected);
    };
    is(&hooks.json(&["webhook", "list"]).await[0], json!([1000, 16, 16]));
    let endpoint = hooks.endpoint().await;
    let update = async |more: &[&str]| {
        hooks.json(&[&["webhook", "update", "--endpoint", &endpoint], more].concat()).await
    };
    is(&hooks.json(&["webhook", "show", "--endpoint", &endpoint]).await, json!([null, null, 1]));
    assert_json_snapshot!(update(&["--max-concurrency", "20"]).await, @r#"
    {
      "description": null,
      "endpointId": "00000000-0000-4000-8000-000000000006",
      "events": [
        "*"
      ],
      "maxConcurrency": 20,
      "maxPerSecond": null,
      "slots": 1,
      "state": "ENABLED",
      "url": "https://hooks.example.com/in"
    }
    "#);
    is(&update(&["--max-per-second", "7", "--slots", "4"]).await, json!([20, 7, 4]));
    is(&update(&["--max-concurrency", "none"]).await, json!([null, 7, 4]));
    is(&update(&["--max-per-second", "none", "--max-concurrency", "4"]).await, json!([4, null, 4]));
    let before = hooks.read(&endpoint).await;
    is(&update(&["--slots", "4"]).await, json!([4, null, 4]));
    assert_eq!(hooks.read(&endpoint).await, before, "equal values must change nothing");

    let refused = async |more: &[&str]| {
        hooks.refused(&[&["webhook", "update", "--endpoint", &endpoint], more].concat()).await
    };
    assert_snapshot!(refused(&["--slots", "3"]).await, @"The endpoint has 4 slots: their number cannot be reduced to 3 (--slots).");
    assert_snapshot!(refused(&["--max-concurrency", "3"]).await, @"The cap of 3 is too low for 4 slots (--max-concurrency): each slot needs at least 1.");
    assert_snapshot!(refused(&["--max-per-second", "5", "--slots", "6"]).await, @"The cap of 4 is too low for 6 slots (--max-concurrency): each slot needs at least 1.");
    let url = "https://hooks.example.com/in";
    let create =
        ["webhook", "create", "--url", url, "--api-key", "k", "--slots", "2", "--max-per-second", "1"];
    assert_snapshot!(hooks.refused(&create).await, @"The cap of 1 is too low for 2 slots (--max-per-second): each slot needs at least 1.");
    assert_eq!(hooks.read(&endpoint).await, before);
    let never = ["webhook", "update", "--endpoint", &hooks.workspace, "--slots", "2"];
    assert!(hooks.refused(&never).await.starts_with("The workspace has no webhook endpoint"));
}

#[tokio::test]
async fn caps_and_slots_out_of_range_are_usage_errors_that_name_the_argument() {
    let hooks = Hooks::new().await;
    let endpoint = hooks.endpoint().await;
    let create = ["webhook", "create", "--url", "https://hooks.example.com/in", "--api-key", "k"];
    let update = ["webhook", "update", "--endpoint", &endpoint];
    let line = async |command: &[&str], more: &[&str]| {
        let ran = hooks.desk.run(&hooks.within(&[command, more].concat())).await;
        assert_eq!(ran.status, 2, "{ran:?}");
        ran.err.lines().next().unwrap().to_owned()
    };
    for (argument, wrong) in
        [("--max-concurrency", ["0", "1001"]), ("--max-per-second", ["0", "1001"]), ("--slots", ["0", "17"])]
    {
        for wrong in wrong {
            for command in [&create[..], &update[..]] {
                let told = line(command, &[argument, wrong]).await;
                let begins = format!("error: invalid value '{wrong}' for '{argument} <N>': ");
                assert!(told.starts_with(&begins), "{told}");
            }
        }
    }
    assert_snapshot!(line(&create, &["--max-per-second", "1001"]).await, @"error: invalid value '1001' for '--max-per-second <N>': should be 1 to 1000");
    assert_snapshot!(line(&update, &["--max-per-second", "1001"]).await, @"error: invalid value '1001' for '--max-per-second <N>': should be 1 to 1000, or none");
    assert_snapshot!(line(&create, &["--max-per-second", "none"]).await, @"error: invalid value 'none' for '--max-per-second <N>': should be 1 to 1000");
    assert_snapshot!(line(&update, &["--slots", "17"]).await, @"error: invalid value '17' for '--slots <N>': should be 1 to 16");
    assert_snapshot!(line(&update, &[]).await, @"error: the following required arguments were not provided:");
}

#[tokio::test]
async fn concurrent_changes_of_an_endpoint_are_both_kept() {
    let hooks = Hooks::new().await;
    let endpoint = hooks.endpoint().await;
    let update = ["webhook", "update", "--endpoint", &endpoint];
    let (caps, slots) =
        ([&update[..], &["--max-concurrency", "50"]].concat(), [&update[..], &["--slots", "8"]].concat());
    join(hooks.json(&caps), hooks.json(&slots)).await;
    let now = hooks.read(&endpoint).await;
    assert_eq!((now.caps.concurrency, now.slots, now.version), (Some(50), 8, 3));
}

#[tokio::test]
async fn an_endpoint_is_shown_with_the_worst_of_its_slots_and_its_jobs() {
    let hooks = Hooks::new().await;
    let endpoint = hooks.endpoint_with(&["--slots", "3", "--max-per-second", "30"]).await;
    let slots = hooks.slots(&endpoint).await;
    let replay = ["delivery", "replay", "--endpoint", &endpoint, "--since", "2026-01-01"];
    let replay = hooks.json(&replay).await["jobId"].as_str().unwrap().to_owned();
    let now = hooks.store().now();
    let failing =
        |hours: u64| Some(Failing { since: now.minus(Duration::from_secs(hours * 3_600)), hours: vec![] });
    hooks
        .visited(slots[0], |lane| {
            lane.pace.width = 128;
            lane.pace.slow_until = Some(now.plus(Duration::from_secs(20)));
            lane.pace.failing = failing(2);
        })
        .await;
    hooks
        .visited(slots[1], |lane| {
            lane.pace.width = 4;
            lane.pace.open_until = Some(now.plus(Duration::from_secs(300)));
            lane.pace.failing = failing(7);
        })
        .await;
    hooks.visited(slots[2], |lane| lane.pace.open_until = Some(now.minus(Duration::from_secs(1)))).await;
    hooks.pass(10);
    hooks.carried_out(slots[0], &replay, [5, 4, 1], true).await;
    hooks.carried_out(slots[2], &replay, [2, 2, 0], false).await;
    let show = ["webhook", "show", "--endpoint", &endpoint];
    assert_json_snapshot!(hooks.json(&show).await, @r#"
    {
      "createdAt": "2026-01-02T03:04:05.678Z",
      "description": null,
      "disabledAt": null,
      "disabledReason": null,
      "endpointId": "00000000-0000-4000-8000-000000000004",
      "events": [
        "*"
      ],
      "failingSince": "2026-01-01T20:04:05.678Z",
      "jobs": [
        {
          "askedAt": "2026-01-02T03:04:05.678Z",
          "attempted": 7,
          "delivered": 6,
          "deliveryId": null,
          "endpointId": "00000000-0000-4000-8000-000000000004",
          "jobId": "32ef335b-f719-52cd-88d9-fb7beca6d29d",
          "movedAt": "2026-01-02T03:04:15.678Z",
          "passedOver": 1,
          "since": "2026-01-01T00:00:00.000Z",
          "state": "ACTIVE",
          "until": "2026-01-02T03:04:05.678Z",
          "what": "REPLAY"
        }
      ],
      "maxConcurrency": null,
      "maxPerSecond": 30,
      "nextSecretSigns": false,
      "openUntil": "2026-01-02T03:09:05.678Z",
      "previousSignsUntil": null,
      "slots": 3,
      "slowUntil": "2026-01-02T03:04:25.678Z",
      "state": "ENABLED",
      "url": "https://hooks.example.com/in",
      "width": 148
    }
    "#);
    assert_snapshot!(hooks.desk.run(&hooks.within(&show)).await.out, @"
    endpoint                     00000000-0000-4000-8000-000000000004
    state                        ENABLED
    events                       *
    max concurrency              -
    max per second               30
    slots                        3
    URL                          https://hooks.example.com/in
    description                  -
    created                      2026-01-02T03:04:05.678Z
    disabled                     -
    disabled because             -
    next secret                  -
    previous secret signs until  -
    not called until             2026-01-02T03:09:05.678Z
    slow until                   2026-01-02T03:04:25.678Z
    failing since                2026-01-01T20:04:05.678Z
    width                        148
    jobs                         32ef335b-f719-52cd-88d9-fb7beca6d29d REPLAY (2026-01-01T00:00:00.000Z to 2026-01-02T03:04:05.678Z), ACTIVE: 7 attempted, 6 delivered, 1 passed over; requested 2026-01-02T03:04:05.678Z, last progress 2026-01-02T03:04:15.678Z
    ");
    hooks.pass(300);
    let later = hooks.json(&show).await;
    assert_eq!(
        (&later["openUntil"], &later["slowUntil"]),
        (&Value::Null, &Value::Null),
        "past times must not be shown"
    );
}

#[tokio::test]
async fn an_endpoint_is_disabled_and_enabled_any_number_of_times() {
    let (desk, workspace) = Desk::with_workspace().await;
    let id = endpoint(&desk, &workspace).await;
    let verb = async |verb| desk.json(&["webhook", verb, "--workspace", &workspace, "--endpoint", &id]).await;
    assert_json_snapshot!(verb("disable").await, @r#"
    {
      "description": null,
      "endpointId": "00000000-0000-4000-8000-000000000004",
      "events": [
        "*"
      ],
      "maxConcurrency": null,
      "maxPerSecond": null,
      "slots": 1,
      "state": "DISABLED",
      "url": "https://hooks.example.com/in"
    }
    "#);
    assert_json_snapshot!(verb("show").await, @r#"
    {
      "createdAt": "2026-01-02T03:04:05.678Z",
      "description": null,
      "disabledAt": "2026-01-02T03:04:05.678Z",
      "disabledReason": "OPERATOR",
      "endpointId": "00000000-0000-4000-8000-000000000004",
      "events": [
        "*"
      ],
      "failingSince": null,
      "jobs": [],
      "maxConcurrency": null,
      "maxPerSecond": null,
      "nextSecretSigns": false,
      "openUntil": null,
      "previousSignsUntil": null,
      "slots": 1,
      "slowUntil": null,
      "state": "DISABLED",
      "url": "https://hooks.example.com/in",
      "width": 16
    }
    "#);
    assert_eq!(verb("disable").await["state"], "DISABLED");
    assert_snapshot!(desk.run(&["webhook", "list", "--workspace", &workspace]).await.out, @"
    ENDPOINT                              STATE     EVENTS  MAX CONCURRENCY  MAX PER SECOND  SLOTS  URL                           DESCRIPTION
    00000000-0000-4000-8000-000000000004  DISABLED  *       -                -               1      https://hooks.example.com/in  -
    ");
    assert_eq!(verb("enable").await["state"], "ENABLED");
    assert_eq!(verb("enable").await["state"], "ENABLED");
    assert_eq!(verb("show").await["disabledAt"], Value::Null);
}

#[tokio::test]
async fn a_deletion_removes_the_endpoint_and_its_secrets() {
    let (desk, workspace) = Desk::with_workspace().await;
    let id = endpoint(&desk, &workspace).await;
    let delete = ["webhook", "delete", "--workspace", &workspace, "--endpoint", &id];
    assert_json_snapshot!(desk.json(&delete).await, @r#"
    {
      "cancelled": 0,
      "deleted": true,
      "endpointId": "00000000-0000-4000-8000-000000000004"
    }
    "#);
    // The command can be repeated after an interruption, but not for an endpoint that never existed.
    assert_eq!(desk.json(&delete).await["deleted"], true);
    let never = ["webhook", "delete", "--workspace", &workspace, "--endpoint", &workspace];
    assert_eq!(desk.refused(&never).await, format!("The workspace has no webhook endpoint {workspace}."));
    assert_eq!(desk.json(&["webhook", "list", "--workspace", &workspace]).await, json!([]));
    let (workspace, id) = (WorkspaceId::parse(&workspace).unwrap(), EndpointId::parse(&id).unwrap());
    assert_eq!(desk.db.store().endpoint_secrets(workspace, id).await.unwrap(), None);
}

#[tokio::test]
async fn urls_that_deliveries_would_refuse_are_refused_here() {
    let (desk, workspace) = Desk::with_workspace().await;
    let create = async |url: &str| {
        desk.refused(&["webhook", "create", "--workspace", &workspace, "--url", url, "--api-key", "k"]).await
    };
    assert_snapshot!(create("http://hooks.example.com/").await, @"The URL is refused: a webhook endpoint must use https.");
    assert_snapshot!(create("https://user:pass@hooks.example.com/").await, @"The URL is refused: a webhook endpoint's URL must not contain a user name or a password.");
    assert_snapshot!(create("https://hooks.example.com:8080/").await, @"The URL is refused: a webhook endpoint must use port 443 or 8443.");
    assert_snapshot!(create("hooks").await, @"The URL is refused: this is not a URL.");
    for private in ["127.0.0.1", "10.0.0.1", "169.254.169.254", "[::1]", "[::ffff:10.0.0.1]", "localhost"] {
        assert_eq!(
            create(&format!("https://{private}/")).await,
            "The URL is refused: a webhook endpoint must have a public address."
        );
    }
    assert_eq!(desk.json(&["webhook", "list", "--workspace", &workspace]).await, json!([]));
    let trusted = ["--url", "https://127.0.0.1:9443/ok", "--api-key", "k"];
    desk.json(&[&["webhook", "create", "--workspace", &workspace], &trusted[..]].concat()).await;
}

#[tokio::test]
async fn a_customers_key_that_is_no_valid_header_value_is_refused() {
    let (desk, workspace) = Desk::with_workspace().await;
    let url = "https://hooks.example.com/";
    let create = ["webhook", "create", "--workspace", &workspace, "--url", url, "--api-key", "a b"];
    assert_snapshot!(desk.refused(&create).await, @"The customer's API key is invalid: should be 1 to 256 visible ASCII characters, without spaces.");
}

#[tokio::test]
async fn concurrent_creations_stop_at_ten_endpoints() {
    let (desk, workspace) = Desk::with_workspace().await;
    let urls: Vec<String> = (0..12).map(|n| format!("https://hooks.example.com/{n}")).collect();
    let made = urls.iter().map(|url| async {
        let create = ["webhook", "create", "--workspace", &workspace, "--url", url, "--api-key", "k"];
        desk.run(&create).await
    });
    let ran = futures::future::join_all(made).await;
    assert_eq!(ran.iter().filter(|ran| ran.status == 0).count(), 10);
    let refused: Vec<&str> = ran.iter().filter(|ran| ran.status == 1).map(|ran| ran.err.trim_end()).collect();
    assert_eq!(refused, ["The workspace already has 10 webhook endpoints, which is the maximum."; 2]);
    let listed = desk.json(&["webhook", "list", "--workspace", &workspace]).await;
    assert_eq!(listed.as_array().unwrap().len(), 10);
}

/// An endpoint for the tests of secret rotation.
struct Rotating {
    desk: Desk,
    workspace: String,
    endpoint: String,
    /// The secret with which the endpoint was created.
    first: String,
}

impl Rotating {
    async fn new() -> Self {
        let (desk, workspace) = Desk::with_workspace().await;
        let url = "https://hooks.example.com/in";
        let made = desk
            .json(&["webhook", "create", "--workspace", &workspace, "--url", url, "--api-key", "k"])
            .await;
        let text = |name: &str| made[name].as_str().unwrap().to_owned();
        Self { endpoint: text("endpointId"), first: text("secret"), desk, workspace }
    }

    fn arguments<'a>(&'a self, verb: &'a str) -> Vec<&'a str> {
        vec!["webhook", verb, "--workspace", &self.workspace, "--endpoint", &self.endpoint]
    }

    async fn rotate(&self) -> String {
        let rotated = self.desk.json(&self.arguments("rotate")).await;
        rotated["secret"].as_str().unwrap().to_owned()
    }

    async fn in_force(&self) -> Vec<String> {
        let (workspace, id) =
            (WorkspaceId::parse(&self.workspace).unwrap(), EndpointId::parse(&self.endpoint).unwrap());
        let store = self.desk.db.store();
        let secrets = store.endpoint_secrets(workspace, id).await.unwrap().unwrap();
        assert_eq!(secrets.api_key.expose(), "k");
        secrets.signing.in_force(store.now()).map(|secret| secret.expose().to_owned()).collect()
    }
}

const DAY: Duration = Duration::from_secs(86_400);

#[tokio::test]
async fn a_secret_is_rotated_in_two_phases_and_shown_once() {
    let rotating = Rotating::new().await;
    let desk = &rotating.desk;
    let rotated = desk.json(&rotating.arguments("rotate")).await;
    assert_json_snapshot!(rotated, @r#"
    {
      "endpointId": "00000000-0000-4000-8000-000000000004",
      "secret": "whsec_YWJjZGVmZ2hpamtsbW5vcHFyc3R1dnd4eXp7fH1+f4A=",
      "signatures": 2
    }
    "#);
    let second = rotated["secret"].as_str().unwrap().to_owned();
    assert_eq!(rotating.in_force().await, [rotating.first.clone(), second.clone()]);
    let shown = desk.json(&rotating.arguments("show")).await;
    assert_eq!((&shown["nextSecretSigns"], &shown["previousSignsUntil"]), (&true.into(), &().into()));

    assert_json_snapshot!(desk.json(&rotating.arguments("activate")).await, @r#"
    {
      "activated": true,
      "endpointId": "00000000-0000-4000-8000-000000000004",
      "previousSignsUntil": "2026-01-03T03:04:05.678Z"
    }
    "#);
    assert_eq!(rotating.in_force().await, [second.clone(), rotating.first.clone()]);
    let shown = desk.run(&rotating.arguments("show")).await.out;
    assert_snapshot!(shown, @"
    endpoint                     00000000-0000-4000-8000-000000000004
    state                        ENABLED
    events                       *
    max concurrency              -
    max per second               -
    slots                        1
    URL                          https://hooks.example.com/in
    description                  -
    created                      2026-01-02T03:04:05.678Z
    disabled                     -
    disabled because             -
    next secret                  -
    previous secret signs until  2026-01-03T03:04:05.678Z
    not called until             -
    slow until                   -
    failing since                -
    width                        16
    jobs                         -
    ");
    assert!(!shown.contains("whsec_"), "secrets must be shown only once");

    desk.db.clock().advance(DAY);
    assert_eq!(rotating.in_force().await, [second]);
    assert_eq!(desk.json(&rotating.arguments("show")).await["previousSignsUntil"], Value::Null);
}

#[tokio::test]
async fn a_rotation_never_drops_a_secret_that_is_in_use() {
    let rotating = Rotating::new().await;
    let (desk, arguments) = (&rotating.desk, |verb| rotating.arguments(verb));
    assert_snapshot!(desk.refused(&arguments("activate")).await, @"The signing secret is unchanged: there is no next secret: rotate first.");
    let second = rotating.rotate().await;
    assert_snapshot!(desk.refused(&arguments("rotate")).await, @"The signing secret is unchanged: a next secret already exists: activate it, or replace it with --replace.");
    let replace = [&arguments("rotate")[..], &["--replace"]].concat();
    let third = desk.json(&replace).await["secret"].as_str().unwrap().to_owned();
    assert_eq!(
        rotating.in_force().await,
        [rotating.first.clone(), third.clone()],
        "{second} must be replaced"
    );

    assert_eq!(desk.json(&arguments("activate")).await["activated"], true);
    let again = desk.json(&arguments("activate")).await;
    assert_eq!(
        (&again["activated"], &again["previousSignsUntil"]),
        (&false.into(), &"2026-01-03T03:04:05.678Z".into())
    );
    assert_eq!(
        rotating.in_force().await,
        [third.clone(), rotating.first.clone()],
        "the repetition must not switch again"
    );

    // While the previous secret still signs, a next secret can be the third one that signs. It can be activated only
    // after the 24 hours.
    let fourth = rotating.rotate().await;
    assert_eq!(rotating.in_force().await, [third.clone(), fourth.clone(), rotating.first.clone()]);
    assert_snapshot!(desk.refused(&arguments("activate")).await, @"The signing secret is unchanged: the previous secret signs until 2026-01-03T03:04:05.678Z: activate the next secret after that.");
    desk.db.clock().advance(DAY);
    assert_eq!(desk.json(&arguments("activate")).await["activated"], true);
    assert_eq!(rotating.in_force().await, [fourth, third]);
}

#[tokio::test]
async fn of_two_concurrent_rotations_or_activations_one_succeeds() {
    let rotating = Rotating::new().await;
    let (desk, rotate, activate) =
        (&rotating.desk, rotating.arguments("rotate"), rotating.arguments("activate"));
    let (one, other) = join(desk.run(&rotate), desk.run(&rotate)).await;
    assert_eq!(one.status + other.status, 1, "{one:?} {other:?}");
    let second = rotating.in_force().await.pop().unwrap();
    assert!(
        [&one.out, &other.out].iter().any(|out| out.contains(&second)),
        "the successful command must have shown the secret that signs"
    );

    let (one, other) = join(desk.json(&activate), desk.json(&activate)).await;
    assert_ne!(one["activated"], other["activated"]);
    assert_eq!(rotating.in_force().await, [second.clone(), rotating.first.clone()]);

    // The answer to the write was lost: the SDK repeats the write and finds its own result.
    desk.db.clock().advance(DAY);
    desk.db.fail("UpdateItem", Fault::AnswerLost, 1);
    let third = rotating.rotate().await;
    assert_eq!(rotating.in_force().await, [second, third]);
}

#[tokio::test]
async fn the_secret_of_a_deleted_endpoint_cannot_be_rotated() {
    let rotating = Rotating::new().await;
    rotating.desk.json(&rotating.arguments("delete")).await;
    let unknown = format!("The workspace has no webhook endpoint {}.", rotating.endpoint);
    for verb in ["rotate", "activate", "show", "recover", "enable", "disable", "test"] {
        assert_eq!(rotating.desk.refused(&rotating.arguments(verb)).await, unknown);
    }
}
