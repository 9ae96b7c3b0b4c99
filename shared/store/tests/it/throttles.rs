//! The throttle states of lines.

use std::time::Duration;

use domain::sending::End;
use domain::{ChannelId, LineThrottle, Timestamp};
use harness::{TestClock, TestDb};
use store::Table;

use crate::support::{OTHER, WORKSPACE};

fn line(channel: &str) -> ChannelId {
    ChannelId::parse(channel).unwrap()
}

fn until(seconds: u64, times: u32) -> LineThrottle {
    LineThrottle { until: Some(after(seconds)), times }
}

fn after(seconds: u64) -> Timestamp {
    TestClock::START.plus(Duration::from_secs(seconds))
}

#[tokio::test]
async fn the_throttle_state_of_a_line_is_kept_in_its_workspace_until_some_time_after_its_wait() {
    let db = TestDb::start().await;
    let calm = LineThrottle::default();
    let (store, channel) = (db.store_of("message-sender"), line("1"));
    db.forget_calls();
    assert_eq!(store.line_throttle(WORKSPACE, &channel).await, calm);
    store.remember_line(WORKSPACE, &channel, &calm, &End::LineThrottled(until(5, 2))).await;
    assert_eq!(store.line_throttle(WORKSPACE, &channel).await, until(5, 2));
    store.remember_line(WORKSPACE, &channel, &until(5, 2), &End::Sent("wamid".to_owned())).await;
    assert_eq!(store.line_throttle(WORKSPACE, &channel).await, until(5, 0));
    let units = |call: &harness::Call| (call.read_units, call.write_units);
    let calls: Vec<(f64, f64)> = db.calls().iter().map(units).collect();
    assert_eq!(calls, [(1.0, 0.0), (0.0, 1.0), (1.0, 0.0), (0.0, 1.0), (1.0, 0.0)]);
    let of = async |workspace| db.store().line_throttle(workspace, &channel).await;
    assert_eq!((of(WORKSPACE).await, of(OTHER).await), (until(5, 0), calm));
    let rows = db.rows(Table::Limits);
    let expires = after(5).plus(LineThrottle::REMEMBERED).as_seconds().to_string();
    assert!(rows.len() == 1 && rows.iter().all(|row| row["expiresAt"]["N"] == expires), "{rows:?}");
    db.clock().advance(LineThrottle::REMEMBERED + Duration::from_secs(6));
    assert_eq!(of(WORKSPACE).await, calm, "though it is still there");
}

#[tokio::test]
async fn most_ends_leave_the_throttle_state_unchanged() {
    let db = TestDb::start().await;
    let ends = [End::NotTaken, End::NotCalled, End::Throttled, End::Sent("wamid".to_owned())];
    for end in ends {
        db.store().remember_line(WORKSPACE, &line("1"), &LineThrottle::default(), &end).await;
    }
    assert_eq!(db.calls(), []);
}
