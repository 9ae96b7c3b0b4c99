//! `console attribute ...`

use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand};
use domain::attribute::NewAttribute;
use domain::{
    AttributeCategory, AttributeDefinition, AttributeId, AttributeType, ClosedValue, Timestamp, Unfit,
};
use serde::Serialize;

use crate::arguments::InWorkspace;
use crate::output::{Output, Shown};
use crate::{Console, Refusal, TRIES};

#[derive(Subcommand)]
pub(crate) enum Verb {
    /// Create an attribute.
    Create(Create),
    /// Archive an attribute: it can no longer be set and is no longer required.
    Archive {
        #[command(flatten)]
        within: InWorkspace,
        /// The attribute's id.
        #[arg(long, value_name = "ID", value_parser = AttributeId::parse)]
        attribute: AttributeId,
    },
    /// List the attributes, including archived ones, oldest first.
    List(InWorkspace),
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
            Self::Archive { within, attribute } => {
                let archived = archive(console, &within, attribute).await?;
                output.one(&AttributeView::of(&archived, console.store.now()))
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
    let unfit = |reason: Unfit| Refusal::Unfit { what: "The attribute cannot be created", reason };
    let new = NewAttribute {
        category: AttributeCategory::parse(&wanted.category).map_err(unfit)?,
        attribute_type: AttributeType::parse(&wanted.attribute_type).map_err(unfit)?,
        key_name: &wanted.key_name,
        is_required: wanted.required,
        values: &wanted.values,
    };
    let workspace_id = console.workspace(wanted.within.workspace).await?.id;
    let definition = AttributeDefinition::new(workspace_id, &new, store.ids(), store.now())?;
    for _ in 0..TRIES {
        // Read the workspace first: an addition after this read changes its version, and the write fails.
        let workspace = console.workspace(workspace_id).await?;
        store.definitions(workspace_id).await?.admit(&definition, store.now())?;
        if store.create_definition(&workspace, &definition).await? {
            return Ok(definition);
        }
    }
    Err(Refusal::Contended)
}

/// Archiving an archived attribute changes nothing.
async fn archive(
    console: &Console,
    within: &InWorkspace,
    id: AttributeId,
) -> Result<AttributeDefinition, Refusal> {
    let workspace = console.workspace(within.workspace).await?;
    let definitions = console.store.definitions(workspace.id).await?;
    let definition =
        definitions.iter().find(|definition| definition.id == id).ok_or(Refusal::UnknownAttribute(id))?;
    match definition.archived(console.store.now()) {
        None => Ok(definition.clone()),
        Some(next) if console.store.replace_definition(&next).await? => Ok(next),
        Some(_) => Err(Refusal::Contended),
    }
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
