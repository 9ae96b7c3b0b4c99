//! DynamoDB for one test.

use std::sync::Arc;
use std::time::Duration;

use aws_credential_types::Credentials;
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::retry::RetryConfig;
use aws_sdk_dynamodb::config::{BehaviorVersion, Region, StalledStreamProtectionConfig};
use aws_smithy_runtime_api::client::http::{SharedHttpClient, SharedHttpConnector, http_client_fn};
use domain::{Clock, Ids};
use dynoxide::{Database, ImportOptions};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use store::{Store, Streams, Table, Tables};
use tokio::net::TcpListener;
use tokio::sync::oneshot;

use crate::fault::{Death, Fault};
use crate::frozen::Frozen;
use crate::rights::Rights;
use crate::simulated::{EvenPauses, direct_client};
use crate::stand_ins::{TestClock, TestIds};
use crate::template::{STACK, tables};
use crate::turns::Turns;
use crate::wire::{Call, Wire, trips};

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
    /// Whether calls reach the database without a socket.
    is_simulated: bool,
    _stop: oneshot::Sender<()>,
}

/// A place in the stream of a table, up to which its records were read.
pub struct StreamPlace {
    arn: String,
    iterators: Vec<String>,
}

/// A reader of the stream of a table.
pub struct StreamReader {
    database: Database,
    place: StreamPlace,
}

/// A reader of single rows.
pub struct RowReader(Database);

impl RowReader {
    /// The row that a request names by `TableName` and `Key`, as DynamoDB JSON; `null` if there is none.
    pub fn row(&self, named: &Value) -> Value {
        expect("row", serde_json::to_value(expect("get", self.0.get_item(request(named))).item))
    }
}

impl StreamReader {
    /// The records since the last call.
    pub fn changes(&mut self) -> Vec<Value> {
        records(&self.database, &mut self.place)
    }
}

impl TestDb {
    /// Starts an empty database with the tables of `template.yaml`, in a stack named `test`.
    pub async fn start() -> Self {
        let database = database_with_tables();
        let listener = expect("port", TcpListener::bind("127.0.0.1:0").await);
        let endpoint = format!("http://{}", expect("address", listener.local_addr()));
        let (stop, stopped) = oneshot::channel();
        let end = async move { drop(stopped.await) };
        tokio::spawn(dynoxide::server::serve_with_shutdown(listener, database.clone(), end));

        let wire = Wire::of_environment();
        let client = client(&endpoint, wire.http_client(None)).build();
        Self::with(Client::from_conf(client), database, wire, endpoint, stop)
    }

    /// Starts an empty database without sockets and threads, for a simulation. Its calls fail as [`TestDb::fail`] and
    /// the other functions say, until [`TestDb::take_turns`].
    pub fn simulated() -> Self {
        let (database, wire, (stop, _)) =
            (database_with_tables(), Wire::of_environment(), oneshot::channel());
        let endpoint = "http://database.invalid".to_owned();
        let http = wire.client_over(direct_client(database.clone()), None);
        let config = simulated_client(&endpoint, http).build();
        let mut db = Self::with(Client::from_conf(config), database, wire, endpoint, stop);
        db.is_simulated = true;
        db
    }

    fn with(
        client: Client,
        database: Database,
        wire: Wire,
        endpoint: String,
        stop: oneshot::Sender<()>,
    ) -> Self {
        let (clock, ids) = (Arc::new(TestClock::default()), Arc::new(TestIds::default()));
        let store = Store::new(client.clone(), Tables::of_stack(STACK), clock.clone(), ids.clone());
        Self { client, store, clock, ids, endpoint, database, wire, is_simulated: false, _stop: stop }
    }

    /// Lets `turns` decide about each call from now on.
    pub fn take_turns(&self, turns: Arc<dyn Turns>) {
        self.wire.take_turns(turns);
    }

    /// The store with the rights of the given function, and with a clock and ids of its own.
    pub fn store_with(&self, function: &str, clock: Arc<dyn Clock>, ids: Arc<dyn Ids>) -> Store {
        Store::new(self.client_of(function), Tables::of_stack(STACK), clock, ids)
    }

    /// The store with all rights, as an operator has them, and with a clock and ids of its own.
    pub fn operator_store(&self, clock: Arc<dyn Clock>, ids: Arc<dyn Ids>) -> Store {
        Store::new(self.client.clone(), Tables::of_stack(STACK), clock, ids)
    }

    fn client_of(&self, function: &str) -> Client {
        let rights = Some(Rights::of(function));
        let config = match self.is_simulated {
            true => {
                let http = self.wire.client_over(direct_client(self.database.clone()), rights);
                simulated_client(&self.endpoint, http)
            }
            false => client(&self.endpoint, self.wire.http_client(rights)),
        };
        Client::from_conf(config.build())
    }

    /// The store over this database, with this test's clock and ids.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// The store with the rights of the given function: a call that its role in `template.yaml` does not allow fails
    /// the test.
    pub fn store_of(&self, function: &str) -> Store {
        self.store_with(function, self.clock.clone(), self.ids.clone())
    }

