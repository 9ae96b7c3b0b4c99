//! Customers' choices about templates: out, or in again, of all templates or of those that advertise.
//!
//! The provider repeats its webhooks for days and in any order. So the choice that was made last holds, whatever comes
//! last, and of two choices of the same moment it is the opt-out. Each scope has a choice of its own.

use std::collections::{BTreeMap, BTreeSet};

use uuid::Uuid;

use crate::contact::Contact;
use crate::contact::address::{Address, ProviderUserId, Reached, WaId};
use crate::ids::{ChannelId, ContactId, WorkspaceId};
use crate::person_key::{MacKind, PersonKey};
use crate::sending::PartError;
use crate::settings::template::TemplateCategory;
use crate::text::{Cellphone, Unfit};
use crate::time::Timestamp;
use crate::words::words;

/// The namespace of the ids of opt-outs without a contact.
const OPT_OUTS: Uuid = Uuid::from_u128(0x6be1_04c9_72fa_4d38_8f05_c3a9_1e67_b2d4);

/// A choice about templates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Choice {
    /// No templates.
    Out,
    /// Templates again.
    In,
}

words!(
    /// The values of the row's attribute.
    Choice { Out: "OUT", In: "IN" }
);

/// Who made a choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ChoiceSource {
    /// The business: an operator with the console, or the tenant by API.
    Operator,
    /// The customer, in the settings of the provider's app.
    Provider,
    /// The customer, with a keyword in a conversation.
    Keyword,
    /// The customer, with a tap on a button or a row of a list that is a keyword.
    Button,
}

words!(
    /// The values of the row's attribute and of the payload.
    ChoiceSource { Operator: "OPERATOR", Provider: "PROVIDER", Keyword: "KEYWORD", Button: "BUTTON" }
);

/// The number or the user id of the person who chose.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Chooser {
    /// A phone number.
    Number(Cellphone),
    /// The provider's user id of a person.
    User(ProviderUserId),
}

impl Chooser {
    /// The ids of a contact's person. The choices of each are the same.
    pub fn all_of(contact: &Contact) -> Vec<Self> {
        let known_as = contact.wa_id.as_ref().and_then(WaId::cellphone);
        let numbers = contact.cellphone.iter().cloned().chain(known_as).map(Self::Number);
        numbers.chain(contact.user_ids.ids().cloned().map(Self::User)).collect()
    }

    /// The ids that the provider named.
    pub fn named(reached: &Reached) -> Vec<Self> {
        let number = reached.cellphone().map(Self::Number);
        number.into_iter().chain(reached.user_id.clone().map(Self::User)).collect()
    }

    /// Whether both are one id: two forms of a number are.
    pub fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Number(one), Self::Number(other)) => one.key() == other.key(),
            (Self::User(one), Self::User(other)) => one == other,
            _ => false,
        }
    }

    /// The key under which the choice is kept: the id of the person key, and the MAC of the number or user id. So the
    /// choice stays in force after the number itself was erased, and nobody can read the number from it.
    pub fn digest(&self, key: &PersonKey, workspace: WorkspaceId) -> String {
        let identity = match self {
            Self::Number(number) => number.key().as_str().to_owned(),
            // No number has a space.
            Self::User(user) => format!("user {}", user.as_str()),
        };
        format!("{}.{}", key.id(), key.mac(MacKind::Consent, workspace, &identity))
    }
}

impl From<&Address> for Chooser {
    fn from(address: &Address) -> Self {
        match address {
            Address::Number(number) => Self::Number(number.clone()),
            Address::User(user) => Self::User(user.clone()),
        }
    }
}

/// The ids of a person, with the keys under which their choices are kept.
#[derive(Clone, Debug)]
pub struct Choosers {
    workspace: WorkspaceId,
    contact: Option<ContactId>,
    ids: Vec<(Option<Chooser>, String)>,
}

impl Choosers {
    /// These ids of a person, each once. `contact` is the person's contact, if there is one.
    pub fn new(
        key: &PersonKey,
        workspace: WorkspaceId,
        ids: impl IntoIterator<Item = Chooser>,
        contact: Option<ContactId>,
    ) -> Self {
        let mut all: Vec<(Option<Chooser>, String)> = vec![];
        for id in ids {
            let digest = id.digest(key, workspace);
            // Two forms of a number are one id.
            if all.iter().all(|(_, known)| *known != digest) {
                all.push((Some(id), digest));
            }
        }
        Self { workspace, contact, ids: all }
    }

