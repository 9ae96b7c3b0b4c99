//! API keys, stored under the SHA-256 of the key.

use std::cmp::Reverse;
use std::time::Duration;

use domain::access::api_key::RateLimit;
use domain::{
    Actor, ApiKey, AuditAction, Author, KeyId, Scopes, Timestamp, Unfit, WorkspaceId, WorkspaceState,
};
use serde::{Deserialize, Serialize};

use crate::dynamodb::fields::{self, stored};
use crate::dynamodb::item::{Item, expiring, key, n, read, row, s, text};
use crate::dynamodb::read::Place;
use crate::dynamodb::write::{Transaction, TwoRoles, Write};
use crate::settings::workspaces::state_of;
use crate::{Store, StoreError, Table, keys};

impl Store {
    /// The key with this SHA-256 (lower-case hex), also if it is expired or revoked: see [`ApiKey::is_good`].
    /// One round trip.
    pub async fn api_key(&self, sha256_hex: &str) -> Result<Option<ApiKey>, StoreError> {
        self.get_row(Table::ApiKeys, keys::api_key(sha256_hex)).await
    }

    /// The key with this SHA-256 (lower-case hex), and whether the service works for this workspace, in whichever
    /// workspace the key is. A workspace without a row counts as enabled. One round trip of one call.
    pub async fn api_key_and_state(
        &self,
        sha256_hex: &str,
        workspace: WorkspaceId,
    ) -> Result<(Option<ApiKey>, WorkspaceState), StoreError> {
        let of_key = Place::of(Table::ApiKeys, keys::api_key(sha256_hex));
        let of_workspace = Place::of(Table::Workspaces, keys::workspace(workspace));
        let mut rows = self.rows_at([&of_key, &of_workspace]).await?;
        let key = rows.read(&of_key)?;
        Ok((key, rows.take(&of_workspace).map_or(Ok(WorkspaceState::Enabled), state_of)?))
    }

    /// All keys of the workspace, newest first. Expired keys stay for 30 days, revoked keys for 400. One round trip for
    /// each megabyte.
    pub async fn api_keys(&self, workspace: WorkspaceId) -> Result<Vec<ApiKey>, StoreError> {
        let mut keys: Vec<ApiKey> = self.partition(Table::ApiKeys, keys::api_keys(workspace)).await?;
        keys.sort_by_key(|key| (Reverse(key.created_at), key.id));
        Ok(keys)
    }

    /// Stores a key under its SHA-256 (lower-case hex), with its copy. Returns an error if another key has the same hash.
    /// One round trip, 6 write units.
    pub async fn create_api_key(
        &self,
        sha256_hex: &str,
        api_key: &ApiKey,
        request_id: Option<&str>,
    ) -> Result<(), StoreError> {
        let [row, copy] = rows(sha256_hex, api_key)?;
        let by = Author { actor: api_key.created_by.clone(), request_id: request_id.map(str::to_owned) };
        let writes = [
            Write::put(Table::ApiKeys, row).when_absent(),
            // The id is new, so there is no such row.
            Write::put(Table::ApiKeys, copy),
            self.audit(&by, api_key.workspace_id, AuditAction::ApiKeyCreate, api_key.id, &[])?,
        ];
        if self.all_or_none(writes).await? {
            return Ok(());
        }
        Err(StoreError::Failed("another key has the same hash".into()))
    }

