//! Teams: create, change and delete them.

use domain::settings::workspace::TeamChange;
use domain::{Team, TeamId, User, UserId, UserRef, used_by};
use store::IdempotencyKey;

use crate::admin::{Admin, Check, Created, Gate};
use crate::refused::Refused;

impl<G: Gate> Admin<'_, G> {
    /// The users that are named, in this order. No user is ever deleted, so they can be looked up before a change is judged. One
    /// round trip, none without names.
    pub async fn members(&self, named: &[UserRef]) -> Result<Vec<User>, G::Refusal> {
        let found = self.store.users_named(self.workspace, named).await?;
        let of = |named: &UserRef| {
            let user = found.iter().find(|user| named.names(user));
            user.cloned().ok_or_else(|| Refused::UnknownMember(named.clone()))
        };
        Ok(named.iter().map(of).collect::<Result<_, Refused>>()?)
    }

    /// A new team with these members.
    pub fn with_members(&self, empty: Team, members: &[User]) -> Result<Team, Refused> {
        let ids: Vec<UserId> = members.iter().map(|member| member.id).collect();
        Ok(empty.with(&ids)?.map_or(empty, |team| Team { version: 1, ..team }))
    }

    /// Creates a team, with the answer of an idempotency key. Three round trips.
    pub async fn create_team(
        &self,
        team: &Team,
        kept: Option<(&IdempotencyKey, &str)>,
    ) -> Result<Created, G::Refusal> {
        let store = self.store;
        let judge = |teams: &Vec<Team>| team.check_name(teams).map_err(Refused::NameTaken);
        let write = |seen| async move { store.create_team(&seen, team, &self.by, kept).await };
        self.create_judged(kept, || store.teams(self.workspace), judge, write).await
    }
}

impl<G: Check<Team>> Admin<'_, G> {
    /// Changes a team. Two round trips, three with a name.
    pub async fn update_team(&self, id: TeamId, change: &TeamChange) -> Result<Team, G::Refusal> {
        self.until_written(|| self.try_update_team(id, change)).await
    }

    async fn try_update_team(&self, id: TeamId, change: &TeamChange) -> Result<Option<Team>, G::Refusal> {
        let (store, of) = (self.store, self.workspace);
        let (workspace, teams) = match change.name {
            None => (None, Vec::from_iter(store.team(of, id).await?)),
            // The teams are read after the workspace, as for a new one.
            Some(_) => (store.workspace(of).await?, store.teams(of).await?),
        };
        let seen = teams.iter().find(|team| team.id == id).ok_or(Refused::UnknownTeam(id))?;
        self.ready(seen).await?;
        let changed = seen.changed(change).map_err(Refused::TeamFull)?;
        let Some(next) = changed else { return Ok(Some(seen.clone())) };
        let fields = seen.differences(&next);
        let is_done = match workspace {
            Some(workspace) if next.name != seen.name => {
                next.check_name(&teams).map_err(Refused::NameTaken)?;
                store.rename_team(&workspace, &next, &fields, &self.by).await?
            }
            _ => store.replace_team(&next, &fields, &self.by).await?,
        };
        Ok(is_done.then_some(next))
    }

    /// Deletes a team without members. Two round trips.
    pub async fn delete_team(&self, id: TeamId) -> Result<(), G::Refusal> {
        self.until_written(|| self.try_delete_team(id)).await
    }

    async fn try_delete_team(&self, id: TeamId) -> Result<Option<()>, G::Refusal> {
        let seen = self.store.team(self.workspace, id).await?.ok_or(Refused::UnknownTeam(id))?;
        self.ready(&seen).await?;
        if !used_by::of_team(&seen).is_empty() {
            return Err(Refused::TeamInUse { members: seen.members.len() }.into());
        }
        Ok(self.store.delete_team(&seen, &self.by).await?.then_some(()))
    }
}
