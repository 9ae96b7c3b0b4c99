//! A function as a process, pinned to a core, and what the kernel knows of it.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::thread::{CpuSet, sched_setaffinity};

use crate::{Authority, Lambda, Server};

/// One of the machine's cores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Core(pub usize);

impl Core {
    /// What is measured runs here, alone as far as it lies with us.
    pub const MEASURED: Self = Self(0);
    /// All stand-ins and whatever measures run here.
    pub const MEASURING: Self = Self(1);

    /// Pins the calling thread, and with it whatever it starts from now on.
    pub fn pin(self) {
        let mut cores = CpuSet::new();
        cores.set(self.0);
        sched_setaffinity(None, &cores).expect("two cores: one to measure, one to measure on");
    }
}

/// A function as it is shipped, built by `make bench`.
pub fn binary(name: &str) -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    let target = target.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target"));
    let path = target.join("release").join(name);
    assert!(path.exists(), "{} is not built", path.display());
    path
}

/// A file for the time of a measurement.
pub fn scratch(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/tmp");
    // Where there is no folder, what is written into it says so.
    let _ = std::fs::create_dir_all(&folder);
    folder.join(name)
}

/// All that any of the functions asks its environment for: AWS at one server, over TLS if an authority is given, and the
/// providers of captchas and messages at another.
pub fn environment(aws: &Server, others: &Server, authority: Option<&Authority>) -> Vec<(String, String)> {
    let scheme = if authority.is_some() { "https" } else { "http" };
    let (aws, others) =
        (format!("{scheme}://127.0.0.1:{}", aws.port), format!("http://127.0.0.1:{}", others.port));
    let bundle = authority.map_or_else(String::new, |authority| {
        let path = scratch("bench-ca.pem");
        std::fs::write(&path, &authority.pem).expect("a file of roots");
        path.display().to_string()
    });
    let queue = |name: &str| format!("{aws}/123456789012/{name}");
    [
        ("STACK", "test".to_owned()),
        ("AWS_REGION", "eu-west-1".to_owned()),
        ("AWS_ACCESS_KEY_ID", "id".to_owned()),
        ("AWS_SECRET_ACCESS_KEY", "secret".to_owned()),
        ("AWS_SESSION_TOKEN", "t".repeat(1_000)),
        ("AWS_CA_BUNDLE", bundle),
        ("AWS_ENDPOINT_URL", aws.clone()),
        ("AWS_LAMBDA_HTTP_IGNORE_STAGE_IN_PATH", "true".to_owned()),
        ("DELIVERY_QUEUE_URL", queue("test-webhook-deliveries")),
        ("SLOW_DELIVERY_QUEUE_URL", queue("test-webhook-deliveries-slow")),
        ("SEND_QUEUE_URL", queue("test-sends")),
        ("LEAD_QUEUE_URL", queue("test-lead-sends")),
        ("MEDIA_BUCKET", "test-media".to_owned()),
        ("CAPTCHA_URL", others.clone()),
        ("GRAPH_URL", others),
        ("GRAPH_VERSION", "v23.0".to_owned()),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into()
}

/// A process of a function.
pub struct Function {
    /// Lambda, as it sees it.
    pub lambda: Lambda,
    /// From its start to its first question for an event.
    pub start: Duration,
    child: Child,
}

impl Function {
    /// Starts it on [`Core::MEASURED`] with this environment and no other, and waits for its first poll. `under` is a
    /// command that it is run by.
    pub async fn start(path: &Path, env: &[(String, String)], under: &[String]) -> Self {
        let mut lambda = Lambda::start().await;
        let mut command = match under.split_first() {
            None => Command::new(path),
            Some((first, rest)) => {
                let mut command = Command::new(first);
                command.args(rest).arg(path);
                command
            }
        };
        command
            .env_clear()
            .env("AWS_LAMBDA_RUNTIME_API", lambda.address())
            .env("AWS_LAMBDA_FUNCTION_NAME", "bench")
            .env("AWS_LAMBDA_FUNCTION_VERSION", "$LATEST")
            .env("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "256")
            .envs(env.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            // What it says is written, as on Lambda, and can be read when a measurement fails.
            .stdout(File::create(scratch("bench.log")).map_or_else(|_| Stdio::null(), Stdio::from));
        Core::MEASURED.pin();
        let begun = Instant::now();
        let child = command.spawn();
        Core::MEASURING.pin();
        let child = child.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let start = lambda.polled().await - begun;
        Self { lambda, start, child }
    }

    /// The time that all its threads were on a core.
    pub fn cpu(&self) -> Duration {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", self.child.id())).into_iter().flatten();
        let nanos = tasks.flatten().map(|task| {
            let text = std::fs::read_to_string(task.path().join("schedstat")).unwrap_or_default();
            text.split(' ').next().and_then(|nanos| nanos.parse::<u64>().ok()).unwrap_or_default()
        });
        Duration::from_nanos(nanos.sum())
    }

    /// The most memory it has had so far, in bytes.
    pub fn peak_memory(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap_or_default();
        let kib = status
            .lines()
            .find_map(|line| line.strip_prefix("VmHWM:"))
            .and_then(|rest| rest.trim().trim_end_matches("kB").trim().parse::<u64>().ok());
        kib.unwrap_or_default() * 1024
    }

    /// Asks it to end, and waits until it has.
    pub fn end(mut self) {
        let pid = rustix::process::Pid::from_child(&self.child);
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
        let _ = self.child.wait();
    }
}

impl Drop for Function {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
