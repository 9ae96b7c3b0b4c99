//! DynamoDB for one test.

use std::sync::Arc;
use std::time::Duration;

use aws_credential_types::Credentials;
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::retry::RetryConfig;
use aws_sdk_dynamodb::config::{BehaviorVersion, Region};
use dynoxide::{Database, ImportOptions};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use store::{Store, Table, Tables};
use tokio::net::TcpListener;
use tokio::sync::oneshot;

use crate::rights::Rights;
use crate::stand_ins::{TestClock, TestIds};
use crate::template::{STACK, tables};
use crate::wire::{Call, Death, Fault, Wire};

/// A database for one test. It runs in memory on a free loopback port, and a real SDK client calls it. It stops when
/// this value is dropped.
pub struct TestDb {
    client: Client,
    store: Store,
    clock: Arc<TestClock>,
    ids: Arc<TestIds>,
    endpoint: String,
    database: Database,
    wire: Wire,
    _stop: oneshot::Sender<()>,
}

impl TestDb {
    /// Starts an empty database with the tables of `template.yaml`, in a stack named `test`.
    pub async fn start() -> Self {
        let database = expect("database", Database::memory());
        for table in tables() {
            expect("table", database.create_table(request(&table.create)));
            if let Some(time_to_live) = &table.time_to_live {
                expect("time to live", database.update_time_to_live(request(time_to_live)));
            }
        }
        let listener = expect("port", TcpListener::bind("127.0.0.1:0").await);
        let endpoint = format!("http://{}", expect("address", listener.local_addr()));
        let (stop, stopped) = oneshot::channel();
        let end = async move { drop(stopped.await) };
        tokio::spawn(dynoxide::server::serve_with_shutdown(listener, database.clone(), end));

        let wire = Wire::default();
        let client = client(&endpoint, &wire, None);
        let (clock, ids) = (Arc::new(TestClock::default()), Arc::new(TestIds::default()));
        let store = Store::new(client.clone(), Tables::of_stack(STACK), clock.clone(), ids.clone());
        Self { client, store, clock, ids, endpoint, database, wire, _stop: stop }
    }

    /// The store over this database, with this test's clock and ids.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// The store with the rights of the given function: a call that its role in `template.yaml` does not allow fails
    /// the test.
    pub fn store_of(&self, function: &str) -> Store {
        let client = client(&self.endpoint, &self.wire, Some(Arc::new(Rights::of(function))));
        Store::new(client, Tables::of_stack(STACK), self.clock.clone(), self.ids.clone())
    }

    /// The client, to read rows or to corrupt them.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// The full name of a table, for calls on the client.
    pub fn table(&self, table: Table) -> String {
        Tables::of_stack(STACK).name(table).to_owned()
    }

    /// The test's clock.
    pub fn clock(&self) -> &Arc<TestClock> {
        &self.clock
    }

    /// The test's ids.
    pub fn ids(&self) -> &Arc<TestIds> {
        &self.ids
    }

    /// The layer between the client and the database.
    pub(crate) fn wire(&self) -> &Wire {
        &self.wire
    }

    /// The URL of the database, for other clients.
    pub fn endpoint(&self) -> &str {
        &self.endpoint
    }

    /// The calls since the start or the last [`TestDb::forget_calls`], in the order in which they started. A call that
    /// the SDK retries appears once for each attempt.
    pub fn calls(&self) -> Vec<Call> {
        self.wire.calls()
    }

    /// Clears the list of calls.
    pub fn forget_calls(&self) {
        self.wire.forget_calls();
    }

    /// Makes the next `times` attempts of an operation (`PutItem`, `TransactWriteItems`, ...) fail. The SDK makes three
    /// attempts, so a call fails if `times` is 3.
    pub fn fail(&self, operation: &str, fault: Fault, times: usize) {
        self.wire.fail(operation, fault, times);
    }

    /// Cancels the failures that [`TestDb::fail`] planned and that have not happened yet.
    pub fn heal(&self) {
        self.wire.heal();
    }

    /// Holds the next attempt of an operation until the returned value is dropped.
    pub fn hold(&self, operation: &str) -> oneshot::Sender<()> {
        self.wire.hold(operation)
    }

    /// Simulates the death of the process. The next `calls` calls proceed, the process dies at the call after them, and
    /// no later call returns. The returned receiver ends at the death. The test then drops the process's future and
    /// calls [`TestDb::revive`], so that others can use the database.
    pub fn die_after(&self, calls: usize, death: Death) -> oneshot::Receiver<()> {
        self.wire.die_after(calls, death)
    }

