//! `console attribute ...`

use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand};
use domain::attribute::NewAttribute;
use domain::{
    AttributeCategory, AttributeDefinition, AttributeId, AttributeType, ClosedValue, ClosedValueId,
    Definitions, Timestamp, Workspace, WorkspaceId,
};
use serde::Serialize;

use crate::arguments::InWorkspace;
use crate::changed::{Decision, changed};
use crate::output::{Output, Shown};
use crate::refusal::{Named, unfit};
use crate::{Console, Refusal};

#[derive(Subcommand)]
pub(crate) enum Verb {
    /// Create an attribute.
    Create(Create),
    /// Archive an attribute: it can no longer be set and is no longer required.
    Archive(OneAttribute),
    /// Make an archived attribute active again, if no active attribute has its key name.
    Unarchive(OneAttribute),
    /// Change the key name. Contacts show their content under the new name at once.
    Rename {
        #[command(flatten)]
        one: OneAttribute,
        /// The new key name; it must be unique among the active attributes.
        #[arg(long)]
        key_name: String,
    },
    /// Add a value to a CLOSED attribute.
    AddValue {
        #[command(flatten)]
        one: OneAttribute,
        /// The new value.
        #[arg(long)]
        value: String,
    },
    /// Change the text of a value of a CLOSED attribute. Contacts with the value show the new text at once.
    RenameValue {
        #[command(flatten)]
        one: OneAttribute,
        /// The value: its present text or its id.
        #[arg(long, value_name = "TEXT|ID")]
        value: String,
        /// The new text.
        #[arg(long, value_name = "TEXT")]
        to: String,
    },
    /// List the attributes, including archived ones, oldest first.
    List(InWorkspace),
}

#[derive(Args)]
pub(crate) struct OneAttribute {
    #[command(flatten)]
    within: InWorkspace,
    /// The attribute's id.
    #[arg(long, value_name = "ID", value_parser = AttributeId::parse)]
    attribute: AttributeId,
}

#[derive(Args)]
pub(crate) struct Create {
    #[command(flatten)]
    within: InWorkspace,
    /// The name under which contacts show the attribute; it must be unique among the active attributes.
    #[arg(long)]
    key_name: String,
    /// OPEN: free content. CLOSED: a choice of values.
    #[arg(long, value_parser = PossibleValuesParser::new(AttributeCategory::NAMES))]
    category: String,
    /// The type that the content must have.
    #[arg(long = "type", default_value = "TEXT", value_parser = PossibleValuesParser::new(AttributeType::NAMES))]
    attribute_type: String,
    /// Make the attribute required: a contact without it is PARTIAL.
    #[arg(long)]
    required: bool,
    /// A value of a CLOSED attribute; repeat for several.
    #[arg(long = "value")]
    values: Vec<String>,
}

impl Verb {
    pub(crate) async fn run(self, console: &Console, output: &mut Output<'_>) -> Result<(), Refusal> {
        match self {
            Self::Create(wanted) => {
                let made = create(console, &wanted).await?;
                output.one(&AttributeView::of(&made, console.store.now()))
            }
            Self::Archive(one) => {
                let now = console.store.now();
                one.change(console, |definition| Ok(definition.archived(now)), output).await
            }
            Self::Unarchive(one) => {
                let now = console.store.now();
                one.change(console, |definition| Ok(definition.unarchived(now)), output).await
            }
            Self::Rename { one, key_name } => {
                let rename = |definition: &AttributeDefinition| {
                    definition.renamed(&key_name).map_err(Refusal::DefinitionChangeUnfit)
                };
                one.change(console, rename, output).await
            }
            Self::AddValue { one, value } => {
                let ids = console.store.ids();
                let add = |definition: &AttributeDefinition| {
                    definition.with_value(&value, ids).map_err(Refusal::DefinitionChangeUnfit)
                };
                one.change(console, add, output).await
            }
            Self::RenameValue { one, value, to } => {
                let rename = |definition: &AttributeDefinition| {
                    let Some(id) = value_named(definition, &value, &to) else {
                        return Err(Named::ClosedValue.unknown(format!("{value:?}")));
                    };
                    definition.with_renamed_value(id, &to).map_err(Refusal::DefinitionChangeUnfit)
                };
                one.change(console, rename, output).await
            }
            Self::List(within) => {
                let workspace = console.workspace(within.workspace).await?;
                let (now, definitions) =
                    (console.store.now(), console.store.definitions(workspace.id).await?);
                let views = definitions.iter().map(|definition| AttributeView::of(definition, now));
                output.list(&views.collect::<Vec<_>>())
            }
        }
    }
}

