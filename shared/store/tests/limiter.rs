//! The rate limiter with several processes, each with its own memory.

#![allow(clippy::unwrap_used)] // also in helper functions

use std::time::Duration;

use domain::access::api_key::RateLimit;
use domain::{KeyId, WorkspaceId};
use futures::future::join_all;
use harness::{Fault, TestDb};
use store::{Admission, Limiter, StoreError, Table};
use uuid::Uuid;

const WORKSPACE: WorkspaceId = WorkspaceId::from_uuid(Uuid::from_u128(1));
const KEY: KeyId = KeyId::from_uuid(Uuid::from_u128(2));

fn limit(per_second: u32, burst: u32) -> RateLimit {
    RateLimit { per_second, burst }
}

async fn admit(limiter: &Limiter, limit: RateLimit) -> Admission {
    limiter.admit(WORKSPACE, KEY, limit).await.unwrap()
}

fn refused(millis: u64) -> Admission {
    Admission::Refused { retry_after: Duration::from_millis(millis) }
}

#[tokio::test]
async fn a_key_has_its_burst_and_then_its_rate() {
    let db = TestDb::start().await;
    let limiter = Limiter::new(db.store().clone());
    let limit = limit(10, 3);
    for _ in 0..3 {
        assert_eq!(admit(&limiter, limit).await, Admission::Admitted);
    }
    assert_eq!(admit(&limiter, limit).await, refused(100));
    db.clock().advance(Duration::from_millis(60));
    assert_eq!(admit(&limiter, limit).await, refused(40));
    db.clock().advance(Duration::from_millis(40));
    assert_eq!(admit(&limiter, limit).await, Admission::Admitted);
    assert_eq!(admit(&limiter, limit).await, refused(100));
    db.clock().advance(Duration::from_secs(60));
    for _ in 0..3 {
        assert_eq!(admit(&limiter, limit).await, Admission::Admitted);
    }
    assert_eq!(admit(&limiter, limit).await, refused(100));
}

#[tokio::test]
async fn each_key_has_its_own_bucket() {
    let db = TestDb::start().await;
    let limiter = Limiter::new(db.store().clone());
    for key in 0..3 {
        let key = KeyId::from_uuid(Uuid::from_u128(key));
        let admitted = limiter.admit(WORKSPACE, key, limit(1, 1)).await.unwrap();
        assert_eq!(admitted, Admission::Admitted);
    }
}

#[tokio::test]
async fn a_request_is_one_write_two_after_a_wrong_assumption_and_none_while_the_bucket_is_empty() {
    let db = TestDb::start().await;
    let (one, other) = (Limiter::new(db.store().clone()), Limiter::new(db.store().clone()));
    let limit = limit(10, 3);
    let writes = async |limiter: &Limiter, expected: Admission| {
        db.forget_calls();
        assert_eq!(admit(limiter, limit).await, expected);
        let calls = db.calls();
        assert!(calls.iter().all(|call| call.operation == "UpdateItem" && call.write_units <= 1.0));
        calls.len()
    };
    assert_eq!(writes(&one, Admission::Admitted).await, 1);
    assert_eq!(writes(&one, Admission::Admitted).await, 1);
    // The other process assumes that the bucket is idle, learns that it is hot, and remembers that.
    assert_eq!(writes(&other, Admission::Admitted).await, 2);
    assert_eq!(writes(&one, refused(100)).await, 1);
    assert_eq!(writes(&one, refused(100)).await, 0);
    assert_eq!(writes(&other, refused(100)).await, 0);
    // The bucket is full again, and this process assumes so, because its remembered state is in the past.
    db.clock().advance(Duration::from_secs(10));
    assert_eq!(writes(&one, Admission::Admitted).await, 1);
}

#[tokio::test]
async fn the_bucket_of_an_unused_key_expires_after_a_day() {
    let db = TestDb::start().await;
    let limiter = Limiter::new(db.store().clone());
    admit(&limiter, limit(10, 3)).await;
    let scan = db.client().scan().table_name(db.table(Table::Limits)).send().await.unwrap();
    let rows = scan.items.unwrap();
    assert_eq!(rows.len(), 1);
    let expires: i64 = rows[0]["expiresAt"].as_n().unwrap().parse().unwrap();
    assert_eq!(expires, db.store().now().as_seconds() + 86_400);
    assert_eq!(rows[0]["pk"].as_s().unwrap(), &format!("{WORKSPACE}#{KEY}"));
}

#[tokio::test]
async fn a_limiter_that_cannot_reach_the_table_is_busy() {
    let db = TestDb::start().await;
    let limiter = Limiter::new(db.store().clone());
    db.fail("UpdateItem", Fault::Throttled, 3);
    let answer = limiter.admit(WORKSPACE, KEY, limit(10, 3)).await;
    assert!(matches!(answer, Err(StoreError::Busy(_))));
    assert_eq!(admit(&limiter, limit(10, 3)).await, Admission::Admitted);
}

#[tokio::test]
async fn sixteen_processes_together_admit_no_more_than_the_limit_and_nearly_as_much() {
    const STEP: Duration = Duration::from_millis(4);
    for (per_second, burst, steps) in [(50, 20, 150), (200, 10, 100), (10, 1, 150)] {
        let db = TestDb::start().await;
        let limit = limit(per_second, burst);
        let processes: Vec<Limiter> = (0..16).map(|_| Limiter::new(db.store().clone())).collect();
        let begun = db.store().now();
        let mut admitted = 0;
        for _ in 0..steps {
            let answers = join_all(processes.iter().map(|process| admit(process, limit))).await;
            admitted += answers.iter().filter(|answer| **answer == Admission::Admitted).count();
            let millis = db.store().now().since(begun).as_millis() as usize;
            let most = per_second as usize * millis / 1_000 + burst as usize;
            assert!(admitted <= most, "{per_second}/s {burst}: {admitted} of {most} after {millis} ms");
            db.clock().advance(STEP);
        }
        let millis = db.store().now().since(begun).as_millis() as usize;
        let most = per_second as usize * millis / 1_000 + burst as usize;
        assert!(admitted * 100 >= most * 85, "{per_second}/s {burst}: {admitted} of {most}");
        let writes = db.calls().len();
        assert!(writes <= admitted * 12 + 64, "{per_second}/s {burst}: {writes} writes for {admitted}");
    }
}
