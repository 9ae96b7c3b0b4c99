//! Persons: what belongs to one.

pub mod erasure;
pub mod job;
pub mod merge;
pub mod times;

use std::collections::{BTreeMap, BTreeSet};

use crate::contact::address::ProviderUserId;
use crate::conversation::Conversation;
use crate::ids::{ContactId, LeadId};
use crate::lead::Lead;
use crate::message::{Content, Message};
use crate::person::times::{HeldNumber, Tenure, contact_of};
use crate::phone::PhoneKey;
use crate::text::{Cellphone, Email, ExternalId};
use crate::time::Timestamp;

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
    /// The ids in the tenant's own system. They are chosen by the tenant and may be as short as `1`, so no text is searched
    /// for them.
    pub external_ids: BTreeSet<ExternalId>,
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

    /// Both together.
    pub fn and(mut self, other: &Self) -> Self {
        self.contacts.extend(&other.contacts);
        self.numbers.extend(other.numbers.iter().cloned());
        self.unheld.extend(other.unheld.iter().cloned());
        self.leads.extend(&other.leads);
        self.shared.extend(other.shared.iter().cloned());
        self.emails.extend(other.emails.iter().cloned());
        self.user_ids.extend(other.user_ids.iter().cloned());
        self.external_ids.extend(other.external_ids.iter().cloned());
        self
    }
}

#[cfg(test)]
mod tests;
