//! Logs: one self-contained JSON object a line. The fields of the spans around an event are flat, beside the
//! event's own fields.

use std::io::Write;
use std::panic::PanicHookInfo;
use std::str::FromStr;

use domain::Clock;
use serde::ser::{SerializeMap, Serializer};
use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::{Context, SubscriberExt};
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt;

use crate::{Fields, SystemClock};

/// The crates that log at `LOG_LEVEL`.
const OURS: &[&str] = &[
    "access",
    "admin",
    "attributes",
    "contacts",
    "conversations",
    "deliveries",
    "edge",
    "endpoints",
    "event_relay",
    "files",
    "inbox",
    "lead_records",
    "lead_sender",
    "leads",
    "message_sender",
    "messages",
    "people",
    "portal",
    "provider",
    "provider_events",
    "queue",
    "runtime",
    "store",
    "sweeper",
    "uploads",
    "users",
    "webhook_delivery",
];

/// The target of the span that `lambda_runtime` opens around each invocation. It carries Lambda's request id
/// and X-Ray's trace id, and is on at every `LOG_LEVEL`.
const INVOCATIONS: &str = "lambda_runtime::layers::trace";

/// Starts logging at `LOG_LEVEL` (default `info`). Dependencies log from `warn` up.
pub(crate) fn start(settings: &crate::Settings) {
    let level = settings.optional("LOG_LEVEL").and_then(|level| LevelFilter::from_str(&level).ok());
    let lines = Lines { write: |line: &[u8]| drop(std::io::stdout().lock().write_all(line)) };
    let subscriber =
        tracing_subscriber::registry().with(level_filter(level.unwrap_or(LevelFilter::INFO))).with(lines);
    // A second start in one process (tests) keeps the first subscriber.
    if subscriber.try_init().is_ok() {
        std::panic::set_hook(Box::new(log_panic));
    }
}

/// The minimum level of each target.
fn level_filter(level: LevelFilter) -> Targets {
    let ours = OURS.iter().map(|room| (*room, level));
    Targets::new()
        .with_default(LevelFilter::WARN)
        .with_targets(ours)
        .with_target(INVOCATIONS, LevelFilter::INFO)
}

/// Logs a panic as one line. Only a literal message is logged, because a formatted one may contain personal
/// data.
fn log_panic(panic: &PanicHookInfo<'_>) {
    let (place, reason) = (panic.location().map(ToString::to_string), panic.payload().downcast_ref::<&str>());
    tracing::error!(place, reason, "panicked");
}

/// Writes events as lines.
struct Lines<W> {
    write: W,
}

impl<S, W> Layer<S> for Lines<W>
where
    S: Subscriber + for<'span> LookupSpan<'span>,
    W: Fn(&[u8]) + 'static,
{
    fn on_new_span(&self, span: &Attributes<'_>, id: &Id, all: Context<'_, S>) {
        let mut fields = Fields::default();
        span.record(&mut fields);
        if let Some(span) = all.span(id) {
            span.extensions_mut().insert(fields);
        }
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, all: Context<'_, S>) {
        if let Some(span) = all.span(id)
            && let Some(fields) = span.extensions_mut().get_mut::<Fields>()
        {
            values.record(fields);
        }
    }

    fn on_event(&self, event: &Event<'_>, all: Context<'_, S>) {
        let mut fields = Fields::default();
        event.record(&mut fields);
        // The nearest span comes first: an API request has its own id within the invocation's span.
        for span in all.event_scope(event).into_iter().flatten() {
            if let Some(outer) = span.extensions().get::<Fields>() {
                fields.extend(outer);
            }
        }
        if let Ok(line) = line(&fields, event.metadata()) {
            (self.write)(&line);
        }
    }
}

