use domain::{Email, UserRef, UserStatus, WorkspaceId};
use insta::{assert_json_snapshot, assert_snapshot};

use crate::Desk;

#[tokio::test]
async fn a_user_is_created_listed_and_disabled_by_id_or_address() {
    let (desk, workspace) = Desk::with_workspace().await;
    let made = desk
        .json(&[
            "user",
            "create",
            "--workspace",
            &workspace,
            "--email",
            "Ada@example.com",
            "--first-name",
            "Ada",
            "--last-name",
            "Okafor",
            "--cellphone",
            "+14155550123",
            "--language",
            "EN",
        ])
        .await;
    assert_json_snapshot!(made, @r#"
    {
      "cellphone": "+14155550123",
      "createdAt": "2026-01-02T03:04:05.678Z",
      "email": "Ada@example.com",
      "firstName": "Ada",
      "id": "00000000-0000-4000-8000-000000000004",
      "languageCode": "EN",
      "lastName": "Okafor",
      "status": "active",
      "updatedAt": "2026-01-02T03:04:05.678Z"
    }
    "#);
    desk.json(&["user", "create", "--workspace", &workspace, "--email", "bram@example.com"]).await;
    let by_id = ["user", "disable", "--workspace", &workspace, "--user", made["id"].as_str().unwrap()];
    assert_eq!(desk.json(&by_id).await["status"], "disabled");
    assert_eq!(desk.json(&by_id).await["status"], "disabled");
    assert_snapshot!(desk.run(&["user", "list", "--workspace", &workspace]).await.out, @"
    USER                                  E-MAIL            STATUS    FIRST NAME  LAST NAME  CELLPHONE     CREATED
    00000000-0000-4000-8000-000000000004  Ada@example.com   disabled  Ada         Okafor     +14155550123  2026-01-02T03:04:05.678Z
    00000000-0000-4000-8000-000000000006  bram@example.com  active    -           -          -             2026-01-02T03:04:05.678Z
    ");
    desk.json(&["user", "disable", "--workspace", &workspace, "--user", "BRAM@example.com"]).await;
    let listed = desk.json(&["user", "list", "--workspace", &workspace]).await;
    assert!(listed.as_array().unwrap().iter().all(|user| user["status"] == "disabled"));
}

#[tokio::test]
async fn the_rows_by_id_and_by_address_agree_after_each_change() {
    let (desk, workspace) = Desk::with_workspace().await;
    desk.json(&["user", "create", "--workspace", &workspace, "--email", "Ada@example.com"]).await;
    desk.json(&["user", "disable", "--workspace", &workspace, "--user", "ada@example.com"]).await;
    let workspace = WorkspaceId::parse(&workspace).unwrap();
    let named = UserRef::Email(Email::parse("aDA@example.com").unwrap());
    desk.db.forget_calls();
    let by_email = desk.db.store().user_by_ref(workspace, &named).await.unwrap().unwrap();
    assert_eq!(harness::trips(&desk.db.calls()), 1);
    assert_eq!(by_email.status, UserStatus::Disabled);
    assert_eq!(desk.db.store().user(workspace, by_email.id).await.unwrap(), Some(by_email));
}

#[tokio::test]
async fn an_address_is_unique_without_case_even_if_its_user_is_disabled() {
    let (desk, workspace) = Desk::with_workspace().await;
    desk.json(&["user", "create", "--workspace", &workspace, "--email", "ada@example.com"]).await;
    desk.json(&["user", "disable", "--workspace", &workspace, "--user", "ada@example.com"]).await;
    let again = ["user", "create", "--workspace", &workspace, "--email", "ADA@example.com"];
    assert_snapshot!(desk.refused(&again).await, @"Another user of the workspace already has this e-mail address.");
    let other = desk.json(&["workspace", "create", "--name", "Other"]).await;
    let other = other["workspaceId"].as_str().unwrap();
    desk.json(&["user", "create", "--workspace", other, "--email", "ada@example.com"]).await;
}

#[tokio::test]
async fn invalid_values_and_unknown_users_are_refused() {
    let (desk, workspace) = Desk::with_workspace().await;
    let create = ["user", "create", "--workspace", &workspace, "--email"];
    assert_snapshot!(desk.refused(&[&create[..], &["ada"]].concat()).await, @"The e-mail address is invalid: should be an e-mail address, such as jo@example.com.");
    let phone = ["ada@example.com", "--cellphone", "12"];
    assert_snapshot!(desk.refused(&[&create[..], &phone].concat()).await, @"The cellphone is invalid: should be a phone number in E.164 format, such as +34600111222.");
    let disable = ["user", "disable", "--workspace", &workspace, "--user", "nobody@example.com"];
    assert_snapshot!(desk.refused(&disable).await, @"The workspace has no user nobody@example.com.");
}

#[tokio::test]
async fn a_user_is_enabled_again_and_changed_and_a_repeated_command_changes_nothing() {
    let (desk, workspace) = Desk::with_workspace().await;
    let within = ["--workspace", workspace.as_str()];
    let create =
        ["user", "create", "--email", "ada@example.com", "--last-name", "Okafor", "--language", "EN"];
    let made = desk.json(&[&create[..], &within].concat()).await;
    let user = ["--user", "ADA@example.com"];
    let run = async |verb: &str, more: &[&str]| {
        desk.json(&[&["user", verb], &user[..], &within, more].concat()).await
    };
    desk.db.clock().advance(std::time::Duration::from_secs(1));
    assert_eq!(run("disable", &[]).await["status"], "disabled");
    let enabled = run("enable", &[]).await;
    assert_eq!(enabled["status"], "active");
    assert_eq!(run("enable", &[]).await, enabled);

    let change = ["--first-name", "Ada", "--cellphone", "+14155550123", "--no-language"];
    desk.db.clock().advance(std::time::Duration::from_secs(1));
    let changed = run("update", &change).await;
    let mut expected = made.clone();
    expected["firstName"] = "Ada".into();
    expected["cellphone"] = "+14155550123".into();
    expected["languageCode"] = serde_json::Value::Null;
    expected["updatedAt"] = "2026-01-02T03:04:07.678Z".into();
    assert_eq!(changed, expected);
    desk.db.clock().advance(std::time::Duration::from_secs(1));
    assert_eq!(run("update", &change).await, changed);
    assert_eq!(
        run("update", &["--no-last-name", "--language", "ES"]).await["lastName"],
        serde_json::Value::Null
    );

    // The rows by id and by address agree.
    let id = WorkspaceId::parse(&workspace).unwrap();
    let by_email = UserRef::Email(Email::parse("ada@example.com").unwrap());
    let by_email = desk.db.store().user_by_ref(id, &by_email).await.unwrap().unwrap();
    assert_eq!(by_email.version, 5);
    assert_eq!(desk.db.store().user(id, by_email.id).await.unwrap(), Some(by_email));
}

#[tokio::test]
async fn an_update_of_a_user_needs_a_valid_change() {
    let (desk, workspace) = Desk::with_workspace().await;
    let within = ["--workspace", workspace.as_str()];
    desk.json(&[&["user", "create", "--email", "ada@example.com"], &within[..]].concat()).await;
    let update = ["user", "update", "--user", "ada@example.com"];
    for wrong in [
        &[][..],
        &["--first-name", " "],
        &["--cellphone", "12"],
        &["--language", "FR"],
        &["--first-name", "Ada", "--no-first-name"],
        &["--email", "eve@example.com"],
    ] {
        let ran = desk.run(&[&update, &within[..], wrong].concat()).await;
        assert_eq!(ran.status, 2, "{wrong:?}: {ran:?}");
    }
    let nobody = ["user", "enable", "--user", "nobody@example.com"];
    let refused = desk.refused(&[&nobody, &within[..]].concat()).await;
    assert_eq!(refused, "The workspace has no user nobody@example.com.");
}
