//! Records that fail beside others that do not.

use harness::{Fault, World, fixture};
use serde_json::{Value, json};
use store::Table;

use crate::logging::Log;
use crate::{ENDPOINT, OTHER, Scene, from_the_future, number, record, record_of, stream_event};

/// A schema version of a release later than any known one.
const LATER: u8 = 99;

impl Scene {
    /// Sets the schema version of a row.
    fn set_schema(&self, table: Table, pk: &str, sk: &str, version: u8) {
        self.world.db.change_row(table, pk, sk, |row| row["sv"] = json!({ "N": version.to_string() }));
    }

    /// Another workspace with unreadable settings, and the record of a new contact in it.
    async fn foreign(&self, n: u16) -> Value {
        let (other, _) = self.world.second_workspace().await;
        self.set_schema(Table::Workspaces, &format!("{other}#H"), OTHER, LATER);
        let record = record_of(n).to_string().replace(World::WORKSPACE, &other.to_string());
        serde_json::from_str(&record).unwrap()
    }

    /// The contacts of the deliveries in an endpoint's slot, in order, by the number of [`record_of`].
    async fn delivered(&self, endpoint: &str, slot: u8) -> Vec<u16> {
        let mut contacts = vec![];
        for delivery in self.deliveries_in(self.slot(endpoint, slot)).await {
            let body: Value = serde_json::from_str(&self.body(&delivery).await).unwrap();
            contacts.push(body["payload"]["id"].as_str().unwrap()[32..].parse().unwrap());
        }
        contacts.sort_unstable();
        contacts
    }
}

#[tokio::test]
async fn the_answer_names_exactly_the_failed_records_for_every_cause() {
    let scene = Scene::with_endpoint().await;
    let foreign = scene.foreign(5).await;
    let mut forgotten = record("event-relay-media-forgotten.json");
    forgotten["dynamodb"]["SequenceNumber"] = json!(number(7));
    scene.world.db.fail("DeleteObject", Fault::Unreachable, 9);
    let batch = [
        record_of(1),
        from_the_future(2),
        record_of(3),
        record_of(4),
        foreign.clone(),
        record_of(6),
        forgotten,
        from_the_future(8),
    ];
    let failed = scene.named(&stream_event(&batch)).await.unwrap();
    assert_eq!(failed, [2, 5, 7, 8].map(number));
    assert_eq!(scene.delivered(ENDPOINT, 0).await, [1, 3, 4, 6]);
    assert_eq!(scene.sqs.take().len(), 1);
    assert_eq!(scene.counted.values()["RecordsNotRelayed"], [4]);

    // Lambda continues from the first of them.
    scene.world.db.heal();
    let failed = scene.named(&stream_event(&batch[1..])).await.unwrap();
    assert_eq!(failed, [2, 5, 8].map(number));
    assert_eq!(scene.delivered(ENDPOINT, 0).await, [1, 3, 4, 6]);
}

#[tokio::test]
async fn without_partial_answers_a_batch_fails_after_all_possible_work() {
    let mut scene = Scene::with_endpoint().await;
    scene.relay.partial = false;
    let batch = stream_event(&[record_of(1), from_the_future(2), record_of(3)]);
    assert_eq!(scene.named(&batch).await.unwrap_err().records, 1);
    assert_eq!((scene.delivered(ENDPOINT, 0).await, scene.sqs.take().len()), (vec![1, 3], 1));
    // The stream halves the batch, and the good half passes.
    assert_eq!(scene.named(&stream_event(&[record_of(1)])).await.unwrap(), [""; 0]);
    assert_eq!(scene.delivered(ENDPOINT, 0).await, [1, 3]);
}

#[tokio::test]
async fn a_failed_record_without_a_number_repeats_the_whole_batch() {
    let scene = Scene::with_endpoint().await;
    for none in [json!(null), json!("")] {
        let mut nameless = from_the_future(2);
        nameless["dynamodb"]["SequenceNumber"] = none;
        let batch = stream_event(&[record_of(1), nameless, from_the_future(3)]);
        assert_eq!(scene.named(&batch).await.unwrap_err().records, 2);
        assert_eq!(scene.delivered(ENDPOINT, 0).await, [1]);
    }
    let mut nameless = record_of(4);
    nameless["dynamodb"]["SequenceNumber"] = json!(null);
    assert!(scene.relayed(&stream_event(&[nameless])).await, "a relayed record is not named");
}

