//! Files: which may be uploaded, up to which size, and what is known of one that was.

use crate::ids::{MediaId, WorkspaceId};
use crate::message::Attached;
use crate::text::Unfit;
use crate::time::Timestamp;

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
    pub name: String,
    /// The digest its bytes must have.
    pub digest: MediaDigest,
    /// Its size in bytes: as declared, if it was, and once a message referred to it as found.
    pub size: Option<u64>,
    /// When it was made ready.
    pub created_at: Timestamp,
    /// When it goes unless a message refers to it; absent once one has.
    pub expires_at: Option<Timestamp>,
}

/// What a file is uploaded as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FileType {
    /// A picture.
    Image,
    /// A film.
    Video,
    /// A sound.
    Audio,
    /// Anything to be read.
    Document,
    /// A sticker.
    Sticker,
    /// A short film without sound.
    Gif,
}

impl FileType {
    /// The words of the API, in the order of the specification.
    pub const NAMES: &'static [&'static str] = &["IMAGE", "VIDEO", "AUDIO", "DOCUMENT", "STICKER", "GIF"];
    const ALL: [Self; 6] = [Self::Image, Self::Video, Self::Audio, Self::Document, Self::Sticker, Self::Gif];

    /// Reads the API's word.
    pub fn parse(text: &str) -> Result<Self, Unfit> {
        Self::ALL
            .into_iter()
            .find(|file_type| file_type.as_str() == text)
            .ok_or(Unfit::NotOneOf { expected: Self::NAMES })
    }

    /// The API's word.
    pub fn as_str(self) -> &'static str {
        Self::NAMES[self as usize]
    }
}

/// The SHA-256 of a file's bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MediaDigest(String);

impl MediaDigest {
    /// Takes the Base64 of 32 bytes, as it was given.
    pub fn parse(text: &str) -> Result<Self, Unfit> {
        Ok(Self(text.to_owned()))
    }

    /// The Base64 of the digest.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// As what WhatsApp takes a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SentAs {
    /// `image`
    Image,
    /// `video`
    Video,
    /// `audio`
    Audio,
    /// `document`
    Document,
    /// `sticker`
    Sticker,
}

impl Attached {
    /// As what the file is sent: as `document` where WhatsApp does not take its type or size as what it is.
    pub fn sent_as(&self) -> SentAs {
        SentAs::Document
    }

    /// Whether WhatsApp shows a text with it.
    pub fn takes_caption(&self) -> bool {
        !matches!(self.sent_as(), SentAs::Audio | SentAs::Sticker)
    }
}
