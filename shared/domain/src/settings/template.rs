//! Message templates: messages that the provider has approved for conversations that the business starts.

mod filling;
mod form;
mod source;
mod state;
mod sync;

pub use filling::{Accepting, Fault, FaultKind, Filled, Filler, Filling, Shown, TemplateContent};
pub use form::{
    Button, ButtonKind, Card, FileKind, Form, Header, Offer, ParameterFormat, Slot, SlotKind, Text,
};
pub use source::{ContactField, ContactValues, ParameterValue, Parameters, Source, Sources};
pub use state::{AccountState, SaidBy, Sendable, TemplateCategory, TemplateStatus};
pub use sync::{Change, ChangeKind, Judged, Listed, Reading, TemplateName, Unkept};

use std::collections::{BTreeMap, BTreeSet};

use uuid::Uuid;

use crate::ids::{BusinessAccountId, Ids, TemplateId, WorkspaceId};
use crate::settings::line::Provider;
use crate::text::Unfit;
use crate::time::Timestamp;

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
    /// The name at the provider: 1 to 512 lower-case letters, digits and underscores. It is unique in the scope for each
    /// language, and never changes.
    pub name: String,
    /// The language code at the provider, such as `es` or `en_US`.
    pub language: String,
    /// The category that the provider knows; `None` if it is not known.
    pub category: Option<TemplateCategory>,
    /// The components.
    pub form: Form,
    /// The sources of slots. A slot that the form no longer has keeps its source.
    pub sources: Sources,
    /// The state for each account; at most [`Template::MAX_ACCOUNTS`].
    pub states: BTreeMap<BusinessAccountId, AccountState>,
    /// The account from which the components were read. `None` if an operator entered them.
    pub taken_from: Option<BusinessAccountId>,
    /// When the template was created.
    pub created_at: Timestamp,
    /// When the template changed last. For the provider's news, the time that the provider gives.
    pub updated_at: Timestamp,
    /// Increases by one with each change.
    pub version: u64,
}

/// The owner of a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TemplateScope {
    /// One workspace.
    Workspace(WorkspaceId),
    /// The platform: every workspace can use the template.
    Platform,
}

/// A parameter of a body whose text is not known, with its source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    /// The name that callers use for the value, 1 to 64 letters, digits and underscores.
    pub name: String,
    /// The source of the value.
    pub source: Source,
}

impl Template {
    /// The greatest number of parameters of a body.
    pub const MAX_VARIABLES: usize = 20;
    /// The greatest number of parameters in a request, for each template.
    pub const MAX_PARAMETERS: usize = 60;
    /// The greatest number of accounts. It keeps the template's row far below 400 KB.
    pub const MAX_ACCOUNTS: usize = 250;
    /// The greatest number of characters in a name.
    pub const MAX_NAME: usize = 512;

    /// Creates a template. Returns an error if a field is invalid.
    pub fn new(wanted: NewTemplate<'_>, ids: &dyn Ids, now: Timestamp) -> Result<Self, TemplateUnfit> {
        wanted.check()?;
        let approved = AccountState::of(TemplateStatus::Approved, now, SaidBy::Operator);
        Ok(Self {
            id: TemplateId::generate(ids),
            scope: wanted.scope,
            provider: wanted.provider,
            name: wanted.name.to_owned(),
            language: wanted.language.to_owned(),
            category: wanted.category,
            form: wanted.form,
            sources: wanted.sources.into_iter().filter(|(_, source)| *source != Source::Caller).collect(),
            states: wanted.approved_by.into_iter().map(|account| (account, approved.clone())).collect(),
            taken_from: None,
            created_at: now,
            updated_at: now,
            version: 1,
        })
    }

    /// Checks a language code in the provider's form: a language and, optionally, an underscore and a region.
    pub fn check_language(code: &str) -> Result<(), Unfit> {
        let (language, region) =
            code.split_once('_').map_or((code, None), |(code, region)| (code, Some(region)));
        let is_language =
            matches!(language.len(), 2 | 3) && language.bytes().all(|byte| byte.is_ascii_lowercase());
        let is_region =
            |region: &str| region.len() == 2 && region.bytes().all(|byte| byte.is_ascii_uppercase());
        if is_language && region.is_none_or(is_region) {
            Ok(())
        } else {
            let form = "a language code, such as es or en_US";
            Err(Unfit::Shape { pattern: "^[a-z]{2,3}(_[A-Z]{2})?$", form })
        }
    }

