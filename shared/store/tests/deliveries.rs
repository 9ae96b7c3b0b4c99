//! Events and deliveries over an embedded DynamoDB.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::time::Duration;

use domain::delivery::Next;
use domain::{
    Attempt, AttemptError, AttemptOutcome, Delivery, DeliveryState, EndpointId, Event, EventType, Timestamp,
    WorkspaceId,
};
use futures::future::join_all;
use harness::{Fault, TestClock, TestDb, trips};
use store::{Lease, Leased, Recorded, Settled, Store, StoreError};
use uuid::Uuid;

const MINUTE: Duration = Duration::from_secs(60);
const LEASE: Duration = Duration::from_secs(90);

fn workspace() -> WorkspaceId {
    WorkspaceId::from_uuid(Uuid::from_u128(1))
}

fn endpoint(n: u128) -> EndpointId {
    EndpointId::from_uuid(Uuid::from_u128(100 + n))
}

fn event(version: u64) -> Event {
    let contact = Uuid::from_u128(2);
    Event::of_change(EventType::ContactUpdated, workspace(), &contact, version, TestClock::START)
}

async fn record(db: &TestDb, version: u64) -> Delivery {
    let event = event(version);
    let body = format!("body {version}").into_bytes();
    let recorded =
        db.store().record_event(&event, Some("request-1"), body, &[endpoint(1)], 2 * MINUTE).await.unwrap();
    assert_eq!(recorded, Recorded::New);
    seen(db, &event).await
}

async fn seen(db: &TestDb, event: &Event) -> Delivery {
    let id = event.delivery_to(endpoint(1));
    db.store().delivery_with_attempts(workspace(), id).await.unwrap().unwrap().0
}

async fn ask(store: &Store, delivery: &Delivery) -> Lease {
    store.lease_delivery(delivery.workspace_id, delivery.id, LEASE).await.unwrap()
}

async fn take(store: &Store, delivery: &Delivery) -> Leased {
    match ask(store, delivery).await {
        Lease::Taken(leased) => leased,
        other => panic!("{other:?}"),
    }
}

fn attempt(leased: &Leased, status: u16) -> Attempt {
    Attempt {
        number: leased.delivery.attempts,
        at: TestClock::START,
        took: Duration::from_millis(12),
        outcome: AttemptOutcome::Answered { status, retry_after: None },
        answer: vec![0xff, b'x'],
    }
}

async fn finish(db: &TestDb, leased: &Leased, status: u16, next: Next) -> Settled {
    let due_at = match next {
        Next::Again { at } => at.plus(MINUTE),
        _ => db.store().now(),
    };
    db.store().finish_attempt(leased, &attempt(leased, status), next, due_at, MINUTE).await.unwrap()
}

async fn due(db: &TestDb) -> usize {
    let shards = (0..Store::DUE_SHARDS).map(|shard| db.store().due_deliveries(shard, 100));
    join_all(shards).await.into_iter().map(|due| due.unwrap().len()).sum()
}

async fn listed(db: &TestDb, state: Option<DeliveryState>, limit: usize) -> Vec<Delivery> {
    let (mut all, mut from) = (vec![], None);
    loop {
        let page = db.store().deliveries_of(workspace(), endpoint(1), state, limit, from).await.unwrap();
        assert!(page.deliveries.len() <= limit);
        all.extend(page.deliveries);
        from = page.next;
        if from.is_none() {
            return all;
        }
    }
}

#[tokio::test]
async fn a_repeated_event_changes_nothing_and_keeps_its_first_bytes() {
    let db = TestDb::start().await;
    let first = record(&db, 1).await;
    db.clock().advance(MINUTE);
    let (again, other, endpoints) = (event(1), b"other".to_vec(), [endpoint(1), endpoint(2)]);
    let recorded =
        db.store().record_event(&again, Some("request-2"), other, &endpoints, MINUTE).await.unwrap();
    assert_eq!(recorded, Recorded::AlreadyThere);
    assert_eq!(seen(&db, &event(1)).await, first);
    let recorded = db.store().recorded_event(workspace(), event(1).id).await.unwrap().unwrap();
    assert_eq!(recorded.body, b"body 1");
    let second = event(1).delivery_to(endpoint(2));
    assert_eq!(db.store().delivery_with_attempts(workspace(), second).await.unwrap(), None);
}

