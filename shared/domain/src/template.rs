//! Message templates: what the provider has approved to be written to somebody who has not written first.

use std::collections::{BTreeMap, BTreeSet};

use crate::contact::Contact;
use crate::ids::{TemplateId, WorkspaceId};
use crate::line::BusinessAccountId;
use crate::text::{Unfit, within};
use crate::time::Timestamp;

/// A WhatsApp template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    /// Its id.
    pub id: TemplateId,
    /// Whose it is.
    pub scope: TemplateScope,
    /// Its name at the provider: lower-case letters, digits and underscores, 1 to 512.
    pub name: String,
    /// Its language at the provider, such as `es` or `en_US`.
    pub language: String,
    /// The variables of its body, in their order; at most [`Template::MAX_VARIABLES`], each name once.
    pub variables: Vec<Variable>,
    /// The accounts for which the provider approved it.
    pub approved_by: BTreeSet<BusinessAccountId>,
    /// When it was made.
    pub created_at: Timestamp,
    /// Grows by one with each change.
    pub version: u64,
}

/// Whose a template is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TemplateScope {
    /// A workspace's own.
    Workspace(WorkspaceId),
    /// Every workspace's.
    Platform,
}

/// A variable of a template's body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    /// The name by which callers give its value, 1 to 64 letters, digits and underscores.
    pub name: String,
    /// Where its value comes from.
    pub source: Source,
}

/// Where a variable's value comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// Only the caller can give it.
    Caller,
    /// From the contact who is written to.
    Contact {
        /// The field.
        field: ContactField,
        /// What stands there for a contact who has none. Without it such a contact cannot be written to.
        fallback: Option<String>,
    },
}

/// The fields of a contact that a variable may show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContactField {
    /// `firstName`
    FirstName,
    /// `lastName`
    LastName,
    /// `email`
    Email,
    /// `cellphone`
    Cellphone,
}

/// A value that a caller gave for a variable: 1 to 1,024 characters. Prints redacted.
#[derive(Clone, PartialEq, Eq)]
pub struct ParameterValue(String);

impl ParameterValue {
    /// Reads a value.
    pub fn parse(text: &str) -> Result<Self, Unfit> {
        within(text, 1, 1_024)?;
        if text.trim().is_empty() {
            return Err(Unfit::Value { reason: "a template's parameter cannot be blank" });
        }
        Ok(Self(text.to_owned()))
    }

    /// The value as it was given.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for ParameterValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("[ParameterValue]")
    }
}

/// What a caller gave for a template, by the names of its variables.
pub type Parameters = BTreeMap<String, ParameterValue>;

impl Template {
    /// The greatest number of variables, and of parameters in a request.
    pub const MAX_VARIABLES: usize = 20;

    /// The names of the variables that only the caller can fill, in the order of the body.
    pub fn caller_parameters(&self) -> impl Iterator<Item = &str> {
        let of_caller = self.variables.iter().filter(|variable| variable.source == Source::Caller);
        of_caller.map(|variable| variable.name.as_str())
    }

    /// The values of the body's variables for one contact, in their order, white space made single spaces as the
    /// provider demands; the name of the first one that has none.
    pub fn filled_for(&self, contact: &Contact, given: &Parameters) -> Result<Vec<String>, String> {
        let value = |variable: &Variable| {
            let value = match &variable.source {
                Source::Caller => given.get(&variable.name).map(|value| value.as_str().to_owned()),
                Source::Contact { field, fallback } => field.of(contact).or_else(|| fallback.clone()),
            };
            let value = value.map(|text| text.split_whitespace().collect::<Vec<_>>().join(" "));
            value.filter(|text| !text.is_empty()).ok_or_else(|| variable.name.clone())
        };
        self.variables.iter().map(value).collect()
    }
}

impl ContactField {
    /// The fields' names in the API.
    pub const NAMES: &'static [&'static str] = &["firstName", "lastName", "email", "cellphone"];

    /// Reads a field's name.
    pub fn parse(name: &str) -> Result<Self, Unfit> {
        match name {
            "firstName" => Ok(Self::FirstName),
            "lastName" => Ok(Self::LastName),
            "email" => Ok(Self::Email),
            "cellphone" => Ok(Self::Cellphone),
            _ => Err(Unfit::NotOneOf { expected: Self::NAMES }),
        }
    }

    /// The field's name in the API.
    pub fn as_str(self) -> &'static str {
        Self::NAMES[self as usize]
    }

    fn of(self, contact: &Contact) -> Option<String> {
        match self {
            Self::FirstName => contact.first_name.as_ref().map(|name| name.as_str().to_owned()),
            Self::LastName => contact.last_name.as_ref().map(|name| name.as_str().to_owned()),
            Self::Email => contact.email.as_ref().map(|email| email.as_str().to_owned()),
            Self::Cellphone => contact.cellphone.as_ref().map(|phone| phone.as_str().to_owned()),
        }
    }
}
