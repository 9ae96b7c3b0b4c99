//! API keys, stored under the SHA-256 of the key.

use std::time::Duration;

use domain::access::api_key::RateLimit;
use domain::{ApiKey, KeyId, Scopes, Timestamp, WorkspaceId, WorkspaceState};
use serde::{Deserialize, Serialize};

use crate::dynamodb::fields::{self, stored};
use crate::dynamodb::item::{PK, expiring, key, read, row, s, text};
use crate::dynamodb::read::{Place, Query};
use crate::dynamodb::write::{Write, Wrote};
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

    /// All keys of the workspace, newest first, from the index `byWorkspace`. The index is eventually
    /// consistent, so a key that was just created may be missing. Expired keys stay for 30 days, revoked keys
    /// forever. One round trip for each megabyte.
    pub async fn api_keys(&self, workspace: WorkspaceId) -> Result<Vec<ApiKey>, StoreError> {
        let rows = self.api_key_rows(workspace).await?;
        Ok(rows.into_iter().map(|(_, key)| key).collect())
    }

    /// Stores a key under its SHA-256 (lower-case hex). Returns an error if another key has the same hash.
    /// One round trip.
    pub async fn create_api_key(&self, sha256_hex: &str, api_key: &ApiKey) -> Result<(), StoreError> {
        let mut row = row(keys::api_key(sha256_hex), "apiKey", api_key)?;
        if let Some(at) = api_key.expires_at {
            row = expiring(row, at, Some(SHOWN_AFTER_EXPIRY));
        }
        if self.put_first(Table::ApiKeys, row).await? {
            return Ok(());
        }
        Err(StoreError::Failed("another key has the same hash".into()))
    }

    /// Revokes a key. The table refuses it at once; a function that has it in memory refuses it within 30 s.
    /// Two round trips.
    pub async fn revoke_api_key(&self, workspace: WorkspaceId, id: KeyId) -> Result<Revoked, StoreError> {
        let rows = self.api_key_rows(workspace).await?;
        let Some((sha256_hex, _)) = rows.into_iter().find(|(_, key)| key.id == id) else {
            return Ok(Revoked::Unknown);
        };
        let (pk, sk) = keys::api_key(&sha256_hex);
        let revoke = Write::update(Table::ApiKeys, key((pk, sk)), "SET revokedAt = :now")
            .when("attribute_exists(pk) AND attribute_not_exists(revokedAt)")
            .bind(":now", s(self.now().to_string()));
        match self.write(revoke).await? {
            Wrote::Done(_) => Ok(Revoked::Done),
            Wrote::Refused(Some(_)) => Ok(Revoked::Already),
            Wrote::Refused(None) => Ok(Revoked::Unknown),
        }
    }

    async fn api_key_rows(&self, workspace: WorkspaceId) -> Result<Vec<(String, ApiKey)>, StoreError> {
        let index = Query::by(Table::ApiKeys, Some("byWorkspace"), "workspaceId", workspace.to_string());
        let rows = self.query_all(index.backward()).await?.into_iter();
        rows.map(|item| Ok((text(&item, PK).to_owned(), read(item)?))).collect()
    }
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

/// How long lists still show an expired key.
const SHOWN_AFTER_EXPIRY: Duration = Duration::from_secs(30 * 24 * 3600);

/// `<sha256>` / `K`. `workspaceId` and `createdAt` are the keys of the index `byWorkspace`.
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
