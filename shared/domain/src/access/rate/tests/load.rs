//! Even loads: how many writes they make and how much of them is admitted, compared with one write for each request.

use super::*;

/// A minute of requests at random moments, each to a random one of some processes.
#[derive(Clone, Copy)]
struct Load {
    limit: (u32, u32),
    /// Requests a second.
    requests: u32,
    processes: usize,
}

/// What a load led to.
#[derive(Debug, Default)]
struct Outcome {
    requests: usize,
    admitted: usize,
    writes: usize,
}

impl Load {
    fn outcome(self, gcra: Gcra, seed: u64) -> Outcome {
        let mut random = Random(seed);
        let (mut row, mut buckets) = (Row::default(), vec![Bucket::default(); self.processes]);
        let (mut now, mut requests, mut moments) = (0, 0, vec![]);
        while now < 60 * SECOND {
            // The milliseconds of the clock.
            now += (random.gap() * 1_000.0 / f64::from(self.requests) * 1_000.0) as i64;
            let (process, moment) = (random.below(self.processes), now / 1_000 * 1_000);
            requests += 1;
            if ask(&mut buckets[process], &mut row, gcra, moment) == Step::Admit {
                moments.push(moment);
            }
        }
        let admitted = moments.len();
        assert_eq!(model::conforms(gcra, moments), Ok(()));
        Outcome { requests, admitted, writes: row.writes }
    }

    /// The sums of some minutes, with leases and without.
    fn outcomes(self) -> [Outcome; 2] {
        let leased = gcra(self.limit.0, self.limit.1);
        let sum = |gcra| {
            let minutes = (1..=5).map(|seed| self.outcome(gcra, seed));
            minutes.fold(Outcome::default(), |sum, minute| Outcome {
                requests: sum.requests + minute.requests,
                admitted: sum.admitted + minute.admitted,
                writes: sum.writes + minute.writes,
            })
        };
        [leased, Gcra { most: 1, ..leased }].map(sum)
    }
}

/// A generator of the same random numbers in every run (SplitMix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() >> 33) as usize % end
    }

    /// The gap between independent events of which one a second is expected.
    fn gap(&mut self) -> f64 {
        let uniform = ((self.next() >> 11) as f64 + 1.0) / (1_u64 << 53) as f64;
        -uniform.ln()
    }
}

/// The most writes for 1,000 requests of a load, for 1, 4 and 16 processes, with leases.
#[test]
fn an_even_load_makes_few_writes_and_is_admitted_as_without_leases() {
    let default = (50, 100);
    for (limit, requests, most) in [
        (default, 5, [510, 1_150, 1_150]),
        (default, 25, [360, 600, 1_400]),
        (default, 50, [360, 400, 750]),
        (default, 100, [500, 720, 900]),
        ((500, 1_000), 50, [70, 230, 900]),
        ((500, 1_000), 500, [60, 80, 150]),
        ((500, 1_000), 800, [600, 650, 800]),
        ((50, 20), 50, [450, 850, 1_550]),
        ((200, 10), 200, [600, 1_250, 1_700]),
    ] {
        for (processes, most) in [1, 4, 16].into_iter().zip(most) {
            let [leased, single] = Load { limit, requests, processes }.outcomes();
            let per_thousand = |outcome: &Outcome| outcome.writes * 1_000 / outcome.requests;
            let share = leased.admitted as f64 / single.admitted as f64 * 100.0;
            let what = format!("{limit:?} at {requests}/s, {processes} processes");
            assert!(per_thousand(&leased) <= most, "{what}: {leased:?}");
            assert!(share >= 97.0, "{what}: {leased:?}, {single:?}");
        }
    }
}

#[test]
fn a_burst_after_a_pause_is_whole_and_one_amid_a_light_load_finds_three_quarters() {
    for (per_second, burst, processes) in [(50, 100, 1), (50, 100, 16), (500, 1_000, 4), (100, 400, 16)] {
        let gcra = gcra(per_second, burst);
        let (mut row, mut buckets) = (Row::default(), vec![Bucket::default(); processes]);
        let mut at_once = |row: &mut Row, now: i64| {
            let requests = (0..2 * burst as usize).map(|number| number % processes);
            requests.filter(|process| ask(&mut buckets[*process], row, gcra, now) == Step::Admit).count()
        };
        assert_eq!(at_once(&mut row, 0), burst as usize);
        let mut now = 10 * SECOND;
        let mut light = vec![Bucket::default(); processes];
        for request in 0..60 * per_second as usize / 5 {
            now += 5 * gcra.interval;
            let step = ask(&mut light[request % processes], &mut row, gcra, now);
            assert_eq!(step, Step::Admit);
            let left = (gcra.tolerance - (row.tat - now).max(0)) / gcra.interval + 1;
            let held = gcra.most * processes as i64;
            assert!(left >= i64::from(burst) * 3 / 4 - held, "{left} of {burst}, {processes} processes");
        }
        let now = now + 2 * SECOND;
        assert_eq!(at_once(&mut row, now), burst as usize, "after a pause");
    }
}
