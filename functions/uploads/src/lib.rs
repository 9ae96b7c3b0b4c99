//! Checks files when they arrive in the bucket, and deletes those that may not stay.
//!
//! ```text
//! PUT to a presigned URL -> bucket -> notification -> file's row -> too large or empty: row TOO_LARGE or EMPTY, bytes deleted
//! ```
//!
//! The bucket refuses any other size than the declared one. If a request declares no size, only the row's type limits
//! the file, and the bucket does not know it. `messages` checks a file again when a message first refers to it, so a
//! late notification lets no message through.

use aws_lambda_events::sqs::{SqsBatchResponse, SqsEvent};
use domain::{MediaId, WorkspaceId};
use queue::{Outcome, Upload, process_batch, read_uploads};
use store::{Bucket, Store, StoreError};

/// The dependencies of this function.
pub struct Uploads {
    /// The tables.
    pub store: Store,
    /// The bucket of files.
    pub bucket: Bucket,
}

impl Uploads {
    /// Checks the files of a batch of notifications. A notification that cannot be processed now is delivered again.
    pub async fn handle(&self, event: SqsEvent) -> SqsBatchResponse {
        process_batch(event, read_uploads, async |uploads: Vec<Upload>| {
            for Upload { key, size } in &uploads {
                let Some((workspace, id)) = Bucket::file_of(key) else {
                    tracing::warn!(size, "an object that is no file of a workspace");
                    continue;
                };
                if let Err(error) = self.check(workspace, id, *size).await {
                    return Outcome::Retry(error.into());
                }
            }
            Outcome::Done
        })
        .await
    }

    /// Checks one file. One round trip; three for a file that is too large or empty, two for a file without a row. The row
    /// changes first, so a message that refers to the file gets the reason and not "unknown".
    async fn check(&self, workspace: WorkspaceId, id: MediaId, size: u64) -> Result<(), StoreError> {
        let reason = match self.store.media_of(workspace, id).await? {
            Some(media) => {
                let Some(state) = media.refused_by_size(size) else { return Ok(()) };
                self.store.media_refused(&media, state, size).await?;
                state.as_str()
            }
            None => "no row",
        };
        self.bucket.delete(workspace, id).await?;
        tracing::info!(workspace = %workspace, media = %id, size, reason, "upload deleted");
        Ok(())
    }
}
