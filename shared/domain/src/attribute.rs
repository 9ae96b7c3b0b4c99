//! Custom attribute definitions, and the content that they allow in a contact.

use crate::ids::{AttributeId, ClosedValueId, Ids, WorkspaceId};
use crate::text::{Unfit, same_name, within};
use crate::time::Timestamp;
use crate::words::words;

/// The definition of a custom attribute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttributeDefinition {
    /// The definition's id.
    pub id: AttributeId,
    /// The workspace it belongs to.
    pub workspace_id: WorkspaceId,
    /// Free content or a choice of values.
    pub category: AttributeCategory,
    /// Whether a contact without the attribute is PARTIAL.
    pub is_required: bool,
    /// The name under which contacts show the attribute, 1 to 100 characters, unique among the workspace's
    /// active attributes.
    pub key_name: String,
    /// The type of OPEN content.
    pub attribute_type: AttributeType,
    /// The allowed values of a CLOSED attribute, at most [`AttributeDefinition::MAX_VALUES`]; empty for OPEN.
    pub closed_values: Vec<ClosedValue>,
    /// When the definition was created.
    pub created_at: Timestamp,
    /// When the attribute was archived. A time in the past means that it is archived.
    pub deleted_at: Option<Timestamp>,
    /// Increases by one with each change.
    pub version: u64,
}

/// One allowed value of a CLOSED attribute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClosedValue {
    /// The value's id. Updates refer to the value by it.
    pub id: ClosedValueId,
    /// The text that contacts show.
    pub value: String,
}

impl AttributeDefinition {
    /// The greatest number of active definitions in a workspace.
    pub const MAX_ACTIVE: usize = 100;
    /// The greatest number of values of a CLOSED attribute.
    pub const MAX_VALUES: usize = 50;
    /// The greatest number of characters in OPEN content.
    pub const MAX_CONTENT: usize = 1_024;
    /// The greatest number of characters in a value of a CLOSED attribute. Contacts store the value's id and
    /// show its text, so short texts keep pages and lists of definitions within the size of a response.
    pub const MAX_VALUE: usize = 100;
    /// The greatest number of characters in a key name.
    pub const MAX_KEY_NAME: usize = 100;

    /// Creates a definition. Returns an error if a field is invalid.
    pub fn new(
        workspace_id: WorkspaceId,
        wanted: &NewAttribute<'_>,
        ids: &dyn Ids,
        now: Timestamp,
    ) -> Result<Self, DefinitionUnfit> {
        wanted.check()?;
        let value = |value: &String| ClosedValue { id: ClosedValueId::generate(ids), value: value.clone() };
        Ok(Self {
            id: AttributeId::generate(ids),
            workspace_id,
            category: wanted.category,
            is_required: wanted.is_required,
            key_name: wanted.key_name.to_owned(),
            attribute_type: wanted.attribute_type,
            closed_values: wanted.values.iter().map(value).collect(),
            created_at: now,
            deleted_at: None,
            version: 1,
        })
    }

    /// The archived definition. `None` if it is archived already.
    pub fn archived(&self, now: Timestamp) -> Option<Self> {
        (!self.is_archived(now)).then(|| Self {
            deleted_at: Some(now),
            version: self.version + 1,
            ..self.clone()
        })
    }

    /// The definition as it was before it was archived. `None` if it is not archived.
    pub fn unarchived(&self, now: Timestamp) -> Option<Self> {
        self.is_archived(now).then(|| Self { deleted_at: None, version: self.version + 1, ..self.clone() })
    }

    /// The definition with this key name. `None` if it has the key name already.
    pub fn renamed(&self, key_name: &str) -> Result<Option<Self>, DefinitionUnfit> {
        Self::key_name(key_name).map_err(DefinitionUnfit::KeyName)?;
        let renamed = || Self { key_name: key_name.to_owned(), version: self.version + 1, ..self.clone() };
        Ok((self.key_name != key_name).then(renamed))
    }

