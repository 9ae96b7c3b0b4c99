//! Logs: one JSON object a line, each readable alone.

use tracing_subscriber::EnvFilter;

/// The rooms that speak at `LOG_LEVEL`.
const OURS: &str = "attributes,contacts,conversations,edge,event_relay,files,lead_sender,leads,message_sender,messages,\
                    provider,queue,store,sweeper,users,webhook_delivery";

/// Starts logging at `LOG_LEVEL` (default `info`); dependencies speak from `warn` up.
pub(crate) fn start(settings: &crate::Settings) {
    let level = settings.optional("LOG_LEVEL").unwrap_or_else(|| "info".to_owned());
    let filter =
        OURS.split(',').fold(String::from("warn"), |filter, room| format!("{filter},{room}={level}"));
    let subscriber = tracing_subscriber::fmt()
        .json()
        .flatten_event(true)
        .with_current_span(true)
        .with_span_list(false)
        .with_env_filter(EnvFilter::new(filter));
    // A second start in one process (tests) keeps the first subscriber.
    let _ = subscriber.try_init();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_function_speaks() {
        let functions = concat!(env!("CARGO_MANIFEST_DIR"), "/../../functions");
        for entry in std::fs::read_dir(functions).unwrap() {
            let name = entry.unwrap().file_name().to_string_lossy().replace('-', "_");
            assert!(OURS.split(',').any(|room| room == name), "{name} is not heard");
        }
    }
}
