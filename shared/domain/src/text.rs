//! Short texts with rules: parsed once at the border, trusted everywhere behind it.

use std::fmt;

/// Why a value does not fit its field. The edge turns it into one entry of a validation failure's `detail`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unfit {
    /// Fewer characters than the field takes.
    TooShort {
        /// The least number of characters.
        min: usize,
    },
    /// More characters than the field takes.
    TooLong {
        /// The greatest number of characters.
        max: usize,
    },
    /// Not of the field's shape.
    Shape {
        /// The regular expression that a fitting value matches.
        pattern: &'static str,
    },
    /// Not one of a closed set of words.
    NotOneOf {
        /// The words.
        expected: &'static [&'static str],
    },
    /// Not a UUID in its hyphenated spelling.
    NotAUuid,
    /// Of the right shape, but not to be had for the reason given, a phrase that can follow "Value error, ".
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
            Self::Shape { pattern } => write!(f, "should match {pattern}"),
            Self::NotOneOf { expected } => write!(f, "should be one of {}", expected.join(", ")),
            Self::NotAUuid => f.write_str("should be a UUID"),
            Self::Value { reason } => f.write_str(reason),
        }
    }
}

impl std::error::Error for Unfit {}

/// Refuses a text whose number of characters (Unicode scalar values) lies outside `min..=max`.
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
            /// The text as it was given.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        // Personal data: a log that prints the struct around it must not print it.
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
    /// An e-mail address of up to 254 characters. Shown as given, compared without case ([`Email::canonical`]).
    Email;
    /// A phone number in E.164: `+` and 8 to 15 digits, kept as given.
    Cellphone;
}

impl PersonName {
    /// The greatest number of characters.
    pub const MAX: usize = 100;

    /// Reads a name.
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

    /// Reads an address: one `@`, something before it, a dotted domain behind it, no white space.
    pub fn parse(text: &str) -> Result<Self, Unfit> {
        within(text, 1, Self::MAX)?;
        let shape = Unfit::Shape { pattern: Self::PATTERN };
        let (local, domain) = text.split_once('@').ok_or(shape.clone())?;
        let dotted = domain.contains('.') && domain.split('.').all(|label| !label.is_empty());
        let plain = !text.chars().any(|c| c.is_whitespace() || c.is_control()) && !domain.contains('@');
        if local.is_empty() || !dotted || !plain { Err(shape) } else { Ok(Self(text.to_owned())) }
    }

    /// The form by which addresses are compared and looked up: lower case.
    pub fn canonical(&self) -> String {
        self.0.to_lowercase()
    }

    /// Whether two spellings name one mailbox.
    pub fn same_as(&self, other: &Self) -> bool {
        self.canonical() == other.canonical()
    }
}

impl Cellphone {
    const PATTERN: &'static str = r"^\+[1-9][0-9]{7,14}$";

    /// Reads an E.164 number; whether its numbering plan knows it is not looked at here.
    pub fn parse(text: &str) -> Result<Self, Unfit> {
        let digits = text.strip_prefix('+').unwrap_or_default();
        let fits = (8..=15).contains(&digits.len())
            && digits.bytes().all(|b| b.is_ascii_digit())
            && !digits.starts_with('0');
        if fits { Ok(Self(text.to_owned())) } else { Err(Unfit::Shape { pattern: Self::PATTERN }) }
    }

    /// The digits behind the `+`.
    pub fn digits(&self) -> &str {
        &self.0[1..]
    }
}

/// The language a person is written to in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// Spanish.
    Es,
    /// English.
    En,
}

impl Language {
    /// The words of the API, in the order of the specification.
    pub const NAMES: &'static [&'static str] = &["ES", "EN"];

    /// Reads the API's word.
    pub fn parse(text: &str) -> Result<Self, Unfit> {
        match text {
            "ES" => Ok(Self::Es),
            "EN" => Ok(Self::En),
            _ => Err(Unfit::NotOneOf { expected: Self::NAMES }),
        }
    }

    /// The API's word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Es => "ES",
            Self::En => "EN",
        }
    }
}

/// Reads a name shown to operators (a workspace's, a team's, an API key's): 1 to 256 characters, not blank.
pub fn operator_name(text: &str) -> Result<String, Unfit> {
    within(text, 1, 256)?;
    if text.trim().is_empty() || text.chars().any(char::is_control) {
        return Err(Unfit::Value { reason: "a name cannot be blank or contain control characters" });
    }
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn e_mail_addresses_of_the_usual_shapes_are_read_and_others_refused() {
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
    fn e_mail_addresses_are_compared_without_case_and_shown_as_given() {
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
}
