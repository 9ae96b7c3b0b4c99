//! Contact search: the indexed terms, the parsing of queries, and the rule that shows each match once.
//!
//! Rules (decisions, "Contacts"): the search ignores case and accents. A query is either up to five words or
//! one fragment of a phone number. Each word must begin a word of a name, the e-mail address or a part of the
//! address. A phone fragment must begin the number, with or without the country code, or end it.

use std::fmt;

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use crate::contact::Contact;
use crate::phone::national;
use crate::text::{Email, PersonName, Unfit, within};

/// The greatest number of words of each name that are indexed.
const NAME_WORDS: usize = 5;
/// The greatest number of parts of an e-mail address that are indexed in addition to the whole address.
const EMAIL_TAILS: usize = 3;
/// The characters after which a part of an e-mail address begins.
const EMAIL_SEPARATORS: [char; 5] = ['@', '.', '_', '+', '-'];
/// Longer terms and words are truncated to this number of characters.
const TERM_CHARACTERS: usize = 100;
/// The least number of digits in a phone fragment. The same number of digits names its partition.
pub const PHONE_PREFIX: usize = 3;
/// The greatest number of terms of one contact.
pub const MAX_TERMS: usize = 2 * NAME_WORDS + 1 + EMAIL_TAILS;

/// Characters that are removed everywhere: `oneil` finds `O'Neil`. The bar is removed because it separates
/// terms in rows.
const LEFT_OUT: &[char] = &[
    '\'', '`', '\u{b4}', '\u{2b9}', '\u{2bb}', '\u{2bc}', '\u{2018}', '\u{2019}', '\u{201b}', '\u{2032}',
    '\u{ff07}', '|',
];

/// Letters whose stroke Unicode normalisation does not remove.
const FOLDED: &[(char, &str)] = &[
    ('æ', "ae"),
    ('đ', "d"),
    ('ð', "d"),
    ('ħ', "h"),
    ('ł', "l"),
    ('ø', "o"),
    ('œ', "oe"),
    ('þ', "th"),
    ('ŧ', "t"),
];

/// The text without case, accents and apostrophes.
pub fn normalise(text: &str) -> String {
    let bare = text.chars().filter(|c| !LEFT_OUT.contains(c)).nfkd().filter(|c| !is_combining_mark(*c));
    // The conversion to upper case unifies letters that lower case alone keeps apart: `ß` and `SS`, both small
    // sigmas. The capital `ẞ` becomes `SS` only by way of `ß`.
    let cased = bare.flat_map(char::to_lowercase).flat_map(char::to_uppercase).flat_map(char::to_lowercase);
    let folded = cased.nfkd().filter(|c| !is_combining_mark(*c) && !LEFT_OUT.contains(c));
    let mut out = String::with_capacity(text.len());
    for c in folded {
        match FOLDED.iter().find(|(letter, _)| *letter == c) {
            Some((_, plain)) => out.push_str(plain),
            None => out.push(c),
        }
    }
    out
}

/// The search terms of a contact, sorted: words of the names, the e-mail address and its parts. A term that
/// is the beginning of another term is omitted, because the longer one matches all its queries. Returns at
/// most [`MAX_TERMS`] terms, none of which contains `|`.
pub fn terms(contact: &Contact) -> Vec<String> {
    let mut terms: Vec<String> = [&contact.first_name, &contact.last_name]
        .into_iter()
        .flatten()
        .flat_map(name_terms)
        .chain(contact.email.iter().flat_map(email_terms))
        .map(|term| cut(&term))
        .collect();
    terms.sort_unstable();
    terms.dedup();
    // In a sorted list, a term that begins with another one follows it directly.
    let kept =
        (0..terms.len()).filter(|at| terms.get(at + 1).is_none_or(|next| !next.starts_with(&terms[*at])));
    kept.map(|at| terms[at].clone()).collect()
}

fn name_terms(name: &PersonName) -> Vec<String> {
    normalise(name.as_str()).split_whitespace().take(NAME_WORDS).map(str::to_owned).collect()
}

fn email_terms(email: &Email) -> Vec<String> {
    let whole = normalise(email.as_str());
    let starts_part = |tail: &&str| !tail.is_empty() && !tail.starts_with(EMAIL_SEPARATORS);
    let tails: Vec<String> = whole
        .match_indices(EMAIL_SEPARATORS)
        .map(|(at, separator)| &whole[at + separator.len()..])
        .filter(starts_part)
        .take(EMAIL_TAILS)
        .map(str::to_owned)
        .collect();
    std::iter::once(whole).chain(tails).collect()
}

fn cut(term: &str) -> String {
    term.chars().take(TERM_CHARACTERS).collect()
}

