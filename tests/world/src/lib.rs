//! A deterministic world: all functions with their tables, queues, streams, clocks and faults, from one seed.
//!
//! Everything happens in one thread, with paused time: each call to a table, a queue, WhatsApp or a receiver takes a
//! time that the seed decides, and may fail as the seed decides. So a seed always has the same history, and a history
//! that shows a defect can be repeated to the same step.

mod captcha;
mod checks;
mod clients;
mod closures;
mod commands;
mod commits;
mod consents;
mod credentials;
mod crowd;
mod customers;
mod desk;
mod edits;
mod endpoints;
mod faults;
mod files;
mod hooks;
mod ledger;
mod machine;
mod management;
mod merges;
mod operator;
mod order;
mod parts;
mod persons;
pub mod phones;
mod queues;
mod random;
mod receivers;
mod redeliveries;
pub mod register;
mod reviews;
mod rows;
mod sent;
mod settings;
mod simulation;
mod sqs;
mod taken;
mod templates;
mod tenant;
mod times;
mod trace;
mod usage;
mod whatsapp;

use std::sync::Arc;
use std::sync::atomic::Ordering;

use harness::{TestBucket, TestDb, TestFailures, TestQueue, World};
use tokio::task::LocalSet;
use tokio::time::Instant;

use crate::commits::Commits;
use crate::faults::{Faults, Levels};
use crate::machine::Machine;
use crate::order::Order;
use crate::parts::Parts;
use crate::random::{Random, RandomIds};
use crate::receivers::Receivers;
use crate::simulation::Simulation;
use crate::taken::Taken;
use crate::tenant::Tenant;
use crate::trace::Trace;
use crate::whatsapp::WhatsApp;

/// Which world, and how it is shown.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Decides everything that happens.
    pub seed: u64,
    /// Whether each step is printed.
    pub prints: bool,
    /// Safeguards to remove: clauses of conditions (`harness::TestDb::remove_safeguard`).
    pub without: Vec<String>,
}

/// What happened in a world.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// The seed.
    pub seed: u64,
    /// The number of steps.
    pub steps: u64,
    /// The hash of all steps.
    pub hash: u64,
    /// How often something went wrong.
    pub faults: u64,
    /// The time that passed in the world, in seconds.
    pub seconds: u64,
    /// The number of messages that WhatsApp was asked to send.
    pub calls: usize,
    /// What must never be, and was. Empty if all is well.
    pub broken: Vec<String>,
    /// Whether several clients did the same at the same moment.
    pub is_crowded: bool,
    /// The last steps.
    pub last: Vec<String>,
    /// The clauses of the conditions of all writes.
    pub safeguards: Vec<String>,
    /// Those of the writes that were refused.
    pub refused: Vec<String>,
}

/// Runs a world from its beginning until everything is at rest, and checks it.
pub fn run(options: &Options) -> Report {
    let (options, seed) = (options.clone(), options.seed);
    // Futures of whole functions are large in builds without optimisation.
    let thread = std::thread::Builder::new().stack_size(64 << 20);
    let world = thread.spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
        let runtime = runtime.expect("a runtime");
        runtime.block_on(LocalSet::new().run_until(live(&options)))
    });
    let panicked = |_| Report { seed, broken: vec!["the world panicked".to_owned()], ..Report::default() };
    world.expect("a thread").join().unwrap_or_else(panicked)
}

async fn live(options: &Options) -> Report {
    let begun = Instant::now();
    let random = Arc::new(Random::new(options.seed));
    let trace = Arc::new(Trace::new(options.prints));
    let levels = Levels::draw(&random);
    trace.note(format_args!("seed {} {levels:?}", options.seed));
    let faults = Arc::new(Faults::new(random.clone(), trace.clone(), levels));

    let world = World::over(TestDb::simulated()).await;
    faults.follow(Order::of(&world.db), Taken::of(&world.db), Commits::of(&world.db));
    for safeguard in &options.without {
        world.db.remove_safeguard(safeguard);
    }
    let registry = Arc::new(templates::registry(&[0, 1].map(Tenant::line)));
    let (receivers, whatsapp) = (Receivers::new(faults.clone()), WhatsApp::new(faults.clone(), registry));
    let (sqs, bucket) = (TestQueue::default(), TestBucket::beside(&world.db));
    let failures = TestFailures::default();
    World::provider_app(&world.db, World::APP, None).await;
    let mut tenants = vec![];
    for number in 0..2 {
        tenants.push(Tenant::new(number, &world, &receivers, &random).await);
    }
    let ids = Arc::new(RandomIds(Random::new(random.next())));
    let parts = Parts {
        world: &world,
        begun,
        random: &random,
        of_management: &Arc::new(Random::new(options.seed.rotate_left(8))),
        skew: levels.skew,
        ids,
        sqs: sqs.client(),
        bucket: &bucket,
        failures: &failures,
        whatsapp: &whatsapp,
        receivers: &receivers,
    };
    let machines = vec![Machine::new(&parts), Machine::new(&parts)];
    world.db.take_turns(faults.clone());
    sqs.take_turns(faults.clone());

    let mut versions = vec![];
    for tenant in &tenants {
        versions.push(Simulation::versions(&world, tenant).await);
    }
    let simulation = Simulation::new(
        begun, random, trace, faults, world, sqs, bucket, whatsapp, receivers, machines, tenants, versions,
    );
    simulation.start();
    simulation.start_clients(&Random::new(options.seed.rotate_left(16)));
    simulation.start_merges(&Random::new(!options.seed));
    simulation.start_customers(&Random::new(options.seed.rotate_left(32)));
    simulation.start_operators();
    simulation.start_reviews(&Random::new(options.seed.rotate_left(48)));
    // The other half of the worlds stays as it is without the management API.
    if options.seed % 2 == 1 {
        simulation.start_management(&Random::new(options.seed.rotate_left(24)));
    }
    simulation.act().await;
    simulation.rest().await;
    if simulation.recover().await {
        simulation.rest().await;
    }
    if simulation.finish_erasures().await {
        simulation.rest().await;
    }
    simulation.check().await;

    let broken = simulation.broken.borrow().clone();
    Report {
        seed: options.seed,
        steps: simulation.trace.steps(),
        hash: simulation.trace.hash(),
        faults: simulation.faults.happened.load(Ordering::SeqCst),
        seconds: simulation.begun.elapsed().as_secs(),
        calls: simulation.whatsapp.calls().len(),
        broken,
        is_crowded: levels.crowd > 0,
        last: simulation.trace.last(),
        safeguards: simulation.world.db.safeguards(),
        refused: simulation.world.db.refused_safeguards(),
    }
}
