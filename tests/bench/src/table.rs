//! Tables of measurements in Markdown.

use std::fmt;

use harness::{TestDb, trips};

/// The cost of one read.
#[derive(Clone, Copy, Debug)]
pub struct Cost {
    trips: usize,
    read_units: f64,
}

impl Cost {
    /// The cost of the calls that the database recorded.
    pub fn of_calls(db: &TestDb) -> Self {
        let calls = db.calls();
        Self { trips: trips(&calls), read_units: calls.iter().map(|call| call.read_units).sum() }
    }
}

impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} / {:.1}", self.trips, self.read_units)
    }
}

/// A table of reads, each measured under several conditions.
pub struct Table {
    title: &'static str,
    /// The name of each read, followed by its cost in each column.
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with these names in its first column.
    pub fn new(title: &'static str, head: &str, names: impl IntoIterator<Item = String>) -> Self {
        let first = std::iter::once(head.to_owned()).chain(names);
        Self { title, rows: first.map(|name| vec![name]).collect() }
    }

    /// Adds a condition as a column: its name and the cost of each read under it.
    pub fn column(&mut self, head: impl Into<String>, costs: impl IntoIterator<Item = impl fmt::Display>) {
        let cells = std::iter::once(head.into()).chain(costs.into_iter().map(|cost| cost.to_string()));
        for (row, cell) in self.rows.iter_mut().zip(cells) {
            row.push(cell);
        }
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let widths: Vec<usize> = (0..self.rows[0].len())
            .map(|column| self.rows.iter().map(|row| row[column].chars().count()).max().unwrap_or_default())
            .collect();
        writeln!(f, "{}\n", self.title)?;
        for (at, row) in self.rows.iter().enumerate() {
            let cells = row.iter().zip(&widths).map(|(cell, width)| format!("| {cell:<width$} "));
            writeln!(f, "{}|", cells.collect::<String>())?;
            if at == 0 {
                let rule = widths.iter().map(|width| format!("|{}", "-".repeat(width + 2)));
                writeln!(f, "{}|", rule.collect::<String>())?;
            }
        }
        Ok(())
    }
}
