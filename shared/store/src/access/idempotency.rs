//! Requests that may be sent twice and count once: what an idempotency key answered, kept for a day in the same
//! transaction as what it guards.

use std::time::Duration;

use domain::{Timestamp, WorkspaceId};
use serde::{Deserialize, Serialize};

use crate::dynamodb::item::{Item, n, read, row};
use crate::dynamodb::write::Write;
use crate::{Store, StoreError, Table, keys};

/// How long an answer is kept.
const KEPT: Duration = Duration::from_secs(24 * 60 * 60);

/// A request under an idempotency key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Once {
    /// The route, as keys are of a workspace and a route.
    pub route: &'static str,
    /// The SHA-256 of the key, in hexadecimal digits.
    pub key_sha256_hex: String,
    /// The SHA-256 of the raw body, in hexadecimal digits: another body under the same key is another request.
    pub fingerprint: String,
}

/// What a key has answered before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answered {
    /// The fingerprint of the request that was answered.
    pub fingerprint: String,
    /// What its answer is made of again: the body, or what a fresh body needs.
    pub answer: String,
}

impl Store {
    /// What this key has answered within the last 24 hours, read strongly. One trip.
    pub async fn answered(
        &self,
        table: Table,
        workspace: WorkspaceId,
        once: &Once,
    ) -> Result<Option<Answered>, StoreError> {
        let key = keys::once(workspace, once.route, &once.key_sha256_hex);
        let row: Option<OnceRow> = self.get_row(table, key).await?;
        // DynamoDB deletes expired rows late.
        Ok(row.filter(|row| row.expires_at >= self.now().as_seconds()).map(Answered::from))
    }
}

/// Part of a transaction: keeps the answer, unless the key has answered within the last 24 hours.
pub(crate) fn keep_answer(
    table: Table,
    workspace: WorkspaceId,
    once: &Once,
    answer: &str,
    now: Timestamp,
) -> Result<Write, StoreError> {
    let (pk, sk) = keys::once(workspace, once.route, &once.key_sha256_hex);
    let body = OnceRow {
        fingerprint: once.fingerprint.clone(),
        answer: answer.to_owned(),
        expires_at: now.plus(KEPT).as_seconds(),
    };
    let write = Write::put(table, row(pk, sk, "once", &body)?);
    Ok(write.when("attribute_not_exists(pk) OR expiresAt < :seconds").bind(":seconds", n(now.as_seconds())))
}

/// What a key has answered, from the row that stood in the way of [`keep_answer`].
pub(crate) fn answered_in(row: Item) -> Result<Answered, StoreError> {
    Ok(read::<OnceRow>(row)?.into())
}

/// `W#R#<route>#<SHA-256 of the key>` / `R`.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct OnceRow {
    fingerprint: String,
    answer: String,
    expires_at: i64,
}

impl From<OnceRow> for Answered {
    fn from(row: OnceRow) -> Self {
        Self { fingerprint: row.fingerprint, answer: row.answer }
    }
}
