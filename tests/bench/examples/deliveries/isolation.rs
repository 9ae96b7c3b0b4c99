//! What dead receivers cost the healthy ones: two queues, as many processes as the template lets run at the same time.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::time::{Duration, Instant};

use bench::{Authority, Aws, Database, Function, Table, Traffic, binary, environment};
use harness::queue_fixture;

use crate::scene::{Arrivals, deliveries, endpoint, origin, receiver, world};

const HEALTHY: usize = 1_000;
const DEAD: [usize; 4] = [0, 500, 1_000, 5_000];
/// `DeliveryConcurrency` and `SlowDeliveryConcurrency`, unless a deployment says otherwise.
const FAST: usize = 50;
const SLOW: usize = 20;
const BATCH: usize = 10;
const LONGEST: Duration = Duration::from_secs(90);

struct Seen {
    median: Duration,
    p99: Duration,
    last: Duration,
    dead_connections: usize,
}

/// Messages that wait, and from when on each is handed out.
type Queue = Rc<RefCell<VecDeque<(Instant, String)>>>;

/// The healthy alone and beside more and more of the dead.
pub(crate) async fn table() -> Table {
    let mut seen = vec![];
    for dead in DEAD {
        eprintln!("deliveries: {HEALTHY} healthy ones beside {dead} dead ones");
        seen.push(beside(dead).await);
    }
    let names = DEAD.iter().map(|dead| format!("beside {dead} dead"));
    let mut table = Table::new("1,000 healthy deliveries, from the queue to the receiver", "run", names);
    let mut column = |head: &str, cell: &dyn Fn(&Seen) -> String| table.column(head, seen.iter().map(cell));
    column("p50, s", &|seen| format!("{:.2}", seen.median.as_secs_f64()));
    column("p99, s", &|seen| format!("{:.2}", seen.p99.as_secs_f64()));
    column("last, s", &|seen| format!("{:.2}", seen.last.as_secs_f64()));
    column("connections to the dead", &|seen| seen.dead_connections.to_string());
    table
}

async fn beside(dead: usize) -> Seen {
    let (authority, traffic) = (Authority::new(), Traffic::default());
    let (arrivals, never) = (Arrivals::default(), Arrivals::default());
    let well = receiver(&authority, Some(Duration::ZERO), &traffic, &arrivals).await;
    let hung = receiver(&authority, None, &traffic, &never).await;
    let world = world().await;
    let (mut ones, mut others) = (vec![], vec![]);
    for _ in 0..10 {
        ones.push(endpoint(&world, &well).await);
        others.push(endpoint(&world, &hung).await);
    }
    let healthy = deliveries(&world, &ones, HEALTHY).await;
    let dying = deliveries(&world, &others[..1], dead).await;
    let database = Database::Served(world.db.endpoint().to_owned());
    let aws = Rc::new(Aws::start(database, Some(&authority), traffic).await);
    let mut env = environment(&aws.server, &aws.server, Some(&authority));
    env.push(("TRUSTED_RECEIVERS".to_owned(), format!("{},{}", origin(&well), origin(&hung))));
    env.push(("TRUSTED_CA_PEM".to_owned(), authority.pem.clone()));

    let (fast, slow) = (Queue::default(), Queue::default());
    let mut functions = vec![];
    for number in 0..FAST + SLOW {
        let queue = if number < FAST { fast.clone() } else { slow.clone() };
        functions.push((
            Function::start(&binary("webhook-delivery"), &env, &[]).await,
            queue,
            number >= FAST,
        ));
    }
    // As they come in: the dead evenly among the healthy.
    let begun = Instant::now();
    let mut all: Vec<(usize, &str)> = vec![];
    all.extend(healthy.iter().enumerate().map(|(n, one)| (n * 1_000 / HEALTHY, one.message.as_str())));
    all.extend(dying.iter().enumerate().map(|(n, one)| (n * 1_000 / dead.max(1), one.message.as_str())));
    all.sort_by_key(|(at, _)| *at);
    fast.borrow_mut().extend(all.into_iter().map(|(_, message)| (begun, message.to_owned())));

    let workers = functions.into_iter().map(|(function, queue, is_slow)| work(function, queue, is_slow));
    let carry = async {
        loop {
            for queued in aws.take_queued() {
                let to = if queued.queue.ends_with("-slow") { &slow } else { &fast };
                to.borrow_mut().push_back((Instant::now() + queued.delay, queued.body));
            }
            if arrivals.count() == HEALTHY || begun.elapsed() > LONGEST {
                break;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    futures::future::select(Box::pin(futures::future::join_all(workers)), Box::pin(carry)).await;
    let mut times: Vec<Duration> =
        healthy.iter().map(|one| arrivals.of(&one.event).map_or(LONGEST, |at| at - begun)).collect();
    times.sort();
    Seen {
        median: times[HEALTHY / 2],
        p99: times[HEALTHY * 99 / 100],
        last: times[HEALTHY - 1],
        dead_connections: hung.connections(),
    }
}

/// One place of a function's concurrency: it takes a batch whenever it is free.
async fn work(mut function: Function, queue: Queue, is_slow: bool) {
    loop {
        let bodies = ready(&queue);
        if bodies.is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
            continue;
        }
        let mut event = queue_fixture("webhook-delivery.json", &bodies);
        if is_slow {
            for record in event["Records"].as_array_mut().into_iter().flatten() {
                record["eventSourceARN"] =
                    "arn:aws:sqs:eu-west-1:123456789012:test-webhook-deliveries-slow".into();
            }
        }
        function.lambda.invoke(event.to_string()).await;
    }
}

/// The messages of one batch whose time has come.
fn ready(queue: &Queue) -> Vec<String> {
    let (mut queue, now) = (queue.borrow_mut(), Instant::now());
    let mut bodies = vec![];
    let mut at = 0;
    while at < queue.len() && bodies.len() < BATCH {
        if queue[at].0 <= now {
            bodies.extend(queue.remove(at).map(|(_, body)| body));
        } else {
            at += 1;
        }
    }
    bodies
}
