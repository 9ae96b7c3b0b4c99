//! The row of a contact.

use std::collections::BTreeMap;

use domain::contact::{AttributeContent, OpenContent, Owner};
use domain::{
    AttributeId, Cellphone, ClosedValueId, Contact, ContactId, Email, Language, PersonName, ProviderUserId,
    Timestamp, Unfit, UserId, WaId, WorkspaceId,
};
use serde::{Deserialize, Serialize};

use crate::dynamodb::fields;
use crate::dynamodb::item::{Item, PK, read, row, s, text, unreadable};
use crate::dynamodb::read::{Attributes, Place};
use crate::dynamodb::write::LAST_REQUEST;
use crate::{StoreError, Table, keys};

/// The hash key of the index `list`, its range key (also of the index `owner`), and the hash key of the index
/// `owner`.
pub(crate) const LIST_PK: &str = "listPk";
pub(crate) const LIST_SK: &str = "listSk";
pub(crate) const OWNER_PK: &str = "ownerPk";

const KIND: &str = "contact";

/// The attributes of a contact's row from which [`contact`] reads it: without those for indexes and repeated writes.
static ATTRIBUTES: Attributes = Attributes {
    expression: "pk, sk, sv, createdAt, updatedAt, firstName, lastName, email, cellphone, userId, waId, movedAt, \
                 #language, ownerId, ownerEmail, attrs, version",
    names: &[("#language", "language")],
};

/// The place of a contact that is read by [`contact`].
pub(crate) fn contact_place(workspace: WorkspaceId, id: ContactId) -> Place {
    Place::of(Table::Contacts, keys::contact(workspace, id)).only(&ATTRIBUTES)
}

/// Reads the contact from its row. Its ids are those of the key, so a page need not read them again.
pub(crate) fn contact(item: Item) -> Result<Contact, StoreError> {
    let (workspace, id) = ids_of_key(&item)?;
    read::<ContactRow>(item)?.contact(workspace, id)
}

/// A contact's row as `request_id` writes it. It is without the place in the list of all contacts, which only
/// the creation writes.
pub(crate) fn contact_item(contact: &Contact, request_id: &str) -> Result<Item, StoreError> {
    let (pk, sk) = keys::contact(contact.workspace_id, contact.id);
    let mut item = row(pk, sk, KIND, &ContactRow::from(contact))?;
    item.insert(LAST_REQUEST.to_owned(), s(request_id));
    if let Some(owner) = &contact.owner {
        item.insert(OWNER_PK.to_owned(), s(keys::contacts_of_owner(contact.workspace_id, &owner.email)));
    }
    Ok(item)
}

/// `W#C#<id>` / `C`.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ContactRow {
    #[serde(with = "fields::text")]
    created_at: Timestamp,
    #[serde(with = "fields::text")]
    updated_at: Timestamp,
    #[serde(with = "fields::optional", default, skip_serializing_if = "Option::is_none")]
    first_name: Option<PersonName>,
    #[serde(with = "fields::optional", default, skip_serializing_if = "Option::is_none")]
    last_name: Option<PersonName>,
    #[serde(with = "fields::optional", default, skip_serializing_if = "Option::is_none")]
    email: Option<Email>,
    #[serde(with = "fields::optional", default, skip_serializing_if = "Option::is_none")]
    cellphone: Option<Cellphone>,
    #[serde(with = "fields::optional", default, skip_serializing_if = "Option::is_none")]
    user_id: Option<ProviderUserId>,
    #[serde(with = "fields::optional", default, skip_serializing_if = "Option::is_none")]
    wa_id: Option<WaId>,
    #[serde(with = "fields::optional", default, skip_serializing_if = "Option::is_none")]
    moved_at: Option<Timestamp>,
    #[serde(with = "fields::optional", default, skip_serializing_if = "Option::is_none")]
    language: Option<Language>,
    #[serde(with = "fields::optional", default, skip_serializing_if = "Option::is_none")]
    owner_id: Option<UserId>,
    #[serde(with = "fields::optional", default, skip_serializing_if = "Option::is_none")]
    owner_email: Option<Email>,
    attrs: BTreeMap<String, ContentField>,
    version: u64,
}

/// A text for an OPEN attribute, a list of value ids for a CLOSED one.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum ContentField {
    Open(String),
    Closed(Vec<String>),
}

impl From<&Contact> for ContactRow {
    fn from(contact: &Contact) -> Self {
        let content = |content: &AttributeContent| match content {
            AttributeContent::Open(text) => ContentField::Open(text.as_str().to_owned()),
            AttributeContent::Closed(values) => {
                ContentField::Closed(values.iter().map(ClosedValueId::to_string).collect())
            }
        };
        Self {
            created_at: contact.created_at,
            updated_at: contact.updated_at,
            first_name: contact.first_name.clone(),
            last_name: contact.last_name.clone(),
            email: contact.email.clone(),
            cellphone: contact.cellphone.clone(),
            user_id: contact.user_id.clone(),
            wa_id: contact.wa_id.clone(),
            moved_at: contact.moved_at,
            language: contact.language,
            owner_id: contact.owner.as_ref().map(|owner| owner.id),
            owner_email: contact.owner.as_ref().map(|owner| owner.email.clone()),
            attrs: contact
                .attributes
                .iter()
                .map(|(id, attribute)| (id.to_string(), content(attribute)))
                .collect(),
            version: contact.version,
        }
    }
}

impl ContactRow {
    fn contact(self, workspace: WorkspaceId, id: ContactId) -> Result<Contact, StoreError> {
        let unreadable = |reason| StoreError::Unreadable { key: keys::contact(workspace, id).0, reason };
        let attributes =
            self.attrs.iter().map(|(id, content)| attribute(id, content)).collect::<Result<_, _>>();
        let attributes = attributes.map_err(|unfit| unreadable(format!("attrs: {unfit}")))?;
        let owner = match (self.owner_id, self.owner_email) {
            (Some(id), Some(email)) => Some(Owner { id, email }),
            (None, None) => None,
            _ => return Err(unreadable("half an owner".to_owned())),
        };
        Ok(Contact {
            id,
            workspace_id: workspace,
            created_at: self.created_at,
            updated_at: self.updated_at,
            first_name: self.first_name,
            last_name: self.last_name,
            email: self.email,
            cellphone: self.cellphone,
            user_id: self.user_id,
            wa_id: self.wa_id,
            moved_at: self.moved_at,
            language: self.language,
            owner,
            attributes,
            version: self.version,
        })
    }
}

fn attribute(id: &str, content: &ContentField) -> Result<(AttributeId, AttributeContent), Unfit> {
    let content = match content {
        ContentField::Open(text) => AttributeContent::Open(OpenContent::parse(text)?),
        ContentField::Closed(values) => {
            let values = values.iter().map(|value| ClosedValueId::parse(value));
            AttributeContent::Closed(values.collect::<Result<_, _>>()?)
        }
    };
    Ok((AttributeId::parse(id)?, content))
}

/// The id of the contact to which a row of an index points, from the row's keys.
pub(crate) fn contact_id_of_key(item: &Item) -> Result<ContactId, StoreError> {
    Ok(ids_of_key(item)?.1)
}

fn ids_of_key(item: &Item) -> Result<(WorkspaceId, ContactId), StoreError> {
    keys::read_contact(text(item, PK)).ok_or_else(|| unreadable(item, "its key is not that of a contact"))
}
