//! `console team ...`

use clap::{Args, Subcommand};
use domain::settings::workspace::TeamChange;
use domain::text::operator_name;
use domain::{Team, TeamId, User, UserId, UserRef, WorkspaceId};

use crate::arguments::{InWorkspace, one, user_ref};
use crate::output::{Output, Report};
use crate::refusal::unfit;
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
                let added = |add| TeamChange { add, ..TeamChange::default() };
                change(console, members, added).await?.into()
            }
            Self::Remove(members) => {
                let removed = |remove| TeamChange { remove, ..TeamChange::default() };
                change(console, members, removed).await?.into()
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
    let admin = console.admin(workspace.id).await?;
    let members = admin.members(&users).await?;
    let empty = Team::new(TeamId::generate(store.ids()), workspace.id, name, store.now())
        .map_err(unfit("The name is invalid"))?;
    let team = admin.with_members(empty, &members)?;
    admin.create_team(&team, None).await?;
    show(console, &team).await
}

async fn change(
    console: &Console,
    Members { one, users }: Members,
    change: impl FnOnce(Vec<UserId>) -> TeamChange,
) -> Result<View> {
    let workspace = console.workspace(&one.within).await?;
    let admin = console.admin(workspace.id).await?;
    let ids = admin.members(&users).await?.iter().map(|user| user.id).collect();
    show(console, &admin.update_team(one.team, &change(ids)).await?).await
}

async fn rename(console: &Console, one: &OneTeam, name: &str) -> Result<View> {
    let name = operator_name(name).map_err(unfit("The name is invalid"))?;
    let workspace = console.workspace(&one.within).await?;
    let change = TeamChange { name: Some(name), ..TeamChange::default() };
    show(console, &console.admin(workspace.id).await?.update_team(one.team, &change).await?).await
}

async fn delete(console: &Console, one: &OneTeam) -> Result<View> {
    let workspace = console.workspace(&one.within).await?;
    console.admin(workspace.id).await?.delete_team(one.team).await?;
    Ok(View::deleted("teamId", one.team))
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
