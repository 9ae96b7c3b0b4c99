//! How fast the engine is on one core, and what a delivery costs it.

use std::time::{Duration, Instant};

use bench::{Authority, Aws, Function, Table, Traffic, binary, environment};
use harness::queue_fixture;

use crate::canned;
use crate::scene::{Arrivals, Waiting, deliveries, endpoint, origin, receiver, world};

/// How many endpoints the deliveries go to, all of one receiver.
const ENDPOINTS: usize = 10;
/// How long each is measured, behind a first batch that opens the connections.
const LASTING: Duration = Duration::from_secs(3);

struct Run {
    batch: usize,
    answer: Duration,
}

struct Cost {
    per_second: f64,
    cpu: Duration,
    busy: f64,
    waiting: f64,
    peak_memory: u64,
    connections: usize,
}

/// The engine under several conditions.
pub(crate) async fn table() -> Table {
    let run = |batch, millis| Run { batch, answer: Duration::from_millis(millis) };
    let runs = [
        run(10, 0),
        run(100, 0),
        run(1_000, 0),
        run(10, 20),
        run(100, 20),
        run(1_000, 20),
        run(10, 200),
        run(100, 200),
        run(1_000, 200),
    ];
    let mut costs = vec![];
    for run in &runs {
        eprintln!("deliveries: batches of {}, answers after {:?}", run.batch, run.answer);
        costs.push(cost(run).await);
    }
    let names =
        runs.iter().map(|run| format!("{} a batch, answers after {} ms", run.batch, run.answer.as_millis()));
    let mut table = Table::new("Deliveries of 2 KiB, one process on one core", "run", names);
    let mut column = |head: &str, cell: &dyn Fn(&Cost) -> String| table.column(head, costs.iter().map(cell));
    column("deliveries/s", &|cost| format!("{:.0}", cost.per_second));
    column("CPU/delivery, us", &|cost| cost.cpu.as_micros().to_string());
    column("core busy", &|cost| format!("{:.0} %", cost.busy * 100.0));
    column("waiting on the store", &|cost| format!("{:.0} %", cost.waiting * 100.0));
    column("peak MB", &|cost| format!("{:.1}", cost.peak_memory as f64 / 1e6));
    column("connections", &|cost| cost.connections.to_string());
    table
}

async fn cost(run: &Run) -> Cost {
    let (authority, traffic, arrivals) = (Authority::new(), Traffic::default(), Arrivals::default());
    let sink = receiver(&authority, Some(run.answer), &traffic, &arrivals).await;
    let world = world().await;
    let mut endpoints = vec![];
    for _ in 0..ENDPOINTS {
        endpoints.push(endpoint(&world, &sink).await);
    }
    let waiting = deliveries(&world, &endpoints, run.batch).await;
    let aws = Aws::start(canned::database(&world), Some(&authority), traffic.clone()).await;
    let mut env = environment(&aws.server, &aws.server, Some(&authority));
    env.push(("TRUSTED_RECEIVERS".to_owned(), origin(&sink)));
    env.push(("TRUSTED_CA_PEM".to_owned(), authority.pem.clone()));
    let mut function = Function::start(&binary("webhook-delivery"), &env, &[]).await;

    let batch = event(&waiting);
    deliver(&mut function, &batch).await;
    function.lambda.polled().await;

    let (begun, before) = (Instant::now(), function.cpu());
    traffic.take_waited();
    let mut made = 0;
    while begun.elapsed() < LASTING {
        deliver(&mut function, &batch).await;
        made += run.batch;
    }
    function.lambda.polled().await;
    let (took, cpu, waited) = (begun.elapsed(), function.cpu() - before, traffic.take_waited());
    assert!(arrivals.count() >= run.batch, "all of a batch arrive");
    Cost {
        per_second: made as f64 / took.as_secs_f64(),
        cpu: cpu / u32::try_from(made).unwrap(),
        busy: cpu.as_secs_f64() / took.as_secs_f64(),
        waiting: waited.as_secs_f64() / took.as_secs_f64(),
        peak_memory: function.peak_memory(),
        connections: sink.connections(),
    }
}

fn event(waiting: &[Waiting]) -> String {
    let bodies: Vec<String> = waiting.iter().map(|one| one.message.clone()).collect();
    queue_fixture("webhook-delivery.json", &bodies).to_string()
}

async fn deliver(function: &mut Function, batch: &str) {
    let end = function.lambda.invoke(batch.to_owned()).await;
    let answer = String::from_utf8_lossy(&end.answer);
    assert!(end.answered && answer.contains("\"batchItemFailures\":[]"), "{answer}");
}
