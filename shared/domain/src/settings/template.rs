//! Message templates: messages that the provider has approved for conversations that the business starts.

use std::collections::{BTreeMap, BTreeSet};

use crate::ids::{BusinessAccountId, Ids, TemplateId, WorkspaceId};
use crate::invisible::is_blank;
use crate::settings::line::Provider;
use crate::settings::names::{NameTaken, holder};
use crate::text::{Unfit, within};
use crate::time::Timestamp;
use crate::words::words;

/// A template in a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Requested {
    /// The template's id.
    pub template: TemplateId,
    /// The values that the caller gives.
    pub parameters: Parameters,
}

/// A message template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    /// The template's id.
    pub id: TemplateId,
    /// The owner of the template.
    pub scope: TemplateScope,
    /// The provider of the template.
    pub provider: Provider,
    /// The name at the provider: 1 to 512 lower-case letters, digits and underscores.
    pub name: String,
    /// The language code at the provider, such as `es` or `en_US`.
    pub language: String,
    /// The category that the provider knows; `None` if it is not known.
    pub category: Option<TemplateCategory>,
    /// The variables of the body, in order; at most [`Template::MAX_VARIABLES`], with unique names.
    pub variables: Vec<Variable>,
    /// The accounts for which the provider approved the template; at most [`Template::MAX_APPROVALS`].
    pub approved_by: BTreeSet<BusinessAccountId>,
    /// The provider's last decision for each account; at most [`Template::MAX_DECISIONS`].
    pub decisions: BTreeMap<BusinessAccountId, Decision>,
    /// When the template was created.
    pub created_at: Timestamp,
    /// Increases by one with each change.
    pub version: u64,
}

/// What a template is for. The provider decides it, and may change it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TemplateCategory {
    /// News about something that the customer ordered or asked for.
    Utility,
    /// Offers and everything else.
    Marketing,
    /// Codes for a sign-in.
    Authentication,
}

words!(
    /// The provider's names.
    TemplateCategory { Utility: "UTILITY", Marketing: "MARKETING", Authentication: "AUTHENTICATION" }
);

/// A decision of the provider about a template for an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    /// What was decided.
    pub verdict: Verdict,
    /// When it was decided.
    pub at: Timestamp,
}

/// What the provider decides about a template. Of two decisions at the same time, the later verdict of this list holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// It may be sent.
    Approved,
    /// It may not be sent until it is approved again.
    Paused,
    /// It may not be sent: it was rejected, disabled or deleted.
    Revoked,
}

words!(
    /// The values in the row of a template.
    Verdict { Approved: "APPROVED", Paused: "PAUSED", Revoked: "REVOKED" }
);

impl Verdict {
    /// The verdict of a status that the provider reports. `None` for a status that changes nothing, such as `PENDING`.
    pub fn of_status(status: &str) -> Option<Self> {
        match status {
            "APPROVED" | "REINSTATED" => Some(Self::Approved),
            "PAUSED" => Some(Self::Paused),
            "REJECTED" | "DISABLED" | "PENDING_DELETION" | "DELETED" => Some(Self::Revoked),
            _ => None,
        }
    }
}

/// The owner of a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TemplateScope {
    /// One workspace.
    Workspace(WorkspaceId),
    /// The platform: every workspace can use the template.
    Platform,
}

/// A variable of a template's body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    /// The name that callers use for the value, 1 to 64 letters, digits and underscores.
    pub name: String,
    /// The source of the value.
    pub source: Source,
}

/// The source of a variable's value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// The caller must give the value.
    Caller,
    /// The value comes from the contact who receives the message.
    Contact {
        /// The field.
        field: ContactField,
        /// The value for a contact whose field is empty. If it is absent, the template cannot be sent to such
        /// a contact.
        fallback: Option<ParameterValue>,
    },
}

/// The contact fields that a variable can show.
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

/// The value of a variable: 1 to 1,024 characters, not blank. Its debug output is redacted.
#[derive(Clone, PartialEq, Eq)]
pub struct ParameterValue(String);

impl ParameterValue {
    /// The greatest number of characters in a value.
    pub const MAX: usize = 1_024;

    /// Parses a value.
    pub fn parse(text: &str) -> Result<Self, Unfit> {
        within(text, 1, Self::MAX)?;
        if is_blank(text) {
            return Err(Unfit::Value { reason: "a template's parameter cannot be blank" });
        }
        Ok(Self(text.to_owned()))
    }

