//! Events are recorded with their deliveries, and lanes are notified of them.

use std::time::Duration;

use domain::Retention;
use domain::webhook::delivery::Next;
use domain::webhook::job::Job;
use domain::{AttemptError, AttemptOutcome, EventId, JobId, JobKind, Rest, RetrySchedule, Track};
use harness::{Death, Fault, trips};
use store::{NewEvent, NotifyResult, Released, StoreError, Table};
use uuid::Uuid;

use crate::support::hooks::{Hooks, LEASE, MINUTE, MOMENT, RESCUE, event, place, slot, workspace};

async fn standing(hooks: &Hooks, events: &[NewEvent]) -> Vec<EventId> {
    let asked: Vec<_> = events.iter().map(|new| (workspace(), new.event.id)).collect();
    let mut standing: Vec<_> = hooks.store().recorded_events(&asked).await.unwrap().into_keys().collect();
    standing.sort_unstable();
    standing
}

fn ids(events: &[NewEvent]) -> Vec<EventId> {
    let mut ids: Vec<_> = events.iter().map(|new| new.event.id).collect();
    ids.sort_unstable();
    ids
}

#[tokio::test]
async fn an_event_is_recorded_with_its_deliveries_and_its_body() {
    let hooks = Hooks::start().await;
    let new = NewEvent { slots: (1..=10).map(slot).collect::<Vec<_>>().into(), ..event(1, 0) };
    assert_eq!(standing(&hooks, std::slice::from_ref(&new)).await, []);
    hooks.db.forget_calls();
    hooks.record(std::slice::from_ref(&new)).await;
    assert_eq!(trips(&hooks.db.calls()), 2);
    assert_eq!(hooks.cost().0, 11.0, "ten deliveries and the event");
    let found = hooks.store().recorded_event(workspace(), new.event.id).await.unwrap().unwrap();
    assert_eq!((found.id, found.at, found.event_type), (new.event.id, new.event.at, new.event.event_type));
    assert_eq!((found.body, found.request, &found.slots), (new.body, new.request, &new.slots.enabled));
    let asked = [(workspace(), new.event.id); 2];
    let standing = hooks.store().recorded_events(&asked).await.unwrap();
    assert_eq!(
        standing[&new.event.id], new.slots.enabled,
        "a repeat is notified to the lanes that it was recorded for"
    );
    for n in 1..=10 {
        let (deliveries, next) = hooks.store().fresh_deliveries(slot(n), None, 10).await.unwrap();
        assert_eq!((deliveries.len(), next, deliveries[0].event), (1, None, new.event.id));
        assert_eq!((deliveries[0].attempts, deliveries[0].next_at), (0, None));
    }
}

#[tokio::test]
async fn wherever_the_recorder_dies_a_recorded_event_has_all_its_deliveries() {
    // Two calls for the deliveries, two for the events.
    for calls in 0..4 {
        for death in [Death::Before, Death::After] {
            let hooks = Hooks::start().await;
            let events: Vec<NewEvent> = (0..30).map(|n| event(n, n as i64)).collect();
            let mut dead = hooks.db.die_after(calls, death);
            tokio::select! {
                ends = hooks.store().record_events(&events) => panic!("nobody died: {ends:?}"),
                _ = &mut dead => {}
            }
            hooks.db.revive();
            let homes: Vec<EventId> = hooks.all().await.iter().map(|home| home.event).collect();
            let stand = standing(&hooks, &events).await;
            assert!(stand.iter().all(|event| homes.contains(event)), "{calls} {death:?}");
            assert!(stand.len() < 30 || (calls, death) == (3, Death::After), "{calls} {death:?}");

            hooks.record(&events).await;
            assert_eq!(standing(&hooks, &events).await, ids(&events));
            assert_eq!(hooks.all().await.len(), 30, "each once");
        }
    }
}

#[tokio::test]
async fn a_repeated_record_changes_nothing() {
    let hooks = Hooks::start().await;
    let events = [event(1, 0), event(2, 1)];
    hooks.record(&events).await;
    let rows = hooks.rows("");
    hooks.record(&events).await;
    assert_eq!(hooks.rows(""), rows);
}

#[tokio::test]
async fn an_expired_event_counts_as_absent() {
    let hooks = Hooks::start().await;
    let events = [event(1, 0)];
    hooks.record(&events).await;
    hooks.db.clock().advance(Retention::EVENTS);
    assert_eq!(standing(&hooks, &events).await, ids(&events));
    hooks.db.clock().advance(Duration::from_secs(1));
    assert_eq!(standing(&hooks, &events).await, [], "DynamoDB deletes it late");
}

#[tokio::test]
async fn an_event_and_its_deliveries_are_kept_as_long_as_the_deployment_says() {
    let hooks = Hooks::start().await;
    let kept = Duration::from_secs(5 * 86_400);
    let store = hooks.store().clone().with_retention(Retention { events: kept, ..Retention::default() });
    let new = event(1, 0);
    let now = store.now();
    store.record_events(std::slice::from_ref(&new)).await.into_iter().collect::<Result<(), _>>().unwrap();
    let ttl = now.plus(kept).as_seconds().to_string();
    let rows = hooks.db.rows(Table::Webhooks);
    assert!(rows.len() >= 2 && rows.iter().all(|row| row["expiresAt"]["N"] == ttl.as_str()), "{rows:?}");
    let home = hooks.all().await.remove(0);
    assert_eq!(home.recorded_at, now, "whatever the retention is");
}

