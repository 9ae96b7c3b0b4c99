//! How a webhook is divided into pieces that a queue message can hold.
//!
//! ```text
//! { object, entry: [{ id, changes: [{ field, value: { metadata, contacts, messages | statuses } }] }] }
//! ```
//!
//! A piece is a change with some of its items. The provider sends up to 3 MB and a thousand items at once, in
//! any order, and repeats a webhook that got no 200 for seven days. The pieces are independent of each other.
//!
//! Each level is divided before the level below it is read, so an item that cannot be read takes no other one with it.

use std::collections::{BTreeMap, HashMap};

use domain::{PhoneKey, chunks_within};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
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
    /// The places of messages in their seconds, by the provider's ids of the messages. Without an entry, a message is
    /// the first of its customer in its second.
    pub ranks: BTreeMap<String, u16>,
}

/// A webhook, divided.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Division {
    /// What can be processed.
    pub pieces: Vec<Piece>,
    /// What cannot be read, as webhooks of their own: each with one item, or the whole webhook.
    pub odd: Vec<Vec<u8>>,
}

/// The webhook is of another product than a WhatsApp business account.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no webhook of a WhatsApp business account")]
pub struct OtherProduct;

/// The lists of a change whose items are independent of each other.
pub(crate) const LISTS: [&str; 4] = ["messages", "message_echoes", "statuses", "user_preferences"];
/// The list whose items have no id.
const WITHOUT_IDS: &str = "user_preferences";
/// The greatest number of items in a piece. A piece fails and is repeated as a whole.
const MOST_ITEMS: usize = 10;
/// The greatest size of the items of a piece, in bytes of JSON. A larger item is a piece of its own.
const MOST_BYTES: usize = 60_000;
/// The greatest place of a message in its second. It is added to the time in milliseconds.
const MOST_RANK: u16 = 999;
/// The greatest size of the provider's id of a message, in bytes. It becomes a part of a key. Its own are about 60.
pub const MAX_ID: usize = 512;
/// The object of the webhooks that are divided.
const OBJECT: &str = "whatsapp_business_account";

/// Divides a webhook into pieces. A change without such a list is one piece.
pub fn divide(body: &[u8]) -> Result<Division, OtherProduct> {
    let text = String::from_utf8_lossy(body);
    let whole = || Division { odd: vec![body.to_vec()], ..Division::default() };
    let Some(Envelope { object, entry }) = parsed::<Envelope>(&text) else { return Ok(whole()) };
    match object.as_deref().map(parsed_raw::<Value>) {
        Some(Some(Value::String(object))) if object == OBJECT => {}
        Some(_) => return Err(OtherProduct),
        None => return Ok(whole()),
    }
    let Some(entries) = entry.as_deref().and_then(parsed_raw::<Raws>) else { return Ok(whole()) };
    let mut divided = Dividing::default();
    for entry in entries {
        match parsed_raw::<Entry>(&entry) {
            Some(entry) => divided.entry(&entry),
            None => divided.is_odd = true,
        }
    }
    let Dividing { mut division, is_odd, .. } = divided;
    if is_odd {
        division.odd.push(body.to_vec());
    }
    Ok(division)
}

type Raw = Box<RawValue>;
type Raws = Vec<Raw>;

#[derive(Deserialize)]
struct Envelope {
    object: Option<Raw>,
    entry: Option<Raw>,
}

#[derive(Deserialize)]
struct Entry {
    id: Option<Raw>,
    time: Option<Raw>,
    changes: Option<Raws>,
}

#[derive(Deserialize)]
struct Change {
    field: Option<Raw>,
    value: Option<Raw>,
}

/// A text of one customer can be unreadable for Rust. Then it is replaced, so that the rest is read.
fn parsed<T: DeserializeOwned>(json: &str) -> Option<T> {
    serde_json::from_str(json).or_else(|_| serde_json::from_str(&repaired(json))).ok()
}

fn parsed_raw<T: DeserializeOwned>(json: &RawValue) -> Option<T> {
    parsed(json.get())
}

#[derive(Default)]
struct Dividing {
    division: Division,
    /// How many messages of a customer on a line came in a second.
    seconds: HashMap<(String, String, String), u16>,
    /// Whether an entry, a change or a list cannot be read.
    is_odd: bool,
}

