use std::time::Duration;

use uuid::Uuid;

use super::*;
use crate::attribute::{AttributeType, ClosedValue};

const NOW: Timestamp = Timestamp::from_millis(1_767_323_045_678);
const LATER: Timestamp = Timestamp::from_millis(1_767_323_099_000);

fn id(n: u128) -> Uuid {
    Uuid::from_u128(n)
}

fn workspace() -> WorkspaceId {
    WorkspaceId::from_uuid(id(1))
}

fn definition(n: u128, category: AttributeCategory, attribute_type: AttributeType) -> AttributeDefinition {
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
fn an_update_changes_only_the_fields_it_contains() {
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
fn an_update_sets_every_field_it_contains() {
    let update = ContactUpdate {
        first_name: Patch::Set(PersonName::parse("Bea").unwrap()),
        last_name: Patch::Set(PersonName::parse("Sanz").unwrap()),
        email: Patch::Set(Email::parse("bea@example.com").unwrap()),
        cellphone: Patch::Set(Cellphone::parse("+34600111222").unwrap()),
        language: Patch::Set(Language::Es),
        ..ContactUpdate::default()
    };
    let blank = Contact::blank(ContactId::from_uuid(id(2)), workspace(), NOW);
    let expected = Contact {
        first_name: PersonName::parse("Bea").ok(),
        last_name: PersonName::parse("Sanz").ok(),
        email: Email::parse("bea@example.com").ok(),
        cellphone: Cellphone::parse("+34600111222").ok(),
        number_since: Some(LATER),
        language: Some(Language::Es),
        updated_at: LATER,
        version: 2,
        ..blank.clone()
    };
    assert_eq!(blank.apply(&update, &definitions(), None, LATER), Ok(Some(expected)));
}

#[test]
fn an_update_without_effect_returns_no_contact() {
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
fn absent_attributes_stay_and_empty_ones_clear() {
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
fn unknown_archived_and_invalid_attributes_are_refused() {
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
fn a_contact_is_normal_if_no_required_field_is_missing() {
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
fn updated_at_always_increases_even_if_the_clock_does_not() {
    let update = |name: &str| ContactUpdate {
        first_name: Patch::Set(PersonName::parse(name).unwrap()),
        ..ContactUpdate::default()
    };
    let first = contact().apply(&update("B"), &definitions(), None, LATER).unwrap().unwrap();
    let second = first.apply(&update("C"), &definitions(), None, NOW).unwrap().unwrap();
    assert_eq!((first.updated_at, second.updated_at), (LATER, LATER.plus(Duration::from_millis(1))));
}

#[test]
fn active_values_count_their_texts_and_archived_ones_their_ids() {
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
    assert!(matches!(hoarder.apply(&more, &definitions(), None, NOW), Err(Refused::ContactTooLarge { .. })));
}

#[test]
fn a_contact_over_its_size_limit_is_refused() {
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

/// The bytes of [`contact`]'s name, e-mail address and number.
const IDENTITY: usize = 3 + 4 + 15 + 12;

#[test]
fn the_data_that_a_contact_shows_has_at_most_128_kilobytes() {
    assert_eq!(Contact::MAX_BYTES, 131_072);
    let accepts = |bytes: usize| {
        let mut choice = definition(12, AttributeCategory::Closed, AttributeType::Text);
        choice.closed_values[0].value = "x".repeat(bytes - IDENTITY - choice.key_name.len());
        let chosen = with_attributes(vec![closed(12, &[value(12, 1)])]);
        contact().apply(&chosen, &Definitions::new(vec![choice]), None, NOW).is_ok()
    };
    assert_eq!([131_072, 131_073].map(accepts), [true, false]);
}

#[test]
fn the_stored_contact_has_at_most_300_kilobytes() {
    assert_eq!(Contact::MAX_STORED_BYTES, 307_200);
    let open = |text: &str| AttributeContent::Open(OpenContent::parse(text).unwrap());
    let archived = AttributeContent::Closed(vec![value(1, 1); 8_529]);
    let holds = |content| Contact { attributes: BTreeMap::from([(attribute(13), content)]), ..contact() };
    // The id of the attribute, and the text or the ids of its values.
    assert_eq!(contact().bytes(), IDENTITY);
    assert_eq!(holds(open("é")).bytes(), IDENTITY + 36 + 2);
    assert_eq!(holds(archived.clone()).bytes(), IDENTITY + 36 + 8_529 * 36);
    let hoarder = holds(archived);
    let accepts = |bytes: usize| {
        let more = with_attributes(vec![self::open(10, &"x".repeat(bytes - hoarder.bytes() - 36))]);
        hoarder.apply(&more, &definitions(), None, NOW).is_ok()
    };
    assert_eq!([307_200, 307_201].map(accepts), [true, false]);
}
