//! Files: which ones may be uploaded, their size limits, and their stored data.

mod attached;
mod file_missing;
mod file_name;
mod file_type;

pub use attached::{Attached, SentAs};
pub use file_missing::FileMissing;
pub use file_name::FileName;
pub use file_type::{FileType, Mismatch, RULES, TypeRule};

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

use crate::encoding::unhex;
use crate::ids::{Ids, MediaId, WorkspaceId};
use crate::refused::{MediaFault, Refused};
use crate::text::Unfit;
use crate::time::{Timestamp, days};
use crate::words::words;

/// The SHA-256 of a file's bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MediaDigest(String);

impl MediaDigest {
    // 32 bytes have 43 Base64 digits and one padding character. The last digit carries only four bits.
    const PATTERN: &'static str = "^[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=$";
    const FORM: &'static str = "the Base64 of the SHA-256 of the file (44 characters)";
    const LAST_DIGITS: &'static [u8] = b"AEIMQUYcgkosw048";

    /// Parses the canonical Base64 (RFC 4648, section 4) of 32 bytes.
    pub fn parse(text: &str) -> Result<Self, Unfit> {
        let fits = match text.as_bytes() {
            [digits @ .., last, b'='] => {
                digits.len() == 42
                    && digits.iter().all(|digit| digit.is_ascii_alphanumeric() || b"+/".contains(digit))
                    && Self::LAST_DIGITS.contains(last)
            }
            _ => false,
        };
        let shape = Unfit::Shape { pattern: Self::PATTERN, form: Self::FORM };
        if fits { Ok(Self(text.to_owned())) } else { Err(shape) }
    }

    /// Parses 32 bytes in Base64 or in hexadecimal digits: the provider uses both.
    pub fn parse_any(text: &str) -> Result<Self, Unfit> {
        match unhex(text) {
            Some(bytes) if bytes.len() == 32 => Ok(Self(STANDARD.encode(bytes))),
            _ => Self::parse(text),
        }
    }

    /// The Base64 text of the digest.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Calculates the digest of bytes that arrive one after another.
#[derive(Clone, Debug, Default)]
pub struct MediaHash(Sha256);

impl MediaHash {
    /// Adds the next bytes.
    pub fn add(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// The digest of all bytes.
    pub fn digest(self) -> MediaDigest {
        MediaDigest(STANDARD.encode(self.0.finalize()))
    }
}

/// A file in an upload request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Declared {
    /// The original name.
    pub name: FileName,
    /// The type of the file.
    pub file_type: FileType,
    /// The MIME type that [`FileType::format`] returned for the name and the type.
    pub content_type: &'static str,
    /// The required digest of the bytes.
    pub digest: MediaDigest,
    /// The size in bytes, if the request gives it.
    pub size: Option<u64>,
}

/// A file that was prepared for upload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Media {
    /// Its id.
    pub id: MediaId,
    /// The workspace.
    pub workspace_id: WorkspaceId,
    /// The type of the file.
    pub file_type: FileType,
    /// The MIME type.
    pub content_type: String,
    /// The original name.
    pub name: FileName,
    /// The required digest of the bytes.
    pub digest: MediaDigest,
    /// The size in bytes: as declared, if it was, and as measured after a message referred to the file.
    pub size: Option<u64>,
    /// When the file was prepared.
    pub created_at: Timestamp,
    /// What became of it.
    pub state: MediaState,
    /// When the file expires: unless a message refers to it in time, or with the first message that referred to it.
    /// `None` if messages do not expire.
    pub expires_at: Option<Timestamp>,
}

/// What became of a file that was prepared for upload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum MediaState {
    /// No message has referred to the file. It may be uploaded or not.
    Waiting,
    /// A message has referred to the file. The file was then checked.
    Referenced,
    /// The uploaded file was over its type's limit and was deleted. The upload URL is bound to the digest, so no
    /// later upload can be smaller.
    TooLarge,
    /// The uploaded file had no bytes and was deleted. The digest is that of an empty file, so no later upload can
    /// have any.
    Empty,
}

words!(
    /// The values of the row's attribute.
    MediaState { Waiting: "WAITING", Referenced: "REFERENCED", TooLarge: "TOO_LARGE", Empty: "EMPTY" }
);

/// The bucket's data about an uploaded file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Uploaded {
    /// The size in bytes.
    pub size: u64,
    /// The digest that the bucket calculated during the upload.
    pub digest: Option<MediaDigest>,
}

impl Media {
    /// The greatest number of files in one request.
    pub const MAX_AT_ONCE: usize = 20;
    /// How long an upload URL is valid.
    pub const UPLOAD_VALID: Duration = Duration::from_mins(10);
    /// How long a URL for a caller's download is valid.
    pub const DOWNLOAD_VALID: Duration = Duration::from_mins(10);
    /// How long a URL for the provider's download is valid.
    pub const LINK_VALID: Duration = Duration::from_hours(1);
    /// How long a file waits for a message: one day plus the validity of an upload URL. During the day, a
    /// repeated request returns newly signed URLs. The additional time covers the last of them, so no upload
    /// happens after the cleanup.
    pub const KEPT: Duration = days(1).saturating_add(Self::UPLOAD_VALID);

    /// A file of the request, prepared for upload.
    pub fn ready(file: &Declared, workspace: WorkspaceId, ids: &dyn Ids, now: Timestamp) -> Self {
        Self {
            id: MediaId::generate(ids),
            workspace_id: workspace,
            file_type: file.file_type,
            content_type: file.content_type.to_owned(),
            name: file.name.clone(),
            digest: file.digest.clone(),
            size: file.size,
            created_at: now,
            state: MediaState::Waiting,
            expires_at: Some(now.plus(Self::KEPT)),
        }
    }

    /// Whether a message has referred to the file. The file was then checked.
    pub fn is_referenced(&self) -> bool {
        self.state == MediaState::Referenced
    }

    /// The state of this row if a file of this size was uploaded for it and must be deleted.
    pub fn refused_by_size(&self, size: u64) -> Option<MediaState> {
        match size {
            0 => Some(MediaState::Empty),
            size if size > self.file_type.max_bytes() => Some(MediaState::TooLarge),
            _ => None,
        }
    }

    /// The size in bytes if the uploaded file matches the declaration. If the result is
    /// [`MediaFault::TooLarge`] or [`MediaFault::Empty`], the caller must delete the file.
    pub fn check(&self, uploaded: Option<&Uploaded>) -> Result<u64, Refused> {
        let unfit = |reason| Err(Refused::MediaUnfit { media: self.id, reason });
        let by_size = |state: MediaState| match state {
            MediaState::TooLarge => Err(MediaFault::TooLarge { max_bytes: self.file_type.max_bytes() }),
            MediaState::Empty => Err(MediaFault::Empty),
            MediaState::Waiting | MediaState::Referenced => Ok(()),
        };
        by_size(self.state).or_else(unfit)?;
        let uploaded = uploaded.ok_or(Refused::UnknownMedia { media: self.id })?;
        self.refused_by_size(uploaded.size).map_or(Ok(()), by_size).or_else(unfit)?;
        if uploaded.digest.as_ref() != Some(&self.digest) {
            unfit(MediaFault::OtherDigest)?;
        }
        Ok(uploaded.size)
    }

    /// The file as part of a message. `size` is the measured size in bytes.
    pub fn attached(&self, size: u64) -> Attached {
        Attached {
            media: self.id,
            file_type: self.file_type,
            content_type: self.content_type.clone(),
            name: self.name.clone(),
            size,
        }
    }
}

#[cfg(test)]
mod tests;