#[tokio::test]
async fn a_record_that_cannot_be_read_fails_alone_and_is_logged_once() {
    let scene = Scene::with_endpoint().await;
    let mut broken = record_of(3);
    broken["dynamodb"]["NewImage"]["updatedAt"] = json!({ "S": "yesterday" });
    let mut keyless = record("event-relay-onboarding-planned.json");
    keyless["dynamodb"]["NewImage"]["pk"] = json!({ "S": "nobody" });
    keyless["dynamodb"]["SequenceNumber"] = json!(number(5));
    let batch = stream_event(&[record_of(1), from_the_future(2), broken, record_of(4), keyless]);
    let log = Log::default();
    let listening = log.listen();
    assert_eq!(scene.named(&batch).await.unwrap(), [2, 3, 5].map(number));
    drop(listening);
    let logged: Vec<Value> =
        log.lines("stream record cannot be read").iter().map(|line| line["sequence"].clone()).collect();
    assert_eq!(logged, [2, 3, 5].map(number));
    assert_eq!(scene.delivered(ENDPOINT, 0).await, [1, 4]);
}

#[tokio::test]
async fn a_record_that_is_twice_in_a_batch_is_recorded_once_and_fails_at_both_positions() {
    let scene = Scene::with_endpoint().await;
    let mut again = record_of(1);
    again["dynamodb"]["SequenceNumber"] = json!(number(2));
    let batch = stream_event(&[record_of(1), again]);
    // Recorded events and erased subjects are looked up at the same time, and the SDK tries each three times.
    for lookup in ["BatchGetItem", "GetItem"] {
        scene.world.db.fail(lookup, Fault::Throttled, 3);
    }
    assert_eq!(scene.named(&batch).await.unwrap(), [1, 2].map(number));
    // On a busy machine the time of a call can be over before its third try.
    scene.world.db.heal();
    scene.world.db.forget_calls();
    assert!(scene.relayed(&batch).await);
    let writes = scene.world.db.calls();
    let writes =
        writes.iter().filter(|call| call.operation == "BatchWriteItem" || call.operation == "PutItem");
    assert_eq!(writes.map(|call| call.write_units).collect::<Vec<_>>(), [1.0, 1.0]);
    assert_eq!(scene.delivered(ENDPOINT, 0).await, [1]);
    assert_eq!(scene.counted.values()["EventsRecorded"], [1]);
}

