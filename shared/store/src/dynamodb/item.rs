//! Rows: from a private struct to DynamoDB's attributes and back.

use std::collections::HashMap;
use std::time::Duration;

use aws_sdk_dynamodb::types::AttributeValue;
use domain::Timestamp;
use serde::de::IntoDeserializer;
use serde::de::value::MapDeserializer;

use crate::StoreError;
use crate::dynamodb::fields::{Outer, Stored};

/// A row in the SDK's type.
pub(crate) type Item = HashMap<String, AttributeValue>;

/// The two key attributes of every table.
pub(crate) const PK: &str = "pk";
pub(crate) const SK: &str = "sk";
/// The TTL of every table that has one: epoch seconds.
pub(crate) const EXPIRES_AT: &str = "expiresAt";

/// The newest schema version (`sv`) that this release reads. Readers convert older rows and refuse newer
/// ones.
pub(crate) const SCHEMA: u32 = 1;

/// A key, for reads, deletes and condition checks.
pub(crate) fn key((pk, sk): (impl Into<String>, impl Into<String>)) -> Item {
    HashMap::from([(PK.to_owned(), s(pk)), (SK.to_owned(), s(sk))])
}

/// The key of a row that was read.
pub(crate) fn key_of(row: &Item) -> Item {
    [PK, SK].into_iter().filter_map(|name| row.get(name).map(|key| (name.to_owned(), key.clone()))).collect()
}

/// A text attribute.
pub(crate) fn s(text: impl Into<String>) -> AttributeValue {
    AttributeValue::S(text.into())
}

/// A number attribute.
pub(crate) fn n(number: impl ToString) -> AttributeValue {
    AttributeValue::N(number.to_string())
}

/// A row with its keys, kind and schema version.
pub(crate) fn row<T: Stored>(
    (pk, sk): (impl Into<String>, impl Into<String>),
    kind: &'static str,
    body: &T,
) -> Result<Item, StoreError> {
    let mut item = key((pk, sk));
    let body: Item =
        serde_dynamo::to_item(Outer(body)).map_err(|error| StoreError::Failed(Box::new(error)))?;
    item.extend(body);
    item.insert("kind".to_owned(), s(kind));
    item.insert("sv".to_owned(), n(SCHEMA));
    Ok(item)
}

/// Reads what a row holds, without its key. Returns an error if the row's schema is newer than
/// [`SCHEMA`].
pub(crate) fn read<T: Stored>(mut item: Item) -> Result<T, StoreError> {
    if let Some(reason) = newer_schema(&item) {
        return Err(unreadable(&item, &reason));
    }
    let [pk, sk] = [PK, SK].map(|name| match item.remove(name) {
        Some(AttributeValue::S(text)) => text,
        _ => String::new(),
    });
    let unreadable = |error: serde_dynamo::Error| StoreError::Unreadable {
        key: key_shown(&pk, &sk),
        reason: error.to_string(),
    };
    struct_of(item).map_err(unreadable)
}

/// The struct of an item, without the second map that `serde_dynamo::from_item` makes of it.
pub(crate) fn struct_of<T: Stored>(item: Item) -> Result<T, serde_dynamo::Error> {
    T::read(MapDeserializer::new(item.into_iter().map(|(name, value)| (name, Attribute(value)))))
}

struct Attribute(AttributeValue);

impl IntoDeserializer<'_, serde_dynamo::Error> for Attribute {
    type Deserializer = serde_dynamo::Deserializer;

    fn into_deserializer(self) -> serde_dynamo::Deserializer {
        serde_dynamo::Deserializer::from_attribute_value(self.0.into())
    }
}

/// A key as errors show it.
fn key_shown(pk: &str, sk: &str) -> String {
    format!("{} / {}", ids_of(pk), ids_of(sk))
}

/// A key as errors may show it: only its ids and letters. Other parts (an e-mail address, a phone number, a
/// search term) are personal data.
fn ids_of(key: &str) -> String {
    let shown = |part| if uuid::Uuid::try_parse(part).is_ok() || part.len() <= 2 { part } else { "…" };
    key.split('#').map(shown).collect::<Vec<_>>().join("#")
}

/// Returns an error if the row's schema is newer than [`SCHEMA`]. `key` names the row in the error, without
/// personal data.
pub(crate) fn check_schema(item: &Item, key: &str) -> Result<(), StoreError> {
    let newer = |reason| StoreError::Unreadable { key: key.to_owned(), reason };
    newer_schema(item).map_or(Ok(()), |reason| Err(newer(reason)))
}

/// Why this release cannot read the row, if its schema is newer than [`SCHEMA`].
fn newer_schema(item: &Item) -> Option<String> {
    let schema: u32 =
        item.get("sv").and_then(|sv| sv.as_n().ok()).and_then(|sv| sv.parse().ok()).unwrap_or(1);
    (schema > SCHEMA).then(|| format!("its schema is {schema}, this release reads up to {SCHEMA}"))
}

/// A text attribute of a row; empty if absent.
pub(crate) fn text<'a>(item: &'a Item, name: &str) -> &'a str {
    item.get(name).and_then(|value| value.as_s().ok()).map_or("", String::as_str)
}

/// A number attribute; 0 if it is not a number.
pub(crate) fn number(value: &AttributeValue) -> i64 {
    value.as_n().ok().and_then(|number| number.parse().ok()).unwrap_or_default()
}

/// The row with its TTL, if rows of this kind are kept for a limited time from `from` on.
pub(crate) fn expiring(mut item: Item, from: Timestamp, kept: Option<Duration>) -> Item {
    item.extend(kept.map(|kept| (EXPIRES_AT.to_owned(), n(from.plus(kept).as_seconds()))));
    item
}

/// The error for a row whose keys or attributes have no valid meaning.
pub(crate) fn unreadable(item: &Item, reason: &str) -> StoreError {
    StoreError::Unreadable { key: key_shown(text(item, PK), text(item, SK)), reason: reason.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_of_an_unreadable_row_omits_personal_data_of_its_key() {
        let mut item = key(("8c2d4e6f-1a3b-4c5d-8e7f-9a0b1c2d3e4f#UE#ana@example.com", "U"));
        item.insert("sv".to_owned(), n(2));
        let error = read::<uuid::Uuid>(item).unwrap_err();
        assert_eq!(
            error.to_string(),
            "row 8c2d4e6f-1a3b-4c5d-8e7f-9a0b1c2d3e4f#UE#… / U cannot be read: its schema is 2, this release reads up to 1"
        );
    }
}
