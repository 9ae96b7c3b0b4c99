//! Contact search: the indexed terms, the parsing of queries, and the rule that shows each match once.
//!
//! Rules (decisions, "Contacts"): the search ignores case and accents. A query is either up to five words or
//! one fragment of a phone number. Each word must begin a word of a name, the e-mail address or a part of the
//! address. A phone fragment must begin the number, with or without the country code, or end it.

use std::fmt;

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use crate::contact::Contact;
use crate::invisible::is_format;
use crate::phone::{PhoneKey, national};
use crate::settings::user::User;
use crate::text::{Cellphone, Email, PersonName, Unfit, within};

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

/// White space, dashes and other signs between which the words of names stand.
fn is_between_words(c: char) -> bool {
    c.is_whitespace() || is_dash(c) || matches!(c, '/' | ',' | '\u{b7}')
}

fn is_dash(c: char) -> bool {
    matches!(c, '-' | '\u{2010}'..='\u{2015}' | '\u{2212}')
}

/// Characters that join letters or choose a glyph. A search ignores them.
fn is_joiner(c: char) -> bool {
    matches!(c, '\u{200c}' | '\u{200d}' | '\u{fe00}'..='\u{fe0f}')
}

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
    let is_kept = |c: &char| !LEFT_OUT.contains(c) && !is_format(*c) && !is_joiner(*c);
    let bare = text.chars().filter(is_kept).nfkd().filter(|c| !is_combining_mark(*c));
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
    terms_of([&contact.first_name, &contact.last_name], contact.email.as_ref())
}

fn terms_of(names: [&Option<PersonName>; 2], email: Option<&Email>) -> Vec<String> {
    let mut terms: Vec<String> = names
        .into_iter()
        .flatten()
        .flat_map(name_terms)
        .chain(email.into_iter().flat_map(email_terms))
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
    words_of(&normalise(name.as_str())).take(NAME_WORDS).map(str::to_owned).collect()
}