/// A parsed query. Its debug output is redacted because it contains part of a name or number.
#[derive(Clone, PartialEq, Eq)]
pub enum SearchQuery {
    /// Each of these words must begin a term.
    Words {
        /// The longest word. The store reads the terms that begin with it.
        lead: String,
        /// The other words, at most four.
        others: Vec<String>,
    },
    /// Digits at the beginning or end of a phone number, at least [`PHONE_PREFIX`].
    Phone(String),
}

impl SearchQuery {
    /// The least number of characters in a query, without surrounding white space. One character is a word in
    /// many languages.
    pub const MIN: usize = 1;
    /// The greatest number of characters in a query.
    pub const MAX: usize = 100;
    /// The greatest number of words in a query.
    pub const MAX_WORDS: usize = 5;

    /// Parses a query.
    pub fn parse(text: &str) -> Result<Self, Unfit> {
        let text = text.trim();
        within(text, Self::MIN, Self::MAX)?;
        if let Some(digits) = phone_fragment(text) {
            return Ok(Self::Phone(digits));
        }
        let text = normalise(text);
        let mut words: Vec<String> = text.split_whitespace().map(cut).collect();
        if words.len() > Self::MAX_WORDS {
            return Err(Unfit::Value { reason: "a search takes at most 5 words" });
        }
        let longest = (0..words.len()).rev().max_by_key(|at| words[*at].chars().count());
        let Some(longest) = longest else {
            return Err(Unfit::Value { reason: "a search needs letters or digits" });
        };
        let lead = words.remove(longest);
        Ok(Self::Words { lead, others: words })
    }

    /// Whether this query finds the contact in its present state. This check hides contacts whose search rows
    /// follow older rules or changed during the read.
    pub fn finds(&self, contact: &Contact) -> bool {
        match self {
            Self::Words { lead, others } => {
                let terms = terms(contact);
                std::iter::once(lead)
                    .chain(others)
                    .all(|word| terms.iter().any(|term| term.starts_with(word)))
            }
            Self::Phone(fragment) => contact.cellphone.as_ref().is_some_and(|cellphone| {
                let digits = cellphone.digits();
                phone_forms(digits).iter().any(|(form, _)| shows_by_form(*form, digits, fragment))
            }),
        }
    }

    /// The same text for all spellings of a query. A cursor is bound to this text.
    pub fn canonical(&self) -> String {
        match self {
            Self::Words { lead, others } => format!("words {lead} {}", others.join(" ")),
            Self::Phone(digits) => format!("phone {digits}"),
        }
    }
}

impl fmt::Debug for SearchQuery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[SearchQuery]")
    }
}

/// The digits of a query that contains only characters of phone numbers and enough digits.
fn phone_fragment(text: &str) -> Option<String> {
    let numeric = |c: char| c.is_ascii_digit() || c.is_whitespace() || matches!(c, '+' | '-' | '(' | ')');
    let digits: String = text.chars().filter(char::is_ascii_digit).collect();
    (text.chars().all(numeric) && digits.len() >= PHONE_PREFIX).then_some(digits)
}

/// Whether a match by `term` shows the contact. Of all terms that begin with the lead word, only the smallest
/// shows it, so each contact appears once without state between pages.
pub fn shows_by_term<'a>(term: &str, lead: &str, terms: impl IntoIterator<Item = &'a str>) -> bool {
    terms.into_iter().filter(|other| other.starts_with(lead)).min() == Some(term)
}

/// The indexed forms of a phone number, in the order in which they are searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PhoneForm {
    /// All digits.
    International,
    /// The digits after the country calling code.
    National,
    /// All digits in reverse order.
    Reversed,
}

/// The texts under which a number is indexed. `digits` are the digits of its E.164 form.
pub fn phone_forms(digits: &str) -> Vec<(PhoneForm, String)> {
    let mut forms = vec![(PhoneForm::International, digits.to_owned())];
    // Fewer digits cannot name a partition, and no numbering plan has such numbers.
    if let Some(rest) = national(digits).filter(|rest| rest.len() >= PHONE_PREFIX) {
        forms.push((PhoneForm::National, rest.to_owned()));
    }
    forms.push((PhoneForm::Reversed, reversed(digits)));
    forms
}

/// The digits in reverse order.
pub fn reversed(digits: &str) -> String {
    digits.chars().rev().collect()
}

