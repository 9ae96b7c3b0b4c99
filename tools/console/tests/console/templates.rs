use insta::{assert_json_snapshot, assert_snapshot};
use serde_json::json;

use crate::Desk;

const NOBODY: &str = "3f1b8a52-6d0e-4c7a-9b1f-2a5d8e4c7b90";

/// Creates a template and returns its id.
async fn template(desk: &Desk, scope: &[&str], more: &[&str]) -> String {
    let create = ["template", "create", "--name", "welcome", "--language", "es"];
    let made = desk.json(&[&create, scope, more].concat()).await;
    made["templateId"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_template_has_a_scope_variables_and_approvals() {
    let (desk, workspace) = Desk::with_workspace().await;
    let made = desk
        .json(&[
            "template",
            "create",
            "--workspace",
            &workspace,
            "--name",
            "order_update",
            "--language",
            "en_US",
            "--variable",
            "name=CONTACT.firstName:friend",
            "--variable",
            "order=CALLER",
            "--variable",
            "mail=CONTACT.email",
            "--approved",
            "2055500002",
            "--approved",
            "2055500001",
        ])
        .await;
    assert_json_snapshot!(made, @r#"
    {
      "approved": [
        "2055500001",
        "2055500002"
      ],
      "callerParameters": [
        "order"
      ],
      "category": null,
      "createdAt": "2026-01-02T03:04:05.678Z",
      "language": "en_US",
      "name": "order_update",
      "provider": "WHATSAPP",
      "scope": "WORKSPACE",
      "templateId": "00000000-0000-4000-8000-000000000004",
      "variables": [
        {
          "fallback": "friend",
          "kind": "TEXT",
          "name": "name",
          "source": "CONTACT.firstName"
        },
        {
          "fallback": null,
          "kind": "TEXT",
          "name": "order",
          "source": "CALLER"
        },
        {
          "fallback": null,
          "kind": "TEXT",
          "name": "mail",
          "source": "CONTACT.email"
        }
      ]
    }
    "#);
    template(&desk, &["--platform"], &[]).await;
    assert_snapshot!(desk.run(&["template", "list", "--workspace", &workspace]).await.out, @"
    TEMPLATE                              SCOPE      NAME          LANGUAGE  CATEGORY  VARIABLES                                                        APPROVED FOR
    00000000-0000-4000-8000-000000000004  WORKSPACE  order_update  en_US     -         name=CONTACT.firstName:friend; order=CALLER; mail=CONTACT.email  2055500001; 2055500002
    ");
    assert_snapshot!(desk.run(&["template", "list", "--platform"]).await.out, @"
    TEMPLATE                              SCOPE     NAME     LANGUAGE  CATEGORY  VARIABLES  APPROVED FOR
    00000000-0000-4000-8000-000000000005  PLATFORM  welcome  es        -         -          -
    ");
}

#[tokio::test]
async fn an_approval_is_added_and_removed_in_its_scope_and_a_repeated_command_changes_nothing() {
    let (desk, workspace) = Desk::with_workspace().await;
    let own = template(&desk, &["--workspace", &workspace], &["--approved", "1"]).await;
    let platforms = template(&desk, &["--platform"], &[]).await;
    let change = |verb: &'static str, scope: &[&str], id: &str| {
        let line = ["template", verb, "--template", id, "--business-account", "2"];
        [&line, scope].concat().iter().map(|word| (*word).to_owned()).collect::<Vec<String>>()
    };
    let changed = async |line: Vec<String>| {
        let line: Vec<&str> = line.iter().map(String::as_str).collect();
        desk.json(&line).await["approved"].clone()
    };
    let in_workspace = ["--workspace", workspace.as_str()];
    for _ in 0..2 {
        assert_eq!(changed(change("approve", &in_workspace, &own)).await, json!(["1", "2"]));
    }
    for _ in 0..2 {
        assert_eq!(changed(change("approve", &["--platform"], &platforms)).await, json!(["2"]));
    }
    for _ in 0..2 {
        assert_eq!(changed(change("revoke", &in_workspace, &own)).await, json!(["1"]));
    }
    assert_eq!(changed(change("revoke", &["--platform"], &platforms)).await, json!([]));

    // A workspace's scope does not include the platform's templates, nor the reverse.
    for line in [change("approve", &in_workspace, &platforms), change("revoke", &["--platform"], &own)] {
        let line: Vec<&str> = line.iter().map(String::as_str).collect();
        let id = line[3];
        assert_eq!(desk.refused(&line).await, format!("There is no template {id} in this scope."));
    }
}

#[tokio::test]
async fn concurrent_approvals_are_all_kept() {
    let (desk, _) = Desk::with_workspace().await;
    let id = template(&desk, &["--platform"], &[]).await;
    let approve = async |account: &str| {
        let line = ["template", "approve", "--platform", "--template", &id, "--business-account", account];
        desk.json(&line).await
    };
    tokio::join!(approve("1"), approve("2"), approve("3"), approve("4"));
    let all = desk.json(&["template", "list", "--platform"]).await;
    assert_eq!(all[0]["approved"], json!(["1", "2", "3", "4"]));
}

#[tokio::test]
async fn an_invalid_template_is_refused() {
    let (desk, _) = Desk::with_workspace().await;
    let refused = async |name: &str, language: &str, more: &[&str]| {
        let create = ["template", "create", "--platform", "--name", name, "--language", language];
        desk.refused(&[&create, more].concat()).await
    };
    assert_snapshot!(refused("Welcome", "es", &[]).await, @"The template is refused: the name should be 1 to 512 lower-case ASCII letters, digits or underscores, such as order_shipped.");
    assert_snapshot!(refused("welcome", "es-ES", &[]).await, @"The template is refused: the language should be a language code, such as es or en_US.");
    let twice = ["--variable", "a=CALLER", "--variable", "a=CONTACT.email"];
    assert_snapshot!(refused("welcome", "es", &twice).await, @"The template is refused: the variable a is repeated.");
    let many: Vec<String> = (0..21).flat_map(|n| ["--variable".to_owned(), format!("v{n}=CALLER")]).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    assert_snapshot!(refused("welcome", "es", &many).await, @"The template is refused: the body of a template has at most 20 parameters.");
    assert_eq!(desk.json(&["template", "list", "--platform"]).await, json!([]));
}

#[tokio::test]
async fn components_come_from_a_file_and_their_values_from_sources() {
    let (desk, workspace) = Desk::with_workspace().await;
    let file = std::env::temp_dir().join(format!("console-template-{}.json", std::process::id()));
    let shown = json!({
        "parameter_format": "NAMED",
        "components": [
            { "type": "HEADER", "format": "IMAGE" },
            { "type": "BODY", "text": "Hi {{name}}" },
            { "type": "BUTTONS", "buttons": [{ "type": "URL", "text": "See", "url": "https://a.example/{{1}}" }] },
        ],
    });
    std::fs::write(&file, shown.to_string()).unwrap();
    let (within, path) = (["--workspace", workspace.as_str()], file.display().to_string());
    let id =
        template(&desk, &within, &["--components", &path, "--source", "name=CONTACT.firstName:friend"]).await;
    let set = ["template", "set-source", "--template", &id, "--source"];
    let set = |source: &'static str| [&set[..], &[source], &within[..]].concat();
    let made = desk.json(&set("header.image=FIXED:https://a.example/x.png")).await;
    assert_eq!(made["callerParameters"], json!(["button.0.url"]));
    let show = [&["template", "show", "--template", &id], &within[..]].concat();
    let components = desk.json(&show).await["components"].clone();
    assert_eq!(components[1], json!({ "kind": "body", "text": "Hi {{name}}" }));
    assert_eq!(
        desk.refused(&set("header.text=CALLER")).await,
        "The template is refused: the template has no place header.text."
    );
    std::fs::write(&file, "{}").unwrap();
    let create =
        ["template", "create", "--platform", "--name", "a", "--language", "es", "--components", &path];
    let refused = desk.refused(&create).await;
    let reason = "a template should be an object with the array components";
    assert_eq!(refused, format!("The components in {path} cannot be used: {reason}."));
    std::fs::remove_file(&file).unwrap();
}

#[tokio::test]
async fn an_onboarding_may_use_templates_of_both_scopes() {
    let (desk, workspace) = Desk::with_workspace().await;
    let show = ["onboarding", "show", "--workspace", &workspace];
    assert_eq!(desk.json(&show).await, json!({"override": "ENTIRE", "sequence": []}));

    let own = template(&desk, &["--workspace", &workspace], &[]).await;
    let platforms = template(&desk, &["--platform"], &[]).await;
    let sequence = format!("{platforms},{own},{platforms}");
    let set = ["onboarding", "set", "--workspace", &workspace, "--override", "FIRST_ONLY"];
    let set_up = desk.json(&[&set[..], &["--sequence", &sequence]].concat()).await;
    assert_eq!(set_up, json!({"override": "FIRST_ONLY", "sequence": [platforms, own, platforms]}));
    assert_eq!(desk.json(&show).await, set_up);
    assert_eq!(
        desk.run(&show).await.out,
        format!("override  FIRST_ONLY\nsequence  {platforms}\n          {own}\n          {platforms}\n")
    );

    // Without `--sequence` the sequence is empty.
    assert_eq!(desk.json(&set).await, json!({"override": "FIRST_ONLY", "sequence": []}));
}

#[tokio::test]
async fn a_sequence_with_unknown_or_too_many_templates_is_refused() {
    let (desk, workspace) = Desk::with_workspace().await;
    let other = desk.json(&["workspace", "create", "--name", "Other"]).await;
    let foreign = template(&desk, &["--workspace", other["workspaceId"].as_str().unwrap()], &[]).await;
    let own = template(&desk, &["--workspace", &workspace], &[]).await;
    let set = ["onboarding", "set", "--workspace", &workspace, "--override", "ENTIRE", "--sequence"];
    for missing in [NOBODY, &foreign] {
        let sequence = format!("{own},{missing}");
        let refused = desk.refused(&[&set[..], &[&sequence]].concat()).await;
        assert_eq!(refused, format!("The onboarding cannot be set up: no template {missing}."));
    }
    let eleven = [own.as_str(); 11].join(",");
    let refused = desk.refused(&[&set[..], &[&eleven]].concat()).await;
    assert_eq!(refused, "The onboarding cannot be set up: a sequence has at most 10 templates.");
    let left = desk.json(&["onboarding", "show", "--workspace", &workspace]).await;
    assert_eq!(left, json!({"override": "ENTIRE", "sequence": []}));
    let ten = [own.as_str(); 10].join(",");
    desk.json(&[&set[..], &[&ten]].concat()).await;
}

/// The same rule as for `POST /conversations`, on the default line.
#[tokio::test]
async fn a_sequence_that_would_refuse_conversations_is_refused() {
    let (desk, workspace) = Desk::with_workspace().await;
    let within = ["--workspace", workspace.as_str()];
    let set = async |overriding: &str, sequence: &str| {
        let set = ["onboarding", "set", "--override", overriding, "--sequence", sequence];
        desk.run(&[&set, &within[..]].concat()).await
    };
    let asking = template(&desk, &["--platform"], &["--variable", "code=CALLER"]).await;
    let plain = template(&desk, &within, &["--approved", "1"]).await;
    // Also in the first place of FIRST_ONLY: a request without templates sends it.
    for (overriding, sequence) in [("ENTIRE", asking.clone()), ("FIRST_ONLY", format!("{asking},{plain}"))] {
        let ran = set(overriding, &sequence).await;
        let refused = format!(
            "The onboarding cannot be set up: configured template {asking} needs the caller's values.\n"
        );
        assert_eq!((ran.status, ran.err), (1, refused));
    }

    // Without a line there is no account for which a template could be approved.
    assert_eq!(set("ENTIRE", &plain).await.err, "");
    assert_eq!(set("ENTIRE", "").await.status, 2);
    desk.json(&[&["brand", "create", "--name", "Aster", "--id", "a"], &within[..]].concat()).await;
    for (channel, account) in [("1", "2"), ("2", "1")] {
        let line = ["line", "create", "--channel", channel, "--brand", "a", "--token", "t"];
        desk.json(&[&line[..], &["--business-account", account], &within].concat()).await;
    }
    let ran = set("FIRST_ONLY", &plain).await;
    let reason = format!("template {plain} is not approved for the account behind line");
    assert_eq!((ran.status, ran.err), (1, format!("The onboarding cannot be set up: {reason} 1.\n")));

    // Another line than the default is a remark.
    desk.json(&[&["line", "default", "--channel", "2"], &within[..]].concat()).await;
    let ran = set("FIRST_ONLY", &plain).await;
    let remark = format!("A conversation on another line than the default one can be refused: {reason} 1.\n");
    assert_eq!((ran.status, ran.err), (0, remark));
    let approve = ["template", "approve", "--template", &plain, "--business-account", "2"];
    desk.json(&[&approve, &within[..]].concat()).await;
    assert_eq!(set("ENTIRE", &plain).await.err, "");
}

#[tokio::test]
async fn a_template_is_shown_whole() {
    let (desk, workspace) = Desk::with_workspace().await;
    let within = ["--workspace", workspace.as_str()];
    let variables = ["--variable", "name=CONTACT.firstName:friend", "--variable", "order=CALLER"];
    let more = [&variables[..], &["--approved", "2055500002", "--approved", "2055500001"]].concat();
    let own = template(&desk, &within, &more).await;
    let show = [&["template", "show", "--template", &own], &within[..]].concat();
    assert_snapshot!(desk.run(&show).await.out, @"
    template      00000000-0000-4000-8000-000000000004
    scope         WORKSPACE
    provider      WHATSAPP
    name          welcome
    language      es
    category      -
    variables     name=CONTACT.firstName:friend
                  order=CALLER
    caller gives  order
    approved for  2055500001
                  2055500002
    waits for     -
    states        2055500001 APPROVED by OPERATOR at 2026-01-02T03:04:05.678Z
                  2055500002 APPROVED by OPERATOR at 2026-01-02T03:04:05.678Z
    read from     -
    components    -
    used by       -
    created       2026-01-02T03:04:05.678Z
    ");
    let shown = desk.json(&show).await;
    let listed = desk.json(&[&["template", "list"], &within[..]].concat()).await;
    let mut expected = listed[0].clone();
    expected["paused"] = json!([]);
    expected["takenFrom"] = json!(null);
    expected["components"] = json!([]);
    expected["states"] = ["2055500001", "2055500002"]
        .map(|account| {
            json!({
                "businessAccountId": account, "status": "APPROVED", "at": "2026-01-02T03:04:05.678Z", "by": "OPERATOR",
                "metaId": null, "quality": null, "category": null, "reason": null,
            })
        })
        .into();
    expected["usedBy"] = json!([]);
    assert_eq!(shown, expected);

    let plain = template(&desk, &["--platform"], &["--approved", "1"]).await;
    let shown = desk.json(&["template", "show", "--platform", "--template", &plain]).await;
    assert_eq!(shown["usedBy"], json!(["1 account for which it is approved"]));
    let elsewhere = desk.refused(&["template", "show", "--platform", "--template", &own]).await;
    assert_eq!(elsewhere, format!("There is no template {own} in this scope."));
}
