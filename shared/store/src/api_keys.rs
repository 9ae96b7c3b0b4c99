//! API keys, by the SHA-256 of the key.

use std::time::Duration;

use domain::api_key::RateLimit;
use domain::{ApiKey, KeyId, Scopes, Timestamp, WorkspaceId};
use serde::{Deserialize, Serialize};

use crate::{Store, StoreError, Table, fields, keys};

impl Store {
    /// The key with that SHA-256 (lower-case hex), be it good or not: see [`ApiKey::is_good`]. One trip.
    pub async fn api_key(&self, sha256_hex: &str) -> Result<Option<ApiKey>, StoreError> {
        let row: Option<ApiKeyRow> = self.get_row(Table::ApiKeys, keys::api_key(sha256_hex)).await?;
        Ok(row.map(ApiKey::from))
    }
}

/// `<sha256>` / `K`. `workspaceId` and `createdAt` are the keys of the index `byWorkspace`.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ApiKeyRow {
    #[serde(with = "fields::text")]
    key_id: KeyId,
    #[serde(with = "fields::text")]
    workspace_id: WorkspaceId,
    name: String,
    #[serde(with = "scope_words")]
    scopes: Scopes,
    rate: u32,
    burst: u32,
    #[serde(with = "fields::text")]
    created_at: Timestamp,
    /// From then on the key is refused; `expiresAt`, the table's TTL, only clears the row away.
    #[serde(with = "fields::optional", default, skip_serializing_if = "Option::is_none")]
    good_until: Option<Timestamp>,
    #[serde(with = "fields::optional", default, skip_serializing_if = "Option::is_none")]
    revoked_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    expires_at: Option<i64>,
}

impl ApiKeyRow {
    /// How long an expired key is still seen in lists.
    const SHOWN_AFTER_EXPIRY: Duration = Duration::from_secs(30 * 24 * 3600);
}

impl From<ApiKeyRow> for ApiKey {
    fn from(row: ApiKeyRow) -> Self {
        Self {
            id: row.key_id,
            workspace_id: row.workspace_id,
            name: row.name,
            scopes: row.scopes,
            rate: RateLimit { per_second: row.rate, burst: row.burst },
            created_at: row.created_at,
            expires_at: row.good_until,
            revoked_at: row.revoked_at,
        }
    }
}

impl From<&ApiKey> for ApiKeyRow {
    fn from(key: &ApiKey) -> Self {
        Self {
            key_id: key.id,
            workspace_id: key.workspace_id,
            name: key.name.clone(),
            scopes: key.scopes.clone(),
            rate: key.rate.per_second,
            burst: key.rate.burst,
            created_at: key.created_at,
            good_until: key.expires_at,
            revoked_at: key.revoked_at,
            expires_at: key.expires_at.map(|at| at.plus(Self::SHOWN_AFTER_EXPIRY).as_seconds()),
        }
    }
}

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
