//! The reads and writes of a visit of a webhook lane.

use domain::webhook::delivery::Next;
use domain::webhook::pace::Failing;
use domain::{Delivery, DeliveryState, HomeKey, Pace, Pointer, Rest, Timestamp};
use harness::{Fault, World, trips};
use store::{Lease, NewEvent, Record, Released, StoreError, WebhookLane};

use crate::support::hooks::{
    Hooks, LEASE, MINUTE, MOMENT, RESCUE, RETRY_FOR, endpoint, event, place, place_of, slot, workspace,
};

#[tokio::test]
async fn fresh_deliveries_are_read_in_order_page_by_page() {
    let hooks = Hooks::start().await;
    let mut events: Vec<NewEvent> = (0..40).map(|n| event(n, n as i64 / 4)).collect();
    hooks.record(&events).await;
    events.sort_by_key(place);
    for limit in [1, 7, 40, 41] {
        let (mut read, mut from) = (vec![], None);
        loop {
            hooks.db.forget_calls();
            let (page, next) = hooks.store().fresh_deliveries(slot(1), from, limit).await.unwrap();
            assert!(page.len() <= limit && hooks.db.calls().len() == 1);
            read.extend(page);
            from = next;
            if from.is_none() {
                break;
            }
        }
        let read: Vec<HomeKey> = read.iter().map(place_of).collect();
        assert_eq!(read, events.iter().map(place).collect::<Vec<_>>(), "{limit}");
    }
}

#[tokio::test]
async fn a_visit_starts_after_the_processed_rows_and_goes_back_to_late_rows() {
    let hooks = Hooks::start().await;
    let (early, late) = ([event(1, 100)], event(2, 50));
    hooks.relay(&early).await;
    assert_eq!(hooks.visit(Rest::Done).await.len(), 1);
    assert_eq!((hooks.number("dueAt"), hooks.lane().get("low")), (None, None));

    let next = event(3, 200);
    hooks.relay(std::slice::from_ref(&next)).await;
    hooks.cost();
    let mut leased = hooks.leased().await;
    assert_eq!(hooks.cost(), (1.0, 1), "a lease is one unit");
    assert_eq!(leased.webhook().unwrap().watermarks.base, Some(place(&early[0]).next()));
    leased.webhook().unwrap().watermarks.base = Some(place(&next).next());
    assert_eq!(hooks.release(&leased, Rest::Done).await, Released::Done);
    assert_eq!(hooks.cost(), (2.0, 1), "and the end of duty two");

    hooks.relay(std::slice::from_ref(&late)).await;
    hooks.db.forget_calls();
    let mut leased = hooks.leased().await;
    assert_eq!(trips(&hooks.db.calls()), 2);
    assert_eq!(leased.webhook().unwrap().watermarks.base, Some(place(&late)));
    assert_eq!(hooks.lane().get("low"), None);
    assert!(hooks.lane()["base"]["S"].as_str().unwrap().ends_with(&late.event.id.to_string()));
    leased.webhook().unwrap().watermarks.base = Some(place(&next).next());
    assert_eq!(hooks.release(&leased, Rest::Done).await, Released::Done);
}

#[tokio::test]
async fn a_lease_that_goes_back_to_late_rows_is_recognised_when_its_answer_was_lost() {
    let hooks = Hooks::start().await;
    hooks.relay(&[event(1, 100)]).await;
    hooks.visit(Rest::Done).await;
    let late = event(2, 50);
    hooks.relay(std::slice::from_ref(&late)).await;
    let unreached = hooks.db.calls().len();
    hooks.db.fail("UpdateItem", Fault::AnswerLost, 2);
    let mut leased = hooks.leased().await;
    assert!(hooks.db.calls().len() - unreached >= 3);
    assert_eq!((leased.webhook().unwrap().watermarks.base, leased.deaths), (Some(place(&late)), 0));
}

