//! The webhook lane: what holds within bounds, and what each rule is good for. `--nocapture` shows how many states were
//! visited, and each counterexample.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]
#![allow(clippy::print_stdout, reason = "what the checker saw is worth reading")]

mod common;

use common::holds;
use model::check::{Checked, check, check_for, cycle};
use model::properties::{
    ALL_DONE, CANCELLED, CAREFUL, DUTY, EVENT_THERE, EXHAUSTED, FOUND, JOB_DONE, JOB_ONCE, JOB_STOPPED,
    JOB_WHOLE, LATE, NOT_AGAIN, NOT_EARLY, ONE_VISITOR, PUT_OFF, SOON,
};
use model::rules::{Rule, Rules};
use model::webhooks::{Fault, JobKind, Key, Order, Webhooks};

/// Relays with a batch each, one failing post, and so many faults of any kind.
fn lane(relays: &[&[Key]], faults: u8) -> Webhooks {
    let relays = relays.iter().map(|batch| batch.to_vec()).collect();
    Webhooks { relays, failures: 1, faults, ..Webhooks::default() }
}

/// The same; home rows and events are put in one step.
fn told(relays: &[&[Key]], faults: u8) -> Webhooks {
    Webhooks { puts_at_once: true, ..lane(relays, faults) }
}

fn two_that_fail(ahead: u8, kind: Fault) -> Webhooks {
    Webhooks { failures: 2, ahead, kinds: vec![kind], ..told(&[&[0], &[1]], 1) }
}

fn replay(relays: &[&[Key]], faults: u8) -> Webhooks {
    Webhooks { operator: vec![Order::PutJob(JobKind::Replay), Order::TellJob], ..told(relays, faults) }
}

fn cancelled() -> Webhooks {
    let replayed = replay(&[&[0, 1]], 1);
    Webhooks { operator: [replayed.operator.clone(), vec![Order::MayCancel]].concat(), ..replayed }
}

fn recover() -> Webhooks {
    let operator = vec![Order::PutJob(JobKind::Recover), Order::TellJob];
    Webhooks { operator, attempts: 1, failures: 2, ..told(&[&[0, 1]], 1) }
}

fn enabled(relays: &[&[Key]], faults: u8, failures: u8) -> Webhooks {
    let job = Order::PutJob(JobKind::Enable);
    let operator = vec![Order::Disable, Order::Enable, job, Order::TellJob];
    Webhooks { operator, failures, ..told(relays, faults) }
}

fn poisoned() -> Webhooks {
    Webhooks { poison: Some(0), ..told(&[&[0], &[1]], 0) }
}

// What holds.

#[test]
fn one_delivery_outlives_any_three_faults() {
    holds("one delivery, three faults", &lane(&[&[0]], 3), &[PUT_OFF, LATE, EXHAUSTED, CAREFUL]);
    let late = Webhooks { late_events: 2, ..lane(&[&[0]], 2) };
    holds("one delivery whose event is late", &late, &[PUT_OFF, LATE]);
}

#[test]
fn a_batch_outlives_faults_in_its_middle() {
    holds(
        "a batch of two, two faults",
        &Webhooks { page: 2, ..lane(&[&[1, 0]], 2) },
        &[PUT_OFF, LATE, CAREFUL],
    );
    holds("a batch of two, row by row", &lane(&[&[0, 1]], 2), &[PUT_OFF, LATE]);
}

#[test]
fn relays_at_the_same_time_lose_nothing_whatever_comes_first() {
    holds("two relays, a fault", &lane(&[&[0], &[1]], 1), &[PUT_OFF, LATE]);
    holds("two relays, two faults between steps", &told(&[&[0], &[1]], 2), &[LATE]);
    holds("three relays, a fault", &Webhooks { failures: 0, ..told(&[&[0], &[1], &[2]], 1) }, &[LATE]);
    holds("three relays, a failure", &told(&[&[0], &[1], &[2]], 0), &[LATE]);
}