#[tokio::test]
async fn a_refused_row_does_not_affect_the_others() {
    let hooks = Hooks::start().await;
    let mut events: Vec<NewEvent> = (0..30).map(|n| event(n, n as i64)).collect();
    events[7].body = vec![b'x'; 500_000];
    let ends = hooks.store().record_events(&events).await;
    for (at, end) in ends.iter().enumerate() {
        assert_eq!(matches!(end, Err(StoreError::Failed(_))), at == 7, "{at}: {end:?}");
    }
    let refused = events.remove(7);
    assert_eq!(standing(&hooks, &events).await, ids(&events));
    assert_eq!(standing(&hooks, &[refused]).await, []);
}

#[tokio::test]
async fn a_batch_of_200_events_is_recorded_even_if_the_table_takes_parts_of_it() {
    let hooks = Hooks::start().await;
    let events: Vec<NewEvent> = (0..200).map(|n| event(n, n as i64 / 3)).collect();
    for (fault, times) in [(Fault::Throttled, 9), (Fault::HalfProcessed, 9), (Fault::Unprocessed, 9)] {
        hooks.db.fail("BatchWriteItem", fault, times);
    }
    hooks.record(&events).await;
    assert_eq!(standing(&hooks, &events).await, ids(&events));
    assert_eq!(hooks.all().await.len(), 200);
}

#[tokio::test]
async fn events_that_a_busy_table_does_not_take_are_reported_and_not_recorded() {
    let hooks = Hooks::start().await;
    let events: Vec<NewEvent> = (0..60).map(|n| event(n, n as i64)).collect();
    hooks.db.fail("BatchWriteItem", Fault::Unprocessed, 10_000);
    let ends = hooks.store().record_events(&events).await;
    assert!(ends.iter().all(|end| matches!(end, Err(StoreError::Busy(_)))), "{ends:?}");
    hooks.db.heal();
    assert_eq!(standing(&hooks, &events).await, []);
    hooks.record(&events).await;
    assert_eq!(standing(&hooks, &events).await, ids(&events));
}

#[tokio::test]
async fn the_first_tell_creates_the_lane_and_a_tell_of_a_due_lane_costs_one_unit() {
    let hooks = Hooks::start().await;
    let (first, second) = (event(1, 10), event(2, 20));
    hooks.record(&[first.clone(), second.clone()]).await;
    hooks.cost();
    assert_eq!(hooks.notify(&second).await, NotifyResult { wake: Some(Track::Fast) });
    assert_eq!(hooks.cost(), (2.0, 1));
    let due_at = hooks.now().plus(RESCUE).as_millis();
    assert_eq!((hooks.number("mark"), hooks.number("dueAt")), (Some(1), Some(due_at)));

    hooks.db.clock().advance(MINUTE);
    hooks.cost();
    hooks.notify(&first).await;
    assert_eq!(hooks.cost(), (1.0, 1));
    let low = hooks.lane()["low"]["S"].as_str().unwrap().to_owned();
    assert!(low.ends_with(&first.event.id.to_string()), "{low}");
    // A place after the lowest one that the lane was notified of only raises the mark: a refused write (for which
    // AWS also charges a unit), then another write.
    hooks.notify(&second).await;
    assert_eq!(hooks.cost(), (1.0, 2));
    assert_eq!((hooks.number("mark"), hooks.number("dueAt")), (Some(3), Some(due_at)), "duty stays");
    assert_eq!(hooks.lane()["low"]["S"], low);
}

#[tokio::test]
async fn a_tell_whose_answer_was_lost_has_told_the_lane() {
    for times in 1..=2 {
        let hooks = Hooks::start().await;
        let new = event(1, 0);
        hooks.record(std::slice::from_ref(&new)).await;
        hooks.db.fail("UpdateItem", Fault::AnswerLost, times);
        assert_eq!(hooks.notify(&new).await.wake, Some(Track::Fast));
        assert!(hooks.number("mark").unwrap() >= 1);
        assert_eq!(hooks.visit(Rest::Done).await.len(), 1);
        assert_eq!(hooks.number("dueAt"), None, "one visit ends all duty");
    }
}

#[tokio::test]
async fn no_message_is_requested_while_a_visitor_holds_the_lane() {
    let hooks = Hooks::start().await;
    hooks.relay(&[event(1, 0)]).await;
    let leased = hooks.leased().await;
    assert_eq!(hooks.relay(&[event(2, 1)]).await.wake, None);
    hooks.db.clock().advance(LEASE);
    assert_eq!(hooks.relay(&[event(3, 2)]).await.wake, None, "until its very end");
    hooks.db.clock().advance(MOMENT);
    assert_eq!(hooks.relay(&[event(4, 3)]).await.wake, Some(Track::Fast), "it died");
    hooks.db.clock().advance(MINUTE);
    assert!(
        matches!(hooks.release(&leased, Rest::Done).await, Released::HasNewWork(_)),
        "nobody came after it"
    );
}

