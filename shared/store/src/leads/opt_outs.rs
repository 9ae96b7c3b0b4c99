//! Phone numbers that opted out of templates.

use domain::person::digest;
use domain::{Cellphone, Timestamp, WorkspaceId};
use serde::{Deserialize, Serialize};

use crate::dynamodb::fields;
use crate::dynamodb::item::{Item, key, row};
use crate::dynamodb::write::{Write, Wrote};
use crate::{Store, StoreError, Table, keys};

/// A phone number that opted out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OptOut {
    /// The number to which no templates are sent; `None` once its person was erased.
    pub cellphone: Option<Cellphone>,
    /// When the opt-out was recorded.
    pub since: Timestamp,
}

impl Store {
    /// Whether the number opted out (strongly consistent read). One round trip.
    pub async fn opted_out(&self, workspace: WorkspaceId, cellphone: &Cellphone) -> Result<bool, StoreError> {
        Ok(self.opt_out_of(workspace, cellphone).await?.is_some())
    }

    /// The opt-out of a number (strongly consistent read). One round trip.
    pub async fn opt_out_of(
        &self,
        workspace: WorkspaceId,
        cellphone: &Cellphone,
    ) -> Result<Option<OptOut>, StoreError> {
        let row: Option<OptOutRow> = self.get_row(Table::Leads, place(workspace, cellphone)).await?;
        Ok(row.map(OptOut::from))
    }

    /// Records that a number opted out. Returns `false` if it had opted out already. One round trip.
    pub async fn opt_out(
        &self,
        workspace: WorkspaceId,
        cellphone: &Cellphone,
        since: Timestamp,
    ) -> Result<bool, StoreError> {
        self.put_first(Table::Leads, opt_out_item(workspace, cellphone, since)?).await
    }

    /// Removes the number from its opt-out, which stays in force. One round trip.
    pub async fn hide_opt_out(
        &self,
        workspace: WorkspaceId,
        cellphone: &Cellphone,
    ) -> Result<(), StoreError> {
        let (pk, sk) = place(workspace, cellphone);
        let hide = Write::update(Table::Leads, key(pk, sk), "REMOVE cellphone");
        self.write(hide.when("attribute_exists(pk)")).await?;
        Ok(())
    }

    /// Deletes a number's opt-out. `false` if there is none. One round trip.
    pub async fn opt_in(&self, workspace: WorkspaceId, cellphone: &Cellphone) -> Result<bool, StoreError> {
        let (pk, sk) = place(workspace, cellphone);
        let delete = Write::delete(Table::Leads, key(pk, sk)).when("attribute_exists(pk)");
        Ok(matches!(self.write(delete).await?, Wrote::Done(_)))
    }

    /// All opt-outs, sorted by number, those of erased persons first. One round trip for each megabyte.
    pub async fn opt_outs(&self, workspace: WorkspaceId) -> Result<Vec<OptOut>, StoreError> {
        let rows: Vec<OptOutRow> = self.partition(Table::Leads, keys::opt_outs(workspace)).await?;
        let mut opt_outs: Vec<OptOut> = rows.into_iter().map(OptOut::from).collect();
        opt_outs.sort_by(|a, b| (&a.cellphone, a.since).cmp(&(&b.cellphone, b.since)));
        Ok(opt_outs)
    }
}

/// The row of an opt-out.
pub(crate) fn opt_out_item(
    workspace: WorkspaceId,
    cellphone: &Cellphone,
    since: Timestamp,
) -> Result<Item, StoreError> {
    let (pk, sk) = place(workspace, cellphone);
    row(pk, sk, "optOut", &OptOutRow { cellphone: Some(cellphone.clone()), since })
}

fn place(workspace: WorkspaceId, cellphone: &Cellphone) -> (String, String) {
    (keys::opt_outs(workspace), digest(workspace, cellphone.as_str()))
}

impl From<OptOutRow> for OptOut {
    fn from(row: OptOutRow) -> Self {
        Self { cellphone: row.cellphone, since: row.since }
    }
}

/// `W#O` / the hash of the number.
#[derive(Serialize, Deserialize)]
struct OptOutRow {
    #[serde(with = "fields::optional", default, skip_serializing_if = "Option::is_none")]
    cellphone: Option<Cellphone>,
    #[serde(with = "fields::text")]
    since: Timestamp,
}
