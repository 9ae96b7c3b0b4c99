//! What the provider's list of an account's templates changes here.
//!
//! ```text
//! list -> name stands nowhere -> created
//!      -> name stands here    -> its state for the account, and its components if they are taken from this account
//! end of the list -> stood in an earlier list, and not in this one -> DELETED
//! ```
//!
//! Nothing changes if the list says what is known, so a list can be read any number of times.

use std::collections::{BTreeMap, BTreeSet};

use crate::ids::{BusinessAccountId, Ids, TemplateId};
use crate::settings::line::Provider;
use crate::settings::template::form::{Form, ParameterFormat, Text};
use crate::settings::template::state::{AccountState, SaidBy, TemplateCategory, TemplateStatus};
use crate::settings::template::{Template, TemplateScope, TemplateUnfit};
use crate::time::Timestamp;

/// A template as the provider lists it for an account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// The provider's id of the template.
    pub meta_id: String,
    /// The name.
    pub name: String,
    /// The language code, such as `en_US`.
    pub language: String,
    /// The status. `None` for a word that is not known.
    pub status: Option<TemplateStatus>,
    /// The provider's word for the status, if it is not known.
    pub unknown_status: Option<String>,
    /// The category. `None` for a word that is not known.
    pub category: Option<TemplateCategory>,
    /// The provider's word for how people rate the template.
    pub quality: Option<String>,
    /// Why the template was rejected, in the provider's words.
    pub reason: Option<String>,
    /// The components.
    pub form: Form,
}

/// The name of a template: unique in its scope, and at the provider in its account.
pub type TemplateName = (String, String);

/// A reading of an account's list.
#[derive(Clone, Debug)]
pub struct Reading {
    /// The account.
    pub account: BusinessAccountId,
    /// The moment before the list was asked for.
    pub at: Timestamp,
    /// The scopes in which a template is created that stands in none of the account's scopes.
    pub creates_in: Vec<TemplateScope>,
}

/// What a reading changes about one template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The template as it was. `None` if it is created.
    pub before: Option<Template>,
    /// The template as it is now.
    pub after: Template,
}

/// The kinds of changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ChangeKind {
    /// The template is new here.
    Created,
    /// The template is another one.
    Changed,
    /// The list no longer has it.
    Absent,
}

crate::words::words!(
    /// The words of the console.
    ChangeKind { Created: "CREATED", Changed: "CHANGED", Absent: "ABSENT" }
);

/// A template of the list that cannot be kept here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unkept {
    /// Its name and its language.
    pub name: TemplateName,
    /// The reason.
    pub reason: TemplateUnfit,
}

/// What a part of the list means.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Judged {
    /// The changes.
    pub changes: Vec<Change>,
    /// What cannot be kept.
    pub unkept: Vec<Unkept>,
}

impl Listed {
    /// The name and the language.
    pub fn template_name(&self) -> TemplateName {
        (self.name.clone(), self.language.clone())
    }
}

impl Change {
    /// The kind of the change for this account.
    pub fn kind(&self, account: &BusinessAccountId) -> ChangeKind {
        let deleted = Some(TemplateStatus::Deleted);
        match &self.before {
            None => ChangeKind::Created,
            Some(_) if self.status(account) == deleted && self.previous_status(account) != deleted => {
                ChangeKind::Absent
            }
            Some(_) => ChangeKind::Changed,
        }
    }

    /// The accounts for which the change shows: those whose state differs, or all if the template is new or differs itself.
    pub fn accounts(&self) -> Vec<&BusinessAccountId> {
        let Some(before) = &self.before else { return self.after.states.keys().collect() };
        let is_other = self.is_other();
        let shown = |of: &Template, account: &BusinessAccountId| {
            let state = of.states.get(account);
            let said = state.map(|state| (state.quality.clone(), state.category, state.reason.clone()));
            (of.status(account), said)
        };
        let differs = |account: &&BusinessAccountId| shown(before, account) != shown(&self.after, account);
        self.after.states.keys().filter(|account| is_other || differs(account)).collect()
    }

    /// Whether the change shows: the template is new, its state for an account differs, or it differs itself.
    pub fn shows(&self) -> bool {
        self.is_other() || !self.accounts().is_empty()
    }