    /// An erased person, of whom only this key is left.
    pub fn erased(workspace: WorkspaceId, digest: String) -> Self {
        Self { workspace, contact: None, ids: vec![(None, digest)] }
    }

    /// The workspace.
    pub fn workspace(&self) -> WorkspaceId {
        self.workspace
    }

    /// The keys of the choices, in the order of the ids.
    pub fn digests(&self) -> impl Iterator<Item = &str> {
        self.ids.iter().map(|(_, digest)| digest.as_str())
    }
}

impl From<&Cellphone> for Chooser {
    fn from(number: &Cellphone) -> Self {
        Self::Number(number.clone())
    }
}

impl From<&ProviderUserId> for Chooser {
    fn from(user: &ProviderUserId) -> Self {
        Self::User(user.clone())
    }
}

/// The templates that a choice covers.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ChoiceScope {
    /// All templates.
    All,
    /// Templates that advertise.
    Marketing,
    /// Templates that advertise, from one line: the provider's preference names the line.
    Line(ChannelId),
}

impl ChoiceScope {
    /// The value of the payload: a preference for a line is one about marketing.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::All => "ALL",
            Self::Marketing | Self::Line(_) => "MARKETING",
        }
    }

    /// The line, if the choice covers one line only.
    pub fn line(&self) -> Option<&ChannelId> {
        match self {
            Self::Line(line) => Some(line),
            Self::All | Self::Marketing => None,
        }
    }
}

/// A choice as it was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chosen {
    /// What was chosen.
    pub choice: Choice,
    /// What the choice covers.
    pub scopes: BTreeSet<ChoiceScope>,
    /// Who made the choice.
    pub source: ChoiceSource,
    /// When it was made.
    pub at: Timestamp,
}

/// The choice that holds for a scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held {
    /// What was chosen.
    pub choice: Choice,
    /// Who made the choice.
    pub source: ChoiceSource,
    /// When it was made, for the first time.
    pub since: Timestamp,
    /// When it was made, for the last time.
    pub latest: Timestamp,
    /// Whether another row of the person makes the event of this choice.
    pub is_beside: bool,
}

impl Held {
    /// Whether the person opted out.
    pub fn is_out(&self) -> bool {
        self.choice == Choice::Out
    }

    /// What holds after a choice, given what held `before`. `None` if that stays as it is. A choice from the future
    /// counts as made now, and an operator's as made after what held.
    fn after(before: Option<&Self>, chosen: &Chosen, now: Timestamp) -> Option<Self> {
        let is_same = before.is_some_and(|before| before.choice == chosen.choice);
        let at = match before {
            // An operator changes what holds, so this is the later choice.
            Some(before) if chosen.source == ChoiceSource::Operator && !is_same => {
                before.latest.next_change(now)
            }
            _ => chosen.at.min(now),
        };
        let counts = before.is_none_or(|before| {
            at > before.latest || (at == before.latest && !is_same && chosen.choice == Choice::Out)
        });
        match before {
            _ if !counts => None,
            Some(before) if is_same => Some(Self { latest: at, ..*before }),
            _ => {
                let Chosen { choice, source, .. } = *chosen;
                Some(Self { choice, source, since: at, latest: at, is_beside: false })
            }
        }
    }
}

/// The choices that hold for a number or a user id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choices {
    /// The workspace.
    pub workspace_id: WorkspaceId,
    /// [`Chooser::digest`].
    pub digest: String,
    /// Whose choices they are; `None` once the person was erased.
    pub chooser: Option<Chooser>,
    /// The person's contact, if there was one.
    pub contact: Option<ContactId>,
    /// The choice of each scope that the person chose about.
    pub scopes: BTreeMap<ChoiceScope, Held>,
    /// When the service recorded the last change.
    pub updated_at: Timestamp,
    /// Increases by one with each change.
    pub version: u64,
}

