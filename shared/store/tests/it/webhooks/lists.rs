//! Lists of an endpoint's deliveries, and single deliveries with their attempts.

use domain::webhook::delivery::Next;
use domain::{Delivery, DeliveryId, DeliveryState, EventId, HomeKey, Slot, Timestamp, WorkspaceId};
use store::{DeliveryFilter, NewEvent, WebhookLane};
use uuid::Uuid;

use crate::support::hooks::{Hooks, MINUTE, endpoint, event, place, place_of, slot, workspace};

const ALL: DeliveryFilter<'_> = DeliveryFilter {
    since: Timestamp::from_millis(0),
    until: Timestamp::from_millis(9_999_999_999_999),
    states: &[],
    event_type: None,
};

/// All pages of a list, each with its own size.
async fn listed(
    hooks: &Hooks,
    filter: DeliveryFilter<'_>,
    mut sizes: impl FnMut() -> usize,
) -> Vec<Delivery> {
    let (mut all, mut before) = (vec![], None);
    for _ in 0..1_000 {
        let limit = sizes();
        hooks.db.forget_calls();
        let page = hooks.store().deliveries(slot(1), filter, limit, before).await.unwrap();
        assert!(page.deliveries.len() <= limit && hooks.db.calls().len() <= 1);
        all.extend(page.deliveries);
        match page.next {
            Some(next) => {
                assert!(before.is_none_or(|before| next < before), "it goes on");
                before = Some(next);
            }
            None => return all,
        }
    }
    panic!("the pages do not end");
}

/// Page sizes that are the same in every run.
fn sizes(mut seed: u64) -> impl FnMut() -> usize {
    move || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as usize % 9 + 1
    }
}

/// 57 deliveries, some at the same moment, every third one EXHAUSTED. Returns their places in order.
async fn many(hooks: &Hooks) -> Vec<HomeKey> {
    let mut events: Vec<NewEvent> = (0..57).map(|n| event(n, n as i64 / 4 * 10)).collect();
    hooks.relay(&events).await;
    for (at, delivery) in hooks.all().await.iter().enumerate() {
        if at % 3 == 0 {
            hooks.attempt(delivery, 500, Next::Exhausted).await;
        }
    }
    events.sort_by_key(place);
    events.iter().map(place).collect()
}

fn places(deliveries: &[Delivery]) -> Vec<HomeKey> {
    deliveries.iter().map(place_of).collect()
}

#[tokio::test]
async fn an_endpoints_deliveries_are_listed_newest_first_each_once_for_any_page_sizes() {
    let hooks = Hooks::start().await;
    let mut expected = many(&hooks).await;
    expected.reverse();
    for limit in [1, 7, 56, 57, 58, 100] {
        assert_eq!(places(&listed(&hooks, ALL, || limit).await), expected, "{limit}");
    }
    for seed in 0..10 {
        assert_eq!(places(&listed(&hooks, ALL, sizes(seed)).await), expected, "{seed}");
    }
    let page = hooks.store().deliveries(slot(2), ALL, 10, None).await.unwrap();
    assert_eq!((page.deliveries, page.next), (vec![], None));
}

#[tokio::test]
async fn a_list_of_some_states_contains_only_these() {
    let hooks = Hooks::start().await;
    let mut expected = many(&hooks).await;
    let exhausted: Vec<_> = expected.iter().copied().step_by(3).rev().collect();
    for (states, wanted) in [
        (&[DeliveryState::Exhausted][..], exhausted.clone()),
        (&[DeliveryState::Delivered], vec![]),
        (&[DeliveryState::Pending, DeliveryState::Exhausted], {
            expected.reverse();
            expected.clone()
        }),
    ] {
        let filter = DeliveryFilter { states, ..ALL };
        for seed in 0..6 {
            assert_eq!(places(&listed(&hooks, filter, sizes(seed)).await), wanted, "{states:?} {seed}");
        }
    }
    assert_eq!(hooks.store().count_deliveries(slot(1), DeliveryState::Exhausted).await.unwrap(), 19);
    assert_eq!(hooks.store().count_deliveries(slot(1), DeliveryState::Pending).await.unwrap(), 38);
    assert_eq!(hooks.store().count_deliveries(slot(2), DeliveryState::Pending).await.unwrap(), 0);
}

