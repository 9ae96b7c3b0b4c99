//! A workspace's own row.

use domain::{
    ChannelId, Onboarding, Override, TemplateId, Timestamp, Workspace, WorkspaceId, WorkspaceState,
};
use serde::{Deserialize, Serialize};

use crate::dynamodb::fields;
use crate::dynamodb::item::{Item, key, n, read, row, s};
use crate::dynamodb::read::Place;
use crate::dynamodb::write::{LAST_REQUEST, Transaction, Write};
use crate::shards::Shards;
use crate::{Store, StoreError, Table, keys};

impl Store {
    /// The workspace with this id. One round trip.
    pub async fn workspace(&self, id: WorkspaceId) -> Result<Option<Workspace>, StoreError> {
        let row = self.get_item(Table::Workspaces, keys::workspace(id)).await?;
        row.map(|row| self.workspace_in(row)).transpose()
    }

    /// The workspace of a row that was just read. The process remembers its shards and its onboarding.
    pub(crate) fn workspace_in(&self, row: Item) -> Result<Workspace, StoreError> {
        let workspace = Workspace::from(read::<WorkspaceRow>(row)?);
        self.memories.shards.keep(workspace.id, Shards::of(&workspace), self.now());
        self.memories.onboardings.keep(workspace.id, workspace.onboarding.clone(), self.now());
        Ok(workspace)
    }

    /// The workspace's onboarding as this process last read it, up to an hour ago, or an empty one. It names
    /// templates that are worth reading together with the workspace, so these seldom need a round trip of
    /// their own.
    pub fn remembered_onboarding(&self, workspace: WorkspaceId) -> Onboarding {
        self.memories.onboardings.get(&workspace, self.now()).unwrap_or_default()
    }

    /// Whether the service works for the workspace (strongly consistent read). A workspace without a row
    /// counts as enabled: nothing of it exists that could be used. One round trip.
    pub async fn workspace_state(&self, id: WorkspaceId) -> Result<WorkspaceState, StoreError> {
        let row = self.get_item(Table::Workspaces, keys::workspace(id)).await?;
        row.map_or(Ok(WorkspaceState::Enabled), state_of)
    }

    /// Stores a new workspace and adds it to the list of workspaces. Returns `false` if there is a workspace
    /// with this id. One round trip.
    pub async fn create_workspace(&self, workspace: &Workspace) -> Result<bool, StoreError> {
        let request = self.ids.next().to_string();
        let mut row = self.workspace_row(workspace)?;
        row.insert(LAST_REQUEST.to_owned(), s(&request));
        let first = Write::put(Table::Workspaces, row).when_absent();
        let listed = Write::put(Table::Workspaces, listed_row(workspace)?);
        let writes = Transaction::new().with((), first).with((), listed);
        let Err(refusals) = self.transact(writes).await? else { return Ok(true) };
        Ok(refusals.iter().any(|refusal| refusal.is_of(&request)))
    }

    /// All workspaces in the list, oldest first. One round trip for each megabyte of the list, and one for the
    /// rows.
    pub async fn workspaces(&self) -> Result<Vec<Workspace>, StoreError> {
        let listed: Vec<ListedRow> = self.partition(Table::Workspaces, keys::workspace_list()).await?;
        let places: Vec<Place> =
            listed.iter().map(|listed| Place::of(Table::Workspaces, keys::workspace(listed.id))).collect();
        let rows = self.rows_at(&places).await?.into_items();
        let rows = rows.map(read::<WorkspaceRow>).collect::<Result<Vec<_>, _>>()?;
        let mut workspaces: Vec<Workspace> = rows.into_iter().map(Workspace::from).collect();
        workspaces.sort_by_key(|workspace| (workspace.created_at, workspace.id));
        Ok(workspaces)
    }

    /// Replaces a workspace by its next version. Returns `false` if the previous version is not the current
    /// one. One round trip.
    pub async fn replace_workspace(&self, next: &Workspace) -> Result<bool, StoreError> {
        self.put_next(Table::Workspaces, self.workspace_row(next)?, next.version - 1).await
    }

