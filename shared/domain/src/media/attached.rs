//! A file of a message, and as what the provider takes it.

use crate::ids::MediaId;
use crate::media::file_name::FileName;
use crate::media::file_type::{FileType, KB, MB};

/// A file of a message, as it was when the message was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attached {
    /// The file.
    pub media: MediaId,
    /// What it was uploaded as.
    pub file_type: FileType,
    /// Its MIME type.
    pub content_type: String,
    /// Its original name.
    pub name: FileName,
    /// Its size in bytes.
    pub size: u64,
}

/// What WhatsApp takes as what it is, up to which size in bytes. Anything else goes as a document.
const TAKEN_BY_WHATSAPP: &[(FileType, &str, u64, SentAs)] = &[
    (FileType::Image, "image/jpeg", 5 * MB, SentAs::Image),
    (FileType::Image, "image/png", 5 * MB, SentAs::Image),
    (FileType::Video, "video/mp4", 16 * MB, SentAs::Video),
    (FileType::Audio, "audio/mp4", 16 * MB, SentAs::Audio),
    (FileType::Audio, "audio/mpeg", 16 * MB, SentAs::Audio),
    (FileType::Audio, "audio/ogg", 16 * MB, SentAs::Audio),
    (FileType::Sticker, "image/webp", 500 * KB, SentAs::Sticker),
    (FileType::Gif, "video/mp4", 16 * MB, SentAs::Video),
];

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
        let taken = TAKEN_BY_WHATSAPP.iter().find(|(file_type, content_type, max_bytes, _)| {
            *file_type == self.file_type && *content_type == self.content_type && self.size <= *max_bytes
        });
        taken.map_or(SentAs::Document, |(_, _, _, sent_as)| *sent_as)
    }

    /// Whether WhatsApp shows a text with it.
    pub fn takes_caption(&self) -> bool {
        !matches!(self.sent_as(), SentAs::Audio | SentAs::Sticker)
    }
}
