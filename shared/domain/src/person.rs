//! Persons: what belongs to one, and the erasure of one.
//!
//! ```text
//! ERASING --first pass--> SETTLING --second pass, 15 minutes later--> DONE
//! ```
//!
//! The first pass erases what it finds. Requests and visits that began before it may still write rows of the
//! person. When the second pass begins, all of them have ended, so it finds everything that they wrote.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use uuid::Uuid;

use crate::contact::address::ProviderUserId;
use crate::conversation::Conversation;
use crate::encoding::digest;
use crate::ids::{ContactId, ErasureId, WorkspaceId};
use crate::lead::Lead;
use crate::message::{Content, Message};
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
    /// The phone numbers.
    pub cellphones: BTreeSet<Cellphone>,
    /// The e-mail addresses.
    pub emails: BTreeSet<Email>,
    /// The ids at the provider, of which an opt-out may be known.
    pub user_ids: BTreeSet<ProviderUserId>,
}

impl Person {
    /// Whether a lead is the person's.
    pub fn has_lead(&self, lead: &Lead) -> bool {
        let of_lead = lead.cellphone.key();
        self.contacts.contains(&lead.contact) || self.phone_keys().any(|key| key == of_lead)
    }

    fn phone_keys(&self) -> impl Iterator<Item = PhoneKey> {
        self.cellphones.iter().map(Cellphone::key)
    }

    /// One number of each of the person's phones: rows under a number are the same for all its written forms.
    pub fn phones(&self) -> impl Iterator<Item = &Cellphone> {
        let by_key: BTreeMap<PhoneKey, &Cellphone> =
            self.cellphones.iter().map(|number| (number.key(), number)).collect();
        by_key.into_values()
    }

    /// The texts in which rows, bodies and records may name the person: the numbers in every written form, the addresses
    /// in lower case, and the ids at the provider.
    pub fn texts(&self) -> impl Iterator<Item = String> {
        let numbers = self.phone_keys().flat_map(|key| key.forms()).map(|digits| format!("+{digits}"));
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
        let cellphones = self.phone_keys().map(|key| digest(workspace, key.as_str()));
        let emails = self.emails.iter().map(|email| digest(workspace, email.key().as_str()));
        let user_ids = self.user_ids.iter().map(|user_id| digest(workspace, user_id.as_str()));
        cellphones.chain(emails).chain(user_ids).collect()
    }

    /// Whether the two are one person.
    pub fn meets(&self, other: &Self) -> bool {
        !self.contacts.is_disjoint(&other.contacts)
            || self.phone_keys().any(|key| other.phone_keys().any(|of| of == key))
            || !self.user_ids.is_disjoint(&other.user_ids)
            || self.emails.iter().any(|email| other.emails.iter().any(|of| of.same_as(email)))
    }

    /// Both together.
    pub fn and(mut self, other: &Self) -> Self {
        self.contacts.extend(&other.contacts);
        self.cellphones.extend(other.cellphones.iter().cloned());
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

    /// Whether it erases, or erased, this person.
    pub fn is_of(&self, person: &Person) -> bool {
        self.person.meets(person) || !self.digests.is_disjoint(&person.digests(self.workspace_id))
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
