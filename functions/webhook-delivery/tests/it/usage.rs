//! What a visit counts.

use std::collections::BTreeMap;
use std::time::Duration;

use domain::usage::{Span, Step};

use crate::world::{World, event, secs, workspace};

impl World {
    /// The usage of the last ten days.
    async fn usage(&self) -> BTreeMap<String, u64> {
        let now = self.now().plus(Duration::from_millis(1));
        let span = Span { from: now.minus(secs(10 * 86_400)).to_day(), to: now, step: Step::Day };
        let mut all = BTreeMap::new();
        for step in self.store().usage(workspace(), span).await.unwrap() {
            for (name, count) in step.counts {
                *all.entry(name).or_default() += count;
            }
        }
        all
    }
}

fn counts(of: &[(&str, u64)]) -> BTreeMap<String, u64> {
    of.iter().map(|(name, number)| ((*name).to_owned(), *number)).collect()
}

#[tokio::test]
async fn acknowledged_deliveries_and_failed_attempts_count() {
    let world = World::empty().await;
    world.receivers.answer(204);
    world.receivers.answer(500);
    world.tell_events(&(0..2).map(event).collect::<Vec<_>>(), b"{}").await;
    world.visit().await;
    assert_eq!(world.usage().await, counts(&[("delivery.delivered", 1), ("delivery.failed", 1)]));
    world.receivers.answer(204);
    world.pass(secs(6));
    world.visit().await;
    assert_eq!(world.usage().await, counts(&[("delivery.delivered", 2), ("delivery.failed", 1)]));
}

#[tokio::test]
async fn the_last_failed_attempt_counts_as_exhausted_too() {
    let world = World::empty().await;
    world.receivers.always_answer(500);
    world.tell_events(&[event(0)], b"{}").await;
    for _ in 0..10 {
        world.visit().await;
        if let Some(next) = world.seen(0).await.0.next_at {
            world.db.clock().set(next);
        }
    }
    assert_eq!(world.usage().await, counts(&[("delivery.exhausted", 1), ("delivery.failed", 10)]));
}
