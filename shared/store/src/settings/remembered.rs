//! Reads a setting of a workspace, and remembers it by the version of the workspace ([`crate::remembered`]).

use std::sync::Arc;

use domain::WorkspaceId;
use futures::future::join;

use crate::dynamodb::item::{Item, check_schema, number};
use crate::dynamodb::read::{Place, Rows};
use crate::remembered::{Known, Remembered, Version};
use crate::{Store, StoreError, Table, keys};

/// A setting of a workspace, if it could be read, and the rows that were read with it.
pub(crate) struct WithSetting<V> {
    pub(crate) setting: Result<Arc<V>, StoreError>,
    /// The row of the workspace, if it has one.
    pub(crate) workspace: Option<Item>,
    pub(crate) rows: Rows,
}

impl Store {
    /// The rows at these places, and the workspace's setting as `read` reads it. One round trip, of one call if the
    /// process remembers the setting. If it remembers the setting and the version has changed since, there is one round
    /// trip more.
    pub(crate) async fn rows_with<V>(
        &self,
        remembered: &Remembered<V>,
        workspace: WorkspaceId,
        places: &[&Place],
        read: impl Future<Output = Result<V, StoreError>>,
    ) -> Result<WithSetting<V>, StoreError> {
        let its_row = Place::of(Table::Workspaces, keys::workspace(workspace));
        let places = [&[&its_row], places].concat();
        let known = remembered.known(workspace, self.now());
        if let Known::Setting(version, setting) = known {
            let mut rows = self.rows_at(&places).await?;
            let workspace_row = rows.take(&its_row);
            let found = version_of(workspace_row.as_ref())?;
            remembered.see(workspace, found, self.now());
            let setting = if found == version { Ok(setting) } else { read.await.map(Arc::new) };
            return Ok(WithSetting { setting, workspace: workspace_row, rows });
        }
        let (rows, setting) = join(self.rows_at(&places), read).await;
        let (mut rows, setting) = (rows?, setting.map(Arc::new));
        let workspace_row = rows.take(&its_row);
        remembered.see(workspace, version_of(workspace_row.as_ref())?, self.now());
        if let (Known::Settled(version), Ok(setting)) = (known, &setting) {
            remembered.keep(workspace, version, setting, self.now());
        }
        Ok(WithSetting { setting, workspace: workspace_row, rows })
    }
}

fn version_of(row: Option<&Item>) -> Result<Version, StoreError> {
    let Some(row) = row else { return Ok(None) };
    check_schema(row, "of a workspace")?;
    Ok(row.get("version").map(|version| number(version).unsigned_abs()))
}
