//! Exports all contacts of a workspace, page by page: as CSV that `contacts import` accepts, or as JSON.

use std::fs::File;
use std::io::Write;
use std::path::Path;

use domain::{Contact, Definitions, Timestamp, WorkspaceId};
use store::ContactQuery;

use super::columns::{Column, Formulas};
use super::view::row;
use crate::output::Output;
use crate::view::View;
use crate::{Console, Refusal, Result};

pub(super) async fn run(
    console: &Console,
    workspace: WorkspaceId,
    file: Option<&Path>,
    formulas: Formulas,
    output: &mut Output<'_>,
) -> Result {
    let store = &console.store;
    let (now, definitions) = (store.now(), store.definitions(workspace).await?);
    if let Some(path) = file {
        let unwritable = |error: std::io::Error| Refusal::File {
            path: path.display().to_string(),
            reason: error.to_string(),
        };
        let mut to = File::create(path).map_err(unwritable)?;
        let columns = Column::all(&definitions, now);
        let exported = write_csv(console, workspace, &columns, formulas, &mut to).await?;
        return output.one(View::new().value("exported", "exported", exported).text(
            "file",
            "file",
            path.display(),
        ));
    }
    let written = if output.is_json() {
        write_json(console, workspace, &definitions, now, output).await
    } else {
        let columns = Column::all(&definitions, now);
        write_csv(console, workspace, &columns, formulas, output.raw()).await.map(|_| ())
    };
    Output::may_be_cut(written)
}

async fn write_csv(
    console: &Console,
    workspace: WorkspaceId,
    columns: &[Column<'_>],
    formulas: Formulas,
    to: &mut dyn Write,
) -> Result<usize> {
    let unwritable = |error: csv::Error| match error.into_kind() {
        csv::ErrorKind::Io(error) => Refusal::Output(error),
        other => Refusal::Output(std::io::Error::other(format!("{other:?}"))),
    };
    let mut csv = csv::Writer::from_writer(to);
    csv.write_record(columns.iter().map(Column::name)).map_err(unwritable)?;
    let (mut pages, mut count) = (Pages::of(console, workspace), 0);
    while let Some(contacts) = pages.next().await? {
        for contact in &contacts {
            csv.write_record(columns.iter().map(|column| column.written(contact, formulas)))
                .map_err(unwritable)?;
        }
        count += contacts.len();
    }
    csv.flush().map_err(Refusal::Output)?;
    Ok(count)
}

/// Writes one JSON array, page by page, because a workspace may have too many contacts for the memory.
async fn write_json(
    console: &Console,
    workspace: WorkspaceId,
    definitions: &Definitions,
    now: Timestamp,
    output: &mut Output<'_>,
) -> Result {
    let mut pages = Pages::of(console, workspace);
    let mut before = "[";
    while let Some(contacts) = pages.next().await? {
        for contact in &contacts {
            let view = row(contact, definitions, now);
            let text = serde_json::to_string(&view).map_err(|error| Refusal::Output(error.into()))?;
            write!(output.raw(), "{before}{text}").map_err(Refusal::Output)?;
            before = ",";
        }
    }
    let end = if before == "[" { "[]" } else { "]" };
    writeln!(output.raw(), "{end}").map_err(Refusal::Output)
}

/// The pages of a workspace's contacts, newest first.
struct Pages<'a> {
    console: &'a Console,
    workspace: WorkspaceId,
    after: Option<String>,
    is_over: bool,
}

impl<'a> Pages<'a> {
    fn of(console: &'a Console, workspace: WorkspaceId) -> Self {
        Self { console, workspace, after: None, is_over: false }
    }

    async fn next(&mut self) -> Result<Option<Vec<Contact>>> {
        if self.is_over {
            return Ok(None);
        }
        let wanted = ContactQuery { owner: None, search: None, page_size: 100, after: self.after.take() };
        let page = self.console.store.contacts_page(self.workspace, wanted).await?;
        self.is_over = page.next.is_none();
        self.after = page.next;
        Ok(Some(page.items))
    }
}