async fn create(console: &Console, wanted: &Create) -> Result<AttributeDefinition, Refusal> {
    let store = &console.store;
    let new = NewAttribute {
        category: AttributeCategory::parse(&wanted.category)
            .map_err(unfit("The attribute cannot be created"))?,
        attribute_type: AttributeType::parse(&wanted.attribute_type)
            .map_err(unfit("The attribute cannot be created"))?,
        key_name: &wanted.key_name,
        is_required: wanted.required,
        values: &wanted.values,
    };
    let workspace_id = console.workspace(wanted.within.workspace).await?.id;
    let definition = AttributeDefinition::new(workspace_id, &new, store.ids(), store.now())?;
    changed(
        async || read(console, workspace_id).await,
        |(_, definitions)| {
            definitions.admit(&definition, store.now())?;
            Ok(Decision::Changed(definition.clone()))
        },
        async |(workspace, _), next| store.create_definition(workspace, next).await,
    )
    .await
}

/// Reads the workspace first: an addition after this read changes its version, and the write fails.
async fn read(console: &Console, id: WorkspaceId) -> Result<(Workspace, Definitions), Refusal> {
    let workspace = console.workspace(id).await?;
    Ok((workspace, console.store.definitions(id).await?))
}

impl OneAttribute {
    async fn change(
        self,
        console: &Console,
        change: impl Fn(&AttributeDefinition) -> Result<Option<AttributeDefinition>, Refusal>,
        output: &mut Output<'_>,
    ) -> Result<(), Refusal> {
        let (store, now) = (&console.store, console.store.now());
        let definition = changed(
            async || read(console, self.within.workspace).await,
            |(_, definitions)| {
                let found = definitions.iter().find(|definition| definition.id == self.attribute);
                let definition = Named::Attribute.found(found, self.attribute)?;
                let next = change(definition)?;
                if let Some(next) = &next {
                    definitions.admit(next, now).map_err(Refusal::DefinitionChangeRefused)?;
                }
                Ok(Decision::of(definition, next))
            },
            async |(workspace, _), next| store.change_definition(workspace, next).await,
        );
        output.one(&AttributeView::of(&definition.await?, now))
    }
}

/// The value with this text or id. If the value has the new text already, it was renamed before.
fn value_named(definition: &AttributeDefinition, named: &str, to: &str) -> Option<ClosedValueId> {
    let values = &definition.closed_values;
    let id = ClosedValueId::parse(named).ok();
    let found = values.iter().find(|value| Some(value.id) == id || value.value == named);
    found.or_else(|| values.iter().find(|value| value.value == to)).map(|value| value.id)
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct AttributeView {
    id: String,
    key_name: String,
    category: &'static str,
    r#type: &'static str,
    is_required: bool,
    archived: bool,
    values: Vec<ValueView>,
}

#[derive(Serialize)]
struct ValueView {
    id: String,
    value: String,
}

impl AttributeView {
    fn of(definition: &AttributeDefinition, now: Timestamp) -> Self {
        let value = |value: &ClosedValue| ValueView { id: value.id.to_string(), value: value.value.clone() };
        Self {
            id: definition.id.to_string(),
            key_name: definition.key_name.clone(),
            category: definition.category.as_str(),
            r#type: definition.attribute_type.as_str(),
            is_required: definition.is_required,
            archived: definition.is_archived(now),
            values: definition.closed_values.iter().map(value).collect(),
        }
    }
}

impl Shown for AttributeView {
    const HEADINGS: &'static [&'static str] =
        &["attribute", "key name", "category", "type", "state", "values"];

    fn cells(&self) -> Vec<String> {
        let is = match (self.archived, self.is_required) {
            (true, _) => "archived",
            (false, true) => "required",
            (false, false) => "optional",
        };
        vec![
            self.id.clone(),
            self.key_name.clone(),
            self.category.to_owned(),
            self.r#type.to_owned(),
            is.to_owned(),
            self.values.iter().map(|value| value.value.as_str()).collect::<Vec<_>>().join("; "),
        ]
    }
}
