//! A workspace's own row.

use domain::{Timestamp, Workspace, WorkspaceId};
use serde::{Deserialize, Serialize};

use crate::item::{key, n, row};
use crate::transact::Write;
use crate::{Store, StoreError, Table, fields, keys};

impl Store {
    /// The workspace of that id. One trip.
    pub async fn workspace(&self, id: WorkspaceId) -> Result<Option<Workspace>, StoreError> {
        let row: Option<WorkspaceRow> = self.get_row(Table::Workspaces, keys::workspace(id)).await?;
        Ok(row.map(Workspace::from))
    }

    /// Makes a workspace; `false` when one of that id exists already. One trip.
    pub async fn create_workspace(&self, workspace: &Workspace) -> Result<bool, StoreError> {
        let (pk, sk) = keys::workspace(workspace.id);
        let row = row(pk, sk, "workspace", &WorkspaceRow::from(workspace))?;
        self.put_first(Table::Workspaces, row).await
    }
}

/// Part of a transaction that adds to a workspace what is limited in number or unique in it: the workspace must
/// still be as `seen`, and is another version afterwards. Two additions at the same time cannot both see room.
pub(crate) fn adding_to(seen: &Workspace) -> Write {
    let (pk, sk) = keys::workspace(seen.id);
    Write::update(Table::Workspaces, key(pk, sk), "SET version = :next")
        .when("version = :seen")
        .bind(":seen", n(seen.version))
        .bind(":next", n(seen.version + 1))
}

/// `W#W` / `W`.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct WorkspaceRow {
    #[serde(with = "fields::text")]
    id: WorkspaceId,
    name: String,
    #[serde(with = "fields::text")]
    created_at: Timestamp,
    list_shards_read: u8,
    list_shards_write: u8,
    version: u64,
}

impl From<WorkspaceRow> for Workspace {
    fn from(row: WorkspaceRow) -> Self {
        Self {
            id: row.id,
            name: row.name,
            created_at: row.created_at,
            list_shards_read: row.list_shards_read,
            list_shards_write: row.list_shards_write,
            version: row.version,
        }
    }
}

impl From<&Workspace> for WorkspaceRow {
    fn from(workspace: &Workspace) -> Self {
        Self {
            id: workspace.id,
            name: workspace.name.clone(),
            created_at: workspace.created_at,
            list_shards_read: workspace.list_shards_read,
            list_shards_write: workspace.list_shards_write,
            version: workspace.version,
        }
    }
}
