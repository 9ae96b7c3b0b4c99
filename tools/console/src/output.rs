//! The output of a command: one JSON value for programs or aligned tables for people. Also its standard input.

use std::io::{IsTerminal, Read, Write};
use std::path::Path;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde::Serialize;

use crate::Refusal;

/// The streams of a command. Standard input is for values that should not be among the arguments.
pub struct Terminal {
    /// Standard input.
    pub input: Box<dyn Read>,
    /// Standard output.
    pub out: Box<dyn Write>,
    /// Standard error.
    pub err: Box<dyn Write>,
    /// Whether standard error is a terminal, so that a progress bar is useful.
    pub is_watched: bool,
}

impl Terminal {
    /// The streams of this process.
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

/// A value that a command shows: all its fields in JSON, the most important ones in a table.
pub(crate) trait Shown: Serialize {
    /// The table's columns.
    const HEADINGS: &'static [&'static str];
    /// The cells, one for each column.
    fn cells(&self) -> Vec<String>;
}

/// Concatenates two lists of columns. `N` is the total number.
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

/// The output in the requested format.
pub(crate) struct Output<'a> {
    json: bool,
    terminal: &'a mut Terminal,
}

impl<'a> Output<'a> {
    pub(crate) fn new(json: bool, terminal: &'a mut Terminal) -> Self {
        Self { json, terminal }
    }

    /// Shows one value: in the table, one line per field.
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

    /// Shows a list: as a table with one row per value.
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

    /// Shows a list of values, each converted to `T`.
    pub(crate) fn list_as<'v, T: Shown + From<&'v V>, V>(&mut self, values: &'v [V]) -> Result<(), Refusal> {
        self.list(&values.iter().map(T::from).collect::<Vec<_>>())
    }

    /// Writes a remark on standard error, for people only.
    pub(crate) fn remark(&mut self, sentence: &str) -> Result<(), Refusal> {
        if self.json { Ok(()) } else { self.complain(sentence) }
    }

    /// Writes a problem on standard error, for people and programs.
    pub(crate) fn complain(&mut self, sentence: &str) -> Result<(), Refusal> {
        writeln!(self.terminal.err, "{sentence}").map_err(Refusal::Output)
    }

    /// Whether the command was started with `--json`.
    pub(crate) fn is_json(&self) -> bool {
        self.json
    }

    /// Reads the text of a file. `-` means standard input.
    pub(crate) fn read(&mut self, file: &Path) -> Result<String, Refusal> {
        let text = if file == Path::new("-") {
            std::io::read_to_string(&mut self.terminal.input)
        } else {
            std::fs::read_to_string(file)
        };
        text.map_err(|error| Refusal::File { path: file.display().to_string(), reason: error.to_string() })
    }

    /// Standard output, for a CSV file or streamed JSON.
    pub(crate) fn raw(&mut self) -> &mut dyn Write {
        &mut self.terminal.out
    }

    /// A progress bar on standard error, if that is a terminal and `--json` is absent. Otherwise the bar is hidden.
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

/// The cell of an optional value.
pub(crate) fn or_dash(value: &Option<String>) -> String {
    value.clone().unwrap_or_else(|| "-".to_owned())
}

/// The cell of a list: one text per line.
pub(crate) fn stacked(texts: impl IntoIterator<Item = String>) -> String {
    let texts: Vec<String> = texts.into_iter().collect();
    or_dash(&(!texts.is_empty()).then(|| texts.join("\n")))
}
