//! The settings of an endpoint in a body.

use domain::webhook::ReceiverKey;
use domain::{EndpointCaps, EndpointUrl, EventFilter, EventType, TrustedReceivers, Unfit, WebhookEndpoint};
use edge::form::{Form, Node};

/// The fields of a body. An unknown field is refused: whoever misspells `events` would get all of them.
pub(crate) const FIELDS: &[&str] =
    &["url", "receiverKey", "description", "events", "maxConcurrency", "maxPerSecond"];

/// A URL that the service may call for a tenant.
pub(crate) fn url(form: &mut Form, at: &Node<'_>, trusted: &TrustedReceivers) -> Option<EndpointUrl> {
    at.text(form, |text| EndpointUrl::parse(text, trusted).map_err(Unfit::from))
}

pub(crate) fn receiver_key(form: &mut Form, at: &Node<'_>) -> Option<ReceiverKey> {
    at.text(form, ReceiverKey::parse)
}

pub(crate) fn description(form: &mut Form, at: &Node<'_>) -> Option<String> {
    at.text(form, WebhookEndpoint::parse_description)
}

pub(crate) fn cap(form: &mut Form, at: &Node<'_>) -> Option<u16> {
    at.number(form, 1, EndpointCaps::MOST)
}

/// The types of events: at least one, or `*` for all.
pub(crate) fn events(form: &mut Form, at: &Node<'_>) -> Option<EventFilter> {
    let items = at.items(form, 1, EventType::NAMES.len() + 1);
    let read = |at: &Node<'_>| {
        at.text(form, |word| match word {
            "*" => Ok("*"),
            _ => EventType::parse(word).map(EventType::as_str),
        })
    };
    let words: Vec<Option<&str>> = items.iter().map(read).collect();
    let words: Vec<&str> = words.into_iter().collect::<Option<_>>()?;
    EventFilter::parse(words).ok()
}
