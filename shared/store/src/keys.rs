//! Every partition and sort key of every table, in one place.
//!
//! A partition key begins with the workspace id. The exceptions, all of them:
//! - `api-keys` by the key's SHA-256: the look-up that proves the workspace;
//! - `limits` by workspace and key id, kept for a day;
//! - the `due` index by shard, which the sweeper reads across workspaces;
//! - rows of the platform (the cursor key), under the nil UUID ([`PLATFORM`]).

use domain::{ContactId, Timestamp, WorkspaceId};

/// The "workspace" of rows that belong to the platform.
pub const PLATFORM: WorkspaceId = WorkspaceId::from_uuid(uuid::Uuid::nil());

/// A sort key that puts the newest first: the complement of the time, then the id.
pub(crate) fn newest_first(at: Timestamp, id: impl std::fmt::Display) -> String {
    format!("{:013}#{id}", 9_999_999_999_999 - at.as_millis())
}

/// The contact itself.
pub(crate) fn contact(workspace: WorkspaceId, contact: ContactId) -> (String, &'static str) {
    (format!("{workspace}#C#{contact}"), "C")
}
