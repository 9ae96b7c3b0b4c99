//! Brings the files of customers' messages into the bucket.
//!
//! ```text
//! provider -> file on disk -> row WAITING -> object in the bucket -> message, row REFERENCED
//! ```
//!
//! The row comes before the object, because `uploads` deletes an object without a row. If the function dies in
//! between, the row expires, and its removal deletes the object. The transaction of the message makes the row
//! REFERENCED. The id of the file is derived, so every step can be repeated.

use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

use domain::inbound::file::{ReceivedFile, media_id};
use domain::media::FileMissing;
use domain::{ChannelId, Media, MediaDigest, MediaId, WorkspaceId, error_chain};
use provider::webhook::MediaFile;
use provider::{FetchedFile, FileClient, NotFetched, WantedFile};
use store::{Bucket, Store, StoreError};
use tokio::fs;
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::{Instant, timeout, timeout_at};

/// What became of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fetched {
    /// The bucket has the bytes. The transaction of the message must refer to the file, as that of a sent message does
    /// (`first_references`), because the row expires otherwise.
    Stored {
        /// The file.
        media: Media,
        /// The size in bytes.
        size: u64,
    },
    /// The file is not to be had, for this reason.
    Missing(FileMissing),
    /// The provider did not give the file now. It may do so later.
    NotNow,
    /// No place in the folder was free in time, so the provider was not asked.
    NoRoom,
}

/// Where a file belongs.
#[derive(Clone, Copy, Debug)]
pub struct FileOwner<'a> {
    /// The workspace.
    pub workspace: WorkspaceId,
    /// The line that received the message.
    pub line: &'a ChannelId,
}

/// Fetches files by way of a folder, because a file can be larger than the memory of the function.
pub struct Files {
    provider: FileClient,
    folder: PathBuf,
    rooms: Semaphore,
}

impl Files {
    /// The maximum number of files in the folder. Four documents of 100 MB fit into 512 MB, the smallest disk of a
    /// function.
    pub const AT_ONCE: usize = 4;
    /// The time limit of a fetch: from the first call to the provider until the bucket has the bytes.
    pub const LIMIT: Duration = Duration::from_secs(30);

    /// Fetches from `provider` by way of `folder`, which several processes may share.
    pub fn new(provider: FileClient, folder: PathBuf) -> Self {
        Self { provider, folder, rooms: Semaphore::new(Self::AT_ONCE) }
    }

    /// Fetches a file and stores it for the workspace. A stored file takes one round trip, or two before a message
    /// refers to it. Another one takes two to the tables, two to the provider and one to the bucket. A fetch that has no
    /// place in the folder by `begin_by` does not begin.
    pub async fn fetch(
        &self,
        store: &Store,
        bucket: &Bucket,
        owner: FileOwner<'_>,
        message: &str,
        file: &MediaFile,
        begin_by: Instant,
    ) -> Result<Fetched, StoreError> {
        let FileOwner { workspace, line } = owner;
        let id = media_id(workspace, message, &file.id);
        let (found, token) =
            tokio::try_join!(store.media_of(workspace, id), store.line_token(workspace, line))?;
        if let Some(media) = found
            && let Ok(size) = bucket.size(&media).await?
        {
            // An earlier attempt stored it.
            return Ok(Fetched::Stored { media, size });
        }
        let Some(token) = token else { return Ok(missing(owner, id, FileMissing::NoToken)) };
        let received = ReceivedFile::of(file.sent_as, &file.mime_type, file.filename.as_deref());
        let digest = file.sha256.as_deref().and_then(|digest| MediaDigest::parse_any(digest).ok());
        let max_bytes = received.file_type.max_bytes();
        let wanted = WantedFile { id: &file.id, digest: digest.as_ref(), max_bytes };

        let Some(_room) = self.room(begin_by).await else { return Ok(Fetched::NoRoom) };
        let fetch = async {
            let mut spooled = Spooled::create(&self.folder, store).await.map_err(|error| {
                tracing::error!(cause = error_chain(&error), "the folder for files cannot be written");
                NotFetched::NotNow("the folder cannot be written")
            })?;
            let FetchedFile { size, digest } = self.provider.fetch(&token, wanted, &mut spooled.0).await?;
            let media = received.media(id, workspace, digest, size, store.now());
            Ok(store_file(store, bucket, media, size, &spooled.path()).await)
        };
        match timeout(Self::LIMIT, fetch).await.unwrap_or(Err(NotFetched::NotNow("the time is up"))) {
            Ok(stored) => stored,
            Err(NotFetched::Missing(reason)) => Ok(missing(owner, id, reason)),
            Err(NotFetched::NotNow(reason)) => {
                tracing::warn!(workspace = %workspace, media = %id, reason, "file not fetched");
                Ok(Fetched::NotNow)
            }
        }
    }

    /// A place in the folder, unless none is free until then.
    async fn room(&self, until: Instant) -> Option<SemaphorePermit<'_>> {
        let room = timeout_at(until, self.rooms.acquire()).await.ok()?.ok()?;
        // The first look of a time limit that is over already may still succeed.
        (Instant::now() <= until).then_some(room)
    }
}

/// Stores the bytes: the row first, then the object.
async fn store_file(
    store: &Store,
    bucket: &Bucket,
    media: Media,
    size: u64,
    from: &Path,
) -> Result<Fetched, StoreError> {
    let stands = store.receive_media(&media).await?;
    // If a message refers to the file by now, the object is there: another process stored the same bytes.
    if !stands.is_referenced() {
        // A file that cannot be stored must not hold its message back for ever.
        if let Err(error) = bucket.put(&media, from).await {
            tracing::error!(media = %media.id, cause = error_chain(&error), "file not stored");
            return Ok(Fetched::NotNow);
        }
    }
    Ok(Fetched::Stored { media: stands, size })
}

fn missing(owner: FileOwner<'_>, id: MediaId, reason: FileMissing) -> Fetched {
    tracing::warn!(workspace = %owner.workspace, media = %id, reason = reason.as_str(), "file missing");
    Fetched::Missing(reason)
}

/// A file in the folder that has lost its name already, so that it goes with the process, however that ends.
struct Spooled(fs::File);

impl Spooled {
    async fn create(folder: &Path, store: &Store) -> std::io::Result<Self> {
        let path = folder.join(format!("inbox-{}", store.ids().next()));
        let file = fs::File::create_new(&path).await?;
        fs::remove_file(&path).await?;
        Ok(Self(file))
    }

    /// Where the bytes can be read, while this value exists.
    fn path(&self) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}", self.0.as_raw_fd()))
    }
}
