//! A conversation's lane: what holds within bounds, and what each rule is good for. `--nocapture` shows how many states
//! were visited, and each counterexample.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]
#![allow(clippy::print_stdout, reason = "what the checker saw is worth reading")]

mod common;

use common::holds;
use model::check::{Checked, check_for, cycle};
use model::conversation::Conversation;
use model::properties::{ALL_DONE, IN_ORDER, KNOWN, ONCE, ONE_VISITOR};
use model::rules::{Rule, Rules};

fn lane(messages: u8, faults: u8) -> Conversation {
    Conversation { messages, faults, ..Conversation::default() }
}

#[test]
fn messages_go_out_in_order_and_at_most_once_whatever_dies_or_is_lost() {
    holds("a message as a lead's, four faults", &lane(1, 4), &[]);
    holds("two messages, three faults", &lane(2, 3), &[]);
    holds("three messages, two faults, two failures", &Conversation { failures: 2, ..lane(3, 2) }, &[]);
}

/// Minutes, and some gigabytes: `cargo test --package model -- --ignored --nocapture`.
#[test]
#[ignore = "larger bounds: minutes"]
fn all_of_this_holds_within_larger_bounds() {
    holds("three messages, three faults, three failures", &Conversation { failures: 3, ..lane(3, 3) }, &[]);
    holds("two messages, four faults", &lane(2, 4), &[]);
}

/// Without this rule the property does not hold.
fn needed(rule: Rule, model: Conversation, property: &'static str) -> Checked {
    let model = Conversation { rules: model.rules.without(rule), ..model };
    common::breaks(&format!("{rule:?}"), model, property)
}

#[test]
fn the_rules_of_every_lane_are_needed_here_as_well() {
    needed(Rule::OneLease, lane(1, 1), ONE_VISITOR);
    needed(Rule::LeaseOutlivesVisit, lane(1, 0), ONE_VISITOR);
    needed(Rule::LeaseKeepsDue, lane(1, 1), ALL_DONE);
    needed(Rule::TellSetsDue, lane(1, 1), ALL_DONE);
    needed(Rule::DoneNeedsMark, lane(2, 0), ALL_DONE);
    needed(Rule::MarkBeforeLook, lane(2, 0), ALL_DONE);
    needed(Rule::TimeUpKeepsDue, lane(2, 2), ALL_DONE);
    needed(Rule::ClosedKeepsDue, lane(1, 0), ALL_DONE);
    needed(Rule::SweeperLooks, lane(1, 1), ALL_DONE);
    assert!(
        cycle(&Conversation { rules: Rules::all().without(Rule::ClaimPassesLeased), ..lane(1, 0) }).is_some()
    );
}

#[test]
fn a_tell_apart_from_its_message_may_never_come() {
    needed(Rule::TellInTransaction, lane(1, 1), ALL_DONE);
}

#[test]
fn entries_newer_than_the_lease_may_show_the_second_and_not_the_first() {
    needed(Rule::EntriesUpToSeen, lane(3, 0), IN_ORDER);
}

#[test]
fn a_waiting_head_that_stops_nobody_is_overtaken() {
    needed(Rule::HeadStops, lane(2, 0), IN_ORDER);
}

#[test]
fn a_call_recorded_only_after_it_is_made_twice() {
    needed(Rule::BeginBeforeCall, lane(1, 1), ONCE);
}

#[test]
fn a_call_made_although_its_record_was_not_answered_is_made_twice() {
    needed(Rule::BeginMustBeAnswered, lane(1, 1), ONCE);
}

#[test]
fn a_begin_that_a_living_visitor_leaves_behind_makes_doubt_from_nothing() {
    needed(Rule::LostBeginIsUndone, lane(1, 1), KNOWN);
}

#[test]
fn undoing_that_only_looks_is_overtaken_by_a_late_begin() {
    needed(Rule::UndoingFences, lane(1, 1), KNOWN);
}

#[test]
fn an_unknown_call_that_is_repeated_is_made_twice() {
    needed(Rule::UnknownIsNotRepeated, lane(1, 1), ONCE);
}

/// Each record needs the row as it was read: of two visitors one fails before it calls.
#[test]
fn even_with_a_lease_that_is_too_short_nothing_is_called_for_twice_or_overtaken() {
    for (property, bounds) in [(ONCE, lane(1, 1)), (IN_ORDER, lane(2, 0))] {
        let short = Conversation { rules: Rules::all().without(Rule::LeaseOutlivesVisit), ..bounds };
        let checked = check_for(short, property);
        println!("a lease that is too short, {property}: {checked}");
        assert!(checked.broken.is_empty(), "{checked}");
    }
}
