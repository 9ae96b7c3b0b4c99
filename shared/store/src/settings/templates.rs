//! Message templates of workspaces and of the platform. Each scope is a partition.

use std::collections::{BTreeMap, BTreeSet};

use domain::settings::line::Provider;
use domain::settings::template::{ContactField, Decision, ParameterValue, Source, Variable, Verdict};
use domain::{
    BusinessAccountId, Template, TemplateCategory, TemplateId, TemplateScope, Timestamp, Workspace,
    WorkspaceId,
};
use serde::{Deserialize, Serialize};

use crate::dynamodb::fields::{self, stored};
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
        self.get_row(Table::Workspaces, keys::template(scope, id)).await
    }

    /// All templates of a scope, oldest first. One round trip for each megabyte.
    pub async fn templates_of(&self, scope: TemplateScope) -> Result<Vec<Template>, StoreError> {
        let mut templates: Vec<Template> = self.partition(Table::Workspaces, keys::templates(scope)).await?;
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
        let expression = "SET version = :next, kind = :kind, sv = :sv";
        let write = Write::update(Table::Workspaces, key(keys::platform_templates()), expression)
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
    let found = places.iter().filter_map(|place| rows.read::<Template>(place).transpose());
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
#[derive(Serialize, Deserialize)]
struct VersionRow {
    version: u64,
}

fn template_row(template: &Template) -> Result<Item, StoreError> {
    row(keys::template(template.scope, template.id), "template", template)
}

/// `W#M` / template id; under the nil UUID for templates of the platform.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Template", rename_all = "camelCase")]
struct TemplateRow {
    #[serde(with = "fields::text")]
    id: TemplateId,
    #[serde(flatten, with = "fields::Shaped::<ScopeFields>")]
    scope: TemplateScope,
    #[serde(with = "fields::text")]
    provider: Provider,
    name: String,
    language: String,
    /// Absent if it is not known.
    #[serde(with = "fields::optional", default, skip_serializing_if = "Option::is_none")]
    category: Option<TemplateCategory>,
    #[serde(with = "fields::list")]
    variables: Vec<Variable>,
    #[serde(with = "fields::list")]
    approved_by: BTreeSet<BusinessAccountId>,
    /// Absent if the provider has decided nothing yet.
    #[serde(with = "decisions", default, skip_serializing_if = "BTreeMap::is_empty")]
    decisions: BTreeMap<BusinessAccountId, Decision>,
    #[serde(with = "fields::text")]
    created_at: Timestamp,
    version: u64,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ScopeFields {
    /// Absent for templates of the platform.
    #[serde(with = "fields::optional", default, skip_serializing_if = "Option::is_none")]
    workspace_id: Option<WorkspaceId>,
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
#[serde(remote = "Variable")]
struct VariableField {
    name: String,
    #[serde(flatten, with = "fields::Shaped::<SourceFields>")]
    source: Source,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct SourceFields {
    /// The contact's field with the value. Absent if the caller gives the value.
    #[serde(with = "fields::optional", default, skip_serializing_if = "Option::is_none")]
    contact_field: Option<ContactField>,
    #[serde(with = "fields::optional", default, skip_serializing_if = "Option::is_none")]
    fallback: Option<ParameterValue>,
}

mod decisions {
    use std::collections::BTreeMap;

    use domain::BusinessAccountId;
    use domain::settings::template::Decision;
    use serde::{Deserialize, Deserializer, Serializer};

    use super::DecisionField;

    type Decisions = BTreeMap<BusinessAccountId, Decision>;

    pub(super) fn serialize<S: Serializer>(decisions: &Decisions, to: S) -> Result<S::Ok, S::Error> {
        let field = |(account, Decision { verdict, at }): (&BusinessAccountId, &Decision)| DecisionField {
            account: account.clone(),
            verdict: *verdict,
            at: *at,
        };
        to.collect_seq(decisions.iter().map(field))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Decisions, D::Error> {
        let fields = Vec::<DecisionField>::deserialize(from)?;
        let decision = |DecisionField { account, verdict, at }| (account, Decision { verdict, at });
        Ok(fields.into_iter().map(decision).collect())
    }
}

stored! { Template = TemplateRow, Variable = VariableField, VersionRow = VersionRow }

impl From<&TemplateScope> for ScopeFields {
    fn from(scope: &TemplateScope) -> Self {
        let workspace_id = match scope {
            TemplateScope::Workspace(workspace) => Some(*workspace),
            TemplateScope::Platform => None,
        };
        Self { workspace_id }
    }
}

impl From<ScopeFields> for TemplateScope {
    fn from(fields: ScopeFields) -> Self {
        fields.workspace_id.map_or(Self::Platform, Self::Workspace)
    }
}

impl From<&Source> for SourceFields {
    fn from(source: &Source) -> Self {
        match source {
            Source::Caller => Self { contact_field: None, fallback: None },
            Source::Contact { field, fallback } => {
                Self { contact_field: Some(*field), fallback: fallback.clone() }
            }
        }
    }
}

impl From<SourceFields> for Source {
    fn from(fields: SourceFields) -> Self {
        let of_contact = |field| Self::Contact { field, fallback: fields.fallback };
        fields.contact_field.map_or(Self::Caller, of_contact)
    }
}
