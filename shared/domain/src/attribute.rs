//! Custom attribute definitions and what may stand in an attribute of a contact.

use crate::ids::{AttributeId, ClosedValueId, Ids, WorkspaceId};
use crate::text::{Unfit, within};
use crate::time::Timestamp;

/// The definition of a custom attribute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttributeDefinition {
    /// The definition's id.
    pub id: AttributeId,
    /// The workspace it belongs to.
    pub workspace_id: WorkspaceId,
    /// Free text or a choice.
    pub category: AttributeCategory,
    /// Whether a contact without it is PARTIAL.
    pub is_required: bool,
    /// The name by which contacts show it, 1 to 100 characters, unique among the active ones of the workspace.
    pub key_name: String,
    /// What OPEN content must look like.
    pub attribute_type: AttributeType,
    /// The allowed values of a CLOSED attribute, at most [`AttributeDefinition::MAX_VALUES`]; empty for OPEN.
    pub closed_values: Vec<ClosedValue>,
    /// When it was made.
    pub created_at: Timestamp,
    /// In the past: the attribute is archived.
    pub deleted_at: Option<Timestamp>,
    /// Grows by one with each change.
    pub version: u64,
}

/// One allowed value of a CLOSED attribute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClosedValue {
    /// The value's id, by which updates name it.
    pub id: ClosedValueId,
    /// The text that contacts show.
    pub value: String,
}

impl AttributeDefinition {
    /// The greatest number of active definitions of a workspace.
    pub const MAX_ACTIVE: usize = 100;
    /// The greatest number of values of a CLOSED attribute.
    pub const MAX_VALUES: usize = 50;
    /// The greatest number of characters of OPEN content.
    pub const MAX_CONTENT: usize = 1_024;
    /// The greatest number of characters of a CLOSED attribute's value: contacts hold its id and show its text, so
    /// that short texts keep pages and lists of definitions within an answer.
    pub const MAX_VALUE: usize = 100;
    /// The greatest number of characters of a key name.
    pub const MAX_KEY_NAME: usize = 100;

    /// A new definition, or what is wrong with it.
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

    /// The definition once archived; `None` when it is already.
    pub fn archived(&self, now: Timestamp) -> Option<Self> {
        (!self.is_archived(now)).then(|| Self {
            deleted_at: Some(now),
            version: self.version + 1,
            ..self.clone()
        })
    }

    /// Archived: `deletedAt` lies in the past.
    pub fn is_archived(&self, now: Timestamp) -> bool {
        self.deleted_at.is_some_and(|at| at <= now)
    }

    /// The allowed value of that id.
    pub fn closed_value(&self, id: ClosedValueId) -> Option<&ClosedValue> {
        self.closed_values.iter().find(|value| value.id == id)
    }
}

/// What an operator asks a new definition to be.
#[derive(Clone, Copy, Debug)]
pub struct NewAttribute<'a> {
    /// Free text or a choice.
    pub category: AttributeCategory,
    /// What content must look like.
    pub attribute_type: AttributeType,
    /// The name by which contacts show it.
    pub key_name: &'a str,
    /// Whether a contact without it is PARTIAL.
    pub is_required: bool,
    /// The values of a CLOSED attribute.
    pub values: &'a [String],
}

impl NewAttribute<'_> {
    fn check(&self) -> Result<(), DefinitionUnfit> {
        let blank = self.key_name.trim().is_empty() || self.key_name.chars().any(char::is_control);
        within(self.key_name, 1, AttributeDefinition::MAX_KEY_NAME).map_err(DefinitionUnfit::KeyName)?;
        if blank {
            let reason = "a key name cannot be blank or contain control characters";
            return Err(DefinitionUnfit::KeyName(Unfit::Value { reason }));
        }
        match (self.category, self.values.len()) {
            (AttributeCategory::Open, 0) => Ok(()),
            (AttributeCategory::Open, _) => Err(DefinitionUnfit::OpenWithValues),
            (AttributeCategory::Closed, 1..=AttributeDefinition::MAX_VALUES) => self.check_values(),
            (AttributeCategory::Closed, _) => Err(DefinitionUnfit::NumberOfValues),
        }
    }

    fn check_values(&self) -> Result<(), DefinitionUnfit> {
        for (at, value) in self.values.iter().enumerate() {
            let unfit = |reason| DefinitionUnfit::Value { value: value.clone(), reason };
            within(value, 1, AttributeDefinition::MAX_VALUE).map_err(unfit)?;
            if !self.attribute_type.takes(value) {
                return Err(unfit(Unfit::Value { reason: "does not fit the attribute's type" }));
            }
            if self.values[..at].contains(value) {
                return Err(unfit(Unfit::Value { reason: "is repeated" }));
            }
        }
        Ok(())
    }
}

