use std::ffi::OsString;
use std::process::Command;

use console::{Refusal, Terminal};
use harness::Fault;
use serde_json::Value;

use crate::{ClosedPipe, Desk, Pipe, terminal};

#[tokio::test]
async fn an_invalid_command_line_is_a_usage_error_on_standard_error() {
    let (desk, workspace) = Desk::with_workspace().await;
    for wrong in [
        &[][..],
        &["nonsense"],
        &["workspace"],
        &["workspace", "create"],
        &["workspace", "show", "--workspace", " "],
        &["key", "create", "--workspace", &workspace, "--name", "k"],
        &["key", "create", "--workspace", &workspace, "--name", "k", "--scope", "everything"],
        &["key", "create", "--workspace", &workspace, "--name", "k", "--scope", "*", "--expires", "soon"],
        &["user", "disable", "--workspace", &workspace, "--user", "nobody"],
        &["attribute", "create", "--workspace", &workspace, "--key-name", "k", "--category", "HALF-OPEN"],
        &["webhook", "create", "--workspace", &workspace, "--url", "https://example.com"],
        &["webhook", "create", "--workspace", &workspace, "--url", "u", "--api-key", "k", "--event", "x.y"],
        &["delivery", "list", "--workspace", &workspace, "--state", "LOST"],
        &["delivery", "list", "--workspace", &workspace, "--since", "soon"],
        &["delivery", "list", "--workspace", &workspace, "--after", &workspace],
        &["delivery", "replay", "--workspace", &workspace, "--endpoint", &workspace],
        &["delivery", "show", "--workspace", &workspace, "--delivery", &workspace],
        &["delivery", "retry", "--workspace", &workspace, "--delivery", "a.b", "--wait"],
        &["webhook", "enable", "--workspace", &workspace, "--endpoint", &workspace, "--wait", "5"],
        &["webhook", "recover", "--workspace", &workspace, "--endpoint", &workspace, "--wait=0"],
        &["webhook", "cancel", "--workspace", &workspace, "--endpoint", &workspace],
        &["webhook", "cancel", "--workspace", &workspace, "--endpoint", &workspace, "--job", "1"],
        &["webhook", "update", "--workspace", &workspace, "--endpoint", &workspace],
        &["webhook", "rotate", "--workspace", &workspace],
        &["events", "redrive"],
        &["events", "redrive", "--all", "--prefix", "aws/"],
        &["line", "token", "--workspace", &workspace, "--channel", "1"],
        &["line", "token", "--workspace", &workspace, "--channel", "1", "--token", "t", "--token-file", "-"],
        &["template", "list"],
        &["template", "list", "--workspace", &workspace, "--platform"],
        &[
            "template",
            "create",
            "--platform",
            "--name",
            "n",
            "--language",
            "es",
            "--variable",
            "n=CONTACT.id",
        ],
        &["template", "create", "--platform", "--name", "n", "--language", "es", "--provider", "SMS"],
        &["onboarding", "set", "--workspace", &workspace, "--override", "NONE"],
        &["onboarding", "set", "--workspace", &workspace, "--override", "ENTIRE", "--sequence", "not-an-id"],
        &["capture", "set", "--workspace", &workspace, "--origin", "https://www.example.com/spring"],
        &["capture", "set", "--workspace", &workspace, "--threshold", "1.5"],
        &["capture", "set", "--workspace", &workspace, "--daily-cap", "0"],
        &["capture", "set", "--workspace", &workspace, "--brand", "b", "--no-brand"],
        &["capture", "set", "--workspace", &workspace, "--daily-cap", "1", "--no-daily-cap"],
        &["capture", "set", "--workspace", &workspace, "--phone-cap", "1", "--no-phone-cap"],
        &["capture", "set", "--workspace", &workspace, "--secret", "s", "--secret-file", "-"],
        &["capture", "enable", "--workspace", &workspace, "--no-brand"],
        &["capture", "rotate-key"],
        &["lead", "list", "--workspace", &workspace, "--state", "LOST"],
        &["lead", "list", "--workspace", &workspace, "--limit", "0"],
        &["lead", "list", "--workspace", &workspace, "--limit", "1001"],
        &["lead", "list", "--workspace", &workspace, "--after", "not-an-id"],
        &["lead", "show", "--workspace", &workspace],
        &["opt-out", "add", "--workspace", &workspace, "--cellphone", "600111222"],
    ] {
        let ran = desk.run(wrong).await;
        assert_eq!((ran.status, ran.out.as_str()), (2, ""), "{wrong:?}");
        assert!(
            ran.err.starts_with("error: ") || ran.err.contains("Usage: console"),
            "{wrong:?}: {}",
            ran.err
        );
    }
}

