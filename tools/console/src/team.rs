//! `console team ...`

use clap::{Args, Subcommand};
use domain::{Team, TeamId, User, UserId, UserRef, Workspace, WorkspaceId, usage};

use crate::arguments::{InWorkspace, one, user_ref};
use crate::changed::{Decision, changed};
use crate::output::{Output, Report};
use crate::refusal::{Named, unfit, unused};
use crate::view::View;
use crate::{Console, Result};

#[derive(Subcommand)]
pub(crate) enum Verb {
    /// Create a team.
    Create {
        #[command(flatten)]
        within: InWorkspace,
        /// Name shown to operators, unique among the workspace's teams.
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
    /// Change a team's name. Its id stays.
    Rename {
        #[command(flatten)]
        one: OneTeam,
        /// The new name, unique among the workspace's teams.
        #[arg(long)]
        name: String,
    },
    /// Delete a team. Refused while it has members: remove them first.
    ///
    /// Conversations that the team's members got stay theirs. Requests that name a deleted team are refused.
    Delete(OneTeam),
}

one!(OneTeam {
    /// The team's id.
    team: TeamId = "ID", TeamId::parse
});

#[derive(Args)]
pub(crate) struct Members {
    #[command(flatten)]
    one: OneTeam,
    /// A user, by id or e-mail address; repeat for several.
    #[arg(long = "user", value_name = "ID|E-MAIL", required = true, value_parser = user_ref)]
    users: Vec<UserRef>,
}

impl Verb {
    pub(crate) async fn run(self, console: &Console, output: &mut Output<'_>) -> Result<Report> {
        Ok(match self {
            Self::Create { within, name, users } => create(console, &within, &name, users).await?.into(),
            Self::Add(members) => {
                let add = |team: &Team, users: &[UserId]| Ok(team.with(users)?);
                change(console, members, add).await?.into()
            }
            Self::Remove(members) => {
                let remove = |team: &Team, users: &[UserId]| Ok(team.without(users));
                change(console, members, remove).await?.into()
            }
            Self::List(within) => {
                let workspace = console.workspace(&within).await?;
                let teams = console.store.teams(workspace.id).await?;
                // JSON has only the ids of the members.
                let users = match output.is_json() {
                    true => vec![],
                    false => shown_users(console, workspace.id, &teams).await?,
                };
                teams.iter().map(|team| view(team, &users)).collect()
            }
            Self::Rename { one, name } => rename(console, &one, &name).await?.into(),
            Self::Delete(one) => delete(console, &one).await?.into(),
        })
    }
}

async fn create(console: &Console, within: &InWorkspace, name: &str, users: Vec<UserRef>) -> Result<View> {
    let store = &console.store;
    let workspace = console.workspace(within).await?;
    let members = ids_of(console, workspace.id, users).await?;
    let empty = Team::new(TeamId::generate(store.ids()), workspace.id, name, store.now())
        .map_err(unfit("The name is invalid"))?;
    let team = empty.with(&members)?.unwrap_or(empty);
    changed(
        async || read(console, within).await,
        |(_, teams)| {
            team.check_name(teams)?;
            Ok(Decision::Changed(()))
        },
        async |(workspace, _), ()| store.create_team(workspace, &team).await,
    )
    .await?;
    show(console, &team).await
}

/// Reads the workspace first: an addition after this read changes its version, and the write fails.
async fn read(console: &Console, within: &InWorkspace) -> Result<(Workspace, Vec<Team>)> {
    let workspace = console.workspace(within).await?;
    let teams = console.store.teams(workspace.id).await?;
    Ok((workspace, teams))
}

async fn change(
    console: &Console,
    members: Members,
    change: impl Fn(&Team, &[UserId]) -> Result<Option<Team>>,
) -> Result<View> {
    let workspace = console.workspace(&members.one.within).await?.id;
    let users = ids_of(console, workspace, members.users).await?;
    let team = changed(
        async || members.one.read(console).await,
        |team| Ok(Decision::of(team, change(team, &users)?)),
        async |_, next| console.store.replace_team(next).await,
    );
    show(console, &team.await?).await
}

async fn rename(console: &Console, one: &OneTeam, name: &str) -> Result<View> {
    let team = changed(
        async || read(console, &one.within).await,
        |(_, teams)| {
            let team = Named::Team.found(teams.iter().find(|team| team.id == one.team), one.team)?;
            let next = team.renamed(name).map_err(unfit("The name is invalid"))?;
            next.iter().try_for_each(|next| next.check_name(teams))?;
            Ok(Decision::of(team, next))
        },
        async |(workspace, _), next| console.store.rename_team(workspace, next).await,
    );
    show(console, &team.await?).await
}

async fn delete(console: &Console, one: &OneTeam) -> Result<View> {
    changed(
        async || one.read(console).await,
        |team| unused("team", usage::of_team(team)).map(Decision::Changed),
        async |team, ()| console.store.delete_team(team).await,
    )
    .await?;
    Ok(View::deleted("teamId", one.team))
}

impl OneTeam {
    async fn read(&self, console: &Console) -> Result<Team> {
        let workspace = console.workspace(&self.within).await?.id;
        Named::Team.found(console.store.team(workspace, self.team).await?, self.team)
    }
}

async fn show(console: &Console, team: &Team) -> Result<View> {
    let users = shown_users(console, team.workspace_id, std::slice::from_ref(team)).await?;
    Ok(view(team, &users))
}

/// The users whose e-mail addresses a table of the teams shows.
async fn shown_users(console: &Console, workspace: WorkspaceId, teams: &[Team]) -> Result<Vec<User>> {
    let named = teams.iter().flat_map(|team| team.members.iter().take(MEMBERS_SHOWN));
    let named: Vec<UserRef> = named.copied().map(UserRef::Id).collect();
    Ok(console.store.users_named(workspace, &named).await?)
}

/// The number of members that a table shows for each team.
const MEMBERS_SHOWN: usize = 3;

async fn ids_of(console: &Console, workspace: WorkspaceId, users: Vec<UserRef>) -> Result<Vec<UserId>> {
    let mut ids = vec![];
    for named in users {
        ids.push(console.user(workspace, &named).await?.id);
    }
    Ok(ids)
}

/// A team with the e-mail addresses of its first members, and the number of the others.
fn view(team: &Team, users: &[User]) -> View {
    let address = |id: &UserId| {
        let user = users.iter().find(|user| user.id == *id);
        user.map_or_else(|| id.to_string(), |user| user.email.as_str().to_owned())
    };
    let mut shown: Vec<String> = team.members.iter().take(MEMBERS_SHOWN).map(address).collect();
    if let Some(others) = team.members.len().checked_sub(MEMBERS_SHOWN).filter(|others| *others > 0) {
        shown.push(format!("{others} more"));
    }
    View::new()
        .text("teamId", "team", team.id)
        .text("name", "name", &team.name)
        .json("members", team.members.iter().map(UserId::to_string).collect::<Vec<_>>())
        .cell("members", shown.join(", "))
        .text("createdAt", "created", team.created_at)
}