    /// Whether a template can have this name in this language.
    pub fn can_be_named(name: &str, language: &str) -> bool {
        check_name(name).is_ok() && Self::check_language(language).is_ok()
    }

    /// The status for an account. `None` if nothing is known about it. One that was deleted is neither unsupported nor a mismatch.
    pub fn status(&self, account: &BusinessAccountId) -> Option<TemplateStatus> {
        let state = self.states.get(account)?;
        let is_other = state.shape.as_ref().is_some_and(|shape| *shape != self.form.shape());
        Some(match state.status {
            TemplateStatus::Deleted => TemplateStatus::Deleted,
            _ if self.form.unsupported.is_some() => TemplateStatus::Unsupported,
            _ if is_other => TemplateStatus::Mismatch,
            status => status,
        })
    }

    /// What the status for an account means for a message.
    pub fn sendable(&self, account: &BusinessAccountId) -> Sendable {
        self.status(account).map_or(Sendable::Never, TemplateStatus::sendable)
    }

    /// The accounts for which the template is in a status that means this.
    pub fn accounts(&self, means: Sendable) -> impl Iterator<Item = &BusinessAccountId> {
        self.states.keys().filter(move |account| self.sendable(account) == means)
    }

    /// The template after an operator said that it is approved for the account, or that it is not. `None` if that is known.
    pub fn said(
        &self,
        account: &BusinessAccountId,
        approved: bool,
        now: Timestamp,
    ) -> Result<Option<Self>, TemplateUnfit> {
        let known = self.states.get(account);
        let means = known.map_or(Sendable::Never, |known| known.status.sendable());
        if means == if approved { Sendable::Now } else { Sendable::Never } {
            return Ok(None);
        }
        let status = if approved { TemplateStatus::Approved } else { TemplateStatus::Rejected };
        let at = known.map_or(now, |known| now.max(known.at));
        self.with_state(account, AccountState::of(status, at, SaidBy::Operator), now).map(Some)
    }

    /// The template after news about its status for an account. `None` if newer news are known, or the same. What is known
    /// besides the status stays, unless the news say otherwise.
    pub fn decided(
        &self,
        account: &BusinessAccountId,
        news: AccountState,
    ) -> Result<Option<Self>, TemplateUnfit> {
        let order = |state: &AccountState| (state.at, state.by, state.status);
        let known = self.states.get(account);
        if known.is_some_and(|known| order(known) >= order(&news)) {
            return Ok(None);
        }
        let (known, at) = (known.cloned(), news.at);
        let known = known.as_ref();
        let next = AccountState {
            meta_id: news.meta_id.or_else(|| known?.meta_id.clone()),
            quality: news.quality.or_else(|| known?.quality.clone()),
            category: news.category.or_else(|| known?.category),
            shape: news.shape.or_else(|| known?.shape.clone()),
            ..news
        };
        self.with_state(account, next, at).map(Some)
    }

    fn with_state(
        &self,
        account: &BusinessAccountId,
        state: AccountState,
        at: Timestamp,
    ) -> Result<Self, TemplateUnfit> {
        let mut next = self.next_at(at);
        next.states.insert(account.clone(), state);
        check_accounts(next.states.len())?;
        Ok(next)
    }

    /// The next version, which changes at this time.
    fn next_at(&self, at: Timestamp) -> Self {
        Self { updated_at: at.max(self.updated_at), version: self.version + 1, ..self.clone() }
    }

    /// The template in another category. `None` if it is in this one.
    pub fn in_category(&self, category: TemplateCategory, at: Timestamp) -> Option<Self> {
        let next = || Self { category: Some(category), ..self.next_at(at) };
        (self.category != Some(category)).then(next)
    }

    /// The template whose slots have these sources. The others keep theirs. `None` if nothing changes.
    pub fn with_sources(&self, sources: &Sources, now: Timestamp) -> Result<Option<Self>, TemplateUnfit> {
        check_sources(&self.form, sources)?;
        let mut next = self.next_at(now);
        next.sources.extend(sources.clone());
        next.sources.retain(|_, source| *source != Source::Caller);
        Ok((next.sources != self.sources).then_some(next))
    }