#[tokio::test]
async fn an_invalid_value_is_explained_without_a_regular_expression() {
    let (desk, workspace) = Desk::with_workspace().await;
    let within = ["--workspace", &workspace];
    for (wrong, hint) in [
        (&["opt-out", "add", "--cellphone", "600111222"][..], "should be a phone number in E.164 format"),
        (&["user", "create", "--email", "ada"], "should be an e-mail address, such as jo@example.com"),
        (
            &["template", "create", "--name", "A b", "--language", "es"],
            "lower-case ASCII letters, digits or underscores",
        ),
        (
            &["template", "create", "--name", "a", "--language", "Spanish"],
            "should be a language code, such as es or en_US",
        ),
        (
            &["template", "create", "--name", "a", "--language", "es", "--variable", "a b=CALLER"],
            "such as first_name",
        ),
        (
            &["key", "create", "--name", "k", "--scope", "*", "--expires", "soon"],
            "a distance from now (90s, 30m, 2h, 7d)",
        ),
        (&["webhook", "create", "--url", "https://example.com", "--api-key", "a b"], "without spaces"),
        (&["capture", "set", "--secret", "a b"], "without spaces"),
    ] {
        let err = desk.run(&[wrong, &within].concat()).await.err;
        assert!(err.contains(hint), "{wrong:?}: {err}");
        assert!(!err.contains(['^', '$']), "{wrong:?}: {err}");
    }
}

#[tokio::test]
async fn with_json_a_failure_is_one_object_and_the_exit_status_stays() {
    let (desk, workspace) = Desk::with_workspace().await;
    let nobody = "8c2d4e6f-1a3b-4c5d-8e7f-9a0b1c2d3e4f";
    let within = ["--workspace", &workspace];
    let command = console::command();
    let nouns: Vec<&str> = command
        .get_subcommands()
        .flat_map(|noun| std::iter::once(noun.get_name()).chain(noun.get_all_aliases()))
        .collect();
    let nouns = format!("one of {}", nouns.join(", "));
    for (line, status, code, field, hint) in [
        (
            &["workspace", "show", "--workspace", nobody][..],
            1,
            "UNKNOWN_WORKSPACE",
            Some("--workspace"),
            None,
        ),
        (
            &["key", "revoke", "--key", nobody, "--workspace", &workspace],
            1,
            "UNKNOWN_KEY",
            Some("--key"),
            None,
        ),
        (
            &["team", "create", "--name", " ", "--workspace", &workspace],
            1,
            "UNFIT",
            None,
            Some("a name cannot be blank or contain control characters"),
        ),
        (
            &[
                "webhook",
                "create",
                "--max-per-second",
                "1",
                "--slots",
                "2",
                "--url",
                "https://example.com",
                "--api-key",
                "k",
                within[0],
                within[1],
            ],
            1,
            "CAP_TOO_LOW",
            Some("--max-per-second"),
            None,
        ),
        (&[], 2, "MISSING_SUBCOMMAND", None, Some(nouns.as_str())),
        (&["nonsense"], 2, "INVALID_SUBCOMMAND", None, None),
        (&["key", "lost", "--workspace", &workspace], 2, "INVALID_SUBCOMMAND", None, Some("similar: list")),
        (
            &["opt-out", "add", "--workspace", &workspace, "--cellphone", "555"],
            2,
            "VALUE_VALIDATION",
            Some("--cellphone"),
            Some("should be a phone number in E.164 format, such as +34600111222"),
        ),
        (
            &["delivery", "list", "--workspace", &workspace, "--state", "LOST"],
            2,
            "INVALID_VALUE",
            Some("--state"),
            Some("one of PENDING, DELIVERED, EXHAUSTED, PARKED, CANCELLED"),
        ),
        (
            &["contacts", "search", "Ana", "--workspace", &workspace, "--limit"],
            2,
            "INVALID_VALUE",
            Some("--limit"),
            None,
        ),
        (
            &["user", "list", "--workspace", &workspace, "--jsn"],
            2,
            "UNKNOWN_ARGUMENT",
            Some("--jsn"),
            Some("similar: --json"),
        ),
        (
            &["brand", "create", "--workspace", &workspace],
            2,
            "MISSING_REQUIRED_ARGUMENT",
            Some("--name"),
            None,
        ),
        (
            &["key", "create", "--workspace", &workspace],
            2,
            "MISSING_REQUIRED_ARGUMENT",
            Some("--name, --scope"),
            None,
        ),
    ] {
        let ran = desk.run(&[line, &["--json"]].concat()).await;
        assert_eq!((ran.status, ran.out.as_str()), (status, ""), "{line:?}");
        let failure: Value = serde_json::from_str(&ran.err).unwrap();
        assert_eq!(ran.err.lines().count(), 1);
        let told = (failure["code"].as_str(), failure["field"].as_str(), failure["hint"].as_str());
        assert_eq!(told, (Some(code), field, hint), "{line:?}: {failure}");
        let message = failure["message"].as_str().unwrap();
        assert!(!message.is_empty() && !message.contains(['\n', '\u{1b}']), "{message}");
        assert_eq!(desk.run(line).await.status, status, "the format does not change the status");
    }
    let ran = desk.run(&["--json", "key"]).await;
    let failure: Value = serde_json::from_str(&ran.err).unwrap();
    assert_eq!((ran.status, &failure["code"]), (2, &Value::from("MISSING_SUBCOMMAND")));
    // After `--`, the word is a value.
    let ran = desk.run(&["contacts", "import", "--workspace", "", "--", "--json"]).await;
    assert!(ran.err.starts_with("error: "), "{}", ran.err);
    let help = desk.run(&["--json", "--help"]).await;
    assert_eq!((help.status, help.err.as_str()), (0, ""));
}

