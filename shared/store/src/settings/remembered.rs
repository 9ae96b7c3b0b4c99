//! Settings that a process remembers by the version of their workspace.
//!
//! Every change of such a setting gives the workspace its next version, in the same transaction. A request reads the
//! row of the workspace in the call that it makes anyway, and the setting only if the version is not the remembered one.
//! So a change shows in the next request of every process, and settings that stay cost nothing, however many they are.
//!
//! While a transaction is in progress, DynamoDB may show one of its rows and not yet another one: the new version beside
//! the previous setting. The order of two reads does not help. After the writer has its answer, every read shows the
//! whole transaction. A writer waits for 6 seconds at most (`OPERATION` in `shared/runtime`). So a setting is remembered
//! only if the process knew the version for [`SETTLING`] when it began to read the setting. Then the transaction of this
//! version, and those of all versions before, are over:
//!
//! - its writer has had the answer, and the setting that was read is the whole one; or
//! - its writer died without an answer. Nobody was told that the change is there, and [`LONGEST`] bounds how long a
//!   process could miss it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use domain::{Timestamp, WorkspaceId};
use futures::future::join;

use crate::dynamodb::item::{Item, check_schema, number};
use crate::dynamodb::read::{Place, Rows};
use crate::{Store, StoreError, Table, keys};

/// How long a process must have known a version before it reads a setting to remember. It is longer than a call to the
/// table can take.
pub(crate) const SETTLING: Duration = Duration::from_secs(10);
/// How long a setting is remembered at most.
const LONGEST: Duration = Duration::from_secs(300);
/// How many bytes of one kind of setting a process remembers, of all workspaces. If there are more, it forgets all.
const MOST_BYTES: usize = 16 * 1024 * 1024;
/// What a remembered workspace needs beside its setting, in bytes.
const ENTRY_BYTES: usize = 128;

/// One kind of setting of workspaces.
pub(crate) struct Remembered<V> {
    /// The memory that a setting needs, in bytes. Approximate.
    weigh: fn(&V) -> usize,
    seen: Mutex<Seen<V>>,
}

struct Seen<V> {
    bytes: usize,
    workspaces: HashMap<WorkspaceId, SeenVersion<V>>,
}

/// The last version of a workspace that the process saw.
struct SeenVersion<V> {
    version: Version,
    since: Timestamp,
    /// The setting under this version, and until when it is remembered.
    setting: Option<(Arc<V>, Timestamp)>,
    bytes: usize,
}

/// The version of a workspace; `None` without a row. A request for a workspace that does not exist makes the same calls.
type Version = Option<u64>;

/// What a process knows of a setting before it reads.
enum Known<V> {
    /// The setting under this version.
    Setting(Version, Arc<V>),
    /// The version, whose transaction is over.
    Settled(Version),
    Nothing,
}

impl<V> Remembered<V> {
    pub(crate) fn new(weigh: fn(&V) -> usize) -> Self {
        Self { weigh, seen: Mutex::new(Seen { bytes: 0, workspaces: HashMap::new() }) }
    }

    fn known(&self, workspace: WorkspaceId, now: Timestamp) -> Known<V> {
        let seen = self.seen();
        let Some(seen) = seen.workspaces.get(&workspace) else { return Known::Nothing };
        match &seen.setting {
            Some((setting, until)) if now < *until => Known::Setting(seen.version, Arc::clone(setting)),
            _ if now >= seen.since.plus(SETTLING) => Known::Settled(seen.version),
            _ => Known::Nothing,
        }
    }

    /// Notes a version that was read. Another version than the last one begins to settle, without a setting.
    fn see(&self, workspace: WorkspaceId, version: Version, now: Timestamp) {
        let mut seen = self.seen();
        if seen.workspaces.get(&workspace).is_none_or(|last| last.version != version) {
            seen.insert(workspace, SeenVersion { version, since: now, setting: None, bytes: ENTRY_BYTES });
        }
    }

    /// Remembers a setting of a version that was settled before the setting was read.
    fn keep(&self, workspace: WorkspaceId, version: Version, setting: &Arc<V>, now: Timestamp) {
        let bytes = ENTRY_BYTES + (self.weigh)(setting);
        let setting = Some((Arc::clone(setting), now.plus(LONGEST)));
        let mut seen = self.seen();
        let since = seen.workspaces.get(&workspace).filter(|last| last.version == version);
        let Some(since) = since.map(|last| last.since) else { return };
        seen.insert(workspace, SeenVersion { version, since, setting, bytes });
    }

    fn seen(&self) -> MutexGuard<'_, Seen<V>> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<V> Seen<V> {
    fn insert(&mut self, workspace: WorkspaceId, entry: SeenVersion<V>) {
        self.bytes -= self.workspaces.remove(&workspace).map_or(0, |before| before.bytes);
        if self.bytes + entry.bytes > MOST_BYTES {
            (self.bytes, self.workspaces) = (0, HashMap::new());
        }
        if entry.bytes <= MOST_BYTES {
            self.bytes += entry.bytes;
            self.workspaces.insert(workspace, entry);
        }
    }
}

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
