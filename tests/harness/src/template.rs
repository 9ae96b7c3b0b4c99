//! The tables of `template.yaml`, so that tests and deployments use the same keys and indexes.

use std::path::Path;
use std::sync::OnceLock;
use std::time::Duration;

use saphyr::{LoadableYamlNode, Scalar, Yaml};
use serde_json::{Map, Value, json};

/// The value of a member that is absent.
const NO_VALUE: &str = "${AWS::NoValue}";

/// The name of the embedded stack.
pub(crate) const STACK: &str = "test";

/// The `CreateTable` request of one table, and its `TimeToLiveSpecification` if it has one.
pub(crate) struct TableDefinition {
    pub(crate) create: Value,
    pub(crate) time_to_live: Option<Value>,
}

/// All tables of the template, with the names that they have in the stack [`STACK`].
pub(crate) fn tables() -> &'static [TableDefinition] {
    static TABLES: OnceLock<Vec<TableDefinition>> = OnceLock::new();
    TABLES.get_or_init(|| {
        of_type("AWS::DynamoDB::Table").map(|(_, properties)| definition(properties)).collect()
    })
}

/// The policy statements of a function's role. Table and index names replace their ARNs.
pub(crate) fn statements(function: &str) -> Vec<Value> {
    let roles = of_type("AWS::IAM::Role").flat_map(|(_, role)| role["Policies"].as_array()).flatten();
    let policies = roles.filter(|policy| policy["PolicyName"] == function);
    let statements = policies.filter_map(|policy| policy["PolicyDocument"]["Statement"].as_array()).flatten();
    statements
        .map(|statement| Value::String(statement.to_string()))
        .filter_map(|text| {
            let named =
                of_type("AWS::DynamoDB::Table").fold(text.as_str()?.to_owned(), |text, (id, table)| {
                    text.replace(&format!("${{{id}.Arn}}"), table["TableName"].as_str().unwrap_or_default())
                });
            serde_json::from_str(&named).ok()
        })
        .collect()
}

/// After how many tries, and at what age, Lambda gives up a record of the streams that the relay reads.
pub fn relay_gives_up() -> (u32, Duration) {
    let events = resources()["EventRelayFunction"]["Properties"]["Events"].as_object();
    let streams = events.into_iter().flatten().filter(|(_, event)| event["Type"] == "DynamoDB");
    let number = |value: &Value| u32::try_from(value.as_u64().unwrap_or_else(|| panic!("no limit: {value}")));
    let limits = streams.map(|(_, stream)| {
        let least = |name| number(&stream["Properties"][name]).unwrap_or_else(|error| panic!("{error}"));
        (least("MaximumRetryAttempts"), Duration::from_secs(least("MaximumRecordAgeInSeconds").into()))
    });
    limits.min().unwrap_or_else(|| panic!("the relay reads no stream"))
}

/// The logical ids and the properties of all resources of one type in the template.
fn of_type(wanted: &str) -> impl Iterator<Item = (&'static String, &'static Value)> {
    resources()
        .iter()
        .filter(move |(_, resource)| resource["Type"] == wanted)
        .map(|(id, resource)| (id, &resource["Properties"]))
}

fn resources() -> &'static Map<String, Value> {
    static RESOURCES: OnceLock<Map<String, Value>> = OnceLock::new();
    RESOURCES.get_or_init(|| {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../template.yaml");
        let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("template.yaml: {error}"));
        let documents = Yaml::load_from_str(&text).unwrap_or_else(|error| panic!("template.yaml: {error}"));
        match documents.first().map(to_json).unwrap_or_default()["Resources"].take() {
            Value::Object(resources) => resources,
            _ => panic!("template.yaml has no Resources"),
        }
    })
}

/// Converts CloudFormation's properties into a `CreateTable` request. They have the same names, except for the switch
/// of the stream. Recovery, protection and encryption matter only in a deployment and are left out.
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

/// A part of the template as JSON. `!Sub` is carried out for the stack's name, `!If` takes its second branch
/// (what a stack outside production gets), `!GetAtt` and `!Ref` become `${...}`; other functions become null. As in
/// CloudFormation, a member that is `!Ref AWS::NoValue` is absent.
fn to_json(yaml: &Yaml<'_>) -> Value {
    match yaml {
        Yaml::Tagged(tag, inner) => match (tag.suffix.as_str(), to_json(inner)) {
            ("Sub", Value::String(text)) => Value::String(text.replace("${AWS::StackName}", STACK)),
            ("GetAtt" | "Ref", Value::String(name)) => Value::String(format!("${{{name}}}")),
            ("If", Value::Array(branches)) => branches.into_iter().nth(2).unwrap_or_default(),
            _ => Value::Null,
        },
        Yaml::Sequence(items) => items.iter().map(to_json).collect(),
        Yaml::Mapping(members) => members
            .iter()
            .filter_map(|(key, value)| key.as_str().map(|key| (key.to_owned(), to_json(value))))
            .filter(|(_, value)| value != NO_VALUE)
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
    fn indexes_have_no_member_without_a_value() {
        let indexes =
            tables().iter().filter_map(|table| table.create["GlobalSecondaryIndexes"].as_array()).flatten();
        let mut count = 0;
        for index in indexes {
            let names: Vec<&str> = index.as_object().unwrap().keys().map(String::as_str).collect();
            assert_eq!(names, ["IndexName", "KeySchema", "Projection"]);
            count += 1;
        }
        assert_eq!(count, 10);
    }

    #[test]
    fn the_template_has_exactly_the_tables_that_the_store_knows() {
        let mut made: Vec<&str> =
            tables().iter().map(|table| table.create["TableName"].as_str().unwrap()).collect();
        made.sort_unstable();
        let known = store::Tables::of_stack(STACK);
        let mut wanted: Vec<&str> = store::Table::ALL.iter().map(|table| known.name(*table)).collect();
        wanted.sort_unstable();
        assert_eq!(made, wanted);
    }
}