    /// The value as given.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for ParameterValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("[ParameterValue]")
    }
}

/// The caller's values, by the names of the template's variables.
pub type Parameters = BTreeMap<String, ParameterValue>;

impl Template {
    /// The greatest number of variables of a template, and of parameters in a request.
    pub const MAX_VARIABLES: usize = 20;
    /// The greatest number of accounts with an approval. It keeps the template's row far below 400 KB.
    pub const MAX_APPROVALS: usize = 250;
    /// The greatest number of decisions that are remembered. Beyond it, the oldest one is forgotten.
    pub const MAX_DECISIONS: usize = 500;
    /// The greatest number of characters in a name.
    pub const MAX_NAME: usize = 512;

    /// Creates a template. Returns an error if a field is invalid.
    pub fn new(wanted: NewTemplate<'_>, ids: &dyn Ids, now: Timestamp) -> Result<Self, TemplateUnfit> {
        wanted.check()?;
        Ok(Self {
            id: TemplateId::generate(ids),
            scope: wanted.scope,
            provider: wanted.provider,
            name: wanted.name.to_owned(),
            language: wanted.language.to_owned(),
            category: wanted.category,
            variables: wanted.variables,
            approved_by: wanted.approved_by,
            decisions: BTreeMap::new(),
            created_at: now,
            version: 1,
        })
    }

    /// The template with an approval for the account. `None` if it has the approval already.
    pub fn approved_for(&self, account: &BusinessAccountId) -> Result<Option<Self>, TemplateUnfit> {
        let mut approved_by = self.approved_by.clone();
        let changed = approved_by.insert(account.clone());
        check_approvals(&approved_by)?;
        Ok(changed.then(|| self.with_approvals(approved_by)))
    }

    /// The template without an approval for the account. `None` if it has none.
    pub fn revoked_for(&self, account: &BusinessAccountId) -> Option<Self> {
        let mut approved_by = self.approved_by.clone();
        approved_by.remove(account).then(|| self.with_approvals(approved_by))
    }

    /// The template after a decision of the provider. `None` if a newer decision for the account is known, or the same
    /// one. What an operator recorded has no time, so each new decision replaces it.
    pub fn decided(
        &self,
        account: &BusinessAccountId,
        decision: Decision,
    ) -> Result<Option<Self>, TemplateUnfit> {
        let order = |decision: &Decision| (decision.at, decision.verdict);
        if self.decisions.get(account).is_some_and(|known| order(known) >= order(&decision)) {
            return Ok(None);
        }
        let mut next = self.clone();
        match decision.verdict {
            Verdict::Approved => next.approved_by.insert(account.clone()),
            Verdict::Paused | Verdict::Revoked => next.approved_by.remove(account),
        };
        check_approvals(&next.approved_by)?;
        next.decisions.insert(account.clone(), decision);
        if next.decisions.len() > Self::MAX_DECISIONS {
            let oldest = next.decisions.iter().min_by_key(|(_, decision)| decision.at);
            let oldest = oldest.map(|(account, _)| account.clone());
            next.decisions.retain(|account, _| Some(account) != oldest.as_ref());
        }
        next.version += 1;
        Ok(Some(next))
    }

    /// The template in another category. `None` if it is in this one.
    pub fn in_category(&self, category: TemplateCategory) -> Option<Self> {
        let next = || Self { category: Some(category), version: self.version + 1, ..self.clone() };
        (self.category != Some(category)).then(next)
    }

    /// The accounts for which the provider paused the template, without those for which an operator approved it since.
    pub fn paused_for(&self) -> impl Iterator<Item = &BusinessAccountId> {
        let paused = self.decisions.iter().filter(|(_, decision)| decision.verdict == Verdict::Paused);
        paused.map(|(account, _)| account).filter(|account| !self.approved_by.contains(*account))
    }

    /// The template with this name at the provider. `None` if it has the name already.
    pub fn renamed(&self, name: &str) -> Result<Option<Self>, TemplateUnfit> {
        check_name(name).map_err(TemplateUnfit::Name)?;
        let renamed = || Self { name: name.to_owned(), version: self.version + 1, ..self.clone() };
        Ok((self.name != name).then(renamed))
    }

