//! The keys of cursors: created once, remembered, and rotated without breaking a cursor.

use std::time::Duration;

use futures::future::{join, join_all};
use harness::TestDb;
use store::{Store, StoreError, Tables};

const MINUTES: u64 = 60;

/// A second process with the same tables and its own memory.
fn another_process(db: &TestDb) -> Store {
    Store::new(db.client().clone(), Tables::of_stack("test"), db.clock().clone(), db.ids().clone())
}

fn later(db: &TestDb, seconds: u64) {
    db.clock().advance(Duration::from_secs(seconds));
}

#[tokio::test]
async fn the_first_key_is_created_once() {
    let db = TestDb::start().await;
    let store = db.store();
    assert!(matches!(store.cursor_keys().await, Err(StoreError::Failed(_))));
    assert!(!store.rotate_cursor_key([9; 32]).await.unwrap());
    assert!(store.ensure_cursor_key([1; 32]).await.unwrap());
    assert!(!store.ensure_cursor_key([2; 32]).await.unwrap());
    let keys = store.cursor_keys().await.unwrap();
    assert_eq!((keys.current.id(), keys.current.bytes(), &keys.previous), (1, &[1; 32], &None));
    assert_eq!(format!("{keys:?}"), "CursorKeys { current: CursorKey(1), previous: None }");
}

#[tokio::test]
async fn keys_are_remembered_for_five_minutes() {
    let db = TestDb::start().await;
    let store = db.store();
    store.ensure_cursor_key([1; 32]).await.unwrap();
    db.forget_calls();
    store.cursor_keys().await.unwrap();
    later(&db, 5 * MINUTES - 1);
    store.cursor_keys().await.unwrap();
    assert_eq!(db.calls().len(), 1);
    later(&db, 1);
    store.cursor_keys().await.unwrap();
    assert_eq!(db.calls().len(), 2);
}

#[tokio::test]
async fn during_a_rotation_every_process_decrypts_the_cursors_of_all_others() {
    let db = TestDb::start().await;
    let operator = db.store();
    operator.ensure_cursor_key([1; 32]).await.unwrap();
    // They read the keys before the rotation, each at another time, and remember them.
    let mut processes = vec![];
    for _ in 0..4 {
        processes.push(another_process(&db));
        processes.last().unwrap().cursor_keys().await.unwrap();
        later(&db, MINUTES);
    }
    assert!(operator.rotate_cursor_key([2; 32]).await.unwrap());
    assert!(!operator.rotate_cursor_key([3; 32]).await.unwrap(), "too soon");
    for minute in 0..25 {
        let held = join_all(processes.iter().map(async |process| process.cursor_keys().await.unwrap())).await;
        for sealing in &held {
            for opening in &held {
                let opens = [Some(&opening.current), opening.previous.as_ref()];
                assert!(opens.contains(&Some(&sealing.current)), "minute {minute}");
            }
        }
        later(&db, MINUTES);
    }
    let last = processes[0].cursor_keys().await.unwrap();
    assert_eq!((last.current.id(), last.previous.as_ref().map(|key| key.id())), (2, Some(1)));
    assert!(operator.rotate_cursor_key([3; 32]).await.unwrap());
}

#[tokio::test]
async fn of_two_rotations_at_once_one_is_done() {
    let db = TestDb::start().await;
    let (one, other) = (db.store(), another_process(&db));
    one.ensure_cursor_key([1; 32]).await.unwrap();
    db.forget_calls();
    let held = db.hold("PutItem");
    let meanwhile = async {
        db.begun("PutItem", 1).await;
        let is_rotated = other.rotate_cursor_key([3; 32]).await.unwrap();
        drop(held);
        is_rotated
    };
    let rotated = join(one.rotate_cursor_key([2; 32]), meanwhile).await;
    assert_eq!((rotated.0.unwrap(), rotated.1), (false, true));
    let previous = one.cursor_keys().await.unwrap().previous.clone().unwrap();
    assert_eq!(previous.bytes(), &[3; 32], "a process may have the key of the other rotation already");
}
