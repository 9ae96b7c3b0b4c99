//! Settings that a process remembers by the version of their workspace.
//!
//! Every change of such a setting gives the workspace its next version, in the same transaction. A request reads the
//! row of the workspace in the call that it makes anyway, and the setting only if the version is not the remembered one.
//! So a change shows in the next request of every process, and settings that stay cost nothing, however many they are.
//!
//! While a transaction is in progress, DynamoDB may show one of its rows and not yet another one: the new version beside
//! the previous setting. The order of two reads does not help. After the writer has its answer, every read shows the
//! whole transaction. A writer waits for 6 seconds at most (`OPERATION` in `shared/runtime`), and the row of the workspace
//! says when the writer began. So a setting is remembered only if its version was [`SETTLING`] old when the process began to
//! read the setting. Then the transaction of this version, and those of all versions before, are over:
//!
//! - its writer has had the answer, and the setting that was read is the whole one; or
//! - its writer died without an answer. Nobody was told that the change is there, and [`LONGEST`] bounds how long a
//!   process could miss it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use domain::{AttributeDefinition, ClosedValue, Definitions, Lines, Timestamp, WorkspaceId};

/// How old a version must be before a setting that is read under it is remembered. It is longer than a call to the table
/// can take, and the rest is for clocks that differ: the writer's clock may be 24 seconds behind.
pub(crate) const SETTLING: Duration = Duration::from_secs(30);
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
    kept: Mutex<Kept<V>>,
}

struct Kept<V> {
    bytes: usize,
    workspaces: HashMap<WorkspaceId, Setting<V>>,
}

/// A setting under a version of its workspace, and until when it is remembered.
struct Setting<V> {
    version: Option<u64>,
    setting: Arc<V>,
    until: Timestamp,
    bytes: usize,
}

/// The version of a workspace as its row has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Version {
    /// `None` for a workspace without a row. A request for one makes the same calls, so nobody can tell that it does not
    /// exist.
    pub(crate) number: Option<u64>,
    /// When its writer began, in milliseconds since 1970; `None` if that is unknown.
    pub(crate) since: Option<i64>,
}

impl Version {
    /// The version of a workspace without a row. It has no settings.
    pub(crate) const NONE: Self = Self { number: None, since: Some(0) };

    /// Whether the transaction that made this version was over at `now`.
    fn is_settled(self, now: Timestamp) -> bool {
        let settling = i64::try_from(SETTLING.as_millis()).unwrap_or(i64::MAX);
        self.since.is_some_and(|since| since.saturating_add(settling) <= now.as_millis())
    }
}

impl<V> Remembered<V> {
    pub(crate) fn new(weigh: fn(&V) -> usize) -> Self {
        Self { weigh, kept: Mutex::new(Kept { bytes: 0, workspaces: HashMap::new() }) }
    }

    /// The setting, and the number of the version to which it belongs.
    pub(crate) fn get(&self, workspace: WorkspaceId, now: Timestamp) -> Option<(Option<u64>, Arc<V>)> {
        let kept = self.kept();
        let kept = kept.workspaces.get(&workspace).filter(|kept| now < kept.until)?;
        Some((kept.version, Arc::clone(&kept.setting)))
    }

    /// Remembers a setting that the process began to read at `begun`, if the version that it read at the same time, or
    /// before, was settled then. Otherwise it forgets the setting.
    pub(crate) fn keep(&self, workspace: WorkspaceId, version: Version, setting: &Arc<V>, begun: Timestamp) {
        let mut kept = self.kept();
        kept.remove(workspace);
        if version.is_settled(begun) {
            let (bytes, until) = (ENTRY_BYTES + (self.weigh)(setting), begun.plus(LONGEST));
            let (version, setting) = (version.number, Arc::clone(setting));
            kept.insert(workspace, Setting { version, setting, until, bytes });
        }
    }

    fn kept(&self) -> MutexGuard<'_, Kept<V>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<V> Kept<V> {
    fn remove(&mut self, workspace: WorkspaceId) {
        self.bytes -= self.workspaces.remove(&workspace).map_or(0, |before| before.bytes);
    }

    fn insert(&mut self, workspace: WorkspaceId, setting: Setting<V>) {
        if self.bytes + setting.bytes > MOST_BYTES {
            (self.bytes, self.workspaces) = (0, HashMap::new());
        }
        if setting.bytes <= MOST_BYTES {
            self.bytes += setting.bytes;
            self.workspaces.insert(workspace, setting);
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
