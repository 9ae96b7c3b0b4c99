//! Definitions that a process remembers: they are read again when they changed, and a change shows at once.

use std::time::Duration;

use aws_sdk_dynamodb::types::AttributeValue;
use domain::{AttributeDefinition, AttributeType, Clock as _, Definitions, WorkspaceId};
use harness::{Death, Fault, World, trips};
use store::{Store, Table};

/// How old a version must be before a process remembers what it reads under it.
const SETTLING: Duration = Duration::from_secs(30);

async fn names(store: &Store, workspace: WorkspaceId) -> Vec<String> {
    let definitions = store.current_definitions(workspace).await.unwrap();
    definitions.iter().map(|definition| definition.key_name.clone()).collect()
}

/// A process that remembers the definitions.
async fn process(world: &World) -> Store {
    let store = world.db.store_of("contacts");
    world.db.clock().advance(SETTLING);
    store.current_definitions(world.workspace).await.unwrap();
    world.db.forget_calls();
    store
}

/// The calls of one read of the definitions, and its round trips.
async fn calls(world: &World, store: &Store) -> (Vec<String>, usize) {
    world.db.forget_calls();
    store.current_definitions(world.workspace).await.unwrap();
    let calls = world.db.calls();
    let mut operations: Vec<String> = calls.iter().map(|call| call.operation.clone()).collect();
    operations.sort();
    (operations, trips(&calls))
}

async fn rename(world: &World, definition: &AttributeDefinition, to: &str) -> AttributeDefinition {
    let store = world.db.store();
    let workspace = store.workspace(world.workspace).await.unwrap().unwrap();
    let renamed = definition.renamed(to).unwrap().unwrap();
    assert!(store.change_definition(&workspace, &renamed, &["keyName"], harness::operator()).await.unwrap());
    renamed
}

/// Changes attributes of a row behind the back of the store.
async fn set(world: &World, pk: &str, sk: &str, attributes: &[(&str, AttributeValue)]) {
    let key = |name: &str, value: &str| (name.to_owned(), AttributeValue::S(value.to_owned()));
    let mut update = world.db.client().update_item().table_name(world.db.table(Table::Workspaces));
    let mut sets = vec![];
    for (name, value) in attributes {
        sets.push(format!("#{name} = :{name}"));
        update = update
            .expression_attribute_names(format!("#{name}"), *name)
            .expression_attribute_values(format!(":{name}"), value.clone());
    }
    let update = update.set_key(Some([key("pk", pk), key("sk", sk)].into()));
    update.update_expression(format!("SET {}", sets.join(", "))).send().await.unwrap();
}

fn number(number: impl ToString) -> AttributeValue {
    AttributeValue::N(number.to_string())
}

#[tokio::test]
async fn definitions_that_stay_cost_one_read_of_the_workspace_however_many_they_are() {
    let world = World::start().await;
    for number in [0, 100] {
        for n in 0..number {
            world.open_attribute(&format!("key{n}"), AttributeType::Text, |_| ()).await;
        }
        let store = world.db.store_of("contacts");
        let (read, both) = (vec!["GetItem".to_owned()], vec!["GetItem".to_owned(), "Query".to_owned()]);
        assert_eq!(calls(&world, &store).await, (both.clone(), 1), "the version is new");
        world.db.clock().advance(SETTLING - Duration::from_millis(1));
        assert_eq!(calls(&world, &store).await, (both.clone(), 1), "the version is still too new");
        world.db.clock().advance(Duration::from_millis(1));
        assert_eq!(calls(&world, &store).await, (both.clone(), 1), "what is read now is remembered");
        assert_eq!(calls(&world, &store).await, (read.clone(), 1));
        let units: f64 = world.db.calls().iter().map(|call| call.read_units).sum();
        assert_eq!(units, 1.0);
        assert_eq!(store.current_definitions(world.workspace).await.unwrap().iter().count(), number);
        world.db.clock().advance(Duration::from_secs(299));
        assert_eq!(calls(&world, &store).await, (read, 1));
        world.db.clock().advance(Duration::from_secs(1));
        assert_eq!(calls(&world, &store).await, (both, 1), "after five minutes they are read again");
    }
}

#[tokio::test]
async fn a_change_shows_at_once_in_every_process() {
    let world = World::start().await;
    let tier = world.open_attribute("tier", AttributeType::Text, |_| ()).await;
    let (one, two) = (process(&world).await, process(&world).await);
    for store in [&one, &two] {
        assert_eq!(names(store, world.workspace).await, ["tier"]);
    }
    rename(&world, &tier, "level").await;
    for store in [&one, &two] {
        let expected = vec!["GetItem".to_owned(), "Query".to_owned()];
        assert_eq!(calls(&world, store).await, (expected, 2), "the version shows the change");
        assert_eq!(names(store, world.workspace).await, ["level"]);
    }
    world.db.clock().advance(SETTLING);
    names(&one, world.workspace).await;
    assert_eq!(calls(&world, &one).await, (vec!["GetItem".to_owned()], 1));
    world.open_attribute("plan", AttributeType::Text, |_| ()).await;
    assert_eq!(names(&one, world.workspace).await, ["level", "plan"]);
}

