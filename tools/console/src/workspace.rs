//! `console workspace ...`

use std::collections::BTreeMap;

use clap::Subcommand;
use domain::{Workspace, WorkspaceId, WorkspaceState};

use crate::arguments::InWorkspace;
use crate::changed::{Decision, changed};
use crate::output::{Output, Report};
use crate::refusal::unfit;
use crate::view::View;
use crate::{Console, Refusal, Result};

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
    /// List all workspaces, oldest first. Workspaces with the same name are named in a remark.
    List,
    /// Show a workspace.
    Show(InWorkspace),
    /// Rename a workspace. Only operators see the name.
    Rename {
        #[command(flatten)]
        within: InWorkspace,
        /// The new name shown to operators.
        #[arg(long)]
        name: String,
    },
    /// Disable a workspace: its API keys and its lead capture refuse, and nothing is sent. Nothing is lost.
    ///
    /// API keys get 403, as for every failure of authentication; a function that has a key in memory refuses it within 30
    /// seconds. Lead capture refuses as if it were disabled. Messages, onboarding templates, first messages to leads and
    /// webhook deliveries wait without using up retries. A call that is under way still ends.
    Disable(InWorkspace),
    /// Enable a workspace. Its keys work within 30 seconds, and everything that waits continues within 15 minutes.
    Enable(InWorkspace),
}

impl Verb {
    pub(crate) async fn run(self, console: &Console, _: &mut Output<'_>) -> Result<Report> {
        Ok(match self {
            Self::Create { name, id } => create(console, &name, id).await?.into(),
            Self::List => list(console).await?,
            Self::Show(within) => view(&console.workspace(&within).await?).into(),
            Self::Rename { within, name } => {
                let rename =
                    |workspace: &Workspace| workspace.renamed(&name).map_err(unfit("The name is invalid"));
                change(console, &within, "name", rename).await?.into()
            }
            Self::Disable(within) => {
                let now = console.store.now();
                change(console, &within, "state", |workspace| Ok(workspace.disabled(now))).await?.into()
            }
            Self::Enable(within) => {
                change(console, &within, "state", |workspace| Ok(workspace.enabled())).await?.into()
            }
        })
    }
}

async fn create(console: &Console, name: &str, id: Option<WorkspaceId>) -> Result<View> {
    let store = &console.store;
    let id = id.unwrap_or_else(|| WorkspaceId::generate(store.ids()));
    let workspace = Workspace::new(id, name, store.now()).map_err(unfit("The name is invalid"))?;
    // A deployment's first workspace needs the key that seals cursors and the person key, so both must exist before the
    // workspace.
    store.ensure_cursor_key(console.entropy()).await?;
    store.ensure_person_key(console.entropy()).await?;
    if !store.create_workspace(&workspace).await? {
        return Err(Refusal::WorkspaceExists(id));
    }
    Ok(view(&workspace))
}

async fn change(
    console: &Console,
    within: &InWorkspace,
    field: &str,
    change: impl Fn(&Workspace) -> Result<Option<Workspace>>,
) -> Result<View> {
    let by = console.beside.operator().await?;
    let workspace = changed(
        async || console.workspace(within).await,
        |workspace| Ok(Decision::of(workspace, change(workspace)?)),
        async |_, next| console.store.update_workspace(next, &[field], &by).await,
    );
    Ok(view(&workspace.await?))
}

async fn list(console: &Console) -> Result<Report> {
    let workspaces = console.store.workspaces().await?;
    let mut by_name: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for workspace in &workspaces {
        by_name.entry(&workspace.name).or_default().push(workspace.id.to_string());
    }
    let several = by_name.iter().filter(|(_, ids)| ids.len() > 1);
    let several = several
        .map(|(name, ids)| format!("{} workspaces have the name {name:?}: {}.", ids.len(), ids.join(", ")));
    Ok(workspaces.iter().map(view).collect::<Report>().remarks(several))
}

fn view(workspace: &Workspace) -> View {
    let disabled_at = match workspace.state {
        WorkspaceState::Enabled => None,
        WorkspaceState::Disabled { since } => Some(since),
    };
    let (read, write) = (workspace.list_shards_read, workspace.list_shards_write);
    View::new()
        .text("workspaceId", "workspace", workspace.id)
        .text("name", "name", &workspace.name)
        .text("state", "state", workspace.state.as_str())
        .optional("disabledAt", "disabled", disabled_at)
        .text("createdAt", "created", workspace.created_at)
        .json("listShardsRead", read)
        .json("listShardsWrite", write)
        .cell("list shards (read/write)", format!("{read}/{write}"))
}
