//! The row of a contact.

use std::collections::BTreeMap;

use aws_sdk_dynamodb::types::AttributeValue;
use domain::contact::{AttributeContent, OpenContent, Owner};
use domain::{
    AttributeId, BusinessAccountId, Cellphone, ClosedValueId, Contact, ContactId, Email, ExternalId,
    Language, PersonJobId, PersonName, ProviderUserId, Timestamp, UserId, UserIds, WaId, WorkspaceId,
};
use serde::{Deserialize, Serialize};

use crate::dynamodb::fields::{self, OfKey, stored};
use crate::dynamodb::item::{Item, PK, read, row, s, text, unreadable};
use crate::dynamodb::read::{Attributes, Place};
use crate::dynamodb::write::LAST_REQUEST;
use crate::{StoreError, Table, keys};

/// The hash key of the index `list`, its range key (also of the index `owner`), and the hash key of the index
/// `owner`.
pub(crate) const LIST_PK: &str = "listPk";
pub(crate) const LIST_SK: &str = "listSk";
pub(crate) const OWNER_PK: &str = "ownerPk";

/// The attributes of a contact's row from which [`contact`] reads it: without those for indexes and repeated writes.
static ATTRIBUTES: Attributes = Attributes {
    expression: "pk, sk, sv, createdAt, updatedAt, firstName, lastName, email, cellphone, externalId, userIds, waId, movedAt, \
                 numberSince, #language, ownerId, ownerEmail, attrs, merging, erasing, merged, mergedInto, version",
    names: &[("#language", "language")],
};

/// The place of a contact that is read by [`contact`].
pub(crate) fn contact_place(workspace: WorkspaceId, id: ContactId) -> Place {
    Place::of(Table::Contacts, keys::contact(workspace, id)).only(&ATTRIBUTES)
}

/// Reads the contact from its row. `None` if it became part of another contact.
pub(crate) fn contact(item: Item) -> Result<Option<Contact>, StoreError> {
    let (workspace_id, id) = ids_of_key(&item)?;
    if item.contains_key(MERGED_INTO) {
        return Ok(None);
    }
    Ok(Some(Contact { id, workspace_id, ..read(item)? }))
}

/// The same for a row that may be absent.
pub(crate) fn contact_in(row: Option<Item>) -> Result<Option<Contact>, StoreError> {
    Ok(row.map(contact).transpose()?.flatten())
}

/// The contact of which the contact in this row became part, if it did.
pub(crate) fn survivor(item: &Item) -> Option<ContactId> {
    ContactId::parse(text(item, MERGED_INTO)).ok()
}

/// What is left of a contact that became part of another one: where its data went, and when.
pub(crate) fn merged_item(
    (workspace, merged): (WorkspaceId, ContactId),
    merged_into: ContactId,
    merged_at: Timestamp,
) -> Result<Item, StoreError> {
    row(keys::contact(workspace, merged), MERGED, &MergedRow { merged_into, merged_at })
}

/// Of which contact another one became part, and when, from the row that [`merged_item`] made.
pub(crate) fn merged(item: Item) -> Result<(ContactId, Timestamp), StoreError> {
    let MergedRow { merged_into, merged_at } = read(item)?;
    Ok((merged_into, merged_at))
}

/// The kind of the row of a contact that became part of another one.
pub(crate) const MERGED: &str = "mergedContact";
const MERGED_INTO: &str = "mergedInto";

/// `W#C#<id>` / `C` of a contact that became part of another one.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct MergedRow {
    #[serde(with = "fields::text")]
    merged_into: ContactId,
    #[serde(with = "fields::text")]
    merged_at: Timestamp,
}

/// The attribute of a contact's row that holds its user ids, if it has any.
pub(crate) const USER_IDS: &str = "userIds";

/// Its value.
pub(crate) fn user_ids(contact: &Contact) -> Result<Option<AttributeValue>, StoreError> {
    let fields: Item = serde_dynamo::to_item(UserIdsFields::from(&contact.user_ids))
        .map_err(|error| StoreError::Failed(Box::new(error)))?;
    Ok(fields.into_values().next())
}

/// A contact's row as `request_id` writes it. It is without the place in the list of all contacts, which only
/// the creation writes.
pub(crate) fn contact_item(contact: &Contact, request_id: &str) -> Result<Item, StoreError> {
    let mut item = row(keys::contact(contact.workspace_id, contact.id), "contact", contact)?;
    item.insert(LAST_REQUEST.to_owned(), s(request_id));
    if let Some(owner) = &contact.owner {
        item.insert(OWNER_PK.to_owned(), s(keys::contacts_of_owner(contact.workspace_id, &owner.email)));
    }
    Ok(item)
}

