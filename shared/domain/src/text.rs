//! Short texts with rules. The service parses them once at its boundary and then relies on their types.

use std::fmt;

use unicode_normalization::UnicodeNormalization;

use crate::invisible::{is_blank, is_format, visible};
use crate::phone::PhoneKey;
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
/// and line separators move the cursor, and some format characters ([`is_format`]) change the order of what stands around
/// them.
pub fn is_printable(character: char) -> bool {
    !character.is_control() && !is_line_separator(character) && !is_format(character)
}

/// A text of a third party, before it is stored as a name or an observation. Control characters and line separators
/// become spaces, and format characters are removed.
pub fn printable(text: &str) -> String {
    let kept = |character: char| if is_printable(character) { character } else { ' ' };
    visible(text).chars().map(kept).collect()
}

fn is_line_separator(character: char) -> bool {
    matches!(character, '\u{2028}' | '\u{2029}')
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
    /// A first or last name: 1 to 100 characters in one line, not blank.
    PersonName;
    /// An e-mail address of up to 254 characters. It is shown as given, and compared by its [`key`](Email::key).
    Email;
    /// The id of a contact in the tenant's own system: 1 to 128 characters in one line, not blank. It is compared exactly.
    ExternalId;
    /// A phone number in E.164 form: `+` and 8 to 15 digits. It is shown and dialled as given, and compared by its
    /// [`key`](Cellphone::key).
    Cellphone;
}

impl PersonName {
    /// The greatest number of characters in a name.
    pub const MAX: usize = 100;

    /// Parses a name.
    pub fn parse(text: &str) -> Result<Self, Unfit> {
        within(text, 1, Self::MAX)?;
        line(text).map(Self)
    }
}

impl ExternalId {
    /// The greatest number of characters in an id.
    pub const MAX: usize = 128;

    /// Parses an id. White space around it and format characters ([`visible`]) are removed, because nobody sees them.
    /// Nothing else is changed: ids that differ in case are two.
    pub fn parse(text: &str) -> Result<Self, Unfit> {
        within(text, 1, Self::MAX)?;
        if is_blank(text) {
            return Err(Unfit::Value { reason: "an id cannot be blank" });
        }
        if text.chars().any(|character| character.is_control() || is_line_separator(character)) {
            return Err(Unfit::Value { reason: "an id has one line, without tabs and control characters" });
        }
        Ok(Self(visible(text).trim().to_owned()))
    }
}

impl Email {
    /// The greatest number of characters (RFC 5321's path without its brackets).
    pub const MAX: usize = 254;
    const PATTERN: &'static str =
        r#"^[^@\s()<>\[\]:;,\\"]+@[^@\s()<>\[\]:;,\\".]+(\.[^@\s()<>\[\]:;,\\".]+)+$"#;
    const FORM: &'static str = "an e-mail address, such as jo@example.com";
    /// The signs with which addresses are written in lists and links. They are not part of an address.
    const NOT_IN_ADDRESSES: &'static str = "()<>[]:;,\\\"";
    /// The greatest number of characters of a part of a domain.
    const MAX_LABEL: usize = 63;

    /// Parses an address: one `@`, at least one character before it, and a domain with a dot after it. White space
    /// around it and format characters ([`visible`]) are removed.
    pub fn parse(text: &str) -> Result<Self, Unfit> {
        let address = visible(text.trim());
        within(&address, 1, Self::MAX)?;
        let shape = Unfit::Shape { pattern: Self::PATTERN, form: Self::FORM };
        let refused = |c: char| c.is_whitespace() || c.is_control() || Self::NOT_IN_ADDRESSES.contains(c);
        let (local, domain) = address.split_once('@').ok_or(shape.clone())?;
        if local.is_empty() || address.contains(refused) || !is_domain(domain) {
            return Err(shape);
        }
        Ok(Self(address))
    }

    /// The address for display where the text is to be the same for all spellings: lower case.
    pub fn canonical(&self) -> String {
        self.0.to_lowercase()
    }

    /// The key under which the address is compared and stored: the local part in lower case, the domain decoded. Dots
    /// and `+tags` of the local part stay: at most hosts they make another mailbox.
    pub fn key(&self) -> EmailKey {
        let (local, domain) = self.0.split_once('@').unwrap_or((&self.0, ""));
        // Small sigma has another form at the end of a word.
        let lower =
            local.nfc().flat_map(char::to_lowercase).map(|c| if c == '\u{3c2}' { '\u{3c3}' } else { c });
        EmailKey(format!("{}@{}", lower.nfc().collect::<String>(), idna::domain_to_unicode(domain).0))
    }

