//! Worlds of many seeds. `make simulate` runs more of them, replays one, and removes safeguards.

#![allow(clippy::print_stderr, reason = "the progress of long runs, and the failures")]

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use world::{Options, Report, run};

/// How many seeds `make test` runs.
const SEEDS: u64 = 300;

/// Runs worlds on all processors. Returns the reports of those that broke, and the sums of all.
fn run_all(seeds: std::ops::Range<u64>, without: Option<&str>) -> (Vec<Report>, Sums) {
    let (seeds, found) = (Mutex::new(seeds), Mutex::new((vec![], Sums::default())));
    let begun = Instant::now();
    let work = || {
        loop {
            let next = seeds.lock().expect("seeds").next();
            let Some(seed) = next else { return };
            let report = run(&Options { seed, prints: false, without: without.map(str::to_owned) });
            let mut found = found.lock().expect("reports");
            found.1.add(&report);
            if found.1.worlds.is_multiple_of(1_000) {
                eprintln!("{:?} after {:?}", found.1, begun.elapsed());
            }
            if !report.broken.is_empty() {
                eprintln!("seed {seed} broke: {}", report.broken[0]);
                found.0.push(report);
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(work);
        }
    });
    found.into_inner().expect("reports")
}

/// What happened in several worlds.
#[derive(Debug, Default)]
struct Sums {
    worlds: u64,
    steps: u64,
    faults: u64,
    hours: f64,
    calls: usize,
}

impl Sums {
    fn add(&mut self, report: &Report) {
        self.worlds += 1;
        self.steps += report.steps;
        self.faults += report.faults;
        self.hours += f64::from(u32::try_from(report.seconds).unwrap_or(u32::MAX)) / 3_600.0;
        self.calls += report.calls;
    }
}

/// Fails with what broke, and how to see it again.
fn assert_whole(broken: &[Report]) {
    for report in broken {
        eprintln!("seed {} broke by step {}: make simulate SEED={}", report.seed, report.steps, report.seed);
        for what in &report.broken {
            eprintln!("  {what}");
        }
    }
    let seeds: Vec<u64> = broken.iter().map(|report| report.seed).collect();
    assert!(broken.is_empty(), "these seeds broke: {seeds:?}");
}

#[test]
fn nothing_is_lost_or_doubled_in_any_world() {
    let (broken, sums) = run_all(0..SEEDS, None);
    eprintln!("{sums:?}");
    assert_whole(&broken);
    assert!(sums.faults > SEEDS && sums.calls > 100, "the worlds are too calm: {sums:?}");
}

#[test]
fn a_seed_has_the_same_history_each_time() {
    for seed in 0..5 {
        let of = || run(&Options { seed, ..Options::default() });
        let (one, other) = (of(), of());
        assert_eq!((one.steps, one.hash), (other.steps, other.hash), "seed {seed}: {one:#?} {other:#?}");
    }
}

/// `make simulate`: many seeds, one seed step by step, or all safeguards in turn.
#[test]
#[ignore = "takes long; `make simulate` runs it"]
fn simulate() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    if let Some(seed) = number("SEED") {
        let report = run(&Options { seed, prints: true, without: std::env::var("WITHOUT").ok() });
        return assert_whole(
            &[report].into_iter().filter(|report| !report.broken.is_empty()).collect::<Vec<_>>(),
        );
    }
    let seeds = number("SEEDS").unwrap_or(10_000);
    if number("SAFEGUARDS").is_some() {
        return remove_each_safeguard(seeds);
    }
    let (broken, sums) = run_all(0..seeds, None);
    eprintln!("{sums:?}");
    assert_whole(&broken);
}

/// Removes each safeguard in turn, and prints those without which no world breaks.
fn remove_each_safeguard(seeds: u64) {
    let mut safeguards = BTreeSet::new();
    for seed in 0..20 {
        safeguards.extend(run(&Options { seed, ..Options::default() }).safeguards);
    }
    let (caught, of) = (AtomicU64::new(0), safeguards.len());
    for safeguard in &safeguards {
        // Batches: most are found within the first seeds.
        let mut from = 0;
        let found = loop {
            let to = (from + 20).min(seeds);
            let (broken, _) = run_all(from..to, Some(safeguard));
            if let Some(first) = broken.iter().min_by_key(|report| report.seed) {
                break Some((first.seed, first.broken[0].clone()));
            }
            from = to;
            if from == seeds {
                break None;
            }
        };
        match found {
            Some((seed, what)) => {
                caught.fetch_add(1, Ordering::SeqCst);
                eprintln!("RED   {safeguard}\n      seed {seed}: {what}");
            }
            None => eprintln!("green {safeguard}"),
        }
    }
    eprintln!("{} of {of} safeguards are missed within {seeds} seeds", caught.into_inner());
}
