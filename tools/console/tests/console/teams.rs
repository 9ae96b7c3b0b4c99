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
      "teamId": "00000000-0000-4000-8000-000000000008"
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
    00000000-0000-4000-8000-000000000008  Sales  -        2026-01-02T03:04:05.678Z
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

#[tokio::test]
async fn a_table_shows_the_first_members_by_address_and_counts_the_others() {
    let (desk, workspace) = Desk::with_workspace().await;
    let within = ["--workspace", workspace.as_str()];
    let mut users = vec![];
    for name in ["ada", "bram", "chloe", "diego", "erik"] {
        let email = format!("{name}@example.com");
        desk.json(&[&["user", "create", "--email", &email], &within[..]].concat()).await;
        users.push(email);
    }
    for (name, members) in [("Few", &users[..3]), ("Many", &users[..]), ("None", &[])] {
        let members = members.iter().flat_map(|email| ["--user", email.as_str()]);
        let create: Vec<&str> =
            ["team", "create", "--name", name].into_iter().chain(within).chain(members).collect();
        desk.json(&create).await;
    }
    desk.db.forget_calls();
    assert_snapshot!(desk.run(&[&["team", "list"], &within[..]].concat()).await.out, @"
    TEAM                                  NAME  MEMBERS                                                       CREATED
    00000000-0000-4000-8000-00000000000e  Few   ada@example.com, bram@example.com, chloe@example.com          2026-01-02T03:04:05.678Z
    00000000-0000-4000-8000-000000000010  Many  ada@example.com, bram@example.com, chloe@example.com, 2 more  2026-01-02T03:04:05.678Z
    00000000-0000-4000-8000-000000000012  None  -                                                             2026-01-02T03:04:05.678Z
    ");
    // The workspace, the teams, and the users by one batch.
    assert_eq!(harness::trips(&desk.db.calls()), 3);
    desk.db.forget_calls();
    let listed = desk.json(&[&["team", "list"], &within[..]].concat()).await;
    assert_eq!(listed[1]["members"].as_array().unwrap().len(), 5);
    assert_eq!(harness::trips(&desk.db.calls()), 2);
}
