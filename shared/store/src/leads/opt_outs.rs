//! Phone numbers that opted out of messages for leads.

use domain::{Cellphone, Timestamp, WorkspaceId};
use serde::{Deserialize, Serialize};

use crate::dynamodb::fields;
use crate::dynamodb::item::{key, row};
use crate::dynamodb::write::{Write, Wrote};
use crate::{Store, StoreError, Table, keys};

/// A phone number that opted out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OptOut {
    /// The number to which no messages for leads are sent.
    pub cellphone: Cellphone,
    /// When the opt-out was recorded.
    pub since: Timestamp,
}

impl Store {
    /// Whether the number opted out (strongly consistent read). One round trip.
    pub async fn opted_out(&self, workspace: WorkspaceId, cellphone: &Cellphone) -> Result<bool, StoreError> {
        let found = self.get_item(Table::Leads, (keys::opt_outs(workspace), cellphone.as_str())).await?;
        Ok(found.is_some())
    }

    /// Records an opt-out. Returns `false` if the number had opted out already. One round trip.
    pub async fn opt_out(&self, workspace: WorkspaceId, opt_out: &OptOut) -> Result<bool, StoreError> {
        let body = OptOutRow { cellphone: opt_out.cellphone.clone(), since: opt_out.since };
        let row = row(keys::opt_outs(workspace), opt_out.cellphone.as_str(), "optOut", &body)?;
        self.put_first(Table::Leads, row).await
    }

    /// Deletes a number's opt-out. `false` if there is none. One round trip.
    pub async fn opt_in(&self, workspace: WorkspaceId, cellphone: &Cellphone) -> Result<bool, StoreError> {
        let key = key(keys::opt_outs(workspace), cellphone.as_str());
        let delete = Write::delete(Table::Leads, key).when("attribute_exists(pk)");
        Ok(matches!(self.write(delete).await?, Wrote::Done(_)))
    }

    /// All numbers that opted out, sorted by number. One round trip for each megabyte.
    pub async fn opt_outs(&self, workspace: WorkspaceId) -> Result<Vec<OptOut>, StoreError> {
        let rows: Vec<OptOutRow> = self.partition(Table::Leads, keys::opt_outs(workspace)).await?;
        let opt_out = |row: OptOutRow| OptOut { cellphone: row.cellphone, since: row.since };
        Ok(rows.into_iter().map(opt_out).collect())
    }
}

/// `W#O` / the number.
#[derive(Serialize, Deserialize)]
struct OptOutRow {
    #[serde(with = "fields::text")]
    cellphone: Cellphone,
    #[serde(with = "fields::text")]
    since: Timestamp,
}
