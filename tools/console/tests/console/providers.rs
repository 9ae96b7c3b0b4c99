//! `console provider ...`

use aws_sdk_dynamodb::types::AttributeValue;
use domain::{BusinessAccountId, ChannelId, ProviderApp, WorkspaceId};
use insta::assert_snapshot;
use store::Table;

use crate::Desk;

const FIRST: &str = "first-secret-0123456789abcdef";
const SECOND: &str = "second-secret-0123456789abcdef";

async fn create(desk: &Desk, app: &str, more: &[&str]) -> serde_json::Value {
    desk.json(&[&["provider", "create", "--app", app, "--secret", FIRST], more].concat()).await
}

async fn apps(desk: &Desk) -> Vec<ProviderApp> {
    desk.db.store().provider_apps().await.unwrap()
}

#[tokio::test]
async fn an_app_shows_its_verify_token_once_and_its_secret_never() {
    let (desk, workspace) = Desk::with_workspace().await;
    let made = create(&desk, "1042", &[]).await;
    let token = made["verifyToken"].as_str().unwrap();
    assert!(ProviderApp::verify_token(token).is_ok(), "{token}");
    assert_eq!(made["path"], "/api/v1/whatsapp/1042");
    assert_eq!(apps(&desk).await[0].verify_token.expose(), token);
    let own = ["--only-workspace", workspace.as_str(), "--verify-token", "a-token-of-the-tenant"];
    assert_eq!(create(&desk, "77", &own).await["verifyToken"], "a-token-of-the-tenant");

    let listed = desk.run(&["provider", "list"]).await.out;
    assert_snapshot!(listed, @"
    APP   WORKSPACE                             PREVIOUS SECRET UNTIL  CREATED
    1042  all                                   -                      2026-01-02T03:04:05.678Z
    77    00000000-0000-4000-8000-000000000001  -                      2026-01-02T03:04:05.678Z
    ");
}

#[tokio::test]
async fn a_rotation_keeps_the_previous_secret_for_seven_days() {
    let (mut desk, _) = Desk::with_workspace().await;
    create(&desk, "1042", &[]).await;
    desk.input = format!("{SECOND}\n");
    let rotate = ["provider", "rotate", "--app", "1042", "--secret-file", "-"];
    assert_eq!(desk.json(&rotate).await["previousSecretUntil"], "2026-01-09T03:04:05.678Z");
    let app = apps(&desk).await.remove(0);
    assert_eq!(app.secret.expose(), SECOND);
    assert_eq!(app.previous.unwrap().0.expose(), FIRST);
}

#[tokio::test]
async fn a_repeated_deletion_succeeds() {
    let (desk, _) = Desk::with_workspace().await;
    create(&desk, "1042", &[]).await;
    let delete = ["provider", "delete", "--app", "1042"];
    assert_eq!(desk.json(&delete).await["deleted"], true);
    assert_eq!(desk.json(&delete).await["deleted"], false);
    assert!(apps(&desk).await.is_empty());
}

#[tokio::test]
async fn a_refused_command_changes_nothing() {
    let (desk, _) = Desk::with_workspace().await;
    create(&desk, "1042", &[]).await;
    let nobody = "11111111-1111-4111-8111-111111111111";
    let create = ["provider", "create", "--secret", FIRST, "--app"];
    let refusals: [(&[&str], &str); 5] = [
        (&["1042"], "There is an app 1042 already: `provider rotate` changes its secret."),
        (&["7", "--only-workspace", nobody], "There is no workspace 11111111-1111-4111-8111-111111111111."),
        (&["7", "--verify-token", "short"], "The verify token is invalid: "),
        (&["7", "--verify-token", "a token with spaces"], "The verify token is invalid: "),
        (&["x"], ""),
    ];
    for (more, reason) in refusals {
        let refused = desk.run(&[&create, more].concat()).await;
        assert!(refused.status != 0 && refused.err.starts_with(reason), "{more:?}: {}", refused.err);
    }
    let rotate = ["provider", "rotate", "--app", "7", "--secret", SECOND];
    assert_eq!(desk.refused(&rotate).await.trim(), "There is no app 7.");
    assert!(
        desk.refused(&["provider", "rotate", "--app", "1042", "--secret", "short"]).await.contains("invalid")
    );
    assert_eq!(apps(&desk).await.len(), 1);
}

/// Removes what an earlier release did not write: the claim of the line, and the entry of its account.
async fn as_of_an_earlier_release(desk: &Desk, workspace: &str) {
    const PLATFORM: &str = "00000000-0000-0000-0000-000000000000";
    for (pk, sk) in [(format!("{PLATFORM}#LC#1"), "C"), (format!("{PLATFORM}#BA#2"), workspace)] {
        let delete = desk.db.client().delete_item().table_name(desk.db.table(Table::Workspaces));
        delete
            .key("pk", AttributeValue::S(pk))
            .key("sk", AttributeValue::S(sk.to_owned()))
            .send()
            .await
            .unwrap();
    }
}

#[tokio::test]
async fn the_first_app_claims_the_lines_of_an_earlier_release() {
    for only in [false, true] {
        let (desk, workspace) = Desk::with_workspace().await;
        let of = ["--workspace", workspace.as_str()];
        let line =
            ["line", "create", "--channel", "1", "--brand", "a", "--business-account", "2", "--token", "t"];
        desk.json(&[&["brand", "create", "--name", "a", "--id", "a"], &of[..]].concat()).await;
        desk.json(&[&line, &of[..]].concat()).await;
        as_of_an_earlier_release(&desk, &workspace).await;
        let (store, channel) = (desk.db.store(), ChannelId::parse("1").unwrap());
        assert_eq!(store.line_claim(&channel).await.unwrap(), None);

        let own = ["--only-workspace", workspace.as_str()];
        create(&desk, "1042", if only { &own } else { &[] }).await;
        let workspace = WorkspaceId::parse(&workspace).unwrap();
        assert_eq!(store.line_claim(&channel).await.unwrap(), Some(workspace));
        let account = BusinessAccountId::parse("2").unwrap();
        assert_eq!(store.workspaces_of_account(&account).await.unwrap(), [workspace]);
    }
}

#[tokio::test]
async fn a_line_that_two_workspaces_have_is_named_and_stays_with_the_first() {
    let (desk, first) = Desk::with_workspace().await;
    let second = desk.json(&["workspace", "create", "--name", "Other"]).await;
    let second = second["workspaceId"].as_str().unwrap().to_owned();
    let line =
        ["line", "create", "--channel", "1", "--brand", "a", "--business-account", "2", "--token", "t"];
    for workspace in [&first, &second] {
        let of = ["--workspace", workspace.as_str()];
        desk.json(&[&["brand", "create", "--name", "a", "--id", "a"], &of[..]].concat()).await;
        desk.json(&[&line, &of[..]].concat()).await;
        // An earlier release did not refuse the second one.
        as_of_an_earlier_release(&desk, workspace).await;
    }
    let made = desk.run(&["provider", "create", "--app", "1042", "--secret", FIRST, "--json"]).await;
    assert_eq!(made.status, 0);
    assert_eq!(made.err.trim(), format!("The line 1 belongs to workspace {first}: delete it there first."));
    let claim = desk.db.store().line_claim(&ChannelId::parse("1").unwrap()).await.unwrap();
    assert_eq!(claim, WorkspaceId::parse(&first).ok());
}
