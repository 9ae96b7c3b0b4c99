//! What a tenant knows about its own requests, and what its customers did.

use std::collections::{BTreeMap, BTreeSet};

use domain::Timestamp;
use domain::choices::Choice;
use tokio::time::Instant;

use crate::edits::{Edit, Edits};
use crate::phones::Phone;
use crate::register::Register;

/// What a tenant and its customers did, and what they were told.
#[derive(Clone, Default)]
pub(crate) struct Ledger {
    /// The conversations that requests created.
    pub(crate) conversations: Vec<String>,
    /// The messages that were accepted: the text of each, its id and its conversation.
    pub(crate) messages: BTreeMap<String, (String, String)>,
    /// The texts of all messages that were posted, with the number of their requests.
    pub(crate) posted: BTreeMap<String, u64>,
    /// The files that were prepared, by their ids.
    pub(crate) files: BTreeMap<String, File>,
    /// The files of the messages that were posted with files, by their texts.
    pub(crate) attached: BTreeMap<String, Vec<String>>,
    /// The names of conversations that were posted, and the id of each that was accepted.
    pub(crate) opened: BTreeMap<String, Option<String>>,
    /// The leads that were accepted: the id of each, and its number.
    pub(crate) leads: BTreeMap<String, String>,
    /// The texts that customers sent.
    pub(crate) inbound: Vec<String>,
    /// The choices of customers about templates: the number, the second and the choice.
    pub(crate) choices: Vec<(String, i64, Choice)>,
    /// The changes of settings that operators made.
    pub(crate) edits: BTreeMap<Edit, Edits>,
    /// Customers who moved to another number.
    pub(crate) moved: Vec<String>,
    /// The changes that were accepted: the type of their event, and a field with its new value, which is unique.
    pub(crate) changes: Vec<(&'static str, &'static str, String)>,
    /// The attributes that operators created, by their ids.
    pub(crate) definitions: BTreeMap<String, Definition>,
    /// The users that operators created, by their ids.
    pub(crate) agents: BTreeMap<String, Agent>,
    /// What contacts have as attributes, by contact and attribute: the content, or the id of a CLOSED value.
    pub(crate) contents: BTreeMap<(String, String), Register>,
    /// The times when the workspace was disabled.
    pub(crate) closures: Vec<Closure>,
    /// The endpoints that operators created, the newest last.
    pub(crate) extras: Vec<Extra>,
    /// The keys and sessions that the tenant made by the management API.
    pub(crate) credentials: Vec<Credential>,
    /// The ends of keys with all sessions that began with them, by the keys' ids.
    pub(crate) ended: BTreeMap<String, Instant>,
    /// The endpoints that the tenant made by the management API.
    pub(crate) hooks: Vec<Hook>,
    /// The person whom the operator may erase.
    pub(crate) person: Person,
    /// The merge that the tenant asked for.
    pub(crate) merged: Option<Merged>,
    /// The customers whose numbers have two written forms.
    pub(crate) customers: Vec<Customer>,
}

/// Most changes of a workspace's version by a request or a command of unknown outcome: it tries so often.
const TRIES: usize = 20;

impl Ledger {
    /// A request or a command may change the version of the workspace, and nobody learns how often.
    pub(crate) fn may_change_workspace(&mut self) {
        self.edits.entry(Edit::Workspace).or_default().unknown += TRIES;
    }

    /// Whether contacts may have become one.
    pub(crate) fn has_merges(&self) -> bool {
        self.merged.is_some() || !self.customers.is_empty()
    }

    /// Nothing is expected any more of the person with this number.
    pub(crate) fn forget(&mut self, number: &str) {
        self.person.is_erased = true;
        for file in &self.person.files {
            self.files.remove(file);
        }
        let of_person = |word: &String| self.person.words.contains(word);
        self.posted.retain(|text, _| !of_person(text));
        self.messages.retain(|text, _| !of_person(text));
        self.attached.retain(|text, _| !of_person(text));
        self.opened.retain(|name, _| !of_person(name));
        self.inbound.retain(|text| !of_person(text));
        self.changes.retain(|(_, _, value)| !of_person(value));
        self.leads.retain(|_, of| of != number);
    }
}

/// A time when a workspace may be disabled, from the operator's command on.
#[derive(Clone, Debug, Default)]
pub(crate) struct Closure {
    /// When it was certainly disabled.
    pub(crate) closed: Option<Instant>,
    /// When the operator asked to enable it.
    pub(crate) opens: Option<Instant>,
    /// When it was certainly enabled.
    pub(crate) opened: Option<Instant>,
}

