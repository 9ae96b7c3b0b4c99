//! The speed of the engine on one core, and the cost of a delivery.

use std::time::{Duration, Instant};

use bench::webhooks::{endpoint, origin};
use bench::{Authority, Aws, Build, Function, Table, Traffic, binary, environment};
use harness::queue_fixture;

use crate::canned;
use crate::scene::{Arrivals, lane, receiver, world};

/// The duration of each measurement. A first batch opens the connections before it starts.
const LASTING: Duration = Duration::from_secs(3);
/// The width of a new lane, and the maximum.
const FRESH: u16 = 16;
const GROWN: u16 = 128;
/// The work that the visits of an invocation find: lanes, deliveries in each, and the initial width.
const SCENES: [(usize, usize, u16); 8] = [
    (10, 1, FRESH),
    (1, 25, FRESH),
    (1, 100, FRESH),
    (1, 100, GROWN),
    (1, 1_000, FRESH),
    (1, 1_000, GROWN),
    (10, 100, FRESH),
    (10, 100, GROWN),
];
/// The receiver's response times in milliseconds.
const ANSWERS: [u64; 3] = [0, 20, 200];

struct Run {
    lanes: usize,
    each: usize,
    width: u16,
    answer: Duration,
}

struct Cost {
    per_second: f64,
    cpu: Duration,
    busy: f64,
    waiting: f64,
    calls: f64,
    peak_memory: u64,
    connections: usize,
}

/// Measures the engine under several conditions.
pub(crate) async fn table() -> Table {
    let mut runs = vec![];
    for answer in ANSWERS {
        let run = |(lanes, each, width)| Run { lanes, each, width, answer: Duration::from_millis(answer) };
        runs.extend(SCENES.map(run));
    }
    let mut costs = vec![];
    for run in &runs {
        eprintln!("deliveries: {}", run.name());
        costs.push(cost(run).await);
    }
    let names = runs.iter().map(Run::name);
    let mut table = Table::new("Deliveries of 2 KiB, one process on one core", "run", names);
    let mut column = |head: &str, cell: &dyn Fn(&Cost) -> String| table.column(head, costs.iter().map(cell));
    column("deliveries/s", &|cost| format!("{:.0}", cost.per_second));
    column("CPU/delivery, us", &|cost| cost.cpu.as_micros().to_string());
    column("core busy", &|cost| format!("{:.0} %", cost.busy * 100.0));
    column("waiting on the store", &|cost| format!("{:.0} %", cost.waiting * 100.0));
    column("calls/delivery", &|cost| format!("{:.2}", cost.calls));
    column("peak MB", &|cost| format!("{:.1}", cost.peak_memory as f64 / 1e6));
    column("connections", &|cost| cost.connections.to_string());
    table
}

impl Run {
    fn name(&self) -> String {
        let Self { lanes, each, width, answer } = self;
        let lanes = if *lanes == 1 { "1 lane".to_owned() } else { format!("{lanes} lanes") };
        format!("{lanes} x {each}, width {width}, answers after {} ms", answer.as_millis())
    }
}

async fn cost(run: &Run) -> Cost {
    let (authority, traffic, arrivals) = (Authority::new(), Traffic::default(), Arrivals::default());
    let sink = receiver(&authority, Some(run.answer), &traffic, &arrivals).await;
    let world = world().await;
    let mut messages = vec![];
    for _ in 0..run.lanes {
        let endpoint = endpoint(&world, world.workspace, Some(&sink)).await;
        messages.push(lane(&world, endpoint, run.each).await.message);
    }
    let aws = Aws::start(canned::database(&world, run.width), Some(&authority), traffic.clone()).await;
    let mut env = environment(&aws.server, &aws.server, Some(&authority));
    env.push(("TRUSTED_RECEIVERS".to_owned(), origin(&sink)));
    env.push(("TRUSTED_CA_PEM".to_owned(), authority.pem.clone()));
    let mut function = Function::start(&binary("webhook-delivery", Build::Release), &env, &[]).await;

    let batch = queue_fixture("webhook-delivery.json", &messages).to_string();
    deliver(&mut function, &batch).await;
    function.lambda.polled().await;
    let of_a_batch = run.lanes * run.each;
    assert_eq!(arrivals.count(), of_a_batch, "every delivery of the batch arrives");

    let (begun, before) = (Instant::now(), function.cpu());
    traffic.take_waited();
    aws.take();
    let mut made = 0;
    while begun.elapsed() < LASTING {
        deliver(&mut function, &batch).await;
        made += of_a_batch;
    }
    function.lambda.polled().await;
    let (took, cpu, waited) = (begun.elapsed(), function.cpu() - before, traffic.take_waited());
    assert!(aws.take_queued().is_empty(), "the lanes have no work left");
    Cost {
        per_second: made as f64 / took.as_secs_f64(),
        cpu: cpu / u32::try_from(made).unwrap(),
        busy: cpu.as_secs_f64() / took.as_secs_f64(),
        waiting: waited.as_secs_f64() / took.as_secs_f64(),
        calls: aws.take().0.len() as f64 / made as f64,
        peak_memory: function.peak_memory(),
        connections: sink.connections(),
    }
}

async fn deliver(function: &mut Function, batch: &str) {
    let end = function.lambda.invoke(batch.to_owned()).await;
    let answer = String::from_utf8_lossy(&end.answer);
    assert!(end.answered && answer.contains("\"batchItemFailures\":[]"), "{answer}");
}
