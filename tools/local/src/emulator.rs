//! The AWS emulator: ministack, started by `tools/local/emulator.py`.

use std::fs::{self, File};
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::process::{ChildStdin, Command};
use tokio::time::{sleep, timeout};

use crate::Problem;
use crate::checkout::{Checkout, cannot_write};
use crate::process_group::ProcessGroup;

pub(crate) const REGION: &str = "us-east-1";
/// The emulator's root credentials. They are valid nowhere else.
pub(crate) const ACCESS_KEY: &str = "test";
pub(crate) const SECRET_KEY: &str = "test";

/// The time limit for the start. A start usually takes a third of a second.
const LONGEST_START: Duration = Duration::from_secs(60);

/// A running emulator, without any state from earlier runs. Dropping it ends the emulator and the functions in it. If
/// this process is killed, the launcher's standard input closes and the launcher ends itself.
#[derive(Debug)]
pub(crate) struct Emulator {
    group: ProcessGroup,
    /// The launcher's standard input, held open. It is not left in the `Child`, because waiting for a child closes
    /// its standard input.
    _lifeline: Option<ChildStdin>,
    url: String,
    aws_url: String,
    log: String,
}

impl Emulator {
    /// The functions call `aws_url`. If it is `None`, they call the emulator itself.
    pub(crate) async fn start(
        checkout: &Checkout,
        port: u16,
        aws_url: Option<String>,
    ) -> Result<Self, Problem> {
        forget_logs(checkout)?;
        let url = format!("http://127.0.0.1:{port}");
        let aws_url = aws_url.unwrap_or_else(|| url.clone());
        let mut command = command(checkout, port, &aws_url)?;
        let mut group = ProcessGroup::spawn(&mut command)
            .map_err(|error| Problem::of("The emulator cannot start", error))?;
        let lifeline = group.child().and_then(|child| child.stdin.take());
        let mut emulator =
            Self { group, _lifeline: lifeline, url, aws_url, log: checkout.path_text("logs/emulator.log") };
        tokio::select! {
            ready = timeout(LONGEST_START, ready(port)) => match ready {
                Ok(()) => Ok(emulator),
                Err(_) => Err(Problem::new(format!("The emulator does not respond: see its log, {}.", emulator.log))),
            },
            problem = emulator.unexpected_end() => Err(problem),
        }
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// What the functions and the console call.
    pub(crate) fn aws_url(&self) -> &str {
        &self.aws_url
    }

    /// Waits until the emulator ends. It should not end by itself, so the result is always an error.
    pub(crate) async fn ended(&mut self) -> Result<(), Problem> {
        Err(self.unexpected_end().await)
    }

    async fn unexpected_end(&mut self) -> Problem {
        let _ = self.group.wait().await;
        let log = fs::read_to_string(&self.log).unwrap_or_default();
        let last = log.trim_end().lines().next_back().unwrap_or_default();
        Problem::new(format!("The emulator has stopped: {last} (see its log, {}).", self.log))
    }
}

fn command(checkout: &Checkout, port: u16, aws_url: &str) -> Result<Command, Problem> {
    let scratch = fresh_folder(checkout, "emulator")?;
    let path = checkout.state("logs/emulator.log");
    let log = File::create(&path).map_err(|error| cannot_write(&path, error))?;
    let log_too = log.try_clone().map_err(|error| cannot_write(&path, error))?;
    let mut command = Command::new(checkout.venv("python"));
    command
        .arg(checkout.file("tools/local/emulator.py"))
        .args(["--port", &port.to_string(), "--logs", &checkout.path_text("logs")])
        .args(["--proxy-port", aws_url.rsplit(':').next().unwrap_or_default()])
        // Functions inherit this environment. The machine's own settings must not affect their behaviour.
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("LANG", "C.UTF-8")
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("HOME", &scratch)
        .env("TMPDIR", &scratch)
        .env("S3_DATA_DIR", scratch.join("s3"))
        .env("STATE_DIR", scratch.join("state"))
        .env("BIND_HOST", "127.0.0.1")
        .env("MINISTACK_HOST", "127.0.0.1")
        .env("AWS_ENDPOINT_URL", aws_url)
        .env("MINISTACK_REGION", REGION)
        .env("AWS_ACCESS_KEY_ID", ACCESS_KEY)
        .env("AWS_SECRET_ACCESS_KEY", SECRET_KEY)
        .env("AUTH", "true")
        .env("IOT_MTLS_ENABLED", "0")
        // The emulator removes containers of earlier runs, and not only its own. It must find no Docker.
        .env("DOCKER_HOST", format!("unix://{}", scratch.join("no-docker").display()))
        .stdin(Stdio::piped())
        .stdout(log)
        .stderr(log_too);
    Ok(command)
}

fn fresh_folder(checkout: &Checkout, name: &str) -> Result<std::path::PathBuf, Problem> {
    let _ = fs::remove_dir_all(checkout.state(name));
    checkout.make(name)
}

/// Deletes the logs of the previous run, except `pip.log`.
fn forget_logs(checkout: &Checkout) -> Result<(), Problem> {
    let folder = checkout.make("logs")?;
    let entries = fs::read_dir(&folder).map_err(|error| cannot_write(&folder, error))?;
    for path in entries.flatten().map(|entry| entry.path()) {
        if path.extension().is_some_and(|extension| extension == "log") && !path.ends_with("pip.log") {
            let _ = fs::remove_file(path);
        }
    }
    Ok(())
}

async fn ready(port: u16) {
    while !healthy(port).await.unwrap_or(false) {
        sleep(Duration::from_millis(20)).await;
    }
}

async fn healthy(port: u16) -> std::io::Result<bool> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await?;
    let request = format!("GET /_ministack/health HTTP/1.0\r\nHost: 127.0.0.1:{port}\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut status = [0; 12];
    stream.read_exact(&mut status).await?;
    Ok(status.ends_with(b" 200"))
}

/// A Python program of the repository that speaks to the emulator, whatever the AWS settings of the machine are.
pub(crate) fn client(checkout: &Checkout, script: &str) -> Command {
    let mut command = Command::new(checkout.venv("python"));
    command
        .arg(checkout.file(script))
        .env("AWS_ACCESS_KEY_ID", ACCESS_KEY)
        .env("AWS_SECRET_ACCESS_KEY", SECRET_KEY)
        .env("AWS_DEFAULT_REGION", REGION)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("NO_PROXY", "127.0.0.1")
        .env_remove("AWS_PROFILE")
        .env_remove("AWS_SESSION_TOKEN");
    command
}
