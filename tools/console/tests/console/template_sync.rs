//! `template sync` and `template prune`, with a provider that lists templates.

use harness::TestDb;
use insta::{assert_json_snapshot, assert_snapshot};
use local::simulator::Provider;
use serde_json::{Value, json};

use crate::Desk;

const ACCOUNT: &str = "205550000000001";

/// A desk whose workspace has a line of the account, with its provider.
async fn desk() -> (Desk, Provider, String) {
    let provider = Provider::start(0).await.unwrap();
    let mut desk = Desk::over(TestDb::start().await);
    desk.graph.url = provider.url();
    let workspace = desk.json(&["workspace", "create", "--name", "Aster"]).await;
    let workspace = workspace["workspaceId"].as_str().unwrap().to_owned();
    let brand = desk.json(&["brand", "create", "--workspace", &workspace, "--name", "Aster"]).await;
    let line = ["line", "create", "--workspace", &workspace, "--channel", "105550000000001"];
    let more = ["--brand", brand["brandId"].as_str().unwrap(), "--business-account", ACCOUNT, "--token", "t"];
    desk.json(&[&line[..], &more[..]].concat()).await;
    (desk, provider, workspace)
}

fn template(name: &str, text: &str) -> Value {
    json!({ "name": name, "language": "en_US", "components": [{ "type": "BODY", "text": text }] })
}

impl Desk {
    /// Sets the account's list at the provider, a second later.
    fn list(&self, provider: &Provider, templates: &[Value]) {
        provider.set_templates(ACCOUNT, &json!({ "data": templates })).unwrap();
        self.db.clock().advance(std::time::Duration::from_secs(1));
    }
}

