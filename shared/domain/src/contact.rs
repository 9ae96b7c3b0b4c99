//! Contacts: the people a workspace talks with.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::attribute::{AttributeCategory, AttributeDefinition, Definitions};
use crate::ids::{AttributeId, ClosedValueId, ContactId, UserId, WorkspaceId};
use crate::patch::Patch;
use crate::refused::Refused;
use crate::text::{Cellphone, Email, Language, PersonName, Unfit, within};
use crate::time::Timestamp;
use crate::user::{User, UserRef, UserStatus};

/// A contact. Whether it is NORMAL or PARTIAL is derived when read ([`Contact::contact_type`]), so that
/// changing a definition rewrites no contact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contact {
    /// The contact's id.
    pub id: ContactId,
    /// The workspace it belongs to.
    pub workspace_id: WorkspaceId,
    /// When it was made; its place in lists, which never changes.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// Given name.
    pub first_name: Option<PersonName>,
    /// Family name.
    pub last_name: Option<PersonName>,
    /// E-mail address, unique within the workspace without case.
    pub email: Option<Email>,
    /// Phone number, unique within the workspace.
    pub cellphone: Option<Cellphone>,
    /// Language the contact is written to in.
    pub language: Option<Language>,
    /// The internal user who owns the contact.
    pub owner: Option<Owner>,
    /// What the contact holds of each attribute, archived ones included.
    pub attributes: BTreeMap<AttributeId, AttributeContent>,
    /// Grows by one with each change.
    pub version: u64,
}

/// The owner of a contact. The e-mail is copied for the owner filter: a user's e-mail never changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    /// The internal user.
    pub id: UserId,
    /// The user's address.
    pub email: Email,
}

/// What a contact holds of one attribute; never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AttributeContent {
    /// Content of an OPEN attribute.
    Open(OpenContent),
    /// Chosen values of a CLOSED attribute, in the order given, each once.
    Closed(Vec<ClosedValueId>),
}

/// Content of an OPEN attribute: 1 to 1,024 characters. Prints redacted.
#[derive(Clone, PartialEq, Eq)]
pub struct OpenContent(String);

impl OpenContent {
    /// Reads content; the empty text, which clears an attribute, is not content.
    pub fn parse(text: &str) -> Result<Self, Unfit> {
        within(text, 1, AttributeDefinition::MAX_CONTENT)?;
        Ok(Self(text.to_owned()))
    }

    /// The content as it was given.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for OpenContent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("[OpenContent]")
    }
}

/// NORMAL when all required identity and custom attribute fields are present, PARTIAL otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContactType {
    /// Complete.
    Normal,
    /// Something required is missing.
    Partial,
}

impl ContactType {
    /// The API's word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Normal => "NORMAL",
            Self::Partial => "PARTIAL",
        }
    }
}

/// A partial update: what is not named stays as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ContactUpdate {
    /// Given name.
    pub first_name: Patch<PersonName>,
    /// Family name.
    pub last_name: Patch<PersonName>,
    /// E-mail address.
    pub email: Patch<Email>,
    /// Phone number.
    pub cellphone: Patch<Cellphone>,
    /// Language.
    pub language: Patch<Language>,
    /// The internal user who is to own the contact.
    pub owner: Patch<UserRef>,
    /// Attributes named in the update, each once.
    pub attributes: Vec<AttributeUpdate>,
}

/// What an update says of one attribute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AttributeUpdate {
    /// An entry of `openAttributes`; no content clears the attribute.
    Open {
        /// The attribute named.
        attribute: AttributeId,
        /// Its new content.
        content: Option<OpenContent>,
    },
    /// An entry of `closedAttributes`; no values clear the attribute.
    Closed {
        /// The attribute named.
        attribute: AttributeId,
        /// Its new values, each once.
        values: Vec<ClosedValueId>,
    },
}

impl AttributeUpdate {
    /// The attribute this entry is about.
    pub fn attribute(&self) -> AttributeId {
        match self {
            Self::Open { attribute, .. } | Self::Closed { attribute, .. } => *attribute,
        }
    }
}

impl Contact {
    /// The greatest size of what a contact shows, in bytes of UTF-8 (its texts, and names and texts of its active
    /// attributes), so that its event stays within 256 KB whatever JSON escapes.
    pub const MAX_BYTES: usize = 128 * 1024;
    /// The greatest size of what is stored of a contact, archived attributes included: DynamoDB takes 400 KB.
    pub const MAX_STORED_BYTES: usize = 300 * 1024;

