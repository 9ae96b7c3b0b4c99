//! Files: one row each. The row expires unless a message refers to the file in time.

use domain::media::FileName;
use domain::{FileType, Media, MediaDigest, MediaId, Timestamp, WorkspaceId};
use serde::{Deserialize, Serialize};

use crate::access::idempotency::{keep_answer, stored_answer};
use crate::dynamodb::fields;
use crate::dynamodb::item::{Item, key, n, read, row, s};
use crate::dynamodb::write::{LAST_REQUEST, Transacted, Write, Wrote, is_written_by};
use crate::{IdempotencyKey, Store, StoreError, StoredAnswer, Table, keys};

const KIND: &str = "media";

/// The result of creating files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MediaCreated {
    /// The files are ready for upload.
    Done,
    /// No file was created, because the idempotency key has an answer already.
    Answered(StoredAnswer),
}

impl Store {
    /// Creates up to 99 files for upload, all or none, and stores the answer of the idempotency key, if there
    /// is one. One round trip. Two write units for each file; one for a single file without a key.
    pub async fn create_media(
        &self,
        media: &[Media],
        kept: Option<(&IdempotencyKey, &str)>,
        request_id: &str,
    ) -> Result<MediaCreated, StoreError> {
        let Some(workspace) = media.first().map(|first| first.workspace_id) else {
            return Ok(MediaCreated::Done);
        };
        let mut writes: Vec<Write> = kept
            .map(|(once, answer)| keep_answer(Table::Media, workspace, once, answer, self.now()))
            .into_iter()
            .chain(media.iter().map(|media| first(media, request_id)))
            .collect::<Result<_, _>>()?;
        let found = match writes.len() {
            1 => match self.write(writes.remove(0)).await? {
                Wrote::Done(_) => return Ok(MediaCreated::Done),
                Wrote::Refused(found) => found,
            },
            _ => match self.transact(writes).await? {
                Transacted::Done => return Ok(MediaCreated::Done),
                // The idempotency row comes first: if it was refused, nothing else matters.
                Transacted::Refused(refusals) => {
                    let refusal = refusals.into_iter().next();
                    let (at, found) = refusal.map_or((0, None), |refusal| (refusal.at, refusal.found));
                    if let (Some((_, answer)), 0, Some(found)) = (kept, at, &found) {
                        let answered = stored_answer(found.clone())?;
                        // Ids are unique: an answer with these ids is the answer of an earlier attempt of
                        // this request.
                        let ours = answered.answer == answer;
                        return Ok(if ours { MediaCreated::Done } else { MediaCreated::Answered(answered) });
                    }
                    found
                }
            },
        };
        match found {
            Some(found) if is_written_by(&found, request_id) => Ok(MediaCreated::Done),
            _ => Err(StoreError::Failed("there is a file of that id already".into())),
        }
    }

    /// The files with these ids that exist and have not expired, in the order of the ids, without duplicates
    /// (strongly consistent read). One round trip for up to 100 ids.
    pub async fn media(&self, workspace: WorkspaceId, ids: &[MediaId]) -> Result<Vec<Media>, StoreError> {
        let mut wanted = ids.to_vec();
        wanted.sort_unstable();
        wanted.dedup();
        let keys = wanted.iter().map(|id| media_key(workspace, *id)).collect();
        let rows = self.batch_items(Table::Media, keys).await?;
        let now = self.now().as_seconds();
        let mut found = rows
            .into_iter()
            .map(|row| Ok(Media::from(read::<MediaRow>(row)?)))
            .collect::<Result<Vec<_>, StoreError>>()?;
        // DynamoDB deletes expired rows late.
        found.retain(|media| media.expires_at.is_none_or(|expires_at| expires_at.as_seconds() >= now));
        found.sort_by_key(|media| ids.iter().position(|id| *id == media.id));
        Ok(found)
    }
}

/// Part of a transaction: a message refers to a file with this size in bytes, so the file stays. Refused only
/// if the file has expired since; another message may have referred to it first.
pub(crate) fn first_reference(media: &Media, size: u64, now: Timestamp) -> Write {
    Write::update(Table::Media, media_key(media.workspace_id, media.id), "SET #size = :size REMOVE expiresAt")
        .when("attribute_exists(pk) AND (attribute_not_exists(expiresAt) OR expiresAt >= :now)")
        .name("#size", "size")
        .bind(":size", n(size))
        .bind(":now", n(now.as_seconds()))
}

/// The write of a new file's row, as `request_id` writes it.
fn first(media: &Media, request_id: &str) -> Result<Write, StoreError> {
    let (pk, sk) = keys::media(media.workspace_id, media.id);
    let mut item = row(pk, sk, KIND, &MediaRow::from(media))?;
    item.insert(LAST_REQUEST.to_owned(), s(request_id));
    Ok(Write::put(Table::Media, item).when_absent())
}

fn media_key(workspace: WorkspaceId, id: MediaId) -> Item {
    let (pk, sk) = keys::media(workspace, id);
    key(pk, sk)
}

/// `W#M#<id>` / `M`.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct MediaRow {
    #[serde(with = "fields::text")]
    id: MediaId,
    #[serde(with = "fields::text")]
    workspace_id: WorkspaceId,
    #[serde(with = "fields::text")]
    file_type: FileType,
    content_type: String,
    #[serde(with = "fields::text")]
    name: FileName,
    #[serde(with = "fields::text")]
    digest: MediaDigest,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    size: Option<u64>,
    #[serde(with = "fields::text")]
    created_at: Timestamp,
    /// Epoch seconds, for the table's TTL.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    expires_at: Option<i64>,
}

impl From<&Media> for MediaRow {
    fn from(media: &Media) -> Self {
        Self {
            id: media.id,
            workspace_id: media.workspace_id,
            file_type: media.file_type,
            content_type: media.content_type.clone(),
            name: media.name.clone(),
            digest: media.digest.clone(),
            size: media.size,
            created_at: media.created_at,
            expires_at: media.expires_at.map(|at| at.as_seconds()),
        }
    }
}

impl From<MediaRow> for Media {
    fn from(row: MediaRow) -> Self {
        Self {
            id: row.id,
            workspace_id: row.workspace_id,
            file_type: row.file_type,
            content_type: row.content_type,
            name: row.name,
            digest: row.digest,
            size: row.size,
            created_at: row.created_at,
            expires_at: row.expires_at.map(|seconds| Timestamp::from_millis(seconds * 1_000)),
        }
    }
}
