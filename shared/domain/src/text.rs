//! Short texts with rules. The service parses them once at its boundary and then relies on their types.

use std::fmt;

use crate::words::words;

/// Why a value is invalid for its field. The edge converts it to one entry in the `detail` of a validation
/// failure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unfit {
    /// The text has too few characters.
    TooShort {
        /// The least number of characters.
        min: usize,
    },
    /// The text has too many characters.
    TooLong {
        /// The greatest number of characters.
        max: usize,
    },
    /// The text does not have the required form.
    Shape {
        /// The regular expression that a valid value matches.
        pattern: &'static str,
        /// The same in words, after "should be".
        form: &'static str,
    },
    /// The value is not one of a fixed set.
    NotOneOf {
        /// The valid values.
        expected: &'static [&'static str],
    },
    /// The text is not a UUID in hyphenated form.
    NotAUuid,
    /// The value has the right form but is invalid for the given reason, a phrase that can follow "Value
    /// error, ".
    Value {
        /// The reason.
        reason: &'static str,
    },
}

impl fmt::Display for Unfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooShort { min } => write!(f, "should have at least {min} characters"),
            Self::TooLong { max } => write!(f, "should have at most {max} characters"),
            Self::Shape { form, .. } => write!(f, "should be {form}"),
            Self::NotOneOf { expected } => write!(f, "should be one of {}", expected.join(", ")),
            Self::NotAUuid => f.write_str("should be a UUID"),
            Self::Value { reason } => f.write_str(reason),
        }
    }
}

impl std::error::Error for Unfit {}

/// Whether a terminal, a log or a page shows a character as it is. Control characters (escape sequences begin with one)
/// and line separators move the cursor, and bidirectional characters change the order of what stands around them.
pub fn is_printable(character: char) -> bool {
    !character.is_control() && !is_line_separator(character) && !is_bidirectional(character)
}

/// A text of a third party, before it is stored as a name or an observation. Control characters and line separators
/// become spaces, and bidirectional characters are removed.
pub fn printable(text: &str) -> String {
    let kept = text.chars().filter(|character| !is_bidirectional(*character));
    kept.map(|character| if is_printable(character) { character } else { ' ' }).collect()
}

fn is_line_separator(character: char) -> bool {
    matches!(character, '\u{2028}' | '\u{2029}')
}

/// The characters of Unicode's bidirectional algorithm that have no glyph.
fn is_bidirectional(character: char) -> bool {
    matches!(character, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Returns an error if the number of characters (Unicode scalar values) is outside `min..=max`.
pub fn within(text: &str, min: usize, max: usize) -> Result<(), Unfit> {
    let length = text.chars().count();
    if length < min {
        Err(Unfit::TooShort { min })
    } else if length > max {
        Err(Unfit::TooLong { max })
    } else {
        Ok(())
    }
}

macro_rules! texts {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(String);

        impl $name {
            /// The text as given.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        // The text is personal data. Logs that print the surrounding struct must not contain it.
        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(concat!("[", stringify!($name), "]"))
            }
        }
    )*};
}

texts! {
    /// A first or last name: 1 to 100 characters, not blank.
    PersonName;
    /// An e-mail address of up to 254 characters. It is shown as given and compared regardless of case
    /// ([`Email::canonical`]).
    Email;
    /// A phone number in E.164 form: `+` and 8 to 15 digits, stored as given.
    Cellphone;
}

impl PersonName {
    /// The greatest number of characters in a name.
    pub const MAX: usize = 100;

    /// Parses a name.
    pub fn parse(text: &str) -> Result<Self, Unfit> {
        within(text, 1, Self::MAX)?;
        if text.trim().is_empty() {
            return Err(Unfit::Value { reason: "a name cannot be blank" });
        }
        Ok(Self(text.to_owned()))
    }
}

impl Email {
    /// The greatest number of characters (RFC 5321's path without its brackets).
    pub const MAX: usize = 254;
    const PATTERN: &'static str = r"^[^@\s]+@[^@\s.]+(\.[^@\s.]+)+$";
    const FORM: &'static str = "an e-mail address, such as jo@example.com";

    /// Parses an address: one `@`, at least one character before it, a domain with a dot after it, and no
    /// white space.
    pub fn parse(text: &str) -> Result<Self, Unfit> {
        within(text, 1, Self::MAX)?;
        let shape = Unfit::Shape { pattern: Self::PATTERN, form: Self::FORM };
        let (local, domain) = text.split_once('@').ok_or(shape.clone())?;
        let dotted = domain.contains('.') && domain.split('.').all(|label| !label.is_empty());
        let plain = !text.chars().any(|c| c.is_whitespace() || c.is_control()) && !domain.contains('@');
        if local.is_empty() || !dotted || !plain { Err(shape) } else { Ok(Self(text.to_owned())) }
    }

    /// The form for comparisons and look-ups: lower case.
    pub fn canonical(&self) -> String {
        self.0.to_lowercase()
    }

    /// Whether two addresses differ only in case.
    pub fn same_as(&self, other: &Self) -> bool {
        self.canonical() == other.canonical()
    }
}

impl Cellphone {
    const PATTERN: &'static str = r"^\+[1-9][0-9]{7,14}$";
    const FORM: &'static str = "a phone number in E.164 format, such as +34600111222";

