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
        "brand delete",
        "line delete",
        "template delete",
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
            "The endpoint and its secrets are deleted, and its pending deliveries are cancelled. This cannot be undone. Continue? "
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
