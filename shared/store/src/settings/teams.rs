//! Teams of internal users.

use domain::{AuditAction, Author, Team, TeamId, Timestamp, UserId, Workspace, WorkspaceId};
use serde::{Deserialize, Serialize};

use crate::dynamodb::fields::{self, stored};
use crate::dynamodb::item::{Item, SCHEMA, key, n, read, row, s};
use crate::dynamodb::read::{Place, Rows};
use crate::dynamodb::versions::{delete_write, replace_write};
use crate::dynamodb::write::{Write, Wrote};
use crate::idempotency::IdempotencyKey;
use crate::settings::created::SettingCreated;
use crate::{Store, StoreError, Table, keys};

impl Store {
    /// A team of the workspace. One round trip.
    pub async fn team(&self, workspace: WorkspaceId, id: TeamId) -> Result<Option<Team>, StoreError> {
        let place = team_place(workspace, id);
        take_team(&mut self.rows_at([&place]).await?, &place)
    }

    /// All teams of the workspace, oldest first. One round trip.
    pub async fn teams(&self, workspace: WorkspaceId) -> Result<Vec<Team>, StoreError> {
        let mut teams: Vec<Team> = self.partition(Table::Workspaces, keys::teams(workspace)).await?;
        teams.sort_by_key(|team| (team.created_at, team.id));
        Ok(teams)
    }

    /// Takes the next turn of a team, for [`Team::whose_turn`]. Turns count up from 0, and each is returned
    /// once. If the answer is lost, that turn is skipped. One round trip.
    pub async fn take_turn(&self, workspace: WorkspaceId, team: TeamId) -> Result<u64, StoreError> {
        let expression = "SET kind = :kind, sv = :sv ADD turns :one";
        let take = Write::update(Table::Workspaces, key(keys::team_turn(workspace, team)), expression)
            .bind(":kind", s("turns"))
            .bind(":sv", n(SCHEMA))
            .bind(":one", n(1))
            .returning_new();
        match self.write(take).await? {
            Wrote::Done(row) => Ok(read::<TurnsRow>(row)?.turns.saturating_sub(1)),
            Wrote::Refused(_) => Err(StoreError::Failed("a write without a condition was refused".into())),
        }
    }

    /// Stores a team whose name [`Team::check_name`] accepted for the workspace as `seen`, with the answer of an idempotency
    /// key. If the workspace has changed since, the teams must be read again. One round trip, 6 write units, 8 with an answer.
    pub async fn create_team(
        &self,
        seen: &Workspace,
        team: &Team,
        by: &Author,
        kept: Option<(&IdempotencyKey, &str)>,
    ) -> Result<SettingCreated, StoreError> {
        let entry = self.audit(by, seen.id, AuditAction::TeamCreate, team.id, &[])?;
        self.create_setting(seen, team_row(team)?, entry, kept).await
    }

    /// Replaces a team by its next version, whose name [`Team::check_name`] accepted for the workspace as
    /// `seen`. Returns `false` if the workspace or the team has changed since. One round trip, 6 write units.
    pub async fn rename_team(
        &self,
        seen: &Workspace,
        next: &Team,
        fields: &[&str],
        by: &Author,
    ) -> Result<bool, StoreError> {
        let replace = replace_write(Table::Workspaces, team_row(next)?, next.version - 1);
        let entry = self.audit(by, seen.id, AuditAction::TeamUpdate, next.id, fields)?;
        self.all_or_none([self.bump_version(seen), replace, entry]).await
    }

    /// Deletes a team with the count of its turns. Returns `false` if the team has changed since it was read.
    /// One round trip, 6 write units.
    pub async fn delete_team(&self, team: &Team, by: &Author) -> Result<bool, StoreError> {
        let writes = [
            self.audit(by, team.workspace_id, AuditAction::TeamDelete, team.id, &[])?,
            delete_write(Table::Workspaces, keys::team(team.workspace_id, team.id), team.version),
            Write::delete(Table::Workspaces, key(keys::team_turn(team.workspace_id, team.id))),
        ];
        self.all_or_none(writes).await
    }

    /// Replaces a team by its next version, which has the same name. Returns `false` if the previous version is not the current one.
    /// One round trip, 4 write units.
    pub async fn replace_team(&self, next: &Team, fields: &[&str], by: &Author) -> Result<bool, StoreError> {
        let replace = replace_write(Table::Workspaces, team_row(next)?, next.version - 1);
        let entry = self.audit(by, next.workspace_id, AuditAction::TeamUpdate, next.id, fields)?;
        self.all_or_none([replace, entry]).await
    }
}

/// Where a team's row is.
pub(crate) fn team_place(workspace: WorkspaceId, id: TeamId) -> Place {
    Place::of(Table::Workspaces, keys::team(workspace, id))
}

/// The team at this place, if it exists.
pub(crate) fn take_team(rows: &mut Rows, place: &Place) -> Result<Option<Team>, StoreError> {
    rows.read(place)
}

fn team_row(team: &Team) -> Result<Item, StoreError> {
    row(keys::team(team.workspace_id, team.id), "team", team)
}

/// `W#R#<team id>` / `R`. The number of turns that were taken.
#[derive(Serialize, Deserialize)]
struct TurnsRow {
    turns: u64,
}

/// `W#T` / team id.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Team", rename_all = "camelCase")]
struct TeamRow {
    #[serde(with = "fields::text")]
    id: TeamId,
    #[serde(with = "fields::text")]
    workspace_id: WorkspaceId,
    name: String,
    #[serde(rename = "memberIds", with = "fields::list")]
    members: Vec<UserId>,
    #[serde(with = "fields::text")]
    created_at: Timestamp,
    version: u64,
}

stored! { TurnsRow = TurnsRow, Team = TeamRow }
