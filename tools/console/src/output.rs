//! The output of a command: one JSON value for programs or aligned tables for people. Also its standard input.

use std::io::{ErrorKind, IsTerminal, Read, Write};
use std::path::Path;

use clap::ColorChoice;
use serde::Serialize;

use crate::colour;
use crate::escape::{printable, printable_json};
use crate::layout::{Layout, cells_in_line};
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
    /// The number of columns of the terminal that standard output is. `None` if it is no terminal.
    pub width: Option<usize>,
}

impl Terminal {
    /// The streams of this process.
    pub fn real() -> Self {
        let is_watched = std::io::stderr().is_terminal();
        let size = || terminal_size::terminal_size_of(std::io::stdout());
        Self {
            input: Box::new(std::io::stdin()),
            out: Box::new(std::io::stdout()),
            err: Box::new(std::io::stderr()),
            is_watched,
            has_person: is_watched && std::io::stdin().is_terminal(),
            has_colours: colour::automatic(std::io::stdout().is_terminal(), |name| std::env::var_os(name)),
            // A terminal that does not say how wide it is has 80 columns.
            width: std::io::stdout()
                .is_terminal()
                .then(|| size().map_or(80, |(columns, _)| columns.0.into())),
        }
    }

    /// Asks the person at the terminal a question and reads a line. `None` if there is nobody to ask.
    pub(crate) fn ask(&mut self, question: &str) -> Result<Option<String>> {
        if !self.has_person {
            return Ok(None);
        }
        write!(self.err, "{}", printable(question))
            .and_then(|()| self.err.flush())
            .map_err(Refusal::Output)?;
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

/// What a command shows when it ends.
pub(crate) struct Report {
    shown: Shown,
    remarks: Vec<String>,
    /// Why the command failed although it shows something.
    failure: Option<Refusal>,
}

enum Shown {
    One(View),
    List(Vec<View>),
    /// The command wrote its output itself.
    Written,
}

impl Report {
    /// The report of a command that wrote its output itself.
    pub(crate) fn written() -> Self {
        Self { shown: Shown::Written, remarks: vec![], failure: None }
    }

    /// Adds a remark for people.
    pub(crate) fn remark(self, sentence: impl Into<String>) -> Self {
        self.remarks([sentence])
    }

    /// Adds remarks, or the one of an `Option`.
    pub(crate) fn remarks(mut self, sentences: impl IntoIterator<Item: Into<String>>) -> Self {
        self.remarks.extend(sentences.into_iter().map(Into::into));
        self
    }

    /// The command shows this and fails.
    pub(crate) fn failed(self, failure: Option<Refusal>) -> Self {
        Self { failure, ..self }
    }
}

/// One value: in the table, one line per row.
impl From<View> for Report {
    fn from(view: View) -> Self {
        Self { shown: Shown::One(view), ..Self::written() }
    }
}

/// A list: a table with one row per value.
impl FromIterator<View> for Report {
    fn from_iter<I: IntoIterator<Item = View>>(views: I) -> Self {
        Self { shown: Shown::List(views.into_iter().collect()), ..Self::written() }
    }
}

/// The output in the requested format.
pub(crate) struct Output<'a> {
    json: bool,
    layout: Layout,
    terminal: &'a mut Terminal,
}

impl<'a> Output<'a> {
    pub(crate) fn new(json: bool, colours: ColorChoice, terminal: &'a mut Terminal) -> Self {
        let has_colours = match colours {
            ColorChoice::Auto => terminal.has_colours,
            ColorChoice::Always => true,
            ColorChoice::Never => false,
        };
        let painted = if has_colours { colour::painted } else { |_: &str, cell: &str| cell.to_owned() };
        Self { json, layout: Layout { width: terminal.width, painted }, terminal }
    }

    /// Shows what a command reports.
    pub(crate) fn report(&mut self, report: Report) -> Result {
        match &report.shown {
            Shown::One(view) => self.one(view)?,
            Shown::List(views) if self.json => self.json(views)?,
            Shown::List(views) if views.is_empty() => self.line("None.")?,
            Shown::List(views) => self.lines(&self.layout.table(views))?,
            Shown::Written => {}
        }
        report.remarks.iter().try_for_each(|remark| self.remark(remark))?;
        report.failure.map_or(Ok(()), Err)
    }

    /// Shows one value.
    pub(crate) fn one(&mut self, view: &View) -> Result {
        if self.json { self.json(view) } else { self.lines(&self.layout.details(view)) }
    }

    /// Shows a value of a list that goes on: in the table, its cells on one line without headings.
    pub(crate) fn next(&mut self, view: &View) -> Result {
        if self.json { self.json(view) } else { self.line(&cells_in_line(view)) }
    }

    /// Writes a remark on standard error, for people only.
    pub(crate) fn remark(&mut self, sentence: &str) -> Result {
        if self.json { Ok(()) } else { self.warn(sentence) }
    }

    /// Writes a problem on standard error, for people and programs. The command goes on.
    pub(crate) fn warn(&mut self, sentence: &str) -> Result {
        writeln!(self.terminal.err, "{}", printable(sentence)).map_err(Refusal::Output)
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

    /// Whether standard output is a terminal.
    pub(crate) fn is_terminal(&self) -> bool {
        self.terminal.width.is_some()
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
        let text = json_of(value)?;
        self.line(&text)
    }

    fn lines(&mut self, lines: &[String]) -> Result {
        lines.iter().try_for_each(|line| self.line(line))
    }

    fn line(&mut self, text: &str) -> Result {
        writeln!(self.terminal.out, "{text}").map_err(Refusal::Output)
    }
}

/// The JSON of a value on one line.
pub(crate) fn json_of<T: Serialize + ?Sized>(value: &T) -> Result<String> {
    let text = serde_json::to_string(value).map_err(|error| Refusal::Output(error.into()))?;
    Ok(printable_json(&text))
}
