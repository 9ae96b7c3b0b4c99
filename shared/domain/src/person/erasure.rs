//! The erasure of a person, and the preview of one: jobs of the service.
//!
//! ```text
//! ASKED -> FINDING -> ERASING -> SETTLING -> FINDING -> ERASING -> DONE        preview: ASKED -> FINDING -> FOUND
//! ```
//!
//! The first pass erases what it finds. Requests and visits that began before it may still write rows of the
//! person. When the second pass begins, all of them have ended, so it finds everything that they wrote.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use uuid::Uuid;

use crate::contact::address::ProviderUserId;
use crate::ids::{ContactId, ErasureId, LeadId, WorkspaceId};
use crate::person::Person;
use crate::person::times::Tenure;
use crate::person_key::{MacKind, PersonKey};
use crate::text::Email;
use crate::time::Timestamp;
use crate::words::words;

/// The namespace of the ids of erasures.
const ERASURES: Uuid = Uuid::from_u128(0x5b0e_97c4_2d18_4f63_a6f1_38d2_c07a_49e5);

/// The state of an erasure or a preview.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErasureState {
    /// Nothing has begun.
    Asked,
    /// A pass looks for what belongs to the person.
    Finding,
    /// A pass erases what was found.
    Erasing,
    /// The first pass is done, and requests that began before may still write.
    Settling,
    /// Nothing of the person is left.
    Done,
    /// A preview is done.
    Found,
}

words!(
    /// The names of the states.
    ErasureState {
        Asked: "ASKED",
        Finding: "FINDING",
        Erasing: "ERASING",
        Settling: "SETTLING",
        Done: "DONE",
        Found: "FOUND",
    }
);

/// The erasure of a person, or the preview of one. Once it is done, it is the receipt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Erasure {
    /// The id.
    pub id: ErasureId,
    /// The workspace.
    pub workspace_id: WorkspaceId,
    /// Whether nothing is erased, and only counted.
    pub is_preview: bool,
    /// The contacts.
    pub contacts: BTreeSet<ContactId>,
    /// The MACs of the person's numbers, addresses and ids ([`PersonKey::mac`]).
    pub macs: BTreeSet<String>,
    /// The state.
    pub state: ErasureState,
    /// The number of the pass: 1, and 2 once the first has ended.
    pub pass: u8,
    /// When it was asked for.
    pub asked_at: Timestamp,
    /// Who asked: the id of an API key, or `operator`.
    pub asked_by: String,
    /// When the first pass ended.
    pub settled_from: Option<Timestamp>,
    /// When the erasure was done.
    pub done_at: Option<Timestamp>,
    /// The number of rows, objects and records that went, by kind.
    pub counts: BTreeMap<String, u64>,
    /// The key of an object of the failure bucket that cannot be read. The erasure waits until it can.
    pub waits_for: Option<String>,
    /// What a preview found.
    pub preview: Option<Preview>,
    /// When a preview is deleted.
    pub kept_until: Option<Timestamp>,
    /// Increases by one with each change.
    pub version: u64,
}

/// What a preview found. It has ids, times and counts, and no number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Preview {
    /// Each contact that goes.
    pub contacts: Vec<ContactPreview>,
    /// What goes, by kind.
    pub counts: BTreeMap<String, u64>,
    /// Leads from times in which nobody is known to have had one of the numbers. They stay unless they are named.
    pub nobodys_leads: BTreeSet<LeadId>,
}

/// What a preview found of a contact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContactPreview {
    /// The contact.
    pub contact: ContactId,
    /// What goes with it, by kind.
    pub counts: BTreeMap<String, u64>,
    /// When it had each of its numbers.
    pub numbers: Vec<Tenure>,
    /// When others had one of them. They stay unless they are named.
    pub others: Vec<Tenure>,
}

impl Erasure {
    /// The time between the passes. It outlasts every invocation: Lambda ends each within 15 minutes.
    pub const SETTLES: Duration = Duration::from_mins(15);
    /// How long the result of a preview is kept.
    pub const PREVIEW_KEPT: Duration = Duration::from_secs(24 * 3_600);

    /// A new erasure, or a preview, of these contacts. A repeat has the same id.
    pub fn of_contacts(
        contacts: BTreeSet<ContactId>,
        workspace_id: WorkspaceId,
        is_preview: bool,
        asked_by: impl Into<String>,
        now: Timestamp,
    ) -> Self {
        let names = contacts.iter().map(ToString::to_string).collect();
        Self::named(names, contacts, workspace_id, is_preview, asked_by.into(), now)
    }

