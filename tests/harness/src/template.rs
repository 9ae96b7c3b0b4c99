//! The tables of `template.yaml`, so that tests and deployments cannot differ in a key or an index.

use std::path::Path;
use std::sync::OnceLock;

use saphyr::{LoadableYamlNode, Scalar, Yaml};
use serde_json::{Map, Value, json};

/// The name the embedded stack has.
pub(crate) const STACK: &str = "test";

/// One table as `CreateTable` takes it, and its `TimeToLiveSpecification` where it has one.
pub(crate) struct TableDefinition {
    pub(crate) create: Value,
    pub(crate) time_to_live: Option<Value>,
}

/// Every table of the template, named for the stack [`STACK`].
pub(crate) fn tables() -> &'static [TableDefinition] {
    static TABLES: OnceLock<Vec<TableDefinition>> = OnceLock::new();
    TABLES.get_or_init(|| {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../template.yaml");
        let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("template.yaml: {error}"));
        tables_of(&text)
    })
}

fn tables_of(template: &str) -> Vec<TableDefinition> {
    let documents = Yaml::load_from_str(template).unwrap_or_else(|error| panic!("template.yaml: {error}"));
    let Some(Yaml::Mapping(resources)) = documents.first().and_then(|document| member(document, "Resources"))
    else {
        panic!("template.yaml has no Resources");
    };
    resources
        .values()
        .filter(|resource| member(resource, "Type").and_then(Yaml::as_str) == Some("AWS::DynamoDB::Table"))
        .filter_map(|resource| member(resource, "Properties"))
        .map(|properties| definition(&to_json(properties)))
        .collect()
}

/// CloudFormation's properties are `CreateTable`'s members, but for the stream's switch and what belongs to
/// the running of a deployment (recovery, protection, encryption), which is left out.
fn definition(properties: &Value) -> TableDefinition {
    let mut create = Map::new();
    for name in ["TableName", "AttributeDefinitions", "KeySchema", "GlobalSecondaryIndexes", "BillingMode"] {
        if let Some(value) = properties.get(name) {
            create.insert(name.to_owned(), value.clone());
        }
    }
    if let Some(view) = properties.pointer("/StreamSpecification/StreamViewType") {
        create.insert(
            "StreamSpecification".to_owned(),
            json!({ "StreamEnabled": true, "StreamViewType": view }),
        );
    }
    let name = create.get("TableName").cloned().unwrap_or_default();
    let time_to_live = properties
        .get("TimeToLiveSpecification")
        .map(|specification| json!({ "TableName": name, "TimeToLiveSpecification": specification }));
    TableDefinition { create: Value::Object(create), time_to_live }
}

fn member<'a, 'input>(yaml: &'a Yaml<'input>, name: &str) -> Option<&'a Yaml<'input>> {
    match yaml {
        Yaml::Mapping(members) => {
            members.iter().find(|(key, _)| key.as_str() == Some(name)).map(|(_, value)| value)
        }
        _ => None,
    }
}

/// A part of the template as JSON. `!Sub` is carried out for the stack's name, `!If` takes its second branch
/// (what a stack outside production gets); other functions of CloudFormation become null.
fn to_json(yaml: &Yaml<'_>) -> Value {
    match yaml {
        Yaml::Tagged(tag, inner) => match (tag.suffix.as_str(), to_json(inner)) {
            ("Sub", Value::String(text)) => Value::String(text.replace("${AWS::StackName}", STACK)),
            ("If", Value::Array(branches)) => branches.into_iter().nth(2).unwrap_or_default(),
            _ => Value::Null,
        },
        Yaml::Sequence(items) => items.iter().map(to_json).collect(),
        Yaml::Mapping(members) => members
            .iter()
            .filter_map(|(key, value)| key.as_str().map(|key| (key.to_owned(), to_json(value))))
            .collect(),
        Yaml::Value(Scalar::String(text)) => Value::String(text.to_string()),
        Yaml::Value(Scalar::Boolean(flag)) => Value::Bool(*flag),
        Yaml::Value(Scalar::Integer(number)) => json!(number),
        _ => Value::Null,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_template_has_the_tables_that_the_store_knows() {
        let mut made: Vec<&str> =
            tables().iter().map(|table| table.create["TableName"].as_str().unwrap()).collect();
        made.sort_unstable();
        let known = store::Tables::of_stack(STACK);
        let mut wanted: Vec<&str> = store::Table::ALL.iter().map(|table| known.name(*table)).collect();
        wanted.sort_unstable();
        assert_eq!(made, wanted);
    }
}
