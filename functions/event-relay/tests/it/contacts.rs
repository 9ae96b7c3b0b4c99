//! The stream records of contacts.

use std::time::Duration;

use domain::contact::conflict::{Conflict, ConflictReason};
use domain::webhook::DisabledReason;
use domain::{
    AttributeCategory, AttributeDefinition, AttributeId, AttributeType, Cellphone, ClosedValue,
    ClosedValueId, Contact, ContactId, DeliveryState, Event, EventType, LaneId, PersonName, Reached,
    WorkspaceId,
};
use harness::{Fault, World, fixture, trips};
use serde_json::{Value, json};
use store::{AskedMerge, Joined, Lease, LeasedJob, Table};

use crate::{ENDPOINT, OTHER, RESCUE, Scene, from_the_future, record, record_of, stream_event, visit};

const CREATED: &str = "event-relay-contact-created.json";
const UPDATED: &str = "event-relay-contact-updated.json";

/// The definitions of the attributes that the contact of the fixtures has.
async fn definitions(world: &World) {
    let closed = ClosedValue {
        id: ClosedValueId::parse("4d6f8b0c-2e4a-4c6e-a08b-0c2d4e6f8a0b").unwrap(),
        value: "Gold".to_owned(),
    };
    let attributes = [
        ("2b4d6f8a-0c2e-4a4c-8e6f-8a0b2c4d6e8f", "Interest", AttributeCategory::Open, vec![]),
        ("3c5e7a9b-1d3f-4b5d-9f7a-9b1c3d5e7f9a", "Tier", AttributeCategory::Closed, vec![closed]),
    ];
    for (id, key_name, category, closed_values) in attributes {
        let definition = AttributeDefinition {
            id: AttributeId::parse(id).unwrap(),
            workspace_id: world.workspace,
            category,
            is_required: true,
            key_name: key_name.to_owned(),
            attribute_type: AttributeType::Text,
            closed_values,
            created_at: world.db.store().now(),
            deleted_at: None,
            version: 1,
        };
        let workspace = world.db.store().workspace(world.workspace).await.unwrap().unwrap();
        let created =
            world.db.store().create_definition(&workspace, &definition, harness::operator(), None).await;
        assert_eq!(created.unwrap(), store::SettingCreated::Done);
    }
}

#[tokio::test]
async fn a_merge_is_told_once_with_both_contacts_and_queues_its_job() {
    let scene = Scene::with_endpoint().await;
    let (world, store) = (&scene.world, scene.world.db.store());
    store.ensure_person_key([9; 32]).await.unwrap();
    let stays = world.contact(|of| of.cellphone = Cellphone::parse("+34600111222").ok()).await;
    let goes = world.contact(|of| of.first_name = PersonName::parse("Anita").ok()).await;
    let asked = store.ask_merge(world.workspace, stays.id, goes.id).await.unwrap();
    let AskedMerge::Running(merge) = asked else { panic!("{asked:?}") };
    let lane = LaneId::Person(world.workspace, merge.id);
    let Lease::Taken(leased) = store.lease_lane(lane, RESCUE).await.unwrap() else {
        panic!("the merge is asked for")
    };
    let (mine, _) = LeasedJob::of(&leased).unwrap();
    assert!(matches!(store.join_contacts(&mine, &merge).await.unwrap(), Joined::Done(_)));
    store.end_merging(&merge).await.unwrap();
    for _ in 0..2 {
        assert!(scene.relayed(&world.db.stream(Table::Contacts)).await);
    }
    let queued: Vec<_> = scene.leads.take().into_iter().map(|it| (it.queue, it.body)).collect();
    assert_eq!(queued, vec![("persons".to_owned(), queue::body(&lane)); 2], "once for each batch");
    let bodies = scene.bodies(ENDPOINT).await;
    let mut types: Vec<_> = bodies.iter().map(|body| body["eventType"].as_str().unwrap()).collect();
    types.sort_unstable();
    assert_eq!(types, ["contact.created", "contact.created", "contact.merged", "contact.updated"]);
    let payload = &bodies.iter().find(|body| body["eventType"] == "contact.merged").unwrap()["payload"];
    assert_eq!(payload["contactId"], json!(stays.id.to_string()));
    assert_eq!(payload["mergedContactId"], json!(goes.id.to_string()));
    // The one that stays has taken the name. The other one is shown as it was.
    let shown = ["contact", "merged"].map(|of| (&payload[of]["id"], &payload[of]["firstName"]));
    let (stays, goes) = (json!(stays.id.to_string()), json!(goes.id.to_string()));
    assert_eq!(shown, [(&stays, &json!("Anita")), (&goes, &json!("Anita"))]);
    assert_eq!(
        [&payload["contact"]["cellphone"], &payload["merged"]["cellphone"]],
        [&json!("+34600111222"), &Value::Null]
    );
}

