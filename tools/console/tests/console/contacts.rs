use std::fs;
use std::path::PathBuf;

use aws_sdk_dynamodb::types::StreamSpecification;
use console::Terminal;
use harness::{Fault, Pipe, trips};
use insta::{assert_json_snapshot, assert_snapshot};
use serde_json::{Value, json};

use crate::{ClosedPipe, Desk, terminal};

/// A workspace with a user and three attributes, and a file for the import.
pub(crate) struct Book {
    pub(crate) desk: Desk,
    pub(crate) workspace: String,
    pub(crate) file: PathBuf,
}

impl Book {
    pub(crate) async fn new(name: &str) -> Self {
        let (desk, workspace) = Desk::with_workspace().await;
        desk.json(&["user", "create", "--workspace", &workspace, "--email", "Ada@example.com"]).await;
        for attribute in [
            &["--key-name", "company", "--category", "OPEN"][..],
            &["--key-name", "seats", "--category", "OPEN", "--type", "NUMBER"],
            &[
                "--key-name",
                "plan",
                "--category",
                "CLOSED",
                "--value",
                "Free",
                "--value",
                "a;b",
                "--value",
                "Team",
            ],
        ] {
            desk.json(&[&["attribute", "create", "--workspace", &workspace], attribute].concat()).await;
        }
        let file = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.csv"));
        Self { desk, workspace, file }
    }

    /// Removes the stream, because the embedded database needs more time for each record the more records its stream
    /// has.
    async fn without_stream(&self) {
        let off = StreamSpecification::builder().stream_enabled(false).build().unwrap();
        let table = self.desk.db.table(store::Table::Contacts);
        let update = self.desk.db.client().update_table().table_name(table).stream_specification(off);
        update.send().await.unwrap();
    }

    /// Imports rows. Standard output is the report, even if rows failed.
    async fn import(&self, csv: &str) -> (u8, Value, String) {
        fs::write(&self.file, csv).unwrap();
        let file = self.file.to_str().unwrap();
        let import = ["--json", "contacts", "import", "--workspace", &self.workspace, file];
        let ran = self.desk.run(&import).await;
        (ran.status, serde_json::from_str(&ran.out).unwrap_or_default(), ran.err)
    }

    pub(crate) async fn taken(&self, csv: &str) -> Value {
        let (status, report, err) = self.import(csv).await;
        assert_eq!((status, err.as_str()), (0, ""), "{report}");
        report
    }

    async fn refused(&self, csv: &str) -> String {
        let (status, report, err) = self.import(csv).await;
        assert_eq!((status, report), (1, Value::Null));
        let failure: Value = serde_json::from_str(&err).unwrap();
        assert_eq!(failure["code"], "FILE");
        failure["message"].as_str().unwrap().replace(self.file.to_str().unwrap(), "FILE")
    }

    pub(crate) async fn export(&self) -> Value {
        self.desk.json(&["contacts", "export", "--workspace", &self.workspace]).await
    }

    pub(crate) async fn export_csv(&self) -> String {
        self.desk.run(&["contacts", "export", "--workspace", &self.workspace]).await.out
    }
}

pub(crate) fn report(created: usize, updated: usize, unchanged: usize) -> Value {
    json!({ "created": created, "updated": updated, "unchanged": unchanged, "failed": [] })
}

pub(crate) const TWO: &str = "\
firstName,lastName,email,cellphone,languageCode,owner,attr:company,attr:seats,attr:plan
Ana,Ruiz,ana@example.com,+14155550101,ES,ada@example.com,\"Aster, Inc.\",12,Free;a\\;b
Bo,,bo@example.com,,,,,,
";

