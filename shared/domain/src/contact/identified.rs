//! Which contact a customer is of whom the provider names a number, a user id, or both, and what the contact learns from it.
//!
//! | Contact with the number | Contact with the user id | Then |
//! |---|---|---|
//! | - | - | a new contact |
//! | B | - | B, which learns the user id |
//! | - | A | A, which learns the number |
//! | A | A | A |
//! | B | A | B without another user id: both are one person. Otherwise nothing proves it |

use crate::contact::Contact;
use crate::contact::address::Reached;
use crate::contact::reached::Move;
use crate::ids::BusinessAccountId;
use crate::time::Timestamp;

/// What the provider says about a customer.
#[derive(Clone, Copy, Debug)]
pub struct Word<'a> {
    /// The ids that it names.
    pub reached: &'a Reached,
    /// The account that the user id is for.
    pub account: &'a BusinessAccountId,
    /// When the ids were the customer's: the time of the message, or of the answer.
    pub at: Timestamp,
}

/// Which contact the customer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Identified<'a> {
    /// None yet.
    Nobody,
    /// This one.
    One(&'a Contact),
    /// This one had the user id before one of both moved. Who has the number now says nothing, and nothing is learnt.
    Before(&'a Contact),
    /// Both: the provider has proved that they are one person.
    Same {
        /// The one with the number that the provider names. Tenants know people by number, so it stays.
        survivor: &'a Contact,
        /// The other one.
        merged: &'a Contact,
    },
    /// The one with the user id, which never changes hands. Nothing proves that the other one, which has the number, is the
    /// same person.
    Apart {
        /// The customer.
        is: &'a Contact,
        /// The contact with the number.
        other: &'a Contact,
    },
}

/// A contact after what the provider said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Learnt {
    /// The contact.
    pub contact: Contact,
    /// Whether the user id is another one than the contact had for the account. WhatsApp makes a new id only with a new
    /// number, so somebody else may have the contact's number now.
    pub is_another_user: bool,
}

impl Word<'_> {
    /// Whether the contact has moved since: the ids were the customer's before.
    fn is_before_move_of(&self, contact: &Contact) -> bool {
        contact.moved_at.is_some_and(|moved| moved >= self.at)
    }
}

impl<'a> Identified<'a> {
    /// The customer, given the contacts that have the number and the user id.
    pub fn of(word: &Word<'_>, number: Option<&'a Contact>, user: Option<&'a Contact>) -> Self {
        let (survivor, merged) = match (number, user) {
            (None, None) => return Self::Nobody,
            (Some(one), None) | (None, Some(one)) => return Self::One(one),
            (Some(number), Some(user)) if number.id == user.id => return Self::One(user),
            (Some(number), Some(user)) => (number, user),
        };
        if word.is_before_move_of(survivor) || word.is_before_move_of(merged) {
            return Self::Before(merged);
        }
        let (known, own) = (survivor.user_ids.of(word.account), merged.user_ids.of(word.account));
        // Two contacts with different user ids of one account are two users. An answer may name an id of the first while the
        // second was dialled.
        let is_proved = known.is_none_or(|known| {
            word.reached.user_id.as_ref() == Some(known) && own.is_none_or(|own| own == known)
        });
        match is_proved {
            true => Self::Same { survivor, merged },
            false => Self::Apart { is: merged, other: survivor },
        }
    }

    /// The same after the provider accepted a message to a contact. What it names is the number and the user id of whoever
    /// is reached there.
    pub fn of_answer(
        word: &Word<'_>,
        dialled: &'a Contact,
        number: Option<&'a Contact>,
        user: Option<&'a Contact>,
    ) -> Self {
        let is_other = |contact: &&Contact| contact.id != dialled.id;
        match (number.filter(is_other), user.filter(is_other)) {
            (Some(other), _) => Self::of(word, Some(other), Some(dialled)),
            (None, Some(other)) if dialled.cellphone.is_some() => Self::of(word, Some(dialled), Some(other)),
            (None, _) => Self::One(dialled),
        }
    }
}

impl<'a> Identified<'a> {
    /// The same after a contact's customer moved to a number or a user id that `holder` has. The holder is the customer if it has
    /// the new user id, or if it has had its number only since the move: the customer wrote from the new number first.
    pub fn of_move(moving: &'a Contact, to: &Move<'_>, holder: &'a Contact) -> Self {
        let has_user = to.to.user_id.as_ref().is_some_and(|id| holder.user_ids.has(id));
        match has_user || holder.has_number_since() >= to.at {
            true => Self::Same { survivor: holder, merged: moving },
            false => Self::Apart { is: moving, other: holder },
        }
    }
}

impl Contact {
    /// The contact after what the provider said about its customer. `None` if it says nothing new, or from before the
    /// customer moved. A number of a contact without one becomes its number, as a new version. Another number than the
    /// contact's becomes the one under which the provider knows it. Ids alone are no new version.
    pub fn learns(&self, word: &Word<'_>, now: Timestamp) -> Option<Learnt> {
        if word.is_before_move_of(self) {
            return None;
        }
        let known = self.user_ids.of(word.account);
        let id = word.reached.user_id.as_ref();
        let is_another_user = id.is_some_and(|id| known.is_some() && !self.user_ids.has(id));
        let user_ids = id.map_or(self.user_ids.clone(), |id| self.user_ids.replaced(known, word.account, id));
        let moved_at = if is_another_user { Some(word.at) } else { self.moved_at };
        let contact = self.with_number(word.reached);
        let contact = Self { user_ids, moved_at, ..contact }.with_time_of_number(self, now);
        let contact = match contact.cellphone == self.cellphone {
            true => contact,
            false => {
                Self { updated_at: self.updated_at.next_change(now), version: self.version + 1, ..contact }
            }
        };
        (contact != *self).then_some(Learnt { contact, is_another_user })
    }

    fn with_number(&self, reached: &Reached) -> Self {
        let Some(wa_id) = &reached.wa_id else { return self.clone() };
        match (&self.cellphone, wa_id.cellphone()) {
            (None, Some(number)) => {
                let wa_id = self.wa_id.clone().filter(|wa_id| wa_id.key() != number.key());
                Self { cellphone: Some(number), wa_id, ..self.clone() }
            }
            _ if self.phone_keys().any(|key| key == wa_id.key()) => self.clone(),
            _ => Self { wa_id: Some(wa_id.clone()), ..self.clone() },
        }
    }
}

#[cfg(test)]
mod tests;
