//! The rows of erasures and previews: the running job, which is a lane, what it found, and the receipt that stays.
//!
//! A running job never shows a number or an address. What it looks for is encrypted under a key that is derived from the
//! person key, and goes with the job.

use std::collections::{BTreeMap, BTreeSet};

use aws_sdk_dynamodb::types::AttributeValue;
use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use domain::{
    Cellphone, ContactId, Email, Erasure, ErasureId, ErasureState, ExternalId, HeldNumber, LaneId, LeadId,
    Person, PersonJob, PersonKey, PhoneKey, ProviderUserId, Tenure, WorkspaceId,
};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::dynamodb::fields::{self, Stored, stored};
use crate::dynamodb::item::{Item, SK, key, n, read, row, s, text, unreadable};
use crate::dynamodb::read::{Place, Query};
use crate::dynamodb::write::{Write, Wrote};
use crate::lanes::person::{TenureField, erasure, erasure_item, job};
use crate::people::jobs::{LeasedJob, due_job};
use crate::{Store, StoreError, Table, keys};

/// What an erasure found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// The pass that found it: 1 or 2.
    pub pass: u8,
    /// The kind.
    pub kind: TargetKind,
    /// The id.
    pub id: Uuid,
    /// What went with it in this pass, by kind. It is counted before the first of it goes.
    pub counts: Option<BTreeMap<String, u64>>,
    /// Whether the pass has erased it.
    pub is_done: bool,
}

/// The kinds of targets, in the order in which an erasure processes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TargetKind {
    /// A lead.
    Lead,
    /// A conversation.
    Conversation,
    /// A file. It went with its conversation.
    File,
    /// A contact.
    Contact,
    /// The rows under the person's numbers. The id is the erasure's.
    Numbers,
    /// An object of the failure bucket. The id is derived from its key.
    Failure,
    /// The events about a target. The id is the target's.
    Events,
}

impl TargetKind {
    const ALL: [Self; 7] = [
        Self::Lead,
        Self::Conversation,
        Self::File,
        Self::Contact,
        Self::Numbers,
        Self::Failure,
        Self::Events,
    ];

    /// Whether stream records name the ids of this kind.
    pub fn is_in_records(self) -> bool {
        matches!(self, Self::Lead | Self::Conversation | Self::File | Self::Contact)
    }

    fn letter(self) -> &'static str {
        match self {
            Self::Lead => "L",
            Self::Conversation => "C",
            Self::File => "M",
            Self::Contact => "P",
            Self::Numbers => "N",
            Self::Failure => "F",
            Self::Events => "V",
        }
    }
}

impl Target {
    /// A target that is not counted yet.
    pub fn new(pass: u8, kind: TargetKind, id: Uuid) -> Self {
        Self { pass, kind, id, counts: None, is_done: false }
    }

    fn sort_key(&self) -> String {
        format!("{}#{}#{}", self.pass, self.kind.letter(), self.id)
    }
}

impl Store {
    /// Asks for an erasure or a preview. `seen` is what [`Store::erasure`] found. Returns it as it is now: the one that runs,
    /// or the receipt, if it was asked for before. The result of a preview is made anew. `person` is what is known beside
    /// the contacts. One round trip, and one for the person key if it is needed and not in memory.
    pub async fn ask_erasure(
        &self,
        new: &Erasure,
        seen: Option<&Erasure>,
        person: Option<&Person>,
    ) -> Result<Erasure, StoreError> {
        let write = match seen {
            Some(found) if found.state != ErasureState::Found => return Ok(found.clone()),
            Some(found) => {
                let row = self.asked_row(new, person).await?;
                Write::put(Table::Contacts, row).when("version = :seen").bind(":seen", n(found.version))
            }
            None => Write::put(Table::Contacts, self.asked_row(new, person).await?).when_absent(),
        };
        match self.write(write).await? {
            Wrote::Done(_) => Ok(new.clone()),
            // Another request asked at the same time, or the answer of this write was lost.
            Wrote::Refused(Some(found)) => erasure(found),
            Wrote::Refused(None) => Ok(self.erasure(new.workspace_id, new.id).await?.unwrap_or(new.clone())),
        }
    }

    async fn asked_row(&self, new: &Erasure, person: Option<&Person>) -> Result<Item, StoreError> {
        let item = erasure_item(new, &self.ids.next().to_string())?;
        let mut item = due_job(item, LaneId::Person(new.workspace_id, new.id.into()), new.asked_at);
        if let Some(person) = person {
            item.insert(SEALED.to_owned(), self.sealed(new, person).await?);
        }
        Ok(item)
    }

    /// An erasure or a preview: the one that runs, or the receipt (strongly consistent reads). One round trip.
    pub async fn erasure(
        &self,
        workspace: WorkspaceId,
        id: ErasureId,
    ) -> Result<Option<Erasure>, StoreError> {
        let job = Place::of(Table::Contacts, keys::person_job(workspace, id));
        let receipt = Place::of(Table::Workspaces, keys::erasure(workspace, id));
        let mut rows = self.rows_at([&job, &receipt]).await?;
        // Between the receipt and the end of the job, both are there and the same.
        rows.take(&receipt).or_else(|| rows.take(&job)).map(erasure).transpose()
    }

