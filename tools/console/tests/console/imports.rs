//! What an import reads and what it does with the rows that it refuses.

use std::collections::BTreeSet;
use std::fs;

use console::Terminal;
use harness::Call;
use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::contacts::{Book, TWO, report};
use crate::{Pipe, Ran, terminal};

impl Book {
    /// Runs an import of this text with more arguments.
    async fn import_with(&self, csv: &str, more: &[&str]) -> Ran {
        fs::write(&self.file, csv).unwrap();
        let import = ["contacts", "import", "--workspace", &self.workspace, self.file.to_str().unwrap()];
        self.desk.run(&[&import[..], more].concat()).await
    }

    /// The contacts without what differs between two imports.
    async fn contacts(&self) -> Vec<Value> {
        let mut contacts = self.export().await.as_array().unwrap().clone();
        for contact in &mut contacts {
            let contact = contact.as_object_mut().unwrap();
            contact.retain(|field, _| field != "createdAt" && field != "updatedAt");
        }
        contacts.sort_by_key(|contact| contact["id"].to_string());
        contacts
    }
}

/// The same table with another delimiter.
fn delimited(csv: &str, delimiter: u8) -> String {
    let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(csv.as_bytes());
    let mut writer = csv::WriterBuilder::new().delimiter(delimiter).from_writer(vec![]);
    for record in reader.byte_records() {
        writer.write_byte_record(&record.unwrap()).unwrap();
    }
    String::from_utf8(writer.into_inner().unwrap()).unwrap()
}

fn parsed(ran: &Ran) -> Value {
    serde_json::from_str(&ran.out).unwrap()
}

#[tokio::test]
async fn commas_semicolons_and_tabs_separate_cells() {
    let expected = Book::new("comma").await;
    expected.taken(TWO).await;
    for (name, delimiter) in [("semicolon", b';'), ("tab", b'\t')] {
        let book = Book::new(name).await;
        assert_eq!(book.taken(&delimited(TWO, delimiter)).await, report(2, 0, 0));
        assert_eq!(book.contacts().await, expected.contacts().await, "{name}");
    }
}

#[tokio::test]
async fn the_header_decides_on_the_delimiter() {
    let book = Book::new("ambiguous").await;
    let create = ["attribute", "create", "--workspace", &book.workspace, "--category", "OPEN", "--key-name"];
    book.desk.json(&[&create[..], &["a;b;c"]].concat()).await;
    assert_eq!(book.taken("email,attr:a;b;c\nana@example.com,x;y\n").await, report(1, 0, 0));
    assert_eq!(book.export().await[0]["attributes"], json!({ "a;b;c": ["x;y"] }));
    // One column fits every delimiter, and the cells of its rows are not cut.
    assert_eq!(book.taken("email\nbo@example.com\n").await, report(1, 0, 0));
    // If none fits, the complaint is about the most probable columns.
    let wrong = book.import_with("email;colour;firstName\n", &[]).await;
    assert!(wrong.err.contains("the column \"colour\" is not one of"), "{}", wrong.err);
}

#[tokio::test]
async fn a_hyphen_is_standard_input() {
    let mut book = Book::new("standard-input").await;
    book.desk.input = delimited(TWO, b';');
    let import = ["contacts", "import", "--workspace", &book.workspace, "-"];
    assert_eq!(book.desk.json(&import).await, report(2, 0, 0));
    book.desk.input = "colour\n".to_owned();
    assert!(book.desk.refused(&import).await.starts_with("-: the column"));
}

#[tokio::test]
async fn an_export_comes_back_the_same_with_every_delimiter_raw_or_not() {
    let source = Book::new("there").await;
    let names =
        ["=1", "'=1", "''=1", "+34", "O'Neil", "a;b", "a,b", "a\tb", "\"q\"", "-", "\t=1", "\\;", " x "];
    let mut csv = csv::Writer::from_writer(vec![]);
    csv.write_record(["cellphone", "firstName", "attr:company", "attr:seats", "attr:plan"]).unwrap();
    for (number, name) in names.iter().enumerate() {
        let first_name = name.replace('\t', " ");
        let row = [&format!("+346001112{number:02}"), first_name.as_str(), *name, "-5", "Team;a\\;b"];
        csv.write_record(row).unwrap();
    }
    let csv = String::from_utf8(csv.into_inner().unwrap()).unwrap();
    let ran = source.import_with(&csv, &["--json", "--raw"]).await;
    assert_eq!(parsed(&ran), report(names.len(), 0, 0));
    let mut found: Vec<String> = source
        .contacts()
        .await
        .iter()
        .map(|contact| contact["firstName"].as_str().unwrap().to_owned())
        .collect();
    let mut expected = names.map(|name| name.replace('\t', " ")).to_vec();
    found.sort();
    expected.sort();
    assert_eq!(found, expected, "--raw changes no text");

    for raw in [&[][..], &["--raw"]] {
        let export = [&["contacts", "export", "--workspace", &source.workspace][..], raw].concat();
        let exported = source.desk.run(&export).await.out;
        for delimiter in [b',', b';', b'\t'] {
            let name = format!("back-{}-{delimiter}", raw.len());
            let (text, more) = (delimited(&exported, delimiter), [&["--json"][..], raw].concat());
            let again = source.import_with(&text, &more).await;
            assert_eq!(parsed(&again), report(0, 0, names.len()), "{name}: {again:?}");
            let empty = Book::new(&name).await;
            let ran = empty.import_with(&text, &more).await;
            assert_eq!(parsed(&ran), report(names.len(), 0, 0), "{name}: {ran:?}");
            assert_eq!(empty.contacts().await, source.contacts().await, "{name}");
        }
    }
}

