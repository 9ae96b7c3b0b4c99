//! Texts of third parties, made safe for a terminal: it executes control characters, and bidirectional characters and line
//! separators make a text look like another one.

use domain::text::is_printable;

/// A text for people. A character that is not printable is shown as its escape: `\n`, `\u{1b}`.
pub(crate) fn printable(text: &str) -> String {
    let escaped = |c: char| if is_printable(c) { vec![c] } else { c.escape_default().collect() };
    text.chars().flat_map(escaped).collect()
}

/// JSON with the same value. Such a character can only be within a string.
pub(crate) fn printable_json(json: &str) -> String {
    let mut escaped = String::with_capacity(json.len());
    for character in json.chars() {
        match is_printable(character) {
            true => escaped.push(character),
            false => escaped.push_str(&format!("\\u{:04x}", u32::from(character))),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_character_reaches_a_terminal_as_a_command_and_json_keeps_its_value() {
        let hostile = "a\u{1b}]52;c;YQ==\u{7}\r\nb\u{7f}\u{9b}31m\u{2028}\u{202e}c é 👩";
        let shown = printable(hostile);
        assert_eq!(shown, r"a\u{1b}]52;c;YQ==\u{7}\r\nb\u{7f}\u{9b}31m\u{2028}\u{202e}c é 👩", "{shown}");
        let json = printable_json(&serde_json::to_string(hostile).unwrap());
        assert!(json.chars().all(is_printable), "{json}");
        assert_eq!(serde_json::from_str::<String>(&json).unwrap(), hostile);
    }
}
