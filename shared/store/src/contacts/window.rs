//! When a contact last wrote on a line.

use domain::{ChannelId, ContactId, Timestamp, WorkspaceId};
use serde::Deserialize;

use crate::dynamodb::fields;
use crate::{Store, StoreError, Table, keys};

impl Store {
    /// When the contact last wrote on the line (strongly consistent read). One round trip.
    pub async fn last_inbound(
        &self,
        workspace: WorkspaceId,
        contact: ContactId,
        line: &ChannelId,
    ) -> Result<Option<Timestamp>, StoreError> {
        let key = keys::contact_window(workspace, contact, line);
        let row: Option<WindowRow> = self.get_row(Table::Contacts, key).await?;
        Ok(row.map(|row| row.last_inbound_at))
    }
}

/// `W#C#<contact>` / `W#<line>`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WindowRow {
    #[serde(with = "fields::text")]
    last_inbound_at: Timestamp,
}
