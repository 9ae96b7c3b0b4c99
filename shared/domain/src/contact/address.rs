//! The ids by which the provider names a customer, and where a message to a customer is sent.

use std::fmt;
use std::time::Duration;

use crate::contact::Contact;
use crate::text::{Cellphone, Unfit};
use crate::time::Timestamp;

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

impl Contact {
    /// Where messages to the contact are sent: to its number, otherwise to its user id.
    pub fn address(&self) -> Option<Address> {
        let user = || self.user_id.clone().map(Address::User);
        self.cellphone.clone().map(Address::Number).or_else(user)
    }

    /// The contact with the ids that the provider named. Returns `None` if it has them. An id that the
    /// provider did not name stays, and the version stays, because clients do not see the ids.
    pub fn reached(&self, at: &Reached) -> Option<Self> {
        let dialled = self.cellphone.as_ref().map(Cellphone::digits);
        let wa_id = at.wa_id.as_ref().filter(|wa_id| Some(wa_id.as_str()) != dialled);
        let next = Self {
            wa_id: wa_id.or(self.wa_id.as_ref()).cloned(),
            user_id: at.user_id.as_ref().or(self.user_id.as_ref()).cloned(),
            ..self.clone()
        };
        (next != *self).then_some(next)
    }

    /// The contact after its customer moved to another number, another user id, or both, at the time that
    /// the provider names. Returns `None` if that changes nothing: the contact has the ids, or moved at that
    /// time or later. A new number is a new version. A new user id alone is not.
    ///
    /// The provider gives a customer a new user id with each new number, so the ids of the old number go.
    pub fn moved(&self, to: &Reached, at: Timestamp, now: Timestamp) -> Option<Self> {
        let number = to.wa_id.as_ref().and_then(WaId::cellphone);
        let is_new = number.is_some() && number != self.cellphone;
        let user_id = to.user_id.as_ref().or(self.user_id.as_ref().filter(|_| !is_new)).cloned();
        let is_late = self.moved_at.is_some_and(|before| before >= at);
        if is_late || (!is_new && user_id == self.user_id) {
            return None;
        }
        let moved = Self { user_id, moved_at: Some(at), ..self.clone() };
        if !is_new {
            return Some(moved);
        }
        Some(Self {
            cellphone: number,
            wa_id: None,
            updated_at: now.max(self.updated_at.plus(Duration::from_millis(1))),
            version: self.version + 1,
            ..moved
        })
    }