    /// Checks that none of the scope's other templates has this template's provider, name and language.
    pub fn check_name(&self, of_scope: &[Self]) -> Result<(), NameTaken> {
        let others = of_scope.iter().filter(|other| {
            other.id != self.id && other.provider == self.provider && other.language == self.language
        });
        let named = others.map(|other| (other.id, other.name.as_str()));
        holder(&self.name, named).map_or(Ok(()), |id| Err(NameTaken::Template(id)))
    }

    fn with_approvals(&self, approved_by: BTreeSet<BusinessAccountId>) -> Self {
        Self { approved_by, version: self.version + 1, ..self.clone() }
    }

    /// The names of the variables that a caller must fill, in the order of the body.
    pub fn caller_parameters(&self) -> impl Iterator<Item = &str> {
        let of_caller = self.variables.iter().filter(|variable| variable.source == Source::Caller);
        of_caller.map(|variable| variable.name.as_str())
    }
}

/// The input of an operator for a new template.
#[derive(Clone, Debug)]
pub struct NewTemplate<'a> {
    /// The owner of the template.
    pub scope: TemplateScope,
    /// The provider of the template.
    pub provider: Provider,
    /// The name at the provider.
    pub name: &'a str,
    /// The language code at the provider.
    pub language: &'a str,
    /// The category, if the operator knows it.
    pub category: Option<TemplateCategory>,
    /// The variables of the body, in order.
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
    /// The greatest number of characters in a name.
    pub const MAX_NAME: usize = 64;
    const PATTERN: &'static str = "^[0-9A-Za-z_]{1,64}$";

    /// Makes a variable with this name. Returns an error if the name is invalid.
    pub fn new(name: &str, source: Source) -> Result<Self, Unfit> {
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        if (1..=Self::MAX_NAME).contains(&name.len()) && name.bytes().all(fits) {
            Ok(Self { name: name.to_owned(), source })
        } else {
            let form = "1 to 64 ASCII letters, digits or underscores, such as first_name";
            Err(Unfit::Shape { pattern: Self::PATTERN, form })
        }
    }
}

fn check_name(name: &str) -> Result<(), Unfit> {
    let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    if (1..=Template::MAX_NAME).contains(&name.len()) && name.bytes().all(fits) {
        Ok(())
    } else {
        let form = "1 to 512 lower-case ASCII letters, digits or underscores, such as order_shipped";
        Err(Unfit::Shape { pattern: "^[a-z0-9_]{1,512}$", form })
    }
}

/// Checks a language code in the provider's form: a language and, optionally, an underscore and a region.
fn check_language(code: &str) -> Result<(), Unfit> {
    let (language, region) = code.split_once('_').map_or((code, None), |(code, region)| (code, Some(region)));
    let is_language =
        matches!(language.len(), 2 | 3) && language.bytes().all(|byte| byte.is_ascii_lowercase());
    let is_region = |region: &str| region.len() == 2 && region.bytes().all(|byte| byte.is_ascii_uppercase());
    if is_language && region.is_none_or(is_region) {
        Ok(())
    } else {
        Err(Unfit::Shape {
            pattern: "^[a-z]{2,3}(_[A-Z]{2})?$",
            form: "a language code, such as es or en_US",
        })
    }
}

fn check_approvals(approved_by: &BTreeSet<BusinessAccountId>) -> Result<(), TemplateUnfit> {
    if approved_by.len() > Template::MAX_APPROVALS {
        return Err(TemplateUnfit::TooManyApprovals);
    }
    Ok(())
}

/// Why a template is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TemplateUnfit {
    /// The name is invalid.
    #[error("the name {0}")]
    Name(Unfit),
    /// The language code is invalid.
    #[error("the language {0}")]
    Language(Unfit),
    /// The template has too many variables.
    #[error("a template has at most {} variables", Template::MAX_VARIABLES)]
    TooManyVariables,
    /// Two variables have the same name.
    #[error("the variable {name} is repeated")]
    VariableTwice {
        /// The repeated name.
        name: String,
    },
    /// The template has too many approvals.
    #[error("a template is approved for at most {} accounts", Template::MAX_APPROVALS)]
    TooManyApprovals,
}

words!(
    /// The names of the API fields.
    ContactField {
        FirstName: "firstName",
        LastName: "lastName",
        Email: "email",
        Cellphone: "cellphone",
    }
);

#[cfg(test)]
mod tests;
