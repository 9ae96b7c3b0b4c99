//! Message templates of workspaces and of the platform. Each scope is a partition.

use std::collections::BTreeMap;

use domain::settings::line::Provider;
use domain::settings::template::{ContactField, Decision, ParameterValue, Source, Variable, Verdict};
use domain::{BusinessAccountId, Template, TemplateId, TemplateScope, Timestamp, Workspace, WorkspaceId};
use serde::{Deserialize, Serialize};

use crate::dynamodb::fields;
use crate::dynamodb::item::{Item, SCHEMA, key, n, row, s};
use crate::dynamodb::read::{Place, Rows};
use crate::dynamodb::versions::{delete_write, replace_write};
use crate::dynamodb::write::Write;
use crate::{Store, StoreError, Table, keys};

impl Store {
    /// The named templates that the workspace may use: its own and the platform's. If an id is in both, its
    /// own wins. At most 50 ids, duplicates allowed. One round trip; none without ids.
    pub async fn templates(
        &self,
        workspace: WorkspaceId,
        ids: &[TemplateId],
    ) -> Result<BTreeMap<TemplateId, Template>, StoreError> {
        let places = template_places(workspace, ids);
        take_templates(&mut self.rows_at(&places).await?, &places)
    }

    /// The template with this id and scope. One round trip.
    pub async fn template(
        &self,
        scope: TemplateScope,
        id: TemplateId,
    ) -> Result<Option<Template>, StoreError> {
        let row: Option<TemplateRow> = self.get_row(Table::Workspaces, keys::template(scope, id)).await?;
        Ok(row.map(Template::from))
    }

    /// All templates of a scope, oldest first. One round trip for each megabyte.
    pub async fn templates_of(&self, scope: TemplateScope) -> Result<Vec<Template>, StoreError> {
        let rows: Vec<TemplateRow> = self.partition(Table::Workspaces, keys::templates(scope)).await?;
        let mut templates: Vec<Template> = rows.into_iter().map(Template::from).collect();
        templates.sort_by_key(|template| (template.created_at, template.id));
        Ok(templates)
    }

    /// The platform as the owner of its templates. One round trip.
    pub async fn platform_templates(&self) -> Result<TemplateOwner, StoreError> {
        let row: Option<VersionRow> = self.get_row(Table::Workspaces, keys::platform_templates()).await?;
        Ok(TemplateOwner::Platform { version: row.map_or(0, |row| row.version) })
    }

    /// Stores a template whose name [`Template::check_name`] accepted. `seen` was read before the scope's
    /// templates. Returns `false` if the owner has changed since; then the templates must be read again. One
    /// round trip.
    pub async fn create_template(
        &self,
        seen: &TemplateOwner,
        template: &Template,
    ) -> Result<bool, StoreError> {
        let put = Write::put(Table::Workspaces, template_row(template)?).when_absent();
        self.all_or_none([self.next_version_of(seen), put]).await
    }

    /// Replaces a template by its next version, whose name [`Template::check_name`] accepted. `seen` was read
    /// before the scope's templates. Returns `false` if the owner or the template has changed since. One round
    /// trip.
    pub async fn rename_template(&self, seen: &TemplateOwner, next: &Template) -> Result<bool, StoreError> {
        let replace = replace_write(Table::Workspaces, template_row(next)?, next.version - 1);
        self.all_or_none([self.next_version_of(seen), replace]).await
    }

    /// Deletes a template that nothing uses. `seen` was read before what could use it. Returns `false` if the
    /// owner or the template has changed since. One round trip.
    pub async fn delete_template(
        &self,
        seen: &TemplateOwner,
        template: &Template,
    ) -> Result<bool, StoreError> {
        let key = keys::template(template.scope, template.id);
        let delete = delete_write(Table::Workspaces, key, template.version);
        self.all_or_none([self.next_version_of(seen), delete]).await
    }

    /// Replaces a template by its next version, which has the same name. Returns `false` if the previous version is not the current
    /// one. One round trip.
    pub async fn replace_template(&self, next: &Template) -> Result<bool, StoreError> {
        self.put_next(Table::Workspaces, template_row(next)?, next.version - 1).await
    }

    /// Part of a transaction: the owner must still be as it was read, and gets the next version.
    fn next_version_of(&self, owner: &TemplateOwner) -> Write {
        let version = match owner {
            TemplateOwner::Workspace(seen) => return self.bump_version(seen),
            TemplateOwner::Platform { version } => *version,
        };
        let (pk, sk) = keys::platform_templates();
        let expression = "SET version = :next, kind = :kind, sv = :sv";
        let write = Write::update(Table::Workspaces, key(pk, sk), expression)
            .bind(":next", n(version + 1))
            .bind(":kind", s("platformTemplates"))
            .bind(":sv", n(SCHEMA));
        match version {
            0 => write.when_absent(),
            seen => write.when("version = :seen").bind(":seen", n(seen)),
        }
    }
}

/// The owner of a scope's templates as it was read. Changes that depend on the other templates of the scope, or on
/// what uses them, are made under its version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TemplateOwner {
    /// A workspace.
    Workspace(Box<Workspace>),
    /// The platform.
    Platform {
        /// The number of such changes to the platform's templates.
        version: u64,
    },
}

