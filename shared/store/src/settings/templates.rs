//! Message templates of workspaces and of the platform. Each scope is a partition.

use std::collections::BTreeMap;

use domain::settings::line::Provider;
use domain::settings::template::{
    AccountState, ContactField, Form, ParameterValue, SaidBy, Source, Sources, TemplateName,
};
use domain::{
    BusinessAccountId, Template, TemplateCategory, TemplateId, TemplateScope, TemplateStatus, Timestamp,
    Workspace, WorkspaceId,
};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::dynamodb::fields::{self, Stored, stored};
use crate::dynamodb::item::{Item, SCHEMA, key, n, read, row, s};
use crate::dynamodb::read::{Place, Rows};
use crate::dynamodb::versions::delete_write;
use crate::dynamodb::write::{Refusal, Transaction, TwoRoles, Write};
use crate::settings::form_field::FormField;
use crate::{Store, StoreError, Table, keys};

/// The kind of the rows of templates.
pub(crate) const TEMPLATE: &str = "template";

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

    /// The template with this name at the provider, if the scope has it. Two round trips, or one without it.
    pub async fn template_named(
        &self,
        scope: TemplateScope,
        name: &str,
        language: &str,
    ) -> Result<Option<Template>, StoreError> {
        let key = keys::template_name(scope, name, language);
        match self.get_row::<NameRow>(Table::Workspaces, key).await? {
            Some(NameRow { template_id }) => self.template(scope, template_id).await,
            None => Ok(None),
        }
    }

    /// The templates with these names in these scopes. Two round trips, or one if there are none.
    pub async fn templates_named(
        &self,
        scopes: &[TemplateScope],
        names: &[TemplateName],
    ) -> Result<Vec<Template>, StoreError> {
        let of_name = |scope: &TemplateScope, (name, language): &TemplateName| {
            (*scope, Place::of(Table::Workspaces, keys::template_name(*scope, name, language)))
        };
        let places: Vec<(TemplateScope, Place)> =
            scopes.iter().flat_map(|scope| names.iter().map(move |name| of_name(scope, name))).collect();
        if places.is_empty() {
            return Ok(vec![]);
        }
        let mut rows = self.rows_at(places.iter().map(|(_, place)| place)).await?;
        let mut found = vec![];
        for (scope, place) in &places {
            if let Some(NameRow { template_id }) = rows.read(place)? {
                found.push(Place::of(Table::Workspaces, keys::template(*scope, template_id)));
            }
        }
        if found.is_empty() {
            return Ok(vec![]);
        }
        let mut rows = self.rows_at(&found).await?;
        // A template that was deleted in between is left out.
        found.iter().filter_map(|place| rows.read(place).transpose()).collect()
    }

    /// Stores templates of one scope with different names, at most [`Self::TEMPLATES_AT_ONCE`], all of them or none. `seen` was read
    /// before. Returns `false` if the owner has changed since, or one of the names is taken. One round trip.
    pub async fn create_templates(
        &self,
        seen: &TemplateOwner,
        templates: &[Template],
    ) -> Result<bool, StoreError> {
        let mut writes = vec![self.next_version_of(seen)];
        for template in templates {
            writes.push(Write::put(Table::Workspaces, name_row(template)?).when_absent());
            writes.push(Write::put(Table::Workspaces, template_row(template)?).when_absent());
        }
        self.all_or_none(writes).await
    }

    /// The greatest number of templates that one call stores.
    pub const TEMPLATES_AT_ONCE: usize = 20;

    /// Stores a template. `seen` was read before. One round trip.
    pub async fn create_template(
        &self,
        seen: &TemplateOwner,
        template: &Template,
    ) -> Result<TemplateCreated, StoreError> {
        let name = name_row(template)?;
        let writes = Transaction::new()
            .with(TwoRoles::Main, Write::put(Table::Workspaces, name).when_absent())
            .with(TwoRoles::Other, self.next_version_of(seen))
            .with(TwoRoles::Other, Write::put(Table::Workspaces, template_row(template)?).when_absent());
        let Err(refusals) = self.transact(writes).await? else { return Ok(TemplateCreated::Done) };
        match refusals.into_iter().next() {
            Some(Refusal { role: TwoRoles::Main, found: Some(found) }) => {
                let NameRow { template_id } = read(found)?;
                // An attempt whose answer was lost made it.
                let is_done = template_id == template.id;
                Ok(if is_done { TemplateCreated::Done } else { TemplateCreated::NameTaken(template_id) })
            }
            _ => Ok(TemplateCreated::Stale),
        }
    }

    /// Deletes a template that nothing uses. `seen` was read before what could use it. Returns `false` if the
    /// owner or the template has changed since. One round trip.
    pub async fn delete_template(
        &self,
        seen: &TemplateOwner,
        template: &Template,
    ) -> Result<bool, StoreError> {
        let of_name = keys::template_name(template.scope, &template.name, &template.language);
        let of_name = Write::delete(Table::Workspaces, key(of_name));
        let row = keys::template(template.scope, template.id);
        let delete = delete_write(Table::Workspaces, row, template.version);
        self.all_or_none([self.next_version_of(seen), delete, of_name]).await
    }

    /// Replaces a template by its next version. Returns `false` if the previous version is not the current
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

