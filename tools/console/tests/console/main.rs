//! The console in the test's process, with an embedded DynamoDB: its output, its refusals and its exit status.

#![allow(clippy::unwrap_used, reason = "a test that cannot continue fails")]

mod attributes;
mod audits;
mod captures;
mod command_line;
mod confirmations;
mod contacts;
mod conversations;
mod deliveries;
mod events;
mod hooks;
mod imports;
mod in_use;
mod inbound;
mod jobs;
mod keys;
mod leads;
mod lines;
mod listen;
mod lists;
mod merges;
mod opt_outs;
mod page;
mod persons;
mod portals;
mod providers;
mod received;
mod routes;
mod tables;
mod teams;
mod template_sync;
mod templates;
mod times;
mod usages;
mod users;
mod webhook_update;
mod webhooks;
mod workspace_states;
mod workspaces;

use std::ffi::OsString;
use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use console::{Beside, Console, Graph, KnownStack, Terminal};
use domain::TrustedReceivers;
use domain::secret::Randomness;
use harness::{Pipe, TestBucket, TestDb, TestFailures, TestQueue};
use queue::{InboundQueue, Queues};
use serde_json::Value;

/// An operator's desk: an empty stack and its console.
struct Desk {
    db: TestDb,
    queue: TestQueue,
    /// The bucket of files.
    media: TestBucket,
    /// The failure bucket.
    failures: TestFailures,
    random: Arc<dyn Randomness>,
    /// The provider.
    graph: Graph,
    /// The standard input of each command.
    input: String,
}

/// The result of a command.
#[derive(Debug)]
struct Ran {
    status: u8,
    out: String,
    err: String,
}

impl Desk {
    async fn new() -> Self {
        Self::over(TestDb::start().await)
    }

    /// A desk with a database that already has data.
    fn over(db: TestDb) -> Self {
        Self {
            media: TestBucket::beside(&db),
            db,
            queue: TestQueue::default(),
            failures: TestFailures::default(),
            random: Arc::new(Counting::default()),
            graph: Graph::default(),
            input: String::new(),
        }
    }

    /// A desk with a workspace, and the workspace's id.
    async fn with_workspace() -> (Self, String) {
        let desk = Self::new().await;
        let made = desk.json(&["workspace", "create", "--name", "Aster"]).await;
        (desk, made["workspaceId"].as_str().unwrap().to_owned())
    }

    /// Runs a command line as a person types it.
    async fn run(&self, arguments: &[&str]) -> Ran {
        let (out, err) = (Pipe::default(), Pipe::default());
        let status = self.run_in(&mut terminal(&self.input, &out, &err), arguments).await;
        Ran { status, out: out.text(), err: err.text() }
    }

    /// Runs a command line as a person at a terminal, who types `input`.
    async fn run_at_terminal(&self, input: &str, arguments: &[&str]) -> Ran {
        let (out, err) = (Pipe::default(), Pipe::default());
        let mut terminal = Terminal {
            is_watched: true,
            has_person: true,
            has_colours: true,
            width: Some(1_000),
            ..terminal(input, &out, &err)
        };
        let status = self.run_in(&mut terminal, arguments).await;
        Ran { status, out: out.text(), err: err.text() }
    }

    /// Runs a command line with these streams and returns its exit status.
    async fn run_in(&self, terminal: &mut Terminal, arguments: &[&str]) -> u8 {
        let line = std::iter::once("console").chain(arguments.iter().copied()).map(OsString::from);
        let connect = async |_stack| {
            let (queue, random) = (&self.queue, Arc::clone(&self.random));
            let console = console_of(&self.db, queue, &self.media, &self.failures, random);
            Ok(Console { graph: self.graph.clone(), ..console })
        };
        console::run(line, connect, terminal).await
    }

    /// Runs a command with `--json` that must succeed, and parses the value that it prints.
    async fn json(&self, arguments: &[&str]) -> Value {
        let ran = self.run(&[&["--json"], arguments].concat()).await;
        assert_eq!((ran.status, ran.err.as_str()), (0, ""), "{arguments:?}: {ran:?}");
        serde_json::from_str(&ran.out).unwrap()
    }

    /// Runs a command that must be refused, and returns the sentence.
    async fn refused(&self, arguments: &[&str]) -> String {
        let ran = self.run(arguments).await;
        assert_eq!((ran.status, ran.out.as_str()), (1, ""), "{arguments:?}: {ran:?}");
        assert_eq!(ran.err.lines().count(), 1, "the refusal must be one sentence: {}", ran.err);
        ran.err.trim_end().to_owned()
    }
}

/// The console of a database.
fn console_of(
    db: &TestDb,
    queue: &TestQueue,
    media: &TestBucket,
    failures: &TestFailures,
    random: Arc<dyn Randomness>,
) -> Console {
    let trusted = TrustedReceivers::parse("https://127.0.0.1:9443").unwrap();
    let (fast, slow) = ("http://queue.invalid/fast", "http://queue.invalid/slow");
    let beside = Beside::Known(Box::new(KnownStack {
        operator: "AKIDOPERATOR".to_owned(),
        streams: db.streams(),
        queues: Queues::default().with_webhooks(queue.client(), fast, slow),
        inbound: InboundQueue::new(queue.client(), "http://queue.invalid/inbox"),
        media: media.bucket(),
        failures: failures.bucket(),
    }));
    Console { store: db.store().clone(), beside, random, trusted, graph: Graph::default() }
}

/// The streams of a command that is not on a terminal.
fn terminal(input: &str, out: &Pipe, err: &Pipe) -> Terminal {
    Terminal {
        input: Box::new(io::Cursor::new(input.to_owned())),
        out: Box::new(out.clone()),
        err: Box::new(err.clone()),
        is_watched: false,
        has_person: false,
        has_colours: false,
        width: None,
    }
}

/// Counting bytes, so that keys and secrets are stable in snapshots.
#[derive(Default)]
struct Counting(Mutex<u8>);

impl Randomness for Counting {
    fn fill(&self, bytes: &mut [u8]) {
        let mut next = self.0.lock().unwrap();
        for byte in bytes {
            *next = next.wrapping_add(1);
            *byte = *next;
        }
    }
}

/// A pipe that its reader has closed.
struct ClosedPipe;

impl Write for ClosedPipe {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(io::ErrorKind::BrokenPipe.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Err(io::ErrorKind::BrokenPipe.into())
    }
}
