//! Runs functions whose execution is recorded when they end: instrumented ones for the profile of the compiler, and others under
//! valgrind for the list of the linker.

use std::path::Path;

use bench::{Authority, Function};

use crate::cases::{ALL, high_rate};
use crate::requests::{WARM, repeat, warm};
use crate::setup::Setup;

/// The requests of a process after those that warm it.
const REQUESTS: usize = 200;

/// Runs each case whose function is in this folder. `under` is a command that runs the
/// binaries: an emulator of their processor, or valgrind.
pub(crate) async fn train(folder: &Path, under: &[&str]) {
    let under: Vec<String> = under.iter().map(|part| (*part).to_owned()).collect();
    let authority = Authority::new();
    let is_there = |binary: &str| folder.join(binary).exists();
    for case in ALL.iter().filter(|case| is_there(case.binary)) {
        eprintln!("train: {}", case.name);
        let setup = Setup::start(case, WARM + REQUESTS, high_rate(), &authority).await;
        let mut events = setup.events();
        let mut function = Function::start(&folder.join(case.binary), &setup.env, &under).await;
        warm(&mut function, &mut events).await;
        repeat(&mut function, &mut events, REQUESTS).await;
        function.leave().await;
    }
}
