//! Due lanes are claimed by one sweeper.

use std::time::Duration;

use domain::{LaneKind, Rest, Track};
use futures::future::join_all;
use harness::Fault;
use store::{Claim, Released, StoreError};

use super::{LEASE, Lanes, MOMENT, RESCUE, n};

const CLAIM: Duration = Duration::from_secs(300);

#[tokio::test]
async fn the_due_index_lists_only_due_lanes_with_work() {
    let lanes = Lanes::start().await;
    for lane in lanes.all {
        assert_eq!(lanes.due(lane.kind()).await, []);
    }
    lanes.world.db.clock().advance(RESCUE - MOMENT);
    for lane in lanes.all {
        assert_eq!(lanes.due(lane.kind()).await, []);
    }
    lanes.world.db.clock().advance(MOMENT);
    for lane in lanes.all {
        let due = lanes.due(lane.kind()).await;
        assert_eq!(due.iter().map(|due| due.lane).collect::<Vec<_>>(), [lane]);
        let leased = lanes.lease(lane).await;
        assert_eq!(lanes.release(&leased, Rest::Done).await, Released::Done);
        assert_eq!(lanes.due(lane.kind()).await, []);
    }
}

#[tokio::test]
async fn one_of_many_sweepers_claims_a_lane_and_none_claims_one_that_was_visited_since() {
    let lanes = Lanes::start().await;
    lanes.world.db.clock().advance(RESCUE);
    for lane in lanes.all {
        let due = lanes.due(lane.kind()).await[0];
        let until = lanes.now().plus(CLAIM);
        let claims = join_all((0..16).map(|_| lanes.store().claim_lane(&due, until))).await;
        let claims: Vec<Claim> = claims.into_iter().filter_map(Result::unwrap).collect();
        assert_eq!(claims, [Claim { is_planned: false, track: Track::Fast }], "{lane}");
        assert_eq!((lanes.due_times(lane).0, lanes.due(lane.kind()).await), (Some(until), vec![]));
        let leased = lanes.lease(lane).await;
        assert_eq!(lanes.release(&leased, Rest::Closed(lanes.now())).await, Released::Done);
        assert_eq!(lanes.store().claim_lane(&due, until).await.unwrap(), None);
    }
}

#[tokio::test]
async fn a_claim_whose_answer_was_lost_is_recognised() {
    let lanes = Lanes::start().await;
    lanes.world.db.clock().advance(RESCUE);
    for lane in lanes.all {
        let due = lanes.due(lane.kind()).await[0];
        lanes.world.db.fail("UpdateItem", Fault::AnswerLost, 2);
        assert!(lanes.store().claim_lane(&due, lanes.now().plus(CLAIM)).await.unwrap().is_some());
    }
}

#[tokio::test]
async fn a_leased_lane_is_never_claimed() {
    let lanes = Lanes::start().await;
    lanes.world.db.clock().advance(RESCUE);
    for lane in lanes.all {
        let due = lanes.due(lane.kind()).await[0];
        let claim = async || lanes.store().claim_lane(&due, lanes.now().plus(CLAIM)).await.unwrap();
        lanes.lease(lane).await;
        let row = lanes.row(lane);
        assert_eq!(claim().await, None);
        lanes.world.db.clock().advance(LEASE);
        assert_eq!((claim().await, lanes.row(lane)), (None, row), "{lane}");
        lanes.world.db.clock().advance(MOMENT);
        assert!(claim().await.is_some(), "{lane}: the previous visitor crashed");
    }
}

#[tokio::test]
async fn a_claim_distinguishes_planned_lanes_from_rescues() {
    let lanes = Lanes::start().await;
    for lane in lanes.all {
        let later = lanes.now().plus(Duration::from_secs(7_200));
        assert_eq!(lanes.release(&lanes.lease(lane).await, Rest::Closed(later)).await, Released::Done);
        lanes.world.db.clock().set(later);
        for is_planned in [true, false] {
            let due = lanes.due(lane.kind()).await[0];
            let claim = lanes.store().claim_lane(&due, lanes.now().plus(CLAIM)).await.unwrap();
            assert_eq!(claim.map(|claim| claim.is_planned), Some(is_planned), "{lane}");
            lanes.world.db.clock().advance(CLAIM);
        }
    }
}

#[tokio::test]
async fn a_lane_of_a_later_release_is_claimed_and_reported_as_unreadable() {
    let lanes = Lanes::start().await;
    lanes.world.db.clock().advance(RESCUE);
    for lane in lanes.all {
        lanes.change(lane, "SET sv = :value", n(99)).await;
        let due = lanes.due(lane.kind()).await[0];
        let claim = lanes.store().claim_lane(&due, lanes.now().plus(CLAIM)).await;
        assert!(matches!(claim, Err(StoreError::Unreadable { .. })), "{lane}: {claim:?}");
        assert_eq!(lanes.due(lane.kind()).await, [], "it does not come up before others each minute");
    }
}

#[tokio::test]
async fn due_lanes_are_read_page_by_page_the_longest_overdue_first() {
    let lanes = Lanes::start().await;
    for number in 0..20 {
        lanes.world.db.clock().advance(MOMENT);
        let least = domain::HomeKey::of_moment(lanes.now());
        let slot = crate::support::hooks::slot(100 + number);
        lanes.store().notify_webhook_lane(slot, least, RESCUE).await.unwrap();
    }
    lanes.world.db.clock().advance(RESCUE);
    let all = lanes.due(LaneKind::Webhook).await;
    assert_eq!(all.len(), 21);
    for limit in [1, 4, 21, 22] {
        let (mut read, mut from) = (vec![], None);
        loop {
            let page = lanes.store().due_lanes(LaneKind::Webhook, 0, from, limit).await.unwrap();
            assert!(page.lanes.len() <= usize::from(limit));
            read.extend(page.lanes);
            from = page.next;
            if from.is_none() {
                break;
            }
        }
        assert_eq!(read, all, "{limit}");
    }
}
