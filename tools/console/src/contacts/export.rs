//! Exports all contacts of a workspace, newest first, with the columns that `contacts import` reads.

use domain::{Contact, WorkspaceId};
use store::ContactQuery;

use super::columns::Column;
use super::view::row;
use crate::export::Destination;
use crate::output::{Output, Report};
use crate::{Console, Result};

pub(super) async fn run(
    console: &Console,
    workspace: WorkspaceId,
    to: &Destination,
    output: &mut Output<'_>,
) -> Result<Report> {
    let store = &console.store;
    let (now, definitions) = (store.now(), store.definitions(workspace).await?);
    let columns = Column::all(&definitions, now);
    let read = async |after| {
        let wanted = ContactQuery { owner: None, external_id: None, search: None, page_size: 100, after };
        Ok(store.contacts_page(workspace, wanted).await?)
    };
    let header = columns.iter().map(Column::name).collect();
    let cells = |contact: &Contact| columns.iter().map(|column| column.cell(contact)).collect();
    to.write(header, read, cells, |contact| row(contact, &definitions, now), output).await
}
