//! What a command shows: the fields of a JSON value and the cells of a table, in one list.

use std::fmt::Display;

use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::escape::printable;

/// A value that a command shows. Each row is a field in JSON, a cell under a heading in the table, or both.
#[derive(Default)]
pub(crate) struct View(Vec<Row>);

struct Row {
    field: Option<(&'static str, Value)>,
    /// The heading and the lines of the cell. Without a line, the value is absent.
    cell: Option<(&'static str, Vec<String>)>,
}

impl View {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// A setting that was deleted. In JSON, its id has the same field as in the setting's other commands.
    pub(crate) fn deleted(field: &'static str, id: impl Display) -> Self {
        Self::new().text(field, "deleted", id).json("deleted", true)
    }

    /// A value that is shown as it is in JSON: a text, a number, a choice (`yes`, `no`), or a list of them (lines).
    pub(crate) fn value(self, field: &'static str, heading: &'static str, value: impl Into<Value>) -> Self {
        let value = value.into();
        let lines = lines_of(&value);
        self.row(Some((field, value)), Some((heading, lines)))
    }

    /// A value that has a text, such as an id or a time.
    pub(crate) fn text(self, field: &'static str, heading: &'static str, value: impl Display) -> Self {
        self.value(field, heading, value.to_string())
    }

    /// A value that has a text, if it is present.
    pub(crate) fn optional<T: Display>(
        self,
        field: &'static str,
        heading: &'static str,
        value: Option<T>,
    ) -> Self {
        self.value(field, heading, value.map(|value| value.to_string()))
    }

    /// A field that no table shows.
    pub(crate) fn json(self, field: &'static str, value: impl Into<Value>) -> Self {
        self.row(Some((field, value.into())), None)
    }

    /// A cell that says the same as fields of the JSON value, for people.
    pub(crate) fn cell(self, heading: &'static str, text: impl Into<String>) -> Self {
        self.row(None, Some((heading, vec![text.into()])))
    }

    /// Such a cell with any number of lines.
    pub(crate) fn lines(self, heading: &'static str, lines: impl IntoIterator<Item = String>) -> Self {
        self.row(None, Some((heading, lines.into_iter().collect())))
    }

    /// All rows of another view after these.
    pub(crate) fn and(mut self, more: Self) -> Self {
        self.0.extend(more.0);
        self
    }

    /// The same JSON value, for another table.
    pub(crate) fn without_cells(mut self) -> Self {
        self.0.iter_mut().for_each(|row| row.cell = None);
        self
    }

    fn row(
        mut self,
        field: Option<(&'static str, Value)>,
        cell: Option<(&'static str, Vec<String>)>,
    ) -> Self {
        self.0.push(Row { field, cell });
        self
    }

    /// The headings, and the lines of their cells. Every cell of every table comes from here, and all are printable.
    pub(crate) fn columns(&self) -> impl Iterator<Item = (&'static str, Vec<String>)> {
        let cells = self.0.iter().filter_map(|row| row.cell.as_ref());
        cells.map(|(heading, lines)| (*heading, lines.iter().map(|line| printable(line)).collect()))
    }

    fn fields(&self) -> impl Iterator<Item = (&'static str, &Value)> {
        self.0.iter().filter_map(|row| row.field.as_ref()).map(|(field, value)| (*field, value))
    }
}

/// The beginning of a text, if it has more characters than a table shows.
pub(crate) fn beginning(text: &str, characters: usize) -> String {
    match text.char_indices().nth(characters) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}

fn lines_of(value: &Value) -> Vec<String> {
    match value {
        Value::Null => vec![],
        Value::Bool(choice) => vec![if *choice { "yes" } else { "no" }.to_owned()],
        Value::String(text) => vec![text.clone()],
        Value::Array(values) => values.iter().flat_map(lines_of).collect(),
        Value::Number(_) | Value::Object(_) => vec![value.to_string()],
    }
}

impl Serialize for View {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_map(self.fields())
    }
}

/// A view within a view.
impl From<View> for Value {
    fn from(view: View) -> Self {
        view.fields().map(|(field, value)| (field, value.clone())).collect()
    }
}