#[tokio::test]
async fn an_event_whose_answer_was_lost_is_recorded_once() {
    let db = TestDb::start().await;
    db.fail("TransactWriteItems", Fault::AnswerLost, 1);
    record(&db, 1).await;
    assert_eq!(listed(&db, None, 10).await.len(), 1);
}

#[tokio::test]
async fn of_many_workers_one_gets_the_lease() {
    let db = TestDb::start().await;
    let delivery = record(&db, 1).await;
    db.forget_calls();
    let asked = join_all((0..16).map(|_| ask(db.store(), &delivery))).await;
    let taken = asked.iter().filter(|lease| matches!(lease, Lease::Taken(_))).count();
    let held = asked.iter().filter(|lease| **lease == Lease::Held).count();
    assert_eq!((taken, held), (1, 15));
    // In one process they ask one after another, as a call names a row once; others' processes ask at the same time.
    assert_eq!(db.calls().len(), 16);
}

#[tokio::test]
async fn a_lease_whose_answer_was_lost_is_known_again() {
    let db = TestDb::start().await;
    let delivery = record(&db, 1).await;
    db.fail("BatchExecuteStatement", Fault::AnswerLost, 1);
    assert_eq!(take(db.store(), &delivery).await.delivery.attempts, 1);
}

#[tokio::test]
async fn a_lease_that_ran_out_is_a_failure_and_taken_over_and_its_late_end_is_lost_but_logged() {
    let db = TestDb::start().await;
    let delivery = record(&db, 1).await;
    let first = take(db.store(), &delivery).await;
    db.clock().advance(LEASE);
    assert_eq!(ask(db.store(), &delivery).await, Lease::Held, "until its very end");
    assert_eq!(due(&db).await, 1, "the sweeper sees the attempt whose lease ran out");
    db.clock().advance(Duration::from_millis(1));
    let Lease::Abandoned(dead, until) = ask(db.store(), &delivery).await else { panic!("not abandoned") };
    assert_eq!((dead.token, until), (first.token, TestClock::START.plus(LEASE)));
    let next = Next::Again { at: db.store().now() };
    assert_eq!(db.store().bury_attempt(&dead, next).await.unwrap(), Settled::Recorded);
    assert_eq!(finish(&db, &first, 200, Next::Delivered).await, Settled::Lost, "buried");
    let second = take(db.store(), &delivery).await;
    assert_eq!((second.delivery.attempts, second.delivery.failures), (2, 1));
    assert_eq!(db.store().bury_attempt(&dead, next).await.unwrap(), Settled::Lost);

    assert_eq!(finish(&db, &first, 200, Next::Delivered).await, Settled::Lost);
    assert_eq!(finish(&db, &second, 204, Next::Delivered).await, Settled::Recorded);
    let (delivery, attempts) =
        db.store().delivery_with_attempts(workspace(), delivery.id).await.unwrap().unwrap();
    assert_eq!(delivery.state, DeliveryState::Delivered);
    assert_eq!(attempts, [attempt(&first, 200), attempt(&second, 204)]);
}

#[tokio::test]
async fn an_end_whose_answer_was_lost_is_recorded_once_in_one_trip() {
    let db = TestDb::start().await;
    let leased = take(db.store(), &record(&db, 1).await).await;
    db.forget_calls();
    let at = db.store().now().plus(MINUTE);
    db.fail("BatchExecuteStatement", Fault::AnswerLost, 1);
    assert_eq!(finish(&db, &leased, 500, Next::Again { at }).await, Settled::Recorded);
    assert_eq!(trips(&db.calls()), 2, "and the one whose answer was lost");
    let delivery = seen(&db, &event(1)).await;
    assert_eq!((delivery.failures, delivery.attempts), (1, 1));
    assert_eq!((delivery.next_at, delivery.due_at), (at, Some(at.plus(MINUTE))));
}

