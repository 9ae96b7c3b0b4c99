//! Definitions of custom attributes.

use std::sync::Arc;

use domain::{
    AttributeCategory, AttributeDefinition, AttributeId, AttributeType, AuditAction, Author, ClosedValue,
    ClosedValueId, Definitions, Timestamp, Workspace, WorkspaceId,
};
use serde::{Deserialize, Serialize};

use crate::dynamodb::fields::{self, stored};
use crate::dynamodb::item::{Item, row};
use crate::dynamodb::read::Place;
use crate::dynamodb::versions::replace_write;
use crate::idempotency::IdempotencyKey;
use crate::settings::created::SettingCreated;
use crate::settings::remembered::{WithSetting, version_place};
use crate::{Store, StoreError, Table, keys};

impl Store {
    /// All definitions of the workspace, including archived ones. One round trip for each megabyte (a hundred
    /// definitions of ordinary size are a few kilobytes).
    pub async fn definitions(&self, workspace: WorkspaceId) -> Result<Definitions, StoreError> {
        Ok(Definitions::new(self.partition(Table::Workspaces, keys::definitions(workspace)).await?))
    }

    /// All definitions of the workspace as they are now, from the memory of this process if they did not change. One
    /// round trip of one call; one more if they changed since the process remembered them.
    pub async fn current_definitions(&self, workspace: WorkspaceId) -> Result<Arc<Definitions>, StoreError> {
        self.rows_with_definitions(workspace, &[]).await?.setting
    }

    /// Rows, and the definitions of their workspace.
    pub(crate) async fn rows_with_definitions(
        &self,
        workspace: WorkspaceId,
        places: &[&Place],
    ) -> Result<WithSetting<Definitions>, StoreError> {
        let of = (workspace, version_place(workspace));
        self.rows_with(&self.memories.definitions, of, places, self.definitions(workspace)).await
    }

    /// Stores a definition that [`Definitions::admit`] accepted for the workspace as `seen`, with the answer of an idempotency
    /// key. If the workspace has changed since, the definitions must be read again. One round trip, 6 write units, 8 with an answer.
    pub async fn create_definition(
        &self,
        seen: &Workspace,
        definition: &AttributeDefinition,
        by: &Author,
        kept: Option<(&IdempotencyKey, &str)>,
    ) -> Result<SettingCreated, StoreError> {
        let entry = self.audit(by, seen.id, AuditAction::AttributeCreate, definition.id, &[])?;
        self.create_setting(seen, definition_row(definition)?, entry, kept).await
    }

    /// Replaces a definition by its next version, which [`Definitions::admit`] accepted for the workspace as
    /// `seen`. Returns `false` if the workspace or the definition has changed since. One round trip, 6 write units.
    pub async fn change_definition(
        &self,
        seen: &Workspace,
        next: &AttributeDefinition,
        fields: &[&str],
        by: &Author,
    ) -> Result<bool, StoreError> {
        let replace = replace_write(Table::Workspaces, definition_row(next)?, next.version - 1);
        let entry = self.audit(by, seen.id, AuditAction::AttributeUpdate, next.id, fields)?;
        self.all_or_none([self.bump_version(seen), replace, entry]).await
    }
}

fn definition_row(definition: &AttributeDefinition) -> Result<Item, StoreError> {
    row(keys::definition(definition.workspace_id, definition.id), "attribute", definition)
}

/// `W#A` / attribute id.
#[derive(Serialize, Deserialize)]
#[serde(remote = "AttributeDefinition", rename_all = "camelCase")]
struct DefinitionRow {
    #[serde(with = "fields::text")]
    id: AttributeId,
    #[serde(with = "fields::text")]
    workspace_id: WorkspaceId,
    #[serde(with = "fields::text")]
    category: AttributeCategory,
    is_required: bool,
    key_name: String,
    #[serde(rename = "type", with = "fields::text")]
    attribute_type: AttributeType,
    #[serde(with = "fields::list")]
    closed_values: Vec<ClosedValue>,
    #[serde(with = "fields::text")]
    created_at: Timestamp,
    #[serde(with = "fields::optional", default, skip_serializing_if = "Option::is_none")]
    deleted_at: Option<Timestamp>,
    version: u64,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "ClosedValue")]
struct ClosedValueField {
    #[serde(with = "fields::text")]
    id: ClosedValueId,
    value: String,
}

stored! { AttributeDefinition = DefinitionRow, ClosedValue = ClosedValueField }