    /// The contact without the ids that belong to another number than the one that it has now. `before` is
    /// the contact before the change.
    pub(super) fn without_ids_of_number(self, before: &Self) -> Self {
        match &before.cellphone {
            Some(number) if self.cellphone.as_ref() != Some(number) => {
                Self { wa_id: None, user_id: None, ..self }
            }
            _ => {
                let digits = self.cellphone.as_ref().map(Cellphone::digits);
                let wa_id = self.wa_id.filter(|wa_id| Some(wa_id.as_str()) != digits);
                Self { wa_id, ..self }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::ids::{ContactId, WorkspaceId};

    const NOW: Timestamp = Timestamp::from_millis(1_767_323_045_678);
    const LATER: Timestamp = Timestamp::from_millis(1_767_323_046_000);

    fn contact(number: &str, wa_id: &str, user: &str) -> Contact {
        let blank =
            Contact::blank(ContactId::from_uuid(Uuid::nil()), WorkspaceId::from_uuid(Uuid::nil()), NOW);
        Contact {
            cellphone: Cellphone::parse(number).ok(),
            wa_id: WaId::parse(wa_id).ok(),
            user_id: ProviderUserId::parse(user).ok(),
            ..blank
        }
    }

    fn at(wa_id: &str, user: &str) -> Reached {
        Reached { wa_id: WaId::parse(wa_id).ok(), user_id: ProviderUserId::parse(user).ok() }
    }

    /// Number, wa id and user id; empty if absent.
    fn ids(contact: &Contact) -> [&str; 3] {
        [
            contact.cellphone.as_ref().map_or("", Cellphone::as_str),
            contact.wa_id.as_ref().map_or("", WaId::as_str),
            contact.user_id.as_ref().map_or("", ProviderUserId::as_str),
        ]
    }

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

    #[test]
    fn a_message_goes_to_the_number_otherwise_to_the_user_id() {
        let rows = [("+14155550123", "US.1", "number"), ("", "US.1", "user"), ("", "", "none")];
        for (number, user, expected) in rows {
            let contact = contact(number, "", user);
            let kind = match contact.address() {
                Some(Address::Number(of)) if of.as_str() == number => "number",
                Some(Address::User(of)) if of.as_str() == user => "user",
                None => "none",
                other => panic!("{other:?}"),
            };
            assert_eq!(kind, expected);
        }
    }

    #[test]
    fn only_ids_that_differ_are_remembered_without_a_new_version() {
        let number = "+5511987654321";
        let rows = [
            // The provider dials what it was told.
            (contact(number, "", ""), at("5511987654321", ""), None),
            (contact(number, "", "BR.1"), at("5511987654321", "BR.1"), None),
            (contact(number, "", ""), at("551187654321", ""), Some([number, "551187654321", ""])),
            (contact(number, "551187654321", ""), at("551187654321", ""), None),
            (
                contact(number, "551187654321", ""),
                at("5511987654321", "BR.1"),
                Some([number, "551187654321", "BR.1"]),
            ),
            (contact(number, "", "BR.1"), at("", "BR.2"), Some([number, "", "BR.2"])),
            (contact("", "", "BR.1"), at("551187654321", ""), Some(["", "551187654321", "BR.1"])),
            (contact("", "", "BR.1"), at("", ""), None),
        ];
        for (contact, at, expected) in rows {
            let next = contact.reached(&at);
            assert_eq!(next.as_ref().map(ids), expected, "{:?} {at:?}", ids(&contact));
            assert!(next.is_none_or(|next| next.version == 1 && next.updated_at == NOW));
        }
    }

    #[test]
    fn a_move_changes_the_number_once_and_an_older_one_changes_nothing() {
        let (old, new) = ("+14155550123", "+14155550199");
        let before = Contact { wa_id: WaId::parse("14155550000").ok(), ..contact(old, "", "US.1") };
        let moved = before.moved(&at("14155550199", "US.2"), NOW, NOW).unwrap();
        assert_eq!((ids(&moved), moved.version, moved.moved_at), ([new, "", "US.2"], 2, Some(NOW)));
        assert!(moved.updated_at > before.updated_at);
        // The provider did not name the new user id. The old one was the old number's.
        assert_eq!(ids(&before.moved(&at("14155550199", ""), NOW, NOW).unwrap()), [new, "", ""]);
        // A new user id alone.
        let named = moved.moved(&at("", "US.3"), LATER, LATER).unwrap();
        assert_eq!((ids(&named), named.version, named.moved_at), ([new, "", "US.3"], 2, Some(LATER)));
        assert_eq!(named.updated_at, moved.updated_at);
        // Repeats, older changes, and what the contact has already.
        for (contact, to, time) in [
            (&moved, at("14155550199", "US.2"), NOW),
            (&moved, at("14155550123", "US.1"), NOW),
            (&named, at("14155550123", ""), NOW),
            (&moved, at("14155550199", ""), LATER),
            (&moved, at("", ""), LATER),
            (&moved, at("12345", ""), LATER), // not a number
        ] {
            assert_eq!(contact.moved(&to, time, LATER), None, "{to:?}");
        }
        assert_eq!(ids(&named.moved(&at("14155550123", ""), LATER.plus(Duration::from_secs(1)), LATER).unwrap())[0], old);
    }

    #[test]
    fn a_changed_number_takes_its_ids_with_it() {
        let before = contact("+5511987654321", "551187654321", "BR.1");
        let rows = [
            (before.clone(), "+5511987654321", ["+5511987654321", "551187654321", "BR.1"]),
            (before.clone(), "+14155550123", ["+14155550123", "", ""]),
            (before, "", ["", "", ""]),
            // The number of a contact that had none: its user id is still the same person's.
            (contact("", "551187654321", "BR.1"), "+14155550123", ["+14155550123", "551187654321", "BR.1"]),
            (contact("", "551187654321", "BR.1"), "+551187654321", ["+551187654321", "", "BR.1"]),
        ];
        for (before, number, expected) in rows {
            let after = Contact { cellphone: Cellphone::parse(number).ok(), ..before.clone() };
            assert_eq!(ids(&after.without_ids_of_number(&before)), expected, "{number}");
        }
    }
}
