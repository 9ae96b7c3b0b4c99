//! Lanes are leased by one visitor at a time and released.

use std::time::Duration;

use domain::{ConversationId, LaneId, LeadId, Rest, WorkspaceId};
use futures::future::join_all;
use harness::Fault;
use store::{LaneState, Lease, Released, StoreError};
use uuid::Uuid;

use super::{LEASE, Lanes, MOMENT, RESCUE, n};
use crate::support::hooks;

#[tokio::test]
async fn one_of_many_visitors_gets_the_lease() {
    let lanes = Lanes::start().await;
    for lane in lanes.all {
        for round in 0..5 {
            let asked = join_all((0..16).map(|_| lanes.ask(lane))).await;
            let taken = asked.iter().filter(|lease| matches!(lease, Lease::Taken(_))).count();
            let held = asked.iter().filter(|lease| **lease == Lease::Held).count();
            assert_eq!((taken, held), (1, 15), "{lane} {round}");
            lanes.world.db.clock().advance(LEASE + MOMENT);
        }
    }
}

#[tokio::test]
async fn a_lease_is_one_write_and_leaves_the_due_time_unchanged() {
    let lanes = Lanes::start().await;
    for lane in lanes.all {
        let due_times = lanes.due_times(lane);
        lanes.cost();
        let leased = lanes.lease(lane).await;
        assert_eq!(lanes.cost(), (1.0, 1), "{lane}");
        assert_eq!((lanes.due_times(lane), leased.deaths, leased.lane), (due_times, 0, lane));
        match (&leased.state, lane) {
            (LaneState::Webhook(_), LaneId::Webhook(_)) => {}
            (LaneState::Conversation(counts), LaneId::Conversation(..)) => assert_eq!(counts.seq, 3),
            (LaneState::Lead(lead), LaneId::Lead(_, id)) => assert_eq!(lead.id, id),
            (state, _) => panic!("{lane}: {state:?}"),
        }
    }
}

#[tokio::test]
async fn a_lane_of_a_later_release_is_not_leased_and_stays_unchanged() {
    let lanes = Lanes::start().await;
    for lane in lanes.all {
        lanes.change(lane, "SET sv = :value", n(99)).await;
        let before = lanes.row(lane);
        let asked = lanes.store().lease_lane(lane, LEASE).await;
        assert!(matches!(asked, Err(StoreError::Unreadable { .. })), "{lane}: {asked:?}");
        assert_eq!(lanes.row(lane), before, "{lane}");
    }
}

#[tokio::test]
async fn a_lease_whose_answer_was_lost_is_recognised() {
    let lanes = Lanes::start().await;
    for lane in lanes.all {
        lanes.world.db.fail("UpdateItem", Fault::AnswerLost, 2);
        assert_eq!(lanes.lease(lane).await.deaths, 0);
        assert_eq!(lanes.ask(lane).await, Lease::Held);
    }
}

#[tokio::test]
async fn a_lease_holds_to_its_last_moment_and_deaths_are_counted_until_a_release() {
    let lanes = Lanes::start().await;
    for lane in lanes.all {
        for deaths in 0..4 {
            assert_eq!(lanes.lease(lane).await.deaths, deaths, "{lane}");
            lanes.world.db.clock().advance(LEASE);
            assert_eq!(lanes.ask(lane).await, Lease::Held, "{lane}");
            lanes.world.db.clock().advance(MOMENT);
        }
        let leased = lanes.lease(lane).await;
        assert_eq!((leased.deaths, lanes.release(&leased, Rest::TimeUp).await), (4, Released::Done));
        assert_eq!(lanes.lease(lane).await.deaths, 0);
    }
}

#[tokio::test]
async fn a_missing_lane_is_unknown_and_a_lease_does_not_create_it() {
    let lanes = Lanes::start().await;
    let (workspace, id) = (WorkspaceId::from_uuid(Uuid::from_u128(5)), Uuid::from_u128(5));
    for lane in [
        LaneId::Webhook(hooks::slot(9)),
        LaneId::Conversation(workspace, ConversationId::from_uuid(id)),
        LaneId::Lead(workspace, LeadId::from_uuid(id)),
    ] {
        assert_eq!(lanes.ask(lane).await, Lease::Unknown);
        assert_eq!(lanes.ask(lane).await, Lease::Unknown, "{lane}");
    }
}

#[tokio::test]
async fn a_lead_without_work_is_finished() {
    let lanes = Lanes::start().await;
    let lane = lanes.all[2];
    let update = lanes.world.db.client().update_item().table_name(lanes.world.db.table(store::Table::Leads));
    let update = update.key("pk", super::s(&lanes.key(lane).1)).key("sk", super::s("L"));
    let update = update.update_expression("SET stage = :sent");
    update.expression_attribute_values(":sent", super::s("SENT")).send().await.unwrap();
    assert_eq!(lanes.ask(lane).await, Lease::Finished);
}

