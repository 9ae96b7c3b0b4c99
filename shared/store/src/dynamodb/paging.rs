//! Lists, newest first: a list is one partition of a table or an index, or as many as the workspace has shards,
//! which are read side by side and merged.
//!
//! A page goes on from a position, the sort key of the last row that was looked at. Partitions may be added
//! between two pages, as every one of them is read on from that same position.

use std::collections::VecDeque;

use aws_sdk_dynamodb::types::AttributeValue;
use domain::WorkspaceId;
use futures::future::{try_join, try_join_all};

use crate::dynamodb::item::{Item, s, text};
use crate::{Store, StoreError, Table};

/// One page of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page<T> {
    /// What is on it.
    pub items: Vec<T>,
    /// Where the next page begins; `None` on the last. A text of this store's own making, to be sealed before
    /// anybody outside sees it.
    pub next: Option<String>,
}

/// The greatest size of a page. DynamoDB reads at most so many rows by their keys at once.
pub(crate) const LARGEST_PAGE: usize = 100;
/// What positions in lists begin with; those of a search begin with its phases' letters.
const LIST: char = 'L';

/// How many rows a list that is filtered reads at most for one page, in rounds that grow: four of them reach it.
const MOST_FILTERED: usize = 1_000;
/// Each of these rounds reads so many times the rows of the one before.
const GROWTH: usize = 4;

/// A row on the page, and the position behind it.
pub(crate) struct Hit<T> {
    pub(crate) row: T,
    pub(crate) position: String,
}

/// What a list or a search found for one page.
pub(crate) struct Hits<T> {
    /// At most as many as the page takes.
    pub(crate) hits: Vec<Hit<T>>,
    /// Where there may be more.
    pub(crate) next: Option<String>,
}

impl<T> Hits<T> {
    /// One hit more than the page takes says that there is a next page.
    pub(crate) fn of(mut hits: Vec<Hit<T>>, page_size: usize, otherwise: Option<String>) -> Self {
        let more = hits.len() > page_size;
        hits.truncate(page_size);
        let next = if more { hits.last().map(|hit| hit.position.clone()) } else { otherwise };
        Self { hits, next }
    }
}

/// Where the rows of a list stand and how they are read.
pub(crate) struct List<T> {
    pub(crate) table: Table,
    /// The index that has the list; `None` if the table has it itself, which alone can be read strongly.
    pub(crate) index: Option<&'static str>,
    /// The hash key and the range key. Range keys of a list go from the newest to the oldest.
    pub(crate) keys: (&'static str, &'static str),
    /// Only rows of which this holds: a condition on `:only`, and what that stands for.
    pub(crate) filter: Option<(String, AttributeValue)>,
    pub(crate) read: fn(Item) -> Result<T, StoreError>,
}

/// Which rows of a list are wanted.
#[derive(Clone, Copy)]
pub(crate) struct Wanted<'a> {
    pub(crate) page_size: usize,
    /// Those behind this position.
    pub(crate) after: Option<&'a str>,
}

impl Store {
    /// A page of a list that is one partition. One trip; for a list that is filtered, up to four.
    pub(crate) async fn hits<T>(
        &self,
        list: &List<T>,
        partition: String,
        wanted: Wanted<'_>,
    ) -> Result<Hits<T>, StoreError> {
        self.merge(list, vec![Run::new(partition, wanted.after)?], wanted.page_size).await
    }

    /// A page of a list of everything in a workspace, which is spread over shards. One trip; more where chance put
    /// what is newest into few of them. Where the number of shards is not in memory it is read beside the first,
    /// which for most workspaces is the only one.
    pub(crate) async fn sharded_hits<T>(
        &self,
        list: &List<T>,
        workspace: WorkspaceId,
        partition: impl Fn(u8) -> String,
        wanted: Wanted<'_>,
    ) -> Result<Hits<T>, StoreError> {
        let run = |shard| Run::new(partition(shard), wanted.after);
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

    /// The first of all runs' rows in order, as many as the page takes and one.
    async fn merge<T>(
        &self,
        list: &List<T>,
        mut runs: Vec<Run<T>>,
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
            let dry: Vec<&mut Run<T>> = runs.iter_mut().filter(|run| run.is_dry()).collect();
            let rows = reading.next_round(dry.len());
            if hits.len() > page_size || rows == 0 {
                break;
            }
            try_join_all(dry.into_iter().map(|run| self.refill(list, run, rows))).await?;
        }
        let read_up_to = runs.iter().filter(|run| run.is_dry()).map(|run| &run.after).min();
        Ok(Hits::of(hits, page_size, read_up_to.map(|sk| position(sk))))
    }

