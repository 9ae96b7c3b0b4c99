//! Tables that fail for a while, and what is relayed after Lambda gave it up.

use std::time::Duration;

use event_relay::{Redriver, Relay};
use harness::{Fault, TestDb, TestFailures, World, relay_gives_up};
use runtime::Metrics;
use serde_json::json;
use tokio::time::{Instant, sleep};

use crate::{ENDPOINT, Scene, from_the_future, record_of, stream_event};

const OUTAGE: Duration = Duration::from_secs(600);

#[tokio::test(start_paused = true)]
async fn an_outage_of_ten_minutes_gives_no_record_to_the_failure_bucket() {
    let (tries, age) = relay_gives_up();
    for (contact, operation) in (1..).zip(["Query", "BatchGetItem", "BatchWriteItem", "UpdateItem"]) {
        let mut scene = Scene::of(World::over(TestDb::simulated()).await).await;
        scene.endpoint(ENDPOINT, &[]).await;
        scene.relay.waits = Relay::WAITS;
        scene.world.db.fail(operation, Fault::Throttled, 10_000);
        let batch = stream_event(&[record_of(contact)]);
        let begun = Instant::now();
        // Lambda, which may not pause between its tries.
        let lambda = async {
            let mut tried = 1;
            while !scene.relayed(&batch).await {
                tried += 1;
                assert!(
                    tried <= tries && begun.elapsed() <= age,
                    "{operation}: given up after {tried} tries"
                );
            }
            tried
        };
        let heal = async {
            sleep(OUTAGE).await;
            scene.world.db.heal();
        };
        let (tried, ()) = tokio::join!(lambda, heal);
        assert!(tried <= 21, "{operation}: {tried}");
        assert!(begun.elapsed() < OUTAGE + Duration::from_secs(30), "{operation}: {:?}", begun.elapsed());
        assert_eq!(scene.deliveries(ENDPOINT).await.len(), 1, "{operation}");
    }
    assert!(Relay::WAITS * tries >= age, "an outage can use up the tries before the age");
}

#[tokio::test(start_paused = true)]
async fn a_record_that_cannot_be_read_uses_up_its_tries_without_waiting() {
    let mut scene = Scene::of(World::over(TestDb::simulated()).await).await;
    scene.relay.waits = Relay::WAITS;
    let begun = Instant::now();
    assert!(!scene.relayed(&stream_event(&[from_the_future(1)])).await);
    assert!(begun.elapsed() < Duration::from_secs(1));
}

#[tokio::test]
async fn what_lambda_gave_up_is_relayed_by_the_schedule_once_it_can_be() {
    let scene = Scene::with_endpoint().await;
    let failures = TestFailures::default();
    let object = |records: &[serde_json::Value]| json!({ "payload": stream_event(records) }).to_string();
    failures.put("aws/lambda/m/s/1", "2026-01-02T00:00:00Z", object(&[from_the_future(1)]));
    failures.put("aws/lambda/m/s/2", "2026-01-02T00:00:01Z", "no object of Lambda");
    failures.put("aws/lambda/m/s/3", "2026-01-02T00:00:02Z", object(&[record_of(3), record_of(4)]));
    let (metrics, counted) = Metrics::kept(scene.world.db.clock().clone());
    let redriver = Redriver {
        relay: scene.relay.of_the_bucket(metrics),
        failures: failures.bucket(),
        budget: Redriver::BUDGET,
    };
    scene.world.db.fail("Query", Fault::Unreachable, 10_000);
    assert_eq!(redriver.run().await.unwrap(), (0, 3));
    assert_eq!(failures.keys().len(), 3);

    scene.world.db.heal();
    assert_eq!(redriver.run().await.unwrap(), (1, 2));
    assert_eq!(failures.keys(), ["aws/lambda/m/s/1", "aws/lambda/m/s/2"]);
    assert_eq!(scene.deliveries(ENDPOINT).await.len(), 2);
    assert!(
        !counted.values().is_empty() && scene.counted.values().is_empty(),
        "alarms are about the streams"
    );
}
