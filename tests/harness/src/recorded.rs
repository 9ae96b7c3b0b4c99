//! The calls of the tests in process, for `tests/wire/recorded.py`, which holds them against AWS's rules.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;

use serde_json::{Value, json};

/// The variable with the folder for the calls. Without it, nothing is recorded.
const FOLDER: &str = "RECORDED_CALLS";

/// Appends a call to the file of this process: its header `X-Amz-Target` and its parameters. Tests create tables without
/// a call, so `TestDb` passes their definitions as calls of `CreateTable`.
pub(crate) fn keep(target: Option<&str>, parameters: &Value) {
    let (Some(target), Ok(folder)) = (target, std::env::var(FOLDER)) else { return };
    let path = Path::new(&folder).join(format!("{}.jsonl", std::process::id()));
    let line = format!("{}\n", json!({ "target": target, "parameters": parameters }));
    let file = OpenOptions::new().create(true).append(true).open(&path);
    file.and_then(|mut file| file.write_all(line.as_bytes()))
        .unwrap_or_else(|error| panic!("{path:?}: {error}"));
}
