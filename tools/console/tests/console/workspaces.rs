use insta::{assert_json_snapshot, assert_snapshot};

use crate::Desk;

#[tokio::test]
async fn a_workspace_is_created_and_shown() {
    let desk = Desk::new().await;
    let made = desk.json(&["workspace", "create", "--name", "Aster Travel"]).await;
    assert_json_snapshot!(made, @r#"
    {
      "createdAt": "2026-01-02T03:04:05.678Z",
      "disabledAt": null,
      "keyRate": 200,
      "listShardsRead": 1,
      "listShardsWrite": 1,
      "name": "Aster Travel",
      "selfService": "ON",
      "state": "ENABLED",
      "workspaceId": "00000000-0000-4000-8000-000000000001"
    }
    "#);
    let id = made["workspaceId"].as_str().unwrap();
    assert_eq!(desk.json(&["workspace", "show", "--workspace", id]).await, made);
    assert_snapshot!(desk.run(&["workspace", "show", "--workspace", id]).await.out, @"
    workspace                 00000000-0000-4000-8000-000000000001
    name                      Aster Travel
    state                     ENABLED
    disabled                  -
    self-service              ON
    key rate                  200/s
    created                   2026-01-02T03:04:05.678Z
    list shards (read/write)  1/1
    ");
}

#[tokio::test]
async fn the_first_workspace_creates_the_keys_of_the_deployment_and_the_second_keeps_them() {
    let desk = Desk::new().await;
    desk.json(&["workspace", "create", "--name", "One"]).await;
    let keys = async || {
        // Each process has a memory of its own.
        let store = desk.db.store_of("contacts");
        (store.cursor_keys().await.unwrap(), desk.db.store().person_key().await.unwrap())
    };
    let first = keys().await;
    assert_ne!(first.0.current.bytes(), first.1.bytes());
    desk.json(&["workspace", "create", "--name", "Two"]).await;
    desk.db.clock().advance(std::time::Duration::from_secs(300));
    assert_eq!(keys().await, first);
}

#[tokio::test]
async fn a_workspace_is_named_by_its_name_or_its_id() {
    let desk = Desk::new().await;
    let made = desk.json(&["workspace", "create", "--name", "Aster Travel"]).await;
    for name in ["Aster Travel", "aster travel", " ASTER TRAVEL "] {
        assert_eq!(desk.json(&["workspace", "show", "--workspace", name]).await, made, "{name:?}");
    }
    let create = ["team", "create", "--workspace", "Aster Travel", "--name", "Sales"];
    let team = desk.json(&create).await["teamId"].as_str().unwrap().to_owned();
    let renamed = ["team", "rename", "--workspace", "Aster Travel", "--team", &team, "--name", "Support"];
    assert_eq!(desk.json(&renamed).await["name"], "Support");
    let template = ["template", "create", "--workspace", "Aster Travel", "--name", "t", "--language", "es"];
    assert_eq!(desk.json(&template).await["scope"], "WORKSPACE");
    let app = [
        "provider",
        "create",
        "--app",
        "7",
        "--secret",
        "0123456789abcdef",
        "--only-workspace",
        "Aster Travel",
    ];
    assert_eq!(desk.json(&app).await["workspaceId"], made["workspaceId"]);
    assert_snapshot!(desk.refused(&["team", "list", "--workspace", "Astro"]).await, @r#"There is no workspace "Astro"."#);
    desk.json(&["workspace", "create", "--name", "ASTER TRAVEL"]).await;
    let refused = desk.refused(&["team", "list", "--workspace", "Aster Travel"]).await;
    assert_snapshot!(refused, @r#"2 workspaces have the name "Aster Travel": give one of their ids: 00000000-0000-4000-8000-000000000001, 00000000-0000-4000-8000-000000000009."#);
}

#[tokio::test]
async fn a_given_workspace_id_can_be_used_once() {
    let desk = Desk::new().await;
    let id = "3f1b8a52-6d0e-4c7a-9b1f-2a5d8e4c7b90";
    let create = ["workspace", "create", "--name", "Aster", "--id", id];
    assert_eq!(desk.json(&create).await["workspaceId"], id);
    assert_snapshot!(desk.refused(&create).await, @"Workspace 3f1b8a52-6d0e-4c7a-9b1f-2a5d8e4c7b90 already exists.");
}

#[tokio::test]
async fn an_invalid_name_and_an_unknown_workspace_are_refused() {
    let desk = Desk::new().await;
    assert_snapshot!(desk.refused(&["workspace", "create", "--name", " "]).await, @"The name is invalid: a name cannot be blank or contain control characters.");
    assert_snapshot!(desk.refused(&["workspace", "create", "--name", ""]).await, @"The name is invalid: should have at least 1 characters.");
    let nobody = "3f1b8a52-6d0e-4c7a-9b1f-2a5d8e4c7b90";
    let delivery = format!("{nobody}.{nobody}");
    for command in [
        &["workspace", "show"][..],
        &["key", "list"],
        &["key", "create", "--name", "k", "--scope", "*"],
        &["user", "list"],
        &["user", "create", "--email", "a@example.com"],
        &["team", "list"],
        &["team", "create", "--name", "t"],
        &["attribute", "list"],
        &["attribute", "create", "--key-name", "k", "--category", "OPEN"],
        &["contacts", "import", "none.csv"],
        &["contacts", "export"],
        &["brand", "list"],
        &["brand", "create", "--name", "b"],
        &["line", "list"],
        &["line", "create", "--channel", "1", "--brand", "b", "--business-account", "2", "--token", "t"],
        &["line", "default", "--channel", "1"],
        &["line", "token", "--channel", "1", "--token", "t"],
        &["line", "rename", "--channel", "1", "--name", "l"],
        &["line", "delete", "--channel", "1"],
        &["brand", "rename", "--brand", "b", "--name", "c"],
        &["brand", "delete", "--brand", "b"],
        &["team", "rename", "--team", nobody, "--name", "t"],
        &["team", "delete", "--team", nobody],
        &["user", "enable", "--user", nobody],
        &["user", "update", "--user", nobody, "--no-language"],
        &["attribute", "unarchive", "--attribute", nobody],
        &["attribute", "rename", "--attribute", nobody, "--key-name", "k"],
        &["attribute", "add-value", "--attribute", nobody, "--value", "v"],
        &["attribute", "rename-value", "--attribute", nobody, "--value", "v", "--to", "w"],
        &["template", "list"],
        &["template", "show", "--template", nobody],
        &["template", "set-source", "--template", nobody, "--source", "a=CALLER"],
        &["template", "delete", "--template", nobody],
        &["template", "create", "--name", "t", "--language", "es"],
        &["template", "approve", "--template", nobody, "--business-account", "2"],
        &["template", "revoke", "--template", nobody, "--business-account", "2"],
        &["onboarding", "show"],
        &["onboarding", "set", "--override", "ENTIRE"],
        &["conversation", "show", "--conversation", nobody],
        &["message", "show", "--conversation", nobody, "--message", nobody],
        &["webhook", "list"],
        &["webhook", "create", "--url", "https://example.com", "--api-key", "k"],
        &["webhook", "delete", "--endpoint", nobody],
        &["delivery", "list"],
        &["delivery", "show", "--delivery", &delivery],
        &["delivery", "retry", "--delivery", &delivery],
        &["delivery", "replay", "--endpoint", nobody, "--since", "2026-01-01"],
        &["webhook", "update", "--endpoint", nobody, "--slots", "2"],
        &["webhook", "enable", "--endpoint", nobody],
        &["webhook", "recover", "--endpoint", nobody],
        &["webhook", "cancel", "--endpoint", nobody, "--job", nobody],
    ] {
        let refused = desk.refused(&[command, &["--workspace", nobody]].concat()).await;
        assert_eq!(refused, format!("There is no workspace {nobody}."), "{command:?}");
    }
}

#[tokio::test]
async fn the_cursor_key_is_rotated_if_it_exists_and_not_twice_in_ten_minutes() {
    let desk = Desk::new().await;
    let rotate = ["cursor-key", "rotate"];
    let refusal =
        "The cursor key cannot be rotated: there is none yet, or it was rotated within the last 10 minutes.";
    assert_eq!(desk.refused(&rotate).await, refusal);
    desk.json(&["workspace", "create", "--name", "One"]).await;
    assert_eq!(desk.json(&rotate).await, serde_json::json!({"rotated": true}));
    assert_eq!(desk.refused(&rotate).await, refusal);
    desk.db.clock().advance(std::time::Duration::from_secs(600));
    assert_eq!(desk.json(&rotate).await, serde_json::json!({"rotated": true}));
}