#[tokio::test]
async fn a_changed_contact_becomes_an_event_a_delivery_and_a_message_in_six_round_trips() {
    let scene = Scene::with_endpoint().await;
    definitions(&scene.world).await;
    scene.world.db.forget_calls();
    assert!(scene.relayed(&fixture(UPDATED)).await);
    assert_eq!(trips(&scene.world.db.calls()), 6, "settings; events; deliveries; events; the lane; usage");

    let deliveries = scene.deliveries(ENDPOINT).await;
    let delivery = &deliveries[0];
    assert_eq!(deliveries.len(), 1);
    assert_eq!((delivery.state, delivery.event_type), (DeliveryState::Pending, EventType::ContactUpdated));
    assert_eq!(scene.due_at(ENDPOINT), Some(scene.world.db.store().now().plus(RESCUE)));
    assert_eq!(
        scene.body(delivery).await,
        concat!(
            r#"{"eventId":"23f67bf7-44c3-50a7-89f0-5fa33516debd","eventType":"contact.updated","#,
            r#""entity":"contact_updates","workspaceId":"3f1b8a52-6d0e-4c7a-9b1f-2a5d8e4c7b90","#,
            r#""timestamp":"2026-10-20T09:15:28Z","#,
            r#""payload":{"id":"8c2d4e6f-1a3b-4c5d-8e7f-9a0b1c2d3e4f","firstName":"Ada","lastName":"Lovelace","#,
            r#""email":"ada@example.com","cellphone":"+34600111222","#,
            r#""workspaceId":"3f1b8a52-6d0e-4c7a-9b1f-2a5d8e4c7b90","type":"NORMAL","languageCode":"EN","#,
            r#""ownerId":"5e7f9a1b-3c5d-4e7f-8a9b-1c2d3e4f5a6b","#,
            r#""customAttributes":[{"key":"Interest","values":["Analytical engines"]},"#,
            r#"{"key":"Tier","values":["Gold"]}],"externalId":null,"providerUserIds":[],"#,
            r#""createdAt":"2026-10-20T09:15:00.000Z","updatedAt":"2026-10-20T09:15:28.123Z"}}"#,
        )
    );
    let queued = scene.sqs.take();
    assert_eq!(queued.len(), 1);
    let message = &fixture("webhook-delivery.json")["Records"][0];
    assert_eq!(json!(queued[0].body), message["body"]);
    assert_eq!(json!(queued[0].group), message["attributes"]["MessageGroupId"]);
    assert_eq!((queued[0].queue.as_str(), queued[0].delay), ("fast", 0));
}

