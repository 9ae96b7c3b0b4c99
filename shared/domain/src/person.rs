//! Persons: what belongs to one, and the erasure of one.
//!
//! ```text
//! ERASING --first pass--> SETTLING --second pass, 15 minutes later--> DONE
//! ```
//!
//! The first pass erases what it finds. Requests and visits that began before it may still write rows of the
//! person. When the second pass begins, all of them have ended, so it finds everything that they wrote.

pub mod times;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use uuid::Uuid;

use crate::contact::address::ProviderUserId;
use crate::conversation::Conversation;
use crate::encoding::digest;
use crate::ids::{ContactId, ErasureId, LeadId, WorkspaceId};
use crate::lead::Lead;
use crate::message::{Content, Message};
use crate::person::times::{HeldNumber, Tenure, contact_of};
use crate::phone::PhoneKey;
use crate::text::{Cellphone, Email};
use crate::time::Timestamp;
use crate::words::words;

/// The namespace of the ids of erasures.
const ERASURES: Uuid = Uuid::from_u128(0x5b0e_97c4_2d18_4f63_a6f1_38d2_c07a_49e5);

/// Who a person is: the ids, numbers and addresses under which rows of the person are kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Person {
    /// The contacts.
    pub contacts: BTreeSet<ContactId>,
    /// The phone numbers of the contacts, each with its time.
    pub numbers: BTreeSet<HeldNumber>,
    /// The phone numbers by which somebody without a contact was named.
    pub unheld: BTreeSet<Cellphone>,
    /// Leads that belong to nobody, and were named one by one.
    pub leads: BTreeSet<LeadId>,
    /// The keys of the numbers that others have or had, too. Such a number says nothing about who is meant.
    pub shared: BTreeSet<PhoneKey>,
    /// The e-mail addresses.
    pub emails: BTreeSet<Email>,
    /// The ids at the provider, of which an opt-out may be known.
    pub user_ids: BTreeSet<ProviderUserId>,
}

impl Person {
    /// Whether a lead is the person's, given the times in which contacts are known to have had its number.
    pub fn has_lead(&self, lead: &Lead, tenures: &[Tenure]) -> bool {
        let key = lead.cellphone.key();
        let own = self.numbers.iter().filter(|held| held.number.key() == key).map(|held| held.tenure);
        let tenures: BTreeSet<Tenure> = own.chain(tenures.iter().copied()).collect();
        match contact_of(lead, &tenures.into_iter().collect::<Vec<_>>()) {
            Some(contact) => self.contacts.contains(&contact),
            None => self.leads.contains(&lead.id) || self.unheld.iter().any(|unheld| unheld.key() == key),
        }
    }

    /// The numbers that are nobody else's: those that the person has now, and those that the person gave up and nobody
    /// else has or had. What is kept under the number itself goes with them.
    pub fn own_numbers(&self) -> impl Iterator<Item = &Cellphone> {
        let is_own =
            |held: &&HeldNumber| held.tenure.to.is_none() || !self.shared.contains(&held.number.key());
        self.numbers.iter().filter(is_own).map(|held| &held.number).chain(&self.unheld)
    }

    /// The numbers that are the person's now.
    pub fn numbers_now(&self) -> impl Iterator<Item = &Cellphone> {
        let held = self.numbers.iter().filter(|held| held.tenure.to.is_none());
        held.map(|held| &held.number).chain(&self.unheld)
    }

    /// All numbers that are or were the person's.
    pub fn all_numbers(&self) -> impl Iterator<Item = &Cellphone> {
        self.numbers.iter().map(|held| &held.number).chain(&self.unheld)
    }

    /// One of these numbers for each phone: rows under a number are the same for all its written forms.
    pub fn by_phone<'a>(numbers: impl Iterator<Item = &'a Cellphone>) -> BTreeMap<PhoneKey, &'a Cellphone> {
        numbers.map(|number| (number.key(), number)).collect()
    }

    /// The texts in which rows, bodies and records may name the person: the numbers in every written form unless others
    /// have or had them, the addresses in lower case, and the ids at the provider.
    pub fn texts(&self) -> impl Iterator<Item = String> {
        let keys = Self::by_phone(self.all_numbers()).into_keys().filter(|key| !self.shared.contains(key));
        let numbers = keys.flat_map(|key| key.forms()).map(|digits| format!("+{digits}"));
        let addresses = self.emails.iter().map(Email::canonical);
        let user_ids = self.user_ids.iter().map(|id| id.as_str().to_owned());
        numbers.chain(addresses).chain(user_ids)
    }

    /// Whether nobody else takes part as a customer. Such a conversation goes with the person.
    pub fn is_alone_in(&self, conversation: &Conversation) -> bool {
        conversation.externals.iter().all(|external| self.contacts.contains(&external.contact))
    }

    /// Whether a message of a conversation with other customers goes with the person: the person wrote it, it was
    /// addressed to the person, or it is an internal note from before the erasure, which may be about the person.
    pub fn has_message(&self, message: &Message, asked_at: Timestamp) -> bool {
        if let Content::Received(received) = &message.content {
            return self.contacts.contains(&received.contact);
        }
        match message.recipients.is_empty() {
            true => message.created_at <= asked_at,
            false => message.recipients.iter().any(|to| self.contacts.contains(&to.contact)),
        }
    }

    /// The conversation without the person and without its name, which may name the person. `None` if the
    /// person does not take part and the conversation has no name.
    pub fn left(&self, conversation: &Conversation, now: Timestamp) -> Option<Conversation> {
        let mut next = conversation.clone();
        next.externals.retain(|external| !self.contacts.contains(&external.contact));
        next.name = None;
        if next == *conversation {
            return None;
        }
        next.updated_at = now;
        next.version += 1;
        Some(next)
    }

    /// The hashes by which a finished erasure recognises the person. They are salted by the workspace only:
    /// who knows a number can check whether its person was erased.
    pub fn digests(&self, workspace: WorkspaceId) -> BTreeSet<String> {
        let cellphones = Self::by_phone(self.all_numbers()).into_keys();
        let cellphones = cellphones.map(|key| digest(workspace, key.as_str()));
        let emails = self.emails.iter().map(|email| digest(workspace, email.key().as_str()));
        let user_ids = self.user_ids.iter().map(|user_id| digest(workspace, user_id.as_str()));
        cellphones.chain(emails).chain(user_ids).collect()
    }

    /// Both together.
    pub fn and(mut self, other: &Self) -> Self {
        self.contacts.extend(&other.contacts);
        self.numbers.extend(other.numbers.iter().cloned());
        self.unheld.extend(other.unheld.iter().cloned());
        self.leads.extend(&other.leads);
        self.shared.extend(other.shared.iter().cloned());
        self.emails.extend(other.emails.iter().cloned());
        self.user_ids.extend(other.user_ids.iter().cloned());
        self
    }
}

