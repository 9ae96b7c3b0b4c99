//! Definitions of custom attributes.

use std::sync::Arc;

use domain::{
    AttributeCategory, AttributeDefinition, AttributeId, AttributeType, ClosedValue, ClosedValueId,
    Definitions, Timestamp, Workspace, WorkspaceId,
};
use serde::{Deserialize, Serialize};

use crate::dynamodb::fields;
use crate::dynamodb::item::{Item, row};
use crate::dynamodb::read::Place;
use crate::dynamodb::versions::replace_write;
use crate::dynamodb::write::Write;
use crate::settings::remembered::{WithSetting, version_place};
use crate::{Store, StoreError, Table, keys};

impl Store {
    /// All definitions of the workspace, including archived ones. One round trip for each megabyte (a hundred
    /// definitions of ordinary size are a few kilobytes).
    pub async fn definitions(&self, workspace: WorkspaceId) -> Result<Definitions, StoreError> {
        let rows: Vec<DefinitionRow> =
            self.partition(Table::Workspaces, keys::definitions(workspace)).await?;
        Ok(Definitions::new(rows.into_iter().map(AttributeDefinition::from).collect()))
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

    /// Stores a definition that [`Definitions::admit`] accepted for the workspace as `seen`. Returns `false`
    /// if the workspace has changed since; then the definitions must be read again. One round trip.
    pub async fn create_definition(
        &self,
        seen: &Workspace,
        definition: &AttributeDefinition,
    ) -> Result<bool, StoreError> {
        let put = Write::put(Table::Workspaces, definition_row(definition)?).when_absent();
        self.all_or_none([self.bump_version(seen), put]).await
    }

    /// Replaces a definition by its next version, which [`Definitions::admit`] accepted for the workspace as
    /// `seen`. Returns `false` if the workspace or the definition has changed since. One round trip.
    pub async fn change_definition(
        &self,
        seen: &Workspace,
        next: &AttributeDefinition,
    ) -> Result<bool, StoreError> {
        let replace = replace_write(Table::Workspaces, definition_row(next)?, next.version - 1);
        self.all_or_none([self.bump_version(seen), replace]).await
    }
}

fn definition_row(definition: &AttributeDefinition) -> Result<Item, StoreError> {
    let (pk, sk) = keys::definition(definition.workspace_id, definition.id);
    row(pk, sk, "attribute", &DefinitionRow::from(definition))
}

/// `W#A` / attribute id.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DefinitionRow {
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
    closed_values: Vec<ClosedValueField>,
    #[serde(with = "fields::text")]
    created_at: Timestamp,
    #[serde(with = "fields::optional", default, skip_serializing_if = "Option::is_none")]
    deleted_at: Option<Timestamp>,
    version: u64,
}

#[derive(Serialize, Deserialize)]
struct ClosedValueField {
    #[serde(with = "fields::text")]
    id: ClosedValueId,
    value: String,
}

impl From<DefinitionRow> for AttributeDefinition {
    fn from(row: DefinitionRow) -> Self {
        let value = |field: ClosedValueField| ClosedValue { id: field.id, value: field.value };
        Self {
            id: row.id,
            workspace_id: row.workspace_id,
            category: row.category,
            is_required: row.is_required,
            key_name: row.key_name,
            attribute_type: row.attribute_type,
            closed_values: row.closed_values.into_iter().map(value).collect(),
            created_at: row.created_at,
            deleted_at: row.deleted_at,
            version: row.version,
        }
    }
}

impl From<&AttributeDefinition> for DefinitionRow {
    fn from(definition: &AttributeDefinition) -> Self {
        let field = |value: &ClosedValue| ClosedValueField { id: value.id, value: value.value.clone() };
        Self {
            id: definition.id,
            workspace_id: definition.workspace_id,
            category: definition.category,
            is_required: definition.is_required,
            key_name: definition.key_name.clone(),
            attribute_type: definition.attribute_type,
            closed_values: definition.closed_values.iter().map(field).collect(),
            created_at: definition.created_at,
            deleted_at: definition.deleted_at,
            version: definition.version,
        }
    }
}