#[tokio::test]
async fn rows_told_of_between_a_lease_and_its_repeat_are_read_by_its_visit() {
    // The attempt whose answer is lost: of the first form of the lease, or of the form that goes back to late rows.
    for (attempt, second) in [(1, event(2, 200)), (2, event(2, 50))] {
        let (hooks, earliest) = (Hooks::start().await, event(3, 20));
        hooks.relay(&[event(1, 100)]).await;
        hooks.visit(Rest::Done).await;
        hooks.relay(std::slice::from_ref(&second)).await;
        hooks.db.forget_calls();
        let meanwhile = async {
            hooks.db.begun("UpdateItem", attempt - 1).await;
            hooks.db.fail("UpdateItem", Fault::AnswerLost, 1);
            hooks.db.begun("UpdateItem", attempt).await;
            let held = hooks.db.hold("UpdateItem");
            hooks.db.begun("UpdateItem", attempt + 1).await;
            hooks.relay(std::slice::from_ref(&earliest)).await;
            drop(held);
        };
        let ((), mut leased) = tokio::join!(meanwhile, hooks.leased());
        assert_eq!(leased.webhook().unwrap().watermarks.base, Some(place(&earliest)));
        assert_eq!(hooks.release(&leased, Rest::Done).await, Released::Done);
        assert!(hooks.lane()["base"]["S"].as_str().unwrap().ends_with(&earliest.event.id.to_string()));
    }
}

#[tokio::test]
async fn a_lease_that_goes_back_to_late_rows_is_refused_if_another_visit_read_them_meanwhile() {
    let hooks = Hooks::start().await;
    hooks.relay(&[event(1, 100)]).await;
    hooks.visit(Rest::Done).await;
    hooks.relay(&[event(2, 50)]).await;
    hooks.db.forget_calls();
    let meanwhile = async {
        hooks.db.begun("UpdateItem", 1).await;
        let held = hooks.db.hold("UpdateItem");
        hooks.db.begun("UpdateItem", 2).await;
        hooks.visit(Rest::Done).await;
        hooks.relay(&[event(3, 60_500)]).await;
        drop(held);
    };
    let (lease, ()) = tokio::join!(hooks.lease(), meanwhile);
    assert!(matches!(lease, Lease::Held), "{lease:?}");
}

#[tokio::test]
async fn late_rows_told_of_during_a_visit_are_read_before_its_release_or_by_the_next_visit() {
    for rest in [Rest::Done, Rest::TimeUp] {
        let hooks = Hooks::start().await;
        hooks.relay(&[event(1, 100)]).await;
        let mut leased = hooks.leased().await;
        let position = Some(HomeKey::of_moment(hooks.now().plus(MINUTE)));
        leased.webhook().unwrap().watermarks.base = position;
        let (late, later) = (event(2, 50), event(3, 60_500));
        hooks.relay(&[late.clone(), later.clone()]).await;
        match hooks.release(&leased, rest).await {
            Released::HasNewWork(mut moved) => {
                assert_eq!(rest, Rest::Done);
                assert_eq!(moved.webhook().unwrap().watermarks.base, Some(place(&late)));
                assert!(hooks.number("dueAt").is_some() && hooks.number("leaseUntil").is_some());
                moved.webhook().unwrap().watermarks.base = Some(place(&later).next());
                assert_eq!(hooks.release(&moved, rest).await, Released::Done);
                assert_eq!((hooks.number("dueAt"), hooks.lane().get("low")), (None, None));
            }
            released => {
                assert_eq!((rest, released), (Rest::TimeUp, Released::Done));
                assert_eq!(hooks.number("dueAt"), Some(hooks.now().plus(RESCUE).as_millis()));
                assert_eq!(hooks.leased().await.webhook().unwrap().watermarks.base, Some(place(&late)));
            }
        }
    }
}

