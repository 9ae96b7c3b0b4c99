//! Contacts: the customers of a workspace.

pub mod address;
pub mod conflict;
pub mod identified;
mod joined;
pub mod reached;
pub mod search;

use std::collections::BTreeMap;

use crate::attribute::{AttributeCategory, AttributeDefinition, Definitions};
use crate::contact::address::{UserIds, WaId};
use crate::ids::{AttributeId, ClosedValueId, ContactId, PersonJobId, UserId, WorkspaceId};
use crate::patch::Patch;
use crate::refused::Refused;
use crate::settings::template::ContactValues;
use crate::settings::user::{User, UserRef, UserStatus};
use crate::text::{Cellphone, Email, ExternalId, Language, PersonName, Unfit, within};
use crate::time::Timestamp;
use crate::words::words;

/// A contact. The service derives NORMAL or PARTIAL when it reads the contact ([`Contact::contact_type`]), so
/// a change to a definition rewrites no contact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contact {
    /// The contact's id.
    pub id: ContactId,
    /// The workspace it belongs to.
    pub workspace_id: WorkspaceId,
    /// When the contact was created. Determines its position in lists and never changes.
    pub created_at: Timestamp,
    /// When the contact last changed.
    pub updated_at: Timestamp,
    /// Given name.
    pub first_name: Option<PersonName>,
    /// Family name.
    pub last_name: Option<PersonName>,
    /// E-mail address, unique within the workspace regardless of case.
    pub email: Option<Email>,
    /// Phone number, unique within the workspace.
    pub cellphone: Option<Cellphone>,
    /// The contact's id in the tenant's own system, unique within the workspace.
    pub external_id: Option<ExternalId>,
    /// The provider's ids of the customer for the workspace's accounts, each unique within the workspace.
    pub user_ids: UserIds,
    /// The number under which the provider knows the customer, if it is not the `cellphone`. Unique within
    /// the workspace. Clients do not see it.
    pub wa_id: Option<WaId>,
    /// When the customer last moved to another number or user id, as the provider dates it.
    pub moved_at: Option<Timestamp>,
    /// Since when the contact has its number, if not since it was created ([`Contact::has_number_since`]).
    pub number_since: Option<Timestamp>,
    /// The contact's preferred language.
    pub language: Option<Language>,
    /// The internal user who owns the contact.
    pub owner: Option<Owner>,
    /// The content of each attribute, including archived ones.
    pub attributes: BTreeMap<AttributeId, AttributeContent>,
    /// The merge that makes another contact part of this one, while it runs. Clients do not see it.
    pub merging: Option<PersonJobId>,
    /// The erasure that takes the contact, while it runs. A contact is never merged and erased at the same time.
    pub erasing: Option<PersonJobId>,
    /// The contacts that became part of this one, at most [`Contact::MAX_MERGED`]. Rows that were stored for them still name
    /// them.
    pub merged: Vec<ContactId>,
    /// Increases by one with each change.
    pub version: u64,
}

/// The owner of a contact. The e-mail address is copied for the owner filter: a user's address never changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    /// The internal user.
    pub id: UserId,
    /// The user's e-mail address.
    pub email: Email,
}

/// The content of one attribute; never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AttributeContent {
    /// Content of an OPEN attribute.
    Open(OpenContent),
    /// The chosen values of a CLOSED attribute, in the order given, without duplicates.
    Closed(Vec<ClosedValueId>),
}

impl AttributeContent {
    /// The texts that show the content of an attribute with this definition, in order.
    pub fn texts<'a>(&'a self, definition: &'a AttributeDefinition) -> Vec<&'a str> {
        match self {
            Self::Open(content) => vec![content.as_str()],
            Self::Closed(ids) => definition.texts_of(ids).collect(),
        }
    }
}

/// Content of an OPEN attribute: 1 to 1,024 characters. Its debug output is redacted.
#[derive(Clone, PartialEq, Eq)]
pub struct OpenContent(String);

impl OpenContent {
    /// Parses content. The empty text, which clears an attribute, is not content.
    pub fn parse(text: &str) -> Result<Self, Unfit> {
        within(text, 1, AttributeDefinition::MAX_CONTENT)?;
        Ok(Self(text.to_owned()))
    }

    /// The content as given.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for OpenContent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("[OpenContent]")
    }
}

/// NORMAL if all required identity fields and custom attributes are present, otherwise PARTIAL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContactType {
    /// All required fields are present.
    Normal,
    /// At least one required field is missing.
    Partial,
}

words!(
    /// The values of the API field.
    ContactType { Normal: "NORMAL", Partial: "PARTIAL" }
);

