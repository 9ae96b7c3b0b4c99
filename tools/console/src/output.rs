//! What a command shows: one JSON value for machines, aligned tables for people; and what it is given to read.

use std::io::{IsTerminal, Read, Write};
use std::path::Path;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde::Serialize;

use crate::Refusal;

/// Where a command writes, and reads what is not to stand among its arguments.
pub struct Terminal {
    /// Standard input.
    pub input: Box<dyn Read>,
    /// Standard output.
    pub out: Box<dyn Write>,
    /// Standard error.
    pub err: Box<dyn Write>,
    /// Whether a person looks at standard error, and likes to see progress.
    pub is_watched: bool,
}

impl Terminal {
    /// This process's.
    pub fn real() -> Self {
        let is_watched = std::io::stderr().is_terminal();
        Self {
            input: Box::new(std::io::stdin()),
            out: Box::new(std::io::stdout()),
            err: Box::new(std::io::stderr()),
            is_watched,
        }
    }
}

/// A value that is shown: its fields in JSON, the more telling ones of them as a row of a table.
pub(crate) trait Shown: Serialize {
    /// The table's columns.
    const HEADINGS: &'static [&'static str];
    /// One text for each column.
    fn cells(&self) -> Vec<String>;
}

/// The columns of a value that is shown with more of it; `N` is how many there are in all.
pub(crate) const fn joined<const N: usize>(
    some: &[&'static str],
    more: &[&'static str],
) -> [&'static str; N] {
    assert!(some.len() + more.len() == N);
    let (mut all, mut at) = ([""; N], 0);
    while at < N {
        all[at] = if at < some.len() { some[at] } else { more[at - some.len()] };
        at += 1;
    }
    all
}

/// The terminal, in the form that was asked for.
pub(crate) struct Output<'a> {
    json: bool,
    terminal: &'a mut Terminal,
}

impl<'a> Output<'a> {
    pub(crate) fn new(json: bool, terminal: &'a mut Terminal) -> Self {
        Self { json, terminal }
    }

    /// Shows one value: for people a line a field.
    pub(crate) fn one<T: Shown>(&mut self, value: &T) -> Result<(), Refusal> {
        if self.json {
            return self.json(value);
        }
        let width = T::HEADINGS.iter().map(|heading| heading.chars().count()).max().unwrap_or(0);
        for (heading, cell) in T::HEADINGS.iter().zip(value.cells()) {
            let cell = cell.replace('\n', &format!("\n{:width$}  ", ""));
            self.line(&format!("{heading:width$}  {cell}"))?;
        }
        Ok(())
    }

    /// Shows a list: for people a table.
    pub(crate) fn list<T: Shown>(&mut self, values: &[T]) -> Result<(), Refusal> {
        if self.json {
            return self.json(values);
        }
        if values.is_empty() {
            return self.line("None.");
        }
        let headings = T::HEADINGS.iter().map(|heading| heading.to_uppercase()).collect();
        let rows: Vec<Vec<String>> =
            std::iter::once(headings).chain(values.iter().map(Shown::cells)).collect();
        let widths: Vec<usize> = (0..T::HEADINGS.len())
            .map(|column| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0))
            .collect();
        for row in rows {
            let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
            self.line(cells.collect::<Vec<_>>().join("  ").trim_end())?;
        }
        Ok(())
    }

    /// Shows a list of values, each as `T` shows it.
    pub(crate) fn list_as<'v, T: Shown + From<&'v V>, V>(&mut self, values: &'v [V]) -> Result<(), Refusal> {
        self.list(&values.iter().map(T::from).collect::<Vec<_>>())
    }

    /// Says something to people alone, beside what is shown.
    pub(crate) fn remark(&mut self, sentence: &str) -> Result<(), Refusal> {
        if self.json { Ok(()) } else { self.complain(sentence) }
    }

    /// Says on standard error what is wrong, to people and machines.
    pub(crate) fn complain(&mut self, sentence: &str) -> Result<(), Refusal> {
        writeln!(self.terminal.err, "{sentence}").map_err(Refusal::Output)
    }

    /// Whether JSON was asked for.
    pub(crate) fn is_json(&self) -> bool {
        self.json
    }

    /// The text of a file; `-` is standard input.
    pub(crate) fn read(&mut self, file: &Path) -> Result<String, Refusal> {
        let text = if file == Path::new("-") {
            std::io::read_to_string(&mut self.terminal.input)
        } else {
            std::fs::read_to_string(file)
        };
        text.map_err(|error| Refusal::File { path: file.display().to_string(), reason: error.to_string() })
    }

    /// Standard output, for what is neither a value nor a table: a CSV file.
    pub(crate) fn raw(&mut self) -> &mut dyn Write {
        &mut self.terminal.out
    }

    /// A bar on standard error where a person watches, nothing elsewhere.
    pub(crate) fn progress(&self, of: usize) -> ProgressBar {
        let target = if self.terminal.is_watched && !self.json {
            ProgressDrawTarget::stderr()
        } else {
            ProgressDrawTarget::hidden()
        };
        let style = ProgressStyle::with_template("{wide_bar} {pos}/{len} rows, {eta} left")
            .unwrap_or_else(|_| ProgressStyle::default_bar());
        ProgressBar::with_draw_target(Some(of as u64), target).with_style(style)
    }

    fn json<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Refusal> {
        let text = serde_json::to_string(value).map_err(|error| Refusal::Output(error.into()))?;
        self.line(&text)
    }

    fn line(&mut self, text: &str) -> Result<(), Refusal> {
        writeln!(self.terminal.out, "{text}").map_err(Refusal::Output)
    }
}

/// A cell for what may be absent.
pub(crate) fn or_dash(value: &Option<String>) -> String {
    value.clone().unwrap_or_else(|| "-".to_owned())
}

/// A cell for a list: one below the other.
pub(crate) fn stacked(texts: impl IntoIterator<Item = String>) -> String {
    let texts: Vec<String> = texts.into_iter().collect();
    or_dash(&(!texts.is_empty()).then(|| texts.join("\n")))
}
