//! The lines of tables. At a terminal they are as wide as it is at most: texts are wrapped between words, and a table that
//! would need to break words shows each row as a block of its own.

use textwrap::{Options, WordSplitter};
use unicode_width::UnicodeWidthStr;

use crate::view::View;

/// The spaces between two columns.
const GAP: usize = 2;

/// How tables are shown.
#[derive(Clone, Copy)]
pub(crate) struct Layout {
    /// The number of columns of the terminal. `None`: lines have any length.
    pub(crate) width: Option<usize>,
    /// The text of a cell below its heading, in colour.
    pub(crate) painted: fn(&str, &str) -> String,
}

impl Layout {
    /// One value: its headings below each other, and a line for each line of a cell.
    pub(crate) fn details(&self, view: &View) -> Vec<String> {
        let indent = view.columns().map(|(heading, _)| heading.width()).max().unwrap_or(0) + GAP;
        let room = self.width.map(|width| width.saturating_sub(indent));
        let mut shown = vec![];
        for (heading, cell) in view.columns() {
            let lines = if cell.is_empty() { vec![String::new()] } else { cell };
            for (at, line) in lines.iter().flat_map(|line| wrapped(present(line), room)).enumerate() {
                let heading = if at == 0 { heading } else { "" };
                shown.push(format!("{}{}", padded(heading, indent, heading), (self.painted)(heading, &line)));
            }
        }
        shown
    }

    /// Several values: a line of headings, and a row for each value.
    pub(crate) fn table(&self, views: &[View]) -> Vec<String> {
        let headings: Vec<&str> =
            views.iter().take(1).flat_map(View::columns).map(|(heading, _)| heading).collect();
        let titles = headings.iter().map(|heading| heading.to_uppercase()).collect();
        let cells = |view: &View| view.columns().map(|(_, lines)| in_one_line(&lines)).collect();
        let rows: Vec<Vec<String>> = std::iter::once(titles).chain(views.iter().map(cells)).collect();
        let Some(widths) = fitted(&rows, self.width) else { return self.blocks(views) };
        let mut shown = vec![];
        for row in rows {
            let cells: Vec<Vec<String>> = row
                .iter()
                .zip(&widths)
                .map(|(cell, width)| wrapped(cell, self.width.map(|_| *width)))
                .collect();
            for at in 0..cells.iter().map(Vec::len).max().unwrap_or(0) {
                let columns = headings.iter().zip(&cells).zip(&widths).map(|((heading, lines), width)| {
                    let line = lines.get(at).map_or("", String::as_str);
                    padded(line, width + GAP, &(self.painted)(heading, line))
                });
                shown.push(columns.collect::<String>().trim_end().to_owned());
            }
        }
        shown
    }

    fn blocks(&self, views: &[View]) -> Vec<String> {
        let blocks: Vec<Vec<String>> = views.iter().map(|view| self.details(view)).collect();
        blocks.join(&String::new())
    }
}

/// The cells of a value in one line, without headings.
pub(crate) fn cells_in_line(view: &View) -> String {
    let cells: Vec<String> = view.columns().map(|(_, lines)| in_one_line(&lines)).collect();
    cells.join("  ").trim_end().to_owned()
}

fn in_one_line(lines: &[String]) -> String {
    present(&lines.join("; ")).to_owned()
}

/// The text of a cell, which is never empty.
fn present(text: &str) -> &str {
    if text.is_empty() { "-" } else { text }
}

/// The widths of the columns. `None` if a line with the longest word of each column is wider than `most`.
fn fitted(rows: &[Vec<String>], most: Option<usize>) -> Option<Vec<usize>> {
    let columns = rows.first().map_or(0, Vec::len);
    let widest = |measure: fn(&str) -> usize| -> Vec<usize> {
        (0..columns).map(|column| rows.iter().map(|row| measure(&row[column])).max().unwrap_or(0)).collect()
    };
    let whole = widest(UnicodeWidthStr::width);
    let Some(most) = most else { return Some(whole) };
    let mut widths = widest(|cell| cell.split(' ').map(UnicodeWidthStr::width).max().unwrap_or(0));
    let mut left = most.checked_sub(widths.iter().sum::<usize>() + GAP * columns.saturating_sub(1))?;
    // The columns that need the least room to be whole get it first. The others share the rest.
    let mut by_need: Vec<usize> = (0..columns).collect();
    by_need.sort_by_key(|column| whole[*column] - widths[*column]);
    for (at, column) in by_need.into_iter().enumerate() {
        let more = (left / (columns - at)).min(whole[column] - widths[column]);
        widths[column] += more;
        left -= more;
    }
    Some(widths)
}

/// The lines of a text. No word is broken, so that an id can be copied.
fn wrapped(text: &str, room: Option<usize>) -> Vec<String> {
    let Some(room) = room else { return vec![text.to_owned()] };
    let options = Options::new(room).break_words(false).word_splitter(WordSplitter::NoHyphenation);
    textwrap::wrap(text, options).into_iter().map(String::from).collect()
}

/// A text with spaces after it. `painted` is the same text; the codes of its colour have no width.
fn padded(text: &str, width: usize, painted: &str) -> String {
    format!("{painted}{:rest$}", "", rest = width.saturating_sub(text.width()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(width: impl Into<Option<usize>>) -> Layout {
        Layout { width: width.into(), painted: |_, cell| cell.to_owned() }
    }

    fn contact(id: &str, name: &str, note: &str) -> View {
        View::new().text("id", "contact", id).text("name", "name", name).text("note", "said so", note)
    }

    fn contacts() -> [View; 2] {
        [contact("0123456789", "Ana", ""), contact("1", "名前 Ruiz", "a long note of a person")]
    }

    #[test]
    fn a_table_is_as_wide_as_its_cells_if_nothing_limits_it() {
        let expected = [
            "CONTACT     NAME       SAID SO",
            "0123456789  Ana        -",
            "1           名前 Ruiz  a long note of a person",
        ];
        assert_eq!(of(None).table(&contacts()), expected);
        assert_eq!(of(46).table(&contacts()), expected);
    }

    #[test]
    fn a_table_that_is_too_wide_is_wrapped_between_words_in_its_longest_columns() {
        let expected = [
            "CONTACT     NAME       SAID SO",
            "0123456789  Ana        -",
            "1           名前 Ruiz  a long note",
            "                       of a person",
        ];
        assert_eq!(of(36).table(&contacts()), expected);
    }

    #[test]
    fn a_table_that_would_break_words_shows_each_row_as_a_block() {
        let expected = [
            "contact  0123456789",
            "name     Ana",
            "said so  -",
            "",
            "contact  1",
            "name     名前 Ruiz",
            "said so  a long note",
            "         of a person",
        ];
        assert_eq!(of(20).table(&contacts()), expected);
    }

    #[test]
    fn no_line_is_wider_than_the_terminal_unless_a_word_is() {
        for width in 1..=60 {
            for line in of(width).table(&contacts()) {
                let is_one_word = line.split("  ").last().is_some_and(|cell| !cell.trim().contains(' '));
                assert!(line.width() <= width || is_one_word, "{width}: {line:?}");
            }
        }
    }
}