/// A partial update. An absent field stays unchanged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ContactUpdate {
    /// First name.
    pub first_name: Patch<PersonName>,
    /// Last name.
    pub last_name: Patch<PersonName>,
    /// E-mail address.
    pub email: Patch<Email>,
    /// Phone number.
    pub cellphone: Patch<Cellphone>,
    /// The id in the tenant's own system.
    pub external_id: Patch<ExternalId>,
    /// Language.
    pub language: Patch<Language>,
    /// The internal user who becomes the owner.
    pub owner: Patch<UserRef>,
    /// Updates of attributes, at most one for each attribute.
    pub attributes: Vec<AttributeUpdate>,
}

/// The update of one attribute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AttributeUpdate {
    /// An entry of `openAttributes`. Absent content clears the attribute.
    Open {
        /// The attribute's id.
        attribute: AttributeId,
        /// The new content.
        content: Option<OpenContent>,
    },
    /// An entry of `closedAttributes`. An empty list clears the attribute.
    Closed {
        /// The attribute's id.
        attribute: AttributeId,
        /// The new values, without duplicates.
        values: Vec<ClosedValueId>,
    },
}

impl AttributeUpdate {
    /// The id of the attribute that this entry updates.
    pub fn attribute(&self) -> AttributeId {
        match self {
            Self::Open { attribute, .. } | Self::Closed { attribute, .. } => *attribute,
        }
    }
}

impl Contact {
    /// The fields that templates show.
    pub fn values(&self) -> ContactValues<'_> {
        ContactValues {
            first_name: self.first_name.as_ref().map(PersonName::as_str),
            last_name: self.last_name.as_ref().map(PersonName::as_str),
            email: self.email.as_ref().map(Email::as_str),
            cellphone: self.cellphone.as_ref().map(Cellphone::as_str),
        }
    }

    /// The greatest size in bytes of UTF-8 of the data that a contact shows (its texts, and the names and
    /// texts of its active attributes). It keeps the contact's event within 256 KB even if JSON escapes
    /// characters.
    pub const MAX_BYTES: usize = 128 * 1024;
    /// The greatest size in bytes of the stored contact, including archived attributes. DynamoDB allows 400
    /// KB.
    pub const MAX_STORED_BYTES: usize = 300 * 1024;

    /// A new contact without any data.
    pub fn blank(id: ContactId, workspace_id: WorkspaceId, now: Timestamp) -> Self {
        Self {
            id,
            workspace_id,
            created_at: now,
            updated_at: now,
            first_name: None,
            last_name: None,
            email: None,
            cellphone: None,
            external_id: None,
            user_ids: UserIds::default(),
            wa_id: None,
            moved_at: None,
            number_since: None,
            language: None,
            owner: None,
            attributes: BTreeMap::new(),
            merging: None,
            erasing: None,
            merged: vec![],
            version: 1,
        }
    }

    /// NORMAL if and only if first name, last name, e-mail, cellphone and every active required attribute are
    /// present.
    pub fn contact_type(&self, definitions: &Definitions, now: Timestamp) -> ContactType {
        let identity = self.first_name.is_some()
            && self.last_name.is_some()
            && self.email.is_some()
            && self.cellphone.is_some();
        let attributes = definitions
            .active(now)
            .filter(|definition| definition.is_required)
            .all(|definition| self.attributes.contains_key(&definition.id));
        if identity && attributes { ContactType::Normal } else { ContactType::Partial }
    }

    /// The contact after an update, with the next version. Returns `None` if the update changes nothing.
    ///
    /// `owner` is the user that [`ContactUpdate::owner`] refers to, if the workspace has one. This function
    /// does not check uniqueness: only the store can.
    pub fn apply(
        &self,
        update: &ContactUpdate,
        definitions: &Definitions,
        owner: Option<&User>,
        now: Timestamp,
    ) -> Result<Option<Self>, Refused> {
        let mut next = Self {
            first_name: update.first_name.applied_to(&self.first_name),
            last_name: update.last_name.applied_to(&self.last_name),
            email: update.email.applied_to(&self.email),
            cellphone: update.cellphone.applied_to(&self.cellphone),
            external_id: update.external_id.applied_to(&self.external_id),
            language: update.language.applied_to(&self.language),
            owner: owner_after(&self.owner, &update.owner, owner)?,
            ..self.clone()
        }
        .without_ids_of_number(self)
        .with_time_of_number(self, now);
        for entry in &update.attributes {
            match content_of(entry, definitions, now)? {
                Some(content) => next.attributes.insert(entry.attribute(), content),
                None => next.attributes.remove(&entry.attribute()),
            };
        }
        if next == *self {
            return Ok(None);
        }
        if next.shown_bytes(definitions, now) > Self::MAX_BYTES || next.bytes() > Self::MAX_STORED_BYTES {
            return Err(Refused::ContactTooLarge { max_bytes: Self::MAX_BYTES });
        }
        // Receivers order events by this time, so it always increases, even if the clock goes back.
        next.updated_at = self.updated_at.next_change(now);
        next.version = self.version + 1;
        Ok(Some(next))
    }

    /// The contact with this name, if it has none. A name is one unit: a name that has only one part stays as it is.
    /// `None` if nothing changes.
    pub fn named(
        &self,
        (first_name, last_name): (Option<PersonName>, Option<PersonName>),
        now: Timestamp,
    ) -> Option<Self> {
        let nameless = self.first_name.is_none() && self.last_name.is_none();
        if !nameless || first_name.is_none() {
            return None;
        }
        let updated_at = self.updated_at.next_change(now);
        Some(Self { first_name, last_name, updated_at, version: self.version + 1, ..self.clone() })
    }

    /// The stored size in bytes of UTF-8, including archived attributes. CLOSED attributes count their ids.
    pub fn bytes(&self) -> usize {
        const UUID: usize = 36;
        let attributes = self.attributes.values().map(|content| match content {
            AttributeContent::Open(text) => UUID + text.as_str().len(),
            AttributeContent::Closed(values) => UUID * (1 + values.len()),
        });
        self.identity_bytes() + attributes.sum::<usize>()
    }

    /// The shown size in bytes of UTF-8. Active attributes count their names and texts.
    fn shown_bytes(&self, definitions: &Definitions, now: Timestamp) -> usize {
        let attributes = definitions.active(now).filter_map(|definition| {
            let texts = self.attributes.get(&definition.id)?.texts(definition);
            Some(definition.key_name.len() + texts.into_iter().map(str::len).sum::<usize>())
        });
        self.identity_bytes() + attributes.sum::<usize>()
    }

    fn identity_bytes(&self) -> usize {
        let texts = [
            self.first_name.as_ref().map(PersonName::as_str),
            self.last_name.as_ref().map(PersonName::as_str),
            self.email.as_ref().map(Email::as_str),
            self.cellphone.as_ref().map(Cellphone::as_str),
            self.external_id.as_ref().map(ExternalId::as_str),
        ];
        texts.iter().flatten().map(|text| text.len()).sum()
    }
}

