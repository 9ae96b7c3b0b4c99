use aws_sdk_dynamodb::error::ProvideErrorMetadata;
use aws_sdk_dynamodb::operation::batch_write_item::BatchWriteItemOutput;
use aws_sdk_dynamodb::types::{AttributeValue, Put, PutRequest, TransactWriteItem, WriteRequest};

use super::*;
use crate::trips;

fn s(text: &str) -> AttributeValue {
    AttributeValue::S(text.to_owned())
}

async fn put(db: &TestDb, pk: &str) -> Result<(), aws_sdk_dynamodb::Error> {
    let put = db.client().put_item().table_name(db.table(Table::Contacts));
    put.item("pk", s(pk)).item("sk", s("C")).send().await?;
    Ok(())
}

async fn is_there(db: &TestDb, pk: &str) -> bool {
    let get = db.client().get_item().table_name(db.table(Table::Contacts));
    get.key("pk", s(pk)).key("sk", s("C")).consistent_read(true).send().await.unwrap().item.is_some()
}

#[tokio::test]
async fn calls_are_counted_with_their_table_and_units() {
    let db = TestDb::start().await;
    put(&db, "a").await.unwrap();
    assert!(is_there(&db, "a").await);
    let calls = db.calls();
    assert_eq!(trips(&calls), 2);
    assert_eq!((calls[0].operation.as_str(), calls[0].table.as_str()), ("PutItem", "test-contacts"));
    assert_eq!((calls[0].write_units, calls[1].read_units), (1.0, 1.0));

    db.forget_calls();
    tokio::join!(is_there(&db, "a"), is_there(&db, "b"));
    assert_eq!((db.calls().len(), trips(&db.calls())), (2, 1));
}

#[tokio::test]
async fn the_sdk_retries_a_call_throttled_once_and_a_call_throttled_three_times_fails() {
    let db = TestDb::start().await;
    db.fail("PutItem", Fault::Throttled, 1);
    put(&db, "a").await.unwrap();
    db.fail("PutItem", Fault::Throttled, 3);
    assert_eq!(put(&db, "b").await.unwrap_err().code(), Some("ThrottlingException"));
    assert_eq!(db.calls().len(), 5);
    assert!(!is_there(&db, "b").await);
}

#[tokio::test]
async fn a_call_whose_answer_is_lost_was_executed() {
    let db = TestDb::start().await;
    db.fail("PutItem", Fault::AnswerLost, 3);
    assert!(put(&db, "a").await.is_err());
    assert!(is_there(&db, "a").await);
    db.fail("PutItem", Fault::Unreachable, 3);
    assert!(put(&db, "b").await.is_err());
    assert!(!is_there(&db, "b").await);
}

#[tokio::test]
async fn the_call_at_which_a_process_dies_is_executed_only_if_the_death_comes_after_it() {
    for (death, carried_out) in [(Death::Before, false), (Death::After, true)] {
        let db = TestDb::start().await;
        let mut dead = db.die_after(1, death);
        let two = async {
            put(&db, "a").await.unwrap();
            put(&db, "b").await.unwrap();
        };
        tokio::select! {
            () = two => panic!("the simulated death did not happen"),
            _ = &mut dead => {}
        }
        db.revive();
        assert!(is_there(&db, "a").await);
        assert_eq!(is_there(&db, "b").await, carried_out, "{death:?}");
    }
}

#[tokio::test]
async fn a_transaction_in_conflict_is_cancelled_with_the_reason_conflict() {
    let db = TestDb::start().await;
    db.fail("TransactWriteItems", Fault::Conflict, 1);
    let put = Put::builder().table_name(db.table(Table::Contacts)).item("pk", s("a")).item("sk", s("C"));
    let put = TransactWriteItem::builder().put(put.build().unwrap()).build();
    let error = db.client().transact_write_items().transact_items(put).send().await.unwrap_err();
    let error = error.into_service_error();
    assert!(error.is_transaction_canceled_exception(), "{error:?}");
    assert!(!is_there(&db, "a").await);
}

async fn put_batch(db: &TestDb, pks: &[&str]) -> Result<BatchWriteItemOutput, aws_sdk_dynamodb::Error> {
    let put = |pk: &&str| {
        let put = PutRequest::builder().item("pk", s(pk)).item("sk", s("C")).build().unwrap();
        WriteRequest::builder().put_request(put).build()
    };
    let puts = pks.iter().map(put).collect();
    Ok(db.client().batch_write_item().request_items(db.table(Table::Contacts), puts).send().await?)
}

async fn which_are_there(db: &TestDb, pks: &[&str]) -> Vec<bool> {
    let mut are_there = vec![];
    for pk in pks {
        are_there.push(is_there(db, pk).await);
    }
    are_there
}

