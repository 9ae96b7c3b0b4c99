//! The errors with which `local run` refuses to start.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn state(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

fn local(name: &str, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_local"))
        .args(["run", "--no-build", "--state-dir"])
        .arg(state(name))
        .args(arguments)
        .output()
        .unwrap()
}

fn said(output: &Output) -> &str {
    std::str::from_utf8(&output.stderr).unwrap().trim()
}

#[test]
fn a_taken_port_is_reported_in_one_sentence() {
    // The receiver's ledger uses the third port from the base.
    let taken = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = taken.local_addr().unwrap().port();
    let output = local("taken", &["--port", &(port - 2).to_string()]);
    assert_eq!(output.status.code(), Some(1));
    let sentence = said(&output);
    assert!(sentence.starts_with("Port ") && sentence.contains(" is taken: "), "{sentence}");
    assert_eq!(sentence.lines().count(), 1, "{sentence}");
    assert!(!state("taken").join("stack.json").exists());
}

#[test]
fn a_missing_python_is_reported_in_one_sentence() {
    let output = Command::new(env!("CARGO_BIN_EXE_local"))
        .args(["run", "--no-build", "--state-dir"])
        .arg(state("python"))
        .env("PATH", "/nowhere")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(said(&output), "python3 is missing: install Python 3.11 or later.");
}

#[test]
fn a_second_run_in_one_state_folder_is_refused() {
    let folder = state("locked");
    std::fs::create_dir_all(&folder).unwrap();
    let held = std::fs::File::create(folder.join("lock")).unwrap();
    held.lock().unwrap();
    let output = local("locked", &["--port", "0"]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(
        said(&output),
        format!(
            "Another local stack of this checkout is running in {}: stop it, or give --state-dir.",
            folder.display()
        )
    );
}

#[test]
fn a_parameter_without_a_value_is_a_usage_error() {
    let output = local("usage", &["--param", "RetrySchedule"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(said(&output).contains("expected NAME=VALUE"));
}
