//! The judge between the service and the emulator: `tests/wire/proxy.py`.

use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::ChildStdin;

use crate::Problem;
use crate::checkout::Checkout;
use crate::emulator::client;
use crate::process_group::ProcessGroup;

/// How long the validator may take to judge the last calls after the end of the stack.
const GRACE: Duration = Duration::from_secs(20);

/// A running validator. Dropping it waits until it has judged all calls.
#[derive(Debug)]
pub(crate) struct Validator {
    group: ProcessGroup,
    /// Its standard input. It ends when this is closed.
    lifeline: Option<ChildStdin>,
    url: String,
}

impl Validator {
    /// Starts it on a free port, in front of the emulator. The emulator may start later.
    pub(crate) async fn start(checkout: &Checkout, emulator_port: u16) -> Result<Self, Problem> {
        let cannot = |cause: &dyn std::fmt::Display| Problem::of("The validator cannot start", cause);
        let mut command = client(checkout, "tests/wire/proxy.py");
        command
            .args(["--upstream", &format!("127.0.0.1:{emulator_port}")])
            .args(["--folder", &checkout.path_text("wire")])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut group = ProcessGroup::spawn(&mut command).map_err(|error| cannot(&error))?;
        let lifeline = group.child().and_then(|child| child.stdin.take());
        let mut port = String::new();
        if let Some(printed) = group.child().and_then(|child| child.stdout.take()) {
            BufReader::new(printed).read_line(&mut port).await.map_err(|error| cannot(&error))?;
        }
        if port.trim().is_empty() {
            return Err(cannot(&"its errors are above"));
        }
        Ok(Self { group, lifeline, url: format!("http://127.0.0.1:{}", port.trim()) })
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }
}

impl Drop for Validator {
    fn drop(&mut self) {
        drop(self.lifeline.take());
        let closed = Instant::now();
        let Some(child) = self.group.child() else { return };
        while matches!(child.try_wait(), Ok(None)) && closed.elapsed() < GRACE {
            thread::sleep(Duration::from_millis(5));
        }
    }
}
