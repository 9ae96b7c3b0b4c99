//! The types of files, with the formats and the size limit of each.

use crate::media::file_name::FileName;
use crate::words::words;

pub(super) const KB: u64 = 1_024;
pub(super) const MB: u64 = 1_024 * KB;

/// The rule for one type of file.
#[derive(Debug)]
pub struct TypeRule {
    /// The type.
    pub file_type: FileType,
    /// The greatest size in bytes.
    pub max_bytes: u64,
    /// Extensions in lower case, each with its MIME type.
    pub formats: &'static [(&'static str, &'static str)],
}

/// The specification's table, in the order of [`FileType::NAMES`]. The extension of PDF and the stickers are
/// not in the specification's table; the decisions add them.
pub const RULES: &[TypeRule] = &[
    TypeRule {
        file_type: FileType::Image,
        max_bytes: 16 * MB,
        formats: &[
            (".jpeg", "image/jpeg"),
            (".jpg", "image/jpeg"),
            (".png", "image/png"),
            (".webp", "image/webp"),
        ],
    },
    TypeRule {
        file_type: FileType::Video,
        max_bytes: 64 * MB,
        formats: &[(".avi", "video/x-msvideo"), (".mov", "video/quicktime"), (".mp4", "video/mp4")],
    },
    TypeRule {
        file_type: FileType::Audio,
        max_bytes: 16 * MB,
        formats: &[
            (".m4a", "audio/mp4"),
            (".mp3", "audio/mpeg"),
            (".ogg", "audio/ogg"),
            (".wav", "audio/wav"),
        ],
    },
    TypeRule {
        file_type: FileType::Document,
        max_bytes: 100 * MB,
        formats: &[
            (".doc", "application/msword"),
            (".docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"),
            (".pdf", "application/pdf"),
            (".ppt", "application/vnd.ms-powerpoint"),
            (".pptx", "application/vnd.openxmlformats-officedocument.presentationml.presentation"),
            (".txt", "text/plain"),
            (".xls", "application/vnd.ms-excel"),
            (".xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"),
        ],
    },
    TypeRule { file_type: FileType::Sticker, max_bytes: 500 * KB, formats: &[(".webp", "image/webp")] },
    TypeRule {
        file_type: FileType::Gif,
        max_bytes: 3 * MB,
        formats: &[(".gif", "image/gif"), (".mp4", "video/mp4")],
    },
];

/// The type of an uploaded file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FileType {
    /// A picture.
    Image,
    /// A video.
    Video,
    /// An audio recording.
    Audio,
    /// A document.
    Document,
    /// A sticker.
    Sticker,
    /// A short video without sound.
    Gif,
}

words!(
    /// The values of the API field, in the order of the specification.
    FileType {
        Image: "IMAGE",
        Video: "VIDEO",
        Audio: "AUDIO",
        Document: "DOCUMENT",
        Sticker: "STICKER",
        Gif: "GIF",
    }
);

impl FileType {
    /// The greatest size in bytes.
    pub fn max_bytes(self) -> u64 {
        self.rule().max_bytes
    }

    /// The formats of the type: extensions in lower case, each with its MIME type.
    pub fn formats(self) -> &'static [(&'static str, &'static str)] {
        self.rule().formats
    }

    /// The MIME type under which a stored file is served: its own, if [`RULES`] has it for some type. Files of
    /// customers can have any other one, which a browser could show as a page.
    pub fn served_as(content_type: &str) -> &'static str {
        let formats = RULES.iter().flat_map(|rule| rule.formats);
        formats
            .map(|(_, known)| *known)
            .find(|known| *known == content_type)
            .unwrap_or("application/octet-stream")
    }

    /// The MIME type from [`RULES`] of a file with this name and this MIME type, regardless of case. The
    /// error lists what does not fit this type of file.
    pub fn format(self, name: &FileName, content_type: &str) -> Result<&'static str, Vec<Mismatch>> {
        let formats = self.rule().formats;
        let extended =
            |extension: &str| name.extension().is_some_and(|own| own.eq_ignore_ascii_case(extension));
        let called = |known: &str| known.eq_ignore_ascii_case(content_type);
        if let Some((_, known)) =
            formats.iter().find(|(extension, known)| extended(extension) && called(known))
        {
            return Ok(known);
        }
        let mut mismatches = vec![];
        let of_extension: Vec<_> = formats.iter().filter(|(extension, _)| extended(extension)).collect();
        if of_extension.is_empty() {
            let expected = formats.iter().map(|(extension, _)| *extension).collect();
            mismatches.push(Mismatch::Extension { expected });
        }
        // A valid extension determines the MIME type. Otherwise every MIME type of the file type is possible.
        let meant = if of_extension.is_empty() { formats.iter().collect() } else { of_extension };
        let mut expected: Vec<_> = meant.iter().map(|(_, content_type)| *content_type).collect();
        expected.dedup();
        if !expected.iter().any(|known| called(known)) {
            mismatches.push(Mismatch::ContentType { expected });
        }
        Err(mismatches)
    }

    fn rule(self) -> &'static TypeRule {
        RULES.iter().find(|rule| rule.file_type == self).expect("each type has its rule")
    }
}

/// A property of a file that does not fit its type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mismatch {
    /// The extension of the name.
    Extension {
        /// The valid extensions.
        expected: Vec<&'static str>,
    },
    /// The MIME type.
    ContentType {
        /// The valid MIME types.
        expected: Vec<&'static str>,
    },
}
