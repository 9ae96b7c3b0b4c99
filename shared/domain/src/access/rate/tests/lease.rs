//! The tokens that a process holds.

use super::*;

const MS: i64 = 1_000;

/// A process that used ten tokens of a bucket of 50 a second, 100 at once, in the second before [`BusyProcess::NOW`],
/// and its row.
struct BusyProcess {
    gcra: Gcra,
    row: Row,
    bucket: Bucket,
}

impl BusyProcess {
    const NOW: i64 = 100 * SECOND;

    fn new() -> Self {
        let mut process = Self { gcra: gcra(50, 100), row: Row::default(), bucket: Bucket::default() };
        for request in 0..10 {
            let now = Self::NOW - SECOND + request * 100 * MS;
            assert_eq!(process.ask(now), Step::Admit);
        }
        assert_eq!(process.row.writes, 10, "no lease in the first second");
        process
    }

    /// A request.
    fn ask(&mut self, now: i64) -> Step {
        ask(&mut self.bucket, &mut self.row, self.gcra, now)
    }

    /// The tokens that the process draws for a request; none if it holds one.
    fn draws(&mut self, now: i64) -> i64 {
        match self.bucket.ask(self.gcra, now) {
            Step::Write(draw) => draw.tokens,
            _ => 0,
        }
    }

    /// A request whose write is under way.
    fn begin(&mut self, now: i64) -> Draw {
        let Step::Write(draw) = self.bucket.ask(self.gcra, now) else { panic!("the process holds tokens") };
        draw
    }

    /// The write of a request arrives, and the writes that follow from it.
    fn end(&mut self, now: i64, draw: Draw) -> Step {
        answer(&mut self.bucket, &mut self.row, self.gcra, now, Step::Write(draw))
    }

    /// How many requests are admitted at this moment without a write.
    fn held(&self, gcra: Gcra, now: i64) -> usize {
        let mut bucket = self.bucket;
        (0..100).take_while(|_| bucket.ask(gcra, now) == Step::Admit).count()
    }
}

const NOW: i64 = BusyProcess::NOW;

#[test]
fn a_busy_process_writes_once_for_three_requests_and_a_quiet_one_for_each() {
    let mut process = BusyProcess::new();
    for request in 0..30 {
        assert_eq!(process.ask(NOW + request * 100 * MS), Step::Admit);
        assert_eq!(process.row.writes as i64, 10 + request / 3 + 1);
    }
    assert_eq!(process.draws(NOW + 5 * SECOND), 1, "after two seconds without a request");
}

#[test]
fn each_token_is_good_until_its_slot_and_for_a_second() {
    let mut process = BusyProcess::new();
    // The slots of the two others are 20 and 40 ms after the head start of 400 ms.
    assert_eq!(process.ask(NOW), Step::Admit);
    for (after, held) in [(0, 2), (420, 2), (421, 1), (440, 1), (441, 0)] {
        assert_eq!(process.held(process.gcra, NOW + after * MS), held, "after {after} ms");
    }
    // Others use up the bucket, so the slots are two seconds away.
    let mut process = BusyProcess::new();
    process.row.tat = NOW + 1_900 * MS;
    assert_eq!(process.ask(NOW), Step::Admit);
    for (after, held) in [(0, 2), (999, 2), (1_000, 0)] {
        assert_eq!(process.held(process.gcra, NOW + after * MS), held, "after {after} ms");
    }
    // The clock was set back.
    for (before, held) in [(40, 2), (41, 1), (60, 1), (61, 0)] {
        assert_eq!(process.held(process.gcra, NOW - before * MS), held, "{before} ms before");
    }
}

#[test]
fn tokens_are_worth_nothing_under_another_limit() {
    let mut process = BusyProcess::new();
    assert_eq!(process.ask(NOW), Step::Admit);
    assert_eq!(process.held(process.gcra, NOW), 2);
    for (per_second, burst) in [(50, 99), (51, 100), (500, 1_000), (1, 1)] {
        assert_eq!(process.held(gcra(per_second, burst), NOW), 0, "{per_second}/{burst}");
    }
}

#[test]
fn each_token_is_used_once() {
    let mut process = BusyProcess::new();
    let draw = process.begin(NOW);
    assert_eq!((draw.tokens, process.end(NOW, draw)), (3, Step::Admit));
    assert_eq!([process.draws(NOW), process.draws(NOW), process.draws(NOW)], [0, 0, 3]);
}

