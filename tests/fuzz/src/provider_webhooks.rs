//! Webhooks of the provider: every item is in exactly one piece, in its order, and a piece survives its queue.

use std::collections::BTreeMap;

use domain::{ProviderAppId, Timestamp};
use provider::webhook::{Division, Item, MAX_ID, Piece, Subject, divide, only, read};
use queue::Inbound;
use serde_json::Value;

const LISTS: [&str; 3] = ["messages", "statuses", "user_preferences"];
/// This text in an input becomes a long one, so that small inputs make pieces of all sizes.
const LONG: &str = "~~~~";
/// The size of a queue's message.
const QUEUE: usize = 1_048_576;
/// The most items of a piece, and the most bytes of several items.
const MOST: (usize, usize) = (10, 60_000);

/// The input is the body of a webhook.
pub fn run(input: &[u8]) {
    let grown;
    let body = match std::str::from_utf8(input) {
        Ok(text) if text.contains(LONG) => {
            grown = text.replacen(LONG, &"x".repeat(20_000), 20);
            grown.as_bytes()
        }
        _ => input,
    };
    let Ok(Division { pieces, odd }) = divide(body) else { return };
    pieces.iter().for_each(|piece| check(piece, body.len()));
    // What Rust cannot read is replaced, so such a body cannot be compared.
    let Ok(webhook) = serde_json::from_slice::<Value>(body) else { return };
    if odd.iter().any(|kept| kept == body) {
        return;
    }
    let mut sent = vec![];
    for entry in webhook["entry"].as_array().unwrap() {
        for change in entry["changes"].as_array().into_iter().flatten() {
            sent.extend(items(&change["value"]));
        }
    }
    let found: Vec<_> = pieces.iter().flat_map(|piece| items(&piece.value)).collect();
    assert_eq!(found.len() + odd.len(), sent.len(), "every item once, or kept as odd");
    sent.retain(|(list, item)| is_processable(list, item));
    assert_eq!(found, sent, "every item once, in its order");
}

/// Whether an item can be found again.
fn is_processable(list: &str, item: &Value) -> bool {
    let id = match &item["id"] {
        Value::String(id) => id.clone(),
        Value::Null => String::new(),
        id => id.to_string(),
    };
    item.is_object() && (list == "user_preferences" || (1..=MAX_ID).contains(&id.len()))
}

/// The items of a change, with the names of their lists.
fn items(change: &Value) -> Vec<(&'static str, &Value)> {
    let of = |name: &'static str| change[name].as_array().into_iter().flatten().map(move |item| (name, item));
    LISTS.into_iter().flat_map(of).collect()
}

fn check(piece: &Piece, webhook: usize) {
    let all = items(&piece.value);
    let bytes: usize = all.iter().map(|(_, item)| item.to_string().len()).sum();
    assert!(all.len() <= MOST.0 && (all.len() <= 1 || bytes <= MOST.1), "{} items, {bytes} bytes", all.len());

    let inbound = Inbound {
        app: ProviderAppId::parse("1042").unwrap(),
        workspace: None,
        received_at: Timestamp::from_millis(1_767_323_045_678),
        account: piece.account.clone(),
        field: piece.field.clone(),
        value: piece.value.clone(),
        ranks: piece.ranks.clone(),
        files_since: BTreeMap::new(),
    };
    let queued = inbound.body();
    // An unusual number is written in another form.
    assert_eq!(Inbound::read(&queued).unwrap().body(), queued);
    assert!(queued.len() <= QUEUE, "{} bytes of {webhook}", queued.len());

    let subject = read(piece);
    if let Subject::Line(_, items) = &subject {
        assert!(items.len() <= all.len());
        items.iter().for_each(limits);
    }
    let with = |value| Piece { value, ..piece.clone() };
    let (kept, none) = (with(only(&piece.value, |_| true)), with(only(&piece.value, |_| false)));
    assert_eq!(read(&kept), subject, "the items that can be read are kept");
    if let Subject::Line(_, items) = read(&none) {
        assert_eq!(items, []);
    }
}

/// What becomes a part of a key is short, and a message names somebody.
fn limits(item: &Item) {
    match item {
        Item::Status(status) => assert!((1..=MAX_ID).contains(&status.id.len())),
        Item::Message(message) | Item::Echo(message) => {
            assert!((1..=MAX_ID).contains(&message.id.len()));
            assert!(message.answers.as_ref().is_none_or(|id| (1..=MAX_ID).contains(&id.len())));
            assert!(message.at.as_millis() >= 0);
        }
        Item::Correction { of, correction } => {
            assert!((1..=MAX_ID).contains(&of.len()) && (1..=MAX_ID).contains(&correction.id.len()));
        }
        Item::Notice(_) => {}
        Item::Preference(preference) => {
            assert!(preference.from.wa_id.is_some() || preference.from.user_id.is_some());
        }
    }
}
