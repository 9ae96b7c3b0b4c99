//! API keys, stored under the SHA-256 of the key.

use std::cmp::Reverse;
use std::time::Duration;

use domain::access::api_key::RateLimit;
use domain::{
    Actor, ApiKey, AuditAction, Author, KeyId, KeyKind, Scopes, Timestamp, Unfit, Workspace, WorkspaceAccess,
    WorkspaceId,
};
use serde::{Deserialize, Serialize};

use crate::access::kind_fields::KindFields;
use crate::access::limiter::{last_use, limit_place};
use crate::dynamodb::fields::{self, stored};
use crate::dynamodb::item::{Item, PK, SK, expiring, read, row, s, text};
use crate::dynamodb::paging::{Hits, List, Page, PageRequest};
use crate::dynamodb::read::Place;
use crate::dynamodb::retry::RetryTime;
use crate::dynamodb::write::{Transaction, Write};
use crate::idempotency::{IdempotencyKey, StoredAnswer, keep_answer, stored_answer};
use crate::settings::workspaces::access_of;
use crate::{Store, StoreError, Table, keys};

impl Store {
    /// The key with this SHA-256 (lower-case hex), also if it is expired or revoked: see [`ApiKey::is_good`].
    /// One round trip.
    pub async fn api_key(&self, sha256_hex: &str) -> Result<Option<ApiKey>, StoreError> {
        self.get_row(Table::ApiKeys, keys::api_key(sha256_hex)).await
    }