fn owner_after(
    current: &Option<Owner>,
    patch: &Patch<UserRef>,
    named: Option<&User>,
) -> Result<Option<Owner>, Refused> {
    match (patch, named) {
        (Patch::Keep, _) => Ok(current.clone()),
        (Patch::Clear, _) => Ok(None),
        (Patch::Set(_), Some(user)) if user.status == UserStatus::Active => {
            Ok(Some(Owner { id: user.id, email: user.email.clone() }))
        }
        (Patch::Set(_), _) => Err(Refused::UnknownOwner),
    }
}

/// The new content of the entry's attribute; `None` if the entry clears the attribute.
fn content_of(
    entry: &AttributeUpdate,
    definitions: &Definitions,
    now: Timestamp,
) -> Result<Option<AttributeContent>, Refused> {
    let attribute = entry.attribute();
    let definition =
        definitions.find_active(attribute, now).ok_or(Refused::UnknownAttribute { attribute })?;
    match (entry, definition.category) {
        (AttributeUpdate::Open { content: None, .. }, AttributeCategory::Open) => Ok(None),
        (AttributeUpdate::Open { content: Some(content), .. }, AttributeCategory::Open)
            if definition.attribute_type.takes(content.as_str()) =>
        {
            Ok(Some(AttributeContent::Open(content.clone())))
        }
        (AttributeUpdate::Open { .. }, category) => Err(Refused::ContentUnfit {
            attribute,
            expected: (category == AttributeCategory::Open).then_some(definition.attribute_type),
        }),
        (AttributeUpdate::Closed { values, .. }, category) => {
            let known = |value: &ClosedValueId| {
                category == AttributeCategory::Closed && definition.closed_value(*value).is_some()
            };
            match values.iter().find(|value| !known(value)) {
                Some(value) => Err(Refused::UnknownClosedValue { attribute, value: *value }),
                None if category == AttributeCategory::Open => {
                    Err(Refused::ContentUnfit { attribute, expected: Some(definition.attribute_type) })
                }
                None if values.is_empty() => Ok(None),
                None => Ok(Some(AttributeContent::Closed(values.clone()))),
            }
        }
    }
}

#[cfg(test)]
mod tests;
