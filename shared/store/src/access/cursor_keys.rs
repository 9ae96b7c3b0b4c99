//! The keys that encrypt cursors: one row of the platform in the table `secrets`.

use std::sync::Arc;

use domain::Timestamp;
use domain::encoding::{hex, unhex};
use serde::{Deserialize, Serialize};

use crate::cursor_key::{CursorKey, CursorKeys};
use crate::dynamodb::fields::{self, stored};
use crate::dynamodb::item::{Item, row};
use crate::store::CURSOR_KEY_MEMORY;
use crate::{Store, StoreError, Table, keys};

impl Store {
    /// The keys in use, remembered for 5 minutes. One round trip if they are not in memory. Returns an error
    /// if the deployment has no key yet.
    pub async fn cursor_keys(&self) -> Result<Arc<CursorKeys>, StoreError> {
        let now = self.now();
        if let Some(keys) = self.memories.cursor_keys.get(&(), now) {
            return Ok(keys);
        }
        let row = self.cursor_key_row().await?.ok_or_else(|| {
            StoreError::Failed("there is no cursor key: the deployment has not been set up".into())
        })?;
        let keys = Arc::new(row.in_use(now)?);
        self.memories.cursor_keys.keep((), Arc::clone(&keys), now);
        Ok(keys)
    }

    /// Stores the first key of a deployment, made of these random bytes. Returns `false` if there is a key
    /// already. One round trip.
    pub async fn ensure_cursor_key(&self, fresh: [u8; 32]) -> Result<bool, StoreError> {
        let first = KeyField::new(1, fresh);
        let row = CursorKeysRow { newest: first, before: None, rotated_at: self.now(), version: 1 };
        self.put_first(Table::Secrets, row.item()?).await
    }

    /// Stores a new key, made of these random bytes. It decrypts at once and encrypts from 5 minutes on, when
    /// every process has read it. The previous key still decrypts. Returns `false` and changes nothing within
    /// 10 minutes of the last rotation, because cursors of that rotation would become invalid, and if there
    /// is no key yet. Two round trips.
    pub async fn rotate_cursor_key(&self, fresh: [u8; 32]) -> Result<bool, StoreError> {
        let now = self.now();
        let Some(row) = self.cursor_key_row().await? else { return Ok(false) };
        if row.before.is_some() && now < row.rotated_at.plus(2 * CURSOR_KEY_MEMORY) {
            return Ok(false);
        }
        let next = CursorKeysRow {
            newest: KeyField::new(row.newest.id + 1, fresh),
            before: Some(row.newest),
            rotated_at: now,
            version: row.version + 1,
        };
        self.memories.cursor_keys.forget(&());
        self.put_next(Table::Secrets, next.item()?, row.version).await
    }

    async fn cursor_key_row(&self) -> Result<Option<CursorKeysRow>, StoreError> {
        self.get_row(Table::Secrets, keys::cursor_keys()).await
    }
}

/// `<nil>#X` / `X`.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct CursorKeysRow {
    newest: KeyField,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    before: Option<KeyField>,
    #[serde(with = "fields::text")]
    rotated_at: Timestamp,
    version: u64,
}

#[derive(Serialize, Deserialize)]
struct KeyField {
    id: u32,
    hex: String,
}

stored! { CursorKeysRow }

impl KeyField {
    fn new(id: u32, bytes: [u8; 32]) -> Self {
        Self { id, hex: hex(&bytes) }
    }

    fn key(&self) -> Result<CursorKey, StoreError> {
        let bytes = unhex(&self.hex);
        match bytes.map(<[u8; 32]>::try_from) {
            Some(Ok(bytes)) => Ok(CursorKey { id: self.id, bytes }),
            _ => Err(StoreError::Unreadable {
                key: keys::cursor_keys().0,
                reason: format!("key {} is not 64 hexadecimal digits", self.id),
            }),
        }
    }
}

impl CursorKeysRow {
    fn item(&self) -> Result<Item, StoreError> {
        row(keys::cursor_keys(), "cursorKeys", self)
    }

    /// The keys that a process may use from `now` until its memory of them expires.
    fn in_use(self, now: Timestamp) -> Result<CursorKeys, StoreError> {
        let newest = self.newest.key()?;
        let Some(before) = self.before else { return Ok(CursorKeys { current: newest, previous: None }) };
        let before = before.key()?;
        let known_everywhere = now >= self.rotated_at.plus(CURSOR_KEY_MEMORY);
        let (current, previous) = if known_everywhere { (newest, before) } else { (before, newest) };
        Ok(CursorKeys { current, previous: Some(previous) })
    }
}