/// `W#C#<id>` / `C`.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Contact", rename_all = "camelCase")]
struct ContactRow {
    #[serde(skip, default = "OfKey::placeholder")]
    id: ContactId,
    #[serde(skip, default = "OfKey::placeholder")]
    workspace_id: WorkspaceId,
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
    external_id: Option<ExternalId>,
    #[serde(flatten, with = "fields::Shaped::<UserIdsFields>")]
    user_ids: UserIds,
    #[serde(with = "fields::optional", default, skip_serializing_if = "Option::is_none")]
    wa_id: Option<WaId>,
    #[serde(with = "fields::optional", default, skip_serializing_if = "Option::is_none")]
    moved_at: Option<Timestamp>,
    #[serde(with = "fields::optional", default, skip_serializing_if = "Option::is_none")]
    number_since: Option<Timestamp>,
    #[serde(with = "fields::optional", default, skip_serializing_if = "Option::is_none")]
    language: Option<Language>,
    #[serde(flatten, with = "fields::Shaped::<OwnerFields>")]
    owner: Option<Owner>,
    #[serde(rename = "attrs", with = "fields::map")]
    attributes: BTreeMap<AttributeId, AttributeContent>,
    #[serde(with = "fields::optional", default, skip_serializing_if = "Option::is_none")]
    merging: Option<PersonJobId>,
    #[serde(with = "fields::optional", default, skip_serializing_if = "Option::is_none")]
    erasing: Option<PersonJobId>,
    #[serde(with = "fields::list", default, skip_serializing_if = "Vec::is_empty")]
    merged: Vec<ContactId>,
    version: u64,
}

/// The provider's ids of the customer, in the order in which they were learnt.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct UserIdsFields {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    user_ids: Vec<UserIdField>,
}

#[derive(Serialize, Deserialize)]
struct UserIdField {
    #[serde(with = "fields::text")]
    account: BusinessAccountId,
    #[serde(with = "fields::text")]
    id: ProviderUserId,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct OwnerFields {
    #[serde(with = "fields::optional", default, skip_serializing_if = "Option::is_none")]
    owner_id: Option<UserId>,
    #[serde(with = "fields::optional", default, skip_serializing_if = "Option::is_none")]
    owner_email: Option<Email>,
}

/// A text for an OPEN attribute, a list of value ids for a CLOSED one.
#[derive(Serialize, Deserialize)]
#[serde(remote = "AttributeContent", untagged)]
enum ContentField {
    Open(#[serde(with = "fields::text")] OpenContent),
    Closed(#[serde(with = "fields::list")] Vec<ClosedValueId>),
}

stored! { MergedRow = MergedRow, Contact = ContactRow, AttributeContent = ContentField }

impl From<&UserIds> for UserIdsFields {
    fn from(ids: &UserIds) -> Self {
        let field = |(account, id): &(BusinessAccountId, ProviderUserId)| UserIdField {
            account: account.clone(),
            id: id.clone(),
        };
        Self { user_ids: ids.iter().map(field).collect() }
    }
}

impl From<UserIdsFields> for UserIds {
    fn from(fields: UserIdsFields) -> Self {
        fields.user_ids.into_iter().map(|field| (field.account, field.id)).collect()
    }
}

impl From<&Option<Owner>> for OwnerFields {
    fn from(owner: &Option<Owner>) -> Self {
        let (owner_id, owner_email) = owner.clone().map(|Owner { id, email }| (id, email)).unzip();
        Self { owner_id, owner_email }
    }
}

impl TryFrom<OwnerFields> for Option<Owner> {
    type Error = &'static str;

    fn try_from(fields: OwnerFields) -> Result<Self, &'static str> {
        match (fields.owner_id, fields.owner_email) {
            (Some(id), Some(email)) => Ok(Some(Owner { id, email })),
            (None, None) => Ok(None),
            _ => Err("half an owner"),
        }
    }
}

/// The id of the contact to which a row of an index points, from the row's keys.
pub(crate) fn contact_id_of_key(item: &Item) -> Result<ContactId, StoreError> {
    Ok(ids_of_key(item)?.1)
}

/// The ids in the key of a contact's row, or of another row of its partition.
pub(crate) fn ids_of_key(item: &Item) -> Result<(WorkspaceId, ContactId), StoreError> {
    keys::read_contact(text(item, PK)).ok_or_else(|| unreadable(item, "its key is not that of a contact"))
}