    /// The definition with this change. `None` if the change has no effect.
    pub fn changed(
        &self,
        change: &DefinitionChange,
        now: Timestamp,
    ) -> Result<Option<Self>, DefinitionUnfit> {
        let mut next = self.clone();
        if let Some(key_name) = &change.key_name {
            next = next.renamed(key_name)?.unwrap_or(next);
        }
        let moved = match change.is_archived {
            Some(true) => next.archived(now),
            Some(false) => next.unarchived(now),
            None => None,
        };
        next = moved.unwrap_or(next);
        next.is_required = change.is_required.unwrap_or(next.is_required);
        Ok((next != *self).then(|| Self { version: self.version + 1, ..next }))
    }

    /// The names of the fields in which the next version differs, as requests name them.
    pub fn differences(&self, next: &Self) -> Vec<&'static str> {
        let fields = [
            ("keyName", self.key_name != next.key_name),
            ("isRequired", self.is_required != next.is_required),
            ("archived", self.deleted_at != next.deleted_at),
            ("values", self.closed_values != next.closed_values),
        ];
        fields.into_iter().filter(|(_, differs)| *differs).map(|(name, _)| name).collect()
    }

    /// A text as a key name.
    pub fn key_name(text: &str) -> Result<String, Unfit> {
        within(text, 1, Self::MAX_KEY_NAME)?;
        if text.trim().is_empty() || text.chars().any(char::is_control) {
            return Err(Unfit::Value { reason: "a key name cannot be blank or contain control characters" });
        }
        Ok(text.to_owned())
    }

    /// A text as a value of a CLOSED attribute of any type.
    pub fn value(text: &str) -> Result<String, Unfit> {
        within(text, 1, Self::MAX_VALUE)?;
        Ok(text.to_owned())
    }

    /// The CLOSED definition with one more value. `None` if it has exactly this value already.
    pub fn with_value(&self, value: &str, ids: &dyn Ids) -> Result<Option<Self>, DefinitionUnfit> {
        if self.closed_values.iter().any(|known| known.value == value) {
            return Ok(None);
        }
        check_number(self.category, self.closed_values.len() + 1)?;
        check_value(self.attribute_type, value)?;
        check_free(value, self.closed_values.iter())?;
        let added = ClosedValue { id: ClosedValueId::generate(ids), value: value.to_owned() };
        let closed_values = [self.closed_values.clone(), vec![added]].concat();
        Ok(Some(Self { closed_values, version: self.version + 1, ..self.clone() }))
    }

    /// The CLOSED definition with another text for one of its values, which keeps its id. `None` if the value
    /// has this text already, or if there is no such value.
    pub fn with_renamed_value(&self, id: ClosedValueId, text: &str) -> Result<Option<Self>, DefinitionUnfit> {
        let mut next = Self { version: self.version + 1, ..self.clone() };
        let Some(renamed) = next.closed_values.iter_mut().find(|value| value.id == id) else {
            return Ok(None);
        };
        if renamed.value == text {
            return Ok(None);
        }
        check_value(self.attribute_type, text)?;
        check_free(text, self.closed_values.iter().filter(|value| value.id != id))?;
        renamed.value = text.to_owned();
        Ok(Some(next))
    }

    /// Whether the definition is archived: `deletedAt` is not in the future.
    pub fn is_archived(&self, now: Timestamp) -> bool {
        self.deleted_at.is_some_and(|at| at <= now)
    }

    /// The allowed value with this id.
    pub fn closed_value(&self, id: ClosedValueId) -> Option<&ClosedValue> {
        self.closed_values.iter().find(|value| value.id == id)
    }

    /// The texts of the allowed values with these ids, in their order.
    pub fn texts_of<'a>(&'a self, ids: &'a [ClosedValueId]) -> impl Iterator<Item = &'a str> {
        ids.iter().filter_map(|id| self.closed_value(*id)).map(|value| value.value.as_str())
    }
}

