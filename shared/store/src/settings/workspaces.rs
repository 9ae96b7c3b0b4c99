//! A workspace's own row.

use domain::{
    AuditAction, Author, ChannelId, Onboarding, Override, SelfService, TemplateId, Timestamp, Workspace,
    WorkspaceAccess, WorkspaceId, WorkspaceState,
};
use serde::{Deserialize, Serialize};

use crate::dynamodb::fields::{self, stored};
use crate::dynamodb::item::{Item, key, n, read, row, s};
use crate::dynamodb::read::Place;
use crate::dynamodb::versions::replace_write;
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
        let workspace = read::<Workspace>(row)?;
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

    /// What the workspace admits (strongly consistent read). One round trip.
    pub async fn workspace_access(&self, id: WorkspaceId) -> Result<WorkspaceAccess, StoreError> {
        let row = self.get_item(Table::Workspaces, keys::workspace(id)).await?;
        row.map_or(Ok(WorkspaceAccess::OPEN), access_of)
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

    /// The ids of all workspaces. One round trip for each megabyte of the list.
    pub async fn listed_workspaces(&self) -> Result<Vec<WorkspaceId>, StoreError> {
        let listed: Vec<ListedRow> = self.partition(Table::Workspaces, keys::workspace_list()).await?;
        Ok(listed.into_iter().map(|listed| listed.id).collect())
    }

    /// All workspaces in the list, oldest first. One round trip for each megabyte of the list, and one for the
    /// rows.
    pub async fn workspaces(&self) -> Result<Vec<Workspace>, StoreError> {
        let listed = self.listed_workspaces().await?;
        let places: Vec<Place> =
            listed.iter().map(|id| Place::of(Table::Workspaces, keys::workspace(*id))).collect();
        let rows = self.rows_at(&places).await?.into_items();
        let mut workspaces: Vec<Workspace> = rows.map(read).collect::<Result<_, _>>()?;
        workspaces.sort_by_key(|workspace| (workspace.created_at, workspace.id));
        Ok(workspaces)
    }

    /// Replaces a workspace by its next version. Returns `false` if the previous version is not the current
    /// one. One round trip.
    pub async fn replace_workspace(&self, next: &Workspace) -> Result<bool, StoreError> {
        self.put_next(Table::Workspaces, self.workspace_row(next)?, next.version - 1).await
    }

    /// The same with an entry of the audit log, which names the changed fields. One round trip, 4 write units.
    pub async fn update_workspace(
        &self,
        next: &Workspace,
        fields: &[&str],
        by: &Author,
    ) -> Result<bool, StoreError> {
        self.replace_audited(next, AuditAction::WorkspaceUpdate, fields, by).await
    }

    /// Changes the onboarding of a workspace, with an entry of the audit log. One round trip, 4 write units.
    pub async fn update_onboarding(
        &self,
        next: &Workspace,
        fields: &[&str],
        by: &Author,
    ) -> Result<bool, StoreError> {
        self.replace_audited(next, AuditAction::OnboardingUpdate, fields, by).await
    }

    async fn replace_audited(
        &self,
        next: &Workspace,
        action: AuditAction,
        fields: &[&str],
        by: &Author,
    ) -> Result<bool, StoreError> {
        let replaced = replace_write(Table::Workspaces, self.workspace_row(next)?, next.version - 1);
        let entry = self.audit(by, next.id, action, next.id, fields)?;
        self.all_or_none([replaced, entry]).await
    }

    /// The row of a workspace that was changed now.
    pub(crate) fn workspace_row(&self, workspace: &Workspace) -> Result<Item, StoreError> {
        let mut row = row(keys::workspace(workspace.id), "workspace", workspace)?;
        row.insert(CHANGED_AT.to_owned(), n(self.now().as_millis()));
        Ok(row)
    }

    /// Part of a transaction whose reason is what else the workspace has: it adds something whose number is limited,
    /// gives a name that must be unique, refers to another setting, or deletes one to which nothing refers. The
    /// workspace must still be as `seen`, and gets the next version. So of two such changes at the same time, one
    /// is refused and judged again.
    pub(crate) fn bump_version(&self, seen: &Workspace) -> Write {
        let set = format!("SET {VERSION} = :next, {CHANGED_AT} = :now");
        Write::update(Table::Workspaces, key(keys::workspace(seen.id)), set)
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
    Ok(read::<Workspace>(row)?.state)
}

/// What the row of a workspace admits.
pub(crate) fn access_of(row: Item) -> Result<WorkspaceAccess, StoreError> {
    Ok(read::<Workspace>(row)?.access())
}

fn listed_row(workspace: &Workspace) -> Result<Item, StoreError> {
    let key = keys::workspace_in_list(workspace.created_at, workspace.id);
    row(key, "listedWorkspace", &ListedRow { id: workspace.id })
}

/// `<nil>#WS` / the moment of the creation in milliseconds, then the id.
#[derive(Serialize, Deserialize)]
struct ListedRow {
    #[serde(with = "fields::text")]
    id: WorkspaceId,
}

/// `W#W` / `W`.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Workspace", rename_all = "camelCase")]
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
    #[serde(with = "OnboardingField")]
    onboarding: Onboarding,
    #[serde(flatten, with = "fields::Shaped::<StateFields>")]
    state: WorkspaceState,
    #[serde(with = "fields::text", default, skip_serializing_if = "is_on")]
    self_service: SelfService,
    #[serde(default = "default_key_rate", skip_serializing_if = "is_default_key_rate")]
    key_rate: u32,
    version: u64,
}

fn default_key_rate() -> u32 {
    Workspace::DEFAULT_KEY_RATE
}

fn is_default_key_rate(key_rate: &u32) -> bool {
    *key_rate == default_key_rate()
}

fn is_on(self_service: &SelfService) -> bool {
    *self_service == SelfService::On
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Onboarding")]
struct OnboardingField {
    #[serde(rename = "override", with = "fields::text")]
    overriding: Override,
    #[serde(with = "fields::list")]
    sequence: Vec<TemplateId>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct StateFields {
    /// Since when the workspace is disabled.
    #[serde(with = "fields::optional", default, skip_serializing_if = "Option::is_none")]
    disabled_since: Option<Timestamp>,
}

stored! { Workspace = WorkspaceRow, ListedRow = ListedRow }

impl From<&WorkspaceState> for StateFields {
    fn from(state: &WorkspaceState) -> Self {
        let disabled_since = match state {
            WorkspaceState::Enabled => None,
            WorkspaceState::Disabled { since } => Some(*since),
        };
        Self { disabled_since }
    }
}

impl From<StateFields> for WorkspaceState {
    fn from(fields: StateFields) -> Self {
        fields.disabled_since.map_or(Self::Enabled, |since| Self::Disabled { since })
    }
}
