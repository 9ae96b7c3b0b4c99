//! Parts of pages that the code makes. `WRITE_PAGES=1 cargo test --package edge --test it` writes them; without the variable, the tests
//! compare them.

use std::path::{Path, PathBuf};

/// A file of this repository.
pub(crate) fn file(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

pub(crate) fn read(path: &str) -> String {
    std::fs::read_to_string(file(path)).unwrap_or_default()
}

/// Checks that a file has exactly the generated text, or writes it if `WRITE_PAGES` is set.
pub(crate) fn hold(path: &str, expected: &str) {
    if std::env::var_os("WRITE_PAGES").is_some() {
        std::fs::write(file(path), expected).unwrap();
    }
    let found = read(path);
    let differing = found.lines().zip(expected.lines()).position(|(found, expected)| found != expected);
    assert!(
        found == expected,
        "{path} is not what the code makes, from line {} on: WRITE_PAGES=1 cargo test --package edge --test it",
        differing.map_or(found.lines().count().min(expected.lines().count()), |line| line) + 1
    );
}

/// The page with this text between the marks with this name.
pub(crate) fn with(page: &str, name: &str, made: &str) -> String {
    let (begin, end) = (format!("<!-- made: {name} -->\n"), format!("<!-- /made: {name} -->"));
    let parts = page.split_once(&begin).and_then(|(before, rest)| Some((before, rest.split_once(&end)?.1)));
    let Some((before, after)) = parts else { panic!("the page has no place for {name}") };
    format!("{before}{begin}{made}{end}{after}")
}
