//! The example events in `events/`. `sam local invoke` uses the same files.

use std::path::Path;

/// The text of a file in `events/`, such as `contacts-get.json`.
pub fn fixture_text(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../events").join(name);
    match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) => panic!("events/{name}: {error}"),
    }
}

/// A file in `events/`, parsed.
pub fn fixture(name: &str) -> serde_json::Value {
    match serde_json::from_str(&fixture_text(name)) {
        Ok(value) => value,
        Err(error) => panic!("events/{name}: {error}"),
    }
}

/// The queue event in a file of `events/` with its messages replaced by these bodies. The message ids count from 0.
pub fn queue_fixture(name: &str, bodies: &[String]) -> serde_json::Value {
    let mut event = fixture(name);
    let record = event["Records"][0].clone();
    let records = bodies.iter().enumerate().map(|(number, body)| {
        let mut record = record.clone();
        record["body"] = body.as_str().into();
        record["messageId"] = number.to_string().into();
        record
    });
    event["Records"] = records.collect();
    event
}