#[tokio::test]
async fn a_span_includes_its_first_moment_and_excludes_its_last() {
    let hooks = Hooks::start().await;
    let all = many(&hooks).await;
    let moment = |millis: i64| Timestamp::from_millis(hooks.now().as_millis() + millis);
    for (since, until) in [(20, 50), (0, 10), (20, 20), (50, 20), (21, 29), (100, 10_000), (-50, 1)] {
        let (since, until) = (moment(since), moment(until));
        let filter = DeliveryFilter { since, until, states: &[], event_type: None };
        let expected: Vec<_> =
            all.iter().copied().filter(|place| place.at >= since && place.at < until).rev().collect();
        for seed in 0..4 {
            let listed = listed(&hooks, filter, sizes(seed)).await;
            assert_eq!(places(&listed), expected, "{since} {until} {seed}");
        }
    }
}

#[tokio::test]
async fn a_delivery_is_found_by_its_id_with_its_attempts_in_order() {
    let hooks = Hooks::start().await;
    let new = NewEvent { slots: vec![Slot { number: 3, ..slot(1) }, slot(2)].into(), ..event(1, 0) };
    hooks.record(std::slice::from_ref(&new)).await;
    let id = DeliveryId { event: new.event.id, endpoint: endpoint(1) };
    hooks.db.forget_calls();
    let mut delivery = hooks.store().delivery(workspace(), id).await.unwrap().unwrap();
    assert_eq!(hooks.db.calls().len(), 2);
    assert_eq!((delivery.id(), delivery.slot.number, delivery.attempts), (id, 3, 0));
    assert_eq!(hooks.store().attempts(&delivery).await.unwrap(), []);
    let mut expected = vec![];
    for number in 1..=12_u32 {
        hooks.db.clock().advance(MINUTE);
        expected.push(hooks.attempt_of(&delivery, 500 + number as u16));
        let next = Next::Again { at: hooks.now().plus(MINUTE) };
        delivery = hooks.attempt(&delivery, 500 + number as u16, next).await;
    }
    assert_eq!(hooks.store().delivery(workspace(), id).await.unwrap(), Some(delivery.clone()));
    assert_eq!(delivery.last.map(|(at, _)| at), Some(hooks.now()));
    assert_eq!(hooks.store().attempts(&delivery).await.unwrap(), expected);

    let nobody = EventId::from_uuid(Uuid::from_u128(9));
    for id in [DeliveryId { endpoint: endpoint(3), ..id }, DeliveryId { event: nobody, ..id }] {
        assert_eq!(hooks.store().delivery(workspace(), id).await.unwrap(), None);
    }
    let elsewhere = WorkspaceId::from_uuid(Uuid::from_u128(7));
    assert_eq!(hooks.store().delivery(elsewhere, id).await.unwrap(), None);
}

#[tokio::test]
async fn the_attempts_of_two_events_at_one_moment_are_kept_apart() {
    let hooks = Hooks::start().await;
    hooks.relay(&[event(1, 0), event(2, 0)]).await;
    for delivery in hooks.all().await {
        let mut after = delivery;
        for _ in 0..3 {
            let at = hooks.now().plus(MINUTE);
            let record = hooks.failed(&mut WebhookLane::default(), &after, at);
            hooks.put(std::slice::from_ref(&record)).await.unwrap();
            after = record.delivery;
        }
        let attempts = hooks.store().attempts(&after).await.unwrap();
        assert_eq!(attempts.iter().map(|attempt| attempt.number).collect::<Vec<_>>(), [1, 2, 3]);
    }
}
