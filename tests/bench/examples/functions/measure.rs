//! Measures one case.

use std::path::{Path, PathBuf};
use std::time::Duration;

use bench::{Authority, Aws, Database, Function, Traffic, binary, environment, scratch};
use harness::trips;

use crate::cases::{Case, Scene};
use crate::sample::{FEW, FIRSTS, MEASURED, MORE, STARTS, WARM};

/// The cost of one case.
pub(crate) struct Cost {
    pub(crate) name: &'static str,
    /// The time from the start of the process to its first poll.
    pub(crate) start: Duration,
    /// The duration of the first request after a start, including the connections to the store that it opens, and the
    /// part of it that the stand-in for the store took.
    pub(crate) first: Duration,
    pub(crate) first_store: Duration,
    pub(crate) peak_memory: u64,
    /// The CPU time of one request of a warm process.
    pub(crate) cpu: Duration,
    pub(crate) plain_cpu: Duration,
    pub(crate) instructions: Option<u64>,
    pub(crate) trips: f64,
    pub(crate) read_units: f64,
    pub(crate) write_units: f64,
    pub(crate) size: u64,
}

/// The path of valgrind, which counts the instructions.
pub(crate) fn valgrind() -> Option<PathBuf> {
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders).map(|folder| folder.join("valgrind")).find(|path| path.exists())
}

pub(crate) async fn cost(case: &Case, authority: &Authority, valgrind: Option<&Path>) -> Cost {
    let path = binary(case.binary);
    let scene = Scene::start(case).await;
    let database = Database::Served(scene.world.db.endpoint().to_owned());
    let secure = Aws::start(database.clone(), Some(authority), Traffic::default()).await;
    let plain = Aws::start(database, None, Traffic::default()).await;
    let with_tls = environment(&secure.server, &plain.server, Some(authority));
    let without = environment(&plain.server, &plain.server, None);
    let mut events = scene.events.iter().map(String::as_str);

    let mut starts = vec![];
    for _ in 0..STARTS {
        starts.push(Function::start(&path, &with_tls, &[]).await.start);
    }
    let mut firsts = vec![];
    for _ in 0..FIRSTS {
        let mut function = Function::start(&path, &with_tls, &[]).await;
        secure.take();
        let took = answered(&mut function, events.next().unwrap()).await;
        firsts.push((took, secure.take().1));
    }
    firsts.sort();
    let (first, first_store) = firsts[FIRSTS / 2];

    let mut function = Function::start(&path, &with_tls, &[]).await;
    for _ in 0..WARM {
        answered(&mut function, events.next().unwrap()).await;
    }
    secure.take();
    let (mut chain, mut read_units, mut write_units) = (0, 0.0, 0.0);
    function.lambda.polled().await;
    let before = function.cpu();
    for _ in 0..MEASURED {
        answered(&mut function, events.next().unwrap()).await;
        let (calls, _) = secure.take();
        chain += trips(&calls);
        read_units += calls.iter().map(|call| call.read_units).sum::<f64>();
        write_units += calls.iter().map(|call| call.write_units).sum::<f64>();
    }
    function.lambda.polled().await;
    let cpu = (function.cpu() - before) / MEASURED as u32;
    let peak_memory = function.peak_memory();

    let mut function = Function::start(&path, &without, &[]).await;
    for _ in 0..WARM {
        answered(&mut function, events.next().unwrap()).await;
    }
    function.lambda.polled().await;
    let before = function.cpu();
    for _ in 0..MEASURED {
        answered(&mut function, events.next().unwrap()).await;
    }
    function.lambda.polled().await;
    let plain_cpu = (function.cpu() - before) / MEASURED as u32;
    drop(function);

    let mut instructions = None;
    if let Some(valgrind) = valgrind {
        let mut counts = vec![];
        for requests in [FEW, MORE] {
            let events: Vec<&str> = events.by_ref().take(requests).collect();
            counts.push(counted(valgrind, &path, &with_tls, &events).await);
        }
        instructions = Some((counts[1] - counts[0]) / (MORE - FEW) as u64);
    }
    starts.sort();
    Cost {
        name: case.name,
        start: starts[STARTS / 2],
        first,
        first_store,
        peak_memory,
        cpu,
        plain_cpu,
        instructions,
        trips: chain as f64 / MEASURED as f64,
        read_units: read_units / MEASURED as f64,
        write_units: write_units / MEASURED as f64,
        size: std::fs::metadata(&path).unwrap().len(),
    }
}

/// The duration of a request. Panics if the request fails.
async fn answered(function: &mut Function, event: &str) -> Duration {
    let end = function.lambda.invoke(event.to_owned()).await;
    let answer: serde_json::Value = serde_json::from_slice(&end.answer).unwrap_or_default();
    let well = answer["statusCode"].as_u64().is_none_or(|status| status < 300)
        && answer["batchItemFailures"].as_array().is_none_or(Vec::is_empty);
    assert!(end.answered && well, "{event}\n{}", String::from_utf8_lossy(&end.answer));
    end.took
}

/// The number of instructions of a process that answers these requests and ends.
async fn counted(valgrind: &Path, path: &Path, env: &[(String, String)], events: &[&str]) -> u64 {
    let out = scratch("bench-callgrind.out");
    let under = [
        valgrind.display().to_string(),
        "--quiet".to_owned(),
        "--tool=callgrind".to_owned(),
        format!("--callgrind-out-file={}", out.display()),
    ];
    let mut function = Function::start(path, env, &under).await;
    for event in events {
        answered(&mut function, event).await;
    }
    function.lambda.polled().await;
    function.end();
    let text = std::fs::read_to_string(&out).unwrap();
    let total = text.lines().find_map(|line| line.strip_prefix("totals: ")).unwrap();
    total.trim().parse().unwrap()
}