    /// The key with this SHA-256 (lower-case hex), and what this workspace admits, in whichever workspace the key
    /// is. A workspace without a row counts as enabled. One round trip of one call.
    pub async fn api_key_and_access(
        &self,
        sha256_hex: &str,
        workspace: WorkspaceId,
    ) -> Result<(Option<ApiKey>, WorkspaceAccess), StoreError> {
        let of_key = Place::of(Table::ApiKeys, keys::api_key(sha256_hex));
        let of_workspace = Place::of(Table::Workspaces, keys::workspace(workspace));
        let mut rows = self.rows_at([&of_key, &of_workspace]).await?;
        let key = rows.read(&of_key)?;
        Ok((key, rows.take(&of_workspace).map_or(Ok(WorkspaceAccess::OPEN), access_of)?))
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
        let (row, copy) = (key_row(sha256_hex, api_key)?, key_copy(sha256_hex, api_key)?);
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

    /// A page of the workspace's keys in the order of their ids. One round trip.
    pub async fn api_keys_page(
        &self,
        workspace: WorkspaceId,
        page_size: usize,
        after: Option<&str>,
    ) -> Result<Page<ApiKey>, StoreError> {
        self.copies(keys::api_keys(workspace), PageRequest { page_size, after }).await
    }

    /// A page of a partition of copies, in the order of their ids. One round trip.
    pub(super) async fn copies(
        &self,
        partition: String,
        wanted: PageRequest<'_>,
    ) -> Result<Page<ApiKey>, StoreError> {
        let Hits { hits, next } = self.hits(&COPIES, partition, wanted).await?;
        Ok(Page { items: hits.into_iter().map(|hit| hit.row).collect(), next })
    }

    /// A key of the workspace by its id. One round trip.
    pub async fn listed_key(
        &self,
        workspace: WorkspaceId,
        id: KeyId,
    ) -> Result<Option<ListedKey>, StoreError> {
        let copy = self.get_item(Table::ApiKeys, keys::api_key_copy(workspace, id)).await?;
        copy.map(ListedKey::of).transpose()
    }

    /// The same with its last use, to the minute. One round trip of one call.
    pub async fn listed_key_and_use(
        &self,
        workspace: WorkspaceId,
        id: KeyId,
    ) -> Result<Option<(ListedKey, Option<Timestamp>)>, StoreError> {
        let copy = Place::of(Table::ApiKeys, keys::api_key_copy(workspace, id));
        let limit = limit_place(workspace, id);
        let mut rows = self.rows_at([&copy, &limit]).await?;
        let used = last_use(&rows, &limit);
        let key = rows.take(&copy).map(ListedKey::of).transpose()?;
        Ok(key.map(|key| (key, used)))
    }

    /// Stores a key that a tenant made, if the workspace is still as `seen`: its limits were judged under this version. With the
    /// answer of an idempotency key. One round trip, 8 write units, 10 with an answer.
    pub async fn create_judged_key(
        &self,
        new: &JudgedKey<'_>,
        seen: &Workspace,
    ) -> Result<KeyCreated, StoreError> {
        let JudgedKey { key: api_key, sha256_hex, by, kept } = new;
        let (row, copy) = (key_row(sha256_hex, api_key)?, key_copy(sha256_hex, api_key)?);
        let entry = self.audit(by, seen.id, AuditAction::ApiKeyCreate, api_key.id, &[])?;
        let mut writes = Transaction::new()
            .with(Creates::Key, Write::put(Table::ApiKeys, row).when_absent())
            // The id is new, so there is no such row.
            .with(Creates::Key, Write::put(Table::ApiKeys, copy))
            .with(Creates::Key, entry)
            .with(Creates::Version, self.bump_version(seen));
        if let Some((once, answer)) = kept {
            writes.add(Creates::Answer, keep_answer(Table::ApiKeys, seen.id, once, answer, self.now())?);
        }
        let Err(refusals) = self.transact(writes).await? else { return Ok(KeyCreated::Done) };
        for refusal in refusals {
            match (refusal.role, refusal.found) {
                (Creates::Answer, Some(found)) => return Ok(KeyCreated::Answered(stored_answer(found)?)),
                (Creates::Key, _) => return Err(StoreError::Failed("another key has the same hash".into())),
                (Creates::Answer | Creates::Version, _) => {}
            }
        }
        Ok(KeyCreated::Stale)
    }

    /// Revokes a key by its id. Two round trips, 6 write units; more only if others change the key at the same time.
    pub async fn revoke_api_key(
        &self,
        workspace: WorkspaceId,
        id: KeyId,
        by: &Author,
    ) -> Result<Revoked, StoreError> {
        self.revoke(keys::api_key_copy(workspace, id), AuditAction::ApiKeyRevoke, by).await
    }

    /// Revokes the key or the session with this copy.
    pub(super) async fn revoke(
        &self,
        copy: (String, String),
        action: AuditAction,
        by: &Author,
    ) -> Result<Revoked, StoreError> {
        let mut retries = RetryTime::new(self);
        loop {
            let found = self.get_item(Table::ApiKeys, copy.clone()).await?;
            let Some(listed) = found.map(ListedKey::of).transpose()? else { return Ok(Revoked::Unknown) };
            let Some(next) = listed.key.revoked(self.now()) else { return Ok(Revoked::Already) };
            if self.replace_listed_key(&listed, &next, action, by).await? {
                return Ok(Revoked::Done);
            }
            retries.wait().await?;
        }
    }

    /// Replaces a key or a session and its copy, if it is still as it was listed. The table refuses a revoked or expired key at once; a
    /// function that has it in memory refuses it within 30 s. Returns `false` if the key was changed or deleted since. One round
    /// trip, 6 write units.
    pub async fn replace_listed_key(
        &self,
        ListedKey { key: seen, sha256_hex }: &ListedKey,
        next: &ApiKey,
        action: AuditAction,
        by: &Author,
    ) -> Result<bool, StoreError> {
        let (row, copy) = (key_row(sha256_hex, next)?, key_copy(sha256_hex, next)?);
        let changed = [("name", seen.name != next.name), ("expiresAt", seen.expires_at != next.expires_at)];
        let fields: Vec<&str> =
            changed.into_iter().filter(|(_, differs)| *differs).map(|(field, _)| field).collect();
        let row = Write::put(Table::ApiKeys, row);
        let row = [("revokedAt", seen.revoked_at), ("goodUntil", seen.expires_at)].into_iter().fold(
            row.when("#name = :name").name("#name", "name").bind(":name", s(&seen.name)),
            |row, (attribute, at)| match at {
                None => row.also_when(&format!("attribute_not_exists({attribute})")),
                Some(at) => row
                    .also_when(&format!("{attribute} = :{attribute}"))
                    .bind(format!(":{attribute}"), s(at.to_string())),
            },
        );
        let copy = Write::put(Table::ApiKeys, copy).when("attribute_exists(pk)");
        self.all_or_none([row, copy, self.audit(by, seen.workspace_id, action, seen.id, &fields)?]).await
    }
}

/// A key that a tenant makes.
pub struct JudgedKey<'a> {
    /// The key.
    pub key: &'a ApiKey,
    /// Its SHA-256 (lower-case hex).
    pub sha256_hex: &'a str,
    /// Who makes it, and in which request.
    pub by: &'a Author,
    /// The idempotency key of the request, and the answer for repeats.
    pub kept: Option<(&'a IdempotencyKey, &'a str)>,
}

