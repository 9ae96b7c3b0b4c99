//! Imports contacts from a CSV file, many rows at the same time. Each row changes its contact as an update through
//! the API does.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::Path;
use std::time::Duration;

use domain::refused::IdentityField;
use domain::{Cellphone, Contact, ContactId, Definitions, Email, ExternalId, Patch, WorkspaceId};
use futures::future::{try_join, try_join3};
use futures::stream::{self, StreamExt};
use serde_json::json;
use store::{Created, Replaced, StoreError};

use super::chains::chains;
use super::columns::{Column, Row, Users, read_row};
use super::file::{Rejects, Source, Table};
use crate::output::{Output, Report};
use crate::progress::Progress;
use crate::view::View;
use crate::{Console, Refusal, Result};

/// The number of chains that are imported at the same time: enough to hide the round trips, and far below a table's
/// capacity.
const AT_ONCE: usize = 32;
/// The number of tries of a row if somebody changes its contact at the same time or the table is busy.
const TRIES: u32 = 6;

/// Whether an import writes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Effect {
    Write,
    /// Nothing is written. The report says what an import would do now.
    Validate,
}

pub(super) async fn run(
    console: &Console,
    workspace: WorkspaceId,
    source: Source<'_>,
    effect: Effect,
    rejects: Option<&Path>,
    output: &mut Output<'_>,
) -> Result<Report> {
    let store = &console.store;
    let (definitions, users) = try_join(store.definitions(workspace), store.users(workspace)).await?;
    let users = Users::new(users);
    let now = store.now();
    let columns = |names: &[&str]| Column::of_header(names.iter().copied(), &definitions, now);
    let (table, columns) = Table::read(source.file, columns, output)?;
    let rejects = rejects.map(|path| Rejects::create(path, &table)).transpose()?;

    let mut counts = Counts::default();
    let mut rows = vec![];
    for (number, cells) in table.rows() {
        match cells.and_then(|cells| read_row(number, &cells, &columns, source.formulas, &users)) {
            Ok(row) => rows.push(row),
            Err(error) => counts.failed.push(FailedRow { row: number, error }),
        }
    }
    let import = Import { console, workspace, definitions: &definitions, effect };
    let progress = RefCell::new(output.progress(rows.len()));
    let mut results = stream::iter(chains(rows, Row::identities))
        .map(|chain| import.chain(chain, &progress))
        .buffer_unordered(AT_ONCE);
    while let Some(taken) = results.next().await {
        for (row, taken) in taken? {
            counts.count(row, taken);
        }
    }
    drop(results);
    drop(progress);
    counts.failed.sort_by_key(|failed| failed.row);
    if let Some(rejects) = rejects {
        rejects.write(&table, counts.failed.iter().map(|failed| (failed.row, failed.error.as_str())))?;
    }
    Ok(counts.report(table.len(), effect))
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
    effect: Effect,
}

/// What the earlier rows of a chain would have made of their contacts, if the import only validates. Otherwise empty.
type Planned = HashMap<ContactId, Contact>;