#[tokio::test]
async fn a_recorded_event_that_cannot_be_read_fails_its_record_alone() {
    let scene = Scene::with_endpoint().await;
    assert!(scene.relayed(&stream_event(&[record_of(1), record_of(2)])).await);
    let delivery = scene.deliveries(ENDPOINT).await.pop().unwrap();
    let about: Value = serde_json::from_str(&scene.body(&delivery).await).unwrap();
    let broken: u16 = about["payload"]["id"].as_str().unwrap()[32..].parse().unwrap();
    let pk = format!("{}#V#{}", World::WORKSPACE, delivery.event);
    scene.set_schema(Table::Webhooks, &pk, "V", LATER);

    let batch = stream_event(&(1..=30).map(record_of).collect::<Vec<_>>());
    assert_eq!(scene.named(&batch).await.unwrap(), [number(broken)]);
    scene.set_schema(Table::Webhooks, &pk, "V", 1);
    assert_eq!(scene.delivered(ENDPOINT, 0).await, (1..=30).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_lane_that_cannot_be_updated_fails_only_the_records_of_its_events() {
    let scene = Scene::start().await;
    scene.endpoint_with_slots(ENDPOINT, &[], 4).await;
    scene.endpoint(OTHER, &["conversation.created"]).await;
    let broken = scene.slot(ENDPOINT, 2);
    let pk = format!("{}#E#{ENDPOINT}#2", World::WORKSPACE);
    scene.set_schema(Table::Webhooks, &pk, "L", LATER);
    let mut batch: Vec<Value> = (1..=20).map(record_of).collect();
    let mut conversation = record("event-relay-conversation-created.json");
    conversation["dynamodb"]["SequenceNumber"] = json!(number(21));
    batch.push(conversation);
    let batch = stream_event(&batch);
    let failed = scene.named(&batch).await.unwrap();
    assert!((1..20).contains(&failed.len()), "{failed:?}");
    let mut told: Vec<String> = scene.sqs.take().into_iter().map(|message| message.body).collect();
    told.sort();
    assert!(!told.contains(&crate::visit(ENDPOINT, 2)) && told.contains(&crate::visit(OTHER, 0)), "{told:?}");

    scene.set_schema(Table::Webhooks, &pk, "L", 1);
    let mut of_the_lane = vec![];
    for delivery in scene.deliveries_in(broken).await {
        let body: Value = serde_json::from_str(&scene.body(&delivery).await).unwrap();
        match body["eventType"].as_str() {
            Some("contact.created") => {
                of_the_lane.push(number(body["payload"]["id"].as_str().unwrap()[32..].parse().unwrap()));
            }
            _ => of_the_lane.push(number(21)),
        }
    }
    of_the_lane.sort();
    assert_eq!(failed, of_the_lane);
    assert!(scene.relayed(&batch).await);
    assert!(scene.sqs.take().iter().any(|message| message.body == crate::visit(ENDPOINT, 2)));
}

#[tokio::test]
async fn a_batch_that_met_a_busy_table_fails_as_a_whole_and_succeeds_when_repeated() {
    let scene = Scene::with_endpoint().await;
    let batch = stream_event(&(1..=30).map(record_of).collect::<Vec<_>>());
    let all: Vec<String> = (1..=30).map(number).collect();
    // The SDK tries both look-ups three times.
    scene.world.db.fail("BatchGetItem", Fault::Throttled, 6);
    assert_eq!(scene.named(&batch).await.unwrap(), all);
    assert!(scene.nothing_happened().await);

    scene.world.db.fail("BatchWriteItem", Fault::Throttled, 100_000);
    assert_eq!(scene.named(&batch).await.unwrap(), all);
    assert!(scene.nothing_happened().await);
    scene.world.db.heal();

    // Endpoints and definitions are read at the same time. The first failure ends the batch.
    scene.world.db.fail("Query", Fault::Unreachable, 6);
    let mut runs = 0;
    while !scene.relayed(&batch).await {
        assert!(scene.nothing_happened().await);
        runs += 1;
        assert!(runs < 10);
    }
    assert!(runs > 0);
    assert_eq!((scene.deliveries(ENDPOINT).await.len(), scene.sqs.take().len()), (30, 1));
}

#[tokio::test]
async fn unprocessed_rows_are_written_again_and_lost_answers_change_nothing() {
    let scene = Scene::with_endpoint().await;
    let db = &scene.world.db;
    for (n, fault) in [(0, Fault::HalfProcessed), (1, Fault::Unprocessed), (2, Fault::AnswerLost)] {
        let batch = stream_event(&(1..=20).map(|m| record_of(20 * n + m)).collect::<Vec<_>>());
        db.fail("BatchGetItem", Fault::HalfProcessed, 1);
        db.fail("BatchWriteItem", fault, 3);
        assert!(scene.relayed(&batch).await, "{fault:?}");
        db.heal();
        assert_eq!(scene.delivered(ENDPOINT, 0).await.len(), usize::from(20 * (n + 1)), "{fault:?}");
    }
}

#[tokio::test]
async fn a_failed_lane_update_repeats_all_records_of_the_lane() {
    let scene = Scene::with_endpoint().await;
    let batch = stream_event(&[record_of(1), record_of(2)]);
    scene.world.db.fail("UpdateItem", Fault::Unreachable, 3);
    assert_eq!(scene.named(&batch).await.unwrap(), [1, 2].map(number));
    assert_eq!((scene.due_at(ENDPOINT), scene.sqs.take().len()), (None, 0), "no lane was updated");
    // As above.
    scene.world.db.heal();
    assert!(scene.relayed(&batch).await);
    assert!(scene.due_at(ENDPOINT).is_some());
    assert_eq!(scene.sqs.take().len(), 1);
}

#[tokio::test]
async fn a_workspace_with_unreadable_settings_delays_only_its_own_records() {
    let scene = Scene::with_endpoint().await;
    let foreign = scene.foreign(2).await;
    let mut second = foreign.clone();
    second["dynamodb"]["SequenceNumber"] = json!(number(3));
    let batch = stream_event(&[record_of(1), foreign, second, record_of(4)]);
    let log = Log::default();
    let listening = log.listen();
    assert_eq!(scene.named(&batch).await.unwrap(), [2, 3].map(number));
    drop(listening);
    assert_eq!(log.lines("settings cannot be read").len(), 1);
    assert_eq!((scene.deliveries(ENDPOINT).await.len(), scene.sqs.take().len()), (2, 1));
}

#[tokio::test]
async fn a_failed_summary_fails_its_record_and_the_change_event_is_still_recorded() {
    let scene = Scene::with_endpoint().await;
    let mut message = record("event-relay-message-created.json")["dynamodb"]["NewImage"].clone();
    message["sentBy"] = json!({ "S": "NOBODY" });
    scene.world.db.put_row(Table::Messages, &message);
    let released = fixture("event-relay-conversation-released.json");
    let failed = scene.named(&released).await.unwrap();
    assert_eq!(json!(failed), json!([released["Records"][0]["dynamodb"]["SequenceNumber"]]));
    assert_eq!(scene.bodies(ENDPOINT).await[0]["eventType"], "conversation.updated");
}