#[tokio::test]
async fn a_lane_of_a_later_release_is_left_alone() {
    let lanes = Lanes::start().await;
    for lane in lanes.all {
        lanes.change(lane, "SET sv = :value", n(99)).await;
        let lease = lanes.store().lease_lane(lane, LEASE).await;
        assert!(matches!(lease, Err(StoreError::Unreadable { .. })), "{lane}: {lease:?}");
    }
}

#[tokio::test]
async fn the_rest_of_a_release_decides_when_the_lane_is_due() {
    let lanes = Lanes::start().await;
    for lane in lanes.all {
        let now = lanes.now();
        let at = |seconds| now.plus(Duration::from_secs(seconds));
        for (rest, due, planned) in [
            (Rest::TimeUp, Some(now.plus(RESCUE)), None),
            (Rest::Waits(at(600)), Some(at(600).plus(RESCUE)), None),
            (Rest::Closed(at(900)), Some(at(900).plus(RESCUE)), None),
            (Rest::Waits(at(901)), Some(at(901)), Some(at(901))),
            (Rest::Closed(at(7_200)), Some(at(7_200)), Some(at(7_200))),
            (Rest::Closed(now), Some(now.plus(RESCUE)), None),
            (Rest::Done, None, None),
        ] {
            let leased = lanes.lease(lane).await;
            assert_eq!(lanes.release(&leased, rest).await, Released::Done, "{lane} {rest:?}");
            assert_eq!(lanes.due_times(lane), (due, planned), "{lane} {rest:?}");
            for name in ["lease", "leaseUntil", "begun"] {
                assert!(lanes.row(lane).get(name).is_none(), "{lane} {rest:?} {name}");
            }
        }
    }
}

#[tokio::test]
async fn work_added_meanwhile_prevents_a_release_unless_the_lane_is_closed() {
    let lanes = Lanes::start().await;
    for lane in lanes.all {
        let later = lanes.now().plus(RESCUE);
        for (rest, is_kept) in [
            (Rest::Done, true),
            (Rest::Waits(later), true),
            (Rest::Closed(later), false),
            (Rest::TimeUp, false),
        ] {
            let leased = lanes.lease(lane).await;
            lanes.mark(lane).await;
            let released = lanes.release(&leased, rest).await;
            let Released::HasNewWork(moved) = released else {
                assert_eq!((released, is_kept), (Released::Done, false), "{lane} {rest:?}");
                continue;
            };
            assert!(is_kept && lanes.due_times(lane).0.is_some(), "{lane} {rest:?}");
            assert_eq!((moved.lease, &moved.state), (leased.lease, &leased.state));
            assert_eq!(lanes.ask(lane).await, Lease::Held);
            lanes.mark(lane).await;
            let Released::HasNewWork(moved) = lanes.release(&moved, rest).await else {
                panic!("not moved again")
            };
            assert_eq!(lanes.release(&moved, Rest::TimeUp).await, Released::Done);
        }
    }
}

#[tokio::test]
async fn a_lane_held_by_another_visitor_cannot_be_released() {
    let lanes = Lanes::start().await;
    for lane in lanes.all {
        let dead = lanes.lease(lane).await;
        lanes.world.db.clock().advance(LEASE + MOMENT);
        let leased = lanes.lease(lane).await;
        let row = lanes.row(lane);
        for rest in [Rest::Done, Rest::Closed(lanes.now()), Rest::TimeUp] {
            assert_eq!(lanes.release(&dead, rest).await, Released::Lost, "{lane} {rest:?}");
        }
        assert_eq!(lanes.row(lane), row);
        assert_eq!(lanes.release(&leased, Rest::Done).await, Released::Done);
    }
}

#[tokio::test]
async fn a_release_whose_answer_was_lost_is_recognised() {
    let lanes = Lanes::start().await;
    for lane in lanes.all {
        for rest in [Rest::TimeUp, Rest::Waits(lanes.now().plus(LEASE)), Rest::Done] {
            let leased = lanes.lease(lane).await;
            lanes.world.db.fail("UpdateItem", Fault::AnswerLost, 1);
            assert_eq!(lanes.release(&leased, rest).await, Released::Done, "{lane} {rest:?}");
            assert_eq!(lanes.due_times(lane).0.is_some(), rest != Rest::Done);
        }
    }
}

#[tokio::test]
async fn a_release_costs_two_units_if_it_removes_the_due_time_and_else_one() {
    let lanes = Lanes::start().await;
    let lane = lanes.all[0];
    let at = lanes.now().plus(10 * RESCUE);
    let left = lanes.release(&lanes.lease(lane).await, Rest::Waits(at)).await;
    assert_eq!(left, Released::Done);
    for (rest, units) in [(Rest::Waits(at), 1.0), (Rest::Done, 2.0)] {
        let leased = lanes.lease(lane).await;
        lanes.cost();
        assert_eq!(lanes.release(&leased, rest).await, Released::Done);
        assert_eq!(lanes.cost(), (units, 1), "{rest:?}");
    }
}
