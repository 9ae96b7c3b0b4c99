//! What the validator of a stack (`tests/wire`) found in the calls of its functions.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::Value;

/// How long a test waits for the last file of a validator whose stack was killed.
const PATIENCE: Duration = Duration::from_secs(20);

/// What a validator wrote.
pub(crate) struct Judgement {
    /// What AWS would refuse, one object for each finding.
    pub(crate) findings: Vec<Value>,
    calls: Value,
}

impl Judgement {
    /// Reads the files of a stack that has ended.
    pub(crate) fn of(folder: &Path) -> Self {
        let file = folder.join("wire/calls.json");
        let asked = Instant::now();
        while !file.exists() && asked.elapsed() < PATIENCE {
            std::thread::sleep(Duration::from_millis(10));
        }
        let calls = std::fs::read_to_string(&file).expect("the validator counted the calls");
        let findings = std::fs::read_to_string(folder.join("wire/findings.jsonl")).expect("the findings");
        let json = |text: &str| serde_json::from_str(text).expect("the validator writes JSON");
        Self { findings: findings.lines().map(json).collect(), calls: json(&calls) }
    }

    /// Panics if AWS would refuse a call, or if the validator saw no call at all.
    pub(crate) fn hold(&self) {
        let lines: Vec<String> = self.findings.iter().map(Value::to_string).collect();
        assert!(lines.is_empty(), "AWS would refuse calls of this test:\n{}", lines.join("\n"));
        assert!(self.calls_of("dynamodb") > 0, "the validator saw no call, so it cannot find a fault");
    }

    /// The number of calls of a service.
    pub(crate) fn calls_of(&self, service: &str) -> u64 {
        let operations = self.calls["services"][service].as_object();
        operations.into_iter().flatten().filter_map(|(_, count)| count.as_u64()).sum()
    }

    /// Those who called a service.
    pub(crate) fn callers_of(&self, service: &str) -> Vec<&str> {
        let callers = self.calls["callers"][service].as_object();
        callers.into_iter().flatten().map(|(name, _)| name.as_str()).collect()
    }
}
