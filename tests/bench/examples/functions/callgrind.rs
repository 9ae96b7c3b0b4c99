//! Counts the instructions of a process with callgrind.

use std::collections::HashMap;
use std::ops::Sub;
use std::path::{Path, PathBuf};

use bench::{Aws, Function, scratch};

use crate::requests::{WARM, paced};

/// The numbers of requests of the two counted processes. The difference of their counts is the cost of the requests of
/// a warm process.
const FEW: usize = WARM;
const MORE: usize = WARM + 40;
/// How often a count is tried.
const TRIES: usize = 6;
/// The difference that reads cause which happen once in some seconds, such as that of an API key.
const CALLS_TOLERANCE: f64 = 0.25;
/// The number of events that one count needs.
pub(crate) const EVENTS: usize = TRIES * (FEW + MORE);

/// The instructions of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Instructions {
    /// All of them.
    pub(crate) all: u64,
    /// Those that hash with SHA-256 for signatures of requests to AWS. valgrind hides the processor's instructions for
    /// SHA-256, so a process under valgrind hashes with more than ten times the instructions.
    pub(crate) sha256: u64,
}

impl Instructions {
    /// The instructions without SHA-256.
    pub(crate) fn others(self) -> u64 {
        self.all - self.sha256
    }

    fn divided_by(self, requests: usize) -> Self {
        let requests = requests as u64;
        Self { all: self.all / requests, sha256: self.sha256 / requests }
    }
}

impl Sub for Instructions {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self { all: self.all - other.all, sha256: self.sha256 - other.sha256 }
    }
}

/// The path of valgrind, if it is installed.
pub(crate) fn valgrind() -> Option<PathBuf> {
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders).map(|folder| folder.join("valgrind")).find(|path| path.exists())
}

/// What a process under valgrind did.
#[derive(Clone, Copy, Default)]
struct Counted {
    instructions: Instructions,
    calls: usize,
    connections: usize,
}

/// The instructions of one request of a warm process. It takes up to [`EVENTS`] events.
///
/// A process under valgrind is slow, and on a busy machine its calls can run into their time limits. Their repeats would
/// be counted. So a count is repeated if the process did not make `calls` calls for each request. It is also repeated if
/// one of the two processes opened more connections than the other: the handshake of one costs as much as two requests,
/// and has nothing to do with the requests of a warm process. If they always differ, the count in which they differ least
/// is the result.
pub(crate) async fn count(
    valgrind: &Path,
    path: &Path,
    env: &[(String, String)],
    events: &mut impl Iterator<Item = &str>,
    (aws, calls): (&Aws, f64),
) -> Instructions {
    let mut closest: Option<(usize, Instructions)> = None;
    for _ in 0..TRIES {
        let mut counts = [Counted::default(); 2];
        for (count, requests) in counts.iter_mut().zip([FEW, MORE]) {
            let out = scratch("bench-callgrind.out");
            let under = [
                valgrind.display().to_string(),
                "--quiet".to_owned(),
                "--tool=callgrind".to_owned(),
                format!("--callgrind-out-file={}", out.display()),
            ];
            aws.take();
            let before = aws.server.connections();
            let mut function = Function::start(path, env, &under).await;
            paced(&mut function, events, requests).await;
            function.end();
            *count = Counted {
                instructions: total(&std::fs::read_to_string(&out).unwrap()),
                calls: aws.take().0.len(),
                connections: aws.server.connections() - before,
            };
        }
        let [few, more] = counts;
        let made = (more.calls as f64 - few.calls as f64) / (MORE - FEW) as f64;
        if (made - calls).abs() >= CALLS_TOLERANCE {
            eprintln!("{made} calls for each request under valgrind, and {calls} without: counted again");
            continue;
        }
        let counted = (more.instructions - few.instructions).divided_by(MORE - FEW);
        let apart = few.connections.abs_diff(more.connections);
        if apart == 0 {
            return counted;
        }
        eprintln!("{apart} more connections in one of the two processes");
        closest = closest.into_iter().chain([(apart, counted)]).min_by_key(|(apart, _)| *apart);
    }
    let Some((_, counted)) = closest else {
        panic!("this machine is too busy: calls under valgrind run into their time limits");
    };
    counted
}

/// The counts in a file of callgrind. It lists the costs of each function, and of each call a line with the costs of the
/// callee, which the callee's own lines contain too.
fn total(text: &str) -> Instructions {
    let mut counted = Instructions::default();
    let mut names: HashMap<&str, &str> = HashMap::new();
    let (mut hashes, mut is_of_callee) = (false, false);
    for line in text.lines() {
        if let Some(total) = line.strip_prefix("totals: ") {
            counted.all = total.trim().parse().unwrap();
        } else if let Some(named) = line.strip_prefix("fn=").or_else(|| line.strip_prefix("cfn=")) {
            // `(12) name` defines the name of a number, `(12)` refers to it.
            let (number, name) = named.split_once(' ').unwrap_or((named, ""));
            if !name.is_empty() {
                names.insert(number, name);
            }
            if line.starts_with("fn=") {
                hashes =
                    names.get(number).is_some_and(|name| name.contains("sha2") && name.contains("compress"));
            }
        } else if line.starts_with("calls=") {
            is_of_callee = true;
        } else if line.starts_with(|first: char| first.is_ascii_digit() || "+-*".contains(first)) {
            let cost = line.split(' ').nth(1).map_or(0, |cost| cost.parse().unwrap());
            if hashes && !is_of_callee {
                counted.sha256 += cost;
            }
            is_of_callee = false;
        }
    }
    counted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_instructions_of_sha256_are_those_of_its_function_without_callees() {
        let file = "events: Ir\npositions: line\n\
            fl=(1) a.rs\nfn=(1) main\n1 10\ncfn=(2) sha2::sha256::soft::compress\ncalls=2 7\n+1 300\n* 5\n\n\
            fn=(2)\n7 200\ncfn=(3) memcpy\ncalls=1 0\n+1 100\n\n\
            fn=(3)\n0 100\n\nfn=(1)\n9 1\n\ntotals: 316\n";
        let counted = total(file);
        assert_eq!((counted.all, counted.sha256, counted.others()), (316, 200, 116));
    }
}
