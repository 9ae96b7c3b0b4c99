//! Rows: from a private struct to DynamoDB's attributes and back.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::StoreError;

/// A row as DynamoDB holds it.
pub(crate) type Item = HashMap<String, AttributeValue>;

/// The two key attributes of every table.
pub(crate) const PK: &str = "pk";
pub(crate) const SK: &str = "sk";

/// The newest schema version (`sv`) this release reads. Readers lift older rows and refuse newer ones.
pub(crate) const SCHEMA: u32 = 1;

/// A key, for reads, deletes and condition checks.
pub(crate) fn key(pk: impl Into<String>, sk: impl Into<String>) -> Item {
    HashMap::from([(PK.to_owned(), s(pk)), (SK.to_owned(), s(sk))])
}

/// A text attribute.
pub(crate) fn s(text: impl Into<String>) -> AttributeValue {
    AttributeValue::S(text.into())
}

/// A number attribute.
pub(crate) fn n(number: impl ToString) -> AttributeValue {
    AttributeValue::N(number.to_string())
}

/// A row under its keys, with its kind and schema version.
pub(crate) fn row<T: Serialize>(
    pk: impl Into<String>,
    sk: impl Into<String>,
    kind: &'static str,
    body: &T,
) -> Result<Item, StoreError> {
    let mut item = key(pk, sk);
    let body: Item = serde_dynamo::to_item(body).map_err(|error| StoreError::Failed(Box::new(error)))?;
    item.extend(body);
    item.insert("kind".to_owned(), s(kind));
    item.insert("sv".to_owned(), n(SCHEMA));
    Ok(item)
}

/// Reads a row into its struct, refusing a schema from the future.
pub(crate) fn read<T: DeserializeOwned>(item: Item) -> Result<T, StoreError> {
    let key = format!("{} / {}", ids_of(text(&item, PK)), ids_of(text(&item, SK)));
    check_schema(&item, &key)?;
    serde_dynamo::from_item(item).map_err(|error| StoreError::Unreadable { key, reason: error.to_string() })
}

/// A key as an error may name it: the ids and letters of it. What else a key can hold (an e-mail address, a
/// phone number, a searched term) is personal data.
fn ids_of(key: &str) -> String {
    let shown = |part| if uuid::Uuid::try_parse(part).is_ok() || part.len() <= 2 { part } else { "…" };
    key.split('#').map(shown).collect::<Vec<_>>().join("#")
}

/// Refuses a row whose schema is from the future. `key` names it in the error, without personal data.
pub(crate) fn check_schema(item: &Item, key: &str) -> Result<(), StoreError> {
    let schema: u32 =
        item.get("sv").and_then(|sv| sv.as_n().ok()).and_then(|sv| sv.parse().ok()).unwrap_or(1);
    if schema > SCHEMA {
        let reason = format!("its schema is {schema}, this release reads up to {SCHEMA}");
        return Err(StoreError::Unreadable { key: key.to_owned(), reason });
    }
    Ok(())
}

/// A text attribute of a row, empty if absent.
pub(crate) fn text<'a>(item: &'a Item, name: &str) -> &'a str {
    item.get(name).and_then(|value| value.as_s().ok()).map_or("", String::as_str)
}

/// A number attribute; 0 if it is none.
pub(crate) fn number(value: &AttributeValue) -> i64 {
    value.as_n().ok().and_then(|number| number.parse().ok()).unwrap_or_default()
}

/// A row whose keys or attributes say nothing.
pub(crate) fn unreadable(item: &Item, reason: &str) -> StoreError {
    let key = format!("{} / {}", ids_of(text(item, PK)), ids_of(text(item, SK)));
    StoreError::Unreadable { key, reason: reason.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unreadable_row_is_named_without_what_is_personal_in_its_key() {
        let mut item = key("8c2d4e6f-1a3b-4c5d-8e7f-9a0b1c2d3e4f#UE#ana@example.com", "U");
        item.insert("sv".to_owned(), n(2));
        let error = read::<serde_json::Value>(item).unwrap_err();
        assert_eq!(
            error.to_string(),
            "row 8c2d4e6f-1a3b-4c5d-8e7f-9a0b1c2d3e4f#UE#… / U cannot be read: its schema is 2, this release reads up to 1"
        );
    }
}