#[tokio::test]
async fn a_new_contact_becomes_another_kind_of_event_and_absent_fields_are_null() {
    let scene = Scene::with_endpoint().await;
    let mut created = fixture(CREATED);
    for field in ["firstName", "lastName", "email"] {
        created["Records"][0]["dynamodb"]["NewImage"].as_object_mut().unwrap().remove(field);
    }
    assert!(scene.relayed(&created).await);
    let deliveries = scene.deliveries(ENDPOINT).await;
    let body = scene.body(&deliveries[0]).await;
    assert!(body.contains(r#""eventType":"contact.created","entity":"contact_creations""#), "{body}");
    assert!(body.contains(r#","firstName":null,"lastName":null,"email":null,"#), "{body}");
}

#[tokio::test]
async fn a_write_of_the_store_is_relayed_from_its_own_stream() {
    let scene = Scene::with_endpoint().await;
    let contact = scene.world.contact(|contact| contact.first_name = PersonName::parse("Ana").ok()).await;
    let next = Contact { first_name: PersonName::parse("Anna").ok(), version: 2, ..contact.clone() };
    scene.world.db.store().replace_contact(&contact, &next, "request-2").await.unwrap();
    assert!(scene.relayed(&scene.world.db.stream(Table::Contacts)).await);
    let mut types: Vec<EventType> =
        scene.deliveries(ENDPOINT).await.iter().map(|delivery| delivery.event_type).collect();
    types.sort();
    assert_eq!(types, [EventType::ContactCreated, EventType::ContactUpdated]);
}

#[tokio::test]
async fn an_id_that_the_provider_names_makes_no_event() {
    let scene = Scene::with_endpoint().await;
    let contact = scene.world.contact(|_| ()).await;
    let reached = Reached::named(None, Some("US.1"));
    let store = scene.world.db.store();
    store.remember_answer(&contact, &reached, &World::account()).await;
    let remembered = store.contact(contact.workspace_id, contact.id).await.unwrap().unwrap();
    assert_eq!(remembered.user_ids, World::user_ids("US.1"));
    assert!(scene.relayed(&scene.world.db.stream(Table::Contacts)).await);
    let types: Vec<EventType> =
        scene.deliveries(ENDPOINT).await.iter().map(|delivery| delivery.event_type).collect();
    assert_eq!(types, [EventType::ContactCreated]);
}

#[tokio::test]
async fn an_event_names_the_api_request_that_made_its_change_if_one_did() {
    let scene = Scene::with_endpoint().await;
    let mut of_the_api = record_of(1);
    of_the_api["dynamodb"]["NewImage"]["lastRequest"] = json!({ "S": "gateway-1/a-write" });
    assert!(scene.relayed(&stream_event(&[of_the_api, record_of(2)])).await);
    let mut requests = vec![];
    for delivery in scene.deliveries(ENDPOINT).await {
        let store = scene.world.db.store();
        let event = store.recorded_event(scene.world.workspace, delivery.event).await.unwrap().unwrap();
        requests.push(event.request);
    }
    requests.sort();
    assert_eq!(requests, [None, Some("gateway-1".to_owned())]);
}

#[tokio::test]
async fn events_failed_records_and_the_age_of_the_oldest_change_are_counted() {
    let scene = Scene::with_endpoint().await;
    let at = |mut record: Value, seconds: i64| {
        record["dynamodb"]["ApproximateCreationDateTime"] = json!(seconds);
        record
    };
    scene.world.db.clock().set(domain::Timestamp::from_millis(1_000_000_000));
    let (older, newer) = (at(record_of(1), 999_997), at(record_of(2), 999_999));
    assert!(!scene.relayed(&stream_event(&[newer, older, at(from_the_future(3), 999_998)])).await);
    let told: Vec<_> = scene.counted.values().into_iter().collect();
    let expected = [("EventsRecorded", vec![2]), ("RecordsNotRelayed", vec![1]), ("RelayLag", vec![3_000])];
    assert_eq!(told, expected.map(|(name, values)| (name.to_owned(), values)));

    scene.counted.lines();
    assert!(scene.relayed(&stream_event(&[at(record_of(1), 999_999)])).await);
    let told: Vec<_> = scene.counted.values().into_keys().collect();
    assert_eq!(told, ["RelayLag"], "an event that was already recorded does not count");
    scene.counted.lines();
    assert!(scene.relayed(&stream_event(&[])).await);
    assert!(scene.counted.lines().is_empty(), "no change is counted");
}

#[tokio::test]
async fn a_repeated_record_writes_nothing_and_queues_the_same_lane_again() {
    let scene = Scene::with_endpoint().await;
    assert!(scene.relayed(&fixture(UPDATED)).await);
    let (first, messages) = (scene.deliveries(ENDPOINT).await, scene.sqs.take());
    let body = scene.body(&first[0]).await;
    // Another endpoint and a definition are created in between. The event stays as it was.
    scene.endpoint(OTHER, &[]).await;
    definitions(&scene.world).await;
    scene.world.db.clock().advance(RESCUE);
    assert!(scene.relayed(&fixture(UPDATED)).await);
    assert_eq!(scene.deliveries(ENDPOINT).await, first);
    assert_eq!(scene.body(&first[0]).await, body);
    assert_eq!(scene.sqs.take(), messages);
    assert!(scene.deliveries(OTHER).await.is_empty());
}

#[tokio::test]
async fn a_change_that_the_api_does_not_show_is_no_event() {
    let scene = Scene::with_endpoint().await;
    let mut same_version = record(UPDATED);
    same_version["dynamodb"]["NewImage"]["version"] = json!({ "N": "1" });
    let mut removed = record(UPDATED);
    removed["eventName"] = json!("REMOVE");
    removed["dynamodb"].as_object_mut().unwrap().remove("NewImage");
    let mut helper = record(CREATED);
    helper["dynamodb"]["NewImage"] =
        json!({ "pk": { "S": "w#E#a@b.c" }, "sk": { "S": "U" }, "kind": { "S": "contactEmail" } });
    assert!(scene.relayed(&stream_event(&[same_version, removed, helper])).await);
    assert!(scene.relayed(&stream_event(&[])).await);
    assert!(scene.nothing_happened().await);
}

#[tokio::test]
async fn an_event_without_a_subscriber_writes_only_the_usage() {
    let scene = Scene::start().await;
    scene.endpoint(ENDPOINT, &["contact.created", "message.created"]).await;
    scene.world.db.forget_calls();
    assert!(scene.relayed(&fixture(UPDATED)).await);
    let operations = scene.world.db.operations();
    let writes = operations.iter().filter(|operation| {
        !["Query", "GetItem", "BatchGetItem"].iter().any(|read| operation.starts_with(read))
    });
    assert_eq!(writes.collect::<Vec<_>>(), ["UpdateItem limits"]);
    assert!(scene.nothing_happened().await);

    assert!(scene.relayed(&fixture(CREATED)).await);
    assert_eq!(scene.deliveries(ENDPOINT).await.len(), 1);
}

#[tokio::test]
async fn an_event_is_kept_for_a_disabled_endpoint_that_subscribed_and_its_lane_has_no_work() {
    let scene = Scene::start().await;
    let endpoint = scene.endpoint(ENDPOINT, &["contact.updated"]).await;
    let now = scene.world.db.store().now();
    scene.replace(&endpoint, |next| *next = endpoint.disabled(DisabledReason::Operator, now).unwrap()).await;
    assert!(scene.relayed(&fixture(CREATED)).await);
    assert!(scene.nothing_happened().await, "it did not subscribe");

    for is_repeat in [false, true] {
        assert!(scene.relayed(&fixture(UPDATED)).await);
        assert!(is_repeat || scene.due_at(ENDPOINT).is_none() && scene.sqs.take().is_empty());
        let [delivery] = &scene.deliveries(ENDPOINT).await[..] else { panic!("one delivery") };
        assert_eq!((delivery.state, delivery.attempts), (DeliveryState::Parked, 0));
    }
    let event = &scene.world.db.rows_of(Table::Webhooks, "event")[0];
    assert_eq!(event["slots"]["L"].as_array().unwrap().len(), 1);

    // An enabled endpoint gets the same event at once.
    scene.endpoint(OTHER, &[]).await;
    assert!(scene.relayed(&fixture(CREATED)).await);
    assert_eq!((scene.deliveries(ENDPOINT).await.len(), scene.deliveries(OTHER).await.len()), (1, 1));
}

#[tokio::test]
async fn each_of_ten_endpoints_gets_a_delivery_of_its_own() {
    let scene = Scene::start().await;
    let ids: Vec<String> = (10..20).map(|n| format!("6f8a0b2c-4d6e-4f8a-9b0c-2d4e6f8a0b{n}")).collect();
    for id in &ids {
        scene.endpoint(id, &[]).await;
    }
    assert!(scene.relayed(&fixture(UPDATED)).await);
    let queued = scene.sqs.take();
    assert_eq!(queued.len(), ids.len());
    for id in &ids {
        assert_eq!(scene.deliveries(id).await.len(), 1);
        assert!(queued.iter().any(|message| message.group == *id && message.body == visit(id, 0)));
    }
}

#[tokio::test]
async fn a_conflict_with_another_relay_is_retried() {
    let scene = Scene::with_endpoint().await;
    scene.world.db.fail("UpdateItem", Fault::Conflict, 2);
    assert!(scene.relayed(&fixture(UPDATED)).await);
    assert_eq!((scene.deliveries(ENDPOINT).await.len(), scene.sqs.take().len()), (1, 1));
}

#[tokio::test]
async fn workspaces_are_kept_apart() {
    let scene = Scene::with_endpoint().await;
    let foreign =
        fixture(UPDATED).to_string().replace(World::WORKSPACE, "3f1b8a52-6d0e-4c7a-9b1f-2a5d8e4c7b91");
    assert!(scene.relayed(&serde_json::from_str(&foreign).unwrap()).await);
    assert!(scene.nothing_happened().await);
}

/// Makes attributes of 50 values of 2 KiB each. Returns the attributes of a contact that has all of them.
async fn all_of_large_attributes(scene: &Scene, attributes: u128) -> Value {
    let store = scene.world.db.store();
    let value = |n: u128| ClosedValue { id: ClosedValueId::from_uuid(uuid(n)), value: "é".repeat(1_024) };
    let mut held = json!({});
    for attribute in 0..attributes {
        let definition = AttributeDefinition {
            id: AttributeId::from_uuid(uuid(1_000 + attribute)),
            workspace_id: scene.world.workspace,
            category: AttributeCategory::Closed,
            is_required: false,
            key_name: format!("Key {attribute}"),
            attribute_type: AttributeType::Text,
            closed_values: (0..50).map(|n| value(attribute * 100 + n)).collect(),
            created_at: store.now(),
            deleted_at: None,
            version: 1,
        };
        let workspace = store.workspace(scene.world.workspace).await.unwrap().unwrap();
        let created = store.create_definition(&workspace, &definition, harness::operator(), None).await;
        assert_eq!(created.unwrap(), store::SettingCreated::Done);
        let values: Vec<Value> =
            definition.closed_values.iter().map(|value| json!({ "S": value.id.to_string() })).collect();
        held[definition.id.to_string()] = json!({ "L": values });
    }
    held
}

#[tokio::test]
async fn an_event_that_would_be_too_large_omits_the_custom_attributes() {
    let scene = Scene::with_endpoint().await;
    let mut record = record(CREATED);
    record["dynamodb"]["NewImage"]["attrs"]["M"] = all_of_large_attributes(&scene, 4).await;
    assert!(scene.relayed(&stream_event(&[record])).await);
    let deliveries = scene.deliveries(ENDPOINT).await;
    let body: Value = serde_json::from_str(&scene.body(&deliveries[0]).await).unwrap();
    assert!(body.to_string().len() <= Event::MAX_BODY);
    assert_eq!(
        (&body["payload"]["lastName"], body["payload"].get("customAttributes")),
        (&json!("Byron"), None)
    );
}

#[tokio::test]
async fn a_batch_of_the_largest_bodies_is_recorded_in_portions() {
    let scene = Scene::with_endpoint().await;
    let held = all_of_large_attributes(&scene, 2).await;
    let large = |n| {
        let mut record = record_of(n);
        record["dynamodb"]["NewImage"]["attrs"]["M"] = held.clone();
        record
    };
    scene.world.db.forget_calls();
    assert!(scene.relayed(&stream_event(&(1..=50).map(large).collect::<Vec<_>>())).await);
    let calls = scene.world.db.calls();
    // 50 bodies of 205 KB make three portions, each of at most 4 MiB. A portion ends before the body that would
    // exceed it.
    let writes = calls.iter().filter(|call| call.operation == "BatchWriteItem");
    let largest = writes.clone().map(|call| call.write_units).fold(0.0, f64::max);
    assert_eq!(writes.count(), 6, "deliveries and events of three portions");
    assert!((3_000.0..4_200.0).contains(&largest), "{largest}");
    assert_eq!((scene.deliveries(ENDPOINT).await.len(), scene.sqs.take().len()), (50, 1));
}

fn uuid(n: u128) -> uuid::Uuid {
    uuid::Uuid::from_u128(n)
}

#[test]
fn the_fixtures_show_one_contact() {
    let id = ContactId::parse("8c2d4e6f-1a3b-4c5d-8e7f-9a0b1c2d3e4f").unwrap();
    let workspace = WorkspaceId::parse(World::WORKSPACE).unwrap();
    for file in [CREATED, UPDATED] {
        let key = format!("{workspace}#C#{id}");
        assert_eq!(record(file)["dynamodb"]["Keys"]["pk"]["S"], json!(key));
    }
}

#[tokio::test]
async fn a_conflict_is_told_once() {
    let scene = Scene::with_endpoint().await;
    let contact = scene.world.contact(|_| ()).await;
    let (store, other) = (scene.world.db.store(), scene.world.contact(|_| ()).await.id);
    let conflict = Conflict::between(&contact, ConflictReason::NumberOfAnother, other, store.now());
    assert!(store.keep_conflict(&conflict).await.unwrap());
    scene.world.db.clock().advance(Duration::from_secs(1));
    let again = Conflict { at: store.now(), ..conflict.clone() };
    assert!(!store.keep_conflict(&again).await.unwrap());
    assert_eq!(
        store.conflicts(contact.workspace_id, contact.id).await.unwrap(),
        std::slice::from_ref(&conflict)
    );
    let records = scene.world.db.stream(Table::Contacts);
    assert!(scene.relayed(&records).await && scene.relayed(&records).await);
    let bodies = scene.bodies(ENDPOINT).await;
    let told: Vec<&Value> = bodies.iter().filter(|body| body["eventType"] == "contact.conflict").collect();
    let [told] = told[..] else { panic!("one event: {bodies:?}") };
    let expected = json!({
        "contactId": contact.id.to_string(),
        "workspaceId": contact.workspace_id.to_string(),
        "reason": "NUMBER_OF_ANOTHER",
        "otherContactId": other.to_string(),
        "occurredAt": conflict.at.to_string(),
    });
    assert_eq!((&told["entity"], &told["payload"]), (&json!("contact_conflicts"), &expected));
}