/// Only a release build names the revision (`build.rs`).
#[tokio::test]
async fn the_version_says_that_this_is_no_release() {
    assert_eq!(Desk::new().await.run(&["--version"]).await.out.trim(), "console 0.1.0 (development)");
}

#[tokio::test]
async fn each_shell_gets_a_completion_script_without_a_stack() {
    for (shell, sign) in
        [("bash", "complete -F"), ("zsh", "#compdef console"), ("fish", "complete -c console")]
    {
        let (out, err) = (Pipe::default(), Pipe::default());
        let mut terminal = terminal("", &out, &err);
        let line = ["console", "completions", shell].map(OsString::from);
        let connect = async |_| panic!("a script needs no stack");
        assert_eq!(console::run(line, connect, &mut terminal).await, 0, "{}", err.text());
        let script = out.text();
        assert!(script.contains(sign), "{shell}");
        for noun in console::command().get_subcommands() {
            assert!(script.contains(noun.get_name()), "{shell}: {}", noun.get_name());
        }
        assert!(
            ["rotate-key", "dry-run", "yes", "PENDING"].iter().all(|word| script.contains(word)),
            "{shell}"
        );
    }
    let desk = Desk::new().await;
    assert_eq!(desk.run(&["completions", "tcsh"]).await.status, 2);
    let err = Pipe::default();
    let mut terminal = Terminal { out: Box::new(ClosedPipe), ..terminal("", &Pipe::default(), &err) };
    let status = desk.run_in(&mut terminal, &["completions", "bash"]).await;
    assert_eq!((status, err.text().as_str()), (0, ""), "the reader of a script may need no more of it");
}

/// Runs the program without a stack. A command line that is accepted is refused for that reason.
fn without_stack(workspace: Option<&str>, arguments: &[&str]) -> (Option<i32>, String) {
    let mut program = Command::new(env!("CARGO_BIN_EXE_console"));
    program.args(arguments).env_remove("STACK").env_remove("CONSOLE_WORKSPACE");
    program.envs(workspace.map(|workspace| ("CONSOLE_WORKSPACE", workspace)));
    let ran = program.output().unwrap();
    (ran.status.code(), String::from_utf8(ran.stderr).unwrap())
}

