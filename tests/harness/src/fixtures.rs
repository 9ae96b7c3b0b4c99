//! The events of `events/`: what AWS sends to a function, and what `sam local` sends in its place.

use std::path::Path;

/// The text of a file of `events/`, such as `contacts-get.json`.
pub fn fixture_text(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../events").join(name);
    match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) => panic!("events/{name}: {error}"),
    }
}

/// A file of `events/`, read.
pub fn fixture(name: &str) -> serde_json::Value {
    match serde_json::from_str(&fixture_text(name)) {
        Ok(value) => value,
        Err(error) => panic!("events/{name}: {error}"),
    }
}

/// The queue's event of a file of `events/`, with these messages in place of its own: bodies, numbered from 0.
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
