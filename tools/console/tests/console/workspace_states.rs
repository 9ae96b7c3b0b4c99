//! The list of workspaces, and `workspace rename`, `disable` and `enable`.

use domain::{WorkspaceId, WorkspaceState};
use harness::Fault;
use insta::{assert_json_snapshot, assert_snapshot};
use serde_json::{Value, json};

use crate::Desk;

async fn create(desk: &Desk, name: &str) -> String {
    desk.db.clock().advance(std::time::Duration::from_millis(1));
    let made = desk.json(&["workspace", "create", "--name", name]).await;
    made["workspaceId"].as_str().unwrap().to_owned()
}

async fn listed(desk: &Desk) -> Vec<String> {
    let all = desk.json(&["workspace", "list"]).await;
    all.as_array().unwrap().iter().map(|one| one["workspaceId"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn all_workspaces_are_listed_oldest_first_and_equal_names_are_named() {
    let desk = Desk::new().await;
    assert_eq!(desk.json(&["workspace", "list"]).await, json!([]));
    let one = create(&desk, "Aster").await;
    let two = create(&desk, "Begonia").await;
    let three = create(&desk, "Aster").await;
    desk.json(&["workspace", "disable", "--workspace", &two]).await;
    assert_eq!(listed(&desk).await, [one, two, three]);
    let shown = desk.run(&["workspace", "list"]).await;
    assert_snapshot!(shown.out, @"
    WORKSPACE                             NAME     STATE     DISABLED                  SELF-SERVICE  KEY RATE  CREATED                   LIST SHARDS (READ/WRITE)
    00000000-0000-4000-8000-000000000001  Aster    ENABLED   -                         ON            200/s     2026-01-02T03:04:05.679Z  1/1
    00000000-0000-4000-8000-000000000004  Begonia  DISABLED  2026-01-02T03:04:05.681Z  ON            200/s     2026-01-02T03:04:05.680Z  1/1
    00000000-0000-4000-8000-000000000007  Aster    ENABLED   -                         ON            200/s     2026-01-02T03:04:05.681Z  1/1
    ");
    assert_snapshot!(shown.err, @r#"2 workspaces have the name "Aster": 00000000-0000-4000-8000-000000000001, 00000000-0000-4000-8000-000000000007."#);
    let json = desk.run(&["--json", "workspace", "list"]).await;
    assert_eq!(json.err, "", "a program compares the names itself");
}

#[tokio::test]
async fn more_workspaces_than_one_read_returns_are_listed() {
    let desk = Desk::new().await;
    let mut all = vec![];
    for number in 0..130 {
        all.push(create(&desk, &format!("Workspace {number}")).await);
    }
    assert_eq!(listed(&desk).await, all);
}

#[tokio::test]
async fn a_workspace_whose_creation_was_answered_late_is_created_and_listed_once() {
    let desk = Desk::new().await;
    desk.db.fail("TransactWriteItems", Fault::AnswerLost, 1);
    let id = create(&desk, "Aster").await;
    assert_eq!(listed(&desk).await, [id]);
}

#[tokio::test]
async fn a_workspace_is_renamed_disabled_and_enabled_and_a_repeat_changes_nothing() {
    let desk = Desk::new().await;
    let id = create(&desk, "Aster").await;
    let run = async |verb: &[&str]| {
        desk.db.clock().advance(std::time::Duration::from_secs(1));
        desk.json(&[&["workspace"], verb, &["--workspace", &id]].concat()).await
    };
    let workspace =
        async || desk.db.store().workspace(WorkspaceId::parse(&id).unwrap()).await.unwrap().unwrap();
    for _ in 0..2 {
        assert_eq!(run(&["rename", "--name", "Aster Travel"]).await["name"], "Aster Travel");
        assert_eq!(workspace().await.version, 2);
    }
    let disabled = run(&["disable"]).await;
    assert_json_snapshot!(disabled, @r#"
    {
      "createdAt": "2026-01-02T03:04:05.679Z",
      "disabledAt": "2026-01-02T03:04:08.679Z",
      "keyRate": 200,
      "listShardsRead": 1,
      "listShardsWrite": 1,
      "name": "Aster Travel",
      "selfService": "ON",
      "state": "DISABLED",
      "workspaceId": "00000000-0000-4000-8000-000000000001"
    }
    "#);
    assert_eq!(run(&["disable"]).await, disabled, "the first time stays");
    assert_eq!(run(&["show"]).await, disabled);
    assert!(matches!(workspace().await.state, WorkspaceState::Disabled { .. }));
    for _ in 0..2 {
        let enabled = run(&["enable"]).await;
        assert_eq!((&enabled["state"], &enabled["disabledAt"]), (&json!("ENABLED"), &Value::Null));
        assert_eq!(workspace().await.version, 4);
    }
    let nobody = "3f1b8a52-6d0e-4c7a-9b1f-2a5d8e4c7b90";
    for verb in [&["rename", "--name", "x"][..], &["disable"], &["enable"]] {
        let refused = desk.refused(&[&["workspace"], verb, &["--workspace", nobody]].concat()).await;
        assert_eq!(refused, format!("There is no workspace {nobody}."));
    }
    assert_snapshot!(desk.refused(&["workspace", "rename", "--workspace", &id, "--name", " "]).await, @"The name is invalid: a name cannot be blank or contain control characters.");
    assert_eq!(workspace().await.name, "Aster Travel");
}

#[tokio::test]
async fn self_service_and_the_key_rate_are_set_and_a_repeat_changes_nothing() {
    let desk = Desk::new().await;
    let id = create(&desk, "Aster").await;
    let run = async |verb: &[&str]| desk.json(&[verb, &["--workspace", &id]].concat()).await;
    let workspace =
        async || desk.db.store().workspace(WorkspaceId::parse(&id).unwrap()).await.unwrap().unwrap();
    for (verb, field, value, version) in [
        (&["portal", "on"][..], "selfService", json!("ON"), 1),
        (&["portal", "off"], "selfService", json!("OFF"), 2),
        (&["portal", "off"], "selfService", json!("OFF"), 2),
        (&["portal", "on"], "selfService", json!("ON"), 3),
        (&["workspace", "key-rate", "--rate", "200"], "keyRate", json!(200), 3),
        (&["workspace", "key-rate", "--rate", "500"], "keyRate", json!(500), 4),
        (&["workspace", "key-rate", "--rate", "500"], "keyRate", json!(500), 4),
    ] {
        desk.db.clock().advance(std::time::Duration::from_secs(1));
        assert_eq!(run(verb).await[field], value, "{verb:?}");
        assert_eq!(run(&["workspace", "show"]).await[field], value, "{verb:?}");
        assert_eq!(workspace().await.version, version, "{verb:?}");
    }
    let log = run(&["audit", "list"]).await;
    let fields: Vec<&Value> = log.as_array().unwrap().iter().map(|entry| &entry["fields"][0]).collect();
    assert_eq!(fields, ["keyRate", "selfService", "selfService"]);
    for rate in ["0", "10001"] {
        let line = ["workspace", "key-rate", "--workspace", &id, "--rate", rate];
        let refused = desk.refused(&line).await;
        assert_eq!(refused, "The key rate cannot be set: the rate must be 1 to 10000 requests per second.");
    }
}
