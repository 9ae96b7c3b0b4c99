//! How a webhook is divided into pieces that a queue message can hold.
//!
//! ```text
//! { object, entry: [{ id, changes: [{ field, value: { metadata, contacts, messages | statuses } }] }] }
//! ```
//!
//! A piece is a change with some of its items. The provider sends up to 3 MB and a thousand items at once, in
//! any order, and repeats a webhook that got no 200 for seven days. The pieces are independent of each other.

use domain::{PhoneKey, chunks_within};
use serde_json::{Map, Value, json};

use super::repair::repaired;

/// A part of a webhook that can be processed alone.
#[derive(Clone, Debug, PartialEq)]
pub struct Piece {
    /// The business account that the change is about.
    pub account: String,
    /// The kind of the change, such as `messages`.
    pub field: String,
    /// The change, in the provider's form, with some of its items.
    pub value: Value,
}

/// The bytes are no webhook of a business account.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no webhook of a WhatsApp business account")]
pub struct NotAWebhook;

/// The lists of a change whose items are independent of each other.
const LISTS: [&str; 3] = ["messages", "statuses", "user_preferences"];
/// The greatest number of items in a piece. A piece fails and is repeated as a whole.
const MOST_ITEMS: usize = 10;
/// The greatest size of the items of a piece, in bytes of JSON. A larger item is a piece of its own.
const MOST_BYTES: usize = 60_000;

/// Divides a webhook into pieces. A change without such a list is one piece.
pub fn pieces(body: &[u8]) -> Result<Vec<Piece>, NotAWebhook> {
    let webhook = parsed(body)?;
    if webhook["object"] != "whatsapp_business_account" {
        return Err(NotAWebhook);
    }
    let mut pieces = vec![];
    for entry in webhook["entry"].as_array().ok_or(NotAWebhook)? {
        let account = text(&entry["id"]);
        for change in entry["changes"].as_array().into_iter().flatten() {
            let field = text(&change["field"]);
            let values = divided(&change["value"]).into_iter().map(|value| timed(value, &entry["time"]));
            pieces.extend(values.map(|value| Piece {
                account: account.clone(),
                field: field.clone(),
                value,
            }));
        }
    }
    Ok(pieces)
}

/// A text of one customer can be unreadable for Rust. Then it is replaced, so that the others are read.
fn parsed(body: &[u8]) -> Result<Value, NotAWebhook> {
    serde_json::from_slice(body)
        .or_else(|_| serde_json::from_str(&repaired(&String::from_utf8_lossy(body))))
        .map_err(|_| NotAWebhook)
}

/// Where a piece without items keeps the time of its entry: such a change has no time of its own.
pub(crate) const ENTRY_TIME: &str = "entry_time";

fn timed(mut value: Value, time: &Value) -> Value {
    if let Some(change) = value.as_object_mut()
        && !time.is_null()
        && !LISTS.iter().any(|list| change.contains_key(*list))
    {
        change.insert(ENTRY_TIME.to_owned(), time.clone());
    }
    value
}

/// An id as text. Some fields of the provider are numbers in some versions.
fn text(id: &Value) -> String {
    id.as_str().map_or_else(|| if id.is_null() { String::new() } else { id.to_string() }, str::to_owned)
}

fn divided(value: &Value) -> Vec<Value> {
    let Some(all) = value.as_object() else { return vec![value.clone()] };
    let rest: Map<String, Value> = all
        .iter()
        .filter(|(name, _)| !LISTS.contains(&name.as_str()) && *name != "contacts")
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    let contacts = all.get("contacts").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let lists = LISTS.iter().filter_map(|name| Some((*name, all.get(*name)?.as_array()?)));
    let mut values = vec![];
    for (name, items) in lists {
        for group in chunks_within(items, MOST_ITEMS, MOST_BYTES, |item| item.to_string().len()) {
            let mut value = rest.clone();
            value.insert("contacts".to_owned(), contacts_of(group, contacts));
            value.insert(name.to_owned(), json!(group));
            values.push(Value::Object(value));
        }
    }
    if values.is_empty() { vec![value.clone()] } else { values }
}

