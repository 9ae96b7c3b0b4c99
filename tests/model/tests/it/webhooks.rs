//! A webhook lane: the properties that hold within bounds, and what each rule prevents. `--nocapture` shows the number
//! of visited states and each counterexample.

use crate::common::holds;
use model::check::{Checked, check, check_for, cycle};
use model::properties::{
    ALL_DONE, CANCELLED, CAREFUL, DUTY, EVENT_THERE, EXHAUSTED, FOUND, JOB_DONE, JOB_ONCE, JOB_STOPPED,
    JOB_WHOLE, LATE, NOT_AGAIN, NOT_EARLY, ONE_VISITOR, PUT_OFF, SOON,
};
use model::rules::{Rule, Rules};
use model::webhooks::{Fault, JobKind, Key, Order, Webhooks};

/// Relays with one batch each, one failing post, and up to `faults` faults of any kind.
fn lane(relays: &[&[Key]], faults: u8) -> Webhooks {
    let relays = relays.iter().map(|batch| batch.to_vec()).collect();
    Webhooks { relays, failures: 1, faults, ..Webhooks::default() }
}

/// The same, but home rows and events are put in one step.
fn notified(relays: &[&[Key]], faults: u8) -> Webhooks {
    Webhooks { puts_at_once: true, ..lane(relays, faults) }
}

fn two_that_fail(ahead: u8, kind: Fault) -> Webhooks {
    Webhooks { failures: 2, ahead, kinds: vec![kind], ..notified(&[&[0], &[1]], 1) }
}

fn replay(relays: &[&[Key]], faults: u8) -> Webhooks {
    Webhooks { operator: vec![Order::PutJob(JobKind::Replay), Order::NotifyJob], ..notified(relays, faults) }
}

fn cancelled() -> Webhooks {
    let replayed = replay(&[&[0, 1]], 1);
    Webhooks { operator: [replayed.operator.clone(), vec![Order::MayCancel]].concat(), ..replayed }
}

fn recover() -> Webhooks {
    let operator = vec![Order::PutJob(JobKind::Recover), Order::NotifyJob];
    Webhooks { operator, attempts: 1, failures: 2, ..notified(&[&[0, 1]], 1) }
}

fn enabled(relays: &[&[Key]], faults: u8, failures: u8) -> Webhooks {
    let job = Order::PutJob(JobKind::Enable);
    let operator = vec![Order::Disable, Order::Enable, job, Order::NotifyJob];
    Webhooks { operator, failures, ..notified(relays, faults) }
}

/// Up to `faults` leases are executed and not answered.
fn repeated(relays: &[&[Key]], faults: u8) -> Webhooks {
    Webhooks { kinds: vec![Fault::LeaseUnanswered], ..notified(relays, faults) }
}

fn poisoned() -> Webhooks {
    Webhooks { poison: Some(0), ..notified(&[&[0], &[1]], 0) }
}

// Properties that hold.

#[test]
fn one_delivery_is_done_despite_any_three_faults() {
    holds("one delivery, three faults", &lane(&[&[0]], 3), &[PUT_OFF, LATE, EXHAUSTED, CAREFUL]);
    let late = Webhooks { late_events: 2, ..lane(&[&[0]], 2) };
    holds("one delivery whose event is late", &late, &[PUT_OFF, LATE]);
}

#[test]
fn a_batch_is_done_despite_faults_within_it() {
    holds(
        "a batch of two, two faults",
        &Webhooks { page: 2, ..lane(&[&[1, 0]], 2) },
        &[PUT_OFF, LATE, CAREFUL],
    );
    holds("a batch of two, row by row", &lane(&[&[0, 1]], 2), &[PUT_OFF, LATE]);
}

#[test]
fn concurrent_relays_lose_no_work_in_any_order() {
    holds("two relays, a fault", &lane(&[&[0], &[1]], 1), &[PUT_OFF, LATE]);
    holds("two relays, two faults between steps", &notified(&[&[0], &[1]], 2), &[LATE]);
    holds("three relays, a fault", &Webhooks { failures: 0, ..notified(&[&[0], &[1], &[2]], 1) }, &[LATE]);
    holds("three relays, a failure", &notified(&[&[0], &[1], &[2]], 0), &[LATE]);
}

