//! Files: which may be uploaded, up to which size, and what is known of one that was.

mod attached;
mod file_name;
mod file_type;

pub use attached::{Attached, SentAs};
pub use file_name::FileName;
pub use file_type::{FileType, Mismatch, RULES, TypeRule};

use std::time::Duration;

use crate::ids::{Ids, MediaId, WorkspaceId};
use crate::refused::{MediaFault, Refused};
use crate::text::Unfit;
use crate::time::Timestamp;

/// The SHA-256 of a file's bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MediaDigest(String);

impl MediaDigest {
    // 32 bytes are 42 whole digits of Base64, one of which only four bits count, and a filling.
    const PATTERN: &'static str = "^[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=$";
    const LAST_DIGITS: &'static [u8] = b"AEIMQUYcgkosw048";

    /// Reads the one spelling that Base64 (RFC 4648, section 4) has for 32 bytes.
    pub fn parse(text: &str) -> Result<Self, Unfit> {
        let fits = match text.as_bytes() {
            [digits @ .., last, b'='] => {
                digits.len() == 42
                    && digits.iter().all(|digit| digit.is_ascii_alphanumeric() || b"+/".contains(digit))
                    && Self::LAST_DIGITS.contains(last)
            }
            _ => false,
        };
        if fits { Ok(Self(text.to_owned())) } else { Err(Unfit::Shape { pattern: Self::PATTERN }) }
    }

    /// The Base64 of the digest.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A file that is to be uploaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Declared {
    /// Its original name.
    pub name: FileName,
    /// What it is uploaded as.
    pub file_type: FileType,
    /// Its MIME type, as [`FileType::format`] found it to belong to name and type.
    pub content_type: &'static str,
    /// The digest its bytes must have.
    pub digest: MediaDigest,
    /// Its size in bytes, if it is known before.
    pub size: Option<u64>,
}

/// A file made ready for upload, and what became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Media {
    /// Its id.
    pub id: MediaId,
    /// The workspace.
    pub workspace_id: WorkspaceId,
    /// What it is uploaded as.
    pub file_type: FileType,
    /// Its MIME type.
    pub content_type: String,
    /// Its original name.
    pub name: FileName,
    /// The digest its bytes must have.
    pub digest: MediaDigest,
    /// Its size in bytes: as declared, if it was, and once a message referred to it as found.
    pub size: Option<u64>,
    /// When it was made ready.
    pub created_at: Timestamp,
    /// When it goes unless a message refers to it; absent once one has.
    pub expires_at: Option<Timestamp>,
}

/// What was uploaded, as the bucket knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Uploaded {
    /// Its size in bytes.
    pub size: u64,
    /// The digest that the bucket found when it took it.
    pub digest: Option<MediaDigest>,
}

impl Media {
    /// The greatest number of files of one request.
    pub const MAX_AT_ONCE: usize = 20;
    /// For how long a URL lets a file be uploaded.
    pub const UPLOAD_VALID: Duration = Duration::from_secs(10 * 60);
    /// For how long a URL lets the provider fetch a file.
    pub const LINK_VALID: Duration = Duration::from_secs(60 * 60);
    /// How long a file waits for a message: a day, in which a repeated request is answered with URLs signed anew, and
    /// as long as the last of these is valid, so that nothing is uploaded behind the back of what clears up.
    pub const KEPT: Duration = Duration::from_secs(24 * 60 * 60 + Self::UPLOAD_VALID.as_secs());

    /// A declared file, ready for upload.
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
            expires_at: Some(now.plus(Self::KEPT)),
        }
    }

    /// Whether a message has referred to it: then it was found to be as declared, and stays.
    pub fn is_referenced(&self) -> bool {
        self.expires_at.is_none()
    }

    /// Whether what was uploaded, if anything was, is what was declared: its size in bytes. What is too large is to
    /// be deleted.
    pub fn check(&self, uploaded: Option<&Uploaded>) -> Result<u64, Refused> {
        let uploaded = uploaded.ok_or(Refused::UnknownMedia { media: self.id })?;
        let max_bytes = self.file_type.max_bytes();
        let unfit = |reason| Err(Refused::MediaUnfit { media: self.id, reason });
        if uploaded.size > max_bytes {
            return unfit(MediaFault::TooLarge { max_bytes });
        }
        if uploaded.digest.as_ref() != Some(&self.digest) {
            return unfit(MediaFault::OtherDigest);
        }
        Ok(uploaded.size)
    }

    /// The file of a message, at the size found.
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
