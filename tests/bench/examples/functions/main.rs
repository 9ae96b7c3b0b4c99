//! Compares the cost of each function with the smallest possible function (`make bench`): start, memory, CPU, round
//! trips and units. It measures the release binaries over TLS, as on AWS.
//!
//! ```text
//! functions [NAME...]           measures the cases whose name contains one of these, or all
//! functions figures [NAME...]   compares what does not depend on the machine's speed with figures.json (`make figures`)
//! functions pairs A B [NAME...] measures the binaries in the folders A and B in turn
//! ```

#![allow(clippy::print_stdout, clippy::print_stderr)] // the program prints tables and progress
#![allow(clippy::unwrap_used)] // a measurement that fails stops the program

mod callgrind;
mod cases;
mod data;
mod figures;
mod measure;
mod pairs;
mod requests;
mod setup;

use std::path::Path;
use std::process::ExitCode;

use bench::{Authority, Core, Table};

use crate::cases::Case;
use crate::figures::{Figures, Known};
use crate::measure::Floor;

const NO_VALGRIND: &str = "valgrind is missing (Debian: apt-get install valgrind)";

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    Core::MEASURING.pin();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let valgrind = callgrind::valgrind();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match (arguments.as_slice(), valgrind) {
        (["figures", names @ ..], Some(valgrind)) => return compare(&wanted(names), &valgrind).await,
        (["figures", ..], None) => {
            eprintln!("{NO_VALGRIND}");
            return ExitCode::FAILURE;
        }
        (["pairs", one, other, names @ ..], _) => {
            println!("{}", pairs::table(&wanted(names), [Path::new(one), Path::new(other)]).await);
        }
        (names, valgrind) => measure(&wanted(names), valgrind.as_deref()).await,
    }
    ExitCode::SUCCESS
}

/// The cases whose name contains one of these, or all.
fn wanted(names: &[&str]) -> Vec<&'static Case> {
    let is_wanted = |case: &&Case| names.is_empty() || names.iter().any(|name| case.name.contains(name));
    cases::ALL.iter().filter(is_wanted).collect()
}

async fn measure(cases: &[&Case], valgrind: Option<&Path>) {
    let authority = Authority::new();
    if valgrind.is_none() {
        eprintln!("{NO_VALGRIND}: the table has no instruction counts");
    }
    let mut floor = Floor::start().await;
    let mut costs = vec![];
    for case in cases {
        eprintln!("functions: {}", case.name);
        costs.push(measure::cost(case, &authority, valgrind, &mut floor).await);
    }
    let mut table = Table::new("Functions", "function", costs.iter().map(|cost| cost.name.to_owned()));
    let mut column = |head: &str, cell: &dyn Fn(&measure::Cost) -> String| {
        table.column(head, costs.iter().map(cell));
    };
    let thousands = |count: Option<u64>| count.map_or_else(String::new, |count| (count / 1_000).to_string());
    column("start, ms", &|cost| format!("{:.1}", millis(cost.start)));
    column("first request, ms", &|cost| {
        format!("{:.1} ({:.1})", millis(cost.first), millis(cost.first_store))
    });
    column("peak MB", &|cost| format!("{:.1}", megabytes(cost.peak_memory)));
    column("CPU/request, us", &|cost| cost.cpu.as_micros().to_string());
    column("x floor", &|cost| format!("{:.1}", cost.floors));
    column("without TLS", &|cost| cost.plain_cpu.as_micros().to_string());
    column("k instructions", &|cost| thousands(cost.instructions.map(|count| count.all)));
    column("trips", &|cost| format!("{:.1}", cost.calls.trips));
    column("RRU", &|cost| format!("{:.1}", cost.calls.read_units));
    column("WRU", &|cost| format!("{:.1}", cost.calls.write_units));
    column("binary MB", &|cost| format!("{:.1}", megabytes(cost.size)));
    println!("{table}");
}

/// Compares the figures of these cases with the known ones. `UPDATE=1` replaces the known ones.
async fn compare(cases: &[&Case], valgrind: &Path) -> ExitCode {
    let authority = Authority::new();
    let mut known =
        std::fs::read_to_string(figures::path()).map_or_else(|_| Known::new(), |text| figures::read(&text));
    let mut new = Known::new();
    for case in cases {
        eprintln!("figures: {}", case.name);
        let counts = measure::counts(case, &authority, valgrind).await;
        new.insert(case.name.to_owned(), Figures::of(&counts));
    }
    println!("{}", figures::table(&known, &new));
    if std::env::var_os("UPDATE").is_some() {
        known.retain(|name, _| cases::ALL.iter().any(|case| case.name == name));
        known.extend(new);
        std::fs::write(figures::path(), figures::text(&known)).unwrap();
        println!("{} is rewritten", figures::path().display());
        return ExitCode::SUCCESS;
    }
    let differences = figures::differences(&known, &new);
    if differences.is_empty() {
        return ExitCode::SUCCESS;
    }
    for difference in &differences {
        println!("{difference}");
    }
    println!(
        "If this is intended, rewrite tests/bench/figures.json with `UPDATE=1 make figures`, and commit it."
    );
    ExitCode::FAILURE
}

fn millis(time: std::time::Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}
