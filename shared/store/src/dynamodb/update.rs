//! Builds the change of one row from parts: what to set, remove and add, and under which conditions.
//!
//! Each attribute has a placeholder, so no name conflicts with a reserved word of DynamoDB.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;

use crate::Table;
use crate::dynamodb::item::Item;
use crate::dynamodb::write::Write;

/// The parts of an update.
#[derive(Clone, Debug, Default)]
pub(crate) struct RowUpdate {
    sets: Vec<String>,
    removes: Vec<String>,
    adds: Vec<String>,
    conditions: Vec<String>,
    names: HashMap<String, String>,
    values: HashMap<String, AttributeValue>,
}

impl RowUpdate {
    /// Sets an attribute.
    pub(crate) fn set(mut self, name: &str, value: AttributeValue) -> Self {
        self.sets.push(format!("#{name} = :{name}"));
        self.values.insert(format!(":{name}"), value);
        self.name(name)
    }

    /// Sets an attribute if it is absent.
    pub(crate) fn set_if_absent(mut self, name: &str, value: AttributeValue) -> Self {
        self.sets.push(format!("#{name} = if_not_exists(#{name}, :{name})"));
        self.values.insert(format!(":{name}"), value);
        self.name(name)
    }

    /// Sets an attribute to the value of another one.
    pub(crate) fn copy(mut self, name: &str, from: &str) -> Self {
        self.sets.push(format!("#{name} = #{from}"));
        self.name(name).name(from)
    }

    /// Sets an attribute, or removes it.
    pub(crate) fn set_or_remove(self, name: &str, value: Option<AttributeValue>) -> Self {
        match value {
            Some(value) => self.set(name, value),
            None => self.remove(name),
        }
    }

    /// Removes an attribute.
    pub(crate) fn remove(mut self, name: &str) -> Self {
        self.removes.push(format!("#{name}"));
        self.name(name)
    }

    /// Adds to a number; an absent attribute counts as 0.
    pub(crate) fn add(mut self, name: &str, value: AttributeValue) -> Self {
        self.adds.push(format!("#{name} :{name}Added"));
        self.values.insert(format!(":{name}Added"), value);
        self.name(name)
    }

    /// Adds a condition; all conditions must hold. Attributes are written as `#attribute` and declared with
    /// [`RowUpdate::name`].
    pub(crate) fn when(mut self, condition: impl Into<String>) -> Self {
        self.conditions.push(condition.into());
        self
    }

    /// Declares an attribute that a condition uses.
    pub(crate) fn name(mut self, name: &str) -> Self {
        self.names.insert(format!("#{name}"), name.to_owned());
        self
    }

    /// Binds a placeholder of a condition to a value.
    pub(crate) fn bind(mut self, placeholder: &str, value: AttributeValue) -> Self {
        self.values.insert(placeholder.to_owned(), value);
        self
    }

    /// The change as a write of this row.
    pub(crate) fn of(self, table: Table, key: Item) -> Write {
        let mut expression = String::new();
        for (verb, parts) in [("SET", &self.sets), ("REMOVE", &self.removes), ("ADD", &self.adds)] {
            if !parts.is_empty() {
                expression = format!("{expression}{verb} {} ", parts.join(", "));
            }
        }
        let mut write = Write::update(table, key, expression.trim_end());
        if !self.conditions.is_empty() {
            write = write.when(self.conditions.join(" AND "));
        }
        let write = self.names.into_iter().fold(write, |write, (name, of)| write.name(name, of));
        self.values.into_iter().fold(write, |write, (name, value)| write.bind(name, value))
    }
}
