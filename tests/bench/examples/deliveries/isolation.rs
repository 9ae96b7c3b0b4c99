//! The effect of dead receivers on healthy ones, with two queues and as many concurrent processes as the template
//! allows.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;
use std::time::{Duration, Instant};

use bench::webhooks::{self, endpoint, origin};
use bench::{Authority, Aws, Build, Database, Function, Table, Traffic, binary, environment};
use domain::{Slot, Track};
use futures::future::Either;
use harness::{World, queue_fixture};

use crate::scene::{Arrivals, FilledLane, lane, receiver, set_clock, world};

/// The number of healthy endpoints, and of deliveries to each.
const HEALTHY: (usize, usize) = (10, 100);
const ALL: usize = HEALTHY.0 * HEALTHY.1;
/// The other endpoints of each run. Healthy neighbours show the cost of the same load on this machine, where all
/// processes share a core.
const BESIDE: [Neighbours; 5] = [
    Neighbours { lanes: 0, each: 0, is_dead: false },
    Neighbours { lanes: 12, each: 100, is_dead: false },
    Neighbours { lanes: 12, each: 100, is_dead: true },
    Neighbours { lanes: 1, each: 5_000, is_dead: false },
    Neighbours { lanes: 1, each: 5_000, is_dead: true },
];
/// The time over which paced deliveries arrive.
const PACED: Duration = Duration::from_secs(15);
/// How many paced deliveries arrive together for one endpoint.
const TOGETHER: usize = 5;
/// The number of repeats of each run, in turn. The table shows the median of each figure.
const REPEATS: usize = 3;
/// The number of events in a batch of the stream. The relay queues one message for each lane of a batch.
const TOLD: usize = 100;
/// The defaults of `DeliveryConcurrency` and `SlowDeliveryConcurrency`.
const FAST: usize = 50;
const SLOW: usize = 20;
const BATCH: usize = 10;
const LONGEST: Duration = Duration::from_secs(90);

/// A number of other endpoints and of deliveries to each. A dead endpoint accepts posts and never answers.
#[derive(Clone, Copy)]
struct Neighbours {
    lanes: usize,
    each: usize,
    is_dead: bool,
}

struct SeenBeside {
    median: Duration,
    p99: Duration,
    last: Duration,
    connections: usize,
    messages: usize,
}

/// Queued messages, each with the time from which it is handed out.
type Queue = Rc<RefCell<VecDeque<(Instant, String)>>>;

/// The arrival of deliveries.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Coming {
    /// All deliveries wait and all messages are queued at the same moment.
    AtOnce,
    /// Deliveries arrive a few at a time, evenly over [`PACED`], so that the CPU of this machine is not the limit.
    Paced,
}

/// Measures the healthy endpoints alone and beside other endpoints.
pub(crate) async fn table(coming: Coming) -> Table {
    let mut seen: Vec<Vec<SeenBeside>> = BESIDE.iter().map(|_| vec![]).collect();
    for repeat in 1..=REPEATS {
        for (neighbours, seen) in BESIDE.iter().zip(&mut seen) {
            eprintln!("{}: {}, {repeat}", coming.title(), neighbours.name());
            seen.push(beside(*neighbours, coming).await);
        }
    }
    let names = BESIDE.iter().map(Neighbours::name);
    let mut table = Table::new(coming.title(), "run", names);
    let mut column = |head: &str, cell: &dyn Fn(&SeenBeside) -> Duration| {
        let cell = |seen: &Vec<SeenBeside>| format!("{:.3}", median(seen.iter().map(cell)).as_secs_f64());
        table.column(head, seen.iter().map(cell));
    };
    column("p50, s", &|seen| seen.median);
    column("p99, s", &|seen| seen.p99);
    column("last, s", &|seen| seen.last);
    let connections = |seen: &Vec<SeenBeside>| median(seen.iter().map(|seen| seen.connections)).to_string();
    table.column("connections to the others", seen.iter().map(connections));
    let visits = |seen: &Vec<SeenBeside>| median(seen.iter().map(|seen| seen.messages)).to_string();
    table.column("messages handed out", seen.iter().map(visits));
    table
}

