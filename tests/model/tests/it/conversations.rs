//! A conversation's lane: the properties that hold within bounds, and what each rule prevents. `--nocapture` shows the
//! number of visited states and each counterexample.

use crate::common::holds;
use model::check::{Checked, check_for, cycle};
use model::conversation::Conversation;
use model::properties::{ALL_DONE, IN_ORDER, KNOWN, ONCE, ONE_VISITOR};
use model::rules::{Rule, Rules};

fn lane(messages: u8, faults: u8) -> Conversation {
    Conversation { messages, faults, ..Conversation::default() }
}

#[test]
fn messages_are_sent_in_order_and_at_most_once_despite_deaths_and_losses() {
    holds("one message as in a lead's lane, four faults", &lane(1, 4), &[]);
    holds("two messages, three faults", &lane(2, 3), &[]);
    holds("three messages, two faults, two failures", &Conversation { failures: 2, ..lane(3, 2) }, &[]);
}

/// Takes minutes and some gigabytes: `cargo test --package model -- --ignored --nocapture`.
#[test]
#[ignore = "larger bounds take minutes"]
fn the_properties_hold_within_larger_bounds() {
    holds("three messages, three faults, three failures", &Conversation { failures: 3, ..lane(3, 3) }, &[]);
    holds("two messages, four faults", &lane(2, 4), &[]);
}

/// Asserts that the property does not hold without this rule.
fn needed(rule: Rule, model: Conversation, property: &'static str) -> Checked {
    let model = Conversation { rules: model.rules.without(rule), ..model };
    crate::common::breaks(&format!("without {rule:?}"), model, property)
}

#[test]
fn the_rules_of_every_lane_are_needed_in_a_conversation_lane() {
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
fn without_a_shared_transaction_a_message_may_stay_untold() {
    needed(Rule::TellInTransaction, lane(1, 1), ALL_DONE);
}

#[test]
fn a_visitor_that_reads_entries_newer_than_its_lease_may_miss_the_first_of_them() {
    needed(Rule::EntriesUpToSeen, lane(3, 0), IN_ORDER);
}

#[test]
fn messages_overtake_a_waiting_message_that_does_not_stop_them() {
    needed(Rule::HeadStops, lane(2, 0), IN_ORDER);
}

#[test]
fn a_call_recorded_only_after_it_was_made_may_be_made_twice() {
    needed(Rule::BeginBeforeCall, lane(1, 1), ONCE);
}

#[test]
fn a_call_whose_record_was_not_confirmed_may_be_made_twice() {
    needed(Rule::BeginMustBeAnswered, lane(1, 1), ONCE);
}

#[test]
fn a_begin_that_a_living_visitor_does_not_undo_makes_a_message_unknown_without_cause() {
    needed(Rule::LostBeginIsUndone, lane(1, 1), KNOWN);
}

#[test]
fn an_undo_that_writes_nothing_does_not_stop_a_late_begin() {
    needed(Rule::UndoingFences, lane(1, 1), KNOWN);
}

#[test]
fn a_repeated_unknown_call_may_reach_the_provider_twice() {
    needed(Rule::UnknownIsNotRepeated, lane(1, 1), ONCE);
}

/// Each record requires the row as it was read, so one of two visitors fails before it calls.
#[test]
fn even_if_the_lease_is_too_short_no_message_is_sent_twice_or_overtaken() {
    for (property, bounds) in [(ONCE, lane(1, 1)), (IN_ORDER, lane(2, 0))] {
        let short = Conversation { rules: Rules::all().without(Rule::LeaseOutlivesVisit), ..bounds };
        let checked = check_for(short, property);
        println!("lease shorter than the visit, {property}: {checked}");
        assert!(checked.broken.is_empty(), "{checked}");
    }
}
