//! The bucket of files. Callers and the provider use it through presigned URLs. Signing needs no call.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use aws_sdk_s3::Client;
use aws_sdk_s3::config::timeout::TimeoutConfig;
use aws_sdk_s3::presigning::PresigningConfig;
use aws_sdk_s3::primitives::ByteStream;
use aws_sdk_s3::types::ChecksumMode;
use domain::media::{Declared, FileName, MediaState, Uploaded};
use domain::{Clock, FileType, Media, MediaDigest, MediaId, Refused, Timestamp, WorkspaceId};

use crate::objects::object_bytes;
use crate::{StoreError, keys};

/// The bucket of one deployment. It is cheap to clone; one client serves the whole process.
#[derive(Clone)]
pub struct Bucket {
    s3: Client,
    name: Arc<str>,
    clock: Arc<dyn Clock>,
}

impl Bucket {
    /// The bucket with this name.
    pub fn new(s3: Client, name: impl Into<Arc<str>>, clock: Arc<dyn Clock>) -> Self {
        Self { s3, name: name.into(), clock }
    }

    /// A URL that uploads the file by one PUT. It is valid for ten minutes ([`Media::UPLOAD_VALID`]). The
    /// declared content type, digest and, if declared, size are signed headers; the bucket refuses any other
    /// upload.
    pub async fn presign_put(
        &self,
        workspace: WorkspaceId,
        media: MediaId,
        file: &Declared,
    ) -> Result<String, StoreError> {
        let put = self
            .s3
            .put_object()
            .bucket(&*self.name)
            .key(keys::media_object(workspace, media))
            .content_type(file.content_type)
            .checksum_sha256(file.digest.as_str())
            .set_content_length(file.size.and_then(|size| i64::try_from(size).ok()));
        Ok(put.presigned(self.valid_for(Media::UPLOAD_VALID)?).await?.uri().to_owned())
    }

    /// A URL that downloads the file. It is valid for an hour ([`Media::LINK_VALID`]).
    pub async fn presign_get(&self, workspace: WorkspaceId, media: MediaId) -> Result<String, StoreError> {
        let get = self.s3.get_object().bucket(&*self.name).key(keys::media_object(workspace, media));
        Ok(get.presigned(self.valid_for(Media::LINK_VALID)?).await?.uri().to_owned())
    }

    /// A URL with which a caller saves the file under its own name, with its content type of the table of types. Returns
    /// it with the time until which it is valid ([`Media::DOWNLOAD_VALID`]).
    pub async fn presign_download(&self, media: &Media) -> Result<(String, Timestamp), StoreError> {
        let get = self
            .s3
            .get_object()
            .bucket(&*self.name)
            .key(keys::media_object(media.workspace_id, media.id))
            .response_content_type(FileType::served_as(&media.content_type))
            .response_content_disposition(attachment(&media.name));
        // A signature has no milliseconds.
        let now = Timestamp::from_millis(self.clock.now().as_seconds() * 1_000);
        let url = get.presigned(self.valid_for(Media::DOWNLOAD_VALID)?).await?.uri().to_owned();
        Ok((url, now.plus(Media::DOWNLOAD_VALID)))
    }

    /// Size and digest of the object that was uploaded under this id; `None` if there is no object. One round
    /// trip.
    pub async fn head(&self, workspace: WorkspaceId, media: MediaId) -> Result<Option<Uploaded>, StoreError> {
        let head = self.s3.head_object().bucket(&*self.name).key(keys::media_object(workspace, media));
        let found = match head.checksum_mode(ChecksumMode::Enabled).send().await {
            Ok(found) => found,
            Err(error) if error.as_service_error().is_some_and(|error| error.is_not_found()) => {
                return Ok(None);
            }
            Err(error) => return Err(error.into()),
        };
        let size = found.content_length.and_then(|size| u64::try_from(size).ok());
        let size =
            size.ok_or_else(|| StoreError::Failed("the bucket does not tell an object's size".into()))?;
        let digest = found.checksum_sha256.and_then(|digest| MediaDigest::parse(&digest).ok());
        Ok(Some(Uploaded { size, digest }))
    }

    /// The size of a file in bytes, if its upload is what was declared, or why it is not ([`Media::check`]). One round trip.
    /// None for a file that a message refers to, which was looked at before the first message did, and none for a file
    /// that was deleted because of its size.
    pub async fn size(&self, media: &Media) -> Result<Result<u64, Refused>, StoreError> {
        match (media.state, media.size) {
            (MediaState::Referenced, Some(size)) => Ok(Ok(size)),
            (MediaState::TooLarge | MediaState::Empty, _) => Ok(media.check(None)),
            _ => Ok(media.check(self.head(media.workspace_id, media.id).await?.as_ref())),
        }
    }