#[tokio::test]
async fn the_result_of_a_tell_depends_on_circuit_and_track_of_the_endpoint() {
    let hooks = Hooks::start().await;
    let new = event(1, 0);
    hooks.relay(std::slice::from_ref(&new)).await;
    let mut leased = hooks.leased().await;
    let (now, schedule) = (hooks.now(), RetrySchedule::default());
    let pace = &mut leased.webhook().unwrap().pace;
    for _ in 0..5 {
        let silence = AttemptOutcome::Failed(AttemptError::Timeout);
        pace.record(silence, now, MINUTE, MINUTE, &schedule, now);
    }
    let until = pace.open_until.unwrap();
    assert_eq!(hooks.release(&leased, Rest::Closed(until)).await, Released::Done);
    assert_eq!(hooks.notify(&new).await.wake, None, "it is not called before {until}");
    hooks.db.clock().set(until);
    assert_eq!(hooks.notify(&new).await.wake, Some(Track::Slow), "to be probed");

    hooks.db.clock().set(now);
    let job = Job::new(JobId::from_uuid(Uuid::from_u128(1)), slot(1), JobKind::Enable, now);
    let (_, told) = hooks.store().request_job(&job, RESCUE, None).await.unwrap();
    assert_eq!(told.wake, Some(Track::Slow), "an operator asks");
    assert_eq!(hooks.notify(&new).await.wake, Some(Track::Slow));
}

#[tokio::test]
async fn the_next_visit_begins_at_the_lowest_place_it_was_told_of() {
    let hooks = Hooks::start().await;
    let events = [event(1, 50), event(2, 40), event(3, 60)];
    hooks.relay(&events).await;
    assert_eq!(hooks.visit(Rest::Done).await.len(), 3);
    let late = [event(4, 45), event(5, 44), event(6, 70)];
    hooks.record(&late).await;
    for new in &late {
        hooks.notify(new).await;
    }
    let mut leased = hooks.leased().await;
    assert_eq!(leased.webhook().unwrap().watermarks.base, Some(place(&late[1])));
}

#[tokio::test]
async fn a_tell_is_repeated_if_a_visit_that_did_not_read_its_row_ends_between_its_writes() {
    let hooks = Hooks::start().await;
    let (first, lower, new) = (event(1, 100), event(2, 40), event(3, 50));
    hooks.relay(std::slice::from_ref(&first)).await;
    let leased = hooks.leased().await;
    hooks.relay(std::slice::from_ref(&lower)).await;
    let Released::HasNewWork(mut visit) = hooks.release(&leased, Rest::Done).await else { panic!() };
    // The visit has read everything when the row is recorded.
    hooks.record(std::slice::from_ref(&new)).await;
    hooks.db.forget_calls();
    let meanwhile = async {
        hooks.db.begun("UpdateItem", 1).await;
        let held = hooks.db.hold("UpdateItem");
        hooks.db.begun("UpdateItem", 2).await;
        visit.webhook().unwrap().watermarks.base = Some(place(&first).next());
        assert_eq!(hooks.release(&visit, Rest::Done).await, Released::Done);
        drop(held);
    };
    tokio::join!(hooks.notify(&new), meanwhile);
    assert_eq!(hooks.leased().await.webhook().unwrap().watermarks.base, Some(place(&new)));
}

#[tokio::test]
async fn what_expires_while_an_event_is_redacted_is_not_made_again() {
    let hooks = Hooks::start().await;
    let (db, store, new) = (&hooks.db, hooks.store(), event(1, 0));
    hooks.record(std::slice::from_ref(&new)).await;
    let mut delivery = hooks.all().await.remove(0);
    for _ in 0..2 {
        delivery = hooks.attempt(&delivery, 500, Next::Again { at: hooks.now() }).await;
    }
    db.forget_calls();
    let redacted = async || store.redact_event(&new.event, b"{}", true).await.unwrap();
    let meanwhile = async {
        // The event, the first attempt, and the second one.
        db.begun("UpdateItem", 2).await;
        let held = db.hold("UpdateItem");
        db.begun("UpdateItem", 3).await;
        for row in db.rows(Table::Webhooks) {
            let [pk, sk] = ["pk", "sk"].map(|name| row[name]["S"].as_str().unwrap());
            db.remove_row(Table::Webhooks, pk, sk);
        }
        drop(held);
    };
    tokio::join!(redacted(), meanwhile);
    let calls = db.calls();
    assert_eq!(calls.iter().filter(|call| call.operation == "UpdateItem").count(), 4, "also of the subject");
    assert_eq!(db.rows(Table::Webhooks), Vec::<serde_json::Value>::new());
    redacted().await;
    assert_eq!(db.rows(Table::Webhooks), Vec::<serde_json::Value>::new());
}