#[tokio::test]
async fn the_state_that_a_visit_releases_is_the_state_of_the_next_visit() {
    let hooks = Hooks::start().await;
    hooks.relay(&[event(1, 0)]).await;
    let now = hooks.now();
    let place = |n| place(&event(n, n as i64));
    let pointer = |n: u64| Pointer { not_before: now.plus(n as u32 * MINUTE), home: place(n) };
    let pace = Pace {
        width: 24,
        quick: 3,
        silences: 6,
        openings: 2,
        opened_at: Some(now),
        open_until: Some(now.plus(MINUTE)),
        slow_until: Some(now.plus(2 * MINUTE)),
        failing: Some(Failing { since: now, hours: vec![(now, 2), (now.plus(60 * MINUTE), 1)] }),
        halved_at: None,
    };
    let full = |lane: &mut WebhookLane| {
        lane.watermarks.base = Some(place(9));
        (lane.watermarks.waited, lane.watermarks.last_wait) = (Some(pointer(2)), Some(pointer(3)));
        lane.ready_at = Some(now.plus(MOMENT));
        lane.pace = pace.clone();
    };
    let bare = |lane: &mut WebhookLane| {
        *lane = WebhookLane::default();
        lane.watermarks.base = Some(place(9));
    };
    let changes: [&dyn Fn(&mut WebhookLane); 3] = [&full, &full, &bare];
    for change in changes {
        let mut leased = hooks.leased().await;
        let lane = leased.webhook().unwrap();
        change(lane);
        // This belongs to one visit and is not stored.
        let kept = lane.clone();
        lane.pace.halved_at = Some(now);
        assert_eq!(hooks.release(&leased, Rest::TimeUp).await, Released::Done);
        assert_eq!(hooks.store().endpoint_pace(slot(1)).await.unwrap(), kept.pace);
        let mut leased = hooks.leased().await;
        assert_eq!(*leased.webhook().unwrap(), kept);
        hooks.release(&leased, Rest::TimeUp).await;
    }
    assert_eq!(
        hooks.store().endpoint_pace(slot(2)).await.unwrap(),
        Pace::default(),
        "nothing is known of it"
    );
}

#[tokio::test]
async fn pointers_are_read_in_the_order_of_their_moments_after_the_processed_ones() {
    let hooks = Hooks::start().await;
    let events: Vec<NewEvent> = (0..20).map(|n| event(n, n as i64)).collect();
    hooks.relay(&events).await;
    let mut leased = hooks.leased().await;
    let now = hooks.now();
    let lane = leased.webhook().unwrap();
    let mut records = vec![];
    for (at, delivery) in hooks.all().await.iter().enumerate() {
        records.push(hooks.failed(lane, delivery, now.plus((20 - at as u32 / 2) * MINUTE)));
    }
    hooks.put(&records).await.unwrap();
    let mut expected: Vec<Pointer> = records.iter().filter_map(|record| record.pointer).collect();
    expected.sort_unstable();
    assert_eq!(lane.watermarks.last_wait, expected.last().copied());
    for limit in [1, 6, 20, 21] {
        let (mut read, mut behind) = (vec![], None);
        loop {
            let (page, last) = hooks.store().waiting_deliveries(slot(1), behind, limit).await.unwrap();
            read.extend(page);
            behind = last;
            if behind.is_none() {
                break;
            }
        }
        assert_eq!(read, expected, "{limit}");
    }
    let (rest, _) = hooks.store().waiting_deliveries(slot(1), Some(expected[4]), 100).await.unwrap();
    assert_eq!(rest, expected[5..]);
}

#[tokio::test]
async fn a_pointer_is_never_written_before_the_processed_ones() {
    let hooks = Hooks::start().await;
    hooks.relay(&[event(1, 0), event(2, 1)]).await;
    let mut leased = hooks.leased().await;
    let all = hooks.all().await;
    let lane = leased.webhook().unwrap();
    let first = hooks.failed(lane, &all[0], hooks.now().plus(MINUTE));
    lane.watermarks.waited = first.pointer;
    hooks.put(std::slice::from_ref(&first)).await.unwrap();
    // The clock of the next visitor is behind the clock of this one.
    hooks.db.clock().advance(MOMENT);
    let second = hooks.failed(lane, &all[1], hooks.now());
    hooks.put(std::slice::from_ref(&second)).await.unwrap();
    assert!(second.pointer > first.pointer && lane.watermarks.is_waiting());
    let (waiting, _) = hooks.store().waiting_deliveries(slot(1), lane.watermarks.waited, 10).await.unwrap();
    assert_eq!(waiting, [second.pointer.unwrap()]);
    assert_eq!(hooks.all().await[1].next_at, Some(waiting[0].not_before), "the row names its pointer");
    let (waited, last_wait) = (lane.watermarks.waited, lane.watermarks.last_wait);
    let at = hooks.now().plus(MINUTE);
    assert_eq!(hooks.release(&leased, Rest::Waits(at)).await, Released::Done);
    let mut leased = hooks.leased().await;
    let lane = leased.webhook().unwrap();
    assert_eq!(
        (lane.watermarks.waited, lane.watermarks.last_wait, lane.watermarks.is_waiting()),
        (waited, last_wait, true)
    );
}

