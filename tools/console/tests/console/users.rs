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
    00000000-0000-4000-8000-000000000005  bram@example.com  active    -           -          -             2026-01-02T03:04:05.678Z
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
