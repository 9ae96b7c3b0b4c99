//! Message templates: what the provider has approved to be written to somebody who has not written first.

use std::collections::{BTreeMap, BTreeSet};

use crate::ids::{BusinessAccountId, Ids, TemplateId, WorkspaceId};
use crate::settings::line::Provider;
use crate::text::{Unfit, within};
use crate::time::Timestamp;
use crate::words::words;

/// A template that the caller asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Requested {
    /// The template.
    pub template: TemplateId,
    /// The caller's values.
    pub parameters: Parameters,
}

/// A template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    /// Its id.
    pub id: TemplateId,
    /// Whose it is.
    pub scope: TemplateScope,
    /// The provider who knows it.
    pub provider: Provider,
    /// Its name at the provider: lower-case letters, digits and underscores, 1 to 512.
    pub name: String,
    /// Its language at the provider, such as `es` or `en_US`.
    pub language: String,
    /// The variables of its body, in their order; at most [`Template::MAX_VARIABLES`], each name once.
    pub variables: Vec<Variable>,
    /// The accounts for which the provider approved it.
    /// At most [`Template::MAX_APPROVALS`].
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
        fallback: Option<ParameterValue>,
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

/// A value for a variable: 1 to 1,024 characters, not blank. Prints redacted.
#[derive(Clone, PartialEq, Eq)]
pub struct ParameterValue(String);

impl ParameterValue {
    /// The greatest number of characters.
    pub const MAX: usize = 1_024;

    /// Reads a value.
    pub fn parse(text: &str) -> Result<Self, Unfit> {
        within(text, 1, Self::MAX)?;
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
    /// The greatest number of accounts for which one is approved, so that its row stays far below 400 KB.
    pub const MAX_APPROVALS: usize = 250;
    /// The greatest number of characters of a name.
    pub const MAX_NAME: usize = 512;

    /// A new template, or what is wrong with it.
    pub fn new(wanted: NewTemplate<'_>, ids: &dyn Ids, now: Timestamp) -> Result<Self, TemplateUnfit> {
        wanted.check()?;
        Ok(Self {
            id: TemplateId::generate(ids),
            scope: wanted.scope,
            provider: wanted.provider,
            name: wanted.name.to_owned(),
            language: wanted.language.to_owned(),
            variables: wanted.variables,
            approved_by: wanted.approved_by,
            created_at: now,
            version: 1,
        })
    }

    /// The template once it is approved for the account; `None` when it is already.
    pub fn approved_for(&self, account: &BusinessAccountId) -> Result<Option<Self>, TemplateUnfit> {
        let mut approved_by = self.approved_by.clone();
        let changed = approved_by.insert(account.clone());
        check_approvals(&approved_by)?;
        Ok(changed.then(|| self.with_approvals(approved_by)))
    }

    /// The template once it is no longer approved for the account; `None` when it is not.
    pub fn revoked_for(&self, account: &BusinessAccountId) -> Option<Self> {
        let mut approved_by = self.approved_by.clone();
        approved_by.remove(account).then(|| self.with_approvals(approved_by))
    }

    fn with_approvals(&self, approved_by: BTreeSet<BusinessAccountId>) -> Self {
        Self { approved_by, version: self.version + 1, ..self.clone() }
    }

    /// The names of the variables that only the caller can fill, in the order of the body.
    pub fn caller_parameters(&self) -> impl Iterator<Item = &str> {
        let of_caller = self.variables.iter().filter(|variable| variable.source == Source::Caller);
        of_caller.map(|variable| variable.name.as_str())
    }
}

/// What an operator asks a new template to be.
#[derive(Clone, Debug)]
pub struct NewTemplate<'a> {
    /// Whose it is to be.
    pub scope: TemplateScope,
    /// The provider who knows it.
    pub provider: Provider,
    /// Its name at the provider.
    pub name: &'a str,
    /// Its language at the provider.
    pub language: &'a str,
    /// The variables of its body, in their order.
    pub variables: Vec<Variable>,
    /// The accounts for which the provider approved it.
    pub approved_by: BTreeSet<BusinessAccountId>,
}

impl NewTemplate<'_> {
    fn check(&self) -> Result<(), TemplateUnfit> {
        check_name(self.name).map_err(TemplateUnfit::Name)?;
        check_language(self.language).map_err(TemplateUnfit::Language)?;
        if self.variables.len() > Template::MAX_VARIABLES {
            return Err(TemplateUnfit::TooManyVariables);
        }
        for (at, variable) in self.variables.iter().enumerate() {
            if self.variables[..at].iter().any(|before| before.name == variable.name) {
                return Err(TemplateUnfit::VariableTwice { name: variable.name.clone() });
            }
        }
        check_approvals(&self.approved_by)
    }
}

impl Variable {
    /// The greatest number of characters of a name.
    pub const MAX_NAME: usize = 64;
    const PATTERN: &'static str = "^[0-9A-Za-z_]{1,64}$";

    /// A variable of that name.
    pub fn new(name: &str, source: Source) -> Result<Self, Unfit> {
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        if (1..=Self::MAX_NAME).contains(&name.len()) && name.bytes().all(fits) {
            Ok(Self { name: name.to_owned(), source })
        } else {
            Err(Unfit::Shape { pattern: Self::PATTERN })
        }
    }
}

fn check_name(name: &str) -> Result<(), Unfit> {
    let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    if (1..=Template::MAX_NAME).contains(&name.len()) && name.bytes().all(fits) {
        Ok(())
    } else {
        Err(Unfit::Shape { pattern: "^[a-z0-9_]{1,512}$" })
    }
}

/// A language and, behind an underscore, maybe a region, as the provider spells its codes.
fn check_language(code: &str) -> Result<(), Unfit> {
    let (language, region) = code.split_once('_').map_or((code, None), |(code, region)| (code, Some(region)));
    let is_language =
        matches!(language.len(), 2 | 3) && language.bytes().all(|byte| byte.is_ascii_lowercase());
    let is_region = |region: &str| region.len() == 2 && region.bytes().all(|byte| byte.is_ascii_uppercase());
    if is_language && region.is_none_or(is_region) {
        Ok(())
    } else {
        Err(Unfit::Shape { pattern: "^[a-z]{2,3}(_[A-Z]{2})?$" })
    }
}

fn check_approvals(approved_by: &BTreeSet<BusinessAccountId>) -> Result<(), TemplateUnfit> {
    if approved_by.len() > Template::MAX_APPROVALS {
        return Err(TemplateUnfit::TooManyApprovals);
    }
    Ok(())
}

/// What is wrong with a template that is to be made or approved.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TemplateUnfit {
    /// Its name.
    #[error("the name {0}")]
    Name(Unfit),
    /// Its language.
    #[error("the language {0}")]
    Language(Unfit),
    /// The number of its variables.
    #[error("a template has at most {} variables", Template::MAX_VARIABLES)]
    TooManyVariables,
    /// Two of its variables have one name.
    #[error("the variable {name} is repeated")]
    VariableTwice {
        /// The name.
        name: String,
    },
    /// The number of its approvals.
    #[error("a template is approved for at most {} accounts", Template::MAX_APPROVALS)]
    TooManyApprovals,
}

words!(
    /// The fields' names in the API.
    ContactField {
        FirstName: "firstName",
        LastName: "lastName",
        Email: "email",
        Cellphone: "cellphone",
    }
);

#[cfg(test)]
mod tests;
