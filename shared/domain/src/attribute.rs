//! Custom attribute definitions and what may stand in an attribute of a contact.

use crate::ids::{AttributeId, ClosedValueId, WorkspaceId};
use crate::text::Unfit;
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
    /// The greatest number of characters of OPEN content, and of a CLOSED attribute's value.
    pub const MAX_CONTENT: usize = 1_024;
    /// The greatest number of characters of a key name.
    pub const MAX_KEY_NAME: usize = 100;

    /// Archived: `deletedAt` lies in the past.
    pub fn is_archived(&self, now: Timestamp) -> bool {
        self.deleted_at.is_some_and(|at| at <= now)
    }

    /// The allowed value of that id.
    pub fn closed_value(&self, id: ClosedValueId) -> Option<&ClosedValue> {
        self.closed_values.iter().find(|value| value.id == id)
    }
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
    text.len() == 10 && jiff::civil::Date::strptime("%Y-%m-%d", text).is_ok()
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

    /// A number that grows with every change of any definition: definitions are never removed, only archived.
    pub fn version(&self) -> u64 {
        self.0.iter().map(|definition| definition.version).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
                &["2026-02-29", "2026-2-28", "28/02/2026", "2026-02-28T00:00:00Z", ""],
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
