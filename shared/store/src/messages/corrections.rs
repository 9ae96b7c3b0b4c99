//! Customers' changes of messages that are stored, under the condition of the version as it was read.

use std::time::Duration;

use domain::message::{Corrected, Correction};
use domain::{ChannelId, Message};
use futures::future::try_join_all;

use crate::dynamodb::versions::diff_write;
use crate::dynamodb::write::Wrote;
use crate::media::expire_media;
use crate::messages::row::{message, message_item};
use crate::{Store, StoreError, Table};

/// How long the file of a message stays that the customer deleted.
const REVOKED_FILE: Duration = Duration::from_hours(24);

impl Store {
    /// Records a customer's change of a message, as it was read. Returns `false` if the message was erased. One round trip;
    /// one more for a deleted message with a file, and more only while other writes change the row.
    pub async fn record_correction(
        &self,
        seen: &Message,
        line: &ChannelId,
        correction: &Correction,
    ) -> Result<bool, StoreError> {
        let mut seen = seen.clone();
        loop {
            let Corrected::Changed(next) = seen.corrected(correction, line, self.now()) else {
                return Ok(true);
            };
            // This comes first: the message will not name its file any more.
            let kept = next.file_ids();
            let gone = seen.file_ids().into_iter().filter(|file| !kept.contains(file));
            let end = self.now().plus(REVOKED_FILE);
            let expire = |file| self.write(expire_media(seen.workspace_id, file, end));
            try_join_all(gone.map(expire)).await?;
            let [before, after] = [&seen, &*next].map(|message| message_item(message, None, ""));
            let change = diff_write(Table::Messages, &before?, &after?, seen.version);
            match self.write(change).await? {
                Wrote::Done(_) => return Ok(true),
                Wrote::Refused(Some(found)) => seen = message(found)?,
                Wrote::Refused(None) => return Ok(false),
            }
        }
    }
}
