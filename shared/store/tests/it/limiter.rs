//! The rate limiter with several processes, each with its own memory.

use std::time::Duration;

use crate::support::Dice;
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
async fn all_processes_share_the_bucket_of_a_lead_capture() {
    let db = TestDb::start().await;
    let limit = limit(10, 4);
    let processes: [Limiter; 3] = std::array::from_fn(|_| Limiter::new(db.store().clone()));
    let admit = async |process: usize| processes[process].admit_to_capture(WORKSPACE, limit).await.unwrap();
    for process in [0, 1, 0, 2] {
        assert_eq!(admit(process).await, Admission::Admitted);
    }
    for process in [0, 1, 2] {
        assert_eq!(admit(process).await, refused(100));
    }
    // The first process knows the bucket, which is full again.
    db.clock().advance(Duration::from_secs(10));
    for process in [0, 0, 1, 2] {
        assert_eq!(admit(process).await, Admission::Admitted);
    }
    assert_eq!(admit(0).await, refused(100));
}

#[tokio::test]
async fn the_row_of_an_unused_key_expires_after_400_days_and_that_of_a_capture_after_one() {
    let db = TestDb::start().await;
    let limiter = Limiter::new(db.store().clone());
    admit(&limiter, limit(10, 3)).await;
    limiter.admit_to_capture(WORKSPACE, limit(10, 3)).await.unwrap();
    let mut rows = db.rows(Table::Limits);
    rows.sort_by_key(|row| row["pk"]["S"].to_string());
    let expires = |row: usize| rows[row]["expiresAt"]["N"].as_str().unwrap().parse::<i64>().unwrap();
    let now = db.store().now().as_seconds();
    assert_eq!(
        (rows[0]["pk"]["S"].as_str(), expires(0)),
        (Some(&*format!("{WORKSPACE}#{KEY}")), now + 400 * 86_400)
    );
    assert_eq!((rows[1]["pk"]["S"].as_str(), expires(1)), (Some(&*format!("{WORKSPACE}#K")), now + 86_400));
}