#[test]
fn clocks_that_differ_lose_nothing() {
    holds("clocks apart, a stray message", &two_that_fail(2, Fault::Stray), &[EXHAUSTED]);
    holds("clocks apart, a kill", &two_that_fail(2, Fault::Kill), &[EXHAUSTED]);
    let pages = Webhooks { failures: 3, page: 2, ahead: 2, kinds: vec![Fault::Kill], ..told(&[&[0, 1]], 2) };
    holds("clocks apart, pages of two, two kills", &pages, &[EXHAUSTED, CAREFUL]);
}

#[test]
fn jobs_attempt_what_they_should_once_or_stop() {
    holds("replay, a fault", &replay(&[&[0, 1]], 1), &[JOB_DONE]);
    let failing = Webhooks { failures: 2, ahead: 1, kinds: vec![Fault::Kill], ..replay(&[&[0, 1]], 1) };
    holds("replay, clocks apart", &failing, &[JOB_DONE, EXHAUSTED]);
    holds("replay, two faults", &replay(&[&[0]], 2), &[JOB_DONE]);
    holds("recover, a fault", &recover(), &[JOB_DONE]);
    holds("a replay that may be cancelled, a fault", &cancelled(), &[JOB_DONE, JOB_STOPPED]);
}

#[test]
fn a_disabled_endpoint_keeps_its_work_until_it_is_enabled() {
    let killed = Webhooks { kinds: vec![Fault::Kill], ..enabled(&[&[0], &[1]], 1, 1) };
    holds("enable, two relays, a kill", &killed, &[JOB_DONE, LATE]);
    holds("enable, a batch, a fault", &enabled(&[&[0, 1]], 1, 2), &[JOB_DONE, EXHAUSTED]);
    holds("enable, one delivery, two faults", &enabled(&[&[0]], 2, 2), &[JOB_DONE, EXHAUSTED]);
}

#[test]
fn a_delivery_that_kills_its_visitors_holds_up_no_other() {
    holds("a poisoned delivery", &poisoned(), &[CAREFUL, EXHAUSTED]);
}

/// Minutes, and some gigabytes: `cargo test --package model -- --ignored --nocapture`.
#[test]
#[ignore = "larger bounds: minutes"]
fn all_of_this_holds_within_larger_bounds() {
    holds("one delivery, four faults", &Webhooks { failures: 2, ..lane(&[&[0]], 4) }, &[EXHAUSTED, CAREFUL]);
    holds("two relays, two faults", &lane(&[&[0], &[1]], 2), &[PUT_OFF, LATE]);
    holds("three relays, two faults", &told(&[&[0], &[1], &[2]], 2), &[LATE]);
    holds(
        "a batch and a relay, a fault",
        &Webhooks { page: 2, ..lane(&[&[2, 0], &[1]], 1) },
        &[PUT_OFF, LATE],
    );
    let two_relays = Webhooks { failures: 2, ahead: 1, ..replay(&[&[0], &[1]], 0) };
    holds("replay, clocks apart, two relays", &two_relays, &[JOB_DONE, EXHAUSTED]);
    let apart = Webhooks { failures: 2, ahead: 2, ..told(&[&[0], &[1]], 1) };
    holds("clocks apart, a fault", &apart, &[LATE, EXHAUSTED]);
    holds("replay, two faults", &replay(&[&[0, 1]], 2), &[JOB_DONE]);
    holds("enable, two relays, a fault, two failures", &enabled(&[&[0], &[1]], 1, 2), &[JOB_DONE, LATE]);
}

// What each rule is good for.

/// Without this rule the property does not hold.
fn needed(rule: Rule, model: Webhooks, property: &'static str) -> Checked {
    let model = Webhooks { rules: model.rules.without(rule), ..model };
    common::breaks(&format!("{rule:?}"), model, property)
}

/// Without this rule something may go on for ever.
fn needed_to_end(rule: Rule, model: Webhooks) {
    let round = cycle(&Webhooks { rules: Rules::all().without(rule), ..model });
    println!("without {rule:?}, for ever: {round:?}");
    assert!(round.is_some());
}

/// Without this rule nothing goes wrong, and work or time is wasted.
fn saves(rule: Rule, model: &Webhooks) {
    holds(
        &format!("without {rule:?}"),
        &Webhooks { rules: Rules::all().without(rule), ..model.clone() },
        &[],
    );
}