/// The result of storing a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TemplateCreated {
    /// The template is stored.
    Done,
    /// This template of the scope has the name in this language.
    NameTaken(TemplateId),
    /// The owner has changed since it was read.
    Stale,
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
    row(keys::template(template.scope, template.id), TEMPLATE, template)
}

fn name_row(template: &Template) -> Result<Item, StoreError> {
    let key = keys::template_name(template.scope, &template.name, &template.language);
    row(key, "templateName", &NameRow { template_id: template.id })
}

/// `W#MN` / name, `#` and language.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct NameRow {
    #[serde(with = "fields::text")]
    pub(crate) template_id: TemplateId,
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
    #[serde(with = "FormField")]
    form: Form,
    #[serde(with = "fields::map")]
    sources: Sources,
    #[serde(with = "fields::map")]
    states: BTreeMap<BusinessAccountId, AccountState>,
    /// Absent if an operator entered the components.
    #[serde(with = "fields::optional", default, skip_serializing_if = "Option::is_none")]
    taken_from: Option<BusinessAccountId>,
    #[serde(with = "fields::text")]
    created_at: Timestamp,
    #[serde(with = "fields::text")]
    updated_at: Timestamp,
    version: u64,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ScopeFields {
    /// Absent for templates of the platform.
    #[serde(with = "fields::optional", default, skip_serializing_if = "Option::is_none")]
    workspace_id: Option<WorkspaceId>,
}

/// A source of a slot.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum SourceField {
    /// The caller may give the value. Otherwise it is this one.
    Caller {
        #[serde(with = "fields::text")]
        or: ParameterValue,
    },
    Contact {
        #[serde(with = "fields::text")]
        field: ContactField,
        #[serde(with = "fields::optional", default, skip_serializing_if = "Option::is_none")]
        fallback: Option<ParameterValue>,
    },
    Fixed {
        #[serde(with = "fields::text")]
        value: ParameterValue,
    },
    /// The caller must give the value.
    CallerOnly,
}

impl Stored for Source {
    fn write<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let field = match self.clone() {
            Self::Caller => SourceField::CallerOnly,
            Self::CallerOr(or) => SourceField::Caller { or },
            Self::Contact { field, fallback } => SourceField::Contact { field, fallback },
            Self::Fixed(value) => SourceField::Fixed { value },
        };
        field.serialize(to)
    }

    fn read<'de, D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Ok(match SourceField::deserialize(from)? {
            SourceField::CallerOnly => Self::Caller,
            SourceField::Caller { or } => Self::CallerOr(or),
            SourceField::Contact { field, fallback } => Self::Contact { field, fallback },
            SourceField::Fixed { value } => Self::Fixed(value),
        })
    }
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "AccountState", rename_all = "camelCase")]
struct StateField {
    #[serde(with = "fields::text")]
    status: TemplateStatus,
    #[serde(with = "fields::text")]
    at: Timestamp,
    #[serde(with = "fields::text")]
    by: SaidBy,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    meta_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    quality: Option<String>,
    #[serde(with = "fields::optional", default, skip_serializing_if = "Option::is_none")]
    category: Option<TemplateCategory>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    shape: Option<String>,
}

stored! { Template = TemplateRow, NameRow = NameRow, AccountState = StateField, VersionRow = VersionRow }

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