#[tokio::test]
async fn a_page_needs_one_read_of_endpoint_secrets_events_and_home_rows() {
    use domain::{WebhookEndpoint, Workspace};
    let hooks = Hooks::start().await;
    let seen = Workspace::new(workspace(), "Aster", hooks.now()).unwrap();
    assert!(hooks.store().create_workspace(&seen).await.unwrap());
    let filter = domain::EventFilter::parse(["contact.updated"]).unwrap();
    let made =
        WebhookEndpoint { filter, created_at: hooks.now(), ..World::endpoint(workspace(), endpoint(1)) };
    let secrets = World::endpoint_secrets();
    let new = store::NewEndpoint { endpoint: &made, secrets: &secrets, by: harness::operator(), kept: None };
    assert_eq!(hooks.store().create_endpoint(&seen, &new).await.unwrap(), store::EndpointCreated::Done);
    let events: Vec<NewEvent> = (0..45).map(|n| event(n, n as i64)).collect();
    hooks.record(&events).await;
    let (missing, lost) = (event(99, 0), event(98, 0));
    let mut asked: Vec<_> = events.iter().map(|new| new.event.id).collect();
    asked.push(missing.event.id);
    let mut homes: Vec<_> = events.iter().map(place).collect();
    homes.push(place(&lost));
    hooks.db.forget_calls();
    let batch = hooks.store().visit_batch(slot(1), &asked, &homes).await.unwrap();
    assert_eq!(hooks.db.calls().len(), 1);
    assert_eq!((batch.endpoint, batch.secrets), (Some(made.clone()), Some(secrets)));
    assert_eq!((batch.events.len(), batch.homes.len()), (45, 45), "what is not there is left out");
    assert!(events.iter().all(|new| batch.events[&new.event.id].body == new.body));
    assert!(events.iter().all(|new| batch.homes[&place(new)].event == new.event.id));

    hooks.db.fail("BatchGetItem", Fault::Unprocessed, 1);
    hooks.db.fail("BatchGetItem", Fault::HalfProcessed, 3);
    let batch = hooks.store().visit_batch(slot(1), &asked, &homes).await.unwrap();
    assert_eq!((batch.events.len(), batch.homes.len(), batch.endpoint.is_some()), (45, 45, true));
    assert!(hooks.store().delete_endpoint(&made, harness::operator()).await.unwrap());
    let batch = hooks.store().visit_batch(slot(1), &[], &[]).await.unwrap();
    assert!(batch.endpoint.is_none() && batch.secrets.is_none());
}

