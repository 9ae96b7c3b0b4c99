//! A workspace's own row.

use domain::{ChannelId, Onboarding, Override, TemplateId, Timestamp, Workspace, WorkspaceId};
use serde::{Deserialize, Serialize};

use crate::contacts::shards::Shards;
use crate::dynamodb::fields;
use crate::dynamodb::item::{Item, key, n, row};
use crate::dynamodb::write::Write;
use crate::{Store, StoreError, Table, keys};

impl Store {
    /// The workspace with this id. One round trip.
    pub async fn workspace(&self, id: WorkspaceId) -> Result<Option<Workspace>, StoreError> {
        let row: Option<WorkspaceRow> = self.get_row(Table::Workspaces, keys::workspace(id)).await?;
        let workspace = row.map(Workspace::from);
        if let Some(workspace) = &workspace {
            self.memories.shards.keep(id, Shards::of(workspace), self.now());
            self.memories.onboardings.keep(id, workspace.onboarding.clone(), self.now());
        }
        Ok(workspace)
    }

    /// The workspace's onboarding as this process last read it, up to an hour ago, or an empty one. It names
    /// templates that are worth reading together with the workspace, so these seldom need a round trip of
    /// their own.
    pub fn remembered_onboarding(&self, workspace: WorkspaceId) -> Onboarding {
        self.memories.onboardings.get(&workspace, self.now()).unwrap_or_default()
    }

    /// Stores a new workspace. Returns `false` if there is a workspace with this id. One round trip.
    pub async fn create_workspace(&self, workspace: &Workspace) -> Result<bool, StoreError> {
        self.put_first(Table::Workspaces, workspace_row(workspace)?).await
    }

    /// Replaces a workspace by its next version. Returns `false` if the previous version is not the current
    /// one. One round trip.
    pub async fn replace_workspace(&self, next: &Workspace) -> Result<bool, StoreError> {
        self.put_next(Table::Workspaces, workspace_row(next)?, next.version - 1).await
    }
}

pub(crate) fn workspace_row(workspace: &Workspace) -> Result<Item, StoreError> {
    let (pk, sk) = keys::workspace(workspace.id);
    row(pk, sk, "workspace", &WorkspaceRow::from(workspace))
}

/// Part of a transaction whose reason is what else the workspace has: it adds something whose number is limited,
/// gives a name that must be unique, refers to another setting, or deletes one to which nothing refers. The
/// workspace must still be as `seen`, and gets the next version. So of two such changes at the same time, one
/// is refused and judged again.
pub(crate) fn bump_version(seen: &Workspace) -> Write {
    let (pk, sk) = keys::workspace(seen.id);
    Write::update(Table::Workspaces, key(pk, sk), "SET version = :next")
        .when("version = :seen")
        .bind(":seen", n(seen.version))
        .bind(":next", n(seen.version + 1))
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
    #[serde(default)]
    onboarding: OnboardingField,
    version: u64,
}

#[derive(Default, Serialize, Deserialize)]
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
