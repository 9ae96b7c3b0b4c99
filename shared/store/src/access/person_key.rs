//! The person key: one row of the platform in the table `secrets`, and its fingerprint in the table `workspaces`.
//!
//! The two tables are restored apart. If they do not agree, the key is not the one with which the deployment's rows were
//! made, and nobody's choices would be found.

use std::sync::Arc;

use domain::PersonKey;
use domain::encoding::{hex, unhex};
use futures::future::try_join;
use serde::{Deserialize, Serialize};

use crate::dynamodb::fields::stored;
use crate::dynamodb::item::row;
use crate::dynamodb::write::Write;
use crate::{Store, StoreError, Table, keys};

impl Store {
    /// The person key, remembered for 5 minutes. One round trip if it is not in memory. Returns
    /// [`StoreError::NoPersonKey`] if there is none, or if it is not the one of the fingerprint.
    pub async fn person_key(&self) -> Result<Arc<PersonKey>, StoreError> {
        let now = self.now();
        if let Some(key) = self.memories.person_key.get(&(), now) {
            return Ok(key);
        }
        let (key, seal) = try_join(
            self.get_row::<PersonKeyRow>(Table::Secrets, keys::person_key()),
            self.get_row::<FingerprintRow>(Table::Workspaces, keys::person_key()),
        )
        .await?;
        let Some(bytes) = key.map(|row| row.bytes()).transpose()? else {
            return Err(StoreError::NoPersonKey("there is none"));
        };
        let key = Arc::new(PersonKey::new(bytes));
        match seal {
            Some(row) if row.fingerprint == key.fingerprint() => {}
            Some(_) => return Err(StoreError::NoPersonKey("it is not the key of this deployment")),
            None => return Err(StoreError::NoPersonKey("its fingerprint is not there")),
        }
        self.memories.person_key.keep((), Arc::clone(&key), now);
        Ok(key)
    }

    /// Stores the person key of a deployment, made of these random bytes, with its fingerprint. Returns `false` if one of
    /// the two is there already. One round trip.
    pub async fn ensure_person_key(&self, fresh: [u8; 32]) -> Result<bool, StoreError> {
        let fingerprint = PersonKey::new(fresh).fingerprint();
        let key = row(keys::person_key(), "personKey", &PersonKeyRow { hex: hex(&fresh) })?;
        let fingerprint = row(keys::person_key(), "personKeyFingerprint", &FingerprintRow { fingerprint })?;
        let both = [(Table::Secrets, key), (Table::Workspaces, fingerprint)];
        self.all_or_none(both.map(|(table, row)| Write::put(table, row).when_absent())).await
    }
}

/// `<nil>#HK` / `K` in the table `secrets`.
#[derive(Serialize, Deserialize)]
struct PersonKeyRow {
    hex: String,
}

/// `<nil>#HK` / `K` in the table `workspaces`.
#[derive(Serialize, Deserialize)]
struct FingerprintRow {
    fingerprint: String,
}

stored! { PersonKeyRow, FingerprintRow }

impl PersonKeyRow {
    fn bytes(&self) -> Result<[u8; 32], StoreError> {
        let bytes = unhex(&self.hex).and_then(|bytes| <[u8; 32]>::try_from(bytes).ok());
        bytes.ok_or(StoreError::NoPersonKey("it is not 64 hexadecimal digits"))
    }
}
