//! Lists, newest first. A list is one partition of a table or an index, or one partition for each shard of
//! the workspace; these are read at the same time and merged.
//!
//! A page continues after a position, the sort key of the last row that was read. Shards may be added between
//! two pages, because every partition continues after the same position.

use std::collections::VecDeque;

use aws_sdk_dynamodb::types::AttributeValue;
use domain::WorkspaceId;
use futures::future::{try_join, try_join_all};

use crate::dynamodb::item::{Item, s, text};
use crate::dynamodb::read::{Attributes, Query};
use crate::{Store, StoreError, Table};

/// One page of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page<T> {
    /// The items of the page.
    pub items: Vec<T>,
    /// The position after this page; `None` on the last page. Callers must encrypt it before they return it
    /// to a client.
    pub next: Option<String>,
}

impl<T> Page<T> {
    /// A page of items that were all read, in the order of their ids. `after` is the position of the page.
    pub fn of_all(mut items: Vec<T>, size: usize, after: Option<&str>, id: impl Fn(&T) -> String) -> Self {
        items.sort_by_cached_key(&id);
        let is_next = |item: &T| after.is_none_or(|after| id(item).as_str() > after);
        items.retain(is_next);
        let is_last = items.len() <= size;
        items.truncate(size);
        let next = items.last().filter(|_| !is_last).map(id);
        Self { items, next }
    }
}

/// The maximum size of a page: the maximum number of rows of one batch read.
pub(crate) const MAX_PAGE_SIZE: usize = 100;
/// The first letter of positions in lists. Positions in a search begin with the letter of the phase.
const LIST: char = 'L';

/// The maximum number of rows that a page reads. Four rounds of a filtered list reach it.
const MAX_ROWS: usize = 1_000;
/// How many times as many rows each round of a filtered list reads as the previous one.
const GROWTH: usize = 4;

/// A row of the page, and the position after it.
pub(crate) struct Hit<T> {
    pub(crate) row: T,
    pub(crate) position: String,
}

/// The result of a list or search for one page.
pub(crate) struct Hits<T> {
    /// At most as many hits as the page takes.
    pub(crate) hits: Vec<Hit<T>>,
    /// The position from which there may be more.
    pub(crate) next: Option<String>,
}

impl<T> Hits<T> {
    /// If there is one more hit than the page takes, the next page begins after the last hit of this one;
    /// else at `otherwise`.
    pub(crate) fn of(mut hits: Vec<Hit<T>>, page_size: usize, otherwise: Option<String>) -> Self {
        let more = hits.len() > page_size;
        hits.truncate(page_size);
        let next = if more { hits.last().map(|hit| hit.position.clone()) } else { otherwise };
        Self { hits, next }
    }
}

/// Where the rows of a list are and how they are read.
pub(crate) struct List<T> {
    pub(crate) table: Table,
    /// The index with the list; `None` if the list is in the table itself. Only the table has strongly
    /// consistent reads.
    pub(crate) index: Option<&'static str>,
    /// The hash key and the range key. The range keys of a list go from the newest to the oldest.
    pub(crate) keys: (&'static str, &'static str),
    /// A filter: a condition on `:only`, and the value of `:only`.
    pub(crate) filter: Option<(String, AttributeValue)>,
    /// The attributes that `read` needs and the range key, or `None` for all.
    pub(crate) attributes: Option<&'static Attributes>,
    pub(crate) read: fn(Item) -> Result<T, StoreError>,
}

/// Which rows of a list to read.
#[derive(Clone, Copy)]
pub(crate) struct PageRequest<'a> {
    pub(crate) page_size: usize,
    /// Only rows after this position.
    pub(crate) after: Option<&'a str>,
}

impl Store {
    /// A page of a list in one partition. One round trip; up to four for a filtered list.
    pub(crate) async fn hits<T>(
        &self,
        list: &List<T>,
        partition: String,
        wanted: PageRequest<'_>,
    ) -> Result<Hits<T>, StoreError> {
        self.merge(list, vec![PartitionReader::new(partition, wanted.after)?], wanted.page_size).await
    }

    /// A page of a list that is spread over the workspace's shards. One round trip; more if the newest rows
    /// happen to be in few shards. If the number of shards is not in memory, it is read at the same time as
    /// the first shard, which for most workspaces is the only one.
    pub(crate) async fn sharded_hits<T>(
        &self,
        list: &List<T>,
        workspace: WorkspaceId,
        partition: impl Fn(u8) -> String,
        wanted: PageRequest<'_>,
    ) -> Result<Hits<T>, StoreError> {
        let run = |shard| PartitionReader::new(partition(shard), wanted.after);
        let mut first = run(0)?;
        let shards = match self.remembered_shards(workspace) {
            Some(shards) => shards,
            None => {
                let read = self.refill(list, &mut first, wanted.page_size + 1);
                try_join(read, self.shards(workspace)).await?.1
            }
        };
        let others = (1..shards.read).map(run).collect::<Result<Vec<_>, _>>()?;
        self.merge(list, std::iter::once(first).chain(others).collect(), wanted.page_size).await
    }

