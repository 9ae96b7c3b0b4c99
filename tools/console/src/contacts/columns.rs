//! The columns of a CSV file of contacts, and the meaning of a row's cells.

use std::collections::HashMap;

use domain::contact::{AttributeContent, AttributeUpdate, OpenContent};
use domain::{
    AttributeCategory, AttributeDefinition, AttributeType, Cellphone, ClosedValueId, Contact, ContactId,
    ContactUpdate, Definitions, Email, EmailKey, ExternalId, Language, Patch, PersonName, Timestamp, Unfit,
    User, UserId, UserRef,
};

use crate::export::{Cell, Formulas};

#[derive(Clone, Debug)]
pub(super) enum Column<'a> {
    Id,
    FirstName,
    LastName,
    Email,
    Cellphone,
    ExternalId,
    LanguageCode,
    Owner,
    Attribute(&'a AttributeDefinition),
    /// Why the row was refused before. Its content is ignored.
    Reason,
}

/// The columns with a fixed name, in the order of an export.
const NAMED: [(&str, Column<'static>); 8] = [
    ("id", Column::Id),
    ("firstName", Column::FirstName),
    ("lastName", Column::LastName),
    ("email", Column::Email),
    ("cellphone", Column::Cellphone),
    ("externalId", Column::ExternalId),
    ("languageCode", Column::LanguageCode),
    ("owner", Column::Owner),
];

/// The prefix of attribute columns.
const ATTRIBUTE: &str = "attr:";

/// The column that a file of refused rows has in addition.
pub(super) const REASON: &str = "reason";

/// A row of an import.
#[derive(Debug, Default)]
pub(super) struct Row<'a> {
    /// The number of the row in the file. The header is row 1.
    pub(super) number: usize,
    pub(super) id: Option<ContactId>,
    /// The changes that the cells make. Empty cells change nothing.
    pub(super) update: ContactUpdate,
    /// The user in the owner column.
    pub(super) owner: Option<&'a User>,
}

impl<'a> Column<'a> {
    /// All columns of an export: the fixed columns and the active attributes.
    pub(super) fn all(definitions: &'a Definitions, now: Timestamp) -> Vec<Self> {
        let named = NAMED.into_iter().map(|(_, column)| column);
        named.chain(definitions.active(now).map(Column::Attribute)).collect()
    }