    /// The erasures and previews of a workspace that are not over. One round trip for each megabyte.
    pub async fn running_erasures(&self, workspace: WorkspaceId) -> Result<Vec<Erasure>, StoreError> {
        let mut jobs = self.jobs_of_persons(workspace).await?;
        jobs.retain(|job| !job.is_over());
        Ok(jobs)
    }

    async fn jobs_of_persons(&self, workspace: WorkspaceId) -> Result<Vec<Erasure>, StoreError> {
        let rows = self.query_all(Query::of(Table::Contacts, keys::person_jobs(workspace))).await?;
        let jobs = rows.into_iter().map(job).collect::<Result<Vec<_>, _>>()?;
        Ok(jobs.into_iter().filter_map(PersonJob::erasure).collect())
    }

    /// All erasures and previews of a workspace, the oldest first. One round trip for each megabyte of two tables.
    pub async fn erasures(&self, workspace: WorkspaceId) -> Result<Vec<Erasure>, StoreError> {
        let receipts = self.query_all(Query::of(Table::Workspaces, keys::erasures(workspace))).await?;
        let receipts = receipts.into_iter().map(erasure).collect::<Result<Vec<_>, _>>()?;
        let mut all: BTreeMap<ErasureId, Erasure> =
            self.jobs_of_persons(workspace).await?.into_iter().map(|job| (job.id, job)).collect();
        all.extend(receipts.into_iter().map(|receipt| (receipt.id, receipt)));
        let mut erasures: Vec<Erasure> = all.into_values().collect();
        erasures.sort_by_key(|erasure| (erasure.asked_at, erasure.id));
        Ok(erasures)
    }

    /// What a job knows of its person. One round trip, and one for the person key if it is not in memory.
    pub async fn person_of(&self, of: &Erasure) -> Result<Person, StoreError> {
        let only = || Person { contacts: of.contacts.clone(), ..Person::default() };
        let place = keys::person_job(of.workspace_id, of.id);
        let row = self.get_item(Table::Contacts, place).await?.unwrap_or_default();
        match row.get(SEALED) {
            Some(AttributeValue::B(sealed)) => {
                let key = self.person_key().await?;
                let unreadable = || unreadable(&row, "what it is sealed with is another key");
                open(&key, of, sealed.as_ref()).ok_or_else(unreadable)
            }
            _ => Ok(only()),
        }
    }

    /// Stores the next version of a job, and what is known of the person if that is new. Returns the job as it is stored;
    /// `None` if another visitor holds the lane. One round trip.
    pub async fn keep_erasure(
        &self,
        leased: &LeasedJob,
        seen: &Erasure,
        next: Erasure,
        person: Option<&Person>,
    ) -> Result<Option<Erasure>, StoreError> {
        let request = self.ids.next().to_string();
        let (mut before, mut after) = (erasure_item(seen, "")?, erasure_item(&next, &request)?);
        if let Some(person) = person {
            after.insert(SEALED.to_owned(), self.sealed(&next, person).await?);
        }
        if next.is_over() {
            before.insert(SEALED.to_owned(), s(""));
        }
        let is_kept = self.keep_job(leased.write(&before, &after, seen.version), &request).await?;
        Ok(is_kept.then_some(next))
    }

    /// Stores the receipt of an erasure that is done, and deletes what it found and the job. One round trip for each.
    pub async fn finish_erasure(&self, leased: &LeasedJob, done: &Erasure) -> Result<(), StoreError> {
        let receipt = row(keys::erasure(done.workspace_id, done.id), "erasure", done)?;
        self.write(Write::put(Table::Workspaces, receipt)).await?;
        for target in self.targets(done).await? {
            let row = key((keys::erasure_targets(done.workspace_id, done.id), target.sort_key()));
            self.write(Write::delete(Table::Contacts, row)).await?;
        }
        self.drop_job(leased).await
    }

    /// What an erasure found, in the order in which it processes it. One round trip for each megabyte.
    pub async fn targets(&self, of: &Erasure) -> Result<Vec<Target>, StoreError> {
        let pk = keys::erasure_targets(of.workspace_id, of.id);
        let items = self.query_all(Query::of(Table::Contacts, pk)).await?;
        let mut targets = items.into_iter().map(target).collect::<Result<Vec<_>, _>>()?;
        targets.sort_by_key(|target| (target.pass, target.kind, target.id));
        Ok(targets)
    }

    /// Stores what an erasure found. A target that is stored already stays as it is. One round trip.
    pub async fn add_target(&self, of: &Erasure, target: &Target) -> Result<(), StoreError> {
        let pk = keys::erasure_targets(of.workspace_id, of.id);
        let body = TargetRow { counts: None, is_done: false };
        let row = row((pk, target.sort_key()), "erasureTarget", &body)?;
        self.write(Write::put(Table::Contacts, row).when_absent()).await?;
        Ok(())
    }