    /// The row of a workspace that was changed now.
    pub(crate) fn workspace_row(&self, workspace: &Workspace) -> Result<Item, StoreError> {
        let (pk, sk) = keys::workspace(workspace.id);
        let mut row = row(pk, sk, "workspace", &WorkspaceRow::from(workspace))?;
        row.insert(CHANGED_AT.to_owned(), n(self.now().as_millis()));
        Ok(row)
    }

    /// Part of a transaction whose reason is what else the workspace has: it adds something whose number is limited,
    /// gives a name that must be unique, refers to another setting, or deletes one to which nothing refers. The
    /// workspace must still be as `seen`, and gets the next version. So of two such changes at the same time, one
    /// is refused and judged again.
    pub(crate) fn bump_version(&self, seen: &Workspace) -> Write {
        let (pk, sk) = keys::workspace(seen.id);
        let set = format!("SET {VERSION} = :next, {CHANGED_AT} = :now");
        Write::update(Table::Workspaces, key(pk, sk), set)
            .when("version = :seen")
            .bind(":seen", n(seen.version))
            .bind(":next", n(seen.version + 1))
            .bind(":now", n(self.now().as_millis()))
    }
}

/// The version that a change gives a workspace, and when it was given.
pub(crate) const VERSION: &str = "version";
pub(crate) const CHANGED_AT: &str = "changedAt";

/// The state in the row of a workspace.
pub(crate) fn state_of(row: Item) -> Result<WorkspaceState, StoreError> {
    Ok(Workspace::from(read::<WorkspaceRow>(row)?).state)
}

fn listed_row(workspace: &Workspace) -> Result<Item, StoreError> {
    let (pk, sk) = keys::workspace_in_list(workspace.created_at, workspace.id);
    row(pk, sk, "listedWorkspace", &ListedRow { id: workspace.id })
}

/// `<nil>#WS` / the moment of the creation in milliseconds, then the id.
#[derive(Serialize, Deserialize)]
struct ListedRow {
    #[serde(with = "fields::text")]
    id: WorkspaceId,
}

/// `W#W` / `W`.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct WorkspaceRow {
    #[serde(with = "fields::text")]
    id: WorkspaceId,
    name: String,
    #[serde(with = "fields::text")]
    created_at: Timestamp,
    list_shards_read: u8,
    list_shards_write: u8,
    #[serde(with = "fields::optional", default, skip_serializing_if = "Option::is_none")]
    default_line: Option<ChannelId>,
    onboarding: OnboardingField,
    /// Since when the workspace is disabled.
    #[serde(with = "fields::optional", default, skip_serializing_if = "Option::is_none")]
    disabled_since: Option<Timestamp>,
    version: u64,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct OnboardingField {
    #[serde(rename = "override", with = "fields::text")]
    overriding: Override,
    #[serde(with = "fields::list")]
    sequence: Vec<TemplateId>,
}

impl From<WorkspaceRow> for Workspace {
    fn from(row: WorkspaceRow) -> Self {
        Self {
            id: row.id,
            name: row.name,
            created_at: row.created_at,
            list_shards_read: row.list_shards_read,
            list_shards_write: row.list_shards_write,
            default_line: row.default_line,
            onboarding: row.onboarding.into(),
            state: match row.disabled_since {
                Some(since) => WorkspaceState::Disabled { since },
                None => WorkspaceState::Enabled,
            },
            version: row.version,
        }
    }
}

impl From<&Workspace> for WorkspaceRow {
    fn from(workspace: &Workspace) -> Self {
        Self {
            id: workspace.id,
            name: workspace.name.clone(),
            created_at: workspace.created_at,
            list_shards_read: workspace.list_shards_read,
            list_shards_write: workspace.list_shards_write,
            default_line: workspace.default_line.clone(),
            onboarding: OnboardingField::from(&workspace.onboarding),
            disabled_since: match workspace.state {
                WorkspaceState::Disabled { since } => Some(since),
                WorkspaceState::Enabled => None,
            },
            version: workspace.version,
        }
    }
}

impl From<OnboardingField> for Onboarding {
    fn from(field: OnboardingField) -> Self {
        Self { overriding: field.overriding, sequence: field.sequence }
    }
}

impl From<&Onboarding> for OnboardingField {
    fn from(onboarding: &Onboarding) -> Self {
        Self { overriding: onboarding.overriding, sequence: onboarding.sequence.clone() }
    }
}