/// The state of an erasure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErasureState {
    /// The first pass has begun.
    Erasing,
    /// The first pass is done, and requests that began before may still write.
    Settling,
    /// Nothing of the person is left.
    Done,
}

words!(
    /// The names of the states.
    ErasureState {
        Erasing: "ERASING",
        Settling: "SETTLING",
        Done: "DONE",
    }
);

/// The erasure of a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Erasure {
    /// The id.
    pub id: ErasureId,
    /// The workspace.
    pub workspace_id: WorkspaceId,
    /// The person. Once the erasure is done, only the ids of the contacts are left.
    pub person: Person,
    /// The hashes of the person's numbers and addresses.
    pub digests: BTreeSet<String>,
    /// The state.
    pub state: ErasureState,
    /// When the operator asked for it.
    pub asked_at: Timestamp,
    /// When the first pass ended.
    pub settled_from: Option<Timestamp>,
    /// When the erasure was done.
    pub done_at: Option<Timestamp>,
    /// The number of rows, objects and records that went, by kind.
    pub counts: BTreeMap<String, u64>,
    /// Increases by one with each change.
    pub version: u64,
}

impl Erasure {
    /// The time between the passes. It outlasts every invocation: Lambda ends each within 15 minutes.
    pub const SETTLES: Duration = Duration::from_mins(15);

    /// A new erasure of this person. The same request at the same moment has the same id.
    pub fn of(person: Person, workspace_id: WorkspaceId, now: Timestamp) -> Self {
        let digests = person.digests(workspace_id);
        let mut name = format!("{workspace_id}|{}", now.as_millis());
        for part in person.contacts.iter().map(ToString::to_string).chain(digests.iter().cloned()) {
            name = format!("{name}|{part}");
        }
        Self {
            id: ErasureId::from_uuid(Uuid::new_v5(&ERASURES, name.as_bytes())),
            workspace_id,
            person,
            digests,
            state: ErasureState::Erasing,
            asked_at: now,
            settled_from: None,
            done_at: None,
            counts: BTreeMap::new(),
            version: 1,
        }
    }

    /// Whether it erases, or erased, this person. Who has no contact is recognised by the number or the address.
    pub fn is_of(&self, person: &Person) -> bool {
        match person.contacts.is_empty() {
            true => !self.digests.is_disjoint(&person.digests(self.workspace_id)),
            false => !self.person.contacts.is_disjoint(&person.contacts),
        }
    }

    /// When the second pass may begin; `None` before the end of the first.
    pub fn second_pass_at(&self) -> Option<Timestamp> {
        self.settled_from.map(|from| from.plus(Self::SETTLES))
    }

    /// The number of the pass that the erasure is in: 1, or 2 once the first has ended.
    pub fn pass(&self) -> u8 {
        if self.state == ErasureState::Erasing { 1 } else { 2 }
    }

    /// The erasure of a person of whom more is known now.
    #[must_use]
    pub fn knowing(&self, person: Person) -> Self {
        let digests = self.digests.iter().cloned().chain(person.digests(self.workspace_id)).collect();
        Self { person, digests, version: self.version + 1, ..self.clone() }
    }

    /// The erasure after the end of the pass in which it is, with the counts of both passes. After the second,
    /// only hashes, ids and counts are left.
    #[must_use]
    pub fn passed(&self, counts: BTreeMap<String, u64>, now: Timestamp) -> Self {
        let next = Self { counts, version: self.version + 1, ..self.clone() };
        match self.state {
            ErasureState::Erasing => Self { state: ErasureState::Settling, settled_from: Some(now), ..next },
            ErasureState::Settling | ErasureState::Done => {
                let contacts = self.person.contacts.clone();
                let person = Person { contacts, ..Person::default() };
                Self { state: ErasureState::Done, done_at: Some(now), person, ..next }
            }
        }
    }
}

#[cfg(test)]
mod tests;