    /// Parses the header. The error is a sentence about the first mistake.
    pub(super) fn of_header<'h>(
        header: impl IntoIterator<Item = &'h str>,
        definitions: &'a Definitions,
        now: Timestamp,
    ) -> Result<Vec<Self>, String> {
        let (mut columns, mut seen) = (vec![], vec![]);
        for name in header {
            if seen.contains(&name) {
                return Err(format!("the column {name:?} is repeated"));
            }
            seen.push(name);
            columns.push(Self::named(name, definitions, now)?);
        }
        let identifies =
            |column: &Self| matches!(column, Self::Id | Self::Email | Self::Cellphone | Self::ExternalId);
        if !columns.iter().any(identifies) {
            return Err(
                "a column id, email, cellphone or externalId is needed to identify contacts".to_owned()
            );
        }
        Ok(columns)
    }

    fn named(name: &str, definitions: &'a Definitions, now: Timestamp) -> Result<Self, String> {
        if let Some(key_name) = name.strip_prefix(ATTRIBUTE) {
            let definition = definitions.active(now).find(|definition| definition.key_name == key_name);
            return definition
                .map(Self::Attribute)
                .ok_or_else(|| format!("the workspace has no active attribute {key_name:?}"));
        }
        if name == REASON {
            return Ok(Self::Reason);
        }
        let found = NAMED.into_iter().find(|(known, _)| *known == name);
        found.map(|(_, column)| column).ok_or_else(|| {
            let known: Vec<&str> = NAMED.iter().map(|(known, _)| *known).collect();
            format!("the column {name:?} is not one of {}, {ATTRIBUTE}<keyName>", known.join(", "))
        })
    }

    pub(super) fn name(&self) -> String {
        match self {
            Self::Attribute(definition) => format!("{ATTRIBUTE}{}", definition.key_name),
            Self::Reason => REASON.to_owned(),
            named => NAMED
                .iter()
                .find(|(_, column)| std::mem::discriminant(column) == std::mem::discriminant(named))
                .map_or_else(String::new, |(name, _)| (*name).to_owned()),
        }
    }

    /// The content of this column for a contact.
    fn content(&self, contact: &Contact) -> String {
        match self {
            Self::Id => contact.id.to_string(),
            Self::FirstName => text(contact.first_name.as_ref().map(PersonName::as_str)),
            Self::LastName => text(contact.last_name.as_ref().map(PersonName::as_str)),
            Self::Email => text(contact.email.as_ref().map(Email::as_str)),
            Self::Cellphone => text(contact.cellphone.as_ref().map(Cellphone::as_str)),
            Self::ExternalId => text(contact.external_id.as_ref().map(ExternalId::as_str)),
            Self::LanguageCode => text(contact.language.map(Language::as_str)),
            Self::Owner => text(contact.owner.as_ref().map(|owner| owner.email.as_str())),
            Self::Attribute(definition) => match contact.attributes.get(&definition.id) {
                None => String::new(),
                Some(AttributeContent::Open(content)) => content.as_str().to_owned(),
                Some(AttributeContent::Closed(values)) => join(definition.texts_of(values)),
            },
            Self::Reason => String::new(),
        }
    }

    /// The cell of this column for a contact. An import with the same `formulas` as the export reads the same content.
    pub(super) fn cell(&self, contact: &Contact) -> Cell {
        let content = self.content(contact);
        if self.is_free_text() { Cell::Text(content) } else { Cell::Exact(content) }
    }

    /// Whether people choose the text. Phone numbers and numbers keep their sign.
    fn is_free_text(&self) -> bool {
        match self {
            Self::FirstName | Self::LastName | Self::Email | Self::ExternalId | Self::Owner => true,
            Self::Id | Self::Cellphone | Self::LanguageCode | Self::Reason => false,
            Self::Attribute(definition) => match definition.category {
                AttributeCategory::Open => definition.attribute_type == AttributeType::Text,
                AttributeCategory::Closed => true,
            },
        }
    }

    /// Reads a cell into a row.
    fn read<'u>(
        &self,
        cell: &str,
        formulas: Formulas,
        users: &'u Users,
        row: &mut Row<'u>,
    ) -> Result<(), String> {
        let text = self.is_free_text().then(|| formulas.read(cell));
        let cell = text.as_deref().unwrap_or(cell);
        fn parsed<T>(result: Result<T, Unfit>) -> Result<Patch<T>, String> {
            result.map(Patch::Set).map_err(|unfit| unfit.to_string())
        }
        let update = &mut row.update;
        match self {
            Self::Id => row.id = Some(ContactId::parse(cell).map_err(|unfit| unfit.to_string())?),
            Self::FirstName => update.first_name = parsed(PersonName::parse(cell))?,
            Self::LastName => update.last_name = parsed(PersonName::parse(cell))?,
            Self::Email => update.email = parsed(Email::parse(cell))?,
            Self::Cellphone => update.cellphone = parsed(Cellphone::parse(cell))?,
            Self::ExternalId => update.external_id = parsed(ExternalId::parse(cell))?,
            Self::LanguageCode => update.language = parsed(Language::parse(cell))?,
            Self::Owner => {
                let user = users.named(cell).ok_or("is not a user of the workspace")?;
                update.owner = Patch::Set(UserRef::Id(user.id));
                row.owner = Some(user);
            }
            Self::Attribute(definition) => update.attributes.push(attribute(definition, cell)?),
            Self::Reason => {}
        }
        Ok(())
    }
}

