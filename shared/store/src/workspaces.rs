//! A workspace's own row.

use domain::{Timestamp, Workspace, WorkspaceId};
use serde::{Deserialize, Serialize};

use crate::{Store, StoreError, Table, fields, keys};

impl Store {
    /// The workspace of that id. One trip.
    pub async fn workspace(&self, id: WorkspaceId) -> Result<Option<Workspace>, StoreError> {
        let row: Option<WorkspaceRow> = self.get_row(Table::Workspaces, keys::workspace(id)).await?;
        Ok(row.map(Workspace::from))
    }
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
