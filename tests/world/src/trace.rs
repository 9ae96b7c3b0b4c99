//! What happened in a world, line by line. Two runs of a seed have the same lines.

use std::collections::VecDeque;
use std::fmt::Display;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::time::Instant;

/// The lines of a world: all of them in a hash, and the last ones as text.
#[derive(Debug)]
pub(crate) struct Trace {
    begun: Instant,
    prints: bool,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    steps: u64,
    hash: DefaultHasher,
    last: VecDeque<String>,
}

/// How many of the last lines a report shows.
const SHOWN: usize = 30;

impl Trace {
    /// An empty trace. It starts in the runtime of the world, whose time it shows.
    pub(crate) fn new(prints: bool) -> Self {
        Self { begun: Instant::now(), prints, state: Mutex::default() }
    }

    /// Adds a line.
    #[allow(clippy::print_stderr, reason = "a replay shows its steps")]
    pub(crate) fn note(&self, line: impl Display) {
        let at = self.begun.elapsed().as_millis();
        let mut state = self.state();
        state.steps += 1;
        let line = format!("{:>6} {:>9} {line}", state.steps, at);
        line.hash(&mut state.hash);
        if self.prints {
            eprintln!("{line}");
        }
        if state.last.len() == SHOWN {
            state.last.pop_front();
        }
        state.last.push_back(line);
    }

    pub(crate) fn steps(&self) -> u64 {
        self.state().steps
    }

    pub(crate) fn hash(&self) -> u64 {
        self.state().hash.finish()
    }

    pub(crate) fn last(&self) -> Vec<String> {
        self.state().last.iter().cloned().collect()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