impl Choices {
    /// The form of the keys under which choices are kept.
    const DIGEST: &'static str = r"^[0-9a-f]{1,64}\.[0-9a-f]{64}$";

    /// A text as the key of a choice: [`Chooser::digest`].
    pub fn parse_digest(text: &str) -> Result<String, Unfit> {
        let is_hex = |text: &str| text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        let fits = text.split_once('.').is_some_and(|(key, mac)| {
            (1..=64).contains(&key.len()) && mac.len() == 64 && is_hex(key) && is_hex(mac)
        });
        let shape = Unfit::Shape { pattern: Self::DIGEST, form: "the id of an opt-out" };
        if fits { Ok(text.to_owned()) } else { Err(shape) }
    }

    /// Whether the business can take the opt-out back: not the preference for one line, which is the customer's word to the
    /// provider.
    pub fn is_out_of_templates(&self) -> bool {
        self.is_out_of(&ChoiceScope::All) || self.is_out_of(&ChoiceScope::Marketing)
    }

    /// The greatest number of lines with a choice of their own. A choice about a further line covers all lines.
    pub const MAX_LINES: usize = 60;

    /// The choice of a scope that holds for a person: of what is kept for each of the ids, the one that was made last.
    pub fn latest<'a>(kept: impl IntoIterator<Item = &'a Self>, scope: &ChoiceScope) -> Option<&'a Held> {
        let held = kept.into_iter().filter_map(|kept| kept.scopes.get(scope));
        held.max_by_key(|held| (held.latest, held.is_out()))
    }

    /// Why a person with these choices gets no template of this category from this line; `None` if the person gets it. A
    /// category that is not known counts as marketing. `kept` are the choices of each of the person's ids.
    pub fn refusal(
        kept: &[Self],
        category: Option<TemplateCategory>,
        line: Option<&ChannelId>,
    ) -> Option<&'static str> {
        let is_out = |scope| Self::latest(kept, &scope).is_some_and(Held::is_out);
        let of_marketing = || {
            is_out(ChoiceScope::Marketing)
                || line.cloned().is_some_and(|line| is_out(ChoiceScope::Line(line)))
        };
        if is_out(ChoiceScope::All) {
            return Some(PartError::OPTED_OUT);
        }
        let is_marketing = category.is_none_or(|category| category == TemplateCategory::Marketing);
        (is_marketing && of_marketing()).then_some(PartError::OPTED_OUT_MARKETING)
    }

    /// What is to be kept for each of a person's ids after a choice, given what was kept for each of them: the same
    /// choices for all. Those that stay as they are, are among them. Empty if nothing was chosen.
    ///
    /// If a choice is another one than that of any of the ids, exactly one of the rows makes the event: the first that
    /// changes its choice, or the first of all if there was none. An id that is kept for the first time beside others
    /// makes none, because the choice of the others was told.
    pub fn of_person(
        before: &[Option<Self>],
        person: &Choosers,
        chosen: &Chosen,
        now: Timestamp,
    ) -> Vec<Self> {
        Self::same_for_all(before, person, Some(chosen), now)
    }

    /// What is to be kept for each of these ids once they are those of one person: of the choices of each, the one that
    /// was made last. Empty if nothing is kept for any of them.
    pub fn joined(before: &[Option<Self>], person: &Choosers, now: Timestamp) -> Vec<Self> {
        Self::same_for_all(before, person, None, now)
    }

    fn same_for_all(
        before: &[Option<Self>],
        person: &Choosers,
        chosen: Option<&Chosen>,
        now: Timestamp,
    ) -> Vec<Self> {
        let of_choice = chosen.iter().flat_map(|chosen| &chosen.scopes);
        let chosen_scopes: BTreeSet<ChoiceScope> =
            of_choice.map(|scope| Self::within_limit(before, scope)).collect();
        let mut scopes = chosen_scopes.clone();
        scopes.extend(before.iter().flatten().flat_map(|kept| kept.scopes.keys().cloned()));
        let mut next: Vec<Self> = person
            .ids
            .iter()
            .zip(before)
            .map(|(id, before)| before.clone().unwrap_or_else(|| Self::blank(person.workspace, id, now)))
            .collect();
        for scope in scopes {
            let held = Self::latest(before.iter().flatten(), &scope);
            let chosen = chosen.filter(|_| chosen_scopes.contains(&scope));
            let after = chosen.and_then(|chosen| Held::after(held, chosen, now));
            let Some(holds) = after.as_ref().or(held) else { continue };
            let kept = |row: &Option<Self>| row.as_ref().and_then(|row| row.scopes.get(&scope).copied());
            let differs = |row: &Option<Self>| kept(row).is_some_and(|kept| kept.choice != holds.choice);
            let teller = if held.is_none() { Some(0) } else { before.iter().position(differs) };
            for (n, row) in next.iter_mut().enumerate() {
                let of_row = match kept(&before[n]) {
                    Some(kept) if kept.choice == holds.choice => {
                        Held { latest: kept.latest.max(holds.latest), ..kept }
                    }
                    _ => Held { is_beside: teller != Some(n), ..*holds },
                };
                row.scopes.insert(scope.clone(), of_row);
            }
        }
        if next.iter().all(|row| row.scopes.is_empty()) {
            return vec![];
        }
        let known = before.iter().flatten().find_map(|kept| kept.contact);
        for (row, before) in next.iter_mut().zip(before) {
            if before.as_ref().map(|before| &before.scopes) != Some(&row.scopes) {
                row.contact = person.contact.or(row.contact).or(known);
                (row.updated_at, row.version) = (now, row.version + 1);
            }
        }
        next
    }

    fn blank(workspace: WorkspaceId, (chooser, digest): &(Option<Chooser>, String), now: Timestamp) -> Self {
        Self {
            workspace_id: workspace,
            digest: digest.clone(),
            chooser: chooser.clone(),
            contact: None,
            scopes: BTreeMap::new(),
            updated_at: now,
            version: 0,
        }
    }

    /// The scope, or that of all lines if as many lines as are kept have a choice of their own.
    fn within_limit(before: &[Option<Self>], scope: &ChoiceScope) -> ChoiceScope {
        let mut lines: BTreeSet<&ChoiceScope> = before
            .iter()
            .flatten()
            .flat_map(|kept| kept.scopes.keys())
            .filter(|kept| kept.line().is_some())
            .collect();
        lines.insert(scope);
        match scope.line().is_some() && lines.len() > Self::MAX_LINES {
            true => ChoiceScope::Marketing,
            false => scope.clone(),
        }
    }

    /// The scopes whose choices make an event in a row that is now this one, and was `before`: those whose choice is
    /// another one, unless another row of the person makes the event. A choice to get templates that no opt-out preceded
    /// changes nothing.
    pub fn events_after(&self, before: Option<&Self>) -> impl Iterator<Item = (&ChoiceScope, &Held)> {
        let was_out =
            move |scope| before.and_then(|before| before.scopes.get(scope)).is_some_and(Held::is_out);
        self.scopes.iter().filter(move |(scope, held)| !held.is_beside && held.is_out() != was_out(scope))
    }

    /// Whether the person opted out of this scope.
    pub fn is_out_of(&self, scope: &ChoiceScope) -> bool {
        self.scopes.get(scope).is_some_and(Held::is_out)
    }

    /// The scopes of which the person opted out, with the choice.
    pub fn outs(&self) -> impl Iterator<Item = (&ChoiceScope, &Held)> {
        self.scopes.iter().filter(|(_, held)| held.is_out())
    }

    /// What the choices' events are about.
    pub fn subject(&self) -> Uuid {
        match self.contact {
            Some(contact) => *contact.as_uuid(),
            None => self.entity(&ChoiceScope::All),
        }
    }

    /// The id from which the ids of the events about a scope are derived. It is the same for all choices of a number or
    /// a user id.
    pub fn entity(&self, scope: &ChoiceScope) -> Uuid {
        let line = scope.line().map_or("", ChannelId::as_str);
        let name = format!("{}|{}|{}|{line}", self.workspace_id, self.digest, scope.as_str());
        Uuid::new_v5(&OPT_OUTS, name.as_bytes())
    }
}

#[cfg(test)]
pub(crate) use tests::opted_out_of;

#[cfg(test)]
mod tests;
