//! The keywords by which customers of a workspace opt out and in.

use aws_sdk_dynamodb::types::AttributeValue;
use domain::inbound::keywords::Keywords;
use domain::{AuditAction, Author, WorkspaceId};
use serde::{Deserialize, Serialize};

use crate::dynamodb::fields::stored;
use crate::dynamodb::item::{Item, key, row, unreadable};
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

    /// Replaces the keywords that were read; `None` are the default ones. Returns `false` if they have changed since. One round
    /// trip, 4 write units.
    pub async fn replace_keywords(
        &self,
        workspace: WorkspaceId,
        (seen, next): (Option<&Keywords>, Option<&Keywords>),
        by: &Author,
    ) -> Result<bool, StoreError> {
        let write = match next {
            None => Write::delete(Table::Workspaces, key(keys::keywords(workspace))),
            Some(next) => Write::put(Table::Workspaces, keywords_row(workspace, next)?),
        };
        let write = match seen {
            None => write.when_absent(),
            Some(seen) => {
                let row = keywords_row(workspace, seen)?;
                LISTS.iter().enumerate().fold(write, |write, (at, list)| {
                    let condition = format!("#list{at} = :list{at}");
                    let value = row.get(*list).cloned().unwrap_or(AttributeValue::Null(true));
                    write
                        .also_when(&condition)
                        .name(format!("#list{at}"), *list)
                        .bind(format!(":list{at}"), value)
                })
            }
        };
        let fields = Keywords::differences(seen, next);
        let entry = self.audit(by, workspace, AuditAction::OptOutKeywordsUpdate, workspace, &fields)?;
        let is_done = self.all_or_none([write, entry]).await?;
        self.memories.keywords.forget(&workspace);
        Ok(is_done)
    }
}

/// The attributes of a row.
const LISTS: [&str; 3] = ["stop", "stopMarketing", "start"];

fn keywords_row(workspace: WorkspaceId, own: &Keywords) -> Result<Item, StoreError> {
    let body = KeywordsRow {
        stop: own.stop().to_vec(),
        stop_marketing: own.stop_marketing().to_vec(),
        start: own.start().to_vec(),
    };
    row(keys::keywords(workspace), "keywords", &body)
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
