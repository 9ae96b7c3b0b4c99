//! A customer's message: its content, and what the provider says beside it.

use std::collections::BTreeMap;

use domain::media::SentAs;
use domain::message::received::{
    Card, ChoiceKind, Degrees, Extras, Forwarded, Location, Order, OrderItem, ProviderError, Raw,
    ReceivedText, Referral, ReferralField, ReferredProduct, Said,
};
use domain::message::{Correction, CorrectionKind, SentBy};
use serde_json::Value;

use super::leaves::Leaves;
use super::values::{LATEST, list, moment, person, text};
use super::{Content, Customer, Incoming, Item, MediaFile};

/// The greatest number of characters in a URL.
const MAX_URL: usize = 2_048;

/// The kinds of items in the list of messages that are no messages of a customer. They open no window and wake nobody.
const NOTICES: [&str; 1] = ["request_welcome"];

pub(super) fn item(item: &Value, contacts: &[Value]) -> Option<Item> {
    let kind = item["type"].as_str().unwrap_or_default();
    if !item["group_id"].is_null() {
        return Some(Item::Notice("group message".to_owned()));
    }
    if NOTICES.contains(&kind) {
        return Some(Item::Notice(kind.to_owned()));
    }
    if matches!(kind, "edit" | "revoke") {
        // One that the service cannot read is only counted.
        let correction = correction(Leaves::of(item), kind);
        return Some(correction.unwrap_or_else(|| Item::Notice(kind.to_owned())));
    }
    let mut leaves = Leaves::of(item);
    let from = person(&item["from"], &item["from_user_id"], contacts);
    let content = content(&mut leaves, kind);
    if kind == "system" && !matches!(content, Content::Moved { .. }) {
        let what = item["system"]["type"].as_str().unwrap_or_default();
        return Some(Item::Notice(format!("system {what}")));
    }
    let is_known = from.wa_id.is_some() || from.user_id.is_some();
    let previous = match &content {
        Content::Moved { previous_user_id, .. } => previous_user_id.is_some(),
        _ => false,
    };
    for name in ["from", "from_user_id", "type"] {
        leaves.take(&[name]);
    }
    let at = moment(&item["timestamp"]);
    at.inspect(|_| leaves.take(&["timestamp"]));
    (is_known || previous).then_some(())?;
    Some(Item::Message(Incoming {
        id: leaves.id(&["id"])?,
        from,
        at: at.unwrap_or(LATEST),
        answers: leaves.id(&["context", "id"]),
        content,
        extras: Box::new(extras(leaves)),
    }))
}

/// What somebody of the business did in the Business app: the forms are those of a customer's messages, with the customer in `to`.
pub(super) fn echo(echo: &Value, contacts: &[Value]) -> Option<Item> {
    let mut of_customer = echo.clone();
    let fields = of_customer.as_object_mut()?;
    for (to, from) in [("to", "from"), ("to_user_id", "from_user_id")] {
        fields.remove(from);
        let customer = fields.remove(to);
        fields.extend(customer.map(|customer| (from.to_owned(), customer)));
    }
    Some(match item(&of_customer, contacts)? {
        Item::Message(Incoming { content: Content::Moved { .. }, .. }) => {
            Item::Notice("echo of a move".to_owned())
        }
        Item::Message(message) => Item::Echo(message),
        Item::Correction { of, correction } => {
            Item::Correction { of, correction: Correction { by: SentBy::BusinessApp, ..correction } }
        }
        other => other,
    })
}

/// The change of a message. The file below an edited text is the same, so the edit changes only the text.
fn correction(mut leaves: Leaves, kind: &str) -> Option<Item> {
    let at = moment(leaves.at(&["timestamp"])).unwrap_or(LATEST);
    let id = leaves.id(&["id"])?;
    let of = leaves.id(&[kind, "original_message_id"])?;
    let kind = match kind {
        "edit" => edited(leaves)?,
        _ => CorrectionKind::Revoke,
    };
    Some(Item::Correction { of, correction: Correction { id, at, by: SentBy::Customer, kind } })
}