#[tokio::test]
async fn an_end_is_recorded_however_busy_the_table_is_with_or_without_its_attempt() {
    let db = TestDb::start().await;
    let leased = take(db.store(), &record(&db, 1).await).await;
    let at = db.store().now().plus(MINUTE);
    // The SDK tries three times.
    db.fail("BatchExecuteStatement", Fault::Throttled, 7);
    assert_eq!(finish(&db, &leased, 500, Next::Again { at }).await, Settled::Recorded);
    let id = leased.delivery.id;
    let (delivery, attempts) = db.store().delivery_with_attempts(workspace(), id).await.unwrap().unwrap();
    assert_eq!((delivery.failures, attempts.len()), (1, 1));

    db.clock().set(at);
    let leased = take(db.store(), &delivery).await;
    db.fail("BatchExecuteStatement", Fault::InsertsThrottled, 5_000);
    assert_eq!(finish(&db, &leased, 204, Next::Delivered).await, Settled::Recorded);
    let (delivery, attempts) = db.store().delivery_with_attempts(workspace(), id).await.unwrap().unwrap();
    assert_eq!((delivery.state, attempts.len()), (DeliveryState::Delivered, 1));
}

#[tokio::test]
async fn a_retry_waits_for_its_time_and_one_more_failure_is_counted_each_time() {
    let db = TestDb::start().await;
    let delivery = record(&db, 1).await;
    for failures in 1..=3 {
        let leased = take(db.store(), &delivery).await;
        let at = db.store().now().plus(MINUTE);
        assert_eq!(finish(&db, &leased, 500, Next::Again { at }).await, Settled::Recorded);
        assert_eq!(ask(db.store(), &delivery).await, Lease::NotYet(at));
        assert_eq!(seen(&db, &event(1)).await.failures, failures);
        db.clock().advance(MINUTE);
    }
    assert_eq!(due(&db).await, 0, "the queue's message comes first");
    db.clock().advance(MINUTE);
    assert_eq!(due(&db).await, 1);
}

#[tokio::test]
async fn a_finished_delivery_leaves_the_due_index_and_cannot_be_taken() {
    let db = TestDb::start().await;
    for (version, next, state) in [
        (1, Next::Delivered, DeliveryState::Delivered),
        (2, Next::Exhausted, DeliveryState::Exhausted),
        (3, Next::Cancelled, DeliveryState::Cancelled),
    ] {
        let delivery = record(&db, version).await;
        let leased = take(db.store(), &delivery).await;
        assert_eq!(finish(&db, &leased, 500, next).await, Settled::Recorded);
        let Lease::Settled(settled) = ask(db.store(), &delivery).await else { panic!("{state:?}") };
        assert_eq!(settled.state, state);
        assert_eq!(listed(&db, Some(state), 10).await.len(), 1, "{state:?}");
    }
    db.clock().advance(10 * MINUTE);
    assert_eq!(due(&db).await, 0);
}

#[tokio::test]
async fn giving_back_spends_no_attempt() {
    let db = TestDb::start().await;
    let leased = take(db.store(), &record(&db, 1).await).await;
    let parked = Next::Parked { endpoint_gone: false };
    assert_eq!(db.store().give_back(&leased, parked, db.store().now()).await.unwrap(), Settled::Recorded);
    let delivery = seen(&db, &event(1)).await;
    assert_eq!((delivery.state, delivery.attempts), (DeliveryState::Parked, 0));
}

