use std::ffi::OsString;

use console::Refusal;
use harness::Fault;

use crate::{Desk, Pipe, terminal};

#[tokio::test]
async fn an_invalid_command_line_is_a_usage_error_on_standard_error() {
    let (desk, workspace) = Desk::with_workspace().await;
    for wrong in [
        &[][..],
        &["nonsense"],
        &["workspace"],
        &["workspace", "create"],
        &["workspace", "show", "--workspace", "not-an-id"],
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
        &["capture", "set", "--workspace", &workspace, "--origin", "https://www.example.com/"],
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
async fn help_is_a_success_on_standard_output() {
    let desk = Desk::new().await;
    for help in [&["--help"][..], &["help", "contacts"], &["contacts", "import", "--help"], &["--version"]] {
        let ran = desk.run(help).await;
        assert_eq!((ran.status, ran.err.as_str()), (0, ""), "{help:?}");
        assert!(ran.out.contains("console"), "{help:?}");
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
