//! Files: one row each. The row expires unless a message refers to the file in time, and then with that message.

pub(crate) mod bucket;

use std::time::Duration;

use domain::media::{FileName, MediaState};
use domain::{FileType, Media, MediaDigest, MediaId, Message, Timestamp, WorkspaceId};
use serde::{Deserialize, Serialize};

use crate::dynamodb::fields::{self, stored};
use crate::dynamodb::item::{EXPIRES_AT, Item, key, n, read, row, s};
use crate::dynamodb::read::{Place, Rows};
use crate::dynamodb::update::RowUpdate;
use crate::dynamodb::write::{LAST_REQUEST, Refusal, Transaction, TwoRoles, Write, Wrote, is_written_by};
use crate::idempotency::{keep_answer, stored_answer};
use crate::{IdempotencyKey, Store, StoreError, StoredAnswer, Table, keys};

/// Where a file's row is.
pub(crate) fn media_place(workspace: WorkspaceId, id: MediaId) -> Place {
    Place::of(Table::Media, keys::media(workspace, id))
}

/// The files at these places that exist, in their order, each once.
pub(crate) fn take_media(rows: &mut Rows, places: &[Place]) -> Result<Vec<Media>, StoreError> {
    places.iter().filter_map(|place| rows.read(place).transpose()).collect()
}

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
        let mut writes = Transaction::new();
        if let Some((once, answer)) = kept {
            writes.add(TwoRoles::Main, keep_answer(Table::Media, workspace, once, answer, self.now())?);
        }
        for media in media {
            writes.add(TwoRoles::Other, first(media, request_id)?);
        }
        let found = match writes.single() {
            Ok(only) => match self.write(only).await? {
                Wrote::Done(_) => return Ok(MediaCreated::Done),
                Wrote::Refused(found) => found,
            },
            Err(writes) => {
                let Err(refusals) = self.transact(writes).await? else { return Ok(MediaCreated::Done) };
                // The idempotency row comes first: if it was refused, nothing else matters.
                match (refusals.into_iter().next(), kept) {
                    (Some(Refusal { role: TwoRoles::Main, found: Some(found) }), Some((_, answer))) => {
                        let answered = stored_answer(found)?;
                        // Ids are unique: an answer with these ids is the answer of an earlier attempt of
                        // this request.
                        let ours = answered.answer == answer;
                        return Ok(if ours { MediaCreated::Done } else { MediaCreated::Answered(answered) });
                    }
                    (refusal, _) => refusal.and_then(|refusal| refusal.found),
                }
            }
        };
        match found {
            Some(found) if is_written_by(&found, request_id) => Ok(MediaCreated::Done),
            _ => Err(StoreError::Failed("there is a file of that id already".into())),
        }
    }

    /// Creates the row of a customer's file before its bytes are stored, so that nothing is stored without a row. A row
    /// to which no message refers yet is replaced, and its time begins again. Returns the row that stands: another one if
    /// a message refers to the file already. One round trip.
    pub async fn receive_media(&self, media: &Media) -> Result<Media, StoreError> {
        let put = Write::put(Table::Media, media_item(media)?)
            .when("attribute_not_exists(pk) OR #state = :waiting")
            .name("#state", "state")
            .bind(":waiting", s(MediaState::Waiting.as_str()));
        match self.write(put).await? {
            Wrote::Done(_) => Ok(media.clone()),
            Wrote::Refused(Some(found)) => read(found),
            // The row expired between the write and its answer.
            Wrote::Refused(None) => Err(StoreError::Busy("the file's row changed".into())),
        }
    }

    /// The files with these ids that exist and have not expired, in the order of the ids, without duplicates
    /// (strongly consistent read). One round trip for up to 100 ids.
    pub async fn media(&self, workspace: WorkspaceId, ids: &[MediaId]) -> Result<Vec<Media>, StoreError> {
        let places: Vec<Place> = ids.iter().map(|id| media_place(workspace, *id)).collect();
        take_media(&mut self.rows_at(&places).await?, &places)
    }

    /// The file with this id, if it exists and has not expired (strongly consistent read). One round trip.
    pub async fn media_of(&self, workspace: WorkspaceId, id: MediaId) -> Result<Option<Media>, StoreError> {
        self.get_row(Table::Media, keys::media(workspace, id)).await
    }

    /// Records that the file uploaded for this row does not stay, because of its size. Changes nothing if the row has
    /// expired since, or if that is recorded already. One round trip.
    pub async fn media_refused(&self, media: &Media, state: MediaState, size: u64) -> Result<(), StoreError> {
        let change = RowUpdate::default()
            .set("size", n(size))
            .set("state", s(state.as_str()))
            .when("#state = :waiting")
            .bind(":waiting", s(MediaState::Waiting.as_str()));
        self.write(change.of(Table::Media, media_key(media.workspace_id, media.id))).await?;
        Ok(())
    }
}

/// Part of a transaction: a message refers to a file with this size in bytes, so the file is kept as long as the
/// message, which is kept for `kept`. Refused only if the file has expired since; another message may have
/// referred to it first.
pub(crate) fn first_reference(
    media: &Media,
    size: u64,
    message: &Message,
    kept: Option<Duration>,
    now: Timestamp,
) -> Write {
    RowUpdate::default()
        .set("size", n(size))
        .set("state", s(MediaState::Referenced.as_str()))
        .set_or_remove(EXPIRES_AT, kept.map(|kept| n(message.created_at.plus(kept).as_seconds())))
        .when("attribute_exists(pk) AND (attribute_not_exists(#expiresAt) OR #expiresAt >= :now)")
        .bind(":now", n(now.as_seconds()))
        .of(Table::Media, media_key(media.workspace_id, media.id))
}

/// The write after which a file is kept until `end` at most. Refused if it is not kept as long anyway.
pub(crate) fn expire_media(workspace: WorkspaceId, id: MediaId, end: Timestamp) -> Write {
    RowUpdate::default()
        .set(EXPIRES_AT, n(end.as_seconds()))
        .when("attribute_exists(pk) AND (attribute_not_exists(#expiresAt) OR #expiresAt > :expiresAt)")
        .of(Table::Media, media_key(workspace, id))
}

/// The write of a new file's row, as `request_id` writes it.
fn first(media: &Media, request_id: &str) -> Result<Write, StoreError> {
    let mut item = media_item(media)?;
    item.insert(LAST_REQUEST.to_owned(), s(request_id));
    Ok(Write::put(Table::Media, item).when_absent())
}

fn media_item(media: &Media) -> Result<Item, StoreError> {
    row(keys::media(media.workspace_id, media.id), "media", media)
}

fn media_key(workspace: WorkspaceId, id: MediaId) -> Item {
    key(keys::media(workspace, id))
}

/// `W#M#<id>` / `M`.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Media", rename_all = "camelCase")]
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
    #[serde(with = "fields::text")]
    state: MediaState,
    #[serde(with = "fields::optional_seconds", default, skip_serializing_if = "Option::is_none")]
    expires_at: Option<Timestamp>,
}

stored! { Media = MediaRow }
