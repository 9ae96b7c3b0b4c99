//! Files of customers' messages: what they are stored as.

use std::time::Duration;

use uuid::Uuid;

use crate::ids::{MediaId, WorkspaceId};
use crate::media::{FileName, FileType, Media, MediaDigest, MediaState, SentAs};
use crate::message::received::Received;
use crate::time::Timestamp;

/// The namespace of the ids of customers' files. With another namespace, a repeated message would store its file a
/// second time.
const FILES: Uuid = Uuid::from_u128(0x2f64_b1d7_08c3_4a95_b6e2_71f0_5d3c_9a48);

/// A file as the service stores it: type, MIME type and name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReceivedFile {
    /// The type of the file, which decides its size limit.
    pub file_type: FileType,
    /// The MIME type.
    pub content_type: String,
    /// The name.
    pub name: FileName,
}

/// The id of a file of a customer's message. The same file always has the same id, so a repeat finds it.
/// `message` and `file` are the provider's ids.
pub fn media_id(workspace: WorkspaceId, message: &str, file: &str) -> MediaId {
    MediaId::from_uuid(Uuid::new_v5(
        &FILES,
        format!("{workspace}|{}|{message}|{file}", message.len()).as_bytes(),
    ))
}

/// Whether a file that the provider did not give is asked for again. `since` is when it was first asked for, and `takes`
/// is how long the next time takes at most, with the wait for it: it must end within [`Received::FILE_WAIT`].
pub fn is_asked_for_again(since: Timestamp, now: Timestamp, takes: Duration) -> bool {
    now.since(since) + takes <= Received::FILE_WAIT
}

impl ReceivedFile {
    /// The greatest number of bytes in a MIME type.
    const MAX_MIME: usize = 127;
    /// The MIME type of a file whose own is not one.
    const BYTES: &'static str = "application/octet-stream";

    /// What a file is stored as. The provider's MIME type counts without its parameters. A file whose MIME type is not
    /// in the table of its type ([`FileType::formats`]) is a document.
    pub fn of(sent_as: SentAs, mime_type: &str, name: Option<&str>) -> Self {
        let essence = mime_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        let content_type = if is_mime_type(&essence) { essence } else { Self::BYTES.to_owned() };
        let (file_type, default) = match sent_as {
            SentAs::Image => (FileType::Image, "image"),
            SentAs::Video => (FileType::Video, "video"),
            SentAs::Audio => (FileType::Audio, "audio"),
            SentAs::Document => (FileType::Document, "document"),
            SentAs::Sticker => (FileType::Sticker, "sticker"),
        };
        let listed = file_type.formats().iter().find(|(_, known)| *known == content_type);
        let extension = listed.map_or("", |(extension, _)| extension);
        let default = || FileName::safe(&format!("{default}{extension}"));
        let name = name.and_then(FileName::safe).or_else(default);
        Self {
            file_type: if listed.is_some() { file_type } else { FileType::Document },
            content_type,
            name: name.expect("the name of a type is a safe name"),
        }
    }

    /// The row of the file before it is stored. It expires unless a message refers to the file.
    pub fn media(
        self,
        id: MediaId,
        workspace: WorkspaceId,
        digest: MediaDigest,
        size: u64,
        now: Timestamp,
    ) -> Media {
        Media {
            id,
            workspace_id: workspace,
            file_type: self.file_type,
            content_type: self.content_type,
            name: self.name,
            digest,
            size: Some(size),
            created_at: now,
            state: MediaState::Waiting,
            expires_at: Some(now.plus(Media::KEPT)),
        }
    }
}

/// Whether the text is a type and a subtype (RFC 6838) without parameters.
fn is_mime_type(text: &str) -> bool {
    let is_name = |name: &str| {
        name.starts_with(|first: char| first.is_ascii_alphanumeric())
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$&-^_.+".contains(&byte))
    };
    text.len() <= ReceivedFile::MAX_MIME
        && text.split_once('/').is_some_and(|(main, sub)| is_name(main) && is_name(sub))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_stored_as_what_it_is_and_unknown_formats_are_documents() {
        use FileType::{Audio, Document, Image, Sticker, Video};
        let octets = "application/octet-stream";
        #[rustfmt::skip]
        let rows = [
            (SentAs::Image, "image/jpeg", None, (Image, "image/jpeg", "image.jpeg")),
            (SentAs::Image, "IMAGE/PNG", Some("a/../b.png"), (Image, "image/png", "a_.._b.png")),
            (SentAs::Image, "image/heic", None, (Document, "image/heic", "image")),
            (SentAs::Audio, "audio/ogg; codecs=opus", None, (Audio, "audio/ogg", "audio.ogg")),
            (SentAs::Audio, "audio/amr", None, (Document, "audio/amr", "audio")),
            (SentAs::Video, "video/mp4", None, (Video, "video/mp4", "video.mp4")),
            (SentAs::Video, "video/3gpp", None, (Document, "video/3gpp", "video")),
            (SentAs::Sticker, "image/webp", None, (Sticker, "image/webp", "sticker.webp")),
            (SentAs::Document, "application/pdf", Some("Oferta.pdf"), (Document, "application/pdf", "Oferta.pdf")),
            (SentAs::Document, "application/pdf", None, (Document, "application/pdf", "document.pdf")),
            (SentAs::Document, "application/zip", Some("all.zip"), (Document, "application/zip", "all.zip")),
            (SentAs::Document, "", Some(" .. "), (Document, octets, "document")),
            (SentAs::Document, "text/html\r\nx: y", None, (Document, octets, "document")),
            (SentAs::Document, "text/", None, (Document, octets, "document")),
        ];
        for (sent_as, mime_type, name, expected) in rows {
            let file = ReceivedFile::of(sent_as, mime_type, name);
            let stored = (file.file_type, file.content_type.as_str(), file.name.as_str());
            assert_eq!(stored, expected, "{sent_as:?} {mime_type:?} {name:?}");
        }
    }

    #[test]
    fn a_file_is_asked_for_again_as_long_as_the_next_time_ends_within_two_minutes() {
        let (since, takes) = (Timestamp::from_millis(1_767_323_045_678), Duration::from_secs(40));
        for (millis, expected) in [(0, true), (80_000, true), (80_001, false), (360_000, false)] {
            let now = since.plus(Duration::from_millis(millis));
            assert_eq!(is_asked_for_again(since, now, takes), expected, "{millis}");
        }
        assert!(is_asked_for_again(since, since.minus(takes), takes), "by another clock");
    }

    #[test]
    fn a_mime_type_of_any_length_is_stored_in_few_bytes() {
        let long = |length: usize| format!("text/{}", "x".repeat(length - 5));
        let stored = |mime_type: &str| ReceivedFile::of(SentAs::Document, mime_type, None).content_type;
        assert_eq!(stored(&long(127)), long(127));
        assert_eq!(stored(&long(128)), "application/octet-stream");
    }

    #[test]
    fn a_files_id_depends_on_workspace_message_and_file_only() {
        let workspace = |n| WorkspaceId::from_uuid(Uuid::from_u128(n));
        let id = media_id(workspace(1), "wamid.1", "77");
        // A fixed value: with another derivation, repeated messages would store their files again.
        assert_eq!(id.to_string(), "9c191d47-db3b-516d-b6fc-1985da91e3d5");
        for other in [
            media_id(workspace(2), "wamid.1", "77"),
            media_id(workspace(1), "wamid.2", "77"),
            media_id(workspace(1), "wamid.1", "78"),
            media_id(workspace(1), "wamid.1|77", ""),
        ] {
            assert_ne!(other, id);
        }
    }
}
