//! The fields of a log line.

use serde::Serialize;
use serde::ser::Serializer;
use serde_json::Value;
use tracing::field::{Field, Visit};

/// The maximum number of characters of a text in a log line. Some texts come from callers, tenants and the provider.
const MAX_TEXT: usize = 1_024;

/// Fields by name, each name once. A text is cut after [`MAX_TEXT`] characters, and says so.
#[derive(Debug, Default)]
pub struct Fields(Vec<(&'static str, Value)>);

impl Fields {
    /// Adds a field, unless a field with this name exists.
    pub fn add(&mut self, name: &'static str, value: impl Into<Value>) {
        let (name, value) = match (name, value.into()) {
            ("xrayTraceId", Value::String(header)) => {
                ("traceId", bounded(trace_id(&header).unwrap_or(&header).to_owned()).into())
            }
            (name, Value::String(text)) => (name, bounded(text).into()),
            other => other,
        };
        if self.0.iter().all(|(known, _)| *known != name) {
            self.0.push((name, value));
        }
    }

    /// Adds a field that has a value, unless a field with this name exists.
    pub fn add_known(&mut self, name: &'static str, value: Option<impl Into<Value>>) {
        if let Some(value) = value {
            self.add(name, value);
        }
    }

    /// Adds the fields of `others` whose names are new.
    pub(crate) fn extend(&mut self, others: &Self) {
        for (name, value) in &others.0 {
            if self.0.iter().all(|(known, _)| known != name) {
                self.0.push((name, value.clone()));
            }
        }
    }

    /// The fields, `message` first.
    pub(crate) fn message_first(&self) -> impl Iterator<Item = (&'static str, &Value)> {
        let is_message = |field: &&(&'static str, Value)| field.0 == "message";
        let others = self.0.iter().filter(move |field| !is_message(field));
        self.0.iter().filter(is_message).chain(others).map(|(name, value)| (*name, value))
    }
}

impl Serialize for Fields {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

/// The text, or its beginning and the number of bytes that are missing.
fn bounded(mut text: String) -> String {
    if text.len() > MAX_TEXT
        && let Some((end, _)) = text.char_indices().nth(MAX_TEXT)
    {
        let missing = text.len() - end;
        text.truncate(end);
        text.push_str(&format!("... ({missing} bytes more)"));
    }
    text
}

/// The part of X-Ray's header that identifies a trace: `Root=1-5759e988-bd862e3fe1be46a994272793;Parent=...`.
pub fn trace_id(header: &str) -> Option<&str> {
    header.split(';').find_map(|part| part.trim().strip_prefix("Root="))
}

impl Visit for Fields {
    fn record_f64(&mut self, field: &Field, value: f64) {
        self.add(field.name(), value);
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.add(field.name(), value);
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.add(field.name(), value);
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.add(field.name(), value);
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.add(field.name(), value);
    }

    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        self.add(field.name(), format!("{value:?}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_trace_id_is_the_root_in_the_trace_header() {
        assert_eq!(trace_id("Root=1-a-b;Parent=c;Sampled=0"), Some("1-a-b"));
        assert_eq!(trace_id("Self=1-x;Root=1-a-b"), Some("1-a-b"));
        assert_eq!(trace_id(""), None);
    }

    #[test]
    fn a_text_is_cut_at_a_character_and_says_how_much_is_missing() {
        let whole = "é".repeat(MAX_TEXT);
        assert_eq!(bounded(whole.clone()), whole);
        assert_eq!(bounded(format!("{whole}éx")), format!("{whole}... (3 bytes more)"));
    }
}
