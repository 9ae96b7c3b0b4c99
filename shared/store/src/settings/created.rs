//! New settings that are judged by what else their workspace has.

use domain::Workspace;

use crate::dynamodb::item::Item;
use crate::dynamodb::write::{Transaction, Write};
use crate::idempotency::{IdempotencyKey, StoredAnswer, keep_answer, stored_answer};
use crate::{Store, StoreError, Table};

/// The result of creating a setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SettingCreated {
    /// The setting is stored.
    Done,
    /// The workspace has changed since it was read, or the id is taken. Nothing was stored.
    Stale,
    /// The idempotency key has this answer. Nothing was stored.
    Answered(StoredAnswer),
}

/// The table with the answers of idempotency keys of settings. Its rows expire; those of settings never do.
pub const ANSWERS_OF_SETTINGS: Table = Table::Limits;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Creates {
    /// Writes the setting, the entry of the audit log or the version of the workspace.
    Setting,
    /// Stores the answer of the idempotency key.
    Answer,
}

impl Store {
    /// Stores a new setting that was judged for the workspace as `seen`, with its entry of the audit log and the answer of an
    /// idempotency key. One round trip, 6 write units, 8 with an answer.
    pub(crate) async fn create_setting(
        &self,
        seen: &Workspace,
        row: Item,
        entry: Write,
        kept: Option<(&IdempotencyKey, &str)>,
    ) -> Result<SettingCreated, StoreError> {
        let mut writes = Transaction::new()
            .with(Creates::Setting, self.bump_version(seen))
            .with(Creates::Setting, Write::put(Table::Workspaces, row).when_absent())
            .with(Creates::Setting, entry);
        if let Some((once, answer)) = kept {
            writes.add(Creates::Answer, keep_answer(ANSWERS_OF_SETTINGS, seen.id, once, answer, self.now())?);
        }
        let Err(refusals) = self.transact(writes).await? else { return Ok(SettingCreated::Done) };
        for refusal in refusals {
            if let (Creates::Answer, Some(found)) = (refusal.role, refusal.found) {
                return Ok(SettingCreated::Answered(stored_answer(found)?));
            }
        }
        Ok(SettingCreated::Stale)
    }
}
