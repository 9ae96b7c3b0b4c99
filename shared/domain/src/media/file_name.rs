//! The name of an uploaded file.

use std::fmt;

use crate::text::{Unfit, is_printable, within};

/// A file's original name: 1 to 255 characters without path separators. Its debug output is redacted.
#[derive(Clone, PartialEq, Eq)]
pub struct FileName(String);

impl FileName {
    /// The greatest number of characters in a name.
    pub const MAX: usize = 255;

    /// Parses a name.
    pub fn parse(text: &str) -> Result<Self, Unfit> {
        within(text, 1, Self::MAX)?;
        if text.contains(['/', '\\']) {
            return Err(Unfit::Value { reason: "a file name cannot contain path separators" });
        }
        Ok(Self(text.to_owned()))
    }

    /// The nearest valid name for the name of a file from outside. Path separators and characters that control the
    /// display become underscores, and a long name is cut before its extension. `None` if nothing but dots and spaces is
    /// left.
    pub fn safe(text: &str) -> Option<Self> {
        let replace = |c: char| if matches!(c, '/' | '\\') || controls_display(c) { '_' } else { c };
        let name: String = text.trim().chars().map(replace).collect();
        if name.chars().all(|c| c == '.' || c.is_whitespace()) {
            return None;
        }
        let length = name.chars().count();
        if length <= Self::MAX {
            return Some(Self(name));
        }
        let whole = Self(name);
        let extension = whole.extension().filter(|extension| extension.chars().count() <= 20).unwrap_or("");
        let stem = Self::MAX - extension.chars().count();
        Some(Self(whole.0.chars().take(stem).chain(extension.chars()).collect()))
    }

    /// The name without characters that control the display: each is an underscore.
    pub fn displayable(&self) -> String {
        self.0.chars().map(|c| if controls_display(c) { '_' } else { c }).collect()
    }

    /// The name as given.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The text from the last dot, with unchanged case. `None` if there is no dot or only one at the
    /// beginning.
    pub fn extension(&self) -> Option<&str> {
        let dot = self.0.rfind('.').filter(|dot| *dot > 0)?;
        Some(&self.0[dot..])
    }
}

/// Whether a character breaks the line, changes the direction of the text around it, or has no width: it can hide an
/// extension. Zero-width joiners are printable elsewhere, because letters and emoji need them.
fn controls_display(c: char) -> bool {
    !is_printable(c) || ['\u{200c}', '\u{200d}'].contains(&c)
}

impl fmt::Debug for FileName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[FileName]")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_displayed_without_line_breaks_and_changes_of_direction() {
        let displayed = |text: &str| FileName::parse(text).unwrap().displayable();
        assert_eq!(displayed("Angebot März 2026.pdf"), "Angebot März 2026.pdf");
        assert_eq!(displayed("a\nb\tc\u{2028}d\u{2029}.pdf"), "a_b_c_d_.pdf");
        assert_eq!(displayed("gpj.\u{202e}fdp\u{2066}\u{061c}.exe"), "gpj._fdp__.exe");
    }

    #[test]
    fn every_name_from_outside_becomes_a_valid_name_or_none() {
        let long = "x".repeat(300);
        #[rustfmt::skip]
        let rows = [
            ("offer.pdf", Some("offer.pdf".to_owned())),
            (" ../../etc/passwd ", Some(".._.._etc_passwd".to_owned())),
            ("a\\b\r\nc", Some("a_b__c".to_owned())),
            ("gpj.\u{202e}fdp.exe", Some("gpj._fdp.exe".to_owned())),
            ("", None),
            (" . .. ", None),
            (long.as_str(), Some("x".repeat(255))),
        ];
        for (text, expected) in rows {
            let safe = FileName::safe(text);
            assert_eq!(safe.as_ref().map(FileName::as_str), expected.as_deref(), "{text:?}");
            assert!(safe.is_none_or(|safe| FileName::parse(safe.as_str()).is_ok()));
        }
        let cut = FileName::safe(&format!("{long}.pdf")).unwrap();
        assert_eq!((cut.as_str().chars().count(), cut.extension()), (255, Some(".pdf")));
    }
}