fn median<T: Ord + Copy>(all: impl Iterator<Item = T>) -> T {
    let mut all: Vec<T> = all.collect();
    all.sort();
    all[all.len() / 2]
}

impl Neighbours {
    fn name(&self) -> String {
        let Self { lanes, each, is_dead } = self;
        let how = if *is_dead { "dead" } else { "healthy" };
        match lanes {
            0 => "alone".to_owned(),
            1 => format!("beside {each} to one {how} endpoint"),
            lanes => format!("beside {lanes} {how} endpoints, {each} each"),
        }
    }
}

impl Coming {
    fn title(self) -> &'static str {
        match self {
            Self::AtOnce => "1,000 healthy deliveries, all queued at once, until they arrive at the receiver",
            Self::Paced => {
                "1,000 healthy deliveries, queued over 15 seconds, until they arrive at the receiver"
            }
        }
    }
}

async fn beside(neighbours: Neighbours, coming: Coming) -> SeenBeside {
    let (authority, traffic) = (Authority::new(), Traffic::default());
    let (arrivals, of_neighbours) = (Arrivals::default(), Arrivals::default());
    let well = receiver(&authority, Some(Duration::ZERO), &traffic, &arrivals).await;
    let answers = (!neighbours.is_dead).then_some(Duration::ZERO);
    let beside = receiver(&authority, answers, &traffic, &of_neighbours).await;
    let world = world().await;
    let (mut healthy, mut others) = (vec![], vec![]);
    for _ in 0..HEALTHY.0 {
        healthy.push(endpoint(&world, world.workspace, Some(&well)).await);
    }
    for _ in 0..neighbours.lanes {
        others.push(endpoint(&world, world.workspace, Some(&beside)).await);
    }
    let database = Database::Served(world.db.endpoint().to_owned());
    let aws = Rc::new(Aws::start(database, Some(&authority), traffic).await);
    let mut env = environment(&aws.server, &aws.server, Some(&authority));
    env.push(("TRUSTED_RECEIVERS".to_owned(), format!("{},{}", origin(&well), origin(&beside))));
    env.push(("TRUSTED_CA_PEM".to_owned(), authority.pem.clone()));

    let mut functions = vec![];
    for number in 0..FAST + SLOW {
        functions.push((
            Function::start(&binary("webhook-delivery", Build::Release), &env, &[]).await,
            number >= FAST,
        ));
    }
    let handed_out = Cell::new(0);
    let queues = Queues { fast: Queue::default(), slow: Queue::default() };
    let scene =
        Scene { world: &world, healthy: &healthy, others: &others, each: neighbours.each, queues: &queues };
    let begun = Instant::now();
    let workers =
        functions.into_iter().map(|(function, is_slow)| work(function, &queues, is_slow, &handed_out));
    let carry = async {
        loop {
            for queued in aws.take_queued() {
                let track = if queued.queue.ends_with("-slow") { Track::Slow } else { Track::Fast };
                queues.of(track).borrow_mut().push_back((Instant::now() + queued.delay, queued.body));
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let wait = async {
        let notified = match coming {
            Coming::AtOnce => scene.come_at_once().await,
            Coming::Paced => scene.come_at_a_pace().await,
        };
        while arrivals.count() < ALL && begun.elapsed() < LONGEST {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        notified
    };
    let serve = futures::future::join(futures::future::join_all(workers), carry);
    let notified = match futures::future::select(Box::pin(wait), Box::pin(serve)).await {
        Either::Left((notified, _)) => notified,
        Either::Right(_) => unreachable!("the workers stop only when the run is over"),
    };
    let took =
        |(event, notified): &(String, Instant)| arrivals.of(event).map_or(LONGEST, |at| at - *notified);
    let mut times: Vec<Duration> = notified.iter().map(took).collect();
    times.sort();
    SeenBeside {
        median: times[ALL / 2],
        p99: times[ALL * 99 / 100],
        last: times[ALL - 1],
        connections: beside.connections(),
        messages: handed_out.get(),
    }
}

/// The queues of webhook lanes: fast and slow.
struct Queues {
    fast: Queue,
    slow: Queue,
}

impl Queues {
    fn of(&self, track: Track) -> &Queue {
        match track {
            Track::Fast => &self.fast,
            Track::Slow => &self.slow,
        }
    }
}

/// The endpoints of a run and their deliveries. Both ways of arrival return the events of the healthy endpoints, each
/// with the time from which it can be delivered.
struct Scene<'a> {
    world: &'a World,
    healthy: &'a [Slot],
    others: &'a [Slot],
    /// The number of deliveries to each of the other endpoints.
    each: usize,
    queues: &'a Queues,
}

impl Scene<'_> {
    async fn come_at_once(&self) -> Vec<(String, Instant)> {
        let (mut healthy, mut others) = (vec![], vec![]);
        for endpoint in self.healthy {
            healthy.push(lane(self.world, *endpoint, HEALTHY.1).await);
        }
        for endpoint in self.others {
            others.push(lane(self.world, *endpoint, self.each).await);
        }
        let now = Instant::now();
        let messages = notified(&healthy, &others).into_iter().map(|message| (now, message));
        self.queues.of(Track::Fast).borrow_mut().extend(messages);
        healthy.into_iter().flat_map(|lane| lane.events).map(|event| (event, now)).collect()
    }

    async fn come_at_a_pace(&self) -> Vec<(String, Instant)> {
        let healthy = self.healthy.iter().map(|endpoint| (*endpoint, HEALTHY.1, true));
        let others = self.others.iter().map(|endpoint| (*endpoint, self.each, false));
        let endpoints: Vec<_> = healthy.chain(others).collect();
        let mut coming = vec![];
        for (number, (endpoint, count, is_healthy)) in endpoints.iter().enumerate() {
            let times = count / TOGETHER;
            let every = PACED.div_f64(times as f64);
            // Each endpoint starts a little later than the previous one.
            let first = every.mul_f64(number as f64 / endpoints.len() as f64);
            coming
                .extend((0..times).map(|time| (first + every.mul_f64(time as f64), *endpoint, *is_healthy)));
        }
        coming.sort_by_key(|(after, ..)| *after);
        let (begun, mut notified) = (Instant::now(), vec![]);
        for (after, endpoint, is_healthy) in coming {
            tokio::time::sleep_until((begun + after).into()).await;
            set_clock(self.world);
            let (events, track) = webhooks::record(self.world, endpoint, TOGETHER).await;
            let now = Instant::now();
            if is_healthy {
                notified.extend(events.into_iter().map(|event| (event, now)));
            }
            if let Some(track) = track {
                self.queues.of(track).borrow_mut().push_back((now, webhooks::message(endpoint)));
            }
        }
        notified
    }
}

/// The messages as the relay queues them: one per lane and batch of the stream. The events of all endpoints are evenly
/// mixed.
fn notified(healthy: &[FilledLane], others: &[FilledLane]) -> Vec<String> {
    let lanes = || healthy.iter().chain(others);
    let all: usize = lanes().map(|lane| lane.events.len()).sum();
    let batches = all.div_ceil(TOLD);
    let mut messages = vec![];
    for batch in 0..batches {
        for lane in lanes() {
            // The number of the lane's events up to the end of a batch.
            let until = |batch: usize| lane.events.len() * batch / batches;
            if until(batch + 1) > until(batch) {
                messages.push(lane.message.clone());
            }
        }
    }
    messages
}

/// One unit of a function's concurrency. It takes the next batch whenever it is idle.
async fn work(mut function: Function, queues: &Queues, is_slow: bool, handed_out: &Cell<usize>) {
    let queue = queues.of(if is_slow { Track::Slow } else { Track::Fast });
    loop {
        let bodies = ready(queue);
        if bodies.is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
            continue;
        }
        handed_out.set(handed_out.get() + bodies.len());
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

/// The messages of one batch that are due.
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
