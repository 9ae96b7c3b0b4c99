//! Since when lines deliver customers' messages.

use std::time::Duration;

use crate::support::{OTHER, WORKSPACE};
use domain::{ChannelId, Timestamp};
use futures::future::join;
use harness::{Fault, TestDb};
use store::Table;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

fn line() -> ChannelId {
    ChannelId::parse("1045551234567").unwrap()
}

async fn since(db: &TestDb) -> Option<Timestamp> {
    db.store().line_delivers_inbound_since(WORKSPACE, &line()).await.unwrap()
}

async fn note(db: &TestDb) {
    let store = db.store();
    store.note_inbound(WORKSPACE, &line(), store.now()).await;
}

#[tokio::test]
async fn the_first_message_counts_until_the_line_is_silent_for_two_days() {
    let db = TestDb::start().await;
    assert_eq!(since(&db).await, None);
    let first = db.store().now();
    for _ in 0..4 {
        note(&db).await;
        db.clock().advance(2 * DAY - Duration::from_secs(1));
        assert_eq!(since(&db).await, Some(first));
    }
    assert_eq!(db.store().line_delivers_inbound_since(OTHER, &line()).await.unwrap(), None);
    // The store remembers it for five minutes.
    db.clock().advance(Duration::from_secs(300));
    assert_eq!(since(&db).await, None, "the line may be disconnected");
    let again = db.store().now();
    note(&db).await;
    assert_eq!(since(&db).await, Some(again), "it delivers again since now");
}

#[tokio::test]
async fn a_process_writes_once_a_day_and_again_after_a_failure() {
    let db = TestDb::start().await;
    let store = db.store();
    db.fail("UpdateItem", Fault::Unreachable, 3);
    store.note_inbound(WORKSPACE, &line(), store.now()).await;
    assert_eq!(db.rows(Table::Contacts).len(), 0);
    let mut calls = vec![];
    for hours in [0, 1, 22, 2] {
        db.clock().advance(Duration::from_secs(hours * 3_600));
        db.forget_calls();
        store.note_inbound(WORKSPACE, &line(), store.now()).await;
        calls.push(db.calls().len());
    }
    assert_eq!(calls, [2, 0, 0, 1], "the first message, and one of the next day");
}

#[tokio::test]
async fn of_two_processes_that_note_the_first_message_the_first_one_counts() {
    let db = TestDb::start().await;
    let (first, other, line) = (db.store().now(), db.store_of("inbox"), line());
    let held = db.hold("PutItem");
    let later = other.note_inbound(WORKSPACE, &line, first.plus(Duration::from_secs(1)));
    let meanwhile = async {
        db.begun("PutItem", 1).await;
        note(&db).await;
        drop(held);
    };
    join(later, meanwhile).await;
    assert_eq!(since(&db).await, Some(first));
}
