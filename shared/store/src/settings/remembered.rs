//! Reads a setting of a workspace, and remembers it by the version of the workspace ([`crate::remembered`]).

use std::sync::Arc;

use domain::{Timestamp, WorkspaceId};
use futures::future::join;

use crate::dynamodb::item::{Item, check_schema, number};
use crate::dynamodb::read::{Attributes, Place, Rows};
use crate::remembered::{Remembered, Version};
use crate::settings::workspaces::{CHANGED_AT, VERSION};
use crate::{Store, StoreError, Table, keys};

/// A setting of a workspace, if it could be read, and the rows that were read with it.
pub(crate) struct WithSetting<V> {
    pub(crate) setting: Result<Arc<V>, StoreError>,
    /// The row of the workspace, if it has one.
    pub(crate) workspace: Option<Item>,
    pub(crate) rows: Rows,
}

/// The attributes of a workspace's row that tell its version.
static VERSION_ATTRIBUTES: Attributes =
    Attributes { expression: "pk, sk, sv, version, changedAt", names: &[] };

/// The row of a workspace, if only its version is needed.
pub(crate) fn version_place(workspace: WorkspaceId) -> Place {
    Place::of(Table::Workspaces, keys::workspace(workspace)).only(&VERSION_ATTRIBUTES)
}

impl Store {
    /// The rows at these places, and the workspace's setting as `read` reads it. One round trip, of one call if the
    /// process remembers the setting. If it remembers the setting and the version has changed since, there is one round
    /// trip more. `its_row` is the place of the row of the workspace.
    pub(crate) async fn rows_with<V>(
        &self,
        remembered: &Remembered<V>,
        (workspace, its_row): (WorkspaceId, Place),
        places: &[&Place],
        read: impl Future<Output = Result<V, StoreError>>,
    ) -> Result<WithSetting<V>, StoreError> {
        let places = [&its_row].into_iter().chain(places.iter().copied());
        let begun = self.now();
        let Some((number, known)) = remembered.get(workspace, begun) else {
            let (rows, setting) = join(self.rows_at(places), read).await;
            let mut rows = rows?;
            let found = Found { row: rows.take(&its_row), setting: setting.map(Arc::new), begun };
            return found.kept(remembered, workspace, rows);
        };
        let mut rows = self.rows_at(places).await?;
        let row = rows.take(&its_row);
        if version_in(row.as_ref())?.number == number {
            return Ok(WithSetting { setting: Ok(known), workspace: row, rows });
        }
        let begun = self.now();
        let found = Found { row, setting: read.await.map(Arc::new), begun };
        found.kept(remembered, workspace, rows)
    }
}

/// A setting that the process began to read at `begun`, and the row of its workspace as it was then or before.
struct Found<V> {
    row: Option<Item>,
    setting: Result<Arc<V>, StoreError>,
    begun: Timestamp,
}

impl<V> Found<V> {
    fn kept(
        self,
        remembered: &Remembered<V>,
        workspace: WorkspaceId,
        rows: Rows,
    ) -> Result<WithSetting<V>, StoreError> {
        let version = version_in(self.row.as_ref())?;
        if let Ok(setting) = &self.setting {
            remembered.keep(workspace, version, setting, self.begun);
        }
        Ok(WithSetting { setting: self.setting, workspace: self.row, rows })
    }
}

/// The version in the row of a workspace.
fn version_in(row: Option<&Item>) -> Result<Version, StoreError> {
    let Some(row) = row else { return Ok(Version::NONE) };
    check_schema(row, "of a workspace")?;
    let read = |name| row.get(name).map(number);
    Ok(Version { number: read(VERSION).map(i64::unsigned_abs), since: read(CHANGED_AT) })
}