/// What the items of a change share.
struct Shared<'a> {
    account: &'a str,
    field: &'a str,
    /// The change without its items and contacts.
    rest: &'a Map<String, Value>,
    contacts: &'a [Value],
}

impl Dividing {
    fn entry(&mut self, Entry { id, time, changes }: &Entry) {
        let read = |raw: &Option<Raw>| raw.as_deref().and_then(parsed_raw).unwrap_or(Value::Null);
        let (account, time) = (text(&read(id)), read(time));
        for change in changes.iter().flatten() {
            match parsed_raw::<Change>(change) {
                Some(Change { field, value }) => {
                    self.change(&account, &text(&read(&field)), value.as_deref(), &time);
                }
                None => self.is_odd = true,
            }
        }
    }

    fn change(&mut self, account: &str, field: &str, value: Option<&RawValue>, time: &Value) {
        let piece = |value| Piece {
            account: account.to_owned(),
            field: field.to_owned(),
            value,
            ranks: BTreeMap::new(),
        };
        let Some(all) = value.and_then(parsed_raw::<BTreeMap<String, Raw>>) else {
            let value = value.and_then(parsed_raw).unwrap_or(Value::Null);
            return self.division.pieces.push(piece(value));
        };
        let is_item = |name: &str| LISTS.contains(&name);
        let rest = all.iter().filter(|(name, _)| !is_item(name) && *name != "contacts");
        let mut rest: Map<String, Value> =
            rest.filter_map(|(name, raw)| Some((name.clone(), parsed_raw(raw)?))).collect();
        let contacts: Option<Raws> = all.get("contacts").and_then(|raw| parsed_raw(raw));
        let contacts: Vec<Value> =
            contacts.iter().flatten().filter_map(|contact| parsed_raw(contact)).collect();
        let lists = LISTS.into_iter().filter_map(|name| Some((name, all.get(name)?)));
        let lists: Vec<(&str, &Raw)> = lists.filter(|(_, items)| items.get() != "null").collect();
        if lists.is_empty() {
            if let Some(contacts) = all.get("contacts").and_then(|raw| parsed_raw(raw)) {
                rest.insert("contacts".to_owned(), contacts);
            }
            if !time.is_null() {
                rest.insert(ENTRY_TIME.to_owned(), time.clone());
            }
            return self.division.pieces.push(piece(Value::Object(rest)));
        }
        let shared = Shared { account, field, rest: &rest, contacts: &contacts };
        for (name, items) in lists {
            match parsed_raw::<Raws>(items) {
                Some(items) => self.list(&shared, name, &items),
                None => self.is_odd = true,
            }
        }
    }

    fn list(&mut self, of: &Shared<'_>, name: &str, raws: &[Raw]) {
        let mut items = vec![];
        for raw in raws {
            match parsed_raw::<Value>(raw).filter(|item| is_processable(name, item)) {
                Some(item) => items.push(item),
                None => self.division.odd.extend(odd(of, name, raw)),
            }
        }
        for group in chunks_within(&items, MOST_ITEMS, MOST_BYTES, |item| item.to_string().len()) {
            let mut value = of.rest.clone();
            value.insert("contacts".to_owned(), contacts_of(group, of.contacts));
            value.insert(name.to_owned(), json!(group));
            let ranks = group.iter().filter_map(|item| self.rank(of, name, item)).collect();
            let (account, field) = (of.account.to_owned(), of.field.to_owned());
            self.division.pieces.push(Piece { account, field, value: Value::Object(value), ranks });
        }
    }

    /// The place of a message among those of its line, customer and second, if it is not the first.
    fn rank(&mut self, of: &Shared<'_>, list: &str, item: &Value) -> Option<(String, u16)> {
        let (number, user_id) = match list {
            "messages" => ("from", "from_user_id"),
            "message_echoes" => ("to", "to_user_id"),
            _ => return None,
        };
        let customer = match item[user_id].as_str() {
            Some(user_id) => user_id.to_owned(),
            None => PhoneKey::of(text(&item[number]).trim_start_matches('+')).as_str().to_owned(),
        };
        let customer = format!("{list} {customer}");
        let line = text(&of.rest.get("metadata").unwrap_or(&Value::Null)["phone_number_id"]);
        let next = self.seconds.entry((line, customer, text(&item["timestamp"]))).or_default();
        let rank = *next;
        *next = (rank + 1).min(MOST_RANK);
        (rank > 0).then(|| (text(&item["id"]), rank))
    }
}

