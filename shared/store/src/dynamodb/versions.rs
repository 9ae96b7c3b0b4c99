//! Rows with a version: each write replaces exactly the version that was read.

use std::collections::BTreeSet;

use aws_sdk_dynamodb::types::AttributeValue;

use crate::dynamodb::item::{Item, PK, SK, key, key_of, n, s};
use crate::dynamodb::write::{LAST_REQUEST, Write, Wrote, is_written_by};
use crate::{Store, StoreError, Table};

impl Store {
    /// Puts a new row. Returns `false` if there is a row already. One round trip.
    pub(crate) async fn put_first(&self, table: Table, row: Item) -> Result<bool, StoreError> {
        self.put_if(row, |row| Write::put(table, row).when_absent()).await
    }

    /// Replaces version `seen` of a row. Returns `false` if the row has another version. One round trip.
    pub(crate) async fn put_next(&self, table: Table, row: Item, seen: u64) -> Result<bool, StoreError> {
        self.put_if(row, |row| replace_write(table, row, seen)).await
    }

    async fn put_if(&self, mut row: Item, write: impl FnOnce(Item) -> Write) -> Result<bool, StoreError> {
        let request = self.ids.next().to_string();
        row.insert(LAST_REQUEST.to_owned(), s(&request));
        match self.write(write(row)).await? {
            Wrote::Done(_) => Ok(true),
            Wrote::Refused(found) => Ok(found.is_some_and(|found| is_written_by(&found, &request))),
        }
    }
}

/// The write that replaces version `seen` of a row.
pub(crate) fn replace_write(table: Table, row: Item, seen: u64) -> Write {
    Write::put(table, row).when("version = :seen").bind(":seen", n(seen))
}

/// The write that deletes version `seen` of a row.
pub(crate) fn delete_write(table: Table, (pk, sk): (String, impl Into<String>), seen: u64) -> Write {
    Write::delete(table, key((pk, sk))).when("version = :seen").bind(":seen", n(seen))
}

/// The write that changes the attributes that differ between `before` (version `seen`) and `after`.
/// Attributes that neither has stay (such as a place in a list that only the creation wrote).
pub(crate) fn diff_write(table: Table, before: &Item, after: &Item, seen: u64) -> Write {
    let (mut sets, mut removes) = (vec![], vec![]);
    let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let mut values: Vec<(String, AttributeValue)> = vec![];
    let mut aliases: Vec<(String, String)> = vec![];
    for (at, name) in names.into_iter().enumerate().filter(|(_, name)| ![PK, SK].contains(&name.as_str())) {
        let (alias, value) = (format!("#a{at}"), format!(":a{at}"));
        match after.get(name) {
            Some(new) if before.get(name) != Some(new) => {
                sets.push(format!("{alias} = {value}"));
                values.push((value, new.clone()));
            }
            Some(_) => continue,
            None => removes.push(alias.clone()),
        }
        aliases.push((alias, name.clone()));
    }
    let mut expression = format!("SET {}", sets.join(", "));
    if !removes.is_empty() {
        expression = format!("{expression} REMOVE {}", removes.join(", "));
    }
    let write =
        Write::update(table, key_of(after), expression).when("version = :seen").bind(":seen", n(seen));
    let write = values.into_iter().fold(write, |write, (value, new)| write.bind(value, new));
    aliases.into_iter().fold(write, |write, (alias, name)| write.name(alias, name))
}