    /// Counts what goes with a target, unless it was counted before: what a repeat finds is only the rest. One
    /// round trip.
    pub async fn count_target(
        &self,
        of: &Erasure,
        target: &Target,
        counts: &[(&str, u64)],
    ) -> Result<(), StoreError> {
        let counts = counts.iter().filter(|(_, count)| *count > 0);
        let counts = counts.map(|(kind, count)| ((*kind).to_owned(), n(count))).collect();
        let count = "SET counts = if_not_exists(counts, :counts), kind = :kind";
        let write = target_update(of, target, count);
        self.write(write.bind(":counts", AttributeValue::M(counts))).await?;
        Ok(())
    }

    /// Records that a pass has erased a target. One round trip.
    pub async fn finish_target(&self, of: &Erasure, target: &Target) -> Result<(), StoreError> {
        let write = target_update(of, target, "SET isDone = :done, kind = :kind");
        self.write(write.bind(":done", AttributeValue::Bool(true))).await?;
        Ok(())
    }

    /// What is known of a person, as only the jobs can read it.
    async fn sealed(&self, of: &Erasure, person: &Person) -> Result<AttributeValue, StoreError> {
        let key = self.person_key().await?;
        let nonce = [self.ids.next(), self.ids.next()].map(Uuid::into_bytes).concat();
        let failed = || StoreError::Failed("what a job knows of a person could not be sealed".into());
        let plain =
            serde_json::to_vec(&fields::Outer(person)).map_err(|error| StoreError::Failed(error.into()))?;
        let nonce = &nonce[..NONCE];
        let xnonce = XNonce::try_from(nonce).map_err(|_| failed())?;
        let aad = aad(of);
        let sealed = cipher(&key).encrypt(&xnonce, Payload { msg: &plain, aad: aad.as_bytes() });
        let sealed = [nonce, &sealed.map_err(|_| failed())?].concat();
        Ok(AttributeValue::B(sealed.into()))
    }
}

const SEALED: &str = "sealed";
const NONCE: usize = 24;

fn open(key: &PersonKey, of: &Erasure, bytes: &[u8]) -> Option<Person> {
    let (nonce, sealed) = bytes.split_at_checked(NONCE)?;
    let nonce = XNonce::try_from(nonce).ok()?;
    let aad = aad(of);
    let plain = cipher(key).decrypt(&nonce, Payload { msg: sealed, aad: aad.as_bytes() }).ok()?;
    Person::read(&mut serde_json::Deserializer::from_slice(&plain)).ok()
}

fn aad(of: &Erasure) -> String {
    format!("{}|{}", of.workspace_id, of.id)
}

fn cipher(key: &PersonKey) -> XChaCha20Poly1305 {
    XChaCha20Poly1305::new(&key.sealing_key().into())
}

fn target_update(of: &Erasure, target: &Target, change: &str) -> Write {
    let row = key((keys::erasure_targets(of.workspace_id, of.id), target.sort_key()));
    let kind = AttributeValue::S("erasureTarget".to_owned());
    Write::update(Table::Contacts, row, change).bind(":kind", kind)
}

fn target(item: Item) -> Result<Target, StoreError> {
    let mut parts = text(&item, SK).splitn(3, '#');
    let parsed = (|| {
        let pass = parts.next()?.parse().ok()?;
        let letter = parts.next()?;
        let kind = TargetKind::ALL.into_iter().find(|kind| kind.letter() == letter)?;
        Some((pass, kind, Uuid::try_parse(parts.next()?).ok()?))
    })();
    let (pass, kind, id) = parsed.ok_or_else(|| unreadable(&item, "its key is no target's"))?;
    let TargetRow { counts, is_done } = read(item)?;
    Ok(Target { pass, kind, id, counts, is_done })
}

/// `W#J#<erasure>` / `<pass>#<kind>#<id>`.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct TargetRow {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    counts: Option<BTreeMap<String, u64>>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    is_done: bool,
}

/// What a job looks for. It is only ever stored encrypted.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Person", rename_all = "camelCase")]
struct PersonField {
    #[serde(with = "fields::list")]
    contacts: BTreeSet<ContactId>,
    #[serde(with = "fields::list")]
    numbers: BTreeSet<HeldNumber>,
    #[serde(with = "fields::list")]
    unheld: BTreeSet<Cellphone>,
    #[serde(with = "fields::list")]
    leads: BTreeSet<LeadId>,
    #[serde(with = "fields::list")]
    shared: BTreeSet<PhoneKey>,
    #[serde(with = "fields::list")]
    emails: BTreeSet<Email>,
    #[serde(with = "fields::list")]
    user_ids: BTreeSet<ProviderUserId>,
    #[serde(with = "fields::list", default)]
    external_ids: BTreeSet<ExternalId>,
}

/// A number of the person, and when a contact had it.
#[derive(Serialize, Deserialize)]
#[serde(remote = "HeldNumber")]
struct HeldNumberField {
    #[serde(with = "fields::text")]
    number: Cellphone,
    #[serde(flatten, with = "TenureField")]
    tenure: Tenure,
}

stored! { TargetRow = TargetRow, HeldNumber = HeldNumberField, Person = PersonField }