#[test]
fn a_visitor_that_ignores_a_running_lease_is_a_second_one() {
    needed(Rule::OneLease, lane(&[&[0]], 1), ONE_VISITOR);
    needed(Rule::OneLease, lane(&[&[0]], 1), NOT_AGAIN);
}

#[test]
fn a_lease_shorter_than_the_visit_lets_a_second_visitor_in() {
    needed(Rule::LeaseOutlivesVisit, lane(&[&[0]], 0), ONE_VISITOR);
}

#[test]
fn a_lease_that_clears_due_strands_the_work_of_a_visitor_that_dies() {
    needed(Rule::LeaseKeepsDue, lane(&[&[0]], 1), ALL_DONE);
}

#[test]
fn a_tell_without_due_strands_what_its_lost_message_told_of() {
    needed(Rule::TellSetsDue, lane(&[&[0]], 1), ALL_DONE);
}

#[test]
fn a_tell_that_keeps_a_far_due_leaves_new_work_waiting_for_an_old_retry() {
    needed(Rule::TellHastensDue, told(&[&[0], &[1]], 0), SOON);
}

#[test]
fn done_without_the_mark_hides_what_came_after_the_look() {
    needed(Rule::DoneNeedsMark, lane(&[&[0], &[1]], 0), ALL_DONE);
}

#[test]
fn waits_without_the_mark_hides_what_came_after_the_look() {
    needed(Rule::WaitsNeedsMark, lane(&[&[0], &[1]], 0), SOON);
}

#[test]
fn a_mark_read_after_the_look_proves_nothing() {
    needed(Rule::MarkBeforeLook, lane(&[&[0], &[1]], 0), ALL_DONE);
}

#[test]
fn a_visitor_out_of_time_that_clears_due_strands_the_rest() {
    needed(Rule::TimeUpKeepsDue, lane(&[&[0, 1]], 2), ALL_DONE);
}

#[test]
fn a_closed_lane_without_due_never_opens() {
    needed(Rule::ClosedKeepsDue, lane(&[&[0]], 1), ALL_DONE);
}

#[test]
fn without_a_sweeper_a_lost_message_is_lost_work() {
    needed(Rule::SweeperLooks, lane(&[&[0]], 1), ALL_DONE);
}

#[test]
fn a_sweeper_that_claims_leased_lanes_may_be_busy_for_ever() {
    needed_to_end(Rule::ClaimPassesLeased, lane(&[&[0]], 0));
}

#[test]
fn a_tell_before_the_work_is_put_proves_nothing() {
    needed(Rule::TellAfterWork, lane(&[&[0]], 0), ALL_DONE);
}

#[test]
fn an_event_put_before_its_home_rows_vouches_for_rows_that_are_not_there() {
    needed(Rule::HomeBeforeEvent, lane(&[&[0]], 1), ALL_DONE);
}

#[test]
fn a_repeated_record_that_puts_its_rows_again_delivers_again() {
    needed(Rule::StandingIsNotPut, lane(&[&[0]], 1), NOT_AGAIN);
}

#[test]
fn a_repeated_record_that_tells_nobody_strands_what_it_had_put() {
    needed(Rule::RepeatTells, lane(&[&[0]], 1), ALL_DONE);
}

#[test]
fn a_tell_without_its_key_strands_late_rows() {
    needed(Rule::TellSaysLow, told(&[&[0], &[1]], 0), ALL_DONE);
}

#[test]
fn a_batch_that_tells_of_its_last_key_strands_the_first() {
    needed(Rule::LowIsTheLeast, told(&[&[0, 1], &[2]], 0), ALL_DONE);
}

#[test]
fn a_lease_that_drops_low_strands_late_rows() {
    needed(Rule::LeaseTakesLow, told(&[&[0], &[1]], 0), ALL_DONE);
}

#[test]
fn a_lease_that_takes_low_in_unasked_may_raise_base() {
    needed(Rule::TakingLowNeedsLow, Webhooks { failures: 0, ..told(&[&[0], &[1], &[2]], 1) }, ALL_DONE);
}

#[test]
fn a_refused_visitor_that_forgets_low_never_sees_it() {
    needed(Rule::RefusedLooksFromLow, told(&[&[0], &[1]], 0), ALL_DONE);
}

