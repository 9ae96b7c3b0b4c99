use insta::{assert_json_snapshot, assert_snapshot};

use crate::Desk;

#[tokio::test]
async fn members_are_added_and_removed_and_a_repeated_command_changes_nothing() {
    let (desk, workspace) = Desk::with_workspace().await;
    for email in ["ada@example.com", "bram@example.com"] {
        desk.json(&["user", "create", "--workspace", &workspace, "--email", email]).await;
    }
    let create =
        ["team", "create", "--workspace", &workspace, "--name", "Sales", "--user", "ada@example.com"];
    let made = desk.json(&create).await;
    assert_json_snapshot!(made, @r#"
    {
      "createdAt": "2026-01-02T03:04:05.678Z",
      "members": [
        "00000000-0000-4000-8000-000000000004"
      ],
      "name": "Sales",
      "teamId": "00000000-0000-4000-8000-000000000006"
    }
    "#);
    let team = made["teamId"].as_str().unwrap();
    let add = ["team", "add", "--workspace", &workspace, "--team", team, "--user", "bram@example.com"];
    let with_both = desk.json(&add).await;
    assert_eq!(with_both["members"].as_array().unwrap().len(), 2);
    assert_eq!(desk.json(&add).await, with_both);
    let remove = [
        "team",
        "remove",
        "--workspace",
        &workspace,
        "--team",
        team,
        "--user",
        "ada@example.com",
        "--user",
        "bram@example.com",
    ];
    assert_eq!(desk.json(&remove).await["members"], serde_json::json!([]));
    assert_snapshot!(desk.run(&["team", "list", "--workspace", &workspace]).await.out, @"
    TEAM                                  NAME   MEMBERS  CREATED
    00000000-0000-4000-8000-000000000006  Sales  0        2026-01-02T03:04:05.678Z
    ");
}

#[tokio::test]
async fn an_unknown_team_and_an_unknown_member_are_refused() {
    let (desk, workspace) = Desk::with_workspace().await;
    desk.json(&["user", "create", "--workspace", &workspace, "--email", "ada@example.com"]).await;
    let nobody = "3f1b8a52-6d0e-4c7a-9b1f-2a5d8e4c7b90";
    let add = ["team", "add", "--workspace", &workspace, "--team", nobody, "--user", "ada@example.com"];
    assert_snapshot!(desk.refused(&add).await, @"The workspace has no team 3f1b8a52-6d0e-4c7a-9b1f-2a5d8e4c7b90.");
    let create = ["team", "create", "--workspace", &workspace, "--name", "Sales", "--user", nobody];
    assert_snapshot!(desk.refused(&create).await, @"The workspace has no user 3f1b8a52-6d0e-4c7a-9b1f-2a5d8e4c7b90.");
    assert_eq!(desk.run(&["team", "list", "--workspace", &workspace]).await.out, "None.\n");
}
