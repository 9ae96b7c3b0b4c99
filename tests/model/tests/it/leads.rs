//! A lead that follows its message: the properties that hold within bounds, and what each guard prevents. `--nocapture` shows the
//! number of visited states and each counterexample.

use crate::common::{breaks, holds};
use model::leads::{ERASED, FORWARD, Guard, Leads, OWN_MESSAGE, UP_TO_DATE};

fn leads(reports: u8, faults: u8, redriven: u8) -> Leads {
    Leads { without: None, reports, faults, redriven }
}

#[test]
fn a_lead_shows_the_last_status_of_its_message() {
    let both = ["a retried lead is sent", "a lead fails after it was sent"];
    holds("four reports, two faults, two records again", &leads(4, 2, 2), &both);
    holds("six reports, one fault", &leads(6, 1, 0), &both);
}

/// Asserts that the property does not hold without this guard.
fn needed(guard: Guard, property: &'static str) {
    breaks(&format!("without {guard:?}"), Leads { without: Some(guard), ..leads(3, 1, 1) }, property);
}

#[test]
fn a_record_that_is_read_again_needs_the_version_of_the_message() {
    needed(Guard::NamesVersion, FORWARD);
    needed(Guard::NamesVersion, UP_TO_DATE);
}

#[test]
fn the_message_before_a_retry_would_move_the_lead_without_its_id() {
    needed(Guard::NamesMessage, OWN_MESSAGE);
}

#[test]
fn an_erased_lead_would_come_back_if_the_write_did_not_name_it() {
    needed(Guard::NamesLead, ERASED);
}

#[test]
fn a_lead_would_stay_behind_if_a_failed_record_were_not_read_again() {
    needed(Guard::RepeatsRecords, UP_TO_DATE);
}