    /// A contact that holds nothing yet.
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
            language: None,
            owner: None,
            attributes: BTreeMap::new(),
            version: 1,
        }
    }

    /// NORMAL iff first name, last name, e-mail, cellphone and every active required attribute are present.
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

    /// The contact after an update: itself with the next version, or `None` when the update changes nothing.
    ///
    /// `owner` is the user that [`ContactUpdate::owner`] names, where the workspace has one. Nothing is
    /// decided here about uniqueness: only the store can tell.
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
            language: update.language.applied_to(&self.language),
            owner: owner_after(&self.owner, &update.owner, owner)?,
            ..self.clone()
        };
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
        // Receivers order what they get by it: it never stands still nor goes back, whatever the clocks do.
        next.updated_at = now.max(self.updated_at.plus(Duration::from_millis(1)));
        next.version = self.version + 1;
        Ok(Some(next))
    }

    /// The size in bytes of UTF-8 of what is stored: of CLOSED attributes the ids, archived ones included.
    pub fn bytes(&self) -> usize {
        const UUID: usize = 36;
        let attributes = self.attributes.values().map(|content| match content {
            AttributeContent::Open(text) => UUID + text.as_str().len(),
            AttributeContent::Closed(values) => UUID * (1 + values.len()),
        });
        self.identity_bytes() + attributes.sum::<usize>()
    }

    /// The size in bytes of UTF-8 of what is shown: of active attributes the names and texts.
    fn shown_bytes(&self, definitions: &Definitions, now: Timestamp) -> usize {
        let attributes = definitions.active(now).filter_map(|definition| {
            let texts = match self.attributes.get(&definition.id)? {
                AttributeContent::Open(text) => text.as_str().len(),
                AttributeContent::Closed(ids) => {
                    let values = ids.iter().filter_map(|id| definition.closed_value(*id));
                    values.map(|value| value.value.len()).sum()
                }
            };
            Some(definition.key_name.len() + texts)
        });
        self.identity_bytes() + attributes.sum::<usize>()
    }

    fn identity_bytes(&self) -> usize {
        let texts = [
            self.first_name.as_ref().map(PersonName::as_str),
            self.last_name.as_ref().map(PersonName::as_str),
            self.email.as_ref().map(Email::as_str),
            self.cellphone.as_ref().map(Cellphone::as_str),
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

/// What the contact is to hold of the attribute the entry names; nothing where the entry clears it.
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
mod tests {
    use super::*;
    use crate::attribute::{AttributeType, ClosedValue};
    use uuid::Uuid;

    const NOW: Timestamp = Timestamp::from_millis(1_767_323_045_678);
    const LATER: Timestamp = Timestamp::from_millis(1_767_323_099_000);

    fn id(n: u128) -> Uuid {
        Uuid::from_u128(n)
    }

    fn workspace() -> WorkspaceId {
        WorkspaceId::from_uuid(id(1))
    }

    fn definition(
        n: u128,
        category: AttributeCategory,
        attribute_type: AttributeType,
    ) -> AttributeDefinition {
        AttributeDefinition {
            id: AttributeId::from_uuid(id(n)),
            workspace_id: workspace(),
            category,
            is_required: false,
            key_name: format!("key{n}"),
            attribute_type,
            closed_values: match category {
                AttributeCategory::Open => vec![],
                AttributeCategory::Closed => {
                    (1..=3).map(|v| ClosedValue { id: value(n, v), value: format!("value {v}") }).collect()
                }
            },
            created_at: NOW,
            deleted_at: None,
            version: 1,
        }
    }

    fn value(attribute: u128, n: u128) -> ClosedValueId {
        ClosedValueId::from_uuid(id(attribute * 100 + n))
    }

    fn definitions() -> Definitions {
        let mut archived = definition(13, AttributeCategory::Open, AttributeType::Text);
        archived.deleted_at = Some(NOW);
        Definitions::new(vec![
            definition(10, AttributeCategory::Open, AttributeType::Text),
            definition(11, AttributeCategory::Open, AttributeType::Number),
            definition(12, AttributeCategory::Closed, AttributeType::Text),
            archived,
        ])
    }

    fn attribute(n: u128) -> AttributeId {
        AttributeId::from_uuid(id(n))
    }

    fn open(n: u128, content: &str) -> AttributeUpdate {
        AttributeUpdate::Open { attribute: attribute(n), content: OpenContent::parse(content).ok() }
    }

    fn closed(n: u128, values: &[ClosedValueId]) -> AttributeUpdate {
        AttributeUpdate::Closed { attribute: attribute(n), values: values.to_vec() }
    }

    fn contact() -> Contact {
        Contact {
            first_name: PersonName::parse("Ana").ok(),
            last_name: PersonName::parse("Ruiz").ok(),
            email: Email::parse("ana@example.com").ok(),
            cellphone: Cellphone::parse("+14155550123").ok(),
            ..Contact::blank(ContactId::from_uuid(id(2)), workspace(), NOW)
        }
    }

    fn user(status: UserStatus) -> User {
        User {
            id: UserId::from_uuid(id(3)),
            workspace_id: workspace(),
            status,
            created_at: NOW,
            updated_at: NOW,
            first_name: None,
            last_name: None,
            email: Email::parse("agent@example.com").unwrap(),
            cellphone: None,
            language: None,
            version: 1,
        }
    }

    fn with_attributes(attributes: Vec<AttributeUpdate>) -> ContactUpdate {
        ContactUpdate { attributes, ..ContactUpdate::default() }
    }

    #[test]
    fn an_update_changes_only_what_it_names() {
        let update = ContactUpdate {
            first_name: Patch::Set(PersonName::parse("Anna").unwrap()),
            cellphone: Patch::Clear,
            ..ContactUpdate::default()
        };
        let next = contact().apply(&update, &definitions(), None, LATER).unwrap().unwrap();
        let expected = Contact {
            first_name: PersonName::parse("Anna").ok(),
            cellphone: None,
            updated_at: LATER,
            version: 2,
            ..contact()
        };
        assert_eq!(next, expected);
    }

    #[test]
    fn an_update_that_changes_nothing_is_no_change() {
        let same = ContactUpdate {
            first_name: Patch::Set(PersonName::parse("Ana").unwrap()),
            language: Patch::Clear,
            attributes: vec![open(10, ""), closed(12, &[])],
            ..ContactUpdate::default()
        };
        assert_eq!(contact().apply(&same, &definitions(), None, LATER), Ok(None));
        assert_eq!(contact().apply(&ContactUpdate::default(), &definitions(), None, LATER), Ok(None));
    }

    #[test]
    fn attributes_not_named_stay_and_empty_ones_clear() {
        let first = contact()
            .apply(
                &with_attributes(vec![open(10, "x"), closed(12, &[value(12, 2), value(12, 1)])]),
                &definitions(),
                None,
                NOW,
            )
            .unwrap()
            .unwrap();
        let second =
            first.apply(&with_attributes(vec![open(10, "")]), &definitions(), None, LATER).unwrap().unwrap();
        assert_eq!(
            second.attributes,
            BTreeMap::from([(attribute(12), AttributeContent::Closed(vec![value(12, 2), value(12, 1)]))])
        );
    }

    #[test]
    fn attributes_are_refused_when_unknown_archived_or_unfit() {
        let text = Some(AttributeType::Text);
        let rows = [
            (open(99, "x"), Refused::UnknownAttribute { attribute: attribute(99) }),
            (open(13, "x"), Refused::UnknownAttribute { attribute: attribute(13) }),
            (
                open(11, "x"),
                Refused::ContentUnfit { attribute: attribute(11), expected: Some(AttributeType::Number) },
            ),
            (open(12, "x"), Refused::ContentUnfit { attribute: attribute(12), expected: None }),
            (closed(10, &[]), Refused::ContentUnfit { attribute: attribute(10), expected: text }),
            (
                closed(12, &[value(10, 1)]),
                Refused::UnknownClosedValue { attribute: attribute(12), value: value(10, 1) },
            ),
            (
                closed(10, &[value(12, 1)]),
                Refused::UnknownClosedValue { attribute: attribute(10), value: value(12, 1) },
            ),
        ];
        for (entry, refused) in rows {
            let update = with_attributes(vec![entry.clone()]);
            assert_eq!(contact().apply(&update, &definitions(), None, LATER), Err(refused), "{entry:?}");
        }
    }

    #[test]
    fn the_owner_must_be_an_active_user() {
        let update = ContactUpdate {
            owner: Patch::Set(UserRef::Id(UserId::from_uuid(id(3)))),
            ..ContactUpdate::default()
        };
        let apply = |named: Option<&User>| contact().apply(&update, &definitions(), named, LATER);
        assert_eq!(apply(None), Err(Refused::UnknownOwner));
        assert_eq!(apply(Some(&user(UserStatus::Disabled))), Err(Refused::UnknownOwner));
        let owned = apply(Some(&user(UserStatus::Active))).unwrap().unwrap();
        assert_eq!(owned.owner.map(|owner| owner.id), Some(UserId::from_uuid(id(3))));
    }

    #[test]
    fn a_contact_is_normal_when_nothing_required_is_missing() {
        let mut required = definition(10, AttributeCategory::Open, AttributeType::Text);
        required.is_required = true;
        let with_required = Definitions::new(vec![required.clone()]);
        let full = contact();
        assert_eq!(full.contact_type(&definitions(), NOW), ContactType::Normal);
        assert_eq!(full.contact_type(&with_required, NOW), ContactType::Partial);
        let filled =
            full.apply(&with_attributes(vec![open(10, "x")]), &with_required, None, NOW).unwrap().unwrap();
        assert_eq!(filled.contact_type(&with_required, NOW), ContactType::Normal);
        required.deleted_at = Some(NOW);
        assert_eq!(full.contact_type(&Definitions::new(vec![required]), NOW), ContactType::Normal);
        for missing in [
            Contact { first_name: None, ..contact() },
            Contact { last_name: None, ..contact() },
            Contact { email: None, ..contact() },
            Contact { cellphone: None, ..contact() },
        ] {
            assert_eq!(missing.contact_type(&definitions(), NOW), ContactType::Partial);
        }
    }

    #[test]
    fn a_change_is_later_than_the_one_before_it_whatever_the_clock_says() {
        let update = |name: &str| ContactUpdate {
            first_name: Patch::Set(PersonName::parse(name).unwrap()),
            ..ContactUpdate::default()
        };
        let first = contact().apply(&update("B"), &definitions(), None, LATER).unwrap().unwrap();
        let second = first.apply(&update("C"), &definitions(), None, NOW).unwrap().unwrap();
        assert_eq!((first.updated_at, second.updated_at), (LATER, LATER.plus(Duration::from_millis(1))));
    }

    #[test]
    fn values_count_by_their_texts_and_what_is_archived_by_its_ids() {
        let mut choice = definition(12, AttributeCategory::Closed, AttributeType::Text);
        let all: Vec<ClosedValueId> = (1..=3).map(|n| value(12, n)).collect();
        let chosen = |choice: &AttributeDefinition| {
            let known = Definitions::new(vec![choice.clone()]);
            contact().apply(&with_attributes(vec![closed(12, &all)]), &known, None, NOW)
        };
        assert!(chosen(&choice).is_ok());
        choice.closed_values[2].value = "x".repeat(Contact::MAX_BYTES);
        assert_eq!(chosen(&choice), Err(Refused::ContactTooLarge { max_bytes: Contact::MAX_BYTES }));

        let full = AttributeContent::Closed(vec![value(1, 1); Contact::MAX_STORED_BYTES / 36]);
        let hoarder = Contact { attributes: BTreeMap::from([(attribute(13), full)]), ..contact() };
        let more = with_attributes(vec![open(10, &"x".repeat(1_000))]);
        assert!(matches!(
            hoarder.apply(&more, &definitions(), None, NOW),
            Err(Refused::ContactTooLarge { .. })
        ));
    }

    #[test]
    fn a_contact_stays_within_its_size() {
        let many = Definitions::new(
            (200..300).map(|n| definition(n, AttributeCategory::Open, AttributeType::Text)).collect(),
        );
        let long = "é".repeat(AttributeDefinition::MAX_CONTENT);
        let update = with_attributes((200..300).map(|n| open(n, &long)).collect());
        assert_eq!(
            contact().apply(&update, &many, None, NOW),
            Err(Refused::ContactTooLarge { max_bytes: Contact::MAX_BYTES })
        );
    }
}
