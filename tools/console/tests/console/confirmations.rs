//! Commands that cannot be undone ask the person at the terminal.

use insta::assert_snapshot;

use crate::hooks::Hooks;

/// The commands of these nouns and verbs that have `--yes`.
fn confirmed() -> Vec<String> {
    let command = console::command();
    let nouns = command.get_subcommands();
    let verbs = nouns.flat_map(|noun| noun.get_subcommands().map(move |verb| (noun.get_name(), verb)));
    let with_yes = verbs.filter(|(_, verb)| verb.get_arguments().any(|arg| arg.get_id() == "yes"));
    with_yes.map(|(noun, verb)| format!("{noun} {}", verb.get_name())).collect()
}

#[test]
fn what_no_other_command_takes_back_can_be_confirmed_in_advance() {
    let expected = [
        "key revoke",
        "team delete",
        "contacts merge",
        "brand delete",
        "line delete",
        "inbound delete",
        "template delete",
        "template prune",
        "capture disable",
        "capture rotate-key",
        "opt-out remove",
        "person erase",
        "webhook delete",
        "webhook activate",
    ];
    assert_eq!(confirmed(), expected);
}

#[tokio::test]
async fn a_person_is_asked_and_only_a_yes_executes_the_command() {
    let hooks = Hooks::new().await;
    let endpoint = hooks.endpoint_with(&[]).await;
    let delete = hooks.within(&["webhook", "delete", "--endpoint", &endpoint]);
    for answer in ["n\n", "\n", "", "delete\n", "no\ny\n"] {
        let ran = hooks.desk.run_at_terminal(answer, &delete).await;
        assert_eq!((ran.status, ran.out.as_str()), (1, ""), "{answer:?}");
        let (question, refusal) = ran.err.split_once("[y/N] ").unwrap();
        assert_eq!(
            question,
            format!(
                "Webhook endpoint https://hooks.example.com/in ({endpoint}) of workspace \"Aster\": it is deleted with its \
                secrets, and its pending deliveries are cancelled. This cannot be undone. Continue? "
            )
        );
        assert_eq!(refusal.trim(), "Nothing was changed: the command was not confirmed. --yes confirms it.");
    }
    let list = hooks.within(&["webhook", "list"]);
    assert!(hooks.desk.run(&list).await.out.contains(&endpoint), "nothing was deleted");
    let ran = hooks.desk.run_at_terminal(" Yes\r\n", &delete).await;
    assert_eq!(ran.status, 0, "{ran:?}");
    assert!(!hooks.desk.run(&list).await.out.contains(&endpoint));
}