/// The input of an operator for a new definition.
#[derive(Clone, Copy, Debug)]
pub struct NewAttribute<'a> {
    /// Free content or a choice of values.
    pub category: AttributeCategory,
    /// The type of the content.
    pub attribute_type: AttributeType,
    /// The name under which contacts show the attribute.
    pub key_name: &'a str,
    /// Whether a contact without the attribute is PARTIAL.
    pub is_required: bool,
    /// The allowed values of a CLOSED attribute; empty for OPEN.
    pub values: &'a [String],
}

impl NewAttribute<'_> {
    fn check(&self) -> Result<(), DefinitionUnfit> {
        AttributeDefinition::key_name(self.key_name).map_err(DefinitionUnfit::KeyName)?;
        check_values(self.category, self.attribute_type, self.values)
    }
}

/// A change of a definition. What is `None` stays as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DefinitionChange {
    /// The new key name.
    pub key_name: Option<String>,
    /// Whether a contact without the attribute is PARTIAL.
    pub is_required: Option<bool>,
    /// Whether the attribute is archived.
    pub is_archived: Option<bool>,
}

fn check_values(
    category: AttributeCategory,
    attribute_type: AttributeType,
    values: &[String],
) -> Result<(), DefinitionUnfit> {
    check_number(category, values.len())?;
    for (at, value) in values.iter().enumerate() {
        check_value(attribute_type, value)?;
        if values[..at].iter().any(|other| same_name(other, value)) {
            let reason = Unfit::Value { reason: "is repeated" };
            return Err(DefinitionUnfit::Value { value: value.clone(), reason });
        }
    }
    Ok(())
}

fn check_number(category: AttributeCategory, values: usize) -> Result<(), DefinitionUnfit> {
    match (category, values) {
        (AttributeCategory::Open, 0) => Ok(()),
        (AttributeCategory::Open, _) => Err(DefinitionUnfit::OpenWithValues),
        (AttributeCategory::Closed, 1..=AttributeDefinition::MAX_VALUES) => Ok(()),
        (AttributeCategory::Closed, _) => Err(DefinitionUnfit::NumberOfValues),
    }
}

fn check_value(attribute_type: AttributeType, value: &str) -> Result<(), DefinitionUnfit> {
    let unfit = |reason| DefinitionUnfit::Value { value: value.to_owned(), reason };
    AttributeDefinition::value(value).map_err(unfit)?;
    if !attribute_type.takes(value) {
        return Err(unfit(Unfit::Value { reason: "does not fit the attribute's type" }));
    }
    Ok(())
}

fn check_free<'a>(
    text: &str,
    mut others: impl Iterator<Item = &'a ClosedValue>,
) -> Result<(), DefinitionUnfit> {
    match others.find(|other| same_name(&other.value, text)) {
        Some(other) => Err(DefinitionUnfit::ValueTaken { value: text.to_owned(), by: other.id }),
        None => Ok(()),
    }
}

/// Why a definition is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DefinitionUnfit {
    /// The key name is invalid.
    #[error("the key name is invalid: {0}")]
    KeyName(Unfit),
    /// An OPEN attribute was given values.
    #[error("an OPEN attribute has no values")]
    OpenWithValues,
    /// A CLOSED attribute has no values or too many.
    #[error("a CLOSED attribute has 1 to {} values", AttributeDefinition::MAX_VALUES)]
    NumberOfValues,
    /// One of the values is invalid.
    #[error("the value {value:?} {reason}")]
    Value {
        /// The invalid value.
        value: String,
        /// What is wrong with it.
        reason: Unfit,
    },
    /// The attribute has such a value already.
    #[error("the value {value:?} is repeated")]
    ValueTaken {
        /// The text.
        value: String,
        /// The value that has it.
        by: ClosedValueId,
    },
}

/// Why a workspace cannot add a definition.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DefinitionRefused {
    /// The workspace has the greatest number of active attributes.
    #[error("the workspace already has {} active attributes", AttributeDefinition::MAX_ACTIVE)]
    TooMany,
    /// An active attribute has this key name already.
    #[error("the active attribute {by} already has this key name")]
    KeyNameTaken {
        /// The attribute with this key name.
        by: AttributeId,
    },
}

