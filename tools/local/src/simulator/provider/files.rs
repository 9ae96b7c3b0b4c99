//! The files of customers' messages.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use domain::media::{FileType, SentAs};
use hyper::body::Bytes;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::simulator::whatsapp::Fault;

/// The path at which files are downloaded. The query holds the id.
pub(super) const DOWNLOADS: &str = "/whatsapp_business/attachments/";

/// The most files that are kept. The provider keeps files for some days.
const MOST_FILES: usize = 200;
/// The most bytes of all files that are kept.
const MOST_BYTES: usize = 256 * 1_024 * 1_024;
/// The number of look-ups that fail at first with [`MediaFault::FailsTwice`].
const FIRST_FAILURES: u32 = 2;

/// What goes wrong with a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MediaFault {
    /// The provider does not know the file.
    Missing,
    /// The digest is of other bytes.
    WrongDigest,
    /// The file is one byte larger than the service accepts.
    TooLarge,
    /// The bytes come after a minute.
    Slow,
    /// The first two look-ups fail.
    FailsTwice,
}

impl MediaFault {
    pub(super) const NAMES: [(&str, Self); 5] = [
        ("missing", Self::Missing),
        ("wrongDigest", Self::WrongDigest),
        ("tooLarge", Self::TooLarge),
        ("slow", Self::Slow),
        ("failsTwice", Self::FailsTwice),
    ];
}

/// A file, as its message describes it.
#[derive(Clone, Debug)]
pub(super) struct File {
    pub(super) id: String,
    pub(super) mime_type: String,
    bytes: Bytes,
    digest: [u8; 32],
    fault: Option<MediaFault>,
    failed: u32,
}

impl File {
    pub(super) fn new(
        id: String,
        sent_as: SentAs,
        mime_type: String,
        bytes: Vec<u8>,
        fault: Option<MediaFault>,
    ) -> Self {
        let bytes = match fault {
            Some(MediaFault::TooLarge) => vec![0; too_large(sent_as)],
            _ => bytes,
        };
        let mut digest = Sha256::new_with_prefix(&bytes);
        if fault == Some(MediaFault::WrongDigest) {
            digest.update(b"other bytes");
        }
        Self { id, mime_type, bytes: bytes.into(), digest: digest.finalize().into(), fault, failed: 0 }
    }

    /// The digest as webhooks give it.
    pub(super) fn digest_in_webhooks(&self) -> String {
        STANDARD.encode(self.digest)
    }
}

fn too_large(sent_as: SentAs) -> usize {
    let file_type = match sent_as {
        SentAs::Image => FileType::Image,
        SentAs::Video => FileType::Video,
        SentAs::Audio => FileType::Audio,
        SentAs::Document => FileType::Document,
        SentAs::Sticker => FileType::Sticker,
    };
    usize::try_from(file_type.max_bytes()).unwrap_or(usize::MAX).saturating_add(1)
}

/// The bytes of a file on their way.
#[derive(Debug)]
pub(super) struct Download {
    pub(super) mime_type: String,
    pub(super) bytes: Bytes,
    pub(super) is_slow: bool,
}

/// The files that the provider keeps: the newest ones.
#[derive(Debug, Default)]
pub(super) struct Files(Mutex<VecDeque<File>>);

impl Files {
    pub(super) fn keep(&self, file: File) {
        let mut files = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        files.push_back(file);
        let size = |files: &VecDeque<File>| files.iter().map(|file| file.bytes.len()).sum::<usize>();
        while files.len() > MOST_FILES || (files.len() > 1 && size(&files) > MOST_BYTES) {
            files.pop_front();
        }
    }

    /// What the provider says about a file. `origin` is that of the URL in the answer.
    pub(super) fn look_up(&self, id: &str, origin: &str) -> Result<Value, Fault> {
        let mut files = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let file = files.iter_mut().find(|file| file.id == id && file.fault != Some(MediaFault::Missing));
        let file = file.ok_or_else(|| {
            Fault::INVALID.because(format!("Unsupported request: object '{id}' does not exist."))
        })?;
        if file.fault == Some(MediaFault::FailsTwice) && file.failed < FIRST_FAILURES {
            file.failed += 1;
            return Err(Fault::UNKNOWN_ERROR);
        }
        let digest: String = file.digest.iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(json!({
            "messaging_product": "whatsapp",
            "url": format!("{origin}{DOWNLOADS}?mid={id}&source=webhook"),
            "mime_type": file.mime_type,
            "sha256": digest,
            "file_size": file.bytes.len(),
            "id": id,
        }))
    }

    /// The bytes of a file. `query` is that of the URL.
    pub(super) fn download(&self, query: &str) -> Option<Download> {
        let (_, id) = url::form_urlencoded::parse(query.as_bytes()).find(|(name, _)| name == "mid")?;
        let files = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let file = files.iter().find(|file| file.id == id && file.fault != Some(MediaFault::Missing))?;
        Some(Download {
            mime_type: file.mime_type.clone(),
            bytes: file.bytes.clone(),
            is_slow: file.fault == Some(MediaFault::Slow),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_files_are_forgotten() {
        let files = Files::default();
        let keep = |id: usize, size: usize| {
            files.keep(File::new(id.to_string(), SentAs::Image, "image/png".to_owned(), vec![0; size], None));
        };
        (0..MOST_FILES + 1).for_each(|id| keep(id, 1));
        assert!(files.look_up("0", "http://h").is_err());
        assert!(files.look_up("1", "http://h").is_ok());
        keep(1_000, MOST_BYTES);
        assert!(files.look_up("200", "http://h").is_err());
        assert!(files.look_up("1000", "http://h").is_ok());
    }
}
