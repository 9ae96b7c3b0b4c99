//! What happened in a workspace, counted in a few rows for each hour.

use std::time::Duration;

use domain::usage::{Counted, Counts, KEPT, Span, Tally};
use domain::{Timestamp, WorkspaceId, error_chain};
use futures::StreamExt;
use tokio::time::timeout;

use crate::dynamodb::item::{Item, SK, key, n, number, text};
use crate::dynamodb::read::Query;
use crate::dynamodb::write::Write;
use crate::{Store, StoreError, Table, keys};

/// The number of rows of a workspace and hour, so that many writers do not wait for one row.
const SHARDS: i64 = 4;
/// How long all writes of an invocation may take. What is not written by then is not counted: the work itself is done.
const TIME: Duration = Duration::from_secs(2);
/// The maximum number of writes in flight.
const AT_ONCE: usize = 16;

impl Store {
    /// Adds what an invocation counted, after everything else that it does. One write unit for each workspace and hour, all
    /// at the same time. A failure is only logged.
    pub async fn count_usage(&self, tally: &Tally) {
        // Writers of the same hour seldom have the same millisecond.
        let shard = self.now().as_millis() % SHARDS;
        let writes = tally.hours.iter().map(async |((workspace, hour), counts)| {
            let row = key((keys::usage(*workspace), keys::usage_hour(*hour, shard)));
            if let Err(error) = self.write(added(row, hour.plus(KEPT), counts)).await {
                tracing::warn!(workspace = %workspace, cause = error_chain(&error), "usage not counted");
            }
        });
        let all = futures::stream::iter(writes).buffer_unordered(AT_ONCE).collect::<Vec<()>>();
        if timeout(TIME, all).await.is_err() {
            tracing::warn!(rows = tally.hours.len(), "usage not counted in time");
        }
    }

    /// The usage of a workspace, step by step. One round trip for each megabyte of rows: a month of a busy workspace is about
    /// one.
    pub async fn usage(&self, workspace: WorkspaceId, span: Span) -> Result<Vec<Counted>, StoreError> {
        let last = span.to.minus(Duration::from_millis(1)).to_hour();
        let (from, to) = (keys::usage_hour(span.from, 0), keys::usage_hour(last, SHARDS - 1));
        let rows = self.query_all(Query::of(Table::Limits, keys::usage(workspace)).between(from, to)).await?;
        Ok(span.steps(rows.into_iter().filter_map(hour)))
    }
}

/// The write that adds counts to a row.
fn added<'a>(
    row: Item,
    expires: Timestamp,
    counts: impl IntoIterator<Item = (&'a &'static str, &'a u64)>,
) -> Write {
    let counts: Vec<_> = counts.into_iter().collect();
    let adds: Vec<String> = (0..counts.len()).map(|at| format!("#n{at} :n{at}")).collect();
    let expression = format!("SET expiresAt = :expires ADD {}", adds.join(", "));
    let write = Write::update(Table::Limits, row, expression).bind(":expires", n(expires.as_seconds()));
    counts.into_iter().enumerate().fold(write, |write, (at, (name, count))| {
        write.name(format!("#n{at}"), *name).bind(format!(":n{at}"), n(count))
    })
}

/// The hour and the counts of a row. Every count has a name with a dot, and no other attribute has one.
fn hour(item: Item) -> Option<(Timestamp, Counts)> {
    let at = keys::read_usage_hour(text(&item, SK))?;
    let counts = item.into_iter().filter(|(name, _)| name.contains('.'));
    let counts = counts.map(|(name, value)| (name, u64::try_from(number(&value)).unwrap_or(0)));
    Some((at, counts.collect()))
}