/// Where templates with these ids are, if they exist: those of the platform first.
pub(crate) fn template_places(workspace: WorkspaceId, ids: &[TemplateId]) -> Vec<Place> {
    let scopes = [TemplateScope::Platform, TemplateScope::Workspace(workspace)];
    let place = |scope, id| Place::of(Table::Workspaces, keys::template(scope, id));
    scopes.into_iter().flat_map(|scope| ids.iter().map(move |id| place(scope, *id))).collect()
}

/// The templates at these places. A template of the workspace replaces the platform's with the same id.
pub(crate) fn take_templates(
    rows: &mut Rows,
    places: &[Place],
) -> Result<BTreeMap<TemplateId, Template>, StoreError> {
    let found = places.iter().filter_map(|place| rows.read::<TemplateRow>(place).transpose());
    let found = found.map(|row| row.map(Template::from));
    found.map(|template| template.map(|template| (template.id, template))).collect()
}

impl TemplateOwner {
    /// The scope of the templates.
    pub fn scope(&self) -> TemplateScope {
        match self {
            Self::Workspace(workspace) => TemplateScope::Workspace(workspace.id),
            Self::Platform { .. } => TemplateScope::Platform,
        }
    }
}

/// The version of the platform's templates.
#[derive(Deserialize)]
struct VersionRow {
    version: u64,
}

fn template_row(template: &Template) -> Result<Item, StoreError> {
    let (pk, sk) = keys::template(template.scope, template.id);
    row(pk, sk, "template", &TemplateRow::from(template))
}

/// `W#M` / template id; under the nil UUID for templates of the platform.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct TemplateRow {
    #[serde(with = "fields::text")]
    id: TemplateId,
    /// Absent for templates of the platform.
    #[serde(with = "fields::optional", default, skip_serializing_if = "Option::is_none")]
    workspace_id: Option<WorkspaceId>,
    #[serde(with = "fields::text")]
    provider: Provider,
    name: String,
    language: String,
    variables: Vec<VariableField>,
    #[serde(with = "fields::list")]
    approved_by: Vec<BusinessAccountId>,
    /// Absent if the provider has decided nothing yet.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    decisions: Vec<DecisionField>,
    #[serde(with = "fields::text")]
    created_at: Timestamp,
    version: u64,
}

#[derive(Serialize, Deserialize)]
struct DecisionField {
    #[serde(with = "fields::text")]
    account: BusinessAccountId,
    #[serde(with = "fields::text")]
    verdict: Verdict,
    #[serde(with = "fields::text")]
    at: Timestamp,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct VariableField {
    name: String,
    /// The contact's field with the value. Absent if the caller gives the value.
    #[serde(with = "fields::optional", default, skip_serializing_if = "Option::is_none")]
    contact_field: Option<ContactField>,
    #[serde(with = "fields::optional", default, skip_serializing_if = "Option::is_none")]
    fallback: Option<ParameterValue>,
}

impl From<TemplateRow> for Template {
    fn from(row: TemplateRow) -> Self {
        Self {
            id: row.id,
            scope: row.workspace_id.map_or(TemplateScope::Platform, TemplateScope::Workspace),
            provider: row.provider,
            name: row.name,
            language: row.language,
            variables: row.variables.into_iter().map(Variable::from).collect(),
            approved_by: row.approved_by.into_iter().collect(),
            decisions: row
                .decisions
                .into_iter()
                .map(|DecisionField { account, verdict, at }| (account, Decision { verdict, at }))
                .collect(),
            created_at: row.created_at,
            version: row.version,
        }
    }
}

impl From<&Template> for TemplateRow {
    fn from(template: &Template) -> Self {
        Self {
            id: template.id,
            workspace_id: match template.scope {
                TemplateScope::Workspace(workspace) => Some(workspace),
                TemplateScope::Platform => None,
            },
            provider: template.provider,
            name: template.name.clone(),
            language: template.language.clone(),
            variables: template.variables.iter().map(VariableField::from).collect(),
            approved_by: template.approved_by.iter().cloned().collect(),
            decisions: template
                .decisions
                .iter()
                .map(|(account, Decision { verdict, at })| DecisionField {
                    account: account.clone(),
                    verdict: *verdict,
                    at: *at,
                })
                .collect(),
            created_at: template.created_at,
            version: template.version,
        }
    }
}

impl From<VariableField> for Variable {
    fn from(field: VariableField) -> Self {
        let source = match field.contact_field {
            Some(of_contact) => Source::Contact { field: of_contact, fallback: field.fallback },
            None => Source::Caller,
        };
        Self { name: field.name, source }
    }
}

impl From<&Variable> for VariableField {
    fn from(variable: &Variable) -> Self {
        let (contact_field, fallback) = match &variable.source {
            Source::Caller => (None, None),
            Source::Contact { field, fallback } => (Some(*field), fallback.clone()),
        };
        Self { name: variable.name.clone(), contact_field, fallback }
    }
}