#[test]
fn one_request_at_a_time_draws_a_lease() {
    let mut process = BusyProcess::new();
    let lease = process.begin(NOW);
    assert_eq!(lease.tokens, 3);
    assert_eq!([process.draws(NOW), process.draws(NOW + 900 * MS)], [1, 1]);
    process.end(NOW, lease);
    assert_eq!(process.held(process.gcra, NOW), 2);
    // An answer that does not arrive within a second is not waited for, and brings no tokens later.
    let mut process = BusyProcess::new();
    let lost = process.begin(NOW);
    for request in 0..10 {
        let single = process.begin(NOW + request * 100 * MS);
        assert_eq!(process.end(NOW + request * 100 * MS, single), Step::Admit);
    }
    let other = process.begin(NOW + SECOND);
    assert_eq!((lost.tokens, other.tokens), (3, 3));
    process.end(NOW + SECOND, other);
    process.end(NOW, lost);
    assert_eq!(process.held(process.gcra, NOW + SECOND), 2);
}

#[test]
fn a_process_that_finds_fewer_tokens_draws_one() {
    // What others left of the bucket, the writes of the request, and the tokens for the next ones, if the process
    // believes that the bucket is idle, and if it believes that it is partly used.
    for (left, idle, used) in
        [(4, (2, 2), (1, 2)), (3, (2, 2), (1, 2)), (2, (2, 1), (2, 0)), (1, (2, 0), (2, 0))]
    {
        for (is_used, (writes, held)) in [(false, idle), (true, used)] {
            let mut process = BusyProcess::new();
            if is_used {
                process.row.tat = NOW + SECOND;
                assert_eq!([0; 3].map(|_| process.ask(NOW)), [Step::Admit; 3]);
            }
            let before = process.row.writes;
            process.row.tat = NOW + process.gcra.tolerance - (left - 1) * process.gcra.interval;
            assert_eq!(process.ask(NOW), Step::Admit);
            let (writes_made, held_now) = (process.row.writes - before, process.held(process.gcra, NOW));
            assert_eq!((writes_made, held_now), (writes, held), "{left} left, {is_used}");
        }
    }
    let mut process = BusyProcess::new();
    process.row.tat = NOW + process.gcra.tolerance + 1;
    assert_eq!(process.ask(NOW), Step::Refuse { retry_after: Duration::from_micros(1) });
}

#[test]
fn a_process_uses_its_tokens_while_the_bucket_is_empty() {
    let mut process = BusyProcess::new();
    process.row.tat = NOW + process.gcra.tolerance - 2 * process.gcra.interval;
    let steps = [0; 4].map(|_| process.ask(NOW));
    assert_eq!(steps[..3], [Step::Admit; 3]);
    assert_eq!(steps[3], Step::Refuse { retry_after: Duration::from_millis(20) });
    assert_eq!(process.row.writes, 12, "the process knows that the bucket is empty");
}

#[test]
fn a_refused_write_lets_others_draw_a_lease_only_if_it_was_one_and_becomes_none() {
    // The process believes that the bucket is partly used, so a refused write is followed by one for a single token.
    let mut process = BusyProcess::new();
    process.row.tat = NOW + SECOND;
    assert_eq!([0; 3].map(|_| process.ask(NOW)), [Step::Admit; 3]);
    let lease = process.begin(NOW);
    assert_eq!((lease.form, lease.tokens), (Form::Hot, 3));
    let single = process.begin(NOW);
    let tat = process.row.tat + 2 * process.gcra.interval;
    let Step::Write(again) = process.bucket.refused(process.gcra, NOW, single, tat) else { panic!() };
    assert_eq!((again.tokens, process.draws(NOW)), (1, 1), "the lease is still being drawn");
    let Step::Write(again) = process.bucket.refused(process.gcra, NOW, lease, tat) else { panic!() };
    assert_eq!((again.tokens, process.draws(NOW)), (1, 3), "no lease comes of it");
    // A process that believes that the bucket is idle tries again for a lease.
    let mut process = BusyProcess::new();
    let lease = process.begin(NOW);
    assert_eq!((lease.form, lease.tokens), (Form::Idle, 3));
    let Step::Write(again) = process.bucket.refused(process.gcra, NOW, lease, NOW + SECOND) else { panic!() };
    assert_eq!((again.tokens, process.draws(NOW)), (3, 1), "the lease is still being drawn");
}

#[test]
fn a_process_whose_writes_find_an_empty_bucket_pauses_for_half_the_time_in_which_it_fills_at_most() {
    // 50 a second: the pauses of buckets of 3, 6, and 100 in milliseconds.
    for (burst, pause) in [(3, 20), (6, 50), (100, 100)] {
        let (gcra, mut bucket, mut now) = (gcra(50, burst), Bucket::default(), NOW);
        for (refusal, wait) in [(1, 1), (2, pause * MS), (3, pause * MS)] {
            let Step::Write(draw) = bucket.ask(gcra, now) else { panic!("refusal {refusal}") };
            // Others took the token that came back.
            let step = bucket.refused(gcra, now, draw, now + gcra.tolerance + 1);
            let retry_after = Duration::from_micros(wait.unsigned_abs());
            assert_eq!(step, Step::Refuse { retry_after }, "a burst of {burst}, refusal {refusal}");
            now += wait;
        }
    }
}
