//! Compares two builds of a function by processes that run in turn, so that both meet the same load of the machine.

use std::path::Path;
use std::time::Duration;

use bench::{Authority, Function, Table};

use crate::cases::{Case, high_rate};
use crate::requests::{WARM, answered, cpu, warm};
use crate::setup::Setup;

/// The number of processes of each build.
const PAIRS: usize = 15;
/// The requests of a process whose time is measured.
const MEASURED: usize = 200;

/// The cost of one process.
struct Run {
    start: Duration,
    first: Duration,
    cpu: Duration,
    peak_memory: u64,
}

/// A table of both builds: the medians, the ratio of the medians, and the middle half of the ratios of the pairs.
pub(crate) async fn table(cases: &[&Case], builds: [&Path; 2]) -> Table {
    let authority = Authority::new();
    let mut rows = vec![];
    for case in cases {
        eprintln!("pairs: {}", case.name);
        rows.push((case.name, runs(case, &authority, builds).await));
    }
    let mut table = Table::new("Pairs", "function", rows.iter().map(|(name, _)| (*name).to_owned()));
    let mut column = |head: &str, value: &dyn Fn(&Run) -> f64| {
        table.column(head, rows.iter().map(|(_, runs)| compared(runs, value)));
    };
    column("start, ms", &|run| run.start.as_secs_f64() * 1e3);
    column("first request, ms", &|run| run.first.as_secs_f64() * 1e3);
    column("CPU/request, us", &|run| run.cpu.as_secs_f64() * 1e6);
    column("peak MB", &|run| run.peak_memory as f64 / 1e6);
    table
}

async fn runs(case: &Case, authority: &Authority, builds: [&Path; 2]) -> Vec<[Run; 2]> {
    let setup = Setup::start(case, 2 * PAIRS * (1 + WARM + MEASURED), high_rate(), authority).await;
    let mut events = setup.events();
    let mut runs = vec![];
    for _ in 0..PAIRS {
        let mut pair = vec![];
        for build in builds {
            pair.push(run(&build.join(case.binary), &setup.env, &mut events).await);
        }
        runs.push(pair.try_into().unwrap_or_else(|_| unreachable!("two builds")));
    }
    runs
}

async fn run(path: &Path, env: &[(String, String)], events: &mut impl Iterator<Item = &str>) -> Run {
    let mut function = Function::start(path, env, &[]).await;
    let start = function.start;
    let first = answered(&mut function, events.next().unwrap()).await;
    warm(&mut function, events).await;
    let cpu = cpu(&mut function, events, MEASURED).await;
    Run { start, first, cpu, peak_memory: function.peak_memory() }
}

fn compared(runs: &[[Run; 2]], value: &dyn Fn(&Run) -> f64) -> String {
    let middle = |build: usize| sorted(runs.iter().map(|pair| value(&pair[build])))[PAIRS / 2];
    let ratios = sorted(runs.iter().map(|[one, other]| value(other) / value(one)));
    let [one, other] = [middle(0), middle(1)];
    format!(
        "{one:.1}, {other:.1}: {:.3} ({:.3} to {:.3})",
        other / one,
        ratios[PAIRS / 4],
        ratios[PAIRS - 1 - PAIRS / 4]
    )
}

pub(crate) fn sorted(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values
}
