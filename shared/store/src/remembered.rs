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

use domain::{AttributeDefinition, ClosedValue, Definitions, Lines, Timestamp, WorkspaceId};

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
pub(crate) type Version = Option<u64>;

/// What a process knows of a setting before it reads.
pub(crate) enum Known<V> {
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

    pub(crate) fn known(&self, workspace: WorkspaceId, now: Timestamp) -> Known<V> {
        let seen = self.seen();
        let Some(seen) = seen.workspaces.get(&workspace) else { return Known::Nothing };
        match &seen.setting {
            Some((setting, until)) if now < *until => Known::Setting(seen.version, Arc::clone(setting)),
            _ if now >= seen.since.plus(SETTLING) => Known::Settled(seen.version),
            _ => Known::Nothing,
        }
    }

    /// Notes a version that was read. Another version than the last one begins to settle, without a setting.
    pub(crate) fn see(&self, workspace: WorkspaceId, version: Version, now: Timestamp) {
        let mut seen = self.seen();
        if seen.workspaces.get(&workspace).is_none_or(|last| last.version != version) {
            seen.insert(workspace, SeenVersion { version, since: now, setting: None, bytes: ENTRY_BYTES });
        }
    }

    /// Remembers a setting of a version that was settled before the setting was read.
    pub(crate) fn keep(&self, workspace: WorkspaceId, version: Version, setting: &Arc<V>, now: Timestamp) {
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

/// The memory that definitions need, in bytes.
pub(crate) fn bytes_of_definitions(definitions: &Definitions) -> usize {
    let of_value = |value: &ClosedValue| size_of::<ClosedValue>() + value.value.len();
    let of_definition = |definition: &AttributeDefinition| {
        let values = definition.closed_values.iter().map(of_value).sum::<usize>();
        size_of::<AttributeDefinition>() + definition.key_name.len() + values
    };
    definitions.iter().map(of_definition).sum()
}

/// The memory that lines and brands need, in bytes. Their names have limits, so each counts as large.
pub(crate) fn bytes_of_lines(lines: &Lines) -> usize {
    const EACH: usize = 1024;
    EACH * (lines.lines.len() + lines.brands.len())
}