    /// A store with the rows of this database whose writes succeed without an effect. Its reads are made in process, and
    /// its calls are not in [`TestDb::calls`].
    pub fn frozen_store(&self) -> Store {
        let connector = SharedHttpConnector::new(Frozen(self.database.clone()));
        let http = http_client_fn(move |_, _| connector.clone());
        let client = Client::from_conf(client(&self.endpoint, http).build());
        Store::new(client, Tables::of_stack(STACK), self.clock.clone(), self.ids.clone())
    }

    /// The client, to read rows or to corrupt them.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// The streams of the tables. Their calls are in [`TestDb::calls`] too.
    pub fn streams(&self) -> Streams {
        let config = aws_sdk_dynamodbstreams::Config::builder()
            .behavior_version(BehaviorVersion::latest())
            .region(Region::new("eu-central-1"))
            .credentials_provider(Credentials::new("test", "test", None, None, "tests"))
            .endpoint_url(&self.endpoint)
            .http_client(self.wire.http_client(None))
            .retry_config(RetryConfig::standard().with_max_attempts(3).with_initial_backoff(BACKOFF))
            .build();
        Streams::new(aws_sdk_dynamodbstreams::Client::from_conf(config))
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

    /// Whether this is a database of a simulation.
    pub(crate) fn is_simulated(&self) -> bool {
        self.is_simulated
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

    /// The calls as `Operation table`, in the order in which they started.
    pub fn operations(&self) -> Vec<String> {
        let name = |call: Call| format!("{} {}", call.operation, call.table.replace("test-", ""));
        self.calls().into_iter().map(name).collect()
    }

    /// The calls as `Operation table`, in alphabetical order.
    pub fn sorted_operations(&self) -> Vec<String> {
        let mut operations = self.operations();
        operations.sort();
        operations
    }

    /// Clears the list of calls.
    pub fn forget_calls(&self) {
        self.wire.forget_calls();
    }

    /// The round trips and the write units of the calls since the list was cleared. Clears it.
    pub fn spent(&self) -> (usize, f64) {
        let calls = self.calls();
        self.forget_calls();
        (trips(&calls), calls.iter().map(|call| call.write_units).sum())
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

    /// Holds the `nth` attempt of an operation that starts from now on, the first is 1, until the returned value is dropped.
    /// Returns when it has started. If attempts start together, it may hold none of them.
    pub async fn hold_nth(&self, operation: &str, nth: usize) -> oneshot::Sender<()> {
        self.forget_calls();
        let mut held = self.hold(operation);
        for earlier in 1..nth {
            self.begun(operation, earlier).await;
            let next = self.hold(operation);
            drop(std::mem::replace(&mut held, next));
        }
        self.begun(operation, nth).await;
        self.wire.forget_holds(operation);
        held
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

    /// Removes one clause of the conditions of writes from the calls that follow, such as
    /// `Put contacts E/U: attribute_not_exists(pk)`: it always holds. [`TestDb::safeguards`] lists those of a test.
    pub fn remove_safeguard(&self, safeguard: &str) {
        self.wire.remove_safeguard(safeguard);
    }

    /// The clauses of the conditions of all writes so far, each once.
    pub fn safeguards(&self) -> Vec<String> {
        self.wire.safeguards()
    }

    /// The clauses of the conditions of all writes that were refused so far in a simulation, each once. Without any other
    /// clause, nothing would have been different.
    pub fn refused_safeguards(&self) -> Vec<String> {
        self.wire.refused_safeguards()
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

    /// The rows of one kind, as DynamoDB JSON.
    pub fn rows_of(&self, table: Table, kind: &str) -> Vec<Value> {
        self.rows(table).into_iter().filter(|row| row["kind"]["S"] == kind).collect()
    }

    /// All rows, each with its table, in the same order at every call. The limiter's are left out: every request changes them.
    pub fn everything(&self) -> Vec<Value> {
        let tables = Table::ALL.into_iter().filter(|table| *table != Table::Limits);
        let rows = |table: Table| self.rows(table).into_iter().map(move |row| json!([table.suffix(), row]));
        let mut everything: Vec<Value> = tables.flat_map(rows).collect();
        everything.sort_by_key(Value::to_string);
        everything
    }

    /// The row with this key as DynamoDB JSON; `null` if there is none.
    pub fn row(&self, table: Table, pk: &str, sk: &str) -> Value {
        self.row_reader().row(&self.at(table, pk, sk))
    }

    /// A reader that needs no borrow of this database.
    pub fn row_reader(&self) -> RowReader {
        RowReader(self.database.clone())
    }

    /// Writes a row past the service: it is not in [`TestDb::calls`], but in the stream.
    pub fn put_row(&self, table: Table, row: &Value) {
        let put = json!({ "TableName": self.table(table), "Item": row });
        expect("put", self.database.put_item(request(&put)));
    }

    /// Changes a row past the service, or creates it.
    pub fn change_row(&self, table: Table, pk: &str, sk: &str, change: impl FnOnce(&mut Value)) {
        let mut row = self.row(table, pk, sk);
        if row.is_null() {
            row = self.at(table, pk, sk)["Key"].take();
        }
        change(&mut row);
        self.put_row(table, &row);
    }

    /// Removes a row past the service.
    pub fn remove_row(&self, table: Table, pk: &str, sk: &str) {
        expect("delete", self.database.delete_item(request(&self.at(table, pk, sk))));
    }

    fn at(&self, table: Table, pk: &str, sk: &str) -> Value {
        json!({ "TableName": self.table(table), "Key": { "pk": { "S": pk }, "sk": { "S": sk } } })
    }

    /// Writes rows in DynamoDB JSON into a table without the store and without stream records, for large amounts of
    /// data.
    pub fn import(&self, table: Table, rows: &[Value]) {
        let rows = rows.iter().map(request).collect();
        expect("import", self.database.import_items(&self.table(table), rows, ImportOptions::default()));
    }

    /// All changes of a table so far, as the stream event that a function receives.
    pub fn stream(&self, table: Table) -> Value {
        json!({ "Records": self.changes(&mut self.follow(table)) })
    }

    /// A reader at the start of a table's stream.
    pub fn follow(&self, table: Table) -> StreamPlace {
        let table = self.table(table);
        let streams = expect("streams", self.database.list_streams(request(&json!({ "TableName": table }))));
        let arn = streams.streams[0].stream_arn.clone();
        let stream = expect("stream", self.database.describe_stream(request(&json!({ "StreamArn": arn }))));
        let iterator = |shard: &str| {
            let start = json!({ "StreamArn": arn, "ShardId": shard, "ShardIteratorType": "TRIM_HORIZON" });
            expect("iterator", self.database.get_shard_iterator(request(&start))).shard_iterator
        };
        let shards = &stream.stream_description.shards;
        let iterators = shards.iter().filter_map(|shard| iterator(&shard.shard_id)).collect();
        StreamPlace { arn, iterators }
    }

    /// The records since the last call, as the stream event's `Records`.
    pub fn changes(&self, place: &mut StreamPlace) -> Vec<Value> {
        records(&self.database, place)
    }

    /// A reader of a table's stream, from its start, that needs no borrow of this value.
    pub fn reader(&self, table: Table) -> StreamReader {
        StreamReader { database: self.database.clone(), place: self.follow(table) }
    }
}

/// The records of a stream after this place, which moves behind them.
fn records(database: &Database, place: &mut StreamPlace) -> Vec<Value> {
    let mut records = vec![];
    for iterator in &mut place.iterators {
        loop {
            let page = json!({ "ShardIterator": iterator });
            let page = expect("records", database.get_records(request(&page)));
            records.extend(page.records.iter().map(|record| {
                let mut record = expect("record", serde_json::to_value(record));
                record["eventSourceARN"] = json!(place.arn);
                record
            }));
            let Some(next) = page.next_shard_iterator else { break };
            *iterator = next;
            if page.records.is_empty() {
                break;
            }
        }
    }
    records
}

impl Drop for TestDb {
    fn drop(&mut self) {
        self.wire.report_safeguards();
    }
}

/// A backoff too short to notice.
const BACKOFF: Duration = Duration::from_millis(1);

fn database_with_tables() -> Database {
    let database = expect("database", Database::memory());
    for table in tables() {
        let line = crate::recorded::line(Some("DynamoDB_20120810.CreateTable"), &table.create);
        crate::recorded::keep(line);
        expect("table", database.create_table(request(&table.create)));
        if let Some(time_to_live) = &table.time_to_live {
            expect("time to live", database.update_time_to_live(request(time_to_live)));
        }
    }
    database
}

/// The settings of a client as in the functions, but with a short backoff.
fn client(endpoint: &str, http: SharedHttpClient) -> aws_sdk_dynamodb::config::Builder {
    unsigned(endpoint, http).credentials_provider(Credentials::new("test", "test", None, None, "tests"))
}

/// The settings of a client in a simulation. Nobody checks signatures there, and they take a tenth of its time. The
/// protection against stalled streams looks at the clock of the machine.
fn simulated_client(endpoint: &str, http: SharedHttpClient) -> aws_sdk_dynamodb::config::Builder {
    let streams = StalledStreamProtectionConfig::disabled();
    unsigned(endpoint, http).allow_no_auth().sleep_impl(EvenPauses).stalled_stream_protection(streams)
}

fn unsigned(endpoint: &str, http: SharedHttpClient) -> aws_sdk_dynamodb::config::Builder {
    aws_sdk_dynamodb::Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::new("eu-central-1"))
        .endpoint_url(endpoint)
        .http_client(http)
        .retry_config(RetryConfig::standard().with_max_attempts(3).with_initial_backoff(BACKOFF))
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
mod tests;
