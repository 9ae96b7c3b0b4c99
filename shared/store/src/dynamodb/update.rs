//! A change of one row, put together from parts: what is set, removed and added, and under which conditions.
//!
//! Every attribute is named by a placeholder, so that no name clashes with a word that DynamoDB reserves.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;

use crate::Table;
use crate::dynamodb::item::Item;
use crate::dynamodb::write::Write;

/// The parts of an update.
#[derive(Clone, Debug, Default)]
pub(crate) struct Change {
    sets: Vec<String>,
    removes: Vec<String>,
    adds: Vec<String>,
    conditions: Vec<String>,
    names: HashMap<String, String>,
    values: HashMap<String, AttributeValue>,
}

impl Change {
    /// The attribute holds this.
    pub(crate) fn set(mut self, name: &str, value: AttributeValue) -> Self {
        self.sets.push(format!("#{name} = :{name}"));
        self.values.insert(format!(":{name}"), value);
        self.name(name)
    }

    /// The attribute holds this, unless it holds something already.
    pub(crate) fn set_if_absent(mut self, name: &str, value: AttributeValue) -> Self {
        self.sets.push(format!("#{name} = if_not_exists(#{name}, :{name})"));
        self.values.insert(format!(":{name}"), value);
        self.name(name)
    }

    /// The attribute holds what another one holds.
    pub(crate) fn copy(mut self, name: &str, from: &str) -> Self {
        self.sets.push(format!("#{name} = #{from}"));
        self.name(name).name(from)
    }

    /// The attribute holds this, or is no more.
    pub(crate) fn set_or_remove(self, name: &str, value: Option<AttributeValue>) -> Self {
        match value {
            Some(value) => self.set(name, value),
            None => self.remove(name),
        }
    }

    /// The attribute is no more.
    pub(crate) fn remove(mut self, name: &str) -> Self {
        self.removes.push(format!("#{name}"));
        self.name(name)
    }

    /// An attribute of a map is no more.
    pub(crate) fn remove_within(mut self, map: &str, name: &str) -> Self {
        self.removes.push(format!("#{map}.#{name}"));
        self.name(map).name(name)
    }

    /// The number grows by this; an absent one counts as 0.
    pub(crate) fn add(mut self, name: &str, value: AttributeValue) -> Self {
        self.adds.push(format!("#{name} :{name}Added"));
        self.values.insert(format!(":{name}Added"), value);
        self.name(name)
    }

    /// Only if this holds too. Attributes are named `#attribute` and declared with [`Change::name`].
    pub(crate) fn when(mut self, condition: impl Into<String>) -> Self {
        self.conditions.push(condition.into());
        self
    }

    /// Declares an attribute that a condition names.
    pub(crate) fn name(mut self, name: &str) -> Self {
        self.names.insert(format!("#{name}"), name.to_owned());
        self
    }

    /// Says what a placeholder of a condition stands for.
    pub(crate) fn bind(mut self, placeholder: &str, value: AttributeValue) -> Self {
        self.values.insert(placeholder.to_owned(), value);
        self
    }

    /// The change as a write of that row.
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