#[test]
fn leases_without_an_answer_lose_no_work() {
    holds("two relays, two leases without an answer", &repeated(&[&[0], &[1]], 2), &[LATE]);
    let three = Webhooks { failures: 0, ..repeated(&[&[0], &[1], &[2]], 1) };
    holds("three relays, a lease without an answer", &three, &[LATE]);
}

#[test]
fn clock_differences_lose_no_work() {
    holds("clocks apart, a stray message", &two_that_fail(2, Fault::Stray), &[EXHAUSTED]);
    holds("clocks apart, a kill", &two_that_fail(2, Fault::Kill), &[EXHAUSTED]);
    let pages =
        Webhooks { failures: 3, page: 2, ahead: 2, kinds: vec![Fault::Kill], ..notified(&[&[0, 1]], 2) };
    holds("clocks apart, pages of two, two kills", &pages, &[EXHAUSTED, CAREFUL]);
}

#[test]
fn jobs_attempt_each_of_their_rows_once_or_are_cancelled() {
    holds("replay, a fault", &replay(&[&[0, 1]], 1), &[JOB_DONE]);
    let failing = Webhooks { failures: 2, ahead: 1, kinds: vec![Fault::Kill], ..replay(&[&[0, 1]], 1) };
    holds("replay, clocks apart", &failing, &[JOB_DONE, EXHAUSTED]);
    holds("replay, two faults", &replay(&[&[0]], 2), &[JOB_DONE]);
    holds("recover, a fault", &recover(), &[JOB_DONE]);
    holds("a replay that may be cancelled, a fault", &cancelled(), &[JOB_DONE, JOB_STOPPED]);
}

#[test]
fn the_work_of_a_disabled_endpoint_stays_until_it_is_enabled() {
    let killed = Webhooks { kinds: vec![Fault::Kill], ..enabled(&[&[0], &[1]], 1, 1) };
    holds("enable, two relays, a kill", &killed, &[JOB_DONE, LATE]);
    holds("enable, a batch, a fault", &enabled(&[&[0, 1]], 1, 2), &[JOB_DONE, EXHAUSTED]);
    holds("enable, one delivery, two faults", &enabled(&[&[0]], 2, 2), &[JOB_DONE, EXHAUSTED]);
}

#[test]
fn a_delivery_that_kills_its_visitors_does_not_block_others() {
    holds("a poisoned delivery", &poisoned(), &[CAREFUL, EXHAUSTED]);
}

/// Takes minutes and some gigabytes: `cargo test --package model -- --ignored --nocapture`.
#[test]
#[ignore = "larger bounds take minutes"]
fn the_properties_hold_within_larger_bounds() {
    holds("one delivery, four faults", &Webhooks { failures: 2, ..lane(&[&[0]], 4) }, &[EXHAUSTED, CAREFUL]);
    holds("two relays, two faults", &lane(&[&[0], &[1]], 2), &[PUT_OFF, LATE]);
    holds("three relays, two faults", &notified(&[&[0], &[1], &[2]], 2), &[LATE]);
    holds(
        "a batch and a relay, a fault",
        &Webhooks { page: 2, ..lane(&[&[2, 0], &[1]], 1) },
        &[PUT_OFF, LATE],
    );
    let two_relays = Webhooks { failures: 2, ahead: 1, ..replay(&[&[0], &[1]], 0) };
    holds("replay, clocks apart, two relays", &two_relays, &[JOB_DONE, EXHAUSTED]);
    let apart = Webhooks { failures: 2, ahead: 2, ..notified(&[&[0], &[1]], 1) };
    holds("clocks apart, a fault", &apart, &[LATE, EXHAUSTED]);
    holds("replay, two faults", &replay(&[&[0, 1]], 2), &[JOB_DONE]);
    holds("enable, two relays, a fault, two failures", &enabled(&[&[0], &[1]], 1, 2), &[JOB_DONE, LATE]);
}

// What each rule prevents.

/// Asserts that the property does not hold without this rule.
fn needed(rule: Rule, model: Webhooks, property: &'static str) -> Checked {
    let model = Webhooks { rules: model.rules.without(rule), ..model };
    crate::common::breaks(&format!("without {rule:?}"), model, property)
}

/// Asserts that some history is endless without this rule.
fn needed_to_end(rule: Rule, model: Webhooks) {
    let round = cycle(&Webhooks { rules: Rules::all().without(rule), ..model });
    println!("without {rule:?}, endless history: {round:?}");
    assert!(round.is_some());
}