    /// Parses an E.164 number. It does not check the number against its numbering plan.
    pub fn parse(text: &str) -> Result<Self, Unfit> {
        let digits = text.strip_prefix('+').unwrap_or_default();
        let fits = (8..=15).contains(&digits.len())
            && digits.bytes().all(|b| b.is_ascii_digit())
            && !digits.starts_with('0');
        let shape = Unfit::Shape { pattern: Self::PATTERN, form: Self::FORM };
        if fits { Ok(Self(text.to_owned())) } else { Err(shape) }
    }

    /// The digits after the `+`.
    pub fn digits(&self) -> &str {
        &self.0[1..]
    }
}

/// A person's preferred language.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// Spanish.
    Es,
    /// English.
    En,
}

words!(
    /// The values of the API field, in the order of the specification.
    Language { Es: "ES", En: "EN" }
);

/// Parses a name that operators see (of a workspace, a team, an API key): 1 to 256 characters, not blank.
pub fn operator_name(text: &str) -> Result<String, Unfit> {
    within(text, 1, 256)?;
    if text.trim().is_empty() || text.chars().any(char::is_control) {
        return Err(Unfit::Value { reason: "a name cannot be blank or contain control characters" });
    }
    Ok(text.to_owned())
}

/// Whether two names are the same for a person who reads them: case and surrounding white space do not count.
pub fn same_name(one: &str, other: &str) -> bool {
    one.trim().to_lowercase() == other.trim().to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_printable_text_is_kept_of_a_third_partys_text() {
        for (given, expected) in [
            ("Zo\u{eb} 👩\u{200d}🌾 محمد", "Zo\u{eb} 👩\u{200d}🌾 محمد"),
            ("Ana\u{1b}]52;c;YQ==\u{7}", "Ana ]52;c;YQ== "),
            ("a\nb\tc\u{7f}d\u{85}e\u{9b}f\u{2028}g\u{2029}h", "a b c d e f g h"),
            ("\u{202e}gnp\u{202c}.\u{2066}x\u{2069}\u{200e}\u{200f}\u{61c}", "gnp.x"),
        ] {
            assert_eq!(printable(given), expected, "{given:?}");
            assert!(printable(given).chars().all(is_printable));
        }
    }

    #[test]
    fn names_are_compared_without_case_and_surrounding_white_space() {
        for same in ["Élan Norte", "élan norte", " ÉLAN NORTE\u{a0}", "\tÉlan Norte "] {
            assert!(same_name("Élan Norte", same), "{same:?}");
        }
        for other in ["Elan Norte", "Élan  Norte", "ÉlanNorte", ""] {
            assert!(!same_name("Élan Norte", other), "{other:?}");
        }
    }

    #[test]
    fn e_mail_addresses_of_the_usual_forms_parse_and_others_do_not() {
        for good in ["a@b.co", "Ana.Pérez+x@sub.example.com", "o'neil@example.com"] {
            assert!(Email::parse(good).is_ok(), "{good}");
        }
        for bad in
            ["a", "a@b", "@b.co", "a@", "a@@b.co", "a b@c.co", "a@b..co", "a@.co", "a@b.co ", "a@b@c.co"]
        {
            assert!(matches!(Email::parse(bad), Err(Unfit::Shape { .. })), "{bad}");
        }
        assert_eq!(Email::parse(""), Err(Unfit::TooShort { min: 1 }));
        assert_eq!(Email::parse(&format!("{}@b.co", "a".repeat(250))), Err(Unfit::TooLong { max: 254 }));
    }

    #[test]
    fn e_mail_addresses_are_compared_regardless_of_case_and_shown_as_given() {
        let (upper, lower) =
            (Email::parse("Ana@Example.COM").unwrap(), Email::parse("ana@example.com").unwrap());
        assert!(upper.same_as(&lower));
        assert_eq!(upper.as_str(), "Ana@Example.COM");
    }

    #[test]
    fn a_cellphone_is_a_plus_and_8_to_15_digits() {
        for good in ["+12025550", "+14155550123", "+123456789012345"] {
            assert_eq!(Cellphone::parse(good).unwrap().as_str(), good);
        }
        for bad in [
            "",
            "+",
            "14155550123",
            "+1234567",
            "+1234567890123456",
            "+1415555O123",
            "+01415555012",
            "+1 4155550123",
            "+١٢٣٤٥٦٧٨",
        ] {
            assert!(Cellphone::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_name_counts_characters_not_bytes() {
        assert!(PersonName::parse(&"é".repeat(100)).is_ok());
        assert_eq!(PersonName::parse(&"é".repeat(101)), Err(Unfit::TooLong { max: 100 }));
        assert_eq!(PersonName::parse(""), Err(Unfit::TooShort { min: 1 }));
        assert!(matches!(PersonName::parse("  "), Err(Unfit::Value { .. })));
    }

    #[test]
    fn personal_data_prints_redacted() {
        assert_eq!(format!("{:?}", Email::parse("ana@example.com").unwrap()), "[Email]");
    }

    #[test]
    fn an_unfit_value_says_what_it_should_be() {
        let expected = &["A", "B"];
        for (unfit, text) in [
            (Unfit::TooShort { min: 3 }, "should have at least 3 characters"),
            (Unfit::TooLong { max: 9 }, "should have at most 9 characters"),
            (Unfit::Shape { pattern: "^[0-9]$", form: "one digit" }, "should be one digit"),
            (Unfit::NotOneOf { expected }, "should be one of A, B"),
            (Unfit::NotAUuid, "should be a UUID"),
            (Unfit::Value { reason: "the expiry is in the past" }, "the expiry is in the past"),
        ] {
            assert_eq!(unfit.to_string(), text);
        }
    }
}
