//! Phone numbers: country calling codes, and the key under which the written forms of one phone are the same.

use std::fmt;

/// Every country calling code that ITU-T E.164 assigns, including shared and international services. No code
/// begins with another one, so each number has one reading. A test checks this.
const CALLING_CODES: &[&str] = &[
    "1", // North American Numbering Plan
    "7", // Russia, Kazakhstan
    // Africa and the Atlantic
    "20", "211", "212", "213", "216", "218", "220", "221", "222", "223", "224", "225", "226", "227", "228",
    "229", "230", "231", "232", "233", "234", "235", "236", "237", "238", "239", "240", "241", "242", "243",
    "244", "245", "246", "247", "248", "249", "250", "251", "252", "253", "254", "255", "256", "257", "258",
    "260", "261", "262", "263", "264", "265", "266", "267", "268", "269", "27", "290", "291", "297", "298",
    "299", // Europe
    "30", "31", "32", "33", "34", "350", "351", "352", "353", "354", "355", "356", "357", "358", "359", "36",
    "370", "371", "372", "373", "374", "375", "376", "377", "378", "379", "380", "381", "382", "383", "385",
    "386", "387", "389", "39", "40", "41", "420", "421", "423", "43", "44", "45", "46", "47", "48", "49",
    // The Americas outside the North American plan
    "500", "501", "502", "503", "504", "505", "506", "507", "508", "509", "51", "52", "53", "54", "55", "56",
    "57", "58", "590", "591", "592", "593", "594", "595", "596", "597", "598", "599",
    // South-East Asia and Oceania
    "60", "61", "62", "63", "64", "65", "66", "670", "672", "673", "674", "675", "676", "677", "678", "679",
    "680", "681", "682", "683", "685", "686", "687", "688", "689", "690", "691", "692",
    // East Asia and services without a country
    "800", "808", "81", "82", "84", "850", "852", "853", "855", "856", "86", "870", "878", "880", "881",
    "882", "883", "886", "888", // West, South and Central Asia
    "90", "91", "92", "93", "94", "95", "960", "961", "962", "963", "964", "965", "966", "967", "968", "970",
    "971", "972", "973", "974", "975", "976", "977", "979", "98", "992", "993", "994", "995", "996", "998",
];

/// The digits after the country calling code. `None` if the digits do not begin with an assigned code or
/// nothing follows the code.
///
/// `digits` are the digits of an E.164 number, without the `+`.
pub fn national(digits: &str) -> Option<&str> {
    CALLING_CODES.iter().find_map(|code| digits.strip_prefix(code)).filter(|rest| !rest.is_empty())
}

/// The form under which phone numbers are compared and stored: the digits without those that only some
/// written forms of a number have. It is never shown or dialled. Its debug output is redacted.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PhoneKey(String);

/// Digits that some people write in a number and others do not.
struct Infix {
    /// The country calling code.
    code: &'static str,
    /// The number of digits between the code and the infix.
    before: usize,
    /// The digits that only the long form has.
    digits: &'static str,
    /// The number of digits after them.
    after: usize,
    /// The digits with which those can begin.
    first: &'static str,
}

/// Every infix that the service knows. A further row needs a source that no two phones differ only by the infix, and
/// the key before it stays a second key of each look-up of that country: the consent of an erased person is
/// stored under it.
const INFIXES: &[Infix] = &[
    // Mexico dropped the 1 before mobile numbers in August 2019. No national number begins with 1.
    Infix { code: "52", before: 0, digits: "1", after: 10, first: "23456789" },
    // Argentina writes a 9 before mobile numbers from abroad only. No mobile differs from a landline by it.
    Infix { code: "54", before: 0, digits: "9", after: 10, first: "123" },
    // Brazil put a 9 before mobile numbers. Landlines begin with 2 to 5. The numbers that began with 7 and stayed
    // without the 9 were radio lines, which were switched off on 31 March 2018.
    Infix { code: "55", before: 2, digits: "9", after: 8, first: "6789" },
    // Benin put 01 before all its numbers on 30 November 2024.
    Infix { code: "229", before: 0, digits: "01", after: 8, first: "24569" },
];

impl PhoneKey {
    /// The key of these digits: those of an E.164 number without `+`, or those by which the provider names a customer.
    pub fn of(digits: &str) -> Self {
        Self(INFIXES.iter().find_map(|infix| infix.without(digits)).unwrap_or_else(|| digits.to_owned()))
    }