    fn is_other(&self) -> bool {
        let said = |of: &Template| (of.form.clone(), of.category, of.sources.clone());
        self.before.as_ref().is_none_or(|before| said(before) != said(&self.after))
    }

    /// The status for this account.
    pub fn status(&self, account: &BusinessAccountId) -> Option<TemplateStatus> {
        self.after.status(account)
    }

    /// The status for this account before the change. `None` if there was none.
    pub fn previous_status(&self, account: &BusinessAccountId) -> Option<TemplateStatus> {
        self.before.as_ref()?.status(account)
    }

    /// What is different: the components, the category, and what the account's state says.
    pub fn differences(&self, account: &BusinessAccountId) -> Vec<&'static str> {
        let Some(before) = &self.before else { return vec![] };
        let (old, new) = (before.states.get(account), self.after.states.get(account));
        let differs = |of: fn(&AccountState) -> Option<&str>| old.and_then(of) != new.and_then(of);
        let rows = [
            ("status", self.previous_status(account) != self.status(account)),
            ("components", before.form != self.after.form),
            ("category", before.category != self.after.category),
            ("quality", differs(|state| state.quality.as_deref())),
            ("reason", differs(|state| state.reason.as_deref())),
            ("shape", differs(|state| state.shape.as_deref())),
            ("metaId", differs(|state| state.meta_id.as_deref())),
        ];
        rows.into_iter().filter(|(_, differs)| *differs).map(|(name, _)| name).collect()
    }
}

impl Reading {
    /// What a part of the list means. `known` are the templates of these names in all scopes of the account.
    pub fn judge(&self, listed: &[Listed], known: &[Template], ids: &dyn Ids, now: Timestamp) -> Judged {
        let mut stand: BTreeMap<(&str, &str), Vec<&Template>> = BTreeMap::new();
        for template in known {
            stand.entry((&template.name, &template.language)).or_default().push(template);
        }
        let (mut judged, mut judged_names) = (Judged::default(), BTreeSet::new());
        for one in listed {
            // The provider repeats no name. If it did, the first one counts.
            if !judged_names.insert((&one.name, &one.language)) {
                continue;
            }
            match stand.get(&(one.name.as_str(), one.language.as_str())) {
                Some(templates) => {
                    for template in templates {
                        judged.add(one, template.as_listed(&self.account, self.at, one), |after| Change {
                            before: Some((*template).clone()),
                            after,
                        });
                    }
                }
                None => {
                    for scope in &self.creates_in {
                        let created = self.created(*scope, one, ids, now).map(Some);
                        judged.add(one, created, |after| Change { before: None, after });
                    }
                }
            }
        }
        judged
    }

    /// What the end of the list means for a template. `seen` are the names of the whole list.
    pub fn absent(&self, template: &Template, seen: &BTreeSet<TemplateName>) -> Option<Change> {
        if seen.contains(&(template.name.clone(), template.language.clone())) {
            return None;
        }
        let known = template.states.get(&self.account)?;
        let was_listed = known.by != SaidBy::Operator || known.meta_id.is_some();
        let is_newer = (self.at, SaidBy::Sync) > (known.at, known.by);
        if !was_listed || !is_newer || known.status == TemplateStatus::Deleted {
            return None;
        }
        let mut after = template.next_at(self.at);
        let state =
            AccountState { status: TemplateStatus::Deleted, at: self.at, by: SaidBy::Sync, ..known.clone() };
        after.states.insert(self.account.clone(), state);
        Some(Change { before: Some(template.clone()), after })
    }

    fn created(
        &self,
        scope: TemplateScope,
        listed: &Listed,
        ids: &dyn Ids,
        now: Timestamp,
    ) -> Result<Template, TemplateUnfit> {
        super::check_name(&listed.name).map_err(TemplateUnfit::Name)?;
        Template::check_language(&listed.language).map_err(TemplateUnfit::Language)?;
        let state = listed.status.map(|status| listed.state(status, self.at, listed.form.shape()));
        Ok(Template {
            id: TemplateId::generate(ids),
            scope,
            provider: Provider::WhatsApp,
            name: listed.name.clone(),
            language: listed.language.clone(),
            category: listed.category,
            form: listed.form.clone(),
            sources: BTreeMap::new(),
            states: state.map(|state| (self.account.clone(), state)).into_iter().collect(),
            taken_from: Some(self.account.clone()),
            created_at: now,
            updated_at: now,
            version: 1,
        })
    }
}

