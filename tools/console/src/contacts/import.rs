//! Imports contacts from a CSV file, many rows at the same time. Each row changes its contact as an update through
//! the API does.

use std::path::Path;
use std::time::Duration;

use domain::{Contact, ContactId, Definitions, Patch, WorkspaceId};
use futures::future::try_join;
use futures::stream::{self, StreamExt};
use serde::Serialize;
use store::{Created, Replaced, StoreError};

use super::chains::chains;
use super::columns::{Column, Row, Users, read_row};
use crate::output::{Output, Shown};
use crate::refusal::deepest;
use crate::{Console, Refusal};

/// The number of chains that are imported at the same time: enough to hide the round trips, and far below a table's
/// capacity.
const AT_ONCE: usize = 32;
/// The number of tries of a row if somebody changes its contact at the same time or the table is busy.
const TRIES: u32 = 6;

pub(super) async fn run(
    console: &Console,
    workspace: WorkspaceId,
    path: &Path,
    output: &mut Output<'_>,
) -> Result<(), Refusal> {
    let store = &console.store;
    let (definitions, users) = try_join(store.definitions(workspace), store.users(workspace)).await?;
    let users = Users::new(users);
    let file = CsvFile::read(path)?;
    let columns = Column::of_header(file.header()?, &definitions, store.now())
        .map_err(|reason| file_refused(path, reason))?;

    let mut report = Report::default();
    let mut rows = vec![];
    for (number, record) in file.rows() {
        match record.and_then(|cells| read_row(number, &cells, &columns, &users)) {
            Ok(row) => rows.push(row),
            Err(error) => report.failed.push(FailedRow { row: number, error }),
        }
    }
    let total = rows.len() + report.failed.len();
    let bar = output.progress(total);
    bar.inc(report.failed.len() as u64);

    let import = Import { console, workspace, definitions: &definitions };
    let mut results = stream::iter(chains(rows, Row::identities))
        .map(|chain| import.chain(chain, &bar))
        .buffer_unordered(AT_ONCE);
    while let Some(taken) = results.next().await {
        for (row, taken) in taken? {
            report.count(row, taken);
        }
    }
    bar.finish_and_clear();
    report.show(total, output)
}

/// The result of a row.
#[derive(Debug, PartialEq, Eq)]
enum Taken {
    Created,
    Updated,
    Unchanged,
    Failed(String),
}

struct Import<'a> {
    console: &'a Console,
    workspace: WorkspaceId,
    definitions: &'a Definitions,
}

impl Import<'_> {
    /// Imports the rows of a chain one after another.
    async fn chain(
        &self,
        rows: Vec<Row<'_>>,
        bar: &indicatif::ProgressBar,
    ) -> Result<Vec<(usize, Taken)>, Refusal> {
        let mut taken = vec![];
        for row in rows {
            taken.push((row.number, self.row(&row).await?));
            bar.inc(1);
        }
        Ok(taken)
    }

    /// Imports a row. An error ends the whole import.
    async fn row(&self, row: &Row<'_>) -> Result<Taken, Refusal> {
        for attempt in 0..TRIES {
            let busy = match self.merge(row).await {
                Ok(Some(taken)) => return Ok(taken),
                Ok(None) => continue,
                Err(StoreError::Busy(_)) => Duration::from_millis(100 << attempt),
                Err(error) => return Err(error.into()),
            };
            tokio::time::sleep(busy).await;
        }
        Ok(Taken::Failed(
            "the row could not be stored because the tables are busy; import the file again".to_owned(),
        ))
    }

    /// Tries once. `None` means that somebody else changed the contact first, and the row must be tried again.
    async fn merge(&self, row: &Row<'_>) -> Result<Option<Taken>, StoreError> {
        let store = &self.console.store;
        let Some(contact) = self.find(row).await? else { return self.create(row).await };
        let mut update = row.update.clone();
        // The current owner may stay the owner even if the user has been disabled since.
        if row.owner.is_some_and(|user| contact.owner.as_ref().is_some_and(|owner| owner.id == user.id)) {
            update.owner = Patch::Keep;
        }
        let next = match contact.apply(&update, self.definitions, row.owner, store.now()) {
            Ok(None) => return Ok(Some(Taken::Unchanged)),
            Ok(Some(next)) => next,
            Err(refused) => return Ok(Some(Taken::Failed(refused.to_string()))),
        };
        let request = store.ids().next().to_string();
        Ok(match store.replace_contact(&contact, &next, &request).await? {
            Replaced::Done => Some(Taken::Updated),
            Replaced::Stale => None,
            Replaced::Taken { field, contact } => {
                Some(Taken::Failed(format!("{} belongs to contact {contact}", field.as_str())))
            }
        })
    }

    async fn create(&self, row: &Row<'_>) -> Result<Option<Taken>, StoreError> {
        let store = &self.console.store;
        let id = row.id.unwrap_or_else(|| ContactId::generate(store.ids()));
        let blank = Contact::blank(id, self.workspace, store.now());
        let contact = match blank.apply(&row.update, self.definitions, row.owner, store.now()) {
            Ok(applied) => {
                Contact { version: blank.version, updated_at: blank.updated_at, ..applied.unwrap_or(blank) }
            }
            Err(refused) => return Ok(Some(Taken::Failed(refused.to_string()))),
        };
        let request = store.ids().next().to_string();
        Ok(match store.create_contact(&contact, &request).await? {
            Created::Done => Some(Taken::Created),
            // Somebody else created the contact after the lookup. The next try finds it, unless the row names an id.
            Created::Taken { field, contact } => {
                row.id.map(|_| Taken::Failed(format!("{} belongs to contact {contact}", field.as_str())))
            }
        })
    }

    /// Finds the contact of the row: by its id if the row has one, otherwise by its e-mail address, then by its phone
    /// number.
    async fn find(&self, row: &Row<'_>) -> Result<Option<Contact>, StoreError> {
        let store = &self.console.store;
        if let Some(id) = row.id {
            return store.contact(self.workspace, id).await;
        }
        let by_email = async {
            match row.update.email.as_set() {
                Some(email) => store.contact_holding_email(self.workspace, email).await,
                None => Ok(None),
            }
        };
        let by_cellphone = async {
            match row.update.cellphone.as_set() {
                Some(cellphone) => store.contact_holding_cellphone(self.workspace, cellphone).await,
                None => Ok(None),
            }
        };
        let (by_email, by_cellphone) = try_join(by_email, by_cellphone).await?;
        match by_email.or(by_cellphone) {
            Some(id) => store.contact(self.workspace, id).await,
            None => Ok(None),
        }
    }
}

