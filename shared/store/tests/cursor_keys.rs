//! The keys of cursors: made once, remembered, changed without a cursor being lost.

use std::time::Duration;

use harness::TestDb;
use store::{Store, StoreError, Tables};

const MINUTES: u64 = 60;

/// A second process over the same tables, with a memory of its own.
fn another_process(db: &TestDb) -> Store {
    Store::new(db.client().clone(), Tables::of_stack("test"), db.clock().clone(), db.ids().clone())
}

fn later(db: &TestDb, seconds: u64) {
    db.clock().advance(Duration::from_secs(seconds));
}

#[tokio::test]
async fn the_first_key_is_made_once() {
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
async fn through_a_rotation_every_process_opens_what_any_other_seals() {
    let db = TestDb::start().await;
    let operator = db.store();
    operator.ensure_cursor_key([1; 32]).await.unwrap();
    let processes = [another_process(&db), another_process(&db)];
    let mut sealed_with_the_new = false;
    for minute in 0..25 {
        if minute == 3 {
            assert!(operator.rotate_cursor_key([2; 32]).await.unwrap());
            assert!(!operator.rotate_cursor_key([3; 32]).await.unwrap(), "too soon");
        }
        // The second process looks at other times than the first.
        let first = processes[0].cursor_keys().await.unwrap();
        later(&db, MINUTES / 2);
        let second = processes[1].cursor_keys().await.unwrap();
        later(&db, MINUTES / 2);
        for (sealing, opening) in [(&first, &second), (&second, &first)] {
            let opens = [Some(&opening.current), opening.previous.as_ref()];
            assert!(opens.contains(&Some(&sealing.current)), "minute {minute}");
        }
        sealed_with_the_new = first.current.id() == 2;
    }
    assert!(sealed_with_the_new);
    assert!(operator.rotate_cursor_key([3; 32]).await.unwrap());
}
