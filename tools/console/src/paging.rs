//! The pages of lists: `--limit`, and the hint at what follows (`--after`).

use std::fmt::Display;

use clap::Args;
use store::Page;

use crate::Result;
use crate::output::Report;
use crate::view::View;

/// The length of a list.
#[derive(Args)]
pub(crate) struct Limit {
    /// The maximum number of rows to list, up to 1000.
    #[arg(long = "limit", value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u16).range(1..=1000))]
    rows: u16,
}

/// A list up to its limit.
pub(crate) struct Listed<T> {
    pub(crate) rows: Vec<T>,
    /// Whether more rows may follow.
    pub(crate) has_more: bool,
}

impl Limit {
    pub(crate) fn rows(&self) -> usize {
        self.rows.into()
    }

    /// Reads pages from a position on until the list is long enough. `read` gets the number of rows that are missing
    /// and the position.
    pub(crate) async fn fill<T>(
        &self,
        mut from: Option<String>,
        read: impl AsyncFn(usize, Option<String>) -> Result<Page<T>>,
    ) -> Result<Listed<T>> {
        let mut rows = vec![];
        loop {
            let page = read(self.rows() - rows.len(), from).await?;
            rows.extend(page.items);
            from = page.next;
            if rows.len() >= self.rows() || from.is_none() {
                return Ok(Listed { rows, has_more: from.is_some() });
            }
        }
    }
}

impl<T> Listed<T> {
    /// The rows up to the limit, of which one more was read to see whether more follow.
    pub(crate) fn of(mut rows: Vec<T>, limit: &Limit) -> Self {
        let has_more = rows.len() > limit.rows();
        rows.truncate(limit.rows());
        Self { rows, has_more }
    }

    /// The rows, and how to continue after the last one. `id` is what `--after` takes.
    pub(crate) fn report<I: Display>(&self, view: impl Fn(&T) -> View, id: impl Fn(&T) -> I) -> Report {
        let last = self.rows.last().filter(|_| self.has_more);
        let hint = last.map(|last| format!("There may be more: --after {}", id(last)));
        self.rows.iter().map(view).collect::<Report>().remarks(hint)
    }
}
