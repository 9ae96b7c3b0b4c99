//! `console attribute ...`

use admin::Refused;
use clap::{Args, Subcommand};
use domain::attribute::{DefinitionChange, NewAttribute};
use domain::{
    AttributeCategory, AttributeDefinition, AttributeId, AttributeType, ClosedValue, ClosedValueId, Timestamp,
};
use serde_json::json;

use crate::arguments::{InWorkspace, one, one_of};
use crate::output::{Output, Report};
use crate::view::View;
use crate::{Console, Refusal, Result};

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

one!(OneAttribute {
    /// The attribute's id.
    attribute: AttributeId = "ID", AttributeId::parse
});

#[derive(Args)]
pub(crate) struct Create {
    #[command(flatten)]
    within: InWorkspace,
    /// The name under which contacts show the attribute; it must be unique among the active attributes.
    #[arg(long)]
    key_name: String,
    /// OPEN: free content. CLOSED: a choice of values.
    #[arg(long, value_parser = one_of(AttributeCategory::NAMES, AttributeCategory::parse))]
    category: AttributeCategory,
    /// The type that the content must have.
    #[arg(long = "type", default_value = "TEXT", value_parser = one_of(AttributeType::NAMES, AttributeType::parse))]
    attribute_type: AttributeType,
    /// Make the attribute required: a contact without it is PARTIAL.
    #[arg(long)]
    required: bool,
    /// A value of a CLOSED attribute; repeat for several.
    #[arg(long = "value")]
    values: Vec<String>,
}

impl Verb {
    pub(crate) async fn run(self, console: &Console, _: &mut Output<'_>) -> Result<Report> {
        Ok(match self {
            Self::Create(wanted) => view(&create(console, &wanted).await?, console.store.now()).into(),
            Self::Archive(one) => one.set_archived(console, true).await?.into(),
            Self::Unarchive(one) => one.set_archived(console, false).await?.into(),
            Self::Rename { one, key_name } => {
                let change = DefinitionChange { key_name: Some(key_name), ..DefinitionChange::default() };
                one.set(console, &change).await?.into()
            }
            Self::AddValue { one, value } => {
                let ids = console.store.ids();
                let add = |definition: &AttributeDefinition| {
                    definition.with_value(&value, ids).map_err(Refused::AttributeUnfit)
                };
                one.change(console, add).await?.into()
            }
            Self::RenameValue { one, value, to } => {
                let rename = |definition: &AttributeDefinition| {
                    let id = value_named(definition, &value, &to)
                        .ok_or_else(|| Refused::UnknownValue(format!("{value:?}")))?;
                    definition.with_renamed_value(id, &to).map_err(Refused::AttributeUnfit)
                };
                one.change(console, rename).await?.into()
            }
            Self::List(within) => {
                let workspace = console.workspace(&within).await?;
                let (now, definitions) =
                    (console.store.now(), console.store.definitions(workspace.id).await?);
                definitions.iter().map(|definition| view(definition, now)).collect()
            }
        })
    }
}

async fn create(console: &Console, wanted: &Create) -> Result<AttributeDefinition> {
    let store = &console.store;
    let new = NewAttribute {
        category: wanted.category,
        attribute_type: wanted.attribute_type,
        key_name: &wanted.key_name,
        is_required: wanted.required,
        values: &wanted.values,
    };
    let workspace = console.workspace(&wanted.within).await?;
    let definition = AttributeDefinition::new(workspace.id, &new, store.ids(), store.now())?;
    match console.admin(workspace.id).await?.create_attribute(&definition, None).await {
        Err(Refusal::DefinitionChangeRefused(refused)) => Err(Refusal::DefinitionRefused(refused)),
        created => created.map(|_| definition),
    }
}

impl OneAttribute {
    async fn set_archived(self, console: &Console, is_archived: bool) -> Result<View> {
        let change = DefinitionChange { is_archived: Some(is_archived), ..DefinitionChange::default() };
        self.set(console, &change).await
    }

    async fn set(self, console: &Console, change: &DefinitionChange) -> Result<View> {
        let now = console.store.now();
        self.change(console, |definition| definition.changed(change, now).map_err(Refused::AttributeUnfit))
            .await
    }

    async fn change(
        self,
        console: &Console,
        change: impl Fn(&AttributeDefinition) -> Result<Option<AttributeDefinition>, Refused>,
    ) -> Result<View> {
        let workspace = console.workspace(&self.within).await?;
        let admin = console.admin(workspace.id).await?;
        Ok(view(&admin.update_attribute(self.attribute, change).await?, console.store.now()))
    }
}

/// The value with this text or id. If the value has the new text already, it was renamed before.
fn value_named(definition: &AttributeDefinition, named: &str, to: &str) -> Option<ClosedValueId> {
    let values = &definition.closed_values;
    let id = ClosedValueId::parse(named).ok();
    let found = values.iter().find(|value| Some(value.id) == id || value.value == named);
    found.or_else(|| values.iter().find(|value| value.value == to)).map(|value| value.id)
}

fn view(definition: &AttributeDefinition, now: Timestamp) -> View {
    let is_archived = definition.is_archived(now);
    let state = match (is_archived, definition.is_required) {
        (true, _) => "archived",
        (false, true) => "required",
        (false, false) => "optional",
    };
    let value = |value: &ClosedValue| json!({ "id": value.id.to_string(), "value": value.value });
    let values = &definition.closed_values;
    View::new()
        .text("id", "attribute", definition.id)
        .text("keyName", "key name", &definition.key_name)
        .text("category", "category", definition.category.as_str())
        .text("type", "type", definition.attribute_type.as_str())
        .json("isRequired", definition.is_required)
        .json("archived", is_archived)
        .cell("state", state)
        .json("values", values.iter().map(value).collect::<Vec<_>>())
        .lines("values", values.iter().map(|value| value.value.clone()))
}