#[test]
fn a_release_that_removes_low_unasked_strands_late_rows() {
    needed(Rule::LowNeedsMark, told(&[&[0], &[1]], 1), ALL_DONE);
}

#[test]
fn base_raised_over_what_was_not_sent_strands_it() {
    needed(Rule::BaseStopsAtUnhandled, lane(&[&[0]], 1), ALL_DONE);
}

#[test]
fn waited_raised_over_what_was_not_sent_strands_it() {
    needed(Rule::WaitedStopsAtUnhandled, lane(&[&[0]], 1), ALL_DONE);
}

#[test]
fn waited_as_a_moment_strands_what_waits_for_the_same_one() {
    needed(Rule::WaitedIsAKey, Webhooks { failures: 2, ..told(&[&[0, 1]], 1) }, ALL_DONE);
}

#[test]
fn a_pointer_put_below_waited_by_a_slow_clock_is_never_read() {
    needed(Rule::PointerBehindWaited, two_that_fail(2, Fault::Stray), ALL_DONE);
}

#[test]
fn a_look_that_attempts_whatever_it_finds_delivers_again() {
    needed(Rule::PassesHandled, told(&[&[0], &[1]], 0), NOT_AGAIN);
}

#[test]
fn a_look_that_attempts_what_waits_does_so_too_early() {
    needed(Rule::PassesWaiting, told(&[&[0], &[1]], 0), NOT_EARLY);
}

#[test]
fn a_pointer_that_counts_whatever_its_home_row_says_delivers_again() {
    needed(Rule::PointerMatchesHome, lane(&[&[0]], 2), NOT_AGAIN);
}

#[test]
fn a_home_row_without_its_event_has_nothing_to_post() {
    needed(Rule::NeedsEvent, lane(&[&[0]], 1), EVENT_THERE);
}

#[test]
fn without_care_a_delivery_that_kills_its_visitors_does_so_for_ever() {
    needed_to_end(Rule::CarefulAfterDeaths, poisoned());
}

#[test]
fn an_endpoint_read_once_a_visit_hides_that_it_was_enabled() {
    needed(Rule::LookReadsEndpoint, enabled(&[&[0]], 0, 1), ALL_DONE);
}

#[test]
fn base_raised_by_a_visit_to_a_disabled_endpoint_strands_its_work() {
    needed(Rule::ParkedKeepsBase, enabled(&[&[0]], 0, 0), ALL_DONE);
}

#[test]
fn enabling_that_tells_first_strands_the_work() {
    needed(Rule::EnableBeforeTell, enabled(&[&[0]], 0, 1), ALL_DONE);
}

#[test]
fn a_job_told_of_before_it_is_put_is_never_found() {
    needed(Rule::JobBeforeTell, replay(&[&[0]], 0), ALL_DONE);
}

#[test]
fn has_jobs_removed_without_the_mark_hides_a_new_job() {
    needed(Rule::JobsNeedMark, replay(&[&[0]], 1), ALL_DONE);
}

#[test]
fn a_refused_visitor_that_keeps_its_own_has_jobs_hides_a_new_job() {
    needed(Rule::RefusedTakesJobs, replay(&[&[0]], 0), ALL_DONE);
}

#[test]
fn a_position_saved_before_its_page_skips_the_page_of_a_visitor_that_dies() {
    needed(Rule::PageBeforePosition, replay(&[&[0]], 1), JOB_WHOLE);
}

#[test]
fn a_job_that_does_not_know_its_own_rows_repeats_them() {
    needed(Rule::JobPassesItsOwn, replay(&[&[0]], 1), JOB_ONCE);
}

#[test]
fn a_job_that_saves_its_position_unasked_goes_on_when_cancelled() {
    needed(Rule::CancelStopsJob, cancelled(), CANCELLED);
}

// The first design, and why it was mended. Each of these rules was not in it.

/// `low` is 0. Key 1 comes behind the visitor, its tell finds `low` less and is refused; the visitor, done, removes `low`;
/// the second form then counts the mark, and 1 is behind `base` with no `low`.
#[test]
fn a_second_form_of_the_tell_that_asks_for_nothing_strands_late_rows() {
    needed(Rule::SecondFormNeedsLow, told(&[&[0], &[1], &[2]], 0), ALL_DONE);
}

