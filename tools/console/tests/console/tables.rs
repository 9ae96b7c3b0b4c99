//! What all tables have in common: absent values and colours.

use console::Terminal;
use harness::Pipe;

use crate::{Desk, terminal};

#[tokio::test]
async fn an_absent_value_is_a_hyphen_in_every_table() {
    let (desk, workspace) = Desk::with_workspace().await;
    let within = ["--workspace", &workspace];
    for create in [
        &["attribute", "create", "--key-name", "k", "--category", "OPEN"][..],
        &["template", "create", "--name", "t", "--language", "es"],
        &["user", "create", "--email", "ada@example.com"],
        &["brand", "create", "--name", "b"],
    ] {
        desk.json(&[create, &within].concat()).await;
    }
    for (list, absent) in
        [(["attribute", "list"], 1), (["template", "list"], 3), (["user", "list"], 3), (["brand", "list"], 1)]
    {
        let table = desk.run(&[&list[..], &within].concat()).await.out;
        let row = table.lines().nth(1).unwrap();
        let cells: Vec<&str> = row.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect();
        assert_eq!(cells.iter().filter(|cell| **cell == "-").count(), absent, "{table}");
        let columns = table.lines().next().unwrap().split("  ").filter(|cell| !cell.trim().is_empty());
        assert_eq!(columns.count(), cells.len(), "{table}");
    }
    let capture = desk.json(&[&["capture", "set"][..], &within].concat()).await;
    assert_eq!(capture["dailyCap"], serde_json::Value::Null);
    let shown = desk.run(&[&["capture", "show"][..], &within].concat()).await.out;
    assert!(
        shown.contains("daily cap           -\n") && shown.contains("captcha secret      no\n"),
        "{shown}"
    );
}

#[tokio::test]
async fn states_have_colours_at_a_terminal_or_on_request_and_never_in_json() {
    let (desk, workspace) = Desk::with_workspace().await;
    desk.json(&["user", "create", "--workspace", &workspace, "--email", "ada@example.com"]).await;
    let list = ["user", "list", "--workspace", &workspace];
    let plain = desk.run(&list).await.out;
    let green = plain.replace("active", "\u{1b}[32mactive\u{1b}[0m");
    assert_ne!(plain, green);
    for (at_terminal, more, expected) in [
        (false, &["--color", "never"][..], &plain),
        (false, &["--color", "auto"], &plain),
        (false, &["--color", "always"], &green),
        (true, &[], &green),
        (true, &["--color", "always"], &green),
        (true, &["--color", "never"], &plain),
    ] {
        let list = [&list[..], more].concat();
        let ran = if at_terminal { desk.run_at_terminal("", &list).await } else { desk.run(&list).await };
        assert_eq!(&ran.out, expected, "{at_terminal} {more:?}");
    }
    let json = desk.run(&[&list[..], &["--color", "always", "--json"]].concat()).await.out;
    assert!(json.contains("\"active\"") && !json.contains('\u{1b}'));
    let keys = ["key", "list", "--workspace", &workspace, "--color", "always"];
    assert!(!desk.run(&keys).await.out.contains('\u{1b}'), "a table without states has no colours");
}

#[tokio::test]
async fn no_text_of_a_third_party_reaches_a_terminal_as_a_command() {
    let (mut desk, workspace) = Desk::with_workspace().await;
    let within = ["--workspace", &workspace];
    desk.json(&[&["attribute", "create", "--key-name", "note", "--category", "OPEN"][..], &within].concat())
        .await;
    let note = "\u{1b}]52;c;YQ==\u{7}\u{202e}\u{2028}\u{9b}\nDONE";
    desk.input = format!("email,firstName,attr:note\nana@example.com,Ana,\"{note}\"\n");
    desk.json(&[&["contacts", "import", "-"][..], &within].concat()).await;
    for command in [
        &["contacts", "list"][..],
        &["contacts", "show", "--contact", "ana@example.com"],
        &["contacts", "export"],
        &["--json", "contacts", "list"],
        &["--json", "contacts", "export"],
        &["--json", "contacts", "show", "--contact", "ana@example.com"],
    ] {
        let ran = desk.run_at_terminal("", &[command, &within].concat()).await;
        let hostile = |c: char| c != '\n' && !domain::text::is_printable(c);
        assert!(ran.out.contains("Ana") && !ran.out.contains(hostile), "{command:?}: {:?}", ran.out);
        assert!(!ran.out.contains("\nDONE"), "{command:?}: a forged row: {}", ran.out);
    }
    let json = desk.json(&[&["contacts", "list"][..], &within].concat()).await;
    assert_eq!(json[0]["attributes"]["note"][0], note);
    let refused = ["contacts", "import", "no\u{1b}]52;c;YQ==\u{7}such.csv"];
    let ran = desk.run(&[&refused[..], &within].concat()).await;
    assert!(ran.status == 1 && !ran.err.contains('\u{1b}'), "{ran:?}");
}

#[tokio::test]
async fn tables_fit_the_terminal_and_are_not_wrapped_otherwise() {
    let (desk, workspace) = Desk::with_workspace().await;
    let within = ["--workspace", &workspace];
    let urls = ["https://hooks.example.com/in", "https://hooks.example.com/of/a/long/path"];
    for url in urls {
        desk.json(&[&["webhook", "create", "--url", url, "--api-key", "k"][..], &within].concat()).await;
    }
    let list = [&["webhook", "list"][..], &within].concat();
    let whole = desk.run(&list).await.out;
    assert_eq!(whole.lines().count(), 3, "{whole}");
    for width in [60, 100, 150] {
        let (out, err) = (Pipe::default(), Pipe::default());
        let mut terminal = Terminal { width: Some(width), ..terminal("", &out, &err) };
        assert_eq!(desk.run_in(&mut terminal, &list).await, 0);
        let shown = out.text();
        assert!(shown.lines().all(|line| line.chars().count() <= width), "{width}: {shown}");
        assert!(urls.iter().all(|url| shown.contains(url)), "{width}: {shown}");
    }
}