/// Whether an item can be found again when it comes a second time.
fn is_processable(list: &str, item: &Value) -> bool {
    let has_id = || (1..=MAX_ID).contains(&text(&item["id"]).len());
    item.is_object() && (list == WITHOUT_IDS || has_id())
}

/// A webhook with one item, as it came.
fn odd(of: &Shared<'_>, list: &str, item: &RawValue) -> Option<Vec<u8>> {
    let mut value: BTreeMap<&str, Raw> = BTreeMap::new();
    for (name, rest) in of.rest {
        value.insert(name, RawValue::from_string(rest.to_string()).ok()?);
    }
    let contacts = parsed_raw(item).map(|item: Value| contacts_of(&[item], of.contacts));
    if let Some(contacts) = contacts {
        value.insert("contacts", RawValue::from_string(contacts.to_string()).ok()?);
    }
    value.insert(list, RawValue::from_string(format!("[{}]", item.get())).ok()?);
    Some(webhook_of(of.account, of.field, value))
}

/// A webhook with one change.
fn webhook_of(account: &str, field: &str, value: impl Serialize) -> Vec<u8> {
    #[derive(Serialize)]
    struct Webhook<'a, T> {
        object: &'static str,
        entry: [OneEntry<'a, T>; 1],
    }
    #[derive(Serialize)]
    struct OneEntry<'a, T> {
        id: &'a str,
        changes: [OneChange<'a, T>; 1],
    }
    #[derive(Serialize)]
    struct OneChange<'a, T> {
        field: &'a str,
        value: T,
    }
    let entry = OneEntry { id: account, changes: [OneChange { field, value }] };
    // Strings and parsed JSON always serialize.
    serde_json::to_vec(&Webhook { object: OBJECT, entry: [entry] }).unwrap_or_default()
}

impl Piece {
    /// The piece as a webhook of its own, which can be divided again.
    pub fn webhook(&self) -> Vec<u8> {
        webhook_of(&self.account, &self.field, &self.value)
    }

    /// The piece divided into pieces of one item each.
    pub fn singles(&self) -> Vec<Self> {
        let Some(all) = self.value.as_object() else { return vec![self.clone()] };
        let contacts = all.get("contacts").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let mut singles = vec![];
        for name in LISTS {
            for item in all.get(name).and_then(Value::as_array).into_iter().flatten() {
                let mut value = all.clone();
                value.retain(|name, _| !LISTS.contains(&name.as_str()));
                value.insert("contacts".to_owned(), contacts_of(std::slice::from_ref(item), contacts));
                value.insert(name.to_owned(), json!([item]));
                let id = text(&item["id"]);
                let ranks = self.ranks.get(&id).map(|rank| (id, *rank)).into_iter().collect();
                singles.push(Self { value: Value::Object(value), ranks, ..self.clone() });
            }
        }
        if singles.is_empty() { vec![self.clone()] } else { singles }
    }
}

/// Where a piece without items keeps the time of its entry: such a change has no time of its own.
pub(crate) const ENTRY_TIME: &str = "entry_time";

