//! The output of a command: one JSON value for programs or aligned tables for people. Also its standard input.

use std::io::{ErrorKind, IsTerminal, Read, Write};
use std::path::Path;

use clap::ColorChoice;
use serde::Serialize;

use crate::colour;
use crate::progress::Progress;
use crate::view::View;
use crate::{Refusal, Result};

/// The streams of a command. Standard input is for values that should not be among the arguments.
pub struct Terminal {
    /// Standard input.
    pub input: Box<dyn Read>,
    /// Standard output.
    pub out: Box<dyn Write>,
    /// Standard error.
    pub err: Box<dyn Write>,
    /// Whether standard error is a terminal, so that somebody sees the progress.
    pub is_watched: bool,
    /// Whether a person can be asked: standard input and standard error are terminals.
    pub has_person: bool,
    /// Whether tables have colours with `--color auto`.
    pub has_colours: bool,
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
            has_person: is_watched && std::io::stdin().is_terminal(),
            has_colours: colour::automatic(std::io::stdout().is_terminal(), |name| std::env::var_os(name)),
        }
    }

    /// Asks the person at the terminal a question and reads a line. `None` if there is nobody to ask.
    pub(crate) fn ask(&mut self, question: &str) -> Result<Option<String>> {
        if !self.has_person {
            return Ok(None);
        }
        write!(self.err, "{question}").and_then(|()| self.err.flush()).map_err(Refusal::Output)?;
        let (mut line, mut byte) = (vec![], [0]);
        // Bytes after the line belong to the command.
        let has_end = loop {
            match self.input.read(&mut byte) {
                Ok(0) | Err(_) => break false,
                Ok(_) if byte == *b"\n" => break true,
                Ok(_) => line.extend(byte),
            }
        };
        if !has_end {
            // The end of the input moves no cursor to the next line.
            writeln!(self.err).map_err(Refusal::Output)?;
        }
        Ok(Some(String::from_utf8_lossy(&line).trim().to_owned()))
    }
}

/// The output in the requested format.
pub(crate) struct Output<'a> {
    json: bool,
    has_colours: bool,
    terminal: &'a mut Terminal,
}

impl<'a> Output<'a> {
    pub(crate) fn new(json: bool, colours: ColorChoice, terminal: &'a mut Terminal) -> Self {
        let has_colours = match colours {
            ColorChoice::Auto => terminal.has_colours,
            ColorChoice::Always => true,
            ColorChoice::Never => false,
        };
        Self { json, has_colours, terminal }
    }

    /// Shows one value: in the table, one line per row.
    pub(crate) fn one(&mut self, view: View) -> Result {
        if self.json {
            return self.json(&view);
        }
        let width = view.columns().map(|(heading, _)| heading.chars().count()).max().unwrap_or(0);
        for (heading, cell) in view.columns() {
            let lines = if cell.is_empty() { &[String::new()] } else { cell };
            let lines: Vec<String> = lines.iter().map(|line| self.painted(heading, &shown(line))).collect();
            self.line(&format!("{heading:width$}  {}", lines.join(&format!("\n{:width$}  ", ""))))?;
        }
        Ok(())
    }

    /// Shows a list: as a table with one row per value.
    pub(crate) fn list(&mut self, views: impl IntoIterator<Item = View>) -> Result {
        let views: Vec<View> = views.into_iter().collect();
        if self.json {
            return self.json(&views);
        }
        let Some(first) = views.first() else { return self.line("None.") };
        let headings: Vec<&str> = first.columns().map(|(heading, _)| heading).collect();
        let titles = headings.iter().map(|heading| heading.to_uppercase()).collect();
        let cells = |view: &View| view.columns().map(|(_, lines)| shown(&lines.join("; "))).collect();
        let rows: Vec<Vec<String>> = std::iter::once(titles).chain(views.iter().map(cells)).collect();
        let widths: Vec<usize> = (0..headings.len())
            .map(|column| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0))
            .collect();
        for row in rows {
            let cells = headings.iter().zip(row.iter().zip(&widths)).map(|(heading, (cell, width))| {
                // The codes of a colour have no width.
                let rest = width - cell.chars().count();
                format!("{}{:rest$}", self.painted(heading, cell), "")
            });
            let line = cells.collect::<Vec<_>>().join("  ");
            self.line(line.trim_end())?;
        }
        Ok(())
    }

    fn painted(&self, heading: &str, cell: &str) -> String {
        if self.has_colours { colour::painted(heading, cell) } else { cell.to_owned() }
    }

    /// Shows a value of a list that goes on: in the table, its cells on one line without headings.
    pub(crate) fn next(&mut self, view: &View) -> Result {
        if self.json {
            return self.json(view);
        }
        let cells = view.columns().map(|(_, lines)| shown(&lines.join("; ")));
        self.line(cells.collect::<Vec<_>>().join("  ").trim_end())
    }

    /// Writes a remark on standard error, for people only.
    pub(crate) fn remark(&mut self, sentence: &str) -> Result {
        if self.json { Ok(()) } else { self.warn(sentence) }
    }

    /// Writes a problem on standard error, for people and programs. The command goes on.
    pub(crate) fn warn(&mut self, sentence: &str) -> Result {
        writeln!(self.terminal.err, "{sentence}").map_err(Refusal::Output)
    }

    /// Whether the command was started with `--json`.
    pub(crate) fn is_json(&self) -> bool {
        self.json
    }

    /// Reads the text of a file. `-` means standard input.
    pub(crate) fn read(&mut self, file: &Path) -> Result<String> {
        let not_utf_8 =
            |_| Refusal::File { path: file.display().to_string(), reason: "is not UTF-8".to_owned() };
        String::from_utf8(self.read_bytes(file)?).map_err(not_utf_8)
    }

    /// Reads a file. `-` means standard input.
    pub(crate) fn read_bytes(&mut self, file: &Path) -> Result<Vec<u8>> {
        let mut bytes = vec![];
        let read = match file == Path::new("-") {
            true => self.terminal.input.read_to_end(&mut bytes).map(|_| bytes),
            false => std::fs::read(file),
        };
        read.map_err(|error| Refusal::File { path: file.display().to_string(), reason: error.to_string() })
    }

    /// The end of an output that a program such as `head` may not read to its end: a closed pipe is a success.
    pub(crate) fn may_be_cut(written: Result) -> Result {
        match written {
            Err(Refusal::Output(error)) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
            written => written,
        }
    }

    /// Standard output, for a CSV file or streamed JSON.
    pub(crate) fn raw(&mut self) -> &mut dyn Write {
        &mut self.terminal.out
    }

    /// The progress of so many rows, on standard error, if that is a terminal and `--json` is absent.
    pub(crate) fn progress(&mut self, of: usize) -> Progress<'_> {
        let is_shown = self.terminal.is_watched && !self.json;
        Progress::new(is_shown.then_some(&mut *self.terminal.err), of)
    }

    fn json<T: Serialize + ?Sized>(&mut self, value: &T) -> Result {
        let text = serde_json::to_string(value).map_err(|error| Refusal::Output(error.into()))?;
        self.line(&text)
    }

    fn line(&mut self, text: &str) -> Result {
        writeln!(self.terminal.out, "{text}").map_err(Refusal::Output)
    }
}

/// The text of a cell, which is never empty. Texts are of third parties, so control characters are escaped: a terminal
/// would execute them.
fn shown(text: &str) -> String {
    match text {
        "" => "-".to_owned(),
        _ => text
            .chars()
            .flat_map(|c| if c.is_control() { c.escape_default().collect() } else { vec![c] })
            .collect(),
    }
}
