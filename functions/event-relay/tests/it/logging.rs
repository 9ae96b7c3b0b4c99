//! The log lines of the relay.

use harness::Pipe;
use serde_json::Value;
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::util::SubscriberInitExt;

/// The log lines of this thread.
#[derive(Default)]
pub(crate) struct Log(Pipe);

impl Log {
    /// Records the log lines of this thread until the returned guard is dropped.
    pub(crate) fn listen(&self) -> impl Drop + use<> {
        let lines = self.0.clone();
        let subscriber = tracing_subscriber::fmt()
            .json()
            .flatten_event(true)
            .with_max_level(LevelFilter::INFO)
            .with_writer(move || lines.clone())
            .finish();
        subscriber.set_default()
    }

    /// The lines with this message since the last call.
    pub(crate) fn lines(&self, message: &str) -> Vec<Value> {
        let text = self.0.take();
        let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        lines.filter(|line| line["message"] == message).collect()
    }
}
