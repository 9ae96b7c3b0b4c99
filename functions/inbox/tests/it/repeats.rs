//! Pieces that fail again and again: they are divided, and at last put into quarantine.

use domain::inbound::quarantine::QuarantineReason;
use harness::{Fault, World};
use provider::webhook::divide;
use queue::Inbound;
use serde_json::{Value, json};
use store::Table;

use crate::{LINE, Site};

fn text(number: usize) -> Value {
    let body = json!({ "body": format!("text {number}") });
    let from = format!("3460011122{number}");
    json!({ "id": format!("wamid.{number}"), "from": from, "timestamp": "1767323045", "type": "text", "text": body })
}

impl Site {
    /// Makes each try to process the message with this id fail, because a row beside it cannot be read.
    fn poison(&self, id: &str) {
        let pk = format!("{}#P#{id}", self.world.workspace);
        self.world.db.put_row(Table::Messages, &json!({ "pk": { "S": pk }, "sk": { "S": "P" } }));
    }

    /// The messages that are stored.
    fn stored(&self) -> usize {
        self.world.db.rows_from(Table::Messages, "M#").len()
    }
}

#[tokio::test]
async fn a_piece_that_comes_for_the_third_time_is_divided_before_anything_else() {
    let site = Site::start().await;
    let piece = site.piece(LINE, "messages", &[text(1), text(2), text(3)]);
    let piece = Inbound { ranks: [("wamid.2".to_owned(), 5)].into(), ..piece };
    assert!(site.process_again(3, &piece).await);
    assert_eq!(site.stored(), 0, "a death in the middle must kill one item only");
    let queued = site.queued();
    let items: Vec<&Value> = queued.iter().map(|(single, _)| &single.value["messages"]).collect();
    assert_eq!(json!(items), json!([[text(1)], [text(2)], [text(3)]]));
    assert!(queued.iter().all(|(single, delay)| *delay == 0 && single.received_at == piece.received_at));
    let ranks: Vec<usize> = queued.iter().map(|(single, _)| single.ranks.len()).collect();
    assert_eq!(ranks, [0, 1, 0]);

    for (single, _) in &queued {
        assert!(site.process_again(1, single).await);
    }
    assert_eq!(site.stored(), 3);
    site.queue.close(true);
    assert!(!site.process_again(3, &piece).await);
}

#[tokio::test]
async fn the_second_time_and_a_single_item_are_processed_as_the_first_time() {
    let site = Site::start().await;
    assert!(site.process_again(2, &site.piece(LINE, "messages", &[text(1), text(2)])).await);
    assert!(site.process_again(9, &site.piece(LINE, "messages", &[text(3)])).await);
    assert_eq!((site.stored(), site.queued().len()), (3, 0));
}

#[tokio::test]
async fn an_item_that_fails_for_the_fifth_time_is_put_into_quarantine_and_can_be_processed_later() {
    let site = Site::start().await;
    site.poison("wamid.1");
    let piece = site.piece(LINE, "messages", &[text(1)]);
    for receives in 1..5 {
        assert!(!site.process_again(receives, &piece).await);
    }
    assert!(site.failures.keys().is_empty());
    site.failures.close(true);
    assert!(!site.process_again(5, &piece).await, "it is not lost if the bucket refuses it");
    site.failures.close(false);
    assert!(site.process_again(6, &piece).await);

    let bucket = site.failures.bucket();
    let [kept] = &bucket.quarantined().await.unwrap()[..] else { panic!("one object") };
    assert_eq!((kept.app.clone(), kept.received_at), (piece.app.clone(), piece.received_at));
    assert_eq!(kept.reason, QuarantineReason::Unprocessed);
    let bytes = bucket.quarantined_bytes(&kept.id).await.unwrap().unwrap();
    assert_eq!(kept.bytes, bytes.len() as u64);
    let [again] = &divide(&bytes).unwrap().pieces[..] else { panic!("one piece") };
    assert_eq!((&again.account, &again.value), (&piece.account, &piece.value));
}

#[tokio::test]
async fn an_outage_of_the_tables_puts_nothing_into_quarantine_before_the_last_time() {
    let site = Site::start().await;
    let piece = site.piece(LINE, "messages", &[text(1)]);
    for receives in [5, 19, 20] {
        site.world.db.fail("BatchGetItem", Fault::Unreachable, 10);
        assert_eq!(site.process_again(receives, &piece).await, receives == 20);
        assert_eq!(site.failures.keys().len(), usize::from(receives == 20));
        site.world.db.heal();
    }
}

#[tokio::test]
async fn a_change_without_items_that_fails_is_put_into_quarantine_too() {
    let site = Site::start().await;
    let change =
        json!({ "event": "APPROVED", "message_template_name": "n", "message_template_language": "es" });
    let change = site.change(World::ACCOUNT, "message_template_status_update", change);
    site.world.db.fail("Query", Fault::Unreachable, 10);
    site.world.db.fail("GetItem", Fault::Unreachable, 10);
    assert!(site.process_again(20, &change).await);
    let [kept] = &site.failures.contents()[..] else { panic!("one object") };
    assert_eq!(divide(kept).unwrap().pieces[0].value, change.value);
}