/// The contacts that the items name. An item names a person by number, in any written form, by user id, or by both.
fn contacts_of(items: &[Value], contacts: &[Value]) -> Value {
    const NAMES: [&str; 6] =
        ["from", "from_user_id", "recipient_id", "recipient_user_id", "wa_id", "user_id"];
    let key = |id: &Value| id.as_str().map(PhoneKey::of);
    let same = |one: &Value, other: &Value| one == other || (one.is_string() && key(one) == key(other));
    let is_named = |contact: &&Value| {
        let ids = [&contact["wa_id"], &contact["user_id"]];
        let ids = ids.into_iter().filter(|id| !id.is_null());
        ids.into_iter().any(|id| items.iter().any(|item| NAMES.iter().any(|name| same(&item[*name], id))))
    };
    contacts.iter().filter(is_named).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn webhook(value: &Value) -> Vec<u8> {
        let change = json!({ "field": "messages", "value": value });
        let entry = json!({ "id": "1022", "changes": [change] });
        json!({ "object": "whatsapp_business_account", "entry": [entry] }).to_string().into_bytes()
    }

    fn status(number: usize) -> Value {
        json!({ "id": format!("wamid.{number}"), "status": "delivered", "recipient_id": number.to_string() })
    }

    #[test]
    fn a_change_without_items_keeps_the_time_of_its_entry() {
        let change = |value: &Value| json!({ "field": "f", "value": value });
        let changes = [
            change(&json!({ "event": "PAUSED" })),
            change(&json!({ "statuses": [status(1)] })),
            change(&json!(1)),
        ];
        let entry = json!({ "id": "1022", "time": 1_767_323_045, "changes": changes });
        let body = json!({ "object": "whatsapp_business_account", "entry": [entry] }).to_string();
        let values: Vec<Value> =
            pieces(body.as_bytes()).unwrap().into_iter().map(|piece| piece.value).collect();
        assert_eq!(values[0], json!({ "event": "PAUSED", "entry_time": 1_767_323_045 }));
        assert_eq!((values[1].get("entry_time"), &values[2]), (None, &json!(1)));
    }

    #[test]
    fn a_thousand_items_become_pieces_of_ten_with_the_contacts_that_they_name() {
        let contact = |number: usize| json!({ "wa_id": number.to_string(), "profile": { "name": "N" } });
        let value = json!({
            "messaging_product": "whatsapp",
            "metadata": { "phone_number_id": "5" },
            "contacts": (0..1_000).map(contact).collect::<Vec<_>>(),
            "statuses": (0..1_000).map(status).collect::<Vec<_>>(),
        });
        let pieces = pieces(&webhook(&value)).unwrap();
        assert_eq!(pieces.len(), 100);
        for (at, piece) in pieces.iter().enumerate() {
            assert_eq!((piece.account.as_str(), piece.field.as_str()), ("1022", "messages"));
            assert_eq!(piece.value["metadata"], value["metadata"]);
            let of =
                |all: &dyn Fn(usize) -> Value| json!((at * 10..at * 10 + 10).map(all).collect::<Vec<_>>());
            assert_eq!(piece.value["statuses"], of(&status));
            assert_eq!(piece.value["contacts"], of(&contact));
        }
    }

    #[test]
    fn large_items_are_pieces_of_their_own_and_every_item_is_in_exactly_one_piece() {
        let text = |size: usize| json!({ "from_user_id": "US.1", "text": { "body": "x".repeat(size) } });
        let messages: Vec<Value> = [10, 59_000, 10, 70_000, 10, 10].map(text).to_vec();
        let value =
            json!({ "contacts": [{ "user_id": "US.1" }, { "user_id": "US.2" }], "messages": messages });
        let pieces = pieces(&webhook(&value)).unwrap();
        let of = |piece: &Piece| piece.value["messages"].as_array().unwrap().clone();
        assert_eq!(pieces.iter().map(|piece| of(piece).len()).collect::<Vec<_>>(), [3, 1, 2]);
        assert_eq!(pieces.iter().flat_map(of).collect::<Vec<_>>(), messages);
        assert!(pieces.iter().all(|piece| piece.value["contacts"] == json!([{ "user_id": "US.1" }])));
    }

    #[test]
    fn a_change_of_another_kind_is_one_piece_as_it_is() {
        let value = json!({ "event": "APPROVED", "message_template_id": 5, "contacts": 7 });
        assert_eq!(pieces(&webhook(&value)).unwrap()[0].value, value);
        assert_eq!(pieces(&webhook(&json!(null))).unwrap()[0].value, json!(null));
        let numbers = br#"{"object":"whatsapp_business_account","entry":[{"id":7,"changes":[{}]}]}"#;
        let piece = Piece { account: "7".to_owned(), field: String::new(), value: json!(null) };
        assert_eq!(pieces(numbers), Ok(vec![piece]));
    }

    #[test]
    fn an_unreadable_item_takes_no_other_one_with_it() {
        let deep = format!("{}1{}", "[".repeat(300), "]".repeat(300));
        for (odd, read_as) in [
            (r#""a\ud83d""#.as_bytes(), json!("a\u{fffd}")),
            (b"1e999", json!("1e999")),
            (b"\"a\xff\"", json!("a\u{fffd}")),
            (b"\"a\x00\"", json!("a\0")),
            ("\"a\u{ffff}\"".as_bytes(), json!("a\u{ffff}")),
        ] {
            let good = [message("1", json!("Ana")), message("3", json!("Eva"))];
            let body = String::from_utf8(webhook(&json!({ "messages": [good[0], "ODD", good[1]] }))).unwrap();
            let (before, after) = body.split_once("\"ODD\"").unwrap();
            let odd_message = message("2", json!("ODD")).to_string();
            let (head, tail) = odd_message.split_once("\"ODD\"").unwrap();
            let body = [before.as_bytes(), head.as_bytes(), odd, tail.as_bytes(), after.as_bytes()].concat();
            let [piece] = &pieces(&body).unwrap()[..] else { panic!("{odd:?}") };
            assert_eq!(piece.value["messages"], json!([good[0], message("2", read_as), good[1]]));
        }
        let body =
            String::from_utf8(webhook(&json!({ "messages": [message("1", json!("Ana")), "DEEP"] }))).unwrap();
        let [piece] = &pieces(body.replace("\"DEEP\"", &deep).as_bytes()).unwrap()[..] else {
            panic!("deep")
        };
        assert_eq!(piece.value["messages"][0], message("1", json!("Ana")));
    }

    fn message(id: &str, body: Value) -> Value {
        json!({ "from": "34600111222", "id": id, "text": { "body": body } })
    }

    #[test]
    fn other_bytes_are_no_webhook() {
        let bodies = [
            "",
            "null",
            "[]",
            "{}",
            r#"{"object":"page","entry":[]}"#,
            r#"{"object":"whatsapp_business_account"}"#,
        ];
        for body in bodies {
            assert_eq!(pieces(body.as_bytes()), Err(NotAWebhook), "{body}");
        }
        assert_eq!(pieces(br#"{"object":"whatsapp_business_account","entry":[]}"#), Ok(vec![]));
    }
}
