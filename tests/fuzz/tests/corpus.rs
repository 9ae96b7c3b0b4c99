//! Every target runs over its corpus, so that a change of the service shows here and not at the next fuzzing.

#![allow(clippy::unwrap_used, reason = "a test that cannot continue fails")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use fuzz::TARGETS;

#[test]
fn every_target_accepts_its_corpus() {
    for (name, run) in TARGETS {
        let seeds = files(&folder("corpus").join(name));
        assert!(seeds.len() >= 3, "{name} has too few seeds");
        for seed in seeds {
            let input = std::fs::read(&seed).unwrap();
            let outcome = std::panic::catch_unwind(|| run(&input));
            assert!(outcome.is_ok(), "{name} refuses {}", seed.display());
            // Parts of a seed are invalid in other ways.
            let step = (input.len() / 16).max(1);
            (0..input.len()).step_by(step).for_each(|end| run(&input[..end]));
        }
    }
}

#[test]
fn every_target_has_a_corpus_and_a_program() {
    let names: BTreeSet<String> = TARGETS.iter().map(|(name, _)| (*name).to_owned()).collect();
    let stems = |folder: PathBuf| -> BTreeSet<String> {
        let stem = |path: PathBuf| path.file_stem().unwrap().to_str().unwrap().to_owned();
        files(&folder).into_iter().map(stem).collect()
    };
    let mut programs = stems(folder("engine/src/bin"));
    assert!(programs.remove("planted"));
    assert_eq!(programs, names);
    assert_eq!(stems(folder("corpus")), names);
    assert!(stems(folder("dictionaries")).is_subset(&names));
}

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}
