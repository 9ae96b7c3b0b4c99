//! The rows of an erasure: itself, and what it found. The latter are deleted when the erasure is done.

use std::collections::{BTreeMap, BTreeSet};

use aws_sdk_dynamodb::types::AttributeValue;
use domain::{
    Cellphone, ContactId, Email, Erasure, ErasureId, ErasureState, HeldNumber, LeadId, Person, PhoneKey,
    ProviderUserId, Tenure, Timestamp, WorkspaceId,
};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::dynamodb::fields::{self, OfKey, stored};
use crate::dynamodb::item::{Item, SK, key, n, read, row, text, unreadable};
use crate::dynamodb::read::Query;
use crate::dynamodb::write::Write;
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
        Self { pass, kind, id, counts: None }
    }

    fn sort_key(&self) -> String {
        format!("{}#{}#{}", self.pass, self.kind.letter(), self.id)
    }
}

impl Store {
    /// All erasures of a workspace, the oldest first. One round trip for each megabyte.
    pub async fn erasures(&self, workspace: WorkspaceId) -> Result<Vec<Erasure>, StoreError> {
        let rows: Vec<Erasure> = self.partition(Table::Workspaces, keys::erasures(workspace)).await?;
        let of_workspace = |row| Erasure { workspace_id: workspace, ..row };
        let mut erasures: Vec<Erasure> = rows.into_iter().map(of_workspace).collect();
        erasures.sort_by_key(|erasure| (erasure.asked_at, erasure.id));
        Ok(erasures)
    }

    /// Stores the next version of an erasure, or a new one. Returns `false` if another command did. One round
    /// trip.
    pub async fn keep_erasure(&self, erasure: &Erasure) -> Result<bool, StoreError> {
        let row = row(keys::erasure(erasure.workspace_id, erasure.id), "erasure", erasure)?;
        match erasure.version {
            1 => self.put_first(Table::Workspaces, row).await,
            version => self.put_next(Table::Workspaces, row, version - 1).await,
        }
    }

    /// What an erasure found, in the order in which it processes it. One round trip for each megabyte.
    pub async fn targets(&self, of: &Erasure) -> Result<Vec<Target>, StoreError> {
        let pk = keys::erasure_targets(of.workspace_id, of.id);
        let items = self.query_all(Query::of(Table::Workspaces, pk)).await?;
        let mut targets = items.into_iter().map(target).collect::<Result<Vec<_>, _>>()?;
        targets.sort_by_key(|target| (target.pass, target.kind, target.id));
        Ok(targets)
    }

    /// Stores what an erasure found. A target that is stored already stays as it is. One round trip.
    pub async fn add_target(&self, of: &Erasure, target: &Target) -> Result<(), StoreError> {
        let pk = keys::erasure_targets(of.workspace_id, of.id);
        let row = row((pk, target.sort_key()), "erasureTarget", &TargetRow { counts: None })?;
        self.write(Write::put(Table::Workspaces, row).when_absent()).await?;
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
        let pk = keys::erasure_targets(of.workspace_id, of.id);
        let counts = counts.iter().filter(|(_, count)| *count > 0);
        let counts = counts.map(|(kind, count)| ((*kind).to_owned(), n(count))).collect();
        let count = "SET counts = if_not_exists(counts, :counts), kind = :kind";
        let write = Write::update(Table::Workspaces, key((pk, target.sort_key())), count)
            .bind(":counts", AttributeValue::M(counts))
            .bind(":kind", AttributeValue::S("erasureTarget".to_owned()));
        self.write(write).await?;
        Ok(())
    }

    /// Deletes the rows of what an erasure found. One round trip for each target.
    pub async fn drop_targets(&self, of: &Erasure, targets: &[Target]) -> Result<(), StoreError> {
        let pk = keys::erasure_targets(of.workspace_id, of.id);
        for target in targets {
            self.write(Write::delete(Table::Workspaces, key((&pk, target.sort_key())))).await?;
        }
        Ok(())
    }
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
    let row: TargetRow = read(item)?;
    Ok(Target { pass, kind, id, counts: row.counts })
}

/// `W#P#<erasure>` / `<pass>#<kind>#<id>`.
#[derive(Serialize, Deserialize)]
struct TargetRow {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    counts: Option<BTreeMap<String, u64>>,
}

/// `W#P` / erasure id.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Erasure", rename_all = "camelCase")]
struct ErasureRow {
    #[serde(with = "fields::text")]
    id: ErasureId,
    #[serde(skip, default = "OfKey::placeholder")]
    workspace_id: WorkspaceId,
    #[serde(flatten, with = "PersonFields")]
    person: Person,
    digests: BTreeSet<String>,
    #[serde(with = "fields::text")]
    state: ErasureState,
    #[serde(with = "fields::text")]
    asked_at: Timestamp,
    #[serde(with = "fields::optional", default, skip_serializing_if = "Option::is_none")]
    settled_from: Option<Timestamp>,
    #[serde(with = "fields::optional", default, skip_serializing_if = "Option::is_none")]
    done_at: Option<Timestamp>,
    counts: BTreeMap<String, u64>,
    version: u64,
}

/// Only the contacts are left once the erasure is done.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Person", rename_all = "camelCase")]
struct PersonFields {
    #[serde(with = "fields::list")]
    contacts: BTreeSet<ContactId>,
    #[serde(with = "fields::list", default, skip_serializing_if = "BTreeSet::is_empty")]
    numbers: BTreeSet<HeldNumber>,
    #[serde(with = "fields::list", default, skip_serializing_if = "BTreeSet::is_empty")]
    unheld: BTreeSet<Cellphone>,
    #[serde(with = "fields::list", default, skip_serializing_if = "BTreeSet::is_empty")]
    leads: BTreeSet<LeadId>,
    #[serde(with = "fields::list", default, skip_serializing_if = "BTreeSet::is_empty")]
    shared: BTreeSet<PhoneKey>,
    #[serde(with = "fields::list", default, skip_serializing_if = "BTreeSet::is_empty")]
    emails: BTreeSet<Email>,
    #[serde(with = "fields::list", default, skip_serializing_if = "BTreeSet::is_empty")]
    user_ids: BTreeSet<ProviderUserId>,
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

#[derive(Serialize, Deserialize)]
#[serde(remote = "Tenure")]
struct TenureField {
    #[serde(with = "fields::text")]
    from: Timestamp,
    #[serde(with = "fields::optional", default, skip_serializing_if = "Option::is_none")]
    to: Option<Timestamp>,
    #[serde(with = "fields::text")]
    contact: ContactId,
}

stored! { Erasure = ErasureRow, TargetRow = TargetRow, HeldNumber = HeldNumberField }
