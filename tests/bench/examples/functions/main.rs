//! Compares the cost of each function with the smallest possible function (`make bench`): start, memory, CPU, round
//! trips and units. It measures the release binaries over TLS, as on AWS.
//!
//! `functions [NAME...]` measures only the functions whose name contains one of these.

#![allow(clippy::print_stdout, clippy::print_stderr)] // the program prints tables and progress
#![allow(clippy::unwrap_used)] // a measurement that fails stops the program

mod cases;
mod measure;
mod sample;

use bench::{Authority, Core, Table};

#[tokio::main(flavor = "current_thread")]
async fn main() {
    Core::MEASURING.pin();
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    let authority = Authority::new();
    let valgrind = measure::valgrind();
    if valgrind.is_none() {
        eprintln!(
            "valgrind is missing (Debian: apt-get install valgrind): the table has no instruction counts"
        );
    }
    let mut costs = vec![];
    for case in cases::ALL {
        if !wanted.is_empty() && !wanted.iter().any(|name| case.name.contains(name.as_str())) {
            continue;
        }
        eprintln!("functions: {}", case.name);
        costs.push(measure::cost(case, &authority, valgrind.as_deref()).await);
    }
    let mut table = Table::new("Functions", "function", costs.iter().map(|cost| cost.name.to_owned()));
    let mut column = |head: &str, cell: &dyn Fn(&measure::Cost) -> String| {
        table.column(head, costs.iter().map(cell));
    };
    column("start, ms", &|cost| format!("{:.1}", millis(cost.start)));
    column("first request, ms", &|cost| {
        format!("{:.1} ({:.1})", millis(cost.first), millis(cost.first_store))
    });
    column("peak MB", &|cost| format!("{:.1}", megabytes(cost.peak_memory)));
    column("CPU/request, us", &|cost| cost.cpu.as_micros().to_string());
    column("without TLS", &|cost| cost.plain_cpu.as_micros().to_string());
    column("k instructions", &|cost| {
        cost.instructions.map_or_else(String::new, |count| (count / 1_000).to_string())
    });
    column("trips", &|cost| format!("{:.1}", cost.trips));
    column("RRU", &|cost| format!("{:.1}", cost.read_units));
    column("WRU", &|cost| format!("{:.1}", cost.write_units));
    column("binary MB", &|cost| format!("{:.1}", megabytes(cost.size)));
    println!("{table}");
}

fn millis(time: std::time::Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}