    /// Whether two texts are spellings of one address.
    pub fn same_as(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

/// Whether a text is a domain of several parts that name servers can know.
fn is_domain(text: &str) -> bool {
    let (domain, is_valid) = idna::domain_to_unicode(text);
    let is_label = |label: &str| {
        let plain = |c: char| !c.is_ascii() || c.is_ascii_alphanumeric() || c == '-';
        (1..=Email::MAX_LABEL).contains(&label.chars().count())
            && label.chars().all(plain)
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    is_valid.is_ok() && domain.contains('.') && domain.split('.').all(is_label)
}

/// The form under which e-mail addresses are compared and stored. It is never shown. Its debug output is redacted.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EmailKey(String);

impl EmailKey {
    /// The key as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

// The address is personal data.
impl fmt::Debug for EmailKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[EmailKey]")
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

    /// The key under which the number is compared and stored.
    pub fn key(&self) -> PhoneKey {
        PhoneKey::of(self.digits())
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
    use proptest::prelude::*;

    use super::*;

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
        for bad in [
            "a",
            "a@b",
            "@b.co",
            "a@",
            "a@@b.co",
            "a b@c.co",
            "a@b..co",
            "a@.co",
            "a@b.co.",
            "a@b@c.co",
            "mailto:a@b.co",
            "<a@b.co>",
            "Ana <a@b.co>",
            "a@b.co,",
            "a@b.co;c@d.co",
            "\"a\"@b.co",
            "a@[127.0.0.1]",
            "a@b_c.co",
            "a@-b.co",
            "a@b-.co",
            "a@xn--a.co",
            "a@b.co\u{e000}x",
        ] {
            assert!(matches!(Email::parse(bad), Err(Unfit::Shape { .. })), "{bad}");
        }
        for (given, stored) in [(" a@b.co\n", "a@b.co"), ("\u{feff}a\u{200b}@b\u{ad}.co", "a@b.co")] {
            assert_eq!(Email::parse(given).unwrap().as_str(), stored);
        }
        let label = |length: usize| Email::parse(&format!("a@{}.co", "b".repeat(length)));
        assert!(label(63).is_ok() && label(64).is_err());
        assert_eq!(Email::parse("\u{200b}"), Err(Unfit::TooShort { min: 1 }));
        assert_eq!(Email::parse(""), Err(Unfit::TooShort { min: 1 }));
        assert_eq!(Email::parse(&format!("{}@b.co", "a".repeat(250))), Err(Unfit::TooLong { max: 254 }));
    }

    #[test]
    fn spellings_of_one_address_have_one_key_and_are_shown_as_given() {
        let rows: &[&[&str]] = &[
            &[
                "Ana@Example.COM",
                "ana@example.com",
                "a\u{200b}na@example\u{3002}com",
                "ana@\u{ff45}xample\u{ff0e}com",
            ],
            &["Jos\u{e9}@b.co", "jose\u{301}@B.co"],
            &[
                "a@b\u{fc}cher.example",
                "a@bu\u{308}cher.example",
                "a@xn--bcher-kva.example",
                "a@B\u{dc}CHER.example",
            ],
            &["\u{212a}im@b.co", "kim@b.co"],
            &["\u{3a3}\u{3a3}@b.co", "\u{3c3}\u{3c2}@b.co"],
            &["a.b@b.co"],
            &["ab@b.co"],
            &["ab+x@b.co"],
            &["ab@c.co"],
        ];
        let key = |text: &str| Email::parse(text).unwrap().key();
        for (n, spellings) in rows.iter().enumerate() {
            for spelling in *spellings {
                assert_eq!(key(spelling), key(spellings[0]), "{spelling}");
                assert_eq!(Email::parse(key(spelling).as_str()).unwrap().key(), key(spelling), "{spelling}");
            }
            for other in &rows[n + 1..] {
                assert_ne!(key(other[0]), key(spellings[0]), "{other:?}");
            }
        }
        let (upper, lower) =
            (Email::parse("Ana@Example.COM").unwrap(), Email::parse("ana@example.com").unwrap());
        assert!(upper.same_as(&lower));
        assert_eq!(upper.as_str(), "Ana@Example.COM");
    }

    #[test]
    fn an_external_id_is_one_line_and_is_compared_exactly() {
        let longest = "\u{e9}".repeat(ExternalId::MAX);
        for (given, stored) in [
            ("4711", "4711"),
            ("crm:Customer/00 42#a", "crm:Customer/00 42#a"),
            ("  4711 ", "4711"),
            ("\u{feff} 47\u{200b}11\u{ad}", "4711"),
            ("\u{645}\u{6cc}\u{200c}\u{62e}", "\u{645}\u{6cc}\u{200c}\u{62e}"),
            (&longest, &longest),
        ] {
            let id = ExternalId::parse(given).unwrap();
            assert_eq!(id.as_str(), stored);
            assert_eq!(ExternalId::parse(stored), Ok(id), "{given:?}");
        }
        let id = |text: &str| ExternalId::parse(text).unwrap();
        for (one, other) in [("a1", "A1"), ("a 1", "a  1"), ("0042", "42"), ("e\u{301}", "\u{e9}")] {
            assert_ne!(id(one), id(other), "{one:?}");
        }
        for bad in [" ", "\u{200b}", "\u{2800}", "a\nb", "a\t", "4711\r\n", "a\u{2028}b", "a\u{85}"] {
            assert!(matches!(ExternalId::parse(bad), Err(Unfit::Value { .. })), "{bad:?}");
        }
        assert_eq!(ExternalId::parse(""), Err(Unfit::TooShort { min: 1 }));
        assert_eq!(ExternalId::parse(&"x".repeat(129)), Err(Unfit::TooLong { max: 128 }));
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
        for bad in ["  ", "\u{200b}", "Ana\nRuiz", "Ana\t"] {
            assert!(matches!(PersonName::parse(bad), Err(Unfit::Value { .. })), "{bad:?}");
        }
        assert_eq!(PersonName::parse("A\u{ad}na").unwrap().as_str(), "Ana");
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
