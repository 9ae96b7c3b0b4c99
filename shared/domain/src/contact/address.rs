//! The ids by which the provider names a customer, and where a message to a customer is sent.

use std::fmt;

use crate::text::{Cellphone, Unfit};

/// A customer's id for one business at the provider ("business-scoped user id"): 1 to 128 visible ASCII
/// characters. Its debug output is redacted.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProviderUserId(String);

impl ProviderUserId {
    const PATTERN: &'static str = "^[!-~]{1,128}$";

    /// Parses an id.
    pub fn parse(text: &str) -> Result<Self, Unfit> {
        let fits = (1..=128).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic());
        let shape = Unfit::Shape { pattern: Self::PATTERN, form: "1 to 128 visible ASCII characters" };
        if fits { Ok(Self(text.to_owned())) } else { Err(shape) }
    }

    /// The id as given.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for ProviderUserId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[ProviderUserId]")
    }
}

/// A customer's number as the provider names it: 5 to 20 digits without `+`. It may differ from the number
/// that was dialled. Its debug output is redacted.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WaId(String);

impl WaId {
    const PATTERN: &'static str = "^[0-9]{5,20}$";

    /// Parses an id.
    pub fn parse(text: &str) -> Result<Self, Unfit> {
        let fits = (5..=20).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
        let shape = Unfit::Shape { pattern: Self::PATTERN, form: "5 to 20 digits" };
        if fits { Ok(Self(text.to_owned())) } else { Err(shape) }
    }

    /// The digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The phone number with these digits, if they can be one.
    pub fn cellphone(&self) -> Option<Cellphone> {
        Cellphone::parse(&format!("+{}", self.0)).ok()
    }

    /// The other forms in which people write this number. Brazil added a ninth digit to its mobile numbers,
    /// and Mexico and Argentina have a digit for mobile phones that is not dialled from everywhere. The
    /// provider names such a number in one form, and the workspace may know the other one.
    pub fn other_forms(&self) -> Vec<Cellphone> {
        let forms = FORMS.iter().flat_map(|form| [form.without_digit(&self.0), form.with_digit(&self.0)]);
        forms.flatten().filter_map(|digits| Cellphone::parse(&format!("+{digits}")).ok()).collect()
    }
}

impl fmt::Debug for WaId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[WaId]")
    }
}

/// A plan whose mobile numbers exist with and without a digit.
struct MobileDigit {
    /// The country code.
    country: &'static str,
    /// The number of digits between the country code and the digit.
    area: usize,
    /// The digit.
    digit: char,
    /// The number of digits after it.
    rest: usize,
    /// The first digits after it that mobile numbers have.
    mobile: &'static str,
}

const FORMS: &[MobileDigit] = &[
    // Landlines of Brazil begin with 2 to 5 and have no ninth digit.
    MobileDigit { country: "55", area: 2, digit: '9', rest: 8, mobile: "6789" },
    MobileDigit { country: "52", area: 0, digit: '1', rest: 10, mobile: "23456789" },
    MobileDigit { country: "54", area: 0, digit: '9', rest: 10, mobile: "1234568" },
];

impl MobileDigit {
    /// The number without the digit, if it is a mobile number with it.
    fn without_digit(&self, number: &str) -> Option<String> {
        let (area, rest) = self.divided(number)?;
        let rest = rest.strip_prefix(self.digit).filter(|rest| self.is_rest(rest))?;
        Some(format!("{}{area}{rest}", self.country))
    }

    /// The number with the digit, if it is a mobile number without it.
    fn with_digit(&self, number: &str) -> Option<String> {
        let (area, rest) = self.divided(number).filter(|(_, rest)| self.is_rest(rest))?;
        Some(format!("{}{area}{}{rest}", self.country, self.digit))
    }

    fn divided<'a>(&self, number: &'a str) -> Option<(&'a str, &'a str)> {
        number.strip_prefix(self.country)?.split_at_checked(self.area)
    }

    fn is_rest(&self, rest: &str) -> bool {
        rest.len() == self.rest && rest.starts_with(|first| self.mobile.contains(first))
    }
}