/// An endpoint beside the one that every tenant has.
#[derive(Clone, Debug, Default)]
pub(crate) struct Extra {
    pub(crate) id: String,
    pub(crate) url: String,
    /// When it was certainly there. `None` if nobody learned of that.
    pub(crate) created: Option<Timestamp>,
    /// When it was certainly gone.
    pub(crate) deleted: Option<Instant>,
}

/// A key or a session that the tenant made by the management API.
#[derive(Clone, Debug)]
pub(crate) struct Credential {
    pub(crate) id: String,
    pub(crate) secret: String,
    /// The program's key with which it began: itself, or `None` for the key that every tenant has.
    pub(crate) root: Option<String>,
    pub(crate) is_session: bool,
    /// Whether somebody asked to end it, or it ends by itself.
    pub(crate) may_end: bool,
    /// When it was certainly ended.
    pub(crate) ended: Option<Instant>,
}

/// An endpoint that the tenant made by the management API.
#[derive(Clone, Debug)]
pub(crate) struct Hook {
    pub(crate) id: String,
    /// The present URL last.
    pub(crate) urls: Vec<String>,
    /// When it was certainly gone.
    pub(crate) deleted: Option<Instant>,
    /// Whether the last rotation of its secret was answered.
    pub(crate) knows_next: bool,
}

/// A person whom the operator may erase.
#[derive(Clone, Debug, Default)]
pub(crate) struct Person {
    /// Texts that only data of the person have.
    pub(crate) words: Vec<String>,
    pub(crate) files: Vec<String>,
    pub(crate) conversation: Option<String>,
    pub(crate) contact: Option<String>,
    /// The contact who had the number before, and its conversation.
    pub(crate) former: Vec<String>,
    /// Whether the operator began to erase the person.
    pub(crate) is_erased: bool,
}

/// A merge that a tenant asked for.
#[derive(Clone, Debug)]
pub(crate) struct Merged {
    /// The contact that stays, and the one that became part of it.
    pub(crate) ids: [String; 2],
    /// The conversations of both.
    pub(crate) conversations: BTreeSet<String>,
}

/// A customer whose number has two written forms.
#[derive(Clone, Debug)]
pub(crate) struct Customer {
    pub(crate) phone: Phone,
    pub(crate) user: Option<String>,
    /// Since when the customer has the first phone. Somebody else may have had it before.
    pub(crate) since: Instant,
    /// The phone that the customer gave up.
    pub(crate) left: Option<Phone>,
    /// Whether messages name the user id only.
    pub(crate) hides: bool,
    /// Whether no message ever named the user id only.
    pub(crate) is_shown: bool,
    /// What the customer wrote, in order.
    pub(crate) said: Vec<Said>,
    /// When the customer wrote last, in seconds.
    pub(crate) last: i64,
    /// Whether the customer ever chose about marketing only.
    pub(crate) chose: bool,
    /// The conversations that the tenant opened with the customer.
    pub(crate) conversations: Vec<String>,
    /// Whether one contact must have all that the customer wrote: WhatsApp named all ids together, and nothing came while
    /// they were somebody else's.
    pub(crate) is_one: bool,
}

/// Something that a customer wrote.
#[derive(Clone, Debug)]
pub(crate) struct Said {
    pub(crate) text: String,
    /// The conversation of the message that it answers, if the service knew both by then.
    pub(crate) into: Option<String>,
}

/// A custom attribute.
#[derive(Clone, Debug, Default)]
pub(crate) struct Definition {
    pub(crate) is_closed: bool,
    pub(crate) key_name: Register,
    /// The texts of its values, by their ids.
    pub(crate) values: BTreeMap<String, Register>,
    /// Whether an operator asked to give it another name.
    pub(crate) was_renamed: bool,
    /// Whether an operator asked to archive it.
    pub(crate) was_archived: bool,
}

/// An internal user.
#[derive(Clone, Debug, Default)]
pub(crate) struct Agent {
    pub(crate) email: String,
    pub(crate) first_name: Register,
    /// Whether an operator asked to disable them.
    pub(crate) was_disabled: bool,
}

/// A file that a program prepared.
#[derive(Clone, Debug)]
pub(crate) struct File {
    pub(crate) size: u64,
    /// The limit of its type.
    pub(crate) most: u64,
    pub(crate) digest: String,
    pub(crate) is_uploaded: bool,
    /// Whether it is for one message only.
    pub(crate) is_private: bool,
}

impl File {
    /// Whether messages may refer to it.
    pub(crate) fn is_there(&self) -> bool {
        self.is_uploaded && self.size <= self.most
    }
}