/// Asserts that all properties hold without this rule, which only saves work or time.
fn saves(rule: Rule, model: &Webhooks) {
    holds(
        &format!("without {rule:?}"),
        &Webhooks { rules: Rules::all().without(rule), ..model.clone() },
        &[],
    );
}

#[test]
fn a_visitor_that_ignores_a_lease_in_force_is_a_second_visitor() {
    needed(Rule::OneLease, lane(&[&[0]], 1), ONE_VISITOR);
    needed(Rule::OneLease, lane(&[&[0]], 1), NOT_AGAIN);
}

#[test]
fn a_lease_shorter_than_the_visit_lets_a_second_visitor_in() {
    needed(Rule::LeaseOutlivesVisit, lane(&[&[0]], 0), ONE_VISITOR);
}

#[test]
fn a_lease_that_clears_due_strands_the_work_of_a_dead_visitor() {
    needed(Rule::LeaseKeepsDue, lane(&[&[0]], 1), ALL_DONE);
}

#[test]
fn a_tell_that_sets_no_due_strands_the_work_of_a_lost_message() {
    needed(Rule::TellSetsDue, lane(&[&[0]], 1), ALL_DONE);
}

#[test]
fn a_tell_that_keeps_a_far_due_makes_new_work_wait_for_an_old_retry() {
    needed(Rule::TellHastensDue, notified(&[&[0], &[1]], 0), SOON);
}

#[test]
fn done_without_the_mark_strands_work_added_after_the_look() {
    needed(Rule::DoneNeedsMark, lane(&[&[0], &[1]], 0), ALL_DONE);
}

#[test]
fn waits_without_the_mark_delays_work_added_after_the_look() {
    needed(Rule::WaitsNeedsMark, lane(&[&[0], &[1]], 0), SOON);
}

#[test]
fn a_mark_read_after_the_look_strands_work_added_before_it() {
    needed(Rule::MarkBeforeLook, lane(&[&[0], &[1]], 0), ALL_DONE);
}

#[test]
fn a_visitor_out_of_time_that_clears_due_strands_the_rest() {
    needed(Rule::TimeUpKeepsDue, lane(&[&[0, 1]], 2), ALL_DONE);
}

#[test]
fn a_closed_lane_without_due_never_opens_again() {
    needed(Rule::ClosedKeepsDue, lane(&[&[0]], 1), ALL_DONE);
}

#[test]
fn without_a_sweeper_the_work_of_a_lost_message_is_stranded() {
    needed(Rule::SweeperLooks, lane(&[&[0]], 1), ALL_DONE);
}

#[test]
fn a_sweeper_that_claims_leased_lanes_may_never_stop() {
    needed_to_end(Rule::ClaimPassesLeased, lane(&[&[0]], 0));
}

#[test]
fn a_tell_before_its_work_strands_the_work() {
    needed(Rule::TellAfterWork, lane(&[&[0]], 0), ALL_DONE);
}

#[test]
fn an_event_put_before_its_home_rows_hides_that_they_are_missing() {
    needed(Rule::HomeBeforeEvent, lane(&[&[0]], 1), ALL_DONE);
}

#[test]
fn a_repeated_record_that_overwrites_its_rows_repeats_deliveries() {
    needed(Rule::StandingIsNotPut, lane(&[&[0]], 1), NOT_AGAIN);
}

#[test]
fn a_repeated_record_that_tells_no_lane_strands_its_rows() {
    needed(Rule::RepeatTells, lane(&[&[0]], 1), ALL_DONE);
}

#[test]
fn a_tell_without_its_key_strands_late_rows() {
    needed(Rule::TellSaysLow, notified(&[&[0], &[1]], 0), ALL_DONE);
}

#[test]
fn a_batch_that_tells_its_last_key_strands_the_first() {
    needed(Rule::LowIsTheLeast, notified(&[&[0, 1], &[2]], 0), ALL_DONE);
}

#[test]
fn a_lease_that_drops_low_strands_late_rows() {
    needed(Rule::LeaseTakesLow, notified(&[&[0], &[1]], 0), ALL_DONE);
}

#[test]
fn a_lease_that_takes_any_low_may_raise_base() {
    needed(Rule::TakingLowNeedsLow, Webhooks { failures: 0, ..notified(&[&[0], &[1], &[2]], 1) }, ALL_DONE);
}

#[test]
fn a_refused_visitor_that_ignores_low_strands_late_rows() {
    needed(Rule::RefusedLooksFromLow, notified(&[&[0], &[1]], 0), ALL_DONE);
}

