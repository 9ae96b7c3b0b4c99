//! Lines that the provider asks to slow down: one row a line, for all that is sent from it.
//!
//! The row is a courtesy to the provider and to those who wait: a send whose line's row cannot be read or written goes
//! on as if there were none, and meets the provider's own answer.

use domain::sending::End;
use domain::{ChannelId, LineThrottle, Timestamp, WorkspaceId, causes};
use serde::Deserialize;

use crate::dynamodb::item::{key, n};
use crate::dynamodb::write::Write;
use crate::{Store, StoreError, Table, keys};

impl Store {
    /// How a line stands with its provider, read strongly. What cannot be read is logged. One trip.
    pub async fn line_throttle(&self, workspace: WorkspaceId, channel: &ChannelId) -> LineThrottle {
        match self.known_throttle(workspace, channel).await {
            Ok(known) => known.unwrap_or_default(),
            Err(error) => {
                let (line, cause) = (channel.as_str(), causes(&error));
                tracing::warn!(workspace = %workspace, line, cause, "line throttle not read");
                LineThrottle::default()
            }
        }
    }

    async fn known_throttle(
        &self,
        workspace: WorkspaceId,
        channel: &ChannelId,
    ) -> Result<Option<LineThrottle>, StoreError> {
        let key = keys::line_throttle(workspace, channel);
        let row: Option<ThrottleRow> = self.get_row(Table::Limits, key).await?;
        // DynamoDB deletes expired rows late.
        let row = row.filter(|row| row.expires_at >= self.now().as_seconds());
        Ok(row.map(LineThrottle::from))
    }

    /// Remembers what the end of a call says of its line, which stood so before the call; most ends say nothing. Of
    /// several throttlings the longest holds, and an accepted send eases the line only as it saw it. What cannot be
    /// written is logged. One trip, or none.
    pub async fn remember_line(
        &self,
        workspace: WorkspaceId,
        channel: &ChannelId,
        before: &LineThrottle,
        end: &End,
    ) {
        let Some((next, until)) = before.after(end).and_then(|next| Some((next, next.until?))) else {
            return;
        };
        let (pk, sk) = keys::line_throttle(workspace, channel);
        let set = "SET throttledUntil = :until, throttledTimes = :times, expiresAt = :expires";
        let write = Write::update(Table::Limits, key(pk, sk), set)
            .when(match end {
                End::Sent(_) => "throttledUntil = :until",
                _ => "attribute_not_exists(throttledUntil) OR throttledUntil < :until",
            })
            .bind(":until", n(until.as_millis()))
            .bind(":times", n(next.times))
            .bind(":expires", n(until.plus(LineThrottle::REMEMBERED).as_seconds()));
        if let Err(error) = self.write(write).await {
            let (line, cause) = (channel.as_str(), causes(&error));
            tracing::warn!(workspace = %workspace, line, cause, "line throttle not recorded");
        }
    }
}

/// `W#T#<channel>` / `T`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ThrottleRow {
    /// Milliseconds since 1970.
    throttled_until: i64,
    throttled_times: u32,
    expires_at: i64,
}

impl From<ThrottleRow> for LineThrottle {
    fn from(row: ThrottleRow) -> Self {
        Self { until: Some(Timestamp::from_millis(row.throttled_until)), times: row.throttled_times }
    }
}