#[tokio::test]
async fn of_two_sweepers_one_claims_and_nobody_claims_what_was_worked_on() {
    let db = TestDb::start().await;
    let delivery = record(&db, 1).await;
    db.clock().advance(2 * MINUTE);
    let shards = (0..Store::DUE_SHARDS).map(|shard| db.store().due_deliveries(shard, 100));
    let due: Vec<_> = join_all(shards).await.into_iter().flat_map(Result::unwrap).collect();
    let until = db.store().now().plus(5 * MINUTE);
    let (one, other) =
        tokio::join!(db.store().claim_due(&due[0], until), db.store().claim_due(&due[0], until));
    let claimed: Vec<Delivery> = [one.unwrap(), other.unwrap()].into_iter().flatten().collect();
    assert_eq!(claimed.len(), 1);
    assert_eq!((claimed[0].id, claimed[0].endpoint_id), (delivery.id, endpoint(1)));
    assert_eq!(claimed[0].due_at, Some(until));

    take(db.store(), &delivery).await;
    assert_eq!(db.store().claim_due(&due[0], until).await.unwrap(), None);
}

#[tokio::test]
async fn an_endpoints_deliveries_are_listed_newest_first_each_once() {
    let db = TestDb::start().await;
    for version in 1..=23 {
        let delivery = record(&db, version).await;
        if version % 3 == 0 {
            finish(&db, &take(db.store(), &delivery).await, 500, Next::Exhausted).await;
        }
        db.clock().advance(Duration::from_millis(version % 2));
    }
    for limit in [1, 7, 23, 100] {
        let all = listed(&db, None, limit).await;
        assert_eq!(all.len(), 23, "{limit}");
        let order = |delivery: &Delivery| (delivery.created_at, delivery.id.to_string());
        assert!(all.windows(2).all(|pair| order(&pair[0]) > order(&pair[1])), "{limit}");
        assert_eq!(listed(&db, Some(DeliveryState::Exhausted), limit).await.len(), 7, "{limit}");
        assert_eq!(listed(&db, Some(DeliveryState::Pending), limit).await.len(), 16, "{limit}");
    }
    let none = db.store().deliveries_of(workspace(), endpoint(2), None, 10, None).await.unwrap();
    assert_eq!((none.deliveries.len(), none.next), (0, None));
}

#[tokio::test]
async fn a_batch_read_that_comes_to_nothing_is_repeated_with_pauses_and_not_for_ever() {
    let db = TestDb::start().await;
    record(&db, 1).await;
    db.fail("BatchGetItem", Fault::Unprocessed, 3);
    assert_eq!(listed(&db, None, 10).await.len(), 1);
    db.fail("BatchGetItem", Fault::Unprocessed, 3_000);
    let page = db.store().deliveries_of(workspace(), endpoint(1), None, 10, None).await;
    assert!(matches!(page, Err(StoreError::Busy(_))), "{page:?}");
}

#[tokio::test]
async fn a_deleted_endpoints_deliveries_are_cancelled_even_while_one_is_under_way() {
    let db = TestDb::start().await;
    let under_way = take(db.store(), &record(&db, 1).await).await;
    let parked = take(db.store(), &record(&db, 2).await).await;
    db.store().give_back(&parked, Next::Parked { endpoint_gone: false }, db.store().now()).await.unwrap();
    let done = take(db.store(), &record(&db, 3).await).await;
    finish(&db, &done, 200, Next::Delivered).await;

    assert_eq!(db.store().cancel_deliveries(workspace(), endpoint(1)).await.unwrap(), 2);
    assert_eq!(listed(&db, Some(DeliveryState::Cancelled), 10).await.len(), 2);
    assert_eq!(finish(&db, &under_way, 200, Next::Delivered).await, Settled::Lost);
    assert_eq!(seen(&db, &event(1)).await.state, DeliveryState::Cancelled);
    assert_eq!(listed(&db, Some(DeliveryState::Delivered), 10).await.len(), 1);
}

#[tokio::test]
async fn an_enabled_endpoints_parked_deliveries_are_due_at_once_with_the_whole_schedule() {
    let db = TestDb::start().await;
    let delivery = record(&db, 1).await;
    let leased = take(db.store(), &delivery).await;
    finish(&db, &leased, 500, Next::Again { at: db.store().now() }).await;
    let leased = take(db.store(), &delivery).await;
    finish(&db, &leased, 410, Next::Parked { endpoint_gone: true }).await;

    assert_eq!(db.store().unpark_deliveries(workspace(), endpoint(1)).await.unwrap(), 1);
    let delivery = seen(&db, &event(1)).await;
    assert_eq!((delivery.state, delivery.failures, delivery.attempts), (DeliveryState::Pending, 0, 2));
    assert_eq!(due(&db).await, 1);
    assert_eq!(listed(&db, Some(DeliveryState::Parked), 10).await, []);
    assert_eq!(take(db.store(), &delivery).await.delivery.attempts, 3);
}