    /// The same of a person of whom more is named than contacts. `leads` are those that were found for a number without a
    /// contact: if the number has others later, that is another erasure.
    pub fn of_person(
        person: &Person,
        leads: &BTreeSet<LeadId>,
        key: &PersonKey,
        workspace_id: WorkspaceId,
        is_preview: bool,
        asked_by: impl Into<String>,
        now: Timestamp,
    ) -> Self {
        let contacts = person.contacts.iter().map(ToString::to_string);
        let leads: BTreeSet<&LeadId> = person.leads.iter().chain(leads).collect();
        let leads = leads.into_iter().map(|lead| format!("lead {lead}"));
        let unheld = Person { unheld: person.unheld.clone(), ..Person::default() };
        let names = contacts.chain(leads).chain(unheld.macs(workspace_id, key)).collect();
        let contacts = person.contacts.clone();
        Self::named(names, contacts, workspace_id, is_preview, asked_by.into(), now)
    }

    fn named(
        names: Vec<String>,
        contacts: BTreeSet<ContactId>,
        workspace_id: WorkspaceId,
        is_preview: bool,
        asked_by: String,
        now: Timestamp,
    ) -> Self {
        let kind = if is_preview { "preview" } else { "erasure" };
        let name = format!("{kind}|{workspace_id}|{}", names.join("|"));
        Self {
            id: ErasureId::from_uuid(Uuid::new_v5(&ERASURES, name.as_bytes())),
            workspace_id,
            is_preview,
            contacts,
            macs: BTreeSet::new(),
            state: ErasureState::Asked,
            pass: 1,
            asked_at: now,
            asked_by,
            settled_from: None,
            done_at: None,
            counts: BTreeMap::new(),
            waits_for: None,
            preview: None,
            kept_until: None,
            version: 1,
        }
    }

    /// Whether nothing more happens to it.
    pub fn is_over(&self) -> bool {
        matches!(self.state, ErasureState::Done | ErasureState::Found)
    }

    /// When the second pass may begin if the passes are `settles` apart.
    pub fn second_pass_at(&self, settles: Duration) -> Timestamp {
        self.settled_from.unwrap_or(self.asked_at).plus(settles)
    }

    /// The job when a pass begins.
    #[must_use]
    pub fn finding(&self) -> Self {
        let pass = if self.state == ErasureState::Settling { 2 } else { 1 };
        Self { state: ErasureState::Finding, pass, ..self.next() }
    }

    /// The job after the person was found. The MACs of what is no longer known of the person stay.
    #[must_use]
    pub fn erasing(&self, person: &Person, key: &PersonKey) -> Self {
        let macs = self.macs.iter().cloned().chain(person.macs(self.workspace_id, key)).collect();
        let contacts = person.contacts.clone();
        Self { state: ErasureState::Erasing, macs, contacts, ..self.next() }
    }

    /// The erasure after the end of the pass in which it is, with the counts of both passes.
    #[must_use]
    pub fn passed(&self, counts: BTreeMap<String, u64>, now: Timestamp) -> Self {
        let next = Self { counts, waits_for: None, ..self.next() };
        match self.pass {
            1 => Self { state: ErasureState::Settling, settled_from: Some(now), ..next },
            _ => Self { state: ErasureState::Done, done_at: Some(now), ..next },
        }
    }

    /// The preview with what it found.
    #[must_use]
    pub fn found(&self, preview: Preview, now: Timestamp) -> Self {
        let kept_until = Some(now.plus(Self::PREVIEW_KEPT));
        let state = ErasureState::Found;
        Self { state, preview: Some(preview), done_at: Some(now), kept_until, ..self.next() }
    }

    /// The job while it waits for an object, or no longer does.
    #[must_use]
    pub fn waiting_for(&self, key: Option<String>) -> Self {
        Self { waits_for: key, ..self.next() }
    }

    fn next(&self) -> Self {
        Self { version: self.version + 1, ..self.clone() }
    }
}

impl Person {
    /// The MACs by which a finished erasure recognises the person's numbers, addresses and ids. Nobody can tell from them
    /// who it was without the key of the deployment.
    pub fn macs(&self, workspace: WorkspaceId, key: &PersonKey) -> BTreeSet<String> {
        let mac = |identity: &str| key.mac(MacKind::Receipt, workspace, identity);
        let numbers = Self::by_phone(self.all_numbers()).into_keys().map(|phone| mac(phone.as_str()));
        let emails = self.emails.iter().map(|email| mac(Email::key(email).as_str()));
        // No number and no address has a space.
        let user_ids = self.user_ids.iter().map(|id| mac(&format!("user {}", ProviderUserId::as_str(id))));
        numbers.chain(emails).chain(user_ids).collect()
    }
}