fn edited(mut leaves: Leaves) -> Option<CorrectionKind> {
    let form = text(leaves.at(&["edit", "message", "type"]))?;
    let path = |name| ["edit", "message", form.as_str(), name];
    let text = match form.as_str() {
        "text" => Some(leaves.cut(&path("body"), ReceivedText::MAX)?),
        "image" | "video" | "audio" | "document" => leaves.cut(&path("caption"), ReceivedText::MAX),
        _ => return None,
    };
    for name in ["id", "mime_type", "sha256", "url", "filename", "voice", "animated"] {
        leaves.take(&path(name));
    }
    for name in ["from", "from_user_id", "type", "timestamp", "context"] {
        leaves.take(&[name]);
    }
    for name in ["type", "context"] {
        leaves.take(&["edit", "message", name]);
    }
    Some(CorrectionKind::Edit { text, raw: leaves.rest() })
}

fn extras(mut leaves: Leaves) -> Extras {
    let often = leaves.flag(&["context", "frequently_forwarded"]).unwrap_or_default();
    let once = leaves.flag(&["context", "forwarded"]).unwrap_or_default();
    let forwarded = match (often, once) {
        (true, _) => Forwarded::Many,
        (false, true) => Forwarded::Once,
        (false, false) => Forwarded::No,
    };
    let product = ["context", "referred_product"];
    let catalog_id = leaves.cut(&[product[0], product[1], "catalog_id"], ReceivedText::MAX_NAME);
    let product_id = leaves.cut(&[product[0], product[1], "product_retailer_id"], ReceivedText::MAX_NAME);
    let is_product = catalog_id.is_some() || product_id.is_some();
    Extras {
        referral: referral(&mut leaves),
        referred_product: is_product.then_some(ReferredProduct { catalog_id, product_id }),
        forwarded,
        errors: errors(&mut leaves),
        raw: leaves.rest(),
        edit: None,
        revoked_at: None,
    }
}

/// The provider's field of a referral, the service's, and the greatest number of characters.
const REFERRAL: [(&[&str], ReferralField, usize); 11] = [
    (&["referral", "source_url"], ReferralField::SourceUrl, MAX_URL),
    (&["referral", "source_id"], ReferralField::SourceId, ReceivedText::MAX_NAME),
    (&["referral", "source_type"], ReferralField::SourceType, ReceivedText::MAX_NAME),
    (&["referral", "body"], ReferralField::Body, ReceivedText::MAX_LABEL),
    (&["referral", "headline"], ReferralField::Headline, ReceivedText::MAX_LABEL),
    (&["referral", "media_type"], ReferralField::MediaType, ReceivedText::MAX_NAME),
    (&["referral", "image_url"], ReferralField::ImageUrl, MAX_URL),
    (&["referral", "video_url"], ReferralField::VideoUrl, MAX_URL),
    (&["referral", "thumbnail_url"], ReferralField::ThumbnailUrl, MAX_URL),
    (&["referral", "ctwa_clid"], ReferralField::ClickId, ReceivedText::MAX_LABEL),
    (&["referral", "welcome_message", "text"], ReferralField::WelcomeText, ReceivedText::MAX_LABEL),
];

fn referral(leaves: &mut Leaves) -> Option<Referral> {
    let fields: BTreeMap<_, _> =
        REFERRAL.iter().filter_map(|(path, field, most)| Some((*field, leaves.cut(path, *most)?))).collect();
    (!fields.is_empty()).then_some(Referral(fields))
}

fn errors(leaves: &mut Leaves) -> Vec<ProviderError> {
    let mut errors = vec![];
    for at in 0..leaves.count(&["errors"]).min(Extras::MAX_ERRORS) {
        let at = at.to_string();
        let path = |name| ["errors", at.as_str(), name];
        let code = leaves.at(&path("code")).as_i64();
        code.inspect(|_| leaves.take(&path("code")));
        let title = leaves.cut(&path("title"), ReceivedText::MAX_NAME);
        // The provider repeats the title in its older field.
        if title.as_ref().map(ReceivedText::as_str) == leaves.at(&path("message")).as_str() {
            leaves.take(&path("message"));
        }
        let details = leaves.cut(&["errors", &at, "error_data", "details"], ReceivedText::MAX_LABEL);
        if code.is_some() || title.is_some() || details.is_some() {
            errors.push(ProviderError { code, title, details });
        }
    }
    errors
}

