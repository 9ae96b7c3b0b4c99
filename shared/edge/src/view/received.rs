//! The content of a customer's message in its payload: an object for each type that is not plain text.

use domain::message::received::{Card, Location, ReceivedContent, ReceivedText, Said};
use serde::Serialize;

use super::template_content::TemplateContentView;

/// The object `content` of a message. `type` in the payload says which one it is.
#[derive(Debug, Serialize)]
#[serde(untagged, rename_all_fields = "camelCase")]
pub enum ContentView<'a> {
    /// `TEMPLATE`.
    Template(TemplateContentView<'a>),
    /// `IMAGE`, `AUDIO`, `VIDEO`, `DOCUMENT`, `STICKER`. Either the first three fields have values, or `missing` has.
    File {
        /// The MIME type.
        mime_type: Option<&'a str>,
        /// The name of the file.
        file_name: Option<&'a str>,
        /// The size in bytes.
        size_bytes: Option<u64>,
        /// Why the workspace does not have the file.
        missing: Option<&'a str>,
    },
    /// `LOCATION`.
    Location {
        /// Degrees north.
        latitude: f64,
        /// Degrees east.
        longitude: f64,
        /// The name of the place.
        name: Option<&'a str>,
        /// The address of the place.
        address: Option<&'a str>,
    },
    /// `CONTACTS`.
    Contacts {
        /// The cards.
        contacts: Vec<CardView<'a>>,
    },
    /// `BUTTON_REPLY`.
    ButtonReply {
        /// The text on the button.
        text: &'a str,
        /// The payload that the template gave the button.
        payload: Option<&'a str>,
    },
    /// `INTERACTIVE_REPLY`.
    InteractiveReply {
        /// The id of the choice.
        id: &'a str,
        /// The title of the choice.
        title: &'a str,
        /// The description of the choice.
        description: Option<&'a str>,
    },
    /// `REACTION`.
    Reaction {
        /// The emoji; `null` if the customer removed the reaction.
        emoji: Option<&'a str>,
        /// The message to which the customer reacted, if the service knows it.
        message_id: Option<String>,
    },
    /// `UNSUPPORTED`.
    Unsupported {
        /// The provider's word for the kind of the message.
        provider_type: &'a str,
    },
}

/// A card of a person.
#[derive(Debug, Serialize)]
pub struct CardView<'a> {
    name: Option<&'a str>,
    phones: Vec<&'a str>,
    emails: Vec<&'a str>,
}

/// The object for this content; `None` for plain text.
pub(super) fn content(what: &ReceivedContent) -> Option<ContentView<'_>> {
    Some(match what {
        ReceivedContent::Said(Said::Text(_)) => return None,
        ReceivedContent::Said(Said::Location(place)) => location(place),
        ReceivedContent::Said(Said::Contacts(cards)) => {
            ContentView::Contacts { contacts: cards.iter().map(card).collect() }
        }
        ReceivedContent::Said(Said::ButtonReply { text, payload }) => {
            ContentView::ButtonReply { text: text.as_str(), payload: plain(payload) }
        }
        ReceivedContent::Said(Said::InteractiveReply { id, title, description }) => {
            ContentView::InteractiveReply {
                id: id.as_str(),
                title: title.as_str(),
                description: plain(description),
            }
        }
        ReceivedContent::Said(Said::Unsupported(kind)) => {
            ContentView::Unsupported { provider_type: kind.as_str() }
        }
        ReceivedContent::File { file, .. } => {
            let stored = file.as_ref().ok();
            ContentView::File {
                mime_type: stored.map(|file| file.content_type.as_str()),
                file_name: stored.map(|file| file.name.as_str()),
                size_bytes: stored.map(|file| file.size),
                missing: file.as_ref().err().map(|missing| missing.as_str()),
            }
        }
        ReceivedContent::Reaction { to, emoji } => {
            ContentView::Reaction { emoji: plain(emoji), message_id: to.map(|to| to.to_string()) }
        }
    })
}

fn location(place: &Location) -> ContentView<'_> {
    ContentView::Location {
        latitude: place.latitude.as_f64(),
        longitude: place.longitude.as_f64(),
        name: plain(&place.name),
        address: plain(&place.address),
    }
}

fn card(card: &Card) -> CardView<'_> {
    fn all(texts: &[ReceivedText]) -> Vec<&str> {
        texts.iter().map(ReceivedText::as_str).collect()
    }
    CardView { name: plain(&card.name), phones: all(&card.phones), emails: all(&card.emails) }
}

fn plain(text: &Option<ReceivedText>) -> Option<&str> {
    text.as_ref().map(ReceivedText::as_str)
}

#[cfg(test)]
mod tests;