/// Why a definition cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DefinitionUnfit {
    /// The key name does not fit.
    #[error("the key name is invalid: {0}")]
    KeyName(Unfit),
    /// OPEN attributes take content, not values.
    #[error("an OPEN attribute has no values")]
    OpenWithValues,
    /// CLOSED attributes need something to choose from, within limits.
    #[error("a CLOSED attribute has 1 to {} values", AttributeDefinition::MAX_VALUES)]
    NumberOfValues,
    /// One of the values does not fit.
    #[error("the value {value:?} {reason}")]
    Value {
        /// The value.
        value: String,
        /// What is wrong with it.
        reason: Unfit,
    },
}

/// Why a workspace does not take a definition.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DefinitionRefused {
    /// The workspace has as many active attributes as it may.
    #[error("the workspace already has {} active attributes", AttributeDefinition::MAX_ACTIVE)]
    TooMany,
    /// An active attribute has that key name.
    #[error("the active attribute {by} already has this key name")]
    KeyNameTaken {
        /// The attribute that has it.
        by: AttributeId,
    },
}

/// The two categories of attributes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttributeCategory {
    /// Free content, checked against the attribute's type.
    Open,
    /// Any number of the definition's values.
    Closed,
}

impl AttributeCategory {
    /// The words of the API.
    pub const NAMES: &'static [&'static str] = &["OPEN", "CLOSED"];

    /// Reads the API's word.
    pub fn parse(text: &str) -> Result<Self, Unfit> {
        match text {
            "OPEN" => Ok(Self::Open),
            "CLOSED" => Ok(Self::Closed),
            _ => Err(Unfit::NotOneOf { expected: Self::NAMES }),
        }
    }

    /// The API's word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Open => "OPEN",
            Self::Closed => "CLOSED",
        }
    }
}

/// What OPEN content must look like.
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

impl AttributeType {
    /// The words of the API.
    pub const NAMES: &'static [&'static str] = &["TEXT", "NUMBER", "BOOLEAN", "DATE"];

    /// Reads the API's word.
    pub fn parse(text: &str) -> Result<Self, Unfit> {
        match text {
            "TEXT" => Ok(Self::Text),
            "NUMBER" => Ok(Self::Number),
            "BOOLEAN" => Ok(Self::Boolean),
            "DATE" => Ok(Self::Date),
            _ => Err(Unfit::NotOneOf { expected: Self::NAMES }),
        }
    }

    /// The API's word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Text => "TEXT",
            Self::Number => "NUMBER",
            Self::Boolean => "BOOLEAN",
            Self::Date => "DATE",
        }
    }

    /// Whether content is of this type.
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
    // The parser alone would take blanks and signs in place of digits.
    let shaped = text.len() == 10
        && text.bytes().enumerate().all(|(at, byte)| match at {
            4 | 7 => byte == b'-',
            _ => byte.is_ascii_digit(),
        });
    shaped && jiff::civil::Date::strptime("%Y-%m-%d", text).is_ok()
}

/// A workspace's definitions, archived ones included, in the order they were made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Definitions(Vec<AttributeDefinition>);

impl Definitions {
    /// Takes the definitions of one workspace and puts them in order (created, then id).
    pub fn new(mut definitions: Vec<AttributeDefinition>) -> Self {
        definitions.sort_by_key(|definition| (definition.created_at, definition.id));
        Self(definitions)
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &AttributeDefinition> {
        self.0.iter()
    }

    /// Those not archived.
    pub fn active(&self, now: Timestamp) -> impl Iterator<Item = &AttributeDefinition> {
        self.0.iter().filter(move |definition| !definition.is_archived(now))
    }

    /// The active definition of that id.
    pub fn find_active(&self, id: AttributeId, now: Timestamp) -> Option<&AttributeDefinition> {
        self.active(now).find(|definition| definition.id == id)
    }

    /// Whether the workspace may have this definition too: its number of active ones, and its key name.
    pub fn admit(&self, new: &AttributeDefinition, now: Timestamp) -> Result<(), DefinitionRefused> {
        if let Some(same) = self.active(now).find(|definition| definition.key_name == new.key_name) {
            return Err(DefinitionRefused::KeyNameTaken { by: same.id });
        }
        if self.active(now).count() >= AttributeDefinition::MAX_ACTIVE {
            return Err(DefinitionRefused::TooMany);
        }
        Ok(())
    }

    /// A number that grows with every change of any definition: definitions are never removed, only archived.
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
    fn a_workspace_takes_100_active_attributes_of_different_key_names() {
        let open = NewAttribute { category: AttributeCategory::Open, ..closed(&[], AttributeType::Text) };
        let named = |n: usize| make(&NewAttribute { key_name: &format!("key{n}"), ..open }).unwrap();
        let mut all: Vec<AttributeDefinition> = (0..100).map(named).collect();
        let full = Definitions::new(all.clone());
        assert_eq!(full.admit(&named(100), NOW), Err(DefinitionRefused::TooMany));
        all[0] = all[0].archived(NOW).unwrap();
        let with_room = Definitions::new(all);
        assert_eq!(with_room.admit(&named(0), NOW), Ok(()));
        let by = AttributeId::from_uuid(Uuid::nil());
        assert_eq!(with_room.admit(&named(1), NOW), Err(DefinitionRefused::KeyNameTaken { by }));
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
}
