use domain::ApiKeyToken;
use insta::{assert_json_snapshot, assert_snapshot};

use crate::Desk;

#[tokio::test]
async fn a_key_is_shown_once_and_then_listed_without_its_secret_value() {
    let (desk, workspace) = Desk::with_workspace().await;
    let made = desk
        .json(&[
            "key",
            "create",
            "--workspace",
            &workspace,
            "--name",
            "CRM",
            "--scope",
            "contacts:write",
            "--scope",
            "contacts:read",
            "--expires",
            "2027-01-31",
            "--rate",
            "5",
            "--burst",
            "9",
        ])
        .await;
    assert_json_snapshot!(made, @r#"
    {
      "apiKey": "msk_LiHWlxSkBDeybSpC1i0RRxBfrCNtHSY71lYJS2",
      "burst": 9,
      "createdAt": "2026-01-02T03:04:05.678Z",
      "createdBy": {
        "id": "AKIDOPERATOR",
        "type": "OPERATOR"
      },
      "expiresAt": "2027-01-31T00:00:00.000Z",
      "keyId": "00000000-0000-4000-8000-000000000004",
      "name": "CRM",
      "rate": 5,
      "revokedAt": null,
      "scopes": [
        "contacts:read",
        "contacts:write"
      ]
    }
    "#);
    let token = ApiKeyToken::parse(made["apiKey"].as_str().unwrap()).unwrap();
    let stored = desk.db.store().api_key(&token.sha256_hex()).await.unwrap().unwrap();
    assert_eq!(stored.id.to_string(), made["keyId"]);
    assert_json_snapshot!(desk.json(&["key", "list", "--workspace", &workspace]).await, @r#"
    [
      {
        "burst": 9,
        "createdAt": "2026-01-02T03:04:05.678Z",
        "createdBy": {
          "id": "AKIDOPERATOR",
          "type": "OPERATOR"
        },
        "expiresAt": "2027-01-31T00:00:00.000Z",
        "keyId": "00000000-0000-4000-8000-000000000004",
        "lastUsedAt": null,
        "name": "CRM",
        "rate": 5,
        "revokedAt": null,
        "scopes": [
          "contacts:read",
          "contacts:write"
        ]
      }
    ]
    "#);
    let limiter = store::Limiter::new(desk.db.store().clone());
    limiter.admit(stored.workspace_id, stored.id, stored.rate).await.unwrap();
    assert_snapshot!(desk.run(&["key", "list", "--workspace", &workspace]).await.out, @"
    KEY                                   NAME  SCOPES                        RATE            CREATED                   EXPIRES                   REVOKED  CREATED BY             LAST USED
    00000000-0000-4000-8000-000000000004  CRM   contacts:read contacts:write  5/s, 9 at once  2026-01-02T03:04:05.678Z  2027-01-31T00:00:00.000Z  -        OPERATOR AKIDOPERATOR  2026-01-02T03:04:00.000Z
    ");
}

#[tokio::test]
async fn people_are_told_to_save_the_key() {
    let (desk, workspace) = Desk::with_workspace().await;
    let ran = desk.run(&["key", "create", "--workspace", &workspace, "--name", "CRM", "--scope", "*"]).await;
    assert_eq!(ran.status, 0);
    assert_snapshot!(ran.out, @"
    API key     msk_LiHWlxSkBDeybSpC1i0RRxBfrCNtHSY71lYJS2
    key         00000000-0000-4000-8000-000000000004
    name        CRM
    scopes      *
    rate        50/s, 100 at once
    created     2026-01-02T03:04:05.678Z
    expires     -
    revoked     -
    created by  OPERATOR AKIDOPERATOR
    ");
    assert_snapshot!(ran.err, @"Save the API key now: only its hash is stored, and it is not shown again.");
}

#[tokio::test]
async fn a_key_is_revoked_in_the_table_at_once_and_may_be_revoked_again() {
    let (desk, workspace) = Desk::with_workspace().await;
    let made = desk.json(&["key", "create", "--workspace", &workspace, "--name", "k", "--scope", "*"]).await;
    let token = ApiKeyToken::parse(made["apiKey"].as_str().unwrap()).unwrap();
    let revoke = ["key", "revoke", "--workspace", &workspace, "--key", made["keyId"].as_str().unwrap()];
    assert_json_snapshot!(desk.json(&revoke).await, @r#"
    {
      "keyId": "00000000-0000-4000-8000-000000000004",
      "revoked": true
    }
    "#);
    let stored = desk.db.store().api_key(&token.sha256_hex()).await.unwrap().unwrap();
    assert!(!stored.is_good(desk.db.store().now()));
    desk.json(&revoke).await;
    let listed = desk.json(&["key", "list", "--workspace", &workspace]).await;
    assert_eq!(listed[0]["revokedAt"], "2026-01-02T03:04:05.678Z");
}

#[tokio::test]
async fn keys_of_another_workspace_cannot_be_revoked() {
    let (desk, workspace) = Desk::with_workspace().await;
    let made = desk.json(&["key", "create", "--workspace", &workspace, "--name", "k", "--scope", "*"]).await;
    let other = desk.json(&["workspace", "create", "--name", "Other"]).await;
    let other = other["workspaceId"].as_str().unwrap();
    let key = made["keyId"].as_str().unwrap();
    assert_eq!(
        desk.refused(&["key", "revoke", "--workspace", other, "--key", key]).await,
        format!("The workspace has no API key {key}.")
    );
}

#[tokio::test]
async fn a_key_with_a_past_expiry_or_a_limit_out_of_bounds_is_refused() {
    let (desk, workspace) = Desk::with_workspace().await;
    let create = async |more: &[&str]| {
        let key = ["key", "create", "--workspace", &workspace, "--name", "k", "--scope", "*"];
        desk.refused(&[&key, more].concat()).await
    };
    assert_snapshot!(create(&["--expires", "2026-01-02T03:04:05.678Z"]).await, @"The key cannot be created: the expiry is in the past.");
    assert_snapshot!(create(&["--rate", "501"]).await, @"The key cannot be created: the rate must be 1 to 500 requests per second.");
    assert_snapshot!(create(&["--burst", "0"]).await, @"The key cannot be created: the burst must be 1 to 30000 requests.");
    assert_eq!(desk.json(&["key", "list", "--workspace", &workspace]).await, serde_json::json!([]));
}
