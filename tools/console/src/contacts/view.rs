//! How contacts are shown.

use std::collections::BTreeMap;

use domain::{Contact, Definitions, Timestamp};
use serde::Serialize;

use crate::output::{Shown, joined, or_dash, printable, stacked, yes_or_no};

/// A contact, with its attributes by name.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ContactView<'a> {
    id: String,
    r#type: &'static str,
    first_name: Option<&'a str>,
    last_name: Option<&'a str>,
    email: Option<&'a str>,
    cellphone: Option<&'a str>,
    /// The provider's id of the customer.
    user_id: Option<&'a str>,
    /// The number under which the provider knows the customer, if it is not the `cellphone`.
    wa_id: Option<&'a str>,
    language_code: Option<&'static str>,
    owner: Option<&'a str>,
    attributes: BTreeMap<&'a str, Vec<&'a str>>,
    created_at: String,
    updated_at: String,
}

impl<'a> ContactView<'a> {
    pub(super) fn of(contact: &'a Contact, definitions: &'a Definitions, now: Timestamp) -> Self {
        let attributes = definitions.active(now).filter_map(|definition| {
            let values = contact.attributes.get(&definition.id)?.texts(definition);
            Some((definition.key_name.as_str(), values))
        });
        Self {
            id: contact.id.to_string(),
            r#type: contact.contact_type(definitions, now).as_str(),
            first_name: contact.first_name.as_ref().map(|name| name.as_str()),
            last_name: contact.last_name.as_ref().map(|name| name.as_str()),
            email: contact.email.as_ref().map(|email| email.as_str()),
            cellphone: contact.cellphone.as_ref().map(|cellphone| cellphone.as_str()),
            user_id: contact.user_id.as_ref().map(|id| id.as_str()),
            wa_id: contact.wa_id.as_ref().map(|id| id.as_str()),
            language_code: contact.language.map(|language| language.as_str()),
            owner: contact.owner.as_ref().map(|owner| owner.email.as_str()),
            attributes: attributes.collect(),
            created_at: contact.created_at.to_string(),
            updated_at: contact.updated_at.to_string(),
        }
    }
}

impl Shown for ContactView<'_> {
    const HEADINGS: &'static [&'static str] = &[
        "contact",
        "type",
        "first name",
        "last name",
        "e-mail",
        "number",
        "user id",
        "wa id",
        "language",
        "owner",
        "updated",
    ];

    fn cells(&self) -> Vec<String> {
        vec![
            self.id.clone(),
            self.r#type.to_owned(),
            or_dash(&self.first_name),
            or_dash(&self.last_name),
            or_dash(&self.email),
            or_dash(&self.cellphone),
            or_dash(&self.user_id),
            or_dash(&self.wa_id),
            or_dash(&self.language_code),
            or_dash(&self.owner),
            self.updated_at.clone(),
        ]
    }
}

/// A contact with what the API shows and what only operators need.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ContactDetails<'a> {
    #[serde(flatten)]
    contact: ContactView<'a>,
    workspace_id: String,
    owner_id: Option<String>,
    /// Whether the number opted out: it gets no templates.
    opted_out: bool,
    version: u64,
}

impl<'a> ContactDetails<'a> {
    pub(super) fn of(
        contact: &'a Contact,
        definitions: &'a Definitions,
        opted_out: bool,
        now: Timestamp,
    ) -> Self {
        Self {
            contact: ContactView::of(contact, definitions, now),
            workspace_id: contact.workspace_id.to_string(),
            owner_id: contact.owner.as_ref().map(|owner| owner.id.to_string()),
            opted_out,
            version: contact.version,
        }
    }
}

impl Shown for ContactDetails<'_> {
    const HEADINGS: &'static [&'static str] =
        &joined::<15>(ContactView::HEADINGS, &["created", "attributes", "opted out", "version"]);

    fn cells(&self) -> Vec<String> {
        let attribute =
            |(name, values): (&&str, &Vec<&str>)| format!("{name}: {}", printable(&values.join(", ")));
        let mut cells = self.contact.cells();
        cells.extend([
            self.contact.created_at.clone(),
            stacked(self.contact.attributes.iter().map(attribute)),
            yes_or_no(self.opted_out),
            self.version.to_string(),
        ]);
        cells
    }
}
