//! Generates the documentation of webhooks from the code: the examples, tables and programs in
//! `docs/webhooks.md`, and the test vectors for the programs in `tests/receivers`.
//!
//! `WRITE_WEBHOOKS=1 cargo test --package edge --test it webhooks` writes the files. Without the variable, the
//! tests compare them.

mod events;
mod page;
mod vectors;

use std::path::{Path, PathBuf};

/// A file of this repository.
fn file(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

fn read(path: &str) -> String {
    std::fs::read_to_string(file(path)).unwrap_or_default()
}

/// Checks that a file has exactly the generated text, or writes it if `WRITE_WEBHOOKS` is set.
fn hold(path: &str, expected: &str) {
    if std::env::var_os("WRITE_WEBHOOKS").is_some() {
        std::fs::write(file(path), expected).unwrap();
    }
    let found = read(path);
    let differing = found.lines().zip(expected.lines()).position(|(found, expected)| found != expected);
    assert!(
        found == expected,
        "{path} is not what the code makes, from line {} on: WRITE_WEBHOOKS=1 cargo test --package edge --test it webhooks",
        differing.map_or(found.lines().count().min(expected.lines().count()), |line| line) + 1
    );
}