#[tokio::test]
async fn another_change_of_the_workspace_keeps_the_definitions_right() {
    let world = World::start().await;
    world.open_attribute("tier", AttributeType::Text, |_| ()).await;
    let store = process(&world).await;
    world.line("line", |_| ()).await;
    assert_eq!(names(&store, world.workspace).await, ["tier"]);
}

/// While a transaction is in progress, a read may show its new version, and a later one the row before the change.
#[tokio::test]
async fn half_of_a_transaction_is_not_remembered() {
    let world = World::start().await;
    let tier = world.open_attribute("tier", AttributeType::Text, |_| ()).await;
    for is_known in [false, true] {
        let store = if is_known { process(&world).await } else { world.db.store_of("contacts") };
        let version = world.db.store().workspace(world.workspace).await.unwrap().unwrap().version;
        let (of_workspace, of_definitions) =
            (format!("{}#W", world.workspace), format!("{}#A", world.workspace));
        let name = if is_known { "second" } else { "first" };
        let (next, now) = (number(version + 1), number(world.db.clock().now().as_millis()));
        let changes = [("version", next), ("changedAt", now)];
        set(&world, &of_workspace, "W", &changes).await;
        for _ in 0..6 {
            assert_ne!(names(&store, world.workspace).await, [name]);
            world.db.clock().advance(Duration::from_secs(1));
        }
        let renamed = [("keyName", AttributeValue::S(name.to_owned()))];
        set(&world, &of_definitions, &tier.id.to_string(), &renamed).await;
        assert_eq!(names(&store, world.workspace).await, [name]);
        world.db.clock().advance(SETTLING);
        for _ in 0..3 {
            assert_eq!(names(&store, world.workspace).await, [name]);
        }
        assert_eq!(calls(&world, &store).await, (vec!["GetItem".to_owned()], 1));
    }
}

#[tokio::test]
async fn a_change_during_a_read_is_not_missed() {
    let world = World::start().await;
    let mut tier = world.open_attribute("tier", AttributeType::Text, |_| ()).await;
    // The change comes between the two reads of a process that may not remember what it reads, that is about to
    // remember it, and that remembers the definitions before.
    for (round, held) in ["GetItem", "Query"].into_iter().enumerate() {
        for stage in ["new", "settled", "remembered"] {
            let store = match stage {
                "remembered" => process(&world).await,
                _ => world.db.store_of("contacts"),
            };
            if stage == "settled" {
                world.db.clock().advance(SETTLING);
            }
            if stage == "remembered" {
                if held == "GetItem" {
                    continue;
                }
                tier = rename(&world, &tier, &format!("{stage}{round}before")).await;
            }
            world.db.forget_calls();
            let hold = world.db.hold(held);
            let read = names(&store, world.workspace);
            let change = async {
                world.db.begun(held, 1).await;
                // The writer reads the workspace too, so it must not be the held call.
                let changed = rename(&world, &tier, &format!("{stage}{round}")).await;
                drop(hold);
                changed
            };
            let (_, changed) = futures::future::join(read, change).await;
            tier = changed;
            for _ in 0..3 {
                assert_eq!(names(&store, world.workspace).await, [tier.key_name.clone()], "{held} {stage}");
                world.db.clock().advance(SETTLING);
            }
        }
    }
}

#[tokio::test]
async fn a_process_that_dies_or_fails_in_a_read_leaves_nothing_wrong() {
    let world = World::start().await;
    let tier = world.open_attribute("tier", AttributeType::Text, |_| ()).await;
    let store = process(&world).await;
    rename(&world, &tier, "level").await;
    for (operation, fault) in [("GetItem", Fault::Throttled), ("Query", Fault::Throttled)] {
        world.db.fail(operation, fault, 3);
        assert!(store.current_definitions(world.workspace).await.is_err(), "{operation}");
        world.db.heal();
    }
    let dead = world.db.die_after(0, Death::After);
    tokio::select! {
        _ = store.current_definitions(world.workspace) => panic!("the process is dead"),
        _ = dead => {}
    }
    world.db.revive();
    assert_eq!(names(&store, world.workspace).await, ["level"]);
}

#[tokio::test]
async fn a_workspace_without_a_row_has_no_definitions() {
    let world = World::start().await;
    let store = world.db.store_of("contacts");
    let unknown = WorkspaceId::generate(world.db.store().ids());
    assert_eq!(*store.current_definitions(unknown).await.unwrap(), Definitions::default());
    world.db.forget_calls();
    assert_eq!(*store.current_definitions(unknown).await.unwrap(), Definitions::default());
    assert_eq!(world.db.calls().len(), 1);
}
