//! Which rows the jobs of `people` wrote: what the streams show after each of its writes.

use std::fmt::{self, Debug, Formatter};

use harness::{StreamReader, TestDb};
use serde_json::Value;
use store::Table;

/// The rows that jobs wrote, as they were before, or as they are if they are new.
pub(crate) struct Taken {
    readers: [StreamReader; 4],
    rows: Vec<Value>,
}

impl Debug for Taken {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Taken").field("rows", &self.rows.len()).finish_non_exhaustive()
    }
}

impl Taken {
    pub(crate) fn of(db: &TestDb) -> Self {
        let tables = [Table::Contacts, Table::Conversations, Table::Messages, Table::Leads];
        Self { readers: tables.map(|table| db.reader(table)), rows: vec![] }
    }

    /// Whether this operation of this invocation is a write of a job.
    pub(crate) fn is_write(invocation: &str, operation: &str) -> bool {
        const WRITES: [&str; 5] =
            ["PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem", "TransactWriteItems"];
        invocation.starts_with("people#") && WRITES.contains(&operation)
    }

    /// Passes over what others wrote.
    pub(crate) fn skip(&mut self) {
        for reader in &mut self.readers {
            reader.changes();
        }
    }

    /// Keeps what the last write changed.
    pub(crate) fn keep(&mut self) {
        for reader in &mut self.readers {
            let records = reader.changes().into_iter().map(|mut record| {
                let [old, new] = ["OldImage", "NewImage"].map(|image| record["dynamodb"][image].take());
                if old.is_null() { new } else { old }
            });
            self.rows.extend(records);
        }
    }

    /// The rows that were written.
    pub(crate) fn rows(&self) -> &[Value] {
        &self.rows
    }
}
