use std::time::Duration;

use domain::{EndpointId, WorkspaceId};
use futures::future::join;
use harness::Fault;
use insta::{assert_json_snapshot, assert_snapshot};

use crate::Desk;

async fn endpoint(desk: &Desk, workspace: &str) -> String {
    let url = "https://hooks.example.com/in";
    let made =
        desk.json(&["webhook", "create", "--workspace", workspace, "--url", url, "--api-key", "k"]).await;
    made["endpointId"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn an_endpoint_is_made_with_a_secret_that_is_shown_once() {
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
      "secret": "whsec_ISIjJCUmJygpKissLS4vMDEyMzQ1Njc4OTo7PD0+P0A=",
      "url": "https://hooks.example.com:8443/in?x=1"
    }
    "#);
    assert_json_snapshot!(desk.json(&["webhook", "list", "--workspace", &workspace]).await, @r#"
    [
      {
        "endpointId": "00000000-0000-4000-8000-000000000004",
        "events": [
          "contact.created",
          "contact.updated"
        ],
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
async fn an_endpoint_is_disabled_and_enabled_any_number_of_times() {
    let (desk, workspace) = Desk::with_workspace().await;
    let id = endpoint(&desk, &workspace).await;
    let verb = async |verb| desk.json(&["webhook", verb, "--workspace", &workspace, "--endpoint", &id]).await;
    assert_json_snapshot!(verb("disable").await, @r#"
    {
      "endpointId": "00000000-0000-4000-8000-000000000004",
      "events": [
        "*"
      ],
      "state": "DISABLED",
      "url": "https://hooks.example.com/in"
    }
    "#);
    assert_json_snapshot!(verb("show").await, @r#"
    {
      "createdAt": "2026-01-02T03:04:05.678Z",
      "disabledAt": "2026-01-02T03:04:05.678Z",
      "disabledReason": "OPERATOR",
      "endpointId": "00000000-0000-4000-8000-000000000004",
      "events": [
        "*"
      ],
      "failingSince": null,
      "nextSecretSigns": false,
      "openUntil": null,
      "previousSignsUntil": null,
      "slowUntil": null,
      "state": "DISABLED",
      "url": "https://hooks.example.com/in"
    }
    "#);
    assert_eq!(verb("disable").await["state"], "DISABLED");
    assert_snapshot!(desk.run(&["webhook", "list", "--workspace", &workspace]).await.out, @"
    ENDPOINT                              STATE     EVENTS  URL
    00000000-0000-4000-8000-000000000004  DISABLED  *       https://hooks.example.com/in
    ");
    assert_eq!(verb("enable").await["state"], "ENABLED");
    assert_eq!(verb("enable").await["state"], "ENABLED");
    assert_eq!(verb("show").await["disabledAt"], serde_json::Value::Null);
}

#[tokio::test]
async fn a_deleted_endpoint_is_gone_with_its_secrets() {
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
    // As often as an interrupted run needs it, but not for an endpoint that never was.
    assert_eq!(desk.json(&delete).await["deleted"], true);
    let never = ["webhook", "delete", "--workspace", &workspace, "--endpoint", &workspace];
    assert_eq!(desk.refused(&never).await, format!("The workspace has no webhook endpoint {workspace}."));
    assert_eq!(desk.json(&["webhook", "list", "--workspace", &workspace]).await, serde_json::json!([]));
    let (workspace, id) = (WorkspaceId::parse(&workspace).unwrap(), EndpointId::parse(&id).unwrap());
    assert_eq!(desk.db.store().endpoint_secrets(workspace, id).await.unwrap(), None);
}

#[tokio::test]
async fn urls_that_deliveries_would_refuse_are_refused_here() {
    let (desk, workspace) = Desk::with_workspace().await;
    let create = async |url: &str| {
        desk.refused(&["webhook", "create", "--workspace", &workspace, "--url", url, "--api-key", "k"]).await
    };
    assert_snapshot!(create("http://hooks.example.com/").await, @"The URL is refused: a webhook endpoint uses https.");
    assert_snapshot!(create("https://user:pass@hooks.example.com/").await, @"The URL is refused: a webhook endpoint's URL carries no user name and no password.");
    assert_snapshot!(create("https://hooks.example.com:8080/").await, @"The URL is refused: a webhook endpoint listens on port 443 or 8443.");
    assert_snapshot!(create("hooks").await, @"The URL is refused: this is not a URL.");
    for private in ["127.0.0.1", "10.0.0.1", "169.254.169.254", "[::1]", "[::ffff:10.0.0.1]", "localhost"] {
        assert_eq!(
            create(&format!("https://{private}/")).await,
            "The URL is refused: a webhook endpoint has a public address."
        );
    }
    assert_eq!(desk.json(&["webhook", "list", "--workspace", &workspace]).await, serde_json::json!([]));
    let trusted = ["--url", "https://127.0.0.1:9443/ok", "--api-key", "k"];
    desk.json(&[&["webhook", "create", "--workspace", &workspace], &trusted[..]].concat()).await;
}

#[tokio::test]
async fn a_customers_key_that_fits_no_header_is_refused() {
    let (desk, workspace) = Desk::with_workspace().await;
    let url = "https://hooks.example.com/";
    let create = ["webhook", "create", "--workspace", &workspace, "--url", url, "--api-key", "a b"];
    assert_snapshot!(desk.refused(&create).await, @"The customer's API key does not fit: should match ^[!-~]{1,256}$.");
}

#[tokio::test]
async fn of_twelve_endpoints_made_at_once_ten_are_taken() {
    let (desk, workspace) = Desk::with_workspace().await;
    let urls: Vec<String> = (0..12).map(|n| format!("https://hooks.example.com/{n}")).collect();
    let made = urls.iter().map(|url| async {
        let create = ["webhook", "create", "--workspace", &workspace, "--url", url, "--api-key", "k"];
        desk.run(&create).await
    });
    let ran = futures::future::join_all(made).await;
    assert_eq!(ran.iter().filter(|ran| ran.status == 0).count(), 10);
    let refused: Vec<&str> = ran.iter().filter(|ran| ran.status == 1).map(|ran| ran.err.trim_end()).collect();
    assert_eq!(refused, ["The workspace has 10 webhook endpoints already, the most it may have."; 2]);
    let listed = desk.json(&["webhook", "list", "--workspace", &workspace]).await;
    assert_eq!(listed.as_array().unwrap().len(), 10);
}

/// An endpoint whose secret is rotated.
struct Rotating {
    desk: Desk,
    workspace: String,
    endpoint: String,
    /// The secret it was made with.
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
      "secret": "whsec_QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVpbXF1eX2A=",
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
    endpoint                   00000000-0000-4000-8000-000000000004
    state                      ENABLED
    events                     *
    URL                        https://hooks.example.com/in
    created                    2026-01-02T03:04:05.678Z
    disabled                   -
    because                    -
    next secret                -
    secret before signs until  2026-01-03T03:04:05.678Z
    not called until           -
    slow until                 -
    failing since              -
    ");
    assert!(!shown.contains("whsec_"), "secrets are shown once");

    desk.db.clock().advance(DAY);
    assert_eq!(rotating.in_force().await, [second]);
    assert_eq!(desk.json(&rotating.arguments("show")).await["previousSignsUntil"], serde_json::Value::Null);
}

#[tokio::test]
async fn a_rotation_goes_only_where_nobodys_secret_is_lost() {
    let rotating = Rotating::new().await;
    let (desk, arguments) = (&rotating.desk, |verb| rotating.arguments(verb));
    assert_snapshot!(desk.refused(&arguments("activate")).await, @"The signing secret stays as it is: no next secret is given out: rotate it first.");
    let second = rotating.rotate().await;
    assert_snapshot!(desk.refused(&arguments("rotate")).await, @"The signing secret stays as it is: a next secret is given out already: activate it, or give it up with --replace.");
    let replace = [&arguments("rotate")[..], &["--replace"]].concat();
    let third = desk.json(&replace).await["secret"].as_str().unwrap().to_owned();
    assert_eq!(rotating.in_force().await, [rotating.first.clone(), third.clone()], "{second} was given up");

    assert_eq!(desk.json(&arguments("activate")).await["activated"], true);
    let again = desk.json(&arguments("activate")).await;
    assert_eq!(
        (&again["activated"], &again["previousSignsUntil"]),
        (&false.into(), &"2026-01-03T03:04:05.678Z".into())
    );
    assert_eq!(rotating.in_force().await, [third.clone(), rotating.first.clone()], "not a second switch");

    // While the secret before signs still, a next one may sign too, as the third; it is activated when the day is over.
    let fourth = rotating.rotate().await;
    assert_eq!(rotating.in_force().await, [third.clone(), fourth.clone(), rotating.first.clone()]);
    assert_snapshot!(desk.refused(&arguments("activate")).await, @"The signing secret stays as it is: the secret before the active one signs until 2026-01-03T03:04:05.678Z: activate the next one then.");
    desk.db.clock().advance(DAY);
    assert_eq!(desk.json(&arguments("activate")).await["activated"], true);
    assert_eq!(rotating.in_force().await, [fourth, third]);
}

#[tokio::test]
async fn of_two_who_rotate_or_activate_at_a_time_one_does_it() {
    let rotating = Rotating::new().await;
    let (desk, rotate, activate) =
        (&rotating.desk, rotating.arguments("rotate"), rotating.arguments("activate"));
    let (one, other) = join(desk.run(&rotate), desk.run(&rotate)).await;
    assert_eq!(one.status + other.status, 1, "{one:?} {other:?}");
    let second = rotating.in_force().await.pop().unwrap();
    assert!(
        [&one.out, &other.out].iter().any(|out| out.contains(&second)),
        "who was answered has the one that signs"
    );

    let (one, other) = join(desk.json(&activate), desk.json(&activate)).await;
    assert_ne!(one["activated"], other["activated"]);
    assert_eq!(rotating.in_force().await, [second.clone(), rotating.first.clone()]);

    // The answer to the write was lost: the SDK writes again and finds its own.
    desk.db.clock().advance(DAY);
    desk.db.fail("UpdateItem", Fault::AnswerLost, 1);
    let third = rotating.rotate().await;
    assert_eq!(rotating.in_force().await, [second, third]);
}

#[tokio::test]
async fn there_is_nothing_to_rotate_of_an_endpoint_that_is_no_more() {
    let rotating = Rotating::new().await;
    rotating.desk.json(&rotating.arguments("delete")).await;
    let unknown = format!("The workspace has no webhook endpoint {}.", rotating.endpoint);
    for verb in ["rotate", "activate", "show", "recover"] {
        assert_eq!(rotating.desk.refused(&rotating.arguments(verb)).await, unknown);
    }
}