/// A home row stands without its pointer. The next visitor looks at what is due, to beyond that moment, and then puts the
/// pointer where nobody looks any more.
#[test]
fn a_pointer_repaired_below_waited_strands_its_delivery() {
    let pages = Webhooks { failures: 2, page: 2, kinds: vec![Fault::Kill], ..told(&[&[0, 1]], 1) };
    needed(Rule::PointerBeforeHome, pages, ALL_DONE);
}

/// A job's home row stands without its pointer, is behind `base`, and is passed over: the job attempted it.
#[test]
fn a_home_row_that_a_dying_job_leaves_without_its_pointer_is_stranded() {
    needed(Rule::PointerBeforeHome, replay(&[&[0]], 1), FOUND);
    needed(Rule::PointerBeforeHome, replay(&[&[0]], 1), ALL_DONE);
}

/// Pointer and home row stand, but `lastWait` was to be written by the release that never came.
#[test]
fn last_wait_as_a_dead_visitor_left_it_hides_what_waits() {
    needed(Rule::DeathDistrustsLastWait, lane(&[&[0]], 2), ALL_DONE);
}

/// The attempt was made by a clock that is ahead, before there was a job, and looks younger than the job.
#[test]
fn a_job_that_compares_clocks_misses_rows() {
    needed(Rule::JobMarksRows, Webhooks { ahead: 2, ..replay(&[&[0]], 0) }, JOB_WHOLE);
}

// What the rules rest on, and rules that only save something.

/// Each puts its home rows because the event did not stand, one of them late.
#[test]
fn two_runs_of_one_record_at_the_same_time_would_repeat_what_is_delivered() {
    let twice = lane(&[&[0, 1], &[0, 1]], 0);
    common::breaks("relays that take turns", twice.clone(), NOT_AGAIN);
    common::breaks("relays that take turns", twice, DUTY);
}

/// Its rows are not due, and the next tell may be far. A command that died is to be given again; one transaction of
/// endpoint, job and tell would not ask for that.
#[test]
fn enabling_that_dies_before_its_tell_leaves_the_work_where_it_is() {
    let dies = Webhooks { operator: vec![Order::Disable, Order::Enable], ..told(&[&[0]], 0) };
    common::breaks("the tell of an operator that dies", dies, ALL_DONE);
}

/// It takes a lease that is too short for this condition to matter.
#[test]
fn a_release_by_a_visitor_without_the_lease_hides_new_work() {
    let rules = Rules::all().without(Rule::LeaseOutlivesVisit);
    let short = Webhooks { rules, attempts: 1, ..told(&[&[0], &[1]], 0) };
    let holds = check_for(short.clone(), SOON);
    assert!(holds.broken.is_empty(), "{holds}");
    needed(Rule::ReleaseNeedsLease, short, SOON);
    saves(Rule::ReleaseNeedsLease, &lane(&[&[0]], 2));
}

#[test]
fn low_that_stays_after_the_end_of_duty_only_costs_a_look() {
    saves(Rule::DoneRemovesLow, &told(&[&[0], &[1], &[2]], 0));
    saves(Rule::DoneRemovesLow, &lane(&[&[0], &[1]], 1));
}

/// Its tell is to come, and brings a visitor back to it.
#[test]
fn a_row_without_its_event_may_as_well_be_passed_over() {
    saves(Rule::PutsOffEventless, &lane(&[&[0]], 3));
    saves(Rule::PutsOffEventless, &lane(&[&[0], &[1]], 1));
}

#[test]
fn the_checker_finds_what_is_there_to_be_found() {
    let checked = check(lane(&[&[0]], 0));
    assert!(checked.states > 20 && checked.depth > 6, "{checked}");
}

#[test]
fn every_rule_is_taken_out_by_a_test() {
    let tests = [include_str!("webhooks.rs"), include_str!("conversations.rs")].concat();
    for rule in Rule::ALL {
        let taken_out = ["needed", "needed_to_end", "saves"]
            .iter()
            .any(|how| tests.contains(&format!("{how}(Rule::{rule:?},")));
        assert!(taken_out, "{rule:?}");
    }
}