/// The file in memory.
struct CsvFile<'p> {
    path: &'p Path,
    header: csv::ByteRecord,
    records: Vec<Result<csv::ByteRecord, csv::Error>>,
}

impl<'p> CsvFile<'p> {
    fn read(path: &'p Path) -> Result<Self, Refusal> {
        let bytes = std::fs::read(path).map_err(|error| file_refused(path, error.to_string()))?;
        // Spreadsheet programs often write a byte order mark first.
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
        let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(bytes);
        let header = reader.byte_headers().map_err(|error| file_refused(path, error.to_string()))?.clone();
        let records = reader.into_byte_records().collect();
        Ok(Self { path, header, records })
    }

    fn header(&self) -> Result<Vec<&str>, Refusal> {
        texts(&self.header).map_err(|reason| file_refused(self.path, format!("the header {reason}")))
    }

    /// The rows below the header, with the row numbers of a spreadsheet.
    fn rows(&self) -> impl Iterator<Item = (usize, Result<Vec<&str>, String>)> {
        self.records.iter().enumerate().map(|(at, record)| {
            let cells = record.as_ref().map_err(|error| deepest(error)).and_then(texts);
            (at + 2, cells)
        })
    }
}

fn texts(record: &csv::ByteRecord) -> Result<Vec<&str>, String> {
    record.iter().map(|cell| std::str::from_utf8(cell).map_err(|_| "is not UTF-8".to_owned())).collect()
}

fn file_refused(path: &Path, reason: String) -> Refusal {
    Refusal::File { path: path.display().to_string(), reason }
}

/// The result of an import.
#[derive(Debug, Default, Serialize)]
struct Report {
    created: usize,
    updated: usize,
    unchanged: usize,
    failed: Vec<FailedRow>,
}

#[derive(Debug, Serialize)]
struct FailedRow {
    row: usize,
    error: String,
}

impl Report {
    fn count(&mut self, row: usize, taken: Taken) {
        match taken {
            Taken::Created => self.created += 1,
            Taken::Updated => self.updated += 1,
            Taken::Unchanged => self.unchanged += 1,
            Taken::Failed(error) => self.failed.push(FailedRow { row, error }),
        }
    }

    /// Always shows the counts: if some rows failed, the other rows were still imported.
    fn show(mut self, total: usize, output: &mut Output<'_>) -> Result<(), Refusal> {
        self.failed.sort_by_key(|failed| failed.row);
        output.one(&self)?;
        for FailedRow { row, error } in &self.failed {
            output.complain(&format!("Row {row}: {error}."))?;
        }
        match self.failed.len() {
            0 => Ok(()),
            failed => Err(Refusal::RowsFailed { failed, of: total }),
        }
    }
}

impl Shown for Report {
    const HEADINGS: &'static [&'static str] = &["created", "updated", "unchanged", "failed"];

    fn cells(&self) -> Vec<String> {
        [self.created, self.updated, self.unchanged, self.failed.len()].map(|count| count.to_string()).into()
    }
}