#[test]
fn the_environment_may_name_the_workspace() {
    let id = "8c2d4e6f-1a3b-4c5d-8e7f-9a0b1c2d3e4f";
    for (workspace, line, status) in [
        (Some(id), &["key", "list"][..], 1),
        (None, &["key", "list"], 2),
        (Some("A name"), &["key", "list"], 1),
        (Some(" "), &["key", "list"], 2),
        (Some(" "), &["key", "list", "--workspace", id], 1),
        (Some(id), &["template", "list"], 1),
        (None, &["template", "list"], 2),
        (Some(id), &["template", "list", "--platform"], 1),
        (Some(id), &["template", "list", "--platform", "--workspace", id], 2),
    ] {
        let (found, err) = without_stack(workspace, line);
        assert_eq!(found, Some(status), "{workspace:?} {line:?}: {err}");
        assert_eq!(err.starts_with("No stack is named"), status == 1, "{err}");
    }
    let verbs = console::command();
    let verbs = verbs.get_subcommands().flat_map(|noun| noun.get_subcommands());
    // `template sync` is about an account. Its workspace is where new templates are created, by default in each one of the account.
    for verb in verbs.filter(|verb| verb.get_name() != "sync") {
        let mut arguments = verb.get_arguments().filter(|arg| arg.get_id() == "workspace");
        let is_default = arguments.all(|arg| arg.get_env().is_some_and(|name| name == "CONSOLE_WORKSPACE"));
        assert!(is_default, "{}", verb.get_name());
    }
    assert!(without_stack(None, &["key", "list", "--help"]).1.is_empty());
}

#[test]
fn help_is_wrapped_between_words() {
    for columns in [60, 100] {
        for line in [&["--help"][..], &["webhook", "update", "--help"], &["help", "contacts", "export"]] {
            let mut program = Command::new(env!("CARGO_BIN_EXE_console"));
            let ran = program.args(line).env("COLUMNS", columns.to_string()).output().unwrap();
            let help = String::from_utf8(ran.stdout).unwrap();
            // A line of the usage has no more break than one before each argument.
            let about = help.lines().filter(|line| !line.contains("console ") && !line.contains("--"));
            let widest = about.map(|line| line.chars().count()).max().unwrap();
            assert!(widest > columns / 2 && widest <= columns, "{columns} {widest}: {help}");
        }
    }
}

#[tokio::test]
async fn help_is_a_success_on_standard_output() {
    let desk = Desk::new().await;
    for help in [&["--help"][..], &["help", "contacts"], &["contacts", "import", "--help"], &["--version"]] {
        let ran = desk.run(help).await;
        assert_eq!((ran.status, ran.err.as_str()), (0, ""), "{help:?}");
        assert!(ran.out.contains("console"), "{help:?}");
        assert_eq!(ran.out.contains("[env: CONSOLE_WORKSPACE="), help.contains(&"import"), "{help:?}");
    }
}

#[tokio::test]
async fn json_may_be_given_before_or_after_the_verb() {
    let (desk, workspace) = Desk::with_workspace().await;
    let before = desk.run(&["--json", "workspace", "show", "--workspace", &workspace]).await;
    let behind = desk.run(&["workspace", "show", "--workspace", &workspace, "--json"]).await;
    assert_eq!(before.out, behind.out);
    assert!(before.out.starts_with('{'));
}

#[tokio::test]
async fn connect_gets_the_stack_name_and_its_refusal_is_printed() {
    let err = Pipe::default();
    let mut terminal = terminal("", &Pipe::default(), &err);
    let line = ["console", "workspace", "create", "--name", "n", "--stack", "nowhere"].map(OsString::from);
    let connect = async |stack: Option<String>| {
        assert_eq!(stack.as_deref(), Some("nowhere"));
        Err(Refusal::NoStack)
    };
    assert_eq!(console::run(line, connect, &mut terminal).await, 1);
    assert_eq!(err.text(), "No stack is named: give --stack NAME or set the environment variable STACK.\n");
}

#[tokio::test]
async fn an_unreachable_or_missing_stack_is_reported_in_one_sentence() {
    let (desk, workspace) = Desk::with_workspace().await;
    desk.db.fail("GetItem", Fault::Unreachable, 3);
    let unreachable = desk.refused(&["workspace", "show", "--workspace", &workspace]).await;
    assert!(unreachable.starts_with("The stack cannot be reached ("), "{unreachable}");
    let table = desk.db.table(store::Table::Workspaces);
    desk.db.client().delete_table().table_name(table).send().await.unwrap();
    assert_eq!(
        desk.refused(&["workspace", "show", "--workspace", &workspace]).await,
        "There is no such stack in this account and region: one of its tables does not exist."
    );
}
