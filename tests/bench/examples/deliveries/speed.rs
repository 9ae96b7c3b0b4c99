//! How fast the engine is on one core, and what a delivery costs it.

use std::time::{Duration, Instant};

use bench::{Authority, Aws, Database, Function, Table, Traffic, binary, environment};
use harness::queue_fixture;

use crate::canned;
use crate::scene::{Arrivals, Waiting, deliveries, endpoint, origin, receiver, world};

/// How many endpoints the deliveries go to, all of one receiver.
const ENDPOINTS: usize = 10;
/// How long each is measured, behind a first batch that opens the connections.
const LASTING: Duration = Duration::from_secs(3);
/// How many deliveries there are for a store that keeps what it is told.
const KEPT: usize = 2_000;

struct Run {
    store: &'static str,
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
    let run = |store, batch, millis| Run { store, batch, answer: Duration::from_millis(millis) };
    let runs = [
        run("canned", 10, 0),
        run("canned", 100, 0),
        run("canned", 1_000, 0),
        run("canned", 10, 20),
        run("canned", 100, 20),
        run("canned", 1_000, 20),
        run("canned", 10, 200),
        run("canned", 100, 200),
        run("canned", 1_000, 200),
        run("embedded", 10, 0),
        run("embedded", 100, 0),
    ];
    let mut costs = vec![];
    for run in &runs {
        eprintln!(
            "deliveries: batches of {}, answers after {:?}, {} store",
            run.batch, run.answer, run.store
        );
        costs.push(cost(run).await);
    }
    let names = runs.iter().map(|run| {
        format!("{} a batch, answers after {} ms, {} store", run.batch, run.answer.as_millis(), run.store)
    });
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
    let is_canned = run.store == "canned";
    let waiting = deliveries(&world, &endpoints, if is_canned { run.batch } else { KEPT }).await;
    let database = match is_canned {
        true => canned::database(&world),
        false => Database::Served(world.db.endpoint().to_owned()),
    };
    let aws = Aws::start(database, Some(&authority), traffic.clone()).await;
    let mut env = environment(&aws.server, &aws.server, Some(&authority));
    env.push(("TRUSTED_RECEIVERS".to_owned(), origin(&sink)));
    env.push(("TRUSTED_CA_PEM".to_owned(), authority.pem.clone()));
    let mut function = Function::start(&binary("webhook-delivery"), &env, &[]).await;

    let mut batches = waiting.chunks(run.batch).map(event).collect::<Vec<_>>();
    if is_canned {
        batches = vec![batches[0].clone(); 2];
    }
    let mut batches = batches.into_iter();
    deliver(&mut function, &batches.next().unwrap()).await;
    function.lambda.polled().await;

    let (begun, before) = (Instant::now(), function.cpu());
    traffic.take_waited();
    let mut made = 0;
    while begun.elapsed() < LASTING {
        let Some(batch) = (match is_canned {
            true => batches.as_slice().first().cloned(),
            false => batches.next(),
        }) else {
            break;
        };
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