/// Files with rows that are created, updated, unchanged and refused, and rows that depend on earlier rows.
const FILES: [&str; 6] = [
    "email,firstName\nana@example.com,A\nana@example.com,B\nana@example.com,B\nnew@example.com,N\n",
    "email,cellphone\nana@example.com,+14155550102\n,+14155550101\nbo@example.com,+14155550101\nnew@example.com,\n",
    // The first row takes the address of another contact, which has given it up in the row before.
    "id,email\n{ana},other@example.com\n{bo},ana@example.com\n",
    "id,email,cellphone\n{bo},ana@example.com,\n{nobody},bo@example.com,\n{nobody},x@example.com,+14155550101\n8c2d4e6f-1a3b-4c5d-8e7f-9a0b1c2d3e4f,y@example.com,\n",
    "email,cellphone,owner,attr:plan\nana@example.com,+14155550199,nobody,Gold\nx@example.com,+14155550198,,Team\n",
    "email,cellphone,firstName\nx@example.com,+14155550150,X\nx@example.com,+14155550151,Y\n,+14155550150,Z\n",
];

#[tokio::test]
async fn a_dry_run_reports_what_the_import_reports_and_writes_nothing() {
    for (number, file) in FILES.iter().enumerate() {
        let book = Book::new(&format!("dry-{number}")).await;
        book.taken("email,cellphone\nana@example.com,+14155550101\nbo@example.com,+14155550102\n").await;
        let before = book.export().await;
        let id = |email: &str| {
            let contacts = before.as_array().unwrap();
            let contact = contacts.iter().find(|contact| contact["email"] == email).unwrap();
            contact["id"].as_str().unwrap().to_owned()
        };
        let csv = file
            .replace("{ana}", &id("ana@example.com"))
            .replace("{bo}", &id("bo@example.com"))
            .replace("{nobody}", "3f1b8a52-6d0e-4c7a-9b1f-2a5d8e4c7b90");
        book.desk.db.forget_calls();
        let dry = book.import_with(&csv, &["--dry-run", "--json"]).await;
        let is_write = |call: &Call| !["Query", "GetItem", "BatchGetItem"].contains(&call.operation.as_str());
        let writes: Vec<Call> = book.desk.db.calls().into_iter().filter(is_write).collect();
        assert!(writes.is_empty(), "{csv}: {writes:?}");
        assert_eq!(book.export().await, before);
        let real = book.import_with(&csv, &["--json"]).await;
        assert_eq!((dry.status, parsed(&dry)), (real.status, parsed(&real)), "{csv}");
        assert_ne!(book.export().await, before, "the file must change something: {csv}");
    }
}

