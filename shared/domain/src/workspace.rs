//! Workspaces and their teams.

use crate::ids::{TeamId, UserId, WorkspaceId};
use crate::time::Timestamp;

/// A tenant's workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Workspace {
    /// The workspace's id.
    pub id: WorkspaceId,
    /// Name shown to operators, 1 to 256 characters.
    pub name: String,
    /// When it was made.
    pub created_at: Timestamp,
    /// How many shards the newest-first lists are read from, 1 to 16. Raised before `list_shards_write`.
    pub list_shards_read: u8,
    /// Over how many shards new rows of the newest-first lists are spread, at most `list_shards_read`.
    pub list_shards_write: u8,
    /// Grows by one with each change.
    pub version: u64,
}

/// A team of internal users, for round-robin assignment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Team {
    /// The team's id.
    pub id: TeamId,
    /// The workspace the team belongs to.
    pub workspace_id: WorkspaceId,
    /// Name shown to operators, 1 to 256 characters.
    pub name: String,
    /// Members in the order they joined, at most [`Team::MAX_MEMBERS`], each once.
    pub members: Vec<UserId>,
    /// When it was made.
    pub created_at: Timestamp,
    /// Grows by one with each change.
    pub version: u64,
}

impl Team {
    /// The greatest number of members.
    pub const MAX_MEMBERS: usize = 200;
}