#[tokio::test]
async fn the_limiters_write_stores_the_minute_in_which_a_key_was_last_used() {
    let db = TestDb::start().await;
    let (store, limiter) = (db.store(), Limiter::new(db.store().clone()));
    let never = KeyId::from_uuid(Uuid::from_u128(3));
    let uses = async || {
        let uses = store.last_uses(WORKSPACE, &[never, KEY]).await.unwrap();
        assert_eq!(uses[0], None);
        uses[1].map(|used| used.to_string())
    };
    assert_eq!(uses().await, None);
    admit(&limiter, limit(10, 3)).await;
    assert_eq!(uses().await.as_deref(), Some("2026-01-02T03:04:00.000Z"));
    admit(&limiter, limit(10, 3)).await;
    db.clock().advance(Duration::from_secs(60));
    db.forget_calls();
    admit(&limiter, limit(10, 3)).await;
    assert_eq!(db.operations(), ["UpdateItem limits"]);
    assert_eq!(uses().await.as_deref(), Some("2026-01-02T03:05:00.000Z"));
    assert!(store.last_uses(WORKSPACE, &[]).await.unwrap().is_empty());
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

/// Admits requests at the given gaps, and returns the number of writes.
async fn writes_at(
    db: &TestDb,
    limiter: &Limiter,
    limit: RateLimit,
    requests: usize,
    gap: Duration,
) -> usize {
    db.forget_calls();
    for _ in 0..requests {
        assert_eq!(admit(limiter, limit).await, Admission::Admitted);
        db.clock().advance(gap);
    }
    db.calls().len()
}

#[tokio::test]
async fn a_steady_load_makes_one_write_for_three_requests_after_its_first_second() {
    let db = TestDb::start().await;
    let limiter = Limiter::new(db.store().clone());
    for (requests_in_a_second, gap) in [(50, 20), (25, 40), (5, 200)] {
        db.clock().advance(Duration::from_secs(60));
        let gap = Duration::from_millis(gap);
        let first = writes_at(&db, &limiter, RateLimit::DEFAULT, requests_in_a_second, gap).await;
        assert_eq!(first, requests_in_a_second, "no lease in the first second");
        assert_eq!(writes_at(&db, &limiter, RateLimit::DEFAULT, 90, gap).await, 30, "{gap:?}");
    }
    // A quiet key takes one write.
    db.clock().advance(Duration::from_secs(60));
    assert_eq!(writes_at(&db, &limiter, RateLimit::DEFAULT, 3, Duration::from_secs(1)).await, 3);
}

#[tokio::test]
async fn the_quota_of_a_workspace_is_leased_as_well() {
    let db = TestDb::start().await;
    let limiter = Limiter::new(db.store().clone());
    for _ in 0..2 {
        db.forget_calls();
        for _ in 0..50 {
            let admission = limiter.admit_to_capture(WORKSPACE, limit(100, 1_000)).await.unwrap();
            assert_eq!(admission, Admission::Admitted);
            db.clock().advance(Duration::from_millis(20));
        }
    }
    assert_eq!(db.calls().len(), 10, "five requests each");
}

#[tokio::test]
async fn a_changed_limit_counts_from_the_next_request() {
    let db = TestDb::start().await;
    let limiter = Limiter::new(db.store().clone());
    let gap = Duration::from_millis(100);
    assert_eq!(writes_at(&db, &limiter, RateLimit::DEFAULT, 11, gap).await, 11);
    // The process holds two tokens, which another limit does not know. The row is 400 ms ahead.
    let refused = admit(&limiter, limit(1, 1)).await;
    assert!(matches!(refused, Admission::Refused { .. }), "{refused:?}");
    assert_eq!(writes_at(&db, &limiter, RateLimit::DEFAULT, 1, Duration::ZERO).await, 0);
    assert_eq!(writes_at(&db, &limiter, limit(50, 99), 1, Duration::ZERO).await, 1);
}

/// The algorithm without leases, in one process. It admits a sequence of requests if, and only if, no span of time has
/// more of them than the limit permits.
struct Judge {
    limit: RateLimit,
    tat: i64,
    admitted: usize,
}

impl Judge {
    fn new(limit: RateLimit) -> Self {
        Self { limit, tat: 0, admitted: 0 }
    }

    fn admits(&mut self, now: i64) -> bool {
        let interval = i64::from(1_000_000_u32.div_ceil(self.limit.per_second));
        let admits = self.tat <= now + interval * i64::from(self.limit.burst - 1);
        if admits {
            self.tat = self.tat.max(now) + interval;
            self.admitted += 1;
        }
        admits
    }
}

fn micros(db: &TestDb) -> i64 {
    db.store().now().as_millis() * 1_000
}

#[tokio::test]
async fn sixteen_processes_together_admit_no_more_than_the_limit_and_nearly_as_much() {
    const STEP: Duration = Duration::from_millis(4);
    for (per_second, burst, steps) in [(50, 20, 150), (200, 10, 100), (10, 1, 150)] {
        let db = TestDb::start().await;
        let limit = limit(per_second, burst);
        let processes: Vec<Limiter> = (0..16).map(|_| Limiter::new(db.store().clone())).collect();
        let begun = db.store().now();
        let mut judge = Judge::new(limit);
        for _ in 0..steps {
            let answers = join_all(processes.iter().map(|process| admit(process, limit))).await;
            let now = micros(&db);
            let mut admitted = answers.iter().filter(|answer| **answer == Admission::Admitted);
            assert!(admitted.all(|_| judge.admits(now)), "{per_second}/s {burst}: {}", judge.admitted);
            db.clock().advance(STEP);
        }
        let admitted = judge.admitted;
        let millis = db.store().now().since(begun).as_millis() as usize;
        let most = per_second as usize * millis / 1_000 + burst as usize;
        assert!(admitted * 100 >= most * 85, "{per_second}/s {burst}: {admitted} of {most}");
        let writes = db.calls().len();
        assert!(writes <= admitted * 12 + 64, "{per_second}/s {burst}: {writes} writes for {admitted}");
    }
}

/// The load is even, then too high, then light; then come a pause, a burst, and the load that the limit just permits. Some
/// writes fail, and some answers are lost.
#[tokio::test]
async fn sixteen_processes_that_lease_admit_no_more_in_any_span_of_time_and_nearly_as_much() {
    const STEP: Duration = Duration::from_millis(10);
    for (seed, limit, most_writes) in [(1, limit(300, 300), 1_000), (2, limit(400, 800), 800)] {
        let db = TestDb::start().await;
        let processes: Vec<Limiter> = (0..16).map(|_| Limiter::new(db.store().clone())).collect();
        let (mut dice, mut judge, mut ideal) = (Dice::new(seed), Judge::new(limit), Judge::new(limit));
        let mut writes = 0;
        for (hundredths_of_the_rate, steps) in
            [(80, 150), (200, 50), (60, 120), (0, 40), (500, 40), (100, 120)]
        {
            db.forget_calls();
            let mut requests = 0;
            for _ in 0..steps {
                let most = 2 * limit.per_second as usize * hundredths_of_the_rate / 100;
                let asking = (dice.below(most + 1) + dice.below(100)) / 100;
                let asking: Vec<_> = (0..asking).map(|_| &processes[dice.below(16)]).collect();
                if dice.one_in(100) {
                    db.fail("UpdateItem", dice.pick(&[Fault::AnswerLost, Fault::Unreachable]), 1);
                }
                let answers = asking.into_iter().map(|process| process.admit(WORKSPACE, KEY, limit));
                let now = micros(&db);
                for answer in join_all(answers).await {
                    requests += 1;
                    ideal.admits(now);
                    // A request whose write fails is not admitted.
                    let admitted = matches!(answer, Ok(Admission::Admitted));
                    assert!(!admitted || judge.admits(now), "{limit:?} at {hundredths_of_the_rate} %");
                }
                db.clock().advance(STEP);
            }
            writes = db.calls().len() * 1_000 / requests.max(1);
        }
        assert!(judge.admitted * 100 >= ideal.admitted * 90, "{} of {}", judge.admitted, ideal.admitted);
        assert!(writes <= most_writes, "{writes} writes for 1,000 requests at the rate of the limit");
    }
}
