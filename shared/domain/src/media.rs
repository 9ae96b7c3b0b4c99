//! Files: which may be uploaded, up to which size, and what is known of one that was.

use std::fmt;
use std::time::Duration;

use crate::ids::{Ids, MediaId, WorkspaceId};
use crate::message::Attached;
use crate::refused::{MediaFault, Refused};
use crate::text::{Unfit, within};
use crate::time::Timestamp;

const KB: u64 = 1_024;
const MB: u64 = 1_024 * KB;

/// What may be uploaded as one type of file.
#[derive(Debug)]
pub struct TypeRule {
    /// The type.
    pub file_type: FileType,
    /// The greatest size in bytes.
    pub max_bytes: u64,
    /// Extensions in lower case, each with the MIME type that belongs to it.
    pub formats: &'static [(&'static str, &'static str)],
}

/// The specification's table, in the order of [`FileType::NAMES`]; what it does not show (the extension of PDF, the
/// stickers) is decided.
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

    /// The greatest size in bytes.
    pub fn max_bytes(self) -> u64 {
        self.rule().max_bytes
    }

    /// The MIME type, as [`RULES`] spells it, of a file with this name and this MIME type in any case; or what of the
    /// two does not belong to this type of file.
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
        // An extension that fits says which MIME type is meant; otherwise all of the file's type may be.
        let meant = if of_extension.is_empty() { formats.iter().collect() } else { of_extension };
        let mut expected: Vec<_> = meant.iter().map(|(_, content_type)| *content_type).collect();
        expected.dedup();
        if !expected.iter().any(|known| called(known)) {
            mismatches.push(Mismatch::ContentType { expected });
        }
        Err(mismatches)
    }

    fn rule(self) -> &'static TypeRule {
        &RULES[self as usize]
    }
}

/// What of a file does not belong to its type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mismatch {
    /// The extension of its name.
    Extension {
        /// Those that would.
        expected: Vec<&'static str>,
    },
    /// The MIME type.
    ContentType {
        /// Those that would.
        expected: Vec<&'static str>,
    },
}

/// A file's original name: 1 to 255 characters without path separators. Prints redacted.
#[derive(Clone, PartialEq, Eq)]
pub struct FileName(String);

impl FileName {
    /// The greatest number of characters.
    pub const MAX: usize = 255;

    /// Reads a name.
    pub fn parse(text: &str) -> Result<Self, Unfit> {
        within(text, 1, Self::MAX)?;
        if text.contains(['/', '\\']) {
            return Err(Unfit::Value { reason: "a file name cannot contain path separators" });
        }
        Ok(Self(text.to_owned()))
    }

    /// The name as it was given.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// From the last dot on, in the name's own case; a name that begins with its only dot has none.
    pub fn extension(&self) -> Option<&str> {
        let dot = self.0.rfind('.').filter(|dot| *dot > 0)?;
        Some(&self.0[dot..])
    }
}

