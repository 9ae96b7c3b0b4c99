//! The row of a job about a person, and of the receipt that stays of an erasure.

use std::collections::{BTreeMap, BTreeSet};

use domain::person::erasure::{ContactPreview, Preview};
use domain::{
    ContactId, Erasure, ErasureId, ErasureState, LaneId, LeadId, Merge, MergeState, PersonJob, PersonJobId,
    Tenure, Timestamp, WorkspaceId,
};
use serde::{Deserialize, Serialize};

use crate::dynamodb::fields::{self, OfKey, stored};
use crate::dynamodb::item::{Item, PK, SK, read, row, s, text, unreadable};
use crate::dynamodb::write::LAST_REQUEST;
use crate::{StoreError, keys};

/// The kinds of the rows.
pub(crate) const ERASURE: &str = "erasure";
pub(crate) const MERGE: &str = "merge";

/// The row of an erasure or a preview as `request_id` writes it, without its place in the due index.
pub(crate) fn erasure_item(of: &Erasure, request_id: &str) -> Result<Item, StoreError> {
    let mut item = row(keys::person_job(of.workspace_id, of.id), ERASURE, of)?;
    item.insert(LAST_REQUEST.to_owned(), s(request_id));
    Ok(item)
}

/// The row of a merge as `request_id` writes it, without its place in the due index.
pub(crate) fn merge_item(of: &Merge, request_id: &str) -> Result<Item, StoreError> {
    let mut item = row(keys::person_job(of.workspace_id, of.id), MERGE, of)?;
    item.insert(LAST_REQUEST.to_owned(), s(request_id));
    Ok(item)
}

/// Reads a job from its row.
pub(crate) fn job(item: Item) -> Result<PersonJob, StoreError> {
    match text(&item, "kind") {
        MERGE => merge(item).map(PersonJob::Merge),
        _ => erasure(item).map(|erasure| PersonJob::Erasure(Box::new(erasure))),
    }
}

/// Reads a merge from its row.
pub(crate) fn merge(item: Item) -> Result<Merge, StoreError> {
    let workspace_id = keys::read_person_jobs(text(&item, PK));
    let workspace_id = workspace_id.ok_or_else(|| unreadable(&item, "its key is not one of ours"))?;
    let id = PersonJobId::parse(text(&item, SK)).map_err(|_| unreadable(&item, "its key is no job's"))?;
    Ok(Merge { id, workspace_id, ..read(item)? })
}

/// Reads an erasure from its row: that of a job, or a receipt.
pub(crate) fn erasure(item: Item) -> Result<Erasure, StoreError> {
    let workspace = keys::read_person_jobs(text(&item, PK)).or_else(|| keys::read_erasures(text(&item, PK)));
    let workspace_id = workspace.ok_or_else(|| unreadable(&item, "its key is not one of ours"))?;
    let id = ErasureId::parse(text(&item, SK)).map_err(|_| unreadable(&item, "its key is no erasure's"))?;
    Ok(Erasure { id, workspace_id, ..read(item)? })
}

/// The job that this row asks for, if nothing of it has begun.
pub(crate) fn asked(item: Item) -> Result<Option<LaneId>, StoreError> {
    let (workspace, id, is_asked) = match job(item)? {
        PersonJob::Erasure(of) => (of.workspace_id, of.id.into(), of.state == ErasureState::Asked),
        PersonJob::Merge(of) => (of.workspace_id, of.id, of.state == MergeState::Asked),
    };
    Ok(is_asked.then_some(LaneId::Person(workspace, id)))
}

/// `W#J` / erasure id, and the receipt: `W#P` / erasure id in the table `workspaces`.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Erasure", rename_all = "camelCase")]
struct ErasureRow {
    #[serde(skip, default = "OfKey::placeholder")]
    id: ErasureId,
    #[serde(skip, default = "OfKey::placeholder")]
    workspace_id: WorkspaceId,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    is_preview: bool,
    #[serde(with = "fields::list")]
    contacts: BTreeSet<ContactId>,
    macs: BTreeSet<String>,
    #[serde(with = "fields::text")]
    state: ErasureState,
    pass: u8,
    #[serde(with = "fields::text")]
    asked_at: Timestamp,
    asked_by: String,
    #[serde(with = "fields::optional", default, skip_serializing_if = "Option::is_none")]
    settled_from: Option<Timestamp>,
    #[serde(with = "fields::optional", default, skip_serializing_if = "Option::is_none")]
    done_at: Option<Timestamp>,
    counts: BTreeMap<String, u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    waits_for: Option<String>,
    #[serde(with = "fields::optional", default, skip_serializing_if = "Option::is_none")]
    preview: Option<Preview>,
    #[serde(with = "fields::optional", default, skip_serializing_if = "Option::is_none")]
    kept_until: Option<Timestamp>,
    version: u64,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Preview", rename_all = "camelCase")]
struct PreviewField {
    #[serde(with = "fields::list")]
    contacts: Vec<ContactPreview>,
    counts: BTreeMap<String, u64>,
    #[serde(with = "fields::list")]
    nobodys_leads: BTreeSet<LeadId>,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "ContactPreview", rename_all = "camelCase")]
struct ContactPreviewField {
    #[serde(with = "fields::text")]
    contact: ContactId,
    counts: BTreeMap<String, u64>,
    #[serde(with = "fields::list")]
    numbers: Vec<Tenure>,
    #[serde(with = "fields::list")]
    others: Vec<Tenure>,
}

/// When a contact had a number.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Tenure")]
pub(crate) struct TenureField {
    #[serde(with = "fields::text")]
    from: Timestamp,
    #[serde(with = "fields::optional", default, skip_serializing_if = "Option::is_none")]
    to: Option<Timestamp>,
    #[serde(with = "fields::text")]
    contact: ContactId,
}

stored! {
    Erasure = ErasureRow, Tenure = TenureField, Preview = PreviewField, ContactPreview = ContactPreviewField,
}
