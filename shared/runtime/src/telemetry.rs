//! Logs: one JSON object a line, each readable alone.

use tracing_subscriber::EnvFilter;

/// Starts logging at `LOG_LEVEL` (default `info`); dependencies speak from `warn` up.
pub(crate) fn start(settings: &crate::Settings) {
    let level = settings.optional("LOG_LEVEL").unwrap_or_else(|| "info".to_owned());
    let ours = "attributes,contacts,conversations,edge,event_relay,files,lead_sender,leads,message_sender,messages,\
                provider,queue,store,sweeper,users,webhook_delivery";
    let filter =
        ours.split(',').fold(String::from("warn"), |filter, room| format!("{filter},{room}={level}"));
    let subscriber = tracing_subscriber::fmt()
        .json()
        .flatten_event(true)
        .with_current_span(true)
        .with_span_list(false)
        .with_env_filter(EnvFilter::new(filter));
    // A second start in one process (tests) keeps the first subscriber.
    let _ = subscriber.try_init();
}