impl Judged {
    fn add(
        &mut self,
        of: &Listed,
        next: Result<Option<Template>, TemplateUnfit>,
        change: impl FnOnce(Template) -> Change,
    ) {
        match next {
            Ok(next) => self.changes.extend(next.map(change)),
            Err(reason) => self.unkept.push(Unkept { name: of.template_name(), reason }),
        }
    }
}

impl Template {
    /// The template after it was listed for an account. `None` if nothing is new.
    pub fn as_listed(
        &self,
        account: &BusinessAccountId,
        at: Timestamp,
        listed: &Listed,
    ) -> Result<Option<Self>, TemplateUnfit> {
        let form = listed.form.with_names_of(&self.form);
        let mut next = self.clone();
        let state = self.listed_state(account, at, listed, form.shape());
        next.states.extend(state.map(|state| (account.clone(), state)));
        super::check_accounts(next.states.len())?;
        if self.takes_components_from(account) {
            next.form = form;
            next.taken_from = Some(account.clone());
            next.category = listed.category.or(self.category);
        }
        let Self { updated_at, version, .. } = self.next_at(at);
        Ok((next != *self).then_some(Self { updated_at, version, ..next }))
    }

    /// Whether every account that had the template has it no more.
    pub fn is_gone(&self) -> bool {
        !self.states.is_empty() && self.states.values().all(|state| state.status == TemplateStatus::Deleted)
    }

    /// Whether the components are this account's: nobody's until the first list, and no longer those of an account that
    /// deleted the template.
    fn takes_components_from(&self, account: &BusinessAccountId) -> bool {
        self.taken_from.as_ref().is_none_or(|from| {
            let is_deleted = |state: &AccountState| state.status == TemplateStatus::Deleted;
            from == account || self.states.get(from).is_none_or(is_deleted)
        })
    }

    /// The state for an account after it was listed. A newer word about the status stays, and so does one that the list
    /// repeats.
    fn listed_state(
        &self,
        account: &BusinessAccountId,
        at: Timestamp,
        listed: &Listed,
        shape: String,
    ) -> Option<AccountState> {
        let known = self.states.get(account);
        let is_newer = known.is_none_or(|known| (at, SaidBy::Sync) > (known.at, known.by));
        let next = match (known, listed.status) {
            (_, Some(status)) if is_newer => listed.state(status, at, shape),
            (None, _) => return None,
            (Some(known), _) => {
                AccountState { meta_id: Some(listed.meta_id.clone()), shape: Some(shape), ..known.clone() }
            }
        };
        let repeats =
            |known: &&AccountState| **known == AccountState { at: known.at, by: known.by, ..next.clone() };
        Some(known.filter(repeats).cloned().unwrap_or(next))
    }
}

impl Listed {
    fn state(&self, status: TemplateStatus, at: Timestamp, shape: String) -> AccountState {
        AccountState {
            status,
            at,
            by: SaidBy::Sync,
            meta_id: Some(self.meta_id.clone()),
            quality: self.quality.clone(),
            category: self.category,
            reason: self.reason.clone(),
            shape: Some(shape),
        }
    }
}

impl Form {
    /// The form whose body has the names of a known body for the same number of places. An operator gave them to the places of a
    /// body whose text was not known, and callers use them.
    fn with_names_of(&self, known: &Self) -> Self {
        let are_places = [self.format, known.format] == [ParameterFormat::Positional; 2];
        let (names, new) = (&self.body.names, &known.body.names);
        if !are_places || names.len() != new.len() || names == new {
            return self.clone();
        }
        let in_braces = |name: &str| {
            let at = names.iter().position(|known| known == name)?;
            Some(format!("{{{{{}}}}}", new[at]))
        };
        Self { body: Text { text: self.body.filled(in_braces), names: new.clone() }, ..self.clone() }
    }
}

#[cfg(test)]
mod tests;
