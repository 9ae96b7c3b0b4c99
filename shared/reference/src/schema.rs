//! Schemas for people: one line about a value, and a list of an object's fields.

use std::fmt::Write;

use saphyr::Yaml;

use super::document::{deref, entries, get, list, name_of, text};
use super::markup::{escape, prose};

type Node = &'static Yaml<'static>;

/// A body: its fields, or its kind if it is not an object.
pub(super) fn body(schema: Node) -> String {
    match get(schema, "items") {
        Some(items) => format!("<p>An {}. Each item:</p>\n{}", kind(schema), fields(items)),
        None => fields(schema),
    }
}

/// Whether the schema is an object with its own fields, or a choice of such objects.
pub(super) fn is_object(schema: Node) -> bool {
    !properties(schema).is_empty() || !choices(schema).is_empty()
}

/// The objects of which a value must be one. Empty if the schema is not a choice of objects.
fn choices(schema: Node) -> &'static [Yaml<'static>] {
    let schema = deref(schema);
    let all = list(get(schema, "anyOf").or_else(|| get(schema, "oneOf")));
    if all.iter().all(is_object) { all } else { &[] }
}

/// The fields with their kinds. The fields of an unnamed object follow the field that contains it.
pub(super) fn fields(schema: Node) -> String {
    let choices = choices(schema).iter().enumerate();
    let either = choices.map(|(at, choice)| {
        format!("<p>{} {}:</p>\n{}", if at == 0 { "Either" } else { "Or" }, kind(choice), fields(choice))
    });
    own_fields(schema) + &either.collect::<String>()
}

fn own_fields(schema: Node) -> String {
    let (all, needed) = (properties(schema), required(schema));
    if all.is_empty() {
        return String::new();
    }
    let mut shown = "<dl class=\"fields\">\n".to_owned();
    for (name, field) in all {
        let described = text(field, "description");
        let described = if described.is_empty() { text(deref(field), "description") } else { described };
        let _ = writeln!(
            shown,
            "<div><dt><code>{}</code> <span class=\"kind\">{}</span>{}</dt><dd>{}{}</dd></div>",
            escape(name),
            kind(field),
            if needed.contains(&name) { " <span class=\"needed\">required</span>" } else { "" },
            prose(described),
            within(field)
        );
    }
    shown.push_str("</dl>\n");
    shown
}

/// The fields of an unnamed object: the field itself, or an array's items.
fn within(field: Node) -> String {
    match get(field, "items") {
        Some(items) if name_of(items).is_none() => fields(items),
        None if name_of(field).is_none() => fields(field),
        _ => String::new(),
    }
}

/// The fields of a schema and of all its parts. The last definition of a field wins.
fn properties(schema: Node) -> Vec<(&'static str, Node)> {
    let schema = deref(schema);
    let mut all: Vec<(&str, Node)> = vec![];
    for part in list(get(schema, "allOf")) {
        for (name, field) in properties(part) {
            match all.iter_mut().find(|(known, _)| *known == name) {
                Some(known) => known.1 = field,
                None => all.push((name, field)),
            }
        }
    }
    all.extend(entries(get(schema, "properties")));
    all
}

fn required(schema: Node) -> Vec<&'static str> {
    let schema = deref(schema);
    let parts = list(get(schema, "allOf")).iter().flat_map(required);
    parts.chain(list(get(schema, "required")).iter().filter_map(Yaml::as_str)).collect()
}

/// The error codes that an error's schema lists.
pub(super) fn codes(schema: Option<Node>) -> Vec<&'static str> {
    let all = schema.map(properties).unwrap_or_default();
    let listed = all.into_iter().filter(|(name, _)| matches!(*name, "code" | "type"));
    listed.flat_map(|(_, field)| list(get(field, "enum"))).filter_map(Yaml::as_str).collect()
}

/// The kind of a value, in a few words of HTML.
pub(super) fn kind(schema: Node) -> String {
    if let Some(name) = name_of(schema).filter(|_| is_object(schema)) {
        return format!("<a href=\"#schema-{name}\">{name}</a>");
    }
    let schema = deref(schema);
    if let Some(choices) = get(schema, "anyOf").filter(|_| get(schema, "type").is_none()) {
        let choices: Vec<String> = list(Some(choices)).iter().map(kind).collect();
        return choices.join(" or ");
    }
    if let Some(constant) = get(schema, "const") {
        return format!("always <code>{}</code>", escape(&scalar(constant)));
    }
    let words = list(get(schema, "enum"));
    if !words.is_empty() {
        let words: Vec<String> =
            words.iter().map(|word| format!("<code>{}</code>", escape(&scalar(word)))).collect();
        return words.join(", ");
    }
    let types: Vec<&str> = match get(schema, "type") {
        Some(Yaml::Sequence(types)) => types.iter().filter_map(Yaml::as_str).collect(),
        Some(one) => one.as_str().into_iter().collect(),
        None => vec!["anything"],
    };
    let named: Vec<String> = types
        .iter()
        .map(|named| match *named {
            "array" => format!("array of {}", get(schema, "items").map(kind).unwrap_or_default()),
            "string" => match text(schema, "format") {
                "" => "string".to_owned(),
                "uuid" => "UUID".to_owned(),
                format => escape(format),
            },
            other => other.to_owned(),
        })
        .collect();
    [named.join(" or ")].into_iter().chain(limits(schema)).collect::<Vec<_>>().join(", ")
}

/// The limits of a value, each in one or two words.
fn limits(schema: Node) -> Vec<String> {
    let number = |name: &str| get(schema, name).and_then(Yaml::as_integer);
    let ranges = [
        ("minLength", "maxLength", " characters"),
        ("minItems", "maxItems", " items"),
        ("minProperties", "maxProperties", " entries"),
        ("minimum", "maximum", ""),
    ];
    let mut limits = vec![];
    for (least, most, of) in ranges {
        match (number(least), number(most)) {
            (Some(least), Some(most)) => limits.push(format!("{least} to {most}{of}")),
            (Some(least), None) => limits.push(format!("at least {least}{of}")),
            (None, Some(most)) => limits.push(format!("at most {most}{of}")),
            (None, None) => {}
        }
    }
    if let Some(default) = get(schema, "default") {
        limits.push(format!("default {}", escape(&scalar(default))));
    }
    limits
}

fn scalar(node: &Yaml<'_>) -> String {
    node.as_str().map_or_else(|| super::document::pretty(node), str::to_owned)
}
