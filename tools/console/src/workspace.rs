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
    /// Set how many requests a second the keys that the tenant makes by the API may allow together.
    ///
    /// A new workspace has 200. Keys that exist stay as they are, and so do the keys of operators.
    KeyRate {
        #[command(flatten)]
        within: InWorkspace,
        /// Requests per second, 1 to 10000.
        #[arg(long)]
        rate: u32,
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
                view(&change(console, &within, "name", rename).await?).into()
            }
            Self::KeyRate { within, rate } => {
                let set = |workspace: &Workspace| {
                    workspace.with_key_rate(rate).map_err(unfit("The key rate cannot be set"))
                };
                view(&change(console, &within, "keyRate", set).await?).into()
            }
            Self::Disable(within) => {
                let now = console.store.now();
                let disable = |workspace: &Workspace| Ok(workspace.disabled(now));
                view(&change(console, &within, "state", disable).await?).into()
            }
            Self::Enable(within) => {
                let enable = |workspace: &Workspace| Ok(workspace.enabled());
                view(&change(console, &within, "state", enable).await?).into()
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

/// Changes one field of a workspace.
pub(crate) async fn change(
    console: &Console,
    within: &InWorkspace,
    field: &str,
    change: impl Fn(&Workspace) -> Result<Option<Workspace>>,
) -> Result<Workspace> {
    let by = console.beside.operator().await?;
    changed(
        async || console.workspace(within).await,
        |workspace| Ok(Decision::of(workspace, change(workspace)?)),
        async |_, next| console.store.update_workspace(next, &[field], &by).await,
    )
    .await
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

/// What is shown of a workspace.
pub(crate) fn view(workspace: &Workspace) -> View {
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
        .text("selfService", "self-service", workspace.self_service.as_str())
        .json("keyRate", workspace.key_rate)
        .cell("key rate", format!("{}/s", workspace.key_rate))
        .text("createdAt", "created", workspace.created_at)
        .json("listShardsRead", read)
        .json("listShardsWrite", write)
        .cell("list shards (read/write)", format!("{read}/{write}"))
}