    /// Reads on in one partition: so many rows, of which a filter may leave none.
    async fn refill<T>(&self, list: &List<T>, run: &mut Run<T>, rows: usize) -> Result<(), StoreError> {
        let (pk, sk) = list.keys;
        let range = if run.after.is_empty() { String::new() } else { format!(" AND {sk} > :after") };
        let mut query = self
            .db
            .query()
            .table_name(self.tables.name(list.table))
            .set_index_name(list.index.map(str::to_owned))
            .consistent_read(list.index.is_none())
            .key_condition_expression(format!("{pk} = :pk{range}"))
            .expression_attribute_values(":pk", s(&run.partition))
            .limit(i32::try_from(rows).unwrap_or(i32::MAX));
        if !run.after.is_empty() {
            query = query.expression_attribute_values(":after", s(&run.after));
        }
        if let Some((condition, only)) = &list.filter {
            query = query.filter_expression(condition).expression_attribute_values(":only", only.clone());
        }
        let answer = query.send().await?;
        for item in answer.items.unwrap_or_default() {
            let sk = text(&item, sk).to_owned();
            run.rows.push_back((sk, (list.read)(item)?));
        }
        match answer.last_evaluated_key {
            // Rows behind the last one that the filter passed over need not be read again.
            Some(last) => run.after = text(&last, sk).to_owned(),
            None => run.is_over = true,
        }
        Ok(())
    }
}

/// One partition, read piece by piece.
struct Run<T> {
    partition: String,
    /// How far it has been read, or empty.
    after: String,
    /// Read and not yet taken: sort key and row.
    rows: VecDeque<(String, T)>,
    /// Nothing is left to read.
    is_over: bool,
}

impl<T> Run<T> {
    fn new(partition: String, after: Option<&str>) -> Result<Self, StoreError> {
        let after = match after {
            Some(position) => position.strip_prefix(LIST).ok_or_else(not_a_position)?.to_owned(),
            None => String::new(),
        };
        Ok(Self { partition, after, rows: VecDeque::new(), is_over: false })
    }

    fn is_dry(&self) -> bool {
        self.rows.is_empty() && !self.is_over
    }
}

/// Takes the first of all runs' rows, if none that is still to be read can come before it.
fn first<T>(runs: &mut [Run<T>]) -> Option<Hit<T>> {
    let unread_from = runs.iter().filter(|run| run.is_dry()).map(|run| run.after.clone()).min();
    let filled = runs.iter_mut().filter(|run| !run.rows.is_empty());
    let run = filled.min_by(|a, b| a.rows[0].0.cmp(&b.rows[0].0))?;
    if unread_from.is_some_and(|from| from < run.rows[0].0) {
        return None;
    }
    let (sk, row) = run.rows.pop_front()?;
    Some(Hit { row, position: position(&sk) })
}

fn position(sk: &str) -> String {
    format!("{LIST}{sk}")
}

/// How many rows are read for one page, round by round.
struct Reading {
    /// Of each run in the next round.
    rows: usize,
    growth: usize,
    /// Of all runs in all rounds to come.
    left: usize,
}

impl Reading {
    fn of<T>(list: &List<T>, page_size: usize, runs: usize) -> Self {
        match list.filter {
            // Every row that is read is a row of the page, so that the rounds end by themselves.
            None => Self { rows: share(page_size + 1, runs), growth: 1, left: usize::MAX },
            Some(_) => Self { rows: share(2 * page_size + 10, runs), growth: GROWTH, left: MOST_FILTERED },
        }
    }

    /// How many rows to read of each of so many runs; 0 where there is nothing to read, or enough was read.
    fn next_round(&mut self, dry: usize) -> usize {
        if dry == 0 {
            return 0;
        }
        let rows = self.rows.min(self.left / dry);
        self.left -= rows * dry;
        self.rows = self.rows.saturating_mul(self.growth);
        rows
    }
}

/// How many rows are read of each of several runs for so many in all: its part, and three times by how much
/// chance lets it vary, so that a second round is seldom needed.
fn share(rows: usize, runs: usize) -> usize {
    if runs == 1 {
        return rows;
    }
    let part = rows.div_ceil(runs);
    rows.min(part + 3 * (part.isqrt() + 1))
}

/// Positions come back sealed and bound to their query, so that a wrong one is a fault of ours.
pub(crate) fn not_a_position() -> StoreError {
    StoreError::Failed("the position is of another list".into())
}