#[tokio::test]
async fn a_batch_write_is_counted_with_its_table_and_units() {
    let db = TestDb::start().await;
    let answer = put_batch(&db, &["a", "b", "c"]).await.unwrap();
    assert!(answer.unprocessed_items.unwrap_or_default().is_empty());
    let call = &db.calls()[0];
    assert_eq!((call.operation.as_str(), call.table.as_str()), ("BatchWriteItem", "test-contacts"));
    assert_eq!((call.write_units, call.read_units), (3.0, 0.0));
}

#[tokio::test]
async fn a_batch_write_may_process_none_or_half_of_its_rows() {
    let rows = ["a", "b", "c"];
    for (fault, done) in [(Fault::Unprocessed, 0), (Fault::HalfProcessed, 1)] {
        let db = TestDb::start().await;
        db.fail("BatchWriteItem", fault, 1);
        let answer = put_batch(&db, &rows).await.unwrap();
        assert_eq!(db.calls()[0].write_units, f64::from(done));
        let left = &answer.unprocessed_items.unwrap()[&db.table(Table::Contacts)];
        let pk = |write: &WriteRequest| write.put_request.as_ref().unwrap().item["pk"].clone();
        let of = usize::try_from(done).unwrap();
        assert_eq!(
            left.iter().map(pk).collect::<Vec<_>>(),
            rows[of..].iter().map(|pk| s(pk)).collect::<Vec<_>>()
        );
        assert_eq!(which_are_there(&db, &rows).await, [of > 0, false, false], "{fault:?}");
    }
}

#[tokio::test]
async fn a_batch_read_may_process_none_or_half_of_its_keys() {
    use aws_sdk_dynamodb::types::KeysAndAttributes;
    let db = TestDb::start().await;
    put_batch(&db, &["a", "b", "c", "d"]).await.unwrap();
    let read = async || {
        let mut keys = KeysAndAttributes::builder().consistent_read(true);
        for pk in ["a", "b", "c", "d"] {
            keys = keys.keys([("pk".to_owned(), s(pk)), ("sk".to_owned(), s("C"))].into());
        }
        let table = db.table(Table::Contacts);
        let call = db.client().batch_get_item().request_items(&table, keys.build().unwrap());
        let answer = call.send().await.unwrap();
        let found = answer.responses.unwrap_or_default().remove(&table).map_or(0, |found| found.len());
        let left = answer.unprocessed_keys.unwrap_or_default().remove(&table);
        (found, left.map_or(0, |left| left.keys.len()))
    };
    assert_eq!(read().await, (4, 0));
    db.fail("BatchGetItem", Fault::HalfProcessed, 1);
    assert_eq!(read().await, (2, 2));
    db.fail("BatchGetItem", Fault::Unprocessed, 1);
    assert_eq!(read().await, (0, 4));
}

#[tokio::test]
async fn a_batch_write_fails_in_the_same_ways_as_other_calls() {
    let rows = ["a", "b"];
    for (fault, carried_out) in
        [(Fault::Throttled, false), (Fault::Unreachable, false), (Fault::AnswerLost, true)]
    {
        let db = TestDb::start().await;
        db.fail("BatchWriteItem", fault, 3);
        assert!(put_batch(&db, &rows).await.is_err(), "{fault:?}");
        assert_eq!(which_are_there(&db, &rows).await, [carried_out; 2], "{fault:?}");
    }
    for (death, carried_out) in [(Death::Before, false), (Death::After, true)] {
        let db = TestDb::start().await;
        let mut dead = db.die_after(0, death);
        tokio::select! {
            _ = put_batch(&db, &rows) => panic!("the simulated death did not happen"),
            _ = &mut dead => {}
        }
        db.revive();
        assert_eq!(which_are_there(&db, &rows).await, [carried_out; 2], "{death:?}");
    }
}

#[tokio::test]
async fn the_stream_of_contacts_has_both_images() {
    let db = TestDb::start().await;
    assert_eq!(db.stream(Table::Contacts), json!({ "Records": [] }));
    put(&db, "a").await.unwrap();
    let event = db.stream(Table::Contacts);
    assert_eq!(event["Records"].as_array().unwrap().len(), 1);
    assert_eq!(event["Records"][0]["eventName"], "INSERT");
    assert_eq!(event["Records"][0]["dynamodb"]["NewImage"]["pk"]["S"], "a");
    assert!(event["Records"][0]["eventSourceARN"].is_string());
}

#[tokio::test]
async fn two_databases_share_nothing() {
    let (one, other) = (TestDb::start().await, TestDb::start().await);
    put(&one, "a").await.unwrap();
    assert!(!is_there(&other, "a").await);
}
