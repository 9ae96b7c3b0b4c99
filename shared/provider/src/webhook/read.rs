//! What a piece of a webhook says, in the service's own terms.
//!
//! The provider adds fields and kinds at any time. An unknown kind of message is [`Said::Unsupported`]. Each leaf of a message is
//! mapped, in the list of ignored leaves, or kept raw. An item without an id or a sender is left out, because nothing can be
//! done about it.

mod account;
mod items;
mod leaves;
mod message;
mod unmapped;
mod values;

use domain::ChannelId;
use domain::message::Pricing;
use serde_json::Value;

use crate::webhook::pieces::{ENTRY_TIME, Piece};

pub use items::{
    About, AccountEvent, Content, Customer, Incoming, Item, LineName, MediaFile, Preference, Status,
    StatusKind, Subject, TemplateEvent, TemplateNews,
};
pub use unmapped::unmapped;
use values::{LATEST, entry_moment, id, list, moment, person, text};

/// Reads a piece.
pub fn read(piece: &Piece) -> Subject {
    let value = &piece.value;
    match piece.field.as_str() {
        "messages" | "smb_message_echoes" | "user_preferences" => {
            let line = text(&value["metadata"]["phone_number_id"]).and_then(|id| ChannelId::parse(&id).ok());
            line.map_or(Subject::Other, |line| Subject::Line(line, items(value)))
        }
        "message_template_status_update"
        | "message_template_quality_update"
        | "message_template_components_update"
        | "template_category_update"
        | TEMPLATE_REFUSED => template(piece).map_or(Subject::Other, Subject::Template),
        "account_update"
        | "account_alerts"
        | "account_review_update"
        | "business_capability_update"
        | "phone_number_quality_update"
        | "phone_number_name_update" => account::event(piece).map_or(Subject::Other, Subject::Account),
        field if IGNORED_FIELDS.contains(&field) => Subject::Ignored,
        _ => Subject::Other,
    }
}

/// The field of a piece by which the service itself asks to read a template again, because the provider refused to send it. The
/// provider has no such field.
pub const TEMPLATE_REFUSED: &str = "template_refused";

/// The kinds of changes that the service does not need: talk from before the line was connected, the address book of a phone,
/// calls, and what a set-up without subscription does not get.
const IGNORED_FIELDS: [&str; 13] = [
    "history",
    "smb_app_state_sync",
    "calls",
    "flows",
    "payment_configuration_update",
    "messaging_handovers",
    "automatic_events",
    "business_username_updates",
    "tracking_events",
    "group_lifecycle_update",
    "group_participants_update",
    "group_settings_update",
    "group_status_update",
];

/// The change with only those of its items that `wanted` accepts.
pub fn only(value: &Value, wanted: impl Fn(&Item) -> bool) -> Value {
    let contacts = list(&value["contacts"]);
    let mut rest = value.clone();
    for (name, read) in LISTS {
        if let Some(items) = rest.get_mut(name).and_then(Value::as_array_mut) {
            items.retain(|item| read(item, contacts).is_some_and(|item| wanted(&item)));
        }
    }
    rest
}

/// Reads an item of a list with the contacts that stand beside the list.
type ReadItem = fn(&Value, &[Value]) -> Option<Item>;

/// The lists of items in a change, in the order in which their items are processed.
const LISTS: [(&str, ReadItem); 4] = [
    ("statuses", status),
    ("messages", message::item),
    ("message_echoes", message::echo),
    ("user_preferences", |item, contacts| preference(item, contacts).map(Item::Preference)),
];

fn items(value: &Value) -> Vec<Item> {
    let contacts = list(&value["contacts"]);
    LISTS
        .iter()
        .flat_map(|(name, read)| list(&value[*name]).iter().filter_map(|item| read(item, contacts)))
        .collect()
}

fn status(item: &Value, contacts: &[Value]) -> Option<Item> {
    if item["recipient_type"] == "group" {
        return Some(Item::Notice("status of a group".to_owned()));
    }
    let kind = match item["status"].as_str()? {
        "sent" => StatusKind::Sent,
        "delivered" => StatusKind::Delivered,
        "read" | "played" => StatusKind::Read,
        "failed" => {
            let error = &item["errors"][0];
            StatusKind::Failed { code: error["code"].as_i64(), detail: text(&error["error_data"]["details"]) }
        }
        _ => return None,
    };
    Some(Item::Status(Status {
        id: id(&item["id"])?,
        part: text(&item["biz_opaque_callback_data"]),
        recipient: person(&item["recipient_id"], &item["recipient_user_id"], contacts),
        kind,
        pricing: pricing(&item["pricing"]),
        at: moment(&item["timestamp"]).unwrap_or(LATEST),
    }))
}

fn pricing(pricing: &Value) -> Option<Pricing> {
    Pricing::of(pricing["billable"].as_bool(), pricing["category"].as_str(), pricing["type"].as_str())
}

fn preference(item: &Value, contacts: &[Value]) -> Option<Preference> {
    let from = person(&item["wa_id"], &item["user_id"], contacts);
    let stops = match item["value"].as_str()? {
        "stop" => true,
        "resume" => false,
        _ => return None,
    };
    let is_known = from.wa_id.is_some() || from.user_id.is_some();
    let is_marketing = item["category"] == "marketing_messages";
    is_known.then_some(Preference { from, stops, is_marketing, at: moment(&item["timestamp"])? })
}

fn template(piece: &Piece) -> Option<TemplateEvent> {
    let value = &piece.value;
    let news = match piece.field.as_str() {
        "template_category_update" => TemplateNews::Category(text(&value["new_category"])?),
        "message_template_quality_update" => TemplateNews::Quality,
        "message_template_components_update" => TemplateNews::Components,
        TEMPLATE_REFUSED => TemplateNews::Refused,
        _ => TemplateNews::Status {
            event: text(&value["event"])?,
            reason: text(&value["reason"]).filter(|reason| reason != "NONE"),
        },
    };
    Some(TemplateEvent {
        account: piece.account.clone(),
        name: text(&value["message_template_name"])?,
        language: text(&value["message_template_language"])?,
        news,
        at: entry_moment(&value[ENTRY_TIME]),
    })
}

#[cfg(test)]
mod tests;
