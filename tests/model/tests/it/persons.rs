//! Two contacts of one person: the properties that hold within bounds, and what each guard prevents. `--nocapture` shows the
//! number of visited states and each counterexample.

use crate::common::{breaks, holds};
use model::persons::{Guard, HELD, NO_CALL, NOTHING_LEFT, ONE_JOB, Persons, SAME_CHOICE};

fn persons(requests: u8, faults: u8) -> Persons {
    Persons { without: None, requests, faults, erases: true }
}

#[test]
fn two_contacts_become_one_or_go_and_nothing_is_left_of_either() {
    let both = ["a merge and an erasure are both over"];
    holds("one request, one death", &persons(1, 1), &both);
    holds("two requests", &persons(2, 0), &both);
    holds("no erasure, three requests, two deaths", &Persons { erases: false, ..persons(3, 2) }, &[]);
}

/// Asserts that the property does not hold without this guard.
fn needed(guard: Guard, property: &'static str) {
    let model = Persons { without: Some(guard), ..persons(1, 0) };
    breaks(&format!("without {guard:?}"), model, property);
}

#[test]
fn a_merge_needs_its_second_look_and_an_erasure_its_second_pass() {
    let kept = Persons { without: Some(Guard::SecondLook), erases: false, ..persons(1, 0) };
    breaks("without SecondLook", kept, NOTHING_LEFT);
    needed(Guard::SecondPass, NOTHING_LEFT);
}

#[test]
fn a_merge_and_an_erasure_must_exclude_each_other() {
    needed(Guard::ErasingAgainstMerging, ONE_JOB);
    needed(Guard::ErasingAgainstMerging, NOTHING_LEFT);
}

#[test]
fn a_join_that_does_not_name_the_ids_loses_one() {
    needed(Guard::JoinNamesIds, HELD);
}

#[test]
fn the_ids_of_a_contact_differ_without_joined_choices() {
    needed(Guard::JoinJoinsChoices, SAME_CHOICE);
    needed(Guard::LearnJoinsChoices, SAME_CHOICE);
    needed(Guard::ChoiceNamesIds, SAME_CHOICE);
}

#[test]
fn a_call_begins_after_a_choice_without_the_check() {
    needed(Guard::BeginChecksChoice, NO_CALL);
}