/// An id as text. Some fields of the provider are numbers in some versions.
fn text(id: &Value) -> String {
    id.as_str().map_or_else(|| if id.is_null() { String::new() } else { id.to_string() }, str::to_owned)
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

    /// The pieces of a webhook that has nothing else.
    fn pieces(body: &[u8]) -> Vec<Piece> {
        let Division { pieces, odd } = divide(body).unwrap();
        assert!(odd.is_empty(), "{odd:?}");
        pieces
    }

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
        let values: Vec<Value> = pieces(body.as_bytes()).into_iter().map(|piece| piece.value).collect();
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
        let pieces = pieces(&webhook(&value));
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
        let text = |size: usize| json!({ "id": "wamid.1", "from_user_id": "US.1", "text": { "body": "x".repeat(size) } });
        let messages: Vec<Value> = [10, 59_000, 10, 70_000, 10, 10].map(text).to_vec();
        let value =
            json!({ "contacts": [{ "user_id": "US.1" }, { "user_id": "US.2" }], "messages": messages });
        let pieces = pieces(&webhook(&value));
        let of = |piece: &Piece| piece.value["messages"].as_array().unwrap().clone();
        assert_eq!(pieces.iter().map(|piece| of(piece).len()).collect::<Vec<_>>(), [3, 1, 2]);
        assert_eq!(pieces.iter().flat_map(of).collect::<Vec<_>>(), messages);
        assert!(pieces.iter().all(|piece| piece.value["contacts"] == json!([{ "user_id": "US.1" }])));
    }

    #[test]
    fn a_change_of_another_kind_is_one_piece_as_it_is() {
        let value = json!({ "event": "APPROVED", "message_template_id": 5, "contacts": 7 });
        assert_eq!(pieces(&webhook(&value))[0].value, value);
        assert_eq!(pieces(&webhook(&json!(null)))[0].value, json!(null));
        let numbers = br#"{"object":"whatsapp_business_account","entry":[{"id":7,"changes":[{}]}]}"#;
        let (account, ranks) = ("7".to_owned(), BTreeMap::new());
        let piece = Piece { account, field: String::new(), value: json!(null), ranks };
        assert_eq!(pieces(numbers), [piece]);
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
            let [piece] = &pieces(&body)[..] else { panic!("{odd:?}") };
            assert_eq!(piece.value["messages"], json!([good[0], message("2", read_as), good[1]]));
        }
        let body =
            String::from_utf8(webhook(&json!({ "messages": [message("1", json!("Ana")), "DEEP"] }))).unwrap();
        let Division { pieces, odd } = divide(body.replace("\"DEEP\"", &deep).as_bytes()).unwrap();
        assert_eq!(
            (pieces[0].value["messages"].clone(), odd.len()),
            (json!([message("1", json!("Ana"))]), 1)
        );
        let in_an_item = message("2", json!("DEEP")).to_string().replace("\"DEEP\"", &deep);
        let body = body.replace("\"DEEP\"", &in_an_item);
        assert_eq!(self::pieces(body.as_bytes())[0].value["messages"][1]["id"], "2");
    }

    fn message(id: &str, body: Value) -> Value {
        json!({ "from": "34600111222", "id": id, "text": { "body": body } })
    }

    #[test]
    fn an_item_that_cannot_be_found_again_is_odd_and_the_others_are_processed() {
        let good = [message("1", json!("Ana")), message("3", json!("Eva"))];
        let contact = |number: &str| json!({ "wa_id": number, "profile": { "name": number } });
        let long = message(&"x".repeat(MAX_ID + 1), json!("long"));
        let unnamed = json!({ "from": "34600111223", "text": { "body": "no id" } });
        for odd in [json!(7), json!([1]), unnamed, long, json!({ "id": "" }), json!(null)] {
            let value = json!({
                "metadata": { "phone_number_id": "5" },
                "contacts": [contact("34600111222"), contact("34600111223")],
                "messages": [good[0], odd, good[1]],
            });
            let division = divide(&webhook(&value)).unwrap();
            assert_eq!(division.pieces.len(), 1);
            assert_eq!(division.pieces[0].value["messages"], json!(good));
            let [kept] = &division.odd[..] else { panic!("{odd}") };
            let kept: Value = serde_json::from_slice(kept).unwrap();
            assert_eq!((&kept["object"], &kept["entry"][0]["id"]), (&json!(OBJECT), &json!("1022")));
            let change = &kept["entry"][0]["changes"][0];
            assert_eq!((&change["field"], &change["value"]["messages"]), (&json!("messages"), &json!([odd])));
            assert_eq!(change["value"]["metadata"], value["metadata"]);
            let named = change["value"]["contacts"].as_array().unwrap();
            assert!(named.len() <= 1, "another customer is not kept beside it: {named:?}");
        }
    }

    #[test]
    fn what_is_not_of_the_documented_form_is_kept_whole_and_the_rest_is_processed() {
        let change = json!({ "field": "messages", "value": { "messages": [message("1", json!("Ana"))] } });
        let fine = json!({ "id": "1", "changes": [change] });
        for odd in [
            json!([7, fine]),
            json!([{ "id": "2", "changes": 7 }, fine]),
            json!([{ "id": "2", "changes": [7, change] }]),
            json!([{ "id": "2", "changes": [{ "value": { "statuses": { "id": "1" } } }, change] }]),
        ] {
            let body = json!({ "object": OBJECT, "entry": odd }).to_string().into_bytes();
            let division = divide(&body).unwrap();
            assert_eq!((division.pieces.len(), division.odd), (1, vec![body]), "{odd}");
        }
    }

    #[test]
    fn bytes_that_are_no_webhook_are_kept_and_those_of_another_product_are_not() {
        let bodies = [
            "",
            "null",
            "[]",
            "{}",
            "not JSON",
            r#"{"object":"whatsapp_business_account"}"#,
            r#"{"entry":[]}"#,
        ];
        for body in bodies {
            let kept = Division { pieces: vec![], odd: vec![body.as_bytes().to_vec()] };
            assert_eq!(divide(body.as_bytes()), Ok(kept), "{body}");
        }
        assert_eq!(divide(br#"{"object":"page","entry":[]}"#), Err(OtherProduct));
        let empty = br#"{"object":"whatsapp_business_account","entry":[]}"#;
        assert_eq!(divide(empty), Ok(Division::default()));
    }

    #[test]
    fn messages_of_one_customer_and_second_have_their_places_over_all_changes() {
        let text = |id: usize, from: &str, second: &str| json!({ "id": id.to_string(), "from": from, "timestamp": second });
        let of = |line: &str, messages: &[Value]| json!({ "field": "messages", "value": { "metadata": { "phone_number_id": line }, "messages": messages } });
        let many: Vec<Value> = (0..12).map(|id| text(id, "34600111222", "1")).collect();
        let changes = json!([
            of("5", &many),
            of(
                "5",
                &[text(12, "+34600111222", "1"), text(13, "34600111223", "1"), text(14, "34600111222", "2")]
            ),
            of("6", &[text(15, "34600111222", "1")]),
        ]);
        let body = json!({ "object": OBJECT, "entry": [{ "id": "1", "changes": changes }] }).to_string();
        let pieces = pieces(body.as_bytes());
        assert_eq!(pieces.len(), 4);
        let ranks: BTreeMap<String, u16> = pieces.iter().flat_map(|piece| piece.ranks.clone()).collect();
        let expected = (1..=12).map(|rank: u16| (rank.to_string(), rank)).collect();
        assert_eq!(ranks, expected);
        assert_eq!(pieces[1].ranks.len(), 2, "a piece carries the places of its own messages");
    }

    #[test]
    fn a_piece_is_divided_into_pieces_of_one_item_each_and_is_a_webhook_again() {
        let texts: Vec<Value> = (0..3).map(|id| message(&id.to_string(), json!("Ana"))).collect();
        let contacts = json!([{ "wa_id": "34600111222" }, { "wa_id": "1" }]);
        let value =
            json!({ "metadata": { "phone_number_id": "5" }, "contacts": contacts, "messages": texts });
        let [piece] = &pieces(&webhook(&value))[..] else { panic!("one piece") };
        let singles = piece.singles();
        let items: Vec<&Value> = singles.iter().map(|single| &single.value["messages"]).collect();
        assert_eq!(json!(items), json!([[texts[0]], [texts[1]], [texts[2]]]));
        assert_eq!(singles[2].ranks, BTreeMap::from([("2".to_owned(), 2)]));
        for single in &singles {
            let again = Piece { ranks: BTreeMap::new(), ..single.clone() };
            assert_eq!(pieces(&single.webhook()), [again]);
        }
        let other = Piece { value: json!({ "event": "APPROVED" }), ..piece.clone() };
        assert_eq!(
            (other.singles(), pieces(&other.webhook())[0].clone().value),
            (vec![other.clone()], other.value)
        );
    }
}
