//! Over how many shards a workspace's lists are spread.

use domain::Workspace;

/// The numbers of shards of a workspace's lists: for reading and for writing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shards {
    pub(crate) read: u8,
    pub(crate) write: u8,
}

impl Shards {
    /// The numbers of a workspace that was just read.
    pub(crate) fn of(workspace: &Workspace) -> Self {
        Self { read: workspace.list_shards_read, write: workspace.list_shards_write }
    }
}
