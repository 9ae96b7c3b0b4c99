//! The ids by which the provider names a customer.
//!
//! Nothing is remembered: both ids follow from the number by fixed rules, so that a test can predict them.

use serde_json::{Value, json};

use crate::simulator::whatsapp::Recipient;

/// A customer. At least one of the two ids is present.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CustomerIds {
    pub(super) wa_id: Option<String>,
    pub(super) user_id: Option<String>,
}

impl CustomerIds {
    /// The customer behind a dialled number.
    pub(super) fn of_number(digits: &str) -> Self {
        let wa_id = wa_id(digits);
        Self { user_id: Some(user_id(&wa_id)), wa_id: Some(wa_id) }
    }

    pub(super) fn of(recipient: &Recipient) -> Self {
        match recipient {
            Recipient::Number(digits) => Self::of_number(digits),
            Recipient::UserId(id) => Self { wa_id: None, user_id: Some(id.clone()) },
        }
    }

    /// The contact that a webhook holds beside its items.
    pub(super) fn contact(&self, name: Option<&str>) -> Value {
        let mut contact = json!({});
        if let Some(name) = name {
            contact["profile"] = json!({ "name": name });
        }
        if let Some(wa_id) = &self.wa_id {
            contact["wa_id"] = json!(wa_id);
        }
        if let Some(user_id) = &self.user_id {
            contact["user_id"] = json!(user_id);
        }
        contact
    }
}

/// The id that belongs to the digits of a dialled number. It differs from them in three countries:
///
/// | country | dialled | id |
/// |---|---|---|
/// | Brazil | 55, area (2), 9, number (8) | without the 9 |
/// | Mexico | 52, number (10) | 521, number |
/// | Argentina | 54, number (10) | 549, number |
///
/// An id is its own id.
fn wa_id(digits: &str) -> String {
    match (digits.get(..2), digits.get(2..)) {
        (Some("55"), Some(rest)) if rest.len() == 11 && rest.as_bytes()[2] == b'9' => {
            format!("55{}{}", &rest[..2], &rest[3..])
        }
        (Some("52"), Some(rest)) if rest.len() == 10 => format!("521{rest}"),
        (Some("54"), Some(rest)) if rest.len() == 10 => format!("549{rest}"),
        _ => digits.to_owned(),
    }
}

/// The user id of a customer with a number: the country, `.1000` and the digits of the id.
fn user_id(wa_id: &str) -> String {
    let country = COUNTRIES.iter().find(|(prefix, _)| wa_id.starts_with(prefix));
    format!("{}.1000{wa_id}", country.map_or("XX", |(_, country)| country))
}

/// The countries of user ids. Any other one is `XX`.
const COUNTRIES: [(&str, &str); 5] = [("1", "US"), ("34", "ES"), ("52", "MX"), ("54", "AR"), ("55", "BR")];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ids_of_a_number_follow_the_rule_of_its_country() {
        let rows = [
            ("5511987654321", "551187654321", "BR.1000551187654321"),
            ("551187654321", "551187654321", "BR.1000551187654321"),
            ("5511887654321", "5511887654321", "BR.10005511887654321"),
            ("525512345678", "5215512345678", "MX.10005215512345678"),
            ("5215512345678", "5215512345678", "MX.10005215512345678"),
            ("541112345678", "5491112345678", "AR.10005491112345678"),
            ("5491112345678", "5491112345678", "AR.10005491112345678"),
            ("34600111222", "34600111222", "ES.100034600111222"),
            ("12025550101", "12025550101", "US.100012025550101"),
            ("4915112345678", "4915112345678", "XX.10004915112345678"),
        ];
        for (dialled, wa_id, user_id) in rows {
            let person = CustomerIds { wa_id: Some(wa_id.to_owned()), user_id: Some(user_id.to_owned()) };
            assert_eq!(CustomerIds::of_number(dialled), person);
        }
    }
}
