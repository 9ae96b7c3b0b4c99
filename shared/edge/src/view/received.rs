//! The content of a customer's message in its payload: an object for each type that is not plain text.

use domain::message::received::{
    Card, ChoiceKind, Extras, Location, Order, OrderItem, ProviderError, Raw, ReceivedContent, ReceivedText,
    Referral, ReferralField, ReferredProduct, Said,
};
use serde::Serialize;
use serde_json::{Map, Number, Value, json};

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
        /// Whether a sound was recorded in the chat.
        voice: Option<bool>,
        /// Whether a sticker moves.
        animated: Option<bool>,
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
        /// A page about the place.
        url: Option<&'a str>,
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
        /// What the customer chose from.
        kind: &'static str,
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
        /// The provider's id of that message.
        provider_message_id: &'a str,
    },
    /// `FLOW_REPLY`.
    FlowReply {
        /// The provider's word for the kind of the answer.
        name: Option<&'a str>,
        /// The text that the customer sees.
        text: Option<&'a str>,
        /// The token that the Flow was sent with.
        flow_token: Option<&'a str>,
        /// What the customer entered.
        response: Value,
    },
    /// `CALL_PERMISSION_REPLY`.
    CallPermissionReply {
        /// The provider's word for the choice.
        response: &'a str,
        /// Whether the permission has no end.
        permanent: Option<bool>,
        /// When the permission ends.
        expires_at: Option<String>,
        /// How the customer chose.
        source: Option<&'a str>,
    },
    /// `ORDER`.
    Order {
        /// The catalogue.
        catalog_id: Option<&'a str>,
        /// What the customer wrote below the order.
        text: Option<&'a str>,
        /// The products.
        items: Vec<OrderItemView<'a>>,
    },
    /// `UNSUPPORTED`.
    Unsupported {
        /// The provider's word for the kind of the message.
        provider_type: &'a str,
        /// Why the provider does not pass it on.
        error: Option<ProviderErrorView<'a>>,
    },
}

/// A card of a person.
#[derive(Debug, Serialize)]
pub struct CardView<'a> {
    name: Option<&'a str>,
    phones: Vec<&'a str>,
    emails: Vec<&'a str>,
}

/// A product of an order.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OrderItemView<'a> {
    product_id: Option<&'a str>,
    quantity: Option<Number>,
    price: Option<Number>,
    currency: Option<&'a str>,
}

/// What the provider could not pass on.
#[derive(Debug, Serialize)]
pub struct ProviderErrorView<'a> {
    code: Option<i64>,
    title: Option<&'a str>,
    details: Option<&'a str>,
}

/// A product that a message is about.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ReferredProductView<'a> {
    catalog_id: Option<&'a str>,
    product_id: Option<&'a str>,
}

pub(super) fn referred_product(product: &ReferredProduct) -> ReferredProductView<'_> {
    ReferredProductView { catalog_id: plain(&product.catalog_id), product_id: plain(&product.product_id) }
}

/// All fields of a referral; an absent one is `null`.
pub(super) fn referral(Referral(fields): &Referral) -> Map<String, Value> {
    let value = |name: &&str| {
        let field = ReferralField::parse(name).ok().and_then(|field| fields.get(&field));
        ((*name).to_owned(), field.map(ReceivedText::as_str).into())
    };
    ReferralField::NAMES.iter().map(value).collect()
}

pub(super) fn provider_error(error: &ProviderError) -> ProviderErrorView<'_> {
    ProviderErrorView { code: error.code, title: plain(&error.title), details: plain(&error.details) }
}

/// JSON of the provider; an object with its text, if its end is missing.
pub(super) fn raw(raw: &Raw) -> Value {
    serde_json::from_str(raw.as_str()).unwrap_or_else(|_| json!({ "text": raw.as_str() }))
}

fn order_item(item: &OrderItem) -> OrderItemView<'_> {
    let number = |text: &Option<ReceivedText>| serde_json::from_str(text.as_ref()?.as_str()).ok();
    OrderItemView {
        product_id: plain(&item.product_id),
        quantity: number(&item.quantity),
        price: number(&item.price),
        currency: plain(&item.currency),
    }
}

/// The object for this content; `None` for plain text.
pub(super) fn content<'a>(what: &'a ReceivedContent, extras: &'a Extras) -> Option<ContentView<'a>> {
    Some(match what {
        ReceivedContent::Said(Said::Text(_)) => return None,
        ReceivedContent::Said(Said::Location(place)) => location(place),
        ReceivedContent::Said(Said::Contacts(cards)) => {
            ContentView::Contacts { contacts: cards.iter().map(card).collect() }
        }
        ReceivedContent::Said(Said::ButtonReply { text, payload }) => {
            ContentView::ButtonReply { text: text.as_str(), payload: plain(payload) }
        }
        ReceivedContent::Said(Said::InteractiveReply { kind, id, title, description }) => {
            ContentView::InteractiveReply {
                kind: ChoiceKind::as_str(*kind),
                id: id.as_str(),
                title: title.as_str(),
                description: plain(description),
            }
        }
        ReceivedContent::Said(Said::FlowReply { name, text, flow_token, response }) => {
            ContentView::FlowReply {
                name: plain(name),
                text: plain(text),
                flow_token: plain(flow_token),
                response: response.as_ref().map(raw).unwrap_or_default(),
            }
        }
        ReceivedContent::Said(Said::CallPermissionReply { response, permanent, expires_at, source }) => {
            ContentView::CallPermissionReply {
                response: response.as_str(),
                permanent: *permanent,
                expires_at: expires_at.map(|at| at.to_string()),
                source: plain(source),
            }
        }
        ReceivedContent::Said(Said::Order(Order { catalog_id, text, items })) => ContentView::Order {
            catalog_id: plain(catalog_id),
            text: plain(text),
            items: items.iter().map(order_item).collect(),
        },
        ReceivedContent::Said(Said::Unsupported(kind)) => ContentView::Unsupported {
            provider_type: kind.as_str(),
            error: extras.errors.first().map(provider_error),
        },
        ReceivedContent::File { file, voice, animated, .. } => {
            let stored = file.as_ref().ok();
            ContentView::File {
                mime_type: stored.map(|file| file.content_type.as_str()),
                file_name: stored.map(|file| file.name.as_str()),
                size_bytes: stored.map(|file| file.size),
                missing: file.as_ref().err().map(|missing| missing.as_str()),
                voice: *voice,
                animated: *animated,
            }
        }
        ReceivedContent::Reaction { to, provider_message_id, emoji } => ContentView::Reaction {
            emoji: plain(emoji),
            message_id: to.map(|to| to.to_string()),
            provider_message_id,
        },
        ReceivedContent::Revoked(_) => return None,
    })
}

fn location(place: &Location) -> ContentView<'_> {
    ContentView::Location {
        latitude: place.latitude.as_f64(),
        longitude: place.longitude.as_f64(),
        name: plain(&place.name),
        address: plain(&place.address),
        url: plain(&place.url),
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
