//! A function as a process pinned to a core, with the kernel's figures about it.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::thread::{CpuSet, sched_setaffinity};

use crate::{Authority, Lambda, Server};

/// A core of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Core(pub usize);

impl Core {
    /// The core of the measured process. `make bench` runs nothing else on it.
    pub const MEASURED: Self = Self(0);
    /// The core of the stand-ins and of the measuring process.
    pub const MEASURING: Self = Self(1);

    /// Pins the calling thread and everything that it starts afterwards.
    pub fn pin(self) {
        let mut cores = CpuSet::new();
        cores.set(self.0);
        sched_setaffinity(None, &cores).expect(
            "the machine needs two cores, one for the measured process and one for the measuring process",
        );
    }
}

/// How the binary of a function was built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Build {
    /// As it is shipped.
    Release,
    /// With the profile `measuring`: without link-time optimisation, which takes minutes for all functions.
    Measuring,
}

/// The binary of a function, which `make bench` or `make figures` builds.
pub fn binary(name: &str, build: Build) -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    let target = target.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target"));
    let (folder, command) = match build {
        Build::Release => ("release", "make bench"),
        Build::Measuring => ("measuring", "make figures"),
    };
    let path = target.join(folder).join(name);
    assert!(path.exists(), "{} is missing: `{command}` builds it", path.display());
    path
}

/// The bytes of an ELF file that a process loads: code and data, without symbols.
pub fn loaded_size(path: &Path) -> u64 {
    let file = std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let number = |at: usize, bytes: usize| {
        file[at..at + bytes].iter().rev().fold(0, |number, byte| (number << 8) | u64::from(*byte))
    };
    const LOADED: u64 = 1;
    // The ELF header of 64 bits: the place of the program headers, the size of one, and how many there are.
    let (first, size, count) = (number(32, 8) as usize, number(54, 2) as usize, number(56, 2) as usize);
    let headers = (0..count).map(|header| first + header * size);
    headers.filter(|at| number(*at, 4) == LOADED).map(|at| number(at + 32, 8)).sum()
}

/// The path of a temporary file.
pub fn scratch(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/tmp");
    // If the folder cannot be created, the error shows when the file is written.
    let _ = std::fs::create_dir_all(&folder);
    folder.join(name)
}

/// The environment variables of all functions. `aws` is AWS, over TLS if an authority is given. `others` is the
/// providers of captchas and messages.
pub fn environment(aws: &Server, others: &Server, authority: Option<&Authority>) -> Vec<(String, String)> {
    let scheme = if authority.is_some() { "https" } else { "http" };
    let (aws, others) =
        (format!("{scheme}://127.0.0.1:{}", aws.port), format!("http://127.0.0.1:{}", others.port));
    let bundle = authority.map_or_else(String::new, |authority| {
        let path = scratch("bench-ca.pem");
        std::fs::write(&path, &authority.pem).expect("cannot write the root certificate");
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
        ("PERSON_QUEUE_URL", queue("test-person-jobs")),
        ("INBOX_QUEUE_URL", queue("test-inbox")),
        ("MEDIA_BUCKET", "test-media".to_owned()),
        ("FAILURE_BUCKET", "test-failures".to_owned()),
        ("CAPTCHA_URL", others.clone()),
        ("CAPTURE_URL", others.clone()),
        ("GRAPH_URL", others),
        ("GRAPH_VERSION", "v23.0".to_owned()),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into()
}

/// The time-out of a function, as in `template.yaml`: that of the functions with leases, which compare the two.
fn time_out(path: &Path) -> Duration {
    Duration::from_secs(if path.ends_with("people") { 300 } else { 60 })
}

/// A running process of a function.
pub struct Function {
    /// The runtime API that serves the process.
    pub lambda: Lambda,
    /// The time from the start of the process to its first request for an event.
    pub start: Duration,
    child: Child,
}

impl Function {
    /// Starts the process on [`Core::MEASURED`] with this environment only, and waits for its first poll. `under` is a
    /// command that runs the process, such as `valgrind`.
    pub async fn start(path: &Path, env: &[(String, String)], under: &[String]) -> Self {
        let mut lambda = Lambda::start(time_out(path)).await;
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
            // The output goes to a file, as it goes to a log on Lambda. It helps if a measurement fails.
            .stdout(File::create(scratch("bench.log")).map_or_else(|_| Stdio::null(), Stdio::from));
        Core::MEASURED.pin();
        let begun = Instant::now();
        let child = command.spawn();
        Core::MEASURING.pin();
        let child = child.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let start = lambda.polled().await - begun;
        Self { lambda, start, child }
    }

    /// The CPU time of all threads.
    pub fn cpu(&self) -> Duration {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", self.child.id())).into_iter().flatten();
        let nanos = tasks.flatten().map(|task| {
            let text = std::fs::read_to_string(task.path().join("schedstat")).unwrap_or_default();
            text.split(' ').next().and_then(|nanos| nanos.parse::<u64>().ok()).unwrap_or_default()
        });
        Duration::from_nanos(nanos.sum())
    }

    /// The peak memory in bytes (`VmHWM`).
    pub fn peak_memory(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap_or_default();
        let kib = status
            .lines()
            .find_map(|line| line.strip_prefix("VmHWM:"))
            .and_then(|rest| rest.trim().trim_end_matches("kB").trim().parse::<u64>().ok());
        kib.unwrap_or_default() * 1024
    }

    /// Sends SIGTERM and waits until the process has ended.
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
