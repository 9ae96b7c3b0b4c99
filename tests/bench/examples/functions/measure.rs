//! Measures one case.

use std::path::Path;
use std::time::Duration;

use bench::{Authority, Aws, Build, Function, binary, loaded_size};
use harness::{fixture_text, trips};

use crate::callgrind::{self, Instructions};
use crate::cases::{Case, high_rate, low_rate};
use crate::pairs::sorted;
use crate::requests::{self, WARM, answered, warm};
use crate::setup::Setup;

/// The number of processes started to measure the start.
const STARTS: usize = 21;
/// The number of those processes that also answer a first request.
const FIRSTS: usize = 7;
/// The number of requests whose time is measured.
const MEASURED: usize = 200;
/// The function and the floor answer these requests in turn, in this number of rounds.
const ROUNDS: usize = 8;
/// The number of requests whose calls are counted, where no time is measured.
const COUNTED: usize = 40;

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
    /// The same, as a multiple of the floor's in the same round: the median of the rounds.
    pub(crate) floors: f64,
    pub(crate) plain_cpu: Duration,
    pub(crate) instructions: Option<Instructions>,
    pub(crate) calls: Calls,
    /// See [`loaded_size`].
    pub(crate) size: u64,
}

/// The cost of one case that does not depend on the speed of the machine.
pub(crate) struct Counts {
    pub(crate) instructions: Instructions,
    pub(crate) calls: Calls,
    pub(crate) size: u64,
}

/// The calls of one request of a warm process.
#[derive(Clone, Copy)]
pub(crate) struct Calls {
    /// Their number.
    pub(crate) made: f64,
    pub(crate) trips: f64,
    pub(crate) read_units: f64,
    pub(crate) write_units: f64,
}

/// A process of the smallest possible function. It answers in turn with the measured one, so that a machine that becomes slower
/// slows both.
pub(crate) struct Floor {
    function: Function,
    event: String,
}

impl Floor {
    pub(crate) async fn start() -> Self {
        let function = Function::start(&binary("floor", Build::Release), &[], &[]).await;
        let mut floor = Self { function, event: fixture_text("contacts-get.json") };
        floor.cpu(WARM).await;
        floor
    }

    /// The CPU time of one of this number of requests.
    async fn cpu(&mut self, requests: usize) -> Duration {
        let mut events = std::iter::repeat(self.event.as_str());
        requests::cpu(&mut self.function, &mut events, requests).await
    }
}

/// Measures the function as it is shipped.
pub(crate) async fn cost(
    case: &Case,
    authority: &Authority,
    valgrind: Option<&Path>,
    floor: &mut Floor,
) -> Cost {
    let path = binary(case.binary, Build::Release);
    let setup =
        Setup::start(case, FIRSTS + 2 * (WARM + MEASURED) + callgrind::EVENTS, high_rate(), authority).await;
    let (secure, with_tls, without) = (&setup.secure, &setup.env, setup.plain_env());
    let mut events = setup.events();

    let mut starts = vec![];
    for _ in 0..STARTS {
        starts.push(Function::start(&path, with_tls, &[]).await.start);
    }
    starts.sort();
    let mut firsts = vec![];
    for _ in 0..FIRSTS {
        let mut function = Function::start(&path, with_tls, &[]).await;
        secure.take();
        let took = answered(&mut function, events.next().unwrap()).await;
        firsts.push((took, secure.take().1));
    }
    firsts.sort();
    let (first, first_store) = firsts[FIRSTS / 2];

    let mut function = Function::start(&path, with_tls, &[]).await;
    warm(&mut function, &mut events).await;
    let (mut all_calls, mut rounds) = (vec![], vec![]);
    for _ in 0..ROUNDS {
        const REQUESTS: usize = MEASURED / ROUNDS;
        let before = function.cpu();
        all_calls.extend(calls(&mut function, secure, &mut events, REQUESTS).await);
        let cpu = (function.cpu() - before) / REQUESTS as u32;
        rounds.push((cpu, floor.cpu(REQUESTS).await));
    }
    let calls = Calls::mean(&all_calls);
    let cpu = rounds.iter().map(|(cpu, _)| cpu).sum::<Duration>() / ROUNDS as u32;
    let floors = sorted(rounds.iter().map(|(cpu, floor)| cpu.div_duration_f64(*floor)));
    let floors = f64::midpoint(floors[ROUNDS / 2 - 1], floors[ROUNDS / 2]);
    let peak_memory = function.peak_memory();

    let mut function = Function::start(&path, &without, &[]).await;
    warm(&mut function, &mut events).await;
    let plain_cpu = requests::cpu(&mut function, &mut events, MEASURED).await;
    drop(function);

    let instructions = match valgrind {
        Some(valgrind) => {
            Some(callgrind::count(valgrind, &path, with_tls, &mut events, (secure, calls.made)).await)
        }
        None => None,
    };
    Cost {
        name: case.name,
        start: starts[STARTS / 2],
        first,
        first_store,
        peak_memory,
        cpu,
        floors,
        plain_cpu,
        instructions,
        calls,
        size: loaded_size(&path),
    }
}

/// Counts what the function costs as it is built with the profile `measuring`. Each request of the API makes a write for the
/// rate limit.
pub(crate) async fn counts(case: &Case, authority: &Authority, valgrind: &Path) -> Counts {
    let path = binary(case.binary, Build::Measuring);
    let setup = Setup::start(case, WARM + COUNTED + callgrind::EVENTS, low_rate(), authority).await;
    let (secure, env) = (&setup.secure, &setup.env);
    let mut events = setup.events();
    let mut function = Function::start(&path, env, &[]).await;
    warm(&mut function, &mut events).await;
    let calls = Calls::mean(&calls(&mut function, secure, &mut events, COUNTED).await);
    drop(function);
    let instructions = callgrind::count(valgrind, &path, env, &mut events, (secure, calls.made)).await;
    Counts { instructions, calls, size: loaded_size(&path) }
}

impl Calls {
    /// The mean of several requests.
    fn mean(of: &[Self]) -> Self {
        // The sum begins with 0, because `sum` makes -0 of numbers that are all -0.
        let sum = |figure: fn(&Self) -> f64| of.iter().map(figure).fold(0.0, |sum, number| sum + number);
        let mean = |figure| sum(figure) / of.len() as f64;
        Self {
            made: mean(|calls| calls.made),
            trips: mean(|calls| calls.trips),
            read_units: mean(|calls| calls.read_units),
            write_units: mean(|calls| calls.write_units),
        }
    }
}

/// Makes this number of requests and counts the calls of each. The function waits for the next request afterwards.
async fn calls(
    function: &mut Function,
    aws: &Aws,
    events: &mut impl Iterator<Item = &str>,
    requests: usize,
) -> Vec<Calls> {
    aws.take();
    let mut all = vec![];
    for event in events.take(requests) {
        answered(function, event).await;
        let (calls, _) = aws.take();
        all.push(Calls {
            made: calls.len() as f64,
            trips: trips(&calls) as f64,
            read_units: calls.iter().map(|call| call.read_units).sum(),
            write_units: calls.iter().map(|call| call.write_units).sum(),
        });
    }
    function.lambda.polled().await;
    all
}
