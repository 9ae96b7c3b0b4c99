//! `console audit list`, and the changes that have entries.

use insta::{assert_json_snapshot, assert_snapshot};
use serde_json::{Value, json};

use crate::Desk;

/// A workspace with a key that was revoked, and another name.
async fn changed() -> (Desk, String) {
    let (desk, workspace) = Desk::with_workspace().await;
    let tick = || desk.db.clock().advance(std::time::Duration::from_secs(60));
    let key = desk.json(&["key", "create", "--workspace", &workspace, "--name", "CRM", "--scope", "*"]).await;
    let key = key["keyId"].as_str().unwrap().to_owned();
    tick();
    desk.json(&["key", "revoke", "--workspace", &workspace, "--key", &key, "--yes"]).await;
    tick();
    desk.json(&["workspace", "rename", "--workspace", &workspace, "--name", "Begonia"]).await;
    (desk, workspace)
}

fn actions(listed: &Value) -> Vec<&str> {
    listed.as_array().unwrap().iter().map(|entry| entry["action"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn each_change_of_the_console_has_an_entry_with_its_operator() {
    let (desk, workspace) = changed().await;
    let listed = desk.json(&["audit", "list", "--workspace", &workspace]).await;
    assert_json_snapshot!(listed, @r#"
    [
      {
        "action": "workspace.update",
        "actor": {
          "id": "AKIDOPERATOR",
          "type": "OPERATOR"
        },
        "at": "2026-01-02T03:06:05.678Z",
        "auditEntryId": "00000000-0000-4000-8000-000000000007",
        "fields": [
          "name"
        ],
        "requestId": null,
        "subject": {
          "id": "00000000-0000-4000-8000-000000000001",
          "type": "workspace"
        }
      },
      {
        "action": "api_key.revoke",
        "actor": {
          "id": "AKIDOPERATOR",
          "type": "OPERATOR"
        },
        "at": "2026-01-02T03:05:05.678Z",
        "auditEntryId": "00000000-0000-4000-8000-000000000006",
        "fields": [],
        "requestId": null,
        "subject": {
          "id": "00000000-0000-4000-8000-000000000004",
          "type": "api_key"
        }
      },
      {
        "action": "api_key.create",
        "actor": {
          "id": "AKIDOPERATOR",
          "type": "OPERATOR"
        },
        "at": "2026-01-02T03:04:05.678Z",
        "auditEntryId": "00000000-0000-4000-8000-000000000005",
        "fields": [],
        "requestId": null,
        "subject": {
          "id": "00000000-0000-4000-8000-000000000004",
          "type": "api_key"
        }
      }
    ]
    "#);
    assert_snapshot!(desk.run(&["audit", "list", "--workspace", &workspace]).await.out, @"
    AT                        ACTION            SUBJECT                               FIELDS  BY                     REQUEST
    2026-01-02T03:06:05.678Z  workspace.update  00000000-0000-4000-8000-000000000001  name    OPERATOR AKIDOPERATOR  -
    2026-01-02T03:05:05.678Z  api_key.revoke    00000000-0000-4000-8000-000000000004  -       OPERATOR AKIDOPERATOR  -
    2026-01-02T03:04:05.678Z  api_key.create    00000000-0000-4000-8000-000000000004  -       OPERATOR AKIDOPERATOR  -
    ");
}

#[tokio::test]
async fn a_change_without_an_effect_has_no_entry() {
    let (desk, workspace) = changed().await;
    let list = async || desk.json(&["audit", "list", "--workspace", &workspace]).await;
    let before = list().await;
    let key = before[1]["subject"]["id"].as_str().unwrap();
    desk.json(&["key", "revoke", "--workspace", &workspace, "--key", key, "--yes"]).await;
    desk.json(&["workspace", "rename", "--workspace", &workspace, "--name", "Begonia"]).await;
    desk.json(&["workspace", "enable", "--workspace", &workspace]).await;
    assert_eq!(list().await, before);
    desk.db.clock().advance(std::time::Duration::from_secs(60));
    desk.json(&["workspace", "disable", "--workspace", &workspace]).await;
    desk.json(&["workspace", "enable", "--workspace", &workspace]).await;
    let after = list().await;
    assert_eq!(actions(&after), [&["workspace.update"; 2][..], &actions(&before)].concat());
    assert_eq!(after[0]["fields"], json!(["state"]));
}

#[tokio::test]
async fn entries_are_found_by_action_actor_subject_and_time_and_continue_after_the_last_one() {
    let (desk, workspace) = changed().await;
    let list = async |more: &[&str]| {
        let line = [&["audit", "list", "--workspace", &workspace], more].concat();
        actions(&desk.json(&line).await).into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    let [renamed, revoked, created] = ["workspace.update", "api_key.revoke", "api_key.create"];
    for (more, expected) in [
        (&["--action", "api_key.revoke"][..], &[revoked][..]),
        (&["--actor", "AKIDOPERATOR"], &[renamed, revoked, created]),
        (&["--actor", "AKIDOTHER"], &[]),
        (&["--subject", &workspace], &[renamed]),
        (&["--since", "90s"], &[renamed, revoked]),
        (&["--until", "90s"], &[created]),
        (&["--since", "90s", "--until", "30s"], &[revoked]),
    ] {
        assert_eq!(list(more).await, expected, "{more:?}");
    }
    let shown = desk.run(&["audit", "list", "--workspace", &workspace, "--limit", "2"]).await;
    let position = shown.err.trim().strip_prefix("There may be more: --after ").unwrap().to_owned();
    assert_eq!(list(&["--after", &position]).await, [created]);
    let wrong = desk.run(&["audit", "list", "--workspace", &workspace, "--action", "key.create"]).await;
    assert_eq!(wrong.status, 2, "{}", wrong.err);
}