#[tokio::test]
async fn a_parked_delivery_comes_up_after_ten_minutes_then_hourly_and_no_longer_than_a_fortnight() {
    let db = TestDb::start().await;
    let parking = Next::Parked { endpoint_gone: false };
    let leased = take(db.store(), &record(&db, 1).await).await;
    db.store().give_back(&leased, parking, db.store().now()).await.unwrap();
    db.clock().advance(10 * MINUTE - Duration::from_millis(1));
    assert_eq!(due(&db).await, 0);
    db.clock().advance(Duration::from_millis(1));
    assert_eq!(due(&db).await, 1);

    let parked = seen(&db, &event(1)).await;
    assert!(db.store().turn(&parked, parking).await.unwrap());
    assert_eq!(seen(&db, &event(1)).await.due_at, Some(db.store().now().plus(60 * MINUTE)));
    assert_eq!(ask(db.store(), &parked).await, Lease::Settled(seen(&db, &event(1)).await));
    db.clock().advance(Duration::from_secs(14 * 86_400) - 10 * MINUTE);
    assert!(!db.store().turn(&parked, parking).await.unwrap(), "it waits no longer for being looked at");
}

#[tokio::test]
async fn failures_recorded_while_a_parked_delivery_is_let_go_do_not_make_them_less_than_none() {
    let db = TestDb::start().await;
    let delivery = record(&db, 1).await;
    let leased = take(db.store(), &delivery).await;
    finish(&db, &leased, 500, Next::Again { at: db.store().now() }).await;
    let leased = take(db.store(), &delivery).await;
    db.store().give_back(&leased, Next::Parked { endpoint_gone: false }, db.store().now()).await.unwrap();
    // Two consoles enable the endpoint; between them the delivery is parked again.
    let parked = seen(&db, &event(1)).await;
    for _ in 0..2 {
        assert!(db.store().turn(&parked, Next::Again { at: db.store().now() }).await.unwrap());
        let delivery = seen(&db, &event(1)).await;
        assert_eq!((delivery.state, delivery.failures), (DeliveryState::Pending, 0));
        let leased = take(db.store(), &delivery).await;
        db.store().give_back(&leased, Next::Parked { endpoint_gone: false }, db.store().now()).await.unwrap();
    }
}

#[tokio::test]
async fn what_was_parked_for_a_fortnight_stays_where_it_is() {
    let db = TestDb::start().await;
    let leased = take(db.store(), &record(&db, 1).await).await;
    db.store().give_back(&leased, Next::Parked { endpoint_gone: false }, db.store().now()).await.unwrap();
    db.clock().advance(Duration::from_secs(14 * 86_400));
    assert_eq!(db.store().unpark_deliveries(workspace(), endpoint(1)).await.unwrap(), 0);
}

#[tokio::test]
async fn an_attempt_without_an_answer_keeps_its_code_and_a_long_answer_its_beginning() {
    let db = TestDb::start().await;
    let leased = take(db.store(), &record(&db, 1).await).await;
    let failed = Attempt {
        outcome: AttemptOutcome::Failed(AttemptError::TlsFailed),
        answer: vec![b'x'; 10_000],
        ..attempt(&leased, 0)
    };
    let next = Next::Again { at: Timestamp::from_millis(0) };
    db.store().finish_attempt(&leased, &failed, next, db.store().now(), MINUTE).await.unwrap();
    let (_, attempts) =
        db.store().delivery_with_attempts(workspace(), leased.delivery.id).await.unwrap().unwrap();
    assert_eq!(attempts, [Attempt { answer: vec![b'x'; Attempt::MAX_ANSWER], ..failed }]);
}
