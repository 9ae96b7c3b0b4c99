use domain::{ChannelId, Secret, WorkspaceId};
use insta::{assert_json_snapshot, assert_snapshot};
use serde_json::json;

use crate::Desk;

/// Creates a line. `more` holds the token and further arguments.
async fn line(desk: &Desk, workspace: &str, channel: &str, brand: &str, more: &[&str]) -> serde_json::Value {
    let create = ["line", "create", "--workspace", workspace, "--channel", channel, "--brand", brand];
    desk.json(&[&create, ["--business-account", "2055500001"].as_slice(), more].concat()).await
}

async fn token(desk: &Desk, workspace: &str, channel: &str) -> Option<Secret> {
    let (workspace, channel) = (WorkspaceId::parse(workspace).unwrap(), ChannelId::parse(channel).unwrap());
    desk.db.store().line_token(workspace, &channel).await.unwrap()
}

#[tokio::test]
async fn the_first_line_becomes_its_brands_line_and_the_default_and_its_token_is_never_shown() {
    let (desk, workspace) = Desk::with_workspace().await;
    let made = desk.json(&["brand", "create", "--workspace", &workspace, "--name", "Aster"]).await;
    assert_json_snapshot!(made, @r#"
    {
      "brandId": "00000000-0000-4000-8000-000000000004",
      "createdAt": "2026-01-02T03:04:05.678Z",
      "name": "Aster",
      "providerChannelId": null
    }
    "#);
    let brand = made["brandId"].as_str().unwrap();
    desk.json(&["brand", "create", "--workspace", &workspace, "--name", "Aster Kids", "--id", "kids"]).await;
    let first = line(&desk, &workspace, "1055500001", brand, &["--token", "secret-1"]).await;
    assert_json_snapshot!(first, @r#"
    {
      "brandId": "00000000-0000-4000-8000-000000000004",
      "businessAccountId": "2055500001",
      "createdAt": "2026-01-02T03:04:05.678Z",
      "isDefault": true,
      "name": null,
      "providerChannelId": "1055500001"
    }
    "#);
    let second = line(&desk, &workspace, "1055500002", brand, &["--token", "secret-2"]).await;
    assert_eq!(second["isDefault"], false);
    let third = line(&desk, &workspace, "1055500003", "kids", &["--token", "secret-3", "--default"]).await;
    assert_eq!(third["isDefault"], true);

    assert_snapshot!(desk.run(&["line", "list", "--workspace", &workspace]).await.out, @"
    LINE        NAME  BRAND                                 BUSINESS ACCOUNT  DEFAULT  CREATED
    1055500001  -     00000000-0000-4000-8000-000000000004  2055500001        no       2026-01-02T03:04:05.678Z
    1055500002  -     00000000-0000-4000-8000-000000000004  2055500001        no       2026-01-02T03:04:05.678Z
    1055500003  -     kids                                  2055500001        yes      2026-01-02T03:04:05.678Z
    ");
    assert_snapshot!(desk.run(&["brand", "list", "--workspace", &workspace]).await.out, @"
    BRAND                                 NAME        SENDS FROM  CREATED
    00000000-0000-4000-8000-000000000004  Aster       1055500001  2026-01-02T03:04:05.678Z
    kids                                  Aster Kids  1055500003  2026-01-02T03:04:05.678Z
    ");
    assert_eq!(token(&desk, &workspace, "1055500002").await, Some(Secret::new("secret-2")));
}

#[tokio::test]
async fn a_token_may_come_from_a_file_or_standard_input() {
    let (mut desk, workspace) = Desk::with_workspace().await;
    desk.json(&["brand", "create", "--workspace", &workspace, "--name", "Aster", "--id", "a"]).await;
    desk.input = "from-input\n".to_owned();
    line(&desk, &workspace, "1", "a", &["--token-file", "-"]).await;
    assert_eq!(token(&desk, &workspace, "1").await, Some(Secret::new("from-input")));

    let file = std::env::temp_dir().join(format!("console-token-{}", std::process::id()));
    std::fs::write(&file, "from-file\r\n").unwrap();
    let path = file.to_str().unwrap();
    let set = ["line", "token", "--workspace", &workspace, "--channel", "1", "--token-file", path];
    let shown = desk.run(&set).await;
    std::fs::remove_file(&file).unwrap();
    assert_eq!((shown.status, shown.err.as_str()), (0, ""));
    assert!(!shown.out.contains("from-"), "{}", shown.out);
    assert_eq!(token(&desk, &workspace, "1").await, Some(Secret::new("from-file")));

    let gone = desk.refused(&set).await;
    assert!(gone.starts_with(&format!("{path}: ")), "{gone}");
    desk.input = "two words".to_owned();
    let unfit = ["line", "token", "--workspace", &workspace, "--channel", "1", "--token-file", "-"];
    assert_snapshot!(desk.refused(&unfit).await, @"The token is invalid: should be 1 to 4096 visible ASCII characters, without spaces.");
    assert_eq!(token(&desk, &workspace, "1").await, Some(Secret::new("from-file")));
}

#[tokio::test]
async fn the_default_line_is_changed_and_a_repeated_command_changes_nothing() {
    let (desk, workspace) = Desk::with_workspace().await;
    desk.json(&["brand", "create", "--workspace", &workspace, "--name", "Aster", "--id", "a"]).await;
    for channel in ["1", "2"] {
        line(&desk, &workspace, channel, "a", &["--token", "t"]).await;
    }
    let make = ["line", "default", "--workspace", &workspace, "--channel", "2"];
    let changed = desk.json(&make).await;
    assert_eq!((&changed["providerChannelId"], &changed["isDefault"]), (&json!("2"), &json!(true)));
    let id = WorkspaceId::parse(&workspace).unwrap();
    let version = desk.db.store().workspace(id).await.unwrap().unwrap().version;
    assert_eq!(desk.json(&make).await, changed);
    assert_eq!(desk.db.store().workspace(id).await.unwrap().unwrap().version, version);
    let all = desk.json(&["line", "list", "--workspace", &workspace]).await;
    let defaults: Vec<&serde_json::Value> =
        all.as_array().unwrap().iter().map(|line| &line["isDefault"]).collect();
    assert_eq!(defaults, [&json!(false), &json!(true)]);
}

#[tokio::test]
async fn invalid_lines_and_brands_are_refused() {
    let (desk, workspace) = Desk::with_workspace().await;
    let brand = ["brand", "create", "--workspace", &workspace, "--name", "Aster", "--id", "a"];
    desk.json(&brand).await;
    assert_snapshot!(desk.refused(&brand).await, @r#"This cannot be created: the workspace already has a brand a."#);
    let blank = ["brand", "create", "--workspace", &workspace, "--name", " "];
    assert_snapshot!(desk.refused(&blank).await, @"The brand cannot be created: a name cannot be blank or contain control characters.");

    let create = |channel: &'static str, brand: &'static str| {
        let workspace = workspace.clone();
        [
            vec!["line".to_owned(), "create".to_owned(), "--workspace".to_owned(), workspace],
            ["--channel", channel, "--brand", brand, "--business-account", "2", "--token", "t"]
                .map(str::to_owned)
                .to_vec(),
        ]
        .concat()
    };
    let refused = async |channel, brand| {
        let line = create(channel, brand);
        desk.refused(&line.iter().map(String::as_str).collect::<Vec<_>>()).await
    };
    assert_snapshot!(refused("1", "nobodys").await, @"This cannot be created: the workspace has no brand nobodys.");
    assert_snapshot!(refused("../2", "a").await, @"The channel is invalid: should be 1 to 128 ASCII letters, digits, underscores or hyphens, such as 106540352242922.");
    line(&desk, &workspace, "1", "a", &["--token", "t"]).await;
    assert_snapshot!(refused("1", "a").await, @"This cannot be created: the workspace already has a line 1.");
    for verb in [&["default"][..], &["token", "--token", "t"]] {
        let command = [&["line"], verb, &["--workspace", &workspace, "--channel", "9"]].concat();
        assert_eq!(desk.refused(&command).await, "The workspace has no line 9.");
    }
    assert_eq!(token(&desk, &workspace, "9").await, None);
}

#[tokio::test]
async fn concurrent_creations_keep_all_lines_and_one_is_the_default() {
    let (desk, workspace) = Desk::with_workspace().await;
    desk.json(&["brand", "create", "--workspace", &workspace, "--name", "Aster", "--id", "a"]).await;
    let made = tokio::join!(
        line(&desk, &workspace, "1", "a", &["--token", "t"]),
        line(&desk, &workspace, "2", "a", &["--token", "t"]),
        line(&desk, &workspace, "3", "a", &["--token", "t"]),
    );
    let made = [made.0, made.1, made.2];
    assert_eq!(made.iter().filter(|line| line["isDefault"] == true).count(), 1);
    let all = desk.json(&["line", "list", "--workspace", &workspace]).await;
    assert_eq!(all.as_array().unwrap().len(), 3);
    let default = made.iter().find(|line| line["isDefault"] == true).unwrap();
    let brands = desk.json(&["brand", "list", "--workspace", &workspace]).await;
    assert_eq!(brands[0]["providerChannelId"], default["providerChannelId"]);
}