    /// The first rows of all runs in order: as many as the page takes, plus one.
    async fn merge<T>(
        &self,
        list: &List<T>,
        mut runs: Vec<PartitionReader<T>>,
        page_size: usize,
    ) -> Result<Hits<T>, StoreError> {
        let mut reading = Reading::of(list, page_size, runs.len());
        let mut hits = vec![];
        loop {
            while hits.len() <= page_size
                && let Some(hit) = first(&mut runs)
            {
                hits.push(hit);
            }
            let empty: Vec<&mut PartitionReader<T>> =
                runs.iter_mut().filter(|run| run.needs_read()).collect();
            let rows = reading.next_round(empty.len());
            if hits.len() > page_size || rows == 0 {
                break;
            }
            try_join_all(empty.into_iter().map(|run| self.refill(list, run, rows))).await?;
        }
        let read_up_to = runs.iter().filter(|run| run.needs_read()).map(|run| &run.after).min();
        Ok(Hits::of(hits, page_size, read_up_to.map(|sk| position(sk))))
    }

    /// Reads the next rows of one partition. A filter may exclude all of them.
    async fn refill<T>(
        &self,
        list: &List<T>,
        run: &mut PartitionReader<T>,
        rows: usize,
    ) -> Result<(), StoreError> {
        let (pk, sk) = list.keys;
        let mut query =
            Query::by(list.table, list.index, pk, &run.partition).only(list.attributes).limit(rows);
        if !run.after.is_empty() {
            query = query.range(&format!("{sk} > :after")).bind(":after", s(&run.after));
        }
        if let Some((condition, only)) = &list.filter {
            query = query.filter(condition).bind(":only", only.clone());
        }
        let page = self.query(query).await?;
        for item in page.items {
            let sk = text(&item, sk).to_owned();
            run.rows.push_back((sk, (list.read)(item)?));
        }
        match page.next {
            // Rows after the last one that was left out need not be read again.
            Some(last) => run.after = text(&last, sk).to_owned(),
            None => run.is_over = true,
        }
        Ok(())
    }
}

/// One partition, read in pieces.
struct PartitionReader<T> {
    partition: String,
    /// The last sort key that was read; empty if none was.
    after: String,
    /// Rows that were read and not yet taken: sort key and row.
    rows: VecDeque<(String, T)>,
    /// All rows of the partition were read.
    is_over: bool,
}

impl<T> PartitionReader<T> {
    fn new(partition: String, after: Option<&str>) -> Result<Self, StoreError> {
        let after = match after {
            Some(position) => position.strip_prefix(LIST).ok_or_else(not_a_position)?.to_owned(),
            None => String::new(),
        };
        Ok(Self { partition, after, rows: VecDeque::new(), is_over: false })
    }

    fn needs_read(&self) -> bool {
        self.rows.is_empty() && !self.is_over
    }
}

/// Takes the first row of all runs, unless a row that is still to be read could come before it.
fn first<T>(runs: &mut [PartitionReader<T>]) -> Option<Hit<T>> {
    let unread_from = runs.iter().filter(|run| run.needs_read()).map(|run| run.after.clone()).min();
    let filled = runs.iter_mut().filter(|run| !run.rows.is_empty());
    let run = filled.min_by(|a, b| a.rows[0].0.cmp(&b.rows[0].0))?;
    if unread_from.is_some_and(|from| from < run.rows[0].0) {
        return None;
    }
    let (sk, row) = run.rows.pop_front()?;
    Some(Hit { row, position: position(&sk) })
}

/// The position after the row with this sort key.
pub(crate) fn position(sk: &str) -> String {
    format!("{LIST}{sk}")
}

/// How many rows are read for one page, round by round.
struct Reading {
    /// The number of rows of each run in the next round.
    rows: usize,
    growth: usize,
    /// The number of rows that all further rounds may read in all.
    left: usize,
}

impl Reading {
    fn of<T>(list: &List<T>, page_size: usize, runs: usize) -> Self {
        match list.filter {
            // Each row that is read is a row of the page, unless it has expired.
            None => Self { rows: share(page_size + 1, runs), growth: 1, left: MAX_ROWS },
            Some(_) => Self { rows: share(2 * page_size + 10, runs), growth: GROWTH, left: MAX_ROWS },
        }
    }

    /// The number of rows to read of each of `empty` runs; 0 if no run is empty, or if the limit is reached.
    fn next_round(&mut self, empty: usize) -> usize {
        if empty == 0 {
            return 0;
        }
        let rows = self.rows.min(self.left / empty);
        self.left -= rows * empty;
        self.rows = self.rows.saturating_mul(self.growth);
        rows
    }
}

/// The number of rows to read of each of several runs to get `rows` in all: the average share and three
/// standard deviations, so a second round is seldom needed.
fn share(rows: usize, runs: usize) -> usize {
    if runs == 1 {
        return rows;
    }
    let part = rows.div_ceil(runs);
    rows.min(part + 3 * (part.isqrt() + 1))
}

/// Clients return positions encrypted and bound to their query, so an invalid position is an internal error.
pub(crate) fn not_a_position() -> StoreError {
    StoreError::Failed("the position is of another list".into())
}