impl Import<'_> {
    /// Imports the rows of a chain one after another.
    async fn chain(
        &self,
        rows: Vec<Row<'_>>,
        progress: &RefCell<Progress<'_>>,
    ) -> Result<Vec<(usize, Taken)>> {
        let (mut taken, mut planned) = (vec![], Planned::new());
        for row in rows {
            taken.push((row.number, self.row(&row, &mut planned).await?));
            progress.borrow_mut().step();
        }
        Ok(taken)
    }

    /// Imports a row. An error ends the whole import.
    async fn row(&self, row: &Row<'_>, planned: &mut Planned) -> Result<Taken> {
        for attempt in 0..TRIES {
            let busy = match self.merge(row, planned).await {
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
    async fn merge(&self, row: &Row<'_>, planned: &mut Planned) -> Result<Option<Taken>, StoreError> {
        let store = &self.console.store;
        let Some(contact) = self.find(row, planned).await? else { return self.create(row, planned).await };
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
        if self.effect == Effect::Validate {
            return self.plan(next, Taken::Updated, planned).await.map(Some);
        }
        let request = store.ids().next().to_string();
        Ok(match store.replace_contact(&contact, &next, &request).await? {
            Replaced::Done => Some(Taken::Updated),
            Replaced::Stale => None,
            Replaced::Taken { field, contact } => Some(Taken::by_another(field, contact)),
        })
    }

    async fn create(&self, row: &Row<'_>, planned: &mut Planned) -> Result<Option<Taken>, StoreError> {
        let store = &self.console.store;
        let id = row.id.unwrap_or_else(|| ContactId::generate(store.ids()));
        let blank = Contact::blank(id, self.workspace, store.now());
        let contact = match blank.apply(&row.update, self.definitions, row.owner, store.now()) {
            Ok(applied) => {
                Contact { version: blank.version, updated_at: blank.updated_at, ..applied.unwrap_or(blank) }
            }
            Err(refused) => return Ok(Some(Taken::Failed(refused.to_string()))),
        };
        if self.effect == Effect::Validate {
            return self.plan(contact, Taken::Created, planned).await.map(Some);
        }
        let request = store.ids().next().to_string();
        Ok(match store.create_contact(&contact, &request).await? {
            Created::Done => Some(Taken::Created),
            // Somebody else created the contact after the lookup. The next try finds it, unless the row names an id.
            Created::Taken { field, contact } => row.id.map(|_| Taken::by_another(field, contact)),
        })
    }

    /// Plans a contact as a write would leave it, unless one of its identities belongs to another contact.
    async fn plan(&self, contact: Contact, taken: Taken, planned: &mut Planned) -> Result<Taken, StoreError> {
        let email = self.holder_of_email(contact.email.as_ref(), planned);
        let cellphone = self.holder_of_cellphone(contact.cellphone.as_ref(), planned);
        let external_id = self.holder_of_external_id(contact.external_id.as_ref(), planned);
        let (email, cellphone, external_id) = try_join3(email, cellphone, external_id).await?;
        let holders = [
            (IdentityField::Email, email),
            (IdentityField::Cellphone, cellphone),
            (IdentityField::ExternalId, external_id),
        ];
        let of_another = holders
            .into_iter()
            .find_map(|(field, holder)| Some((field, holder.filter(|holder| *holder != contact.id)?)));
        if let Some((field, holder)) = of_another {
            return Ok(Taken::by_another(field, holder));
        }
        planned.insert(contact.id, contact);
        Ok(taken)
    }

    /// Finds the contact of the row: by its id if the row has one, otherwise by its external id, then by its e-mail address,
    /// then by its phone number. An address and a number change, and the tenant's own id does not.
    async fn find(&self, row: &Row<'_>, planned: &Planned) -> Result<Option<Contact>, StoreError> {
        let id = match row.id {
            Some(id) => Some(id),
            None => {
                let by_email = self.holder_of_email(row.update.email.as_set(), planned);
                let by_cellphone = self.holder_of_cellphone(row.update.cellphone.as_set(), planned);
                let by_external_id = self.holder_of_external_id(row.update.external_id.as_set(), planned);
                let (by_external_id, by_email, by_cellphone) =
                    try_join3(by_external_id, by_email, by_cellphone).await?;
                by_external_id.or(by_email).or(by_cellphone)
            }
        };
        match id {
            Some(id) if planned.contains_key(&id) => Ok(planned.get(&id).cloned()),
            Some(id) => self.console.store.contact(self.workspace, id).await,
            None => Ok(None),
        }
    }

    async fn holder_of_email(
        &self,
        email: Option<&Email>,
        planned: &Planned,
    ) -> Result<Option<ContactId>, StoreError> {
        let Some(email) = email else { return Ok(None) };
        let has = |contact: &Contact| contact.email.as_ref().is_some_and(|has| has.same_as(email));
        holder(planned, has, self.console.store.contact_holding_email(self.workspace, email)).await
    }

    async fn holder_of_cellphone(
        &self,
        cellphone: Option<&Cellphone>,
        planned: &Planned,
    ) -> Result<Option<ContactId>, StoreError> {
        let Some(cellphone) = cellphone else { return Ok(None) };
        let has = |contact: &Contact| contact.phone_keys().any(|key| key == cellphone.key());
        holder(planned, has, self.console.store.contact_holding_cellphone(self.workspace, cellphone)).await
    }

    async fn holder_of_external_id(
        &self,
        external_id: Option<&ExternalId>,
        planned: &Planned,
    ) -> Result<Option<ContactId>, StoreError> {
        let Some(external_id) = external_id else { return Ok(None) };
        let has = |contact: &Contact| contact.external_id.as_ref() == Some(external_id);
        holder(planned, has, self.console.store.contact_holding_external_id(self.workspace, external_id))
            .await
    }
}

/// The contact that has an identity after the rows so far: a planned one, or else the stored one.
async fn holder(
    planned: &Planned,
    has: impl Fn(&Contact) -> bool,
    stored: impl Future<Output = Result<Option<ContactId>, StoreError>>,
) -> Result<Option<ContactId>, StoreError> {
    if let Some(contact) = planned.values().find(|contact| has(contact)) {
        return Ok(Some(contact.id));
    }
    // A contact that is planned without the identity no longer has it.
    Ok(stored.await?.filter(|id| !planned.contains_key(id)))
}

impl Taken {
    fn by_another(field: IdentityField, contact: ContactId) -> Self {
        Self::Failed(format!("{} belongs to contact {contact}", field.as_str()))
    }
}

/// The result of an import.
#[derive(Default)]
struct Counts {
    created: usize,
    updated: usize,
    unchanged: usize,
    failed: Vec<FailedRow>,
}

struct FailedRow {
    row: usize,
    error: String,
}

impl Counts {
    fn count(&mut self, row: usize, taken: Taken) {
        match taken {
            Taken::Created => self.created += 1,
            Taken::Updated => self.updated += 1,
            Taken::Unchanged => self.unchanged += 1,
            Taken::Failed(error) => self.failed.push(FailedRow { row, error }),
        }
    }

    /// Always shows the counts: if some rows failed, the other rows were still imported.
    fn report(self, of: usize, effect: Effect) -> Report {
        let as_json = |failed: &FailedRow| json!({ "row": failed.row, "error": failed.error });
        let view = View::new()
            .value("created", "created", self.created)
            .value("updated", "updated", self.updated)
            .value("unchanged", "unchanged", self.unchanged)
            .json("failed", self.failed.iter().map(as_json).collect::<Vec<_>>())
            .cell("failed", self.failed.len().to_string());
        let reasons = self.failed.iter().map(|FailedRow { row, error }| format!("Row {row}: {error}."));
        let report = Report::from(view).remarks(reasons);
        match (self.failed.len(), effect) {
            (0, Effect::Write) => report,
            (0, Effect::Validate) => report.remark("Nothing was written: these are the counts of an import."),
            (failed, Effect::Write) => report.failed(Some(Refusal::RowsFailed { failed, of })),
            (failed, Effect::Validate) => report.failed(Some(Refusal::RowsWouldFail { failed, of })),
        }
    }
}