    /// Revokes a key. The table refuses it at once; a function that has it in memory refuses it within 30 s.
    /// Two round trips, 6 write units.
    pub async fn revoke_api_key(
        &self,
        workspace: WorkspaceId,
        id: KeyId,
        by: &Author,
    ) -> Result<Revoked, StoreError> {
        let Some(copy) = self.get_item(Table::ApiKeys, keys::api_key_copy(workspace, id)).await? else {
            return Ok(Revoked::Unknown);
        };
        let sha256_hex = text(&copy, SHA256).to_owned();
        let Some(revoked) = read::<ApiKey>(copy)?.revoked(self.now()) else {
            return Ok(Revoked::Already);
        };
        let until = revoked.shown_until().map_or(0, Timestamp::as_seconds);
        let revoke = |item| {
            Write::update(Table::ApiKeys, item, "SET revokedAt = :now, expiresAt = :until")
                .bind(":now", s(self.now().to_string()))
                .bind(":until", n(until))
        };
        let row = revoke(key(keys::api_key(&sha256_hex)))
            .when("attribute_exists(pk) AND attribute_not_exists(revokedAt)");
        let copy = revoke(key(keys::api_key_copy(workspace, id))).when("attribute_exists(pk)");
        let entry = self.audit(by, workspace, AuditAction::ApiKeyRevoke, id, &[])?;
        let writes = Transaction::new()
            .with(TwoRoles::Main, row)
            .with(TwoRoles::Other, copy)
            .with(TwoRoles::Other, entry);
        Ok(match self.transact(writes).await? {
            Ok(()) => Revoked::Done,
            Err(refusals) if refusals.iter().all(|refusal| refusal.found.is_some()) => Revoked::Already,
            Err(_) => Revoked::Unknown,
        })
    }
}

/// The attribute of a copy that names the key's row.
const SHA256: &str = "sha256";

/// The row by which the authenticator finds the key, and its copy.
fn rows(sha256_hex: &str, api_key: &ApiKey) -> Result<[Item; 2], StoreError> {
    let mut copy = row(keys::api_key_copy(api_key.workspace_id, api_key.id), "apiKeyCopy", api_key)?;
    copy.insert(SHA256.to_owned(), s(sha256_hex));
    let row = row(keys::api_key(sha256_hex), "apiKey", api_key)?;
    let expiring = |row| match api_key.shown_until() {
        Some(until) => expiring(row, until, Some(Duration::ZERO)),
        None => row,
    };
    Ok([row, copy].map(expiring))
}

/// The result of a revocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Revoked {
    /// The key is now revoked.
    Done,
    /// The key was revoked before.
    Already,
    /// The workspace has no such key.
    Unknown,
}

/// `<sha256>` / `K`, and its copy `W#I` / key id with `sha256`.
#[derive(Serialize, Deserialize)]
#[serde(remote = "ApiKey", rename_all = "camelCase")]
struct ApiKeyRow {
    #[serde(rename = "keyId", with = "fields::text")]
    id: KeyId,
    #[serde(with = "fields::text")]
    workspace_id: WorkspaceId,
    name: String,
    #[serde(with = "scope_words")]
    scopes: Scopes,
    #[serde(flatten, with = "RateFields")]
    rate: RateLimit,
    #[serde(with = "fields::text")]
    created_at: Timestamp,
    #[serde(with = "fields::Shaped::<ActorShape>")]
    created_by: Actor,
    /// The key is refused from this moment on. `expiresAt`, the table's TTL, only deletes the row.
    #[serde(
        rename = "goodUntil",
        with = "fields::optional",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    expires_at: Option<Timestamp>,
    #[serde(with = "fields::optional", default, skip_serializing_if = "Option::is_none")]
    revoked_at: Option<Timestamp>,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "RateLimit")]
struct RateFields {
    #[serde(rename = "rate")]
    per_second: u32,
    burst: u32,
}

/// Who made a key.
#[derive(Serialize, Deserialize)]
struct ActorShape {
    #[serde(rename = "type")]
    kind: String,
    id: String,
}

impl From<&Actor> for ActorShape {
    fn from(actor: &Actor) -> Self {
        Self { kind: actor.kind().to_owned(), id: actor.id() }
    }
}

impl TryFrom<ActorShape> for Actor {
    type Error = Unfit;

    fn try_from(stored: ActorShape) -> Result<Self, Unfit> {
        Self::parse(&stored.kind, &stored.id)
    }
}

stored! { ApiKey = ApiKeyRow }

mod scope_words {
    use domain::Scopes;
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(scopes: &Scopes, to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(scopes.names())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Scopes, D::Error> {
        let words = Vec::<String>::deserialize(from)?;
        Scopes::parse(words.iter().map(String::as_str)).map_err(D::Error::custom)
    }
}
