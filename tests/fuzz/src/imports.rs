//! CSV files: an import counts every row once, and refuses the others with a reason.

use std::ffi::OsString;
use std::sync::Arc;

use console::{Beside, Console, Graph, KnownStack, Terminal};
use domain::secret::Randomness;
use domain::{AttributeType, Email, TrustedReceivers};
use harness::{Pipe, TestBucket, TestFailures, TestQueue, World};
use queue::{InboundQueue, Queues};
use serde_json::Value;
use store::{Bucket, FailureBucket, Store, Streams};
use tokio::runtime::{Builder, Runtime};

struct Bench {
    runtime: Runtime,
    store: Store,
    streams: Streams,
    media: Bucket,
    failures: FailureBucket,
}

thread_local! {
    static BENCH: Bench = bench();
}

/// The input is a CSV file.
pub fn run(input: &[u8]) {
    let (out, err) = (Pipe::default(), Pipe::default());
    let status = BENCH.with(|bench| bench.imported(input, &out, &err));
    let (out, err) = (out.text(), err.text());
    match status {
        // The report counts each row, also if some are refused.
        0 | 1 if !out.is_empty() => {
            let report: Value = serde_json::from_str(&out).unwrap();
            let count = |name: &str| usize::try_from(report[name].as_u64().unwrap()).unwrap();
            let failed = report["failed"].as_array().unwrap();
            let counted = count("created") + count("updated") + count("unchanged") + failed.len();
            assert_eq!(counted, rows(input), "{out}");
            for row in failed {
                assert!(
                    row["row"].as_u64() >= Some(2) && !row["error"].as_str().unwrap().is_empty(),
                    "{out}"
                );
            }
            assert_eq!(status == 0, failed.is_empty(), "{out} {err}");
        }
        1 => {
            let refusal: Value = serde_json::from_str(&err).unwrap();
            assert!(refusal.to_string().len() > 20, "a reason: {err}");
        }
        status => panic!("{status}: {out} {err}"),
    }
}

/// The number of rows below the header. It does not depend on the delimiter, unless a cell is quoted.
fn rows(input: &[u8]) -> usize {
    let bytes = input.strip_prefix(b"\xef\xbb\xbf").unwrap_or(input);
    let with = |delimiter| {
        csv::ReaderBuilder::new()
            .flexible(true)
            .delimiter(delimiter)
            .from_reader(bytes)
            .byte_records()
            .count()
    };
    let header =
        bytes.split(|byte| matches!(byte, b'\n' | b'\r')).find(|line| !line.is_empty()).unwrap_or_default();
    let is_one_column = !header.iter().any(|byte| b",;\t".contains(byte));
    let of_header = [b',', b';', b'\t'].into_iter().find(|delimiter| header.contains(delimiter));
    with(if is_one_column { b',' } else { of_header.unwrap_or(b',') })
}

impl Bench {
    fn imported(&self, input: &[u8], out: &Pipe, err: &Pipe) -> u8 {
        let line =
            ["console", "--json", "contacts", "import", "--workspace", World::WORKSPACE, "-", "--dry-run"];
        let mut terminal = Terminal {
            input: Box::new(std::io::Cursor::new(input.to_vec())),
            out: Box::new(out.clone()),
            err: Box::new(err.clone()),
            is_watched: false,
            has_person: false,
            has_colours: false,
            width: None,
        };
        let queue = "http://queue.invalid";
        let connect = async |_| {
            let known = KnownStack {
                operator: "fuzz".to_owned(),
                streams: self.streams.clone(),
                queues: Queues::default().with_webhooks(TestQueue::default().client(), queue, queue),
                inbound: InboundQueue::new(TestQueue::default().client(), queue),
                media: self.media.clone(),
                failures: self.failures.clone(),
            };
            Ok(Console {
                store: self.store.clone(),
                beside: Beside::Known(Box::new(known)),
                random: Arc::new(Zeros),
                trusted: TrustedReceivers::none(),
                graph: Graph::default(),
            })
        };
        self.runtime.block_on(Box::pin(console::run(line.map(OsString::from), connect, &mut terminal)))
    }
}

fn bench() -> Bench {
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let (store, streams, media) = runtime.block_on(async {
        let world = World::start().await;
        world.open_attribute("note", AttributeType::Text, |_| ()).await;
        world.open_attribute("born", AttributeType::Date, |_| ()).await;
        world.closed_attribute("plan", &["gold", "silver"], |_| ()).await;
        world.user("agent@example.com", |_| ()).await;
        world.contact(|contact| contact.email = Email::parse("ada@example.com").ok()).await;
        (world.db.frozen_store(), world.db.streams(), TestBucket::beside(&world.db).bucket())
    });
    Bench { runtime, store, streams, media, failures: TestFailures::default().bucket() }
}

/// For what needs no randomness.
pub(crate) struct Zeros;

impl Randomness for Zeros {
    fn fill(&self, bytes: &mut [u8]) {
        bytes.fill(0);
    }
}
