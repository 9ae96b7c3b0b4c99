//! Batch writes: many rows put by one call.
//!
//! A batch write has no conditions and is not atomic. Callers put whole rows under keys of their own, so
//! repeating a batch, in whole or in part, changes nothing.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use aws_sdk_dynamodb::types::{PutRequest, WriteRequest};
use futures::StreamExt;

use crate::dynamodb::item::{Item, PK, SK, text};
use crate::dynamodb::retry::RetryTime;
use crate::dynamodb::write::Write;
use crate::{Store, StoreError, Table};

/// The maximum number of rows in one call.
const MAX_ROWS: usize = 25;
/// The number of calls at the same time.
const AT_ONCE: usize = 8;

impl Store {
    /// Puts rows, each under its own key. Returns the result of each, in order. One round trip for each 25
    /// rows, eight at the same time; more only while the table is busy, for at most `retry_for`. A row that
    /// DynamoDB refuses does not affect the others.
    pub(crate) async fn put_all(
        &self,
        table: Table,
        rows: &[Item],
        retry_for: Duration,
    ) -> Vec<Result<(), StoreError>> {
        let chunks =
            rows.chunks(MAX_ROWS).map(async |chunk| match self.put_chunk(table, chunk, retry_for).await {
                Ok(()) => chunk.iter().map(|_| Ok(())).collect(),
                Err(error @ StoreError::Busy(_)) => {
                    let error = Arc::new(error);
                    chunk.iter().map(|_| Err(StoreError::shared(&error))).collect()
                }
                // One row is invalid: put each row alone.
                Err(_) => {
                    let mut ends = vec![];
                    for row in chunk {
                        ends.push(self.write(Write::put(table, row.clone())).await.map(drop));
                    }
                    ends
                }
            });
        let chunks: Vec<Vec<_>> = futures::stream::iter(chunks).buffered(AT_ONCE).collect().await;
        chunks.into_iter().flatten().collect()
    }

    /// Puts rows in one call, and repeats the call with the rows that DynamoDB did not process.
    async fn put_chunk(&self, table: Table, rows: &[Item], retry_for: Duration) -> Result<(), StoreError> {
        let name = self.tables.name(table);
        let all = || rows.iter().map(put_request).collect::<Result<Vec<_>, _>>();
        let mut wanted = all()?;
        let mut retries = RetryTime::limited_to(self, retry_for);
        loop {
            let sent = Box::pin(self.db.batch_write_item().request_items(name, wanted).send()).await;
            match sent.map_err(StoreError::from) {
                Ok(answer) => {
                    let left = answer.unprocessed_items.unwrap_or_default().remove(name).unwrap_or_default();
                    if left.is_empty() {
                        return Ok(());
                    }
                    wanted = left;
                    retries.wait().await?;
                }
                Err(error @ StoreError::Busy(_)) if retries.wait().await.is_err() => return Err(error),
                // Some rows may be stored already; to put them again changes nothing.
                Err(StoreError::Busy(_)) => wanted = all()?,
                Err(error) => return Err(error),
            }
        }
    }
}

fn put_request(row: &Item) -> Result<WriteRequest, StoreError> {
    let put = PutRequest::builder().set_item(Some(row.clone())).build();
    let put = put.map_err(|error| StoreError::Failed(Box::new(error)))?;
    Ok(WriteRequest::builder().put_request(put).build())
}

/// The rows without duplicate keys. The last row of a key stays, because a call may name a key only once.
pub(crate) fn without_repeats(rows: Vec<Item>) -> Vec<Item> {
    let mut seen = HashSet::new();
    let key = |row: &Item| (text(row, PK).to_owned(), text(row, SK).to_owned());
    let mut rows: Vec<Item> = rows.into_iter().rev().filter(|row| seen.insert(key(row))).collect();
    rows.reverse();
    rows
}
