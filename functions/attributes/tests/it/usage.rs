//! GET /usage.

use std::time::Duration;

use domain::usage::{DELIVERED, FAILED, Tally};
use harness::Answer;
use serde_json::{Value, json};

use crate::{Attributes, code};

impl Attributes {
    /// Counts as if an invocation ended at this time.
    async fn used(&self, counts: &[(&'static str, usize)]) {
        let store = self.world.db.store();
        let mut tally = Tally::default();
        for (name, number) in counts {
            (0..*number).for_each(|_| tally.add(self.world.workspace, store.now(), name));
        }
        store.count_usage(&tally).await;
        self.world.db.clock().advance(Duration::from_hours(1));
    }

    async fn usage(&self, query: &[(&str, &str)]) -> Answer {
        self.send(self.world.event("attributes-usage.json").query(query)).await
    }
}

fn steps(answer: &Answer) -> Vec<(&str, &Value)> {
    assert_eq!(answer.status, 200, "{}", answer.text);
    let steps = answer.json["steps"].as_array().unwrap();
    steps.iter().map(|step| (step["at"].as_str().unwrap(), &step["counts"])).collect()
}

// The clock of the tests begins at 2026-01-02T03:04:05.678Z.
#[tokio::test]
async fn the_last_24_hours_are_shown_hour_by_hour_and_days_on_request() {
    let f = Attributes::start().await;
    let other = f.world.second_workspace().await.0;
    f.used(&[(DELIVERED, 2), (FAILED, 1)]).await;
    f.used(&[(DELIVERED, 1)]).await;
    let mut foreign = Tally::default();
    foreign.add(other, f.world.db.store().now(), DELIVERED);
    f.world.db.store().count_usage(&foreign).await;

    let answer = f.usage(&[]).await;
    let shown = steps(&answer);
    assert_eq!(shown.len(), 24);
    let three = json!({"delivery.delivered": 2, "delivery.failed": 1});
    let nothing = json!({});
    assert_eq!(
        shown[20..],
        [
            ("2026-01-02T02:00:00.000Z", &nothing),
            ("2026-01-02T03:00:00.000Z", &three),
            ("2026-01-02T04:00:00.000Z", &json!({"delivery.delivered": 1})),
            ("2026-01-02T05:00:00.000Z", &nothing),
        ]
    );
    assert!(shown[..20].iter().all(|(_, counts)| **counts == nothing));

    let answer = f.usage(&[("step", "DAY")]).await;
    let shown = steps(&answer);
    assert_eq!((shown.len(), shown[29].0), (30, "2026-01-02T00:00:00.000Z"));
    assert_eq!(*shown[29].1, json!({"delivery.delivered": 3, "delivery.failed": 1}));

    let span = [("from", "2026-01-02T04:30:00+01:00"), ("to", "2026-01-02T04:00:00Z"), ("step", "HOUR")];
    assert_eq!(steps(&f.usage(&span).await), [("2026-01-02T03:00:00.000Z", &three)]);
}

#[tokio::test]
async fn all_writers_of_an_hour_add_up_and_a_read_is_one_call() {
    let f = Attributes::start().await;
    let mut tally = Tally::default();
    tally.add(f.world.workspace, f.world.db.store().now(), DELIVERED);
    for _ in 0..8 {
        f.world.db.store().count_usage(&tally).await;
        f.world.db.clock().advance(Duration::from_millis(1));
    }
    f.usage(&[]).await;
    f.world.db.clock().advance(Duration::from_secs(1));
    f.world.db.spent();
    let answer = f.usage(&[("from", "2026-01-02T03:00:00Z")]).await;
    assert_eq!(steps(&answer), [("2026-01-02T03:00:00.000Z", &json!({"delivery.delivered": 8}))]);
    assert_eq!(f.world.db.spent(), (1, 1.0), "the write is the limiter's");
}

#[tokio::test]
async fn a_wrong_query_is_refused_with_all_failures() {
    let f = Attributes::start().await;
    let refused = async |query: &[(&str, &str)]| {
        let answer = f.usage(query).await;
        assert_eq!(code(&answer), (422, "SERVICE_CORE_0422"), "{}", answer.text);
        let failures = answer.json["detail"].as_array().unwrap().clone();
        failures.iter().map(|failure| (failure["loc"].clone(), failure["type"].clone())).collect::<Vec<_>>()
    };
    assert_eq!(
        refused(&[("from", "monday"), ("to", "2026-01-02"), ("step", "WEEK"), ("unit", "DAY")]).await.len(),
        4
    );
    let from = json!(["query", "from"]);
    let value = json!("value_error");
    for query in [
        &[("from", "2025-12-02T03:04:05.677Z")][..],
        &[("from", "2026-01-03T00:00:00Z")],
        &[("from", "2026-01-01T01:00:00Z"), ("to", "2026-01-01T01:00:00Z")],
    ] {
        assert_eq!(refused(query).await, [(from.clone(), value.clone())], "{query:?}");
    }
}
