//! A file of a message, and the form in which it is sent.

use crate::ids::MediaId;
use crate::media::file_name::FileName;
use crate::media::file_type::{FileType, KB, MB};
use crate::words::words;

/// A file of a message. The data is copied when the message is created.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attached {
    /// The file.
    pub media: MediaId,
    /// The type of the file.
    pub file_type: FileType,
    /// The MIME type.
    pub content_type: String,
    /// The original name.
    pub name: FileName,
    /// The size in bytes.
    pub size: u64,
}

/// The files that WhatsApp accepts as a type other than document, with the size limit in bytes. All other
/// files are sent as documents.
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

/// The form in which WhatsApp receives a file.
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

words!(
    /// The names of the forms.
    SentAs {
        Image: "IMAGE",
        Video: "VIDEO",
        Audio: "AUDIO",
        Document: "DOCUMENT",
        Sticker: "STICKER",
    }
);

impl Attached {
    /// The form in which the file is sent. It is `document` if WhatsApp does not accept the file's type or
    /// size in another form.
    pub fn sent_as(&self) -> SentAs {
        let taken = TAKEN_BY_WHATSAPP.iter().find(|(file_type, content_type, max_bytes, _)| {
            *file_type == self.file_type && *content_type == self.content_type && self.size <= *max_bytes
        });
        taken.map_or(SentAs::Document, |(_, _, _, sent_as)| *sent_as)
    }

    /// Whether WhatsApp shows a caption with the file.
    pub fn takes_caption(&self) -> bool {
        !matches!(self.sent_as(), SentAs::Audio | SentAs::Sticker)
    }
}