#[tokio::test]
async fn an_import_creates_contacts_with_every_column() {
    let book = Book::new("every-column").await;
    assert_eq!(book.taken(TWO).await, report(2, 0, 0));
    assert_json_snapshot!(book.export().await, @r#"
    [
      {
        "attributes": {
          "company": [
            "Aster, Inc."
          ],
          "plan": [
            "Free",
            "a;b"
          ],
          "seats": [
            "12"
          ]
        },
        "cellphone": "+14155550101",
        "createdAt": "2026-01-02T03:04:05.678Z",
        "email": "ana@example.com",
        "externalId": null,
        "firstName": "Ana",
        "id": "00000000-0000-4000-8000-00000000000f",
        "languageCode": "ES",
        "lastName": "Ruiz",
        "owner": "Ada@example.com",
        "type": "NORMAL",
        "updatedAt": "2026-01-02T03:04:05.678Z",
        "userIds": [],
        "waId": null
      },
      {
        "attributes": {},
        "cellphone": null,
        "createdAt": "2026-01-02T03:04:05.678Z",
        "email": "bo@example.com",
        "externalId": null,
        "firstName": "Bo",
        "id": "00000000-0000-4000-8000-000000000011",
        "languageCode": null,
        "lastName": null,
        "owner": null,
        "type": "PARTIAL",
        "updatedAt": "2026-01-02T03:04:05.678Z",
        "userIds": [],
        "waId": null
      }
    ]
    "#);
}

#[tokio::test]
async fn a_repeated_import_changes_nothing() {
    let book = Book::new("again").await;
    book.taken(TWO).await;
    let before = book.export().await;
    assert_eq!(book.taken(TWO).await, report(0, 0, 2));
    assert_eq!(book.export().await, before);
}

#[tokio::test]
async fn a_row_with_an_existing_address_or_phone_updates_that_contact_and_empty_cells_change_nothing() {
    let book = Book::new("merge").await;
    book.taken(TWO).await;
    let merged = book
        .taken("email,cellphone,lastName,attr:plan\nANA@example.com,,,Team\n,+14155550101,Roig,\nbo@example.com,+14155550102,,\n")
        .await;
    assert_eq!(merged, report(0, 3, 0));
    let contacts = book.export().await;
    assert_eq!(contacts.as_array().unwrap().len(), 2);
    let ana = contacts.as_array().unwrap().iter().find(|contact| contact["firstName"] == "Ana").unwrap();
    assert_eq!(ana["email"], "ANA@example.com");
    assert_eq!(ana["lastName"], "Roig");
    assert_eq!(ana["attributes"], json!({ "company": ["Aster, Inc."], "seats": ["12"], "plan": ["Team"] }));
}

#[tokio::test]
async fn a_row_means_the_contact_with_its_external_id_before_the_one_with_its_address() {
    let book = Book::new("external-id").await;
    let made = book.taken("externalId,firstName,email\n=crm 1,Ana,ana@example.com\ncrm-2,Bo,\n").await;
    assert_eq!(made, report(2, 0, 0));
    // Ana has another address, Bo gets a number and a longer name, and Cy an id.
    let csv = "externalId,email,cellphone,firstName\n\
               =crm 1,anna@example.com,,\n\
               crm-2,,+14155550102,\n\
               crm-2,,+14155550102,Bob\n\
               ,,+14155550103,Cy\n\
               crm-3,,+14155550103,\n";
    assert_eq!(book.taken(csv).await, report(1, 4, 0));
    let contacts = book.export().await;
    let of =
        |id: &str| contacts.as_array().unwrap().iter().find(|contact| contact["externalId"] == id).unwrap();
    assert_eq!(of("=crm 1")["email"], "anna@example.com");
    assert_eq!((&of("crm-2")["firstName"], &of("crm-3")["firstName"]), (&json!("Bob"), &json!("Cy")));

    let csv = book.export_csv().await;
    assert!(csv.contains(",'=crm 1,"), "{csv}");
    assert_eq!(book.taken(&csv).await, report(0, 0, 3));
    // An address of another contact, and an id of another one, also in a run that writes nothing.
    let bad = "id,externalId,email\n\
               ,crm-2,anna@example.com\n\
               3f1b8a52-6d0e-4c7a-9b1f-2a5d8e4c7b90,crm-2,\n\
               ,a\tb,\n";
    for more in [&[][..], &["--dry-run"]] {
        fs::write(&book.file, bad).unwrap();
        let file = book.file.to_str().unwrap();
        let import = ["--json", "contacts", "import", "--workspace", &book.workspace, file];
        let ran = book.desk.run(&[&import, more].concat()).await;
        let failed: Value = serde_json::from_str(&ran.out).unwrap();
        let ids = [of("=crm 1"), of("crm-2")].map(|contact| contact["id"].as_str().unwrap());
        let errors: Vec<&str> =
            failed["failed"].as_array().unwrap().iter().map(|row| row["error"].as_str().unwrap()).collect();
        let expected = [
            format!("email belongs to contact {}", ids[0]),
            format!("externalId belongs to contact {}", ids[1]),
            "externalId: an id has one line, without tabs and control characters".to_owned(),
        ];
        assert_eq!(errors, expected, "{more:?}");
    }
    let list = ["contacts", "list", "--workspace", &book.workspace, "--external-id"];
    let listed = async |id: &str| book.desk.json(&[&list[..], &[id]].concat()).await;
    assert_eq!(listed("crm-2").await.as_array().unwrap().len(), 1);
    assert_eq!(listed("CRM-2").await, json!([]));
}

#[tokio::test]
async fn an_export_can_be_imported_into_the_same_and_into_an_empty_workspace() {
    let book = Book::new("round-trip").await;
    book.taken(TWO).await;
    let csv = book.export_csv().await;
    assert_snapshot!(csv, @r#"
    id,firstName,lastName,email,cellphone,externalId,languageCode,owner,attr:company,attr:seats,attr:plan
    00000000-0000-4000-8000-00000000000f,Ana,Ruiz,ana@example.com,+14155550101,,ES,Ada@example.com,"Aster, Inc.",12,Free;a\;b
    00000000-0000-4000-8000-000000000011,Bo,,bo@example.com,,,,,,,
    "#);
    assert_eq!(book.taken(&csv).await, report(0, 0, 2));
    let other = Book::new("round-trip-other").await;
    assert_eq!(other.taken(&csv).await, report(2, 0, 0));
    assert_eq!(other.export_csv().await, csv);
}

#[tokio::test]
async fn failed_rows_are_listed_and_the_others_are_imported() {
    let book = Book::new("failing").await;
    book.taken("email,cellphone\nana@example.com,+14155550101\nbo@example.com,+14155550102\n").await;
    let (status, report, err) = book
        .import(
            "id,firstName,email,cellphone,languageCode,owner,attr:seats,attr:plan\n\
             ,Cy,cy@example.com,,,,,\n\
             ,Di,not-an-address,555,DE,nobody@example.com,many,Gold\n\
             ,Ed,,,,,,\n\
             ,,ana@example.com,+14155550102,,,,\n\
             ,Flo,flo@example.com\n\
             nonsense,Gus,gus@example.com,,,,,\n\
             3f1b8a52-6d0e-4c7a-9b1f-2a5d8e4c7b90,Hal,bo@example.com,,,,,\n",
        )
        .await;
    assert_eq!(status, 1);
    assert_json_snapshot!(report, @r#"
    {
      "created": 1,
      "failed": [
        {
          "error": "email: should be an e-mail address, such as jo@example.com; cellphone: should be a phone number in E.164 format, such as +34600111222; languageCode: should be one of ES, EN; owner: is not a user of the workspace; attr:seats: should be a NUMBER; attr:plan: the attribute has no value \"Gold\"",
          "row": 3
        },
        {
          "error": "an id, email, cellphone or externalId is needed to identify the contact",
          "row": 4
        },
        {
          "error": "cellphone belongs to contact 00000000-0000-4000-8000-000000000011",
          "row": 5
        },
        {
          "error": "3 cells where the header has 8",
          "row": 6
        },
        {
          "error": "id: should be a UUID",
          "row": 7
        },
        {
          "error": "email belongs to contact 00000000-0000-4000-8000-000000000011",
          "row": 8
        }
      ],
      "unchanged": 0,
      "updated": 0
    }
    "#);
    assert_snapshot!(err, @r#"{"code":"ROWS_FAILED","message":"6 of 7 rows were not imported."}"#);
    assert_eq!(book.export().await.as_array().unwrap().len(), 3);
}

#[tokio::test]
async fn people_see_counts_and_the_rows_that_failed() {
    let book = Book::new("people").await;
    fs::write(&book.file, "email\nana@example.com\nnobody\n").unwrap();
    let file = book.file.to_str().unwrap();
    let ran = book.desk.run(&["contacts", "import", "--workspace", &book.workspace, file]).await;
    assert_eq!(ran.status, 1);
    assert_snapshot!(ran.out, @"
    created    1
    updated    0
    unchanged  0
    failed     1
    ");
    assert_snapshot!(ran.err, @r#"
    Row 3: email: should be an e-mail address, such as jo@example.com.
    1 of 2 rows were not imported.
    "#);
}

#[tokio::test]
async fn an_invalid_file_is_refused_completely() {
    let book = Book::new("header").await;
    for (csv, reason) in [
        ("", "a column id, email, cellphone or externalId is needed to identify contacts"),
        ("firstName\nAna\n", "a column id, email, cellphone or externalId is needed to identify contacts"),
        ("email,email\n", "the column \"email\" is repeated"),
        ("email,attr:colour\n", "the workspace has no active attribute \"colour\""),
        (
            "email,colour\n",
            "the column \"colour\" is not one of id, firstName, lastName, email, cellphone, externalId, languageCode, \
             owner, attr:<keyName>",
        ),
    ] {
        assert_eq!(book.refused(csv).await, format!("FILE: {reason}."), "{csv:?}");
    }
    fs::remove_file(&book.file).unwrap();
    let file = book.file.to_str().unwrap();
    let import = ["contacts", "import", "--workspace", &book.workspace, file];
    assert!(book.desk.refused(&import).await.contains("No such file"));
}

#[tokio::test]
async fn a_byte_order_mark_and_windows_line_ends_are_accepted() {
    let book = Book::new("bom").await;
    assert_eq!(book.taken("\u{feff}email,firstName\r\nana@example.com,Ana\r\n").await, report(1, 0, 0));
}

#[tokio::test]
async fn rows_of_one_contact_are_imported_in_the_order_of_the_file() {
    let book = Book::new("order").await;
    let rows: String = (0..50).map(|n| format!("ana@example.com,{n}\n")).collect();
    assert_eq!(book.taken(&format!("email,firstName\n{rows}")).await, report(1, 49, 0));
    assert_eq!(book.export().await[0]["firstName"], "49");
}

#[tokio::test]
async fn a_contact_can_be_imported_again_after_its_owner_was_disabled() {
    let book = Book::new("disabled-owner").await;
    book.taken(TWO).await;
    book.desk.json(&["user", "disable", "--workspace", &book.workspace, "--user", "ada@example.com"]).await;
    assert_eq!(book.taken(TWO).await, report(0, 0, 2));
    let (status, report, _) = book.import("email,owner\nbo@example.com,ada@example.com\n").await;
    assert_eq!(status, 1);
    assert_eq!(report["failed"][0]["error"], "the owner is not an active internal user");
}

#[tokio::test]
async fn a_repetition_completes_an_interrupted_import() {
    let book = Book::new("midway").await;
    let rows: String = (0..200).map(|n| format!("c{n}@example.com,+1415555{n:04},C{n}\n")).collect();
    let csv = format!("email,cellphone,firstName\n{rows}");
    fs::write(&book.file, &csv).unwrap();
    let file = book.file.to_str().unwrap();
    {
        let import = ["contacts", "import", "--workspace", &book.workspace, file];
        let import = book.desk.run(&import);
        let some = async {
            let written =
                || book.desk.db.calls().iter().filter(|call| call.operation == "TransactWriteItems").count();
            while written() < 60 {
                tokio::task::yield_now().await;
            }
        };
        // The branch that ends first drops the other: the import is dropped while calls are in progress.
        tokio::select! { _ = import => panic!("the import must not end before it is dropped"), () = some => {} }
    }
    let report = book.taken(&csv).await;
    assert_eq!(report["failed"], json!([]));
    let count = |name: &str| report[name].as_u64().unwrap();
    assert!(count("unchanged") > 0 && count("created") > 0, "{report}");
    assert_eq!(count("created") + count("unchanged"), 200);
    assert_eq!(book.export().await.as_array().unwrap().len(), 200);
}

#[tokio::test]
async fn an_import_waits_for_a_busy_table() {
    let book = Book::new("busy").await;
    book.desk.db.fail("TransactWriteItems", Fault::Throttled, 4);
    assert_eq!(book.taken("email\nana@example.com\n").await, report(1, 0, 0));
}

#[tokio::test]
async fn rows_are_imported_concurrently_in_two_round_trips_each() {
    let book = Book::new("many").await;
    book.without_stream().await;
    let rows: String = (0..400).map(|n| format!("c{n}@example.com,+1415{n:07},Co {n},Team\n")).collect();
    let csv = format!("email,cellphone,attr:company,attr:plan\n{rows}");
    book.desk.db.forget_calls();
    assert_eq!(book.taken(&csv).await, report(400, 0, 0));
    let calls = book.desk.db.calls();
    // Each row needs both look-ups at the same time, then the transaction. The other calls read the workspace's own
    // rows, which each of the first concurrent rows reads for itself.
    assert!(calls.len() <= 3 * 400 + 64, "{}", calls.len());
    assert!(trips(&calls) <= 2 * 400 / 8, "{} round trips in sequence", trips(&calls));

    book.desk.db.forget_calls();
    assert_eq!(book.export().await.as_array().unwrap().len(), 400);
    assert!(trips(&book.desk.db.calls()) <= 2 * 5 + 4);
}

#[tokio::test]
async fn an_export_has_no_formulas_and_an_import_restores_the_text() {
    let book = Book::new("formulas").await;
    let names = ["=HYPERLINK(\"http://x\")", "+1", "-1", "@SUM(A1)", "'=1", "O'Neil", "'quoted'"];
    let rows: Vec<String> = names
        .iter()
        .enumerate()
        .map(|(number, name)| format!("+3460011122{number},\"'{}\"", name.replace('"', "\"\"")))
        .collect();
    let formulas = rows[..5].join("\n");
    let others = format!("+34600111225,{}\n+34600111226,{}", names[5], names[6]);
    book.taken(&format!("cellphone,firstName\n{formulas}\n{others}\n")).await;

    let stored = book.export().await;
    let mut found: Vec<&str> =
        stored.as_array().unwrap().iter().map(|contact| contact["firstName"].as_str().unwrap()).collect();
    found.sort_unstable();
    let mut expected = names;
    expected.sort_unstable();
    assert_eq!(found, expected);

    let csv = book.export_csv().await;
    let cells: Vec<&str> = csv.lines().skip(1).map(|line| line.split(',').nth(1).unwrap()).collect();
    assert!(
        cells.iter().all(|cell| !cell.trim_start_matches('"').starts_with(['=', '+', '-', '@'])),
        "{csv}"
    );
    assert!(csv.contains(",+34600111221,"), "numbers keep their sign: {csv}");
    assert_eq!(book.taken(&csv).await, report(0, 0, 7));
    assert_eq!(book.export().await, stored, "an import of the export changes nothing");

    // No separator makes a formula, whatever program reads the file.
    let hostile = "cellphone,lastName,attr:company\n+34600111220,\"Ana;=cmd|' /C calc'!A0\",\n+34600111221,,\"a\t@x,+1\"\n";
    book.taken(hostile).await;
    let csv = book.export_csv().await;
    for separator in [',', ';', '\t'] {
        let mut cells =
            csv.lines().flat_map(|line| line.split(separator)).map(|cell| cell.trim_start_matches('"'));
        let formula = cells.find(|cell| cell.starts_with(['=', '@', '-']) || cell.starts_with("+1"));
        assert_eq!(formula, None, "{separator:?}: {csv}");
    }
    let stored = book.export().await;
    assert_eq!(book.taken(&csv).await, report(0, 0, 7));
    assert_eq!(book.export().await, stored);

    let raw = book.desk.run(&["contacts", "export", "--workspace", &book.workspace, "--raw"]).await.out;
    assert!(raw.contains(",@SUM(A1),") && !csv.contains(",@SUM(A1),"), "{raw}");
}

#[tokio::test]
async fn an_export_ends_without_an_error_when_its_reader_closes_the_pipe() {
    let book = Book::new("closed-pipe").await;
    book.taken(TWO).await;
    for format in [None, Some("--json")] {
        let err = Pipe::default();
        let mut terminal = Terminal { out: Box::new(ClosedPipe), ..terminal("", &Pipe::default(), &err) };
        let export = ["contacts", "export", "--workspace", &book.workspace];
        let arguments: Vec<&str> = format.into_iter().chain(export).collect();
        assert_eq!(book.desk.run_in(&mut terminal, &arguments).await, 0, "{arguments:?}");
        assert_eq!(err.text(), "", "{arguments:?}");
        let list = ["user", "list", "--workspace", &book.workspace];
        assert_eq!(book.desk.run_in(&mut terminal, &list).await, 1, "other commands report it");
    }
}

#[tokio::test]
async fn an_export_can_be_written_to_a_file() {
    let book = Book::new("to-file").await;
    assert_eq!(book.export().await, json!([]));
    book.taken(TWO).await;
    let file = book.file.with_extension("out.csv");
    let path = file.to_str().unwrap();
    // An earlier run of the test may have left one.
    fs::remove_file(&file).ok();
    let export = ["contacts", "export", "--workspace", &book.workspace, "--output", path];
    assert_eq!(book.desk.json(&export).await, json!({ "exported": 2, "file": path }));
    assert_eq!(fs::read_to_string(&file).unwrap(), book.export_csv().await);
    // It holds personal data, so only the operator reads it, and it replaces no file.
    #[cfg(unix)]
    assert_eq!(
        std::os::unix::fs::PermissionsExt::mode(&file.metadata().unwrap().permissions()) & 0o777,
        0o600
    );
    let again = book.desk.refused(&export).await;
    assert!(again.contains("exists"), "{again}");
}
