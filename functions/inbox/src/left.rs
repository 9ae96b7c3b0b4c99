//! The items of a piece that are not done. Some are queued again as a piece of their own, and the others are left for
//! the repeat of the whole piece.
//!
//! Items are independent of each other: messages are read in the order of their times, in whichever order they are stored.
//! Only a move holds what follows it: a message from the new number would make another contact of the customer.

use std::collections::BTreeMap;
use std::time::Duration;

use domain::{PhoneKey, Timestamp};
use provider::webhook::{Content, Customer, Item, only};
use queue::Inbound;
use store::StoreError;

use crate::item::Wait;

/// What is left of a piece.
#[derive(Default)]
pub(crate) struct Left<'a> {
    /// These are queued again.
    waiting: Vec<(&'a Item, Wait)>,
    /// These are left for the repeat.
    failed: Vec<&'a Item>,
    /// Why the piece is repeated.
    error: Option<StoreError>,
}

impl<'a> Left<'a> {
    /// Takes the item if it must not be begun before the move of its customer is done.
    pub(crate) fn holds(&mut self, item: &'a Item) -> bool {
        let holds = |before: &&Item| is_move(before) && is_of_same_customer(before, item);
        if self.failed.iter().any(&holds) {
            self.failed.push(item);
            return true;
        }
        let Some(delay) = self.waiting.iter().find(|(waiting, _)| holds(waiting)).map(|(_, wait)| wait.delay)
        else {
            return false;
        };
        self.waiting.push((item, Wait::of(delay)));
        true
    }

    /// The item says that it must wait.
    pub(crate) fn waits(&mut self, item: &'a Item, wait: Wait) {
        self.waiting.push((item, wait));
    }

    /// There is no time for the item. If the piece is repeated anyway, the item comes with it. So failures of a table do
    /// not multiply pieces.
    pub(crate) fn is_late(&mut self, item: &'a Item) {
        match self.error {
            None => self.waiting.push((item, Wait::of(Duration::ZERO))),
            Some(_) => self.failed.push(item),
        }
    }

    /// The item failed. The piece keeps its first error.
    pub(crate) fn failed(&mut self, item: &'a Item, error: StoreError) {
        self.failed.push(item);
        self.error.get_or_insert(error);
    }

    /// The piece of the items that wait, with its delay.
    pub(crate) fn rest(&self, of: &Inbound) -> Option<(Inbound, Duration)> {
        let delay = self.waiting.iter().map(|(_, wait)| wait.delay).min()?;
        let value = only(&of.value, |item| self.waiting.iter().any(|(waiting, _)| *waiting == item));
        let files_since: BTreeMap<String, Timestamp> =
            self.waiting.iter().filter_map(|(item, wait)| file_since(of, item, wait)).collect();
        Some((Inbound { value, files_since, ..of.clone() }, delay))
    }

    /// The result of the piece.
    pub(crate) fn result(self) -> Result<(), StoreError> {
        self.error.map_or(Ok(()), Err)
    }
}

/// Since when the item waits for its file, if it does: as it says, or as the piece says of an item that was not begun.
fn file_since(of: &Inbound, item: &Item, wait: &Wait) -> Option<(String, Timestamp)> {
    match item {
        Item::Message(message) | Item::Echo(message) => {
            let before = of.files_since.get(&message.id).copied();
            Some((message.id.clone(), wait.file_since.or(before)?))
        }
        Item::Status(_) | Item::Correction { .. } | Item::Preference(_) | Item::Notice(_) => None,
    }
}

fn is_move(item: &Item) -> bool {
    matches!(item, Item::Message(message) if matches!(message.content, Content::Moved { .. }))
}

/// Whether both are messages of one customer. The new ids of a customer who moves are the customer's, too.
fn is_of_same_customer(before: &Item, item: &Item) -> bool {
    let people = people(item);
    self::people(before).iter().any(|before| people.iter().any(|person| is_same(before, person)))
}

fn people(item: &Item) -> Vec<&Customer> {
    match item {
        Item::Message(message) | Item::Echo(message) => match &message.content {
            Content::Moved { to, .. } => vec![&message.from, to],
            _ => vec![&message.from],
        },
        Item::Status(_) | Item::Correction { .. } | Item::Preference(_) | Item::Notice(_) => vec![],
    }
}

fn is_same(one: &Customer, other: &Customer) -> bool {
    let key = |customer: &Customer| customer.wa_id.as_deref().map(PhoneKey::of);
    let is_same_number = one.wa_id.is_some() && key(one) == key(other);
    is_same_number || (one.user_id.is_some() && one.user_id == other.user_id)
}

