//! Worlds of many seeds. `make simulate` runs more of them, replays one, and removes safeguards.

#![allow(clippy::print_stderr, reason = "the progress of long runs, and the failures")]

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use world::{Options, Report, run};

/// How many seeds `make test` runs. `make simulate` runs more.
const SEEDS: u64 = 20;

/// Runs worlds on all processors. Returns the reports of those that broke, and the sums of all.
fn run_all(seeds: std::ops::Range<u64>) -> (Vec<Report>, Sums) {
    let (sums, begun) = (Mutex::new(Sums::default()), Instant::now());
    let broken = of_all(&seeds.collect::<Vec<_>>(), |seed| {
        let report = run(&Options { seed: *seed, without: without(), ..Options::default() });
        let mut sums = sums.lock().expect("sums");
        sums.add(&report);
        if sums.worlds.is_multiple_of(1_000) {
            eprintln!("{sums:?} after {:?}", begun.elapsed());
        }
        let is_broken = !report.broken.is_empty();
        if is_broken {
            eprintln!("seed {seed} broke: {}", report.broken[0]);
        }
        is_broken.then_some(report)
    });
    (broken, sums.into_inner().expect("sums"))
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
    let (broken, sums) = run_all(0..SEEDS);
    eprintln!("{sums:?}");
    assert_whole(&broken);
    assert!(sums.faults > SEEDS && sums.calls > 100, "the worlds are too calm: {sums:?}");
}

#[test]
fn the_usage_of_a_calm_world_is_what_happened_in_it() {
    // Nothing goes wrong in these worlds, so nothing is counted twice or not at all.
    let broken = of_all(&[100, 119], |seed| {
        let report = run(&Options { seed: *seed, ..Options::default() });
        assert_eq!(report.faults, 0, "seed {seed} is not calm");
        (!report.broken.is_empty()).then_some(report)
    });
    assert_whole(&broken);
}

#[test]
fn a_seed_has_the_same_history_each_time() {
    let seeds: Vec<u64> = (0..number("SEEDS").unwrap_or(4)).collect();
    let of = |seed: &u64| Some(run(&Options { seed: *seed, ..Options::default() }));
    let (mut one, mut other) = (of_all(&seeds, of), of_all(&seeds, of));
    one.sort_by_key(|report| report.seed);
    other.sort_by_key(|report| report.seed);
    for (one, other) in one.iter().zip(&other) {
        assert_eq!((one.steps, one.hash), (other.steps, other.hash), "{one:#?} {other:#?}");
    }
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// `make simulate`: many seeds, one seed step by step, or all safeguards in turn.
#[test]
#[ignore = "takes long; `make simulate` runs it"]
fn simulate() {
    if let Some(seed) = number("SEED") {
        let report = run(&Options { seed, prints: true, without: without() });
        return assert_whole(
            &[report].into_iter().filter(|report| !report.broken.is_empty()).collect::<Vec<_>>(),
        );
    }
    let seeds = number("SEEDS").unwrap_or(10_000);
    if number("SAFEGUARDS").is_some() {
        return remove_each_safeguard(seeds);
    }
    let first = number("FROM").unwrap_or(0);
    let (broken, sums) = run_all(first..first + seeds);
    eprintln!("{sums:?}");
    assert_whole(&broken);
}

/// The safeguards in `WITHOUT`, one on a line.
fn without() -> Vec<String> {
    std::env::var("WITHOUT").unwrap_or_default().lines().map(str::to_owned).collect()
}

/// How many worlds are tried without a safeguard, at most.
const TRIES: usize = 30;

/// Removes each safeguard in turn from worlds in which it refuses a write, until one breaks. Nothing is different in the
/// others.
fn remove_each_safeguard(seeds: u64) {
    let only = std::env::var("ONLY").unwrap_or_default();
    let is_wanted = |safeguard: &str| only.is_empty() || only.lines().any(|part| safeguard.contains(part));
    let seeds: Vec<u64> = (0..seeds).collect();
    let (mut all, mut hashes) = (BTreeMap::new(), BTreeMap::new());
    for report in of_all(&seeds, |seed| Some(run(&Options { seed: *seed, ..Options::default() }))) {
        hashes.insert(report.seed, report.hash);
        for safeguard in report.safeguards {
            let (reached, refuses): &mut (u64, Vec<u64>) = all.entry(safeguard.clone()).or_default();
            *reached += 1;
            refuses.extend(report.refused.contains(&safeguard).then_some(report.seed));
        }
    }
    let others = without();
    all.retain(|safeguard, _| is_wanted(safeguard) && !others.contains(safeguard));
    let found = of_all(&all.into_iter().collect::<Vec<_>>(), |(safeguard, (reached, refuses))| {
        let mut differs = 0;
        let mut refuses = refuses.clone();
        refuses.sort_unstable();
        for seed in refuses.iter().take(TRIES) {
            let without = [others.as_slice(), std::slice::from_ref(safeguard)].concat();
            let report = run(&Options { seed: *seed, without, ..Options::default() });
            if let Some(broken) = report.broken.first() {
                eprintln!("RED   {safeguard}\n      seed {seed}: {broken}");
                return Some(1);
            }
            differs += u64::from(hashes[seed] != report.hash);
        }
        let (refuses, tried) = (refuses.len(), refuses.len().min(TRIES));
        eprintln!("green {safeguard}");
        eprintln!(
            "      in {reached} worlds, refuses in {refuses}, tried {tried}, of which {differs} differ"
        );
        Some(0)
    });
    let missed: usize = found.iter().sum();
    eprintln!("{missed} of {} safeguards are missed within {} seeds", found.len(), seeds.len());
}

/// Does something for each, on all processors.
fn of_all<I: Sync, T: Send>(items: &[I], work: impl Fn(&I) -> Option<T> + Sync) -> Vec<T> {
    let (next, done) = (AtomicUsize::new(0), Mutex::new(vec![]));
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let Some(item) = items.get(next.fetch_add(1, Ordering::SeqCst)) {
                    let result = work(item);
                    done.lock().expect("results").extend(result);
                }
            });
        }
    });
    done.into_inner().expect("results")
}