#[tokio::test]
async fn people_are_told_that_a_dry_run_wrote_nothing() {
    let book = Book::new("dry-people").await;
    let ran = book.import_with("email\nana@example.com\n", &["--dry-run"]).await;
    assert_eq!(ran.status, 0);
    assert_snapshot!(ran.out, @"
    created    1
    updated    0
    unchanged  0
    failed     0
    ");
    assert_snapshot!(ran.err, @"Nothing was written: these are the counts of an import.");
    let ran = book.import_with("email\nana\n", &["--dry-run"]).await;
    assert_eq!(ran.status, 1);
    assert_snapshot!(ran.err, @"
    Row 2: email: should be an e-mail address, such as jo@example.com.
    1 of 1 rows would not be imported.
    ");
}

#[tokio::test]
async fn refused_rows_are_written_with_their_reason_and_imported_after_mending() {
    let book = Book::new("rejects").await;
    let rejects = book.file.with_extension("rejects.csv");
    let path = rejects.to_str().unwrap();
    let csv = "email;firstName;languageCode\nana@example.com;Ana;ES\nbo;\"B;o\";DE\ncy@example.com;Cy\n";
    let ran = book.import_with(csv, &["--rejects", path]).await;
    assert_eq!(ran.status, 1);
    let first = fs::read_to_string(&rejects).unwrap();
    assert_snapshot!(first, @r#"
    reason;email;firstName;languageCode
    "email: should be an e-mail address, such as jo@example.com; languageCode: should be one of ES, EN";bo;"B;o";DE
    2 cells where the header has 3;cy@example.com;Cy
    "#);
    // Unmended, the rows are refused again, and the old reasons give way to the new ones.
    let again = book.import_with(&first.replace(";DE\n", ";ES\n"), &["--rejects", path, "--json"]).await;
    assert_eq!((again.status, parsed(&again)["failed"].as_array().unwrap().len()), (1, 2));
    let second = fs::read_to_string(&rejects).unwrap();
    assert_snapshot!(second, @r#"
    reason;email;firstName;languageCode
    email: should be an e-mail address, such as jo@example.com;bo;"B;o";ES
    3 cells where the header has 4;cy@example.com;Cy
    "#);
    let mended = second.replace(";bo;", ";bo@example.com;").replace(";Cy\n", ";Cy;EN\n");
    let last = book.import_with(&mended, &["--rejects", path, "--json"]).await;
    assert_eq!((last.status, parsed(&last)), (0, report(2, 0, 0)), "{mended}");
    assert_eq!(fs::read_to_string(&rejects).unwrap(), "reason;email;firstName;languageCode\n");
    let contacts = book.contacts().await;
    let names: BTreeSet<&str> =
        contacts.iter().map(|contact| contact["firstName"].as_str().unwrap()).collect();
    assert_eq!(names, BTreeSet::from(["Ana", "B;o", "Cy"]));
}

#[tokio::test]
async fn rows_that_the_workspace_refuses_are_rejects_too_and_keep_their_bytes() {
    let book = Book::new("rejects-bytes").await;
    book.taken("email,cellphone\nana@example.com,+14155550101\n").await;
    let rejects = book.file.with_extension("rejects.csv");
    fs::write(&book.file, b"email,cellphone,firstName\nbo@example.com,+14155550101,Bo\n\xff,,Cy\n").unwrap();
    let import = ["contacts", "import", "--workspace", &book.workspace, book.file.to_str().unwrap()];
    let rejected = ["--rejects", rejects.to_str().unwrap(), "--dry-run"];
    assert_eq!(book.desk.run(&[&import[..], &rejected].concat()).await.status, 1);
    let bytes = fs::read(&rejects).unwrap();
    assert!(bytes.ends_with(b"\nis not UTF-8,\xff,,Cy\n"), "{}", String::from_utf8_lossy(&bytes));
    // The number's contact is updated by the first row, which is therefore not refused.
    assert_eq!(bytes.iter().filter(|byte| **byte == b'\n').count(), 2);
}

#[tokio::test]
async fn an_import_begins_only_if_its_rejects_can_be_written() {
    let book = Book::new("rejects-refused").await;
    let own = book.file.to_str().unwrap().to_owned();
    for (path, reason) in
        [(own.as_str(), "is the file to import; name another one"), ("/nowhere/r.csv", "No such file")]
    {
        let ran = book.import_with("email\nana@example.com\n", &["--rejects", path]).await;
        assert_eq!((ran.status, ran.out.as_str()), (1, ""), "{path}");
        assert!(ran.err.contains(reason), "{}", ran.err);
    }
    assert_eq!(fs::read_to_string(&book.file).unwrap(), "email\nana@example.com\n", "the file is untouched");
    assert_eq!(book.export().await, json!([]));
}

#[tokio::test]
async fn nothing_is_drawn_unless_standard_error_is_a_terminal_without_json() {
    let book = Book::new("drawn").await;
    let rows: String = (0..50).map(|n| format!("c{n}@example.com\n")).collect();
    fs::write(&book.file, format!("email\n{rows}")).unwrap();
    let import = ["contacts", "import", "--workspace", &book.workspace, book.file.to_str().unwrap()];
    for (is_watched, json) in [(false, &[][..]), (true, &["--json"])] {
        let err = Pipe::default();
        let mut terminal = Terminal { is_watched, ..terminal("", &Pipe::default(), &err) };
        assert_eq!(book.desk.run_in(&mut terminal, &[&import[..], json].concat()).await, 0);
        assert_eq!(err.text(), "", "{is_watched} {json:?}");
    }
}