    /// Ends the simulated death: calls proceed again.
    pub fn revive(&self) {
        self.wire.revive();
    }

    /// The lanes of a kind that are due now, in the order in which the sweeper finds them.
    pub async fn due(&self, kind: domain::LaneKind) -> Vec<domain::LaneId> {
        let mut due = vec![];
        for shard in 0..Store::due_shards(kind) {
            due.extend(expect("due lanes", self.store.due_lanes(kind, shard, None, 100).await).lanes);
        }
        due.iter().map(|due| due.lane).collect()
    }

    /// The lanes of a kind that are due after `time` has passed. The clock is then set back.
    pub async fn due_after(&self, kind: domain::LaneKind, time: Duration) -> Vec<domain::LaneId> {
        let now = self.store.now();
        self.clock().set(now.plus(time));
        let due = self.due(kind).await;
        self.clock().set(now);
        due
    }

    /// Waits until `count` calls of an operation have started.
    pub async fn begun(&self, operation: &str, count: usize) {
        while self.calls().iter().filter(|call| call.operation == operation).count() < count {
            tokio::task::yield_now().await;
        }
    }

    /// The rows of a table whose sort keys start with `prefix`.
    pub fn rows_from(&self, table: Table, prefix: &str) -> Vec<Value> {
        let rows = self.rows(table).into_iter();
        rows.filter(|row| row["sk"]["S"].as_str().is_some_and(|sk| sk.starts_with(prefix))).collect()
    }

    /// All rows of a table as DynamoDB JSON.
    pub fn rows(&self, table: Table) -> Vec<Value> {
        let (mut rows, mut from) = (vec![], Value::Null);
        loop {
            let page = json!({ "TableName": self.table(table), "ExclusiveStartKey": from });
            let page = expect("scan", self.database.scan(request(&page)));
            rows.extend(page.items.iter().flatten().map(|row| expect("row", serde_json::to_value(row))));
            let Some(last) = page.last_evaluated_key else { return rows };
            from = expect("key", serde_json::to_value(last));
        }
    }

    /// Writes rows in DynamoDB JSON into a table without the store and without stream records, for large amounts of
    /// data.
    pub fn import(&self, table: Table, rows: &[Value]) {
        let rows = rows.iter().map(request).collect();
        expect("import", self.database.import_items(&self.table(table), rows, ImportOptions::default()));
    }

    /// All changes of a table so far, as the stream event that a function receives.
    pub fn stream(&self, table: Table) -> Value {
        let table = self.table(table);
        let streams = expect("streams", self.database.list_streams(request(&json!({ "TableName": table }))));
        let arn = &streams.streams[0].stream_arn;
        let stream = expect("stream", self.database.describe_stream(request(&json!({ "StreamArn": arn }))));
        let mut records = vec![];
        for shard in &stream.stream_description.shards {
            let start = json!({
                "StreamArn": arn, "ShardId": shard.shard_id, "ShardIteratorType": "TRIM_HORIZON",
            });
            let mut next =
                expect("iterator", self.database.get_shard_iterator(request(&start))).shard_iterator;
            while let Some(iterator) = next {
                let page = json!({ "ShardIterator": iterator });
                let page = expect("records", self.database.get_records(request(&page)));
                next = page.next_shard_iterator.filter(|_| !page.records.is_empty());
                records.extend(page.records.iter().map(|record| {
                    let mut record = expect("record", serde_json::to_value(record));
                    record["eventSourceARN"] = json!(arn);
                    record
                }));
            }
        }
        json!({ "Records": records })
    }
}

/// A client configured as in the functions, but with a backoff too short to notice.
fn client(endpoint: &str, wire: &Wire, rights: Option<Arc<Rights>>) -> Client {
    let backoff = Duration::from_millis(1);
    let config = aws_sdk_dynamodb::Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::new("eu-central-1"))
        .credentials_provider(Credentials::new("test", "test", None, None, "tests"))
        .endpoint_url(endpoint)
        .http_client(wire.http_client(rights))
        .retry_config(RetryConfig::standard().with_max_attempts(3).with_initial_backoff(backoff))
        .build();
    Client::from_conf(config)
}

fn request<T: DeserializeOwned>(json: &Value) -> T {
    expect("request", T::deserialize(json))
}

fn expect<T, E: std::fmt::Display>(what: &str, result: Result<T, E>) -> T {
    match result {
        Ok(value) => value,
        Err(error) => panic!("embedded database, {what}: {error}"),
    }
}

#[cfg(test)]
mod tests {
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
}
