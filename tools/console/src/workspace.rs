//! `console workspace ...`

use clap::Subcommand;
use domain::{Workspace, WorkspaceId};
use serde::Serialize;

use crate::arguments::InWorkspace;
use crate::output::{Output, Shown};
use crate::{Console, Refusal};

#[derive(Subcommand)]
pub(crate) enum Verb {
    /// Create a workspace.
    Create {
        /// Name shown to operators.
        #[arg(long)]
        name: String,
        /// The workspace's id [default: a random UUID].
        #[arg(long, value_parser = WorkspaceId::parse)]
        id: Option<WorkspaceId>,
    },
    /// Show a workspace.
    Show(InWorkspace),
}

impl Verb {
    pub(crate) async fn run(self, console: &Console, output: &mut Output<'_>) -> Result<(), Refusal> {
        match self {
            Self::Create { name, id } => create(console, &name, id, output).await,
            Self::Show(within) => {
                let workspace = console.workspace(within.workspace).await?;
                output.one(&WorkspaceView::from(&workspace))
            }
        }
    }
}

async fn create(
    console: &Console,
    name: &str,
    id: Option<WorkspaceId>,
    output: &mut Output<'_>,
) -> Result<(), Refusal> {
    let store = &console.store;
    let id = id.unwrap_or_else(|| WorkspaceId::generate(store.ids()));
    let workspace = Workspace::new(id, name, store.now())
        .map_err(|reason| Refusal::Unfit { what: "The name is invalid", reason })?;
    // A deployment's first workspace needs the key that seals cursors, so the key must exist before the workspace.
    let mut cursor_key = [0; 32];
    console.random.fill(&mut cursor_key);
    store.ensure_cursor_key(cursor_key).await?;
    if !store.create_workspace(&workspace).await? {
        return Err(Refusal::WorkspaceExists(id));
    }
    output.one(&WorkspaceView::from(&workspace))
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WorkspaceView {
    workspace_id: String,
    name: String,
    created_at: String,
    list_shards_read: u8,
    list_shards_write: u8,
}

impl From<&Workspace> for WorkspaceView {
    fn from(workspace: &Workspace) -> Self {
        Self {
            workspace_id: workspace.id.to_string(),
            name: workspace.name.clone(),
            created_at: workspace.created_at.to_string(),
            list_shards_read: workspace.list_shards_read,
            list_shards_write: workspace.list_shards_write,
        }
    }
}

impl Shown for WorkspaceView {
    const HEADINGS: &'static [&'static str] = &["workspace", "name", "created", "list shards (read/write)"];

    fn cells(&self) -> Vec<String> {
        let shards = format!("{}/{}", self.list_shards_read, self.list_shards_write);
        vec![self.workspace_id.clone(), self.name.clone(), self.created_at.clone(), shards]
    }
}
