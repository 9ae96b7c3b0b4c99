//! The CSV files of an import: the one that it reads, and the one with the rows that it refuses.

use std::fs::File;
use std::path::Path;

use csv::ByteRecord;

use super::columns::{Column, REASON};
use crate::export::Formulas;
use crate::output::Output;
use crate::{Refusal, Result};

/// What an import reads.
#[derive(Clone, Copy)]
pub(super) struct Source<'p> {
    /// The file. `-` means standard input.
    pub(super) file: &'p Path,
    pub(super) formulas: Formulas,
}

/// The file in memory.
pub(super) struct Table<'p> {
    path: &'p Path,
    delimiter: u8,
    header: ByteRecord,
    records: Vec<ByteRecord>,
}

impl<'p> Table<'p> {
    /// What may separate the cells, in the order of preference.
    const DELIMITERS: [u8; 3] = [b',', b';', b'\t'];

    /// Reads a file and its header. The delimiter is the first one with which `columns` accepts the header.
    pub(super) fn read<'d>(
        path: &'p Path,
        columns: impl Fn(&[&str]) -> Result<Vec<Column<'d>>, String>,
        output: &mut Output<'_>,
    ) -> Result<(Self, Vec<Column<'d>>)> {
        let bytes = output.read_bytes(path)?;
        // Spreadsheet programs often write a byte order mark first.
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
        let mut fullest: Option<(usize, Refusal)> = None;
        for delimiter in Self::DELIMITERS {
            let mut reader = csv::ReaderBuilder::new().flexible(true).delimiter(delimiter).from_reader(bytes);
            let unreadable = |error: csv::Error| refused(path, error.to_string());
            let header = reader.byte_headers().map_err(unreadable)?.clone();
            let names = texts(&header).map_err(|reason| refused(path, format!("the header {reason}")))?;
            match columns(&names) {
                Ok(columns) => {
                    let records = reader.into_byte_records().collect::<Result<_, _>>().map_err(unreadable)?;
                    return Ok((Self { path, delimiter, header, records }, columns));
                }
                // If no delimiter fits, the one that makes the most columns is meant.
                Err(reason) if fullest.as_ref().is_none_or(|(cells, _)| *cells < names.len()) => {
                    fullest = Some((names.len(), refused(path, reason)));
                }
                Err(_) => {}
            }
        }
        Err(fullest.map_or_else(|| refused(path, "is empty".to_owned()), |(_, refusal)| refusal))
    }

    /// The number of rows below the header.
    pub(super) fn len(&self) -> usize {
        self.records.len()
    }

    /// The rows below the header, with the row numbers of a spreadsheet.
    pub(super) fn rows(&self) -> impl Iterator<Item = (usize, Result<Vec<&str>, String>)> {
        self.records.iter().enumerate().map(|(at, record)| (at + FIRST, texts(record)))
    }
}

/// The number of the first row below the header.
const FIRST: usize = 2;

fn texts(record: &ByteRecord) -> Result<Vec<&str>, String> {
    record.iter().map(|cell| std::str::from_utf8(cell).map_err(|_| "is not UTF-8".to_owned())).collect()
}

fn refused(path: &Path, reason: String) -> Refusal {
    Refusal::File { path: path.display().to_string(), reason }
}

/// The file with the refused rows: the reason and the columns of the import's file.
pub(super) struct Rejects<'p> {
    path: &'p Path,
    csv: csv::Writer<File>,
    /// The column with earlier reasons, which are left out.
    earlier: Option<usize>,
}

impl<'p> Rejects<'p> {
    /// Creates the file before the import, so that an import is not begun whose refused rows cannot be written.
    pub(super) fn create(path: &'p Path, table: &Table<'_>) -> Result<Self> {
        let canonical = |path: &Path| path.canonicalize().ok();
        if canonical(path).is_some_and(|rejects| canonical(table.path) == Some(rejects)) {
            return Err(refused(path, "is the file to import; name another one".to_owned()));
        }
        let file = File::create(path).map_err(|error| refused(path, error.to_string()))?;
        let csv = csv::WriterBuilder::new().flexible(true).delimiter(table.delimiter).from_writer(file);
        let earlier = table.header.iter().position(|name| name == REASON.as_bytes());
        let mut rejects = Self { path, csv, earlier };
        rejects.add(&table.header, REASON)?;
        Ok(rejects)
    }

    /// Writes the rows with these numbers, in this order.
    pub(super) fn write<'r>(
        mut self,
        table: &Table<'_>,
        rows: impl Iterator<Item = (usize, &'r str)>,
    ) -> Result {
        for (number, reason) in rows {
            if let Some(record) = table.records.get(number - FIRST) {
                // A reason quotes the cells of the file.
                self.add(record, &Formulas::Neutralised.written(reason.to_owned()))?;
            }
        }
        self.csv.flush().map_err(|error| refused(self.path, error.to_string()))
    }

    fn add(&mut self, record: &ByteRecord, reason: &str) -> Result {
        // The reason comes first, so that it has its column also in a row with too few or too many cells.
        let cells = record.iter().enumerate().filter(|(at, _)| Some(*at) != self.earlier);
        let cells = std::iter::once(reason.as_bytes()).chain(cells.map(|(_, cell)| cell));
        self.csv.write_record(cells).map_err(|error| refused(self.path, error.to_string()))
    }
}
