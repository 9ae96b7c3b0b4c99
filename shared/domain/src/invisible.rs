//! Characters that nobody sees. Texts that look the same are the same without them.

/// Whether a character has no glyph of its own and joins no letters: soft hyphen, zero-width space, marks of the
/// writing direction, word joiners, byte order mark and interlinear annotations. Zero-width joiners, variation
/// selectors and tags are not among them: Persian, Indic scripts and emoji need them.
pub fn is_format(character: char) -> bool {
    matches!(
        character,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{202a}'
            ..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
    )
}

/// The text without format characters ([`is_format`]).
pub fn visible(text: &str) -> String {
    text.chars().filter(|character| !is_format(*character)).collect()
}

/// Whether a reader sees nothing: white space, format characters, and letters without a glyph.
pub fn is_blank(text: &str) -> bool {
    const FILLERS: &[char] = &['\u{115f}', '\u{1160}', '\u{2800}', '\u{3164}', '\u{ffa0}'];
    text.chars().all(|c| c.is_whitespace() || is_format(c) || FILLERS.contains(&c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_of_nothing_that_shows_is_blank() {
        for blank in
            ["", " \t\n", "\u{200b}", "\u{a0}\u{ad}\u{feff}", "\u{115f}\u{1160}\u{2800}\u{3164}\u{ffa0}"]
        {
            assert!(is_blank(blank), "{blank:?}");
        }
        for shown in ["a", ".", " \u{200b}x", "\u{1f468}\u{200d}\u{1f33e}"] {
            assert!(!is_blank(shown), "{shown:?}");
        }
    }
}