fn content(leaves: &mut Leaves, kind: &str) -> Content {
    let known = match kind {
        "image" => media(leaves, SentAs::Image, kind),
        "video" => media(leaves, SentAs::Video, kind),
        "audio" | "voice" => media(leaves, SentAs::Audio, kind),
        "document" => media(leaves, SentAs::Document, kind),
        "sticker" => media(leaves, SentAs::Sticker, kind),
        "reaction" => leaves
            .id(&[kind, "message_id"])
            .map(|to| Content::Reaction { to, emoji: leaves.cut(&[kind, "emoji"], ReceivedText::MAX_NAME) }),
        "system" => moved(leaves.at(&[kind])),
        _ => said(leaves, kind).map(Content::Said),
    };
    known.unwrap_or_else(|| Content::Said(Said::unsupported(kind)))
}

fn said(leaves: &mut Leaves, kind: &str) -> Option<Said> {
    match kind {
        "text" => leaves.cut(&[kind, "body"], ReceivedText::MAX).map(Said::Text),
        "location" => place(leaves).map(Said::Location),
        "contacts" => Some(cards(leaves)),
        "button" => Some(Said::ButtonReply {
            text: leaves.cut(&[kind, "text"], ReceivedText::MAX_LABEL)?,
            payload: leaves.cut(&[kind, "payload"], ReceivedText::MAX_LABEL),
        }),
        "interactive" => choice(leaves),
        "order" => order(leaves),
        _ => None,
    }
}

fn media(leaves: &mut Leaves, sent_as: SentAs, kind: &str) -> Option<Content> {
    text(leaves.at(&[kind, "mime_type"]))?;
    Some(Content::Media(MediaFile {
        sent_as,
        id: leaves.text(&[kind, "id"])?,
        mime_type: leaves.text(&[kind, "mime_type"])?,
        sha256: leaves.text(&[kind, "sha256"]),
        caption: leaves.cut(&[kind, "caption"], ReceivedText::MAX),
        filename: leaves.text(&[kind, "filename"]),
        voice: leaves.flag(&[kind, "voice"]),
        animated: leaves.flag(&[kind, "animated"]),
    }))
}

fn place(leaves: &mut Leaves) -> Option<Location> {
    let degrees = |name| leaves.at(&["location", name]).as_f64().and_then(Degrees::of);
    let (latitude, longitude) = (degrees("latitude")?, degrees("longitude")?);
    for name in ["latitude", "longitude"] {
        leaves.take(&["location", name]);
    }
    Some(Location {
        latitude,
        longitude,
        name: leaves.cut(&["location", "name"], ReceivedText::MAX_LABEL),
        address: leaves.cut(&["location", "address"], ReceivedText::MAX_LABEL),
        url: leaves.cut(&["location", "url"], MAX_URL),
    })
}

fn cards(leaves: &mut Leaves) -> Said {
    let read = |card: &Value| {
        let all = |name: &str, field: &str| {
            list(&card[name]).iter().filter_map(|one| cut(&one[field], ReceivedText::MAX_NAME)).collect()
        };
        Card {
            name: cut(&card["name"]["formatted_name"], ReceivedText::MAX_NAME),
            phones: all("phones", "phone"),
            emails: all("emails", "email"),
        }
    };
    let said = Said::contacts(list(leaves.at(&["contacts"])).iter().map(read));
    let kept = if let Said::Contacts(kept) = &said { kept.len() } else { 0 };
    for at in 0..kept {
        let at = at.to_string();
        leaves.cut(&["contacts", &at, "name", "formatted_name"], ReceivedText::MAX_NAME);
        for (name, field) in [("phones", "phone"), ("emails", "email")] {
            for one in 0..leaves.count(&["contacts", &at, name]).min(Said::MAX_IN_CARD) {
                leaves.cut(&["contacts", &at, name, &one.to_string(), field], ReceivedText::MAX_NAME);
            }
        }
    }
    said
}

fn cut(value: &Value, most: usize) -> Option<ReceivedText> {
    text(value).map(|text| ReceivedText::cut(&text, most))
}

