//! `console team ...`

use clap::{Args, Subcommand};
use domain::{Team, TeamId, UserId, UserRef, WorkspaceId};
use serde::Serialize;

use crate::arguments::{InWorkspace, user_ref};
use crate::output::{Output, Shown};
use crate::{Console, Refusal};

#[derive(Subcommand)]
pub(crate) enum Verb {
    /// Create a team.
    Create {
        #[command(flatten)]
        within: InWorkspace,
        /// Name shown to operators.
        #[arg(long)]
        name: String,
        /// A first member, by id or e-mail address; repeat for several.
        #[arg(long = "user", value_name = "ID|E-MAIL", value_parser = user_ref)]
        users: Vec<UserRef>,
    },
    /// Add members.
    Add(Members),
    /// Remove members.
    Remove(Members),
    /// List the teams, oldest first.
    List(InWorkspace),
}

#[derive(Args)]
pub(crate) struct Members {
    #[command(flatten)]
    within: InWorkspace,
    /// The team's id.
    #[arg(long, value_name = "ID", value_parser = TeamId::parse)]
    team: TeamId,
    /// A user, by id or e-mail address; repeat for several.
    #[arg(long = "user", value_name = "ID|E-MAIL", required = true, value_parser = user_ref)]
    users: Vec<UserRef>,
}

impl Verb {
    pub(crate) async fn run(self, console: &Console, output: &mut Output<'_>) -> Result<(), Refusal> {
        match self {
            Self::Create { within, name, users } => create(console, &within, &name, users, output).await,
            Self::Add(members) => {
                let add = |team: &Team, users: &[UserId]| Ok(team.with(users)?);
                change(console, members, add, output).await
            }
            Self::Remove(members) => {
                let remove = |team: &Team, users: &[UserId]| Ok(team.without(users));
                change(console, members, remove, output).await
            }
            Self::List(within) => {
                let workspace = console.workspace(within.workspace).await?;
                let teams = console.store.teams(workspace.id).await?;
                output.list_as::<TeamView, _>(&teams)
            }
        }
    }
}

async fn create(
    console: &Console,
    within: &InWorkspace,
    name: &str,
    users: Vec<UserRef>,
    output: &mut Output<'_>,
) -> Result<(), Refusal> {
    let store = &console.store;
    let workspace = console.workspace(within.workspace).await?;
    let members = ids_of(console, workspace.id, users).await?;
    let empty = Team::new(TeamId::generate(store.ids()), workspace.id, name, store.now())
        .map_err(|reason| Refusal::Unfit { what: "The name is invalid", reason })?;
    let team = empty.with(&members)?.unwrap_or(empty);
    if !store.create_team(&team).await? {
        return Err(Refusal::Contended);
    }
    output.one(&TeamView::from(&team))
}

/// A change without effect succeeds, so you can repeat the command.
async fn change(
    console: &Console,
    members: Members,
    change: impl Fn(&Team, &[UserId]) -> Result<Option<Team>, Refusal>,
    output: &mut Output<'_>,
) -> Result<(), Refusal> {
    let workspace = console.workspace(members.within.workspace).await?;
    let users = ids_of(console, workspace.id, members.users).await?;
    let team =
        console.store.team(workspace.id, members.team).await?.ok_or(Refusal::UnknownTeam(members.team))?;
    let team = match change(&team, &users)? {
        None => team,
        Some(next) if console.store.replace_team(&next).await? => next,
        Some(_) => return Err(Refusal::Contended),
    };
    output.one(&TeamView::from(&team))
}

async fn ids_of(
    console: &Console,
    workspace: WorkspaceId,
    users: Vec<UserRef>,
) -> Result<Vec<UserId>, Refusal> {
    let mut ids = vec![];
    for named in users {
        ids.push(console.user(workspace, named).await?.id);
    }
    Ok(ids)
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct TeamView {
    team_id: String,
    name: String,
    members: Vec<String>,
    created_at: String,
}

impl From<&Team> for TeamView {
    fn from(team: &Team) -> Self {
        Self {
            team_id: team.id.to_string(),
            name: team.name.clone(),
            members: team.members.iter().map(UserId::to_string).collect(),
            created_at: team.created_at.to_string(),
        }
    }
}

impl Shown for TeamView {
    const HEADINGS: &'static [&'static str] = &["team", "name", "members", "created"];

    fn cells(&self) -> Vec<String> {
        let members = self.members.len().to_string();
        vec![self.team_id.clone(), self.name.clone(), members, self.created_at.clone()]
    }
}