/// The two categories of attributes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttributeCategory {
    /// Free content, checked against the attribute's type.
    Open,
    /// Any number of the definition's values, chosen by id.
    Closed,
}

words!(
    /// The values of the API field.
    AttributeCategory { Open: "OPEN", Closed: "CLOSED" }
);

/// The type of OPEN content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttributeType {
    /// Any text.
    Text,
    /// A decimal number as JSON writes it, such as `-12.50`.
    Number,
    /// `true` or `false`.
    Boolean,
    /// A calendar day, `YYYY-MM-DD`.
    Date,
}

words!(
    /// The values of the API field.
    AttributeType { Text: "TEXT", Number: "NUMBER", Boolean: "BOOLEAN", Date: "DATE" }
);

impl AttributeType {
    /// What content of this type looks like.
    pub fn form(self) -> &'static str {
        match self {
            Self::Text => "any text",
            Self::Number => "a decimal number as JSON writes it, such as -12.50",
            Self::Boolean => "true or false",
            Self::Date => "a calendar day, such as 2026-01-31",
        }
    }

    /// Whether the content is of this type.
    pub fn takes(self, content: &str) -> bool {
        match self {
            Self::Text => true,
            Self::Number => is_json_number(content),
            Self::Boolean => matches!(content, "true" | "false"),
            Self::Date => is_calendar_day(content),
        }
    }
}

fn is_json_number(text: &str) -> bool {
    let unsigned = text.strip_prefix('-').unwrap_or(text);
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent.strip_prefix(['+', '-']).unwrap_or(exponent))),
        None => (unsigned, None),
    };
    let (whole, fraction) = match mantissa.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (mantissa, None),
    };
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    digits(whole)
        && (whole == "0" || !whole.starts_with('0'))
        && fraction.is_none_or(digits)
        && exponent.is_none_or(digits)
}

fn is_calendar_day(text: &str) -> bool {
    // The parser alone also accepts blanks and signs in place of digits.
    let shaped = text.len() == 10
        && text.bytes().enumerate().all(|(at, byte)| match at {
            4 | 7 => byte == b'-',
            _ => byte.is_ascii_digit(),
        });
    shaped && jiff::civil::Date::strptime("%Y-%m-%d", text).is_ok()
}

/// The definitions of a workspace, including archived ones, in the order of creation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Definitions(Vec<AttributeDefinition>);

impl Definitions {
    /// Sorts the definitions of one workspace by creation time, then id.
    pub fn new(mut definitions: Vec<AttributeDefinition>) -> Self {
        definitions.sort_by_key(|definition| (definition.created_at, definition.id));
        Self(definitions)
    }

    /// All definitions, including archived ones.
    pub fn iter(&self) -> impl Iterator<Item = &AttributeDefinition> {
        self.0.iter()
    }

    /// The definitions that are not archived.
    pub fn active(&self, now: Timestamp) -> impl Iterator<Item = &AttributeDefinition> {
        self.0.iter().filter(move |definition| !definition.is_archived(now))
    }

    /// The active definition with this id.
    pub fn find_active(&self, id: AttributeId, now: Timestamp) -> Option<&AttributeDefinition> {
        self.active(now).find(|definition| definition.id == id)
    }

    /// Checks whether the workspace can have this definition, which is new or changed: if it becomes active or
    /// gets another key name, the key name must be free, and the number of active definitions within the limit.
    /// Archived definitions may have any key name.
    pub fn admit(&self, new: &AttributeDefinition, now: Timestamp) -> Result<(), DefinitionRefused> {
        let has_it = |before: &AttributeDefinition| before.key_name == new.key_name;
        if new.is_archived(now) || self.find_active(new.id, now).is_some_and(has_it) {
            return Ok(());
        }
        let others = || self.active(now).filter(|other| other.id != new.id);
        if let Some(same) = others().find(|other| same_name(&other.key_name, &new.key_name)) {
            return Err(DefinitionRefused::KeyNameTaken { by: same.id });
        }
        if others().count() >= AttributeDefinition::MAX_ACTIVE {
            return Err(DefinitionRefused::TooMany);
        }
        Ok(())
    }