/// Reads a row. The error lists all mistakes in the row.
pub(super) fn read_row<'u>(
    number: usize,
    cells: &[&str],
    columns: &[Column<'_>],
    formulas: Formulas,
    users: &'u Users,
) -> Result<Row<'u>, String> {
    if cells.len() != columns.len() {
        return Err(format!("{} cells where the header has {}", cells.len(), columns.len()));
    }
    let (mut row, mut wrong) = (Row { number, ..Row::default() }, vec![]);
    for (column, cell) in columns.iter().zip(cells).filter(|(_, cell)| !cell.is_empty()) {
        if let Err(reason) = column.read(cell, formulas, users, &mut row) {
            wrong.push(format!("{}: {reason}", column.name()));
        }
    }
    if wrong.is_empty() && row.identities().is_empty() {
        wrong.push("an id, email, cellphone or externalId is needed to identify the contact".to_owned());
    }
    if wrong.is_empty() { Ok(row) } else { Err(wrong.join("; ")) }
}

impl Row<'_> {
    /// The keys that identify the row's contact.
    pub(super) fn identities(&self) -> Vec<String> {
        let id = self.id.map(|id| format!("id {id}"));
        let email = self.update.email.as_set().map(|email| format!("email {}", email.key().as_str()));
        let cellphone = self.update.cellphone.as_set().map(|phone| format!("phone {}", phone.key().as_str()));
        let external_id = self.update.external_id.as_set().map(|id| format!("external {}", id.as_str()));
        [id, email, cellphone, external_id].into_iter().flatten().collect()
    }
}

/// The users of a workspace, found by id or e-mail address.
pub(super) struct Users(HashMap<EmailKey, User>);

impl Users {
    pub(super) fn new(users: Vec<User>) -> Self {
        Self(users.into_iter().map(|user| (user.email.key(), user)).collect())
    }

    fn named(&self, name: &str) -> Option<&User> {
        match UserId::parse(name) {
            Ok(id) => self.0.values().find(|user| user.id == id),
            Err(_) => self.0.get(&Email::parse(name).ok()?.key()),
        }
    }
}

fn attribute(definition: &AttributeDefinition, cell: &str) -> Result<AttributeUpdate, String> {
    let attribute = definition.id;
    if definition.category == AttributeCategory::Open {
        let content = OpenContent::parse(cell).map_err(|unfit| unfit.to_string())?;
        if !definition.attribute_type.takes(cell) {
            return Err(format!("should be a {}", definition.attribute_type.as_str()));
        }
        return Ok(AttributeUpdate::Open { attribute, content: Some(content) });
    }
    let mut values: Vec<ClosedValueId> = vec![];
    for text in split(cell) {
        let known = definition.closed_values.iter().find(|value| value.value == text);
        let value = known.ok_or_else(|| format!("the attribute has no value {text:?}"))?.id;
        if !values.contains(&value) {
            values.push(value);
        }
    }
    Ok(AttributeUpdate::Closed { attribute, values })
}

/// Joins values into one cell, separated by `;`. `\` escapes `;` and `\` within a value.
fn join<'v>(values: impl Iterator<Item = &'v str>) -> String {
    values.map(|value| value.replace('\\', "\\\\").replace(';', "\\;")).collect::<Vec<_>>().join(";")
}

/// Reverses [`join`]. Empty values are skipped.
fn split(cell: &str) -> Vec<String> {
    let (mut values, mut value) = (vec![], String::new());
    let mut characters = cell.chars();
    while let Some(character) = characters.next() {
        match character {
            ';' => values.push(std::mem::take(&mut value)),
            '\\' => value.extend(characters.next()),
            _ => value.push(character),
        }
    }
    values.push(value);
    values.retain(|value| !value.is_empty());
    values
}

fn text(value: Option<&str>) -> String {
    value.unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn split_reverses_join() {
        for values in [&["a"][..], &["a", "b"], &["a;b", "c\\", "\\;"], &[]] {
            assert_eq!(split(&join(values.iter().copied())), values);
        }
        assert_eq!(split(";a;;b;"), ["a", "b"]);
    }
}
