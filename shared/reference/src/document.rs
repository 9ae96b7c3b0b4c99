//! `openapi.yaml`, parsed once, in the order of the file.

use std::fmt::Write;
use std::sync::LazyLock;

use saphyr::{LoadableYamlNode, Scalar, Yaml};
use serde_json::{Value, json};

/// The text of the file.
pub const OPENAPI: &str = include_str!("../../../openapi.yaml");

/// The parsed file.
pub(super) fn root() -> &'static Yaml<'static> {
    static ROOT: LazyLock<Yaml<'static>> = LazyLock::new(|| {
        let documents = Yaml::load_from_str(OPENAPI).unwrap_or_default();
        documents.into_iter().next().unwrap_or(Yaml::BadValue)
    });
    &ROOT
}

/// The file as JSON, without its order. Tests compare it with the code.
pub fn as_json() -> Value {
    to_json(root())
}

fn to_json(node: &Yaml<'_>) -> Value {
    match node {
        Yaml::Sequence(items) => items.iter().map(to_json).collect(),
        Yaml::Mapping(members) => members
            .iter()
            .filter_map(|(key, value)| key.as_str().map(|key| (key.to_owned(), to_json(value))))
            .collect(),
        Yaml::Value(Scalar::String(text)) => json!(text),
        Yaml::Value(Scalar::Boolean(flag)) => json!(flag),
        Yaml::Value(Scalar::Integer(number)) => json!(number),
        _ => Value::Null,
    }
}

/// A member of an object.
pub(super) fn get<'y>(node: &'y Yaml<'static>, name: &str) -> Option<&'y Yaml<'static>> {
    node.as_mapping_get(name)
}

/// The text of a member, or an empty text if the member is absent.
pub(super) fn text<'y>(node: &'y Yaml<'static>, name: &str) -> &'y str {
    get(node, name).and_then(Yaml::as_str).unwrap_or_default()
}

/// The members of an object, in their order. Empty if the object is absent.
pub(super) fn entries(
    node: Option<&'static Yaml<'static>>,
) -> impl Iterator<Item = (&'static str, &'static Yaml<'static>)> {
    node.and_then(Yaml::as_mapping)
        .into_iter()
        .flatten()
        .filter_map(|(key, value)| key.as_str().map(|key| (key, value)))
}

/// The items of an array. Empty if the array is absent.
pub(super) fn list(node: Option<&'static Yaml<'static>>) -> &'static [Yaml<'static>] {
    node.and_then(Yaml::as_sequence).map_or(&[], Vec::as_slice)
}

/// The target of a `$ref`, or the node itself.
pub(super) fn deref(node: &'static Yaml<'static>) -> &'static Yaml<'static> {
    let Some(pointer) = get(node, "$ref").and_then(Yaml::as_str) else { return node };
    let parts = pointer.trim_start_matches("#/").split('/');
    parts.fold(root(), |at, part| get(at, part).unwrap_or(node))
}

/// The name of a `$ref`'s target.
pub(super) fn name_of(node: &Yaml<'static>) -> Option<&'static str> {
    let pointer = get(node, "$ref").and_then(Yaml::as_str)?;
    let all = get(get(root(), "components")?, "schemas");
    entries(all).map(|(name, _)| name).find(|name| pointer.ends_with(&format!("/{name}")))
}

/// A value as indented JSON, in the order of the file. A short value is on one line.
pub(super) fn pretty(node: &Yaml<'_>) -> String {
    let mut out = String::new();
    print(node, 0, &mut out);
    out
}

fn print(node: &Yaml<'_>, depth: usize, out: &mut String) {
    let (opens, closes, items): (_, _, Vec<(Option<&str>, &Yaml<'_>)>) = match node {
        Yaml::Sequence(items) => ('[', ']', items.iter().map(|item| (None, item)).collect()),
        Yaml::Mapping(members) => {
            ('{', '}', members.iter().map(|(key, value)| (key.as_str(), value)).collect())
        }
        scalar => {
            let _ = write!(out, "{}", to_json(scalar));
            return;
        }
    };
    let is_flat = items.is_empty() || (opens == '[' && items.iter().all(|(_, item)| item.as_str().is_some()));
    out.push(opens);
    for (at, (name, item)) in items.iter().enumerate() {
        out.push_str(if at > 0 { "," } else { "" });
        if is_flat {
            out.push_str(if at > 0 { " " } else { "" });
        } else {
            let _ = write!(out, "\n{}", "  ".repeat(depth + 1));
        }
        if let Some(name) = name {
            let _ = write!(out, "{}: ", json!(name));
        }
        print(item, depth + 1, out);
    }
    if !is_flat {
        let _ = write!(out, "\n{}", "  ".repeat(depth));
    }
    out.push(closes);
}
