//! A customer's messages are read in the order in which the customer wrote them.

use domain::message::Content;
use domain::{ConversationId, Message};
use harness::{TestClock, World};
use provider::webhook::divide;
use queue::Inbound;
use serde_json::{Value, json};
use store::{MessageQuery, Table};

use crate::{LINE, Site};

const NUMBER: &str = "34600111222";
const HOUR: i64 = 3_600;

/// A text with this number as its body, sent so many seconds after the beginning.
fn text(number: usize, second: i64) -> Value {
    let at = TestClock::START.as_seconds() - HOUR + second;
    let body = json!({ "body": format!("{number:02}") });
    json!({
        "id": format!("wamid.{number}"), "from": NUMBER, "timestamp": at.to_string(), "type": "text", "text": body,
    })
}

impl Site {
    /// The pieces of a webhook whose changes have these messages.
    fn pieces(&self, changes: &[&[Value]]) -> Vec<Inbound> {
        let change = |messages: &&[Value]| {
            let value = json!({ "metadata": { "phone_number_id": LINE }, "messages": messages });
            json!({ "field": "messages", "value": value })
        };
        let changes: Vec<Value> = changes.iter().map(change).collect();
        let entry = json!({ "id": World::ACCOUNT, "changes": changes });
        let body = json!({ "object": "whatsapp_business_account", "entry": [entry] }).to_string();
        let inbound = |piece: provider::webhook::Piece| Inbound {
            value: piece.value,
            ranks: piece.ranks,
            ..self.change(World::ACCOUNT, "messages", Value::Null)
        };
        divide(body.as_bytes()).unwrap().pieces.into_iter().map(inbound).collect()
    }

    /// The texts of the only conversation as a list shows them, the oldest first.
    async fn shown(&self) -> Vec<String> {
        let [home] = &self.world.db.rows_from(Table::Conversations, "C")[..] else {
            panic!("one conversation")
        };
        let conversation = ConversationId::parse(home["id"]["S"].as_str().unwrap()).unwrap();
        let (mut shown, mut after): (Vec<Message>, _) = (vec![], None);
        loop {
            let query = MessageQuery { conversation, direction: None, page_size: 3, after };
            let page = self.store().messages_page(self.world.workspace, query).await.unwrap();
            shown.extend(page.items);
            after = page.next;
            if after.is_none() {
                break;
            }
        }
        shown.reverse();
        shown.iter().map(body).collect()
    }
}

fn body(message: &Message) -> String {
    match &message.content {
        Content::Received(received) => received.text().unwrap_or("file").to_owned(),
        _ => "ours".to_owned(),
    }
}

fn numbers(of: std::ops::Range<usize>) -> Vec<String> {
    of.map(|number| format!("{number:02}")).collect()
}

#[tokio::test]
async fn twenty_messages_of_one_second_are_read_in_their_order_however_their_pieces_are_processed() {
    let all: Vec<Value> = (0..20).map(|number| text(number, 0)).collect();
    let in_changes: Vec<&[Value]> = all.chunks(3).collect();
    for changes in [vec![&all[..]], in_changes] {
        for backwards in [false, true] {
            let site = Site::start().await;
            let mut pieces = site.pieces(&changes);
            assert!(pieces.len() > 1);
            if backwards {
                pieces.reverse();
            }
            for piece in &pieces {
                assert!(site.process_again(1, piece).await);
            }
            assert_eq!(site.shown().await, numbers(0..20), "{} changes", changes.len());

            let site = Site::start().await;
            assert!(site.process(&site.pieces(&changes)).await.is_empty(), "all at the same time");
            assert_eq!(site.shown().await, numbers(0..20), "{} changes", changes.len());
        }
    }
}

#[tokio::test]
async fn two_webhooks_at_the_same_time_are_read_in_the_order_of_their_seconds() {
    let site = Site::start().await;
    let (first, second): (Vec<Value>, Vec<Value>) =
        (0..20).map(|n| text(n, (n / 4) as i64)).partition(|text| {
            let id = text["id"].as_str().unwrap().trim_start_matches("wamid.");
            (id.parse::<usize>().unwrap() / 4) % 2 == 0
        });
    let pieces = [site.pieces(&[&second]), site.pieces(&[&first])].concat();
    assert!(site.process(&pieces).await.is_empty());
    assert_eq!(site.shown().await, numbers(0..20));
}

#[tokio::test]
async fn single_items_of_a_divided_piece_keep_their_places() {
    let site = Site::start().await;
    let all: Vec<Value> = (0..5).map(|number| text(number, 0)).collect();
    for piece in site.pieces(&[&all]) {
        assert!(site.process_again(3, &piece).await);
    }
    let mut singles: Vec<Inbound> = site.queued().into_iter().map(|(single, _)| single).collect();
    singles.reverse();
    for single in &singles {
        assert!(site.process_again(1, single).await);
    }
    assert_eq!(site.shown().await, numbers(0..5));
}

#[tokio::test]
async fn a_late_message_takes_its_place_in_the_past_and_numbers_say_what_was_stored_first() {
    let site = Site::start().await;
    let of = |number, second| site.pieces(&[&[text(number, second)]]);
    for piece in [of(0, 0), of(2, 20), of(1, 10)].concat() {
        assert!(site.process_again(1, &piece).await);
    }
    assert_eq!(site.shown().await, numbers(0..3));
}