fn words_of(text: &str) -> impl Iterator<Item = &str> {
    text.split(is_between_words).filter(|word| !word.is_empty())
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
        /// The other words, at most nine.
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
    /// The greatest number of words in a query, as white space divides them.
    pub const MAX_WORDS: usize = 5;
    /// The greatest number of parts of these words.
    const MAX_PARTS: usize = 10;

    /// Parses a query.
    pub fn parse(text: &str) -> Result<Self, Unfit> {
        let text = text.trim();
        within(text, Self::MIN, Self::MAX)?;
        if let Some(digits) = phone_fragment(text) {
            return Ok(Self::Phone(digits));
        }
        let text = normalise(text);
        let divided = |word| match str::contains(word, '@') {
            // An address is one word: its dashes are part of it.
            true => vec![cut(word)],
            false => words_of(word).map(cut).collect(),
        };
        let mut words: Vec<String> = text.split_whitespace().flat_map(divided).collect();
        if text.split_whitespace().count() > Self::MAX_WORDS || words.len() > Self::MAX_PARTS {
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
        self.is_in(|| terms(contact), contact.cellphone.as_ref())
    }

    /// Whether this query finds an internal user, by the rules for contacts.
    pub fn finds_user(&self, user: &User) -> bool {
        let terms = || terms_of([&user.first_name, &user.last_name], Some(&user.email));
        self.is_in(terms, user.cellphone.as_ref())
    }

    fn is_in(&self, terms: impl FnOnce() -> Vec<String>, cellphone: Option<&Cellphone>) -> bool {
        match self {
            Self::Words { lead, others } => {
                let terms = terms();
                std::iter::once(lead)
                    .chain(others)
                    .all(|word| terms.iter().any(|term| term.starts_with(word)))
            }
            Self::Phone(fragment) => {
                cellphone.is_some_and(|cellphone| phone_shown_by(cellphone.digits(), fragment).is_some())
            }
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
    let text: String = text.nfkc().filter(|c| !is_format(*c)).collect();
    let numeric =
        |c: char| c.is_ascii_digit() || c.is_whitespace() || is_dash(c) || matches!(c, '+' | '(' | ')');
    let digits: String = text.chars().filter(char::is_ascii_digit).collect();
    (text.chars().all(numeric) && digits.len() >= PHONE_PREFIX).then_some(digits)
}

/// Whether a match by `term` shows the contact. Of all terms that begin with the lead word, only the smallest
/// shows it, so each contact appears once without state between pages.
pub fn shows_by_term<'a>(term: &str, lead: &str, terms: impl IntoIterator<Item = &'a str>) -> bool {
    terms.into_iter().filter(|other| other.starts_with(lead)).min() == Some(term)
}

/// Where the digits of a search row begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PhoneEnd {
    /// At the first digit of the number, or of the number without its country calling code.
    First,
    /// At the last digit. The digits are in reverse order.
    Last,
}

/// The rows under which a number is indexed, in the order in which they show the contact. `digits` are those of its
/// E.164 form. Three rows; four for a number that has two written forms.
pub fn phone_rows(digits: &str) -> Vec<(PhoneEnd, String)> {
    let forms = PhoneKey::of(digits).forms();
    // The end of the short form is an end of the long one, or of what a query reads beside it (`phone_ranges`).
    let last = forms.last().map(|long| reversed(long));
    // Fewer digits cannot name a partition, and no numbering plan has such numbers.
    let national = national(digits).filter(|rest| rest.len() >= PHONE_PREFIX).map(str::to_owned);
    let first = forms.into_iter().chain(national).map(|text| (PhoneEnd::First, text));
    first.chain(last.map(|text| (PhoneEnd::Last, text))).collect()
}

/// The ranges of rows that a phone fragment reads, in order: rows of that end whose digits begin with this text.
pub fn phone_ranges(fragment: &str) -> Vec<(PhoneEnd, String)> {
    // Brazilians write eight digits, with or without the area code or its last digit, of a number that is indexed with a 9.
    let with_nine =
        fragment.len().checked_sub(8).filter(|before| (1..=2).contains(before)).and_then(|before| {
            let (area, rest) = fragment.split_at_checked(before)?;
            rest.starts_with(['6', '7', '8', '9']).then(|| format!("{area}9{rest}"))
        });
    let last = [Some(fragment.to_owned()), with_nine].into_iter().flatten();
    let last = last.map(|text| (PhoneEnd::Last, reversed(&text)));
    [(PhoneEnd::First, fragment.to_owned())].into_iter().chain(last).collect()
}

/// The range and the row by which a fragment shows a contact with this number: the first of each that fit, so each
/// contact appears once. The range is its place in [`phone_ranges`]. `None` if the fragment does not find the number.
pub fn phone_shown_by(digits: &str, fragment: &str) -> Option<(usize, String)> {
    let rows = phone_rows(digits);
    phone_ranges(fragment).into_iter().enumerate().find_map(|(at, (end, text))| {
        let row = rows.iter().find(|(of, row)| *of == end && row.starts_with(&text))?;
        Some((at, row.1.clone()))
    })
}

fn reversed(digits: &str) -> String {
    digits.chars().rev().collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
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
            (
                "Ana\u{200b}-Mar\u{ed}a",
                "L\u{f3}pez\u{2013}Garc\u{ed}a / Ruiz,Sol \u{b7} -",
                "",
                &["ana", "garcia", "lopez", "maria", "ruiz", "sol"],
            ),
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
            ("l\u{f3}pez-garc\u{ed}a", words("garcia", &["lopez"])),
            ("a-b c/d e,f g\u{b7}h i\u{2014}j", words("a", &["b", "c", "d", "e", "f", "g", "h", "i", "j"])),
            ("a-b-c-d-e-f-g-h-i-j-k", Err(Unfit::Value { reason: "a search takes at most 5 words" })),
            ("ana-maria@x", words("ana-maria@x", &[])),
            ("-", Err(Unfit::Value { reason: "a search needs letters or digits" })),
            ("李", words("李", &[])),
            (" x ", words("x", &[])),
            ("", short.clone()),
            (" ", short),
            ("''", nothing),
            ("415", phone("415")),
            ("+1 (415) 555-01", phone("141555501")),
            (" 1415", phone("1415")),
            ("\u{202a}+1\u{a0}415\u{2011}555\u{202c}", phone("1415555")),
            ("\u{ff11}\u{ff14}\u{ff11}\u{ff15}", phone("1415")),
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
        use PhoneEnd::{First, Last};
        for (digits, expected) in [
            (
                "4915112345678",
                &[(First, "4915112345678"), (First, "15112345678"), (Last, "8765432115194")][..],
            ),
            // No such country: nothing national.
            ("999123456", &[(First, "999123456"), (Last, "654321999")]),
            (
                "551187654321",
                &[
                    (First, "551187654321"),
                    (First, "5511987654321"),
                    (First, "1187654321"),
                    (Last, "1234567891155"),
                ],
            ),
            (
                "5215512345678",
                &[
                    (First, "525512345678"),
                    (First, "5215512345678"),
                    (First, "15512345678"),
                    (Last, "8765432155125"),
                ],
            ),
        ] {
            let rows = phone_rows(digits);
            let rows: Vec<_> = rows.iter().map(|(end, text)| (*end, text.as_str())).collect();
            assert_eq!(rows, expected, "{digits}");
        }
    }

    #[test]
    fn a_number_is_shown_by_the_first_row_of_the_first_range_that_fits() {
        for (digits, fragment, shown) in [
            ("4915112345678", "4915", Some((0, "4915112345678"))),
            ("4915112345678", "151", Some((0, "15112345678"))),
            ("4915112345678", "678", Some((1, "8765432115194"))),
            ("4915112345678", "5112345678", Some((1, "8765432115194"))),
            ("4915112345678", "112", None),
            ("11111111", "111", Some((0, "11111111"))),
            ("551187654321", "5511", Some((0, "551187654321"))),
            ("551187654321", "55119", Some((0, "5511987654321"))),
            ("551187654321", "118", Some((0, "1187654321"))),
            ("551187654321", "987654321", Some((1, "1234567891155"))),
            ("551187654321", "187654321", Some((2, "1234567891155"))),
            ("5511987654321", "1187654321", Some((2, "1234567891155"))),
            // Both ranges of the last digits hold the row, and the first shows it.
            ("5519987654321", "987654321", Some((1, "1234567899155"))),
        ] {
            let by = phone_shown_by(digits, fragment);
            assert_eq!(by.as_ref().map(|(at, row)| (*at, row.as_str())), shown, "{digits} {fragment}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]

        /// The number may be written in the other form, too.
        #[test]
        fn every_fragment_of_every_written_form_of_a_number_finds_it(
            digits in "(52|54|55|229|34|1)(9|1|01|[1-9]{2}9?)[2-9][0-9]{7,9}",
            other in prop::bool::ANY,
            length in PHONE_PREFIX..=13,
        ) {
            let Some(shown) = Cellphone::parse(&format!("+{digits}")).ok() else { return Ok(()) };
            let forms = shown.key().forms();
            let written = if other { &forms[0] } else { &forms[forms.len() - 1] };
            let length = length.min(written.len());
            let national = national(written).map_or(0, str::len);
            let mut fragments = vec![&written[..length], &written[written.len() - length.min(national)..]];
            // The beginning without a country calling code is that of the shown form only.
            fragments.extend(national.checked_sub(1).filter(|_| written == shown.digits()).map(|_| {
                let rest = &written[written.len() - national..];
                &rest[..length.min(national)]
            }));
            for fragment in fragments.into_iter().filter(|fragment| fragment.len() >= PHONE_PREFIX) {
                prop_assert!(phone_shown_by(shown.digits(), fragment).is_some(), "{} {}", shown.as_str(), fragment);
            }
        }
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