    /// A number that increases with every change of any definition. Definitions are archived and never
    /// removed.
    pub fn version(&self) -> u64 {
        self.0.iter().map(|definition| definition.version).sum()
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    struct OneId;

    impl Ids for OneId {
        fn next(&self) -> Uuid {
            Uuid::nil()
        }
    }

    const NOW: Timestamp = Timestamp::from_millis(1_767_323_045_678);

    fn closed<'a>(values: &'a [String], attribute_type: AttributeType) -> NewAttribute<'a> {
        let category = AttributeCategory::Closed;
        NewAttribute { category, attribute_type, key_name: "plan", is_required: false, values }
    }

    fn make(wanted: &NewAttribute<'_>) -> Result<AttributeDefinition, DefinitionUnfit> {
        AttributeDefinition::new(WorkspaceId::from_uuid(Uuid::nil()), wanted, &OneId, NOW)
    }

    #[test]
    fn a_closed_attribute_has_1_to_50_different_values_of_its_type() {
        let numbers: Vec<String> = (0..51).map(|n| n.to_string()).collect();
        assert_eq!(make(&closed(&numbers[..50], AttributeType::Number)).unwrap().closed_values.len(), 50);
        for wrong in [&numbers[..], &[]] {
            let made = make(&closed(wrong, AttributeType::Number));
            assert_eq!(made, Err(DefinitionUnfit::NumberOfValues));
        }
        for (values, attribute_type) in [
            (["a", "a"], AttributeType::Text),
            (["a", " A"], AttributeType::Text),
            (["1", "x"], AttributeType::Number),
            (["a", ""], AttributeType::Text),
        ] {
            let made = make(&closed(&values.map(str::to_owned), attribute_type));
            assert!(matches!(made, Err(DefinitionUnfit::Value { .. })), "{values:?}");
        }
    }

    #[test]
    fn an_open_attribute_has_no_values_and_a_key_name_is_not_blank() {
        let values = ["a".to_owned()];
        let open = NewAttribute { category: AttributeCategory::Open, ..closed(&values, AttributeType::Text) };
        assert_eq!(make(&open), Err(DefinitionUnfit::OpenWithValues));
        for name in ["", " ", "a\n", &"x".repeat(101)] {
            let made = make(&NewAttribute { key_name: name, values: &[], ..open });
            assert!(matches!(made, Err(DefinitionUnfit::KeyName(_))), "{name:?}");
        }
    }

    #[test]
    fn a_workspace_admits_100_active_attributes_with_different_key_names() {
        let open = NewAttribute { category: AttributeCategory::Open, ..closed(&[], AttributeType::Text) };
        let named = |n: usize| AttributeDefinition {
            id: AttributeId::from_uuid(Uuid::from_u128(n as u128)),
            ..make(&NewAttribute { key_name: &format!("key{n}"), ..open }).unwrap()
        };
        let mut all: Vec<AttributeDefinition> = (0..100).map(named).collect();
        let full = Definitions::new(all.clone());
        assert_eq!(full.admit(&named(100), NOW), Err(DefinitionRefused::TooMany));
        all[0] = all[0].archived(NOW).unwrap();
        let with_room = Definitions::new(all);
        assert_eq!(with_room.admit(&named(0), NOW), Ok(()));
        let by = named(1).id;
        for same in ["key1", "KEY1", " Key1 "] {
            let same = AttributeDefinition { key_name: same.to_owned(), ..named(100) };
            assert_eq!(with_room.admit(&same, NOW), Err(DefinitionRefused::KeyNameTaken { by }));
            // An archived attribute may have any key name, and an attribute its own.
            assert_eq!(with_room.admit(&same.archived(NOW).unwrap(), NOW), Ok(()));
            assert_eq!(with_room.admit(&AttributeDefinition { id: by, ..same }, NOW), Ok(()));
        }
        // Two active key names that differ only in case hinder no other change.
        let twin = AttributeDefinition { key_name: "KEY1".to_owned(), ..named(101) };
        let twins = Definitions::new(vec![named(1), twin.clone()]);
        assert_eq!(twins.admit(&AttributeDefinition { is_required: true, ..twin }, NOW), Ok(()));
        let again = full.iter().next().unwrap();
        assert_eq!(full.admit(&again.renamed("another").unwrap().unwrap(), NOW), Ok(()));
    }

    #[test]
    fn an_archived_attribute_comes_back_as_it_was() {
        let made = make(&closed(&["a".to_owned()], AttributeType::Text)).unwrap();
        let archived = made.archived(NOW).unwrap();
        assert_eq!(archived.unarchived(NOW), Some(AttributeDefinition { version: 3, ..made.clone() }));
        assert_eq!(made.unarchived(NOW), None);
    }

    #[test]
    fn a_renamed_attribute_keeps_its_id_and_its_values() {
        let made = make(&closed(&["a".to_owned()], AttributeType::Text)).unwrap();
        let renamed = made.renamed("tier").unwrap().unwrap();
        assert_eq!(renamed, AttributeDefinition { key_name: "tier".to_owned(), version: 2, ..made });
        assert_eq!(renamed.renamed("tier"), Ok(None));
        assert!(matches!(renamed.renamed(" "), Err(DefinitionUnfit::KeyName(_))));
    }

    #[test]
    fn a_change_is_one_version_and_names_its_fields() {
        let made = make(&closed(&["a".to_owned()], AttributeType::Text)).unwrap();
        let change = DefinitionChange {
            key_name: Some("tier".to_owned()),
            is_required: Some(true),
            is_archived: Some(true),
        };
        let next = made.changed(&change, NOW).unwrap().unwrap();
        let expected = AttributeDefinition {
            key_name: "tier".to_owned(),
            is_required: true,
            deleted_at: Some(NOW),
            version: 2,
            ..made.clone()
        };
        assert_eq!(next, expected);
        assert_eq!(made.differences(&next), ["keyName", "isRequired", "archived"]);
        assert_eq!(next.changed(&change, NOW), Ok(None));
        assert_eq!(next.changed(&DefinitionChange::default(), NOW), Ok(None));
        let back = DefinitionChange { is_archived: Some(false), ..DefinitionChange::default() };
        let active = next.changed(&back, NOW).unwrap().unwrap();
        assert_eq!(
            (active.deleted_at, active.version, next.differences(&active)),
            (None, 3, vec!["archived"])
        );
        let blank = DefinitionChange { key_name: Some(" ".to_owned()), ..DefinitionChange::default() };
        assert!(matches!(next.changed(&blank, NOW), Err(DefinitionUnfit::KeyName(_))));
        let more = made.with_value("b", &OneId).unwrap().unwrap();
        assert_eq!(made.differences(&more), ["values"]);
    }

    #[test]
    fn a_value_is_added_and_renamed_by_the_rules_of_a_new_attribute() {
        struct Counted(std::sync::atomic::AtomicU64);
        impl Ids for Counted {
            fn next(&self) -> Uuid {
                Uuid::from_u128(self.0.fetch_add(1, std::sync::atomic::Ordering::SeqCst).into())
            }
        }
        let ids = Counted(0.into());
        let values = ["1".to_owned(), "2".to_owned()];
        let wanted = closed(&values, AttributeType::Number);
        let made = AttributeDefinition::new(WorkspaceId::from_uuid(Uuid::nil()), &wanted, &ids, NOW).unwrap();
        let texts = |of: &AttributeDefinition| {
            of.closed_values.iter().map(|value| value.value.clone()).collect::<Vec<_>>()
        };
        let three = made.with_value("3", &ids).unwrap().unwrap();
        assert_eq!((texts(&three), three.version), (vec!["1".into(), "2".into(), "3".into()], 2));
        assert_eq!(three.closed_values[..2], made.closed_values);
        assert_eq!(three.with_value("3", &ids), Ok(None));

        let second = three.closed_values[1].id;
        let renamed = three.with_renamed_value(second, "20").unwrap().unwrap();
        assert_eq!((texts(&renamed), renamed.version), (vec!["1".into(), "20".into(), "3".into()], 3));
        assert_eq!(renamed.closed_values[1].id, second);
        assert_eq!(renamed.with_renamed_value(second, "20"), Ok(None));

        let repeated =
            |value: &str, by: ClosedValueId| DefinitionUnfit::ValueTaken { value: value.to_owned(), by };
        let unfit = |value: &str| matches!(three.with_value(value, &ids), Err(DefinitionUnfit::Value { .. }));
        assert!(unfit("x") && unfit(""));
        assert_eq!(three.with_renamed_value(second, "3"), Err(repeated("3", three.closed_values[2].id)));
        // Two values that differ only in case hinder neither.
        let mut earlier = three.clone();
        earlier.closed_values[2].value = "2 ".to_owned();
        assert!(earlier.with_value("4", &ids).unwrap().is_some());
        assert!(earlier.with_renamed_value(three.closed_values[0].id, "4").unwrap().is_some());
        let gold = make(&closed(&["gold".to_owned()], AttributeType::Text)).unwrap();
        assert_eq!(gold.with_value(" Gold", &ids), Err(repeated(" Gold", gold.closed_values[0].id)));
        let numbers: Vec<String> = (0..50).map(|n| n.to_string()).collect();
        let full = make(&closed(&numbers, AttributeType::Number)).unwrap();
        assert_eq!(full.with_value("50", &ids), Err(DefinitionUnfit::NumberOfValues));
        let open = NewAttribute { category: AttributeCategory::Open, ..closed(&[], AttributeType::Text) };
        assert_eq!(make(&open).unwrap().with_value("a", &ids), Err(DefinitionUnfit::OpenWithValues));
    }

    #[test]
    fn open_content_is_checked_against_the_type() {
        let rows: &[(AttributeType, &[&str], &[&str])] = &[
            (AttributeType::Text, &["x", "\n", "12"], &[]),
            (
                AttributeType::Number,
                &["0", "-1", "12.50", "1e9", "-0.5E-3"],
                &["", "01", "1.", ".5", "+1", "1,5", "NaN", "0x1", "1e", "--1", "١"],
            ),
            (AttributeType::Boolean, &["true", "false"], &["True", "1", "yes", ""]),
            (
                AttributeType::Date,
                &["2026-02-28", "2028-02-29"],
                &[
                    "2026-02-29",
                    "2026-2-28",
                    "28/02/2026",
                    "2026-02-28T00:00:00Z",
                    "2026- 2-28",
                    "-026-02-28",
                    "+999-01-01",
                    "",
                ],
            ),
        ];
        for (attribute_type, good, bad) in rows {
            for content in *good {
                assert!(attribute_type.takes(content), "{attribute_type:?} {content}");
            }
            for content in *bad {
                assert!(!attribute_type.takes(content), "{attribute_type:?} {content}");
            }
        }
    }

    #[test]
    fn every_change_of_a_definition_increases_the_version_of_all() {
        let first = make(&closed(&["a".to_owned()], AttributeType::Text)).unwrap();
        let second = AttributeDefinition { id: AttributeId::from_uuid(Uuid::from_u128(2)), ..first.clone() };
        let version = |all: &[&AttributeDefinition]| {
            Definitions::new(all.iter().map(|one| (*one).clone()).collect()).version()
        };
        assert_eq!(version(&[]), 0);
        assert_eq!(version(&[&first]), 1);
        assert_eq!(version(&[&first, &second]), 2);
        let renamed = second.renamed("tier").unwrap().unwrap();
        assert_eq!(version(&[&first, &renamed]), 3);
        assert_eq!(version(&[&first.archived(NOW).unwrap(), &renamed]), 4);
    }
}
