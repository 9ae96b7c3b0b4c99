//! The keywords by which customers of a workspace opt out and in.

use domain::WorkspaceId;
use domain::inbound::keywords::Keywords;
use serde::{Deserialize, Serialize};

use crate::dynamodb::fields::stored;
use crate::dynamodb::item::{key, row, unreadable};
use crate::dynamodb::write::Write;
use crate::{Store, StoreError, Table, keys};

impl Store {
    /// The workspace's own keywords; `None` if it has the default ones. One round trip.
    pub async fn own_keywords(&self, workspace: WorkspaceId) -> Result<Option<Keywords>, StoreError> {
        let Some(item) = self.get_item(Table::Workspaces, keys::keywords(workspace)).await? else {
            return Ok(None);
        };
        let row: KeywordsRow = crate::dynamodb::item::read(item.clone())?;
        match Keywords::new(&row.stop, &row.stop_marketing, &row.start) {
            Ok(keywords) => Ok(Some(keywords)),
            Err(reason) => Err(unreadable(&item, &reason.to_string())),
        }
    }

    /// The keywords that hold for a workspace, remembered for 5 minutes. One round trip if they are not in memory.
    pub async fn keywords(&self, workspace: WorkspaceId) -> Result<Keywords, StoreError> {
        let now = self.now();
        if let Some(keywords) = self.memories.keywords.get(&workspace, now) {
            return Ok(keywords);
        }
        let keywords = self.own_keywords(workspace).await?.unwrap_or_default();
        self.memories.keywords.keep(workspace, keywords.clone(), now);
        Ok(keywords)
    }

    /// Replaces the workspace's keywords; `None` gives it the default ones. The last operator wins. One round trip.
    pub async fn set_keywords(
        &self,
        workspace: WorkspaceId,
        own: Option<&Keywords>,
    ) -> Result<(), StoreError> {
        let (pk, sk) = keys::keywords(workspace);
        let write = match own {
            None => Write::delete(Table::Workspaces, key((pk, sk))),
            Some(own) => {
                let body = KeywordsRow {
                    stop: own.stop().to_vec(),
                    stop_marketing: own.stop_marketing().to_vec(),
                    start: own.start().to_vec(),
                };
                Write::put(Table::Workspaces, row((pk, sk), "keywords", &body)?)
            }
        };
        self.write(write).await?;
        self.memories.keywords.forget(&workspace);
        Ok(())
    }
}

/// `W#OK` / `K`.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct KeywordsRow {
    stop: Vec<String>,
    stop_marketing: Vec<String>,
    start: Vec<String>,
}

stored! { KeywordsRow }
