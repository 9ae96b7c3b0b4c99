//! The subset of Markdown that descriptions use: paragraphs, lists, tables, `code` and **bold**.

/// Escapes a text for HTML.
pub(super) fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// Renders a text of one or more blocks, separated by blank lines.
pub(super) fn prose(text: &str) -> String {
    text.trim().split("\n\n").filter(|block| !block.trim().is_empty()).map(block).collect()
}

fn block(block: &str) -> String {
    if block.starts_with('|') {
        return table(block);
    }
    if let Some(first) = block.strip_prefix("- ") {
        let items: String = first.split("\n- ").map(|item| format!("<li>{}</li>", line(item))).collect();
        return format!("<ul>{items}</ul>\n");
    }
    format!("<p>{}</p>\n", line(block))
}

/// Renders a table: the header, a separator line, the rows.
fn table(block: &str) -> String {
    let cells = |row: &str, cell: &str| -> String {
        let row = row.trim().trim_matches('|');
        row.split('|').map(|text| format!("<{cell}>{}</{cell}>", line(text.trim()))).collect()
    };
    let mut rows = block.lines();
    let head = rows.next().map(|row| cells(row, "th")).unwrap_or_default();
    let body: String = rows.skip(1).map(|row| format!("<tr>{}</tr>", cells(row, "td"))).collect();
    format!(
        "<div class=\"wide\" tabindex=\"0\"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>\n"
    )
}

/// Renders `code` and **bold** in running text.
pub(super) fn line(text: &str) -> String {
    let bold = |text: &str| between(text, "**", "strong", escape);
    between(text, "`", "code", bold)
}

/// Puts every second piece between these marks into this element. `outside` renders the other pieces.
fn between(text: &str, mark: &str, element: &str, outside: impl Fn(&str) -> String) -> String {
    let pieces = text.split(mark).enumerate();
    pieces
        .map(|(at, piece)| match at % 2 {
            0 => outside(piece),
            _ => format!("<{element}>{}</{element}>", escape(piece)),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptions_become_paragraphs_lists_and_tables() {
        let rows = [
            ("One\nline.\n\nAnother.\n", "<p>One\nline.</p>\n<p>Another.</p>\n"),
            ("- a\n  more\n- `b`", "<ul><li>a\n  more</li><li><code>b</code></li></ul>\n"),
            ("**Ids** & `<x> **`", "<p><strong>Ids</strong> &amp; <code>&lt;x&gt; **</code></p>\n"),
            (
                "| A | B |\n|---|---|\n| `x` | y |",
                "<div class=\"wide\" tabindex=\"0\"><table><thead><tr><th>A</th><th>B</th></tr></thead>\
                 <tbody><tr><td><code>x</code></td><td>y</td></tr></tbody></table></div>\n",
            ),
            ("", ""),
        ];
        for (text, html) in rows {
            assert_eq!(prose(text), html);
        }
    }
}
