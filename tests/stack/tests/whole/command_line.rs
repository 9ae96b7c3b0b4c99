//! The AWS command line, in one process for each stack.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::Value;

/// A running `tests/stack/aws.py`.
pub(crate) struct CommandLine {
    process: Child,
    commands: ChildStdin,
    results: BufReader<ChildStdout>,
}

impl CommandLine {
    /// Starts it, given the root folder of the repository.
    pub(crate) fn start(root: &Path) -> Self {
        let mut process = Command::new(root.join(".local/venv/bin/python"))
            .arg(root.join("tests/stack/aws.py"))
            .env("AWS_ACCESS_KEY_ID", "test")
            .env("AWS_SECRET_ACCESS_KEY", "test")
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the AWS command line runs");
        let commands = process.stdin.take().expect("its input");
        let results = BufReader::new(process.stdout.take().expect("its output"));
        Self { process, commands, results }
    }

    /// Runs a command that must succeed. Returns what it printed, or null if that is not JSON.
    pub(crate) fn run(&mut self, arguments: &[&str]) -> Value {
        writeln!(self.commands, "{}", serde_json::json!(arguments)).expect("the AWS command line takes it");
        let mut line = String::new();
        self.results.read_line(&mut line).expect("the AWS command line answers");
        let result: Value = serde_json::from_str(&line).expect("its result");
        assert_eq!(result["status"], 0, "aws {arguments:?}: {}", result["err"]);
        serde_json::from_str(result["out"].as_str().expect("text")).unwrap_or(Value::Null)
    }
}

impl Drop for CommandLine {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
