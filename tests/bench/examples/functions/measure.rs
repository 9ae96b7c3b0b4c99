//! Measures one case.

use std::path::Path;
use std::time::Duration;

use bench::{Authority, Aws, Build, Function, binary, loaded_size};
use harness::trips;

use crate::callgrind::{self, Instructions};
use crate::cases::{Case, high_rate, low_rate};
use crate::requests::{WARM, answered, repeat, warm};
use crate::setup::Setup;

/// The number of processes started to measure the start.
const STARTS: usize = 21;
/// The number of those processes that also answer a first request.
const FIRSTS: usize = 7;
/// The number of requests whose time is measured.
const MEASURED: usize = 200;
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
#[derive(Clone, Copy, Default)]
pub(crate) struct Calls {
    /// Their number.
    pub(crate) made: f64,
    pub(crate) trips: f64,
    pub(crate) read_units: f64,
    pub(crate) write_units: f64,
}

/// Measures the function as it is shipped.
pub(crate) async fn cost(case: &Case, authority: &Authority, valgrind: Option<&Path>) -> Cost {
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
    let before = function.cpu();
    let calls = calls(&mut function, secure, &mut events, MEASURED).await;
    let cpu = (function.cpu() - before) / MEASURED as u32;
    let peak_memory = function.peak_memory();

    let mut function = Function::start(&path, &without, &[]).await;
    warm(&mut function, &mut events).await;
    let before = function.cpu();
    repeat(&mut function, &mut events, MEASURED).await;
    let plain_cpu = (function.cpu() - before) / MEASURED as u32;
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
    let calls = calls(&mut function, secure, &mut events, COUNTED).await;
    drop(function);
    let instructions = callgrind::count(valgrind, &path, env, &mut events, (secure, calls.made)).await;
    Counts { instructions, calls, size: loaded_size(&path) }
}

/// Makes this number of requests and counts their calls. The function waits for the next request afterwards.
async fn calls(
    function: &mut Function,
    aws: &Aws,
    events: &mut impl Iterator<Item = &str>,
    requests: usize,
) -> Calls {
    aws.take();
    let mut sum = Calls::default();
    for event in events.take(requests) {
        answered(function, event).await;
        let (calls, _) = aws.take();
        sum.made += calls.len() as f64;
        sum.trips += trips(&calls) as f64;
        sum.read_units += calls.iter().map(|call| call.read_units).sum::<f64>();
        sum.write_units += calls.iter().map(|call| call.write_units).sum::<f64>();
    }
    function.lambda.polled().await;
    let each = |sum: f64| sum / requests as f64;
    Calls {
        made: each(sum.made),
        trips: each(sum.trips),
        read_units: each(sum.read_units),
        write_units: each(sum.write_units),
    }
}