    /// The key as text: digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The digits of every written form, the short one first.
    pub fn forms(&self) -> Vec<String> {
        let long = INFIXES.iter().find_map(|infix| infix.with(&self.0));
        [self.0.clone()].into_iter().chain(long).collect()
    }
}

// The number is personal data.
impl fmt::Debug for PhoneKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[PhoneKey]")
    }
}

impl Infix {
    /// The short form of a number in the long form.
    fn without(&self, number: &str) -> Option<String> {
        let (before, rest) = self.divided(number)?;
        let rest = rest.strip_prefix(self.digits).filter(|rest| self.is_after(rest))?;
        Some(format!("{}{before}{rest}", self.code))
    }

    /// The long form of a number in the short form.
    fn with(&self, number: &str) -> Option<String> {
        let (before, rest) = self.divided(number).filter(|(_, rest)| self.is_after(rest))?;
        Some(format!("{}{before}{}{rest}", self.code, self.digits))
    }

    fn divided<'a>(&self, number: &'a str) -> Option<(&'a str, &'a str)> {
        number.strip_prefix(self.code)?.split_at_checked(self.before)
    }

    fn is_after(&self, rest: &str) -> bool {
        rest.len() == self.after && rest.starts_with(|first| self.first.contains(first))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_written_forms_of_one_phone_have_one_key() {
        let rows: &[(&[&str], &str)] = &[
            (&["5215512345678", "525512345678"], "525512345678"),
            (&["5491123456789", "541123456789"], "541123456789"),
            (&["5511987654321", "551187654321"], "551187654321"),
            (&["2290197123456", "22997123456"], "22997123456"),
            // A landline of Brazil has one form, and a 9 before its digits makes another number.
            (&["551132654321"], "551132654321"),
            (&["5511932654321"], "5511932654321"),
            // Too many or too few digits, or digits that cannot follow.
            (&["55119876543210"], "55119876543210"),
            (&["521551234567"], "521551234567"),
            (&["5211234567890"], "5211234567890"),
            (&["549412345678"], "549412345678"),
            (&["2290137123456"], "2290137123456"),
            // Other countries have one form, and so has what is no number.
            (&["14155550123"], "14155550123"),
            (&["34600111222"], "34600111222"),
            (&["55"], "55"),
            (&[""], ""),
        ];
        for (forms, key) in rows {
            for form in *forms {
                assert_eq!(PhoneKey::of(form).as_str(), *key, "{form}");
                let mut all = PhoneKey::of(form).forms();
                all.retain(|one| forms.contains(&one.as_str()));
                assert_eq!(all.len(), forms.len(), "{form}");
            }
        }
        assert_eq!(format!("{:?}", PhoneKey::of("34600111222")), "[PhoneKey]");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4_000))]

        #[test]
        fn a_key_is_its_own_key_and_that_of_each_of_its_forms(
            digits in "(52|54|55|229|1|34)(9|1|01|[1-9]{2}9)?[0-9]{6,10}",
        ) {
            let key = PhoneKey::of(&digits);
            prop_assert_eq!(PhoneKey::of(key.as_str()), key.clone());
            let forms = key.forms();
            prop_assert!(forms.contains(&digits), "{:?}", digits);
            for form in forms {
                prop_assert_eq!(PhoneKey::of(&form), key.clone());
            }
        }
    }

    #[test]
    fn national_removes_the_country_calling_code() {
        for (digits, rest) in [
            ("14155550123", Some("4155550123")),
            ("79161234567", Some("9161234567")),
            ("4915112345678", Some("15112345678")),
            ("34600111222", Some("600111222")),
            ("35312345678", Some("12345678")),
            ("5215512345678", Some("15512345678")),
            ("50688887777", Some("88887777")),
            ("97150123456", Some("50123456")),
            ("2100000000", None),
            ("999123456", None),
            ("49", None),
            ("", None),
        ] {
            assert_eq!(national(digits), rest, "{digits}");
        }
    }

    #[test]
    fn no_calling_code_begins_with_another() {
        for code in CALLING_CODES {
            assert!((1..=3).contains(&code.len()) && code.bytes().all(|b| b.is_ascii_digit()), "{code}");
            let beginnings = CALLING_CODES.iter().filter(|other| code.starts_with(**other)).count();
            assert_eq!(beginnings, 1, "{code}");
        }
    }
}