fn choice(leaves: &mut Leaves) -> Option<Said> {
    let named = leaves.at(&["interactive", "type"]).as_str()?.to_owned();
    let path = |name| ["interactive", named.as_str(), name];
    let said = match named.as_str() {
        "button_reply" | "list_reply" => Said::InteractiveReply {
            kind: if named == "button_reply" { ChoiceKind::Button } else { ChoiceKind::List },
            id: leaves.cut(&path("id"), ReceivedText::MAX_LABEL)?,
            title: leaves.cut(&path("title"), ReceivedText::MAX_LABEL)?,
            description: leaves.cut(&path("description"), ReceivedText::MAX_LABEL),
        },
        "nfm_reply" => flow_reply(leaves)?,
        "call_permission_reply" => {
            let response = leaves.cut(&path("response"), ReceivedText::MAX_NAME)?;
            let expires_at = moment(leaves.at(&path("expiration_timestamp")));
            expires_at.inspect(|_| leaves.take(&path("expiration_timestamp")));
            Said::CallPermissionReply {
                response,
                permanent: leaves.flag(&path("is_permanent")),
                expires_at,
                source: leaves.cut(&path("response_source"), ReceivedText::MAX_NAME),
            }
        }
        _ => return None,
    };
    leaves.take(&["interactive", "type"]);
    Some(said)
}

/// The answer of a Flow. What it holds is up to the tenant's Flow, so it is kept as JSON.
fn flow_reply(leaves: &mut Leaves) -> Option<Said> {
    let path = |name| ["interactive", "nfm_reply", name];
    let written = leaves.at(&path("response_json")).as_str().unwrap_or_default();
    let parsed: Option<Value> = serde_json::from_str(written).ok().filter(Value::is_object);
    let response = parsed.filter(|_| written.len() <= Raw::MAX);
    response.iter().for_each(|_| leaves.take(&path("response_json")));
    let name = leaves.cut(&path("name"), ReceivedText::MAX_NAME);
    let text = leaves.cut(&path("body"), ReceivedText::MAX_LABEL);
    let is_reply = response.is_some() || name.is_some() || !leaves.at(&path("response_json")).is_null();
    let flow_token =
        response.as_ref().and_then(|response| cut(&response["flow_token"], ReceivedText::MAX_LABEL));
    let response = response.map(|response| Raw::of(&response.to_string()));
    is_reply.then_some(Said::FlowReply { name, text, flow_token, response })
}

fn order(leaves: &mut Leaves) -> Option<Said> {
    let catalog_id = leaves.cut(&["order", "catalog_id"], ReceivedText::MAX_NAME);
    let text = leaves.cut(&["order", "text"], ReceivedText::MAX_LABEL);
    let mut items = vec![];
    for at in 0..leaves.count(&["order", "product_items"]).min(Order::MAX_ITEMS) {
        let at = at.to_string();
        let path = |name| ["order", "product_items", at.as_str(), name];
        let mut number = |name| {
            let number =
                leaves.at(&path(name)).as_number().map(|number| ReceivedText::cut(&number.to_string(), 64));
            number.inspect(|_| leaves.take(&path(name)))
        };
        let (quantity, price) = (number("quantity"), number("item_price"));
        let product_id = leaves.cut(&path("product_retailer_id"), ReceivedText::MAX_NAME);
        let currency = leaves.cut(&path("currency"), 16);
        items.push(OrderItem { product_id, quantity, price, currency });
    }
    let is_order = catalog_id.is_some() || !items.is_empty();
    is_order.then_some(Said::Order(Order { catalog_id, text, items }))
}

/// Whether an item says that a customer has another number or user id.
pub(super) fn is_move(item: &Value) -> bool {
    moved(&item["system"]).is_some()
}

fn moved(system: &Value) -> Option<Content> {
    match system["type"].as_str()? {
        "user_changed_number" | "customer_changed_number" | "user_changed_user_id" => {}
        _ => return None,
    }
    let to: Customer = person(&system["wa_id"], &system["user_id"], &[]);
    let is_known = to.wa_id.is_some() || to.user_id.is_some();
    is_known.then(|| Content::Moved { to, previous_user_id: text(&system["previous_user_id"]) })
}