/// Whether a match by this form of the number shows the contact. Only the first form that fits the fragment
/// shows it, so each contact appears once.
pub fn shows_by_form(form: PhoneForm, digits: &str, fragment: &str) -> bool {
    let international = digits.starts_with(fragment);
    let without_code = national(digits).is_some_and(|rest| rest.starts_with(fragment));
    match form {
        PhoneForm::International => international,
        PhoneForm::National => without_code && !international,
        PhoneForm::Reversed => digits.ends_with(fragment) && !international && !without_code,
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::ids::{ContactId, WorkspaceId};
    use crate::text::Cellphone;
    use crate::time::Timestamp;

    fn contact(first: &str, last: &str, email: &str) -> Contact {
        let (id, workspace) = (ContactId::from_uuid(Uuid::nil()), WorkspaceId::from_uuid(Uuid::nil()));
        Contact {
            first_name: PersonName::parse(first).ok(),
            last_name: PersonName::parse(last).ok(),
            email: Email::parse(email).ok(),
            ..Contact::blank(id, workspace, Timestamp::from_millis(0))
        }
    }

    fn words(lead: &str, others: &[&str]) -> Result<SearchQuery, Unfit> {
        let others = others.iter().map(|word| (*word).to_owned()).collect();
        Ok(SearchQuery::Words { lead: lead.to_owned(), others })
    }

    fn phone(digits: &str) -> Result<SearchQuery, Unfit> {
        Ok(SearchQuery::Phone(digits.to_owned()))
    }

    #[test]
    fn case_accents_and_apostrophes_make_no_difference() {
        for (text, plain) in [
            ("Ana", "ana"),
            ("JOSÉ", "jose"),
            ("Jose\u{301}", "jose"),
            ("Müller", "muller"),
            ("Łukasz Ørsted", "lukasz orsted"),
            ("Straße", "strasse"),
            ("STRASSE", "strasse"),
            ("STRAẞE", "strasse"),
            ("ΟΔΟΣ", "οδοσ"),
            ("οδός", "οδοσ"),
            ("İstanbul ılgaz", "istanbul ilgaz"),
            ("O'Neil O’Neil O´Neil", "oneil oneil oneil"),
            ("ﬁn Ａｎａ", "fin ana"),
            ("a|b", "ab"),
            ("\u{149}a", "na"),
            ("Æsir", "aesir"),
        ] {
            assert_eq!(normalise(text), plain, "{text}");
            assert_eq!(normalise(plain), plain, "{text}, twice");
        }
    }

    #[test]
    fn the_terms_of_a_contact_are_words_of_its_names_and_parts_of_its_address() {
        let rows: &[(&str, &str, &str, &[&str])] = &[
            ("", "", "", &[]),
            ("Ana María", "Ruiz", "", &["ana", "maria", "ruiz"]),
            ("Ana", "Anabel", "", &["anabel"]),
            ("Ana", "Ana", "", &["ana"]),
            ("a b c d e f", "g", "", &["a", "b", "c", "d", "e", "g"]),
            (
                "",
                "",
                "Ana.Ruiz@Example.com",
                &["ana.ruiz@example.com", "com", "example.com", "ruiz@example.com"],
            ),
            // Only the first three parts, and no empty part.
            ("", "", "a.b_c+d-e@x.io", &["a.b_c+d-e@x.io", "b_c+d-e@x.io", "c+d-e@x.io", "d-e@x.io"]),
            ("", "", "a..b@x.io", &["a..b@x.io", "b@x.io", "io", "x.io"]),
            ("Ana", "", "ana@x.io", &["ana@x.io", "io", "x.io"]),
            ("''", "|", "", &[]),
        ];
        for (first, last, email, expected) in rows {
            assert_eq!(terms(&contact(first, last, email)), *expected, "{first} {last} {email}");
        }
    }

    #[test]
    fn terms_are_bounded_in_number_and_length() {
        let many = contact("a1 b1 c1 d1 e1 f1", "a2 b2 c2 d2 e2 f2", "q.r.s.t.u@x.io");
        assert_eq!(terms(&many).len(), MAX_TERMS);
        let long = terms(&contact(&"x".repeat(100), "", &format!("{}@x.io", "ŉ".repeat(200))));
        assert!(long.iter().all(|term| term.chars().count() <= 100), "{long:?}");
    }

    #[test]
    fn queries_are_words_or_a_phone_fragment() {
        let short = Err(Unfit::TooShort { min: 1 });
        let nothing = Err(Unfit::Value { reason: "a search needs letters or digits" });
        let rows: &[(&str, Result<SearchQuery, Unfit>)] = &[
            ("ana", words("ana", &[])),
            ("  Ana   RUIZ ", words("ruiz", &["ana"])),
            ("bob ana", words("bob", &["ana"])),
            ("a b c d e", words("a", &["b", "c", "d", "e"])),
            ("a b c d e f", Err(Unfit::Value { reason: "a search takes at most 5 words" })),
            ("a ' b", words("a", &["b"])),
            ("李", words("李", &[])),
            (" x ", words("x", &[])),
            ("", short.clone()),
            (" ", short),
            ("''", nothing),
            ("415", phone("415")),
            ("+1 (415) 555-01", phone("141555501")),
            (" 1415", phone("1415")),
            ("41", words("41", &[])),
            ("+4 1", words("+4", &["1"])),
            ("415 ana", words("415", &["ana"])),
            ("٤١٥", words("٤١٥", &[])),
            ("415.555", words("415.555", &[])),
        ];
        for (text, expected) in rows {
            assert_eq!(SearchQuery::parse(text), *expected, "{text}");
        }
        assert_eq!(SearchQuery::parse(&"é".repeat(101)), Err(Unfit::TooLong { max: 100 }));
        let Ok(SearchQuery::Words { lead, .. }) = SearchQuery::parse(&"ﬃ".repeat(100)) else { panic!() };
        assert_eq!(lead.chars().count(), 100);
    }

    #[test]
    fn a_query_prints_redacted() {
        assert_eq!(format!("{:?}", SearchQuery::parse("ana").unwrap()), "[SearchQuery]");
    }

    #[test]
    fn a_contact_is_shown_by_the_smallest_term_that_fits() {
        let terms = ["ana@x.io", "anabel", "ruiz"];
        assert!(shows_by_term("ana@x.io", "ana", terms));
        assert!(!shows_by_term("anabel", "ana", terms));
        assert!(shows_by_term("anabel", "anab", terms));
        // The row's key matches because the id follows the term, but no term of the contact fits.
        assert!(!shows_by_term("ruiz", "ruiz#1", terms));
    }

    #[test]
    fn a_number_is_indexed_whole_national_and_reversed() {
        let number = Cellphone::parse("+4915112345678").unwrap();
        let forms = phone_forms(number.digits());
        let expected = [
            (PhoneForm::International, "4915112345678".to_owned()),
            (PhoneForm::National, "15112345678".to_owned()),
            (PhoneForm::Reversed, "8765432115194".to_owned()),
        ];
        assert_eq!(forms, expected);
        assert_eq!(phone_forms("999123456").len(), 2, "no such country: nothing national");
    }

    #[test]
    fn a_number_is_shown_by_the_first_form_that_fits() {
        use PhoneForm::{International, National, Reversed};
        for (fragment, shown) in [
            ("4915", Some(International)),
            ("151", Some(National)),
            ("678", Some(Reversed)),
            ("4915112345678", Some(International)),
            ("15112345678", Some(National)),
            ("5112345678", Some(Reversed)),
            ("112", None),
        ] {
            let forms: Vec<PhoneForm> = [International, National, Reversed]
                .into_iter()
                .filter(|form| shows_by_form(*form, "4915112345678", fragment))
                .collect();
            assert_eq!(forms, shown.into_iter().collect::<Vec<_>>(), "{fragment}");
        }
        assert!(shows_by_form(International, "11111111", "111"));
        assert!(!shows_by_form(National, "11111111", "111"));
        assert!(!shows_by_form(Reversed, "11111111", "111"));
    }

    #[test]
    fn a_query_finds_a_contact_if_every_word_begins_a_term_or_the_digits_fit_a_form_of_the_number() {
        let ana = Contact {
            cellphone: Cellphone::parse("+4915112345678").ok(),
            ..contact("Ana María", "Ruiz", "ana.ruiz@example.com")
        };
        for (query, finds) in [
            ("ana", true),
            ("RUI mar", true),
            ("ana@", false),
            ("example.com", true),
            ("ana garcia", false),
            ("garcia ana", false),
            ("uiz", false),
            ("+49 151", true),
            ("151 123", true),
            ("5678", true),
            ("5123", false),
            ("+34 600", false),
        ] {
            assert_eq!(SearchQuery::parse(query).unwrap().finds(&ana), finds, "{query}");
        }
        assert!(!SearchQuery::parse("151").unwrap().finds(&contact("Ana", "", "")), "no number");
    }

    #[test]
    fn all_spellings_of_a_query_have_the_same_canonical_text() {
        for (texts, canonical) in [
            (&["Ana  RUIZ", " ana ruiz "][..], "words ruiz ana"),
            (&["ruiz ana"], "words ruiz ana"),
            (&["José"], "words jose "),
            (&["+1 (415) 555", "1415555"], "phone 1415555"),
        ] {
            for text in texts {
                assert_eq!(SearchQuery::parse(text).unwrap().canonical(), canonical, "{text}");
            }
        }
    }
}