    /// What events about the template are about, in this workspace: a template of the platform is another entity in each workspace.
    pub fn entity(&self, workspace: WorkspaceId) -> Uuid {
        match self.scope {
            TemplateScope::Workspace(_) => *self.id.as_uuid(),
            TemplateScope::Platform => Uuid::new_v5(self.id.as_uuid(), workspace.as_uuid().as_bytes()),
        }
    }

    /// The source of a slot.
    pub fn source(&self, slot: &str) -> &Source {
        self.sources.get(slot).unwrap_or(&Source::Caller)
    }

    /// The parameters of the body with their sources.
    pub fn variables(&self) -> Vec<Variable> {
        let variable = |name: &String| Variable { name: name.clone(), source: self.source(name).clone() };
        self.form.body.names.iter().map(variable).collect()
    }

    /// The template with a body that takes these values, and nothing else.
    pub fn set_variables(&mut self, variables: Vec<Variable>) {
        (self.form, self.sources) = short_form(variables);
    }

    /// The names of the slots that a caller must fill, in the order of the components.
    pub fn caller_parameters(&self) -> Vec<String> {
        let needed = |slot: &Slot| !slot.kind.is_optional() && *self.source(&slot.name) == Source::Caller;
        self.form.slots().into_iter().filter(needed).map(|slot| slot.name).collect()
    }
}

/// The form of a body that takes these values, and their sources.
pub fn short_form(variables: Vec<Variable>) -> (Form, Sources) {
    let names = variables.iter().map(|variable| variable.name.clone()).collect();
    let sources = variables.into_iter().filter(|variable| variable.source != Source::Caller);
    (Form::of_names(names), sources.map(|variable| (variable.name, variable.source)).collect())
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
    /// The components.
    pub form: Form,
    /// The sources of its slots.
    pub sources: Sources,
    /// The accounts for which the provider approved it.
    pub approved_by: BTreeSet<BusinessAccountId>,
}

impl NewTemplate<'_> {
    fn check(&self) -> Result<(), TemplateUnfit> {
        check_name(self.name).map_err(TemplateUnfit::Name)?;
        Template::check_language(self.language).map_err(TemplateUnfit::Language)?;
        let names = &self.form.body.names;
        if names.len() > Template::MAX_VARIABLES {
            return Err(TemplateUnfit::TooManyVariables);
        }
        if let Some((_, name)) = names.iter().enumerate().find(|(at, name)| names[..*at].contains(name)) {
            return Err(TemplateUnfit::VariableTwice { name: name.clone() });
        }
        check_sources(&self.form, &self.sources)?;
        check_accounts(self.approved_by.len())
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

fn check_sources(form: &Form, sources: &Sources) -> Result<(), TemplateUnfit> {
    let slots = form.slots();
    for (name, source) in sources {
        let unfit = |reason| TemplateUnfit::Source { slot: name.clone(), reason };
        match slots.iter().find(|slot| slot.name == *name) {
            Some(slot) => source.check(slot).map_err(unfit)?,
            None => return Err(TemplateUnfit::NoSlot { slot: name.clone() }),
        }
    }
    Ok(())
}

fn check_accounts(number: usize) -> Result<(), TemplateUnfit> {
    if number > Template::MAX_ACCOUNTS { Err(TemplateUnfit::TooManyAccounts) } else { Ok(()) }
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
    /// The body has too many parameters.
    #[error("the body of a template has at most {} parameters", Template::MAX_VARIABLES)]
    TooManyVariables,
    /// Two variables have the same name.
    #[error("the variable {name} is repeated")]
    VariableTwice {
        /// The repeated name.
        name: String,
    },
    /// A source is for a slot that the template does not have.
    #[error("the template has no place {slot}")]
    NoSlot {
        /// The name.
        slot: String,
    },
    /// A slot cannot have this source.
    #[error("the source of {slot} {reason}")]
    Source {
        /// The name of the slot.
        slot: String,
        /// The reason.
        reason: Unfit,
    },
    /// The template is known for too many accounts.
    #[error("a template is known for at most {} accounts", Template::MAX_ACCOUNTS)]
    TooManyAccounts,
}

#[cfg(test)]
mod tests;
