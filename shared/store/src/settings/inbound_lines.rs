//! Since when lines deliver customers' messages to the service.
//!
//! A business connects a line to the service's webhook at the provider, and the service is not told. So it
//! takes the messages themselves as the sign. If none came for two days, the line may be disconnected.

use std::time::Duration;

use domain::{ChannelId, Timestamp, WorkspaceId, error_chain};
use serde::{Deserialize, Serialize};

use crate::dynamodb::fields::stored;
use crate::dynamodb::item::{Item, key, n, row};
use crate::dynamodb::write::{Write, Wrote};
use crate::{Store, StoreError, Table, keys};

/// The time without a noted message after which a line may not deliver any more. A process notes one a day, so
/// a line with a message each day never falls silent.
const SILENCE: Duration = Duration::from_secs(2 * 24 * 60 * 60);

impl Store {
    /// Since when the line has delivered customers' messages (strongly consistent read). `None` if none was
    /// noted for two days. One round trip, or none for 5 minutes after it.
    pub async fn line_delivers_inbound_since(
        &self,
        workspace: WorkspaceId,
        line: &ChannelId,
    ) -> Result<Option<Timestamp>, StoreError> {
        let (of, now) = ((workspace, line.clone()), self.now());
        if let Some(since) = self.memories.inbound_since.get(&of, now) {
            return Ok(since);
        }
        let row: Option<InboundLineRow> =
            self.get_row(Table::Contacts, keys::inbound_line(workspace, line)).await?;
        let oldest = now.minus(SILENCE).as_millis();
        let since = row.filter(|row| row.seen_at >= oldest).map(|row| Timestamp::from_millis(row.since));
        self.memories.inbound_since.keep(of, since, now);
        Ok(since)
    }

    /// Notes that the line delivers customers' messages. A failure is logged: the next message notes it. A
    /// process writes once a day for each line: one round trip, or two after a silence.
    pub async fn note_inbound(&self, workspace: WorkspaceId, line: &ChannelId, at: Timestamp) {
        let of = (workspace, line.clone());
        if self.memories.inbound_lines.get(&of, at).is_some() {
            return;
        }
        match self.write_inbound(workspace, line, at).await {
            Ok(()) => {
                self.memories.inbound_since.forget(&of);
                self.memories.inbound_lines.keep(of, (), at);
            }
            Err(error) => {
                let (line, cause) = (line.as_str(), error_chain(&error));
                tracing::warn!(workspace = %workspace, line, cause, "message of the line not noted");
            }
        }
    }

    async fn write_inbound(
        &self,
        workspace: WorkspaceId,
        line: &ChannelId,
        at: Timestamp,
    ) -> Result<(), StoreError> {
        let (pk, sk) = keys::inbound_line(workspace, line);
        let silent = n(at.minus(SILENCE).as_millis());
        let seen = Write::update(Table::Contacts, key((&pk, sk)), "SET seenAt = :at")
            .when("seenAt >= :silent")
            .bind(":at", n(at.as_millis()))
            .bind(":silent", silent.clone());
        if let Wrote::Done(_) = self.write(seen).await? {
            return Ok(());
        }
        let begun = Write::put(Table::Contacts, first_row((pk, sk), at)?)
            .when("attribute_not_exists(pk) OR seenAt < :silent")
            .bind(":silent", silent);
        self.write(begun).await.map(drop)
    }
}

/// The write that forgets that the line delivered: it comes to the workspace or leaves it. What customers wrote to it
/// while another workspace had it did not arrive here.
pub(crate) fn forget_inbound(workspace: WorkspaceId, line: &ChannelId) -> Write {
    Write::delete(Table::Contacts, key(keys::inbound_line(workspace, line)))
}

fn first_row(key: (String, &str), at: Timestamp) -> Result<Item, StoreError> {
    let at = at.as_millis();
    row(key, "inboundLine", &InboundLineRow { since: at, seen_at: at })
}

/// `W#I#<line>` / `I`. Milliseconds since 1970.
#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
struct InboundLineRow {
    /// The first message, or the first one after a silence.
    since: i64,
    /// A message of the last day in which one came.
    seen_at: i64,
}

stored! { InboundLineRow }
