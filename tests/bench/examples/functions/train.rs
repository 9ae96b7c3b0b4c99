//! Runs functions whose execution is recorded when they end: instrumented ones for the profile of the compiler, and others under
//! valgrind for the list of the linker.

use std::path::Path;

use bench::{Authority, Function};

use crate::cases::{ALL, Case, high_rate};
use crate::requests::{WARM, repeat, warm};
use crate::setup::Setup;

/// The requests of a process after those that warm it.
const REQUESTS: usize = 200;

/// Runs each case whose function is in this folder, except the floor, which is no function of the service. `under` is a command
/// that runs the binaries: an emulator of their processor, or valgrind.
pub(crate) async fn train(folder: &Path, under: &[&str]) {
    let under: Vec<String> = under.iter().map(|part| (*part).to_owned()).collect();
    let authority = Authority::new();
    let is_wanted = |case: &&Case| case.binary != "floor" && folder.join(case.binary).exists();
    for case in ALL.iter().filter(is_wanted) {
        eprintln!("train: {}", case.name);
        let setup = Setup::start(case, WARM + REQUESTS, high_rate(), &authority).await;
        let mut events = setup.events();
        let mut function = Function::start(&folder.join(case.binary), &setup.env, &under).await;
        warm(&mut function, &mut events).await;
        repeat(&mut function, &mut events, REQUESTS).await;
        function.leave().await;
    }
}