#[cfg(test)]
mod tests {
    use provider::webhook::{Subject, read};
    use serde_json::{Value, json};

    use super::*;

    const WAIT: Wait = Wait { delay: Duration::from_secs(10), file_since: Some(Timestamp::from_millis(7)) };

    fn inbound(messages: &[Value]) -> Inbound {
        Inbound {
            app: domain::ProviderAppId::parse("1").unwrap(),
            workspace: None,
            received_at: Timestamp::from_millis(1),
            account: "2".to_owned(),
            field: "messages".to_owned(),
            value: json!({ "metadata": { "phone_number_id": "3" }, "messages": messages }),
            ranks: BTreeMap::new(),
            files_since: BTreeMap::new(),
        }
    }

    fn items(of: Inbound) -> Vec<Item> {
        match read(&crate::piece::piece(&of)) {
            Subject::Line(_, items) => items,
            other => panic!("{other:?}"),
        }
    }

    fn text(id: &str, from: Option<&str>, user_id: Option<&str>) -> Value {
        let text = json!({ "body": id });
        json!({ "id": id, "from": from, "from_user_id": user_id, "timestamp": "1", "type": "text", "text": text })
    }

    /// A customer moves from one number to another, whose digits are these.
    fn moves(from: &str, to: &str) -> Value {
        let system = json!({ "type": "user_changed_number", "wa_id": to.repeat(9) });
        json!({ "id": format!("m{from}"), "from": from.repeat(9), "timestamp": "1", "type": "system", "system": system })
    }

    fn error() -> StoreError {
        StoreError::Busy("as asked".into())
    }

    #[test]
    fn a_customer_is_the_same_by_each_id_also_after_a_move() {
        let system = json!({ "type": "user_changed_number", "wa_id": "34600000009" });
        let moves =
            json!({ "id": "m", "from": "34600000001", "timestamp": "1", "type": "system", "system": system });
        let all = items(inbound(&[
            text("a", Some("34600000001"), Some("ES.1")),
            text("b", None, Some("ES.1")),
            text("c", Some("34600000001"), None),
            text("d", Some("34600000002"), Some("ES.2")),
            moves,
            text("e", Some("34600000009"), None),
        ]));
        let same =
            |at: usize| -> Vec<bool> { all.iter().map(|item| is_of_same_customer(&all[at], item)).collect() };
        assert_eq!(same(0), [true, true, true, false, true, false]);
        assert_eq!(same(3), [false, false, false, true, false, false]);
        assert_eq!(same(4), [true, false, true, false, true, true]);
    }

    #[test]
    fn what_waits_is_queued_again_and_what_failed_is_left_for_the_repeat() {
        let of = inbound(&[
            moves("1", "4"),
            moves("2", "5"),
            text("x", Some("111111111"), None),
            text("x", Some("555555555"), None),
            text("x", Some("333333333"), None),
        ]);
        let all = items(of.clone());
        for fails in [false, true] {
            let mut left = Left::default();
            assert!(!left.holds(&all[0]));
            left.waits(&all[0], WAIT);
            if fails {
                left.failed(&all[1], error());
                left.failed(&all[1], StoreError::Busy("the second error".into()));
            }
            let held: Vec<bool> = all[2..].iter().map(|item| left.holds(item)).collect();
            assert_eq!(held, [true, fails, false]);
            assert!(
                !Left { waiting: vec![(&all[4], WAIT)], ..Left::default() }.holds(&all[4]),
                "a text holds nothing"
            );
            left.is_late(&all[4]);
            let (rest, delay) = left.rest(&of).unwrap();
            let messages = rest.value["messages"].as_array().unwrap();
            assert_eq!((messages.len(), delay), if fails { (2, WAIT.delay) } else { (3, Duration::ZERO) });
            assert_eq!(rest.files_since, BTreeMap::from([("m1".to_owned(), Timestamp::from_millis(7))]));
            let result = left.result().map_err(|error| error.to_string());
            assert_eq!(result, if fails { Err(error().to_string()) } else { Ok(()) });
        }
        assert!(Left::default().rest(&of).is_none());
    }

    #[test]
    fn an_item_that_is_not_begun_keeps_since_when_it_waits_for_its_file() {
        let since = BTreeMap::from([("a".to_owned(), Timestamp::from_millis(9))]);
        let of = Inbound { files_since: since.clone(), ..inbound(&[text("a", Some("34600000001"), None)]) };
        let (all, mut left) = (items(of.clone()), Left::default());
        left.is_late(&all[0]);
        assert_eq!(left.rest(&of).unwrap().0.files_since, since);
    }
}
