//! Compares what all cases cost with the committed figures (`make figures`).
//!
//! A change that makes a function more expensive, or cheaper, shows as a diff of the file of figures.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use bench::Table;
use serde::{Deserialize, Serialize};

use crate::measure::Counts;

/// The largest difference between two figures that are the same.
const TOLERANCE: f64 = 0.05;

/// The figures of one case. The names are those of the file's columns.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Figures {
    /// Thousands of instructions.
    k_instructions: f64,
    /// Thousands of instructions that do not hash for a signature.
    without_sha256: f64,
    trips: f64,
    read_units: f64,
    write_units: f64,
    /// Megabytes.
    loaded_mb: f64,
}

/// The figures of cases by the names of the cases.
pub(crate) type Known = BTreeMap<String, Figures>;

impl Figures {
    pub(crate) fn of(counts: &Counts) -> Self {
        let thousands = |count: u64| (count as f64 / 1e3).round();
        let tenths = |number: f64| (number * 10.0).round() / 10.0;
        Self {
            k_instructions: thousands(counts.instructions.all),
            without_sha256: thousands(counts.instructions.others()),
            trips: tenths(counts.calls.trips),
            read_units: tenths(counts.calls.read_units),
            write_units: tenths(counts.calls.write_units),
            loaded_mb: tenths(counts.size as f64 / 1e6),
        }
    }

    fn columns(&self) -> [(&'static str, f64); 6] {
        let Self { k_instructions, without_sha256, trips, read_units, write_units, loaded_mb } = *self;
        [
            ("k instructions", k_instructions),
            ("without SHA-256", without_sha256),
            ("trips", trips),
            ("RRU", read_units),
            ("WRU", write_units),
            ("loaded MB", loaded_mb),
        ]
    }
}

/// The path of the committed figures.
pub(crate) fn path() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("figures.json")
}

/// Reads the file.
pub(crate) fn read(text: &str) -> Known {
    serde_json::from_str(text).unwrap()
}

/// The text of the file: one line for each case, sorted.
pub(crate) fn text(known: &Known) -> String {
    let line = |(name, figures): (&String, &Figures)| {
        format!("  {}: {}", serde_json::to_string(name).unwrap(), serde_json::to_string(figures).unwrap())
    };
    let lines: Vec<String> = known.iter().map(line).collect();
    format!("{{\n{}\n}}\n", lines.join(",\n"))
}

/// A table of the known figures, the new ones and their ratios.
pub(crate) fn table(known: &Known, new: &Known) -> Table {
    let mut table = Table::new("Figures: known, new, ratio", "case", new.keys().cloned());
    for at in 0..6 {
        let head = new.values().next().map_or("", |figures| figures.columns()[at].0);
        table.column(
            head,
            new.iter().map(|(name, figures)| {
                let new = figures.columns()[at].1;
                match known.get(name).map(|known| known.columns()[at].1) {
                    None => format!("-, {new}"),
                    Some(old) if old == new => new.to_string(),
                    Some(old) => format!("{old}, {new}, {:.2}", new / old),
                }
            }),
        );
    }
    table
}

/// The differences over the tolerance, one sentence each.
pub(crate) fn differences(known: &Known, new: &Known) -> Vec<String> {
    let mut found = vec![];
    for (name, figures) in new {
        let Some(before) = known.get(name) else {
            found.push(format!("{name}: has no figures yet"));
            continue;
        };
        for ((column, old), (_, new)) in before.columns().into_iter().zip(figures.columns()) {
            if (new - old).abs() > old * TOLERANCE {
                found.push(format!("{name}: {column} was {old} and is {new}"));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cases;

    fn figures(k_instructions: f64, trips: f64) -> Figures {
        Figures {
            k_instructions,
            without_sha256: k_instructions,
            trips,
            read_units: 0.0,
            write_units: 1.0,
            loaded_mb: 6.4,
        }
    }

    fn named(name: &str, figures: Figures) -> Known {
        [(name.to_owned(), figures)].into()
    }

    #[test]
    fn every_function_has_a_case() {
        let functions = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../functions");
        for entry in std::fs::read_dir(functions).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            assert!(cases::ALL.iter().any(|case| case.binary == name), "{name} is not measured");
        }
    }

    #[test]
    fn every_case_has_figures_and_no_other() {
        let known = read(&std::fs::read_to_string(path()).unwrap());
        let mut cases: Vec<&str> = cases::ALL.iter().map(|case| case.name).collect();
        cases.sort_unstable();
        assert_eq!(known.keys().collect::<Vec<_>>(), cases, "run `UPDATE=1 make figures`");
    }

    #[test]
    fn a_difference_of_more_than_5_percent_is_told_in_either_direction() {
        let known = named("a", figures(1_000.0, 1.0));
        for same in [figures(1_000.0, 1.0), figures(1_050.0, 1.0), figures(950.0, 1.0)] {
            assert!(differences(&known, &named("a", same)).is_empty(), "{same:?}");
        }
        let dearer = differences(&known, &named("a", figures(1_051.0, 2.0)));
        assert_eq!(
            dearer,
            [
                "a: k instructions was 1000 and is 1051",
                "a: without SHA-256 was 1000 and is 1051",
                "a: trips was 1 and is 2",
            ]
        );
        assert_eq!(differences(&known, &named("a", figures(949.0, 1.0))).len(), 2);
        assert_eq!(differences(&known, &named("b", figures(1.0, 1.0))), ["b: has no figures yet"]);
        // A figure of 0 has no tolerance.
        let reads = Figures { read_units: 0.1, ..figures(1_000.0, 1.0) };
        assert_eq!(differences(&known, &named("a", reads)), ["a: RRU was 0 and is 0.1"]);
    }
}
