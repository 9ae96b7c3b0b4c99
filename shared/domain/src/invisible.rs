//! Characters that nobody sees. Texts that look the same are the same without them.

use crate::text::Unfit;

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

/// A name of one line that a caller sends, without format characters. Returns an error if it is blank or has more
/// than one line.
pub fn line(text: &str) -> Result<String, Unfit> {
    if is_blank(text) {
        return Err(Unfit::Value { reason: "a name cannot be blank" });
    }
    if text.chars().any(char::is_control) {
        return Err(Unfit::Value { reason: "a name has one line, without tabs and control characters" });
    }
    Ok(visible(text))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_text_of_nothing_that_shows_is_blank() {
        for blank in
            ["", " \t\n", "\u{200b}", "\u{a0}\u{ad}\u{feff}", "\u{115f}\u{1160}\u{2800}\u{3164}\u{ffa0}"]
        {
            assert!(is_blank(blank), "{blank:?}");
            assert!(line(blank).is_err(), "{blank:?}");
        }
        for shown in ["a", ".", " \u{200b}x", "\u{1f468}\u{200d}\u{1f33e}"] {
            assert!(!is_blank(shown), "{shown:?}");
        }
    }

    #[test]
    fn a_name_keeps_what_letters_and_emoji_need_and_has_one_line() {
        for (given, expected) in [
            ("A\u{200b}na\u{ad} \u{202e}Ruiz\u{2069}", "Ana Ruiz"),
            ("\u{feff}Ana", "Ana"),
            ("\u{645}\u{6cc}\u{200c}\u{62e}", "\u{645}\u{6cc}\u{200c}\u{62e}"),
            ("\u{1f468}\u{200d}\u{1f33e} \u{2764}\u{fe0f}", "\u{1f468}\u{200d}\u{1f33e} \u{2764}\u{fe0f}"),
        ] {
            assert_eq!(line(given).as_deref(), Ok(expected), "{given:?}");
        }
        for lines in ["Ana\nRuiz", "Ana\tRuiz", "Ana\u{85}Ruiz", "Ana\r"] {
            assert!(matches!(line(lines), Err(Unfit::Value { .. })), "{lines:?}");
        }
    }

    proptest! {
        #[test]
        fn a_cleaned_name_shows_something_has_one_line_and_stays_the_same(text in "\\PC{0,8}[\u{ad}\u{200b}-\u{200f}\u{2028}-\u{202e}a ]{0,8}") {
            if let Ok(name) = line(&text) {
                prop_assert!(!is_blank(&name));
                prop_assert!(!name.chars().any(|c| c.is_control() || is_format(c)));
                prop_assert_eq!(line(&name), Ok(name));
            }
        }
    }
}
