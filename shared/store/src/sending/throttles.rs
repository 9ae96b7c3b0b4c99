//! Lines that the provider throttles: one row for each line, used by all senders.
//!
//! The row only saves calls. If it cannot be read or written, a send continues as if there were none, and
//! gets the provider's own answer.

use std::collections::BTreeMap;

use domain::sending::End;
use domain::{ChannelId, LineThrottle, Timestamp, WorkspaceId, error_chain};
use serde::{Deserialize, Serialize};

use crate::dynamodb::fields::stored;
use crate::dynamodb::item::{key, n};
use crate::dynamodb::read::Place;
use crate::dynamodb::write::Write;
use crate::{Store, StoreError, Table, keys};

impl Store {
    /// The throttle state of a line (strongly consistent read). If it cannot be read, this is logged and the
    /// line counts as not throttled. One round trip.
    pub async fn line_throttle(&self, workspace: WorkspaceId, channel: &ChannelId) -> LineThrottle {
        match self.known_throttle(workspace, channel).await {
            Ok(known) => known.unwrap_or_default(),
            Err(error) => {
                let (line, cause) = (channel.as_str(), error_chain(&error));
                tracing::warn!(workspace = %workspace, line, cause, "line throttle not read");
                LineThrottle::default()
            }
        }
    }

    /// The lines that are throttled now, and until when. One round trip, none without lines.
    pub async fn throttled_lines(
        &self,
        workspace: WorkspaceId,
        channels: &[ChannelId],
    ) -> Result<BTreeMap<ChannelId, Timestamp>, StoreError> {
        let place = |channel| Place::of(Table::Limits, keys::line_throttle(workspace, channel));
        let places: Vec<Place> = channels.iter().map(place).collect();
        let mut rows = self.rows_at_eventually(&places).await?;
        let mut throttled = BTreeMap::new();
        for (channel, place) in channels.iter().zip(&places) {
            let row: Option<ThrottleRow> = rows.read(place)?;
            let until = row.map(|row| Timestamp::from_millis(row.throttled_until));
            throttled.extend(until.filter(|until| *until > self.now()).map(|until| (channel.clone(), until)));
        }
        Ok(throttled)
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

    /// Stores what the end of a call means for its line; `before` is the line's state before the call. Most
    /// ends mean nothing. The longest of several throttlings wins, and an accepted send eases the line only
    /// if its state is unchanged. If the row cannot be written, this is logged. One round trip, or none.
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
        let set = "SET throttledUntil = :until, throttledTimes = :times, expiresAt = :expires";
        let write = Write::update(Table::Limits, key(keys::line_throttle(workspace, channel)), set)
            .when(match end {
                End::Sent(_) | End::Held(_) => "throttledUntil = :until",
                _ => "attribute_not_exists(throttledUntil) OR throttledUntil < :until",
            })
            .bind(":until", n(until.as_millis()))
            .bind(":times", n(next.times))
            .bind(":expires", n(until.plus(LineThrottle::REMEMBERED).as_seconds()));
        if let Err(error) = self.write(write).await {
            let (line, cause) = (channel.as_str(), error_chain(&error));
            tracing::warn!(workspace = %workspace, line, cause, "line throttle not recorded");
        }
    }
}

/// `W#T#<channel>` / `T`.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ThrottleRow {
    /// Milliseconds since 1970.
    throttled_until: i64,
    throttled_times: u32,
    expires_at: i64,
}

stored! { ThrottleRow }

impl From<ThrottleRow> for LineThrottle {
    fn from(row: ThrottleRow) -> Self {
        Self { until: Some(Timestamp::from_millis(row.throttled_until)), times: row.throttled_times }
    }
}
