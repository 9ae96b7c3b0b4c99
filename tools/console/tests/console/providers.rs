//! `console provider ...`

use domain::ProviderApp;
use insta::assert_snapshot;

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
