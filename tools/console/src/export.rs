//! Exports: CSV for spreadsheet programs, or one JSON array, page by page, because a workspace may have more rows than the
//! memory.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use store::Page;

use crate::escape::printable;
use crate::output::{Output, Report, json_of};
use crate::view::View;
use crate::{Refusal, Result, private};

/// Where an export goes.
#[derive(Args)]
pub(crate) struct Destination {
    /// The CSV file to write [default: standard output].
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Write every text as it is. Without this flag, a text that a spreadsheet would execute as a formula (=, +, - or @ at
    /// its beginning or after a comma, a semicolon or a tab) gets an apostrophe before it. Phone numbers never do.
    #[arg(long)]
    raw: bool,
}

/// What a file does with a text that a spreadsheet would execute.
#[derive(Clone, Copy)]
pub(crate) enum Formulas {
    /// It is as it is.
    Kept,
    /// It has an apostrophe before it.
    Neutralised,
}

impl Formulas {
    pub(crate) fn of(raw: bool) -> Self {
        if raw { Self::Kept } else { Self::Neutralised }
    }

    /// A text of people as a file has it.
    pub(crate) fn written(self, text: String) -> String {
        match self {
            Self::Kept => text,
            Self::Neutralised => {
                parts(&text).flat_map(|part| [if is_formula(part) { "'" } else { "" }, part]).collect()
            }
        }
    }

    /// The text that a file has as `cell`.
    pub(crate) fn read(self, cell: &str) -> String {
        match self {
            Self::Kept => cell.to_owned(),
            Self::Neutralised => parts(cell)
                .map(|part| part.strip_prefix('\'').filter(|rest| is_formula(rest)).unwrap_or(part))
                .collect(),
        }
    }
}

/// A cell of an export.
pub(crate) enum Cell {
    /// A text that people may have chosen.
    Text(String),
    /// A text that no spreadsheet may change, such as a phone number with its sign.
    Exact(String),
}

impl Cell {
    pub(crate) fn text(text: impl ToString) -> Self {
        Self::Text(text.to_string())
    }

    /// An absent value is an empty cell.
    pub(crate) fn optional(text: Option<impl ToString>) -> Self {
        Self::Text(text.map(|text| text.to_string()).unwrap_or_default())
    }

    fn written(self, formulas: Formulas) -> String {
        match self {
            Self::Text(text) => formulas.written(text),
            Self::Exact(text) => text,
        }
    }
}

/// What separates cells and rows. A program may read a file with another separator than the file has.
const SEPARATORS: [char; 5] = [',', ';', '\t', '\n', '\r'];

/// The parts of a text that such a program may take for cells.
fn parts(text: &str) -> impl Iterator<Item = &str> {
    text.split_inclusive(SEPARATORS)
}

/// Whether a spreadsheet would execute a text, or would after quotes and spaces that it removes. Programs for East Asia
/// also take the full-width signs.
fn is_formula(text: &str) -> bool {
    let text = text.trim_start_matches(['\'', '"', ' ']);
    text.starts_with(['=', '+', '-', '@', '\t', '\r', '＝', '＋', '－', '＠'])
}

impl Destination {
    /// Writes all pages. `read` reads the one from a position on; `cells` and `view` show a row of it.
    pub(crate) async fn write<T>(
        &self,
        header: Vec<String>,
        read: impl AsyncFn(Option<String>) -> Result<Page<T>>,
        cells: impl Fn(&T) -> Vec<Cell>,
        view: impl Fn(&T) -> View,
        output: &mut Output<'_>,
    ) -> Result<Report> {
        let formulas = Formulas::of(self.raw);
        let in_file =
            |cells: Vec<Cell>| cells.into_iter().map(|cell| cell.written(formulas)).collect::<Vec<_>>();
        if let Some(path) = &self.output {
            let mut to = private::file(path).map_err(|error| unwritable(path, &error))?;
            let exported = csv_pages(header, read, |row| in_file(cells(row)), &mut to).await?;
            let view = View::new().value("exported", "exported", exported);
            return Ok(view.text("file", "file", path.display()).into());
        }
        let written = if output.is_json() {
            json_pages(read, view, output.raw()).await
        } else {
            // A spreadsheet does not execute a control character, but a terminal does.
            let is_terminal = output.is_terminal();
            let cells = |row: &T| match is_terminal {
                true => in_file(cells(row)).iter().map(|cell| printable(cell)).collect(),
                false => in_file(cells(row)),
            };
            csv_pages(header, read, cells, output.raw()).await.map(|_| ())
        };
        Output::may_be_cut(written).map(|()| Report::written())
    }
}

fn unwritable(path: &Path, error: &std::io::Error) -> Refusal {
    Refusal::File { path: path.display().to_string(), reason: error.to_string() }
}

/// Returns the number of rows below the header.
async fn csv_pages<T>(
    header: Vec<String>,
    read: impl AsyncFn(Option<String>) -> Result<Page<T>>,
    cells: impl Fn(&T) -> Vec<String>,
    to: &mut dyn Write,
) -> Result<usize> {
    let unwritable = |error: csv::Error| match error.into_kind() {
        csv::ErrorKind::Io(error) => Refusal::Output(error),
        other => Refusal::Output(std::io::Error::other(format!("{other:?}"))),
    };
    let mut csv = csv::Writer::from_writer(to);
    csv.write_record(header).map_err(unwritable)?;
    let (mut count, mut from) = (0, None);
    loop {
        let page = read(from).await?;
        page.items.iter().try_for_each(|row| csv.write_record(cells(row))).map_err(unwritable)?;
        count += page.items.len();
        from = page.next;
        if from.is_none() {
            break;
        }
    }
    csv.flush().map_err(Refusal::Output)?;
    Ok(count)
}

async fn json_pages<T>(
    read: impl AsyncFn(Option<String>) -> Result<Page<T>>,
    view: impl Fn(&T) -> View,
    to: &mut dyn Write,
) -> Result {
    let (mut before, mut from) = ("[", None);
    loop {
        let page = read(from).await?;
        for row in &page.items {
            write!(to, "{before}{}", json_of(&view(row))?).map_err(Refusal::Output)?;
            before = ",";
        }
        from = page.next;
        if from.is_none() {
            break;
        }
    }
    let end = if before == "[" { "[]" } else { "]" };
    writeln!(to, "{end}").map_err(Refusal::Output)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_separator_makes_a_formula_of_a_text_and_a_reader_gets_the_text_back() {
        for (text, file) in [
            ("Ana", "Ana"),
            ("", ""),
            ("=1+1", "'=1+1"),
            ("Ana;=cmd|' /C calc'!A0", "Ana;'=cmd|' /C calc'!A0"),
            ("Ana,+1\t@x\n-y", "Ana,'+1\t'@x\n'-y"),
            ("Ana;\"=cmd", "Ana;'\"=cmd"),
            ("Ana; =cmd", "Ana;' =cmd"),
            ("＝1;＠x", "'＝1;'＠x"),
            ("'=kept", "''=kept"),
            ("a;''=b", "a;'''=b"),
            ("O'Hara; it's 5-1=4", "O'Hara; it's 5-1=4"),
            ("\t=x", "'\t'=x"),
        ] {
            let written = Formulas::Neutralised.written(text.to_owned());
            assert_eq!(written, file, "{text:?}");
            assert_eq!(Formulas::Neutralised.read(&written), text);
            assert_eq!(Formulas::Kept.read(&Formulas::Kept.written(text.to_owned())), text);
            for separator in SEPARATORS {
                assert!(written.split(separator).all(|cell| !cell.starts_with(['=', '+', '-', '@'])));
            }
        }
    }
}