/// The result of [`Store::create_judged_key`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyCreated {
    /// The key is stored.
    Done,
    /// The workspace was changed since its limits were judged. Nothing was stored.
    Stale,
    /// The idempotency key has this answer. Nothing was stored.
    Answered(StoredAnswer),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Creates {
    /// Writes the key, its copy or the entry of the audit log.
    Key,
    /// Gives the workspace its next version.
    Version,
    /// Stores the answer of the idempotency key.
    Answer,
}

/// A key as its copy shows it, with what its change needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedKey {
    /// The key.
    pub key: ApiKey,
    /// The SHA-256 by which its own row is found.
    sha256_hex: String,
}

impl ListedKey {
    pub(super) fn of(copy: Item) -> Result<Self, StoreError> {
        let sha256_hex = text(&copy, SHA256).to_owned();
        Ok(Self { key: read(copy)?, sha256_hex })
    }
}

/// The copies of a workspace's keys, in the order of their ids.
const COPIES: List<ApiKey> = List {
    table: Table::ApiKeys,
    index: None,
    keys: (PK, SK),
    filter: None,
    attributes: None,
    read: read::<ApiKey>,
};

/// The attribute of a copy that names the key's row.
const SHA256: &str = "sha256";

/// The row by which the authenticator finds the key.
pub(super) fn key_row(sha256_hex: &str, api_key: &ApiKey) -> Result<Item, StoreError> {
    Ok(until_shown(row(keys::api_key(sha256_hex), "apiKey", api_key)?, api_key))
}

/// The copy of a key or a session. A link has none: nothing lists links.
pub(super) fn key_copy(sha256_hex: &str, api_key: &ApiKey) -> Result<Item, StoreError> {
    let place = match api_key.kind {
        KeyKind::Key => keys::api_key_copy(api_key.workspace_id, api_key.id),
        KeyKind::Session(_) | KeyKind::Link(_) => keys::session_copy(api_key.workspace_id, api_key.id),
    };
    let mut copy = row(place, "apiKeyCopy", api_key)?;
    copy.insert(SHA256.to_owned(), s(sha256_hex));
    Ok(until_shown(copy, api_key))
}

fn until_shown(row: Item, api_key: &ApiKey) -> Item {
    match api_key.shown_until() {
        Some(until) => expiring(row, until, Some(Duration::ZERO)),
        None => row,
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

/// `<sha256>` / `K`, and its copy with `sha256`: `W#I` / key id, or `W#S` / session id.
#[derive(Serialize, Deserialize)]
#[serde(remote = "ApiKey", rename_all = "camelCase")]
struct ApiKeyRow {
    #[serde(rename = "keyId", with = "fields::text")]
    id: KeyId,
    #[serde(with = "fields::text")]
    workspace_id: WorkspaceId,
    name: String,
    #[serde(flatten, with = "fields::Shaped::<KindFields>")]
    kind: KeyKind,
    #[serde(with = "scope_words")]
    scopes: Scopes,
    #[serde(flatten, with = "RateFields")]
    rate: RateLimit,
    #[serde(with = "fields::text")]
    bucket: KeyId,
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
    #[serde(default, skip_serializing_if = "Option::is_none")]
    subject: Option<String>,
}

impl From<&Actor> for ActorShape {
    fn from(actor: &Actor) -> Self {
        let subject = actor.subject().map(str::to_owned);
        Self { kind: actor.kind().to_owned(), id: actor.id(), subject }
    }
}

impl TryFrom<ActorShape> for Actor {
    type Error = Unfit;

    fn try_from(stored: ActorShape) -> Result<Self, Unfit> {
        Self::parse(&stored.kind, &stored.id, stored.subject)
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
