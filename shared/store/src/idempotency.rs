//! Idempotency keys: the response for a key. The store keeps it for 24 hours and writes it in the transaction of the change.

use std::time::Duration;

use domain::{Timestamp, WorkspaceId};
use serde::{Deserialize, Serialize};

use crate::dynamodb::fields::stored;
use crate::dynamodb::item::{Item, n, read, row};
use crate::dynamodb::read::{Place, Rows};
use crate::dynamodb::write::Write;
use crate::{Store, StoreError, Table, keys};

/// How long an answer is kept: 24 hours.
const KEPT: Duration = Duration::from_secs(24 * 60 * 60);

/// A request with an idempotency key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdempotencyKey {
    /// The route. A key is unique per workspace and route.
    pub route: &'static str,
    /// The SHA-256 of the key, in hexadecimal digits.
    pub key_sha256_hex: String,
    /// The SHA-256 of the raw body, in hexadecimal digits. Another body under the same key is another
    /// request.
    pub fingerprint: String,
}

/// The stored answer of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredAnswer {
    /// The fingerprint of the request that was answered.
    pub fingerprint: String,
    /// The body of the answer, or the data from which it is made again.
    pub answer: String,
}

impl Store {
    /// The answer of this key within the last 24 hours (strongly consistent read). One round trip.
    pub async fn answered(
        &self,
        table: Table,
        workspace: WorkspaceId,
        once: &IdempotencyKey,
    ) -> Result<Option<StoredAnswer>, StoreError> {
        let place = once_place(table, workspace, once);
        take_answer(&mut self.rows_at([&place]).await?, &place)
    }
}

/// Where the answer of a key is.
pub(crate) fn once_place(table: Table, workspace: WorkspaceId, once: &IdempotencyKey) -> Place {
    Place::of(table, keys::idempotency_key(workspace, once.route, &once.key_sha256_hex))
}

/// The answer at this place, if there is one.
pub(crate) fn take_answer(rows: &mut Rows, place: &Place) -> Result<Option<StoredAnswer>, StoreError> {
    Ok(rows.read::<OnceRow>(place)?.map(StoredAnswer::from))
}

/// Part of a transaction: stores the answer. The write is refused if the key has an answer from the last 24
/// hours.
pub(crate) fn keep_answer(
    table: Table,
    workspace: WorkspaceId,
    once: &IdempotencyKey,
    answer: &str,
    now: Timestamp,
) -> Result<Write, StoreError> {
    let key = keys::idempotency_key(workspace, once.route, &once.key_sha256_hex);
    let body = OnceRow {
        fingerprint: once.fingerprint.clone(),
        answer: answer.to_owned(),
        expires_at: now.plus(KEPT).as_seconds(),
    };
    let write = Write::put(table, row(key, "once", &body)?);
    Ok(write.when("attribute_not_exists(pk) OR expiresAt < :seconds").bind(":seconds", n(now.as_seconds())))
}

/// The stored answer, from the row for which [`keep_answer`] was refused.
pub(crate) fn stored_answer(row: Item) -> Result<StoredAnswer, StoreError> {
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

stored! { OnceRow }

impl From<OnceRow> for StoredAnswer {
    fn from(row: OnceRow) -> Self {
        Self { fingerprint: row.fingerprint, answer: row.answer }
    }
}
