//! Many rows put by one call.
//!
//! A batch write knows no conditions and binds its rows to nothing: callers put whole rows under keys of their own, so
//! that repeating a batch, whole or in part, changes nothing.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use aws_sdk_dynamodb::types::{PutRequest, WriteRequest};
use futures::StreamExt;

use crate::dynamodb::item::{Item, PK, SK, text};
use crate::dynamodb::retry::Patience;
use crate::dynamodb::write::Write;
use crate::{Store, StoreError, Table};

/// The most rows of one call.
const MOST: usize = 25;
/// How many calls are under way at the same time.
const AT_ONCE: usize = 8;

impl Store {
    /// Puts rows, each under a key of its own; what became of each, in their order. One trip for each 25 rows, eight
    /// at the same time; more only while the table is busy, for as long as `patience` says. A row that DynamoDB refuses
    /// does not keep the others from being put.
    pub(crate) async fn put_all(
        &self,
        table: Table,
        rows: &[Item],
        patience: Duration,
    ) -> Vec<Result<(), StoreError>> {
        let chunks =
            rows.chunks(MOST).map(async |chunk| match self.put_chunk(table, chunk, patience).await {
                Ok(()) => chunk.iter().map(|_| Ok(())).collect(),
                Err(error @ StoreError::Busy(_)) => {
                    let error = Arc::new(error);
                    chunk.iter().map(|_| Err(StoreError::shared(&error))).collect()
                }
                // One of them is at fault: each is put alone.
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

    /// Puts rows in one call, and again what the table did not come to.
    async fn put_chunk(&self, table: Table, rows: &[Item], patience: Duration) -> Result<(), StoreError> {
        let name = self.tables.name(table);
        let all = || rows.iter().map(put_of).collect::<Result<Vec<_>, _>>();
        let mut wanted = all()?;
        let mut patience = Patience::lasting(self, patience);
        loop {
            let sent = self.db.batch_write_item().request_items(name, wanted).send().await;
            match sent.map_err(StoreError::from) {
                Ok(answer) => {
                    let left = answer.unprocessed_items.unwrap_or_default().remove(name).unwrap_or_default();
                    if left.is_empty() {
                        return Ok(());
                    }
                    wanted = left;
                    patience.wait().await?;
                }
                Err(error @ StoreError::Busy(_)) if patience.wait().await.is_err() => return Err(error),
                // Some of them may be put already: to put them again changes nothing.
                Err(StoreError::Busy(_)) => wanted = all()?,
                Err(error) => return Err(error),
            }
        }
    }
}

fn put_of(row: &Item) -> Result<WriteRequest, StoreError> {
    let put = PutRequest::builder().set_item(Some(row.clone())).build();
    let put = put.map_err(|error| StoreError::Failed(Box::new(error)))?;
    Ok(WriteRequest::builder().put_request(put).build())
}

/// The rows without repeats of a key, of which the last one stays: a call names a key once.
pub(crate) fn without_repeats(rows: Vec<Item>) -> Vec<Item> {
    let mut seen = HashSet::new();
    let key = |row: &Item| (text(row, PK).to_owned(), text(row, SK).to_owned());
    let mut rows: Vec<Item> = rows.into_iter().rev().filter(|row| seen.insert(key(row))).collect();
    rows.reverse();
    rows
}
