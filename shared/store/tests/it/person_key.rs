//! The person key: made once, remembered, and refused if its fingerprint is another one.

use std::time::Duration;

use harness::TestDb;
use serde_json::json;
use store::{StoreError, Table};

fn refusal(read: Result<impl std::fmt::Debug, StoreError>) -> &'static str {
    match read.unwrap_err() {
        StoreError::NoPersonKey(why) => why,
        other => panic!("{other}"),
    }
}

#[tokio::test]
async fn the_person_key_is_made_once_and_read_in_one_round_trip_each_five_minutes() {
    let db = TestDb::start().await;
    let store = db.store();
    assert_eq!(refusal(store.person_key().await), "there is none");
    assert!(store.ensure_person_key([1; 32]).await.unwrap());
    assert!(!store.ensure_person_key([2; 32]).await.unwrap());
    db.forget_calls();
    assert_eq!(store.person_key().await.unwrap().bytes(), &[1; 32]);
    assert_eq!(db.sorted_operations(), ["GetItem secrets", "GetItem workspaces"]);
    db.clock().advance(Duration::from_secs(299));
    store.person_key().await.unwrap();
    assert_eq!(db.calls().len(), 2);
    db.clock().advance(Duration::from_secs(1));
    store.person_key().await.unwrap();
    assert_eq!(db.calls().len(), 4);
}

#[tokio::test]
async fn a_person_key_without_its_own_fingerprint_is_refused() {
    const PK: &str = "00000000-0000-0000-0000-000000000000#HK";
    for (lost, expected) in
        [(Table::Secrets, "there is none"), (Table::Workspaces, "its fingerprint is not there")]
    {
        let db = TestDb::start().await;
        assert!(db.store().ensure_person_key([1; 32]).await.unwrap());
        db.remove_row(lost, PK, "K");
        assert_eq!(refusal(db.store().person_key().await), expected);
        // Another key in its place would find nobody's choices.
        assert!(!db.store().ensure_person_key([2; 32]).await.unwrap());
        assert_eq!(refusal(db.store().person_key().await), expected);
    }
    let db = TestDb::start().await;
    assert!(db.store().ensure_person_key([1; 32]).await.unwrap());
    for (hex, expected) in [
        ("02".repeat(32), "it is not the key of this deployment"),
        ("zz".to_owned(), "it is not 64 hexadecimal digits"),
    ] {
        db.change_row(Table::Secrets, PK, "K", |row| row["hex"] = json!({ "S": hex }));
        assert_eq!(refusal(db.store().person_key().await), expected);
    }
}