#[test]
fn a_repeated_lease_that_ignores_low_strands_late_rows() {
    needed(Rule::RepeatedLeaseLooksFromLow, repeated(&[&[0], &[1]], 1), ALL_DONE);
}

#[test]
fn a_release_that_removes_low_without_the_mark_strands_late_rows() {
    needed(Rule::LowNeedsMark, notified(&[&[0], &[1]], 1), ALL_DONE);
}

#[test]
fn base_moved_past_unhandled_rows_strands_them() {
    needed(Rule::BaseStopsAtUnhandled, lane(&[&[0]], 1), ALL_DONE);
}

#[test]
fn waited_moved_past_unhandled_pointers_strands_their_deliveries() {
    needed(Rule::WaitedStopsAtUnhandled, lane(&[&[0]], 1), ALL_DONE);
}

#[test]
fn waited_as_a_moment_strands_deliveries_that_wait_for_the_same_moment() {
    needed(Rule::WaitedIsAKey, Webhooks { failures: 2, ..notified(&[&[0, 1]], 1) }, ALL_DONE);
}

#[test]
fn a_pointer_put_before_waited_by_a_slow_clock_is_never_read() {
    needed(Rule::PointerBehindWaited, two_that_fail(2, Fault::Stray), ALL_DONE);
}

#[test]
fn a_look_that_attempts_handled_rows_repeats_deliveries() {
    needed(Rule::PassesHandled, notified(&[&[0], &[1]], 0), NOT_AGAIN);
}

#[test]
fn a_look_that_attempts_waiting_rows_attempts_them_too_early() {
    needed(Rule::PassesWaiting, notified(&[&[0], &[1]], 0), NOT_EARLY);
}

#[test]
fn a_pointer_that_always_counts_repeats_deliveries() {
    needed(Rule::PointerMatchesHome, lane(&[&[0]], 2), NOT_AGAIN);
}

#[test]
fn a_home_row_attempted_without_its_event_has_no_body() {
    needed(Rule::NeedsEvent, lane(&[&[0]], 1), EVENT_THERE);
}

#[test]
fn without_careful_mode_a_delivery_kills_its_visitors_for_ever() {
    needed_to_end(Rule::CarefulAfterDeaths, poisoned());
}

#[test]
fn an_endpoint_read_once_per_visit_strands_the_work_of_an_enabled_endpoint() {
    needed(Rule::LookReadsEndpoint, enabled(&[&[0]], 0, 1), ALL_DONE);
}

#[test]
fn base_moved_by_a_visit_to_a_disabled_endpoint_strands_its_work() {
    needed(Rule::ParkedKeepsBase, enabled(&[&[0]], 0, 0), ALL_DONE);
}

#[test]
fn enabling_that_tells_the_lane_first_strands_the_work() {
    needed(Rule::EnableBeforeTell, enabled(&[&[0]], 0, 1), ALL_DONE);
}

#[test]
fn a_job_put_after_its_tell_is_never_found() {
    needed(Rule::JobBeforeTell, replay(&[&[0]], 0), ALL_DONE);
}

#[test]
fn has_jobs_removed_without_the_mark_strands_a_new_job() {
    needed(Rule::JobsNeedMark, replay(&[&[0]], 1), ALL_DONE);
}

#[test]
fn a_refused_visitor_that_keeps_its_old_has_jobs_strands_a_new_job() {
    needed(Rule::RefusedTakesJobs, replay(&[&[0]], 0), ALL_DONE);
}

#[test]
fn a_position_saved_before_its_page_skips_the_page_of_a_dead_visitor() {
    needed(Rule::PageBeforePosition, replay(&[&[0]], 1), JOB_WHOLE);
}

#[test]
fn a_job_that_does_not_skip_its_own_rows_repeats_them() {
    needed(Rule::JobPassesItsOwn, replay(&[&[0]], 1), JOB_ONCE);
}

#[test]
fn a_job_that_saves_its_position_without_a_condition_goes_on_after_it_is_cancelled() {
    needed(Rule::CancelStopsJob, cancelled(), CANCELLED);
}

// Faults of the first design, which had none of these rules.