impl fmt::Debug for FileName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[FileName]")
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Uuid;

    const DIGEST: &str = "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=";

    fn name(text: &str) -> FileName {
        FileName::parse(text).unwrap()
    }

    #[test]
    fn each_type_finds_its_own_rule() {
        assert_eq!(RULES.len(), FileType::ALL.len());
        for (rule, file_type) in RULES.iter().zip(FileType::ALL) {
            assert_eq!(rule.file_type, file_type);
            assert_eq!(FileType::parse(file_type.as_str()), Ok(file_type));
        }
        for word in ["image", "PICTURE", ""] {
            assert_eq!(FileType::parse(word), Err(Unfit::NotOneOf { expected: FileType::NAMES }), "{word:?}");
        }
    }

    /// The specification's table as it stands there, with the decisions' rows behind it.
    const SPECIFIED: &[(FileType, &str, &str, u64)] = &[
        (FileType::Image, ".jpeg", "image/jpeg", 16_777_216),
        (FileType::Image, ".jpg", "image/jpeg", 16_777_216),
        (FileType::Image, ".png", "image/png", 16_777_216),
        (FileType::Image, ".webp", "image/webp", 16_777_216),
        (FileType::Gif, ".gif", "image/gif", 3_145_728),
        (FileType::Gif, ".mp4", "video/mp4", 3_145_728),
        (FileType::Video, ".avi", "video/x-msvideo", 67_108_864),
        (FileType::Video, ".mov", "video/quicktime", 67_108_864),
        (FileType::Video, ".mp4", "video/mp4", 67_108_864),
        (FileType::Audio, ".m4a", "audio/mp4", 16_777_216),
        (FileType::Audio, ".mp3", "audio/mpeg", 16_777_216),
        (FileType::Audio, ".ogg", "audio/ogg", 16_777_216),
        (FileType::Audio, ".wav", "audio/wav", 16_777_216),
        (FileType::Document, ".doc", "application/msword", 104_857_600),
        (
            FileType::Document,
            ".docx",
            "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
            104_857_600,
        ),
        (FileType::Document, ".ppt", "application/vnd.ms-powerpoint", 104_857_600),
        (
            FileType::Document,
            ".pptx",
            "application/vnd.openxmlformats-officedocument.presentationml.presentation",
            104_857_600,
        ),
        (FileType::Document, ".txt", "text/plain", 104_857_600),
        (FileType::Document, ".xls", "application/vnd.ms-excel", 104_857_600),
        (
            FileType::Document,
            ".xlsx",
            "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
            104_857_600,
        ),
        (FileType::Document, ".pdf", "application/pdf", 104_857_600),
        (FileType::Sticker, ".webp", "image/webp", 512_000),
    ];

    #[test]
    fn of_all_combinations_exactly_those_of_the_specification_fit() {
        let formats: usize = RULES.iter().map(|rule| rule.formats.len()).sum();
        assert_eq!(formats, SPECIFIED.len());
        for file_type in FileType::ALL {
            for (_, extension, _, _) in SPECIFIED {
                for (_, _, content_type, _) in SPECIFIED {
                    let row = SPECIFIED.iter().find(|(known_type, known_extension, known_content, _)| {
                        (known_type, known_extension, known_content) == (&file_type, extension, content_type)
                    });
                    let file = name(&format!("file{extension}"));
                    let found = file_type.format(&file, content_type).ok();
                    assert_eq!(found, row.map(|row| row.2), "{file_type:?} {extension} {content_type}");
                    if let Some((_, _, _, max_bytes)) = row {
                        assert_eq!(file_type.max_bytes(), *max_bytes, "{file_type:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn extensions_and_content_types_are_compared_without_case_and_the_latter_without_parameters() {
        let jpeg = "image/jpeg";
        for (file, content_type, fits) in [
            ("a.jpg", "image/jpeg", true),
            ("a.JPG", "Image/JPEG", true),
            ("a.b.c.JpEg", "image/jpeg", true),
            ("a.jpg", "image/jpeg; q=1", false),
            ("a.jpg", " image/jpeg", false),
            ("a.jpg", "", false),
            ("a.jpg ", "image/jpeg", false),
            ("jpg", "image/jpeg", false),
            (".jpg", "image/jpeg", false),
            ("a.", "image/jpeg", false),
        ] {
            let found = FileType::Image.format(&name(file), content_type).ok();
            assert_eq!(found, fits.then_some(jpeg), "{file:?} {content_type:?}");
        }
    }

    #[test]
    fn what_does_not_belong_is_said_with_what_would() {
        let extension = |expected: &[&'static str]| Mismatch::Extension { expected: expected.to_vec() };
        let content_type = |expected: &[&'static str]| Mismatch::ContentType { expected: expected.to_vec() };
        let rows: &[(FileType, &str, &str, Vec<Mismatch>)] = &[
            (FileType::Gif, "a.png", "image/gif", vec![extension(&[".gif", ".mp4"])]),
            (FileType::Gif, "a.gif", "video/mp4", vec![content_type(&["image/gif"])]),
            (FileType::Image, "a.jpg", "image/tiff", vec![content_type(&["image/jpeg"])]),
            (
                FileType::Image,
                "a.tif",
                "image/tiff",
                vec![
                    extension(&[".jpeg", ".jpg", ".png", ".webp"]),
                    content_type(&["image/jpeg", "image/png", "image/webp"]),
                ],
            ),
            (FileType::Sticker, "a.webp", "image/png", vec![content_type(&["image/webp"])]),
        ];
        for (file_type, file, content_type, expected) in rows {
            assert_eq!(file_type.format(&name(file), content_type), Err(expected.clone()), "{file}");
        }
    }

    #[test]
    fn a_file_name_has_1_to_255_characters_and_no_path() {
        assert_eq!(name(&"é".repeat(255)).as_str().chars().count(), 255);
        assert_eq!(FileName::parse(&"é".repeat(256)), Err(Unfit::TooLong { max: 255 }));
        assert_eq!(FileName::parse(""), Err(Unfit::TooShort { min: 1 }));
        for bad in ["/a.png", "a/b.png", "..\\a.png", "a\\"] {
            assert!(matches!(FileName::parse(bad), Err(Unfit::Value { .. })), "{bad}");
        }
        for good in ["a b.png", "..png", "año (1).png", "a.png"] {
            assert!(FileName::parse(good).is_ok(), "{good}");
        }
        assert_eq!(format!("{:?}", name("Ana's passport.pdf")), "[FileName]");
    }

    #[test]
    fn a_digest_is_the_one_base64_of_32_bytes() {
        assert_eq!(MediaDigest::parse(DIGEST).unwrap().as_str(), DIGEST);
        let zeros = format!("{}=", "A".repeat(43));
        assert!(MediaDigest::parse(&zeros).is_ok());
        for (what, bad) in [
            ("empty", String::new()),
            ("only filling", "=".into()),
            ("31 bytes", format!("{}==", "A".repeat(42))),
            ("33 bytes", "A".repeat(44)),
            ("a digit less", format!("{}=", "A".repeat(42))),
            ("a digit more", format!("{}=", "A".repeat(44))),
            ("without filling", DIGEST.trim_end_matches('=').to_owned()),
            ("filled twice", format!("{DIGEST}=")),
            ("bits behind the end", format!("{}B=", "A".repeat(42))),
            ("the alphabet of URLs", DIGEST.replace('+', "-").replace('/', "_")),
            ("white space", format!("{DIGEST} ")),
            ("hexadecimal", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855".into()),
            ("not ASCII", format!("{}é=", "A".repeat(42))),
        ] {
            assert_eq!(
                MediaDigest::parse(&bad),
                Err(Unfit::Shape { pattern: MediaDigest::PATTERN }),
                "{what}"
            );
        }
    }

    fn media(file_type: FileType) -> Media {
        let id = Uuid::from_u128(1);
        Media {
            id: MediaId::from_uuid(id),
            workspace_id: WorkspaceId::from_uuid(id),
            file_type,
            content_type: "image/png".to_owned(),
            name: name("a.png"),
            digest: MediaDigest::parse(DIGEST).unwrap(),
            size: None,
            created_at: Timestamp::from_millis(0),
            expires_at: None,
        }
    }

    #[test]
    fn what_was_uploaded_must_be_there_within_its_limit_and_with_its_digest() {
        let media = media(FileType::Gif);
        let own = Some(media.digest.clone());
        let other = MediaDigest::parse(&format!("{}=", "A".repeat(43))).ok();
        let unfit = |reason| Err(Refused::MediaUnfit { media: media.id, reason });
        let too_large = || unfit(MediaFault::TooLarge { max_bytes: 3_145_728 });
        for (what, uploaded, expected) in [
            ("nothing", None, Err(Refused::UnknownMedia { media: media.id })),
            ("at the limit", Some((3_145_728, own.clone())), Ok(3_145_728)),
            ("empty", Some((0, own.clone())), Ok(0)),
            ("over the limit", Some((3_145_729, own)), too_large()),
            ("over the limit and other", Some((3_145_729, other.clone())), too_large()),
            ("other", Some((1, other)), unfit(MediaFault::OtherDigest)),
            ("without a digest", Some((1, None)), unfit(MediaFault::OtherDigest)),
        ] {
            let uploaded = uploaded.map(|(size, digest)| Uploaded { size, digest });
            assert_eq!(media.check(uploaded.as_ref()), expected, "{what}");
        }
    }

    #[test]
    fn whatsapp_takes_some_files_as_what_they_are_and_the_rest_as_documents() {
        use FileType::{Audio, Document, Gif, Image, Sticker, Video};
        let docx = "application/vnd.openxmlformats-officedocument.wordprocessingml.document";
        let rows: &[(FileType, &str, u64, SentAs, bool)] = &[
            (Image, "image/jpeg", 5 * MB, SentAs::Image, true),
            (Image, "image/jpeg", 5 * MB + 1, SentAs::Document, true),
            (Image, "image/png", 5 * MB, SentAs::Image, true),
            (Image, "image/png", 16 * MB, SentAs::Document, true),
            (Image, "image/webp", 1, SentAs::Document, true),
            (Sticker, "image/webp", 500 * KB, SentAs::Sticker, false),
            (Video, "video/mp4", 16 * MB, SentAs::Video, true),
            (Video, "video/mp4", 16 * MB + 1, SentAs::Document, true),
            (Video, "video/x-msvideo", 1, SentAs::Document, true),
            (Video, "video/quicktime", 1, SentAs::Document, true),
            (Gif, "image/gif", 1, SentAs::Document, true),
            (Gif, "video/mp4", 3 * MB, SentAs::Video, true),
            (Audio, "audio/mp4", 16 * MB, SentAs::Audio, false),
            (Audio, "audio/mpeg", 16 * MB, SentAs::Audio, false),
            (Audio, "audio/ogg", 16 * MB, SentAs::Audio, false),
            (Audio, "audio/wav", 1, SentAs::Document, true),
            (Document, "application/pdf", 100 * MB, SentAs::Document, true),
            (Document, docx, 1, SentAs::Document, true),
            (Document, "text/plain", 1, SentAs::Document, true),
        ];
        for (file_type, content_type, size, sent_as, caption) in rows {
            let file =
                Media { content_type: (*content_type).to_owned(), ..media(*file_type) }.attached(*size);
            assert_eq!(file.sent_as(), *sent_as, "{file_type:?} {content_type} {size}");
            assert_eq!(file.takes_caption(), *caption, "{file_type:?} {content_type} {size}");
        }
    }
}
