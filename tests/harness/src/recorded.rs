//! The calls of the tests in process, for `tests/wire/recorded.py`, which holds them against AWS's rules.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;

use serde_json::{Value, json};

/// The variable with the folder for the calls. Without it, nothing is recorded.
const FOLDER: &str = "RECORDED_CALLS";

/// A call as a line of the file: its header `X-Amz-Target` and its parameters. `None` if nothing is recorded.
pub(crate) fn line(target: Option<&str>, parameters: &Value) -> Option<String> {
    let target = target.filter(|_| std::env::var_os(FOLDER).is_some())?;
    Some(format!("{}\n", json!({ "target": target, "parameters": parameters })))
}

/// Appends a line to the file of this process. Tests create tables without a call, so `TestDb` passes their definitions
/// as calls of `CreateTable`.
pub(crate) fn keep(line: Option<String>) {
    let (Some(line), Ok(folder)) = (line, std::env::var(FOLDER)) else { return };
    let path = Path::new(&folder).join(format!("{}.jsonl", std::process::id()));
    let file = OpenOptions::new().create(true).append(true).open(&path);
    file.and_then(|mut file| file.write_all(line.as_bytes()))
        .unwrap_or_else(|error| panic!("{path:?}: {error}"));
}