#[tokio::test]
async fn a_sync_shows_each_template_that_differs_and_a_repeat_shows_none() {
    let (desk, provider, _) = desk().await;
    let mut catalogue = template("catalogue", "See");
    catalogue["components"].as_array_mut().unwrap().push(json!({ "type": "CATALOG" }));
    desk.list(&provider, &[template("order", "Hi {{1}}"), catalogue]);
    let sync = ["template", "sync", "--business-account", ACCOUNT];
    let planned = desk.run(&[&sync[..], &["--dry-run"]].concat()).await;
    assert_snapshot!(planned.out, @r"
    account      205550000000001
    dry run      yes
    listed       2
    created      2
    changed      0
    absent       0
    mismatched   0
    unsupported  1
    templates    CREATED order en_US of workspace 00000000-0000-4000-8000-000000000001: APPROVED
                 CREATED catalogue en_US of workspace 00000000-0000-4000-8000-000000000001: UNSUPPORTED
    not kept     -
    unknown      -
    lines        -
    ");
    let first = desk.json(&sync).await;
    assert_json_snapshot!(first, @r#"
    {
      "absent": 0,
      "businessAccountId": "205550000000001",
      "changed": 0,
      "created": 2,
      "dryRun": false,
      "lines": [],
      "listed": 2,
      "mismatched": 0,
      "notKept": [],
      "templates": [
        {
          "change": "CREATED",
          "differences": [],
          "language": "en_US",
          "name": "order",
          "previousStatus": null,
          "status": "APPROVED",
          "templateId": "00000000-0000-4000-8000-000000000007",
          "workspaceId": "00000000-0000-4000-8000-000000000001"
        },
        {
          "change": "CREATED",
          "differences": [],
          "language": "en_US",
          "name": "catalogue",
          "previousStatus": null,
          "status": "UNSUPPORTED",
          "templateId": "00000000-0000-4000-8000-000000000008",
          "workspaceId": "00000000-0000-4000-8000-000000000001"
        }
      ],
      "unknownStatuses": [],
      "unsupported": 1
    }
    "#);
    let again = desk.json(&sync).await;
    assert_eq!(
        (&again["created"], &again["changed"], &again["templates"]),
        (&json!(0), &json!(0), &json!([]))
    );
    provider
        .change_template(ACCOUNT, &json!({ "command": "pause", "name": "order", "language": "en_US" }))
        .unwrap();
    let components = json!([{ "type": "BODY", "text": "Bye {{1}}" }]);
    let edit = json!({ "command": "edit", "name": "order", "language": "en_US", "components": components });
    provider.change_template(ACCOUNT, &edit).unwrap();
    let delete = json!({ "command": "delete", "name": "catalogue", "language": "en_US" });
    provider.change_template(ACCOUNT, &delete).unwrap();
    desk.db.clock().advance(std::time::Duration::from_secs(1));
    let changed = desk.run(&sync).await;
    assert_eq!(changed.status, 0);
    assert_snapshot!(changed.out, @r"
    account      205550000000001
    dry run      no
    listed       1
    created      0
    changed      1
    absent       1
    mismatched   0
    unsupported  0
    templates    CHANGED order en_US of workspace 00000000-0000-4000-8000-000000000001: APPROVED -> PAUSED (components)
                 ABSENT catalogue en_US of workspace 00000000-0000-4000-8000-000000000001: UNSUPPORTED -> DELETED
    not kept     -
    unknown      -
    lines        -
    ");
}

#[tokio::test]
async fn a_sync_creates_in_the_named_scope_and_refuses_one_without_a_line() {
    let (desk, provider, workspace) = desk().await;
    let other = desk.json(&["workspace", "create", "--name", "Other"]).await;
    desk.list(&provider, &[template("order", "Hi")]);
    let sync = |more: &[&'static str]| [&["template", "sync", "--business-account", ACCOUNT], more].concat();
    assert_snapshot!(desk.refused(&sync(&["--workspace", "Other"])).await, @"Workspace 00000000-0000-4000-8000-000000000005 has no line of the business account 205550000000001.");
    assert_snapshot!(desk.refused(&["template", "sync", "--business-account", "9"]).await, @"No line has the business account 9.");
    assert!(other["workspaceId"].is_string());
    let platform = desk.json(&sync(&["--platform"])).await;
    assert_eq!((&platform["created"], &platform["templates"][0]["workspaceId"]), (&json!(1), &Value::Null));
    // It stands in the platform, so no workspace gets it.
    assert_eq!(desk.json(&sync(&["--workspace", "Aster"])).await["created"], 0);
    let listed = desk.json(&["template", "list", "--workspace", &workspace]).await;
    assert_eq!(listed, json!([]));
}

#[tokio::test]
async fn a_sync_that_ends_early_shows_what_it_did_and_fails() {
    let (desk, provider, _) = desk().await;
    let sync = ["template", "sync", "--business-account", ACCOUNT];
    provider.set_templates(ACCOUNT, &json!({ "data": [], "refuses": 190 })).unwrap();
    let ran = desk.run(&sync).await;
    assert_eq!(ran.status, 1);
    assert_snapshot!(ran.err, @"The sync of 205550000000001 ended early: the provider refuses the token (code 190: (#190) The call is refused). Repeat it; nothing is done twice.");
    let odd =
        json!({ "name": "Order", "language": "en_US", "components": [{ "type": "BODY", "text": "x" }] });
    desk.list(&provider, &[odd, template("order", "Hi")]);
    let ran = desk.run(&sync).await;
    assert_eq!(ran.status, 1);
    assert_snapshot!(ran.err, @"1 of 2 templates of the provider cannot be kept here.");
    assert_snapshot!(ran.out, @r"
    account      205550000000001
    dry run      no
    listed       2
    created      1
    changed      0
    absent       0
    mismatched   0
    unsupported  0
    templates    CREATED order en_US of workspace 00000000-0000-4000-8000-000000000001: APPROVED
    not kept     Order en_US: the name should be 1 to 512 lower-case ASCII letters, digits or underscores, such as order_shipped
    unknown      -
    lines        -
    ");
}

#[tokio::test]
async fn a_status_that_is_not_known_is_shown_and_changes_nothing() {
    let (desk, provider, _) = desk().await;
    let mut odd = template("order", "Hi");
    odd["status"] = json!("A_NEW_STATUS");
    desk.list(&provider, &[odd]);
    let sync = ["template", "sync", "--business-account", ACCOUNT];
    desk.json(&sync).await;
    let again = desk.json(&sync).await;
    let unknown = json!([{ "name": "order", "language": "en_US", "status": "A_NEW_STATUS" }]);
    assert_eq!((&again["unknownStatuses"], &again["changed"]), (&unknown, &json!(0)));
    let ran = desk.run(&sync).await;
    assert!(ran.out.contains("unknown      order en_US: A_NEW_STATUS\n"), "{}", ran.out);
    assert_eq!(ran.status, 0);
}

#[tokio::test]
async fn a_prune_deletes_what_no_account_has_and_keeps_what_is_in_use() {
    let (desk, provider, workspace) = desk().await;
    desk.list(&provider, &[template("used", "Hi"), template("gone", "Hi"), template("stays", "Hi")]);
    let sync = ["template", "sync", "--business-account", ACCOUNT];
    let made = desk.json(&sync).await;
    let of = |name: &str| {
        let all = made["templates"].as_array().unwrap();
        all.iter().find(|one| one["name"] == name).unwrap()["templateId"].as_str().unwrap().to_owned()
    };
    let onboarding = ["onboarding", "set", "--workspace", &workspace, "--override", "ENTIRE"];
    desk.json(&[&onboarding[..], &["--sequence", &of("used")]].concat()).await;
    let by_hand = ["template", "create", "--workspace", &workspace, "--name", "mine", "--language", "en"];
    desk.json(&by_hand).await;
    let prune = ["template", "prune", "--workspace", &workspace];
    assert_eq!(desk.json(&prune).await, json!([]), "nothing is gone yet");
    desk.list(&provider, &[template("stays", "Hi")]);
    assert_eq!(desk.json(&sync).await["absent"], 2);
    let asked = desk.run_at_terminal("no\n", &prune).await;
    assert_eq!(asked.status, 1);
    assert_snapshot!(asked.err, @r#"Templates used, gone of workspace "Aster": each that is not in use is deleted. This cannot be undone. Continue? [y/N] Nothing was changed: the command was not confirmed. --yes confirms it."#);
    let ran = desk.run(&prune).await;
    assert_eq!(ran.status, 1);
    assert_snapshot!(ran.err, @"1 of 2 templates are in use and stay.");
    assert_snapshot!(ran.out, @r"
    TEMPLATE                              NAME  LANGUAGE  DELETED  USED BY
    00000000-0000-4000-8000-000000000005  used  en_US     no       the onboarding
    00000000-0000-4000-8000-000000000006  gone  en_US     yes      -
    ");
    let left = desk.json(&["template", "list", "--workspace", &workspace]).await;
    let mut names: Vec<&str> =
        left.as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect();
    names.sort_unstable();
    assert_eq!(names, ["mine", "stays", "used"]);
    // Once nothing uses it, it goes.
    desk.json(&[&onboarding[..], &["--sequence", &of("stays")]].concat()).await;
    let pruned = desk.json(&prune).await;
    assert_eq!((&pruned[0]["name"], &pruned[0]["deleted"]), (&json!("used"), &json!(true)));
}