#[tokio::test]
async fn each_question_names_the_thing_and_its_workspace() {
    let hooks = Hooks::new().await;
    let made =
        async |create: &[&str], field: &str| hooks.json(create).await[field].as_str().unwrap().to_owned();
    let key = made(&["key", "create", "--name", "billing", "--scope", "*"], "keyId").await;
    let endpoint = hooks.endpoint().await;
    let team = made(&["team", "create", "--name", "Sales"], "teamId").await;
    let brand = made(&["brand", "create", "--name", "Élan"], "brandId").await;
    let line = ["line", "create", "--channel", "700", "--brand", &brand, "--business-account", "1"];
    hooks.json(&[&line[..], &["--token", "t", "--name", "Main"]].concat()).await;
    let template = made(&["template", "create", "--name", "hello", "--language", "es"], "templateId").await;
    hooks.json(&["capture", "set"]).await;
    let file = std::path::PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("asked.csv");
    std::fs::write(&file, "firstName,lastName,email\nAna,Ruiz,ana@example.com\n,,a@example.com\n").unwrap();
    hooks.json(&["contacts", "import", file.to_str().unwrap()]).await;
    let contact = hooks.json(&["contacts", "show", "--contact", "ana@example.com"]).await["id"].clone();
    let contact = contact.as_str().unwrap();
    let of = " of workspace \"Aster\": ";
    for (command, thing) in [
        (&["key", "revoke", "--key", &key][..], format!("API key \"billing\" ({key}){of}")),
        (&["team", "delete", "--team", &team], format!("Team \"Sales\" ({team}){of}")),
        (&["brand", "delete", "--brand", &brand], format!("Brand \"Élan\" ({brand}){of}")),
        (&["line", "delete", "--channel", "700"], format!("Line \"Main\" (700){of}")),
        (
            &["template", "delete", "--template", &template],
            format!("Template \"hello\" in es ({template}){of}"),
        ),
        (
            &["contacts", "merge", "--contact", "a@example.com", "--merged", "ana@example.com"],
            format!("Contact \"Ana Ruiz\" ({contact}){of}"),
        ),
        (&["capture", "disable"], format!("Lead capture{of}")),
        (&["capture", "rotate-key"], format!("Lead capture{of}")),
        (&["opt-out", "remove", "--cellphone", "+34600111222"], format!("Number +34600111222{of}")),
        (
            &["webhook", "activate", "--endpoint", &endpoint],
            format!("Webhook endpoint https://hooks.example.com/in ({endpoint}){of}"),
        ),
    ] {
        let ran = hooks.desk.run_at_terminal("n\n", &hooks.within(command)).await;
        assert!(ran.err.starts_with(&thing), "{command:?}: {}", ran.err);
        assert_eq!(ran.status, 1);
    }
    let platform = ["template", "create", "--platform", "--name", "hi", "--language", "en"];
    let template = hooks.desk.json(&platform).await["templateId"].as_str().unwrap().to_owned();
    let delete = ["template", "delete", "--platform", "--template", &template];
    let asked = hooks.desk.run_at_terminal("n\n", &delete).await.err;
    assert!(asked.starts_with(&format!("Template \"hi\" in en ({template}) of the platform: ")), "{asked}");
    // Nobody is asked about what does not exist.
    let nobody = "8c2d4e6f-1a3b-4c5d-8e7f-9a0b1c2d3e4f";
    let ran = hooks.desk.run_at_terminal("", &hooks.within(&["team", "delete", "--team", nobody])).await;
    assert_eq!(ran.err, format!("The workspace has no team {nobody}.\n"));
}

#[tokio::test]
async fn scripts_and_confirmed_commands_are_not_asked() {
    for (at_terminal, more) in [(true, &["--yes"][..]), (false, &["--yes"]), (false, &[])] {
        let hooks = Hooks::new().await;
        let endpoint = hooks.endpoint_with(&[]).await;
        let delete = hooks.within(&[&["webhook", "delete", "--endpoint", &endpoint], more].concat());
        let ran = match at_terminal {
            true => hooks.desk.run_at_terminal("", &delete).await,
            false => hooks.desk.run(&delete).await,
        };
        assert_eq!((ran.status, ran.err.as_str()), (0, ""), "{at_terminal} {more:?}");
    }
}

#[tokio::test]
async fn other_commands_ask_nothing_and_have_no_yes() {
    let hooks = Hooks::new().await;
    let list = hooks.within(&["webhook", "list"]);
    let ran = hooks.desk.run_at_terminal("", &list).await;
    assert_eq!((ran.status, ran.err.as_str()), (0, ""));
    assert_eq!(hooks.desk.run(&[&list[..], &["--yes"]].concat()).await.status, 2);
}

#[tokio::test]
async fn a_refused_confirmation_is_json_for_programs() {
    let hooks = Hooks::new().await;
    let endpoint = hooks.endpoint_with(&[]).await;
    let delete = hooks.within(&["--json", "webhook", "delete", "--endpoint", &endpoint]);
    let ran = hooks.desk.run_at_terminal("n\n", &delete).await;
    let failure = ran.err.split_once("[y/N] ").unwrap().1;
    assert_snapshot!(failure, @r#"{"code":"NOT_CONFIRMED","message":"Nothing was changed: the command was not confirmed. --yes confirms it."}"#);
}
