//! How contacts are shown.

use domain::{
    Cellphone, Choices, Contact, Definitions, Email, ExternalId, Language, PersonName, ProviderUserId,
    Timestamp, WaId,
};
use serde_json::Value;

use crate::opt_out::written;
use crate::view::View;

/// A contact, with its attributes by name.
pub(super) fn row(contact: &Contact, definitions: &Definitions, now: Timestamp) -> View {
    shared(contact, definitions, now)
        .json("attributes", attributes(contact, definitions, now).collect::<Value>())
        .json("createdAt", contact.created_at.to_string())
}

/// A contact with what the API shows and what only operators need.
pub(super) fn details(
    contact: &Contact,
    definitions: &Definitions,
    choices: Option<&Choices>,
    now: Timestamp,
) -> View {
    let attribute = |(name, values): (&str, Vec<&str>)| format!("{name}: {}", values.join(", "));
    shared(contact, definitions, now)
        .text("createdAt", "created", contact.created_at)
        .json("attributes", attributes(contact, definitions, now).collect::<Value>())
        .lines("attributes", attributes(contact, definitions, now).map(attribute))
        .json("workspaceId", contact.workspace_id.to_string())
        .json("ownerId", contact.owner.as_ref().map(|owner| owner.id.to_string()))
        .value("optedOut", "opted out of", opted_out_of(choices))
        .value("version", "version", contact.version)
}

/// What the person opted out of: `ALL`, `MARKETING`, or the lines from which the person wants no marketing.
fn opted_out_of(choices: Option<&Choices>) -> Vec<String> {
    choices.iter().flat_map(|kept| kept.outs()).map(|(scope, _)| written(scope)).collect()
}

fn shared(contact: &Contact, definitions: &Definitions, now: Timestamp) -> View {
    View::new()
        .text("id", "contact", contact.id)
        .text("type", "type", contact.contact_type(definitions, now).as_str())
        .optional("firstName", "first name", contact.first_name.as_ref().map(PersonName::as_str))
        .optional("lastName", "last name", contact.last_name.as_ref().map(PersonName::as_str))
        .optional("email", "e-mail", contact.email.as_ref().map(Email::as_str))
        .optional("cellphone", "number", contact.cellphone.as_ref().map(Cellphone::as_str))
        .optional("externalId", "external id", contact.external_id.as_ref().map(ExternalId::as_str))
        // The provider's ids of the customer, and the number under which it knows the customer if it is another one.
        .value("userIds", "user ids", contact.user_ids.ids().map(ProviderUserId::as_str).collect::<Vec<_>>())
        .optional("waId", "wa id", contact.wa_id.as_ref().map(WaId::as_str))
        .optional("languageCode", "language", contact.language.map(Language::as_str))
        .optional("owner", "owner", contact.owner.as_ref().map(|owner| owner.email.as_str()))
        .text("updatedAt", "updated", contact.updated_at)
}

fn attributes<'a>(
    contact: &'a Contact,
    definitions: &'a Definitions,
    now: Timestamp,
) -> impl Iterator<Item = (&'a str, Vec<&'a str>)> {
    definitions.active(now).filter_map(|definition| {
        let values = contact.attributes.get(&definition.id)?.texts(definition);
        Some((definition.key_name.as_str(), values))
    })
}