#[tokio::test]
async fn the_outcomes_of_a_page_are_written_in_place_and_a_repeat_changes_nothing() {
    let hooks = Hooks::start().await;
    let events: Vec<NewEvent> = (0..60).map(|n| event(n, n as i64)).collect();
    hooks.relay(&events).await;
    let mut leased = hooks.leased().await;
    let lane = leased.webhook().unwrap();
    let again = hooks.now().plus(MINUTE);
    let mut records = vec![];
    for (at, delivery) in hooks.all().await.iter().enumerate() {
        let attempt = hooks.attempt_of(delivery, 200);
        records.push(match at % 3 {
            0 => hooks.failed(lane, delivery, again),
            1 => {
                let delivery = delivery.attempted(&attempt, Next::Delivered, hooks.now());
                Record { delivery, attempt: Some(attempt), pointer: None }
            }
            _ => {
                let delivery = delivery.ended(DeliveryState::Parked);
                Record { delivery, attempt: None, pointer: None }
            }
        });
    }
    hooks.cost();
    hooks.put(&records).await.unwrap();
    assert_eq!(hooks.cost(), (80.0, 4), "60 homes and 20 pointers, 25 a call");
    let written = hooks.rows("");
    // The expiry of a row is stored in seconds.
    let seconds = |delivery: Delivery| {
        let expires_at = Timestamp::from_millis(delivery.expires_at.as_millis() / 1_000 * 1_000);
        Delivery { expires_at, ..delivery }
    };
    let homes: Vec<_> = records.iter().map(|record| seconds(record.delivery.clone())).collect();
    assert_eq!(hooks.all().await, homes);
    assert_eq!(hooks.waiting().await.len(), 20);
    assert_eq!(hooks.rows("A#").len(), 0, "the first attempt stands in the delivery's row");

    for (fault, times) in [(Fault::AnswerLost, 2), (Fault::HalfProcessed, 4), (Fault::Throttled, 4)] {
        hooks.db.fail("BatchWriteItem", fault, times);
        hooks.put(&records).await.unwrap();
        assert_eq!(hooks.rows(""), written, "{fault:?}");
    }
    hooks.put(&[records[0].clone(), records[0].clone()]).await.unwrap();
    assert_eq!(hooks.rows(""), written, "a call names a row once");
    hooks.put(&[]).await.unwrap();
}

#[tokio::test]
async fn a_record_that_fails_is_reported_after_the_time_limit_for_retries() {
    let hooks = Hooks::start().await;
    hooks.relay(&[event(1, 0)]).await;
    let delivery = hooks.all().await.remove(0);
    let record = hooks.failed(&mut WebhookLane::default(), &delivery, hooks.now());
    for fault in [Fault::Unprocessed, Fault::Throttled] {
        hooks.db.fail("BatchWriteItem", fault, 10_000);
        let records = std::slice::from_ref(&record);
        let recorded = hooks.store().record_deliveries(slot(1), records, 50 * MOMENT).await;
        assert!(matches!(recorded, Err(StoreError::Busy(_))), "{recorded:?}");
        hooks.db.heal();
    }
    assert_eq!(hooks.all().await, [delivery]);
    hooks.put(&[record]).await.unwrap();
}

#[tokio::test]
async fn the_start_of_an_attempt_is_recorded_in_the_home_row() {
    let hooks = Hooks::start().await;
    hooks.relay(&[event(1, 0)]).await;
    let mut delivery = hooks.all().await.remove(0);
    delivery.begun_at = Some(hooks.now());
    let record = Record { delivery: delivery.clone(), attempt: None, pointer: None };
    hooks.store().record_deliveries(slot(1), &[record], RETRY_FOR).await.unwrap();
    assert_eq!(hooks.all().await, [delivery]);
}

#[tokio::test]
async fn a_visitor_that_dies_leaves_the_watermarks_unchanged() {
    let hooks = Hooks::start().await;
    let events = [event(1, 0), event(2, 1)];
    hooks.relay(&events).await;
    let mut leased = hooks.leased().await;
    let delivery = hooks.all().await.remove(0);
    let record = hooks.failed(leased.webhook().unwrap(), &delivery, hooks.now().plus(MINUTE));
    hooks.put(&[record]).await.unwrap();
    hooks.db.clock().advance(LEASE + MOMENT);
    let mut next = hooks.leased().await;
    assert_eq!(next.deaths, 1);
    let lane = next.webhook().unwrap();
    assert_eq!((lane.watermarks.base, lane.watermarks.last_wait), (None, None));
    // The delivery contains the moment for which it waits: its pointer is written again.
    let (fresh, _) = hooks.store().fresh_deliveries(slot(1), lane.watermarks.base, 10).await.unwrap();
    assert_eq!(
        (fresh[0].state, fresh[0].next_at),
        (DeliveryState::Pending, Some(hooks.waiting().await[0].not_before))
    );
    assert_eq!(fresh[1].next_at, None);
}
