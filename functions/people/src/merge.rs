//! The states of a merge, and what a visit does in each of them.

use std::time::Duration;

use domain::{ContactId, Merge, MergeRefusal, MergeState, Rest};
use store::{Joined, RetryTime};

use crate::job::Job;
use crate::stop::{Result, Stop};

/// How long a merge waits until another one of its contacts is done.
const TURN: Duration = Duration::from_secs(10);

impl Job<'_, Merge> {
    /// Works until the merge is over, or waits.
    pub(crate) async fn work(&mut self) -> Result<Rest> {
        loop {
            self.has_time()?;
            match self.of.state {
                MergeState::Asked => match self.begin().await? {
                    None => {}
                    Some(MergeRefusal::BeingMerged) => return Ok(Rest::Closed(self.now().plus(TURN))),
                    Some(refusal) => {
                        let Merge { id, workspace_id, .. } = self.of;
                        let reason = refusal.as_str();
                        tracing::warn!(merge = %id, workspace = %workspace_id, reason, "contacts not merged");
                        self.drop().await?;
                        return Ok(Rest::Done);
                    }
                },
                MergeState::Joined => {
                    self.move_all().await?;
                    self.store().end_merging(&self.of).await?;
                    self.keep(self.of.moved(self.now())).await?;
                }
                MergeState::Moved => {
                    let begins = self.of.second_look_at();
                    if self.now() < begins {
                        return Ok(Rest::Closed(begins));
                    }
                    self.move_all().await?;
                    self.drop().await?;
                    return Ok(Rest::Done);
                }
            }
        }
    }

    /// Joins the contacts. Returns why that cannot be.
    async fn begin(&mut self) -> Result<Option<MergeRefusal>> {
        let mut retries = RetryTime::new(self.store());
        loop {
            match self.join().await? {
                Joined::Done(joined) => {
                    self.of = joined;
                    return Ok(None);
                }
                Joined::Refused(refusal) => return Ok(Some(refusal)),
                Joined::Lost => return Err(Stop::Lost),
                Joined::Stale => retries.wait().await?,
            }
        }
    }

    /// Moves what is stored for the merged contact. The contact that stays may have become part of another one since the
    /// first time, or was erased with everything that was moved.
    async fn move_all(&self) -> Result {
        let Merge { workspace_id: workspace, merged, .. } = self.of;
        let Some(survivor) = self.store().merged_into(workspace, merged).await? else { return Ok(()) };
        let both: (ContactId, ContactId) = (survivor, merged);
        for conversation in self.store().conversations_listed_for(workspace, merged).await? {
            self.has_time()?;
            self.store().move_conversation(workspace, conversation, both).await?;
        }
        self.store().move_left(workspace, both).await?;
        Ok(self.store().move_windows(workspace, both).await?)
    }
}