/// `low` is 0. Key 1 arrives before the visitor's position, and its notification is refused because `low` is less. The visitor
/// finishes and removes `low`. The second form then only increments the mark, and key 1 is before `base` without a
/// `low`.
#[test]
fn a_second_form_of_the_tell_without_a_condition_strands_late_rows() {
    needed(Rule::SecondFormNeedsLow, notified(&[&[0], &[1], &[2]], 0), ALL_DONE);
}

/// A home row lacks its pointer. The next visitor reads the due pointers to beyond that moment, and then puts the
/// missing pointer where no visitor looks any more.
#[test]
fn a_pointer_repaired_before_waited_strands_its_delivery() {
    let pages = Webhooks { failures: 2, page: 2, kinds: vec![Fault::Kill], ..notified(&[&[0, 1]], 1) };
    needed(Rule::PointerBeforeHome, pages, ALL_DONE);
}

/// The home row lacks its pointer and is before `base`, and the job skips it, because the job attempted it.
#[test]
fn a_home_row_left_without_its_pointer_by_a_dying_visitor_of_a_job_is_stranded() {
    needed(Rule::PointerBeforeHome, replay(&[&[0]], 1), FOUND);
    needed(Rule::PointerBeforeHome, replay(&[&[0]], 1), ALL_DONE);
}

/// Pointer and home row exist, but the release that would have written `lastWait` never happened.
#[test]
fn the_last_wait_of_a_dead_visitor_strands_waiting_deliveries() {
    needed(Rule::DeathDistrustsLastWait, lane(&[&[0]], 2), ALL_DONE);
}

/// A visitor with a clock ahead made the attempt before the job existed, so the attempt looks later than the job.
#[test]
fn a_job_that_compares_clocks_misses_rows() {
    needed(Rule::JobMarksRows, Webhooks { ahead: 2, ..replay(&[&[0]], 0) }, JOB_WHOLE);
}

// Assumptions of the rules, and rules that only save work.

/// Each run puts its home rows because the event did not exist, and one of them puts them late.
#[test]
fn two_concurrent_runs_of_one_record_would_repeat_deliveries() {
    let twice = lane(&[&[0, 1], &[0, 1]], 0);
    crate::common::breaks("two concurrent runs of one record", twice.clone(), NOT_AGAIN);
    crate::common::breaks("two concurrent runs of one record", twice, DUTY);
}

/// The lane is not due, and the next notify may come much later. The operator must repeat a command whose process died.
/// One transaction of endpoint, job and notify would make that unnecessary.
#[test]
fn enabling_that_dies_before_its_tell_leaves_the_work_undone() {
    let dies = Webhooks { operator: vec![Order::Disable, Order::Enable], ..notified(&[&[0]], 0) };
    crate::common::breaks("an operator that dies before its notification", dies, ALL_DONE);
}

/// This condition matters only if the lease is too short.
#[test]
fn a_release_by_a_visitor_without_the_lease_delays_new_work() {
    let rules = Rules::all().without(Rule::LeaseOutlivesVisit);
    let short = Webhooks { rules, attempts: 1, ..notified(&[&[0], &[1]], 0) };
    let holds = check_for(short.clone(), SOON);
    assert!(holds.broken.is_empty(), "{holds}");
    needed(Rule::ReleaseNeedsLease, short, SOON);
    saves(Rule::ReleaseNeedsLease, &lane(&[&[0]], 2));
}

#[test]
fn a_low_that_stays_after_done_costs_only_a_look() {
    saves(Rule::DoneRemovesLow, &notified(&[&[0], &[1], &[2]], 0));
    saves(Rule::DoneRemovesLow, &lane(&[&[0], &[1]], 1));
}

/// The notification of the row follows and brings a visitor back to it.
#[test]
fn a_row_without_its_event_may_also_be_skipped() {
    saves(Rule::PutsOffEventless, &lane(&[&[0]], 3));
    saves(Rule::PutsOffEventless, &lane(&[&[0], &[1]], 1));
}

#[test]
fn the_checker_visits_more_than_a_few_states() {
    let checked = check(lane(&[&[0]], 0));
    assert!(checked.states > 20 && checked.depth > 6, "{checked}");
}

#[test]
fn every_rule_is_removed_by_a_test() {
    let tests = [include_str!("webhooks.rs"), include_str!("conversations.rs")].concat();
    for rule in Rule::ALL {
        let taken_out = ["needed", "needed_to_end", "saves"]
            .iter()
            .any(|how| tests.contains(&format!("{how}(Rule::{rule:?},")));
        assert!(taken_out, "{rule:?}");
    }
}
