//! The row of a merge.

use domain::{ContactId, Merge, MergeState, PersonJobId, Timestamp, WorkspaceId};
use serde::{Deserialize, Serialize};

use crate::dynamodb::fields::{self, OfKey, stored};

/// `W#J` / job.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Merge", rename_all = "camelCase")]
struct MergeRow {
    #[serde(skip, default = "OfKey::placeholder")]
    id: PersonJobId,
    #[serde(skip, default = "OfKey::placeholder")]
    workspace_id: WorkspaceId,
    #[serde(with = "fields::text")]
    survivor: ContactId,
    #[serde(with = "fields::text")]
    merged: ContactId,
    #[serde(with = "fields::text")]
    state: MergeState,
    #[serde(with = "fields::text")]
    asked_at: Timestamp,
    #[serde(with = "fields::optional", default, skip_serializing_if = "Option::is_none")]
    moved_at: Option<Timestamp>,
    version: u64,
}

stored! { Merge = MergeRow }