/// One line of an event with these fields.
fn line(fields: &Fields, of: &Metadata<'_>) -> Result<Vec<u8>, serde_json::Error> {
    let mut line = vec![];
    let mut json = serde_json::Serializer::new(&mut line);
    let mut map = json.serialize_map(None)?;
    map.serialize_entry("timestamp", &SystemClock.now().to_string())?;
    map.serialize_entry("level", of.level().as_str())?;
    for (name, value) in fields.message_first() {
        map.serialize_entry(name, value)?;
    }
    map.serialize_entry("target", of.target())?;
    map.end()?;
    line.push(b'\n');
    Ok(line)
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use serde_json::Value;
    use tracing::{error_span, field, info, info_span, warn};

    use super::*;

    /// The lines that `work` writes in a deployment with this `LOG_LEVEL`.
    fn lines_of(level: &str, work: impl FnOnce()) -> Vec<Value> {
        let written = Arc::new(Mutex::new(vec![]));
        let into = Arc::clone(&written);
        let lines = Lines { write: move |line: &[u8]| into.lock().unwrap().extend_from_slice(line) };
        let level_filter = level_filter(level.parse().unwrap());
        tracing::subscriber::with_default(
            tracing_subscriber::registry().with(level_filter).with(lines),
            work,
        );
        let written = String::from_utf8(std::mem::take(&mut *written.lock().unwrap())).unwrap();
        assert!(written.is_empty() || written.ends_with('\n'));
        written.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    #[test]
    fn every_function_logs_at_log_level() {
        let functions = concat!(env!("CARGO_MANIFEST_DIR"), "/../../functions");
        for entry in std::fs::read_dir(functions).unwrap() {
            let name = entry.unwrap().file_name().to_string_lossy().replace('-', "_");
            assert!(OURS.contains(&name.as_str()), "{name} does not log at LOG_LEVEL");
        }
    }

    #[test]
    fn a_line_is_flat_and_the_fields_of_the_nearest_span_win() {
        let header = "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1";
        let lines = lines_of("info", || {
            let invocation = info_span!(
                target: "lambda_runtime::layers::trace",
                "Lambda runtime invoke",
                requestId = "of the invocation",
                xrayTraceId = header,
            );
            let _invocation = invocation.enter();
            info!(target: "queue", part = 3, done = true, cause = None::<&str>, "of the \"batch\"");
            let span =
                error_span!(target: "edge", "request", requestId = "of the API", workspace = field::Empty);
            let _request = span.enter();
            span.record("workspace", "W");
            warn!(target: "edge::api", at = %"now", "refused");
        });
        let [batch, request] = lines.as_slice() else { panic!("{lines:?}") };
        assert_eq!(
            (&batch["level"], &batch["message"], &batch["requestId"], &batch["target"]),
            (&"INFO".into(), &"of the \"batch\"".into(), &"of the invocation".into(), &"queue".into())
        );
        assert_eq!((&batch["part"], &batch["done"]), (&3.into(), &true.into()));
        assert_eq!(batch["traceId"], "1-5759e988-bd862e3fe1be46a994272793");
        assert!(batch.get("cause").is_none() && batch.get("xrayTraceId").is_none(), "{batch}");
        assert_eq!(
            (&request["requestId"], &request["workspace"], &request["at"], &request["traceId"]),
            (&"of the API".into(), &"W".into(), &"now".into(), &batch["traceId"])
        );
        let timestamp = request["timestamp"].as_str().unwrap();
        assert!(domain::Timestamp::parse(timestamp).is_some(), "{timestamp}");
    }

    #[test]
    fn the_service_logs_at_log_level_and_dependencies_from_warn_up() {
        let speak = || {
            tracing::error_span!(target: "edge", "request", requestId = "1").in_scope(|| {
                tracing::debug!(target: "store", "1");
                info!(target: "store", "2");
                tracing::error!(target: "store", "3");
                info!(target: "aws_config", "4");
                warn!(target: "aws_config", "5");
            });
        };
        let logged = |level: &str| {
            let lines = lines_of(level, speak);
            assert!(lines.iter().all(|line| line["requestId"] == "1"), "{lines:?}");
            lines.iter().map(|line| line["message"].as_str().unwrap().to_owned()).collect::<String>()
        };
        assert_eq!([logged("debug"), logged("info"), logged("error")], ["1235", "235", "35"]);
    }

    #[test]
    fn a_text_of_a_hundred_kilobytes_is_cut_in_an_event_a_span_and_a_message() {
        let (long, cut) = ("x".repeat(100_000), format!("{}... (98976 bytes more)", "x".repeat(1_024)));
        let lines = lines_of("info", || {
            let span = error_span!(target: "edge", "request", requestId = %long);
            let _request = span.enter();
            warn!(target: "inbox", cause = long, "{long}");
        });
        let line = &lines[0];
        assert_eq!([&line["message"], &line["cause"], &line["requestId"]], [&cut, &cut, &cut]);
    }
}