    /// Stores the bytes of a local file under this id, whatever is stored there. The bucket refuses bytes that do not
    /// have the digest of `media`. The caller limits the time: a large file takes longer than other calls may. One round
    /// trip.
    pub async fn put(&self, media: &Media, from: &Path) -> Result<(), StoreError> {
        let bytes = ByteStream::from_path(from).await.map_err(|error| StoreError::Failed(Box::new(error)))?;
        let put =
            self.s3.put_object().bucket(&*self.name).key(keys::media_object(media.workspace_id, media.id));
        let put = put.content_type(FileType::served_as(&media.content_type));
        let put = put.checksum_sha256(media.digest.as_str()).body(bytes).customize();
        put.config_override(aws_sdk_s3::Config::builder().timeout_config(time_of_a_put())).send().await?;
        Ok(())
    }

    /// Deletes the object that was uploaded under this id, if there is one. One round trip.
    pub async fn delete(&self, workspace: WorkspaceId, media: MediaId) -> Result<(), StoreError> {
        let delete = self.s3.delete_object().bucket(&*self.name).key(keys::media_object(workspace, media));
        delete.send().await?;
        Ok(())
    }

    /// The workspace and the file whose bytes have this key; `None` if no file has such a key.
    pub fn file_of(key: &str) -> Option<(WorkspaceId, MediaId)> {
        keys::read_media_object(key)
    }

    /// The bytes that were uploaded under this id; `None` if there is no object. One round trip.
    pub async fn read(&self, workspace: WorkspaceId, media: MediaId) -> Result<Option<Vec<u8>>, StoreError> {
        object_bytes(&self.s3, &self.name, &keys::media_object(workspace, media)).await
    }

    /// Deletes all versions of the object that was uploaded under this id. A bucket without versions has one.
    /// One round trip, and one for each version.
    pub async fn erase(&self, workspace: WorkspaceId, media: MediaId) -> Result<(), StoreError> {
        let key = keys::media_object(workspace, media);
        loop {
            let list = self.s3.list_object_versions().bucket(&*self.name).prefix(&key).send().await?;
            let markers = list.delete_markers.unwrap_or_default().into_iter();
            let markers = markers.map(|marker| (marker.key, marker.version_id));
            let versions = list.versions.unwrap_or_default().into_iter();
            let versions = versions.map(|version| (version.key, version.version_id)).chain(markers);
            for (_, version) in versions.filter(|(found, _)| found.as_ref() == Some(&key)) {
                let delete = self.s3.delete_object().bucket(&*self.name).key(&key);
                delete.set_version_id(version).send().await?;
            }
            // Deleted versions are not listed again, so each page is the first.
            if !list.is_truncated.unwrap_or_default() {
                return Ok(());
            }
        }
    }

    fn valid_for(&self, time: Duration) -> Result<PresigningConfig, StoreError> {
        let now = u64::try_from(self.clock.now().as_millis()).unwrap_or_default();
        let now: SystemTime = UNIX_EPOCH + Duration::from_millis(now);
        let config = PresigningConfig::builder().start_time(now).expires_in(time).build();
        config.map_err(|error| StoreError::Failed(Box::new(error)))
    }
}

/// The `Content-Disposition` of a file that is saved under this name (RFC 6266): the name in UTF-8, and for old clients
/// in ASCII.
fn attachment(name: &FileName) -> String {
    let simple = |letter: char| letter.is_ascii_alphanumeric() || " .-_()".contains(letter);
    let plain: String =
        name.as_str().chars().map(|letter| if simple(letter) { letter } else { '_' }).collect();
    let mut encoded = String::new();
    for byte in name.as_str().bytes() {
        match byte {
            b'.' | b'-' | b'_' => encoded.push(char::from(byte)),
            _ if byte.is_ascii_alphanumeric() => encoded.push(char::from(byte)),
            _ => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    format!("attachment; filename=\"{plain}\"; filename*=UTF-8''{encoded}")
}

/// The time limits of an upload: enough for the largest file.
fn time_of_a_put() -> TimeoutConfig {
    const ENOUGH: Duration = Duration::from_secs(30);
    let connect = Duration::from_secs(1);
    let limits = TimeoutConfig::builder().connect_timeout(connect);
    limits.operation_attempt_timeout(ENOUGH).operation_timeout(ENOUGH).build()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_saved_under_its_own_name_whatever_is_in_it() {
        for (name, plain, encoded) in [
            ("hello.txt", "hello.txt", "hello.txt"),
            ("a b (1).pdf", "a b (1).pdf", "a%20b%20%281%29.pdf"),
            ("r\u{e9}sum\u{e9}.pdf", "r_sum_.pdf", "r%C3%A9sum%C3%A9.pdf"),
            ("\u{674e}.png", "_.png", "%E6%9D%8E.png"),
            ("a\"; filename=b.exe", "a__ filename_b.exe", "a%22%3B%20filename%3Db.exe"),
            ("100%\r\n\t.txt", "100____.txt", "100%25%0D%0A%09.txt"),
        ] {
            let shown = attachment(&FileName::parse(name).unwrap());
            assert_eq!(shown, format!("attachment; filename=\"{plain}\"; filename*=UTF-8''{encoded}"));
        }
    }
}