/// Where a message is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// A phone number.
    Number(Cellphone),
    /// The id of a customer whose number is not known.
    User(ProviderUserId),
}

impl Address {
    /// The number or the id.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Number(number) => number.as_str(),
            Self::User(user) => user.as_str(),
        }
    }
}

/// The ids under which the provider reached a customer, as far as it named them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reached {
    /// The number.
    pub wa_id: Option<WaId>,
    /// The id for this business.
    pub user_id: Option<ProviderUserId>,
}

impl Reached {
    /// The ids as the provider names them. One that is not of the documented form counts as not named.
    pub fn named(wa_id: Option<&str>, user_id: Option<&str>) -> Self {
        Self {
            wa_id: wa_id.and_then(|id| WaId::parse(id).ok()),
            user_id: user_id.and_then(|id| ProviderUserId::parse(id).ok()),
        }
    }

    /// The phone number that the provider names, if it can be one.
    pub fn cellphone(&self) -> Option<Cellphone> {
        self.wa_id.as_ref().and_then(WaId::cellphone)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_the_provider_are_bounded() {
        for good in ["US.13491208655302741918", "a", &"x".repeat(128)] {
            assert_eq!(ProviderUserId::parse(good).unwrap().as_str(), good);
        }
        for bad in ["", "a b", "é", "a\n", &"x".repeat(129)] {
            assert!(ProviderUserId::parse(bad).is_err(), "{bad:?}");
        }
        for good in ["12345", "14155550123", "12345678901234567890"] {
            assert_eq!(WaId::parse(good).unwrap().as_str(), good);
        }
        for bad in ["", "1234", "+14155550123", "123456789012345678901", "1415555O123", "١٢٣٤٥٦"] {
            assert!(WaId::parse(bad).is_err(), "{bad:?}");
        }
        let id = ProviderUserId::parse("US.1").unwrap();
        assert_eq!(format!("{id:?} {:?}", WaId::parse("14155550123").unwrap()), "[ProviderUserId] [WaId]");
    }

    #[test]
    fn digits_that_cannot_be_a_number_have_no_number() {
        let number = |digits| WaId::parse(digits).unwrap().cellphone();
        assert_eq!(number("14155550123"), Cellphone::parse("+14155550123").ok());
        for none in ["12345", "01234567890", "1234567890123456"] {
            assert_eq!(number(none), None, "{none}");
        }
    }

    #[test]
    fn mobile_numbers_of_three_countries_have_another_form() {
        let rows: &[(&str, &[&str])] = &[
            // Brazil: with and without the ninth digit.
            ("5511987654321", &["+551187654321"]),
            ("551187654321", &["+5511987654321"]),
            ("551132654321", &[]),   // a landline
            ("5511932654321", &[]),  // a ninth digit before a landline's number
            ("55119876543210", &[]), // too long
            ("55118765432", &[]),    // too short
            // Mexico: with and without 1.
            ("5215512345678", &["+525512345678"]),
            ("525512345678", &["+5215512345678"]),
            ("52551234567", &[]),
            // Argentina: with and without 9.
            ("5491123456789", &["+541123456789"]),
            ("541123456789", &["+5491123456789"]),
            ("549112345678", &[]),
            // Others have one form.
            ("14155550123", &[]),
            ("34600111222", &[]),
            ("55", &[]),
        ];
        for (wa_id, expected) in rows {
            let Ok(wa_id) = WaId::parse(wa_id) else { continue };
            let forms = wa_id.other_forms();
            assert_eq!(forms.iter().map(Cellphone::as_str).collect::<Vec<_>>(), *expected, "{}", wa_id.0);
            for form in &forms {
                let back = WaId::parse(form.digits()).unwrap().other_forms();
                assert_eq!(back, [wa_id.cellphone().unwrap()], "{}", form.as_str());
            }
        }
    }
}
