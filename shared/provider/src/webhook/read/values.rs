//! Values of the provider's JSON.

use domain::{PhoneKey, Timestamp};
use serde_json::Value;

use super::Customer;
use crate::webhook::pieces::MAX_ID;

/// The time of an item that names none. It is after every receipt, and so counts as the receipt.
pub(super) const LATEST: Timestamp = Timestamp::from_millis(253_402_300_799_000);

/// The person that an item names, completed by the contact that the webhook holds beside it.
pub(super) fn person(wa_id: &Value, user_id: &Value, contacts: &[Value]) -> Customer {
    let number = text(wa_id).map(|number| number.trim_start_matches('+').to_owned());
    // A customer who hides the number is named by the user id, in either field.
    let (wa_id, user_id) = match (number, text(user_id)) {
        (Some(id), None) if !id.bytes().all(|byte| byte.is_ascii_digit()) => (None, Some(id)),
        (number, user_id) => (number, user_id),
    };
    let same = |id: &Option<String>, other: &Value| id.is_some() && *id == text(other);
    let key = |number: &Option<String>| number.as_deref().map(PhoneKey::of);
    let same_number = |other: &Value| wa_id.is_some() && key(&wa_id) == key(&text(other));
    let named =
        contacts.iter().find(|contact| same_number(&contact["wa_id"]) || same(&user_id, &contact["user_id"]));
    let sole = contacts.first().filter(|_| contacts.len() == 1 && wa_id.is_none() && user_id.is_none());
    let contact = named.or(sole).unwrap_or(&Value::Null);
    Customer {
        wa_id: wa_id.or_else(|| text(&contact["wa_id"])),
        user_id: user_id.or_else(|| text(&contact["user_id"])),
        name: text(&contact["profile"]["name"]),
    }
}

/// A text or number that is not empty, as text.
pub(super) fn text(value: &Value) -> Option<String> {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        _ => return None,
    };
    (!text.is_empty()).then_some(text)
}

/// The provider's id of a message. It becomes a part of a key, so a longer one is none.
pub(super) fn id(value: &Value) -> Option<String> {
    text(value).filter(|id| id.len() <= MAX_ID)
}

/// A Unix time in seconds.
pub(super) fn moment(value: &Value) -> Option<Timestamp> {
    let seconds: i64 = text(value)?.parse().ok()?;
    let millis = seconds.checked_mul(1_000).filter(|millis| (0..=LATEST.as_millis()).contains(millis))?;
    Some(Timestamp::from_millis(millis))
}

/// The time of an entry. Some versions of the provider write milliseconds.
pub(super) fn entry_moment(value: &Value) -> Option<Timestamp> {
    let time: i64 = text(value)?.parse().ok()?;
    moment(&Value::from(if time > 100_000_000_000 { time / 1_000 } else { time }))
}

pub(super) fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}
